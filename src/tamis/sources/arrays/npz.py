"""NpzSource: a scipy sparse matrix in an .npz file, as `scipy.sparse.save_npz` writes it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import refuse_broken
from tamis.core.errors import InputError, SourceError, one_sentence
from tamis.sources.matrix import MatrixFile, MatrixSource


class NpzSource(MatrixFile, MatrixSource):
    """A scipy sparse matrix on disk, held in memory once it is read.

    Parameters
    ----------
    path : str or path
        Written by `scipy.sparse.save_npz`.
    y : array, str or path, optional
        The target, or an .npy file that holds it. By default NAME.y.npy or y.npy next to the file,
        if there is one.
    """

    format: ClassVar[str] = "npz"

    def __init__(self, path: str | os.PathLike[str], y: Any = None) -> None:
        super().__init__(path, y)
        try:
            # Opened here: NumPy leaves a truncated zip file open.
            with open(self.path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                shape = tuple(int(n) for n in file["shape"])
                layout = file["format"].item()
        except Exception as error:  # NumPy and zipfile raise many kinds
            raise SourceError(
                f"{self.path} is not a sparse matrix in .npz form; write it with "
                "scipy.sparse.save_npz"
            ) from error
        self._layout = layout.decode() if isinstance(layout, bytes) else str(layout)
        if len(shape) != 2:
            raise SourceError(f"{self.path} has shape {shape}; a matrix has two dimensions")
        self.n_rows, self.n_columns = shape

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"bytes": self._bytes.size, "kept_by": self._layout}

    @cached_property
    def _matrix(self) -> Any:
        """The matrix: CSR or CSC, float64, in order, without duplicates."""
        from scipy.sparse import load_npz

        what = f"{self.path} cannot be read as a scipy sparse matrix"
        remedy = "write it with scipy.sparse.save_npz"
        with one_sentence(what, remedy), open(self.path, "rb") as raw:
            matrix = load_npz(raw)
        if matrix.dtype.kind not in "biuf":
            raise SourceError(f"{self.path} holds {matrix.dtype} values; store real numbers")
        with one_sentence(what, remedy):
            try:  # before SciPy follows its indices
                refuse_broken(matrix)
            except InputError as error:
                raise ValueError("its indices point outside it") from error
            matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
            matrix.check_format(full_check=True)
        matrix = matrix.astype(np.float64)
        if not np.all(np.isfinite(matrix.data)):
            raise SourceError(f"{self.path} holds NaN or infinity; fill or drop such values first")
        matrix.sum_duplicates()
        return matrix
