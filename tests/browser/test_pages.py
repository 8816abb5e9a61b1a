"""Reports as a user sees them, in headless Chromium."""

from __future__ import annotations

import contextlib
import re
import sys
import time
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

with contextlib.suppress(ImportError):  # then `look` skips or fails every test
    from playwright.sync_api import expect

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
    assert titles[:4] == ["At a glance", "Kept features", "Stand-ins", "Dropped features"]
    assert page.locator(".uplot canvas").count() == 1
    assert page.locator("main svg").count() >= 3


def test_search_finds_a_feature_and_clicking_shows_its_evidence(look, url, run):
    page = look(url)
    name = run.kept_rows()[3]["name"]
    table = page.locator("section", has=page.locator("h2", has_text="Kept features"))
    table.locator("input[type=search]").fill(name)
    table.locator("a.open", has_text=name).first.click()
    expect(page.locator("#evidence")).to_have_text(run.why(name))
    assert page.url == f"{url}#{name}"


def test_an_address_opens_and_highlights_a_feature(look, url, run):
    name = run.kept_rows()[3]["name"]
    page = look(f"{url}#{name}")
    evidence = page.locator("#evidence")
    assert evidence.inner_text() == run.why(name)
    assert evidence.evaluate("(e) => e === document.activeElement")
    marked = page.locator("section#kept-features tr[aria-current]")
    assert marked.locator("th a").all_inner_texts() == [name]
    box = evidence.bounding_box()
    assert 0 <= box["y"] < 900  # it was scrolled into view
    # The next one, by its link, and back again.
    other = page.locator("section#kept-features a.open").nth(7)
    other.click()
    expect(evidence).to_have_text(run.why(other.inner_text()))
    page.go_back()
    expect(evidence).to_have_text(run.why(name))


def test_a_dropped_feature_has_an_address_as_well(look, url, run):
    irrelevant = run.log.names[int(np.flatnonzero(run.log.verdicts == 0)[0])]
    assert look(f"{url}#{irrelevant}").locator("#evidence").inner_text() == run.why(irrelevant)


def test_an_address_that_names_no_feature_says_so(look, url):
    page = look(f"{url}#no%20such")
    words = page.locator("#evidence").inner_text()
    assert words == "no such is not on this page; run: tamis why run FEATURE"


def test_sections_have_addresses_and_features_with_their_names_too(look, tmp_path):
    names = ["kept-features", "feature=x", "50% off", "a/b#c?d", "\udc80", *map(str, range(35))]
    run = a_run(names=names, measure="mutual_information", bound="max")
    path = write_page(page_of_run(run, "run"), tmp_path / "names.html")
    page = look(f"{path.as_uri()}#kept-features")
    assert 0 <= page.locator("#kept-features h2").bounding_box()["y"] < 100
    for name in names[:4]:
        page.locator("#feature-search").fill(name)
        page.locator("ul.found a").first.click()
        page.reload()
        assert page.locator("#evidence").inner_text()[:40] == run.why(name)[:40]
    # Half a character, from a name that is not UTF-8, is shown and addressed by its substitute.
    page = look(f"{path.as_uri()}#%EF%BF%BD")
    assert page.locator("#evidence").inner_text()[1:40] == run.why("\udc80")[1:40]


def test_a_table_that_scrolls_says_so(look, url):
    page = look(url, 390)
    table = page.locator("section#kept-features")
    cue, scroll = table.locator(".cue"), table.locator(".scroll")
    expect(cue).to_have_text("more rows below, more columns on the right")
    scroll.evaluate("(e) => e.scrollTo(0, e.scrollHeight)")
    expect(cue).to_have_text("more columns on the right")


def test_a_curve_can_be_hidden_with_the_keyboard(look, url):
    page = look(url)
    button = page.locator("section#over-the-stream .legend button").first
    assert button.get_attribute("aria-pressed") == "true"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"


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
    assert table.locator("tbody tr th").first.inner_text() == weakest


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
    shown = page.evaluate("[...document.querySelectorAll('a.open')].map((b) => b.textContent)")
    # What would turn the direction of the text around it is shown as its code.
    kept = {row["name"].replace("\u202e", r"\u202e") for row in run.kept_rows()}
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


def test_an_address_marks_the_row_of_a_feature_of_a_model(look, model, tmp_path):
    path = write_page(page_of_folder(model), tmp_path / "page.html")
    name = tamis.open_model(model).names_[3]
    page = look(f"{path.as_uri()}#{name}")
    assert page.locator("tr[aria-current]").count() == 2  # also among those kept over time
    row = page.locator("#kept-features-by-confidence tr[aria-current]")
    assert row.locator("th").inner_text() == name
    assert 0 <= row.bounding_box()["y"] < 900
    page = look(f"{path.as_uri()}#nobody")
    assert page.locator("#summary").inner_text().startswith("nobody is not on this page.")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_a_size_path_looks_right(look, tmp_path, width, scheme):
    scores = 0.9 - 0.3 / np.array([1, 2, 5, 10, 20, 50]) + np.array([[-0.01], [0.02], [0.0]])
    names = [f"gene{k}" for k in range(50)]
    path = evaluate.SizePath([1, 2, 5, 10, 20, 50], scores, names, "accuracy")
    file = write_page(page_of_folder(path.save(tmp_path / "path")), tmp_path / "page.html")
    page = look(f"{file.as_uri()}#gene33", width, scheme, picture="path")
    assert page.locator(".uplot canvas").count() == 1
    assert page.locator("tr[aria-current] th").inner_text() == "gene33"


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
        ("arrived", 100, 0, "blue"),
        ("irrelevant", 60, 1, "grey"),
        ("redundant: tied", 31, 1, "orange"),
        ("kept at first", 9, 1, "green"),
        ("evicted: withdrawn", 4, 2, "red"),
        ("kept", 5, 2, "green"),
    ]
    sections = [
        Ranks("ranks", names, [1.7, 2.7, 4.7, 2.0, 3.9], 3.5, [[0, 1, 2, 3, 4]]),
        Scatter("scatter", "features kept", "accuracy", "seconds", points, [0, 1, 4], True),
        Flow("flow", nodes, [(0, 1, 60), (0, 2, 31), (0, 3, 9), (3, 4, 4), (3, 5, 5)]),
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
    crossed = """() => {
      const lines = [...document.querySelectorAll("svg path, svg polyline[stroke-dasharray]")];
      const words = [...document.querySelectorAll("svg text.over, #flow svg text")];
      return words.filter((text) => {
        const box = text.getBBox(), svg = text.ownerSVGElement;
        return lines.some((line) => line.ownerSVGElement === svg
          && Array.from({ length: 200 }, (_, k) => (k * line.getTotalLength()) / 199)
            .map((far) => line.getPointAtLength(far))
            .some(({ x, y }) => x > box.x + 1 && x < box.x + box.width - 1
              && y > box.y + 3 && y < box.y + box.height - 3));
      }).map((text) => text.textContent);
    }"""
    assert page.evaluate(crossed) == []


def test_a_live_page_follows_the_run_until_its_end(look, run):
    live = LivePage("a run")
    try:
        live.show(page_of_run(run))
        page = look(live.url)
        expect(page.locator("#live")).to_have_text(re.compile("^live"))
        # Whether the browser listens already must not matter.
        live.show(page_of_run(a_run(77)))
        expect(page.locator("#summary")).to_contain_text("of 77 features")
        report = live.relay(lambda what, done, total: None)
        report("selecting features", 0, 400)
        report("reading", 3, None)
        live._stages["selecting features"]._recent[0] = (time.monotonic() - 10, 0)  # 10 s ago
        report("selecting features", 100, 400)
        bars = page.locator("#progress")
        expect(bars).to_contain_text("100 of 400 (25%), about 30 s left")
        expect(bars.locator("progress")).to_have_count(2)
        bar = bars.get_by_role("progressbar", name="selecting features")
        assert bar.evaluate("(e) => e.position") == 0.25
    finally:
        live.close()
    expect(page.locator("#live")).to_have_text("the run has ended")
    expect(page.locator("#progress")).to_be_empty()


def test_an_update_of_a_live_page_keeps_what_the_reader_did(look, run):
    with LivePage("a run") as live:
        live.show(page_of_run(run))
        page = look(live.url)
        name = run.kept_rows()[3]["name"]
        kept = page.locator("section#kept-features")
        kept.locator("th", has_text="relevance").locator("button").click()
        page.locator("summary", has_text="the numbers").first.click()
        kept.locator("a.open", has_text=name).first.click()
        longer = a_run(401, measure="mutual_information", bound="max")
        live.show(page_of_run(longer))
        expect(page.locator("#summary")).to_contain_text("of 401 features")
        assert page.locator("#evidence").inner_text() == longer.why(name)
        head = kept.locator("th", has_text="relevance").first
        assert head.get_attribute("aria-sort") == "ascending"
        page.locator("details[open] table").wait_for()
