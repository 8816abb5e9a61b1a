"""Stability of the selections over the folds.

References
----------
S. Nogueira, K. Sechidis, G. Brown. On the Stability of Feature Selection Algorithms. JMLR 18, 2018.
L. I. Kuncheva. A Stability Index for Feature Selection. IASTED AIA, 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import stats

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stability:
    """Nogueira's measure with its confidence interval, and Kuncheva's index.

    1 means the same set every time, 0 is the stability of random sets. NaN if undefined: fewer than
    two selections, or all of them empty or holding every feature.
    """

    nogueira: float
    low: float
    high: float
    kuncheva: float
    selections: int


def stability(kept: Sequence[npt.ArrayLike], n_features: int, level: float = 0.95) -> Stability:
    """Return the stability of some selections, each a list of feature numbers.

    Only features that were selected at least once are counted: the others contribute nothing.

    >>> round(stability([[0, 1], [0, 1], [0, 2]], 10).nogueira, 3)
    0.583
    """
    sets = [np.unique(np.asarray(k, dtype=np.int64)) for k in kept]
    m, d = len(sets), n_features
    sizes = np.array([len(s) for s in sets], dtype=np.float64)
    nan = math.nan
    if m < 2 or d == 0 or sizes.sum() in (0.0, float(m * d)):
        return Stability(nan, nan, nan, nan, m)
    _, codes = np.unique(np.concatenate(sets), return_inverse=True)
    share = np.bincount(codes) / m  # p_f of every feature selected at least once
    mean = sizes.mean() / d
    scale = mean * (1 - mean)
    value = float(1 - m / (m - 1) * np.sum(share * (1 - share)) / d / scale)
    # phi_i of the paper's Theorem 7: each selection's part in the estimate.
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    overlap = np.add.reduceat(np.append(share[codes], 0.0), ends[:-1]) * (sizes > 0)
    part = (
        overlap / d
        - sizes * sizes.mean() / d**2
        + value / 2 * (2 * sizes * sizes.mean() / d**2 - sizes / d - mean + 1)
    ) / scale
    variance = 4 / m**2 * float(np.sum((part - part.mean()) ** 2))
    half = float(stats.norm.ppf((1 + level) / 2)) * math.sqrt(variance)
    return Stability(value, value - half, value + half, kuncheva(sets, d), m)


def kuncheva(sets: Sequence[Ints], n_features: int) -> float:
    """Return the mean over pairs of (r - e) / (min(k_i, k_j) - e).

    r features are shared, and e = k_i k_j / d are expected by chance. For sets of one size this is
    Kuncheva's index. For sets of different sizes, which hers does not cover, the largest possible
    overlap replaces the size. Pairs for which it is undefined (an empty set, or one that holds
    every feature) are left out.
    """
    values = []
    for a, b in combinations(sets, 2):
        by_chance = len(a) * len(b) / n_features
        most = min(len(a), len(b)) - by_chance
        if most > 0:
            shared = len(np.intersect1d(a, b, assume_unique=True))
            values.append((shared - by_chance) / most)
    return float(np.mean(values)) if values else math.nan
