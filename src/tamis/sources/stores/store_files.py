"""Write a store: growing .npy files, hashed as they are written, in the narrowest exact types.

They are written next to the destination until all are complete; moving them is the last step.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError
from tamis.core.files import check_folder, partial, publish, with_checksum
from tamis.core.names import Names
from tamis.sources.stores.store_folder import HEADER, META, StoreFolder, npy_header

#: Numbers checked or converted at a time.
_PIECE = 1 << 16

#: Types of values by level; None: all are 1.
DTYPES = (None, np.dtype("<f4"), np.dtype("<f8"))


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
        """Append an array (converted to the dtype) or bytes."""
        if self.dtype is not None:
            data = np.ascontiguousarray(data, dtype=self.dtype).reshape(-1).view(np.uint8)
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    def finish(self, shape: tuple[int, ...] | None = None) -> dict[str, Any]:
        """Write the header and describe the file; it is one-dimensional without `shape`."""
        record: dict[str, Any] = {"bytes": self.bytes, "blake2b": self._digest.hexdigest()}
        if self.dtype is not None:
            shape = (self.bytes // self.dtype.itemsize,) if shape is None else shape
            record |= {"dtype": self.dtype.str, "shape": list(shape)}
            self._file.seek(0)
            self._file.write(npy_header(self.dtype, shape))
        self._file.close()
        return record

    def close(self) -> None:
        """Close without finishing."""
        self._file.close()


class Seen:
    """Facts about the numbers seen so far."""

    def __init__(self) -> None:
        self.count = self.zeros = self.missing = 0
        self.integer = True
        self.lowest, self.highest = np.inf, -np.inf

    def prepare(self, piece: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Record facts about numbers; return those that are not missing."""
        self.count += len(piece)
        if not len(piece):
            return piece
        if np.isnan(piece.min()):  # missing values; the selector decides how to treat them
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
        """Return the facts for meta.json."""
        any_there = self.count > self.missing
        return {
            "integer_values": self.integer,
            "lowest": self.lowest if any_there else None,
            "highest": self.highest if any_there else None,
            "stored_zeros": self.zeros,
            "missing": self.missing,
        }


class Values(Seen):
    """Numbers on disk in the narrowest exact type, and facts about them.

    Level 0: all of them are 1 and nothing is stored; level 1: float32 holds every one exactly;
    level 2: float64. A file whose type turns out too narrow is rewritten with a wider one.
    """

    def __init__(self, writer: FolderWriter, name: str, level: int = 0) -> None:
        super().__init__()
        self.level, self._writer, self._name = level, writer, name
        if level:
            writer.open(name, DTYPES[level])

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
            if self.level:
                self._writer.files[self._name].append(piece)

    def _widen(self, level: int, written: int) -> None:
        if self.level:
            self._writer.rewrite(self._name, DTYPES[level])
        else:
            file = self._writer.open(self._name, DTYPES[level])
            for lo in range(0, written, _PIECE):
                file.append(np.ones(min(_PIECE, written - lo)))
        self.level = level


def fit_float32(piece: npt.NDArray[np.float64]) -> bool:
    """Return True if float32 holds every number exactly; none may be missing."""
    with np.errstate(all="ignore"):
        return np.array_equal(piece.astype(np.float32).astype(np.float64), piece)


class FolderWriter:
    """A store that is being written; a context manager.

    `folder` is the hidden folder that becomes the store, and `files` are its open files. It may
    also contain temporary files, which must be removed before the store is finished. Subclasses set
    `STORE`, the class that reads it.
    """

    STORE: ClassVar[type[StoreFolder]]

    def __init__(self, path: str, *, force: bool = False) -> None:
        check_folder(path, self.STORE.KIND, force=force)
        self.path = os.path.realpath(path)
        self.force = force
        self.files: dict[str, GrowingFile] = {}
        self._partial = partial(self.path, self.STORE.KIND, force=force)

    def __enter__(self) -> Self:
        self.folder = str(self._partial.__enter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for file in self.files.values():
                file.close()
        finally:
            self._partial.__exit__(kind, error, trace)

    def open(self, name: str, dtype: Any) -> GrowingFile:
        """Open a file of the store."""
        self.files[name] = GrowingFile(os.path.join(self.folder, name), dtype)
        return self.files[name]

    def rewrite(self, name: str, dtype: Any, labels: npt.NDArray[Any] | None = None) -> None:
        """Rewrite a file with another type, piece by piece; `labels` are the values of codes."""
        old = self.files[name]
        assert old.dtype is not None
        old.close()
        new = self.files[name] = GrowingFile(old.path + ".new", dtype)
        for lo in range(0, old.bytes, _PIECE * old.dtype.itemsize):
            piece = np.fromfile(old.path, old.dtype, _PIECE, offset=HEADER + lo)
            new.append(piece if labels is None else labels[piece])
        os.replace(new.path, old.path)
        new.path = old.path

    def append_names(self, names: Names) -> None:
        """Append the names of the next columns."""
        if "names.bin" not in self.files:
            self.open("names.bin", None)
            self.open("names_offsets.npy", "<i8").append([0])
        blob = self.files["names.bin"]
        self.files["names_offsets.npy"].append(names.offsets[1:] - names.offsets[0] + blob.bytes)
        blob.append(names.blob)

    def _finish(
        self,
        shape: tuple[int, int],
        stored: int | None,
        values: str,
        seen: Seen,
        shapes: dict[str, tuple[int, int]],
        rest: dict[str, Any],
    ) -> None:
        """Write meta.json, and move the store to its destination."""
        files = {name: file.finish(shapes.get(name)) for name, file in self.files.items()}
        format, version = self.STORE.STORED_AS
        meta = {
            "format": format,
            "version": version,
            "n_rows": shape[0],
            "n_columns": shape[1],
            "layout": "dense" if stored is None else "sparse",
            "stored": stored,
            "values": values,
            **seen.facts(),
            **rest,
            "files": files,
        }
        with open(os.path.join(self.folder, META), "w", encoding="utf-8") as file:
            json.dump(with_checksum(meta), file, indent=1)
        publish(Path(self.folder), self.path, force=self.force)
