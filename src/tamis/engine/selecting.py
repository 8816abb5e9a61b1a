"""Select features from a source, with the same result as the plain loop, only faster."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from tamis._registry import load
from tamis._version import versions
from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Number, check, inherit_docs, refusing
from tamis.core.process_memory import peak_megabytes
from tamis.core.target import Target
from tamis.encode import Encoder, Missing
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.encoded import EncodedSource
from tamis.engine.groups import grouped, refuse_groups
from tamis.engine.known_selectors import as_selector, belongs_to, with_fdr
from tamis.engine.loop import SETTLED, take_all
from tamis.engine.persistent.selection_state import as_keys, new_state
from tamis.engine.procedure import Procedure
from tamis.engine.runs import Run, unencoded
from tamis.kernels.threads import threads
from tamis.methods import BY_METHOD, ColumnSelector
from tamis.sources import is_read_with, open_source, temporary_columns
from tamis.sources.arrays.in_memory import has_column, warn_of_order
from tamis.sources.aside import arranged
from tamis.sources.base import (
    ColumnSource,
    Progress,
    Source,
    describe_target,
    refuse_without_target,
    silent,
)

#: Imported only with a cluster.
EXECUTOR = "tamis.engine.workers.executors:executor"

#: Called with a function that returns the run so far, which costs something only when called.
Watch = Callable[[Callable[[], Run]], None]


def _refuse(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise an error that says where a parameter of a method, or of a reader, belongs."""
    if called := {"target": "y", "method": "selector"}.get(name):
        raise ParameterError(f"the {name} is called {called}: give {called}= in place of {name}=")
    method = named.get("selector", args[1] if len(args) > 1 else "sieve")
    if sentence := belongs_to(name, named[name], method):
        raise ParameterError(sentence)
    data = named.get("data", args[0] if args else None)
    if not is_read_with(data, name):
        return
    y = named.get("y")
    given = [repr(os.fspath(data)) if isinstance(data, str | os.PathLike) else "data"]
    given += [] if y is None else [f"target={y!r}" if isinstance(y, str) else "y=y"]
    value = named[name]
    given.append(f"{name}={value!r}" if isinstance(value, str | int) else f"{name}=...")
    raise ParameterError(
        f"{name} says how the data is read; give it to tamis.open, as in "
        f"tamis.select(tamis.open({', '.join(given)}))"
    )


@refusing(_refuse)
def select(
    data: Any,
    selector: Any = "sieve",
    y: Any = None,
    *,
    task: str = "auto",
    encode: Encoder | str | None = None,
    missing: Missing | str = "auto",
    keep: Any = None,
    given: Any = None,
    sample_weight: Any = None,
    row_groups: Any = None,
    groups: Any = None,
    fdr: float | None = None,
    gate: str | None = None,
    stop: Any = None,
    keep_state: bool = False,
    width: int | None = None,
    n_jobs: int | None = None,
    progress: Progress = silent,
    watch: Watch | None = None,
    cluster: Any = None,
    command: str = "",
) -> Run:
    """Select features from a source of columns.

    Parameters
    ----------
    data : path, Source, array, scipy sparse matrix, data frame or Arrow table
        The features, in any form that ``tamis.open`` reads.
    selector : str, rule or estimator, default="sieve"
        The name of a method on the command line, also with parameters, as in
        ``"sieve:n_features=20"``, its rule, or its estimator, such as ``SAOLA()`` (a copy is
        fitted). An estimator that has a `task`, `encode`, `missing` or `keep` of its
        own brings it along.
    y : str or array-like, optional
        The name of the target's column, or its values if the data does not include them.
    given : names of columns, data frame or array, optional
        Covariates to adjust for, such as age, sex or principal components: columns of the data by
        name, which are then not candidates, or a table with one row per row. Correlations become
        partial correlations given them; measures of categories compare rows inside their joint
        categories.
    sample_weight : array-like of shape (n_rows,) or name of a column, optional
        One weight per row, finite and not negative. Correlations are those of weighted least
        squares; measures of categories count a row as often as its weight says.
    row_groups : array-like of shape (n_rows,) or name of a column, optional
        Rows that belong together, such as those of one patient: the shadow worlds of a method with
        ``shadows=3`` move them together.
    groups : array-like, dict or label, optional
        For `GroupSAOLA`: the group of each column, by position or by name, or one label for all.
        The columns of a group must be adjacent; a folder of daily tables brings its own groups.
    fdr, gate : float and str, optional
        The false discovery rate, and how it is kept, as `fdr` and `gate` of the methods.
    keep_state : bool, default=False
        Store the kept columns and the names seen, so that more columns can be fed to the folder
        that `save_run` writes.
    width : int, optional
        Columns per block. Affects only speed and memory, not the result.
    n_jobs : int, optional
        Number of threads; default: all cores. Does not affect the result.
    progress : callable, optional
        Called as ``progress(what, done, total)`` during the run.
    watch : callable, optional
        Called a few times a second with a function that returns the run so far.
    cluster : str or dask.distributed.Client, optional
        Where columns are scored: ``"tcp://host:8786"`` or a client of a running cluster, or
        ``"local:2"`` for two processes on this machine. Does not affect the result.
    command : str, optional
        The command of the run, for the record.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 50))
    >>> X[:, 7] += y
    >>> run = select(X, "saola", y)
    >>> run.kept_names
    ['x7']
    """
    check("select", "width", width, (Number(1, integer=True), None))
    check("select", "n_jobs", n_jobs, (Number(1, integer=True), None))
    begun = time.perf_counter()
    source, values = _opened(data, y, selector)
    chosen: Any = as_selector(selector)
    chosen = chosen if fdr is None and gate is None else with_fdr(chosen, fdr, gate)
    requested = CommonParameters(task=task, encode=encode, missing=missing, keep=keep, stop=stop)
    common = CommonParameters.of(selector, requested)
    target = common.target(chosen, _given_target(source, values))
    _refuse_constant(target)
    if groups is not None:
        refuse_groups(chosen)
    procedure = Procedure.of(
        chosen, common, target.task, y if isinstance(y, str) else source.target_name,
        given=given, sample_weight=sample_weight, row_groups=row_groups, groups=groups,
    )  # fmt: skip
    encoding, ending, reason = common.prepare(chosen, target)
    found, state = None, None
    coded: EncodedSource | None = None
    roles = (sample_weight, given, common.keep, row_groups)

    def so_far() -> Run:
        """Return the run so far; the fingerprint of the data is added at the end."""
        facts = {"format": source.format, "n_rows": target.n_rows, "n_columns": source.n_columns}
        seconds = {"select": time.perf_counter() - begun}
        return describe_run(
            chosen, chosen.log_, facts | {"fingerprint": ""}, target, seconds, command
        )

    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.nullcontext() if n_jobs is None else threads(n_jobs))
        columns: ColumnSource = stack.enter_context(temporary_columns(source, progress))
        columns_of_data = int(columns.n_columns or 0)
        if any(role is not None for role in roles):
            found = arranged(columns, *roles)
            columns, chosen.required = found.columns, found.n_required
            target = target.adjusted(found.weights, found.covariates, found.row_groups)
        if keep_state:
            with contextlib.suppress(ParameterError, InputError):  # a run that no file can hold
                state = new_state(chosen, target, encoding, ending)
        if state is not None:
            state.know_rows(source)
        elif (named := source.keys()) is not None:
            as_keys(named[1], target.n_rows, named[0])  # duplicate or missing keys: a broken table
        if groups is not None:
            columns = grouped(columns, groups)
        if encoding is not None:
            columns = coded = EncodedSource(columns, encoding, target)
        execute = None if cluster is None else stack.enter_context(load(EXECUTOR)(cluster))
        try:
            taken = take_all(
                chosen, columns, target, reason, state=state, execute=execute, width=width,
                stop=ending,
                progress=progress if watch is None else watched(progress, lambda: watch(so_far)),
            )  # fmt: skip
        except InputError as error:
            from tamis.engine.profiling import about_all_columns  # slow: it imports every format

            adjusted = given is not None or sample_weight is not None
            every = about_all_columns(
                error, data, y, chosen.method, common.encode, common.missing, adjusted
            )
            if every is error:
                raise
            raise every from error
        if state is not None and execute is not None:
            state.fetch(columns)
        noted = None if state is None else state.encoded
        encoded: dict[str, Any] = (
            unencoded(*chosen.gaps)
            if coded is None
            else coded.record(chosen.kept_, taken.gaps, taken.gap_columns, noted)
        )
    selected = time.perf_counter()
    info = source.info()
    seconds = {"select": selected - begun, "fingerprint": time.perf_counter() - selected}
    facts = vars(info) | encoded | row_roles(source)
    facts |= {} if found is None else found.record(columns_of_data)
    facts |= adjustments_of(target, sample_weight, row_groups) if target.is_adjusted else {}
    facts |= {} if ending is None else {"stop": ending.settings()}
    facts |= {"notes": taken.notes} if taken.notes else {}
    run = describe_run(chosen, chosen.log_, facts, target, seconds, command)
    run.procedure, run.repeatable = procedure.record(), procedure
    run.state = state
    return run


select.__doc__ = inherit_docs(
    select.__doc__ or "", [CommonParameters], tuple(inspect.signature(select).parameters)
)


def row_roles(source: Source) -> dict[str, Any]:
    """Return the names of the target and of the key, if they have one, for the record."""
    named = source.keys()
    roles = {"target_name": source.target_name, "key": None if named is None else named[0]}
    return {role: name for role, name in roles.items() if name is not None}


def adjustments_of(
    target: Target, sample_weight: Any = None, row_groups: Any = None
) -> dict[str, Any]:
    """Return what a run records about weights, covariates and groups; nothing without them."""
    found: dict[str, Any] = {}
    if target.weights is not None:
        found["weights"] = sample_weight if isinstance(sample_weight, str) else "given"
    if target.given is not None:
        found["given"] = list(target.given.names)
    if target.row_groups is not None:
        found["row_groups"] = row_groups if isinstance(row_groups, str) else "given"
    return found


def _opened(data: Any, y: Any, selector: Any) -> tuple[Source, Any]:
    """Open data, and return it with the target that was given, unless it is a part of the data."""
    is_column = isinstance(selector, str) and has_column(data, selector)
    if not is_column:
        source = open_source(data, target=y) if isinstance(y, str) else open_source(data)
        if isinstance(data, str | os.PathLike) and str(selector).split(":")[0] not in BY_METHOD:
            is_column = selector in (source.column_names or ())
    if is_column:
        raise ParameterError(
            f"{selector!r} is a column of the data and not a method; if it is the target, write "
            f"y={selector!r}"
        )
    if y is not None and not isinstance(y, str):
        warn_of_order(data, y)
    return source, None if isinstance(y, str) else y


def _refuse_constant(target: Target) -> None:
    """Raise a one-sentence error for a target of one value, or of one row."""
    if target.n_rows == 1:
        raise InputError("there is only one row, so no feature can predict the target")
    target.refuse_constant()


def _given_target(source: Source, y: Any) -> Any:
    """Return the target of the data, or the one that was given."""
    if y is None:
        refuse_without_target(source)
        y = source.target()
    if y is None:
        raise InputError("the data has no target; give one with y=")
    return y


def watched(progress: Progress, look: Callable[[], object]) -> Progress:
    """Return a progress callback that also calls `look` between two decisions."""

    def both(what: str, done: int, total: int | None) -> None:
        progress(what, done, total)
        if what == SETTLED:  # reported by the thread that decides
            look()

    return both


def describe_run(
    chosen: ColumnSelector,
    log: DecisionLog,
    source: dict[str, Any],
    target: Target,
    seconds: dict[str, float] | None = None,
    command: str = "",
) -> Run:
    """Return the run of a selector, for the record."""
    return Run(
        log=log,
        method=chosen.method,
        parameters={
            k: f"{len(v)} by name" if isinstance(v, Mapping) else repr(v)
            for k, v in chosen.rule.get_params().items()
        },
        measure=repr(chosen.measure_) if hasattr(chosen, "measure_") else "",
        measure_reason=getattr(chosen, "measure_reason", ""),
        source=source
        | {"target": describe_target(target.labels, target.task)}
        | {"task": target.task, "task_reason": target.reason},
        work=chosen.work_,
        trust=chosen.trust,
        seconds=seconds or {},
        peak_megabytes=peak_megabytes(),
        versions=dict(versions()),
        command=command,
        selector=chosen,
    )
