"""Sample weights and covariates, against statsmodels and SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chi2, chi2_contingency, hypergeom
from scipy.stats import t as students_t

import tamis
from tamis.core.blocks import ColumnBlock
from tamis.core.covariates import Covariates
from tamis.core.errors import DataWarning, InputError
from tamis.core.target import Target
from tamis.kernels import adjusting, strata
from tamis.kernels.saddle_point import given_p
from tamis.kernels.threads import threads
from tamis.measures.adjusted import adjustment_of, given_target
from tamis.measures.p_values import log_factorials

N = np.arange(60.0)
AGE, KIND = 40 + 15 * np.sin(1.3 * N), N * 7 % 3
WEIGHTS = 0.5 + (N * 11 % 7) / 4
NUMBER = np.sin(0.7 * N) + 0.02 * AGE + 0.3 * (KIND == 1)
CLASSES = (N * 13 % 4).astype(int)
TABLE = np.column_stack([
    np.sin(0.7 * N + 0.9), np.cos(2.1 * N) + 0.1 * AGE, np.where(N % 5 == 0, np.sin(N), 0.0),
    CLASSES == 2, np.cos(1.1 * N) + 0.2 * CLASSES,
]).astype(float)  # fmt: skip
GIVEN = Covariates(np.column_stack([AGE, KIND]), ("age", "kind"), np.array([False, True]))
HOW = {"weights": (WEIGHTS, None), "given": (None, GIVEN), "both": (WEIGHTS, GIVEN)}

# P-values of statsmodels 0.15: of the column in WLS (OLS without weights) of the number and of
# class 1 on the constant, age, two indicators of kind and the column; and of the F test that the
# indicators of four classes add nothing to the same model of the column without it.
STATSMODELS = {
    "weights": (
        [6.897349736682219e-07, 0.3004451714619469, 0.9874589025117104, 0.6652829886129881,
         0.92595581712656],
        [0.8605352101466295, 0.8056367753595765, 0.7662464128602681, 0.009266296122594449,
         0.26002661808960326],
        [0.9258265095778211, 0.8718528504090529, 0.2185600470850786, 0.0, 0.4603969422881795],
    ),
    "given": (
        [2.845598228199959e-07, 0.8561883897754957, 0.8111581655268479, 0.9503575624863402,
         0.7752595879240154],
        [0.8898568408343279, 0.8755594416427412, 0.9659813170018947, 0.01125122572285158,
         0.8024144823368656],
        [0.9877156671490931, 0.829008338595918, 0.2651763814780513, 0.0, 0.4081605530230964],
    ),
    "both": (
        [2.606569084162096e-07, 0.5323118322721081, 0.9470283751957642, 0.9192728428416895,
         0.9679805334237396],
        [0.8810735337402722, 0.893274775021529, 0.799094768105639, 0.011731878970243154,
         0.2500868189267677],
        [0.9280788572569532, 0.8390715902384754, 0.2202502050757139, 0.0, 0.4676819156411889],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("layout", [np.array, sp.csc_matrix])
def test_p_values_are_those_of_statsmodels(how, layout):
    targets = (NUMBER, (CLASSES == 1).astype(int), CLASSES)
    for y, expected in zip(targets, STATSMODELS[how], strict=True):
        target = Target.of(y).adjusted(*HOW[how])
        found = tamis.FisherZ().relevance(layout(TABLE), target)
        p = [tamis.FisherZ().target_test(target, r)[2] for r in found.value]
        assert p == pytest.approx(expected, rel=1e-10, abs=1e-10)
        for j, exact in enumerate(expected):
            if exact > 0:  # the gate is the same test
                alphas = exact * (1 - 1e-9), exact * (1 + 1e-9)
                passes = [
                    tamis.FisherZ(a, statistic="z").relevance(TABLE[:, [j]], target).dependent[0]
                    for a in alphas
                ]
                assert passes == [False, True]


def least_squares(x, y, design, weights):
    """The t statistic, degrees of freedom and p-value of x in weighted least squares of y."""
    A, root = np.column_stack([design, x]), np.sqrt(weights)
    beta = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[0]
    df = np.count_nonzero(weights) - A.shape[1]
    variance = (weights * (y - A @ beta) ** 2).sum() / df
    spread = variance * np.linalg.inv((A * root[:, None]).T @ (A * root[:, None]))
    value = beta[-1] / np.sqrt(spread[-1, -1])
    return abs(value), df, 2 * students_t.sf(abs(value), df)


def tables(seed, n, sparse, some_weightless):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.normal(60, 10, n), rng.integers(0, 3, n)])
    X = rng.normal(size=(n, 5)) + 0.05 * Z[:, :1]
    X[:, 1] *= rng.random(n) < 0.3
    X[:, 2] += 1e4
    X[:, 3] *= rng.random(n) < sparse
    weights = rng.random(n) + 0.1
    weights[: n // 5] *= not some_weightless
    y = rng.normal(size=n) + 0.03 * Z[:, 0] + 0.5 * X[:, 0]
    given = Covariates(Z, ("age", "kind"), np.array([False, True]))
    return X, y, weights, given


random_tables = st.builds(
    tables,
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([25, 80]),
    sparse=st.sampled_from([0.4, 0.9]),
    some_weightless=st.booleans(),
)


@settings(max_examples=25)
@given(data=random_tables)
def test_numbers_are_those_of_least_squares(data):
    X, y, weights, covariates = data
    measure = tamis.FisherZ()
    for w, z in ((weights, None), (None, covariates), (weights, covariates)):
        target = Target.of(y).adjusted(w, z)
        ones = np.ones((len(y), 1))
        design = ones if z is None else np.column_stack([ones, z.design().T])
        w = np.ones(len(y)) if w is None else w
        found = measure.relevance(X, target)
        panel = measure.conditional_panel(target)
        ready = panel.prepare(ColumnBlock.of(X), np.arange(5))
        for j in range(5):
            t, df, p = least_squares(X[:, j] - X[:, j].mean(), y, design, w)
            assert measure.target_test(target, found.value[j]) == pytest.approx(
                (t, df, p), rel=1e-7, abs=1e-10
            )
            pairs = panel.between(ready[j])
            for i in range(j):  # partial correlations of two columns given the covariates
                t, df, _ = least_squares(X[:, j] - X[:, j].mean(), X[:, i], design, w)
                assert pairs[i] == pytest.approx(np.sqrt(t**2 / (t**2 + df)), rel=1e-7, abs=1e-9)
            panel.add(ready[j])
        # Given the covariates and two kept columns.
        test = panel.test(4, [0, 1])
        both = np.column_stack([design, X[:, :2]])
        t, df, p = least_squares(X[:, 4], y, both, w)
        assert (test.statistic, test.df, test.p) == pytest.approx((t, df, p), rel=1e-7, abs=1e-10)


def test_layout_and_threads_give_the_same_bits():
    X, y, weights, covariates = tables(3, 80, 0.4, True)
    weights /= weights[weights > 0].mean()
    for target in (
        Target.of(y).adjusted(weights, covariates),
        Target.of((y > y.mean()).astype(int)).adjusted(weights),
    ):
        for measure, data in (
            (tamis.FisherZ(), X),
            (tamis.MutualInformation(alpha=0.01), np.round(X - X.mean(axis=0))),
            (tamis.SymmetricUncertainty(), np.round(X - X.mean(axis=0))),
        ):
            if measure.needs_classes and not target.is_classes:
                continue
            expected = measure.relevance(data, target)
            panel = measure.panel(target)
            ready = panel.prepare(ColumnBlock.of(data), np.arange(5))
            for i in (4, 0, 2):
                panel.add(ready[i])
            panel.drop(np.array([0]))
            pairs = panel.between_many(ready, 0, 5)
            assert np.array_equal(pairs[:, 0], panel.against(ready, 0, np.arange(5)))
            with threads(3, least_work=1):
                sparse = sp.csc_matrix(data)
                again = measure.relevance(sparse, target)
                assert np.array_equal(again.value, expected.value)
                assert np.array_equal(again.cutoff, expected.cutoff, equal_nan=True)
                other = panel.prepare(ColumnBlock.of(sparse), np.arange(5))
                assert np.array_equal(panel.between_many(other, 0, 5), pairs)


def test_a_column_that_the_covariates_explain_is_irrelevant():
    X = np.column_stack([3 * AGE + 1, KIND == 1, KIND, TABLE[:, 0], np.full(60, 2.0)]).astype(float)
    target = Target.of(NUMBER).adjusted(WEIGHTS, GIVEN)
    found = tamis.FisherZ().relevance(X, target)
    assert found.value[:3].tolist() == [0.0, 0.0, 0.0]
    assert found.constant.tolist() == [False, False, False, False, True]
    with pytest.raises(InputError, match="the covariates determine the target"):
        adjustment_of(Target.of(2 * AGE - 5.5).adjusted(None, GIVEN), False)


# --- categories ----------------------------------------------------------------------------------


def weighted_table(a, b, weights):
    rows, columns = np.unique(a[weights > 0]), np.unique(b[weights > 0])
    return np.array([[weights[(a == i) & (b == j)].sum() for j in columns] for i in rows])


def g_squared(a, b, weights, strata):
    """The sum of SciPy's G-squared statistics over strata, and of their degrees of freedom."""
    total, df = 0.0, 0
    for z in np.unique(strata):
        inside = strata == z
        counts = weighted_table(a[inside], b[inside], weights[inside])
        if counts.size and min(counts.shape) > 1:
            found = chi2_contingency(counts, lambda_="log-likelihood", correction=False)
            total, df = total + found.statistic, df + found.dof
    return total, df


def categories(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.integers(-1, 4, (n, 5)).astype(float)
    X[:, 1] *= rng.random(n) < 0.2
    X[:, 2] = np.where(rng.random(n) < 0.5, y, X[:, 2])
    X[:, 3] = X[:, 2]
    X[:, 4] = 1.0
    weights = rng.random(n) + 0.5
    weights[: n // 6] = 0.0
    return (
        X,
        y,
        weights,
        Covariates(rng.integers(0, 2, (n, 2)) * 1.0, ("a", "b"), np.zeros(2, bool)),
    )


@pytest.mark.filterwarnings("ignore:the sample weights sum to")
@settings(max_examples=25)
@given(
    data=st.builds(
        categories,
        seed=st.integers(0, 2**32 - 1),
        n=st.sampled_from([30, 150]),
        n_classes=st.integers(2, 4),
    )
)
def test_tables_are_those_of_scipy(data):
    X, y, weights, covariates = data
    measure = tamis.MutualInformation(alpha=0.05, statistic="g2")
    for w, z in ((weights, None), (None, covariates), (weights, covariates)):
        target = Target.of(y).adjusted(w, z)
        w = np.ones(len(y)) if w is None else w
        strata = np.zeros(len(y)) if z is None else z.values @ [2, 1]
        unit = 2 * np.log(2) * w.sum()
        found = measure.relevance(X, target)
        panel = measure.panel(target)
        ready = panel.prepare(ColumnBlock.of(X), np.arange(5))
        for j in range(5):
            statistic, df = g_squared(X[:, j], y, w, strata)
            assert found.value[j] * unit == pytest.approx(statistic, rel=1e-10, abs=1e-10)
            if df:
                assert found.cutoff[j] * unit == pytest.approx(chi2.isf(0.05, df), rel=1e-10)
            pairs = panel.between(ready[j])
            for i in range(j):
                statistic, df = g_squared(X[:, j], X[:, i], w, strata)
                assert pairs[i] * unit == pytest.approx(statistic, rel=1e-10, abs=1e-10)
            panel.add(ready[j])
        assert np.array_equal(found.constant, np.ptp(X, axis=0) == 0)
        assert panel.mean_n_levels > 1


def test_whole_weights_count_rows():
    X, y, _, _ = categories(0, 150, 3)
    counts = np.arange(150) % 3
    often = np.repeat(np.arange(150), counts)
    for kind in (tamis.MutualInformation, tamis.SymmetricUncertainty):
        measure = kind(alpha=0.01, statistic="g2")  # the test of weighted counts
        weighted = measure.relevance(X, Target.of(y).adjusted(counts))
        plain = measure.relevance(X[often], y[often])
        assert weighted.value == pytest.approx(plain.value, rel=1e-12, abs=1e-14)
        assert weighted.cutoff == pytest.approx(plain.cutoff, rel=1e-12, nan_ok=True)


def test_plain_python_and_compiled_code_agree():
    X, y, weights, covariates = tables(1, 25, 0.4, False)
    a = adjustment_of(Target.of(y).adjusted(weights, covariates), False)
    csc = sp.csc_matrix(X)
    columns = (csc.indptr.astype(np.int64), csc.indices, csc.data)
    codes = (columns[0], columns[1], (np.arange(csc.nnz) % 3 + 1).astype(np.int32), np.full(5, 4))
    inside, labels = (np.arange(25) % 2).astype(np.int32), np.arange(25) % 3
    found = []
    for run in (lambda kernel: kernel, lambda kernel: kernel.py_func):
        basis = np.zeros((6, 25))
        size = run(adjusting.extend_basis)(a.basis.copy(), basis, 0)
        value, cutoff = np.empty(5), np.empty(5)
        form = (a.root, a.basis, a.targets)
        run(adjusting.relevance_adjusted)(np.empty(0), *columns, *form, 0.1, 0, 5, value, cutoff)
        dense = (X.ravel(order="F"), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
        again = np.empty(5)
        run(adjusting.relevance_adjusted)(*dense, *form, 0.1, 0, 5, again, cutoff)
        assert np.array_equal(value, again)
        indptr, rows, values = np.zeros(6, np.int64), np.zeros(125, np.int32), np.zeros(125)
        coefs, squares = np.zeros((5, len(a.basis))), np.zeros(5)
        run(adjusting.adjust_columns)(*columns, *form[:2], indptr, rows, values, coefs, squares)
        made = (indptr, rows, values, coefs, squares)
        pairs, one = np.zeros((5, 5)), np.zeros(5)
        run(adjusting.pairs_adjusted)(*made, *made, 25, 0, 0, 5, pairs)
        run(adjusting.one_adjusted)(*made, 1, np.arange(5), 25, 0, 5, one)
        results, both = np.zeros((5, 4)), np.zeros((5, 5, 4))
        run(strata.relevance_strata)(*codes, labels, 3, inside, 2, weights, 0, 5, results)
        picks = np.arange(5)
        run(strata.pairs_strata)(*codes, picks, *codes, picks, inside, 2, weights, 0, 5, both)
        found.append((basis[:size], value, cutoff, *made, pairs, one, results, both))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert found[0][0] == pytest.approx(a.basis, abs=1e-12)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(59), r"sample_weight has the shape \(59,\) and there are 60 rows"),
        (np.where(N == 3, -1.0, 1.0), "sample_weight is -1.0 in row 3"),
        (np.where(N == 3, np.nan, 1.0), "sample_weight is nan in row 3"),
        (np.zeros(60), "every sample_weight is zero"),
        (["heavy"] * 60, "sample_weight holds something that is not a number"),
        (CLASSES == 1, "the same in every row with a positive weight"),
    ],
)
def test_wrong_weights_are_reported(weights, sentence):
    with pytest.raises(InputError, match=sentence):
        Target.of(CLASSES).adjusted(weights)


def test_wrong_covariates_are_reported():
    with pytest.raises(InputError, match="the covariate 'age' is missing or infinite in row 2"):
        Covariates(np.where(N == 2, np.nan, N)[:, None], ("age",), np.array([False]))
    with pytest.raises(InputError, match="the covariates have 60 rows but the target has 59"):
        Target.of(CLASSES[:59]).adjusted(None, GIVEN)
    with pytest.raises(InputError, match="'age' has 60 different values, and MutualInformation"):
        tamis.MutualInformation().relevance(TABLE, Target.of(CLASSES).adjusted(None, GIVEN))
    with pytest.raises(InputError, match="cannot use covariates; use FisherZ"):
        tamis.GSquared().check_target(Target.of(CLASSES).adjusted(None, GIVEN))


def test_weights_that_are_not_counts_are_reported_to_measures_of_categories():
    with pytest.warns(DataWarning, match="the sample weights sum to 149 on 60 rows"):
        tamis.MutualInformation().panel(Target.of(CLASSES).adjusted(2 * WEIGHTS))


# --- p-values that hold for rare flags, rare classes and uneven batches --------------------------


def noise_given(kind, rows=600, width=3000):
    """Columns of noise, classes that depend on a covariate only, and that covariate."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=rows)
    share = expit(0.8 * z - 3.0)
    if kind == "rare flags":
        X = (rng.random((rows, width)) < rng.choice([0.005, 0.02], width)) * 1.0
    elif kind == "flags that follow the covariate":
        X = (rng.random((rows, width)) < (0.03 * expit(1.5 * z))[:, np.newaxis]) * 1.0
    else:  # one batch has nearly all cases, and measures with more noise
        z = (np.arange(rows) % 2).astype(float)
        share = np.where(z > 0, 0.4, 0.01)
        X = rng.normal(size=(rows, width)) * np.where(z > 0, 1.0, 0.05)[:, np.newaxis]
    y = (rng.random(rows) < share).astype(int)
    return X, y, Covariates(z[:, np.newaxis], ("z",), np.array([False]))


@pytest.mark.parametrize("kind", ["rare flags", "flags that follow the covariate", "two batches"])
def test_p_values_given_covariates_are_valid(kind):
    X, y, covariates = noise_given(kind)
    target = Target.of(y).adjusted(None, covariates)
    found = tamis.FisherZ().tested(ColumnBlock.of(X), target)
    for level in (1e-2, 1e-3):
        assert np.mean(found.p <= level) <= level + 3 * np.sqrt(level / X.shape[1])
    plain = tamis.FisherZ(0.001, statistic="z").relevance(X, target)  # the t test alone
    assert np.mean(plain.dependent) > 0.005
    assert tamis.FisherZ.tests[found.test[np.argmin(found.p)]].startswith("a test given the cov")
    again = tamis.FisherZ().tested(ColumnBlock.of(sp.csc_matrix(X)), target)
    assert np.array_equal(again.p, found.p)
    with threads(3, least_work=1):
        assert np.array_equal(tamis.FisherZ().tested(ColumnBlock.of(X), target).p, found.p)


@pytest.mark.parametrize("how", ["weights", "numbers", "three classes"])
def test_p_values_of_rare_flags_are_valid(how):
    X, y, covariates = noise_given("rare flags")
    rng, weights = np.random.default_rng(6), None
    if how == "weights":
        covariates, weights = None, 0.2 + rng.random(len(y))
    elif how == "numbers":
        y = np.exp(1.5 * rng.normal(size=len(y)))
    else:
        y = y + (rng.random(len(y)) < 0.03)
    target = Target.of(y, "regression" if how == "numbers" else "classification")
    target = target.adjusted(weights, covariates)
    p = tamis.FisherZ().tested(ColumnBlock.of(X), target).p
    for level in (1e-2, 1e-3):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / X.shape[1])
    plain = tamis.FisherZ(0.001, statistic="z").relevance(X, target)
    assert np.mean(plain.dependent) > 0.005


def test_a_signal_is_found_given_covariates():
    X, y, covariates = noise_given("rare flags")
    X[:, 0] = (np.random.default_rng(0).random(len(y)) < np.where(y == 1, 0.6, 0.02)) * 1.0
    run = tamis.select(X, tamis.SAOLA("fisher_z", fdr=0.1), y, given=covariates.values)
    assert run.kept_names == ["x0"]
    assert "(a test given the covariates (saddle-point)) is within" in run.why("x0")
    gated = tamis.SAOLA("fisher_z").fit(X, y, given=covariates.values)
    assert "by a test given the covariates (saddle-point)" in gated.why("x0")


@pytest.mark.parametrize("seed", range(4))
def test_the_saddle_point_given_covariates_is_near_the_exact_tail(seed):
    """Against all 2^17 outcomes of 17 rows with probabilities of their own."""
    rng = np.random.default_rng(seed)
    x, share = rng.normal(size=17), 0.2 + 0.6 * rng.random(17)
    x -= np.average(x, weights=share * (1 - share))
    outcomes = np.array(list(product((0, 1), repeat=17)))
    mass = np.prod(np.where(outcomes == 1, share, 1 - share), axis=1)
    sums = (outcomes - share) @ x
    scale = np.sqrt(np.sum(x**2 * share * (1 - share)))
    for total in (2.1 * scale, 2.3 * scale, -2.2 * scale):
        tail = mass[sums >= total] if total > 0 else mass[sums <= total]
        assert given_p(x, share, total) == pytest.approx(2 * tail.sum(), rel=0.35)
    assert given_p(x, share, 0.0) == 1.0
    assert given_p(x, share, 1.001 * sums.max()) <= 2 * np.prod(np.maximum(share, 1 - share))
    assert given_p(np.zeros(17), share, 0.0) == 1.0


def test_probabilities_of_classes_are_those_of_a_logistic_model():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 2))
    y = (rng.random(3000) < expit(z @ [1.0, -0.5] - 1)).astype(int)
    form = given_target(
        Target.of(y).adjusted(None, Covariates(z, ("a", "b"), np.zeros(2, bool))), True
    )
    assert form.shares.mean() == pytest.approx(y.mean(), abs=1e-5)  # the equations of the fit
    assert z.T @ (y - form.shares[0]) == pytest.approx([0.0, 0.0], abs=0.1)
    design = np.column_stack([np.ones(3000), z])
    beta = np.linalg.lstsq(design, np.log(form.shares[0] / (1 - form.shares[0])), rcond=None)[0]
    assert beta == pytest.approx([-1.0, 1.0, -0.5], abs=0.15)
    weight = form.shares[0] * (1 - form.shares[0])
    assert (form.bases[0] * weight) @ form.bases[0].T == pytest.approx(np.eye(3), abs=1e-9)
    apart = Covariates(y[:, np.newaxis] + 1e-3 * z[:, :1], ("a",), np.zeros(1, bool))
    separated = given_target(Target.of(y).adjusted(None, apart), True)
    assert np.isfinite(separated.bases).all()
    assert np.abs(separated.shares[0] - y).max() < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_the_test_inside_strata_is_exact(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 3)
    ones, marked = rng.integers(0, sizes + 1), rng.integers(0, sizes + 1)
    laws = [
        hypergeom(n, n1, m).pmf(np.arange(10)) for n, n1, m in zip(sizes, ones, marked, strict=True)
    ]
    law = np.zeros(28)
    for own in product(range(10), repeat=3):
        law[sum(own)] += np.prod([p[a] for p, a in zip(laws, own, strict=True)])
    logs = log_factorials(int(sizes.sum()))
    for own in np.flatnonzero(law > 0):
        expected = law[law <= law[own] * (1 + 1e-7)].sum()
        found = strata.stratified_p(logs, sizes, ones, marked, own)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("how", ["given", "weights"])
def test_categories_given_covariates_get_exact_tests_where_rows_are_few(how):
    X, y, covariates = noise_given("rare flags")
    X[:, 1] = np.where(np.arange(600) % 5 < 2, X[:, 1], np.arange(600) % 3)
    X[:, 0] = (np.random.default_rng(0).random(600) < np.where(y == 1, 0.6, 0.02)) * 1.0
    groups = Covariates(np.floor(covariates.values + 0.5) > 0, ("old",), np.array([False]))
    counts = np.ones(600, int)
    target = Target.of(y).adjusted(*((None, groups) if how == "given" else (counts, None)))
    measure = tamis.MutualInformation()
    found = measure.tested(ColumnBlock.of(X), target)
    names = {measure.tests[i] for i in found.test[found.p <= 0.04]}
    assert names <= {"exact tests of its categories", "the G-squared test"}
    assert measure.tests[found.test[0]] == "exact tests of its categories"
    assert found.p[0] < 1e-6
    assert np.mean(found.p[2:] <= 0.01) <= 0.01 + 3 * np.sqrt(0.01 / 3000)
    if how == "weights":  # one stratum: Fisher's exact test
        flags = X[:, [0]]
        assert found.p[0] == pytest.approx(measure.p_values(flags, y)[0], rel=1e-9)
    gated = tamis.MutualInformation(alpha=0.01).relevance(X, target)
    assert np.array_equal(gated.dependent, (found.p <= 0.01) & ~found.constant)
    many = (np.arange(600) % 2).astype(float)[:, np.newaxis]
    common = Target.of(np.arange(600) // 2 % 2).adjusted(None, groups)
    plain = measure.tested(ColumnBlock.of(many), common)
    assert measure.tests[plain.test[0]] == "the G-squared test"
