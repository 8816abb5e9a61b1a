"""The share of noise that passes AnyShape's test is near its level; see benchmarks/any_shape.py."""

from __future__ import annotations

import pytest
from benchmarks.any_shape import NOISE, SHAPES, share_found, share_passing
from scipy.stats import binom

COLUMNS = 20_000

#: Designs of up to 500 rows. Most have columns of many values, others few possible tables.
SMALL = [name for name in NOISE if not name.startswith("1,000")]
FEW = [name for name in SMALL if name.endswith(("nonzeros", "flags of 3 %"))]


@pytest.mark.parametrize("design", sorted(set(SMALL) - set(FEW)))
def test_the_share_of_noise_that_passes_is_near_the_level(design: str) -> None:
    """The bounds hold for a share of 0.8 % to 1.2 % except once in 10,000 seeds."""
    passed = round(share_passing(design, COLUMNS)[0] * COLUMNS)
    assert binom.ppf(1e-4, COLUMNS, 0.008) <= passed <= binom.ppf(1 - 1e-4, COLUMNS, 0.012)


@pytest.mark.parametrize("design", FEW)
def test_few_values_pass_no_more_often_than_the_level(design: str) -> None:
    """An exact test of few possible tables is below its level."""
    passed = round(share_passing(design, COLUMNS)[0] * COLUMNS)
    assert passed <= binom.ppf(1 - 1e-4, COLUMNS, 0.01)


def test_a_u_shape_is_found_in_more_than_85_percent_of_draws() -> None:
    shape, weight = SHAPES["a U"]
    ours, theirs = share_found(shape, 200, weight, 500)
    assert ours > 0.85
    assert theirs < 0.05
