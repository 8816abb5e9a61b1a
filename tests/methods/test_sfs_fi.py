"""SFS-FI against a slow reference for the paper's Algorithm 1, and on interacting features."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from slow_interactions import algorithm_1, bits, partial, terms_of_counts

import tamis
from golden_outputs import matrix
from tamis import SAOLA, SFSFI, FisherZ, MutualInformation, SymmetricUncertainty
from tamis.checks.data import assert_same_log


def table_of_codes(seed: int, n: int = 60, p: int = 14):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 4, p), (n, p)).astype(float)
    y = (X[:, 2] + X[:, 6]).astype(int) % 2
    if seed % 2:
        y = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), y)
    X[:, 4] = np.where(rng.random(n) < 0.6, y, X[:, 4])
    X[:, 9] = X[:, 4]
    X[:, 7] = 1.0
    return X, y


@pytest.mark.parametrize(
    ("correction", "alpha"),
    [(None, None), (None, 0.05), ("miller-madow", None), ("miller-madow", 0.05),
     ("significant", 0.05)],
)  # fmt: skip
@pytest.mark.parametrize("gain", ["sum", "mean"])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_keeps_what_algorithm_1_keeps_on_counts(seed, correction, gain, alpha) -> None:
    X, y = table_of_codes(seed)
    n, levels = len(y), [len(np.unique(c)) for c in X.T]
    relevance = [bits(c, y) if len(np.unique(c)) > 1 else np.nan for c in X.T]
    between = [[bits(a, b) for b in X.T] for a in X.T]

    def rejects(value, freedom):
        if alpha is None:
            return value > 0
        return freedom > 0 and chi2.sf(2 * n * math.log(2) * value, freedom) < alpha

    expected = algorithm_1(
        relevance,
        between,
        lambda f, kept: terms_of_counts(X, y, f, kept, correction, alpha),
        [
            rejects(r, (k - 1) * (len(np.unique(y)) - 1))
            for r, k in zip(relevance, levels, strict=True)
        ],
        lambda f, s: rejects(between[f][s], (levels[f] - 1) * (levels[s] - 1)),
        gain=sum if gain == "sum" else np.mean,
    )
    measure = MutualInformation(alpha=alpha, statistic="g2")
    found = SFSFI(measure, gain=gain, correction=correction).fit(X, y)
    assert found.kept_.tolist() == expected


@pytest.mark.parametrize("gain", ["sum", "mean"])
@pytest.mark.parametrize("classes", [2, 3])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_keeps_what_algorithm_1_keeps_on_numbers(seed, classes, gain) -> None:
    rng = np.random.default_rng(seed)
    n, p = 70, 14
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    X = rng.normal(size=(n, p))
    X[:, ::3] += rng.random(5) * (y == 1)[:, None]
    X[:, 7] += X[:, 3]
    targets = (y[:, None] == np.arange(1, classes)).astype(float)
    measure = FisherZ(alpha=0.05, statistic="z")
    relevance = measure.relevance(X, y)
    between = measure.between(X, X).round(12)
    alone = relevance.value.round(12)

    def terms(f, kept):
        return [round(partial(X[:, s], X[:, f], targets) - alone[s], 10) for s in kept]

    expected = algorithm_1(
        alone, between, terms, relevance.dependent, lambda f, s: between[f][s] > measure.cutoff(n),
        gain=sum if gain == "sum" else np.mean,
    )  # fmt: skip
    assert SFSFI(measure, gain=gain).fit(X, y).kept_.tolist() == expected


# --- interacting features -------------------------------------------------------------------------


def xor_among_noise(seed: int, n: int = 300, noise: int = 30):
    """Two columns whose exclusive or is the class, somewhere among irrelevant ones."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, noise + 2))
    one, other = np.sort(rng.permutation(noise + 2)[:2])
    return X, X[:, one] ^ X[:, other], {int(one), int(other)}


def test_it_keeps_both_sides_of_xor_where_saola_cannot() -> None:
    found = 0
    for seed in range(20):
        X, y, pair = xor_among_noise(seed)
        found += pair <= set(SFSFI().fit(X, y).kept_.tolist())
        assert not pair <= set(SAOLA().fit(X, y).kept_.tolist())
    # The first side is irrelevant until the second arrives: sometimes it is dropped as noise.
    assert found >= 18


def test_with_one_side_kept_the_significant_gain_keeps_the_other_and_not_the_noise() -> None:
    for seed in range(10):
        X, y, pair = xor_among_noise(seed)
        X = X[:, [min(pair), *(j for j in range(X.shape[1]) if j != min(pair))]]
        kept = SFSFI(correction="significant").fit(X, y).kept_.tolist()
        assert {0, max(pair)} <= set(kept)
        assert len(kept) <= 4
        assert len(SFSFI().fit(X, y).kept_) > 25


def monk_1(rows: str) -> tuple[np.ndarray, np.ndarray]:
    """The class is: a1 = a2, or a5 = 1. All possible rows, or the rows of the UCI files."""
    if rows == "UCI":
        return matrix("monk1")
    X = np.array(list(itertools.product(*map(range, (3, 3, 2, 3, 4, 2)))))
    return X, ((X[:, 0] == X[:, 1]) | (X[:, 4] == 0)).astype(int)


@pytest.mark.parametrize(("rows", "kept"), [("all", {0, 1}), ("UCI", {0, 1, 4})])
def test_it_keeps_what_interacts_in_monk_1(rows, kept) -> None:
    X, y = monk_1(rows)
    assert kept <= set(SFSFI().fit(X, y).kept_.tolist())
    assert SAOLA().fit(X, y).kept_.tolist() == [4]
    assert SFSFI(correction="significant").fit(X, y).kept_.tolist() == [0, 1, 4]


@pytest.mark.parametrize("rows", ["all", "UCI"])
def test_it_keeps_what_interacts_in_monk_1_among_irrelevant_columns(rows) -> None:
    X, y = monk_1(rows)
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = rng.permutation(36)
        mixed = np.column_stack([X, rng.integers(0, 3, (len(y), 30))])[:, order]
        found += {0, 1, 4} <= set(order[SFSFI().fit(mixed, y).kept_].tolist())
        assert not {0, 1} & set(order[SAOLA().fit(mixed, y).kept_].tolist())
    assert found >= 18


def test_a_correction_removes_the_bias_on_few_rows() -> None:
    X, y = matrix("lung_small")  # 73 rows, 7 classes, 325 columns
    measure = MutualInformation(alpha=0.01)
    kept = {c: len(SFSFI(measure, correction=c).fit(X, y).kept_) for c in (None, "miller-madow")}
    assert kept == {None: 313, "miller-madow": 13}


def test_the_correction_is_the_bias_of_noise() -> None:
    rng = np.random.default_rng(0)
    gains = {None: [], "miller-madow": []}
    for _ in range(300):
        X, y = rng.integers(0, 3, (200, 2)), rng.integers(0, 3, 200)
        for correction, found in gains.items():
            sel = SFSFI(MutualInformation(alpha=0.01), correction=correction).fit(X, y)
            found.append(sel.log_.columns()["value"][1])
    bias = 2 * 2 * 2 / (2 * 200 * math.log(2))
    assert np.mean(gains[None]) == pytest.approx(bias, rel=0.15)
    assert abs(np.mean(gains["miller-madow"])) < 0.15 * bias


def test_the_numbers_of_classes_do_not_matter_to_correlations() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 120)
    X = rng.normal(size=(120, 40))
    X[:, ::4] += np.array([0.0, 2.0, -1.0, 0.5])[y][:, None] * rng.random(10)
    expected = SFSFI().fit(X, y)
    assert len(expected.kept_) > 3
    for numbers in ([3, 1, 0, 2], [10, 5, 7, -2]):
        assert SFSFI().fit(X, np.array(numbers)[y]).kept_.tolist() == expected.kept_.tolist()
    by_number = SFSFI(FisherZ(classes="numeric"))
    first, second = (
        by_number.fit(X, np.array(c)[y]).kept_.tolist() for c in ([0, 1, 2, 3], [2, 0, 3, 1])
    )
    assert first != second


# --- cost -----------------------------------------------------------------------------------------


def test_memory_grows_with_the_kept_not_with_pairs_of_them() -> None:
    held = {}
    for p in (400, 800):
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 2, (100, p)).astype(float), rng.integers(0, 2, 100)
        sel = SFSFI(MutualInformation(alpha=0.01))
        tracemalloc.start()
        try:
            sel.start(y)
            for j in range(0, p, 100):
                sel.feed(X[:, j : j + 100])
            held[p] = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert len(sel.kept_) > 0.9 * p
    # Pairs would take four times as much; and a table of 800 by 800 numbers alone is 5 MB.
    assert held[800] < 2.5 * held[400]
    assert held[800] < 2.5e6


def test_each_new_feature_is_compared_once_with_every_kept_one() -> None:
    X, y = table_of_codes(0)
    sel = SFSFI(MutualInformation(alpha=0.05), correction="significant").fit(X, y)
    kept = np.zeros(X.shape[1], int)
    for event in sel.log_.events():
        verdict = sel.log_.reasons[event.reason].verdict
        if verdict == tamis.Verdict.KEPT:
            kept[event.feature + 1 :] += 1
        elif verdict == tamis.Verdict.EVICTED:
            kept[event.because[0] + 1 :] -= 1
    assert sel.work_["pair_values"] == kept[np.ptp(X, axis=0) > 0].sum()
    assert sel.work_["relevant"] < np.count_nonzero(np.ptp(X, axis=0) > 0)


# --- reasons --------------------------------------------------------------------------------------


def balanced(*factors: int) -> list[np.ndarray]:
    """Columns with each combination of their levels equally often, ten times."""
    grid = np.indices(factors).reshape(len(factors), -1)
    return [np.repeat(column, 10) for column in grid]


def test_sentences_carry_the_gain_and_its_largest_terms() -> None:
    a, b, c, d = balanced(2, 2, 2, 2)
    y = a ^ b
    weak = np.where(np.arange(len(y)) % 10 < 4, 1 - y, y)
    live = SFSFI(MutualInformation(alpha=0.01)).start(y)
    for name, column in {"c": c, "a": a, "b": b, "y": y, "weak": weak, "flat": 0 * a}.items():
        live.feed(column, names=[name])
    assert live.log_.why("c") == "c is kept: it came first, and had nothing to interact with"
    assert live.log_.why("a") == (
        "a was dropped as irrelevant: I(a; class)=0, p is above 0.01 by Fisher's exact "
        "test, and its interaction gain with the kept features is 0, not above 0"
    )
    assert live.log_.why("flat") == (
        "flat was dropped as irrelevant: it has the same value in every row"
    )
    live = SFSFI(MutualInformation(alpha=0.01)).start(y)
    for name, column in {"a": a, "d": d, "b": b, "y": y}.items():
        live.feed(column, names=[name])
    assert live.log_.why("b") == (
        "b is kept: its interaction gain with the kept features is 1, at least 0.01; most of it "
        "with a (up to 1 each)"
    )
    assert live.log_.why("y") == (
        "y was dropped: I(y; class)=1, but its interaction gain with the kept features is 0, not "
        "above 0; least of all with a and b (down to 0 each)"
    )
    event = list(live.log_.events())[-1]
    assert event.because == (0, 2)
    assert event.evidence == {"term_1": 0.0, "term_2": 0.0}


def test_sentences_about_pairs_carry_the_gain_too() -> None:
    rng = np.random.default_rng(11)
    a, b = rng.integers(0, 2, (2, 500))
    y = np.where(rng.random(500) < 0.2, b, a ^ b)
    near = np.where(rng.random(500) < 0.9, b, 1 - b)
    # With so large a gamma every gain is a weak one.
    selector = SFSFI(MutualInformation(alpha=0.01), gamma=9.0)
    sel = selector.fit(np.column_stack([a, b, near, b]), y)
    assert sel.kept_.tolist() == [0, 1]
    assert sel.log_.why("x1") == (
        "x1 is kept: its interaction gain with the kept features is 0.649, above 0 though below 9, "
        "and no kept feature makes it redundant"
    )
    assert sel.log_.why("x2") == (
        "x2 was dropped as redundant: its interaction gain 0.341 is below 9, and I(x2; "
        "class)=0.00634 is not above its dependence on x1 (0.522), which is the better predictor "
        "(0.0212)"
    )
    assert sel.log_.why("x3") == (
        "x3 was dropped as redundant: its interaction gain 0.628 is below 9, and I(x3; "
        "class)=0.0212 is not above its dependence on x1 (1), which predicts as well and came first"
    )
    sel = selector.fit(np.column_stack([a, near, b]), y)
    assert sel.kept_.tolist() == [0, 2]
    assert sel.log_.why("x1") == (
        "x1 was kept until x2 arrived and made it redundant: I(x1; class)=0.00634 is not above its "
        "dependence on x2 (0.522), which is the better predictor (0.0212)"
    )


def test_a_feature_without_significant_terms_is_judged_alone() -> None:
    a, b = balanced(2, 2)
    sel = SFSFI(MutualInformation(alpha=0.01), correction="significant")
    sel.fit(np.column_stack([a, b]), b)
    assert sel.log_.why("x1") == (
        "x1 is kept: I(x1; class)=1, p=1.45e-11 by Fisher's exact test; it "
        "interacts with no kept feature, and none makes it redundant"
    )


def test_a_saved_run_still_knows_the_gains(tmp_path) -> None:
    X, y, _ = xor_among_noise(1)
    run = tamis.select(X, SFSFI(MutualInformation(alpha=0.01), correction="significant"), y)
    tamis.save_run(run, tmp_path / "run")
    again = tamis.open_run(tmp_path / "run")
    assert_same_log(again.log, run.log, "saved and opened")
    assert [again.why(i) for i in range(32)] == [run.why(i) for i in range(32)]
    assert any("interaction gain" in run.why(i) and "irrelevant" in run.why(i) for i in range(32))


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0}, "SFSFI: gamma=0 is not a number above 0"),
        ({"gain": "max"}, "gain='max' is not one of 'sum', 'mean'"),
        ({"correction": "both"}, "correction='both' is not None or one of 'miller-madow', 'sig"),
        ({"variant": "print"}, "variant='print' is not one of 'paper', 'program'"),
        ({"measure": FisherZ(), "correction": "miller-madow"}, "is for counts, and the measure is"),
        ({"measure": SymmetricUncertainty(), "correction": "significant"}, "give it alpha="),
        ({"measure": tamis.GSquared()}, "SFSFI has no interaction gain for GSquared"),
    ],
)
def test_parameters_are_checked_in_one_sentence(parameters, message) -> None:
    with pytest.raises(tamis.TamisError, match=message.replace("(", r"\(")):
        SFSFI(**parameters).fit(np.eye(4), [0, 1, 0, 1])
