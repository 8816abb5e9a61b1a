"""Our own sort against NumPy's, compiled and plain; and no kernel uses NumPy's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis.kernels
from tamis.kernels.sorting import argsort, first_not_below, sort

numbers = st.lists(st.integers(-20, 20) | st.floats(-3, 3), max_size=90)


@pytest.mark.parametrize("form", [lambda f: f, lambda f: f.py_func], ids=["compiled", "plain"])
class TestSorting:
    @given(values=numbers)
    def test_the_order_is_that_of_a_stable_sort(self, form, values):
        values = np.array(values, dtype=float)
        assert form(argsort)(values).tolist() == np.argsort(values, kind="stable").tolist()
        assert form(sort)(values).tolist() == np.sort(values, kind="stable").tolist()

    @given(values=numbers, wanted=st.floats(-25, 25))
    def test_positions_are_found_by_bisection(self, form, values, wanted):
        values = np.sort(np.array(values, dtype=float))
        assert form(first_not_below)(values, len(values), wanted) == np.searchsorted(values, wanted)


def test_many_values_and_whole_numbers_are_sorted_too():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=5_000), rng.integers(0, 50, 3_000)):
        assert np.array_equal(argsort(values), np.argsort(values, kind="stable"))


def test_no_kernel_uses_a_sort_of_numba():
    folder = Path(tamis.kernels.__file__).parent
    found = [
        path.name
        for path in folder.glob("*.py")
        if re.search(r"np\.(sort|argsort|searchsorted|unique|median|quantile)\(", path.read_text())
    ]
    assert found == []
