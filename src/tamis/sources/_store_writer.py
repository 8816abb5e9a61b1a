"""Writes a column store: into a folder beside it, moved into place as the very last step.

Until that move there is no store of that name (or still the one before), so a run that is killed
half-way never leaves something that looks whole.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, OutputError, SourceError
from tamis.core.names import Names

FORMAT, VERSION = "tamis-columns", 1
META = "meta.json"
#: Every .npy header is padded to this, so that it can be written when the length is known.
HEADER = 128
#: Numbers looked at or converted at a time.
_PIECE = 1 << 16

_DTYPES = (None, np.dtype("<f4"), np.dtype("<f8"))
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)


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
        """Write the header, make the bytes durable, and say what was written."""
        record: dict[str, Any] = {"bytes": self.bytes, "blake2b": self._digest.hexdigest()}
        if self.dtype is not None:
            shape = (self.bytes // self.dtype.itemsize,) if shape is None else shape
            record |= {"dtype": self.dtype.str, "shape": list(shape)}
            self._file.seek(0)
            self._file.write(npy_header(self.dtype, shape))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return record

    def close(self) -> None:
        """Close without finishing."""
        self._file.close()


class Values:
    """Numbers on disk no wider than they must be, and what is known about them.

    Level 0: all of them are 1 and nothing is stored; level 1: float32 holds every one exactly;
    level 2: float64. A file that turns out too narrow is written again, wider.
    """

    def __init__(self, path: str, level: int = 0) -> None:
        self.path, self.level, self.count = path, level, 0
        self.file = GrowingFile(path, _DTYPES[level]) if level else None
        self.integer, self.zeros = True, 0
        self.lowest, self.highest = np.inf, -np.inf

    def append(self, values: npt.NDArray[Any] | None, count: int) -> None:
        """Append `count` values; None means that all of them are 1."""
        for lo in range(0, count, _PIECE):
            n = min(_PIECE, count - lo)
            piece = np.ones(n) if values is None else np.asarray(values[lo : lo + n], np.float64)
            self._look_at(piece)
            if self.file is not None:
                self.file.append(piece)
            self.count += n

    def _look_at(self, piece: npt.NDArray[np.float64]) -> None:
        low, high = float(piece.min()), float(piece.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise InputError("the data hold NaN or infinity; fill or drop such values first")
        self.lowest, self.highest = min(self.lowest, low), max(self.highest, high)
        level = 0
        if not low == high == 1.0:
            self.integer = self.integer and bool(np.all(piece == np.floor(piece)))
            self.zeros += len(piece) - int(np.count_nonzero(piece))
            with np.errstate(all="ignore"):
                level = (
                    1 if np.array_equal(piece.astype(np.float32).astype(np.float64), piece) else 2
                )
        if level > self.level:
            self._widen(level)

    def _widen(self, level: int) -> None:
        wider = GrowingFile(self.path + ".wider", _DTYPES[level])
        for piece in self._so_far():
            wider.append(piece)
        os.replace(wider.path, self.path)
        self.file, self.level = wider, level

    def _so_far(self) -> Iterator[npt.NDArray[Any]]:
        if self.file is None:
            for lo in range(0, self.count, _PIECE):
                yield np.ones(min(_PIECE, self.count - lo))
            return
        self.file.finish()
        dtype = self.file.dtype
        with open(self.path, "rb") as old:
            old.seek(HEADER)
            while data := old.read(_PIECE * 4):
                yield np.frombuffer(data, dtype=dtype)


class StoreWriter:
    """Takes columns in order and commits them as one store; used as a context manager.

    `folder` is the folder in the making, beside the store; what else needs room on disk while
    columns are made may use it too, and goes when the writer goes.
    """

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.overwrite = overwrite
        self.n_columns = self.stored = 0
        self._n_rows: int | None = None
        self._files: dict[str, GrowingFile] = {}
        self._values: Values | None = None
        parent, name = os.path.split(self.path)
        self.folder = os.path.join(parent, f"{_mark(name)}{os.getpid()}-{secrets.token_hex(4)}")
        if os.path.lexists(self.path):
            if not overwrite:
                raise OutputError(f"{path} exists; give another name or overwrite=True")
            if not os.path.isfile(os.path.join(self.path, META)):
                raise OutputError(f"{path} exists and is not a column store; give another name")
        if not os.path.isdir(parent):
            raise OutputError(f"{path} cannot be written: the folder {parent} does not exist")

    def __enter__(self) -> Self:
        _clear_away(*os.path.split(self.path))
        try:
            os.mkdir(self.folder)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written ({error.strerror})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        if self._values is not None and self._values.file is not None:
            self._values.file.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise OutputError(
                f"{self.path} cannot be written ({error.strerror}); nothing was kept"
            ) from error

    @property
    def is_dense(self) -> bool:
        """True once dense columns were appended."""
        return self._values is not None and "pointers.npy" not in self._files

    def append(self, block: ColumnBlock) -> None:
        """Append the columns of a block."""
        if isinstance(block.values, Compressed):
            self._n_rows = block.n_rows
            self.append_sparse(block.values.pointers, block.values.places, block.values.values)
        else:
            self.append_dense(block.values)
        if block.names is not None:
            self._append_names(block.names)

    def append_sparse(
        self,
        pointers: npt.NDArray[np.int64],
        places: npt.NDArray[Any],
        values: npt.NDArray[Any] | None,
    ) -> None:
        """Append compressed columns, pointers from 0; values None means that all of them are 1."""
        start = self.stored
        self.append_entries(places, values)
        self.close_columns(pointers[1:] + start)

    def append_entries(self, places: npt.NDArray[Any], values: npt.NDArray[Any] | None) -> None:
        """Append entries only; `close_columns` tells later which columns they make."""
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "values.npy"))
            self._open("pointers.npy", "<i8").append([0])
            self._open("places.npy", "<i4")
        elif self.is_dense:
            raise InputError("sparse columns cannot follow dense ones in one column store")
        self._files["places.npy"].append(places)
        self._values.append(values, len(places))
        self.stored += len(places)

    def close_columns(self, ends: npt.NDArray[np.int64]) -> None:
        """Say where each of the next columns ends among all entries so far."""
        self._files["pointers.npy"].append(ends)
        self.n_columns += len(ends)

    def append_dense(self, columns: npt.NDArray[Any]) -> None:
        """Append dense columns, an array of shape (rows, columns)."""
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "dense.npy"), level=1)
            self._n_rows = columns.shape[0]
        elif not self.is_dense or columns.shape[0] != self._n_rows:
            raise InputError("all columns of a store must be dense and of one length, or sparse")
        self._values.append(np.ascontiguousarray(columns.T).reshape(-1), columns.size)
        self.n_columns += columns.shape[1]

    def commit(
        self,
        *,
        n_rows: int,
        y: npt.NDArray[Any] | None = None,
        name_prefix: str = "x",
        name_base: int = 0,
        source: dict[str, Any] | None = None,
    ) -> None:
        """Make everything durable and move it into place."""
        if self._values is None:
            self.append_sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), None)
        values = self._values
        assert values is not None
        self._check(n_rows, y)
        if y is not None:
            y = np.asarray(y)
            y = y.astype(str) if y.dtype.kind == "O" else y
            self._open("y.npy", y.dtype).append(y)
        files = {name: file.finish() for name, file in self._files.items()}
        if values.file is not None:
            shape = (self.n_columns, n_rows) if self.is_dense else (values.count,)
            files[os.path.basename(values.path)] = values.file.finish(shape)
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "n_rows": n_rows,
            "n_columns": self.n_columns,
            "layout": "dense" if self.is_dense else "sparse",
            "stored": None if self.is_dense else self.stored,
            "values": ("ones", "float32", "float64")[values.level],
            "integer_values": values.integer,
            "lowest": values.lowest if values.count else None,
            "highest": values.highest if values.count else None,
            "stored_zeros": values.zeros,
            "name_prefix": name_prefix,
            "name_base": name_base,
            "source": source,
            "files": files,
        }
        with open(os.path.join(self.folder, META), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self.folder)
        self._move_into_place()

    def _check(self, n_rows: int, y: npt.NDArray[Any] | None) -> None:
        if self._n_rows is not None and self._n_rows != n_rows:
            raise SourceError(f"{self._n_rows} rows were read where {n_rows} are expected")
        if y is not None and len(y) != n_rows:
            raise InputError(f"y holds {len(y)} values for {n_rows} rows")
        offsets = self._files.get("names_offsets.npy")
        if offsets is not None and offsets.bytes != 8 * (self.n_columns + 1):
            raise InputError("some columns have names and others have none; name all or none")

    def _move_into_place(self) -> None:
        parent, name = os.path.split(self.path)
        aside = os.path.join(parent, f".{name}.old-{secrets.token_hex(4)}")
        had_one = os.path.lexists(self.path)
        if had_one and not self.overwrite:
            raise OutputError(f"{self.path} came into being meanwhile; give another name")
        if had_one:
            os.rename(self.path, aside)
        try:
            os.rename(self.folder, self.path)
        except OSError:
            if had_one:
                os.rename(aside, self.path)
            raise
        _sync_folder(parent)
        if had_one:
            shutil.rmtree(aside, ignore_errors=True)

    def _append_names(self, names: Names) -> None:
        if "names.bin" not in self._files:
            self._open("names.bin", None)
            self._open("names_offsets.npy", "<i8").append([0])
        blob = self._files["names.bin"]
        self._files["names_offsets.npy"].append(names.offsets[1:] - names.offsets[0] + blob.bytes)
        blob.append(names.blob)

    def _open(self, name: str, dtype: Any) -> GrowingFile:
        self._files[name] = GrowingFile(os.path.join(self.folder, name), dtype)
        return self._files[name]


def _mark(name: str) -> str:
    """How the folder begins in which a store is being written on this machine."""
    return f".{name}.partial-{platform.node() or 'here'}-"


def _clear_away(parent: str, name: str) -> None:
    """Remove what writers of the same store left behind that were killed on this machine."""
    for entry in os.listdir(parent or "."):
        writer = entry.removeprefix(_mark(name)).partition("-")[0]
        if entry.startswith(_mark(name)) and writer.isdigit() and not _runs(int(writer)):
            shutil.rmtree(os.path.join(parent, entry), ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync_folder(path: str) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
