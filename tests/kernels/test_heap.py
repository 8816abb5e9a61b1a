"""The heap of kept features, compiled and plain, against a sorted list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels import heap

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


class Arrays:
    def __init__(self, size):
        self.order = np.zeros(size, dtype=np.int64)
        self.where = np.zeros(size + 1, dtype=np.int64)
        self.bound, self.key = np.zeros(size + 1), np.zeros(size + 1)
        self.serial = np.zeros(size + 1, dtype=np.int64)
        self.counts = np.zeros(heap.N_COUNTS, dtype=np.int64)

    @property
    def all(self):
        return (self.order, self.where, self.bound, self.key, self.serial, self.counts)

    def check(self):
        size = self.counts[heap.SIZE]
        for at in range(size):
            assert self.where[self.order[at]] == at
            assert self.bound[self.order[at]] <= self.key[self.order[at]]
            if at:
                child, parent = self.order[at], self.order[(at - 1) // 2]
                ours = (self.bound[parent], -self.serial[parent])
                assert ours <= (self.bound[child], -self.serial[child])


@modes
@settings(max_examples=60)
@given(
    size=st.integers(1, 9),
    moves=st.lists(st.tuples(st.sampled_from(["admit", "change"]), st.integers(0, 12),
                             st.integers(0, 99)), max_size=80),
)  # fmt: skip
def test_the_weakest_and_newest_is_removed(compiled, size, moves) -> None:
    arrays, kept, serial = Arrays(size), {}, 0
    for move, value, pick in moves:
        if move == "admit":
            slot = picked(heap.admit, compiled)(*arrays.all, float(value))
            if len(kept) < size:
                assert slot == len(kept) + 1
            else:
                weakest = min(kept, key=lambda s: (kept[s][0], -kept[s][1]))
                assert slot == (weakest if value > kept[weakest][0] else 0)
            if slot:
                arrays.key[slot] = value
                kept[slot] = (float(value), serial)
                serial += 1
        elif kept:
            slot = sorted(kept)[pick % len(kept)]
            kept[slot] = (float(value), kept[slot][1])
            arrays.key[slot] = value
            picked(heap.fell, compiled)(*arrays.all, slot)
        arrays.check()
        assert arrays.key[sorted(kept)].tolist() == [kept[s][0] for s in sorted(kept)]


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_each_change_costs_at_most_the_height(size) -> None:
    rng = np.random.default_rng(0)
    arrays, changes = Arrays(size), 20_000
    for _ in range(changes):
        if rng.random() < 0.5 and arrays.counts[heap.SIZE]:
            slot = int(rng.integers(1, arrays.counts[heap.SIZE] + 1))
            arrays.key[slot] = rng.random() + arrays.key[slot] * rng.integers(0, 2)
            heap.fell(*arrays.all, slot)
        else:
            value = 2 * rng.random()
            slot = heap.admit(*arrays.all, value)
            if slot:
                arrays.key[slot] = value
    assert arrays.counts[heap.STEPS] <= changes * (np.log2(size) + 2)


@modes
def test_sink_and_rise(compiled) -> None:
    order, where = np.array([1, 2, 3]), np.array([0, 0, 1, 2])
    bound, serial = np.array([0.0, 5.0, 2.0, 3.0]), np.arange(4)
    assert picked(heap.sink, compiled)(order, where, bound, serial, 3, 0) == 1
    assert order.tolist() == [2, 1, 3]
    bound[3] = 1.0
    assert picked(heap.rise, compiled)(order, where, bound, serial, 2) == 1
    assert order.tolist() == [3, 1, 2]
    assert where.tolist() == [0, 1, 2, 0]
