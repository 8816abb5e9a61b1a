"""Sieve beside SAOLA on sparse sets, in CPU time: what its pool costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks._data import SHARED, load_real
from benchmarks._harness import Report
from tamis import SAOLA, Sieve

SETS = ("dexter", "basehock", "dorothea", "thrombin", "news20_rebuilt")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": SETS[:4]}


def cpu_seconds(fits: list[Callable[[], Any]], rounds: int = 3) -> list[float]:
    """Return the best CPU seconds of each fit; they alternate."""
    best = [float("inf")] * len(fits)
    for round_ in range(rounds + 1):
        for i, fit in enumerate(fits):
            start = time.process_time()
            fit()
            if round_:
                best[i] = min(best[i], time.process_time() - start)
    return best


def main() -> None:
    """Print the table."""
    report, rows = Report("sieve_cost", __doc__), []
    for name in SETS:
        if not (SHARED / name).is_dir():
            continue
        X, y = load_real(name)
        X = X.tocsc()
        saola, sieve = SAOLA(), Sieve()
        seconds = cpu_seconds([partial(one.fit, X, y) for one in (saola, sieve)])
        rows.append(
            {
                "set": name,
                "columns": X.shape[1],
                "SAOLA ms": 1000 * seconds[0],
                "Sieve ms": 1000 * seconds[1],
                "ratio": seconds[1] / seconds[0],
                "relevant for Sieve": sieve.work_["relevant"],
                "pairs of SAOLA": saola.work_["pair_values"],
                "pairs of Sieve": sieve.work_["pair_values"],
            }
        )
    report.table("SAOLA and Sieve with their defaults", rows)
    report.save()


if __name__ == "__main__":
    main()
