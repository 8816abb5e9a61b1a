"""SAOLA's walk for many new features at once, against a plain walk of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis.measures.fisher_z as correlations
import tamis.measures.mutual_information as information
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels.walk import (
    EVICTED,
    KEPT,
    REDUNDANT,
    TIED,
    foresee_walk,
    replay_walk,
    walk_correlations,
    walk_information,
)
from tamis.measures.fisher_z import FisherZ
from tamis.measures.measure import Measure
from tamis.measures.mutual_information import MutualInformation, SymmetricUncertainty
from tamis.measures.panels import Walk
from tamis.methods.measured import Kept


def walk_of_one(pairs, kept, mine, use_max, older_takes_ties, resolution):
    evicts = False
    for y, other in enumerate(kept):
        bound = max(mine, other) if use_max else min(mine, other)
        if pairs[y] < bound - resolution:
            continue
        if abs(mine - other) <= resolution:
            if older_takes_ties:
                return y, evicts
        elif other > mine:
            return y, evicts
        else:
            evicts = True
    return -1, evicts


grid = st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-13, 0.75, 1.0])


@pytest.mark.parametrize("run", [foresee_walk, foresee_walk.py_func], ids=["compiled", "plain"])
@given(
    st.lists(grid, max_size=5),
    st.lists(grid, max_size=4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 1e-12]),
    st.integers(0, 999),
)
@settings(max_examples=150)
def test_each_new_feature_ends_where_its_own_walk_would(run, kept, new, use_max, ties, res, seed):
    pairs = np.random.default_rng(seed).choice([0.0, 0.25, 0.5, 0.6, 1.0], (len(new), len(kept)))
    ends, evicts = np.full(len(new), -9, np.intp), np.empty(len(new), np.bool_)
    run(pairs, np.array(kept), np.array(new), use_max, ties, res, ends, evicts)
    for i, mine in enumerate(new):
        wanted = walk_of_one(pairs[i], kept, mine, use_max, ties, res)
        assert (int(ends[i]), bool(evicts[i])) == wanted


def replay_naively(pairs, kept, new, use_max, ties, res, is_open, required):
    """Walk with every pair at hand; stop before a newcomer that is not open and not dropped."""
    relevance, alive = [*kept, *new], [*range(len(kept))]
    events = []
    for i, mine in enumerate(new):
        leave, end = [], None
        for y in alive:
            bound = (max if use_max else min)(mine, relevance[y])
            if pairs[len(kept) + i, y] < bound - res:
                continue
            if abs(relevance[y] - mine) <= res:
                if not ties:
                    continue
                end = (y, 2)
            elif relevance[y] > mine:
                end = (y, 1)
            else:
                leave.append((y, bound))
                continue
            break
        if end is None and not is_open[i]:
            return i, events, alive
        me = len(kept) + i
        for y, bound in leave:
            if y >= required:
                events.append((i, y, me, 3, pairs[me, y], bound))
                alive.remove(y)
        if end is None:
            events.append((i, me, -1, 0, np.nan, 0.5))
            alive.append(me)
        else:
            bound = (max if use_max else min)(mine, relevance[end[0]])
            events.append((i, me, *end, pairs[me, end[0]], bound))
    return len(new), events, alive


@pytest.mark.parametrize("run", [replay_walk, replay_walk.py_func], ids=["compiled", "plain"])
@given(
    st.lists(grid, max_size=5),
    st.lists(grid, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 1e-12]),
    st.integers(0, 2),
    st.integers(0, 999),
)
@settings(max_examples=150)
def test_a_replay_decides_as_if_all_pairs_were_at_hand(
    run, kept, new, use_max, ties, res, required, seed
):
    rng = np.random.default_rng(seed)
    n = len(kept) + len(new)
    pairs = rng.choice([0.0, 0.25, 0.5, 0.6, 1.0], (n, n))
    is_open, relevance = rng.random(len(new)) < 0.7, np.array([*kept, *new])
    wanted = replay_naively(pairs, kept, new, use_max, ties, res, is_open, required)
    below = np.tril(np.ones((n, n), bool), -1)[len(kept) :]
    lower = np.maximum if use_max else np.minimum
    bound = lower(relevance[len(kept) :, None], relevance)
    owner, slots = np.nonzero(below & (pairs[len(kept) :] >= bound - res))
    indptr = np.searchsorted(owner, np.arange(len(new) + 1))
    values = pairs[len(kept) + owner, slots]
    alive = np.arange(n) < len(kept)
    events, numbers = np.empty((n + n * n, 4), np.int64), np.empty((n + n * n, 2))
    first, found = 0, []
    while True:  # with pauses, the walk goes on where it ended
        pause = bool(rng.random() < 0.5)
        end, count = run(
            first, len(new), indptr, slots, values, relevance, np.full(len(new), 0.5), alive,
            is_open, len(kept), required, use_max, ties, res, pause, events, numbers,
        )  # fmt: skip
        found += [(*events[k].tolist(), *numbers[k].tolist()) for k in range(count)]
        if end == first or end == len(new):
            break
        first = end
    assert end == wanted[0]
    assert np.flatnonzero(alive).tolist() == sorted(wanted[2])
    assert np.array_equal(np.array(found), np.array(wanted[1]), equal_nan=True)


def plain_walk(X, relevance, levels, measure, use_max, older_takes_ties, required):
    """Events of the walk, from strengths of all pairs and lists."""
    pairs, rounding = measure.between(X, X), measure.resolution
    kept, events = [], []
    for i, mine in enumerate(relevance):
        for y in list(kept):
            bound = max(mine, relevance[y]) if use_max else min(mine, relevance[y])
            if pairs[i, y] < bound - rounding:
                continue
            tied = abs(mine - relevance[y]) <= rounding
            if relevance[y] > mine if not tied else older_takes_ties:
                events.append((i, i, TIED if tied else REDUNDANT, mine, pairs[i, y], bound, y))
                break
            if not tied and y >= required:
                kept.remove(y)
                events.append((i, y, EVICTED, relevance[y], pairs[i, y], bound, i))
        else:
            kept.append(i)
            events.append((i, i, KEPT, mine, np.nan, levels[i], -1))
    return kept, events


def column(kind, rng, n):
    """A column of one kind: whole, sparse, with few or with many levels."""
    if kind == "whole":
        return rng.normal(size=n)
    if kind == "sparse":
        return np.where(rng.random(n) < 0.1, rng.integers(1, 4, n), 0)
    return rng.integers(0, {"flag": 2, "few": 4, "many": 14}[kind], n)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize(
    "measure", [FisherZ(), MutualInformation(), SymmetricUncertainty()], ids=lambda m: m.name
)
@pytest.mark.parametrize("seed", range(4))
def test_the_whole_walk_is_that_of_lists(compiled, measure: Measure, seed, monkeypatch):
    if not compiled:
        monkeypatch.setattr(correlations, "walk_correlations", walk_correlations.py_func)
        monkeypatch.setattr(information, "walk_information", walk_information.py_func)
    rng = np.random.default_rng(seed)
    n, width = (130, 60) if compiled else (70, 18)
    kinds = rng.choice(["whole", "sparse", "flag", "few", "many"], width)
    X = np.column_stack([column(kind, rng, n) for kind in kinds]).astype(float)
    X[:, 1::6] = X[:, :-1:6] * np.where(rng.random(len(X[0, 1::6])) < 0.5, -1.0, 2.0)
    if measure.kind == "discrete":
        X = np.round(X)
    relevance = rng.choice([0.05, 0.1, 0.1 + 1e-14, 0.2, 0.3], width)
    levels, required = rng.random(width), int(rng.integers(0, 2))
    use_max, older_takes_ties = bool(seed % 2), seed < 2
    panel = measure.panel(Target.of(rng.integers(0, 2, n)))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(width))
    kept = Kept(panel, measure)
    about = (np.arange(width), relevance, levels)
    walk = Walk(about, (use_max, older_takes_ties, measure.resolution, required), kept)
    for lo in range(0, width, 7):  # a walk goes on where another one ended
        panel.walk(ready, lo, min(lo + 7, width), walk)
    settled_by, features, codes, numbers, causes = walk.take_events()
    wanted, events = plain_walk(X, relevance, levels, measure, use_max, older_takes_ties, required)
    found = zip(settled_by, features, codes, *numbers.T, causes, strict=True)
    assert np.array_equal(np.array(list(found)), np.array(events), equal_nan=True)
    assert kept.features.tolist() == wanted
    assert len(panel) == len(wanted)
    # The panel compares as one that the kept columns were added to.
    added = measure.panel(Target.of(rng.integers(0, 2, n)))
    for i in wanted:
        added.add(ready[i])
    assert np.array_equal(panel.between_many(ready, 0, width), added.between_many(ready, 0, width))


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("measure", [FisherZ(), SymmetricUncertainty()], ids=lambda m: m.name)
@pytest.mark.parametrize("between", [False, True], ids=["inside", "between"])
def test_newcomers_meet_only_their_own_group_or_only_earlier_ones(
    compiled, measure: Measure, between, monkeypatch
):
    if not compiled:
        monkeypatch.setattr(correlations, "walk_correlations", walk_correlations.py_func)
        monkeypatch.setattr(information, "walk_information", walk_information.py_func)
    rng = np.random.default_rng(5)
    n, width = (130, 90) if compiled else (70, 18)
    kinds = rng.choice(["whole", "sparse", "flag", "few", "many"], width)
    X = np.column_stack([column(kind, rng, n) for kind in kinds]).astype(float)
    for j in np.flatnonzero(rng.random(width) < 0.6)[1:].tolist():
        X[:, j] = X[:, rng.integers(0, j)]
    X = np.round(X) if measure.kind == "discrete" else X
    relevance, levels = rng.choice([0.05, 0.1, 0.2, 0.3], width), rng.random(width)
    starts = np.array([0, 4, 5, 12, 30, 31, 62])
    since = starts[np.searchsorted(starts, np.arange(width), side="right") - 1]
    pairs, kept, events = measure.between(X, X), [], []
    for i, mine in enumerate(relevance):
        for y in [y for y in kept if (since[y] < since[i] if between else since[y] == since[i])]:
            other, value = relevance[y], pairs[i, y]
            bound = min(mine, other)
            if value < bound - measure.resolution:
                continue
            if other >= mine:
                what = TIED if other == mine else REDUNDANT
                events.append((i, i, what, mine, value, bound, y))
                break
            kept.remove(y)
            events.append((i, y, EVICTED, other, value, bound, i))
        else:
            kept.append(i)
            events.append((i, i, KEPT, mine, np.nan, levels[i], -1))
    panel = measure.panel(Target.of(rng.integers(0, 2, n)))
    ready, alive = panel.prepare(ColumnBlock.of(X), np.arange(width)), Kept(panel, measure)
    numbers = (False, True, measure.resolution, 0)
    walk = Walk((np.arange(width), relevance, levels), numbers, alive, (since, between))
    for lo in range(0, width, 7):  # also in the middle of a group
        panel.walk(ready, lo, min(lo + 7, width), walk)
    settled_by, features, codes, figures, causes = walk.take_events()
    found = zip(settled_by, features, codes, *figures.T, causes, strict=True)
    assert set(codes.tolist()) == {KEPT, REDUNDANT, TIED, EVICTED}
    assert np.array_equal(np.array(list(found)), np.array(events), equal_nan=True)
    last = kept if between else [y for y in kept if since[y] == since[-1]]
    assert alive.features.tolist() == last
    assert len(panel) == len(last)
