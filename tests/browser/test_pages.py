"""Reports as a user sees them, in headless Chromium."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from sample_pages import ODD, a_run, an_odd_run

import tamis
from tamis import evaluate
from tamis.engine.learning.model import save_model
from tamis.report.folder_page import page_of_folder, write_page
from tamis.report.live_server import LivePage
from tamis.report.page import Flow, Page, Ranks, Scatter
from tamis.report.run_page import page_of_run

SIZES = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def run():
    return a_run(400, measure="mutual_information", bound="max")


@pytest.fixture(scope="module")
def url(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_page(page_of_run(run, "run"), path).as_uri()


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_the_page_loads_without_errors_at_every_size(look, url, width, scheme):
    page = look(url, width, scheme, picture="run")
    titles = page.locator("main h2").all_inner_texts()
    assert titles[:3] == ["At a glance", "Kept features", "Where features went"]
    assert page.locator(".uplot canvas").count() == 1
    assert page.locator("main svg").count() >= 3


def test_search_finds_a_feature_and_clicking_shows_its_evidence(look, url, run):
    page = look(url)
    name = run.kept_rows()[3]["name"]
    table = page.locator("section", has=page.locator("h2", has_text="Kept features"))
    table.locator("input[type=search]").fill(name)
    table.locator("button.open", has_text=name).first.click()
    assert page.locator("#evidence").inner_text() == run.why(name)


def test_the_graph_can_be_navigated_by_mouse_and_keyboard(look, run, url):
    page = look(url)
    page.locator("#feature-search").fill("x6")
    page.locator("#feature-search").press("Enter")
    first = page.locator("#evidence").inner_text()
    other = page.locator("#neighbours [role=button]").first
    other.focus()
    page.keyboard.press("Enter")
    assert page.locator("#evidence").inner_text() != first


def test_features_not_on_the_page_show_the_command_to_use(look, url):
    page = look(url)
    page.locator("#feature-search").fill("no such feature")
    assert page.get_by_text("run: tamis why run FEATURE").is_visible()


def test_a_table_sorts_and_shows_the_order(look, url, run):
    page = look(url)
    table = page.locator("section", has=page.locator("h2", has_text="Kept features"))
    head = table.locator("th", has_text="relevance")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    weakest = min(run.kept_rows(), key=lambda row: row["relevance"])["name"]
    assert table.locator("tbody tr td").first.inner_text() == weakest


def test_every_plot_has_a_description_and_a_table(look, url):
    page = look(url)
    for picture in page.locator("main [role=img]").all():
        assert len(picture.get_attribute("aria-label")) > 10
    behind = page.locator("summary", has_text="the numbers")
    assert behind.count() >= 3
    behind.first.click()
    page.locator("details[open] table").wait_for()  # created on demand


def test_all_controls_can_be_reached_with_tab(look, url):
    page = look(url)
    reachable = page.evaluate(
        "[...document.querySelectorAll('button, summary, input, a, [role=button]')]"
        ".every((e) => e.tabIndex >= 0)"
    )
    assert reachable
    for _ in range(12):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_names_with_markup_are_shown_as_text(look, tmp_path, width, scheme):
    run = an_odd_run()
    path = write_page(page_of_run(run, "run"), tmp_path / "odd.html")
    page = look(path.as_uri(), width, scheme, picture="odd")
    shown = page.evaluate("[...document.querySelectorAll('button.open')].map((b) => b.textContent)")
    kept = {row["name"] for row in run.kept_rows()}
    assert kept
    assert kept <= set(shown)
    assert any(ODD[0] in name for name in kept)
    assert page.locator("main script").count() == 0


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 60)) * (rng.random((900, 60)) < 0.3)
    clf = tamis.SOFS(n_features=12)
    clf.fit_stream(tamis.open(X, y=X[:, :3].argmax(axis=1)))
    return save_model(clf, tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    data = {"wine": load_wine(return_X_y=True), "cancer": load_breast_cancer(return_X_y=True)}
    folder = tmp_path_factory.mktemp("compare") / "results"
    evaluate.compare(data, "saola,fcbf,random,all", "knn,nb", cv="1x3", out=folder)
    return folder


@pytest.mark.parametrize(("width", "scheme"), SIZES)
@pytest.mark.parametrize("kind", ["model", "results"])
def test_models_and_comparisons_look_right(look, kind, request, tmp_path, width, scheme):
    folder = request.getfixturevalue(kind)
    path = write_page(page_of_folder(folder), tmp_path / "page.html")
    page = look(path.as_uri(), width, scheme, picture=kind)
    if kind == "model":
        assert page.locator(".uplot canvas").count() == 2
    else:
        assert page.locator("svg[aria-label^='Critical-difference']").count() == 2
        assert page.locator("svg circle").count() == 8  # four methods, two classifiers
    assert page.locator("main section").count() >= 5


@pytest.mark.parametrize("width", [1440, 390])
def test_labels_in_plots_are_complete_and_do_not_overlap(look, tmp_path, width):
    names = [
        "saola",
        "fcbf:encode=mdlp",
        "mrmr",
        "a_very_long_name_of_a_method:with=parameters",
        "Mine",
    ]
    spots = [(33, 0.919), (20, 0.88), (10, 0.698), (90, 0.916), (4.5, 0.836)]
    points = [(name, *spot, 0.2) for name, spot in zip(names, spots, strict=True)]
    nodes = [
        ("arrived", 9, 0, "blue"),
        ("kept at first", 9, 1, "green"),
        ("evicted: withdrawn", 9, 2, "red"),
    ]
    sections = [
        Ranks("ranks", names, [1.7, 2.7, 4.7, 2.0, 3.9], 3.5, [[0, 1, 2, 3, 4]]),
        Scatter("scatter", "features kept", "accuracy", "seconds", points, [0, 1, 4], True),
        Flow("flow", nodes, [(0, 1, 9), (1, 2, 9)]),
    ]
    path = write_page(Page("t", "s", sections), tmp_path / "page.html")
    page = look(path.as_uri(), width)
    outside = """() => [...document.querySelectorAll("svg text")].filter((text) => {
      const a = text.getBBox(), b = text.ownerSVGElement.viewBox.baseVal;
      return a.x < -1 || a.y < -3 || a.x + a.width > b.width + 1 || a.y + a.height > b.height + 3;
    }).map((text) => text.textContent)"""
    assert page.evaluate(outside) == []
    covered = """() => {
      const words = [...document.querySelectorAll("svg text.over")].map((text) => text.getBBox());
      const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
        && a.y < b.y + b.height - 3 && b.y < a.y + a.height - 3;
      return words.flatMap((a, i) => words.slice(i + 1).filter((b) => meet(a, b))).length;
    }"""
    assert page.evaluate(covered) == 0


def test_a_live_page_follows_the_run_until_its_end(look, run):
    from playwright.sync_api import expect  # if it is not installed, `look` has skipped this

    live = LivePage("a run")
    try:
        live.show(page_of_run(run))
        page = look(live.url)
        expect(page.locator("#live")).to_have_text(re.compile("^live"))
        # Whether the browser listens already must not matter.
        live.show(page_of_run(a_run(77)))
        expect(page.locator("#summary")).to_contain_text("of 77 features")
    finally:
        live.close()
    expect(page.locator("#live")).to_have_text("the run has ended")
