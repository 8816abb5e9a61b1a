"""SAOLA's walk for many new features at once, against a plain walk of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.walk import foresee_walk


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
