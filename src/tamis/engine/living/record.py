"""What a living selection says of itself: its log and its history, without what it takes to go on.

Reading this needs no selector, so whoever only asks does not wait for the numeric libraries.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tamis._registry import BATCH_METHODS, STREAM_METHODS
from tamis.core.decisions import DecisionLog
from tamis.core.errors import ParameterError, SourceError, TamisError
from tamis.core.files import reason
from tamis.core.log_arrays import append_names, extend
from tamis.core.sentences import counted
from tamis.engine.files.durable import (
    DAMAGE,
    HEAD,
    Record,
    read_file,
    read_head,
    read_lines,
    unpack,
)
from tamis.engine.files.log_files import read_log
from tamis.engine.files.views import RUN_FIELDS
from tamis.engine.run import Run, encoded_how

#: Version 2 says how columns are encoded: who does not know that must not feed any.
FORMAT, VERSION, ENCODED_VERSION = "tamis-selection", 1, 2
STATE = "state"

T = TypeVar("T")


@dataclass(frozen=True)
class LivingRecord:
    """The last commit of a selection, to be asked about: nothing in it changes."""

    folder: Path
    head: Record
    log: DecisionLog
    history: list[Record]

    def run(self) -> Run:
        """The selection as a run."""
        return Run(log=self.log, **{key: self.head["run"][key] for key in RUN_FIELDS})

    def shown(self) -> bool:
        """Tell whether the files that people read show this commit."""
        try:
            record = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
            return bool(record.get("commit") == self.head["commit"])
        except (OSError, ValueError, AttributeError):
            return False

    def status(self) -> dict[str, Any]:
        """Where the selection stands, as a dict of plain values."""
        latest = {(h["source"], h["fingerprint"]): h for h in self.history if "done" in h}
        return {
            "folder": str(self.folder),
            "method": self.head["method"],
            "measure": self.head["run"]["measure"],
            **encoded_how(self.head["run"]["source"]),
            "rows": self.head["run"]["source"]["n_rows"],
            "key": self.head["key"],
            "features": len(self.log),
            **self.log.counts(),
            "commits": self.head["commit"],
            "begun": self.history[0]["time"],
            "last": self.history[-1]["time"],
            "unfinished": [
                f"{h['source']} after {counted(h['columns'], 'column')}"
                for h in latest.values() if not h["done"]
            ],
            "must_be_resumed": must_be_resumed(self.history),
            "refused": _refused(self.history),
            "shown": self.shown(),
        }  # fmt: skip

    def decisions(self, since: str | int | None = None) -> list[dict[str, Any]]:
        """The decisions of the rule in order, each with the time of its commit."""
        log, history, entries = self.log, self.history, []
        for i in range(_first_commit(history, since), len(history)):
            lo = history[i - 1]["events"] if i else 0
            entries += [
                {
                    "time": history[i]["time"],
                    "feature": log.names[d.feature],
                    "verdict": log.reasons[d.reason].verdict.name.lower(),
                    "sentence": log.explain(d),
                }
                for d in log.events(lo, history[i]["events"])
            ]
        return entries


# --- reading ---------------------------------------------------------------------------------


def is_living(folder: Path) -> bool:
    """Tell whether a run can go on."""
    return os.path.isfile(folder / STATE / HEAD)  # False also for a name that cannot be


def read_record(folder: str | os.PathLike[str]) -> LivingRecord:
    """Read what a selection says of itself; one sentence where there is none."""
    path = Path(folder)
    if not is_living(path):
        raise SourceError(no_selection(path))

    def read(path: Path) -> LivingRecord:
        with told_as_damage(path):
            head = checked_head(path)
            return LivingRecord(
                path, head, read_whole_log(path, head), read_lines(path / STATE, head["history"])
            )

    return read_steadily(path, read)


def read_living_run(folder: Path) -> Run:
    """A selection as a run."""
    head = checked_head(folder)
    return LivingRecord(folder, head, read_whole_log(folder, head), []).run()


def checked_head(folder: Path) -> Record:
    """The head, if this tamis understands it."""
    head = read_head(folder / STATE)
    if head["format"] != FORMAT or head["version"] not in (VERSION, ENCODED_VERSION):
        raise TamisError(
            f"{folder} was written in format {head['version']!r} and this tamis reads formats "
            f"{VERSION} and {ENCODED_VERSION}; use the tamis that wrote it"
        )
    return head


def read_whole_log(folder: Path, head: Record) -> DecisionLog:
    """The log file, and what was committed since it was written."""
    state = folder / STATE
    files = [io.BytesIO(read_file(state, head[key])) for key in ("log", "events")]
    log = read_log(files[0], files[1], head)
    for record in head["segments"]:
        segment = unpack(read_file(state, record))
        width = len(segment["log"]["reason"])
        extend(log, segment["log"])
        append_names(log, segment["names"], width)
    return log


def read_steadily(folder: Path, read: Callable[[Path], T]) -> T:
    """Read a folder, and once more if another process wrote to it meanwhile."""
    for _ in range(5):
        try:
            return read(folder)
        except SourceError:
            before = commit_in(folder)
            if before is None or before == commit_in(folder):
                break
    return read(folder)


def commit_in(folder: Path) -> int | None:
    """The number of the last commit, or None where it cannot be read."""
    with contextlib.suppress(Exception):
        return int(read_head(folder / STATE)["commit"])
    return None


@contextlib.contextmanager
def told_as_damage(folder: Path) -> Iterator[None]:
    """Say what is wrong with a folder that cannot be read."""
    try:
        yield
    except (*DAMAGE, SourceError, pa.ArrowException) as error:
        if isinstance(error, TamisError) and not isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{folder} is damaged ({reason(error)}); take it from a backup, or run tamis select "
            "again"
        ) from error


# --- what there is to tell -------------------------------------------------------------------


def _first_commit(history: list[Record], since: str | int | None) -> int:
    """The first commit that counts."""
    if since is None:
        return 0
    if since == "last":
        changes = [i for i, h in enumerate(history) if h["events"] > (history[i - 1]["events"]
                   if i else 0)]  # fmt: skip
        return changes[-1] if changes else len(history)
    if isinstance(since, int) or since.isdigit():
        return max(0, len(history) - int(since))
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise ParameterError(
            f"since={since!r} is no date such as 2026-11-01, no number of commits, and not 'last'"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    times = [datetime.fromisoformat(h["time"]) for h in history]
    return next((i for i, t in enumerate(times) if t >= moment), len(history))


def _refused(history: list[Record]) -> dict[str, str]:
    """Files that could not be fed and were not fed since, and why."""
    refused: dict[str, str] = {}
    for line in history:
        if line["action"] == "refuse":
            refused[line["source"]] = line["why"]
        elif line.get("done"):
            refused.pop(line["source"], None)
    return refused


def must_be_resumed(history: list[Record]) -> bool:
    """Tell whether a run that was begun to be resumable was stopped before its end."""
    lines = [line for line in history if line["action"] == "select"]
    return bool(lines) and not lines[-1]["done"]


def cannot_go_on(method: str) -> str:
    """Say why columns cannot be fed to a method."""
    if method in BATCH_METHODS:
        return (
            f"{method} decides when it has seen every column, so columns cannot be fed to it "
            "later; use a method for feature streams such as saola, or select again from all of "
            "them"
        )
    return (
        f"{method} is no method whose feature stream can be put away and go on; use one such as "
        "saola"
    )


def no_selection(path: Path) -> str:
    """Say why a folder is no living selection."""
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
        method, encoded = str(record["method"]), "encode" in record["source"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return f"{path} is no selection; make one with tamis select or tamis.Selection.create"
    if method not in STREAM_METHODS:
        return f"{path} cannot go on: {cannot_go_on(method)}"
    if encoded:
        return (
            f"{path} was selected with an encoder that is none of tamis, or by an older tamis, so "
            "it does not say how columns that come later are encoded; run tamis select again"
        )
    return f"{path} holds no state to go on from (an older tamis wrote it); run tamis select again"
