"""Stability over halves of the rows: the halves, the votes, and what they say about copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.evaluate.halves import RowStability, halves
from tamis.evaluate.repeating import SomeRows
from tamis.evaluate.stability import stability as stability_of
from tamis.sources.arrays.in_memory import MemorySource


def copies(seed=0, n=200, families=4, size=5, noise=60):
    """Families of near-copies that follow the class, and noise; the copies come first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    signals = np.repeat(rng.normal(size=(n, families)) + 1.2 * y[:, None], size, axis=1)
    X = np.column_stack(
        [signals + 0.2 * rng.normal(size=signals.shape), rng.normal(size=(n, noise))]
    )
    return X, y


def test_halves_are_complementary_and_divide_classes_evenly():
    y = np.array([0] * 31 + [1] * 7 + [2] * 3)
    found = halves(Target.of(y, "classification"), 10, 0)
    assert len(found) == 20
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert sorted([*one, *other]) == list(range(len(y)))
        counts = [np.bincount(y[rows], minlength=3) for rows in (one, other)]
        assert np.abs(counts[0] - counts[1]).max() <= 1
        assert abs(len(one) - len(other)) <= 1
    again = halves(Target.of(y, "classification"), 10, 0)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    assert not np.array_equal(found[0], halves(Target.of(y, "classification"), 1, 1)[0])


def test_rows_of_one_group_stay_in_one_half():
    groups = np.arange(60) // 3
    for rows in halves(Target.of(np.arange(60) % 2), 5, 0, groups):
        assert len(rows) == 30
        assert len(np.unique(groups[rows])) == 10


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
def test_some_rows_of_a_source(form):
    rng = np.random.default_rng(0)
    X, y, rows = rng.integers(0, 3, (20, 9)).astype(float), np.arange(20) % 2, np.array([1, 4, 18])
    part = SomeRows(MemorySource(form(X), y), rows)
    found, target = part.load()
    dense = found.toarray() if sp.issparse(found) else found
    assert np.array_equal(dense, X[rows])
    assert np.array_equal(target, y[rows])
    assert part.n_rows == 3


def test_votes_by_their_definition():
    X, y = copies()
    found = tamis.stability(X, "saola", y, pairs=4)
    whole = tamis.SAOLA().fit(X, y)
    fell_to = {}
    kept = [tamis.SAOLA().fit(X[rows], y[rows]).kept_ for rows in halves(Target.of(y), 4, 0)]
    table = whole.log_.to_pandas()
    for j, because in enumerate(table["because"]):
        if table["verdict"][j] in ("redundant", "evicted"):
            fell_to[j] = int(str(because).removeprefix("x"))

    def end(j):
        while j in fell_to:
            j = fell_to[j]
        return j

    sets = [{end(j) for j in some.tolist()} for some in kept]
    expected = stability_of([sorted(s) for s in sets], len({end(j) for j in range(X.shape[1])}))
    assert found.families == expected
    assert found.features == stability_of(kept, X.shape[1])
    assert len(found.votes) == len(whole.kept_) > 0
    for one in found.votes:
        j = int(one.name[1:])
        assert one.votes == np.mean([j in s for s in sets])
        assert one.own_votes == np.mean([j in some for some in kept])
        assert one.size == sum(end(k) == j for k in range(X.shape[1]))


@pytest.mark.parametrize("method", [tamis.SAOLA(shadows=3), tamis.FastOSFS()], ids=str)
def test_families_agree_where_copies_do_not(method):
    X, y = copies()
    found = tamis.stability(X, method, y, pairs=5)
    times = 2 if isinstance(method, tamis.SAOLA) else 1  # the other keeps the oldest copy
    assert found.families.nogueira > times * found.features.nogueira
    assert [one.size for one in found.votes[:4]] == [5] * 4
    assert [one.votes for one in found.votes[:4]] == [1.0] * 4
    assert "families of stand-ins" in str(found)
    assert list(found.to_frame()) == ["name", "size", "votes", "own_votes", "also"]
    assert RowStability.of(found.record()) == found


def test_frames_and_columns_with_a_role():
    X, y = copies(n=120)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame["who"] = [f"p{i // 4}" for i in range(120)]
    frame["group"] = np.where(np.arange(120) % 3, "u", "v")
    found = tamis.stability(frame, y=y, pairs=2, row_groups="who", missing="auto")
    assert found.features.selections == 4
    assert found.votes[0].name.startswith("c")
    assert found.votes[0].votes == 1.0
    run = tamis.select(
        frame, tamis.SAOLA("fisher_z", shadows=1), y, row_groups="who", given="group"
    )
    given_run = tamis.stability(
        frame, run.selector, y, pairs=2, row_groups="who", given="group", run=run
    )
    assert given_run.votes[0].votes == 1.0
    with pytest.raises(InputError, match="the run has"):
        tamis.stability(X[:, 1:], "saola", y, pairs=1, run=run)
    plain = tamis.stability(X, tamis.SAOLA(keep=[70]), y, pairs=2)
    assert {one.name: one for one in plain.votes}["x70"].own_votes == 1.0


def test_what_cannot_be_done_is_said():
    X, y = copies(n=60)
    with pytest.raises(ParameterError, match="pairs=0"):
        tamis.stability(X, "saola", y, pairs=0)
    with pytest.raises(InputError, match="has no target"):
        tamis.stability(X, "saola")
    rng = np.random.default_rng(0)
    nothing = tamis.stability(rng.normal(size=(60, 5)), tamis.SAOLA(alpha=1e-9), y, pairs=2)
    assert str(nothing) == "no index, because 4 halves of the rows keep nothing"
