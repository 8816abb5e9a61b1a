"""Gates give the levels of their papers, however the p-values are cut and saved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from online_fdr.p_values.batching.bh import BatchBH as TheirBatchBH
from online_fdr.p_values.investing.addis.addis import Addis as TheirAddis
from online_fdr.p_values.investing.lond.lond import Lond as TheirLond
from online_fdr.p_values.investing.lord.plus_plus import LordPlusPlus as TheirLord
from online_fdr.p_values.investing.saffron.saffron import Saffron as TheirSaffron
from online_fdr.p_values.spending.alpha_spending import AlphaSpending as TheirSpending
from online_fdr.p_values.spending.functions.lord_three import LordThree
from scipy.stats import false_discovery_control
from tests.methods import slow_gates

from tamis.core.errors import SourceError
from tamis.kernels import gate_levels as kernels
from tamis.methods.gates import GATES, Gate, shares_left

STREAMING = [name for name, gate in GATES.items() if not gate.waits]


def p_values(n: int, signals: float, seed: int = 0) -> np.ndarray:
    """P-values of noise, and of some signals, a part of them in clumps."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    strong = rng.random(n) < signals
    for start in rng.integers(0, n, max(1, n // 20_000)):
        strong[start : start + 300] = True
    p[strong] *= 10.0 ** -rng.uniform(0, 12, int(strong.sum()))
    return p


def with_levels(gate: Gate, p: np.ndarray) -> tuple[list[bool], np.ndarray]:
    met = gate.test(p, watch=np.zeros(len(p)))
    assert met.tested.all()
    return met.found.tolist(), met.level


def theirs(test, p: np.ndarray) -> tuple[list[bool], np.ndarray]:
    found, levels = [], []
    for value in p.tolist():
        found.append(test.test_one(value))
        levels.append(test.alpha)
    return found, np.array(levels)


@pytest.mark.parametrize(
    ("name", "n", "peer"),
    [
        ("lord++", 20_000, lambda n: TheirLord(0.1, 0.05)),
        pytest.param("lord++", 100_000, lambda n: TheirLord(0.1, 0.05), marks=pytest.mark.slow),
        ("lond", 5_000, lambda n: TheirLond(0.1)),
        ("spending", 5_000, lambda n: TheirSpending(0.1, LordThree(n))),
        ("saffron", 5_000, lambda n: TheirSaffron(0.1, 0.05, 0.5)),
        ("addis", 5_000, lambda n: TheirAddis(0.1, 0.05, 0.25, 0.5)),
    ],
)
def test_levels_and_finds_are_those_of_online_fdr(name, n, peer):
    p = p_values(n, 0.01)
    found, levels = with_levels(GATES[name](0.1), p)
    expected, their_levels = theirs(peer(n), p)
    assert found == expected
    assert sum(found) > 5
    np.testing.assert_allclose(levels, their_levels, rtol=1e-12, atol=0)


def test_tables_are_decided_as_by_online_fdr():
    gate, peer = GATES["batch-bh"](0.1), TheirBatchBH(0.1)
    for seed, n in enumerate([500, 40, 3000, 500]):
        p = p_values(n, 0.02, seed)
        assert gate.test(p).found.tolist() == peer.test_batch(p.tolist())
    assert gate.finds > 20


def test_one_table_is_decided_as_by_scipy():
    for name, method in (("bh", "bh"), ("by", "by")):
        p = p_values(2000, 0.1)
        found = GATES[name](0.1).test(p).found
        assert found.tolist() == (false_discovery_control(p, method=method) <= 0.1).tolist()
        assert found.sum() > 50


SLOW = {
    "lord++": slow_gates.lord,
    "lond": lambda p, alpha: slow_gates.lond(p, alpha, lambda r: r),
    "lond-any": lambda p, alpha: slow_gates.lond(p, alpha, slow_gates.shape),
    "spending": lambda p, alpha: slow_gates.lond(p, alpha, lambda r: 1),
    "saffron": lambda p, alpha: slow_gates.candidates(p, alpha, 0.5, 2.0),
    "addis": lambda p, alpha: slow_gates.candidates(p, alpha, 0.25, 0.5),
}

some_p = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.01])), max_size=60
)


@pytest.mark.parametrize("name", STREAMING)
@given(p=some_p, alpha=st.sampled_from([0.05, 0.1, 0.5]))
@settings(max_examples=50, deadline=None)
def test_levels_are_those_of_the_formula(name, p, alpha):
    found, levels = with_levels(GATES[name](alpha), np.array(p))
    expected, slow_levels = SLOW[name](p, alpha)
    assert found == expected
    np.testing.assert_allclose(levels, slow_levels, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["bh", "by", "batch-bh"])
@given(p=some_p.filter(len))
@settings(max_examples=50, deadline=None)
def test_tables_are_those_of_the_formula(name, p):
    alpha = {"bh": 0.2, "by": 0.2 / sum(1 / i for i in range(1, len(p) + 1))}.get(
        name, 0.2 * 0.4374901658
    )
    met = GATES[name](0.2).test(p)
    assert met.found.sum() == slow_gates.step_up(p, alpha)
    if met.found.any():
        assert max(np.array(p)[met.found]) <= met.level[0]


@pytest.mark.parametrize("name", STREAMING)
def test_neither_blocks_nor_restarts_change_a_decision(name):
    n = 30_000
    p = p_values(n, 0.02, 3)
    rng = np.random.default_rng(4)
    least_p = 10.0 ** -rng.uniform(0, 9, n)
    p = np.maximum(p, least_p)
    whole = GATES[name](0.1)
    met = whole.test(p, least_p)
    assert met.found.sum() > 0
    assert not met.tested.all()
    gate = GATES[name](0.1)
    cuts = np.unique(np.concatenate([[0, n], rng.integers(0, n, 40)])).tolist()
    for lo, hi in itertools.pairwise(cuts):
        part = gate.test(p[lo:hi], least_p[lo:hi])
        assert part.found.tolist() == met.found[lo:hi].tolist()
        assert part.tested.tolist() == met.tested[lo:hi].tolist()
        assert part.level.tolist() == met.level[lo:hi].tolist()
        saved, gate = gate.memory, GATES[name](0.1)
        gate.memory = saved
    assert (gate.tests, gate.finds, gate.level) == (whole.tests, whole.finds, whole.level)
    assert gate.wealth == whole.wealth


@given(data=st.data(), name=st.sampled_from(sorted(GATES)))
@settings(max_examples=60, deadline=None)
def test_a_gate_can_be_saved_at_any_point(data, name):
    tables = data.draw(st.lists(some_p, max_size=4))
    one, other = GATES[name](0.1), GATES[name](0.1)
    for p in tables:
        met = one.test(p)
        saved, other = other.memory, GATES[name](0.1)
        other.memory = saved
        again = other.test(p)
        assert met.found.tolist() == again.found.tolist()
        assert met.level.tolist() == again.level.tolist()
    assert one.wealth == other.wealth


@pytest.mark.parametrize("name", ["lond", "lond-any", "spending"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_columns_that_cannot_be_found_are_not_tests(name, data):
    p = data.draw(some_p)
    least = [value * data.draw(st.sampled_from([0, 0.5, 1])) for value in p]
    met = GATES[name](0.1).test(p, least)
    expected = slow_gates.skipping(lambda tests: SLOW[name](tests, 0.1)[1], p, least)
    assert met.found.tolist() == expected


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_skipped_column_could_not_have_been_found(data):
    """LORD++ skips by an upper bound of the level: tests are a subset, levels those of the tests"""
    p = data.draw(some_p)
    least = [value * data.draw(st.sampled_from([0, 0.5, 1])) for value in p]
    met = GATES["lord++"](0.1).test(p, least)
    tests = np.array(p)[met.tested].tolist()
    found, levels = slow_gates.lord(tests, 0.1)
    assert met.found[met.tested].tolist() == found
    assert not met.found[~met.tested].any()
    for i in np.flatnonzero(~met.tested).tolist():
        coming = slow_gates.lord([*np.array(p)[:i][met.tested[:i]].tolist(), 1.0], 0.1)[1][-1]
        assert least[i] > coming
    np.testing.assert_array_less(np.array(levels) * (1 - 1e-12), met.level[met.tested])


def test_levels_of_long_streams_are_the_sum_over_all_finds():
    """Many finds in clumps, so that all sizes of nodes are summed over their points."""
    rng = np.random.default_rng(1)
    n = 400_000
    p = rng.random(n)
    p[rng.random(n) < 0.01] = 0.0
    p[100_000:103_000] = 0.0
    gate = GATES["lord++"](0.1)
    gate.test(p)
    times = gate.memory["finds"]
    now = gate.tests + 1
    met = gate.test([0.5], watch=np.zeros(1))
    lags = (now - times).astype(float)
    share = 0.07720838 * np.log(np.maximum(lags, 2)) / (lags * np.exp(np.sqrt(np.log(lags))))
    total = 0.05 * slow_gates.g(now) + 0.05 * share[0] + 0.1 * np.sum(share[1:])
    assert len(times) > 5000
    assert met.level[0] == pytest.approx(total, rel=1e-12)


def test_wealth_is_what_levels_can_still_spend():
    gate = GATES["lord++"](0.1)
    p = p_values(3000, 0.01)
    _, levels = with_levels(gate, p)
    earned = 0.05 + 0.05 + 0.1 * (gate.finds - 1)
    assert gate.wealth == pytest.approx(earned - levels.sum(), rel=1e-9)
    sums = np.cumsum([slow_gates.g(t) for t in range(1, 20_001)])
    np.testing.assert_allclose(shares_left([5000, 20_000]), 1 - sums[[4999, 19_999]], rtol=1e-9)


def test_tampered_memory_is_refused():
    gate = GATES["lord++"](0.1)
    gate.test(np.zeros(5))
    bad = gate.memory | {"finds": np.array([3, 2, 9, 9, 9])}
    with pytest.raises(SourceError, match="do not belong together"):
        gate.memory = bad


def test_kernels_as_python():
    p = p_values(3000, 0.05)
    found, level, tested = np.zeros(3000, bool), np.empty(3000), np.zeros(3000, bool)
    numbers = np.zeros(2, np.int64)
    kernels.spend.py_func(p, np.zeros(3000), 0.1, 1, numbers, found, level, tested)
    met = GATES["lond"](0.1).test(p)
    assert found.tolist() == met.found.tolist()
    np.testing.assert_allclose(level, met.level, rtol=1e-14)
