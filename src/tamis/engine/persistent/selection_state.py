"""The state of a selection: everything needed to resume, in memory and on disk.

Besides the log, the state consists of the target, the keys of the rows, the values of the kept
columns, hashes of the named columns seen, and the few numbers of the selector that do not follow
from these. Panels, bases and distances are recomputed from the kept columns.

The cost of a commit depends on what it adds (`state_file`). The files that people read are exports
of the last commit; after a crash in between, the next process that opens the folder writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, has_no_order
from tamis.core.covariates import Covariates
from tamis.core.decisions import Decision, DecisionLog, Mark, Reason, Verdict
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.core.files import atomic_file
from tamis.core.masking import masked
from tamis.core.target import Target
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.encoded import EncodedSoFar, Encoding
from tamis.engine.known_selectors import as_selector, saved_form, selector_from
from tamis.engine.log_tables import describe_log, write_events, write_log
from tamis.engine.loop import ScoredColumns
from tamis.engine.persistent.saved_selection import (
    LONGEST,
    Piece,
    SavedSelection,
    cannot_be_fed,
    read_log,
)
from tamis.engine.persistent.state_file import (
    Record,
    Version,
    put,
    read,
    reading,
    version_of,
    writing,
)
from tamis.engine.runs import RUN_FIELDS, Run, readable_files, unencoded
from tamis.engine.seen_columns import SeenColumns, name_hashes
from tamis.engine.stopping import Stop
from tamis.measures.auto import from_name, known_by_name
from tamis.measures.measure import Measure
from tamis.methods.selector import FeatureStreamSelector
from tamis.sources.base import ColumnSource, Source

#: Logs of up to this many features are exported after every feed, longer ones when 10 % is new.
SHORT = 500_000

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

#: The end of the error message if an export cannot be written.
COMMITTED = "the selection itself is committed, and the next command that opens it writes the file"

#: A rule, an estimator or a selector that the user gives, or the class of one of the first two.
Given = Any

#: Rows and values of the nonzeros of a column.
Column = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]


@dataclass(kw_only=True)
class SelectionState(SavedSelection):
    """What a selection needs to resume; also stored on disk once it has a folder.

    `labels` are the target as numbers or text, ready to be saved. `key` is the name of the column
    that holds the keys of the rows in fed files; `target_name` is that of the target, which must
    never be fed as a feature. Kept columns are stored as the selector saw them; the hashes of the
    columns seen are those of the original values, before encoding.
    """

    selector: FeatureStreamSelector
    target: Target
    labels: npt.NDArray[Any]
    keys: npt.NDArray[Any] | None = None
    key: str | None = None
    target_name: str | None = None
    encoded: EncodedSoFar | None = None
    stop: Stop | None = None
    seen: SeenColumns = field(default_factory=SeenColumns)
    columns: dict[int, Column] = field(default_factory=dict)
    #: Which of them are categories without an order.
    unordered: set[int] = field(default_factory=set)
    #: Features that were withdrawn, or displaced by one that was, since the last commit.
    forgotten: list[int] = field(default_factory=list)

    # What is on disk.
    folder: Path = Path()
    head: Record = field(default_factory=dict)
    #: The last commit; None before the first.
    version: Version | None = None
    #: The log of the selector.
    log: DecisionLog = field(init=False)
    history: list[Record] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    stored: set[int] = field(default_factory=set)
    mark: Mark = field(default_factory=Mark)
    #: Features and events of the last commit that log.parquet shows.
    exported: tuple[int, int] = (0, 0)

    # --- while columns are processed -----------------------------------------------------------

    def know_rows(self, source: Source) -> None:
        """Store the names that a source gives to its rows and its target."""
        named = source.keys()
        if named is not None:
            self.key, self.keys = named[0], as_keys(named[1], self.target.n_rows, named[0])
        self.target_name = source.target_name or self.target_name

    def remember(self, scored: ScoredColumns) -> None:
        """Store what is needed of the columns that the selector was updated with."""
        held, block = self.selector.held_features, scored.block
        if self.selector.is_inside_table:  # its columns may be kept when it ends
            held = np.union1d(held, self.selector.table_features)
        if scored.hashes is not None and scored.names is not None:
            features = np.arange(scored.first, scored.first + len(scored.names))
            self.seen.add(features, name_hashes(scored.names), scored.hashes)
        if scored.cuts is not None and self.encoded is not None:
            self.encoded.add(scored.first, scored.cuts, held)
        if block is None:
            return
        categories = has_no_order(block)
        lo, hi = np.searchsorted(held, [block.first, block.first + block.width])
        for feature in held[lo:hi].tolist():
            j = feature - block.first
            if isinstance(block.values, Compressed):
                one = block.values.part(j, j + 1)
                filled = one.data != 0
                rows, values = one.indices[filled], one.data[filled]
            else:
                rows = np.flatnonzero(block.values[:, j])
                values = block.values[rows, j]
            self.columns[feature] = rows.astype(np.int32), values.astype(np.float64)
            if categories[j] and self.selector.kind == "any":  # others do not ask
                self.unordered.add(feature)
        if len(self.columns) > 2 * len(held) + 64:  # dropped columns outnumber held ones
            self.columns = {f: self.columns[f] for f in held.tolist() if f in self.columns}

    def fetch(self, source: ColumnSource) -> None:
        """Read the few held columns that workers read but did not send."""
        for feature in self.selector.held_features.tolist():
            if feature not in self.columns:
                block = next(source.columns(1, feature, feature + 1))
                self.remember(ScoredColumns(feature, feature + 1, None, None, block))

    def kept_block(self, features: Sequence[int]) -> ColumnBlock:
        """Return some kept columns as one block, in the given order."""
        held = [self.columns[f] for f in features]
        indptr = np.zeros(len(held) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows, _ in held], out=indptr[1:])
        rows = np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in held)])
        values = np.concatenate([np.zeros(0), *(values for _, values in held)])
        is_text = np.array([f in self.unordered for f in features], dtype=np.bool_)
        return ColumnBlock(0, self.target.n_rows, Compressed(indptr, rows, values), is_text=is_text)

    def withdraw(self, features: Sequence[int], why: str) -> list[int]:
        """Withdraw features; return those that they had displaced, which may be fed again.

        No decision is revised: the displaced features are returned, but not restored.
        """
        log, selector = self.log, self.selector
        kept, held = selector.kept_.tolist(), selector.held_features.tolist()
        stay = {*features, *selector.candidates.tolist()}
        back = [f for f in displaced(log, features) if f not in stay]
        log.declare(WITHDRAWALS)
        for feature in features:
            reason = why if feature in kept else f"{why}, not kept"
            decision = Decision(feature, reason, log.relevance_of(feature))
            log.append(decision, at=len(log) - 1)
        stays = [f for f in held if f not in features]
        if len(stays) < len(held):
            self.selector = selector.without(features, self.kept_block(stays))
            self.columns = {f: self.columns[f] for f in stays}
        self.forgotten += [*features, *back]
        self.seen.forget([*features, *back])
        return back

    # --- writing -------------------------------------------------------------------------------

    def create(self, folder: Path, run: Run, line: Record | None = None) -> None:
        """Create the state in a folder, for a run that may be finished, with a history entry."""
        selector, source, names = self.selector, run.source, run.log.names
        self.folder, self.log, self.version = folder, run.log, None
        # It may have been saved to another folder before: all of it is new here.
        self.forgotten = [f for piece in self.pieces for f in piece.forgotten] + self.forgotten
        self.pieces, self.history, self.stored = [], [], set()
        self.mark, self.exported = Mark(), (0, 0)
        self.head = {
            "commit": 0,
            **saved_form(selector.rule),
            "key": self.key,
            "target": self.target.fingerprint,
            "target_name": self.target_name,
            "required": selector.required,
            "rows_are_split": selector.rows_are_split,
            "encoding": None if self.encoded is None else self.encoded.encoding.settings(),
            "stop": None if self.stop is None else self.stop.settings(),
            "names": {"prefix": names.prefix, "base": names.base},
            "run": masked({key: getattr(run, key) for key in RUN_FIELDS}),
        }
        self.commit(line or {
            "action": "select", "source": source.get("name", source["format"]), "done": True,
            "fingerprint": source["fingerprint"], "columns": len(run.log), "taken": len(run.log),
        })  # fmt: skip
        self.export(new=True)

    def commit(self, line: Record) -> None:
        """Commit everything since the last commit to disk."""
        log, selector, number = self.log, self.selector, self.head["commit"] + 1
        mark = log.mark
        size = {"commit": number, "features": mark.features, "events": mark.events}
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = masked(line) | size | {"time": now}
        facts = dict(self.head["run"])
        held = set(selector.held_features.tolist()) if len(log) else set()
        # What was found out about the features so far does not hold for more of them.
        known = facts.get("trust", {}) if number == 1 or mark == self.mark else {}
        facts["trust"] = known | selector.trust if len(log) else {}
        facts["work"] = {key: int(count) for key, count in selector.work_.items()}
        facts["source"] = facts["source"] | {"n_columns": len(log)}
        if self.encoded is not None and len(log):
            facts["source"] = facts["source"] | self.encoded.record(selector.held_features)
        elif selector.gaps[0]:
            facts["source"] = facts["source"] | unencoded(*selector.gaps)
        if hasattr(selector, "measure_"):
            facts["measure"] = repr(selector.measure_)
            facts["measure_reason"] = selector.measure_reason
        head = {**self.head, **describe_log(log), **size, "run": facts}
        if selector.free_order:
            some = [self.columns[f] for f in held if f in self.columns]
            head["held"] = {
                "columns": len(held), "bytes": sum(r.nbytes + v.nbytes for r, v in some),
            }  # fmt: skip
        with writing(self.folder, self.version) as opened:
            if number == 1:
                about: Record = {"labels": self.labels, "keys": self.keys}
                put(
                    opened, "rows", 0, about | (self._adjusted() if self.target.is_adjusted else {})
                )
            pieces = self._put_log(opened)
            for feature in sorted(held - self.stored):
                rows, values = self.columns[feature]
                column = {"rows": rows, "values": values}
                if feature in self.unordered:
                    column["unordered"] = True
                put(opened, "column", feature, column)
            for feature in self.stored - held:
                put(opened, "column", feature, None)
            if len(log):
                put(opened, "selector", 0, selector.state())
            put(opened, "history", number, line)
            put(opened, "head", 0, head)
            version = version_of(opened)
        self.version = version
        self.head, self.pieces, self.stored, self.forgotten = head, pieces, held, []
        self.history.append(line)
        self.mark = mark

    def repeated(self, name: str) -> list[Record]:
        """Return the results of a repetition on parts of the rows, as far as it came."""
        with reading(self.folder) as opened:
            return [result for _, result, _ in read(opened, name)]

    def note_repeated(self, name: str, number: int, result: Record) -> None:
        """Save the result of one part of the rows."""
        with writing(self.folder, self.version) as opened:
            put(opened, name, number, result)

    def end_repeats(self, found: Mapping[str, Record]) -> None:
        """Commit what all repetitions found, and delete the results of single parts."""
        facts, names = self.head["run"], list(self.repeats())
        self.head["run"] = {**facts, "trust": facts.get("trust", {}) | dict(found)}
        self.commit({"action": "repeat", "what": names})
        parts = [(name, number) for name in names for number in range(len(self.repeated(name)))]
        with writing(self.folder, self.version) as opened:
            for name, number in parts:
                put(opened, name, number, None)
        self.export()

    def _adjusted(self) -> Record:
        """Return the sample weights, covariates and groups of the rows, as they are stored."""
        given, table = self.target.given, None
        if given is not None:
            table = {"values": given.values, "names": list(given.names), "is_text": given.is_text}
        found: Record = {"weights": self.target.weights, "given": table}
        if self.target.row_groups is not None:
            found["row_groups"] = self.target.row_groups
        return found

    def _put_log(self, opened: Any) -> list[Piece]:
        """Append what is new to the stored log, together with pieces that are not much larger.

        So there are never many pieces, and each feature is rewritten only a few times.
        """
        log, pieces, begin, forgotten = self.log, list(self.pieces), self.mark, self.forgotten
        end = log.mark
        if end == begin and not forgotten:
            return pieces
        size = 64 * (end.features - begin.features + end.events - begin.events)
        while pieces and pieces[-1].size < 2 * size + 4096 and (
            end.features - pieces[-1].begin.features <= LONGEST
        ):  # fmt: skip
            last = pieces.pop()
            size, begin, forgotten = size + last.size, last.begin, last.forgotten + forgotten
            put(opened, "log", last.number, None)
        longest = range(begin.features + LONGEST, end.features, LONGEST)
        marks = [begin, *(replace(begin, features=feature) for feature in longest), end]
        for lo, hi in pairwise(marks):
            # The first piece lists the removed features, and the last one has the events.
            number = pieces[-1].number + 1 if pieces else 0
            written = put(opened, "log", number, {
                "log": log.since(lo, hi), "names": log.names.between(lo.features, hi.features),
                "seen": self.seen.arrays(lo.features, hi.features), "forgotten": forgotten,
            })  # fmt: skip
            pieces.append(Piece(number, written, lo, forgotten))
            forgotten = []
        return pieces

    def export(self, *, new: bool = False) -> None:
        """Write the files that people read; run.json is last and names the commit they show.

        A `new` folder is published whole, so that its files need not be replaced one by one.
        """
        opened: Any = partial(open, mode="wb") if new else partial(atomic_file, hint=COMMITTED)
        log, folder = self.log, self.folder
        if len(log) <= SHORT or 10 * (len(log) - self.exported[0]) >= len(log):
            self.exported = log.mark.features, log.mark.events
            with opened(folder / "log.parquet") as file:
                write_log(log, file)
            with opened(folder / "events.parquet") as file:
                write_events(log, file)
            (folder / RECENT).unlink(missing_ok=True)
        else:  # rows that are new or changed since
            first, events = self.exported
            recent = log.since(Mark(first, events))["event_feature"]
            changed = {f for f in recent.tolist() if f < first}
            with opened(folder / RECENT) as file:
                write_log(log, file, first=first, also=sorted(changed))
        shows = {"log_shows": self.exported[0], "log_shows_events": self.exported[1]}
        shows |= {"commit": self.head["commit"]}
        facts, finished = self.head["run"], self.left_to_do() != "columns"
        files = readable_files(log, facts, finished=finished, **shows)
        if "selected.csv" not in files:
            (folder / "selected.csv").unlink(missing_ok=True)
        for name, text in files.items():
            with opened(folder / name) as file:
                file.write(text)

    # --- reading -------------------------------------------------------------------------------

    @classmethod
    def read(cls, folder: Path, given: Given = None) -> SelectionState:
        """Read a state and restore its selector, or the one that was given.

        A folder may be untrusted: everything is checked, and only methods and measures that tamis
        knows by name are created.
        """
        with reading(folder) as opened:
            stored, pieces = read_log(folder, opened)
            head, log, encoded = stored.head, stored.log, None
            ((_, rows, _),) = read(opened, "rows")
            target = _restored_target(rows, head["run"]["source"])
            if target.fingerprint != head["target"]:
                raise SourceError("the target is not the one that the selection was made with")
            if rows["keys"] is not None and rows["keys"].shape != (target.n_rows,):
                raise SourceError("the keys do not fit the rows")
            if head["encoding"] is not None:
                encoding = Encoding.from_settings(head["encoding"])
                encoded = EncodedSoFar(encoding, head["run"]["source"])
            if given is None or isinstance(given, type):
                selector: Any = selector_from(
                    head["method"], head["selector_parameters"], head["class"], given
                )
            else:
                selector = as_selector(given)
            selector.required = int(head.get("required", 0))
            selector.rows_are_split = bool(head.get("rows_are_split", False))
            if encoded is not None:
                encoded.encoding.prepare(selector, target)
            state = cls(
                selector=selector, target=target, labels=rows["labels"], keys=rows["keys"],
                key=head["key"], target_name=head["target_name"], encoded=encoded, folder=folder,
                stop=Stop.of(head["stop"]) if head.get("stop") else None,
                head=head, version=version_of(opened), history=stored.history,
                pieces=[p for p, _ in pieces], mark=log.mark,
            )  # fmt: skip
            for piece, seen in pieces:
                if piece.forgotten:
                    state.seen.forget(piece.forgotten)
                state.seen.add(seen["features"], seen["names"], seen["values"])
            if head["features"] == 0:
                selector.start(target, name_prefix=log.names.prefix, name_base=log.names.base)
                if hasattr(selector, "measure_"):
                    selector.measure_reason = head["run"]["measure_reason"]
            else:
                ((_, saved, _),) = read(opened, "selector")
                held = saved["features"].tolist()
                found = {feature: column for feature, column, _ in read(opened, "column")}
                state.unordered = {f for f in held if found[f].get("unordered")}
                measure = saved["numbers"].get("measure")
                gaps = measure is not None and from_name(**measure).takes_gaps
                state.columns = {f: _checked(found[f], target.n_rows, gaps) for f in held}
                state.stored = set(found)
                selector.restore(target, saved, state.kept_block(held), log)
                if selector.kept_.tolist() != log.replay():
                    raise SourceError("the log and the kept features do not belong together")
            state.log = selector.log_
            record = state.shown()
            if record is not None:
                state.exported = int(record["log_shows"]), int(record["log_shows_events"])
            return state


def _checked(column: Record, n_rows: int, gaps: bool) -> Column:
    """Return a stored column, checked to have increasing valid row indices and finite values.

    With `gaps`, values may be missing.
    """
    rows, values = column["rows"], column["values"]
    if rows.dtype != np.int32 or values.dtype != np.float64 or rows.shape != (len(values),):
        raise SourceError("a kept column holds invalid arrays")
    if values.ndim != 1 or not (np.isfinite(values) | (gaps & np.isnan(values))).all():
        raise SourceError("a kept column holds invalid numbers")
    if len(rows) and (rows[0] < 0 or rows[-1] >= n_rows or not (np.diff(rows) > 0).all()):
        raise SourceError("a kept column holds invalid row indices")
    return rows, values


# --- withdrawing ---


def displaced(log: DecisionLog, features: Sequence[int]) -> list[int]:
    """Return the features that are not kept because of one of these, by their last decision."""
    state = log.since(Mark(len(log)))  # the events, nothing else
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
    """Return the keys of rows as numbers or text, checked to be complete and unique."""
    keys = np.asarray(values)
    if keys.dtype.kind not in "iuUSb":
        keys = np.array([str(key) for key in keys.ravel().tolist()])
    if keys.shape != (n_rows,):
        raise InputError(f"{where} gives {keys.size} keys for {n_rows} rows; give one for each row")
    in_order = np.sort(keys)
    same = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(same):
        raise InputError(
            f"{where}: the key {same[0].item()!r} names two rows; keys must be different"
        )
    return keys


# --- what can be saved -----------------------------------------------------------------------


def can_be_saved(selector: Any) -> bool:
    """Return whether a selector decides as columns arrive and can save its state."""
    return isinstance(selector, FeatureStreamSelector) and all(
        known_by_name(p) for p in selector.rule.get_params().values() if isinstance(p, Measure)
    )


def new_state(
    selector: Any, target: Target, encoding: Encoding | None, stop: Stop | None = None
) -> SelectionState:
    """Return an empty state, or raise an error if it could not be saved to a file."""
    if not can_be_saved(selector):
        raise ParameterError(cannot_be_fed(selector.method))
    if encoding is not None and not encoding.known_by_name:
        raise ParameterError(
            f"{type(encoding.encoder).__name__} is not an encoder of tamis, so a file cannot name "
            "it and later columns could not be encoded by it; use one such as 'mdlp', or "
            "select from all columns at once"
        )
    labels = target.labels
    if target.is_classes:
        if labels.dtype == object:
            labels = np.array(labels.tolist())
        again = None
        if labels.dtype != object:
            again = Target.of(labels, target.task)
            if target.is_adjusted:
                again = again.adjusted(target.weights, target.given, target.row_groups)
        if again is None or again.fingerprint != target.fingerprint:
            raise InputError(
                "the classes of the target are neither all numbers nor all text, so they cannot be "
                "written to a file; make text of them"
            )
    encoded = None if encoding is None else EncodedSoFar(encoding)
    return SelectionState(
        selector=selector, target=target, labels=labels, encoded=encoded, stop=stop
    )


def _restored_target(rows: Mapping[str, Any], source: Mapping[str, Any]) -> Target:
    """Return the target of a run, for the task that it was selected for."""
    labels, given = rows["labels"], rows.get("given")
    if given is not None:
        given = Covariates(given["values"], tuple(given["names"]), given["is_text"])
    task = source.get("task")
    if task is None:  # of earlier versions, for which whole numbers were classes
        fractions = labels.dtype.kind == "f" and np.any(labels != np.floor(labels))
        task = "regression" if fractions else "classification"
    target = replace(Target.of(labels, task), reason=str(source.get("task_reason", "")))
    adjustments = rows.get("weights"), given, rows.get("row_groups")
    given_any = any(one is not None for one in adjustments)
    return target.adjusted(*adjustments) if given_any else target


def started_state(
    selector: Any, target: Target, common: CommonParameters, name_prefix: str, name_base: int
) -> SelectionState:
    """Return the empty state of a selector that has started its stream."""
    encoding, stop, reason = common.prepare(selector, target)
    state = new_state(selector, target, encoding, stop)
    selector.start(target, name_prefix=name_prefix, name_base=name_base)
    if reason:
        selector.measure_reason = reason
    state.log = selector.log_
    return state
