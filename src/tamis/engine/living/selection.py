"""A living selection: a run that goes on when new columns come, days later, in another process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError, OutputError, ParameterError, SourceError, TamisError
from tamis.core.files import atomic_folder, reason, recover_missing
from tamis.core.target import Target
from tamis.encode import Encoder, Missing
from tamis.engine.files.durable import Record, clear_others, locked, read_head
from tamis.engine.known_selectors import as_selector, own_place
from tamis.engine.living.archive import Archive, names_in, new_archive
from tamis.engine.living.archive_reader import Given
from tamis.engine.living.feeding import Fed, Feeding
from tamis.engine.living.opening import (
    Say,
    known_encoding,
    name_of,
    read,
    refuse_feed,
    say_nothing,
    source_of,
)
from tamis.engine.living.record import STATE, cannot_go_on, commit_in, is_living, no_selection
from tamis.engine.living.rows import as_keys
from tamis.engine.living.stock import Stock, can_be_saved
from tamis.engine.living.withdrawal import WITHDRAWN, withdraw
from tamis.engine.run import Run
from tamis.engine.select import describe_run
from tamis.engine.wrappers.groups import refuse_groups
from tamis.methods import FeatureStreamSelector
from tamis.sources import Source
from tamis.sources.arrays.in_memory import is_series
from tamis.sources.axis import temporary_columns
from tamis.sources.base import Report, silent


class Selection:
    """A selection that lives in a folder and takes new columns whenever they come.

    The folder holds what `tamis select` writes, and beside it the state that it takes to go on:
    plain files (JSON, Parquet, NumPy arrays) with lengths and hashes, no pickle. Feeding the same
    columns in one go or over a year, in one process or in many that were killed half-way, gives the
    same decisions and the same log, to the bit.

    Columns that have names are known by them: one that comes again with the same values is
    skipped, one that comes with other values is refused unless it is to replace the old one.
    Columns without names are new arrivals and continue the numbering; the same data as a whole is
    recognised and skipped.

    Make one with `Selection.create` or ``tamis select``, go on with `Selection.open`.

    Attributes
    ----------
    folder : Path
        Where it lives.
    kept : list of str
        Names of the kept features, in order of arrival.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> selection = Selection.create(folder, y, "saola")
    >>> monday = pd.DataFrame({"age": rng.normal(size=200) + y, "height": rng.normal(size=200)})
    >>> print(selection.feed(monday))
    the data: 2 columns taken, 1 of them kept
    >>> Selection.open(folder).kept
    ['age']
    >>> print(Selection.open(folder).feed(monday))
    the data: 0 columns taken, 0 of them kept; 2 were fed before and were skipped
    """

    def __init__(self, archive: Archive, selector: Given = None) -> None:
        self._archive, self._given = archive, selector
        self._stale = False

    @property
    def folder(self) -> Path:
        """Where it lives."""
        return self._archive.folder

    # --- making and opening ----------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        y: Any,
        selector: Any = "saola",
        key: Any = None,
        *,
        encode: Encoder | str | None = None,
        missing: Missing | str = "error",
        key_name: str | None = None,
        name_prefix: str = "x",
        name_base: int = 0,
        force: bool = False,
    ) -> Self:
        """Begin a selection that has seen no column yet.

        Parameters
        ----------
        folder : path
            Where it will live; must not exist.
        y : array-like
            The target, which fixes the rows and their order.
        selector : str, rule or estimator, default="saola"
            The name of a method for feature streams, its rule, or its estimator, such as
            ``SAOLA()`` (a copy is used).
        key : array-like, optional
            A key for each row. Rows of what is fed are then put in order by their keys.
        encode, missing
            How columns that are fed become categories, and what missing values in them mean, as for
            `tamis.select`.
        key_name : str, optional
            The column that holds the keys in what is fed; default: the name of `key`, or "key".
        name_prefix, name_base : str, int
            How columns without a name are called.
        force : bool, default=False
            Replace a run that is there.
        """
        chosen = as_selector(selector)
        if not isinstance(chosen, FeatureStreamSelector) or not can_be_saved(chosen):
            raise ParameterError(cannot_go_on(chosen.method))
        target = Target.of(np.asarray(y) if is_series(y) else y)
        encoding = known_encoding(encode, missing)
        chosen = encoding.begun(chosen, target, name_prefix, name_base)
        if key is not None:
            key_name = key_name or str(getattr(key, "name", None) or "key")
            key = as_keys(key, target.n_rows, "key")
        stock = Stock.of(target, key, key_name, encoding)
        if is_series(y) and y.name:
            stock.target_name = str(y.name)

        with atomic_folder(folder, "run", force=force) as work:
            log = getattr(chosen, "log_", None) or DecisionLog(chosen.reasons(), chosen.names)
            source = {"format": "selection", "n_rows": target.n_rows, "n_columns": 0,
                      "name": "columns that are fed", "fingerprint": "",
                      **encoding.record()}  # fmt: skip
            archive = new_archive(work, chosen, stock, describe_run(chosen, log, source, target))
            archive.commit({"action": "create"}, last=True)
            archive.refresh()
        return cls.open(folder, None if own_place(chosen) is None else chosen)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], selector: Given = None) -> Self:
        """Open a selection that `create`, ``tamis select`` or `save_run` left.

        Give the `selector`, or its class, if it is none of tamis's own: only those are known by
        name, so that a folder from someone else can run no code.
        """
        path = Path(folder)
        recover_missing(path)
        if not is_living(path):
            raise SourceError(no_selection(path))
        found = cls(read(path, selector), selector)
        if not found._archive.record().shown():
            found._repair()
        return found

    def _repair(self) -> None:
        """Show the last commit in the files that people read, if a crash came in between."""
        with contextlib.suppress(OSError), locked(self.folder / STATE, wait=False):
            self._catch_up()
            self._archive.refresh()

    # --- going on --------------------------------------------------------------------------

    def feed(
        self,
        columns: Any,
        names: Sequence[str] | None = None,
        *,
        keys: Any = None,
        groups: Any = None,
        replace: bool = False,
        allow_target: bool = False,
        width: int | None = None,
        wait: bool = True,
        report: Report = silent,
        say: Say = say_nothing,
        facts: dict[str, Any] | None = None,
        **reading: Any,
    ) -> Fed:
        """Take the next columns, and make what was decided durable.

        Parameters
        ----------
        columns : path, Source, array, scipy sparse matrix, data frame, Arrow table or series
            New columns of the same rows.
        names : sequence of str, optional
            Their names; data frames and most files bring their own.
        keys : array-like, optional
            The keys of the rows, where the columns do not bring them.
        groups : array-like, dict or label, optional
            For `GroupSAOLA`: the group of each column, by place or by name, or one label for all.
            Columns whose label is that of the group that is open go on with it.
        replace : bool, default=False
            A column of a known name with other values replaces the old one, which is withdrawn.
        allow_target : bool, default=False
            Take a column that says the same as the target in every row, which is refused otherwise.
        width : int, optional
            Columns in a block. A prefetch: it cannot change the answer.
        wait : bool, default=True
            Wait for another process that is feeding the same selection, or refuse.
        report, say : callable, optional
            Told of progress, and of what a person should know.
        facts : dict, optional
            Size and time of a file, for the history.
        **reading
            How a file is read: ``format=``, ``ignore=`` and so on, as in ``tamis.open``.
        """
        facts = dict(facts or {}) if keys is None else {**(facts or {}), "keys": keys}
        name = name_of(columns)
        key = self._archive.stock.key
        source, facts = source_of(columns, names, key, facts, reading)
        if groups is not None:
            refuse_groups(self._archive.selector)
        leave = {"replace": replace, "allow_target": allow_target, "groups": groups}
        return self._feed(source, name, facts, leave, width, wait, report, say)

    def _feed(
        self,
        source: Source,
        name: str,
        facts: dict[str, Any],
        leave: dict[str, Any],
        width: int | None,
        wait: bool,
        report: Report,
        say: Say,
    ) -> Fed:
        """Feed a source that is open."""
        with self._writing(wait, say), temporary_columns(source, report) as by_columns:
            if by_columns is not source:
                facts = {"fingerprint": source.fingerprint(), **facts}
            archive = self._archive
            refuse_feed(self.folder, archive.history)
            how: Any = {"width": width, "report": report, "facts": facts, **leave}
            fed = Feeding(archive, by_columns, name, **how)()
            archive.refresh()
        return fed

    def drop(self, name: str, *, wait: bool = True, say: Say = say_nothing) -> list[str]:
        """Withdraw a feature that no longer exists upstream.

        It leaves the kept features, and the log says so. Returns the features that it had
        displaced: they may be fed again, and are then decided about as new arrivals.
        """
        with self._writing(wait, say):
            log = self._archive.log
            feature = log.number(name)
            if log.reason_of(feature).startswith(WITHDRAWN):
                raise InputError(f"{name} was withdrawn before")
            back = withdraw(self._archive, [feature], WITHDRAWN)
            self._archive.commit({"action": "drop", "feature": log.names[feature]}, last=True)
            self._archive.refresh()
        return [log.names[f] for f in back]

    def note(self, line: Record) -> None:
        """Write a line to the history, such as a file that could not be fed."""
        with self._writing(True, say_nothing):
            self._archive.commit(line, last=True)
            self._archive.refresh()

    # --- asking ----------------------------------------------------------------------------

    @property
    def kept(self) -> list[str]:
        """Names of the kept features, in order of arrival."""
        log = self._now().log
        return [log.names[f] for f in log.replay()]

    @property
    def run(self) -> Run:
        """The selection as a run, as `open_run` reads it."""
        return self._now().run()

    @property
    def history(self) -> list[Record]:
        """What happened, one entry a commit: time, action, and how far the log had grown."""
        return list(self._now().history)

    def why(self, name: int | str) -> str:
        """Say in one sentence what became of a feature."""
        return self.run.why(name)

    def status(self) -> dict[str, Any]:
        """Where the selection stands, as a dict of plain values."""
        return self._now().record().status()

    def log(self, since: str | int | None = None) -> list[dict[str, Any]]:
        """The decisions of the rule in order, each with the time of its commit.

        Parameters
        ----------
        since : str or int, optional
            A date or a time such as "2026-11-01" (UTC unless it says otherwise), a number of
            commits from the end, or "last" for the last commit that decided anything.
        """
        return self._now().record().decisions(since)

    def __repr__(self) -> str:
        counts = self._now().log.counts()
        return f"<Selection {self.folder}: {counts['kept']} of {sum(counts.values())} kept>"

    # --- small steps -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self, wait: bool, say: Say) -> Iterator[None]:
        """Be the only writer, know what others wrote, and forget what could not be written."""
        try:
            with locked(self.folder / STATE, wait=wait, say=say):
                self._catch_up()
                clear_others(self.folder / STATE, names_in(self._archive.head))
                yield
        except TamisError:
            self._stale = True
            raise
        except (OSError, pa.ArrowException) as error:
            self._stale = True
            with contextlib.suppress(Exception):  # a full disk needs the room
                clear_others(self.folder / STATE, names_in(read_head(self.folder / STATE)))
            raise OutputError(
                f"{self.folder} cannot be written ({reason(error)}); the selection is as it was "
                "when it was last committed"
            ) from error
        except BaseException:
            self._stale = True
            raise

    def _now(self) -> Archive:
        """What the folder holds now, also if another process wrote to it since."""
        self._catch_up()
        return self._archive

    def _catch_up(self) -> None:
        """Read the folder again if another process has written to it, or we failed to."""
        if self._stale or commit_in(self.folder) != self._archive.head["commit"]:
            self._archive = read(self.folder, self._given)
            self._stale = False
