"""The sorts of kernels, compiled and plain, against NumPy's stable one."""

import numpy as np
import pytest

from tamis.kernels.sorting import LONG, argsort_numbers

RNG = np.random.default_rng(0)
EXTREME = np.array([-0.0, 0.0, 5e-324, -5e-324, 1.0, -1.0, np.inf, -np.inf, 1.7e308])


@pytest.mark.parametrize(
    "run", [argsort_numbers, argsort_numbers.py_func], ids=["compiled", "plain"]
)
@pytest.mark.parametrize("n", [0, 1, LONG - 1, LONG, LONG + 700])
def test_numbers_are_sorted_stably(run, n: int) -> None:
    kinds = {
        "normal": RNG.normal(size=n),
        "whole": RNG.poisson(2, n) - 2.0,
        "of all sizes": RNG.normal(size=n) * 10.0 ** RNG.integers(-300, 300, n),
        "extreme": RNG.choice(EXTREME, n),
        "equal": np.full(n, -0.0),
    }
    for name, values in kinds.items():
        before = values.copy()
        assert run(values).tolist() == np.argsort(values, kind="stable").tolist(), name
        assert values.tobytes() == before.tobytes()
