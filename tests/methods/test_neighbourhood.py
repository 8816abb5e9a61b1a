"""OFS-A3M and OFS-Density against slow references from the papers, without rounding."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slow_neighbourhoods import dep, select

import tamis
from tamis import OFSA3M, OFSDensity
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.measures import dependency as neighbourhood
from tamis.measures.dependency import Neighbourhoods, dependency, sign
from tamis.methods import BY_METHOD
from tamis.methods.streaming.ofs_density import OFSDensityRule

PAPER = {"gap": OFSA3M, "density falls": OFSDensity}


def table(seed: int, kind: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Small data full of ties, of equal steps, or of neither."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    if kind == "codes":
        X = rng.integers(0, 4, (n, p)).astype(float)
    elif kind == "rare":
        X = rng.integers(1, 4, (n, p)) * (rng.random((n, p)) < 0.2).astype(float)
    else:
        X = rng.normal(size=(n, p))
    X[:, 0] += y  # something to find
    return np.round(X, 1) if kind == "decimals" else X, y


tables = st.builds(
    table,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["codes", "rare", "decimals", "reals"]),
    st.integers(2, 14),
    st.integers(1, 4),
)


@pytest.mark.parametrize("rule", PAPER)
@settings(max_examples=60)
@given(data=tables)
def test_dependency_is_that_of_the_paper(rule, data) -> None:
    X, y = data
    X = X[:, np.ptp(X, axis=0) > 0]
    features = list(range(X.shape[1]))
    assert dependency(X, y, rule) == pytest.approx(float(dep(X, y, features, rule)), abs=1e-12)
    alone = Neighbourhoods(Target.of(y), rule).alone(ColumnBlock.of(X))
    for j in features:
        assert alone[j] == pytest.approx(float(dep(X, y, [j], rule)), abs=1e-12)


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("rule", PAPER)
@settings(max_examples=12)
@given(data=tables.map(lambda d: (np.column_stack([d[0], d[0][:, ::-1], -3 * (d[0] > 1)]), d[1])))
def test_it_keeps_what_the_paper_keeps(rule, seed, data) -> None:
    X, y = data
    assume(len(set(y.tolist())) > 1)
    lam = Fraction(1, 20) if rule == "density falls" else Fraction(0)
    chosen = {"order": "natural"} if seed is None else {"random_state": seed}
    found = PAPER[rule](**chosen).fit(X, y)
    kept, whole = select(X, y, rule, lam, seed)
    assert found.kept_.tolist() == sorted(kept)
    assert found.dependency_ == pytest.approx(float(whole), abs=1e-12)


def by_the_program(X, y, rule, lam):
    """The authors' programs in plain floats, pruning in natural order."""
    n = len(y)

    def of(features):
        Z = X[:, features] / X[:, features].std(axis=0, ddof=1)
        D = np.sqrt(((Z[:, None] - Z[None]) ** 2).sum(axis=2))
        total = 0.0
        for i in range(n):
            rows = np.argsort(D[i], kind="stable")
            d, k = D[i][rows], 1
            widest = 1.5 * (d[-1] - d[1]) / (n - 2)
            while k < n - 1 and (
                d[k + 1] - d[k] < widest if rule == "gap" else d[k + 1] / (k + 1) <= d[k] / k
            ):
                k += 1
            total += np.mean(y[rows[1 : k + 1]] == y[i])
        return total / n  # the last bits decide in the program, and so they do here

    kept, whole, mean = [], 0.0, 0.0
    for i in range(X.shape[1]):
        alone = of([i])
        if alone < mean or (rule == "gap" and alone == mean):
            continue
        t = of([*kept, i])
        near = t == whole if rule == "gap" else whole > 0 and abs(t - whole) / whole <= lam
        if t > whole:
            kept, whole = [*kept, i], t
        elif near:
            left, now = [*kept, i], t
            for f in kept:
                without = of([g for g in left if g != f])
                if without == now or (rule != "gap" and without > now):
                    left, now = [g for g in left if g != f], without
            if now < whole:  # OFS-Density only
                kept = [*kept, i]
                continue
            kept, whole = left, now
        else:
            continue
        singles = [of([f]) for f in kept]
        mean = whole / len(kept) if rule == "gap" else sum(singles) / len(kept)
    return kept


@pytest.mark.parametrize(
    ("selector", "rule"),
    [(OFSA3M(variant="program", order="natural"), "gap"),
     (OFSDensity(0.2, variant="program", order="natural"), "density rises")],
)  # fmt: skip
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_program_variant_does_what_the_program_does(selector, rule, seed) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 30)
    X = rng.normal(size=(30, 12)) + y[:, None] * rng.random(12)
    X[:, 7], X[:, 9] = X[:, 2], -X[:, 4]  # copies, so that something ties
    assert selector.fit(X, y).kept_.tolist() == by_the_program(X, y, rule, 0.2)


# --- exact numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", neighbourhood.RULES)
def test_added_and_dropped_features_leave_no_trace(rule) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)) * 10.0 ** rng.integers(-6, 6, 8), rng.integers(0, 2, 60)
    block = ColumnBlock.of(X)
    straight, wandering = Neighbourhoods(Target.of(y), rule), Neighbourhoods(Target.of(y), rule)
    columns = [straight.ready(block, j) for j in range(8)]
    for j in (1, 4, 6):
        straight.add(columns[j])
    for j in (7, 6, 0, 4, 3, 2, 1, 5):
        wandering.add(columns[j])
    for j in (3, 0, 7, 2, 5):
        wandering.drop(columns[j])
    assert np.array_equal(straight._distances(), wandering._distances())
    assert wandering.dependency().value == straight.dependency().value
    # Trying a change gives the same value as making it.
    tried = wandering.dependency(plus=columns[0], minus=columns[4])
    straight.add(columns[0])
    straight.drop(columns[4])
    assert np.array_equal(tried.shares, straight.dependency().shares)
    # Saved and restored, the distances are recomputed, bit for bit.
    again = pickle.loads(pickle.dumps(straight))
    assert again._squares is None
    assert np.array_equal(again._distances(), straight._distances())


def test_very_large_and_very_small_columns_are_handled() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 50, (40, 3)).astype(float), rng.integers(0, 2, 40)
    expected = dependency(X, y)
    # Differences of the largest overflow, squares of the smallest vanish; powers of 2 are exact.
    assert dependency(X * [2.0**1017, 2.0**-1074, -(2.0**-600)], y) == expected


@settings(max_examples=200)
@given(
    counts=st.lists(st.lists(st.integers(0, 30), min_size=9, max_size=9), min_size=1, max_size=4),
    times=st.lists(st.integers(-5, 5), min_size=4, max_size=4),
)
def test_sign_is_that_of_the_fractions(counts, times) -> None:
    exact = sum(
        m * sum(Fraction(c, k) for k, c in enumerate(row) if k)
        for m, row in zip(times, counts, strict=False)
    )
    terms = [(m, np.array(row)) for m, row in zip(times, counts, strict=False)]
    assert sign(*terms) == (exact > 0) - (exact < 0)


def test_sign_detects_a_difference_that_floats_do_not() -> None:
    n = 20_000
    one, other = np.zeros(n, np.int64), np.zeros(n, np.int64)
    # 1/a - 1/b with a b near 4e8, on top of sums near 1e8: a relative difference of 1e-17.
    one[1] = other[1] = 4 * 10**8
    one[n - 2] = other[n - 1] = 1
    assert sign((1, one), (-1, other)) == 1
    assert sign((1, other), (-1, one)) == -1
    assert float(neighbourhood.mean_share(one)) == float(neighbourhood.mean_share(other))


def test_lambda_is_the_exact_decimal() -> None:
    # D = 1 and dep = 19/20: in floats 1 - 0.95 is above 0.05, mathematically it is 0.05.
    selector = OFSDensityRule(0.05)
    full, less = np.zeros(20, np.int64), np.zeros(20, np.int64)
    full[1], less[1] = 20, 19
    whole, tried = neighbourhood.Dependency(full, 1.0), neighbourhood.Dependency(less, 0.95)
    assert selector.accepts(-1, tried, whole)
    assert not OFSDensityRule(0.0499).accepts(-1, tried, whole)
    assert not OFSDensityRule(variant="program").accepts(-1, tried, whole)


# --- the order of pruning ------------------------------------------------------------------------


def copies() -> tuple[np.ndarray, np.ndarray]:
    """Ten copies of a perfect feature: each new one ties with those before it."""
    y = np.arange(40) % 2
    return np.column_stack([y + 2.0 * k for k in range(10)]), y


def test_only_the_seed_determines_the_draw() -> None:
    X, y = copies()
    kept = [OFSA3M(random_state=seed).fit(X, y).kept_.tolist() for seed in range(20)]
    assert all(len(k) == 1 for k in kept)
    assert len({k[0] for k in kept}) > 3
    assert OFSA3M(order="natural").fit(X, y).kept_.tolist() == [9]
    # A draw depends only on the new feature, not on later or intermediate ones.
    first = OFSA3M(random_state=3).fit(X[:, :6], y).log_.state()
    whole = OFSA3M(random_state=3).fit(X, y).log_.state()
    events = len(first["event_at"])
    assert np.array_equal(whole["event_feature"][:events], first["event_feature"])


# --- sentences and errors ------------------------------------------------------------------------


def test_sentences_carry_the_numbers() -> None:
    y = np.repeat([0, 1], 10)
    live = OFSA3M(order="natural").start(y)
    live.feed(np.where(np.arange(20) < 6, 5.0, 0.0), names=["half"])
    live.feed(np.ones(20), names=["flat"]).feed(np.arange(20) % 2, names=["odd"])
    live.feed(y, names=["all"])
    why = live.log_.why
    assert why("half") == "half is kept: nothing was kept before it, and dep(half)=0.692"
    assert why("flat") == "flat was dropped as irrelevant: it has the same value in every row"
    assert why("odd") == (
        "odd was dropped as irrelevant: dep(odd)=0.444 is below 0.692, the mean of the kept "
        "features"
    )
    assert why("all") == (
        "all is kept: dep(all)=1 is not below 0.692, the mean of the kept features, and it raises "
        "the dependency of the kept set from 0.692 to 1"
    )
    live.feed(1 - y, names=["turned"])
    assert live.get_feature_names_out().tolist() == ["turned"]
    assert why("half") == (
        "half was kept until turned arrived and made it redundant: the dependency of the kept set "
        "is 1 with both and still 1 without half"
    )
    assert why("turned") == (
        "turned is kept: dep(turned)=1 is not below 0.846, the mean of the kept features, and the "
        "dependency of the kept set is 1 with it where it was 1 before"
    )
    program = OFSA3M(variant="program").start(y).feed(y).feed(np.arange(20) % 2)
    assert program.log_.why("x1") == (
        "x1 was dropped as irrelevant: dep(x1)=0.5 is not above 1, the dependency of the kept set "
        "over its size"
    )
    X, y = copies()
    dropped = OFSA3M(random_state=1).fit(X, y)
    redundant = np.flatnonzero(dropped.log_.verdicts == tamis.Verdict.REDUNDANT)
    assert dropped.log_.why(int(redundant[0])) == (
        f"x{redundant[0]} was dropped as redundant: the dependency of the kept set is 1 with it "
        "and still 1 without it"
    )


def test_a_feature_that_does_harm_is_dropped_with_the_numbers() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    X = rng.normal(size=(40, 30)) + y[:, None] * rng.random(30)
    found = OFSA3M().fit(X, y)
    worse = next(d for d in found.log_.events() if d.reason == "worse")
    assert worse.value < worse.level
    assert found.log_.why(worse.feature) == (
        f"x{worse.feature} was dropped as redundant: the dependency of the kept set is "
        f"{worse.level:.3g} without it and {worse.value:.3g} with it"
    )


def test_a_value_just_below_the_gate_is_shown_with_all_digits() -> None:
    n = 6_000
    full, shares = np.zeros(n, np.int64), np.zeros(n, np.int64)
    full[1] = n
    # One neighbour of one row is wrong: a difference that float32, as in bulk, cannot hold.
    shares[1], shares[n - 1] = n - 1, n - 2
    alone = neighbourhood.Dependency(shares, float(neighbourhood.mean_share(shares)))
    assert np.float32(alone.value) == 1.0
    live = OFSA3M().start(np.arange(n) % 2)
    live._selector._kept.gate = [neighbourhood.Dependency(full, 1.0)]
    live._selector._kept.mean = 1.0
    live.log_.append_bulk(np.ones(2), 1.0, "irrelevant")
    live._selector._meet(neighbourhood.LineColumn(1, np.zeros(n), 1.0, alone))
    assert live.log_.why("x1") == (
        "x1 was dropped as irrelevant: dep(x1)=0.99999997 is below 1, the mean of the kept features"
    )


@pytest.mark.parametrize(("selector", "seed"), [(OFSA3M(random_state=2), 18), (OFSDensity(), 5)])
def test_the_numbers_in_the_log_are_those_of_the_sets(selector, seed) -> None:
    rng = np.random.default_rng(seed)  # seeds on which every reason is met
    y = rng.integers(0, 2, 24)
    on = rng.random((24, 40)) < 0.25 + 0.4 * y[:, None] * rng.random(40)
    X = on * rng.integers(1, 3, 40).astype(float)
    selector.fit(X, y)
    rule = selector._rule.neighbours["paper"]

    def of(features: set[int]) -> float:
        return dependency(X[:, sorted(features)], y, rule) if features else 0.0

    kept: set[int] = set()
    seen = set()
    trial: set[int] | None = None
    for d in selector.log_.events():
        seen.add(d.reason)
        if d.reason == "irrelevant":
            continue
        trial = trial or {*kept, *d.because, d.feature}
        assert d.relevance == of({d.feature})
        if d.reason in ("evicted", "unneeded"):
            assert (d.level, d.value) == (of(trial), of(trial - {d.feature}))
            trial.discard(d.feature)
        elif d.reason == "worse":
            assert (d.level, d.value) == (of(kept), of(trial))
            trial = set(kept)
        else:
            assert (d.level, d.value) == (of(kept), of(trial))
        if "mean" in d.evidence:
            mean = np.mean([of({f}) for f in kept]) if kept else 0.0
            assert d.evidence["mean"] == pytest.approx(mean)
        if d.reason != "evicted":
            kept, trial = trial, None
    assert sorted(kept) == selector.kept_.tolist()
    assert seen == {"first", "kept", "needed", "evicted", "unneeded", "worse"}


@pytest.mark.parametrize("selector", [OFSA3M(), OFSDensity()])
def test_invalid_input_gives_one_sentence(selector) -> None:
    name = type(selector).__name__
    with pytest.raises(tamis.TamisError, match="needs classes, and y holds real numbers"):
        selector.fit(np.eye(4), [0.5, 1.2, 0.1, 2.2])
    with pytest.raises(
        tamis.TamisError,
        match=r"distances between all pairs of 30,000 rows would take 7.2 GB; at most 20,000 rows "
        r"\(3.2 GB\)",
    ):
        selector.start(np.arange(30_000) % 2)
    for wrong in (
        {"variant": "book"},
        {"order": "sorted"},
        {"random_state": -1},
        {"random_state": 0.5},
    ):
        with pytest.raises(tamis.TamisError, match=f"{name}: {next(iter(wrong))}="):
            type(selector)(**wrong).fit(np.eye(4), [0, 1, 0, 1])


def test_too_many_kept_features_for_the_distances_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(neighbourhood, "MOST_FEATURES", 1)
    with pytest.raises(tamis.TamisError, match="at most 1 features can be kept"):
        dependency(np.arange(12.0).reshape(6, 2) % 5, [0, 0, 0, 1, 1, 1])


def test_lambda_is_checked() -> None:
    with pytest.raises(tamis.TamisError, match=r"OFSDensity: lam=1.5 is not a number at least 0"):
        OFSDensity(1.5).fit(np.eye(4), [0, 1, 0, 1])


# --- work ----------------------------------------------------------------------------------------


def test_only_features_that_reach_the_gate_are_tried_and_once_each() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 40)) + (np.arange(40) % 8 == 0) * y[:, None]
    found = OFSA3M().fit(sp.csc_matrix(X), y)
    met = found.work_["reached_the_gate"]
    assert 1 < met < 20
    # Nothing ties here, and the first is a set of one, which needs no distances.
    assert found.work_ == {"features": 40, "reached_the_gate": met, "set_dependencies": met - 1}
    assert found.log_.n_events == met


def test_parameters_saved_under_their_former_names_are_read() -> None:
    rule = BY_METHOD["ofs-a3m"].from_saved({"variant": "program", "order": "random", "seed": 3})
    assert rule.get_params() == {"variant": "program", "order": "random", "random_state": 3}
    saved = {"penalty": 0.2, "l2": 0.0, "scale": "deviation", "tolerance": 1e-5}
    expected = {"penalty": 0.2, "l2": 0.0, "scale": "std", "tol": 1e-5}
    assert BY_METHOD["grafting"].from_saved(saved).get_params() == expected
