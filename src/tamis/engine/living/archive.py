"""The state of a selection as a folder of plain files, so that it can go on in another process.

``run/state/HEAD.json``       names every file below that counts, with its length and hash
``run/state/log-*.parquet``   the log up to a point (``run/log.parquet`` is the same file)
``run/state/events-*.parquet``  the decisions up to there
``run/state/ledger-*.npz``    names and values of the columns seen up to there, as hashes
``run/state/segment-*.npz``   what came since, one file a commit
``run/state/columns-*.npz``   values of the kept columns
``run/state/selector-*.npz``  the few numbers of the selector that do not follow from all that
``run/state/rows.npz``        the target and the keys of the rows
``run/state/history.jsonl``   one line a commit: when, what, how far

A commit costs what it adds. When a feed ends, what was added is folded into a new log file, unless
the log is so long that this would cost more than the feed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tamis.core.decisions import DecisionLog
from tamis.core.log_arrays import Mark, arrays_since, names_since
from tamis.core.masking import without_secrets
from tamis.core.names import NameBook
from tamis.engine.files.durable import (
    LOCK,
    Record,
    append_line,
    clear_others,
    link,
    pack,
    record_of,
    sync_folder,
    write_file,
    write_head,
)
from tamis.engine.files.log_files import describe_log, write_events, write_log
from tamis.engine.files.views import RUN_FIELDS, run_json, write_selected
from tamis.engine.known_selectors import own_place, parameters_of
from tamis.engine.living.record import ENCODED_VERSION, FORMAT, STATE, VERSION, LivingRecord
from tamis.engine.living.stock import Stock, labels_of
from tamis.engine.run import Run
from tamis.methods import FeatureStreamSelector

#: Logs of up to this many features are written anew after every feed, longer ones when a tenth is
#: new.
SHORT = 500_000

#: Commits after which a long log is written anew, however little is new.
MOST_SEGMENTS = 64

#: A table of features that are new or changed since a long log was written.
RECENT = "recent.parquet"


def now() -> str:
    """The time, for the history."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# --- the folder ------------------------------------------------------------------------------


@dataclass
class Archive:
    """The state of one selection: what is on the disk, and the same in memory.

    `stored` are the features whose columns each file of columns holds.
    """

    folder: Path
    head: Record
    selector: FeatureStreamSelector
    stock: Stock
    history: list[Record]
    stored: list[tuple[Record, list[int]]] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    mark: Mark = field(default_factory=Mark)

    @property
    def log(self) -> DecisionLog:
        """The log; an empty one before the first column."""
        if hasattr(self.selector, "log_"):
            return self.selector.log_
        names = self.head["names"]
        return DecisionLog(self.selector.reasons(), NameBook(names["prefix"], names["base"]))

    def run(self) -> Run:
        """The selection as a run."""
        return Run(log=self.log, **self.head["run"])

    def record(self) -> LivingRecord:
        """What there is to tell of it."""
        return LivingRecord(self.folder, self.head, self.log, self.history)

    # --- writing -------------------------------------------------------------------------

    def commit(self, line: Record, *, last: bool) -> None:
        """Make what happened since the last commit durable; `last`: and fold it into the log."""
        state, number = self.folder / STATE, self.head["commit"] + 1
        log = self.log
        head = {
            **self.head,
            **describe_log(log),
            "commit": number,
            "selector": None,
            "run": self._facts(),
        }
        if last and self._worth_folding(log):
            head |= _write_base(state, number, log, self.stock)
        else:
            segment = {
                "log": arrays_since(log, self.mark),
                "names": names_since(log, self.mark.features),
                "ledger": self.stock.ledger.arrays(self.mark.features),
                "forgotten": self.forgotten,
            }
            new = write_file(state, f"segment-{number}.npz", pack(segment))
            head["segments"] = [*self.head["segments"], new]
        stored = self._store_columns(state, number)
        head["columns"] = [record for record, _ in stored]
        if len(log):
            data = pack(self.selector.state())
            head["selector"] = write_file(state, f"selector-{number}.npz", data)
        line = without_secrets(line)
        told = {"commit": number, "time": now(), "features": len(log), "events": log.n_events}
        head["history"] = append_line(state, self.head["history"], told | line)
        sync_folder(state)
        write_head(state, head)
        self.head, self.stored, self.forgotten = head, stored, []
        self.history.append(told | line)
        self.mark = Mark.of(log)
        clear_others(state, names_in(head))

    def _facts(self) -> dict[str, Any]:
        """What `Run` tells, as it stands now."""
        facts = dict(self.head["run"])
        if hasattr(self.selector, "log_"):
            facts["work"] = {key: int(count) for key, count in self.selector.work_.items()}
            facts["source"] = facts["source"] | {"n_columns": len(self.log)}
        if self.stock.encoded is not None and len(self.log):
            facts["source"] = facts["source"] | self.stock.encoded.record(self.selector.kept_)
        if hasattr(self.selector, "measure_"):
            facts["measure"] = repr(self.selector.measure_)
            facts["measure_reason"] = self.selector.measure_reason_
        return facts

    def _worth_folding(self, log: DecisionLog) -> bool:
        new = len(log) - self.head["folded"]
        short = self.head["log"] is None or len(log) <= SHORT
        return short or 10 * new >= len(log) or len(self.head["segments"]) >= MOST_SEGMENTS

    def _store_columns(self, state: Path, number: int) -> list[tuple[Record, list[int]]]:
        """Write columns that are kept and in no file yet, with those of files not much larger.

        So there are never many files, and a column is written again only a few times.
        """
        kept = self.selector.kept_.tolist() if len(self.log) else []
        known = {f for _, features in self.stored for f in features}
        fresh, stored = [f for f in kept if f not in known], list(self.stored)
        if not fresh:
            return stored
        size = sum(len(self.stock.columns.rows_of(f)) for f in fresh) * 12
        alive = set(kept)
        while stored and stored[-1][0]["bytes"] < 2 * size + 4096:
            record, features = stored.pop()
            size += record["bytes"]
            fresh = [f for f in features if f in alive] + fresh
        fresh.sort()
        data = pack(self.stock.columns.arrays(fresh))
        return [*stored, (write_file(state, f"columns-{number}.npz", data), fresh)]

    def refresh(self) -> None:
        """Write the files that people read; run.json comes last and says which commit they show."""
        run = self.run()
        if self.head["segments"]:
            _put(self.folder / RECENT, self._write_recent)
        else:
            self.show_log()
            (self.folder / RECENT).unlink(missing_ok=True)
        _put(self.folder / "selected.csv", lambda part: write_selected(run, part))
        record = run_json(run, **self.shows())
        _put(self.folder / "run.json", lambda part: part.write_bytes(record))

    def show_log(self) -> None:
        """Give the two files of the log the names that people know."""
        for name in ("log", "events"):
            link(self.folder / STATE / self.head[name]["name"], self.folder / f"{name}.parquet")

    def shows(self) -> dict[str, Any]:
        """What run.json says about the commit that is shown, and how far log.parquet goes."""
        return {"commit": self.head["commit"], "log_shows": self.head["folded"]}

    def _write_recent(self, part: Path) -> None:
        """Write the rows of the log that are new or changed since its file was written."""
        base = self.head["folded"]
        changed = self.log.event_features[self.head["folded_events"] :]
        write_log(
            self.log, part, first=base, also=sorted({f for f in changed.tolist() if f < base})
        )


def _put(place: Path, write: Any) -> None:
    """Write a file beside its place, then put it there in one step."""
    part = place.with_name(f".{place.name}.part")
    write(part)
    part.replace(place)


def _write_base(state: Path, number: int, log: DecisionLog, stock: Stock) -> Record:
    """Write the whole log and ledger as new files."""
    for name, write in (("log", write_log), ("events", write_events)):
        write(log, state / f"{name}-{number}.parquet")
    ledger = pack(stock.ledger.arrays())
    return {
        "log": record_of(state, f"log-{number}.parquet"),
        "events": record_of(state, f"events-{number}.parquet"),
        "ledger": write_file(state, f"ledger-{number}.npz", ledger),
        "segments": [],
        "folded": len(log),
        "folded_events": log.n_events,
    }


def names_in(head: Record) -> list[str]:
    """Every file that a head names."""
    single = [head[key] for key in ("log", "events", "ledger", "selector", "rows")]
    return [r["name"] for r in [*single, *head["segments"], *head["columns"]] if r is not None]


def add_state(folder: Path, run: Run) -> dict[str, Any]:
    """Write the log and the state of a finished run; what run.json says about it."""
    archive = new_archive(folder, run.selector, run.stock, run)
    source = run.source
    line = {
        "action": "select", "source": source.get("name", source["format"]), "done": True,
        "fingerprint": source["fingerprint"], "columns": len(run.log), "taken": len(run.log),
    }  # fmt: skip
    archive.commit(line, last=True)
    archive.show_log()
    return archive.shows()


def new_archive(folder: Path, selector: FeatureStreamSelector, stock: Stock, run: Run) -> Archive:
    """Begin a state in a folder; nothing counts before the first commit."""
    state = folder / STATE
    state.mkdir()
    (state / LOCK).touch()
    rows = pack({"labels": labels_of(stock.target), "keys": stock.keys})
    head: Record = {
        "format": FORMAT,
        "version": VERSION,
        "commit": 0,
        "method": selector.method,
        "class": own_place(selector),
        "selector_parameters": parameters_of(selector),
        "key": stock.key,
        "target": stock.target.fingerprint,
        "target_name": stock.target_name,
        **dict.fromkeys(("log", "events", "ledger", "selector")),
        "rows": write_file(state, "rows.npz", rows),
        "segments": [],
        "columns": [],
        "folded": 0,
        "folded_events": 0,
        "history": {"bytes": 0, "blake2b": ""},
        "names": {"prefix": run.log.names.prefix, "base": run.log.names.base, "numbered": True},
        "run": without_secrets({key: getattr(run, key) for key in RUN_FIELDS}),
    }
    if stock.encoded is not None:
        head |= {"version": ENCODED_VERSION, "encoding": stock.encoded.encoding.settings()}
    return Archive(folder, head, selector, stock, [])
