"""Summaries of a decision log: growth of the kept set, counts by reason, histogram of relevance.

Everything is counted from the log with array operations, at a size fit for a plot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tamis.core.verdicts import Verdict

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

Ints = npt.NDArray[np.int64]

#: Points of a curve: more than a screen can show.
POINTS = 500


@dataclass(frozen=True)
class Growth:
    """Counts after `seen` features: the kept set, and who entered and left so far."""

    seen: Ints
    kept: Ints
    entered: Ints
    evicted: Ints
    redundant: Ints
    irrelevant: Ints


def growth(log: DecisionLog, points: int = POINTS) -> Growth | None:
    """Return how the kept set grew, or None if decisions were not taken in order of arrival."""
    events = log.state()
    at, verdicts = events["event_at"], _verdicts_of(log)[events["event_reason"]]
    if np.any(at[1:] < at[:-1]):
        return None
    n = len(log)
    seen = np.unique(np.linspace(0, n, min(points, n) + 1).astype(np.int64))
    upto = np.searchsorted(at, seen, side="left")  # features 0 to seen - 1 have arrived

    def so_far(verdict: Verdict) -> Ints:
        counted = np.concatenate([[0], np.cumsum(verdicts == verdict)])
        return np.asarray(counted[upto], dtype=np.int64)

    entered, evicted = so_far(Verdict.KEPT), so_far(Verdict.EVICTED)
    # Features that the rule never saw have no event: they are counted in the log itself.
    final = log.verdicts == Verdict.IRRELEVANT
    per_part = np.add.reduceat(final, seen[:-1], dtype=np.int64) if n else np.zeros(0, np.int64)
    irrelevant = np.concatenate([[0], np.cumsum(per_part)])[: len(seen)]
    return Growth(seen, entered - evicted, entered, evicted, so_far(Verdict.REDUNDANT), irrelevant)


@dataclass(frozen=True)
class Passage:
    """Number of features by verdict, and by reason if there are several."""

    seen: int
    irrelevant: dict[str, int]
    redundant: dict[str, int]
    entered: int
    evicted: dict[str, int]
    kept: int

    def dropped(self) -> Iterator[tuple[str, str, int]]:
        """Yield verdict, label and count of each reason, the most frequent of a verdict first."""
        for verdict in ("irrelevant", "redundant", "evicted"):
            reasons: dict[str, int] = getattr(self, verdict)
            for key, count in sorted(reasons.items(), key=lambda item: -item[1]):
                reason = key.replace("_", " ")
                alone = len(reasons) == 1 or reason == verdict
                yield verdict, verdict if alone else f"{verdict}: {reason}", count


def passage(log: DecisionLog) -> Passage:
    """Count features by verdict and reason."""
    reason = log.state()["reason"]
    counts = np.bincount(reason, minlength=len(log.reasons))
    by_verdict: dict[Verdict, dict[str, int]] = {verdict: {} for verdict in Verdict}
    for (key, declared), count in zip(log.reasons.items(), counts.tolist(), strict=True):
        if count:
            by_verdict[declared.verdict][key] = count
    kept = sum(by_verdict[Verdict.KEPT].values())
    evicted = by_verdict[Verdict.EVICTED]
    return Passage(
        len(log), by_verdict[Verdict.IRRELEVANT], by_verdict[Verdict.REDUNDANT],
        kept + sum(evicted.values()), evicted, kept,
    )  # fmt: skip


@dataclass(frozen=True)
class Strengths:
    """A histogram of relevance: edges, and counts per verdict between them."""

    edges: npt.NDArray[np.float64]
    counts: dict[str, Ints]


def strengths(log: DecisionLog, bins: int = 40) -> Strengths | None:
    """Return the histogram of relevance over the features; None if all have the same."""
    relevance = log.state()["relevance"]
    finite = np.isfinite(relevance)
    if not finite.any():
        return None
    low, high = float(relevance[finite].min()), float(relevance[finite].max())
    if low == high:
        return None
    edges = _round_edges(low, high, bins)
    verdicts = log.verdicts
    counts = {
        verdict.name.lower(): np.histogram(relevance[finite & (verdicts == verdict)], edges)[0]
        for verdict in Verdict
    }
    return Strengths(edges, counts)


def _round_edges(low: float, high: float, bins: int) -> npt.NDArray[np.float64]:
    """Return about `bins` bins of equal width between round numbers that cover `low` to `high`."""
    least = (high - low) / bins
    power = 10.0 ** np.floor(np.log10(least))
    step = power * next(nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= least)
    edges = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    # The numbers may be so close that none between them is round.
    return edges if np.all(np.diff(edges) > 0) else np.linspace(low, high, bins + 1)


def displaced(log: DecisionLog) -> dict[int, int]:
    """Return the number of features that each feature displaced, for those that displaced any."""
    because = log.state()["because"]
    features, counts = np.unique(because, return_counts=True)
    return dict(zip(features.tolist(), counts.tolist(), strict=True))


def _verdicts_of(log: DecisionLog) -> npt.NDArray[np.uint8]:
    """Return the verdict of each declared reason."""
    return np.array([reason.verdict for reason in log.reasons.values()], dtype=np.uint8)
