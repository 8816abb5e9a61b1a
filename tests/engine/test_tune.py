"""Tuning by progressive validation, against one learner at a time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import tamis
from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError
from tamis.engine.learning.tune import GRID, tune


def stream(rows=300, columns=30, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.4)
    truth = rng.normal(size=(columns, classes)) * (np.arange(columns) < 6)[:, None]
    return X, (X @ truth).argmax(axis=1)


def recent_mistakes(learner, X, y):
    """Return the mistakes after the largest power of two up to half of the rows (129 to 300)."""
    p = 1 << (len(y) // 2).bit_length() - 1
    model = learner.partial_fit(X[:p], y[:p], np.unique(y))
    before = model.work_["mistakes"]
    return model.partial_fit(X[p:], y[p:]).work_["mistakes"] - before


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (tamis.SOFS(6), {"gamma": [0.01, 1.0, 100.0]}),
        (tamis.PET(6), {"eta": [0.001, 0.1, 10.0]}),
        (tamis.FOFS(6), {"eta": [0.01, 1.0], "lam": [0.001, 0.1]}),
        (tamis.AROW(), {"gamma": [0.01, 1.0, 100.0]}),
        (tamis.OGD(), {"eta": [0.001, 0.1, 10.0]}),
        (tamis.SOFS("auto", sizes=(2, 6)), {"gamma": [0.01, 1.0, 100.0]}),
    ],
)
def test_the_table_has_the_result_of_each_setting_alone(learner, grid, classes):
    X, y = stream(classes=classes)
    tuned = tune(learner, X, y, grid=grid)
    assert (tuned.rows, tuned.counted) == (300, 300 - 128)
    for line in tuned.table:
        setting = {name: line[name] for name in grid}
        alone = type(learner)(**{**learner.get_params(), **setting})
        if learner.get_params().get("n_features") != "auto":
            assert line["mistakes"] == recent_mistakes(alone, X, y)
        assert line["error"] == line["mistakes"] / 172
    fewest = min(line["mistakes"] for line in tuned.table)
    first = next(line for line in tuned.table if line["mistakes"] == fewest)
    assert tuned.parameters == {name: first[name] for name in grid}
    assert tuned.learner.get_params() == {**learner.get_params(), **tuned.parameters}
    assert not hasattr(tuned.learner, "classes_")
    assert not hasattr(learner, "classes_")


def test_ties_go_to_the_smaller_parameter():
    X, y = stream()
    # The scale of all weights does not change a prediction of a perceptron-like learner that
    # updates on every row: with rows this small the margin is never reached.
    tuned = tune(tamis.PET(30), X * 1e-9, y, grid={"eta": [1.0, 4.0, 2.0]})
    assert len({line["mistakes"] for line in tuned.table}) == 1
    assert tuned.parameters == {"eta": 1.0}


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_chunks_files_and_layouts_do_not_matter(size, tmp_path):
    X, y = stream()
    grid = {"gamma": [0.1, 10.0]}
    expected = tune(tamis.SOFS(5), X, y, grid=grid)
    csr = sp.csr_matrix(X)

    def blocks():
        for lo in range(0, len(y), size):
            part = csr[lo : lo + size]
            rows = Compressed(part.indptr, part.indices, part.data)
            yield RowBlock(lo, None, rows, y[lo : lo + size])

    assert tune(tamis.SOFS(5, classes=[0, 1]), blocks(), grid=grid).table == expected.table
    assert tune(tamis.SOFS(5), csr, y, grid=grid).table == expected.table
    assert tune(tamis.SOFS(5), X.tolist(), y, grid=grid).table == expected.table
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    assert tune(tamis.SOFS(5), path, grid=grid).table == expected.table


def test_rows_bound_what_is_read():
    X, y = stream()
    reported = []
    tuned = tune(tamis.SOFS(5), X, y, rows=100, progress=lambda *what: reported.append(what))
    assert tuned.rows == 100
    assert reported[-1] == ("tuning", 100, 100)
    assert {what for what, _, _ in reported} == {"tuning"}
    assert tuned.table == tune(tamis.SOFS(5), X[:100], y[:100]).table
    assert [line["gamma"] for line in tuned.table] == list(GRID["gamma"])
    assert str(tuned).endswith("on the last 68 of 100 rows, each predicted before it was learned")


def test_invalid_settings_are_left_out_of_the_default_grid_only():
    X, y = stream()
    tried = {(line["eta"], line["lam"]) for line in tune(tamis.FOFS(5), X, y, rows=20).table}
    assert tried == {(e, la) for e in GRID["eta"] for la in GRID["lam"] if e * la < 1}
    with pytest.raises(ParameterError, match="every update would set all weights to 0"):
        tune(tamis.FOFS(5), X, y, grid={"eta": [10.0], "lam": [0.1]})


def test_invalid_arguments_are_reported():
    X, y = stream(rows=20)
    for wrong, kind, sentence in (
        ({"grid": {"eta": [1]}}, ParameterError, "SOFS has no parameter 'eta' to tune"),
        ({"grid": {"gamma": []}}, ParameterError, "SOFS: there are no values of gamma to try"),
        ({"rows": 0}, ParameterError, "tune: rows=0 is not a whole number at least 2 or None"),
    ):
        with pytest.raises(kind) as caught:
            tune(tamis.SOFS(5), X, y, **wrong)
        assert str(caught.value) == sentence
    with pytest.raises(InputError, match="the data has no target; give one with y="):
        tune(tamis.SOFS(5), X)
    with pytest.raises(InputError, match="are unknown; give them with classes="):
        tune(tamis.SOFS(5), iter([]))
    with pytest.raises(InputError, match="there are no rows to tune on"):
        tune(tamis.SOFS(5, classes=[0, 1]), iter([]))
