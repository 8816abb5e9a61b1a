"""One writer at a time: the lock of a folder whose files are changed in place.

The lock is a transaction on a separate, empty database in the folder. A lock on the state itself
would end with each commit, and a waiting process could slip in between two commits of the same
feed. Whoever replaces the folder takes the lock as well (`tamis.core.files.publish`).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tamis.core.errors import OutputError

LOCK = "state.lock"

#: Identifies a file while something has it open.
Identity = tuple[int, int]


class _Held(threading.local):
    """The locks that a thread holds."""

    def __init__(self) -> None:
        self.files: set[Identity] = set()


_held = _Held()


@contextlib.contextmanager
def only_writer(
    folder: Path, *, wait: bool = True, say: Callable[[str], object] = lambda sentence: None
) -> Iterator[None]:
    """Lock a folder for writing; wait for another process, or raise an error.

    A thread that holds the lock may take it again.
    """
    import sqlite3

    path, waits = folder / LOCK, False
    address = f"{path.absolute().as_uri()}?mode=rwc"
    while True:
        before = _identity(path)
        if before in _held.files:
            yield
            return
        with contextlib.closing(
            sqlite3.connect(address, timeout=0.0, isolation_level=None, uri=True)
        ) as lock:
            while True:
                try:
                    lock.execute("BEGIN IMMEDIATE")
                    break
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                        raise
                if not wait:
                    raise OutputError(
                        f"another process is writing to {folder}; wait until it has ended"
                    )
                if not waits:
                    say(f"another process is writing to {folder}; waiting for it")
                waits = True
                time.sleep(0.05)
            if before is None or before != _identity(path):  # the folder was replaced meanwhile
                continue
            _held.files.add(before)
            try:
                yield
            finally:
                _held.files.discard(before)
            return


@contextlib.contextmanager
def before_replacing(folder: Path, *, wait: bool) -> Iterator[None]:
    """Lock a folder that is to be replaced, if processes write to it in place."""
    with contextlib.ExitStack() as stack:
        # Windows does not rename a folder that somebody writes to, nor one that is locked.
        if os.name != "nt" and os.path.isfile(folder / LOCK):
            import sqlite3

            with contextlib.suppress(sqlite3.Error):  # a damaged lock, which nobody holds
                stack.enter_context(only_writer(folder, wait=wait))
        yield


def _identity(path: Path) -> Identity | None:
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None
