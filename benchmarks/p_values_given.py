"""Are p-values right given covariates, and with weights? Ratios on columns of noise.

Targets are drawn anew from the covariates alone, so no column says anything about them. The ratio
is how often p <= level occurs, divided by the level: 1 is right, above 1 is invalid. Beside it, the
test that would be used alone: t, F, or G-squared with the chi-square law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from benchmarks._data import SHARED, load_real
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from tamis import FisherZ, MutualInformation
from tamis.core.blocks import ColumnBlock
from tamis.core.covariates import Covariates
from tamis.core.target import Target
from tamis.measures.adjusted import adjustment_of
from tamis.measures.measure import Measure, Strength
from tamis.measures.p_values import variance_p
from tamis.measures.stratified import stratified_relevance

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Design:
    """Columns, covariates, weights, and how targets are drawn."""

    name: str
    columns: Callable[[Any], Any]
    covariates: Callable[[Any, int], Any] | None
    draw: Callable[[Any, Any, int], Any]
    draws: int
    measure: Measure = FisherZ()  # noqa: RUF009  (frozen)
    weighted: bool = False


def dorothea(rng: Any) -> Any:
    """Return flags that are there at least three times."""
    X = sp.csc_matrix(load_real("dorothea")[0], dtype=float)
    return X[:, np.flatnonzero(np.diff(X.indptr) >= 3)[:20_000]]


def prostate(rng: Any) -> Any:
    """Return genes of 102 patients."""
    return np.asarray(load_real("prostate")[0], dtype=float)


def two_batches(rng: Any) -> Any:
    """Return genes of 200 patients that vary ten times as much in every other one."""
    return rng.normal(size=(200, 5_000)) * np.where(np.arange(200) % 2, 1.0, 0.1)[:, np.newaxis]


def number(rng: Any, n: int) -> Any:
    """Return one number per row."""
    return rng.normal(size=n)


def batch(rng: Any, n: int) -> Any:
    """Mark every other row."""
    return np.arange(n) % 2


def rare(rng: Any, z: Any, n: int) -> Any:
    """Draw a rare class that becomes more frequent with the covariate."""
    return (rng.random(n) < expit(0.8 * z - 2.5)).astype(int)


def by_batch(rng: Any, z: Any, n: int) -> Any:
    """Draw 40 % of one batch, 4 % of the other."""
    return (rng.random(n) < np.where(z > 0, 0.4, 0.04)).astype(int)


def half(rng: Any, z: Any, n: int) -> Any:
    """Draw about as many of both classes, by the covariate."""
    return (rng.random(n) < expit(z)).astype(int)


def four(rng: Any, z: Any, n: int) -> Any:
    """Draw four classes, three of them rare."""
    return np.searchsorted([0.85, 0.92, 0.97], rng.random(n) * expit(3 - z))


def skew(rng: Any, z: Any, n: int) -> Any:
    """Draw numbers with a long tail."""
    return np.exp(1.5 * rng.normal(size=n)) + z


DESIGNS = (
    Design("dorothea flags, rare class", dorothea, number, rare, 20),
    Design("dorothea flags, four classes", dorothea, number, four, 20),
    Design("dorothea flags, skew numbers", dorothea, number, skew, 20),
    Design("dorothea flags, rare class, weights", dorothea, None, rare, 20, weighted=True),
    Design("prostate genes", prostate, number, half, 300),
    Design("genes that vary more in the batch with the cases", two_batches, batch, by_batch, 60),
    Design("dorothea flags, two batches", dorothea, batch, by_batch, 20, MutualInformation()),
)

#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "DESIGNS": tuple(replace(one, draws=max(1, one.draws // 20)) for one in DESIGNS)
}


def ratios(design: Design) -> list[dict[str, Any]]:
    """Return the ratios of a design, by the p-values in use and by the plain test alone."""
    rng = np.random.default_rng(0)
    X = design.columns(rng)
    n, counts, tests = X.shape[0], np.zeros((2, len(LEVELS))), 0
    block = ColumnBlock.of(X)
    for _ in range(design.draws):
        z = np.zeros(n) if design.covariates is None else design.covariates(rng, n)
        y = design.draw(rng, z, n)
        given = Covariates(z[:, np.newaxis].astype(float), ("z",), np.zeros(1, np.bool_))
        target = Target.of(y, "regression" if design.draw is skew else "classification").adjusted(
            0.2 + rng.random(n) if design.weighted else None,
            None if design.covariates is None else given,
        )
        tested = design.measure.tested(block, target)
        tests += int(np.count_nonzero(~tested.constant))
        for i, p in enumerate((tested.p, plain_p(design.measure, block, target))):
            counts[i] += [np.count_nonzero(p <= level) for level in LEVELS]
    return [
        {"design": design.name, "p-values": kind}
        | {
            f"{level:g}": f"{found / (tests * level):.2g} ({found:.0f})"
            for level, found in zip(LEVELS, of_kind, strict=True)
        }
        for kind, of_kind in zip(("now", "plain test alone"), counts, strict=True)
    ]


def plain_p(measure: Measure, block: ColumnBlock, target: Target) -> Any:
    """Return the p-values of the t, F or G-squared tests."""
    strength = Strength.room(block.width)
    if isinstance(measure, FisherZ):
        value = measure.tested(block, target).value
        adjustment = adjustment_of(target, target.n_classes > 2)
        explaining = adjustment.n_targets
        return variance_p(value, explaining, adjustment.rest(explaining, 0))
    return stratified_relevance(measure, block, target, strength, exact=False).p


def main() -> None:
    """Print and save the table, and write it into docs/trust.md."""
    report = Report("p_values_given", __doc__ or "")
    names = {dorothea: "dorothea", prostate: "prostate"}
    rows = [
        row
        for design in DESIGNS
        if design.columns not in names or (SHARED / names[design.columns]).is_dir()
        for row in ratios(design)
    ]
    report.table("noise given covariates: ratios, and counts in brackets", rows)
    report.save()
    fill("trust.md", "given covariates", table(rows))


if __name__ == "__main__":
    main()
