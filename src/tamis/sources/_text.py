"""Bytes of a text file: plain or compressed, told by content, in chunks that end at line ends."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError, need

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
_BOM = b"\xef\xbb\xbf"
#: Compressed zstd bytes given to the decompressor at a time; what comes out may be much longer.
_ZSTD_PIECE = 1 << 14


class TextFile:
    """A text file on disk.

    Attributes
    ----------
    path, size : str, int
        Where it is, and its bytes on disk.
    compression : {"none", "gzip", "bzip2", "zstd"}
        Told by the first bytes, not by the name.
    done : int
        How many bytes of the file the last `chunks()` has read so far, for progress.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.done = 0
        if os.path.isdir(path):
            raise SourceError(f"{path} is a folder; give the path of a text file in it")
        if os.path.exists(path) and not os.path.isfile(path):
            raise SourceError(
                f"{path} is a pipe or a device, which cannot be read twice; save it to a file first"
            )
        try:
            with open(path, "rb") as raw:
                head = raw.read(4)
                self.size = os.fstat(raw.fileno()).st_size
        except FileNotFoundError:
            raise SourceError(f"{path} does not exist; check the path") from None
        except OSError as error:
            raise SourceError(f"{path} cannot be read ({error.strerror}); check it") from error
        if not head:
            raise SourceError(f"{path} is empty; give a file with at least one row")
        self.compression = next((c for m, c in _MAGIC.items() if head.startswith(m)), "none")

    def chunks(self, size: int) -> Iterator[npt.NDArray[np.uint8]]:
        """Stream the text in chunks of about `size` bytes, each ending with a newline.

        A line longer than that makes a longer chunk; a missing last newline is added.
        """
        waiting: list[bytes] = []
        wanted, is_first = max(1, size), True
        with self._open() as (raw, text):
            while data := text.read(wanted):
                self.done = raw.tell()
                if is_first:
                    while len(data) < len(_BOM) and (more := text.read(1)):
                        data += more
                    data, is_first = data.removeprefix(_BOM), False
                cut = data.rfind(b"\n") + 1
                if cut:
                    waiting.append(data[:cut] if cut < len(data) else data)
                    yield _as_array(waiting)
                    waiting, wanted = [data[cut:]] if cut < len(data) else [], max(1, size)
                else:  # a line that is longer than a chunk: read further each time
                    waiting.append(data)
                    wanted *= 2
        if any(waiting):
            yield _as_array([*waiting, b"\n"])

    def fingerprint(self) -> str:
        """Return a short hash of the bytes on disk."""
        digest = hashlib.blake2b(digest_size=8)
        with open(self.path, "rb") as raw:
            while piece := raw.read(1 << 20):
                digest.update(piece)
        return digest.hexdigest()

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file and its text; damage inside becomes one sentence."""
        damage: tuple[type[BaseException], ...] = (EOFError, OSError, zlib.error)
        with open(self.path, "rb") as raw:
            text: Any = raw
            if self.compression == "gzip":
                text = gzip.GzipFile(fileobj=raw, mode="rb")
            elif self.compression == "bzip2":
                text = bz2.BZ2File(raw, "rb")
            elif self.compression == "zstd":
                zstandard = need("zstandard", extra="zstd", what_for="reading a .zst file")
                damage += (zstandard.ZstdError,)
                text = io.BufferedReader(_Zstd(raw, zstandard.ZstdDecompressor().decompressobj))
            try:
                yield raw, text
            except damage as error:
                what = "" if self.compression == "none" else f"{self.compression} "
                raise SourceError(
                    f"{self.path} is a truncated or damaged {what}file near byte {raw.tell()} "
                    f"({str(error).rstrip('.')}); fetch or write it again"
                ) from error


class _Zstd(io.RawIOBase):
    """Zstandard frames end to end; the package's own reader takes a cut-off file for whole."""

    def __init__(self, raw: IO[bytes], new_frame: Callable[[], Any]) -> None:
        self._raw, self._new_frame = raw, new_frame
        self._frame: Any = None
        self._input = self._output = b""
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        while self._given == len(self._output):
            self._input = self._input or self._raw.read(_ZSTD_PIECE)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return 0
            self._frame = self._frame or self._new_frame()
            self._output, self._given = self._frame.decompress(self._input), 0
            self._input = b""
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        piece = self._output[self._given : self._given + len(into)]
        into[: len(piece)] = piece
        self._given += len(piece)
        return len(piece)


def _as_array(parts: list[bytes]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), dtype=np.uint8)
