"""The numbers of the page, from the finished cells: means, differences and their errors.

A difference on one set is the mean over the folds that both methods finished, with the same number
of features: where fewer features than asked for pass the default's test, the baseline gets as few
(`same`). A mean over sets has the standard error of the sets. Accuracies and R^2 are in points,
that is times 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduce.default.cells import OK, ORDERS, Cells
from reproduce.default.methods import SIZES

MODELS = {"linear": "LR", "forest": "RF", "knn": "kNN"}

#: What is scored: accuracy or R^2 is the first number of a cell, balanced accuracy the second.
PLAIN, BALANCED = 0, 1


@dataclass(frozen=True)
class Difference:
    """Ours minus a baseline, over sets."""

    mean: float
    error: float
    wins: int
    losses: int
    worst: str
    least: float
    n: int


class Numbers:
    """Scores of finished cells by set, method, size and model."""

    def __init__(self, cells: Cells) -> None:
        self._scores: dict[tuple[str, str, str], dict[int, dict[str, list[float]]]] = {}
        self._counts: dict[tuple[str, str, str], dict[int, int]] = {}
        self._status: dict[tuple[str, str], dict[str, Any]] = {}
        self.jaccard: dict[tuple[str, str], dict[str, list[float]]] = {}
        self._seconds: dict[tuple[str, str], list[float]] = {}
        for (name, fold, method), record in cells.found.items():
            self._status.setdefault((name, method), record)
            if record["status"] != OK:
                continue
            if fold == ORDERS:
                self.jaccard[name, method] = record["jaccard"]
                continue
            self._seconds.setdefault((name, method), []).append(record["seconds"])
            for size, scores in record["scores"].items():
                key = (name, method, size)
                self._scores.setdefault(key, {})[fold] = scores
                self._counts.setdefault(key, {})[fold] = len(record["kept"][size])

    def status(self, name: str, method: str) -> str:
        """Return why the first cell of a method on a set has no scores; "" if it has."""
        return str(self._status.get((name, method), {}).get("status", "")).replace(OK, "")

    def mean(self, name: str, method: str, size: str, model: str, which: int = PLAIN) -> float:
        """Return the mean over folds, in points; NaN if there is none."""
        folds = self._scores.get((name, method, size), {})
        values = [scores[model][which] for scores in folds.values() if which < len(scores[model])]
        return 100 * float(np.mean(values)) if values else math.nan

    def kept(self, name: str, method: str, size: str) -> float:
        """Return the mean number of features kept; NaN if there is none."""
        counts = self._counts.get((name, method, size), {})
        return float(np.mean(list(counts.values()))) if counts else math.nan

    def on_set(
        self, name: str, ours: tuple[str, str], theirs: tuple[str, str], model: str,
        which: int = PLAIN, same: bool = True,
    ) -> tuple[float, float]:  # fmt: skip
        """Return the mean difference on a set and its standard error over folds."""
        a = self._scores.get((name, *ours), {})
        b = self._same_size(name, theirs) if same else self._scores.get((name, *theirs), {})
        gaps = [
            100 * (a[fold][model][which] - b[fold][model][which])
            for fold in a
            if fold in b and which < len(a[fold][model])
        ]
        if not gaps:
            return math.nan, math.nan
        error = float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.nan
        return float(np.mean(gaps)), error

    def _same_size(self, name: str, theirs: tuple[str, str]) -> dict[int, dict[str, list[float]]]:
        """Return the scores of a baseline with as many features as the default kept, by fold."""
        method, asked = theirs
        counts = self._counts.get((name, "sieve", asked), {})
        sizes = {fold: str(count) for fold, count in counts.items()}
        found = {fold: self._scores.get((name, method, size), {}) for fold, size in sizes.items()}
        return {fold: scores[fold] for fold, scores in found.items() if fold in scores}

    def over_sets(
        self, names: Sequence[str], ours: tuple[str, str], theirs: tuple[str, str],
        models: Sequence[str], which: int = PLAIN, sizes: Sequence[int] | None = None,
        same: bool = True,
    ) -> Difference | None:  # fmt: skip
        """Return the mean difference over sets; models, and sizes if given, are averaged first."""
        gaps: dict[str, float] = {}
        for name in names:
            pairs = (
                [(ours, theirs)]
                if sizes is None
                else [((ours[0], str(k)), (theirs[0], str(k))) for k in sizes]
            )
            values = [self.on_set(name, a, b, m, which, same)[0] for a, b in pairs for m in models]
            values = [v for v in values if not math.isnan(v)]
            if values:
                gaps[name] = float(np.mean(values))
        if not gaps:
            return None
        values = list(gaps.values())
        error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(gaps) > 1 else 0.0
        worst = min(gaps, key=lambda name: gaps[name])
        wins, losses = sum(v > 0.5 for v in values), sum(v < -0.5 for v in values)
        return Difference(
            float(np.mean(values)), error, wins, losses, worst, gaps[worst], len(values)
        )

    def far_behind(
        self, names: Sequence[str], baselines: Sequence[str], points: float
    ) -> list[tuple[str, str, int, str, float, float]]:
        """Return every set, baseline, size and model where ours is behind by more than that."""
        found = []
        for name in names:
            for baseline in baselines:
                for size in SIZES:
                    for model in MODELS:
                        gap, error = self.on_set(
                            name, ("sieve", str(size)), (baseline, str(size)), model
                        )
                        if gap < -points:
                            found.append((name, baseline, size, model, gap, error))
        return sorted(found, key=lambda row: row[4])
