"""Third-party selectors, some of which misbehave."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, f_classif


class BestBy(SelectorMixin, BaseEstimator):
    """The k best columns by the F test; plain scikit-learn, nothing of tamis."""

    def __init__(self, k=5):
        self.k = k

    def fit(self, X, y):
        scores = np.nan_to_num(f_classif(X, y)[0])
        self.mask_ = np.zeros(X.shape[1], dtype=bool)
        self.mask_[np.argsort(-scores, kind="stable")[: self.k]] = True
        return self

    def _get_support_mask(self):
        return self.mask_


class Spy(BestBy):
    """Records the rows it was given: column 0 holds their numbers."""

    def __init__(self, folder="", k=2):
        self.folder = folder
        self.k = k

    def fit(self, X, y):
        if len(y) > 40:  # not the few rows of the warm-up
            name = f"{os.getpid()}-{time.monotonic_ns()}.npy"
            np.save(Path(self.folder) / name, np.column_stack([X[:, 0], y]))
        return super().fit(X, y)


class Slow(BestBy):
    """Is slow."""

    def __init__(self, seconds=0.0, k=3):
        self.seconds = seconds
        self.k = k

    def fit(self, X, y):
        if len(y) > 40:
            time.sleep(self.seconds)
        return super().fit(X, y)


class Busy(BestBy):
    """Works without end on more than a few rows."""

    def fit(self, X, y):
        while len(y) > 40:
            pass
        return super().fit(X, y)


class Counted(Slow):
    """Writes a file for every finished selection."""

    def __init__(self, folder="", seconds=0.0, k=3):
        self.folder = folder
        self.seconds = seconds
        self.k = k

    def fit(self, X, y):
        super().fit(X, y)
        if len(y) > 40:
            (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        return self


class Hungry(BestBy):
    """Fills memory, and holds it long enough to be noticed."""

    def fit(self, X, y):
        if len(y) > 40:
            held = [np.ones(5_000_000) for _ in range(30)]  # 1.2 GB
            time.sleep(3600.0 * held[0][0])
        return super().fit(X, y)


class Broken(BestBy):
    """Raises, prints to standard output first, or ends the process."""

    def __init__(self, how="raise", k=3):
        self.how = how
        self.k = k

    def fit(self, X, y):
        print("noise on standard output")
        if self.how == "raise":
            raise ValueError("no luck\nand a second line")
        if self.how == "die":
            os._exit(3)
        return super().fit(X, y)


class Drawing(BestBy):
    """Random columns, by a seed."""

    def __init__(self, k=3, random_state=None):
        self.k = k
        self.random_state = random_state

    def fit(self, X, y):
        self.mask_ = np.zeros(X.shape[1], dtype=bool)
        rng = np.random.default_rng(self.random_state)
        self.mask_[rng.choice(X.shape[1], self.k, replace=False)] = True
        return self
