"""A folder watcher: feeds files to a selection as they appear, each exactly once.

A file is fed when it is complete: when neither its size nor its modification time has changed
between two checks. Text without a final newline may be truncated, so it is left for a while. Hidden
files, and names that programs give to unfinished files, are ignored. The history of the selection
records what was fed and what could not be, in the same commit as the columns. So a watcher that is
stopped or killed resumes where it stopped.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.core.errors import OutputError, SourceError, TamisError
from tamis.engine.persistent.feeding import Fed
from tamis.engine.persistent.selection import Selection
from tamis.sources.base import Progress, silent

#: Extensions of files that are still being written.
UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".swp", "~")


#: Text formats, which most programs end with a newline when they are done.
TEXT = (".csv", ".tsv", ".svm", ".svmlight", ".libsvm")

#: Seconds after its last change for which text without a final newline is left alone.
CUT_OFF = 60.0


@dataclass(frozen=True, order=True)
class Seen:
    """A file as it was found."""

    name: str
    size: int
    mtime_ns: int


def look(folder: Path) -> set[Seen]:
    """Return the files in a folder that may be complete."""
    found = set()
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise SourceError(f"{folder} cannot be watched ({error.strerror})") from error
    for entry in entries:
        if entry.name.startswith((".", "_")) or entry.name.lower().endswith(UNFINISHED):
            continue
        try:
            status = entry.stat()
        except OSError:  # deleted meanwhile, or a broken link
            continue
        if entry.name.lower().endswith(TEXT) and _may_be_cut_off(entry.path, status):
            continue
        found.add(Seen(entry.name, status.st_size, status.st_mtime_ns))
    return found


def _may_be_cut_off(path: str, status: os.stat_result) -> bool:
    """Return whether recently changed text lacks its final newline."""
    if status.st_size == 0 or time.time() - status.st_mtime > CUT_OFF:
        return False
    try:
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) not in b"\r\n"
    except OSError:  # feeding it will report why
        return False


class Watcher:
    """Feeds new files in a folder to a selection.

    Parameters
    ----------
    selection : Selection
        The selection to feed.
    folder : path
        The folder to watch.
    settle : float, default=2.0
        Seconds between two checks; a file must be unchanged in both.
    replace : bool, default=False
        Whether columns with a known name but other values replace the old ones.
    allow_target : bool, default=False
        Accept columns that equal the target.
    say : callable, optional
        Called with a one-sentence message about each file.
    **reading
        How files are read, as in ``tamis.open``.
    """

    def __init__(
        self,
        selection: Selection,
        folder: str | os.PathLike[str],
        *,
        settle: float = 2.0,
        replace: bool = False,
        allow_target: bool = False,
        say: Callable[[str], object] = lambda sentence: None,
        progress: Progress = silent,
        **reading: Any,
    ) -> None:
        self.selection, self.folder = selection, Path(folder)
        self._settle, self._say = settle, say
        given = {"replace": replace, "allow_target": allow_target, "progress": progress, "say": say}
        self._options: dict[str, Any] = given | reading
        self._before: set[Seen] = set()
        #: What was fed since this watcher was made, and why other files could not be, by name.
        self.fed: list[Fed] = []
        self.refused: dict[str, str] = {}

    def once(self) -> int:
        """Feed the files that are complete now; return how many were fed or refused."""
        self._before = look(self.folder)
        if not self._before:
            return 0
        time.sleep(self._settle)
        return self._feed_complete()

    def forever(self) -> None:
        """Feed files as they become complete, until interrupted."""
        self._before = look(self.folder)
        while True:
            time.sleep(self._settle)
            self._feed_complete()

    def _feed_complete(self) -> int:
        """Feed the files that did not change since the last check, by name; return how many."""
        now = look(self.folder)
        complete, self._before = now & self._before, now
        known = {  # files that are in the history, fed whole or refused
            (line["source"], line["size"], line["mtime_ns"])
            for line in self.selection.history
            if "mtime_ns" in line and line.get("done", True)
        }
        new = [f for f in sorted(complete) if (f.name, f.size, f.mtime_ns) not in known]
        for file in new:
            self._feed(file)
        return len(new)

    def _feed(self, file: Seen) -> None:
        facts = {"size": file.size, "mtime_ns": file.mtime_ns}
        try:
            fed = self.selection.feed(self.folder / file.name, facts=facts, **self._options)
        except OutputError:  # not the file's fault: the disk is full, or the folder is not writable
            raise
        except TamisError as error:
            words = ["tamis", "feed", str(self.selection.folder), str(self.folder / file.name)]
            column = getattr(error, "column", None)
            words += [] if column is None else ["--ignore", column]
            why = (
                f"{error}; it will be retried when it changes, or feed it yourself: "
                f"{shlex.join(words)}"
            )
            self._say(f"{file.name} was not fed: {why}")
            self.refused[file.name] = why
            self.selection.note({"action": "refuse", "source": file.name, "why": why, **facts})
            return
        self.fed.append(fed)
        self._say(str(fed))
