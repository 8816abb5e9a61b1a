"""SAOLA with the papers' own gate, information above 0, where nearly every column is relevant."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from benchmarks._data import SHARED, WORKLOADS, load_real, table_of_codes
from benchmarks._harness import Report, best_of
from tamis import SAOLA
from tamis.measures import MutualInformation

ROUNDS = 3
PAPERS = ("dorothea", "thrombin")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROUNDS": 1, "PAPERS": ()}


def measure(name: str, X: Any, y: Any) -> dict[str, Any]:
    """One line of the table."""
    strict = SAOLA(measure=MutualInformation(threshold=0.0))
    tested = SAOLA(measure=MutualInformation(alpha=0.01))
    seconds, seconds_tested = best_of(ROUNDS, lambda: strict.fit(X, y), lambda: tested.fit(X, y))
    return {
        "data": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "relevant": strict.work_["relevant"],
        "kept": len(strict.kept_),
        "pair values": strict.work_["pair_values"],
        "seconds": seconds,
        "ns per pair": seconds / max(1, strict.work_["pair_values"]) * 1e9,
        "alpha=0.01 s": seconds_tested,
        "alpha=0.01 kept": len(tested.kept_),
    }


def main() -> None:
    report = Report("saola_paper_gate", __doc__)
    rows = []
    for paper in PAPERS:
        name, X, y = WORKLOADS[paper].load()
        rows.append(measure(name, sp.csc_matrix(X), y))
    if (SHARED / "ada").is_dir():
        rows.append(measure("ada", *load_real("ada")))
    else:
        rows.append(measure("generated, like ada", *table_of_codes(4147, 48)))
    report.table("SAOLA(measure=MutualInformation(threshold=0.0))", rows)
    report.save()


if __name__ == "__main__":
    main()
