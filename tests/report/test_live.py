"""A page that follows a run: on this machine only, under a secret path."""

from __future__ import annotations

import http.client
import json
import socket
import time
from urllib.parse import urlsplit

import pytest
from sample_pages import a_run

import tamis
from tamis.report import live_server as module
from tamis.report.live_server import LivePage
from tamis.report.page import Page
from tamis.report.run_page import page_of_run
from tamis.sources.arrays.synthetic import SparseStream
from waiting import PATIENCE, wait_until


@pytest.fixture
def live():
    with LivePage("a run") as page:
        yield page


def ask(live, path="", host=None):
    parts = urlsplit(live.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    headers = {} if host is None else {"Host": host}
    connection.request("GET", parts.path + path, headers=headers)
    return connection.getresponse()


def wait_for_a_listener(live):
    wait_until(lambda: live._listeners)


def event(answer):
    """Return the name and data of the next event that is not a comment."""
    name = None
    while line := answer.fp.readline().decode():
        if line.startswith("event: "):
            name = line.removeprefix("event: ").strip()
        elif line.startswith("data: "):
            return name, json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended without an event")


def test_the_page_is_served_locally_under_a_secret_path(live):
    assert live.url.startswith("http://127.0.0.1:")
    answer = ask(live)
    assert answer.status == 200
    body = answer.read().decode()
    assert '"live":"events"' in body
    assert "connect-src 'self'" in body
    parts = urlsplit(live.url)
    for path in ("/", "/wrong/", parts.path + "other", parts.path.rstrip("/")):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        connection.request("GET", path)
        assert connection.getresponse().status == 404


def test_another_host_name_is_refused(live):
    assert ask(live, host="evil.example").status == 404


def test_no_page_is_rendered_without_a_viewer(live):
    live.offer(lambda: pytest.fail("rendered a page without a viewer"))


def test_a_viewer_gets_updates_and_the_end(monkeypatch):
    with LivePage("a run") as live:
        answer = ask(live, "events")
        assert event(answer)[1]["summary"] == "The run has started; waiting for the first results."
        live.offer(lambda: page_of_run(a_run()))
        name, page = event(answer)
        assert name == "page"
        assert page["summary"].startswith("saola kept ")
        monkeypatch.setattr(module, "EVERY", 3600.0)
        live.offer(lambda: pytest.fail("too early for another page"))
        assert "saola kept" in ask(live).read().decode()
    assert event(answer) == ("end", {})


def test_a_viewer_gets_progress_with_the_time_left(live):
    answer = ask(live, "events")
    assert event(answer)[0] == "page"
    heard = []
    report = live.relay(lambda *step: heard.append(step))
    report("reading columns", 10, 40)
    assert event(answer) == ("progress", [{
        "what": "reading columns", "done": 10, "total": 40, "words": "10 of 40 (25%)",
    }])  # fmt: skip
    report("reading columns", 11, 40)  # too early for another update
    live._stages["reading columns"]._recent[0] = (time.monotonic() - 100, 10)
    report("reading columns", 20, 40)
    name, [bar] = event(answer)
    assert (name, bar["done"]) == ("progress", 20)
    assert bar["words"] == "20 of 40 (50%), about 3 min left"
    late = ask(live, "events")
    assert [event(late)[0], event(late)[0]] == ["page", "progress"]
    report("reading columns", 40, 40)
    assert event(answer) == ("progress", [])  # a finished stage has no bar
    assert heard[-1] == ("reading columns", 40, 40)


def test_a_late_listener_misses_nothing(live):
    live.show(Page("a run", "shown before anyone listened", []))
    assert event(ask(live, "events"))[1]["summary"] == "shown before anyone listened"
    live._ended = True  # as in close(), when a browser comes back at that very moment
    answer = ask(live, "events")
    assert [event(answer)[0], event(answer)[0]] == ["page", "end"]


def test_closing_the_page_disturbs_nothing(live):
    answer = ask(live, "events")
    wait_for_a_listener(live)
    answer.close()
    for _ in range(50):  # the first writes may still find a buffer
        live.show(Page("a run", "going on", []))
        time.sleep(0.01)
        if not live._listeners:
            break
    assert ask(live).status == 200


def test_watching_a_run_does_not_change_its_result():
    source = SparseStream(n_rows=500, n_columns=60_000)
    seen = []
    measure = tamis.MutualInformation(alpha=1e-6)
    plain = tamis.select(source, tamis.SAOLA(measure), width=2_000)
    watched = tamis.select(
        source, tamis.SAOLA(measure), width=2_000, watch=lambda so_far: seen.append(so_far())
    )
    assert plain.log.replay() == watched.log.replay()
    assert seen
    assert seen[-1].log.counts() == watched.log.counts()
    assert page_of_run(seen[-1]).summary.startswith("saola kept ")


def test_half_open_connections_keep_nobody_out(live):
    parts = urlsplit(live.url)
    silent = [socket.create_connection((parts.hostname, parts.port)) for _ in range(300)]
    silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")  # and never the rest
    try:
        assert ask(live).status == 200
        assert len(live._server._silent) <= module.MOST_SILENT
        viewer = ask(live, "events")
        assert event(viewer)[0] == "page"
    finally:
        for one in silent:
            one.close()


def test_more_viewers_than_a_run_can_serve_are_told_to_come_back(live, monkeypatch):
    monkeypatch.setattr(module, "MOST_VIEWERS", 2)
    viewers = [ask(live, "events") for _ in range(2)]
    wait_until(lambda: live.n_viewers == 2)
    assert ask(live, "events").status == 503
    assert ask(live).status == 200
    assert [event(viewer)[0] for viewer in viewers] == ["page", "page"]
