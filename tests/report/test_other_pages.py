"""Pages about models and comparisons, and a page of a million features."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sample_pages import a_run
from sklearn.datasets import load_breast_cancer, load_wine

import tamis
from tamis import evaluate
from tamis.core.errors import InputError
from tamis.core.markup import cell
from tamis.engine.learning.model import save_model
from tamis.report.folder_page import page_of_folder
from tamis.report.html_page import as_html
from tamis.report.page import Explorer, Ranks, Scatter
from tamis.report.run_page import page_of_run
from tamis.sources.arrays.synthetic import SparseStream


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    data = [
        _stored(folder / f"{load.__name__}.npz", *load(return_X_y=True))
        for load in (load_wine, load_breast_cancer)
    ]
    return evaluate.compare(
        data, ["saola", "random", "all"], classifiers=["knn"], cv="1x3",
        out=folder / "results", n_jobs=1,
    ), folder / "results"  # fmt: skip


def section(page, title):
    return next(s for s in page.sections if s.title == title)


def test_a_comparison_shows_ranks_tables_and_the_trade_off(results):
    found, folder = results
    page = page_of_folder(folder)
    assert page.title == "tamis compare: 3 methods on 2 data sets"
    ranks = section(page, "Average ranks with knn")
    assert isinstance(ranks, Ranks)
    summary = found.summary()["classifiers"]["knn"]
    assert ranks.ranks == summary["ranks"]["average_ranks"]
    table = section(page, "Accuracy with knn")
    assert [row[0] for row in table.rows] == [*found.data, "mean"]
    assert [row[1:] for row in table.rows[:-1]] == summary["accuracy"]
    assert np.allclose(table.rows[-1][1:], np.mean(summary["accuracy"], axis=0))
    trade = section(page, "Accuracy against size with knn")
    assert isinstance(trade, Scatter)
    for i in trade.best:
        _, size, score, _ = trade.points[i]
        assert not any(s < size and a > score for _, s, a, _ in trade.points)
    assert as_html(page).startswith("<!doctype html>")


def test_warnings_are_reported_once_for_each_method_and_data_set(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = {"numbers": (rng.normal(size=(60, 5)) + y[:, None], y)}
    methods = ["fcbf:measure=symmetric_uncertainty", "fcbf"]
    evaluate.compare(data, methods, ["knn"], cv="1x3", n_jobs=1, out=tmp_path)
    page = page_of_folder(tmp_path)
    [[name, who, sentence, folds]] = section(page, "Warnings").rows
    assert (name, who, folds) == ("numbers", methods[0], 3)
    assert "takes every value as a category" in sentence
    row = f"| numbers | {cell(who)} | {cell(sentence)} | 3 |\n"
    assert row in (tmp_path / "summary.md").read_text()
    accuracies = section(page, "Accuracy with knn")
    assert accuracies.best == "highest"
    assert [column.digits for column in accuracies.columns] == [None, 4, 4]


def test_the_page_of_a_living_selection_shows_what_was_fed(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    selection = tamis.Selection.create(tmp_path / "run", y, "saola")
    for day in ("monday", "tuesday"):
        pd.DataFrame({day: y + rng.normal(size=100)}).to_parquet(tmp_path / f"{day}.parquet")
        selection.feed(tmp_path / f"{day}.parquet")
    selection.drop("monday")
    fed = section(page_of_folder(tmp_path / "run"), "What was fed")
    assert [row[1:5] for row in fed.rows[-3:]] == [
        ["feed", "monday.parquet", 1, 1],
        ["feed", "tuesday.parquet", 1, 2],
        ["drop", "monday", None, 2],
    ]
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / "state.sqlite")) as state, state:
        state.execute("UPDATE part SET data = x'00' WHERE kind = 'history' AND number = 2")
    assert "What was fed" not in [s.title for s in page_of_folder(tmp_path / "run").sections]


def test_requested_curves_are_drawn(tmp_path):
    data = {"wine": load_wine(return_X_y=True)}
    methods = ["saola", "alpha-investing"]
    options = {"cv": "1x2", "n_jobs": 1, "out": tmp_path}
    evaluate.compare(data, methods, ["knn"], **options)
    curves = evaluate.over_time(data, methods, "knn", points=3, **options)
    page = page_of_folder(tmp_path)
    drawn = section(page, "wine over time: accuracy with knn")
    assert list(drawn.series) == methods
    x, accuracy = curves.line("wine", "saola", "knn")
    assert drawn.x == x.tolist()
    assert drawn.series["saola"] == accuracy.tolist()
    kept = section(page, "wine over time: features kept")
    assert kept.series["saola"] == curves.line("wine", "saola", "knn", "kept")[1].tolist()


def test_ranks_are_drawn(results):
    found, _ = results
    [axes] = found.plot_ranks().axes
    words = " ".join(text.get_text() for text in axes.texts)
    assert "critical difference" in words
    for method in found.methods:
        assert method in words


def test_one_data_set_has_no_ranks(tmp_path):
    X, y = load_wine(return_X_y=True)
    data = [_stored(tmp_path / "w.npz", X, y)]
    one = evaluate.compare(data, ["saola", "all"], classifiers=["knn"], cv="1x2", n_jobs=1)
    with pytest.raises(InputError, match="no ranks to plot"):
        one.plot_ranks()


def _stored(path, X, y):
    sp.save_npz(path, sp.csc_matrix(X))
    np.save(path.with_suffix(".y.npy"), y)
    return str(path)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_shows_error_churn_and_kept_features(tmp_path, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40)) * (rng.random((600, 40)) < 0.3)
    y = (X[:, :classes].argmax(axis=1)) if classes > 2 else X[:, 1] > 0
    clf = tamis.SOFS(n_features=5)
    clf.fit_stream(tamis.open(X, y=y))
    page = page_of_folder(save_model(clf, tmp_path / "model"))
    assert page.summary.startswith("SOFS kept 5 of 40 features after 600 rows")
    error = section(page, "Error over the rows")
    assert error.x == clf.curve_["rows"]
    assert len(error.x) > 5
    kept = section(page, "Kept features by confidence")
    assert len(kept.rows) == 5
    assert len(kept.columns) == 3 if classes == 2 else 2 + classes
    confidence = [row[1] for row in kept.rows]
    assert confidence == sorted(confidence, reverse=True)
    json.dumps(page.as_json(), allow_nan=False)


def test_a_page_of_many_features_that_reached_the_rule_is_small():
    source = SparseStream(n_rows=200, n_columns=60_000)
    run = tamis.select(source, tamis.SAOLA(tamis.MutualInformation(threshold=0.0)))
    assert run.log.n_events > 10_000  # with threshold 0 nearly everything reaches the rule
    html = as_html(page_of_run(run, "run"))
    assert len(html.encode()) < 500_000


def test_long_names_do_not_make_a_long_page():
    names = [f"{k} " + "x" * 5_000 for k in range(400)]
    run = a_run(400, names=names, measure="mutual_information", bound="max")
    page = page_of_run(run, "run")
    explorer = next(s for s in page.sections if isinstance(s, Explorer))
    assert len(explorer.names) < 60
    assert "are not on this page" in explorer.note
