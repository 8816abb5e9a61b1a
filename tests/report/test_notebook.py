"""Cards in notebooks: small, complete in themselves, and with nothing that data could inject."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sample_pages import ODD, a_run, an_odd_run
from sklearn.datasets import load_iris, load_wine

import tamis
from tamis import evaluate
from tamis.core.notebook import card, html_table, shares, text
from tamis.engine.learning.model import open_model, save_model

NAMES = [*ODD, "x" * 10_000, "\udc80"]


class Reader(HTMLParser):
    """The elements, attributes and text of a card."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = set(), [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(shown):
    html = shown._repr_html_() if hasattr(shown, "_repr_html_") else shown
    html.encode()  # can be sent
    found = Reader(html)
    assert found.tags <= {
        "div", "span", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi", "code", "br",
    }  # fmt: skip
    assert {name for name, _ in found.attributes} <= {"style", "title", "scope", "aria-hidden"}
    styles = " ".join(value for name, value in found.attributes if name == "style")
    assert "url(" not in styles
    assert "background:#fff" not in styles
    return " ".join(found.words)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_stays_a_name(name):
    words = read(card(name, html_table(["", name], [[name, name]]), shares({name: 1})))
    assert "<" in words or "<" not in name


def test_a_long_name_is_cut():
    assert len(text("x" * 10_000)) < 1_200


def test_a_run_shows_counts_the_strongest_kept_features_and_the_notes():
    run = a_run(400, measure="mutual_information", bound="max")
    run.source |= {"weights": "a <column>", "target_name": "died"}
    words, counts = read(run), run.log.counts()
    assert words.startswith(f"saola kept {counts['kept']} of 400 features on 300 rows of memory")
    for word, n in counts.items():
        assert f"{n:,} {word}" in words
    strongest = max(run.kept_rows(), key=lambda row: row["relevance"])
    assert f"{strongest['name']} {strongest['relevance']:.4g}" in words
    assert f"and {counts['kept'] - 10} more kept" in words
    assert "The measure is MutualInformation" in words
    assert "The task is classification" in words
    assert "The target 'died' holds 2 classes" in words
    assert "weights: a <column>" in words
    assert len(run._repr_html_()) < 10_000


def test_names_in_a_run_stay_text():
    assert "<script>" in read(an_odd_run())


def test_a_log_and_a_fitted_selector_show_their_decisions():
    X, y = load_iris(return_X_y=True)
    fitted = tamis.SAOLA().fit(pd.DataFrame(X, columns=["<a>", "b", "c", "d"]), y)
    words = read(fitted.log_)
    assert words.startswith("Decisions about 4 features")
    assert fitted.log_._repr_html_() in fitted._repr_html_()
    assert read(tamis.SAOLA().start(y).log_).startswith("Decisions about 0 features")


def test_a_selection_shows_what_it_was_fed(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    selection = tamis.Selection.create(tmp_path / "run", y, "saola")
    pd.DataFrame({"monday": y + rng.normal(size=100)}).to_parquet(tmp_path / "monday.parquet")
    selection.feed(tmp_path / "monday.parquet")
    words = read(selection)
    assert ": 1 of 1 feature kept" in words
    assert "feed monday.parquet 1" in words


def test_results_show_mean_accuracy_and_the_best_in_bold(tmp_path):
    data = {"wine": load_wine(return_X_y=True)}
    results = evaluate.compare(data, ["saola", "random"], ["knn"], cv="1x3", n_jobs=1)
    words, (row,) = read(results), results.grid("accuracy", "knn")
    assert f"wine {row[0]:.3f} {row[1]:.3f}" in words
    best = f"{row.max():.3f}"
    assert f'font-weight:700">{best}</td>' in results._repr_html_()
    assert "features kept" in words


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_a_model_shows_its_error_and_the_features_it_is_surest_of(tmp_path, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    clf = tamis.SOFS(n_features=5)
    clf.fit_stream(tamis.open(X, y=X[:, :classes].argmax(axis=1)))
    model = open_model(save_model(clf, tmp_path / "model"))
    words = read(model)
    assert words.startswith("SOFS kept 5 of 20 features after 300 rows")
    for name in model.names_:
        assert name in words
