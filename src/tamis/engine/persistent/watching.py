"""A folder watcher: feeds files to a selection as they appear, each exactly once.

A file is taken when it is complete: when neither its size nor its time has changed between two
looks. Text whose last line has no end may be cut off, so it is left for a while. Hidden names and
names that programs give to unfinished files are left alone. What was fed, and what could not be, is
in the history of the selection, written in the same step as the columns; so a watcher that is
stopped or killed resumes where it was.
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
from tamis.engine.persistent.selection import Selection
from tamis.sources.base import Progress, silent

#: Endings of files that somebody is still writing.
UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".swp", "~")


#: Text, whose last line is ended by most programs when they are done with it.
TEXT = (".csv", ".tsv", ".svm", ".svmlight", ".libsvm")

#: Seconds after its last change for which text without that end is left alone.
CUT_OFF = 60.0


@dataclass(frozen=True, order=True)
class Seen:
    """A file as it was found."""

    name: str
    size: int
    mtime_ns: int


def look(folder: Path) -> set[Seen]:
    """The files in a folder that may be complete."""
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
        except OSError:  # gone, or a link that leads nowhere
            continue
        if entry.name.lower().endswith(TEXT) and _may_be_cut_off(entry.path, status):
            continue
        found.add(Seen(entry.name, status.st_size, status.st_mtime_ns))
    return found


def _may_be_cut_off(path: str, status: os.stat_result) -> bool:
    """Tell whether text that changed just now lacks the end of its last line."""
    if status.st_size == 0 or time.time() - status.st_mtime > CUT_OFF:
        return False
    try:
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) not in b"\r\n"
    except OSError:  # whoever feeds it will say why
        return False


class Watcher:
    """Feeds what appears in a folder to a selection.

    Parameters
    ----------
    selection : Selection
        What is fed.
    folder : path
        Where files appear.
    settle : float, default=2.0
        Seconds between two looks; a file must be the same in both.
    replace : bool, default=False
        Columns of a known name with other values replace the old ones.
    allow_target : bool, default=False
        Take columns that say the same as the target.
    say : callable, optional
        Told in a sentence what came of each file.
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

    def once(self) -> int:
        """Feed the files that are complete now; return how many were fed or refused."""
        self._before = look(self.folder)
        if not self._before:
            return 0
        time.sleep(self._settle)
        return self._feed_complete()

    def forever(self) -> None:
        """Feed files as they become complete, until something stops us."""
        self._before = look(self.folder)
        while True:
            time.sleep(self._settle)
            self._feed_complete()

    def _feed_complete(self) -> int:
        """Feed the files that did not change since the last look, by name; return how many."""
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
        except OutputError:  # not the file's fault: there is no room, or no right to write
            raise
        except TamisError as error:
            words = ["tamis", "feed", str(self.selection.folder), str(self.folder / file.name)]
            column = getattr(error, "column", None)
            words += [] if column is None else ["--ignore", column]
            why = (
                f"{error}; it is tried again when it changes, or feed it yourself: "
                f"{shlex.join(words)}"
            )
            self._say(f"{file.name} was not fed: {why}")
            self.selection.note({"action": "refuse", "source": file.name, "why": why, **facts})
            return
        self._say(str(fed))
