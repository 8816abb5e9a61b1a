"""Group-SAOLA against a slow reference for its two stages."""

from __future__ import annotations

import pickle
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tamis
from tamis import SAOLA, FisherZ, GroupSAOLA, MutualInformation, SymmetricUncertainty
from tamis.checks.data import assert_same_log
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import DataWarning
from tamis.methods.streaming.group_saola import GroupStream
from tamis.sources.arrays.in_memory import MemorySource


def two_stages(relevance, between, gate, labels):
    """Both stages with plain lists: the present group, and the earlier ones in a list of lists."""
    earlier: list[list[int]] = []

    def throws_out(y, f):
        return relevance[y] >= relevance[f] and between[f][y] >= relevance[f]

    for label in dict.fromkeys(labels):
        kept: list[int] = []
        for f in (i for i, mine in enumerate(labels) if mine == label and relevance[i] > gate):
            for y in list(kept):
                if throws_out(y, f):
                    break
                if relevance[f] > relevance[y] and between[f][y] >= relevance[y]:
                    kept.remove(y)
            else:
                kept.append(f)
        for group in earlier:
            for f in list(kept):
                for y in list(group):
                    if throws_out(y, f):
                        kept.remove(f)
                        break
                    if relevance[f] > relevance[y] and between[f][y] >= relevance[y]:
                        group.remove(y)
        earlier.append(kept)
    return earlier


@st.composite
def grouped_tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, 2, 40)
    X = rng.integers(0, 3, (40, 24)).astype(float)
    X[:, ::5] = np.where(rng.random((40, 5)) < 0.6, y[:, None], X[:, ::5])
    X[:, 20] = X[:, 3]  # a copy in a later group
    cuts = np.sort(rng.integers(0, 25, draw(st.integers(0, 6))))
    return X, y, np.searchsorted(cuts, np.arange(24), side="right")


@settings(max_examples=40)
@given(table=grouped_tables())
def test_it_keeps_what_the_two_stages_keep(table) -> None:
    X, y, labels = table
    relevance = SymmetricUncertainty().relevance(X, y).value
    between = SymmetricUncertainty().between(X, X)

    found = GroupSAOLA(SymmetricUncertainty()).fit(X, y, groups=labels)

    expected = two_stages(relevance, between, 0.0, labels.tolist())
    by_label = dict(zip(dict.fromkeys(labels.tolist()), expected, strict=True))
    assert found.kept_.tolist() == sorted(chain(*expected))
    assert {k: v.tolist() for k, v in found.groups_.items()} == {
        k: v for k, v in by_label.items() if v
    }


def program_stages(relevance, between, labels):
    """The program: lists are not shortened while walked; between groups the newer takes ties."""
    earlier: list[list[int]] = []
    for label in dict.fromkeys(labels):
        kept: list[int] = []
        for f in (i for i, mine in enumerate(labels) if mine == label and relevance[i] > 0):
            for y in list(kept):
                if relevance[y] >= relevance[f] and between[f][y] > relevance[f]:
                    break
                if relevance[f] > relevance[y] and between[f][y] > relevance[y]:
                    kept.remove(y)
            else:
                kept.append(f)
        fallen, left = set(), []
        for group in earlier:
            gone = set()
            for f in kept:
                for y in group:
                    if between[f][y] > min(relevance[f], relevance[y]):
                        if relevance[y] > relevance[f]:
                            fallen.add(f)
                            break
                        gone.add(y)
            left.append([y for y in group if y not in gone])
        earlier = [*left, [f for f in kept if f not in fallen]]
    return sorted(chain(*earlier))


@settings(max_examples=40)
@given(table=grouped_tables())
def test_the_programs_variant_walks_over_lists_that_do_not_shrink(table) -> None:
    X, y, labels = table
    relevance = SymmetricUncertainty().relevance(X, y).value
    between = SymmetricUncertainty().between(X, X)
    found = GroupSAOLA(SymmetricUncertainty(), variant="program").fit(X, y, groups=labels)
    assert found.kept_.tolist() == program_stages(relevance, between, labels.tolist())
    assert found.log_.replay() == found.kept_.tolist()


def grouped_case(seed: int = 0, continuous: bool = False) -> tuple[Any, Any, list[str]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 100)
    X = rng.normal(size=(100, 90)) if continuous else rng.integers(0, 3, (100, 90)).astype(float)
    X *= rng.random((100, 90)) < 0.4
    for j in range(0, 90, 4):
        X[:, j] = np.where(rng.random(100) < 0.2 + 0.4 * rng.random(), y, X[:, j])
    X[:, 60] = X[:, 8]
    X[:, 7] = 1.0
    words = np.array(["ash", "beech", "elm", "fir", "oak"])
    return X, y, words[np.sort(rng.integers(0, 5, 90))].tolist()


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("variant", ["paper", "program"])
@pytest.mark.parametrize("seed", range(3))
def test_the_log_is_the_same_however_groups_are_fed(seed, variant, continuous) -> None:
    X, y, groups = grouped_case(seed, continuous)
    measure = FisherZ() if continuous else MutualInformation(alpha=0.01)
    selector = GroupSAOLA(measure, variant=variant)
    expected = clone(selector).fit(X, y, groups=groups)
    assert len(expected.groups_) > 1
    rng = np.random.default_rng(seed)
    for make in (sp.csc_matrix, sp.csr_matrix, pd.DataFrame):
        found = clone(selector).fit(make(X), y, groups=np.array(groups, dtype=object))
        assert_same_log_but_names(found, expected, make.__name__)
    for ahead in (1, 3):
        one_by_one = clone(selector).start(y)
        one_by_one._selector.look_ahead = ahead
        one_by_one.feed(X, groups=groups).finish()
        assert_same_log(one_by_one.log_, expected.log_, "look-ahead")
    for _ in range(3):
        cuts = np.sort(rng.integers(0, 91, rng.integers(1, 12)))
        live = clone(selector).start(y)
        for lo, hi in zip([0, *cuts], [*cuts, 90], strict=True):
            live = pickle.loads(pickle.dumps(live))
            part = X[:, lo:hi]
            live.feed(sp.csc_matrix(part) if lo % 2 else part, groups=groups[lo:hi])
        live.finish()
        assert_same_log(live.log_, expected.log_, f"fed in parts {cuts.tolist()}")
        assert live.groups_.keys() == expected.groups_.keys()


def assert_same_log_but_names(found, expected, when) -> None:
    assert_same_log(found.log_, expected.log_, when)
    assert found.kept_.tolist() == expected.kept_.tolist()


@pytest.mark.parametrize("width", [1, 7, 64, 90])
def test_blocks_carry_their_group_and_their_width_does_not_matter(width) -> None:
    X, y, groups = grouped_case()
    numbers = np.unique(groups, return_inverse=True)[1]
    expected = GroupSAOLA().fit(X, y, groups=numbers)
    live = GroupSAOLA(expected.measure_).start(y)
    for lo in range(0, 90, width):
        for number in dict.fromkeys(numbers[lo : lo + width].tolist()):
            part = X[:, lo : lo + width][:, numbers[lo : lo + width] == number]
            block = ColumnBlock.of(part)
            live.feed(ColumnBlock(0, 100, block.values, group=number))
    live.finish()
    assert_same_log(live.log_, expected.log_, f"blocks of {width}")
    assert {k: v.tolist() for k, v in live.groups_.items()} == {
        k: v.tolist() for k, v in expected.groups_.items()
    }


@pytest.mark.parametrize("kind", ["numbers", "levels", "sparse numbers", "sparse levels"])
@pytest.mark.parametrize("size", [1, 4, 40])
def test_whole_groups_are_taken_as_column_by_column(kind, size, monkeypatch) -> None:
    X, y, _ = grouped_case(size, "numbers" in kind)
    X = sp.csc_matrix(X) if "sparse" in kind else X
    groups = (np.arange(90) // size).tolist()
    measure = FisherZ(alpha=0.5) if "numbers" in kind else MutualInformation()
    expected = GroupSAOLA(measure).start(y)
    for j in range(90):
        expected.feed(X[:, [j]], groups=[groups[j]])
    meet, calls = GroupStream._meet_earlier, list[int]()
    monkeypatch.setattr(GroupStream, "_meet_earlier", lambda *args: calls.append(1) or meet(*args))
    for ahead, parts in ((256, [0, 90]), (1, [0, 90]), (256, [0, 33, 70, 90])):
        calls.clear()
        found = GroupSAOLA(measure).start(y)
        found._selector.look_ahead = ahead
        for lo, hi in pairwise(parts):
            found.feed(X[:, lo:hi], groups=groups[lo:hi])
        assert len(calls) <= len(parts) - 2  # only for a group that was left open
        assert_same_log(found.log_, expected.log_, f"look-ahead {ahead}, parts {parts}")
        assert found.work_ == expected.work_
        assert repr(found._selector.state()) == repr(expected._selector.state())
        assert list(found.groups_) == list(expected.groups_)


def test_the_width_of_the_blocks_of_a_source_does_not_matter() -> None:
    X, y, groups = grouped_case()
    expected = GroupSAOLA().fit(X, y, groups=groups)
    for width in (1, 7, 64):
        live = GroupSAOLA(expected.measure_).start(y)
        for block in MemorySource(X).columns(width):
            labels = groups[block.first : block.first + block.width]
            live.feed(block, groups=labels)
        live.finish()
        assert_same_log(live.log_, expected.log_, f"blocks of {width}")


def test_without_groups_it_is_saola() -> None:
    X, y, _ = grouped_case()
    plain, grouped = SAOLA().fit(X, y), GroupSAOLA().fit(X, y)
    assert grouped.kept_.tolist() == plain.kept_.tolist()
    assert [grouped.log_.why(i) for i in range(90)] == [plain.log_.why(i) for i in range(90)]
    assert grouped.work_ == plain.work_
    assert list(grouped.groups_) == [None]
    one = GroupSAOLA().fit(X, y, groups="all")
    assert one.groups_["all"].tolist() == plain.kept_.tolist()


def test_a_group_is_compared_with_earlier_groups_only_when_it_ends() -> None:
    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    live = GroupSAOLA(MutualInformation(alpha=0.01)).start(y)
    live.feed(y, names=["a"], groups="first")
    live.feed(weak, names=["b"], groups="second")
    assert live.get_feature_names_out().tolist() == ["a", "b"]
    live.feed(np.arange(100) % 2, names=["c"], groups="third")
    assert live.get_feature_names_out().tolist() == ["a"]
    assert live.groups_.keys() == {"first"}


def test_sentences_describe_what_happened_between_groups() -> None:
    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    weaker = np.where(np.arange(100) % 10 < 3, 1 - y, y)
    live = GroupSAOLA(MutualInformation(alpha=0.01)).start(y)
    live.feed(np.column_stack([weak]), names=["old"], groups=1)
    live.feed(np.column_stack([weaker, weak]), names=["fell", "copy"], groups=[2, 3])
    live.feed(y, names=["best"], groups=4)
    live.finish()
    assert live.log_.why("fell") == (
        "fell was kept in its group, but is redundant with an earlier group: I(fell; class)=0.119 "
        "is not above its dependence on old (0.531), which is the better predictor (0.278)"
    )
    assert live.log_.why("copy") == (
        "copy was kept in its group, but is redundant with an earlier group: I(copy; class)=0.278 "
        "is not above its dependence on old (1), which predicts as well and came first"
    )
    assert live.log_.why("old") == (
        "old was kept until best arrived and made it redundant: I(old; class)=0.278 is not above "
        "its dependence on best (0.278), which is the better predictor (1)"
    )
    assert live.log_.why("best") == (
        "best is kept: I(best; class)=1, p=1.98e-29 by Fisher's exact test, and no kept feature "
        "of its own or an earlier group makes it redundant"
    )


def test_dropped_features_drop_no_others_except_in_the_program_variant() -> None:
    # Every set here is one on which the two differ; found by looking through random ones.
    differ = 0
    for seed in range(20):
        X, y, groups = grouped_case(seed)
        paper = GroupSAOLA(SymmetricUncertainty()).fit(X, y, groups=groups)
        program = GroupSAOLA(SymmetricUncertainty(), variant="program").fit(X, y, groups=groups)
        differ += paper.kept_.tolist() != program.kept_.tolist()
    assert differ > 0


def test_a_label_that_occurs_again_is_a_new_group() -> None:
    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    with pytest.warns(DataWarning, match="columns of the group 'a' are not next to each other"):
        sel = GroupSAOLA().fit(np.column_stack([y, weak, weak]), y, groups=["a", "b", "a"])
    assert sel.groups_.keys() == {"a"}
    assert sel.groups_["a"].tolist() == [0]
    assert "its group, but is redundant with an earlier group" in sel.log_.why("x2")


def test_blocks_are_freed_with_their_columns() -> None:
    X, y, _ = grouped_case()
    live = GroupSAOLA(MutualInformation(alpha=0.01)).start(y).feed(X, groups=1)
    held = [arrival.column for arrival in live._selector._held.values()]
    assert held
    assert all(len(column.columns) == 1 and column.columns.rows.base is None for column in held)


def test_groups_that_do_not_fit_are_refused() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(tamis.TamisError, match=r"groups of shape \(3,\) were given for 4 columns"):
        GroupSAOLA().fit(X, y, groups=[1, 2, 3])
    live = GroupSAOLA().start(y).feed(X, groups="a")
    with pytest.raises(tamis.TamisError, match="give one label for each column, or one for all"):
        live.feed(X, groups=[1, 2])
    assert live.n_features_in_ == 4
    with pytest.raises(tamis.TamisError, match="variant='both' is not one of 'paper', 'program'"):
        GroupSAOLA(variant="both").fit(X, y)
    with pytest.raises(ValueError, match=r"call GroupSAOLA.start\(y\) before feed"):
        GroupSAOLA().feed(X, groups=1)
    with pytest.raises(ValueError, match="has seen no columns yet"):
        _ = GroupSAOLA().groups_
