"""Files on disk, or at an address (s3://, gs://, https://, ...) that is read through fsspec.

Both return any range of bytes, so that code that reads ranges of columns need not know where the
file is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from io import FileIO
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError, need, one_sentence
from tamis.sources.base import short_hash

#: Bytes at the end of a remote file that its fingerprint covers; reading all would be slow.
_TAIL = 1 << 16
#: Most bytes of a band of rows that is read from dense columns on disk.
_BAND = 1 << 28


def from_here(path: str) -> str:
    """Return the absolute path; an address is returned unchanged."""
    return path if "://" in path else os.path.abspath(path)


class LocalFile:
    """A file on disk."""

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def size(self) -> int:
        """Its bytes."""
        return os.stat(self._path).st_size

    def read(self, lo: int = 0, hi: int | None = None) -> bytes:
        """Return bytes lo to hi - 1."""
        with open(self._path, "rb") as file:
            file.seek(lo)
            return file.read() if hi is None else file.read(hi - lo)

    def array(self, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return the array that begins at a byte."""
        # Not mapped: if a mapped file is cut off, reading it kills the process.
        array = np.empty(shape, dtype)
        with open(self._path, "rb", buffering=0) as file:
            self._fill(file, array.reshape(-1), offset)
        return array

    def spaced(
        self, dtype: np.dtype[Any], offset: int, shape: tuple[int, int], step: int
    ) -> npt.NDArray[Any]:
        """Return an array whose rows begin every `step` bytes, from byte `offset` on."""
        if shape[1] * dtype.itemsize == step:
            return self.array(dtype, offset, shape)
        array = np.empty(shape, dtype)
        with open(self._path, "rb", buffering=0) as file:
            for k, row in enumerate(array):
                self._fill(file, row, offset + k * step)
        return array

    def _fill(self, file: FileIO, array: npt.NDArray[Any], offset: int) -> None:
        """Read an array of one dimension that begins at a byte."""
        file.seek(offset)
        rest = array.view(np.uint8).data
        while len(rest):
            found = file.readinto(rest)
            if not found:
                raise SourceError(
                    f"{self._path} ends before byte {offset + array.nbytes:,}; it was cut off or "
                    "is being replaced: check it, and try again"
                )
            rest = rest[found:]


class AddressedFile:
    """A file at an address, through fsspec; only the requested bytes are fetched.

    Parameters
    ----------
    url : str
        Such as ``s3://bucket/data.parquet``. Passwords and keys are found where fsspec's package
        for the scheme looks for them: in the environment or its own files.
    """

    def __init__(self, url: str) -> None:
        fsspec = need("fsspec", extra="remote", what_for=url)
        self.url = url
        wrong = (ImportError, ValueError)  # the scheme needs a package, or does not exist
        with one_sentence(f"{url} cannot be opened", "check the address", wrong):
            self._files, self._path = fsspec.core.url_to_fs(url)

    @functools.cached_property
    def _info(self) -> dict[str, Any]:
        found: dict[str, Any] = self._call(self._files.info, self._path)
        return found

    @property
    def size(self) -> int:
        """Its bytes."""
        if not isinstance(self._info.get("size"), int):
            raise SourceError(f"{self.url}: its server does not report its length; copy it")
        return int(self._info["size"])

    def read(self, lo: int = 0, hi: int | None = None) -> bytes:
        """Return bytes lo to hi - 1."""
        found: bytes = self._call(self._files.cat_file, self._path, start=lo, end=hi)
        if hi is not None and len(found) > hi - lo:
            raise SourceError(
                f"{self.url}: its server cannot send parts of a file; copy it to a local file first"
            )
        return found

    def array(self, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return the array that begins at a byte."""
        wanted = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        found = self.read(offset, offset + wanted)
        if len(found) != wanted:
            raise SourceError(
                f"{self.url} gave {len(found):,} bytes where {wanted:,} were requested; check "
                "whether it has changed, and try again"
            )
        return np.frombuffer(bytearray(found), dtype).reshape(shape)

    def spaced(
        self, dtype: np.dtype[Any], offset: int, shape: tuple[int, int], step: int
    ) -> npt.NDArray[Any]:
        """Return an array whose rows begin every `step` bytes, from byte `offset` on."""
        # All of it: a request for each row would take longer.
        whole = self.read(offset, offset + (shape[0] - 1) * step + shape[1] * dtype.itemsize)
        parts = [np.frombuffer(whole, dtype, shape[1], k * step) for k in range(shape[0])]
        return np.array(parts, dtype).reshape(shape)

    def open(self, ahead: int = 0) -> Any:
        """Return an open file that fetches the requested bytes, or blocks of `ahead` bytes."""
        how = {"cache_type": "blockcache", "block_size": ahead} if ahead else {"cache_type": "none"}
        return self._call(self._files.open, self._path, "rb", **how)

    def fingerprint(self) -> str:
        """Return a short hash of the length, the last bytes, and the server's version tag."""
        info = {key.lower(): value for key, value in self._info.items()}
        version = repr((self.size, info.get("etag"), info.get("md5hash")))
        return short_hash(self.read(max(0, self.size - _TAIL)), version)

    def _call(self, call: Any, *args: Any, **options: Any) -> Any:
        """Call the file system; turn any error into one sentence (each has its own error types)."""
        remedy = "check the address and your permission to read it"
        try:
            with one_sentence(f"{self.url} cannot be read", remedy):
                return call(*args, **options)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise SourceError(
                f"{self.url} does not exist, or its server cannot be reached; check the address"
            ) from error.__cause__


#: A file of which any part can be read.
Place = LocalFile | AddressedFile


def place(path: str) -> Place:
    """Return the file at a path or an address."""
    return AddressedFile(path) if "://" in path else LocalFile(path)


def in_bands(
    read: Callable[[int, int], npt.NDArray[Any]], shape: tuple[int, int], memory: int
) -> Callable[[int, int], npt.NDArray[np.float64]]:
    """Return a function that returns rows, given one that reads them from columns on disk.

    Many rows are read at a time, because a column is a small piece of each band.
    """
    n_rows, n_columns = shape
    height = max(1, min(memory // 4, _BAND) // (8 * max(n_columns, 1)))
    held, first, end = np.empty((n_columns, 0)), 0, 0

    def rows(lo: int, hi: int) -> npt.NDArray[np.float64]:
        nonlocal held, first, end
        if lo < first or hi > end:
            first, end = lo, min(n_rows, max(hi, lo + height))
            held = read(first, end)
        return np.ascontiguousarray(held[:, lo - first : hi - first].T, dtype=np.float64)

    return rows
