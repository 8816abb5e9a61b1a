"""A selection that survives the death of its driver: begun in a folder, committed as it goes on.

The folder is that of a living selection from the first moment on. Its history says what is being
selected from; whoever opens it later goes on behind the last committed block, here or on a cluster,
and ends with the log of a run that was never stopped.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tamis.core.decisions import DecisionLog
from tamis.core.errors import (
    InputError,
    OutputError,
    ParameterError,
    SourceError,
    TamisError,
)
from tamis.core.files import atomic_folder
from tamis.core.masking import MASK
from tamis.core.memory import peak_megabytes
from tamis.core.target import Target
from tamis.encode import Encoder, Missing
from tamis.engine.files.durable import Record
from tamis.engine.known_selectors import as_selector
from tamis.engine.living.archive import Archive, new_archive
from tamis.engine.living.archive_reader import Given
from tamis.engine.living.opening import known_encoding
from tamis.engine.living.record import cannot_go_on, is_living, read_record
from tamis.engine.living.selection import Selection
from tamis.engine.living.stock import can_be_saved, stock_for
from tamis.engine.run import Run
from tamis.engine.select import Watch, describe_run, watched
from tamis.engine.workers.executors import examiner
from tamis.engine.wrappers.encoded import EncodedSource
from tamis.engine.wrappers.groups import GroupTable, grouped, read_groups, refuse_groups
from tamis.kernels.threads import threads
from tamis.methods import FeatureStreamSelector
from tamis.methods.selector import ColumnSelector, Scoring
from tamis.sources import open_source
from tamis.sources.addresses import from_here
from tamis.sources.axis import to_columns
from tamis.sources.base import ColumnSource, Report, silent

#: Seconds between two commits.
EVERY = 2.0


def can_resume(selector: ColumnSelector) -> bool:
    """Tell whether a method decides as columns come, and can be put away in between."""
    return isinstance(selector, FeatureStreamSelector) and can_be_saved(selector)


def begin(
    folder: str | os.PathLike[str],
    source: ColumnSource,
    selector: Any,
    reading: dict[str, Any] | None = None,
    *,
    encode: Encoder | str | None = None,
    missing: Missing | str = "error",
    groups: GroupTable | None = None,
    rows: ColumnSource | None = None,
    name: str = "",
    command: str = "",
    seconds: dict[str, float] | None = None,
    force: bool = False,
) -> None:
    """Make a folder from which `resume` selects; nothing is decided yet.

    Parameters
    ----------
    folder : path
        Where the run will be.
    source : Source
        Columns on disk, at the place that `tamis.open` was given.
    selector : str, rule, estimator or selector
        What decides (a copy of it): one for feature streams.
    reading : dict, optional
        How the source was opened.
    encode, missing
        As for `tamis.select`.
    groups : GroupTable, optional
        The groups of columns, from a file that `resume` reads again.
    rows : Source, optional
        What the columns were made from, which may know more about its rows.
    name, command, seconds : str, str, dict
        What the data is called, how the run was asked for, and the time that went before.
    force : bool
        Replace a run that is there.
    """
    selector = as_selector(selector)
    if not isinstance(selector, FeatureStreamSelector) or not can_be_saved(selector):
        raise ParameterError(
            f"{cannot_go_on(selector.method)}; without --checkpoint it runs, and begins again "
            "when it is stopped"
        )
    target = Target.of(source.target())
    target.refuse_constant()
    encoding = known_encoding(encode, missing)
    chosen = encoding.begun(selector, target, source.name_prefix, source.name_base)
    stock = stock_for(chosen, source, target, encoding)
    if stock is None:
        raise InputError(
            "the classes of the target cannot be written to a file, so the run cannot be resumed; "
            "make words of them, or leave --checkpoint out"
        )
    if rows is not None:
        stock.know_rows(rows)
    info = source.info()
    asked = _asked(source, reading or {})
    if groups is not None:
        refuse_groups(selector)
        grouped(source, groups)  # which says what is wrong with them
        asked["groups"] = {"path": groups.path, "fingerprint": groups.fingerprint}
    line = _line(name, info.fingerprint, 0) | {"asked": asked}

    with atomic_folder(folder, "run", force=force) as work:
        # The log begins with the first column; until then there is nothing in it.
        facts = info.record() | encoding.record() | {"name": name}
        empty = getattr(chosen, "log_", None) or DecisionLog(chosen.reasons(), chosen.names)
        archive = new_archive(
            work, chosen, stock, describe_run(chosen, empty, facts, target, seconds, command)
        )
        archive.commit(line, last=True)
        archive.refresh()


def _asked(source: ColumnSource, reading: dict[str, Any]) -> dict[str, Any]:
    """Where the columns are, so that another process finds them from wherever it is started."""
    path = source.path
    if path is None:
        raise InputError(
            "only columns in a file or a folder can be selected from resumably; write them to one "
            "with tamis convert, or leave --checkpoint out"
        )
    if "y" in reading:
        reading = reading | {"y": os.path.abspath(reading["y"])}
    return {"path": from_here(path), "reading": {"format": source.format, **reading}}


def _line(name: str, fingerprint: str, columns: int, *, done: bool = False) -> Record:
    """What the history says."""
    return {
        "action": "select", "source": name, "fingerprint": fingerprint, "columns": columns,
        "taken": columns, "done": done,
    }  # fmt: skip


def resume(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    cluster: Any = None,
    width: int | None = None,
    n_threads: int | None = None,
    every: float = EVERY,
    report: Report = silent,
    watch: Watch | None = None,
    say: Callable[[str], object] = lambda sentence: None,
    selector: Given = None,
) -> Run:
    """Go on with a run that was stopped, behind the last block that it committed.

    Parameters
    ----------
    folder : path
        What ``tamis select --checkpoint`` or ``--cluster`` left.
    data : path, optional
        Where the data is now: it has moved, or its address has a password, which is not recorded.
    cluster, width, n_threads, report, watch
        As for `tamis.select`; they may differ from those the run began with, and cannot change the
        answer.
    every : float
        Seconds between two commits.
    say : callable, optional
        Told a sentence about where it goes on.
    selector : selector or class, optional
        As for `Selection.open`.
    """
    selection = Selection.open(folder, selector)
    line, asked = _last_line(selection.history, folder)
    if line["done"]:
        say(f"{folder} is finished; nothing is left to do")
        return selection.run
    begun, place = time.perf_counter(), data or asked["path"]
    if MASK in str(place):
        raise SourceError(
            f"the password of {place} was not recorded; give the whole address with --data (data=)"
        )
    source = open_source(place, **asked["reading"])
    if source.fingerprint() != line["fingerprint"]:
        raise SourceError(
            f"{place} is not what it was when {folder} was begun; run tamis select again"
        )
    columns = grouped(to_columns(source), _groups_again(asked.get("groups"), folder))
    with contextlib.ExitStack() as stack:
        if n_threads is not None:
            stack.enter_context(threads(n_threads))
        scoring = stack.enter_context(examiner(cluster))
        stack.enter_context(selection._writing(False, say))
        archive = selection._archive
        line, _ = _last_line(archive.history, folder)
        if archive.selector.n_features_in_ != line["columns"]:
            raise SourceError(
                f"{folder} holds columns of something else behind those of {line['source']}; run "
                "tamis select again"
            )
        if line["columns"]:
            say(f"going on behind column {line['columns']:,} of {line['source']}")
        going = _Going(archive, columns, line, every)
        going(scoring, width, report, watch, elsewhere=cluster is not None)
        archive.head["run"]["seconds"]["select"] += time.perf_counter() - begun
        archive.head["run"]["peak_megabytes"] = peak_megabytes()
        archive.commit(going.line(done=True), last=True)
        archive.refresh()
        archive.stock.tell_of_leaks(archive.log.names)
        run = archive.run()
        run.selector = archive.selector
    return run


def _groups_again(asked: dict[str, str] | None, folder: Any) -> GroupTable | None:
    """The groups that a run was begun with."""
    if asked is None:
        return None
    groups = read_groups(asked["path"])
    if groups.fingerprint != asked["fingerprint"]:
        raise SourceError(
            f"{asked['path']} is not what it was when {folder} was begun; run tamis select again"
        )
    return groups


def refuse_unfinished(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise one sentence if a folder holds a run that `resume` would go on with."""
    if force or not is_living(Path(folder)):
        return
    try:
        line, _ = _last_line(read_record(folder).history, folder)
    except TamisError:  # nothing that could be resumed
        return
    if not line["done"]:
        raise OutputError(
            f"{folder} holds a run that is not finished; go on with it: tamis resume "
            f"{shlex.quote(os.fspath(folder))}; or choose another folder, or use --force"
        )


def _last_line(history: list[Record], folder: Any) -> tuple[Record, dict[str, Any]]:
    """The last line about the selection, and what it was asked for."""
    lines = [line for line in history if line["action"] == "select"]
    if not lines or "asked" not in history[0]:
        raise SourceError(
            f"{folder} was not begun by tamis select --checkpoint or --cluster, so there is "
            "nothing to resume; feed it with tamis feed"
        )
    return lines[-1], history[0]["asked"]


class _Going:
    """One process on the way through what is left of a source."""

    def __init__(self, archive: Archive, source: ColumnSource, line: Record, every: float) -> None:
        self._archive, self._source, self._last, self._every = archive, source, line, every
        self._begun = time.perf_counter()
        archive.head["run"]["seconds"].setdefault("select", 0.0)

    def __call__(
        self,
        scoring: Scoring,
        width: int | None,
        report: Report,
        watch: Watch | None,
        *,
        elsewhere: bool,
    ) -> None:
        """Take all columns that are left."""
        archive, done = self._archive, self._last["columns"]
        selector, stock = archive.selector, archive.stock
        source = self._encoded(self._source)
        # Workers get a selector that has seen nothing: examining depends on no more than that.
        blank = selector.clone().start(
            stock.target, name_prefix=source.name_prefix, name_base=source.name_base
        )
        blank.prepare(source.columns(), source.n_columns)
        selector.prepare(source.columns(), source.n_columns)
        at_hand = not (elsewhere and source.portable)
        noted = stock.filled(
            selector, self._committing(scoring, at_hand), blank=blank, at_hand=at_hand
        )
        selector.go_on(source, noted, width, watched(report, watch, archive.run), done)
        self._fetch(at_hand)

    def _encoded(self, source: ColumnSource) -> ColumnSource:
        """The source as the selector sees it."""
        stock = self._archive.stock
        if stock.encoded is None:
            return source
        return EncodedSource(source, stock.encoded.encoding, stock.target)

    def _committing(self, scoring: Scoring, at_hand: bool) -> Scoring:
        """The same examining; what was taken of it is committed now and then."""

        def committed(
            selector: ColumnSelector,
            source: ColumnSource,
            width: int | None,
            report: Report,
            start: int = 0,
        ) -> Iterator[Any]:
            last = time.monotonic()
            for scored in scoring(selector, source, width, report, start):
                yield scored
                # The reader comes back for the next one when it has taken this one in.
                if time.monotonic() - last >= self._every:
                    self._fetch(at_hand)
                    self._archive.commit(self.line(), last=False)
                    last = time.monotonic()

        return committed

    def _fetch(self, at_hand: bool) -> None:
        """Have the values of what is kept, which workers have read and not sent."""
        if not at_hand:
            self._archive.stock.fetch(self._archive.selector, self._source)

    def line(self, *, done: bool = False) -> Record:
        """What the history says now."""
        columns = self._archive.selector.n_features_in_
        return _line(self._last["source"], self._last["fingerprint"], columns, done=done)
