"""What users do with learners: kinds of rows, streams that grow, pipelines, bad input."""

from __future__ import annotations

import inspect
import math
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from all_learners import LEARNERS, every, same
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from streams import stream

import tamis
from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError, TamisError


def block(rows, y, first=0, n_columns=None, dtype=np.int64):
    """Rows given as dicts of feature to value, their features rising."""
    indptr = np.cumsum([0] + [len(row) for row in rows])
    indices = np.array([j for row in rows for j in row], dtype=dtype)
    values = np.array([v for row in rows for v in row.values()], dtype=float)
    return RowBlock(first, n_columns, Compressed(indptr, indices, values), np.asarray(y))


# --- mistakes of the authors' program -------------------------------------------------------------


def test_fofs_compares_magnitudes_of_the_same_moment() -> None:
    # On paper: after the third row w is 0.25, 0.45, 0.6, so the first is dropped. With the
    # magnitudes as last stored (1, 0.9) the third would not be kept.
    X = np.diag([1.0, 0.9, 0.6])
    model = tamis.FOFS(2, eta=1.0, lam=0.5).partial_fit(X, [1, 1, 1], classes=[0, 1])
    assert model.kept_.tolist() == [1, 2]
    np.testing.assert_allclose(model.weights_, [0.45, 0.6], rtol=1e-15)


@every
def test_all_parameters_are_in_the_signature_and_the_documentation(learner) -> None:
    kind = type(learner)
    names = set(inspect.signature(kind).parameters)
    assert names == set(kind().get_params())
    assert names >= {"multiclass", "passes", "normalize", "n_columns", "n_bits", "classes"}
    documented = set(re.findall(r"^(\w+) : ", kind.__doc__, re.MULTILINE))
    assert documented >= names | {"classes_", "kept_", "weights_", "confidence_", "work_"}


@every
def test_uniform_multiclass_learns(learner) -> None:
    X, y = load_digits(return_X_y=True)
    model = clone(learner).set_params(multiclass="uniform", normalize=True)
    if "n_features" in model.get_params():
        model.set_params(n_features=40)
    assert model.fit(X, y).work_["updates"] > 100
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("learner", LEARNERS[:4], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_resuming_never_exceeds_what_may_be_kept(learner, n_classes) -> None:
    X, y = stream("continuous", 3, 50, n_classes, 90)
    model = clone(learner)
    for lo in range(0, 90, 9):
        model = pickle.loads(pickle.dumps(model))
        model.partial_fit(X[lo : lo + 9], y[lo : lo + 9], classes=range(n_classes))
        assert len(model.kept_) <= 6
        assert np.count_nonzero(np.atleast_2d(model.weights_.T).any(axis=0)) <= 6


@pytest.mark.parametrize("cls", [tamis.PET, tamis.FOFS, tamis.SOFS])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_work_depends_on_the_rows_and_not_on_the_columns(cls, n_classes) -> None:
    rng = np.random.default_rng(0)
    m, size = 20, 64
    indices = np.sort([rng.choice(900, m, replace=False) for _ in range(400)]).ravel()
    values, y = rng.normal(size=400 * m), rng.integers(0, n_classes, 400)
    work = []
    for stretch in (1, 5_000):
        rows = Compressed(np.arange(0, 400 * m + 1, m), indices * stretch, values)
        model = cls(size).partial_fit(RowBlock(0, None, rows, y), classes=range(n_classes))
        assert model.n_features_in_ == indices.max() * stretch + 1
        work.append(model.work_)
    assert work[0] == work[1]
    nonzeros, steps = work[0]["nonzeros"], work[0]["heap_steps"]
    assert nonzeros == work[0]["updates"] * m
    assert 0 < steps <= nonzeros * (math.log2(size) + 2)


@pytest.mark.parametrize("size", [8, 64, 512])
def test_a_row_of_m_features_costs_m_log_b_steps(size) -> None:
    # Weights that rise and fall all the time: the worst case for a lazy heap.
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (2_000, 600)) * (rng.random((2_000, 600)) < 0.05)
    y = rng.integers(0, 2, 2_000)
    for cls in (tamis.PET, tamis.FOFS, tamis.SOFS):
        work = cls(size).fit(X, y).work_
        assert work["heap_steps"] <= work["nonzeros"] * (math.log2(size) + 2)


# --- RowSieve -------------------------------------------------------------------------------------


def test_a_rare_feature_that_predicts_is_kept() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    X[:, :20] *= rng.random((3000, 20)) < 0.1
    y = X[:, :5].sum(axis=1)
    X, y = X[y != 0], y[y != 0] > 0
    assert tamis.RowSieve(5).fit(X, y).kept_.tolist() == [0, 1, 2, 3, 4]
    assert tamis.SOFS(5).fit(X, y).kept_.min() >= 20


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**20])
def test_row_sieve_does_not_depend_on_the_scale_of_all_values(scale) -> None:
    for n_classes in (2, 4):
        X, y = stream("continuous", 4, 30, n_classes, 300)
        plain, scaled = tamis.RowSieve(8).fit(X, y), tamis.RowSieve(8).fit(X * scale, y)
        # Sigma starts at 1 whatever the scale: only weights change, and by the factor.
        assert scaled.kept_.tolist() == plain.kept_.tolist()
        np.testing.assert_array_equal(scaled.weights_ * scale, plain.weights_)


def test_row_sieve_refuses_rows_that_leave_the_range_of_its_weights() -> None:
    X, y = stream("continuous", 4, 30, 2, 50)
    for scale in (1e-20, 1e20):
        with pytest.raises(InputError, match=r"mean squared length of .*give normalize=True"):
            tamis.RowSieve(8).fit(X * scale, y)
        assert tamis.RowSieve(8, normalize=True).fit(X * scale, y).work_["updates"] > 5


def test_a_floor_keeps_fewer_than_the_budget_and_all_that_matter() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 300)) * (rng.random((4000, 300)) < 0.3)
    y = X[:, [7, 70, 207]].sum(axis=1)
    X, y = X[y != 0], y[y != 0] > 0
    assert len(tamis.RowSieve(100).fit(X, y).kept_) == 100
    assert tamis.RowSieve(100, floor=0.03).fit(X, y).kept_.tolist() == [7, 70, 207]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stored_zero_does_not_let_a_feature_in(n_classes) -> None:
    X, y = stream("counts", 6, 25, n_classes, 300)
    stored = sp.csr_matrix(np.where(X == 0, 777.0, X))
    stored.data[stored.data == 777.0] = 0.0
    assert stored.nnz > np.count_nonzero(X)
    same(tamis.RowSieve(4).fit(stored, y), tamis.RowSieve(4).fit(X, y))


def test_an_order_of_columns_does_not_decide_who_enters() -> None:
    X, y = stream("continuous", 9, 40, 2, 400)
    order = np.random.default_rng(0).permutation(40)
    plain, mixed = tamis.RowSieve(6).fit(X, y), tamis.RowSieve(6).fit(X[:, order], y)
    assert sorted(order[mixed.kept_]) == plain.kept_.tolist()


# --- ties -----------------------------------------------------------------------------------------


def test_ties_go_to_the_feature_kept_first_then_to_the_lower_number() -> None:
    rows = [{3: 1.0, 5: 1.0}, {4: 1.0, 6: 1.0}, {0: 1.0, 1: 1.0}]
    for cls in (tamis.PET, tamis.SOFS):
        model = cls(3).partial_fit(block(rows, [1, 1, 1]), classes=[0, 1])
        assert model.kept_.tolist() == [3, 4, 5]
    # Feature 6 is seen again and displaces the newest of the tied ones, 4.
    model = tamis.SOFS(3).partial_fit(block([*rows, {6: 1.0}], [1, 1, 1, 1]), classes=[0, 1])
    assert model.kept_.tolist() == [3, 5, 6]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_of_copies_only_one_is_kept(n_classes) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12)) * (rng.random((600, 12)) < 0.4)
    y = np.digitize(X[:, 3] - X[:, 7] + X[:, 9], np.arange(n_classes - 1) - (n_classes - 2) / 2)
    thrice = np.hstack([X, X, -X])
    for model in (tamis.RowSieve(3), tamis.MergedRowSieve(3, shards=2)):
        kept = model.fit(thrice, y).kept_
        assert sorted((kept % 12).tolist()) == [3, 7, 9]


def test_a_feature_that_was_never_seen_is_never_kept() -> None:
    X = np.zeros((4, 9))
    X[:, 2] = [1, 2, -1, 3]
    for learner in LEARNERS:
        assert clone(learner).fit(X, [0, 1, 0, 1]).kept_.tolist() == [2]


# --- kinds of rows --------------------------------------------------------------------------------


@every
def test_data_frames_provide_names(learner) -> None:
    X, y = stream("continuous", 0, 8, 2, 80)
    learner, names = clone(learner), [f"col{j}" for j in range(8)]
    expected = learner.fit(X, y).weights_
    frame = pd.DataFrame(X, columns=names)
    kept = [names[j] for j in learner.kept_]
    for table in (
        frame,
        pl.DataFrame(X, schema=names),
        pa.table(dict(zip(names, X.T, strict=True))),
    ):
        model = learner.fit(table, y)
        np.testing.assert_array_equal(model.weights_, expected)
    assert learner.fit(frame, y).get_feature_names_out().tolist() == kept
    gap = frame.copy()  # older pandas shares X with the frame
    gap.loc[7, "col3"] = np.nan
    with pytest.raises(InputError, match="row 7, column 'col3'"):
        learner.fit(gap, y)
    # Rows given as dicts afterwards may use the names.
    model = learner.fit(pd.DataFrame(X, columns=names), y)
    one = {name: X[0, j] for j, name in enumerate(names)}
    assert model.predict_one(one) == model.predict(pd.DataFrame(X, columns=names))[0]
    # They may bring a feature that the frame did not have; the others keep their meaning.
    expected = {name: model.predict_one({name: 1.0}) for name in names}
    wrong = next(label for label in model.classes_ if label != model.predict_one({"col9": 1.0}))
    for _ in range(2000):  # a learner may let a newcomer in only when it is strong
        model.learn_one({"col9": 10.0}, wrong)
    assert model.predict_one({"col9": 1.0}) == wrong
    kept = [name for name in names if name in set(model.get_feature_names_out())]
    assert {name: model.predict_one({name: 1.0}) for name in kept} == {
        name: expected[name] for name in kept
    }


def test_scipy_matrices_may_have_unsorted_and_duplicate_entries() -> None:
    data, columns, indptr = np.array([2.0, 1.0, 3.0, 1.0]), np.array([4, 1, 1, 0]), [0, 3, 4]
    messy = sp.csr_matrix((data, columns, indptr), shape=(2, 5))
    model, expected = tamis.PET(3).fit(messy, [0, 1]), tamis.PET(3).fit(messy.toarray(), [0, 1])
    same(model, expected)
    assert columns.tolist() == [4, 1, 1, 0]


def test_dense_rows_are_processed_in_parts(monkeypatch) -> None:
    X, y = stream("continuous", 0, 30, 3, 90)
    expected = tamis.SOFS(9).fit(X, y)
    monkeypatch.setattr("tamis.methods.online.row_input.PART_ENTRIES", 100)
    model = tamis.SOFS(9).fit(X, y)
    same(model, expected)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_passes() -> None:
    X, y = stream("continuous", 0, 30, 2, 90)
    twice = tamis.SOFS(9, passes=2).fit(X, y)
    same(twice, tamis.SOFS(9).fit(np.vstack([X, X]), np.concatenate([y, y])))
    same(twice, tamis.SOFS(9).fit(X, y).partial_fit(X, y))
    assert twice.work_["rows"] == 180


def test_normalised_rows() -> None:
    X, y = stream("continuous", 0, 30, 2, 90)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    model = tamis.SOFS(9, normalize=True).fit(X, y)
    plain = tamis.SOFS(9).fit(X / np.where(lengths > 0, lengths, 1), y)
    assert model.kept_.tolist() == plain.kept_.tolist()
    np.testing.assert_allclose(model.weights_, plain.weights_, rtol=1e-6)
    assert tamis.SOFS(9).fit(X, y).kept_.tolist() != model.kept_.tolist()


def test_predictions_of_text_and_booleans() -> None:
    X, codes = stream("continuous", 1, 12, 3, 90)
    words = np.array(["ham", "eggs", "spam"])[codes]
    model = tamis.SOFS(12).fit(X, words)
    assert model.classes_.tolist() == ["eggs", "ham", "spam"]
    scores = model.decision_function(X)
    assert scores.shape == (90, 3)
    assert model.predict(X).tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    two = tamis.SOFS(12).fit(X, codes > 0)
    assert two.predict(X).tolist() == (two.decision_function(X) > 0).tolist()


# --- how wide -------------------------------------------------------------------------------------


def test_arrays_keep_their_width() -> None:
    model = tamis.SOFS(3).partial_fit(np.eye(4), [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="4 features"):
        model.partial_fit(np.eye(5), [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="4 features"):
        model.predict(np.eye(5))
    with pytest.raises(InputError, match="row 10 holds feature 4, but there are 4 features"):
        model.partial_fit(block([{4: 1.0}], [1], first=10))
    assert model.n_features_in_ == 4


def test_streams_grow() -> None:
    model = tamis.SOFS(3).partial_fit(block([{0: 1.0, 2: 1.0}], [1]), classes=[0, 1])
    assert model.n_features_in_ == 3
    model.partial_fit(block([{1: 1.0, 700: 2.0}], [0], first=1))
    assert model.n_features_in_ == 701
    assert model.kept_.tolist() == [0, 2, 700]
    # Features beyond those seen weigh nothing.
    assert model.decision_function(block([{0: 1.0, 10**12: 5.0}], [0])).tolist() == [
        model.weights_[0]
    ]
    assert model.predict(sp.csr_matrix((2, 5))).tolist() == [0, 0]
    with pytest.raises(InputError, match="there is not enough memory for"):
        model.partial_fit(block([{2**60: 1.0}], [0]))
    fixed = tamis.SOFS(3, n_columns=10)
    with pytest.raises(InputError, match="row 0 holds feature 10, but there are 10 features"):
        fixed.partial_fit(block([{10: 1.0}], [1]), classes=[0, 1])
    assert not hasattr(fixed, "classes_")
    with pytest.raises(InputError, match="X has 12 columns, but n_columns=10 was given"):
        fixed.fit(np.eye(12), [0, 1] * 6)


# --- hashing --------------------------------------------------------------------------------------


def test_hashed_ids_of_64_bits() -> None:
    ids = np.array([5, 2**40 + 1, 2**62 + 7])
    rows = [{int(j): 1.0} for j in ids]
    model = tamis.SOFS(3, n_bits=20).partial_fit(block(rows, [1, 0, 1]), classes=[0, 1])
    assert len(model.kept_) == 3
    assert model.kept_.max() < 2**20
    assert model.predict(block(rows, [0, 0, 0])).tolist() == [1, 0, 1]
    unsigned = block([{2**64 - 1: 1.0}], [1], dtype=np.uint64)
    assert len(model.partial_fit(unsigned).kept_) == 3
    # The same numbers as another input type.
    other = tamis.SOFS(3, n_bits=20, classes=[0, 1])
    for row, y in zip(rows, [1, 0, 1], strict=True):
        other.learn_one(row, y)
    same(other, tamis.SOFS(3, n_bits=20).partial_fit(block(rows, [1, 0, 1]), classes=[0, 1]))


def test_numbers_in_the_same_bucket_are_summed() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.5)
    y = rng.integers(0, 2, 60)
    model = tamis.SOFS(3, n_bits=3).fit(X, y)
    from tamis.kernels.row_scoring import buckets_of

    where = buckets_of(np.arange(40), 3)
    table = np.zeros((60, 8))
    for j in range(40):
        table[:, where[j]] += X[:, j]
    same(model, tamis.SOFS(3).fit(table, y))
    # As a selector it keeps the columns that fall into kept buckets.
    assert model.get_support().tolist() == np.isin(where, model.kept_).tolist()
    assert model.transform(X).shape[1] == model.get_support().sum()
    assert len(model.get_feature_names_out()) == model.get_support().sum()


# --- as a selector --------------------------------------------------------------------------------


def test_in_a_pipeline() -> None:
    X, y = load_digits(return_X_y=True)
    train_X, test_X, train_y, test_y = train_test_split(X, y, random_state=0)
    steps = make_pipeline(tamis.SOFS(20), KNeighborsClassifier(3)).fit(train_X, train_y)
    kept = steps[0].kept_
    assert len(kept) == 20
    np.testing.assert_array_equal(steps[0].transform(test_X), test_X[:, kept])
    assert steps[0].get_feature_names_out().tolist() == [f"x{j}" for j in kept]
    assert steps[0].get_support(indices=True).tolist() == kept.tolist()
    assert steps.score(test_X, test_y) > 0.85


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (tamis.SOFS(30), 0.75),
        (tamis.SOFS(64), 0.9),
        (tamis.SOFS(64, multiclass="uniform"), 0.85),
        (tamis.AROW(), 0.9),
        (tamis.OGD(), 0.85),
        (tamis.PET(40), 0.6),
        (tamis.FOFS(40), 0.6),
    ],
    ids=repr,
)
def test_digits(model, least) -> None:
    X, y = load_digits(return_X_y=True)
    train_X, test_X, train_y, test_y = train_test_split(X / 16, y, random_state=0)
    assert model.fit(train_X, train_y).score(test_X, test_y) >= least


# --- bad input ------------------------------------------------------------------------------------


@every
def test_labels(learner) -> None:
    X = np.eye(4)
    model = learner.__class__()
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(InputError, match="classes must be passed on the first call"):
        model.partial_fit(X, [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"row 2 has the class 7, .* classes \[0, 1\]"):
        model.partial_fit(X, [0, 1, 7, 1], classes=[0, 1])
    assert not hasattr(model, "classes_")
    model.partial_fit(X, [0, 1, 1, 1], classes=[0, 1])
    with pytest.raises(InputError, match="is not the same as on the last call"):
        model.partial_fit(X, [0, 1, 1, 1], classes=[0, 1, 2])
    with pytest.raises(InputError, match="row 3 has the class 'b'"):
        learner.__class__().partial_fit(X, ["a", "c", "a", "b"], classes=["a", "c"])
    with pytest.raises(InputError, match="one class only"):
        model.fit(X, [1, 1, 1, 1])
    with pytest.raises(InputError, match="one class only"):
        learner.__class__(classes=[1]).partial_fit(X, [1, 1, 1, 1])
    with pytest.raises(InputError, match="X has 4 rows but y has 3"):
        model.fit(X, [0, 1, 1])
    with pytest.raises(InputError, match="target y is None"):
        model.fit(X)
    # A class that does not occur in the first rows may come later.
    later = learner.__class__(classes=["a", "b"]).partial_fit(X, ["a"] * 4)
    assert later.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{0: 1.0}, {-3: 1.0}], "row 11 holds the feature number -3, which is negative"),
        ([{0: 1.0}, {2: math.inf}], "NaN or infinity in row 11, column 2;"),
        ([{2: 1e70}], "row 10, column 2 holds 1e.70, which is too large"),
        ([{5: 1.0, 3: 1.0}], "row 10 holds feature 3 after feature 5; .* must rise"),
    ],
)
def test_rows_of_a_stream(rows, sentence) -> None:
    model = tamis.SOFS(3).partial_fit(block([{1: 1.0}], [1]), classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=sentence):
        model.partial_fit(block(rows, [1] * len(rows), first=10))
    assert pickle.dumps(model) == before


def test_a_feature_given_twice() -> None:
    twice = Compressed(np.array([0, 2]), np.array([3, 3]), np.ones(2))
    with pytest.raises(InputError, match="row 0 holds feature 3 after feature 3"):
        tamis.SOFS(3).partial_fit(RowBlock(0, None, twice, np.array([1])), classes=[0, 1])


@pytest.mark.parametrize("indptr", [[0, 5], [2, 1], [-1, 2]])
def test_a_block_that_does_not_fit_itself(indptr) -> None:
    wrong = Compressed(np.array(indptr, dtype=np.int64), np.array([0, 1]), np.ones(2))
    with pytest.raises(TamisError, match="indptr that does not fit"):
        tamis.SOFS(3).partial_fit(RowBlock(0, None, wrong, np.array([1])), classes=[0, 1])


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (tamis.SOFS(0), "SOFS: n_features=0 is not a whole number at least 1"),
        (tamis.SOFS(2**24 + 1), "n_features=16777217 is not"),
        (tamis.SOFS(gamma=0), "gamma=0 is not a number above 0"),
        (tamis.PET(eta=-1), "PET: eta=-1 is not a number above 0"),
        (tamis.FOFS(eta=2.0, lam=0.5), "eta=2.0 times lam=0.5 is not below 1"),
        (tamis.OGD(decay="fast"), "decay='fast' is not one of 'sqrt', 'none'"),
        (tamis.AROW(multiclass="all"), "multiclass='all' is not one of"),
        (tamis.AROW(passes=0), "passes=0 is not"),
        (tamis.AROW(n_bits=41), "n_bits=41 is not"),
        (tamis.AROW(n_columns=0), "n_columns=0 is not"),
    ],
    ids=repr,
)
def test_parameters(model, sentence) -> None:
    with pytest.raises(ParameterError, match=sentence):
        model.fit(np.eye(2), [0, 1])
    assert not hasattr(model, "classes_")
