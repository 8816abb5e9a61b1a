"""Alpha-investing against a fit from scratch for each feature, and how its time grows.

The peer is the rule of the authors' program: numpy's least squares on all kept columns and the new
one, once per feature. It must give the same result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._harness import Report, best_of
from benchmarks.growth import grow
from tamis import AlphaInvesting

SHAPES = ((500, 500, 5), (500, 2_000, 20), (2_000, 1_000, 40))
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SHAPES": SHAPES[:2]}


def from_scratch(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> list[int]:
    """Select by the program's variant, with one full fit per feature."""
    kept, wealth = [0], 0.5

    def sse(columns: list[int]) -> float:
        fitted = X[:, columns] @ np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
        return float(np.sum((y - fitted) ** 2))

    before = sse(kept)
    for j in range(1, X.shape[1]):
        bet = wealth / (2 * (j + 1))
        after = sse([*kept, j])
        wealth -= bet
        if math.exp(-(before - after) / (2 * before / len(y))) < bet:
            kept.append(j)
            wealth += 0.5
            before = after
    return kept


def against_scratch(n_rows: int, n_columns: int, informative: int) -> dict[str, Any]:
    """One line of the table against the peer."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(n_rows, n_columns)))
    X[:, 0] = 1.0
    picks = rng.choice(np.arange(1, n_columns), informative, replace=False)
    y = X[:, picks] @ rng.normal(size=informative) + rng.normal(size=n_rows)
    sel, theirs = AlphaInvesting(variant="program"), []
    ours_s, peer_s = best_of(1, lambda: sel.fit(X, y), lambda: theirs.append(from_scratch(X, y)))
    return {
        "rows": n_rows,
        "columns": n_columns,
        "kept": len(sel.kept_),
        "same answer": sel.kept_.tolist() == theirs[-1],
        "tamis s": ours_s,
        "from scratch s": peer_s,
        "ratio": peer_s / ours_s,
    }


def main() -> None:
    report = Report("alpha_investing", __doc__)
    report.table("Against a fit from scratch", [against_scratch(*shape) for shape in SHAPES])
    grow(report, lambda X, y: AlphaInvesting().fit(X, y), counted=("p_values",))
    report.save()


if __name__ == "__main__":
    main()
