"""Pick gamma, eta and lam of a learner by progressive validation: each row is predicted first.

All settings of a grid learn side by side in one pass over the training rows, none of which is held
back: a prediction counts before its row is learned. The early rows tell how fast a setting starts,
not how good it gets, so the latest half of the rows counts, or a little more (`Recent`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Nothing, Number, check
from tamis.methods.online.learner import InstanceLearner
from tamis.methods.online.sizes import Recent, stretches
from tamis.methods.online.training import Training
from tamis.sources import open_source
from tamis.sources.base import Report, refuse_without_target, silent
from tamis.sources.readers.open_rows import open_rows
from tamis.sources.readers.row_reader import BlocksReader, RowReader

#: What is tried for each parameter unless told: powers of ten.
GRID: Mapping[str, tuple[float, ...]] = {
    "gamma": tuple(10.0**k for k in range(-2, 6)),
    "eta": tuple(10.0**k for k in range(-4, 2)),
    "lam": tuple(10.0**k for k in range(-4, 0)),
}


@dataclass(frozen=True)
class Tuned:
    """What tuning found.

    Attributes
    ----------
    parameters : dict
        The setting with the fewest recent errors.
    learner : learner
        A copy of the learner with that setting, which has learned nothing yet.
    table : list of dict
        For each setting its parameters, `mistakes` and `error` on the rows that count.
    rows, counted : int
        Rows read, and how many of them, the latest, count.
    """

    parameters: dict[str, Any]
    learner: Any
    table: list[dict[str, Any]]
    rows: int
    counted: int

    def __str__(self) -> str:
        found = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        error = min(line["error"] for line in self.table)
        return (
            f"{found}, best of {len(self.table)} settings: {100 * error:.2f} % errors on the last "
            f"{self.counted:,} of {self.rows:,} rows, each predicted before it was learned"
        )


def tune(
    learner: InstanceLearner,
    data: Any,
    y: Any = None,
    *,
    grid: Mapping[str, Sequence[float]] | None = None,
    rows: int | None = None,
    classes: Any = None,
    skip_bad_lines: bool = False,
    report: Report = silent,
    **reading: Any,
) -> Tuned:
    """Pick the parameters of a learner on training rows, in one pass, and give them and the table.

    Every setting is a model of its own, so this takes the time and memory of as many models as
    there are settings. Of settings with the same number of errors the one that comes first is
    picked: the smaller value of the first parameter, then of the next.

    Parameters
    ----------
    learner : learner
        SOFS, PET, FOFS, OGD or AROW, as it will be used; it is not changed.
    data : path, list of paths, Source, array, scipy sparse matrix, data frame, or RowBlocks
        The training rows.
    y : array-like, optional
        Their classes, where the data does not bring its own.
    grid : mapping of parameter names to values, optional
        What to try; default: powers of ten for gamma, eta and lam (`tamis.engine.learning.tune.GRID`),
        those that the learner has.
    rows : int, optional
        Read so many rows at most; default: all.
    classes : sequence, optional
        All classes; default: those of the learner, else those in the data.
    skip_bad_lines : bool, default=False
        Pass over lines that cannot be read.
    report : callable, optional
        Called as ``report(what, done, total)``.
    **reading
        How files are read, as for `fit_stream`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PET
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> tuned = tune(PET(2), X, X[:, 3] - X[:, 30] > 0, grid={"eta": [0.01, 0.1, 1.0]})
    >>> tuned.parameters
    {'eta': 0.1}
    >>> print(tuned)
    eta=0.1, best of 3 settings: 18.28 % errors on the last 372 of 500 rows, each predicted before it was learned
    """  # noqa: E501  (the last line is what is printed)
    check("tune", "rows", rows, (Number(2, integer=True), Nothing()))
    settings = _settings(learner, grid)
    models = [clone(learner).set_params(**one) for one in settings]
    training = Training(models[0], _readers(data, y, reading), skip=skip_bad_lines)
    training.start(classes, _tuning(report))
    for model in models[1:]:
        _begin_like(model, models[0])
    recent, done = Recent(len(models)), 0
    # Of a bounded number of rows the share is known; else that of the files.
    for batch in training.batches(_tuning(report) if rows is None else silent):
        height = len(batch.rows) if rows is None else min(len(batch.rows), rows - done)
        for lo, hi in stretches(done, height):
            part, codes = batch.rows.part(lo, hi), batch.codes[lo:hi]
            for model in models:
                model._grow(part, batch.width)
                model._take(model._ready(part), codes)
            recent.note(done + hi, np.array([model.work_["mistakes"] for model in models]))
        done += height
        if rows is not None:
            report("tuning", done, rows)
            if done == rows:
                break
    if done == 0:
        raise InputError("there are no rows to tune on; give training rows")
    best = settings[int(np.argmin(recent.mistakes))]
    wrong, errors = recent.mistakes.tolist(), recent.errors.tolist()
    table = [
        {**one, "mistakes": m, "error": e}
        for one, m, e in zip(settings, wrong, errors, strict=True)
    ]
    return Tuned(best, clone(learner).set_params(**best), table, done, recent.rows)


def _settings(
    learner: InstanceLearner, grid: Mapping[str, Sequence[float]] | None
) -> list[dict[str, Any]]:
    """Every setting of a grid, the smaller values first; those of our own that cannot be go."""
    name, known = type(learner).__name__, learner.get_params(deep=False)
    chosen = {k: v for k, v in GRID.items() if k in known} if grid is None else dict(grid)
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
            clone(learner).set_params(**one)._check_parameters()
        except ParameterError:
            if grid is not None:
                raise
            continue
        found.append(one)
    return found


def _readers(data: Any, y: Any, reading: dict[str, Any]) -> list[RowReader]:
    """Readers of the training rows, tables among them."""
    if y is not None or hasattr(data, "shape") or hasattr(data, "__arrow_c_stream__"):
        source = open_source(data, y=y)
        refuse_without_target(source)
        return open_rows(source)
    readers = open_rows(data, **reading)
    for reader in readers:
        if not reader.again and not isinstance(reader, BlocksReader):
            raise InputError(
                f"{reader.name} can be gone over once only, and tuning goes over the rows before "
                "they are learned; save it to a file"
            )
    return readers


def _begin_like(model: InstanceLearner, first: InstanceLearner) -> None:
    """Begin a model for the same classes and columns."""
    model._begin(first.classes_)
    model._open, model.n_features_in_ = first._open, first.n_features_in_


def _tuning(report: Report) -> Report:
    """Report reading as tuning."""
    return lambda _, done, total: report("tuning", done, total)
