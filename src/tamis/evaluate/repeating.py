"""Repeat a selection on parts of the rows: here, on workers, or in a folder that can be resumed."""

from __future__ import annotations

import contextlib
import functools
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.known_selectors import as_selector
from tamis.engine.procedure import procedure_of
from tamis.engine.runs import Run
from tamis.engine.selecting import select
from tamis.engine.workers.executors import crew
from tamis.engine.workers.ranges import in_order
from tamis.kernels.threads import threads
from tamis.methods import Rule
from tamis.sources import open_source, temporary_columns
from tamis.sources.aside import arranged
from tamis.sources.base import ColumnSource, ColumnWrapper, Progress, short_hash

Ints = npt.NDArray[np.int64]

#: Arguments of `tamis.select` with one value for each row.
ONE_PER_ROW = ("given", "sample_weight")


@dataclass(frozen=True, eq=False)
class Repeated:
    """A procedure, and the data whose rows it is repeated on.

    Parameters
    ----------
    columns : ColumnSource
        All columns, without that of the groups of rows.
    target : Target
        The target of all rows, for the task that was decided from all of them.
    rule : Rule
        The rule, without shadow worlds.
    groups : ndarray of int, optional
        The group of each row.
    how : dict
        What else `tamis.select` takes.
    run : Run, optional
        The selection from all rows.
    """

    columns: ColumnSource
    target: Target
    rule: Rule
    groups: Ints | None = None
    how: dict[str, Any] = field(default_factory=dict)
    run: Run | None = None

    def selected(self, rows: Ints | None = None, cluster: Any = None) -> Run:
        """Select from some rows, or from all; warnings were given for all rows."""
        part, labels, how = self.columns, self.target.labels, dict(self.how)
        if rows is not None:
            part, labels = SomeRows(self.columns, rows), labels[rows]
            given = {name: how[name] for name in ONE_PER_ROW if how.get(name) is not None}
            how |= {k: _of_rows(k, v, self.target.n_rows, rows) for k, v in given.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = select(part, self.rule, labels, task=self.target.task, cluster=cluster, **how)
        if self.run is not None and len(run.log) != len(self.run.log):
            raise InputError(
                f"the run has {len(self.run.log)} features and the data {len(run.log)}; give the "
                "data and the parameters that the run was made with"
            )
        return run


@contextlib.contextmanager
def repeated(
    data: Any,
    selector: Any,
    y: Any,
    how: dict[str, Any],
    row_groups: Any = None,
    run: Run | None = None,
    progress: Progress = lambda *_: None,
) -> Iterator[Repeated]:
    """Open data, and yield what is to be repeated on parts of its rows.

    `selector` may be a run, which is then done again; `how` is what else `tamis.select` takes.
    """
    how, called = {name: value for name, value in how.items() if value is not None}, None
    if isinstance(selector, Run):
        known = ("given", "sample_weight", "groups", "row_groups")
        for name in how:
            if name not in known:
                raise ParameterError(
                    f"the run says how it was selected; leave {name}= out, or give the selector "
                    "in place of the run"
                )
        run = selector
        again = {name: how.get(name) for name in known} | {"row_groups": row_groups}
        procedure = procedure_of(run, **again)
        selector, how, called = procedure.rule, dict(procedure.arguments), procedure.target
        row_groups = how.pop("row_groups", None)
    names = ("task", "encode", "missing", "keep", "stop")
    requested = CommonParameters(**{name: how.pop(name) for name in names if name in how})
    common = CommonParameters.of(selector, requested)
    chosen = as_selector(selector)
    rule = chosen.rule.clone()
    if "shadows" in rule.parameter_names:
        rule.set_params(shadows=0)
    how |= {name: getattr(common, name) for name in names if name != "task"}
    source = open_source(data, target=y) if isinstance(y, str) else open_source(data)
    if y is None and called is not None and source.target() is None:
        source = open_source(data, target=called)
    with temporary_columns(source, progress) as every:
        labels = every.target() if y is None or isinstance(y, str) else y
        if labels is None:
            raise InputError("the data has no target; give one with y=")
        target = common.target(chosen, labels)
        target.refuse_constant()
        aside = arranged(every, row_groups=row_groups)
        groups = target.adjusted(row_groups=aside.row_groups).row_groups
        yield Repeated(aside.columns, target, rule, groups, how, run)


# --- one part after the other ----------------------------------------------------------------


class Work(Protocol):
    """What is done for one part of the rows; the result is plain values."""

    @property
    def repeated(self) -> Repeated:
        """The procedure and the data."""

    def one(self, item: Any, cluster: Any = None) -> dict[str, Any]:
        """Return the result of one part; the selection inside may run on workers."""


def results_of(
    work: Work,
    items: Sequence[Any],
    what: str,
    *,
    cluster: Any = None,
    before: Sequence[dict[str, Any]] = (),
    note: Callable[[int, dict[str, Any]], object] = lambda *_: None,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Return the result of each part, in order.

    With a cluster, workers that can read the data take one part each. Otherwise the parts are taken
    here, and workers score the columns of each. Neither changes a result.

    Parameters
    ----------
    work : Work
        What is done for each part.
    items : sequence
        The parts.
    what : str
        What progress is called.
    cluster : str, client or workers, optional
        As for `tamis.select`.
    before : sequence of dict
        The results of the first parts, if they are known.
    note : callable
        Called with the number and the result of each part that was done.
    progress : callable
        Called as ``progress(what, done, total)``.
    """
    found, total = list(before), len(items)
    progress(what, len(found), total)
    with contextlib.ExitStack() as stack:
        some = None if cluster is None else stack.enter_context(crew(cluster))
        if some is None or not work.repeated.columns.portable:
            made: Any = (work.one(item, some) for item in items[len(found) :])
        else:
            packed, size = pickle.dumps(work), some.size
            made = stack.enter_context(contextlib.closing(in_order(
                iter(items[len(found) :]),
                lambda item: some.submit(_on_worker, packed, item),
                lambda waiting: waiting <= size,
                lambda *_: None,
            )))  # fmt: skip
        for result in made:
            note(len(found), result)
            found.append(result)
            progress(what, len(found), total)
    return found


def _on_worker(packed: bytes, item: Any) -> dict[str, Any]:
    with threads(1):  # parallelism comes from the number of workers
        return _unpacked(packed).one(item)


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Work:
    work: Work = pickle.loads(packed)
    return work


# --- rows ------------------------------------------------------------------------------------


def _of_rows(name: str, value: Any, n_rows: int, rows: Ints) -> Any:
    """Return some rows of what has one value or one row for each row; names are unchanged."""
    if isinstance(value, str) or (isinstance(value, list | tuple) and isinstance(value[0], str)):
        return value
    if len(value) != n_rows:
        raise InputError(f"{name} has {len(value)} rows and the data {n_rows}; give one for each")
    if hasattr(value, "iloc"):
        return value.iloc[rows]
    return value[rows] if hasattr(value, "shape") else np.asarray(value)[rows]


class SomeRows(ColumnWrapper):
    """Some rows of a source of columns."""

    portable: Any = False
    keys: Any = lambda self: None

    def __init__(self, source: ColumnSource, rows: Ints) -> None:
        super().__init__(source)
        self.rows = rows
        self._new = np.full(source.n_rows, -1, np.int64)
        self._new[rows] = np.arange(len(rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def target(self) -> Any:
        """Return the target of the rows."""
        labels = self._source.target()
        return None if labels is None else labels[self.rows]

    def column(self, name: str) -> Any:
        """Return a column that is not a feature."""
        values = self._source.column(name)
        return None if values is None else np.asarray(values)[self.rows]

    def fingerprint(self) -> str:
        """Return a short hash of the rows, which says nothing about their values."""
        return short_hash(self.rows.astype(np.int64).tobytes())

    def change(self, block: ColumnBlock) -> ColumnBlock:
        """Return the rows of a block."""
        v, n = block.values, len(self.rows)
        if not isinstance(v, Compressed):
            return replace(block, n_rows=n, values=np.asfortranarray(v[self.rows]))
        rows = self._new[v.indices]
        stays = rows >= 0
        before = np.concatenate([[0], np.cumsum(stays)])
        part = Compressed(
            before[v.indptr], rows[stays].astype(v.indices.dtype), v.data[stays]
        )  # fmt: skip
        return replace(block, n_rows=n, values=part)
