"""Shadow worlds: the number of false features they expect, against the truth, and their cost.

Signals are planted among columns that say nothing: independent noise, or real columns whose rows
were put in another order, so that they keep their dependence on each other. A kept column is false
if it was not planted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks._data import SHARED, load_real
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from tamis import SAOLA, FastOSFS, FisherZ, MutualInformation, Sieve

#: Worlds, and draws of each design; more where few false features are kept.
WORLDS, SEEDS, MANY_SEEDS = 3, 20, 100
#: Columns of the table whose cost is measured.
COLUMNS = 20_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """Columns of noise, and how many families of near-copies are planted among them.

    `strength` is a shift in standard deviations between the classes or, for flags, an odds ratio.
    """

    name: str
    columns: str
    families: int
    copies: int
    strength: float

    def draw(self, seed: int) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the columns, the classes, and which columns are planted."""
        rng = np.random.default_rng(seed)
        if self.columns == "normal":
            X, y = rng.normal(size=(200, 3_000)), rng.integers(0, 2, 200)
        else:
            X, y = real_columns(self.columns)
            y = rng.permutation(y)
        width = X.shape[1]
        planted = np.zeros(width, np.bool_)
        chosen = rng.permutation(width)[: self.families * self.copies]
        planted[chosen] = True
        X = X.tolil() if sp.issparse(X) else X.copy()
        for family in chosen.reshape(self.families, self.copies):
            self._plant(X, y, family, rng)
        return X.tocsc() if sp.issparse(X) else X, y, planted

    def _plant(self, X: Any, y: Any, family: npt.NDArray[np.int64], rng: Any) -> None:
        n = len(y)
        if sp.issparse(X):
            odds = 0.08 * np.where(y == 1, self.strength, 1.0)
            first = rng.random(n) < odds / (1 + odds)
            for j in family:
                flip = rng.random(n) < 0.005
                X[:, j] = (first ^ flip).astype(float).reshape(-1, 1)
            return
        first = rng.normal(size=n) + self.strength * y
        for j in family:
            X[:, j] = first + 0.3 * rng.normal(size=n)


def real_columns(name: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the columns of a real set that are not constant, and its classes as 0 and 1."""
    X, y = load_real(name)
    y = (np.asarray(y) == np.unique(y)[-1]).astype(np.int64)
    if sp.issparse(X):
        X = sp.csc_matrix(X, dtype=float)
        some = np.flatnonzero(np.diff(X.indptr) >= 3)
        return X[:, np.random.default_rng(0).permutation(some)[:8_000]], y
    X = np.asarray(X, dtype=float)
    return X[:, X.std(axis=0) > 0], y


DESIGNS = (
    Design("independent noise, weak signals", "normal", 20, 6, 0.7),
    Design("independent noise, very weak signals", "normal", 20, 6, 0.5),
    Design("prostate genes", "prostate", 20, 6, 1.2),
    Design("leukemia genes", "leukemia", 20, 6, 1.5),
    Design("dorothea flags, 8,000 columns", "dorothea", 40, 5, 8.0),
    Design("independent noise, no signals", "normal", 0, 1, 0.0),
    Design("prostate genes, no signals", "prostate", 0, 1, 0.0),
)

METHODS: Mapping[str, Callable[[], Any]] = {
    "SAOLA": lambda: SAOLA(FisherZ(alpha=0.01), shadows=WORLDS),
    'SAOLA, order="free"': lambda: SAOLA(FisherZ(alpha=0.01), order="free", shadows=WORLDS),
    "Sieve": lambda: Sieve(shadows=WORLDS),
    "SAOLA, fdr=0.1": lambda: SAOLA("fisher_z", fdr=0.1, shadows=WORLDS),
    "Fast-OSFS": lambda: FastOSFS(FisherZ(alpha=0.01), shadows=WORLDS),
}
#: They keep few false features, so more draws are needed to count them.
FEW_FALSE = ("SAOLA, fdr=0.1", "Fast-OSFS")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "SEEDS": 2,
    "MANY_SEEDS": 2,
    "COLUMNS": 4_000,
    "DESIGNS": DESIGNS[:1] + DESIGNS[2:3],
}


def judge(design: Design, method: str) -> dict[str, Any]:
    """One line of the table: the truth and the estimate, averaged over seeds."""
    kept, truth, estimates = [], [], []
    seeds = MANY_SEEDS if method in FEW_FALSE else SEEDS
    for seed in range(seeds):
        X, y, planted = design.draw(seed)
        found = METHODS[method]().fit(X, y)
        kept.append(len(found.kept_))
        truth.append(int(np.count_nonzero(~planted[found.kept_])))
        estimates.append(found.false_keeps_.estimate)
    errors = np.array(estimates) - np.array(truth)
    mean, ratio = float(np.mean(truth)), "-"
    if mean >= 0.5:
        share = float(np.mean(estimates)) / mean
        apart = np.std(np.array(estimates) - share * np.array(truth), ddof=1)
        ratio = f"{share:.2f} ± {apart / np.sqrt(seeds) / mean:.2f}"
    return {
        "design": design.name,
        "method": method,
        "draws": seeds,
        "kept": float(np.mean(kept)),
        "false": mean,
        "estimate": float(np.mean(estimates)),
        "estimate / truth": ratio,
        "typical error": float(np.sqrt(np.mean(errors**2))),
    }


def cpu_seconds(selector: Any, X: Any, y: Any) -> float:
    """Return the best of three fits, after one that compiles."""
    seconds = []
    for _ in range(4):
        start = time.process_time()
        selector.fit(X, y)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def costs() -> list[dict[str, Any]]:
    """Time the same selection with and without worlds, in seconds of the processor."""
    rows = []
    rng = np.random.default_rng(0)
    dense, classes = rng.normal(size=(500, COLUMNS)), rng.integers(0, 2, 500)
    data = {f"normal, 500 x {COLUMNS:,}": (dense, classes)}
    if (SHARED / "dorothea").is_dir():
        X, y = load_real("dorothea")
        data["dorothea, 800 x 100,000"] = sp.csc_matrix(X, dtype=float), np.asarray(y)
    for name, (X, y) in data.items():
        measure = MutualInformation(alpha=0.01) if sp.issparse(X) else FisherZ(alpha=0.01)
        for method in (SAOLA(measure), Sieve()):
            none, three = (cpu_seconds(method.set_params(shadows=w), X, y) for w in (0, WORLDS))
            rows.append({
                "data": name, "method": type(method).__name__, "CPU seconds without": none,
                "with three worlds": three, "ratio": three / none,
            })  # fmt: skip
    return rows


def main() -> None:
    """Print and save the tables, and write the first into docs/trust.md."""
    report = Report("shadows", __doc__ or "")
    rows = []
    for method in METHODS:
        for design in DESIGNS:
            if design.columns != "normal" and not (SHARED / design.columns).is_dir():
                continue
            rows.append(judge(design, method))
            print(rows[-1], flush=True)
    report.table("false features: truth and estimate", rows)
    seconds = costs()
    report.table("cost", seconds)
    report.save()
    fill("trust.md", "cost of shadow worlds", table(seconds))
    fill("trust.md", "shadow worlds", table(rows))


if __name__ == "__main__":
    main()
