"""AnyShape given covariates: the share of noise columns that passes its test at 1 %.

The target depends on age, sex and a batch. Each column depends on age, and says nothing beyond it,
so 1 % should pass. The last two designs break the assumption that covariates enter linearly. Fills
a table of docs/any-shape.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks._docs import fill
from benchmarks._harness import Report, table
from tamis.core.blocks import ColumnBlock
from tamis.core.covariates import Covariates
from tamis.core.target import Target
from tamis.measures import AnyShape, FisherZ

COLUMNS, DRAWS, ALPHA = 20_000, 100, 0.01
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"COLUMNS": 1_000, "DRAWS": 5}

Rng = np.random.Generator


# --- targets, given standardised age, sex and batch ----------------------------------------------


def two_classes(base: float) -> Callable[..., Any]:
    """Return two classes by a logistic model; `base` is the log-odds of the second one."""
    return lambda rng, z, sex, batch: rng.random(len(z)) < expit(base + z + 0.5 * sex + batch)


def classes(k: int) -> Callable[..., Any]:
    """Return k classes by a logistic model."""

    def draw(rng: Rng, z: Any, sex: Any, batch: Any) -> Any:
        odds = np.exp(
            np.outer(z, np.linspace(-0.7, 0.7, k)) + np.outer(batch, np.linspace(1, -1, k))
        )
        ends = np.cumsum(odds, axis=1) / odds.sum(axis=1, keepdims=True)
        return (rng.random(len(z))[:, np.newaxis] > ends).sum(axis=1)

    return draw


def in_order(*cuts: float) -> Callable[..., Any]:
    """Return classes that are a number cut into pieces."""
    return lambda rng, z, sex, batch: np.digitize(z + rng.normal(size=len(z)), cuts)


def number(noise: Callable[[Rng, int], Any]) -> Callable[..., Any]:
    """Return a number with this noise."""
    return lambda rng, z, sex, batch: z + 0.5 * sex + batch + noise(rng, len(z))


# --- columns -------------------------------------------------------------------------------------


def columns(kind: str, rng: Rng, z: Any, batch: Any, m: int) -> Any:
    """Return columns that depend on age."""
    age, shape = z[:, np.newaxis], (len(z), m)
    made = {
        "age + noise": lambda: age + rng.normal(size=shape),
        "age + little noise": lambda: age + 0.3 * rng.normal(size=shape),
        "age + Cauchy": lambda: age + rng.standard_cauchy(shape),
        "exp(age + noise)": lambda: np.exp(0.5 * age + 0.5 * rng.normal(size=shape)),
        "counts": lambda: rng.poisson(np.exp(0.5 * age), shape).astype(float),
        "flags of 5 %": lambda: (rng.random(shape) < 0.05 * np.exp(0.5 * age)) * 1.0,
        "genotypes": lambda: rng.binomial(2, expit(age - 1), shape).astype(float),
        "15 % missing": lambda: np.where(
            rng.random(shape) < 0.15, np.nan, age + rng.normal(size=shape)
        ),
        "more noise in a batch": lambda: (
            rng.normal(size=shape) * np.where(batch, 3.0, 1.0)[:, np.newaxis]
        ),
    }
    return made[kind]()


NORMAL = number(lambda rng, n: rng.normal(size=n))
HEAVY = number(lambda rng, n: rng.standard_t(2, size=n))
DESIGNS: list[tuple[str, int, Callable[..., Any], str]] = [
    ("200 rows, 2 classes", 200, two_classes(-0.5), "age + noise"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "age + little noise"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "age + Cauchy"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "15 % missing"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "more noise in a batch"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "genotypes"),
    ("200 rows, 2 classes", 200, two_classes(-0.5), "flags of 5 %"),
    ("60 rows, 2 classes", 60, two_classes(-0.5), "age + noise"),
    ("60 rows, 2 classes", 60, two_classes(-0.5), "counts"),
    ("500 rows, a class of 4 %", 500, two_classes(-4.0), "age + noise"),
    ("500 rows, a class of 4 %", 500, two_classes(-4.0), "more noise in a batch"),
    ("200 rows, 4 classes", 200, classes(4), "age + noise"),
    ("200 rows, 4 classes", 200, classes(4), "flags of 5 %"),
    ("400 rows, 26 classes", 400, classes(26), "age + noise"),
    ("400 rows, 26 classes", 400, classes(26), "age + Cauchy"),
    ("400 rows, 26 classes", 400, classes(26), "flags of 5 %"),
    ("100 rows, a normal number", 100, NORMAL, "age + noise"),
    ("100 rows, a normal number", 100, NORMAL, "counts"),
    ("200 rows, a number with heavy tails", 200, HEAVY, "age + noise"),
    ("200 rows, a number with heavy tails", 200, HEAVY, "age + Cauchy"),
    ("500 rows, 3 classes in order", 500, in_order(-1, 1), "age + noise"),
    ("500 rows, 3 classes in order", 500, in_order(-1, 1), "counts"),
    ("500 rows, 3 classes in order", 500, in_order(-1, 1), "exp(age + noise)"),
]


def share_passing(n: int, draw: Callable[..., Any], kind: str) -> Any:
    """Return the share of columns that pass at 1 %: for AnyShape, and for FisherZ."""
    rng, passed = np.random.default_rng(1), np.zeros(2)
    for _ in range(DRAWS):
        z, sex = rng.normal(size=n), rng.integers(0, 2, n)
        batch = rng.random(n) < 0.3
        known = Covariates(
            np.column_stack([50 + 10 * z, sex, batch]), ("age", "sex", "batch"), np.zeros(3, bool)
        )
        y = np.asarray(draw(rng, z, sex, batch))
        task = "regression" if y.dtype.kind == "f" else "classification"
        target = Target.of(y, task).adjusted(None, known)
        X = columns(kind, rng, z, batch, COLUMNS // DRAWS)
        measures = (AnyShape(), FisherZ()) if np.isfinite(X).all() else (AnyShape(),)
        block = ColumnBlock.of(X)
        p = [measure.tested(block, target, ALPHA).p for measure in measures]
        passed[: len(p)] += [np.mean(one < ALPHA) for one in p]
    return passed / DRAWS


def main() -> None:
    """Print the table and write it into the documentation."""
    report, lines = Report("any_shape_given", __doc__), list[dict[str, Any]]()
    for design, n, draw, kind in DESIGNS:
        ours, theirs = (f"{100 * share:.2f} %" for share in share_passing(n, draw, kind))
        theirs = "" if "missing" in kind else theirs
        lines.append({"target": design, "columns": kind, "AnyShape": ours, "FisherZ": theirs})
    report.table("Noise that passes a test at 1 %", lines)
    fill("any-shape.md", "given", table(lines))
    report.save()


if __name__ == "__main__":
    main()
