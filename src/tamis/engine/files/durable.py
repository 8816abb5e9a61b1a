"""Files that survive a crash: written, forced to the disk, hashed; and one head that names them.

A commit writes new files beside the old ones and then replaces the head, which names every file
that counts with its length and hash. Until that one rename the old head holds, after it the new
one: a process that is killed in between leaves files that nobody names, which are cleared away.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tamis.core.errors import OutputError, ParameterError, SourceError

HEAD = "HEAD.json"
LOCK = "lock"
HISTORY = "history.jsonl"

Record = dict[str, Any]


# --- bytes ----------------------------------------------------------------------------------


def pack(facts: Any) -> bytes:
    """Nested dicts and lists of numbers, words and arrays as one .npz file; no pickle."""
    arrays: dict[str, Any] = {}

    def plain(thing: Any, path: str) -> Any:
        if isinstance(thing, np.ndarray):
            arrays[path] = np.ascontiguousarray(thing)
            return {"array": path}
        if isinstance(thing, np.generic):
            return thing.item()
        if isinstance(thing, Mapping):
            return {"map": {key: plain(value, f"{path}.{key}") for key, value in thing.items()}}
        if isinstance(thing, list | tuple):
            return {"list": [plain(value, f"{path}.{i}") for i, value in enumerate(thing)]}
        if thing is None or isinstance(thing, bool | int | float | str):
            return thing
        raise ParameterError(f"{thing!r} cannot be written to a file of numbers and words")

    text = json.dumps(plain(facts, "facts")).encode()
    buffer = io.BytesIO()
    np.savez(buffer, json=np.frombuffer(text, dtype=np.uint8), **arrays)
    return buffer.getvalue()


def unpack(data: bytes) -> Any:
    """What `pack` was given; tuples come back as lists."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:

        def full(thing: Any) -> Any:
            if not isinstance(thing, dict):
                return thing
            ((kind, inner),) = thing.items()
            if kind == "array":
                return file[inner]
            if kind == "map":
                return {key: full(value) for key, value in inner.items()}
            return [full(value) for value in inner]

        return full(json.loads(file["json"].tobytes().decode()))


def digest(data: bytes | memoryview) -> str:
    """A short hash of bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# --- files ----------------------------------------------------------------------------------


def write_file(folder: Path, name: str, data: bytes) -> Record:
    """Write a file that was not there, force it to the disk, and say what it holds."""
    with (folder / name).open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {"name": name, "bytes": len(data), "blake2b": digest(data)}


def record_of(folder: Path, name: str) -> Record:
    """Force a file that another library wrote to the disk, and say what it holds."""
    with (folder / name).open("rb+") as file:
        os.fsync(file.fileno())
        data = file.read()
    return {"name": name, "bytes": len(data), "blake2b": digest(data)}


def read_file(folder: Path, record: Record) -> bytes:
    """The bytes that a head names, if they are still the same."""
    name = str(record["name"])
    if name != os.path.basename(name):
        raise SourceError(f"{name!r} is no name of a file in the folder")
    data = (folder / name).read_bytes()
    if len(data) != record["bytes"] or digest(data) != record["blake2b"]:
        raise SourceError(f"the checksum of {name} is wrong")
    return data


def write_head(folder: Path, head: Record) -> None:
    """Put a new head in place of the old one, in one step that is there or not."""
    text = json.dumps(head, ensure_ascii=False)
    body = json.dumps({"head": head, "blake2b": digest(text.encode("utf-8", "surrogatepass"))})
    part = folder / f"{HEAD}.part"
    with part.open("w", encoding="ascii") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / HEAD)
    sync_folder(folder)


def read_head(folder: Path) -> Record:
    """The head, if it is whole."""
    body = json.loads((folder / HEAD).read_text(encoding="ascii"))
    head: Record = body["head"]
    text = json.dumps(head, ensure_ascii=False)
    if digest(text.encode("utf-8", "surrogatepass")) != body["blake2b"]:
        raise SourceError(f"the checksum of {HEAD} is wrong")
    return head


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def clear_others(folder: Path, named: Iterable[str]) -> None:
    """Remove what no head names: what a killed writer left, and what was replaced."""
    keep = {HEAD, LOCK, HISTORY, *named}
    for entry in os.scandir(folder):
        if entry.name not in keep and entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)


def link(target: Path, place: Path) -> None:
    """Let `place` show a file in one step: as a second name for it, or a copy where there is none.

    The old file at `place` is there until the new one is.
    """
    part = place.with_name(f".{place.name}.part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    try:
        os.link(target, part)
    except OSError:
        part.write_bytes(target.read_bytes())
    os.replace(part, place)


# --- a file that is only appended to --------------------------------------------------------


def append_line(folder: Path, so_far: Record, line: Record) -> Record:
    """Append a line of JSON behind what counts of the history; the record of what counts then."""
    data = json.dumps(line).encode() + b"\n"
    with (folder / HISTORY).open("ab") as file:
        file.truncate(so_far["bytes"])  # a killed writer may have left half a line
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {
        "bytes": so_far["bytes"] + len(data),
        "blake2b": digest(so_far["blake2b"].encode() + data),
    }


def read_lines(folder: Path, record: Record) -> list[Record]:
    """The lines that count."""
    with (folder / HISTORY).open("rb") as file:
        data = file.read(record["bytes"])
    lines, chain = data.splitlines(keepends=True), ""
    for line in lines:
        chain = digest(chain.encode() + line)
    if len(data) != record["bytes"] or chain != record["blake2b"]:
        raise SourceError(f"the checksum of {HISTORY} is wrong")
    return [json.loads(line) for line in lines]


# --- one writer at a time -------------------------------------------------------------------


@contextlib.contextmanager
def locked(
    folder: Path, *, wait: bool = True, say: Callable[[str], object] = lambda sentence: None
) -> Iterator[None]:
    """Be the only one who writes to a folder; wait for another one, or refuse."""
    with (folder / LOCK).open("ab") as file:
        if not _try_lock(file.fileno()):
            if not wait:
                raise OutputError(
                    f"another process is feeding {folder.parent}; wait for it, or leave out "
                    "--no-wait (wait=False)"
                )
            say(f"another process is feeding {folder.parent}; waiting for it")
            _lock(file.fileno())
        yield


try:
    import fcntl
except ImportError:  # Windows
    import time

    def _try_lock(handle: int) -> bool:
        import msvcrt

        try:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

    def _lock(handle: int) -> None:
        while not _try_lock(handle):
            time.sleep(0.2)

else:

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)


#: What reading a damaged folder can raise.
DAMAGE = (
    LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile,
    NotImplementedError, AssertionError,
)  # fmt: skip
