"""Group-SAOLA against a plain NumPy one, and how its time grows.

The peer implements both stages in a few lines of NumPy, with one bincount per pair of columns. It
must give the same result.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._data import table_of_codes
from benchmarks._harness import Report, best_of
from benchmarks.growth import grow
from tamis import GroupSAOLA, MutualInformation

#: Columns in a group.
GROUP = 100
SHAPES = ((500, 1_000), (2_000, 2_000))
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SHAPES": SHAPES[:1]}


def labels(n_columns: int) -> npt.NDArray[np.int64]:
    """Contiguous groups."""
    return np.arange(n_columns) // GROUP


def plain(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> list[int]:
    """Both stages with mutual information above 0; codes 0, 1, 2, ... as int64."""
    n, most = len(y), int(X.max()) + 1

    def entropy(codes: npt.NDArray[Any]) -> float:
        counts = np.bincount(codes)
        counts = counts[counts > 0]
        return float(math.log2(n) - (counts * np.log2(counts)).sum() / n)

    alone = [entropy(c) for c in X.T]
    relevance = [h + entropy(y) - entropy(c * most + y) for h, c in zip(alone, X.T, strict=True)]

    def sieve(fresh: list[int], kept: list[int], *, grows: bool) -> tuple[list[int], list[int]]:
        """Compare new with kept columns; return those that remain of each."""
        staying: list[int] = []
        for f in fresh:
            for s in list(kept):
                pair = alone[f] + alone[s] - entropy(X[:, f] * most + X[:, s])
                if pair < min(relevance[f], relevance[s]) - 1e-12:
                    continue
                if relevance[s] >= relevance[f] - 1e-12:
                    break
                kept.remove(s)
            else:
                (kept if grows else staying).append(f)
        return staying, kept

    earlier: list[int] = []
    for group in np.unique(labels(X.shape[1])):
        mine = [f for f in np.flatnonzero(labels(X.shape[1]) == group).tolist() if alone[f] > 0]
        _, mine = sieve([f for f in mine if relevance[f] > 1e-12], [], grows=True)
        staying, earlier = sieve(mine, earlier, grows=False)
        earlier = earlier + staying
    return earlier


def against_plain(n_rows: int, n_columns: int) -> dict[str, Any]:
    """One line of the table against the peer."""
    X, y = table_of_codes(n_rows, n_columns)
    codes, classes = X.astype(np.int64), y.astype(np.int64)
    sel, groups = GroupSAOLA(MutualInformation()), labels(n_columns)
    (ours_s,) = best_of(2, lambda: sel.fit(X, y, groups=groups))
    start = time.perf_counter()
    theirs = plain(codes, classes)
    peer_s = time.perf_counter() - start
    return {
        "rows": n_rows,
        "columns": n_columns,
        "groups": len(np.unique(groups)),
        "kept": len(sel.kept_),
        "same answer": sel.kept_.tolist() == sorted(theirs),
        "pair values": sel.work_["pair_values"],
        "tamis s": ours_s,
        "plain s": peer_s,
        "ratio": peer_s / ours_s,
    }


def main() -> None:
    report = Report("group_saola", __doc__)
    report.table(
        "Against plain NumPy, GroupSAOLA(MutualInformation())",
        [against_plain(*shape) for shape in SHAPES],
    )
    report.note(f"Groups of {GROUP} columns, here and below.")
    grow(report, lambda X, y: GroupSAOLA().fit(X, y, groups=labels(X.shape[1])))
    report.save()


if __name__ == "__main__":
    main()
