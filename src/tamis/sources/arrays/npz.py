"""NpzSource: a scipy sparse matrix in an .npz file, as `scipy.sparse.save_npz` writes it."""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.sources.base import as_path
from tamis.sources.matrix import MatrixSource
from tamis.sources.target_file import TargetBeside
from tamis.sources.text_files import TextFile


class NpzSource(MatrixSource):
    """A scipy sparse matrix on disk, held in memory once it is read.

    Parameters
    ----------
    path : str or path
        Written by `scipy.sparse.save_npz`.
    y : array, str or path, optional
        The target, or an .npy file that holds it. By default NAME.y.npy or y.npy beside the file,
        if there is one.
    """

    format: ClassVar[str] = "npz"

    path: str

    def __init__(self, path: str | os.PathLike[str], y: Any = None) -> None:
        self.path = as_path(path)
        self._bytes = TextFile(self.path)  # says in one sentence if it is not there
        self._matrix: Any = None
        try:
            # Opened here: numpy leaves a file open that is not a zip file to its end.
            with open(self.path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                self._shape = tuple(int(n) for n in file["shape"])
                layout = file["format"].item()
        except (KeyError, AttributeError, ValueError, OSError, zipfile.BadZipFile, zlib.error) as e:
            raise SourceError(
                f"{self.path} is not a sparse matrix in .npz form; write it with "
                "scipy.sparse.save_npz"
            ) from e
        self._layout = layout.decode() if isinstance(layout, bytes) else str(layout)
        if len(self._shape) != 2:
            raise SourceError(f"{self.path} has shape {self._shape}; a matrix has two dimensions")
        self._beside = TargetBeside(self.path, y, self._shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._shape[1]

    def missing_target(self) -> str | None:
        """Return how to give a target, if none was given."""
        return self._beside.missing()

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target given or found beside the file, or None."""
        return self._beside.values()

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        return {"bytes": self._bytes.size, "kept_by": self._layout}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file and of the target."""
        return self._beside.added_to(self._bytes.fingerprint())

    def _read(self) -> Any:
        """Read the matrix once: CSR or CSC, float64, in order, without duplicates."""
        if self._matrix is None:
            from scipy.sparse import load_npz

            try:
                with open(self.path, "rb") as raw:
                    matrix = load_npz(raw)
                matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
                matrix.check_format(full_check=True)
            except (
                ValueError, KeyError, OSError, TypeError, zipfile.BadZipFile, zlib.error
            ) as error:  # fmt: skip
                raise SourceError(
                    f"{self.path} cannot be read as a scipy sparse matrix ({error}); write it with "
                    "scipy.sparse.save_npz"
                ) from error
            if matrix.dtype.kind not in "biuf":
                raise SourceError(f"{self.path} holds {matrix.dtype} values; store real numbers")
            matrix = matrix.astype(np.float64)
            if not np.all(np.isfinite(matrix.data)):
                raise SourceError(
                    f"{self.path} holds NaN or infinity; fill or drop such values first"
                )
            matrix.sum_duplicates()
            self._matrix = matrix
        return self._matrix
