"""Upper tails of beta distributions, against SciPy's and against sums of binomial terms."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.special import betaincc

from tamis.kernels.beta_tails import REMEMBERED, upper_tails

KERNELS = pytest.mark.parametrize("kernel", [upper_tails, upper_tails.py_func])


def tails(kernel, a, b, x):
    a, b, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float), np.asarray(x, float))
    out = np.zeros(a.size)
    kernel(*(np.ascontiguousarray(values).ravel() for values in (a, b, x)), out)
    return out


@KERNELS
def test_it_is_that_of_scipy_for_tests_of_shares(kernel) -> None:
    """Few directions against many rows, from far below the mean to far out in the tail."""
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(np.log(0.1), np.log(60), 3000))
    b = np.exp(rng.uniform(np.log(0.5), np.log(20000), 3000))
    x = np.minimum(rng.exponential(3.0, 3000) * (a + 1) / (a + b), 1.0)
    found, expected = tails(kernel, a, b, x), betaincc(a, b, x)
    some = expected > 1e-280
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[some], expected[some], rtol=3e-12)
    assert (found[~some] <= 1.01 * expected[~some]).all()


@KERNELS
def test_it_is_a_sum_of_binomial_terms_for_whole_numbers(kernel) -> None:
    for a, b, x in (
        (1, 1, 0.25),
        (2, 30, 0.125),
        (5, 3, 0.875),
        (7, 200, 0.03125),
        (3, 9, 0.96875),
    ):
        n, share = a + b - 1, Fraction(x)
        exact = sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(a))
        assert tails(kernel, a, b, x)[0] == pytest.approx(float(exact), rel=1e-13)


@KERNELS
def test_the_ends_and_what_it_leaves_to_the_caller(kernel) -> None:
    found = tails(
        kernel, [0.5, 0.5, 0.0, 2.0, np.inf, np.nan], 3.0, [0.0, 1.0, 0.5, -1.0, 0.5, 0.5]
    )
    np.testing.assert_array_equal(found, [1.0, 0.0, np.nan, 1.0, np.nan, np.nan])
    assert np.isnan(tails(kernel, 1e6, 1e9, 1e-3)).all()


def test_what_is_remembered_is_what_would_be_computed() -> None:
    rng = np.random.default_rng(1)
    a, b, x = rng.choice([0.5, 1.5], 8000), rng.uniform(50, 60, 8000), rng.random(8000) * 0.1
    a[REMEMBERED:], b[REMEMBERED:], x[REMEMBERED:] = (v[:-REMEMBERED].copy() for v in (a, b, x))
    alone = [
        tails(upper_tails, *numbers)[0] for numbers in zip(a[:500], b[:500], x[:500], strict=True)
    ]
    assert tails(upper_tails, a, b, x)[:500].tolist() == alone
