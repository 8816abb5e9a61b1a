"""What a comparison found is in one place: the terminal, summary.md and the page say the same."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tamis.cli.compare import _page
from tamis.core.markup import cell
from tamis.evaluate import compare
from tamis.evaluate.fact_tables import fact_tables
from tamis.report.comparison_page import page_of
from tamis.report.markdown_page import as_markdown


@pytest.fixture(scope="module")
def results():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    data = {"wine": (X, y), "a|b <noise>": (rng.normal(size=(60, 5)), np.arange(60) % 2)}
    return compare(data, "all,random:n_features=2,saola", "knn,nb", cv="2x3", n_jobs=1)


def test_every_table_is_in_summary_md_and_on_the_page(results):
    text, page = results.to_markdown(), page_of(results)
    shown = {section.title: section for section in page.sections}
    for one in fact_tables(results):
        assert f"## {one.title}\n" in text
        for note in one.notes:
            assert cell(note) in text
            assert note in shown[one.title].note
        assert shown[one.title].rows == one.rows
        for row in one.texts():
            assert f"| {' | '.join(map(cell, row))} |" in text
    assert "a&#124;b &lt;noise&gt;" in as_markdown(page)


def test_the_terminal_prints_the_brief_ones(results):
    lines = _page(results, "out")
    for one in fact_tables(results):
        assert (one.title in lines) == one.brief
    for line in lines:
        assert "<" not in line or "a|b <noise>" in line


def test_the_numbers_are_those_of_the_summary(results):
    tables = {one.title: one for one in fact_tables(results)}
    summary = results.summary()
    means = tables["Accuracy with nb"].rows
    assert [row[1:] for row in means[:-1]] == summary["classifiers"]["nb"]["accuracy"]
    wins = tables["Wins, ties and losses of all with nb"].rows
    found = summary["classifiers"]["nb"]["win_tie_loss"]
    assert {row[0]: row[1:] for row in wins} == found
    ranks = tables["Tests of ranks with nb"].rows
    assert [row[3] for row in ranks] == [
        one["p_holm"] for one in summary["classifiers"]["nb"]["ranks"]["holm"]
    ]
    assert tables["Features kept"].is_number == [False, True, True, True]
