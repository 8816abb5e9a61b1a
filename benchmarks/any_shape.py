"""AnyShape: the share of noise columns that passes its test at 1 %, and what it finds.

Every design has a fixed target and 100,000 columns that know nothing about it. The share that
passes should be 1 %. Fills the tables of docs/any-shape.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._docs import fill
from benchmarks._harness import Report, table
from tamis.core.target import Target
from tamis.measures import AnyShape, FisherZ

Make = Callable[[np.random.Generator, int, int], Any]

COLUMNS, BLOCK, ALPHA, DRAWS = 100_000, 2_000, 0.01, 2_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"COLUMNS": 2_000, "DRAWS": 200}


# --- targets -------------------------------------------------------------------------------------


def classes(n: int, k: int) -> Any:
    """Return k classes of equal size."""
    return np.arange(n) % k


def rare(n: int, rows: int, k: int = 2) -> Any:
    """Return k classes, the last of which has few rows."""
    y = np.arange(n) % (k - 1)
    y[:rows] = k - 1
    return y


def uneven(n: int) -> Any:
    """Return nine classes of 40 % to 1 % of the rows."""
    shares = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.02, 0.01, 0.01, 0.01])
    ends = np.rint(n * np.concatenate([[0.0], shares.cumsum()])).astype(int)
    return np.repeat(np.arange(9), np.diff(ends))


# --- columns -------------------------------------------------------------------------------------


def normal(rng: np.random.Generator, n: int, m: int) -> Any:
    """Return normal columns."""
    return rng.standard_normal((n, m))


def cauchy(rng: np.random.Generator, n: int, m: int) -> Any:
    """Return columns with heavy tails."""
    return rng.standard_cauchy((n, m))


def counts(rng: np.random.Generator, n: int, m: int) -> Any:
    """Return Poisson counts with mean 2: many ties."""
    return rng.poisson(2.0, (n, m)).astype(float)


def half_zero(rng: np.random.Generator, n: int, m: int) -> Any:
    """Return columns of which half are zeros."""
    return np.where(rng.random((n, m)) < 0.5, rng.exponential(size=(n, m)), 0.0)


def sparse(rng: np.random.Generator, n: int, m: int) -> Any:
    """Return columns with 10 % nonzeros."""
    return np.where(rng.random((n, m)) < 0.1, rng.exponential(size=(n, m)), 0.0)


def flags(share: float) -> Make:
    """Return 0/1 columns with a share of ones."""
    return lambda rng, n, m: (rng.random((n, m)) < share).astype(float)


NUMBERS = np.random.default_rng(0)
NOISE: dict[str, tuple[Any, Make]] = {
    "60 rows, 2 classes, normal": (classes(60, 2), normal),
    "200 rows, 2 classes, normal": (classes(200, 2), normal),
    "200 rows, 2 classes, Cauchy": (classes(200, 2), cauchy),
    "200 rows, 2 classes, counts": (classes(200, 2), counts),
    "200 rows, 2 classes, half zeros": (classes(200, 2), half_zero),
    "1,000 rows, 2 classes, normal": (classes(1000, 2), normal),
    "1,000 rows, 5 % positive, Cauchy": (rare(1000, 50), cauchy),
    "62 rows, 4 classes, counts": (classes(62, 4), counts),
    "80 rows, 9 classes, normal": (classes(80, 9), normal),
    "130 rows, 26 classes, normal": (classes(130, 26), normal),
    "200 rows, 26 classes, normal": (classes(200, 26), normal),
    "1,000 rows, 26 classes, normal": (classes(1000, 26), normal),
    "1,000 rows, 26 classes, counts": (classes(1000, 26), counts),
    "500 rows, 9 uneven classes, normal": (uneven(500), normal),
    "500 rows, 9 uneven classes, counts": (uneven(500), counts),
    "200 rows, a class of 3, normal": (rare(200, 3), normal),
    "200 rows, a class of 5, normal": (rare(200, 5), normal),
    "200 rows, a class of 5, counts": (rare(200, 5), counts),
    "1,000 rows, a class of 3, normal": (rare(1000, 3), normal),
    "1,000 rows, a class of 5, Cauchy": (rare(1000, 5), cauchy),
    "1,000 rows, 4 classes, one of 3, normal": (rare(1000, 3, 4), normal),
    "200 rows, 3 classes, one of 5, counts": (rare(200, 5, 3), counts),
    "100 rows, a normal number": (normal(NUMBERS, 100, 1)[:, 0], normal),
    "300 rows, a normal number, counts": (normal(NUMBERS, 300, 1)[:, 0], counts),
    "300 rows, a Cauchy number, Cauchy": (cauchy(NUMBERS, 300, 1)[:, 0], cauchy),
    "300 rows, a normal number, flags of 5 %": (normal(NUMBERS, 300, 1)[:, 0], flags(0.05)),
    "500 rows, 2 classes, 10 % nonzeros": (classes(500, 2), sparse),
    "500 rows, 2 classes, flags of 3 %": (classes(500, 2), flags(0.03)),
    "500 rows, 5 % positive, flags of 3 %": (rare(500, 25), flags(0.03)),
    "1,000 rows, 26 classes, flags of 1 %": (classes(1000, 26), flags(0.01)),
    "500 rows, 9 uneven classes, flags of 3 %": (uneven(500), flags(0.03)),
}


def share_passing(design: str, columns: int, alpha: float = ALPHA) -> list[float]:
    """Return the share of noise columns that passes AnyShape, and FisherZ."""
    y, make = NOISE[design]
    target = Target.of(y, task="regression" if y.dtype.kind == "f" else "classification")
    rng = np.random.default_rng(sum(map(ord, design)))
    passed = np.zeros(2)
    for _ in range(columns // BLOCK):
        X = make(rng, len(y), BLOCK)
        passed += [
            np.sum(m.relevance(X, target).dependent)
            for m in (AnyShape(alpha), FisherZ(alpha, statistic="z"))
        ]
    return (passed / columns).tolist()


# --- what it finds -------------------------------------------------------------------------------


def linear(x: Any) -> Any:
    """Return a straight line."""
    return x


def u_shape(x: Any) -> Any:
    """Return a parabola with mean 0 and variance 1, for a normal x."""
    return (x * x - 1) / np.sqrt(2)


def sine(x: Any) -> Any:
    """Return about one and a half waves, with variance 1."""
    return np.sin(2.5 * x) * np.sqrt(2)


#: Shapes, and their weight in the class: about what 200 rows can show.
SHAPES = {"a line": (linear, 0.3), "a U": (u_shape, 0.6), "a wave": (sine, 0.5)}


def share_found(shape: Callable[[Any], Any], n: int, weight: float, draws: int) -> list[float]:
    """Return the share of draws that AnyShape finds, and FisherZ.

    x is normal, and the class is whether weight * shape(x) + noise is above 0; the
    noise has variance 1 - weight^2.
    """
    rng = np.random.default_rng(n)
    found = np.zeros(2)
    for _ in range(draws):
        x = rng.standard_normal(n)
        y = weight * shape(x) + np.sqrt(1 - weight**2) * rng.standard_normal(n) > 0
        found += [
            float(m.relevance(x, y).dependent[0]) for m in (AnyShape(), FisherZ(statistic="z"))
        ]
    return (found / draws).tolist()


def main() -> None:
    """Print both tables and write them into the documentation."""
    report, lines = Report("any_shape", __doc__), list[dict[str, Any]]()
    for design in NOISE:
        ours, theirs = share_passing(design, COLUMNS)
        line = {"noise": design, "AnyShape": f"{100 * ours:.2f} %"}
        lines.append(line | {"FisherZ": f"{100 * theirs:.2f} %"})
    report.table("Noise that passes a test at 1 %", lines)
    fill("any-shape.md", "noise", table(lines))
    lines = []
    for name, (shape, weight) in SHAPES.items():
        for n in (60, 100, 200):
            ours, theirs = share_found(shape, n, weight, DRAWS)
            line = {"2 classes and": name, "rows": n}
            lines.append(line | {"AnyShape": f"{ours:.2f}", "FisherZ": f"{theirs:.2f}"})
    report.table("Draws in which it is found", lines)
    fill("any-shape.md", "found", table(lines))
    report.save()


if __name__ == "__main__":
    main()
