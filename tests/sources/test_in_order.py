"""Work ahead of the reader: what is left when it stops in the middle."""

from __future__ import annotations

import threading

from tamis.sources.text.read_ahead import close_early
from waiting import PATIENCE


def test_a_generator_that_another_thread_reads_is_left_to_it():
    reading, go_on = threading.Event(), threading.Event()

    def items():
        reading.set()
        go_on.wait(PATIENCE)
        yield 1

    given = items()
    thread = threading.Thread(target=next, args=(given,))
    thread.start()
    assert reading.wait(PATIENCE)
    close_early(given)  # which would raise: generator already executing
    go_on.set()
    thread.join()
    close_early(given)
    assert next(given, None) is None
