"""Model folders: plain files, only what is kept, the same predictions; damage is one sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, OutputError, SourceError
from tamis.engine.learning.predict import Tally, accuracy_on, predict_stream
from tamis.kernels.row_scoring import fill_table, score_listed


@pytest.fixture
def table():
    X = sp.random(300, 30, 0.4, random_state=0, format="csr")
    y = np.where(X[:, 3].toarray().ravel() > X[:, 20].toarray().ravel(), "yes", "no")
    return X, y


def test_the_folder_holds_plain_arrays_of_the_kept_features(tmp_path, table):
    clf = tamis.SOFS(5).fit(*table)
    assert tamis.save_model(clf, tmp_path / "m") == tmp_path / "m"
    names = ["confidence.npy", "features.npy", "model.json", "weights.npy"]
    assert sorted(os.listdir(tmp_path / "m")) == names
    record = json.loads((tmp_path / "m" / "model.json").read_text())
    assert record["method"] == "SOFS"
    assert record["parameters"]["n_features"] == 5
    assert record["classes"] == {"kind": "U", "values": ["no", "yes"]}
    assert record["work"]["rows"] == 300
    assert np.load(tmp_path / "m" / "features.npy").tolist() == clf.kept_.tolist()
    model = tamis.open_model(tmp_path / "m")
    assert repr(model) == "<SavedModel of SOFS, 5 features kept>"
    assert model.names_ == [f"x{j}" for j in clf.kept_]
    assert model.predict(table[0]).tolist() == clf.predict(table[0]).tolist()
    assert model.score(*table) == clf.score(*table)


def test_two_billion_columns_take_the_memory_of_what_is_kept(tmp_path):
    # Marks of feature numbers beyond 2**31 would take 20 GB if they were touched.
    far = np.array([7, 2**31 + 5, 5_000_000_000])
    rows = Compressed(np.array([0, 2, 4]), far[[0, 2, 1, 2]], np.array([1.0, 1.0, 1.0, -1.0]))
    clf = tamis.PET(2, n_bits=20).fit_stream(iter([RowBlock(0, None, rows, np.array([0, 1]))]))
    model = tamis.open_model(tamis.save_model(clf, tmp_path / "m"))
    assert sum(p.stat().st_size for p in (tmp_path / "m").iterdir()) < 5000
    assert model.predict(RowBlock(0, None, rows)).tolist() == [0, 1]
    ids = np.array([3, 2**40, 2**62], dtype=np.int64)
    keys, slots = np.zeros(8, np.int64), np.full(8, -1)
    fill_table(ids, 3, keys, slots)
    scores = np.zeros((2, 1))
    queried = np.array([3, 2**62, 4, 2**40, 2**62], dtype=np.int64)
    score_listed(
        np.array([0, 2, 5]), queried, np.array([1.0, 10.0, 100.0, 2.0, 3.0]), 3, keys, slots,
        np.array([[1.0], [5.0], [7.0]]), scores,
    )  # fmt: skip
    assert scores.ravel().tolist() == [71.0, 31.0]


def test_names_of_frames_and_dicts_are_saved(tmp_path, table):
    X, y = table
    frame = pd.DataFrame(X.toarray(), columns=[f"c{j}" for j in range(30)])
    clf = tamis.SOFS(4).fit(frame, y)
    model = tamis.open_model(tamis.save_model(clf, tmp_path / "frame"))
    assert model.names_ == clf.get_feature_names_out().tolist()
    assert model.predict(frame).tolist() == clf.predict(frame).tolist()
    with pytest.raises(InputError, match=r"of X is not 'c\d+', as it was in training"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(InputError, match="X has 29 columns, but the model was trained on 30"):
        model.predict(frame.to_numpy()[:, 1:])
    words = tamis.PET(2)
    for row, label in (({"good": 1.0, "a": 1.0}, True), ({"bad": 1.0, "a": 1.0}, False)) * 3:
        words.learn_one(row, label)
    model = tamis.open_model(tamis.save_model(words, tmp_path / "words"))
    assert set(model.names_) <= {"good", "bad", "a"}
    for row in ({"good": 1.0}, {"bad": 1.0}, {"new": 3.0}):
        assert model.predict_one(row) == words.predict_one(row)


@pytest.mark.parametrize(
    "classes", [[False, True], [1, 2, 3], [1.0, 2.0], ["a", "b"], np.array([1, 5], np.uint8)]
)
def test_classes_survive_saving(tmp_path, table, classes):
    X, _ = table
    clf = tamis.PET(3, classes=classes)
    clf.partial_fit(X[:2], np.asarray(classes)[:2])
    model = tamis.open_model(tamis.save_model(clf, tmp_path / "m"))
    assert model.classes_.tolist() == clf.classes_.tolist()
    assert model.classes_.dtype.kind == clf.classes_.dtype.kind


def test_a_model_is_replaced_only_with_force(tmp_path, table):
    clf = tamis.PET(3).fit(*table)
    tamis.save_model(clf, tmp_path / "m")
    with pytest.raises(OutputError, match=r"already exists; choose another name, or use --f"):
        tamis.save_model(clf, tmp_path / "m")
    tamis.save_model(tamis.SOFS(4).fit(*table), tmp_path / "m", force=True)
    assert tamis.open_model(tmp_path / "m").record["method"] == "SOFS"
    assert os.listdir(tmp_path) == ["m"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(OutputError, match="exists and is not a model; it will not be replaced"):
        tamis.save_model(clf, tmp_path / "other", force=True)


def change(path: Path, **facts) -> None:
    record = json.loads((path / "model.json").read_text())
    del record["checksum"]
    (path / "model.json").write_text(json.dumps(record | facts))


def pickled(path: Path) -> None:
    np.save(path / "weights.npy", np.array([{}]), allow_pickle=True)
    change(path, crc32={})


def pipe(path):
    """Put a pipe in place of a file: reading it never ends."""
    path.unlink()
    os.mkfifo(path)


HARMS = {
    "a cut array": (lambda m: os.truncate(m / "weights.npy", 130), "weights.npy has changed since"),
    "no array": (lambda m: (m / "features.npy").unlink(), "No such file or directory"),
    "cut JSON": (lambda m: os.truncate(m / "model.json", 300), ""),
    "no classes": (lambda m: change(m, classes={"kind": "i", "values": [1]}), "fewer than two"),
    "odd classes": (lambda m: change(m, classes={"kind": "x", "values": [1]}), "'x' is missing"),
    "other kept": (lambda m: change(m, kept=99), "its files do not belong together"),
    "no names": (lambda m: change(m, names=None), "NoneType"),
    "a way out": (
        lambda m: change(m, crc32={"../m/weights.npy": 1}),
        "has changed since it was written",
    ),
    "pickles": (lambda m: pickled(m), "pickle"),
    "a pipe": (lambda m: pipe(m / "weights.npy"), "weights.npy is not a regular file"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_folder_is_one_sentence(tmp_path, table, harm):
    tamis.save_model(tamis.PET(3).fit(*table), tmp_path / "m")
    hurt, message = HARMS[harm]
    hurt(tmp_path / "m")
    with pytest.raises(SourceError) as error:
        tamis.open_model(tmp_path / "m")
    text = str(error.value)
    assert text.startswith(f"{tmp_path / 'm'} is damaged (")
    assert text.endswith("); run tamis learn again")
    assert message in text
    assert "\n" not in text


def test_other_folders_are_not_models(tmp_path, table):
    with pytest.raises(SourceError, match=r"is not a model; it has no model\.json written by"):
        tamis.open_model(tmp_path)
    tamis.save_model(tamis.PET(3).fit(*table), tmp_path / "m")
    change(tmp_path / "m", format_version=9)
    with pytest.raises(SourceError, match="was written in format 9 and this tamis reads format 1"):
        tamis.open_model(tmp_path / "m")


def test_predictions_of_a_stream(tmp_path, table):
    X, y = table
    codes = np.where(y == "yes", 1, 0)
    clf = tamis.SOFS(5).fit(X, codes)
    lines = [
        " ".join([str(c), *(f"{j + 1}:{v!r}" for j, v in
                            zip(X[r].indices.tolist(), X[r].data.tolist(), strict=True))])
        for r, c in enumerate(codes)
    ]  # fmt: skip
    path = tmp_path / "t.svm"
    path.write_text("\n".join([*lines[:100], "", "9 1:1", *lines[100:]]) + "\n")
    trained = tamis.SOFS(5).fit_stream(path, classes=[0, 1], skip_bad_lines=True)
    model = tamis.open_model(tamis.save_model(trained, tmp_path / "m"))
    assert np.array_equal(model.weights_, clf.weights_)
    with pytest.raises(SourceError, match="line 101 is empty"):
        accuracy_on(model, path)
    tally, rows, found = Tally(), [], []
    for part in predict_stream(model, path, tally=tally, skip_bad_lines=True, chunk=500):
        rows += part.rows.tolist()
        found += part.answers.tolist()
    assert rows == list(range(301))
    assert found[:100] + found[101:] == clf.predict(X).tolist()
    assert (tally.rows, tally.labelled, tally.bad.counts) == (301, 300, {"empty": 1})
    assert tally.accuracy == clf.score(X, codes)
