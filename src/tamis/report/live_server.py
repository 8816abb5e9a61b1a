"""A live page about a running command: a small server on this machine only.

It listens on the loopback address, on a port that the system picks, under a secret path. The run
offers its state now and then; a page is made only if a browser is connected. A page that is closed
or never opened does not affect the run.
"""

from __future__ import annotations

import json
import queue
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

from tamis.report.html_page import as_html
from tamis.report.page import Page

#: Called with the name of a stage, how far it is, and where it ends, if that is known.
Progress = Callable[[str, int, int | None], None]

#: Seconds between two pages; making one must not take a noticeable share of the run.
EVERY = 1.0
#: Seconds between two updates of the progress bars.
BARS_EVERY = 0.5
#: The time left is estimated from so many updates, because a stage may slow down.
RECENT = 60
#: Seconds that a run waits at its end for the last event to be sent.
LAST_WORDS = 3.0
#: Seconds between two keep-alive messages.
STILL_HERE = 10.0
#: Connections that have not asked for anything yet, and how many seconds they may take.
MOST_SILENT, SILENCE = 32, 10.0
#: Browsers that get updates; more are told to come back later.
MOST_VIEWERS = 16


class LivePage(AbstractContextManager["LivePage"]):
    """Serve a page and its updates until closed.

    Examples
    --------
    >>> with LivePage("a run") as live:
    ...     live.offer(lambda: Page("a run", "half done", []))
    ...     live.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, title: str) -> None:
        self.page = Page(title, "The run has started; waiting for the first results.", [])
        self._listeners: list[queue.SimpleQueue[bytes | None]] = []
        self._lock, self._ended = threading.Lock(), False
        self._last, self._cost = 0.0, 0.0
        self._stages: dict[str, _Stage] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        #: The address of the page.
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{secrets.token_urlsafe(16)}/"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def offer(self, make: Callable[[], Page]) -> None:
        """Show a new page if a browser is connected and the last page is old enough."""
        now = time.monotonic()
        # A slow page is made less often: making pages takes at most a twentieth of the time.
        if not self._listeners or now - self._last < max(EVERY, 20 * self._cost):
            return
        self.show(make())
        self._last = time.monotonic()
        self._cost = self._last - now

    def show(self, page: Page) -> None:
        """Show a page now."""
        news = _news_of(page)
        with self._lock:
            self.page = page
            for listener in self._listeners:
                listener.put(news)

    def relay(self, progress: Progress) -> Progress:
        """Return a progress callback that calls another one and moves the bars of the page."""

        def both(what: str, done: int, total: int | None) -> None:
            progress(what, done, total)
            stage = self._stages.setdefault(what, _Stage(what))
            if stage.moved(done, total):
                with self._lock:
                    for listener in self._listeners:
                        listener.put(self._bars())

        return both

    def _bars(self) -> bytes:
        """Return the event that shows the stages that are not finished."""
        return _event("progress", [s.as_json() for s in self._stages.values() if not s.finished])

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

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_viewers(self) -> int:
        """Browsers that get updates now."""
        return len(self._listeners)

    @contextmanager
    def listening(self) -> Iterator[queue.SimpleQueue[bytes | None]]:
        """Yield a queue of the current page and its updates; None is the end.

        A browser connects some time after it received the document, or again after it lost the
        connection: updates in between, and the end, must not be missed.
        """
        mine: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with self._lock:
            mine.put(_news_of(self.page))
            if self._stages:
                mine.put(self._bars())
            if self._ended:
                mine.put(None)
            self._listeners.append(mine)
        try:
            yield mine
        finally:
            with self._lock:
                self._listeners.remove(mine)


class _Server(ThreadingHTTPServer):
    """A server that silent connections cannot occupy: the oldest of too many is closed."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *args: Any) -> None:
        self._silent: dict[Any, None] = {}
        self._counting = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread."""
        with self._counting:
            self._silent[request] = None
            oldest = next(iter(self._silent)) if len(self._silent) > MOST_SILENT else None
        if oldest is not None:
            self.spoke(oldest)
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # its thread finds the end of the request
        super().process_request(request, client_address)

    def spoke(self, request: Any) -> None:
        """Take note that a connection asked for something, or ended."""
        with self._counting:
            self._silent.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self.spoke(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about connections that break: the terminal belongs to the run."""


def _handler(live: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answer requests for the page and its updates, and nothing else."""

        timeout = SILENCE

        def parse_request(self) -> bool:
            """Read the headers; the connection is not silent any more once they are complete."""
            complete = super().parse_request()
            cast(_Server, self.server).spoke(self.connection)
            return complete

        def do_GET(self) -> None:
            """Send the page, the updates, or an error."""
            address = urlsplit(live.url)
            # The host is checked because another site could make its name point to this machine.
            here = self.headers.get("Host") in (address.netloc, f"localhost:{address.port}")
            if here and self.path == address.path:
                body = as_html(live.page, live="events").encode("utf-8", "backslashreplace")
                self._head("text/html; charset=utf-8", length=len(body))
                self.wfile.write(body)
            elif here and self.path == f"{address.path}events":
                if live.n_viewers >= MOST_VIEWERS:
                    self.send_error(503)
                    return
                with live.listening() as news, suppress(OSError):  # the page was closed
                    self._head("text/event-stream")
                    self._send(news)
            else:
                self.send_error(404)

        def _head(self, kind: str, length: int | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()

        def _send(self, news: queue.SimpleQueue[bytes | None]) -> None:
            event: bytes | None = b": hello\n\n"
            while event is not None:
                self.wfile.write(event)
                self.wfile.flush()
                try:
                    event = news.get(timeout=STILL_HERE)
                except queue.Empty:
                    event = b": still here\n\n"
            self.wfile.write(b"event: end\ndata: {}\n\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: the terminal belongs to the run."""

    return Handler


class _Stage:
    """A stage of a run: how far it is, and how long the rest will take at its recent speed."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.done, self.total = 0, 0
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT)

    @property
    def finished(self) -> bool:
        return self.done >= self.total > 0

    def moved(self, done: int, total: int | None) -> bool:
        """Take note of the progress; True if it is time to show it."""
        now = time.monotonic()
        self.done, self.total = done, total or 0
        if self._recent and now - self._recent[-1][0] < BARS_EVERY and not self.finished:
            return False
        self._recent.append((now, done))
        return True

    def as_json(self) -> dict[str, Any]:
        words = f"{self.done:,}"
        if self.total:
            words += f" of {self.total:,} ({self.done / self.total:.0%})"
            (begun, first), (now, last) = self._recent[0], self._recent[-1]
            if last > first:
                left = (self.total - last) * (now - begun) / (last - first)
                words += f", about {duration(left)} left"
        return {"what": self.what, "done": self.done, "total": self.total, "words": words}


def duration(seconds: float) -> str:
    """Return a time in words that are short enough to read at a glance.

    >>> duration(0.3), duration(48), duration(300), duration(9000)
    ('1 s', '48 s', '5 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _news_of(page: Page) -> bytes:
    return _event("page", page.as_json())


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
