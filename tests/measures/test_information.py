"""Mutual information and symmetrical uncertainty against sklearn, scipy and the authors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.metrics import mutual_info_score

from golden_outputs import cases, matrix
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.kernels.threads import threads
from tamis.measures import MutualInformation, SymmetricUncertainty

BOTH = pytest.mark.parametrize("measure", [MutualInformation(), SymmetricUncertainty()])


def entropy(x) -> float:
    return float(stats.entropy(np.unique(x, return_counts=True)[1], base=2))


def naive(measure, x, z) -> float:
    information = mutual_info_score(np.unique(x, return_inverse=True)[1], z) / np.log(2)
    if isinstance(measure, MutualInformation):
        return information
    total = entropy(x) + entropy(z)
    return 2 * information / total if total > 0 else 0.0


def mixed_table(n: int, seed: int) -> np.ndarray:
    """Columns of every kind: rare, dense, negative, not whole, many levels, constant."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.random(n) < 0.03,
            rng.integers(0, 2, n),
            rng.integers(0, 4, n),
            rng.integers(1, 4, n),
            rng.integers(-2, 2, n),
            rng.integers(-2, 3, n) * 0.75,
            rng.integers(0, 30, n) * 1.5,
            rng.integers(0, 80, n),
            rng.normal(size=n),
            np.where(rng.random(n) < 0.9, 0, rng.integers(0, 100, n)),
            np.zeros(n),
            np.full(n, -4.5),
        ]
    ).astype(float)


TARGETS = [
    lambda n, rng: rng.integers(0, 2, n),
    lambda n, rng: (rng.random(n) < 0.1).astype(int),
    lambda n, rng: rng.integers(-3, 4, n),
    lambda n, rng: np.array(["only"] * n),
    lambda n, rng: np.array(["b", "a", "c"])[rng.integers(0, 3, n)],
    lambda n, rng: np.arange(n),
]


@BOTH
@pytest.mark.parametrize("make", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_relevance_is_that_of_sklearn_and_layouts_agree_to_the_bit(measure, make, n):
    X, y = mixed_table(n, seed=n), make(n, np.random.default_rng(n))
    target = Target.of(y, "classification")
    dense = measure.relevance(X, target)
    sparse = measure.relevance(sp.csr_matrix(X), target)
    assert np.array_equal(dense.value, sparse.value)
    assert np.array_equal(dense.cutoff, sparse.cutoff, equal_nan=True)
    wanted = [naive(measure, x, y) for x in X.T]
    assert np.allclose(dense.value, wanted, rtol=0, atol=1e-12)
    assert np.array_equal(dense.constant, np.ptp(X, axis=0) == 0)
    assert not dense.dependent[dense.constant].any()


@BOTH
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_pair_values_are_those_of_sklearn_and_layouts_agree_to_the_bit(measure, n):
    A, B = mixed_table(n, seed=1), mixed_table(n, seed=2)
    dense = measure.between(A, B)
    assert np.array_equal(dense, measure.between(sp.csc_matrix(A), sp.csr_matrix(B)))
    assert np.array_equal(dense, measure.between(A, sp.csr_matrix(B)))
    assert np.array_equal(dense, measure.between(B, A).T)
    wanted = [[naive(measure, a, np.unique(b, return_inverse=True)[1]) for b in B.T] for a in A.T]
    assert np.allclose(dense, wanted, rtol=0, atol=1e-12)


@BOTH
def test_relevance_to_a_class_is_the_pair_value_with_the_class_as_a_column(measure):
    X, y = mixed_table(200, seed=3), np.random.default_rng(3).integers(0, 3, 200)
    assert np.array_equal(measure.relevance(X, y).value, measure.between(X, y)[:, 0])


@BOTH
def test_one_thread_and_two_give_the_same_bits(measure):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (400, 300)).astype(float)
    y = rng.integers(0, 3, 400)
    results = []
    for count in (1, 2):
        with threads(count):
            relevance = measure.relevance(X, y).value
            sparse = measure.relevance(sp.csc_matrix(X), y).value
            results.append((relevance, sparse, measure.between(X, X[:, :40])))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


@BOTH
def test_renamed_levels_classes_and_rows_in_another_order_are_exact_ties(measure):
    rng = np.random.default_rng(5)
    n = 500
    x, y = rng.integers(0, 4, n), rng.integers(0, 3, n)
    renamed = [
        np.array(v)[x] for v in ([0, 1, 2, 3], [3, 0, 1, 2], [-1, 0.5, 7, 1e9], [9, 8, 7, 6])
    ]
    X = np.column_stack(renamed)
    values = measure.relevance(X, y).value
    assert len(set(values.tolist())) == 1
    assert values[0] > 0
    for other in (2 - y, np.array(["u", "w", "v"])[y], y * 10 - 5):
        assert np.array_equal(measure.relevance(X, other).value, values)
    order = rng.permutation(n)
    assert np.array_equal(measure.relevance(X[order], y[order]).value, values)
    z = rng.integers(0, 5, n)
    assert len(set(measure.between(X, z)[:, 0].tolist())) == 1


def test_the_given_output_array_is_used():
    measure, X, y = MutualInformation(), np.eye(4), [0, 0, 1, 1]
    wanted = measure.relevance(X, y)
    room = type(wanted)(np.full(6, 9.0), np.full(6, 9.0))
    got = measure.relevance(X, y, out=room)
    assert np.shares_memory(got.value, room.value)
    assert np.array_equal(room.value, [*wanted.value, 9.0, 9.0])
    assert np.array_equal(np.asarray(got), wanted.value)
    assert (len(got), got[1]) == (4, wanted.value[1])


# --- levels --------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.3, 0.01])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_an_alpha_gate_is_the_g_squared_test(alpha, k):
    n = 400
    rng = np.random.default_rng(7)
    y = rng.integers(0, k, n)
    X = np.column_stack(
        [mixed_table(n, s) + (rng.random((n, 12)) < 0.15) * y[:, None] for s in (1, 2)]
    )
    found = MutualInformation(alpha=alpha, statistic="g2").relevance(X, y)
    uncertainty = SymmetricUncertainty(alpha=alpha, statistic="g2").relevance(X, y)
    sparse = SymmetricUncertainty(alpha=alpha, statistic="g2").relevance(sp.csc_matrix(X), y)
    assert np.array_equal(uncertainty.cutoff, sparse.cutoff, equal_nan=True)
    assert np.array_equal(found.dependent, uncertainty.dependent)
    levels = [len(np.unique(x)) for x in X.T]
    assert max(levels) > 64
    for j, x in enumerate(X.T):
        df = (levels[j] - 1) * (len(np.unique(y)) - 1)
        if df == 0:
            assert not found.dependent[j]
            continue
        g_squared = 2 * n * np.log(2) * found.value[j]
        assert abs(2 * n * np.log(2) * found.cutoff[j] / stats.chi2.isf(alpha, df) - 1) < 1e-12
        counts = stats.contingency.crosstab(x, y).count
        test = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        assert abs(g_squared - test.statistic) < 1e-9
        assert found.dependent[j] == (test.pvalue < alpha)
        total = entropy(x) + entropy(y)
        assert abs(uncertainty.cutoff[j] - 2 * found.cutoff[j] / total) < 1e-12
    assert k == 1 or 0 < found.dependent.sum() < len(levels) - found.constant.sum()


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("family", [MutualInformation, SymmetricUncertainty])
def test_on_pure_noise_an_alpha_gate_lets_about_alpha_through(alpha, family):
    rng = np.random.default_rng(11)
    width = 8_000
    X, y = rng.integers(0, 2, (500, width)), rng.integers(0, 3, 500)
    through = int(family(alpha=alpha).relevance(X, y).dependent.sum())
    low, high = stats.binom.interval(1 - 1e-6, width, alpha)
    assert 0.9 * low <= through <= 1.1 * high  # the test is asymptotic: a tenth to spare


@pytest.mark.parametrize("alpha", [None, 0.05])
@BOTH
def test_levels_of_pairs_are_the_levels_towards_the_same_column_as_a_class(measure, alpha):
    gated = type(measure)(alpha=alpha, statistic="g2")
    X, y = mixed_table(300, seed=4), np.random.default_rng(4).integers(0, 3, 300)
    wanted = gated.relevance(X, y)
    panel = gated.panel(Target.of(y))
    for column in panel.prepare(ColumnBlock.of(X), np.arange(X.shape[1])):
        panel.add(column)
    levels = panel.cutoffs(panel.prepare(ColumnBlock.of(y), np.arange(1))[0])
    several = ~wanted.constant
    assert np.allclose(levels[several], wanted.cutoff[several], rtol=1e-14, atol=0)


@BOTH
def test_a_threshold_is_the_level_of_every_column_that_varies(measure):
    gated = type(measure)(threshold=0.25)
    result = gated.relevance(mixed_table(300, seed=1), np.arange(300) % 2)
    assert set(result.cutoff[~result.constant].tolist()) == {0.25}
    assert gated.dependent([0.25, 0.26]).tolist() == [False, True]
    assert np.array_equal(gated.dependent(result), result.value > 0.25)


# --- the authors' program --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spect", "synth_bn", "wdbc_q3", "colon", "lung_small"])
def test_values_agree_with_the_authors_program(name):
    X, y = matrix(name)
    of_the_program = cases("entropy_bits", name)
    assert len(of_the_program) == 20
    for case in of_the_program:
        a, b = X[:, [case["a"]]], X[:, [case["b"]]]
        for word, measure in (("I", MutualInformation()), ("SU", SymmetricUncertainty())):
            assert abs(measure.relevance(a, y)[0] - case[f"{word}_a_class"]) < 1e-12
            assert abs(measure.between(a, b)[0, 0] - case[f"{word}_a_b"]) < 1e-12


# --- what is refused ---------------------------------------------------------------------------


def test_wrong_parameters_and_targets_are_refused_in_one_sentence():
    with pytest.raises(ParameterError, match="give threshold or alpha, not both"):
        MutualInformation(threshold=0.1, alpha=0.1)
    with pytest.raises(ParameterError, match=r"SymmetricUncertainty: alpha=1\.5 is not a number"):
        SymmetricUncertainty(alpha=1.5)
    with pytest.raises(InputError, match="MutualInformation needs classes, and y holds real"):
        MutualInformation().relevance(np.zeros((2, 1)), [0.5, 1.0])
    with pytest.raises(InputError, match="the columns have 3 rows but the target has 2"):
        MutualInformation().relevance(np.zeros((3, 1)), [0, 1])
    with pytest.raises(InputError, match="columns of 3 and of 2 rows cannot be compared"):
        MutualInformation().between(np.zeros((3, 1)), np.zeros((2, 1)))
