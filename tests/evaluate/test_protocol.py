"""Folds, official splits, and that no test row is ever seen by a selector."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from odd_selectors import BestBy
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError, TamisError
from tamis.evaluate import compare
from tamis.evaluate.datasets import map_data, read_dataset, read_datasets
from tamis.evaluate.protocol import fold_seed, make_folds, parse_cv


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 99), st.integers(0, 5))
def test_folds_cut_the_rows(folds, repeats, seed, odd):
    codes = np.repeat([0, 1, 2], [11, 7, 6 + odd])
    made = make_folds(codes, parse_cv(f"{repeats}x{folds}"), seed)
    assert [(f.repeat, f.number) for f in made] == [
        (r, i) for r in range(repeats) for i in range(folds)
    ]
    for r in range(repeats):
        mine = [f for f in made if f.repeat == r]
        tested = np.sort(np.concatenate([f.test for f in mine]))
        assert tested.tolist() == list(range(len(codes)))
        for f in mine:
            assert sorted([*f.train, *f.test]) == list(range(len(codes)))
            # stratified: every class is in every test fold
            assert set(codes[f.test]) == {0, 1, 2}
        assert len({f.digest for f in mine}) == folds
    # Two repeats may draw the same test rows by chance; a fold's own random state still differs.
    assert len({fold_seed(seed, f) for f in made}) == len(made)


def test_more_repeats_leave_existing_folds_unchanged():
    codes = np.arange(40) % 2
    few, many = (make_folds(codes, parse_cv(cv), 5) for cv in ("2x4", "3x4"))
    assert [f.digest for f in few] == [f.digest for f in many][:8]
    other = make_folds(codes, parse_cv("2x4"), 6)
    assert {f.digest for f in few}.isdisjoint(f.digest for f in other)


@pytest.mark.parametrize("text", ["", "x", "5x", "x5", "0x5", "5x1", "1", "2x3x4", "-5"])
def test_invalid_cv(text):
    with pytest.raises(ParameterError, match="is not of the form REPEATSxFOLDS, such as 5x10"):
        parse_cv(text)


def test_classes_too_small_for_the_folds():
    with pytest.raises(InputError, match=r"^few: no class has 5 rows, so it cannot be cut into 5"):
        make_folds(np.array([0, 0, 1, 1]), parse_cv(5), 0, name="few")
    with pytest.warns(DataWarning, match="few: a class has 2 rows, fewer than the 5 folds"):
        make_folds(np.array([0] * 9 + [1] * 2), parse_cv(5), 0, name="few")


# --- leaks ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noise():
    """60 rows of 5,000 columns that have nothing to do with the class."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(60, 5000)), np.arange(60) % 2


@pytest.fixture(scope="module")
def watched(noise, tmp_path_factory):
    """A comparison on noise, and the rows that a spying selector was shown."""
    X, y = noise
    folder = tmp_path_factory.mktemp("spy")
    numbered = X.copy()
    numbered[:, 0] = np.arange(60)
    methods = {
        "best": "odd_selectors:BestBy:k=20",
        "spy": f"odd_selectors:Spy:folder={folder}",
    }
    results = compare(
        {"noise": (numbered, y)}, methods, "knn,lr", cv="2x5", random_state=3, n_jobs=1
    )
    return results, folder


def test_a_leak_is_not_rewarded(noise, watched):
    X, y = noise
    cheat = X[:, BestBy(20).fit(X, y).get_support()]  # selected on all rows, test rows included
    leaked = cross_val_score(KNeighborsClassifier(3), cheat, y, cv=5).mean()
    honest = watched[0].grid("accuracy", "knn")[0, 0]
    assert leaked > 0.85
    assert 0.3 < honest < 0.65  # chance is 0.5, and 60 rows have a standard error of 0.065


def test_selectors_see_the_training_rows_of_their_fold_and_nothing_else(noise, watched):
    y = noise[1]
    results, folder = watched
    seen = [np.load(path) for path in folder.iterdir()]
    folds = make_folds(y.astype(np.int64), parse_cv("2x5"), 3)
    assert len(seen) == len(folds)
    assert {tuple(rows[:, 0].astype(int)) for rows in seen} == {tuple(f.train) for f in folds}
    for rows in seen:
        assert np.array_equal(rows[:, 1], y[rows[:, 0].astype(int)])
    assert results.column("test_rows").tolist() == [12] * len(results.rows)


# --- data -----------------------------------------------------------------------------------------


def test_a_pair_of_files_is_an_official_split(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (30, 5)), np.arange(30) % 2
    X[:, 4] = 1
    X[20:, 4] = 0  # the test file ends one column earlier
    dump_svmlight_file(X[:20], y[:20], str(tmp_path / "a.train.svm"), zero_based=False)
    dump_svmlight_file(X[20:], y[20:], str(tmp_path / "a.test.svm"), zero_based=False)
    data = read_dataset(f"{tmp_path}/a.train.svm:{tmp_path}/a.test.svm")
    assert data.name == "a"
    assert data.X.shape == (30, 5)
    assert np.array_equal(data.X.toarray(), X)
    assert data.official[1].tolist() == list(range(20, 30))
    assert data.name_of(4) == "5"
    folds = make_folds(data.codes, parse_cv(5), 0, data.official)
    assert [(len(f.train), len(f.test)) for f in folds] == [(20, 10)]
    with pytest.raises(SourceError, match=r"b.svm: there is no such file or folder"):
        read_dataset(f"{tmp_path}/a.train.svm:{tmp_path}/b.svm")


def test_a_folder_with_meta_json(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(24).reshape(8, 3))
    np.save(tmp_path / "y.npy", np.arange(8) % 2)
    meta = {"split": {"train": [0, 5], "valid": [5, 8]}}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    data = read_dataset(tmp_path)
    assert [rows.tolist() for rows in data.official] == [[0, 1, 2, 3, 4], [5, 6, 7]]
    (tmp_path / "meta.json").write_text(json.dumps({"split": {"train": [0, 8]}}))
    assert read_dataset(tmp_path).official is None
    (tmp_path / "meta.json").write_text(json.dumps({"split": {"train": [0, 5], "test": [5, 9]}}))
    with pytest.raises(SourceError, match="the split goes beyond the 8 rows"):
        read_dataset(tmp_path)


def test_mapped_data_is_the_data(tmp_path):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(7, 4))
    dense[dense < 0] = 0
    y = np.array(list("abababa"))
    for i, X in enumerate((dense, sp.csr_matrix(dense), sp.csc_matrix(dense))):
        data = read_dataset((X, y), "d")
        data.write(tmp_path / str(i))
        mapped, codes = map_data(tmp_path / str(i))
        assert np.array_equal(mapped.toarray() if sp.issparse(mapped) else mapped, dense)
        assert codes.tolist() == [0, 1, 0, 1, 0, 1, 0]
    a, b = read_dataset((sp.csr_matrix(dense), y)), read_dataset((sp.csc_matrix(dense), y))
    assert a.fingerprint == b.fingerprint
    assert read_dataset((dense, y[::-1].copy())).fingerprint == read_dataset((dense, y)).fingerprint
    assert read_dataset((dense, np.roll(y, 1))).fingerprint != read_dataset((dense, y)).fingerprint


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        (np.eye(3), "give data as paths, or as a mapping"),
        ({"d": np.eye(3)}, "^d: give a path, a source, or a pair"),
        ({"d": (np.eye(3), None)}, "^d has no target; comparing needs the class of every row"),
        ({"d": (np.eye(3), [0.5, 1.5, 2])}, "^d: the target is a number to predict"),
        ({"d": (np.full((3, 1), np.nan), [0, 1, 1])}, "^d holds NaN or infinity; impute them"),
        ({"d": (np.eye(3), [1, 1, 1])}, "^the target is 1 in every row"),
        (["no/such.svm"], "^no/such.svm does not exist"),
        ([], "give data as paths"),
    ],
)
def test_data_that_compare_rejects(given_, sentence):
    with pytest.raises(TamisError, match=sentence):
        read_datasets(given_)


def test_text_columns_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "green", "blue", "red"], "size": [1, 2, 3, 4]})
    with pytest.raises(InputError, match=r"^d: column colour holds words, and classifiers need"):
        read_datasets({"d": (frame, [0, 1, 0, 1])})


def test_names_of_files_that_are_the_same(tmp_path):
    y = np.arange(6) % 2
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        dump_svmlight_file(np.eye(6), y, str(tmp_path / folder / "x.svm"), zero_based=False)
    sets = read_datasets([tmp_path / "a" / "x.svm", tmp_path / "b" / "x.svm"])
    assert [one.name for one in sets] == ["x (a)", "x (b)"]
    again = read_datasets([tmp_path / "a" / "x.svm"] * 2)
    assert [one.name for one in again] == ["x (a)", "x (a) (2)"]


def test_names_of_arrays():
    X, y = np.eye(6), np.arange(6) % 2
    sets = read_datasets({"first": (X, y), "second": (sp.csr_matrix(X), y)})
    assert [one.name for one in sets] == ["first", "second"]
    assert [one.name for one in read_datasets([(X, y), (X, y)])] == ["data", "data (2)"]


def test_files_of_several_formats_with_options_that_some_readers_have(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 3)), columns=["a", "b", "c"])
    frame["label"] = ["ill", "well"] * 6
    frame.to_parquet(tmp_path / "t.parquet")
    dump_svmlight_file(np.eye(6), np.arange(6) % 2, str(tmp_path / "x.svm"), zero_based=False)
    table, rows = read_datasets([tmp_path / "t.parquet", tmp_path / "x.svm"], {"target": "label"})
    assert table.classes.tolist() == ["ill", "well"]
    assert [table.name_of(i) for i in range(3)] == ["a", "b", "c"]
    assert np.array_equal(table.X, frame[["a", "b", "c"]].to_numpy())
    assert rows.X.shape == (6, 6)
