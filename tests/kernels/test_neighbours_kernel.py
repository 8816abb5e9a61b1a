"""Neighbourhood kernels, compiled and plain, against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels.line import (
    alone,
    alone_columns,
    find_levels,
    line_shares,
    reach,
    rescale,
    room,
)
from tamis.kernels.neighbours import (
    ENDS_FALLING,
    ENDS_RISING,
    GAP,
    add_column,
    density_neighbours,
    first_reaching,
    gap_neighbours,
    mean_in_order,
    mean_share,
    set_shares,
    spread,
)

ROOT = 2.0**18


def both(kernel):
    return pytest.mark.parametrize("run", [kernel, kernel.py_func], ids=["compiled", "plain"])


def by_sorting(near, i, itself, codes, rule):
    """Neighbours of row i on whole squared distances far from any tie of gaps or densities."""
    n = len(near)
    rows = sorted((j for j in range(n) if j != itself), key=lambda j: (near[j], j))
    d = [float(near[j]) ** 0.5 for j in rows]
    widest = 1.5 * (d[-1] - d[0]) / (n - 2) if n > 2 else 0.0
    k = 1
    while k < n - 1:
        density, last = d[k] / (k + 1), d[k - 1] / k
        goes_on = {
            GAP: d[k] - d[k - 1] < widest,
            ENDS_RISING: d[k] == 0 or density <= last,
            ENDS_FALLING: density >= last,
        }
        if not goes_on[rule]:
            break
        k += 1
    return k, sum(bool(codes[j] == codes[i]) for j in rows[:k])


def distances(seed: int, n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """One row of distances, with copies and ties, or with one row far from all others."""
    rng = np.random.default_rng(seed)
    near = rng.integers(0, 10**12, n) if kind == "spread" else rng.integers(0, 5, n) ** 4 * 10**9
    if kind == "far":
        near[rng.integers(n)] = 10**17
    near[0] = 0
    return near, rng.integers(0, 2, n).astype(np.uint16)


rows_of = st.builds(
    distances,
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.sampled_from(["spread", "ties", "far"]),
)


@both(gap_neighbours)
@settings(max_examples=100)
@given(data=rows_of)
def test_gaps_are_found_without_sorting(run, data) -> None:
    near, codes = data
    n = len(near)
    found = run(near, 0, 0, codes, 0.0, np.empty(2 * n), np.empty(2 * n))
    assert tuple(map(int, found)) == by_sorting(near, 0, 0, codes, GAP)


@both(density_neighbours)
@pytest.mark.parametrize("rule", [ENDS_FALLING, ENDS_RISING])
@settings(max_examples=100)
@given(data=rows_of)
def test_the_walk_by_density_is_the_sorted_one(run, rule, data) -> None:
    near, codes = data
    n = len(near)
    slack = 1.0 if rule == ENDS_FALLING else 0.0
    found = run(near, 0, 0, codes, rule, slack, np.empty(n, np.int64), np.empty(n + 2, np.int64))
    assert tuple(map(int, found)) == by_sorting(near, 0, 0, codes, rule)


@both(spread)
@settings(max_examples=50)
@given(data=rows_of, itself=st.integers(0, 1))
def test_bins_hold_every_other_row_once_near_bins_first(run, data, itself) -> None:
    near, _ = data
    n = len(near)
    order, start = np.full(n, -1), np.empty(n + 2, np.int64)
    run(near, itself, order, start)
    assert start[0] == 0
    assert start[n] == n - 1
    assert sorted(order[: n - 1].tolist()) == [j for j in range(n) if j != itself]
    farthest = -1
    for b in range(n):
        inside = order[start[b] : start[b + 1]]
        assert np.all(np.diff(inside) > 0)
        if len(inside):
            assert near[inside].min() >= farthest
            farthest = near[inside].max()


@both(rescale)
@settings(max_examples=50)
@given(seed=st.integers(0, 999), power=st.integers(-1060, 1000), zeros=st.integers(0, 3))
def test_differences_are_in_standard_deviations(run, seed, power, zeros) -> None:
    whole = np.random.default_rng(seed).integers(1, 9, 6)
    values, out = np.ldexp(whole.astype(float), power), np.empty(6)
    factor = run(values, 6, 6 + zeros, 1.0, out)
    deviation = np.std(np.append(whole, np.zeros(zeros)), ddof=1)
    if deviation == 0:
        assert factor == 0.0
    else:
        expected = (whole - whole[0]) / deviation
        assert (out - out[0]) * factor == pytest.approx(expected, rel=1e-13, abs=1e-13)


def column(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    x = rng.integers(-2, 3, n).astype(float) if kind == "codes" else rng.normal(size=n)
    x[rng.random(n) < 0.3] = 0.0
    # Never constant; no two distances of reals are in the ratio of whole numbers, which would tie.
    x[0], x[1] = 1.0, -1.0 if kind == "codes" else -(2.0**0.5)
    return x, rng.integers(0, 3, n).astype(np.uint16)


columns = st.builds(column, st.integers(0, 2**32 - 1), st.sampled_from(["codes", "reals"]))


@both(find_levels)
@settings(max_examples=50)
@given(data=columns)
def test_levels_are_the_sorted_values(run, data) -> None:
    x, codes = data
    n, rows = len(x), np.flatnonzero(x).astype(np.int32)
    level, lowest, size_before, class_before, of, _, _ = room(n, 3)
    totals = np.bincount(codes, minlength=3)
    found = run(
        rows, x[rows], len(rows), codes, totals, level, lowest, size_before, class_before, of
    )
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    assert level[:found].tolist() == values.tolist()
    assert lowest[:found].tolist() == first.tolist()
    assert np.diff(size_before[: found + 1]).tolist() == counts.tolist()
    table = np.zeros((len(values), 3), int)
    np.add.at(table, (inverse, codes), 1)
    assert np.diff(class_before[: found + 1], axis=0).tolist() == table.tolist()
    assert of[: len(rows)].tolist() == inverse[rows].tolist()


@both(alone)
@pytest.mark.parametrize("rule", [GAP, ENDS_FALLING, ENDS_RISING])
@pytest.mark.parametrize("program", [False, True])
@settings(max_examples=40)
@given(data=columns)
@example(data=column(675939, "reals"))  # two rows are nearer than half a unit, and no copies
def test_a_line_has_the_neighbourhoods_of_a_set_of_one(run, rule, program, data) -> None:
    """The walk by levels against all distances."""
    x, codes = data
    if program and len(np.unique(x)) < 6:
        return  # where distances tie, the programs let bits decide, which a set does not have
    n, rows = len(x), np.flatnonzero(x).astype(np.int32)
    totals, scaled, shares = np.bincount(codes, minlength=3), np.empty(n), np.empty(n, np.int64)
    value, factor = run(
        rows, x[rows], len(rows), codes, totals, ROOT, rule, program, room(n, 3), scaled, shares
    )
    whole = np.zeros(n)
    whole[rows] = scaled[: len(rows)]
    squares, expected, share = np.zeros((n, n), np.int64), np.zeros(n, np.int64), np.empty(n)
    none = np.zeros(0)
    add_column(squares, whole, factor, 1, program, 0, n)
    set_shares(
        squares, none, 0.0, none, 0.0, codes, rule, program, 1, 0, n, expected, share
    )  # fmt: skip
    assert shares.tolist() == expected.tolist()
    assert value == (mean_in_order(share) if program else mean_share(expected))


@pytest.mark.parametrize("rule", [GAP, ENDS_FALLING, ENDS_RISING])
@pytest.mark.parametrize("program", [False, True])
def test_the_walk_on_a_line_is_the_same_compiled_and_plain(rule, program) -> None:
    for x, codes in (column(seed, kind) for seed in range(10) for kind in ("codes", "reals")):
        n, rows = len(x), np.flatnonzero(x).astype(np.int32)
        level, lowest, size_before, class_before, of, share, _ = room(n, 3)
        totals, shares = np.bincount(codes, minlength=3), np.zeros(n, np.int64)
        found = find_levels(
            rows, x[rows], len(rows), codes, totals, level, lowest, size_before, class_before, of
        )
        for v in range(found):
            walk = (v, level, lowest, size_before, found, ROOT, rule, program)
            assert reach.py_func(*walk) == reach(*walk)
        line_shares.py_func(
            level, lowest, size_before, class_before, found, codes, ROOT, rule, program,
            shares, share,
        )  # fmt: skip
        again = np.zeros(n, np.int64)
        line_shares(
            level, lowest, size_before, class_before, found, codes, ROOT, rule, program,
            again, share,
        )  # fmt: skip
        assert shares.tolist() == again.tolist()


@both(add_column)
def test_columns_are_added_and_taken_away_exactly(run) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=9)
    before = rng.integers(0, 1000, (9, 9))
    squares = before.copy()
    run(squares, x, ROOT, 1, False, 0, 4)
    run(squares, x, ROOT, 1, False, 4, 9)
    assert (squares - before).tolist() == np.floor(
        ((x[:, None] - x[None]) * ROOT) ** 2 + 0.5
    ).astype(int).tolist()  # fmt: skip
    run(squares, x, ROOT, -1, False, 0, 9)
    assert np.array_equal(squares, before)


@both(add_column)
def test_rows_that_are_near_are_not_copies_to_the_programs(run) -> None:
    x = np.array([1.0, 1.0, np.nextafter(1.0, 2.0), 2.0])
    for program, near in ((False, 0), (True, 1)):
        squares = np.zeros((4, 4), np.int64)
        run(squares, x, ROOT, 1, program, 0, 4)
        assert squares[:3, :3].tolist() == [[0, 0, near], [0, 0, near], [near, near, 0]]
        run(squares, x, ROOT, -1, program, 0, 4)
        assert not squares.any()


@both(set_shares)
@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize("rule", [GAP, ENDS_FALLING, ENDS_RISING])
def test_sets_are_counted_row_by_row(run, rule, program) -> None:
    rng = np.random.default_rng(1)
    n = 30
    x, plus, minus = rng.integers(0, 3, n) * 1.0, rng.normal(size=n), rng.normal(size=n)
    plus[7], minus[7], x[7] = plus[3], minus[3], x[3]  # row 7 is a copy of row 3
    codes = rng.integers(0, 3, n).astype(np.uint16)
    squares = np.zeros((n, n), np.int64)
    for column_, sign in ((x, 1), (minus, 1)):
        add_column(squares, column_, ROOT, sign, program, 0, n)
    shares, share = np.zeros(n, np.int64), np.zeros(n)
    for lo, hi in ((0, 11), (11, n)):
        run(
            squares, plus, ROOT, minus, ROOT, codes, rule, program, 2, lo, hi, shares, share
        )  # fmt: skip
    add_column(squares, plus, ROOT, 1, program, 0, n)
    add_column(squares, minus, ROOT, -1, program, 0, n)
    expected = np.zeros(n, np.int64)
    for i in range(n):
        itself = int(np.flatnonzero(squares[i] == 0)[0]) if program else i
        count, same = by_sorting(squares[i], i, itself, codes, rule)
        expected[count] += same
        assert share[i] == same / count
    assert shares.tolist() == expected.tolist()


@both(alone_columns)
def test_sparse_columns_are_like_dense_ones(run) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 6)) * (rng.random((25, 6)) < 0.4)
    X[:, 2], X[:, 4] = 0.0, 3.0
    codes = rng.integers(0, 2, 25).astype(np.uint16)
    how = (codes, np.bincount(codes), ROOT, GAP, False)
    rows = [np.flatnonzero(c).astype(np.int32) for c in X.T]
    indptr = np.cumsum([0, *map(len, rows)])
    sparse, dense = np.empty(6), np.empty(6)
    values = np.concatenate([c[r] for c, r in zip(X.T, rows, strict=True)])
    run(np.empty(0), indptr, np.concatenate(rows), values, *how, 0, 6, sparse)
    run(*ColumnBlock.of(X).arrays, *how, 0, 6, dense)
    assert sparse.tolist() == dense.tolist()
    assert np.flatnonzero(sparse == -1).tolist() == [2, 4]


@both(first_reaching)
def test_the_first_that_reaches_a_bound(run) -> None:
    values = np.array([0.1, 0.5, 0.2, 0.5])
    assert [run(values, start, 0.5) for start in range(5)] == [1, 1, 3, 3, 4]
    assert run(values, 0, 0.6) == 4


@both(mean_share)
def test_counts_make_a_mean(run) -> None:
    assert run(np.array([0, 2, 1, 0])) == 2.5 / 4


@both(mean_in_order)
def test_shares_make_a_mean(run) -> None:
    assert run(np.array([1.0, 0.5, 0.0, 1.0])) == 2.5 / 4
