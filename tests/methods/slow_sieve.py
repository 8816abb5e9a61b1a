"""Sieve as its documentation states it, in plain Python: slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

#: Numbers that differ by less are tied.
NEAR = 1e-12

#: A newcomer that says less than this many times the lowest worth in a full pool is too weak.
WEAK = 1.5


@dataclass
class SlowSieve:
    """The rules 2 and 3, given R, D and c of all features.

    `c[f, y]` is what f says about the target once y is known.
    """

    R: npt.NDArray[np.float64]
    D: npt.NDArray[np.float64]
    c: npt.NDArray[np.float64]
    n_features: int
    capacity: int
    gamma: float | None
    pool: list[int] = field(default_factory=list)

    def stronger(self, a: int, b: int) -> bool:
        """Whether a is more relevant than b; of equally relevant features the older is."""
        return (self.R[a], -a) > (self.R[b], -b)

    def worth(self, f: int, among: Sequence[int]) -> float:
        """Half CMIM, half JMI."""
        alone = self.R[f] ** 2
        least = min([alone, *(self.c[f, y] for y in among if self.stronger(y, f))])
        mean = np.mean([alone if y == f else self.c[f, y] for y in among])
        return 0.5 * least + 0.5 * float(mean)

    def weakest(self, among: Sequence[int]) -> int:
        """The feature of least worth; of equal ones the least relevant."""
        worths = {f: self.worth(f, among) for f in among}
        near = [f for f in among if worths[f] <= min(worths.values()) + NEAR]
        for f in near:
            if all(f == g or self.stronger(g, f) for g in near):
                return f
        raise AssertionError("some feature is the weakest")

    def redundant(self, weak: int, strong: int) -> bool:
        """Whether the stronger of two features makes the weaker one redundant."""
        if self.D[weak, strong] >= 0.98 - NEAR:
            return True
        if self.gamma is None:
            return False
        return bool(self.D[weak, strong] * self.R[strong] ** self.gamma >= self.R[weak] - NEAR)

    def is_too_weak(self, f: int) -> bool:
        """Whether a newcomer is dropped without being compared."""
        if len(self.pool) < self.capacity:
            return False
        least = min(self.worth(y, self.pool) for y in self.pool)
        return bool(self.R[f] ** 2 < WEAK * least - NEAR)

    def arrive(self, f: int) -> list[int]:
        """Take a feature; return what is kept."""
        if self.is_too_weak(f):
            return self.kept(self.n_features)
        if not any(self.R[y] >= self.R[f] - NEAR and self.redundant(f, y) for y in self.pool):
            self.pool = [y for y in self.pool if not self.redundant(y, f)]
            self.pool.append(f)
            if len(self.pool) > self.capacity:
                self.pool.remove(self.weakest(self.pool))
        return self.kept(self.n_features)

    def kept(self, size: int) -> list[int]:
        """Remove the weakest of the pool, again and again."""
        left = list(self.pool)
        while len(left) > size:
            left.remove(self.weakest(left))
        return left

    def ranking(self) -> list[int]:
        """The pool, best first."""
        left, out = list(self.pool), []
        while left:
            out.append(self.weakest(left))
            left.remove(out[-1])
        return out[::-1]
