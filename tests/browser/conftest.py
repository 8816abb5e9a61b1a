"""A headless Chromium for browser tests; without one they are skipped, unless it is required.

``make test-browser`` installs Debian's Chromium and the driver, and requires both.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("TAMIS_CHROMIUM") or shutil.which("chromium")
REQUIRED = bool(os.environ.get("TAMIS_BROWSER_TESTS"))

#: Screenshots of the tested pages, for inspection.
PICTURES = Path(__file__).parents[2] / "bench-results" / "screenshots"


@pytest.fixture(scope="session")
def browser():
    if not REQUIRED:
        pytest.importorskip("playwright", reason="run make test-browser")
        if CHROMIUM is None:
            pytest.skip("there is no chromium; run make test-browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # A container has no user namespaces for the sandbox, and the pages are our own.
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def look(browser):
    """Open a page, and check that it made no requests and logged no errors."""
    contexts, troubles, requests = [], [], []

    def opened(url, width=1440, scheme="light", picture=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda d: (troubles.append(f"a script says {d.message}"), d.dismiss()))
        page.on("request", lambda r: requests.append(r.url))
        page.goto(url)
        # Not wait_for_function: it evaluates text to poll, which the pages do not allow.
        page.locator("main section").first.wait_for(state="attached")
        if picture is not None:
            PICTURES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=PICTURES / f"{picture}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert {url for url in requests if not url.startswith(("file:", "http://127.0.0.1:"))} == set()
