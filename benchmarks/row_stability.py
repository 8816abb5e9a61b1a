"""Stability over halves of the rows: single features, and families of stand-ins.

Each selection is repeated on 25 pairs of halves of the rows. Nogueira's index is 1 if all halves
keep the same set, and 0 if they agree as random sets do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._data import SHARED, load_real
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from tamis import stability

SETS = ("colon", "prostate", "leukemia", "basehock")
METHODS = {"SAOLA": "saola", "Fast-OSFS": "fast-osfs", "Sieve": "sieve"}
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": ("colon",)}


def judge(name: str, method: str) -> dict[str, Any]:
    """One line of the table."""
    X, y = load_real(name)
    X = X.astype(float) if hasattr(X, "tocsc") else np.asarray(X, dtype=float)
    found = stability(X, METHODS[method], y)
    single, families = found.features, found.families
    return {
        "set": name,
        "method": method,
        "kept": len(found.votes),
        "index, single features": f"{single.nogueira:.2f} ({single.low:.2f} to {single.high:.2f})",
        "index, families": f"{families.nogueira:.2f} ({families.low:.2f} to {families.high:.2f})",
        "kept by 9 halves of 10": sum(one.own_votes >= 0.9 for one in found.votes),
        "with stand-ins": sum(one.votes >= 0.9 for one in found.votes),
    }


def main() -> None:
    """Print and save the table, and write it into docs/trust.md."""
    report = Report("row_stability", __doc__ or "")
    there = [name for name in SETS if (SHARED / name).is_dir()]
    rows = [judge(name, method) for name in there for method in METHODS]
    report.table("halves of the rows", rows)
    report.save()
    fill("trust.md", "halves of the rows", table(rows))


if __name__ == "__main__":
    main()
