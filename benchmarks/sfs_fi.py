"""SFS-FI against a plain NumPy one, on dorothea, and how its time grows.

The peer is the rule in a few lines of NumPy, with one bincount of the three codes per pair of new
and kept columns. It must give the same result.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from benchmarks._data import WORKLOADS, table_of_codes
from benchmarks._harness import Report, best_of
from benchmarks.growth import grow
from tamis import SFSFI, MutualInformation

GAMMA = 0.01
ALPHA = 0.01
#: Columns of dorothea for the rule without correction, which keeps half of them.
SOME = 20_000
CORRECTIONS = (None, "miller-madow", "significant")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SOME": 2_000}


def plain(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> list[int]:
    """Apply the rule with MutualInformation(alpha=0.01), uncorrected, to int64 codes from 0."""
    n, k, most = len(y), int(y.max()) + 1, int(X.max()) + 1
    kept: list[int] = []

    def entropy(codes: npt.NDArray[Any]) -> float:
        counts = np.bincount(codes)
        counts = counts[counts > 0]
        return float(math.log2(n) - (counts * np.log2(counts)).sum() / n)

    of_class = entropy(y)
    alone = [entropy(c) for c in X.T]
    with_class = [entropy(c * k + y) for c in X.T]
    relevance = [h + of_class - j for h, j in zip(alone, with_class, strict=True)]
    levels = [len(np.unique(c)) for c in X.T]
    for f in range(X.shape[1]):
        if levels[f] == 1:
            continue
        gain, pairs = 0.0, []
        for s in kept:
            both = X[:, f] * most + X[:, s]
            joint = entropy(both)
            gain += joint - entropy(both * k + y) - of_class
            gain += with_class[s] - alone[s] + with_class[f] - alone[f]
            pairs.append(alone[f] + alone[s] - joint)
        if kept and gain <= 1e-12:
            continue
        fell, gone = False, []
        for s, pair in zip(kept, pairs, strict=True) if gain < GAMMA else ():
            df = (levels[f] - 1) * (levels[s] - 1)
            if pair <= chdtri(df, ALPHA) / (2 * n * math.log(2)):
                continue
            if relevance[s] >= relevance[f] - 1e-12 and pair >= relevance[f] - 1e-12:
                fell = True
                break
            if relevance[f] > relevance[s] and pair >= relevance[s] - 1e-12:
                gone.append(s)
        kept = [s for s in kept if s not in gone] + ([] if fell else [f])
    return kept


def against_plain(name: str, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> dict[str, Any]:
    """One line of the table against the peer."""
    codes, classes = X.astype(np.int64), np.unique(y, return_inverse=True)[1]
    sel, theirs = SFSFI(MutualInformation(alpha=ALPHA), gamma=GAMMA), []
    sel.fit(X[:, :20], y)  # compiles
    (ours_s,) = best_of(2, lambda: sel.fit(X, y))
    start = time.perf_counter()
    theirs = plain(codes, classes)
    peer_s = time.perf_counter() - start
    pairs = sel.work_["pair_values"]
    return {
        "data": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "kept": len(sel.kept_),
        "same answer": sel.kept_.tolist() == theirs,
        "terms": pairs,
        "tamis s": ours_s,
        "ns per term": ours_s / pairs * 1e9,
        "plain s": peer_s,
        "ratio": peer_s / ours_s,
    }


def on_dorothea(X: Any, y: npt.NDArray[Any], correction: str | None) -> dict[str, Any]:
    """One line of the table of dorothea."""
    some = X[:, :SOME] if correction is None else X
    sel = SFSFI(MutualInformation(alpha=ALPHA), correction=correction)
    (seconds,) = best_of(1, lambda: sel.fit(some, y))
    return {
        "correction": str(correction),
        "columns": some.shape[1],
        "seconds": seconds,
        "relevant": sel.work_["relevant"],
        "kept": len(sel.kept_),
        "terms": sel.work_["pair_values"],
    }


def main() -> None:
    report = Report("sfs_fi", __doc__)
    name, X, y = WORKLOADS["dorothea"].load()
    X = X.tocsc()
    X.sort_indices()
    codes, classes = table_of_codes(1_000, 250)
    report.table(
        "Against plain NumPy, SFSFI(MutualInformation(alpha=0.01))",
        [
            against_plain("codes of up to 12 levels", codes, classes),
            against_plain(f"{name}, first columns", X[:, :1000].toarray(), y),
        ],
    )
    report.table(f"On {name}", [on_dorothea(X, y, correction) for correction in CORRECTIONS])
    report.note(
        f"Without a correction only the first {SOME:,} columns: half of the features that are "
        "irrelevant alone have a gain above 0 by chance and are kept; time grows quadratically."
    )
    grow(report, lambda X, y: SFSFI(correction="significant").fit(X, y))
    report.save()


if __name__ == "__main__":
    main()
