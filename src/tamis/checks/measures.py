"""The contract of measures: the same, sensible numbers on every path."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tamis.checks.data import Case
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels.threads import threads
from tamis.measures.measure import Measure


def dense_and_sparse_give_the_same_bits(measure: Measure, case: Case) -> None:
    """Dense and sparse columns have the same strengths, with the target and with each other."""
    dense, sparse = case.X, sp.csc_matrix(case.X)
    a, b = measure.relevance(dense, case.y), measure.relevance(sparse, case.y)
    assert np.array_equal(a.value, b.value), f"{case}: relevance depends on the layout"
    assert np.array_equal(a.cutoff, b.cutoff, equal_nan=True), (
        f"{case}: cutoffs depend on the layout"
    )
    c, d = measure.between(dense, dense[:, :9]), measure.between(sparse, sparse[:, :9])
    assert np.array_equal(c, d), f"{case}: pair values depend on the layout"


def threads_give_the_same_bits(measure: Measure, case: Case) -> None:
    """One thread and three threads give the same strengths."""
    with threads(1):
        a, c = measure.relevance(case.X, case.y), measure.between(case.X, case.X[:, :9])
    with threads(3, least_work=1):
        b, d = measure.relevance(case.X, case.y), measure.between(case.X, case.X[:, :9])
    assert np.array_equal(a.value, b.value), f"{case}: relevance depends on threads"
    assert np.array_equal(c, d), f"{case}: pair values depend on threads"


def columns_do_not_influence_each_other(measure: Measure, case: Case) -> None:
    """The strength of a column does not depend on the other columns in its block."""
    together = measure.relevance(case.X, case.y)
    for j in range(0, case.X.shape[1], 11):
        alone = measure.relevance(case.X[:, [j]], case.y)
        assert alone.value[0] == together.value[j], f"{case}: column {j} differs alone"


def constant_columns_have_no_strength(measure: Measure, case: Case) -> None:
    """A constant column has strength 0 and is never dependent on the target or a column."""
    strength = measure.relevance(case.X, case.y)
    constant = np.ptp(case.X, axis=0) == 0
    assert np.array_equal(strength.constant, constant), f"{case}: constants not recognised"
    assert not strength.value[constant].any(), f"{case}: a constant has strength"
    assert not strength.dependent[constant].any(), f"{case}: a constant counts as dependent"
    pairs = measure.between(case.X[:, constant], case.X)
    assert not pairs.any(), f"{case}: a constant column has strength with another"


def a_target_of_one_class_has_nothing_to_say(measure: Measure, case: Case) -> None:
    """Nothing is relevant to a constant target."""
    strength = measure.relevance(case.X, np.zeros(len(case.y), dtype=int))
    assert not strength.dependent.any(), f"{case}: something is relevant to one class"


def strength_between_columns_is_symmetric(measure: Measure, case: Case) -> None:
    """The strength between two columns is symmetric, up to rounding."""
    some = case.X[:, :50]  # a measure of two columns takes its time
    pairs = measure.between(some, some)
    assert np.allclose(pairs, pairs.T, rtol=0, atol=1e-12), f"{case}: not symmetric"


def copies_are_tied(measure: Measure, case: Case) -> None:
    """Exact copies have exactly the same strength."""
    value = measure.relevance(case.X, case.y).value
    assert value[10] == value[20] == value[40], f"{case}: copies differ"


def a_panel_forgets_what_is_dropped(measure: Measure, case: Case) -> None:
    """After columns were added and dropped, a panel gives the same values as a fresh one."""
    rng = np.random.default_rng(5)
    panel = measure.panel(Target.of(case.y))
    block = ColumnBlock.of(case.X)
    ready = panel.prepare(block, np.arange(block.width))
    kept: list[int] = []
    for j in range(block.width):
        panel.add(ready[j])
        kept.append(j)
        if len(kept) > 3 and rng.random() < 0.6:
            gone = np.sort(rng.choice(len(kept), size=rng.integers(1, 4), replace=False))
            panel.drop(gone)
            kept = np.delete(kept, gone).tolist()
    expected = measure.between(case.X[:, :5], case.X[:, kept])
    found = np.array([panel.between(ready[j]) for j in range(5)])
    assert np.array_equal(found, expected), f"{case}: the panel remembers dropped columns"
    many = panel.between_many(ready, 0, 5)
    assert np.array_equal(many, expected), f"{case}: between_many differs from between"
