"""AnyShape against slow references, and what it finds."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

import tamis
from tamis.cli.main import cli
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels.shapes import fisher
from tamis.measures.any_shape import AnyShape, bins_for, permutation_p


def make(seed: int, n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of every kind: numbers, counts, flags, sparse numbers, a copy, a constant."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    u = rng.standard_normal(n) * (1 + 2 * (y == 0))
    sparse = np.where(rng.random(n) < 0.2, rng.exponential(size=n) * (1 + y), 0.0)
    columns = [
        rng.standard_normal(n) + y,
        u,
        rng.poisson(2 + y).astype(float),
        (rng.random(n) < 0.1 + 0.2 * (y == 1)).astype(float),
        sparse,
        -sparse * (rng.random(n) < 0.5),
        rng.integers(0, 3, n).astype(float),
        np.full(n, 3.0),
        u * u,
        rng.standard_cauchy(n),
    ]
    return np.column_stack(columns), y


# --- slow references -----------------------------------------------------------------------------


def ranks(x: np.ndarray) -> np.ndarray:
    return stats.rankdata(x)


def binned(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The bins of a column, as the measure cuts them."""
    panel = AnyShape().panel(Target.of(y))
    column = panel.prepare(ColumnBlock.of(x), np.arange(1))[0]
    codes = np.full(len(x), column.backgrounds)
    codes[column.rows] = column.codes
    return codes


def bias_free(table: np.ndarray) -> tuple[float, float]:
    """n I in nats, and its degrees of freedom."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0, 0.0
    g = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    return g.statistic / 2, (table.shape[0] - 1) * (table.shape[1] - 1)


def strength(nats: float, df: float, n: int) -> float:
    return 1 - np.exp(-2 * max(0.0, (nats - df / 2) / n))


def table_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([[np.sum((a == i) & (b == j)) for j in np.unique(b)] for i in np.unique(a)])


def squares_left(x: np.ndarray, *others: np.ndarray) -> float:
    """Residual sum of squares of a least squares fit with an intercept."""
    design = np.column_stack([np.ones(len(x)), *others])
    fitted = design @ np.linalg.lstsq(design, x, rcond=None)[0]
    return float(np.sum((x - fitted) ** 2))


def relevance(x: np.ndarray, y: np.ndarray, codes: np.ndarray) -> float:
    groups = [ranks(x)[y == c] for c in np.unique(y)]
    n, k = len(y), len(groups)
    f = stats.f_oneway(*groups).statistic
    eta2 = f * (k - 1) / (f * (k - 1) + n - k)
    linear = max(0.0, 1 - (1 - eta2) * (n - 1) / (n - k))
    return np.sqrt(max(linear, strength(*bias_free(table_of(codes, y)), n)))


def beyond(x: np.ndarray, z: np.ndarray, y: np.ndarray, cx: np.ndarray, cz: np.ndarray) -> float:
    """c(x given z): squared relevance of x left once z is known."""
    n, indicators = len(y), (y[:, None] == np.unique(y)[1:]).astype(float)
    k = indicators.shape[1]
    before, after = (
        squares_left(ranks(x), ranks(z)),
        squares_left(ranks(x), ranks(z), *indicators.T),
    )
    linear = 0.0
    if before > 1e-6:
        linear = max(0.0, 1 - after / before * (n - 2) / (n - 2 - k))
    strata = [bias_free(table_of(cx[cz == s], y[cz == s])) for s in np.unique(cz)]
    nats, df = np.sum(strata, axis=0)
    return max(linear, strength(nats, df, n))


# --- against the references ----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_classes"), [(90, 2), (250, 2), (150, 4)])
def test_relevance_and_pairs_equal_a_slow_reference(n: int, n_classes: int) -> None:
    X, y = make(n, n, n_classes)
    measure = AnyShape()
    value = measure.relevance(X, y).value
    codes = [binned(x, y) for x in X.T]
    varied = np.flatnonzero(np.ptp(X, axis=0) > 0)
    expected = [relevance(X[:, j], y, codes[j]) for j in varied]
    assert value[varied] == pytest.approx(expected, abs=1e-9)

    panel = measure.panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(X.shape[1]))
    for j in varied:
        panel.add(ready[j])
    for j in varied:
        pairs, ahead, behind = (found[0] for found in panel.beyond_many(ready, np.array([j])))
        assert np.array_equal(pairs, panel.between(ready[j]))
        for at, other in enumerate(varied):
            r = np.corrcoef(ranks(X[:, j]), ranks(X[:, other]))[0, 1]
            info = strength(*bias_free(table_of(codes[j], codes[other])), n)
            if j == other:
                assert pairs[at] == 1.0
            else:
                assert pairs[at] == pytest.approx(max(abs(r), np.sqrt(info)), abs=1e-9)
            args = X[:, j], X[:, other], y, codes[j], codes[other]
            assert ahead[at] == pytest.approx(beyond(*args), abs=1e-9)
            args = X[:, other], X[:, j], y, codes[other], codes[j]
            assert behind[at] == pytest.approx(beyond(*args), abs=1e-9)
    every = np.arange(X.shape[1])
    found, among = panel.beyond_many(ready, every), panel.among(ready, every, np.array(varied))
    assert np.array_equal(found, among)  # kept or not


def test_pairs_of_sparse_flags_equal_a_slow_reference() -> None:
    """Two bins and two classes are computed in a shorter way."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 150)
    X = (rng.random((150, 12)) < rng.uniform(0.02, 0.45, 12)).astype(float)
    X[:, 3] = X[:, 2] * y
    X[:, 4] = y * (rng.random(150) < 0.4)  # never in the other class
    X[:, 5] = X[:, 4]
    panel = AnyShape().panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(sp.csc_matrix(X)), np.arange(12))
    for column in ready:
        panel.add(column)
    pairs, ahead, behind = panel.beyond_many(ready, np.arange(12))
    codes = X.astype(int)
    for i in range(12):
        for j in range(12):
            one = X[:, i], X[:, j], y, codes[:, i], codes[:, j]
            other = X[:, j], X[:, i], y, codes[:, j], codes[:, i]
            assert ahead[i, j] == pytest.approx(beyond(*one), abs=1e-9)
            assert behind[i, j] == pytest.approx(beyond(*other), abs=1e-9)
            r = np.corrcoef(ranks(X[:, i]), ranks(X[:, j]))[0, 1]
            info = strength(*bias_free(table_of(codes[:, i], codes[:, j])), 150)
            same = np.array_equal(X[:, i], X[:, j])
            expected = 1.0 if same else max(abs(r), np.sqrt(info))
            assert pairs[i, j] == pytest.approx(expected, abs=1e-9)
    few = np.array([7, 2, 11])
    among = panel.among(ready, few, np.arange(12))
    assert np.array_equal(among, np.array([pairs, ahead, behind])[:, few])


def test_a_numeric_target_is_its_ranks_and_its_bins() -> None:
    X, _ = make(3, 220, 2)
    y = X[:, 0] ** 3 + np.random.default_rng(1).standard_normal(220)
    x, codes = X[:, 0], binned(X[:, 0], np.zeros(220))
    r = np.corrcoef(ranks(x), ranks(y))[0, 1]
    linear = 1 - (1 - r * r) * 219 / 218
    info = strength(*bias_free(table_of(codes, binned(y, np.zeros(220)))), 220)
    assert AnyShape().relevance(x, y).value[0] == pytest.approx(np.sqrt(max(linear, info)))


# --- p-values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0, 0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1]),
        ([0, 0, 0, 0, 1, 1, 2], [0, 1, 1, 2, 2, 2, 2]),
    ],
)
def test_mean_and_variance_of_chi_square_are_those_of_all_permutations(
    x: list[int], y: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    n, k, groups = len(x), len(set(x)), len(set(y))
    found = []
    for order in set(permutations(y)):
        table = table_of(np.array(x), np.array(order))
        found.append(stats.chi2_contingency(table, correction=False).statistic / n)
    top, seen = min(k, groups) - 1, {}

    def beta(of: Any, rest: Any, share: Any, out: Any) -> None:
        a, b = of[0], rest[0]
        seen["mean"] = a / (a + b) * top
        seen["variance"] = a * b / ((a + b) ** 2 * (a + b + 1)) * top**2
        out[:] = share

    monkeypatch.setattr("tamis.measures.any_shape.upper_tails", beta)
    inverse = [np.sum(1 / np.bincount(v)) - (2 * len(set(v)) - 1) / n for v in (x, y)]
    permutation_p(0.5, top, k - 1, inverse[0], groups - 1, inverse[1], n)
    assert seen["mean"] == pytest.approx(np.mean(found))
    assert seen["variance"] == pytest.approx(np.var(found))


def test_two_bins_and_two_classes_get_fishers_exact_test() -> None:
    rng = np.random.default_rng(4)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 101)))])
    for _ in range(200):
        n = int(rng.integers(8, 100))
        x, y = rng.random(n) < rng.random(), rng.random(n) < rng.random()
        if 0 < x.sum() < n and 0 < y.sum() < n:
            expected = stats.fisher_exact(table_of(x, y)).pvalue
            got = fisher(int((x & y).sum()), int(x.sum()), int(y.sum()), n, logs)
            assert got == pytest.approx(expected, rel=1e-9)
            if n > 9:
                assert AnyShape().p_values(x.astype(float), y)[0] == pytest.approx(expected)


def test_a_column_is_relevant_exactly_when_p_is_below_alpha() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((60, 400)), np.arange(60) % 3
    for alpha in (0.001, 0.05, 0.5):
        measure = AnyShape(alpha)
        strength = measure.relevance(X, y)
        assert np.array_equal(strength.dependent, measure.p_values(X, y) < alpha)


# --- what it finds -------------------------------------------------------------------------------


def test_a_u_shape_is_found_where_correlation_sees_nothing() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 300))
    y = rng.random(200) < 0.5
    X = np.where(y[:, None], np.sign(x) * (np.abs(x) + 0.6), x)
    assert AnyShape().relevance(X, y).dependent.mean() > 0.85
    assert tamis.FisherZ().relevance(X, y).dependent.mean() < 0.05


def test_words_have_no_order_and_few_bins() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    words = np.where(y == 1, rng.choice([1, 3], 400), rng.choice([0, 2, 4], 400)).astype(float)
    many = np.arange(400.0) % 150
    block = ColumnBlock(
        0, 400, np.asfortranarray(np.column_stack([words, many])), is_text=np.array([True, True])
    )
    measure = AnyShape()
    strength = measure.relevance(block, y)
    assert strength.dependent.tolist() == [True, False]
    panel = measure.panel(Target.of(y))
    columns = panel.prepare(block, np.arange(2))
    assert columns.n_bins.tolist() == [5, 20]
    panel.add(columns[0])
    relabelled = ColumnBlock(0, 400, (4 - words).reshape(-1, 1), is_text=np.array([True]))
    assert panel.between(panel.prepare(relabelled, np.arange(1))[0]).tolist() == [1.0]


def test_two_words_are_a_flag() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2, (100, 1)).astype(float), np.arange(100) % 3
    words = ColumnBlock(0, 100, np.asfortranarray(x), kind="discrete")
    assert AnyShape().relevance(words, y).value == AnyShape().relevance(x, y).value


def test_bins_of_sparse_columns_separate_zero() -> None:
    rng = np.random.default_rng(2)
    x = np.where(rng.random(600) < 0.05, rng.exponential(size=600), 0.0)
    codes = binned(x, np.zeros(600))
    assert np.array_equal(codes == 1, x > 0)
    half = np.where(rng.random(600) < 0.5, rng.exponential(size=600), 0.0)
    codes = binned(half, np.zeros(600))
    assert np.bincount(codes).min() > 60
    assert len(np.unique(codes)) == 4
    assert np.array_equal(codes == 0, half == 0)
    dense = AnyShape().relevance(sp.csc_matrix(x[:, None]), np.arange(600) % 2)
    assert dense.value[0] == AnyShape().relevance(x, np.arange(600) % 2).value[0]


def test_numbers_get_bins_of_equal_frequency() -> None:
    x = np.random.default_rng(3).permutation(300).astype(float)
    assert bins_for(300) == 6
    assert np.bincount(binned(x, np.zeros(300))).tolist() == [50] * 6
    assert np.bincount(binned(x[:150], np.zeros(150))).tolist() == [50] * 3


# --- explanations --------------------------------------------------------------------------------


def test_explanations_give_the_p_value_and_the_test_that_found_it() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.standard_normal((300, 3))
    X[:, 0] += y
    X[:, 1] *= 1 + 2 * y
    log = tamis.SAOLA("any_shape").fit(X, y).log_
    p = AnyShape().p_values(X, y)
    assert p[2] > 0.01 > max(p[0], p[1])
    assert f"p={p[0]:.3g} (by ranks) is below 0.01, and no kept" in log.why("x0")
    assert f"p={p[1]:.3g} (by bins) is below 0.01" in log.why("x1")
    assert log.why("x2").endswith(f"p={p[2]:.3g} is not below 0.01")


def test_a_threshold_of_fcbf_is_shown_as_a_strength() -> None:
    X, y = make(1, 250, 2)
    log = tamis.FCBF(threshold=0.9, measure="any_shape").fit(X, y).log_
    assert "does not pass both the threshold of 0.9 and the 1% level" in log.why("x0")


# --- words in a table, saved selections, the command line ----------------------------------------


def messy(n: int = 300) -> pd.DataFrame:
    """A table of words, counts and numbers; the words and a U-shaped number matter."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    town = np.where(y == 1, rng.choice(["Lyon", "Nice", "Pau"], n), rng.choice(["Metz", "Pau"], n))
    table = pd.DataFrame({"town": town, "age": rng.normal(size=n) * (1 + 3 * y), "class": y})
    table["visits"] = rng.poisson(2, n)
    table["village"] = table["town"].str.upper()
    return table


def test_words_numbers_and_counts_need_only_this_measure(tmp_path: Path) -> None:
    table = messy()
    table.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "run"
    arguments = ["select", str(tmp_path / "table.csv"), "--target", "class", "--out", str(out)]
    cli([*arguments, "--method", "saola", "--measure", "any_shape"], standalone_mode=False)
    run = tamis.open_run(out)
    assert run.kept_names == ["town", "age"]
    assert "(by bins) is below 0.01" in run.log.why("age")
    assert "village was dropped as redundant" in run.log.why("village")
    assert "is not below 0.01" in run.log.why("visits")


def test_a_saved_selection_remembers_which_columns_are_words(tmp_path: Path) -> None:
    table = messy()
    y = table.pop("class").to_numpy()
    whole = tamis.select(table, tamis.SAOLA("any_shape"), y)
    selection = tamis.Selection.create(tmp_path / "run", y, tamis.SAOLA("any_shape"))
    selection.feed(table[["town", "age"]])
    again = tamis.Selection.open(tmp_path / "run")
    again.feed(table[["visits", "village"]])
    for name in table:
        assert again.run.log.why(name) == whole.log.why(name)


@pytest.mark.filterwarnings("ignore:the target holds .* different texts")
@pytest.mark.parametrize("n_classes", [299, 290, 200, 100])
def test_noise_does_not_pass_when_nearly_every_row_is_a_class(n_classes: int) -> None:
    """A column of identifiers as the target: the statistics take a handful of values only."""
    rng = np.random.default_rng(n_classes)
    n = 300
    town = rng.permutation(np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    y = np.char.add("town ", town.astype(str))
    for noise in (rng.integers(0, 3, (n, 2000)).astype(float), rng.standard_normal((n, 2000))):
        assert np.mean(AnyShape().p_values(noise, y) < 0.01) < 0.02
    if n_classes > 200:
        run = tamis.select(noise[:, :3], "sieve", y)
        assert run.why("x0") == (
            "x0 was dropped as irrelevant: there are too few rows to test its dependence on the "
            "class"
        )


def test_a_sparse_column_of_one_value_gets_the_result_of_an_earlier_one() -> None:
    rng = np.random.default_rng(6)
    X = sp.random(200, 400, 0.02, format="csc", random_state=6, data_rvs=lambda k: np.full(k, 2.0))
    X.data[:50] = rng.random(50)
    y = rng.integers(0, 2, 200)
    together = AnyShape().relevance(X, y)
    alone = [AnyShape().relevance(X[:, [j]], y) for j in range(X.shape[1])]
    assert together.value.tolist() == [one.value[0] for one in alone]
    cutoffs = np.array([one.cutoff[0] for one in alone])
    assert np.array_equal(together.cutoff, cutoffs, equal_nan=True)


@pytest.mark.parametrize("n", [12, 30, 50, 51, 70])
def test_rare_values_of_few_rows_and_several_classes_are_not_significant_by_chance(n: int) -> None:
    """The exact test of rare values needs a law that fits the number of rows, however small."""
    rng = np.random.default_rng(n)
    y = np.arange(n) % 3
    X = np.zeros((n, 2000))
    for column in X.T:
        column[rng.choice(n, 4, replace=False)] = 1.0
    p = AnyShape().p_values(X, y)
    for level in (0.2, 0.05, 0.01):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level / len(p))
    assert np.mean(p <= 0.25) > 0.01


def test_small_p_values_of_bins_are_valid() -> None:
    """With few rows per bin and class, the law of the whole table is too light far out."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 5, 5])
    p = AnyShape().p_values(rng.normal(size=(70, 100_000)), y)
    for level in (1e-2, 1e-3, 1e-4, 1e-5):
        allowed = level * len(p)
        assert np.count_nonzero(p <= level) <= allowed + 3 * np.sqrt(allowed) + 1


def test_small_values_that_share_the_bin_of_zero_are_counted_once() -> None:
    rng = np.random.default_rng(0)
    n = 137
    X = rng.normal(size=(n, 12)) + rng.normal(size=(n, 1)) + 1  # few are below 0
    X *= rng.random(X.shape) < 0.3
    measure = AnyShape()
    panel = measure.panel(Target.of(np.zeros(n, int)))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(12))
    codes = np.tile(ready.backgrounds[:, None], n)
    for j in range(12):
        codes[j, ready[j].rows] = ready[j].codes
    inside = [(ready[j].codes == ready.backgrounds[j]).any() for j in range(12)]
    assert any(inside)  # listed rows in the bin of the background
    expected = np.ones((12, 12))
    for i, j in permutations(range(12), 2):
        by_bins = strength(*bias_free(table_of(codes[i], codes[j])), n)
        by_ranks = np.corrcoef(ranks(X[:, i]), ranks(X[:, j]))[0, 1] ** 2
        expected[i, j] = np.sqrt(max(by_bins, by_ranks))
    np.testing.assert_allclose(measure.between(X, X), expected, atol=1e-9)


@pytest.mark.parametrize("entries", [3, 4, 5, 6])
def test_few_entries_of_different_values_have_no_impossible_p_value(entries):
    """The least p-value is the chance that all entries are in the rare class."""
    n, rare = 2000, 140
    y, x = np.arange(n) < rare, np.zeros((n, 1))
    x[:entries, 0] = np.arange(1, entries + 1)
    possible = stats.hypergeom.pmf(entries, n, rare, entries)
    assert AnyShape().p_values(x, y)[0] >= possible * (1 - 1e-9)


@pytest.mark.parametrize("target", ["classes", "three classes", "number"])
@pytest.mark.parametrize("n", [80, 240])
def test_a_column_is_shaped_once_for_several_orders_of_the_target(target, n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 12))
    X[:, 3:9] *= rng.random((n, 6)) < [0.02, 0.02, 0.05, 0.1, 0.3, 0.5]
    X[:, 3:6] = X[:, 3:6] != 0
    y = X[:, 0] + X[:, 5] + rng.standard_normal(n)
    if target != "number":
        y = np.digitize(y, [0.0, 1.0][: 2 if target == "three classes" else 1])
    targets = [Target.of(y[order]) for order in (np.arange(n), *(rng.permutation(n),) * 2)]
    targets.append(Target.of(rng.permutation(y)))
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    for block in (ColumnBlock.of(gaps), ColumnBlock.of(sp.csc_matrix(X))):
        each = AnyShape().tested_with_each(block, targets)
        levels = AnyShape().relevance_to_each(block, targets)
        for one, tested, strength in zip(targets, each, levels, strict=True):
            alone, level = AnyShape().tested(block, one), AnyShape().relevance(block, one)
            for name in ("value", "constant", "p", "test"):
                np.testing.assert_array_equal(getattr(tested, name), getattr(alone, name))
            np.testing.assert_array_equal(strength.value, level.value)
            np.testing.assert_array_equal(strength.cutoff, level.cutoff)
