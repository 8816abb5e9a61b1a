"""Dependence of any shape given covariates, against NumPy's least squares and SciPy's laws."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from scipy.stats import t as students_t

import tamis
from tamis.core.blocks import ColumnBlock
from tamis.core.covariates import Covariates
from tamis.core.target import Target
from tamis.kernels import adjusted_shapes
from tamis.kernels.adjusted_shapes import BOTH, class_moments
from tamis.kernels.threads import threads
from tamis.measures.adjusted_shape import AdjustedShape, _beta_tail, adjust_shapes, form_of

WORD = 5  # the position of the column of words


def table(seed: int, n: int = 300):
    """Columns of every kind, covariates that some follow, weights, and targets of every kind."""
    rng = np.random.default_rng(seed)
    age, batch = rng.normal(50, 10, n), rng.integers(0, 3, n)
    z = (age - 50) / 10
    X = np.column_stack([
        z + rng.normal(size=n),
        np.abs(rng.normal(size=n)) + 0.3 * (batch == 1),
        (rng.random(n) < 0.1 + 0.1 * (z > 0)) * rng.exponential(size=n),
        rng.random(n) < 0.3,
        rng.poisson(np.exp(0.4 * z)),
        rng.integers(0, 5, n),
        np.where(rng.random(n) < 0.15, np.nan, rng.normal(size=n) + z),
        (rng.random(n) < 0.04) * 1.0,
    ]).astype(float)  # fmt: skip
    signal = z + 0.8 * (X[:, 0] - z) + (X[:, 1] > 1) + 0.5 * X[:, 3] + (X[:, WORD] == 2)
    signal += rng.normal(size=n)
    covariates = Covariates(
        np.column_stack([age, batch]), ("age", "batch"), np.array([False, True])
    )
    targets = {
        "two classes": (signal > 1).astype(int),
        "four classes": np.digitize(signal, [0.0, 1.0, 2.5]),
        "numbers": signal,
    }
    return X, covariates, rng.random(n) + 0.2, targets


def block_of(X, sparse: bool = False) -> ColumnBlock:
    block = ColumnBlock.of(sp.csc_matrix(X) if sparse else X)
    is_text = np.arange(X.shape[1]) == WORD
    return replace(block, is_text=is_text)


class Slow:
    """The definitions of docs/any-shape.md, with NumPy's least squares."""

    def __init__(self, target: Target) -> None:
        n, form = target.n_rows, form_of(target)
        self.root = np.ones(n) if target.weights is None else np.sqrt(target.weights)
        given = [np.ones(n)] if target.given is None else [np.ones(n), *target.given.design()]
        self.design = np.array(given).T * self.root[:, np.newaxis]
        self.m = n - np.linalg.matrix_rank(self.design)
        if target.is_classes:
            parts = target.codes[:, np.newaxis] == np.arange(1, target.n_classes)
            self.targets = self.scored = self.space(parts.astype(float))
        else:
            self.targets = self.space(target.values[:, np.newaxis])
            self.scored = form.scored.T  # normal scores of what is left

    def left(self, columns):
        """What the covariates leave of weighted columns."""
        weighted = columns * self.root[:, np.newaxis]
        return weighted - self.design @ np.linalg.lstsq(self.design, weighted, rcond=None)[0]

    def space(self, columns):
        """An orthonormal basis of that."""
        return orthonormal(self.left(columns))

    def numbers(self, x):
        """A column of numbers as a direction; missing values are the mean."""
        known = ~np.isnan(x)
        mean = np.average(x[known], weights=self.root[known] ** 2)
        return self.space(np.where(known, x, mean)[:, np.newaxis])

    def bins(self, codes):
        """A column of bins as directions."""
        return self.space((codes[:, np.newaxis] == np.unique(codes)).astype(float))


def orthonormal(columns):
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, s > 1e-6 * max(s.max(initial=0.0), 1e-300)]


def shared(a, b) -> float:
    """The sum of squared canonical correlations."""
    return float(((a.T @ b) ** 2).sum())


def given_other(a, target, b) -> float:
    """The same of a and the target, once b is known."""
    rest = np.eye(len(a)) - b @ b.T
    return shared(orthonormal(rest @ a), orthonormal(rest @ target))


def beyond(share: float, expected: float, freedom: int) -> float:
    chance = expected / freedom
    return max(0.0, (share - chance) / (1 - chance))


def codes_of(columns, i: int, n: int):
    """The bin of each row of a prepared column."""
    codes = np.full(n, max(0, columns.backgrounds[i]))
    codes[columns[i].rows] = columns[i].codes
    return codes


HOW = ("given", "weights", "both")


@pytest.mark.parametrize("kind", ["two classes", "four classes", "numbers"])
@pytest.mark.parametrize("how", HOW)
def test_strengths_are_those_of_least_squares(how, kind):
    X, covariates, weights, targets = table(0)
    target = Target.of(targets[kind]).adjusted(
        weights if how != "given" else None, covariates if how != "weights" else None
    )
    slow, n, measure, block = Slow(target), len(X), AdjustedShape(), block_of(X)
    tested, panel = measure.tested(block, target), measure.panel(target)
    columns, every = panel.prepare(block, np.arange(X.shape[1])), np.arange(X.shape[1])
    for i in every:
        panel.add(columns[i])
    D, ahead, behind = panel.beyond_many(columns, every)
    forms = []
    for i in every:
        bins = slow.bins(codes_of(columns, i, n))
        numbers = None if i == WORD else slow.numbers(X[:, i])
        t, d, share = slow.targets.shape[1], bins.shape[1], 0.0
        if numbers is not None:
            share = beyond(shared(numbers, slow.targets), t, slow.m)
        if columns.kinds[i] >= adjusted_shapes.BINS:
            of_bins = shared(bins, slow.scored) / min(d, t)
            share = max(share, beyond(of_bins, max(d, t), slow.m))
        assert tested.value[i] == pytest.approx(np.sqrt(share), abs=1e-8)
        forms.append((numbers, bins, d))
    for i, j in product(every, every):
        (x, a, m), (y, b, d) = forms[i], forms[j]
        size = np.sqrt(m * d)
        expected, mine, theirs, t = 0.0, 0.0, 0.0, slow.targets.shape[1]
        if x is not None and y is not None:
            expected = np.sqrt(shared(x, y))
            if i != j:
                mine = beyond(given_other(x, slow.targets, y), t, slow.m - 1)
                theirs = beyond(given_other(y, slow.targets, x), t, slow.m - 1)
        if max(columns.kinds[i], columns.kinds[j]) >= adjusted_shapes.BINS:
            expected = max(expected, np.sqrt(beyond(shared(a, b) / size, size, slow.m)))
            if i != j:
                share = given_other(a, slow.scored, b) / min(m, t)
                mine = max(mine, beyond(share, max(m, t), slow.m - d))
                share = given_other(b, slow.scored, a) / min(d, t)
                theirs = max(theirs, beyond(share, max(d, t), slow.m - m))
        assert D[i, j] == pytest.approx(expected, abs=1e-7)
        assert ahead[i, j] == pytest.approx(mine, abs=1e-7)
        assert behind[i, j] == pytest.approx(theirs, abs=1e-7)


@pytest.mark.parametrize("how", HOW)
def test_p_values_of_numbers_are_those_of_least_squares(how):
    """The p-value is twice that of the t test of the column's coefficient, if that is smaller."""
    X, covariates, weights, targets = table(1)
    w = weights if how != "given" else np.ones(len(X))
    z = covariates if how != "weights" else None
    target = Target.of(targets["numbers"]).adjusted(w if how != "given" else None, z)
    given = [np.ones(len(X))] if z is None else [np.ones(len(X)), *z.design()]
    tested = AdjustedShape().tested(block_of(X), target)
    compared = 0
    for j in (0, 1, 3, 4):
        A = np.array([*given, X[:, j]]).T
        root = np.sqrt(w)[:, np.newaxis]
        beta = np.linalg.lstsq(A * root, targets["numbers"] * root[:, 0], rcond=None)[0]
        df = len(X) - A.shape[1]
        variance = (w * (targets["numbers"] - A @ beta) ** 2).sum() / df
        spread = variance * np.linalg.inv((A * root).T @ (A * root))[-1, -1]
        p = 2 * students_t.sf(abs(beta[-1]) / np.sqrt(spread), df)
        if tested.test[j] == 0:  # by values
            assert tested.p[j] == pytest.approx(p if j == 3 else 2 * p, rel=1e-10)
            compared += 1
        else:
            assert tested.p[j] <= 2 * p
    assert compared >= 2


@pytest.mark.parametrize("kind", ["two classes", "four classes", "numbers"])
def test_layouts_blocks_and_threads_give_the_same_bits(kind):
    X, covariates, weights, targets = table(2)
    weights[:20] = 0.0
    for w in (None, weights):
        target, measure = Target.of(targets[kind]).adjusted(w, covariates), AdjustedShape()
        expected, panel = measure.tested(block_of(X), target), measure.panel(target)
        columns = panel.prepare(block_of(X), np.arange(8))
        for i in (6, 0, 2, 5, 3):
            panel.add(columns[i])
        panel.drop(np.array([1]))
        pairs = panel.beyond_many(columns, np.arange(8))
        among = panel.among(columns, np.arange(8), np.array([6, 2, 5, 3]))
        assert np.array_equal(pairs, among)
        assert np.array_equal(panel.against(columns, 2, np.arange(8)), pairs[0, :, 1])
        for j in range(8):
            alone = measure.tested(block_of(X).part(j, j + 1), target)
            assert (alone.value[0], alone.p[0]) == (expected.value[j], expected.p[j])
        with threads(3, least_work=1):
            again = measure.tested(block_of(X, sparse=True), target)
            assert np.array_equal(again.value, expected.value)
            assert np.array_equal(again.p, expected.p)
            other = panel.prepare(block_of(X, sparse=True), np.arange(8))
            assert np.array_equal(panel.beyond_many(other, np.arange(8)), pairs)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "numbers"])
def test_kernels_do_the_same_in_python(kind, monkeypatch):
    X, covariates, _, targets = table(7, 60)
    target = Target.of(targets[kind]).adjusted(None, covariates)

    def everything():
        measure, every = AdjustedShape(), np.arange(8)
        tested, panel = measure.tested(block_of(X), target), measure.panel(target)
        columns = panel.prepare(block_of(X), every)
        return tested.value, tested.p, panel.among(columns, every, every)

    expected = everything()
    for name in ("relate", "prepare_adjusted", "compare_adjusted", "class_moments", "fill_gaps"):
        kernel = getattr(adjusted_shapes, name)
        monkeypatch.setattr(f"tamis.measures.adjusted_shape.{name}", kernel.py_func)
    for found, compiled in zip(everything(), expected, strict=True):
        assert np.array_equal(found, compiled)


def test_rows_without_weight_are_as_if_they_were_not_there():
    X, covariates, weights, targets = table(3)
    weights[::4] = 0.0
    there = weights > 0
    less = Covariates(covariates.values[there], covariates.names, covariates.is_text)
    for y in targets.values():
        whole = AdjustedShape().tested(block_of(X), Target.of(y).adjusted(weights, covariates))
        task = Target.of(y).task
        part = Target.of(y[there], task).adjusted(weights[there], less)
        found = AdjustedShape().tested(block_of(X[there]), part)
        assert np.array_equal(whole.value, found.value)
        assert np.array_equal(whole.p, found.p)


def test_what_the_covariates_explain_is_irrelevant():
    X, covariates, _, targets = table(4)
    age, batch = covariates.values.T
    columns = np.column_stack([3 * age + 1, batch, batch == 1, np.full(len(X), 2.0)]).astype(float)
    target = Target.of(targets["two classes"]).adjusted(None, covariates)
    block = replace(ColumnBlock.of(columns), is_text=np.array([False, True, False, False]))
    found = AdjustedShape().relevance(block, target)
    assert found.value.tolist() == [0.0] * 4
    assert found.constant.tolist() == [False, False, False, True]
    assert not found.dependent.any()


def test_a_bent_relation_is_found_given_covariates():
    rng = np.random.default_rng(3)
    age, x = rng.normal(size=(2, 200))
    y = (np.abs(x) + 0.5 * age + 0.3 * rng.normal(size=200) > 0.8).astype(int)
    target = Target.of(y).adjusted(None, Covariates(age[:, None], ("age",), np.zeros(1, bool)))
    X = np.column_stack([x + age, age + rng.normal(size=200)])
    assert AdjustedShape().relevance(X, target).dependent.tolist() == [True, False]
    assert not tamis.FisherZ().relevance(X, target).dependent.any()


def test_any_shape_adjusts_wherever_it_is_used():
    X, covariates, _, targets = table(5)
    target = Target.of(targets["two classes"]).adjusted(None, covariates)
    expected = AdjustedShape().tested(block_of(X), target).p
    assert np.array_equal(tamis.AnyShape().tested(block_of(X), target).p, expected)
    found = tamis.AnyShape().relevance(block_of(X), target).dependent
    assert np.array_equal(found, expected < 0.01)
    fields = AdjustedShape().template_fields(target)
    assert fields["gate"] == "the 1% level of its tests given age and batch"


# --- the laws of the tests -----------------------------------------------------------------------


def small_columns(y, covariates):
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.normal(size=len(y)), rng.integers(0, 3, len(y))]).astype(float)
    form = form_of(Target.of(y).adjusted(None, covariates))
    return form, adjust_shapes(ColumnBlock.of(X), np.arange(2), form)


@pytest.mark.parametrize("by_values", [True, False])
@pytest.mark.parametrize("y", [[0, 1, 2, 1, 0, 2, 1], [0, 1, 0, 1, 0, 0, 1]])
def test_moments_are_those_of_all_outcomes(by_values, y):
    z, y = np.arange(7) ** 2 % 5, np.array(y)
    form, c = small_columns(y, Covariates(z[:, np.newaxis], ("z",), np.zeros(1, bool)))
    classes, a = form.classes, form.adjustment

    def moments(codes, kernel=class_moments):
        found = np.empty((4, 2))
        kernel(
            *c.form, by_values, a.root, a.basis, codes, classes.shares, classes.weights,
            classes.fourths, 0, 2, *found,
        )  # fmt: skip
        return found

    expected, totals = moments(classes.codes), np.zeros((2, 2))
    assert moments(classes.codes, class_moments.py_func) == pytest.approx(expected)
    for outcome in product(range(max(y) + 1), repeat=7):
        chance = np.prod(classes.shares[np.arange(7), outcome])
        statistic = moments(np.array(outcome, np.uint16))[0]
        totals += chance * np.array([statistic, statistic**2])
    assert totals[0] == pytest.approx(expected[1], rel=1e-6)
    assert totals[1] - totals[0] ** 2 == pytest.approx(expected[2], rel=1e-6)


def test_a_beta_tail_without_variance_says_nothing():
    assert _beta_tail(np.array([0.5]), np.array([0.2]), np.array([0.0])).tolist() == [1.0]


def follows_age(kind: str, rng, z, width: int):
    e, n = rng.normal(size=(len(z), width)), len(z)
    return {
        "normal": z[:, None] + e,
        "nearly age": z[:, None] + 0.2 * e,
        "Cauchy": z[:, None] + rng.standard_cauchy((n, width)),
        "counts": rng.poisson(np.exp(0.5 * z[:, None]), (n, width)),
        "flags": rng.random((n, width)) < 0.05 * np.exp(0.5 * z[:, None]),
        "gaps": np.where(rng.random((n, width)) < 0.1, np.nan, z[:, None] + e),
    }[kind].astype(float)


@pytest.mark.parametrize("kind", ["normal", "nearly age", "Cauchy", "counts", "flags", "gaps"])
@pytest.mark.parametrize("target", ["two classes, 60 rows", "many classes", "numbers", "rare"])
def test_noise_that_follows_a_covariate_passes_no_more_often_than_the_level(kind, target):
    """Age drives the target, and each column follows age and says nothing else."""
    rng = np.random.default_rng(21)
    n, draws, width = (60 if "60" in target else 200), 20, 100
    passed = 0
    for _ in range(draws):
        z = rng.normal(size=n)
        y = z + rng.normal(size=n)
        if target != "numbers":
            cuts = {"many classes": np.linspace(-2, 2, 9), "rare": [2.2]}.get(target, [0.3])
            y = np.digitize(y, cuts)
        age = Covariates(50 + 10 * z[:, None], ("age",), np.zeros(1, bool))
        columns = ColumnBlock.of(follows_age(kind, rng, z, width))
        passed += np.sum(AdjustedShape().tested(columns, Target.of(y).adjusted(None, age)).p < 0.01)
    assert passed <= binom.ppf(1 - 1e-4, draws * width, 0.012)


def test_kinds_of_columns():
    X, covariates, _, targets = table(6)
    form = form_of(Target.of(targets["numbers"]).adjusted(None, covariates))
    kinds = adjust_shapes(form.filled(block_of(X)), np.arange(8), form).kinds
    assert kinds.tolist() == [BOTH, BOTH, BOTH, 1, BOTH, 2, BOTH, 1]
