"""The target of a matrix file: given, or found in an .npy file beside it."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.sources.base import as_path


class TargetBeside:
    """One target value for each row of a matrix.

    Parameters
    ----------
    path : str
        The matrix. Without `y` the target is NAME.y.npy or y.npy beside it, if there is one.
    y : array, str or path, optional
        The target, or an .npy file that holds it.
    n_rows : int
        How many values it must have.
    """

    def __init__(self, path: str, y: Any, n_rows: int) -> None:
        self._path, self._n_rows = path, n_rows
        self._y = y if y is not None else _find(path)
        self._values: npt.NDArray[Any] | None = None

    def values(self) -> npt.NDArray[Any] | None:
        """Return the target, or None if there is none."""
        if self._values is None and self._y is not None:
            y = load_y(as_path(self._y)) if isinstance(self._y, (str, os.PathLike)) else self._y
            self._values = one_for_each_row(y, self._path, self._n_rows)
        return self._values

    def missing(self) -> str | None:
        """Return how to give a target, if there is none."""
        if self._y is not None:
            return None
        stem = os.path.splitext(os.path.basename(self._path))[0]
        return (
            f"save one with numpy.save as {stem}.y.npy beside it, or name the file that holds it "
            "with --y (y=)"
        )

    def added_to(self, fingerprint: str) -> str:
        """Return a fingerprint of a matrix and its target."""
        y = self.values()
        if y is None:
            return fingerprint
        digest = hashlib.blake2b(fingerprint.encode(), digest_size=8)
        digest.update(str(y.dtype).encode())
        digest.update(np.ascontiguousarray(y.astype(str) if y.dtype == object else y).tobytes())
        return digest.hexdigest()


def one_for_each_row(y: Any, path: str, n_rows: int) -> npt.NDArray[Any]:
    """Return a target as an array, or one sentence if it does not have a value for each row."""
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise SourceError(
            f"y has shape {values.shape} and {path} has {n_rows} rows; "
            "give one target value for each row"
        )
    return values


def load_y(path: str) -> npt.NDArray[Any]:
    """Read a target that numpy.save wrote."""
    try:
        y: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path} cannot be read as a target; write it with numpy.save, without objects"
        ) from error
    return y


def _find(path: str) -> str | None:
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    candidates = (os.path.join(folder, f"{stem}.y.npy"), os.path.join(folder, "y.npy"))
    return next((found for found in candidates if os.path.isfile(found)), None)
