"""The state of a persistent selection on disk: one SQLite file, ``run/state.sqlite``.

SQLite gives atomic commits that survive a kill and a power loss, and readers that see the last
commit while another process writes. Everything is a row of one table: a kind, a number, and bytes
with a checksum, because SQLite does not notice a flipped bit inside a value.

========  =======  ======================================================================
kind      number   data
========  =======  ======================================================================
head      0        method, parameters, encoding, reasons, counts and facts of the run
rows      0        the target and the keys of the rows
selector  0        the few numbers of the selector that do not follow from the rest
log       0, 1, …  consecutive pieces of the log, with names and hashes of the columns seen
column    feature  values of a kept column
history   commit   what happened: one row per commit
========  =======  ======================================================================

A folder may be untrusted. Nothing in the file is executed: the schema must be exactly the expected
one, values are JSON and plain arrays (no pickle), and their types, lengths and index ranges are
checked before compiled code sees them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.core.errors import OutputError, ParameterError, SourceError, TamisError
from tamis.core.files import reason, refuse_unreadable
from tamis.core.writers import LOCK

STATE = "state.sqlite"

#: Formats 1 and 2 were folders of files. Every change of the tables or their content increments it.
VERSION = 3

SCHEMA = (
    "CREATE TABLE part (kind TEXT NOT NULL, number INTEGER NOT NULL, checksum BLOB NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (kind, number)) WITHOUT ROWID"
)

#: A rollback journal that is deleted by the commit, not WAL: between two commits the folder holds
#: one plain file, which can be copied and may lie on a network share, where WAL does not work.
#: EXTRA forces the file, the journal and the removal of the journal to the disk.
JOURNAL, SYNCHRONOUS = "DELETE", "EXTRA"

#: Seconds for which a commit waits for readers, and readers for a commit.
PATIENCE = 60.0

#: Packed arrays of at least this many bytes are compressed.
COMPRESSED_FROM = 4096

#: The maximum size of packed data; SQLite values are limited to 10^9 bytes.
LARGEST = 2**33

Record = dict[str, Any]

#: Identifies a commit: its number, and the checksums of its entry in the history and of its head.
Version = tuple[int, bytes, bytes]

#: What reading a damaged folder can raise.
DAMAGE = (
    LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, MemoryError,
    RecursionError, NotImplementedError, AssertionError, sqlite3.Error, pa.ArrowException,
)  # fmt: skip


# --- values ---------------------------------------------------------------------------------


def pack(facts: Any) -> bytes:
    """Turn nested dicts and lists of numbers, text and arrays into bytes: JSON, then the arrays."""
    arrays: list[np.ndarray[Any, Any]] = []

    def plain(thing: Any) -> Any:
        if isinstance(thing, np.ndarray):
            arrays.append(np.ascontiguousarray(thing))
            return {"array": [len(arrays) - 1, thing.dtype.str, list(thing.shape)]}
        if isinstance(thing, np.generic):
            return thing.item()
        if isinstance(thing, Mapping):
            return {"map": {key: plain(value) for key, value in thing.items()}}
        if isinstance(thing, list | tuple):
            return {"list": [plain(value) for value in thing]}
        if thing is None or isinstance(thing, bool | int | float | str):
            return thing
        raise ParameterError(f"{thing!r} cannot be written to a file of numbers and text")

    text = json.dumps(plain(facts)).encode()
    data = b"".join([len(text).to_bytes(8, "little"), text, *(a.tobytes() for a in arrays)])
    size = len(data).to_bytes(8, "little")
    if not arrays or len(data) < COMPRESSED_FROM:  # text stays legible
        return b"\0" + size + data
    return b"\1" + size + bytes(pa.compress(data, codec="zstd", asbytes=True))


def unpack(packed: bytes) -> Any:
    """Return what `pack` was given, with new arrays; tuples become lists."""
    size, data = int.from_bytes(packed[1:9], "little"), packed[9:]
    if size > LARGEST:
        raise ValueError("a value is too large")
    if packed[:1] == b"\1":
        data = pa.decompress(data, decompressed_size=size, codec="zstd", asbytes=True)
    if len(data) != size:
        raise ValueError("a value does not have its recorded length")
    end = 8 + int.from_bytes(data[:8], "little")
    arrays = 0

    def full(thing: Any) -> Any:
        nonlocal arrays, end
        if not isinstance(thing, dict):
            return thing
        ((kind, inner),) = thing.items()
        if kind == "map":
            return {key: full(value) for key, value in inner.items()}
        if kind == "list":
            return [full(value) for value in inner]
        number, dtype, shape = inner[0], np.dtype(str(inner[1])), [int(n) for n in inner[2]]
        if number != arrays or dtype.kind not in "biufUS" or min(shape, default=1) < 0:
            raise ValueError("a value holds an array of an unknown kind")
        length = dtype.itemsize * math.prod(shape)
        if len(data) - end < length:
            raise ValueError("a value holds an array that is cut off")
        found = np.empty(shape, dtype)  # aligned, and writable
        found.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8, length, end)
        arrays, end = arrays + 1, end + length
        return found

    return full(json.loads(data[8:end].decode()))


def checksum(kind: str, number: int, data: bytes) -> bytes:
    """Return a hash of a row, which detects any change of its data or its key."""
    return hashlib.blake2b(f"{kind} {number} ".encode() + data, digest_size=16).digest()


# --- connections ----------------------------------------------------------------------------


@contextlib.contextmanager
def connection(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the state of a folder, which must exist, and close it afterwards."""
    # Also for reading: an unfinished write of a killed process is rolled back on opening.
    address = f"{(folder / STATE).absolute().as_uri()}?mode=rw"
    with contextlib.closing(
        sqlite3.connect(address, timeout=PATIENCE, isolation_level=None, uri=True)
    ) as opened:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            opened.execute(f"PRAGMA {pragma}")
        yield opened


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open a consistent snapshot of the state for reading; damage raises a one-sentence error."""
    try:
        with connection(folder) as opened:
            opened.execute("BEGIN")
            ((version,),) = opened.execute("PRAGMA user_version")
            tables = opened.execute("SELECT type, sql FROM sqlite_master").fetchall()
            if version != VERSION and tables:
                raise TamisError(
                    f"{folder} was written in format {version} and this tamis reads format "
                    f"{VERSION}; use the tamis that wrote it"
                )
            if tables != [("table", SCHEMA)]:
                raise SourceError(f"{STATE} does not hold the tables of a selection")
            found = opened.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise SourceError(f"{STATE}: {found}")
            yield opened
    except DAMAGE as error:
        if isinstance(error, TamisError) and not isinstance(error, SourceError):
            raise
        refuse_unreadable(folder)
        raise SourceError(
            f"{folder} is damaged ({reason(error)}); take it from a backup, or run tamis select "
            "again"
        ) from error


@contextlib.contextmanager
def writing(folder: Path, after: Version | None) -> Iterator[sqlite3.Connection]:
    """Open the state for one atomic commit that follows another, or create it for the first.

    If the state is not at that commit, another process has replaced the folder or written to it,
    and nothing is written.
    """
    new = after is None
    if new:
        (folder / STATE).touch()
        (folder / LOCK).touch()
    with connection(folder) as opened:
        opened.execute(f"PRAGMA journal_mode={JOURNAL}")
        opened.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
        opened.execute("BEGIN IMMEDIATE")
        if new:
            opened.execute(f"PRAGMA user_version={VERSION}")
            opened.execute(SCHEMA)
        elif version_of(opened) != after:
            raise replaced(folder)
        yield opened
        opened.execute("COMMIT")  # closing without it rolls back


def replaced(folder: Path) -> OutputError:
    """Return a one-sentence error about a folder that is not the one that was begun."""
    return OutputError(
        f"{folder} was replaced or changed by another process, so this one ended and wrote nothing "
        "more to it; give each process a folder of its own"
    )


def put(opened: sqlite3.Connection, kind: str, number: int, facts: Any) -> int:
    """Write a row, replacing the one with the same key; return its size in bytes.

    With None for the facts, the row is removed.
    """
    if facts is None:
        opened.execute("DELETE FROM part WHERE kind = ? AND number = ?", (kind, number))
        return 0
    data = pack(facts)
    row = kind, number, checksum(kind, number, data), data
    opened.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)", row)
    return len(data)


def read(opened: sqlite3.Connection, kind: str) -> Iterator[tuple[int, Any, int]]:
    """Iterate over the rows of a kind in order: number, facts, and size in bytes."""
    wanted = "SELECT number, checksum, data FROM part WHERE kind = ? ORDER BY number"
    for number, stored, data in opened.execute(wanted, (kind,)):
        if not isinstance(data, bytes) or stored != checksum(kind, number, data):
            raise SourceError(f"the checksum of {kind} {number} in {STATE} is wrong")
        yield number, unpack(data), len(data)


def version_of(opened: sqlite3.Connection) -> Version:
    """Return what identifies the last commit."""
    wanted = "SELECT number, checksum FROM part WHERE kind = ? ORDER BY number DESC LIMIT 1"
    number, line = opened.execute(wanted, ("history",)).fetchone()
    return number, line, opened.execute(wanted, ("head",)).fetchone()[1]


def last_version(folder: Path) -> Version | None:
    """Return what identifies the last commit, or None if it cannot be read."""
    unreadable = contextlib.suppress(sqlite3.Error, ValueError, TypeError, OSError)
    with unreadable, connection(folder) as opened:
        opened.execute("BEGIN")
        return version_of(opened)
    return None
