"""Kernels of encoders: plain Python and compiled code agree, in both layouts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.kernels.bins import FREQUENCY, KMEANS, WIDTH, bin_columns, equal_frequency, kmeans
from tamis.kernels.cuts import between, code_entries, is_discrete, sort_column, survey_columns
from tamis.kernels.information import entropy_table
from tamis.kernels.mdl_cuts import best_split, mdlp_columns, mdlp_items

NOTHING = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


def both(kernel):
    return pytest.mark.parametrize("run", [kernel, kernel.py_func], ids=["compiled", "plain"])


def columns(seed=0, n=50):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n).astype(np.uint16)
    X = (np.round(rng.normal(size=(n, 4)), 1) + y[:, None]) * (rng.random((n, 4)) < 0.6)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def layouts(X):
    csc = sp.csc_matrix(X)
    sparse = (np.empty(0), csc.indptr.astype(np.int64), csc.indices, csc.data)
    return [(X.ravel(order="F"), *NOTHING), sparse]


@both(sort_column)
def test_items_are_the_values_in_order(run):
    X, y = columns()
    n = len(y)
    for layout in layouts(X):
        for j in range(4):
            rows, entries = np.empty(n + 1, np.int32), np.empty(n + 1)
            items, classes = np.empty(n + 1), np.empty(n + 1, np.int32)
            lump = np.empty(3, np.int64)
            counts = np.bincount(y, minlength=3)
            count, zeros = run(*layout, n, j, False, y, counts, rows, entries, items, classes, lump)
            there = ~np.isnan(X[:, j])
            nonzero = there & (X[:, j] != 0)
            assert zeros == (X[:, j] == 0).sum() == lump.sum()
            assert lump.tolist() == np.bincount(y[X[:, j] == 0], minlength=3).tolist()
            assert items[:count].tolist() == sorted([*X[nonzero, j], *([0.0] if zeros else [])])
            assert np.array_equal(
                np.sort(classes[:count]), np.sort([*y[nonzero], *([-1] if zeros else [])])
            )
            for value in set(items[:count].tolist()) - {0.0}:
                same = classes[:count][items[:count] == value]
                assert sorted(same) == sorted(y[X[:, j] == value])


@both(mdlp_columns)
def test_mdlp_columns(run):
    X, y = columns()
    table, unit = entropy_table(len(y))
    found = []
    for layout in layouts(X):
        stays, numbers = np.zeros(4, np.bool_), np.zeros(4, np.int64)
        cuts = run(
            *layout, len(y), False, 10.0, y, np.bincount(y, minlength=3), table, unit, stays, 0, 4,
            numbers,
        )  # fmt: skip
        found.append((cuts.tolist(), numbers.tolist(), stays.tolist()))
    assert found[0] == found[1]
    assert found[0][2] == [False, True, False, False]
    stays, numbers = np.zeros(4, np.bool_), np.zeros(4, np.int64)
    compiled = mdlp_columns(
        *layouts(X)[0], len(y), False, 10.0, y, np.bincount(y, minlength=3), table, unit, stays, 0,
        4, numbers,
    )  # fmt: skip
    assert found[0][0] == compiled.tolist()


@pytest.mark.parametrize("split", [best_split, best_split.py_func], ids=["compiled", "plain"])
def test_best_split(split):
    table, unit = entropy_table(40)
    items = np.arange(40.0)
    classes = (items >= 25).astype(np.int32)
    room = [np.zeros(2, np.int64) for _ in range(3)]
    assert split(items, classes, room[0], 0, 40, table, unit, room[1], room[2]) == 25
    assert split(items, classes, room[0], 0, 25, table, unit, room[1], room[2]) == -1
    assert split(items, classes, room[0], 0, 1, table, unit, room[1], room[2]) == -1
    assert split(items, classes % 2 * 0, room[0], 0, 40, table, unit, room[1], room[2]) == -1


@pytest.mark.parametrize("run", [mdlp_items, mdlp_items.py_func], ids=["compiled", "plain"])
def test_mdlp_items(run):
    table, unit = entropy_table(90)
    classes = np.repeat([0, 1, 0], 30).astype(np.int32)
    room = [np.zeros(2, np.int64) for _ in range(3)]
    out = np.empty(90)
    found = run(
        np.arange(90.0), classes, room[0], 90, table, unit, room[1], room[2],
        np.empty((92, 2), np.int64), out,
    )  # fmt: skip
    assert out[:found].tolist() == [29.5, 59.5]


@both(bin_columns)
def test_bin_columns(run):
    X, y = columns()
    for way in (WIDTH, FREQUENCY, KMEANS):
        found = []
        for layout in layouts(X):
            stays, numbers = np.zeros(4, np.bool_), np.zeros(4, np.int64)
            cuts = run(*layout, len(y), False, -1.0, way, 4, stays, 0, 4, numbers)
            found.append((cuts.tolist(), numbers.tolist()))
        assert found[0] == found[1]
        assert not stays.any()
        assert min(found[0][1]) > 0
        assert max(found[0][1]) == (2 if way == FREQUENCY else 3)  # most are zeros


@both(equal_frequency)
def test_zeros_are_weighted_by_their_number(run):
    out = np.empty(5)
    items, classes = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, -1, 0, 0], np.int32)
    assert out[: run(items, classes, 7, 4, 2, out)].tolist() == [0.5]
    assert out[: run(items, classes, 1, 4, 2, out)].tolist() == [0.5]
    assert out[: run(items, classes, 1, 4, 4, out)].tolist() == [-0.5, 0.5, 1.5]


@both(kmeans)
def test_kmeans_of_two_clusters(run):
    out, centres = np.empty(9), np.empty(3)
    items, classes = np.array([0.0, 1.0, 9.0, 10.0]), np.array([-1, 0, 0, 0], np.int32)
    assert out[: run(items, classes, 3, 4, 3, centres, out)].tolist() == [(1 / 4 + 9.5) / 2]


@both(is_discrete)
def test_few_whole_numbers_are_discrete(run):
    assert run(np.array([1.0, 1.0, 2.0]), 3, 2.0)
    assert not run(np.array([1.0, 1.0, 2.0]), 3, 1.0)
    assert not run(np.array([1.0, 1.5]), 2, 9.0)


@pytest.mark.parametrize("run", [between, between.py_func], ids=["compiled", "plain"])
def test_a_midpoint_is_never_the_upper_value(run):
    assert run(1.0, 2.0) == 1.5
    above = np.nextafter(1.0, 2.0)
    assert run(1.0, above) == 1.0
    tiny = np.nextafter(0.0, 1.0)
    assert 0.0 <= run(0.0, tiny) < tiny
    assert run(-1.7e308, 1.7e308) == 0.0


@both(code_entries)
def test_codes_count_cuts_below(run):
    values = np.array([-2.0, -1.0, 0.0, 0.5, 3.0, np.nan])
    indptr, cut_pointers = np.array([0, 6]), np.array([0, 3])
    cuts, out = np.array([-1.0, 0.25, 3.0]), np.empty(6)
    form = (values, indptr, cut_pointers, cuts, np.array([False]), np.array([9.0]))
    run(*form, False, 0, 1, out)
    assert out.tolist() == [-1, -1, 0, 1, 1, 9]
    run(*form, True, 0, 1, out)
    assert out.tolist() == [1, 1, 9, 3, 3, 9]
    run(values, indptr, cut_pointers, cuts, np.array([True]), np.array([9.0]), False, 0, 1, out)
    assert out.tolist() == [-2, -1, 0, 0.5, 3, 9]


@both(survey_columns)
def test_survey(run):
    values = np.array([1.0, np.nan, 0.0, -3.5, np.inf])
    gaps, top = np.zeros(2, np.int64), np.zeros(2)
    infinite, not_whole = np.zeros(2, np.bool_), np.zeros(2, np.bool_)
    form = (values, np.array([0, 3, 5]), 4)
    run(*form, False, 0, 2, gaps, infinite, not_whole, top)
    assert gaps.tolist() == [1, 0]
    assert infinite.tolist() == [False, True]
    assert not_whole.tolist() == [False, True]
    assert top.tolist() == [1.0, np.inf]
    run(*form, True, 0, 2, gaps, infinite, not_whole, top)
    assert gaps.tolist() == [3, 2]
