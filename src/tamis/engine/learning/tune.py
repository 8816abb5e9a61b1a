"""Choose gamma, eta and lam of a learner by progressive validation: each row is predicted first.

All settings of a grid learn in parallel in one pass over the training rows. No rows are held out:
each row is predicted before it is learned. The early rows show how fast a setting starts, not how
good it gets, so only the latest half of the rows, or a little more, counts (`Recent`). Called by
`tamis learn --tune` and by users as `tamis.tune`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Number, check
from tamis.engine.learning.table_rows import prepare_tables
from tamis.engine.learning.training import Schedule, Training, for_task
from tamis.methods.online.learner import OnlineLearner
from tamis.sources import open_rows, open_source
from tamis.sources.base import Progress, RowSource, refuse_without_target, silent

#: Values that are tried by default: powers of ten.
GRID: Mapping[str, tuple[float, ...]] = {
    "gamma": tuple(10.0**k for k in range(-2, 6)),
    "eta": tuple(10.0**k for k in range(-4, 2)),
    "lam": tuple(10.0**k for k in range(-4, 0)),
}


@dataclass(frozen=True)
class Tuned:
    """The result of tuning.

    Attributes
    ----------
    parameters : dict
        The setting with the fewest recent errors.
    learner : learner
        A new learner with that setting, which has learned nothing yet.
    table : list of dict
        For each setting its parameters, `mistakes` and `error` on the rows that count; of numbers
        to predict `losses` and `error`, their mean.
    rows, counted : int
        Rows read, and how many of them, the latest, count.
    task, reason : str
        "classification" or "regression", and a sentence if the labels decided on the latter.
    """

    parameters: dict[str, Any]
    learner: Any
    table: list[dict[str, Any]]
    rows: int
    counted: int
    task: str = "classification"
    reason: str = ""

    def __str__(self) -> str:
        found = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        error = min(line["error"] for line in self.table)
        errors = f"{100 * error:.2f} % errors"
        if self.task == "regression":
            errors = f"a mean loss of {error:.4g}"
        return (
            f"{found}, best of {len(self.table)} settings: {errors} on the last "
            f"{self.counted:,} of {self.rows:,} rows, each predicted before it was learned"
        )


def tune(
    learner: Any,
    data: Any,
    y: Any = None,
    *,
    grid: Mapping[str, Sequence[float]] | None = None,
    rows: int | None = None,
    classes: Any = None,
    task: str = "auto",
    skip_bad_lines: bool = False,
    raw: bool = False,
    progress: Progress = silent,
    **reading: Any,
) -> Tuned:
    """Choose the parameters of a learner on training rows, in one pass.

    Every setting trains a separate model, so time and memory grow with the number of settings. Of
    settings with the same number of errors the first is chosen: the smaller value of the first
    parameter, then of the next.

    Parameters
    ----------
    learner : estimator or OnlineLearner
        RowSieve, SOFS, PET, FOFS, OGD, AROW or a regressor, as it will be used; it is not changed.
    data : path, list of paths, Source, array, scipy sparse matrix, data frame, or RowBlocks
        The training rows.
    y : array-like, optional
        Their classes, if the data has none.
    grid : mapping of parameter names to values, optional
        What to try; default: powers of ten for gamma, eta and lam
        (`tamis.engine.learning.tune.GRID`), those that the learner has; for RowSieve gammas of
        0.003 to 10.
    rows : int, optional
        The maximum number of rows to read; default: all.
    task : {"auto", "classification", "regression"}, default="auto"
        As for `tamis.learn`.
    classes : sequence, optional
        All classes; default: those of the learner, else those in the data.
    skip_bad_lines : bool, default=False
        Skip lines that cannot be read.
    raw : bool, default=False
        As for `tamis.learn`.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    **reading
        How files are read, as for `fit_stream`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PET
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tuned = tune(PET(2), X, X[:, 3] - X[:, 30] > 0, grid={"eta": [0.01, 0.1, 1.0]})
    >>> tuned.parameters
    {'eta': 0.1}
    >>> print(tuned)
    eta=0.1, best of 3 settings: 18.28 % errors on the last 372 of 500 rows, each predicted before it was learned
    """  # noqa: E501  (the last line is what is printed)
    check("tune", "rows", rows, (Number(2, integer=True), None))
    plain = for_task(learner.new_learner(), task)
    if type(plain) is not type(learner.new_learner()) and not isinstance(learner, OnlineLearner):
        raise ParameterError(f"tune: give {plain.public_name}, because task={task!r}")
    settings = _settings(plain, grid)
    models = [plain.clone().set_params(**one) for one in settings]
    schedule = Schedule(skip_bad_lines=skip_bad_lines)
    sources = _sources(data, y, reading)
    if isinstance(learner, OnlineLearner):  # estimators take a table as it is
        sources, _ = prepare_tables(sources, progress, "raw=True (--raw) was given" if raw else "")
    training = Training(models[0], sources, schedule, models[1:])

    def tuning(_: str, done: int, total: int | None) -> None:
        progress("tuning", done, total)

    reason = training.start(classes, tuning, task, may_change=isinstance(learner, OnlineLearner))
    for batch in training.batches(tuning if rows is None else silent):
        training.take(batch if rows is None else batch.first(rows - training.rows))
        if rows is not None:
            progress("tuning", training.rows, rows)
            if training.rows == rows:
                break
    if training.rows == 0:
        raise InputError("there are no rows to tune on; give training rows")
    recent = training.recent
    assert recent is not None
    best = settings[int(np.argmin(recent.mistakes))]
    of_numbers = training.learner.task == "regression"
    wrongs = "losses" if of_numbers else "mistakes"
    table = [
        {**one, wrongs: wrong, "error": wrong / max(recent.rows, 1)}
        for one, wrong in zip(settings, recent.mistakes.tolist(), strict=True)
    ]
    if isinstance(learner, OnlineLearner):  # its kind may have changed
        chosen: Any = training.learner.clone().set_params(**best)
    else:
        chosen = type(learner)(**{**learner.get_params(), **best})
    return Tuned(best, chosen, table, training.rows, recent.rows, training.learner.task, reason)


def grid_of(learner: OnlineLearner) -> dict[str, Sequence[float]]:
    """Return what is tried by default: `GRID`, or the values that the learner itself names."""
    return {k: v for k, v in {**GRID, **learner.grid}.items() if k in learner.parameter_names}


def _settings(
    learner: OnlineLearner, grid: Mapping[str, Sequence[float]] | None
) -> list[dict[str, Any]]:
    """Return every setting of a grid, smaller values first, invalid ones of `GRID` left out."""
    name, known = learner.public_name, learner.parameter_names
    chosen = grid_of(learner) if grid is None else dict(grid)
    for parameter, values in chosen.items():
        if parameter not in known:
            raise ParameterError(f"{name} has no parameter {parameter!r} to tune")
        if not len(values):
            raise ParameterError(f"{name}: there are no values of {parameter} to try")
    if not chosen:
        raise ParameterError(f"{name} has none of {', '.join(GRID)} to tune; give grid=")
    found = []
    for values in itertools.product(*(sorted(set(v)) for v in chosen.values())):
        one = dict(zip(chosen, values, strict=True))
        try:
            learner.clone().set_params(**one).check_params()
        except ParameterError:
            if grid is not None:
                raise
            continue
        found.append(one)
    return found


def _sources(data: Any, y: Any, reading: dict[str, Any]) -> list[RowSource]:
    """Return the sources of the training rows, which may be a table."""
    if y is not None or hasattr(data, "shape") or hasattr(data, "__arrow_c_stream__"):
        table = open_source(data, y=y)
        refuse_without_target(table)
        return open_rows(table)
    sources = open_rows(data, **reading)
    for source in sources:
        if not source.rereadable and source.format != "blocks":
            raise InputError(
                f"{source.name} can be read only once, and tuning reads the rows before they are "
                "learned; save it to a file"
            )
    return sources
