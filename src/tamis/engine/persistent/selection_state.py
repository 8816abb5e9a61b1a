"""The state of a selection: what it takes to resume, in memory and on disk.

Besides the log that is the target, the keys of the rows, the values of the kept columns, hashes of
the named columns seen, and the few numbers of the selector that do not follow from these. Panels,
bases and distances are computed again from the kept columns.

A commit costs what it adds (`state_file`). The files that people read are exports of the last
commit; if a crash comes in between, the next process that opens the folder writes them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import InputError, SourceError, warn
from tamis.core.files import atomic_file
from tamis.core.log_arrays import Mark, arrays_since, names_between
from tamis.core.masking import without_secrets
from tamis.core.target import Target
from tamis.engine.encoded import EncodedSoFar, Encoding
from tamis.engine.known_selectors import as_selector, own_place, parameters_of, selector_from
from tamis.engine.log_tables import describe_log, write_events, write_log
from tamis.engine.loop import ScoredColumns
from tamis.engine.persistent.saved_selection import (
    Piece,
    SavedSelection,
    damage_as_one_sentence,
    read_history,
    read_log,
)
from tamis.engine.persistent.state_file import (
    Record,
    create,
    put,
    read_all,
    reading,
    remove,
    writing,
)
from tamis.engine.runs import RUN_FIELDS, Run, run_json, selected_csv
from tamis.engine.seen_columns import SeenColumns, target_hashes
from tamis.measures.auto import known_by_name
from tamis.measures.measure import Measure
from tamis.methods.selector import FeatureStreamSelector
from tamis.sources.base import ColumnSource, Source

#: Logs of up to this many features are exported after every feed, longer ones when a tenth is new.
SHORT = 500_000

#: Features in a stored piece of the log at most: SQLite takes a thousand million bytes in a value.
LONGEST = 2_000_000

#: An export of features that are new or changed since a long log was exported.
RECENT = "recent.parquet"

WITHDRAWN, REPLACED = "withdrawn", "replaced"

#: Reasons that follow those of the selector, from the first withdrawal on.
WITHDRAWALS = {
    WITHDRAWN: Reason(
        Verdict.EVICTED, "{name} was kept until it was withdrawn: it no longer exists upstream"
    ),
    f"{WITHDRAWN}, not kept": Reason(
        Verdict.IRRELEVANT, "{name} was withdrawn: it no longer exists upstream; it was not kept"
    ),
    REPLACED: Reason(
        Verdict.EVICTED,
        "{name} was kept until it was replaced: other values came under the same name",
    ),
    f"{REPLACED}, not kept": Reason(
        Verdict.IRRELEVANT,
        "{name} was replaced: other values came under the same name; it was not kept",
    ),
}

#: What ends the sentence if an export cannot be written.
COMMITTED = "the selection itself is committed, and the next command that opens it writes the file"

#: A rule, an estimator or a selector that the user gives, or the class of one of the first two.
Given = Any

#: Rows and numbers of a column that are not zero.
Column = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]


@dataclass
class SelectionState:
    """What a selection needs to resume; on disk as well once it has a folder.

    `key` is the name of the column that holds the keys of the rows in files that are fed;
    `target_name` that of the target, which must never be fed as a feature. Kept columns are as the
    selector saw them; hashes of the columns seen are of the values before they were encoded.
    """

    selector: FeatureStreamSelector
    target: Target
    keys: npt.NDArray[Any] | None = None
    key: str | None = None
    target_name: str | None = None
    encoded: EncodedSoFar | None = None
    seen: SeenColumns = field(default_factory=SeenColumns)
    columns: dict[int, Column] = field(default_factory=dict)
    #: Features that were withdrawn, or displaced by one that was, since the last commit.
    forgotten: list[int] = field(default_factory=list)

    # What is on disk.
    folder: Path = Path()
    head: Record = field(default_factory=dict)
    history: list[Record] = field(default_factory=list)
    #: Entries of the history about data with a fingerprint.
    fed: dict[str, list[Record]] = field(default_factory=dict)
    #: A run that was begun to be resumable has not come to its end.
    must_be_resumed: bool = False
    pieces: list[Piece] = field(default_factory=list)
    stored: set[int] = field(default_factory=set)
    mark: Mark = field(default_factory=Mark)
    #: Features and events of the last commit that log.parquet shows.
    exported: tuple[int, int] = (0, 0)

    @property
    def log(self) -> DecisionLog:
        """The log."""
        return self.selector.log_

    def run(self) -> Run:
        """Return the selection as a run."""
        return Run(log=self.log, **self.head["run"])

    def saved(self) -> SavedSelection:
        """Return what the selection says of itself."""
        return SavedSelection(self.folder, self.head, self.log, self.history)

    # --- while columns are taken ---------------------------------------------------------------

    def know_rows(self, source: Source) -> None:
        """Remember what a source calls its rows and its target."""
        named = source.keys()
        if named is not None:
            self.key, self.keys = named[0], as_keys(named[1], self.target.n_rows, named[0])
        self.target_name = source.target_name or self.target_name

    def remember(self, scored: ScoredColumns) -> None:
        """Remember what is needed of columns that the selector was updated with."""
        if scored.hashes is not None and scored.names is not None:
            self.seen.add(scored.first, scored.names, scored.hashes)
        if scored.cuts is not None and self.encoded is not None:
            self.encoded.count(scored.cuts)
            self.encoded.note(scored.first, scored.cuts, self.selector.kept_)
        if scored.block is not None:
            self._hold(scored.block)

    def _hold(self, block: ColumnBlock) -> None:
        """Hold the kept columns of a block; what fell goes when it outnumbers what is kept."""
        kept = self.selector.kept_
        lo, hi = np.searchsorted(kept, [block.first, block.first + block.width])
        for feature in kept[lo:hi].tolist():
            self.columns[feature] = _nonzeros(block, feature - block.first)
        if len(self.columns) > 2 * len(kept) + 64:
            self.columns = {f: self.columns[f] for f in kept.tolist() if f in self.columns}

    def fetch(self, source: ColumnSource) -> None:
        """Read the kept columns that workers read and did not send: they are few."""
        for feature in self.selector.kept_.tolist():
            if feature not in self.columns:
                self._hold(next(source.columns(1, feature, feature + 1)))

    def kept_block(self, features: Sequence[int]) -> ColumnBlock:
        """Return some kept columns as one block, in the given order."""
        held = [self.columns[f] for f in features]
        indptr = np.zeros(len(held) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows, _ in held], out=indptr[1:])
        rows = np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in held)])
        values = np.concatenate([np.zeros(0), *(values for _, values in held)])
        return ColumnBlock(0, self.target.n_rows, Compressed(indptr, rows, values))

    def withdraw(self, features: Sequence[int], why: str) -> list[int]:
        """Take features away; return those that they had displaced, which may be fed again.

        Nothing is decided again: what a feature displaced is reported, and not brought back.
        """
        log, selector = self.log, self.selector
        back = [f for f in displaced(log, features) if f not in features]
        kept = selector.kept_.tolist()
        log.declare(WITHDRAWALS)
        for feature in features:
            reason = why if feature in kept else f"{why}, not kept"
            log.append_withdrawal(Decision(feature, reason, log.relevance_of(feature)))
        stays = [f for f in kept if f not in features]
        if len(stays) < len(kept):
            self.selector = selector.without(features, self.kept_block(stays))
            self.columns = {f: self.columns[f] for f in stays}
        self.forgotten += [*features, *back]
        self.seen.forget([*features, *back])
        return back

    def warn_of_leak(self) -> None:
        """Warn of a column that was taken as a feature and equals the target."""
        for feature in self.seen.with_values(target_hashes(self.target))[:1].tolist():
            warn_of_leak(self.log.names[feature])

    # --- writing -------------------------------------------------------------------------------

    def create(self, folder: Path, run: Run) -> None:
        """Begin the state in a folder; nothing counts before the first commit."""
        create(folder)
        selector, names = self.selector, run.log.names
        self.folder = folder
        self.head = {
            "commit": 0,
            "method": selector.method,
            "class": own_place(selector),
            "selector_parameters": parameters_of(selector),
            "key": self.key,
            "target": self.target.fingerprint,
            "target_name": self.target_name,
            "encoding": None if self.encoded is None else self.encoded.encoding.settings(),
            "names": {"prefix": names.prefix, "base": names.base},
            "run": without_secrets({key: getattr(run, key) for key in RUN_FIELDS}),
        }
        with writing(folder) as opened:
            put(opened, "rows", 0, {"labels": plain_labels(self.target), "keys": self.keys})

    def save(self, folder: Path, run: Run) -> None:
        """Write a finished run to a folder, with all it takes to resume."""
        self.create(folder, run)
        source, n_columns = run.source, len(run.log)
        self.commit({
            "action": "select", "source": source.get("name", source["format"]), "done": True,
            "fingerprint": source["fingerprint"], "columns": n_columns, "taken": n_columns,
        })  # fmt: skip
        self.export()

    def commit(self, line: Record) -> None:
        """Make what happened since the last commit durable."""
        log, selector, number = self.log, self.selector, self.head["commit"] + 1
        line = without_secrets(line) | {
            "commit": number, "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "features": len(log), "events": log.n_events,
        }  # fmt: skip
        head = {
            **self.head, **describe_log(log), "commit": number, "run": self._facts(),
            "features": len(log), "events": log.n_events,
        }  # fmt: skip
        kept = set(selector.kept_.tolist()) if len(log) else set()
        with writing(self.folder) as opened:
            pieces = self._put_log(opened, log)
            for feature in sorted(kept - self.stored):
                rows, values = self.columns[feature]
                put(opened, "column", feature, {"rows": rows, "values": values})
            remove(opened, "column", sorted(self.stored - kept))
            if len(log):
                put(opened, "selector", 0, selector.state())
            put(opened, "history", number, line)
            put(opened, "head", 0, head)
        self.head, self.pieces, self.stored, self.forgotten = head, pieces, kept, []
        self._note(line)
        self.mark = Mark.of(log)

    def _note(self, line: Record) -> None:
        """Add an entry to the history in memory."""
        self.history.append(line)
        if "columns" in line:
            self.fed.setdefault(line["fingerprint"], []).append(line)
        if line["action"] == "select":
            self.must_be_resumed = not line["done"]

    def _facts(self) -> dict[str, Any]:
        """Return the fields of `Run` as they are now."""
        facts, selector = dict(self.head["run"]), self.selector
        facts["work"] = {key: int(count) for key, count in selector.work_.items()}
        facts["source"] = facts["source"] | {"n_columns": len(self.log)}
        if self.encoded is not None and len(self.log):
            facts["source"] = facts["source"] | self.encoded.record(selector.kept_)
        if hasattr(selector, "measure_"):
            facts["measure"] = repr(selector.measure_)
            facts["measure_reason"] = selector.measure_reason_
        return facts

    def _put_log(self, opened: Any, log: DecisionLog) -> list[Piece]:
        """Append what is new to the stored log, together with pieces that are not much larger.

        So there are never many pieces, and a feature is written again only a few times.
        """
        pieces, begin, forgotten = list(self.pieces), self.mark, list(self.forgotten)
        if Mark.of(log) == begin and not forgotten:
            return pieces
        size = 64 * (len(log) - begin.features + log.n_events - begin.events)
        while pieces and pieces[-1].size < 2 * size + 4096 and (
            len(log) - pieces[-1].begin.features <= LONGEST
        ):  # fmt: skip
            last = pieces.pop()
            size, begin, forgotten = size + last.size, last.begin, last.forgotten + forgotten
        remove(opened, "log", [piece.number for piece in self.pieces[len(pieces) :]])
        arrays = arrays_since(log, begin)
        first = begin.features
        bulk = [key for key in ("reason", "relevance", "level", "value") if key in arrays]
        none = {key: array[:0] for key, array in arrays.items() if key not in bulk}
        while True:
            last_of_all = first + LONGEST >= len(log)
            hi = min(first + LONGEST, len(log))
            part = {key: arrays[key][first - begin.features : hi - begin.features] for key in bulk}
            number = pieces[-1].number + 1 if pieces else 0
            written = put(opened, "log", number, {
                "log": part | ({k: arrays[k] for k in none} if last_of_all else none),
                "names": names_between(log, first, hi), "seen": self.seen.arrays(first, hi),
                "forgotten": forgotten,
            })  # fmt: skip
            mark = Mark(first, begin.events, begin.because, begin.evidence)
            pieces.append(Piece(number, written, mark, forgotten))
            first, forgotten = hi, []
            if last_of_all:
                return pieces

    def export(self) -> None:
        """Write the files that people read; run.json comes last and says which commit they show."""
        run, log, folder = self.run(), self.log, self.folder
        if len(log) <= SHORT or 10 * (len(log) - self.exported[0]) >= len(log):
            self.exported = len(log), log.n_events
            with atomic_file(folder / "log.parquet", hint=COMMITTED) as file:
                write_log(log, file)
            with atomic_file(folder / "events.parquet", hint=COMMITTED) as file:
                write_events(log, file)
            (folder / RECENT).unlink(missing_ok=True)
        else:  # rows that are new or changed since
            first, events = self.exported
            changed = {f for f in log.event_features[events:].tolist() if f < first}
            with atomic_file(folder / RECENT, hint=COMMITTED) as file:
                write_log(log, file, first=first, also=sorted(changed))
        shows = {"log_shows": self.exported[0], "log_shows_events": self.exported[1]}
        with atomic_file(folder / "selected.csv", hint=COMMITTED) as file:
            file.write(selected_csv(run))
        with atomic_file(folder / "run.json", hint=COMMITTED) as file:
            file.write(run_json(run, commit=self.head["commit"], **shows))

    # --- reading -------------------------------------------------------------------------------

    @classmethod
    def read(cls, folder: Path, selector: Given = None) -> SelectionState:
        """Read a state and restore its selector.

        A folder may come from a stranger: everything is checked, and only methods and measures that
        tamis knows by name are made.
        """
        with damage_as_one_sentence(folder), reading(folder) as opened:
            head, rows = read_all(opened, "head")[0], read_all(opened, "rows")[0]
            target = Target.of(rows["labels"])
            if target.fingerprint != head["target"]:
                raise SourceError("the target is not the one that the selection was made with")
            if rows["keys"] is not None and rows["keys"].shape != (target.n_rows,):
                raise SourceError("the keys do not fit the rows")
            stored = read_log(opened, head)
            settings = head["encoding"]
            encoded = settings and EncodedSoFar(Encoding.from_settings(settings))
            if encoded is not None:
                encoded.take_back(head["run"]["source"])
            chosen = _selector(head, selector, target, encoded)
            state = cls(chosen, target, rows["keys"], head["key"], head["target_name"], encoded)
            state.folder, state.head, state.pieces = folder, head, stored.pieces
            state.mark = Mark.of(stored.log)
            for line in read_history(opened, head):
                state._note(line)
            for piece, seen in zip(stored.pieces, stored.seen, strict=True):
                state.seen.forget(piece.forgotten)
                state.seen.add_arrays(seen)
            state._restore(opened, stored.log)
            if state.saved().shown():
                record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
                state.exported = int(record["log_shows"]), int(record["log_shows_events"])
            return state

    def _restore(self, opened: Any, log: DecisionLog) -> None:
        """Bring the selector to where the log ends."""
        selector = self.selector
        if self.head["features"] == 0:
            selector.start(self.target, name_prefix=log.names.prefix, name_base=log.names.base)
            if hasattr(selector, "measure_"):
                selector.measure_reason_ = self.head["run"]["measure_reason"]
            return
        saved = read_all(opened, "selector")[0]
        kept = saved["features"].tolist()
        if kept != log.replay():
            raise SourceError("the log and the kept features do not belong together")
        found = read_all(opened, "column")
        self.columns = {f: _checked(found[f], self.target.n_rows) for f in kept}
        self.stored = set(found)
        selector.restore(self.target, saved, self.kept_block(kept), log)


def _selector(head: Record, given: Given, target: Target, encoded: EncodedSoFar | None) -> Any:
    """Make the selector that a head names, or take the one that was given."""
    if given is None or isinstance(given, type):
        return selector_from(head["method"], head["selector_parameters"], head["class"], given)
    chosen: Any = as_selector(given)
    if encoded is not None:
        encoded.encoding.prepare(chosen, target)
    return chosen


def _checked(column: Record, n_rows: int) -> Column:
    """Return a stored column whose rows rise inside the table, and whose numbers are finite."""
    rows, values = column["rows"], column["values"]
    if rows.dtype != np.int32 or values.dtype != np.float64 or rows.shape != (len(values),):
        raise SourceError("a kept column holds arrays that cannot be")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise SourceError("a kept column holds numbers that cannot be")
    if len(rows) and (rows[0] < 0 or rows[-1] >= n_rows or not (np.diff(rows) > 0).all()):
        raise SourceError("a kept column holds rows that cannot be")
    return rows, values


def _nonzeros(block: ColumnBlock, j: int) -> Column:
    """Return rows and numbers of column j of a block that are not zero, copied."""
    if isinstance(block.values, Compressed):
        one = block.values.part(j, j + 1)
        filled = one.data != 0
        return one.indices[filled].astype(np.int32), one.data[filled].astype(np.float64)
    column = block.values[:, j]
    rows = np.flatnonzero(column)
    return rows.astype(np.int32), column[rows].astype(np.float64)


# --- withdrawing ---


def displaced(log: DecisionLog, features: Sequence[int]) -> list[int]:
    """Return the features that are not kept because of one of these, by their last decision."""
    state = arrays_since(log, Mark(len(log)))  # the events, nothing else
    ends, because = state["event_because_end"], state["because"]
    event_of = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    named = np.unique(event_of[np.isin(because, list(features))])
    # A later event of the same feature overwrites an earlier one: assignment keeps the last.
    last = np.full(len(log), -1, np.int64)
    last[state["event_feature"]] = np.arange(len(ends))
    candidates = np.unique(state["event_feature"][named])
    verdicts = log.verdicts[candidates]
    decided = np.isin(last[candidates], named) & (verdicts != Verdict.KEPT)
    return [int(f) for f in candidates[decided]]


# --- rows ------------------------------------------------------------------------------------


def as_keys(values: Any, n_rows: int, where: str) -> npt.NDArray[Any]:
    """Return the keys of rows as numbers or text; each row has one, and no two are equal."""
    keys = np.asarray(values)
    if keys.dtype.kind not in "iuUSb":
        keys = np.array([str(key) for key in keys.ravel().tolist()])
    if keys.shape != (n_rows,):
        raise InputError(f"{where} gives {keys.size} keys for {n_rows} rows; give one for each row")
    again = first_duplicate(np.sort(keys))
    if again is not None:
        raise InputError(f"{where}: the key {again} names two rows; keys must be different")
    return keys


def first_duplicate(in_order: npt.NDArray[Any]) -> str | None:
    """Return a key that two rows of a sorted array have, as a sentence shows it."""
    same = np.flatnonzero(in_order[1:] == in_order[:-1])
    return shown_key(in_order[same[0]]) if len(same) else None


def shown_key(key: Any) -> str:
    """Return a key as a sentence shows it."""
    return repr(key.item() if isinstance(key, np.generic) else key)


# --- what can be saved -----------------------------------------------------------------------


def state_for(
    selector: Any, source: Source, target: Target, encoding: Encoding | None
) -> SelectionState | None:
    """Return an empty state for the rows of a source, or None where a run cannot be saved."""
    if not can_be_saved(selector) or (encoding is not None and not encoding.known_by_name):
        return None
    try:
        plain_labels(target)
    except InputError:
        return None
    encoded = None if encoding is None else EncodedSoFar(encoding)
    state = SelectionState(selector, target, encoded=encoded)
    state.know_rows(source)
    return state


def can_be_saved(selector: Any) -> bool:
    """Tell whether a selector decides as columns come and says what its state is."""
    if not isinstance(selector, FeatureStreamSelector):
        return False
    measures = [p for p in selector.rule.get_params().values() if isinstance(p, Measure)]
    return all(map(known_by_name, measures))


def plain_labels(target: Target) -> npt.NDArray[Any]:
    """Return the target as an array of numbers or of text."""
    if target.codes is None or target.classes is None:
        return target.values
    classes = target.classes
    if classes.dtype == object:
        classes = np.array(classes.tolist())
    labels: npt.NDArray[Any] = classes[target.codes]
    if labels.dtype == object or Target.of(labels).fingerprint != target.fingerprint:
        raise InputError(
            "the classes of the target are neither all numbers nor all text, so they cannot be "
            "written to a file; make text of them"
        )
    return labels


def warn_of_leak(name: str) -> None:
    """Warn of a column that equals the target."""
    warn(
        f"the column {name!r} equals the target in every row; if it is the target, select again "
        f"without it (--ignore {shlex.quote(name)})"
    )
