"""Choosing a measure: the data decide, and the reason is reported."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from tamis import FCBF, OSFS, SAOLA
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.kernels.information import count_levels
from tamis.measures import FisherZ, MutualInformation, SymmetricUncertainty, auto
from tamis.measures.auto import BY_DATA, BY_NAME, SAMPLED, choose, resolve

N = 400
CLASSES = Target.of(np.arange(N) % 2)


def picked(block: ColumnBlock, target: Target):
    return choose([block], target)


def whole_numbers(levels: int, width: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(0, levels, (N, width)).astype(float)


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
def test_whole_numbers_with_few_levels_get_information(layout):
    measure, why = picked(ColumnBlock.of(layout(whole_numbers(3))), CLASSES)
    assert measure == MutualInformation(alpha=0.01)
    assert why == (
        "every value is a whole number, one of 3.0 different ones in its column on average"
    )


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
def test_numbers_that_are_not_whole_get_correlation_and_the_column_is_named(layout):
    X = whole_numbers(3)
    X[7, 4] = 0.5
    measure, why = picked(ColumnBlock.of(layout(X), first=10), CLASSES)
    assert measure == FisherZ(alpha=0.01)
    assert why == "column 'x14' holds numbers that are not whole"
    named = ColumnBlock.of(layout(X), names=Names.of("abcdef"))
    assert picked(named, CLASSES)[1] == "column 'e' holds numbers that are not whole"


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
def test_many_levels_get_correlation(layout):
    measure, why = picked(ColumnBlock.of(layout(whole_numbers(40))), CLASSES)
    assert measure == FisherZ(alpha=0.01)
    assert why == (
        "a value is one of 40 different ones in its column on average, too many for 400 rows to "
        "be categories"
    )


def test_columns_declared_as_categories_get_information_anyway():
    block = ColumnBlock(0, N, np.asfortranarray(whole_numbers(40)), kind="discrete")
    assert picked(block, CLASSES)[0] == MutualInformation(alpha=0.01)


def test_a_regression_target_gets_correlation():
    target = Target.of(np.linspace(0.1, 1, N))
    measure, why = picked(ColumnBlock.of(whole_numbers(2)), target)
    assert measure == FisherZ(alpha=0.01)
    assert why == "the target is a number, not a class"


def test_with_few_rows_to_a_level_whole_numbers_are_numbers():
    X = np.array([[0.0], [1.0], [2.0], [0.0]])
    assert picked(ColumnBlock.of(X), Target.of([0, 1, 0, 1]))[0] == FisherZ(alpha=0.01)


@pytest.mark.parametrize("empty", [np.zeros((N, 3)), sp.csc_matrix((N, 5))])
def test_uninformative_columns_get_information(empty):
    measure, why = picked(ColumnBlock.of(empty), CLASSES)
    assert measure == MutualInformation(alpha=0.01)
    assert why.endswith("one of 1.0 different ones in its column on average")


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
def test_rare_flags_do_not_hide_a_few_counts(layout):
    X = np.zeros((N, 300))
    X[np.arange(300), np.arange(300)] = 1.0
    X[:, ::30] = whole_numbers(40, 10)
    assert picked(ColumnBlock.of(layout(X)), CLASSES)[0] == FisherZ(alpha=0.01)
    X[:, ::30] = whole_numbers(5, 10)
    measure, why = picked(ColumnBlock.of(layout(X)), CLASSES)
    assert measure == MutualInformation(alpha=0.01)
    assert "one of 5.0 different ones" in why


def test_constant_and_empty_columns_do_not_hide_columns_of_many_levels():
    X = np.zeros((N, 50))
    X[:, 3] = 1.0
    X[:, [0, 49]] = whole_numbers(60, 2)
    for layout in (np.asarray, sp.csc_matrix):
        assert picked(ColumnBlock.of(layout(X)), CLASSES)[0] == FisherZ(alpha=0.01)
    # Among many empty columns the few nonempty ones are inspected, wherever they are.
    wide = sp.hstack([sp.csc_matrix((N, 40 * SAMPLED + 1)), sp.csc_matrix(X[:, :1])])
    assert picked(ColumnBlock.of(wide), CLASSES)[0] == FisherZ(alpha=0.01)


def test_dense_and_sparse_columns_are_treated_alike():
    rng = np.random.default_rng(1)
    for levels in range(2, 30, 3):
        X = rng.integers(0, levels, (N, 20)) * (rng.random((N, 20)) < 0.8)
        assert picked(ColumnBlock.of(X), CLASSES) == picked(
            ColumnBlock.of(sp.csr_matrix(X)), CLASSES
        )


def test_a_few_columns_of_counts_decide_wherever_they_are():
    """Among many nearly empty columns, as of words in texts, a sample would find them by luck."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 60, (N, 100)) * (rng.random((N, 100)) < 0.3)
    X = sp.hstack([sp.random(N, 20_000, 0.01, random_state=3), counts], format="csc")
    X.data = np.ceil(X.data)
    found = set()
    for _ in range(8):
        found.add(picked(ColumnBlock.of(X[:, rng.permutation(X.shape[1])]), CLASSES))
    assert found == {picked(ColumnBlock.of(X), CLASSES)}
    assert found.pop()[0] == FisherZ(alpha=0.01)


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
@pytest.mark.parametrize("filled", [True, False])
def test_blocks_do_not_change_what_is_counted(layout, filled, monkeypatch):
    monkeypatch.setattr(auto, "SAMPLED", 5)
    rng = np.random.default_rng(4)
    X = rng.integers(0, rng.integers(2, 9, 150), (N, 150)) * (rng.random(150) < 0.7)
    X[(15 if not filled else N) :] = 0
    whole = ColumnBlock.of(layout(X))
    expected = picked(ColumnBlock.of(X), CLASSES)
    for cuts in ([0, 150], [0, 1, 7, 60, 61, 150], range(151)):
        parts = (whole.part(a, b) for a, b in itertools.pairwise(cuts))
        assert choose(parts, CLASSES) == expected


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_matrix])
@pytest.mark.parametrize("gap", [np.nan, np.inf, -np.inf])
def test_gaps_are_neither_counted_nor_hide_fractions(layout, gap):
    """Kernels that count distinct values must not see them: they would write past their arrays."""
    X = whole_numbers(3)
    X[::9, 0] = gap
    X[0, 1] = gap
    measure, why = picked(ColumnBlock.of(layout(X)), CLASSES)
    assert measure == MutualInformation(alpha=0.01)
    assert "one of 3.0 different ones" in why
    X[1:, 0] = np.where(np.isfinite(X[1:, 0]), X[1:, 0] + 0.5, gap)
    why = picked(ColumnBlock.of(layout(X)), CLASSES)[1]
    assert why == "column 'x0' holds numbers that are not whole"


def test_numbers_that_are_not_whole_are_found_in_any_block():
    X = whole_numbers(3)
    X[7, 4] = 0.5
    whole = ColumnBlock.of(X)
    for cuts in ([0, 3, 6], [0, 1, 5, 6], [0, 6]):
        blocks = (whole.part(a, b) for a, b in itertools.pairwise(cuts))
        assert choose(blocks, CLASSES)[1] == "column 'x4' holds numbers that are not whole"


def test_without_blocks_there_are_no_columns_to_inspect():
    assert choose([], CLASSES) == (FisherZ(alpha=0.01), "there are no columns")


def test_measures_are_known_by_name_and_taken_as_they_are():
    assert resolve("auto") is None
    given = FisherZ(alpha=0.2)
    assert resolve(given) is given
    for name, family in BY_NAME.items():
        assert resolve(name) == family()
    words = {"mutual_information", "symmetric_uncertainty", "g_squared", "fisher_z", "any_shape"}
    assert set(BY_NAME) == words


@pytest.mark.parametrize("wrong", ["mutual", 3, None, FisherZ])
def test_an_unknown_measure_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ParameterError) as error:
        resolve(wrong)
    assert str(error.value) == (
        f"measure={wrong!r} is not known; give a measure such as FisherZ(), or one of "
        + ", ".join([*BY_DATA, *BY_NAME])
    )


def test_a_measure_provides_the_wording_of_its_sentences():
    words = FisherZ(alpha=0.05).template_fields(Target.of([0.5, 1.0]))
    assert words["relevance_symbol"] == "|r({name}, target)|"
    assert words["gate"] == "the 5% level of its test"
    words = SymmetricUncertainty().template_fields(CLASSES)
    assert words["pair_symbol"] == "SU({name}, {because})"
    assert (words["target"], words["gate"]) == ("class", "the threshold")
    gate = MutualInformation(alpha=0.001).gate()
    assert gate == "the 0.1% level of its exact test"
    gate = MutualInformation(alpha=0.001, statistic="g2").gate()
    assert gate == "the 0.1% level of its G-squared test"


@pytest.mark.parametrize("kind", [SAOLA, FCBF, OSFS])
@pytest.mark.parametrize("levels", [2, 1000])
def test_a_level_applies_to_the_measure_that_is_picked(kind, levels):
    X = whole_numbers(levels)
    found = kind(alpha=0.2).fit(X, CLASSES.codes)
    plain = kind(measure="auto").fit(X, CLASSES.codes)
    assert type(found.measure_) is type(plain.measure_)
    assert found.measure_ == replace(plain.measure_, alpha=0.2)
    reasons = [sel.choices_["measure"].partition(", because ")[2] for sel in (found, plain)]
    assert reasons[0] == reasons[1] != ""
    given = kind(measure=found.measure_).fit(X, CLASSES.codes)
    assert found.kept_.tolist() == given.kept_.tolist()
    assert clone(found).alpha == 0.2


def test_an_invalid_level_is_refused():
    with pytest.raises(ParameterError, match=r"SAOLA: alpha=1.5 is not a number"):
        SAOLA(alpha=1.5).fit(np.eye(2), [0, 1])


def test_a_level_applies_only_to_a_measure_given_by_name():
    X, y = whole_numbers(2), CLASSES.codes
    assert SAOLA("fisher_z", alpha=0.2).fit(X, y).measure_ == FisherZ(alpha=0.2)
    sentence = "alpha=0.2 goes with a measure given by name, and measure=FisherZ.* has its own"
    with pytest.raises(ParameterError, match=sentence):
        SAOLA(FisherZ(), alpha=0.2).fit(X, y)


def test_a_search_can_vary_the_level():
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 5)) + y[:, None] * np.array([1.0, 0.0, 0.3, 0.0, 0.0])
    grid = {"saola__alpha": [0.3, 0.5]}
    found = GridSearchCV(make_pipeline(SAOLA(), GaussianNB()), grid, cv=2).fit(X, y)
    assert found.best_params_["saola__alpha"] in (0.3, 0.5)


@pytest.mark.parametrize("run", [count_levels, count_levels.py_func], ids=["compiled", "plain"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_levels_are_counted_alike_in_few_and_in_many_columns(monkeypatch, run, n):
    """Many columns are counted by another kernel, but for those with many levels or odd ones."""
    rng = np.random.default_rng(n)
    X = rng.integers(-1, 2, (n, 12)).astype(float)
    X[:, 1], X[:, 2], X[:, 3] = 5.0, rng.integers(0, 30, n), rng.integers(0, 2, n) * 1000
    X[:, 4:6] *= rng.random((n, 2)) < 0.1
    block, picks = ColumnBlock.of(X), np.array([0, 1, 2, 3, 4, 7, 11])
    monkeypatch.setattr(auto, "count_levels", run)
    results = []
    for many in (10**9, 1):
        monkeypatch.setattr(auto, "MANY", many)
        results.append([part.tolist() for part in auto._count_levels(block, picks)])
    assert results[0] == results[1]
    assert results[0][0] == [len(np.unique(X[:, j])) for j in picks]
