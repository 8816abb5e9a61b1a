"""The documentation site as a reader sees it, in headless Chromium: `make docs` built it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import re
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

with contextlib.suppress(ImportError):  # then `browser` skips or fails every test
    from playwright.sync_api import expect

SITE = Path(__file__).parents[2] / "build" / "docs" / "html"
PICTURES = Path(__file__).parents[2] / "bench-results" / "screenshots"
PAGES = [
    *("index", "start", "messy-table", "choose-a-method", "reference", "commands", "measured"),
    *("gallery/index", "gallery/plot_digits", "api/Sieve", "faq"),
]


@pytest.fixture(scope="module")
def address():
    if not (SITE / "index.html").exists():
        pytest.skip("there is no site; run make docs")
    handler = functools.partial(QuietHandler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def page_of(browser, address):
    """Open a page; at the end, nothing was loaded from elsewhere, and no error was logged."""
    contexts, troubles, requests = [], [], []

    def opened(name, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: requests.append(r.url))
        page.goto(address + name)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("data:", address))] == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_fits_its_window(page_of, name, width):
    page = page_of(f"{name}.html", width)
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"site-{name.replace('/', '-')}-{width}.png")
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_mode_follows_the_system_and_has_contrast(page_of, scheme):
    page = page_of("start.html", scheme=scheme)
    page.screenshot(path=PICTURES / f"site-start-{scheme}.png")
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)

    def brightness(what, part):
        style = f"e => getComputedStyle(e).{what}"
        colour = page.locator(part).first.evaluate(style)
        return sum(float(number) for number in re.findall(r"[\d.]+", colour)[:3]) / 3

    text, ground = brightness("color", ".bd-article p"), brightness("backgroundColor", "body")
    assert abs(text - ground) > 120
    assert (ground < 80) == (scheme == "dark")


def test_search_finds_a_page(page_of):
    page = page_of("search.html?q=covariates")
    found = page.locator("#search-results ul.search li a")
    found.first.wait_for()
    assert any("genes.html" in (link.get_attribute("href") or "") for link in found.all())


def test_search_works_without_a_server(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto((SITE / "search.html").as_uri() + "?q=covariates")
    page.locator("#search-results ul.search li a").first.wait_for()
    context.close()


def test_the_first_page_shows_a_command_and_a_report(page_of):
    page = page_of("index.html")
    expect(page.locator("pre").first).to_contain_text("$ tamis select")
    expect(page.get_by_alt_text("The report of the digits example")).to_be_visible()


def test_names_lead_to_their_pages(page_of):
    page = page_of("methods.html")
    page.locator("td a", has_text="SAOLA").first.click()
    expect(page.locator("h1")).to_contain_text("SAOLA")
    expect(page.locator("pre").last).to_contain_text(">>> ")


def test_the_menu_opens_on_a_phone(page_of):
    page = page_of("messy-table.html", 390)
    page.locator("button.pst-navbar-icon.primary-toggle").click()
    link = page.locator("dialog a", has_text="User guide").first
    expect(link).to_be_visible()
    page.screenshot(path=PICTURES / "site-menu-390.png")
    link.click()
    expect(page.locator("h1")).to_contain_text("User guide")


def test_a_phone_does_not_break_an_option(page_of):
    broken = """() => [...document.querySelectorAll(".bd-article td code .pre")]
        .filter(part => part.textContent.startsWith("--") && part.getClientRects().length > 1)
        .map(part => part.textContent)"""
    assert page_of("formats.html", 390).evaluate(broken) == []
    in_commands = """() => [...document.querySelectorAll("pre .option")]
        .map(part => [part.textContent, part.getClientRects().length])"""
    options = page_of("index.html", 390).evaluate(in_commands)
    assert ["--target", 1] in options
    assert {lines for _, lines in options} == {1}


def test_every_link_and_picture_of_the_site_is_there():
    """Read from the files: 60 pages with thousands of links would take a browser minutes."""
    if not (SITE / "index.html").exists():
        pytest.skip("there is no site; run make docs")
    broken, checked = [], 0
    anchors: dict[Path, set[str]] = {}

    def names_in(path):
        if path not in anchors:
            anchors[path] = set(re.findall(r'\b(?:id|name)="([^"]+)"', path.read_text()))
        return anchors[path]

    for path in SITE.rglob("*.html"):
        if "_static" in path.parts:  # templates of the theme
            continue
        base = path.relative_to(SITE).as_posix()
        for raw in re.findall(r'\b(?:href|src)="([^"]*)"', path.read_text()):
            if re.match(r"[a-z]+:|//", raw) or raw in ("", "#"):
                continue
            where, anchor = urldefrag(urljoin(base, raw.replace("&amp;", "&")))
            target = SITE / unquote(where.partition("?")[0] or base)
            checked += 1
            if not target.exists() or (
                anchor and target.suffix == ".html" and unquote(anchor) not in names_in(target)
            ):
                broken.append(f"{base}: {raw}")
    assert not broken, "\n".join(sorted(set(broken))[:40])
    assert checked > 1000


def test_pages_are_there_as_plain_markdown():
    if not (SITE / "index.html").exists():
        pytest.skip("there is no site; run make docs")
    listed = re.findall(r"^- \[(.+?)\]\((.+?\.md)\): (.+)$", (SITE / "llms.txt").read_text(), re.M)
    assert len(listed) > 30
    for title, path, sentence in listed:
        text = (SITE / path).read_text()
        assert text.startswith(f"# {title}\n")
        assert len(sentence) > 10, path
    examples = [path for _, path, _ in listed if path.startswith("gallery/")]
    for path in examples:
        assert "```python" in (SITE / path).read_text()
        assert (SITE / path).with_suffix(".html").exists()
    assert len(list((SITE / "_downloads").rglob("*.ipynb"))) == len(examples) >= 10
