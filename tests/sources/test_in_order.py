"""Prefetching: cleanup when the reader stops midway."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tamis.sources import text_files
from tamis.sources.text_files import in_order
from waiting import PATIENCE


def test_a_generator_that_another_thread_reads_is_left_to_it(monkeypatch):
    reading, go_on = threading.Event(), threading.Event()
    threads = []

    class Interrupted(ThreadPoolExecutor):
        """Ctrl-C comes while a thread starts, and nobody waits for that thread."""

        def submit(self, call, *args):
            threads.append(threading.Thread(target=call, args=args))
            threads[0].start()
            assert reading.wait(PATIENCE)
            raise KeyboardInterrupt

    def items():
        reading.set()
        go_on.wait(PATIENCE)
        yield 1
        yield 2

    monkeypatch.setattr(text_files, "ThreadPoolExecutor", Interrupted)
    given = items()
    with pytest.raises(KeyboardInterrupt):  # and not: generator already executing
        next(in_order(given, str))
    go_on.set()
    threads[0].join()
    assert next(given) == 2


def test_a_generator_that_is_not_read_to_its_end_is_closed():
    given = (number for number in range(100))
    results = in_order(given, str)
    assert next(results) == "0"
    results.close()
    assert next(given, None) is None
