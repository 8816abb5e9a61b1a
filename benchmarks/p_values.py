"""Are p-values right? How often they are small on permuted labels, and what they cost.

The ratio is how often p <= level occurs if labels are permuted, divided by the level: 1 is right,
above 1 is invalid, below 1 is safe. Every set is tested with its measure's own p-values and with
the test of the papers (`statistic="z"` or `"g2"`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betainc, chdtrc, ndtr
from scipy.stats import hypergeom

from benchmarks._data import SHARED, load_real
from benchmarks._harness import Report
from tamis import SAOLA, FisherZ, MutualInformation
from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.target import Target
from tamis.kernels._jit import jit
from tamis.kernels.exact_tests import fisher
from tamis.kernels.threads import threads
from tamis.measures.measure import Measure
from tamis.measures.p_values import log_factorials
from tamis.measures.pairwise_deletion import deleting
from tamis.sources.arrays.in_memory import MemorySource

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

#: Set, measure, permutations.
SETS: tuple[tuple[str, Measure, int], ...] = (
    ("dorothea", MutualInformation(), 100),
    ("dorothea", FisherZ(), 100),
    ("thrombin", MutualInformation(), 60),
    ("thrombin", FisherZ(), 60),
    ("news20_rebuilt", MutualInformation(), 10),
    ("dexter", FisherZ(), 300),
    ("dexter", MutualInformation(), 300),
    ("tick_reuters", FisherZ(), 300),
    ("rcv1_vw_sample", FisherZ(), 200),
    ("ohsumed_23", MutualInformation(), 100),
    ("ohsumed_23", FisherZ(), 100),
    ("basehock", MutualInformation(), 200),
    ("arcene", FisherZ(), 300),
    ("leukemia", FisherZ(), 2_000),
    ("prostate", FisherZ(), 2_000),
    ("lymphoma", FisherZ(), 10_000),
    ("glioma", FisherZ(), 10_000),
    ("isolet", FisherZ(), 300),
)

#: The same with gaps: in 2,000 columns a fifth of the values is missing, and left out.
GAPPED: tuple[tuple[str, Measure, int], ...] = (
    ("dorothea", MutualInformation(alpha=0.01), 40),
    ("dorothea", FisherZ(), 40),
    ("tick_reuters", FisherZ(), 30),
    ("ohsumed_23", MutualInformation(alpha=0.01), 30),
    ("ohsumed_23", FisherZ(), 30),
    ("leukemia", FisherZ(), 200),
    ("glioma", FisherZ(), 200),
)

#: The wide sparse sets whose speed is measured.
WIDE = ("dorothea", "thrombin", "news20_rebuilt", "phish_url")
#: Rows of the tables that are enumerated.
MOST = 300
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "MOST": 60,
    "WIDE": ("dorothea",),
    "SETS": (("leukemia", FisherZ(), 20), ("ohsumed_23", MutualInformation(), 2)),
    "GAPPED": (("leukemia", FisherZ(), 5),),
}


def _set(name: str) -> tuple[Any, Any]:
    """Return the columns of a set, sparse as compressed columns, and its classes."""
    X, y = load_real(name)
    if sp.issparse(X):
        X = sp.csc_matrix(X).astype(np.float64)
        X.sort_indices()
        return X, y
    return np.asfortranarray(X, dtype=np.float64), y


def paper_p(measure: Measure, block: ColumnBlock, target: Target) -> Any:
    """Return the p-values of the papers' tests: z, F, or G-squared with the chi-square law."""
    n, k = target.n_rows, target.n_classes
    if isinstance(measure, FisherZ):
        r = FisherZ(statistic="z").relevance(block, target)
        if k == 2:
            p = 2 * ndtr(-math.sqrt(n - 3) * np.arctanh(np.minimum(r.value, 1 - 1e-16)))
        else:
            p = betainc((n - k) / 2, (k - 1) / 2, 1 - r.value**2)
    else:
        r = MutualInformation(alpha=0.5, statistic="g2").relevance(block, target)
        # The cutoff of p = 1/2 tells the degrees of freedom.
        half = r.cutoff * 2 * n * math.log(2)
        df = np.round(np.interp(half, _MEDIANS, np.arange(1, len(_MEDIANS) + 1)))
        p = chdtrc(np.maximum(df, 1), r.value * 2 * n * math.log(2))
    return np.where(r.constant, 1.0, p)


def _medians() -> Any:
    from scipy.special import chdtri

    return chdtri(np.arange(1, 60_000), 0.5)


_MEDIANS = _medians()


def ratios(name: str, measure: Measure, permutations: int) -> list[dict[str, Any]]:
    """Return the ratios of a set, by valid p-values and by the papers' test.

    Correlated columns are small together, so the error is that of the permutations, and sets with
    few rows get many of them.
    """
    X, y = _set(name)
    counts = np.zeros((permutations, 2, len(LEVELS)))
    tests, rng = 0, np.random.default_rng(0)
    for found in counts:
        target = Target.of(rng.permutation(y), "classification")
        for block in MemorySource(X).columns():
            tested = measure.tested(block, target, LEVELS[0])
            tests += int(np.count_nonzero(~tested.constant))
            paper = paper_p(measure, block, target)
            for i, p in enumerate((tested.p, paper)):
                found[i] += [np.count_nonzero(p <= level) for level in LEVELS]
    about = f"{type(measure).__name__}, {X.shape[0]} x {X.shape[1]}"
    return [
        {"set": name, "measure": about, "p-values": kind}
        | {f"{level:g}": _ratio(counts[:, i, at], tests * level) for at, level in enumerate(LEVELS)}
        for i, kind in enumerate(("valid", "of the papers"))
    ]


def ratios_with_gaps(name: str, measure: Measure, permutations: int) -> list[dict[str, Any]]:
    """Return the ratios of pairwise deletion, by valid p-values and by the papers' test."""
    X, y = _set(name)
    rng, some = np.random.default_rng(0), np.arange(X.shape[1])
    if sp.issparse(X):
        some = np.flatnonzero(np.diff(X.indptr) >= 5)
    X = X[:, rng.permutation(some)[:2_000]]
    X = np.asfortranarray(X.toarray() if sp.issparse(X) else X)
    X[rng.random(X.shape) < 0.2] = GAP
    counts = np.zeros((permutations, 2, len(LEVELS)))
    block, tests = ColumnBlock.of(X).without_zeros(), 0
    papers = [
        deleting(replace(measure.with_paper_statistic(), alpha=level), GAP) for level in LEVELS
    ]
    for found in counts:
        target = Target.of(rng.permutation(y), "classification")
        tested = deleting(measure, GAP).tested(block, target)
        tests += int(np.count_nonzero(~tested.constant))
        found[0] = [np.count_nonzero(tested.p <= level) for level in LEVELS]
        found[1] = [np.count_nonzero(one.relevance(block, target).dependent) for one in papers]
    about = f"{type(measure).__name__}, {X.shape[0]} x {X.shape[1]}"
    return [
        {"set": f"{name}, with gaps", "measure": about, "p-values": kind}
        | {f"{level:g}": _ratio(counts[:, i, at], tests * level) for at, level in enumerate(LEVELS)}
        for i, kind in enumerate(("valid", "of the papers"))
    ]


@jit
def _worst_of(n: int, logs: Any) -> tuple[float, int]:
    """Return the largest P(p <= level) / level of Fisher's test over every n1 and m, and tables."""
    worst, tables = 0.0, 0
    for n1 in range(1, n // 2 + 1):
        for m in range(1, n // 2 + 1):
            size = min(m, n1) + 1  # n1 and m are at most n / 2: the count may be 0
            p, mass = np.empty(size), np.empty(size)
            for a in range(size):
                p[a] = fisher(logs, n, n1, m, a, math.inf)
                mass[a] = math.exp(
                    logs[n1] - logs[a] - logs[n1 - a] + logs[n - n1] - logs[m - a]
                    - logs[n - n1 - m + a] - logs[n] + logs[m] + logs[n - m]
                )  # fmt: skip
            order, reached = np.argsort(p), 0.0
            for i in range(size):
                at = p[order[i]]
                reached += mass[order[i]]
                if i + 1 == size or p[order[i + 1]] - at > 1e-12 * p[order[i + 1]]:
                    worst = max(worst, reached / at)
            tables += size
    return worst, tables


def _ratio(counts: Any, expected: float) -> str:
    """Return counts of permutations over what is expected of all, the error, and their sum."""
    error = counts.std() * math.sqrt(len(counts)) / expected
    return f"{counts.sum() / expected:.2g} \u00b1 {error:.1g} ({counts.sum():.0f})"


def enumerated(most: int) -> dict[str, Any]:
    """Return the largest P(p <= level) / level of Fisher's test over every n, n1 and m.

    The law of the counts is checked against SciPy's for up to 60 rows.
    """
    worst, tables = 0.0, 0
    for n in range(2, most + 1):
        logs = log_factorials(n)
        largest, some = _worst_of(n, logs)
        worst, tables = max(worst, largest), tables + some
        if n <= 60:
            for n1, m in product(range(1, n // 2 + 1), range(1, n // 2 + 1)):
                a = np.arange(min(m, n1) + 1)
                p = np.array([fisher(logs, n, n1, m, i, math.inf) for i in a])
                order = np.argsort(p)
                reached = np.cumsum(hypergeom.pmf(a, n, n1, m)[order])
                last = np.append(np.diff(p[order]) > 1e-12 * p[order][1:], True)
                worst = max(worst, float((reached / p[order])[last].max()))
    return {
        "rows": f"every n, 2 to {most}",
        "tables": tables,
        "largest P(p <= level) / level": worst,
    }


def _cpu(job: Callable[[], object], rounds: int = 4) -> float:
    """Return the best CPU seconds of a job, after a first run that compiles."""
    job()
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return min(seconds)


def costs(name: str) -> dict[str, Any]:
    """Return nanoseconds per column of the tests, beyond those of the strengths, on one core."""
    X, y = _set(name)
    target, blocks = Target.of(y), list(MemorySource(X).columns())

    def passed(measure: Measure) -> Callable[[], None]:
        return lambda: [measure.relevance(block, target) for block in blocks] and None

    def tested(bound: float) -> Callable[[], None]:
        return lambda: [MutualInformation().tested(b, target, bound) for b in blocks] and None

    per_column = 1e9 / X.shape[1]
    with threads(1):
        plain = _cpu(passed(MutualInformation())) * per_column
        by_g2 = _cpu(passed(MutualInformation(alpha=0.01, statistic="g2"))) * per_column
        exact = _cpu(passed(MutualInformation(alpha=0.01))) * per_column
        screened = _cpu(tested(1e-6)) * per_column
        whole = _cpu(tested(1.0)) * per_column
    return {
        "set": name,
        "columns": X.shape[1],
        "strengths ns": plain,
        "gate at 1 %, more ns": exact - by_g2,
        "screen at 1e-6, more ns": screened - plain,
        "all p-values, more ns": whole - plain,
    }


def saola(name: str) -> dict[str, Any]:
    """Return CPU seconds of SAOLA by valid p-values and by the papers' test."""
    X, y = _set(name)
    row: dict[str, Any] = {"set": name}
    for kind in ("g2", "exact"):
        measure = MutualInformation(alpha=0.01, statistic=kind)
        with threads(1):
            row[f"{kind} s"] = _cpu(lambda m=measure: SAOLA(m).fit(X, y), 2)
        row[f"{kind} keeps"] = len(SAOLA(measure).fit(X, y).kept_)
    row["ratio"] = row["exact s"] / row["g2 s"]
    return row


def main() -> None:
    report = Report("p_values", __doc__)
    there = [s for s in SETS if (SHARED / s[0]).is_dir()]
    report.table("By enumeration", [enumerated(MOST)])
    wide = [name for name in WIDE if (SHARED / name).is_dir()]
    report.table("Cost per column, one core, MutualInformation", [costs(n) for n in wide])
    report.table("SAOLA, one core", [saola(n) for n in wide])
    rows = [row for found in there for row in ratios(*found)]
    report.table("Permuted labels: ratios, and counts in brackets", rows)
    gapped = [row for s in GAPPED if (SHARED / s[0]).is_dir() for row in ratios_with_gaps(*s)]
    report.table("Permuted labels with missing values left out", gapped)
    report.save()


if __name__ == "__main__":
    main()
