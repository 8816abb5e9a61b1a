"""SIGTERM, as `kill` and schedulers send it, ends a command as Ctrl-C does: nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]

_came = threading.Event()
#: What handles both signals at the moment, if not the handler of Ctrl-C.
_handlers: list[Handler] = []


def was_terminated() -> bool:
    """Return whether SIGTERM came."""
    return _came.is_set()


def terminate(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM: do what Ctrl-C does. It may come again, during the clean-up."""
    if _came.is_set():
        return
    _came.set()
    handler = _handlers[-1] if _handlers else signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a background job, to which Ctrl-C means nothing
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


def handle_termination() -> None:
    """Handle SIGTERM from here on, unless it is ignored or somebody else handles it."""
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Let a function handle Ctrl-C and SIGTERM, in the main thread; others receive neither."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.getsignal(signal.SIGINT)
    is_ignored = old is signal.SIG_IGN  # background jobs do not receive Ctrl-C
    _handlers.append(handler)
    if not is_ignored:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if not is_ignored:
            signal.signal(signal.SIGINT, old)
        _handlers.remove(handler)


def repeat() -> None:
    """Send the signal again that stopped this process, which was lost."""
    number = signal.SIGTERM if _came.is_set() else signal.SIGINT
    _came.clear()
    os.kill(os.getpid(), number)
