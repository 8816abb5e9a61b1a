"""A persistent selection: a run that continues when new columns arrive, even days later."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from tamis.core.certificate import Certificate
from tamis.core.errors import InputError, OutputError, ParameterError, SourceError, TamisError
from tamis.core.files import atomic_folder, reason, recover_missing
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.core.notebook import card, html_table
from tamis.core.params import OneOf, check
from tamis.core.sentences import counted
from tamis.core.writers import only_writer
from tamis.encode import Encoder, Missing
from tamis.engine.common_parameters import KEEP_LATER, CommonParameters
from tamis.engine.known_selectors import as_selector
from tamis.engine.persistent.feeding import Fed, Feeding
from tamis.engine.persistent.saved_selection import not_persistent
from tamis.engine.persistent.selection_state import (
    WITHDRAWN,
    Given,
    SelectionState,
    as_keys,
    started_state,
)
from tamis.engine.persistent.state_file import STATE, Record, last_version
from tamis.engine.procedure import Procedure
from tamis.engine.runs import Run, unencoded
from tamis.engine.selecting import adjustments_of, describe_run
from tamis.sources import Source, format_of, open_source, read_like, temporary_columns
from tamis.sources.arrays.in_memory import MemorySource, is_frame, is_series, one_column
from tamis.sources.aside import covariates_of
from tamis.sources.base import Progress, as_path, silent
from tamis.sources.tables.daily import MISSING_ROWS

#: Raised where a folder cannot be written.
UNWRITTEN = (OSError, pa.ArrowException, sqlite3.Error)

#: Entries of the history that a notebook shows.
SHOWN = 5

#: Called with a message for the user.
Say = Callable[[str], object]


class Selection:
    """A selection that is stored in a folder and accepts new columns at any time.

    The folder holds what `tamis select` writes and the state that is needed to resume: one SQLite
    file, no pickle. Feeding the same columns at once or over a year, in one process or in many that
    were killed half-way, gives the same decisions and the same log, bit for bit.

    Columns that have names are identified by them. A column that is fed again with the same values
    is skipped; one with other values is an error unless it is meant to replace the old one. Columns
    without names are always new and continue the numbering, but exactly the same data fed again is
    recognised and skipped.

    Create one with `Selection.create` or ``tamis select``, and open it with `Selection.open`.

    Attributes
    ----------
    folder : Path
        The folder that holds it.
    kept_names : list of str
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
    >>> Selection.open(folder).kept_names
    ['age']
    >>> print(Selection.open(folder).feed(monday))
    the data: 0 columns taken, 0 of them kept; 2 were fed before and were skipped
    """

    def __init__(self, state: SelectionState, selector: Given = None) -> None:
        self.folder = state.folder
        self._state, self._given = state, selector
        self._stale = False

    # --- creating and opening --------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        y: Any,
        selector: Any = "sieve",
        key: Any = None,
        *,
        task: str = "auto",
        encode: Encoder | str | None = None,
        missing: Missing | str = "auto",
        given: Any = None,
        sample_weight: Any = None,
        row_groups: Any = None,
        stop: Any = None,
        key_name: str | None = None,
        name_prefix: str = "x",
        name_base: int = 0,
        force: bool = False,
    ) -> Self:
        """Create a selection that has not seen any columns yet.

        Parameters
        ----------
        folder : path
            The folder to create; must not exist.
        y : array-like
            The target, which fixes the rows and their order.
        selector : str, rule or estimator, default="sieve"
            The name of a method for feature streams, its rule, or its estimator, such as
            ``SAOLA()`` (a copy is used).
        key : array-like, optional
            A key for each row. Rows of fed data are then reordered by their keys.
        task, encode, missing, stop
            Whether the target holds classes or numbers, how columns that are fed become categories,
            what missing values in them mean, and when to stop, as for `tamis.select`. Columns that
            are fed after the stop are not examined.
        given, sample_weight, row_groups : array-like, optional
            Covariates to adjust for, one weight per row, and rows that belong together, as for
            `tamis.select`.
        key_name : str, optional
            The column that holds the keys in fed data; default: the name of `key`, or "key".
        name_prefix, name_base : str, int
            How columns without a name are called.
        force : bool, default=False
            Replace an existing run.
        """
        chosen: Any = as_selector(selector)
        requested = CommonParameters(task=task, encode=encode, missing=missing, stop=stop)
        common = CommonParameters.of(selector, requested)
        if common.keep is not None:
            raise ParameterError(KEEP_LATER)
        target = common.target(chosen, y)
        covariates = None if given is None else covariates_of(given)
        target = target.adjusted(sample_weight, covariates, row_groups)
        procedure = Procedure.of(
            chosen, common, target.task, given=given, sample_weight=sample_weight,
            row_groups=row_groups,
        )  # fmt: skip
        state = started_state(chosen, target, common, name_prefix, name_base)
        if chosen.free_order and not hasattr(chosen, "measure_"):
            raise ParameterError(
                "measure='auto' depends on the columns that arrive first, so it cannot be used "
                "with order='free' here; name the measure, such as measure='fisher_z'"
            )
        if key is not None:
            state.key = key_name or str(getattr(key, "name", None) or "key")
            state.keys = as_keys(key, target.n_rows, "key")
        if is_series(y) and y.name:
            state.target_name = str(y.name)
        encoded = unencoded(0, 0) if state.encoded is None else state.encoded.encoding.record()
        source = {"format": "selection", "n_rows": target.n_rows, "n_columns": 0,
                  "name": "columns that are fed", "fingerprint": "", **encoded,
                  **adjustments_of(target, sample_weight)}  # fmt: skip
        with atomic_folder(folder, "run", force=force) as work:
            run = describe_run(chosen, state.log, source, target)
            run.procedure = procedure.record()
            state.create(work, run, {"action": "create"})
        return cls.open(folder, None if state.head["class"] is None else chosen)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], selector: Given = None) -> Self:
        """Open a selection that `create`, ``tamis select`` or `save_run` wrote.

        Pass the `selector`, or its class, if it is not part of tamis: only the selectors of tamis
        are looked up by name, so a folder from someone else cannot run code.
        """
        path = Path(folder)
        if not os.path.isfile(path / STATE):
            recover_missing(path)
            if not os.path.isfile(path / STATE):
                raise SourceError(not_persistent(path))
        found = cls(SelectionState.read(path, selector), selector)
        if found._state.shown() is None:  # a crash came between a commit and its export
            with contextlib.suppress(OSError, sqlite3.Error), only_writer(path, wait=False):
                state = found._now()
                state.exported = 0, 0
                state.export()
        return found

    # --- feeding ---------------------------------------------------------------------------

    def feed(
        self,
        columns: Any,
        names: Sequence[str] | None = None,
        *,
        keys: Any = None,
        groups: Any = None,
        replace: bool = False,
        allow_target: bool = False,
        missing_rows: str = "error",
        width: int | None = None,
        wait: bool = True,
        progress: Progress = silent,
        say: Say = lambda sentence: None,
        facts: dict[str, Any] | None = None,
        **reading: Any,
    ) -> Fed:
        """Process the next columns and commit the decisions to disk.

        Parameters
        ----------
        columns : path, Source, array, scipy sparse matrix, data frame, Arrow table or series
            New columns of the same rows.
        names : sequence of str, optional
            Their names; data frames and most files bring their own.
        keys : array-like, optional
            The keys of the rows, if the columns do not include them.
        groups : array-like, dict or label, optional
            For `GroupSAOLA`: the group of each column, by position or by name, or one label for
            all. Columns with the label of the open group continue it.
        replace : bool, default=False
            Whether a column with a known name but other values replaces the old one, which is
            withdrawn.
        allow_target : bool, default=False
            Accept a column that equals the target in every row; otherwise that is an error.
        missing_rows : {"error", "gaps"}, default="error"
            What if the columns lack rows, by their keys: an error, or their values are missing, and
            are treated as the selection treats missing values.
        width : int, optional
            Columns in a block. A prefetch: it cannot change the answer.
        wait : bool, default=True
            Wait for another process that is feeding the same selection; otherwise raise an error.
        progress, say : callable, optional
            Called with the progress, and with messages for the user.
        facts : dict, optional
            Size and time of a file, for the history.
        **reading
            How a file is read: ``format=``, ``ignore=`` and so on, as in ``tamis.open``.
        """
        check("feed", "missing_rows", missing_rows, OneOf(MISSING_ROWS))
        facts = dict(facts or {}) if keys is None else {**(facts or {}), "keys": keys}
        before = self._state.head["run"]["source"].get("details") or {}
        if (decimal := before.get("decimal")) is not None:
            reading = read_like(columns, decimal, reading)
        is_path = isinstance(columns, str | os.PathLike) and missing_rows != "error"
        if is_path and (reading.get("format") or format_of(as_path(columns))) == "daily":
            reading = {**reading, "missing_rows": missing_rows}
        source, name = source_of(columns, names, self._state.key, facts, reading)
        with self._writing(wait, say) as state, temporary_columns(source, progress) as by_columns:
            if by_columns is not source:
                facts = {"fingerprint": source.fingerprint(), **facts}
            if state.left_to_do():  # they would precede the rest of the run
                raise InputError(
                    f"{self.folder} holds a run that is not finished; resume it first: tamis "
                    f"resume {shlex.quote(os.fspath(self.folder))}"
                )
            feeding = Feeding(
                state, by_columns, name, replace, width, progress, facts, allow_target, groups,
                missing_rows,
            )  # fmt: skip
            fed = feeding()
            state.export()
        return fed

    def drop(self, name: str, *, wait: bool = True, say: Say = lambda sentence: None) -> list[str]:
        """Withdraw a feature that no longer exists upstream.

        It leaves the kept features, and the log says so. Returns the features that it had
        displaced: they may be fed again and are then treated as new arrivals.
        """
        with self._writing(wait, say) as state:
            log = state.log
            feature = log.number(name)
            if log.reason_of(feature).startswith(WITHDRAWN):
                raise InputError(f"{name} was withdrawn before")
            back = state.withdraw([feature], WITHDRAWN)
            state.commit({"action": "drop", "feature": log.names[feature]})
            state.export()
        return [log.names[f] for f in back]

    def note(self, line: Record) -> None:
        """Write an entry to the history, such as a file that could not be fed."""
        with self._writing() as state:
            state.commit(line)
            state.export()

    # --- reading ---------------------------------------------------------------------------

    @property
    def kept_names(self) -> list[str]:
        """Names of the kept features, in order of arrival."""
        return self.run.kept_names

    @property
    def run(self) -> Run:
        """The selection as a run, as `open_run` reads it."""
        return self._now().run()

    @property
    def history(self) -> list[Record]:
        """The history, one entry per commit: time, action, and the length of the log."""
        return list(self._now().history)

    def why(self, name: int | str) -> str:
        """Explain in one sentence what happened to a feature."""
        return self.run.why(name)

    def status(self) -> dict[str, Any]:
        """Where the selection stands, as a dict of plain values."""
        return self._now().status()

    def certificate(self, alpha: float = 0.1) -> Certificate:
        """Return the largest part of the kept features that is certified at `alpha`.

        On average at most a share `alpha` of these are independent of the target, however the
        columns depend on each other and however they were selected. Once columns were fed, weights
        fall with the number of a column, so that the certificate of any later moment holds too.
        """
        return self._now().certificate(alpha)

    def log(self, since: str | int | None = None) -> list[dict[str, Any]]:
        """Return the decisions of the rule in order, each with the time of its commit.

        Parameters
        ----------
        since : str or int, optional
            A date or a time such as "2026-11-01" (UTC unless it says otherwise), a number of
            commits from the end, or "last" for the last commit that decided anything.
        """
        return self._now().decisions(since)

    def _repr_html_(self) -> str:
        """Return a card for a notebook: where the selection stands, and the last things it did."""
        state = self._now()
        counts = state.log.counts()
        title = f"{self.folder}: {counts['kept']:,} of {counted(len(state.log), 'feature')} kept"
        last = [
            [line["time"][:16].replace("T", " "), line["action"],
             line.get("source") or line.get("feature") or "", line.get("taken")]
            for line in state.history[-SHOWN:]
        ]  # fmt: skip
        heads = ["when (UTC)", "what", "of", "columns taken"]
        ask = "Ask <code>.why(name)</code> about any feature; <code>.feed(columns)</code> goes on."
        return card(title, *state.log.card_parts(), html_table(heads, last), ask)

    def __repr__(self) -> str:
        counts = self._now().log.counts()
        return f"<Selection {self.folder}: {counts['kept']} of {sum(counts.values())} kept>"

    # --- small steps -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(
        self, wait: bool = True, say: Say = lambda sentence: None
    ) -> Iterator[SelectionState]:
        """Lock the folder, read what others wrote, and roll back what could not be written."""
        try:
            with only_writer(self.folder, wait=wait, say=say):
                yield self._now()
        except BaseException as error:
            self._stale = True
            if isinstance(error, TamisError) or not isinstance(error, UNWRITTEN):
                raise
            raise OutputError(
                f"{self.folder} cannot be written ({reason(error)}); the selection is as it was "
                "when it was last committed"
            ) from error

    def _now(self) -> SelectionState:
        """Return the state, reloaded if another process wrote to it or our own write failed."""
        if self._stale or last_version(self.folder) != self._state.version:
            self._state = SelectionState.read(self.folder, self._given)
            self._stale = False
        return self._state


# --- what is fed -----------------------------------------------------------------------------


def source_of(
    data: Any,
    names: Sequence[str] | None,
    key: str | None,
    facts: dict[str, Any],
    reading: dict[str, Any],
) -> tuple[Source, str]:
    """Open and name the data to feed; the key column of a table goes to the facts."""
    path = data.path if isinstance(data, Source) else data
    name = "the data"
    if isinstance(path, str | os.PathLike):
        name = masked(os.fspath(path), whole=True)
        name = name if "://" in name else os.path.basename(os.path.normpath(name))
    if isinstance(data, Source):
        return data, name
    by_key = key is not None and "keys" not in facts
    if isinstance(data, str | os.PathLike):
        return open_source(data, **({"key": key, **reading} if by_key else reading)), name
    given = None if names is None else Names.of(names)
    if is_series(data):
        data, given = one_column(data, given)
    elif is_frame(data) and by_key:
        table = nw.from_native(data, eager_only=True)
        if key not in table.columns:
            raise InputError(
                f"the table has no column {key!r} to tell which row is which, and this selection "
                "goes by it; add that column"
            )
        data, facts["keys"] = table.drop(key).to_native(), table.get_column(key).to_numpy()
    elif getattr(data, "ndim", 2) == 1:
        data = np.asarray(data).reshape(-1, 1)
    return MemorySource(data, names=given), name
