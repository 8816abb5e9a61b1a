"""The page about a run: every feature it names can be looked up, with the sentence of `why`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sample_pages import a_run, an_odd_run
from sklearn.datasets import load_iris

import tamis
from tamis.report import run_page
from tamis.report.html_page import as_html
from tamis.report.markdown_page import as_markdown
from tamis.report.page import Bars, Explorer
from tamis.report.run_page import page_of_run


def section(page, title):
    return next(s for s in page.sections if s.title == title)


def explorer(page):
    return next(s for s in page.sections if isinstance(s, Explorer))


def test_every_feature_of_a_small_run_is_on_the_page_with_its_reason():
    run = a_run()
    found = explorer(page_of_run(run))
    assert sorted(found.names) == sorted(run.log.names[i] for i in range(len(run.log)))
    assert found.sentences == [run.why(name) for name in found.names]
    assert "irrelevant" in found.verdicts


def test_the_sentence_says_how_a_feature_was_encoded():
    X, y = load_iris(return_X_y=True)
    run = tamis.select(X, "saola", y, encode="mdlp")
    found = explorer(page_of_run(run))
    kept = found.names[0]
    assert found.sentences[0] == run.why(kept)
    assert "its values were cut at" in found.sentences[0]


def test_the_strongest_dropped_features_are_listed_with_what_decided():
    run = a_run(400, measure="mutual_information", bound="max")
    table = section(page_of_run(run), "Dropped features")
    frame = run.log.to_pandas().query("verdict != 'kept'")
    frame = frame.sort_values("relevance", ascending=False, kind="stable")
    assert [row[0] for row in table.rows[:20]] == frame["name"].tolist()[:20]
    assert [row[1] for row in table.rows] == sorted((r[1] for r in table.rows), reverse=True)
    because = dict(zip(frame["name"], frame["because"].fillna(""), strict=True))
    assert all((row[3] or "") == because[row[0]] for row in table.rows)


def test_what_the_tables_list_can_be_looked_up_although_room_is_short(monkeypatch):
    rng = np.random.default_rng(0)
    run = tamis.select(rng.normal(size=(20, 3000)), "all", np.arange(20) % 2)
    page = page_of_run(run)
    listed = [row[0] for row in section(page, "Kept features").rows]
    assert len(listed) == run_page.MOST_KEPT
    assert set(listed) <= set(explorer(page).names)
    monkeypatch.setattr(run_page, "ROOM", 10_000)
    found = explorer(page_of_run(run))
    assert 10 < len(found.names) < 200
    assert f"{3000 - len(found.names):,} weaker features are not on this page" in found.note


def test_notes_about_the_data_are_shown_whatever_they_are():
    run = a_run()
    run.source |= {
        "task": "classification", "task_reason": "2 values repeat",
        "notes": ["3 columns of dates were left out: <b>, c and d"],
        "delimiter": ";", "empty": "", "list": ["a", 1],
    }  # fmt: skip
    page = page_of_run(run)
    remarks = section(page, "At a glance").remarks
    assert "The task is classification, because 2 values repeat." in remarks
    assert "3 columns of dates were left out: <b>, c and d." in remarks
    assert "delimiter: ;" in remarks
    assert 'list: ["a", 1]' in remarks
    assert not any(remark.startswith(("empty", "n_rows", "fingerprint")) for remark in remarks)
    assert "<b>" not in as_html(page).partition("<main")[2]
    assert "| note | The task is classification, because 2 values repeat. |" in as_markdown(page)


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_dates_that_were_left_out_and_gaps_are_on_the_page(tmp_path, form):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    frame = pd.DataFrame({
        "seen": pd.date_range("2024-01-01", periods=90), "age": rng.normal(size=90) + y, "sick": y,
    })  # fmt: skip
    path = tmp_path / f"t.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    run = tamis.select(tamis.open(path, target="sick"), "sieve")
    assert "Dates were left out: seen." in section(page_of_run(run), "At a glance").remarks


def test_no_bar_is_drawn_on_a_bent_scale():
    run = a_run(400)
    bars = next(s for s in page_of_run(run).sections if isinstance(s, Bars))
    assert sum(map(sum, bars.series.values())) == len(run.log)
    [axes] = run.log.plot_flow().axes
    assert axes.get_xscale() == "linear"
    figure = run.log.plot_growth()
    figure.draw_without_rendering()
    [axes], [legend] = figure.axes, figure.legends
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def test_columns_after_a_stop_are_shown_as_not_examined():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 30)) + np.outer(y, np.linspace(0, 2, 30))
    run = tamis.select(X, "saola", y, stop={"features": 1})
    page, left = page_of_run(run), run.log.counts()["unexamined"]
    assert left > 0
    flow = section(page, "Where features went")
    assert ["arrived", "unexamined", left] in flow.table()[1]
    assert sum(n for a, _, n in flow.links if a == 0) == 30
    assert "stop: features=1" in section(page, "At a glance").remarks
    last = run.log.names[29]
    found = explorer(page)
    assert found.sentences[found.names.index(last)] == run.why(last)
    assert [text.get_text() for text in run.log.plot_flow().axes[0].get_yticklabels()][-1] == "kept"


def test_a_run_that_keeps_nothing_says_so():
    rng = np.random.default_rng(0)
    run = tamis.select(rng.normal(size=(50, 3)), "saola", np.arange(50) % 2)
    page = page_of_run(run)
    assert section(page, "Kept features").note.startswith("No feature was kept.")
    assert "Over the stream" not in [s.title for s in page.sections]


@pytest.mark.parametrize("run", [a_run(), an_odd_run()])
def test_the_page_allows_no_other_source(run):
    text = as_html(page_of_run(run))
    assert "default-src 'none'" in text
    assert "unsafe-eval" not in text
    assert "connect-src 'none'" in text
