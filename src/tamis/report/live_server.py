"""A live page about a running command: a small server on this machine only.

It listens on the loopback address, on a port that the system picks, under a secret path. The run
offers its state now and then; a page is made only if a browser is connected. A page that is closed
or never opened disturbs nothing.
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
#: Seconds that a run waits at its end for the last event to be sent.
LAST_WORDS = 3.0
#: Seconds between two keep-alive messages.
STILL_HERE = 10.0


class LivePage:
    """Serve a page and its updates until closed.

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
        """The address of the page."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{self._token}/"

    def offer(self, make: Callable[[], Page]) -> None:
        """Show a new page if a browser is connected and the last page is old enough."""
        now = time.monotonic()
        # A page that takes long is made less often: at most a twentieth of the time.
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
        """Tell the browsers that the run has ended, and stop serving."""
        with self._lock:
            self._ended = True
            for listener in self._listeners:
                listener.put(None)
        deadline = time.monotonic() + LAST_WORDS
        while self._listeners and time.monotonic() < deadline:  # let the last event be sent
            time.sleep(0.01)
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def document(self) -> bytes:
        """Return the current page."""
        return as_html(self._page, live="events").encode("utf-8", "backslashreplace")

    def listen(self) -> queue.SimpleQueue[bytes | None]:
        """Return the current page and a queue of updates.

        A browser connects some time after it got the document, or again after it lost the
        connection: updates in between, and the end, must not be missed.
        """
        mine: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with self._lock:
            mine.put(_news_of(self._page))
            if self._ended:
                mine.put(None)
            self._listeners.append(mine)
        return mine

    def forget(self, listener: queue.SimpleQueue[bytes | None]) -> None:
        """Forget a page that was closed."""
        with self._lock:
            self._listeners.remove(listener)

    def knows(self, path: str, host: str | None) -> str | None:
        """Return what is requested if path and host are right, else None.

        The host is checked because another site could let its name point to this machine.
        """
        port = self._server.server_address[1]
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return None
        prefix = f"/{self._token}/"
        return path.removeprefix(prefix) if path.startswith(prefix) else None


def _handler(live: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answer requests for the page and its updates, and nothing else."""

        def do_GET(self) -> None:
            """Send the page, the updates, or an error."""
            requested = live.knows(self.path, self.headers.get("Host"))
            if requested == "":
                self._answer("text/html; charset=utf-8", live.document())
            elif requested == "events":
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
            """Log nothing: the terminal belongs to the run."""

    return Handler


def _news_of(page: Page) -> bytes:
    return b"event: page\ndata: " + json.dumps(page.as_json()).encode() + b"\n\n"


def _next(news: queue.SimpleQueue[bytes | None]) -> bytes | None:
    try:
        return news.get(timeout=STILL_HERE)
    except queue.Empty:
        return b": still here\n\n"
