"""A page that follows a run: a small server on this machine only, with the same page as at the end.

It listens on the loopback address, on a port the system picks, under a path nobody can guess. The
run offers its state now and then; a page is made only when somebody looks. Whoever closes the page,
or never opens it, disturbs nothing.
"""

from __future__ import annotations

import json
import queue
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tamis.report.html_page import as_html
from tamis.report.page import Page

#: Seconds between two pages; making one must not take a noticeable share of the run.
EVERY = 1.0
#: Seconds that a run waits at its end for the last news to go out.
LAST_WORDS = 3.0
#: Seconds after which a silent connection says that it is still there.
STILL_HERE = 10.0


class LivePage:
    """Serves a page and its news until closed.

    Examples
    --------
    >>> with LivePage("a run") as live:
    ...     live.offer(lambda: Page("a run", "half done", []))
    ...     live.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, title: str) -> None:
        self._token = secrets.token_urlsafe(16)
        self._page = Page(title, "The run has begun; news will come.", [])
        self._listeners: list[queue.SimpleQueue[bytes | None]] = []
        self._lock, self._ended = threading.Lock(), False
        self._last, self._cost = 0.0, 0.0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{self._token}/"

    def offer(self, make: Callable[[], Page]) -> None:
        """Show a new page if anybody is looking and the last one is a while ago."""
        now = time.monotonic()
        # A page that takes long to make is made less often: at most a twentieth of the time.
        if not self._listeners or now - self._last < max(EVERY, 20 * self._cost):
            return
        self.show(make())
        self._last = time.monotonic()
        self._cost = self._last - now

    def show(self, page: Page) -> None:
        """Show a page now."""
        news = _news_of(page)
        with self._lock:
            self._page = page
            for listener in self._listeners:
                listener.put(news)

    def close(self) -> None:
        """Tell those who look that the run has ended, and stop serving."""
        with self._lock:
            self._ended = True
            for listener in self._listeners:
                listener.put(None)
        deadline = time.monotonic() + LAST_WORDS
        while self._listeners and time.monotonic() < deadline:  # let the last news out
            time.sleep(0.01)
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def document(self) -> bytes:
        """The page as it stands."""
        return as_html(self._page, live="events").encode("utf-8", "backslashreplace")

    def listen(self) -> queue.SimpleQueue[bytes | None]:
        """The page as it is now, and news from now on.

        A browser begins to listen some time after it was given the document, or again after it
        lost us: what was shown in between, and the end, must not be missed.
        """
        mine: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with self._lock:
            mine.put(_news_of(self._page))
            if self._ended:
                mine.put(None)
            self._listeners.append(mine)
        return mine

    def forget(self, listener: queue.SimpleQueue[bytes | None]) -> None:
        """Somebody has closed the page."""
        with self._lock:
            self._listeners.remove(listener)

    def knows(self, path: str, host: str | None) -> str | None:
        """What is asked for, if it is asked for in the right words; None otherwise.

        The name must be ours too: a page elsewhere could have its own name point to this machine.
        """
        port = self._server.server_address[1]
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return None
        prefix = f"/{self._token}/"
        return path.removeprefix(prefix) if path.startswith(prefix) else None


def _handler(live: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers for the page and for its news, and nothing else."""

        def do_GET(self) -> None:
            """Give the page, the news, or nothing."""
            asked = live.knows(self.path, self.headers.get("Host"))
            if asked == "":
                self._answer("text/html; charset=utf-8", live.document())
            elif asked == "events":
                self._news()
            else:
                self.send_error(404)

        def _answer(self, kind: str, body: bytes) -> None:
            self._head(kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _head(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")

        def _news(self) -> None:
            mine = live.listen()
            try:
                self._head("text/event-stream")
                self.end_headers()
                self.wfile.write(b": hello\n\n")
                while (news := _next(mine)) is not None:
                    self.wfile.write(news)
                    self.wfile.flush()
                self.wfile.write(b"event: end\ndata: {}\n\n")
            except OSError:  # the page was closed
                pass
            finally:
                live.forget(mine)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the terminal belongs to the run."""

    return Handler


def _news_of(page: Page) -> bytes:
    return b"event: page\ndata: " + json.dumps(page.as_json()).encode() + b"\n\n"


def _next(news: queue.SimpleQueue[bytes | None]) -> bytes | None:
    try:
        return news.get(timeout=STILL_HERE)
    except queue.Empty:
        return b": still here\n\n"
