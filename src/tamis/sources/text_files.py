"""Text files, plain or compressed (recognised by content), in chunks that end at line ends.

`in_order` works on the chunks ahead of the reader, with threads.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import os
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from types import GeneratorType
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.kernels.threads import thread_count

A = TypeVar("A")
B = TypeVar("B")

_MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
_BOM = b"\xef\xbb\xbf"
#: How text is encoded that is not UTF-8, unless it says otherwise: Latin-1 and a few characters.
OF_WINDOWS = "windows-1252"
#: Errors raised when a damaged file is decompressed.
_DAMAGE = (EOFError, OSError, zlib.error)
#: Bytes of empty lines in a row: a small compressed file can hold gigabytes of them.
MOST_BLANK = 32 << 20

#: The beginning of a line, at the end of a chunk this many times as long, is read again.
_REREAD = 8

#: A line longer than this is refused: a small compressed file can hold gigabytes of one byte.
LONGEST_LINE = 512_000_000


class DamageError(SourceError):
    """A compressed file is truncated or damaged; everything before that could be read."""


class TextFile:
    """A text file on disk.

    Attributes
    ----------
    path, size : str, int
        The path, and the size on disk in bytes.
    compression : {"none", "gzip", "bzip2", "zstd"}
        Recognised by the first bytes, not by the name.
    done : int
        Bytes of the file read so far by the last `chunks()`, for progress.
    skipped : int
        Bytes before the first line that are not text: a byte order mark.
    encoding : str or None
        How characters are encoded, if not as UTF-8; chunks are UTF-8 in any case.
    """

    #: Whether it can be read more than once.
    again: bool = True
    encoding: str | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path = os.path.expanduser(os.fspath(path))
        self.done = self.skipped = 0
        if os.path.isdir(path):
            raise SourceError(f"{path} is a folder; give the path of a file in it")
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
        self.compression = next((c for c in _MAGIC if head.startswith(_MAGIC[c])), "none")

    def chunks(
        self,
        size: int,
        longest: int = LONGEST_LINE,
        *,
        start: int = 0,
        stop: int | None = None,
    ) -> Generator[npt.NDArray[np.uint8]]:
        """Stream the text in chunks of about `size` bytes, each ending with a newline.

        A line longer than that makes a longer chunk, one longer than `longest` is refused; a
        missing last newline is added. `start` is the byte to begin at and `stop` the one to end
        before, both beginnings of lines (`line_start`), in a file that is not compressed. A damaged
        file yields every line that is complete, then raises `DamageError`.
        """
        waiting: list[bytes | memoryview] = []
        given, wanted, is_first, blank = start, max(1, size), start == 0, 0
        with self._open() as (raw, text):
            if start:
                raw.seek(start)
            while data := text.read(wanted if stop is None else min(wanted, stop - raw.tell())):
                self.done = raw.tell()
                blank = blank + len(data) if data.isspace() else 0
                if blank > MOST_BLANK:
                    raise SourceError(
                        f"{self.path} holds more than {MOST_BLANK >> 20} MB of empty lines in a "
                        "row; check how it was written"
                    )
                if is_first:
                    while len(data) < len(_BOM) and (more := text.read(1)):
                        data += more
                    self.skipped = len(_BOM) if data.startswith(_BOM) else 0
                    data, is_first = data.removeprefix(_BOM), False
                cut = data.rfind(b"\n") + 1
                if cut:
                    waiting.append(memoryview(data)[:cut] if cut < len(data) else data)
                    given += sum(map(len, waiting))
                    yield _as_array(waiting)
                    rest, waiting, wanted = data[cut:], [], max(1, size)
                    if rest and text is raw and self.again and _REREAD * len(rest) < cut:
                        # Cheaper than to copy all that follows behind it.
                        raw.seek(-len(rest), os.SEEK_CUR)
                        blank -= min(blank, len(rest))
                    elif rest:
                        waiting = [rest]
                else:  # a line that is longer than a chunk: read further each time
                    waiting.append(data)
                    wanted = max(1, min(2 * wanted, longest + 1 - sum(map(len, waiting))))
                if sum(map(len, waiting)) > longest:
                    raise SourceError(self._too_long(given, longest))
        if any(waiting):
            yield _as_array([*waiting, b"\n"])

    def _too_long(self, before: int, longest: int) -> str:
        """Return an error message about the line that follows `before` bytes of text."""
        if not self.again:
            return f"{self.path} has a line longer than {longest:,} bytes; is it text?"
        line = self.lines_before(before) + 1
        return (
            f"{self.path} line {line} is longer than {longest:,} bytes; look for a quote that is "
            "never closed, or bytes that are not text"
        )

    def lines_before(self, byte: int) -> int:
        """Return how many lines end before a byte of the text."""
        lines = 0
        with self._open() as (_, text):
            while byte > 0 and (data := text.read(min(byte, 1 << 20))):
                byte -= len(data)
                lines += data.count(b"\n")
        return lines

    def line_start(self, byte: int) -> int:
        """Return the start of the first line that begins at or after a byte, in a plain file."""
        if byte <= 0:
            return 0
        with self._raw() as raw:
            raw.seek(byte - 1)
            while (data := raw.readline(1 << 20)) and not data.endswith(b"\n"):
                pass
            return raw.tell()

    def fingerprint(self) -> str:
        """Return a short hash of the bytes on disk."""
        with open(self.path, "rb") as raw:
            return hashlib.file_digest(raw, partial(hashlib.blake2b, digest_size=8)).hexdigest()

    def _raw(self) -> IO[bytes]:
        """Return the bytes on disk."""
        return open(self.path, "rb")

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file and its text; damage raises a one-sentence error."""
        what = "" if self.compression == "none" else f"{self.compression} "
        recoded: Any
        with self._raw() as raw:
            text: Any = raw
            if self.compression == "gzip":
                text = _ToTheEnd(gzip.GzipFile(fileobj=raw, mode="rb"))
            elif self.compression == "bzip2":
                text = _ToTheEnd(bz2.BZ2File(raw, "rb"))
            elif self.compression == "zstd":
                import pyarrow as pa

                text = _ToTheEnd(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
            try:
                recoded = text if self.encoding is None else _Recoded(text, self.encoding)
                yield raw, recoded
            except _DAMAGE as error:
                raise DamageError(
                    f"{self.path} is a truncated or damaged {what}file near byte {raw.tell()} "
                    f"({str(error).rstrip('.')}); fetch or write it again"
                ) from error


class TextPipe(TextFile):
    """Text from a pipe, such as standard input: it is read once, from front to back."""

    again = False

    def __init__(self, path: str, pipe: IO[bytes], *, close: bool = False) -> None:
        self.path, self.size = path, 0
        self.done = self.skipped = 0
        head = b""
        while len(head) < 4 and (more := pipe.read(4 - len(head))):
            head += more
        if not head:
            raise SourceError(f"{path} is empty; give at least one row")
        self.compression = next((c for c in _MAGIC if head.startswith(_MAGIC[c])), "none")
        self._bytes: IO[bytes] = io.BufferedReader(_Rest(head, pipe, close))

    def fingerprint(self) -> str:
        """Return an empty string: a pipe cannot be read again."""
        return ""

    def _raw(self) -> IO[bytes]:
        return self._bytes


class _Rest(io.RawIOBase):
    """A pipe whose first bytes were already read, with those bytes put back."""

    def __init__(self, head: bytes, pipe: IO[bytes], close: bool) -> None:
        self._head, self._pipe, self._close = head, pipe, close
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def close(self) -> None:
        if self._close:
            self._pipe.close()
        super().close()

    def readinto(self, into: Any, /) -> int:
        piece = self._head[: len(into)]
        self._head = self._head[len(piece) :]
        if not piece:
            read = getattr(self._pipe, "read1", self._pipe.read)
            piece = read(len(into))
        into[: len(piece)] = piece
        self._given += len(piece)
        return len(piece)


def encoding_of(file: TextFile, sample: int, longest: int) -> str | None:
    """Return the encoding of a text that is not UTF-8: that of Windows, unless it names itself."""
    chunks = file.chunks(sample, longest)
    try:
        head = bytes(next(chunks, b""))
    finally:
        chunks.close()
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", OF_WINDOWS):
        with suppress(UnicodeDecodeError):
            head.decode(encoding)
            return None if encoding == "utf-8" else encoding
    return "latin-1"


class _Recoded:
    """Text in another encoding, as UTF-8."""

    def __init__(self, text: Any, encoding: str) -> None:
        self._text, self._decoder = text, codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int) -> bytes:
        """Return about `size` bytes, or nothing at the end."""
        while data := self._text.read(size):
            if text := self._decoder.decode(data):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", final=True).encode("utf-8", "replace")


class _ToTheEnd:
    """Returns everything that can be decompressed from a damaged file before it raises."""

    def __init__(self, text: Any) -> None:
        self._text = text
        self._error: BaseException | None = None

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        pieces, left = list[bytes](), size
        try:
            while left and self._error is None and (piece := self._text.read1(left)):
                pieces.append(piece)
                left -= len(piece)
        except _DAMAGE as error:
            self._error = error
        if not pieces and self._error is not None:
            raise self._error
        return b"".join(pieces)


def _as_array(parts: list[bytes | memoryview]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), dtype=np.uint8)


#: The name of standard input in messages.
STDIN = "standard input"


def open_text(path: str | os.PathLike[str]) -> TextFile:
    """Open a text file, or a pipe: standard input for ``-``."""
    name = os.path.expanduser(os.fspath(path))
    if name == "-":
        return TextPipe(STDIN, sys.stdin.buffer)
    return TextPipe(name, open(name, "rb"), close=True) if is_pipe(name) else TextFile(name)


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is ``-`` or the name of a pipe."""
    name = os.path.expanduser(os.fspath(path))
    return name == "-" or (os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode))


def in_order(
    items: Iterator[A], work: Callable[[A], B], *, read_in_thread: bool = True
) -> Generator[B]:
    """Process items with threads, each reading one item ahead; yield results in order.

    An error from reading is raised after the results of the items read before it; an error from
    work is raised in place of its result and ends the iteration. Closing the iterator stops the
    threads and closes the items, so that references to them (as in the frames of an error) keep no
    file open. Pipes must be read in the caller's thread: a thread that waits for a pipe cannot be
    stopped.
    """
    workers = thread_count()
    waiting: deque[Future[B]] = deque()
    pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="tamis-ahead")
    end: SourceError | None = None
    try:
        while end is None:
            coming = pool.submit(next, items, None) if read_in_thread else None
            if len(waiting) > workers:
                yield waiting.popleft().result()
            try:
                item = next(items, None) if coming is None else coming.result()
            except SourceError as error:
                end = error
                continue
            if item is None:
                break
            waiting.append(pool.submit(work, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        # Ctrl-C while a thread starts leaves a thread that is not joined and may still be reading.
        if isinstance(items, GeneratorType) and not items.gi_running:
            items.close()
    if end is not None:
        raise end
