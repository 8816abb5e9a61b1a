"""Threads: every column is processed once, for any number of threads."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels import threads as module
from tamis.kernels.threads import LEAST_WORK, over_columns, thread_count, threads


def ranges_for(weights: np.ndarray, count: int) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    with threads(count):
        over_columns(lambda lo, hi: seen.append((lo, hi)), weights)
    return sorted(seen)


@given(
    st.lists(st.sampled_from([0, 1, 10, LEAST_WORK, 10 * LEAST_WORK]), max_size=30),
    st.integers(1, 5),
    st.integers(0, 7),
)
@settings(max_examples=80)
def test_ranges_cover_every_column_once_and_in_order(work, count, start):
    weights = np.cumsum([start, *work])
    ranges = ranges_for(weights, count)
    assert [j for lo, hi in ranges for j in range(lo, hi)] == list(range(len(work)))
    assert len(ranges) <= max(count, 1)


def test_work_is_shared_out_by_weight_not_by_number_of_columns():
    weights = np.concatenate([[0], np.cumsum([40 * LEAST_WORK] + [LEAST_WORK] * 30)])
    assert ranges_for(weights, 2) == [(0, 1), (1, 31)]


def test_small_work_stays_in_the_calling_thread():
    seen = []
    with threads(4):
        over_columns(lambda lo, hi: seen.append(threading.current_thread()), np.arange(10))
    assert seen == [threading.current_thread()]


def test_much_work_goes_to_other_threads():
    seen = []
    with threads(2):
        over_columns(
            lambda lo, hi: seen.append(threading.current_thread().name),
            np.arange(5) * LEAST_WORK,
        )
    assert len(seen) == 2
    assert any(name.startswith("tamis") for name in seen)


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(lo, hi):
        raise ZeroDivisionError(f"{lo}")

    with threads(2), pytest.raises(ZeroDivisionError):
        over_columns(fail, np.arange(5) * LEAST_WORK)


def test_the_number_of_threads_is_set_only_inside_the_block(monkeypatch):
    monkeypatch.setenv("TAMIS_THREADS", "3")
    assert thread_count() == 3
    with threads(2):
        assert thread_count() == 2
        with threads(1):
            assert thread_count() == 1
        assert thread_count() == 2
    assert thread_count() == 3


@pytest.mark.parametrize("word", ["", "0", "-2", "many"])
def test_an_invalid_number_of_threads_means_all_available_cores(monkeypatch, word):
    monkeypatch.setenv("TAMIS_THREADS", word)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert thread_count() == cores


def test_workers_of_one_process_do_not_undo_what_others_have_set():
    before = thread_count()
    entered, left = threading.Barrier(2), threading.Event()
    seen = []

    def first():
        with threads(before + 1):
            entered.wait()
        left.set()

    def second():
        with threads(before + 2):
            entered.wait()
            left.wait()
            seen.append(thread_count())
        seen.append(thread_count())

    workers = [threading.Thread(target=first), threading.Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [before + 2, before]
    assert thread_count() == before


def test_the_setting_returns_after_an_error():
    before = thread_count()
    with pytest.raises(KeyError), threads(before + 1):
        raise KeyError
    assert thread_count() == before


def test_zero_threads_are_refused_in_one_sentence():
    with (
        pytest.raises(ValueError, match=r"threads\(0\): the number of threads must be at least 1"),
        threads(0),
    ):
        pass


def test_a_pool_is_recreated_after_a_fork():
    ranges_for(np.arange(5) * LEAST_WORK, 2)
    assert module._pool is not None
    old = module._pool
    try:
        module._forget_pool()
        assert module._pool is None
        assert ranges_for(np.arange(5) * LEAST_WORK, 2) == [(0, 2), (2, 4)]
        assert module._pool is not old
    finally:
        old.shutdown()
