"""Read a store: a folder of plain .npy files with a meta.json, read in parts."""

from __future__ import annotations

import hashlib
import json
import math
import os
from abc import abstractmethod
from contextlib import ExitStack
from io import FileIO
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.errors import DAMAGE, SourceError
from tamis.core.files import check_record, recover_missing, refuse_endless, refuse_unreadable
from tamis.core.names import Names
from tamis.core.process_memory import reuse_freed
from tamis.kernels.compressed_checks import never_fall
from tamis.sources.addresses import Place, place
from tamis.sources.base import Progress, Source, short_hash, silent

#: The file that describes the content of a store; it is written last.
META = "meta.json"
#: Every .npy header is padded to this, so that it can be written once the length is known.
HEADER = 128
#: Bytes that are compared with a checksum at a time.
_PIECE = 1 << 20
#: Keys of meta.json, besides format and version, that every store has.
_KEYS = frozenset({
    "n_rows", "n_columns", "layout", "stored", "values", "integer_values", "lowest", "highest",
    "stored_zeros", "name_prefix", "name_base", "source", "files",
})  # fmt: skip
#: The keys that `tamis info` prints.
_DETAILS = ("values", "integer_values", "lowest", "highest", "stored_zeros", "missing", "source")


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return an .npy header of exactly HEADER bytes."""
    text = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("ascii").ljust(HEADER - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


#: Types of an .npy file ("<f4 <f8", or kinds such as "biuf") and its shape, with None for any
#: length; no types for other files.
Expected = tuple[str, tuple[int | None, ...]]


def whole(number: Any) -> int:
    """Return a count from JSON; ValueError if it is not one."""
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is not a count")
    return number


def _everywhere(n_rows: int, n_columns: int) -> dict[str, Expected]:
    """Return the files that stores of every kind may have."""
    return {
        "y.npy": ("biufU", (n_rows,)),
        "names.bin": ("", ()),
        "names_offsets.npy": ("<i8", (n_columns + 1,)),
    }


def _fits(record: dict[str, Any], types: str, shape: tuple[int | None, ...]) -> bool:
    """Return True if meta.json says of a file what is expected of it."""
    size = whole(record["bytes"])
    if not types:
        return "dtype" not in record
    dtype, found = np.dtype(record["dtype"]), [whole(n) for n in record["shape"]]
    return (
        (dtype.str in types.split() if types[0] in "<|" else dtype.kind in types)
        and len(found) == len(shape)
        and all(n in (None, m) for n, m in zip(shape, found, strict=True))
        and size == math.prod(found) * dtype.itemsize
    )


class StoreFolder(Source):
    """Base class of stores: meta.json, files that are checked against it, and parts of them.

    Attributes
    ----------
    path, meta : str, dict
        The folder, and the content of its meta.json.
    KIND, STORED_AS, KEYS
        The name in messages; format and version in meta.json; other required keys.
    """

    KIND: ClassVar[str]
    STORED_AS: ClassVar[tuple[str, int]]
    KEYS: ClassVar[frozenset[str]] = _KEYS

    path: str
    meta: dict[str, Any]
    n_rows: int = 0
    n_columns: int = 0
    stored: int | None = None

    def _open_folder(self, path: str) -> None:
        """Read meta.json and check that every file exists and has the recorded length."""
        if "://" not in path:
            recover_missing(path)
        self.path = path
        self.meta = meta = self._read_meta()
        try:
            self.n_rows, self.n_columns = whole(meta["n_rows"]), whole(meta["n_columns"])
            self.stored = None if meta["stored"] is None else whole(meta["stored"])
            self.name_prefix, self.name_base = str(meta["name_prefix"]), int(meta["name_base"])
            expected = {**self.expected(), **_everywhere(self.n_rows, self.n_columns)}
            for name, record in meta["files"].items():
                if name not in expected or not _fits(record, *expected[name]):
                    raise self._damaged(f"{name} in {META}")
                self._check_file(name, record)
            if not self.required() <= set(meta["files"]):
                raise self._damaged(f"the list of files in {META}")
        except DAMAGE as error:
            refuse_unreadable(path)
            raise error if isinstance(error, SourceError) else self._damaged(META) from error

    @abstractmethod
    def expected(self) -> dict[str, Expected]:
        """Return the files that a store of this kind may have: their types and shapes."""

    def required(self) -> set[str]:
        """Return the files without which the store cannot be read."""
        return {"dense.npy"} if self.stored is None else {"pointers.npy"}

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        return None if self._has("y.npy") else "convert it again from data that has one"

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target stored with the data, or None."""
        return np.array(self._part("y.npy")) if self._has("y.npy") else None

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        details = {key: self.meta[key] for key in _DETAILS if key in self.KEYS}
        details["bytes"] = sum(record["bytes"] for record in self.meta["files"].values())
        made_from = self.meta["source"] or {}
        return details | {k: made_from[k] for k in ("decimal",) if k in made_from}

    def fingerprint(self) -> str:
        """Return a short hash of the content of every file."""
        files = sorted(self.meta["files"].items())
        return short_hash(*(f"{name} {record['blake2b']}\n" for name, record in files))

    def verify(self, progress: Progress = silent) -> None:
        """Read every file and compare it with its checksum; SourceError names one that differs."""
        files: dict[str, dict[str, Any]] = self.meta["files"]
        done, total = 0, sum(record["bytes"] for record in files.values())
        for name, record in files.items():
            digest, file = hashlib.blake2b(digest_size=16), self._at(name)
            first = HEADER if "dtype" in record else 0
            for lo in range(first, first + record["bytes"], _PIECE):
                piece = file.read(lo, min(lo + _PIECE, first + record["bytes"]))
                digest.update(piece)
                done += len(piece)
                progress("verifying the store", done, total)
            if digest.hexdigest() != record["blake2b"]:
                raise SourceError(f"{self.path} is damaged: {name} has changed; rebuild the store")

    def _has(self, name: str) -> bool:
        return name in self.meta["files"]

    def _names(self, lo: int, hi: int) -> Names | None:
        """Return the names of columns lo to hi - 1, if they have any."""
        if not self._has("names.bin"):
            return None
        offsets = self._part("names_offsets.npy", lo, hi + 1)
        first, last = int(offsets[0]), int(offsets[-1])
        if not 0 <= first <= last <= self.meta["files"]["names.bin"]["bytes"]:
            raise self._damaged("names_offsets.npy")
        text, offsets = self._at("names.bin").read(first, last), offsets - first
        if not never_fall(offsets, len(text)):
            raise self._damaged("names_offsets.npy")
        names = Names(text, offsets)
        if not names.decode:
            raise self._damaged("names.bin")
        return names

    def _part(self, name: str, lo: int = 0, hi: int | None = None) -> npt.NDArray[Any]:
        """Read elements (or columns) lo to hi - 1 of a file, separately for each block."""
        record = self.meta["files"][name]
        length, *rest = record["shape"]
        lo, hi, _ = slice(lo, hi).indices(length)
        shape = (max(0, hi - lo), *rest)
        dtype = np.dtype(record["dtype"])
        if 0 in shape:
            return np.empty(shape, dtype)
        offset = HEADER + lo * int(np.prod(rest, dtype=np.int64)) * dtype.itemsize
        return self._at(name).array(dtype, offset, shape)

    def _damaged(self, what: str) -> SourceError:
        """Return the error about content that does not fit the rest of the store."""
        return SourceError(f"{self.path} is damaged: {what} cannot be right; rebuild the store")

    def _at(self, name: str) -> Place:
        """Return one of its files."""
        return place(f"{self.path}/{name}" if "://" in self.path else f"{self.path}{os.sep}{name}")

    def _check_file(self, name: str, record: dict[str, Any]) -> None:
        """Compare a file's length and .npy header with meta.json."""
        file, header = self._at(name), b""
        if "dtype" in record:
            header = npy_header(np.dtype(record["dtype"]), tuple(record["shape"]))
        try:
            is_whole = file.size == len(header) + record["bytes"]
            is_whole = is_whole and file.read(0, len(header)) == header
        except OSError as error:
            raise SourceError(
                f"{self.path} is damaged: {name} cannot be read ({error.strerror}); rebuild it"
            ) from error
        if not is_whole:
            raise SourceError(
                f"{self.path} is damaged: {name} has another length or shape than {META} says; "
                "rebuild the store"
            )

    def _read_meta(self) -> dict[str, Any]:
        path, (format, known) = self.path, self.STORED_AS
        if "://" in path:
            self._at(META).size  # noqa: B018 - raises an error if the address is wrong
        elif not os.path.exists(path):
            raise SourceError(f"{path} does not exist; check the path")
        try:
            if "://" not in path:
                refuse_endless(f"{path}{os.sep}{META}")
            meta: dict[str, Any] = json.loads(self._at(META).read())
            if meta["format"] != format:
                raise KeyError(format)
            version = meta["version"]
        except DAMAGE as error:
            refuse_unreadable(path)
            raise SourceError(f"{path} is not a {self.KIND}: it has no {META} of one") from error
        if version != known:
            raise SourceError(
                f"{path} is a {self.KIND} of version {version} and this tamis reads version "
                f"{known}; rebuild the store"
            )
        if not set(meta) >= self.KEYS:
            lacking = min(self.KEYS - set(meta))
            raise SourceError(f"{path} is damaged: {META} lacks {lacking}; rebuild it")
        try:
            return check_record(meta)
        except ValueError as error:
            raise SourceError(f"{path} is damaged: {META} ({error}); rebuild it") from error


class OpenFiles(ExitStack):
    """The files of a store, held open to read one part after another into memory.

    Reading into memory that is already in the cache is faster than mapping one part after another,
    whose pages are new to the processor each time.
    """

    def __init__(self, store: StoreFolder) -> None:
        super().__init__()
        reuse_freed()
        self._store = store
        self._open: dict[str, FileIO] = {}
        self._scratch: dict[str, npt.NDArray[np.uint8]] = {}

    def length(self, name: str) -> int:
        """Return the number of elements of a file."""
        return int(self._store.meta["files"][name]["shape"][0])

    def read(self, name: str, lo: int, hi: int, *, scratch: bool = False) -> npt.NDArray[Any]:
        """Return elements lo to hi - 1 of a file; with `scratch`, valid until the next read."""
        dtype = np.dtype(self._store.meta["files"][name]["dtype"])
        size = (hi - lo) * dtype.itemsize
        if not scratch:
            into = np.empty(size, dtype=np.uint8)
        else:
            if name not in self._scratch or size > len(self._scratch[name]):
                self._scratch[name] = np.empty(size + size // 8, dtype=np.uint8)
            into = self._scratch[name][:size]
        if name not in self._open:
            path = os.path.join(self._store.path, name)
            self._open[name] = self.enter_context(open(path, "rb", buffering=0))  # noqa: SIM115
        file, left = self._open[name], into.data
        file.seek(HEADER + lo * dtype.itemsize)
        while len(left) and (got := file.readinto(left)):
            left = left[got:]
        if len(left):
            raise SourceError(f"{self._store.path} is damaged: {name} ends early; rebuild it")
        return into.view(dtype)
