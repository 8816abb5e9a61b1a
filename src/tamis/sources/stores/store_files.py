"""The files of a store: plain .npy files that grow, hashed as they do, as narrow as can be."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError

#: The file that says what a store holds; it is written last.
META = "meta.json"
#: Every .npy header is padded to this, so that it can be written when the length is known.
HEADER = 128
#: Numbers looked at or converted at a time.
_PIECE = 1 << 16

_DTYPES = (None, np.dtype("<f4"), np.dtype("<f8"))


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return an .npy header of exactly HEADER bytes."""
    text = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("ascii").ljust(HEADER - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


class GrowingFile:
    """A file that is appended to and hashed as it grows; an .npy file unless dtype is None."""

    def __init__(self, path: str, dtype: Any = None) -> None:
        self.path = path
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.bytes = 0
        self._digest = hashlib.blake2b(digest_size=16)
        self._file = open(path, "wb")  # noqa: SIM115 - closed by finish() or with the writer
        if self.dtype is not None:
            self._file.write(bytes(HEADER))

    def append(self, data: Any) -> None:
        """Write an array (converted to the dtype) or bytes behind what is there."""
        if self.dtype is not None:
            data = np.ascontiguousarray(data, dtype=self.dtype).reshape(-1).view(np.uint8)
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    def finish(self, shape: tuple[int, ...] | None = None) -> dict[str, Any]:
        """Write the header, make the bytes durable, and say what was written.

        A first length of -1 stands for as many as there are.
        """
        record: dict[str, Any] = {"bytes": self.bytes, "blake2b": self._digest.hexdigest()}
        if self.dtype is not None:
            count = self.bytes // self.dtype.itemsize
            shape = (count,) if shape is None else shape
            if shape[0] == -1:
                shape = (count // math.prod(shape[1:]), *shape[1:])
            record |= {"dtype": self.dtype.str, "shape": list(shape)}
            self._file.seek(0)
            self._file.write(npy_header(self.dtype, shape))
        self._file.close()
        return record

    def close(self) -> None:
        """Close without finishing."""
        self._file.close()


class Seen:
    """What is known about the numbers that have passed by."""

    def __init__(self) -> None:
        self.count = self.zeros = self.missing = 0
        self.integer = True
        self.lowest, self.highest = np.inf, -np.inf

    def prepare(self, piece: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Take note of numbers; gives those that are not missing."""
        self.count += len(piece)
        if not len(piece):
            return piece
        if np.isnan(piece.min()):  # missing values; whoever selects says what becomes of them
            there = piece[~np.isnan(piece)]
            self.missing += len(piece) - len(there)
            if not len(there):
                return there
            piece = there
        low, high = float(piece.min()), float(piece.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise InputError("the data hold infinity; fill or drop such values first")
        self.lowest, self.highest = min(self.lowest, low), max(self.highest, high)
        if not low == high == 1.0:
            self.integer = self.integer and bool(np.all(piece == np.floor(piece)))
            self.zeros += len(piece) - int(np.count_nonzero(piece))
        return piece

    def facts(self) -> dict[str, Any]:
        """Return the facts that meta.json holds."""
        any_there = self.count > self.missing
        return {
            "integer_values": self.integer,
            "lowest": self.lowest if any_there else None,
            "highest": self.highest if any_there else None,
            "stored_zeros": self.zeros,
            "missing": self.missing,
        }


class Values(Seen):
    """Numbers on disk no wider than they must be, and what is known about them.

    Level 0: all of them are 1 and nothing is stored; level 1: float32 holds every one exactly;
    level 2: float64. A file that turns out too narrow is written again, wider.
    """

    def __init__(self, path: str, level: int = 0) -> None:
        super().__init__()
        self.path, self.level = path, level
        self.file = GrowingFile(path, _DTYPES[level]) if level else None

    def append(self, values: npt.NDArray[Any] | None, count: int) -> None:
        """Append `count` values; None means that all of them are 1."""
        for lo in range(0, count, _PIECE):
            n = min(_PIECE, count - lo)
            piece = np.ones(n) if values is None else np.asarray(values[lo : lo + n], np.float64)
            written = self.count
            there = self.prepare(piece)
            if self.level < 2 and not (self.level == 0 and np.all(piece == 1.0)):
                level = 1 if fit_float32(there) else 2
                if level > self.level:
                    self._widen(level, written)
            if self.file is not None:
                self.file.append(piece)

    def _widen(self, level: int, written: int) -> None:
        wider = GrowingFile(self.path + ".wider", _DTYPES[level])
        for piece in self._so_far(written):
            wider.append(piece)
        os.replace(wider.path, self.path)
        self.file, self.level = wider, level

    def _so_far(self, written: int) -> Iterator[npt.NDArray[Any]]:
        if self.file is None:
            for lo in range(0, written, _PIECE):
                yield np.ones(min(_PIECE, written - lo))
            return
        self.file.finish()
        dtype = self.file.dtype
        with open(self.path, "rb") as old:
            old.seek(HEADER)
            while data := old.read(_PIECE * 4):
                yield np.frombuffer(data, dtype=dtype)


def fit_float32(piece: npt.NDArray[np.float64]) -> bool:
    """Return True where float32 holds every number exactly; none may be missing."""
    with np.errstate(all="ignore"):
        return np.array_equal(piece.astype(np.float32).astype(np.float64), piece)
