"""Spouses on a stream, and columns as targets.

A spouse of the target T has a child in common with it: they become dependent given the child X. So
a column S that is independent of T given some set Z (perhaps the empty one) is a spouse through X
if

1. X is a parent or child of T, and is not in Z,
2. S is a relative of X: no set of others makes the two independent,
3. S and T are dependent given Z and X.

`tamis.methods.batch.relatives` has the same search for columns that are all at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision
from tamis.core.target import Target
from tamis.measures.fisher_z import FisherZ
from tamis.measures.measure import Floats, Measure
from tamis.methods.measured import Arrival
from tamis.methods.separating import Separable


def spread(column: Any, n_rows: int) -> Floats:
    """Return the values of a prepared column, one for each row, up to their names or their mean."""
    values = np.zeros(n_rows)
    values[column.rows] = column.codes if "codes" in column.columns.arrays else column.values
    return values


def as_target(measure: Measure, column: Any, n_rows: int) -> Target:
    """Return a column as a target."""
    task = "classification" if measure.needs_classes else "regression"
    return Target.of(spread(column, n_rows), task)


def columns_of(measure: Measure, target: Target) -> Floats:
    """Return a target as columns: one, or one fewer than classes if their numbers mean nothing."""
    if isinstance(measure, FisherZ):
        return measure.target_basis(target)
    numbers = target.values if target.codes is None else target.codes.astype(np.float64)
    return numbers.reshape(-1, 1)


def as_spouse(
    arrival: Arrival, kept: Separable, given: Sequence[int] = (), leaving: Sequence[int] = ()
) -> Decision | None:
    """Return the decision that keeps a newcomer as a spouse, or None if it is not one.

    `given` are the positions of the kept features that separate it from the target; those in
    `leaving` are left out.
    """
    new = kept.consider(arrival)
    for x in np.flatnonzero(kept.through < 0).tolist():
        if x in given or x in leaving:
            continue
        test = kept.panel.test(new, [*given, x])
        if not test.independent and not test.refused and _is_relative(arrival, kept, x):
            return kept.married(test, arrival, int(kept.features[x]))
    return None


def _is_relative(arrival: Arrival, kept: Separable, x: int) -> bool:
    """Return whether no set of the target and kept features separates a newcomer from x."""
    measure, n_rows = kept.measure, kept.target.n_rows
    target = as_target(measure, kept.columns[x], n_rows)
    if not measure.relevance(spread(arrival.column, n_rows), target).dependent[0]:
        return False
    inner = kept.towards(target)
    block = ColumnBlock.of(columns_of(measure, kept.target))
    own = inner.panel.prepare(block, np.arange(block.width))
    others = [column for i, column in enumerate(kept.columns) if i != x]
    for i, column in enumerate([*own, *others]):
        inner.add(Arrival(i, 0.0, 0.0, column))
    new = inner.consider(arrival)
    return inner.separator(new, range(new)) is None
