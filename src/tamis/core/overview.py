"""Summaries of a decision log: growth of the kept set, counts by reason, histogram of relevance.

All counts are computed from the log with array operations, at a resolution suited to a plot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import DecisionLog, Mark, Verdict

Ints = npt.NDArray[np.int64]

#: Number of points of a curve: more than a screen can show.
POINTS = 500


@dataclass(frozen=True)
class Growth:
    """Counts after `seen` features: the size of the kept set, and how many entered and left it."""

    seen: Ints
    kept: Ints
    entered: Ints
    evicted: Ints
    redundant: Ints


def growth(log: DecisionLog, points: int = POINTS) -> Growth | None:
    """Return how the kept set grew, or None if decisions were not taken in order of arrival."""
    if not log.is_in_order:
        return None
    n = len(log)
    events = log.since(Mark(n))  # and nothing about features without any
    at, verdicts = events["event_at"], log.reason_verdicts[events["event_reason"]]
    seen = np.unique(np.linspace(0, n, min(points, n) + 1).astype(np.int64))
    upto = np.searchsorted(at, seen, side="left")  # features 0 to seen - 1 have arrived

    def so_far(verdict: Verdict) -> Ints:
        counted = np.concatenate([[0], np.cumsum(verdicts == verdict)])
        return np.asarray(counted[upto], dtype=np.int64)

    # A feature may be decided about again: it counts as redundant once.
    redundant = np.flatnonzero(verdicts == Verdict.REDUNDANT)
    _, first = np.unique(events["event_feature"][redundant], return_index=True)
    entered, evicted = so_far(Verdict.KEPT), so_far(Verdict.EVICTED)
    return Growth(
        seen, entered - evicted, entered, evicted,
        np.searchsorted(np.sort(redundant[first]), upto).astype(np.int64),
    )  # fmt: skip


@dataclass(frozen=True)
class Passage:
    """Number of features that arrived, that were ever kept, and that are kept at the end.

    `dropped` holds verdict, label and count per reason, the most frequent of each verdict first.
    """

    seen: int
    entered: int
    kept: int
    dropped: list[tuple[str, str, int]]


def passage(log: DecisionLog) -> Passage:
    """Count features by verdict, and by reason if there are several."""
    every = zip(log.reasons.items(), log.reason_counts(), strict=True)
    found = [(r.verdict, -n, key.replace("_", " ")) for (key, r), n in every if n]
    dropped = []
    for verdict, count, reason in sorted(found, key=lambda one: one[:2]):
        name = verdict.name.lower()
        alone = reason == name or [v for v, _, _ in found].count(verdict) == 1
        if verdict != Verdict.KEPT:
            dropped.append((name, name if alone else f"{name}: {reason}", -count))
    totals = log.counts()
    return Passage(len(log), totals["kept"] + totals["evicted"], totals["kept"], dropped)


def strengths(
    log: DecisionLog, bins: int = 40
) -> tuple[npt.NDArray[np.float64], dict[str, Ints]] | None:
    """Return a histogram of relevance: edges, and counts per verdict between them.

    Return None if all features have the same relevance.
    """
    relevance = log.state()["relevance"]
    finite = np.isfinite(relevance)
    values = relevance[finite]
    if not len(values) or values.min() == values.max():
        return None
    edges = _round_edges(float(values.min()), float(values.max()), bins)
    verdicts = log.verdicts
    counts = {
        verdict.name.lower(): np.histogram(relevance[finite & (verdicts == verdict)], edges)[0]
        for verdict in Verdict
        if verdict != Verdict.UNEXAMINED  # which have no relevance
    }
    return edges, counts


def _round_edges(low: float, high: float, bins: int) -> npt.NDArray[np.float64]:
    """Return about `bins` bins of equal width between round numbers that cover `low` to `high`."""
    least = (high - low) / bins
    power = 10.0 ** np.floor(np.log10(least))
    step = power * next(nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= least)
    edges = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    # The numbers may be so close that there is no round number between them.
    return edges if np.all(np.diff(edges) > 0) else np.linspace(low, high, bins + 1)


def displaced(log: DecisionLog) -> dict[int, int]:
    """Return the number of features that each feature displaced, for those that displaced any."""
    because = log.since(Mark(len(log)))["because"]
    features, counts = np.unique(because, return_counts=True)
    return dict(zip(features.tolist(), counts.tolist(), strict=True))
