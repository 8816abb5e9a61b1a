"""Prefetching: in order, never far ahead, and no thread outlives its reader."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from tamis.engine.loop import AHEAD, ahead
from tamis.kernels.threads import thread_count, threads
from waiting import PATIENCE


def workers() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("tamis-ahead")]


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    assert workers() == []
    yield
    assert workers() == []


def test_results_are_in_order_whatever_each_takes():
    waits = [0.02, 0.0, 0.01, 0.0, 0.005]

    def slow(k: int) -> int:
        time.sleep(waits[k % 5])
        return k * k

    assert list(ahead(slow, range(20))) == [k * k for k in range(20)]


def test_no_items_give_no_results():
    assert list(ahead(str, [])) == []


def test_results_that_are_none_are_results():
    assert list(ahead(lambda _: None, range(5))) == [None] * 5


def test_the_function_runs_in_another_thread():
    assert list(ahead(lambda _: threading.current_thread().name, [0])) == ["tamis-ahead_0"]


def test_what_the_function_raises_is_raised_here_after_the_results_before_it():
    got = []

    def fail_at_3(k: int) -> int:
        if k == 3:
            raise ZeroDivisionError("three")
        return k

    with pytest.raises(ZeroDivisionError, match="three"):
        got.extend(ahead(fail_at_3, range(10)))
    # list.extend keeps what came before the exception
    assert got == [0, 1, 2]


def test_what_the_items_raise_is_raised_here_after_the_results_before_it():
    def items():
        yield 1
        yield 2
        raise OSError("the disk is gone")

    stream = ahead(lambda k: k, items())
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(stream)
    assert list(stream) == []


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
def test_exceptions_that_are_not_errors_are_passed_on(kind):
    def raise_it(_):
        raise kind

    with pytest.raises(kind):
        list(ahead(raise_it, [1]))


def test_the_thread_does_not_run_far_ahead():
    begun = []
    stream = ahead(begun.append, range(1000))
    next(stream)
    time.sleep(0.3)
    # one was taken, AHEAD are waiting, and the thread holds one more
    assert len(begun) <= 1 + AHEAD + 1
    stream.close()


def test_the_thread_works_while_the_reader_does():
    begun = threading.Semaphore(0)
    stream = ahead(lambda _: begun.release(), range(3))
    next(stream)
    assert begun.acquire(timeout=PATIENCE)
    assert begun.acquire(timeout=PATIENCE)  # the second began although only the first was requested
    stream.close()


def test_closing_early_stops_the_thread_and_closes_the_items():
    closed = threading.Event()

    def endless():
        try:
            k = 0
            while True:
                yield k
                k += 1
        finally:
            closed.set()

    stream = ahead(lambda k: k, endless())
    assert next(stream) == 0
    assert len(workers()) == 1
    stream.close()
    assert workers() == []
    assert closed.is_set()


def test_the_items_are_closed_when_the_function_fails():
    closed = threading.Event()

    def items():
        try:
            yield 1
            yield 2
        finally:
            closed.set()

    with pytest.raises(ZeroDivisionError):
        list(ahead(lambda k: k / 0, items()))
    assert closed.is_set()


def test_an_exception_in_the_reader_stops_the_thread():
    def reader():
        with closing(ahead(str, range(100))) as stream:
            for text in stream:
                raise RuntimeError(text)

    with pytest.raises(RuntimeError):
        reader()
    assert workers() == []


def test_an_unread_stream_starts_no_thread():
    stream = ahead(str, range(3))
    assert workers() == []
    stream.close()


def test_the_number_of_threads_set_by_the_reader_holds_ahead_too():
    wanted = thread_count() + 3
    with threads(wanted):
        assert list(ahead(lambda _: thread_count(), range(3))) == [wanted] * 3
