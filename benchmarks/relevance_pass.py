"""The relevance pass alone, against numpy summing the same arrays and against scikit-learn.

Reading memory is the limit: summing the three arrays of the matrix with numpy reads the same memory
and does almost nothing else. Our pass should cost a small multiple of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_classif

from benchmarks._data import WORKLOADS, megabytes, zipf_matrix
from benchmarks._harness import Report, best_of
from tamis.core.target import Target
from tamis.kernels.threads import thread_count
from tamis.measures import FisherZ, MutualInformation
from tamis.measures.measure import Measure, Strength
from tamis.sources.arrays.in_memory import MemorySource

ROUNDS = 5
PAPERS = tuple(WORKLOADS)
COLUMNS = 1_000_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"PAPERS": ("news20", "dorothea", "thrombin"), "COLUMNS": 100_000}
#: Target: at most this many times numpy's sums, with all cores idle.
TARGET = 5


def relevance_pass(measure: Measure, X: Any, y: Any) -> Callable[[], None]:
    """Return the pass as the engine makes it: block by block, into reused memory."""
    target = Target.of(y)
    room = Strength.room(max(block.width for block in MemorySource(X).columns()))

    def job() -> None:
        for block in MemorySource(X).columns():
            measure.relevance(block, target, out=room)

    return job


def against_sums(paper: str) -> dict[str, Any]:
    """One line of the table against numpy."""
    name, X, y = WORKLOADS[paper].load()
    X = sp.csc_matrix(X)
    X.sort_indices()
    sums, information, correlation = best_of(
        ROUNDS,
        lambda: (X.data.sum(), X.indices.sum(), X.indptr.sum()),
        relevance_pass(MutualInformation(alpha=0.01), X, y),
        relevance_pass(FisherZ(), X, y),
    )
    size = megabytes(X)
    return {
        "data": name,
        "columns": X.shape[1],
        "nonzeros": int(X.nnz),
        "MB": size,
        "numpy sums s": sums,
        "MI s": information,
        "MI MB/s": size / information,
        "MI ratio": information / sums,
        "FisherZ s": correlation,
        "FisherZ ratio": correlation / sums,
        f"target {TARGET}": "met" if max(information, correlation) <= TARGET * sums else "MISSED",
    }


def against_sklearn() -> list[dict[str, Any]]:
    """Return the table against scikit-learn, which gets its faster layout."""
    rows, y = zipf_matrix(5_000, COLUMNS, 1_500)
    rows = rows.astype(np.float64)
    columns = rows.tocsc()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn names every constant column
        information, correlation, f_rows, f_columns, chi2_rows, chi2_columns = best_of(
            3,
            relevance_pass(MutualInformation(alpha=0.01), columns, y),
            relevance_pass(FisherZ(), columns, y),
            lambda: f_classif(rows, y),
            lambda: f_classif(columns, y),
            lambda: chi2(rows, y),
            lambda: chi2(columns, y),
        )
    times = {
        "sklearn f_classif": min(f_rows, f_columns),
        "sklearn chi2": min(chi2_rows, chi2_columns),
        "tamis MutualInformation": information,
        "tamis FisherZ": correlation,
    }
    return [
        {
            "scores of all columns": name,
            "seconds": seconds,
            "MI is faster by": seconds / information,
            "FisherZ is faster by": seconds / correlation,
        }
        for name, seconds in times.items()
    ]


def main() -> None:
    report = Report("relevance_pass", __doc__)
    report.note(
        f"{thread_count()} threads; the target is for idle cores; a busy one costs up to "
        "twice the time: check the load"
    )
    report.table("Against numpy's sums", [against_sums(paper) for paper in PAPERS])
    report.table(f"Against scikit-learn, 5,000 x {COLUMNS:,}", against_sklearn())
    report.save()


if __name__ == "__main__":
    main()
