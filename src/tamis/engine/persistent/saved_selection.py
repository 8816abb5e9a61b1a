"""Read the log and the history of a persistent selection, without its selector.

Because no selector is needed, `tamis why`, `log` and `status` do not import the numeric libraries.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tamis._registry import BATCH_METHODS, STREAM_METHODS
from tamis.core.certificate import Certificate
from tamis.core.decisions import DecisionLog, Mark
from tamis.core.errors import DAMAGE, ParameterError, SourceError
from tamis.core.files import read_whole, recover_missing
from tamis.core.names import NameBook
from tamis.core.sentences import counted
from tamis.engine.log_tables import reasons_from
from tamis.engine.persistent.state_file import STATE, Record, read, reading
from tamis.engine.runs import Run, certificate_of, encoded_how, trust_words

#: Maximum features in a stored piece of the log: SQLite values are limited to 10^9 bytes.
LONGEST = 2_000_000


@dataclass
class SavedSelection:
    """The last commit of a selection, as far as it can be read without its selector."""

    folder: Path
    head: Record
    log: DecisionLog
    history: list[Record]

    def run(self) -> Run:
        """Return the selection as a run."""
        return Run.of(self.log, self.head["run"])

    def shown(self) -> Record | None:
        """Return the content of run.json, or None if it does not show this commit."""
        try:
            record: Record = json.loads(read_whole(self.folder / "run.json"))
            return record if record.get("commit") == self.head["commit"] else None
        except DAMAGE:
            return None

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
            **self._held(),
            **trust_words(self.head["run"].get("trust", {})),
            "stopped": self.log.stopped,
            "commits": self.head["commit"],
            "begun": self.history[0]["time"],
            "last": self.history[-1]["time"],
            "unfinished": [
                f"{h['source']} after {counted(h['columns'], 'column')}"
                for h in latest.values() if not h["done"]
            ] + [f"--{name}" for name in self.repeats()],
            "must_be_resumed": self.left_to_do() != "",
            "refused": self._refused(),
            "shown": self.shown() is not None,
        }  # fmt: skip

    def certificate(self, alpha: float = 0.1) -> Certificate:
        """Return the certified part of the kept features; see `Run.certificate`.

        If columns were fed, their weights fall with their number, so that more may follow.
        """
        fed = any(line["action"] == "feed" for line in self.history)
        return certificate_of(self.run(), alpha, by_arrival=fed)

    def decisions(self, since: str | int | None = None) -> list[dict[str, Any]]:
        """Return the decisions of the rule in order, each with the time of its commit."""
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

    def left_to_do(self) -> str:
        """Return what a resumable run that was stopped has left to do; see `left_to_do`."""
        return left_to_do(self.history)

    def repeats(self) -> dict[str, Any]:
        """Return what is still to be repeated on parts of the rows, after the last column."""
        return repeats_of(self.history)

    def _held(self) -> dict[str, str]:
        """Return how much is held, if dropped columns are too."""
        held = self.head.get("held")
        if held is None:
            return {}
        columns, megabytes = counted(held["columns"], "column"), held["bytes"] / 1e6
        return {"order": "free", "held": f"{columns}, {megabytes:.1f} MB"}

    def _refused(self) -> dict[str, str]:
        """Return files that could not be fed and were not fed since, and why."""
        refused: dict[str, str] = {}
        for line in self.history:
            if line["action"] == "refuse":
                refused[line["source"]] = line["why"]
            elif line.get("done"):
                refused.pop(line["source"], None)
        return refused


def _first_commit(history: list[Record], since: str | int | None) -> int:
    """Return the first commit that counts."""
    if since is None:
        return 0
    if since == "last":
        events = [0, *(line["events"] for line in history)]
        changes = [i for i in range(len(history)) if events[i + 1] > events[i]]
        return changes[-1] if changes else len(history)
    if isinstance(since, int) or since.isdigit():
        return max(0, len(history) - int(since))
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise ParameterError(
            f"since={since!r} is not a date such as 2026-11-01, a number of commits, or 'last'"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    times = [datetime.fromisoformat(h["time"]) for h in history]
    return next((i for i, t in enumerate(times) if t >= moment), len(history))


def left_to_do(history: list[Record]) -> str:
    """Return what a resumable run that was stopped has left to do: "columns" or "repeats".

    It is "" for a run that has ended. Repeats on parts of the rows follow the last column.
    """
    lines = [line for line in history if line["action"] == "select"]
    if lines and not lines[-1]["done"]:
        return "columns"
    asked = history[0].get("asked", {}).get("repeats")
    return "repeats" if asked and history[-1]["action"] == "select" else ""


def repeats_of(history: list[Record]) -> dict[str, Any]:
    """Return what is still to be repeated on parts of the rows, after the last column."""
    return dict(history[0]["asked"]["repeats"]) if left_to_do(history) == "repeats" else {}


# --- reading ---------------------------------------------------------------------------------


def is_persistent(folder: Path) -> bool:
    """Return whether a run has a state to resume from."""
    return os.path.isfile(folder / STATE)  # False also for a name that cannot be


def read_saved(folder: str | os.PathLike[str], *, history: bool = True) -> SavedSelection:
    """Read the head of a selection; raise a one-sentence error if there is none."""
    with _opened(folder) as (path, opened):
        return read_log(path, opened, history=history)[0]


def read_history(folder: str | os.PathLike[str]) -> list[Record]:
    """Read the history of a selection, and not its log, which may be long."""
    with _opened(folder) as (_, opened):
        ((_, head, _),) = read(opened, "head")
        return _history(opened, head)


@contextlib.contextmanager
def _opened(folder: str | os.PathLike[str]) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Open the state of a selection for reading."""
    path = Path(folder)
    recover_missing(path)
    if not is_persistent(path):
        raise SourceError(not_persistent(path))
    with reading(path) as opened:
        yield path, opened


@dataclass(frozen=True)
class Piece:
    """One stored piece of the log: its number, its size, its start, and the features it removes."""

    number: int
    size: int
    begin: Mark
    forgotten: list[int]


def read_log(
    folder: Path, opened: sqlite3.Connection, *, history: bool = True
) -> tuple[SavedSelection, list[tuple[Piece, Record]]]:
    """Read the head, all pieces of the log in order, and the history, one entry per commit.

    Also returns the pieces in which the log is stored, with the columns seen in each.
    """
    ((_, head, _),) = read(opened, "head")
    names = NameBook(head["names"]["prefix"], head["names"]["base"])
    log = DecisionLog(reasons_from(head), names, head["words"])
    ((stored,),) = opened.execute("SELECT count(*) FROM part WHERE kind = 'log'")
    log.expected = min(head["features"], stored * LONGEST)  # a damaged head may say anything
    pieces = []
    for number, piece, size in read(opened, "log"):
        begin, width = log.mark, len(piece["log"]["reason"])
        if len(piece["log"].get("value", piece["log"]["reason"])) != width:
            raise SourceError("the numbers of the log do not fit together")
        log.extend(piece["log"])
        log.names.extend(piece["names"], width)
        pieces.append((Piece(number, size, begin, list(piece["forgotten"])), piece["seen"]))
    if (log.mark.features, log.mark.events) != (head["features"], head["events"]):
        raise SourceError("a piece of the log is missing")
    lines = _history(opened, head) if history else []
    return SavedSelection(folder, head, log, lines), pieces


def _history(opened: sqlite3.Connection, head: Record) -> list[Record]:
    """Read the history, one entry per commit."""
    lines: list[Record] = []
    for number, line, _ in read(opened, "history"):
        lines.append(line)
        if number != len(lines) or not 0 <= line["events"] <= head["events"]:
            raise SourceError("a piece of the history is missing")
    if len(lines) != head["commit"]:
        raise SourceError("a piece of the history is missing")
    return lines


# --- what cannot be fed ----------------------------------------------------------------------


def cannot_be_fed(method: str) -> str:
    """Return why columns cannot be fed to a method."""
    if method in BATCH_METHODS:
        return (
            f"{method} decides when it has seen every column, so columns cannot be fed to it "
            "later; use a method for feature streams such as saola, or select again from all of "
            "them"
        )
    return (
        f"{method} is not a method whose feature stream can be saved and resumed; use one such as "
        "saola"
    )


def not_persistent(path: Path) -> str:
    """Return why columns cannot be fed to a folder."""
    try:
        record = json.loads(read_whole(path / "run.json"))
        method, command = str(record["method"]), str(record["command"]).strip()
    except DAMAGE:
        return f"{path} is not a selection; make one with tamis select or tamis.Selection.create"
    if method not in STREAM_METHODS:
        return f"{path} cannot be fed: {cannot_be_fed(method)}"
    again = f"select again with: {command}" if command else "select again with tamis select"
    if os.path.isfile(path / "state" / "HEAD.json"):
        return (
            f"{path} was written by an older tamis, whose state this one does not read (its log "
            f"can still be read); {again}, and feed what was fed"
        )
    return (
        f"{path} holds no state to resume from (it was saved without keep_state=True, with an "
        f"encoder that no file can name, or by an older tamis); {again}"
    )
