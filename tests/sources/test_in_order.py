"""Prefetching: cleanup when the reader stops midway."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tamis.sources import text_files
from tamis.sources.text_files import in_order
from waiting import PATIENCE


def test_a_generator_read_by_another_thread_is_not_closed(monkeypatch):
    reading, proceed = threading.Event(), threading.Event()
    threads = []

    class Interrupted(ThreadPoolExecutor):
        """Ctrl-C arrives while a thread starts, and nothing waits for that thread."""

        def submit(self, call, *args):
            threads.append(threading.Thread(target=call, args=args))
            threads[0].start()
            assert reading.wait(PATIENCE)
            raise KeyboardInterrupt

    def items():
        reading.set()
        proceed.wait(PATIENCE)
        yield 1
        yield 2

    monkeypatch.setattr(text_files, "ThreadPoolExecutor", Interrupted)
    given = items()
    with pytest.raises(KeyboardInterrupt):  # and not: generator already executing
        next(in_order(given, str))
    proceed.set()
    threads[0].join()
    assert next(given) == 2


def test_a_generator_that_is_not_read_to_its_end_is_closed():
    given = (number for number in range(100))
    results = in_order(given, str)
    assert next(results) == "0"
    results.close()
    assert next(given, None) is None
