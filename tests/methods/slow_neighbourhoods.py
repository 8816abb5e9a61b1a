"""Slow references for neighbourhood dependency and its two selectors, without rounding."""

from __future__ import annotations

import hashlib
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np


def root(square: Fraction) -> Decimal:
    return (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()


def squared_distances(X: np.ndarray) -> list[list[Fraction]]:
    """Exact, with every number as it is written: 0.1 is one tenth."""
    n = len(X)
    total = [[Fraction(0)] * n for _ in range(n)]
    for column in X.T.tolist():
        x = [Fraction(repr(v)) for v in column]
        mean = sum(x) / n
        variance = sum((v - mean) ** 2 for v in x) / (n - 1)
        for i in range(n):
            for j in range(n):
                total[i][j] += (x[i] - x[j]) ** 2 / variance
    return total


def neighbours(squares: list[Fraction], i: int, rule: str) -> list[int]:
    """The neighbours of row i: all other rows by distance, then by number, up to the end."""
    n = len(squares)
    rows = sorted((j for j in range(n) if j != i), key=lambda j: (squares[j], j))
    s = [squares[j] for j in rows]
    with localcontext() as context:
        context.prec = 60
        d = [root(v) for v in s]
        if n > 2:
            widest = Decimal("1.5") * (d[-1] - d[0]) / (n - 2)
        k = 1
        while k < n - 1:
            # d_{k+1} is s[k]; equal up to 40 digits is equal
            if rule == "gap":
                if not d[k] - d[k - 1] < widest - Decimal("1e-40"):
                    break
            elif s[k] * k**2 < s[k - 1] * (k + 1) ** 2:
                break
            k += 1
    return rows[:k]


def dep(X: np.ndarray, y: np.ndarray, features: list[int], rule: str) -> Fraction:
    if not features:
        return Fraction(0)
    squares = squared_distances(X[:, features])
    total = Fraction(0)
    for i in range(len(y)):
        near = neighbours(squares[i], i, rule)
        total += Fraction(sum(bool(y[j] == y[i]) for j in near), len(near))
    return total / len(y)


def pruning_order(seed: int | None, new_feature: int, features: list[int]) -> list[int]:
    if seed is None:
        return sorted(features)

    def draw(f: int) -> bytes:
        return hashlib.blake2b(f"{seed} {new_feature} {f}".encode(), digest_size=8).digest()

    return sorted(features, key=draw)


def select(X, y, rule, lam=Fraction(0), seed=None) -> tuple[list[int], Fraction]:
    """OFS-A3M with the gap rule and lam 0; OFS-Density with the density rule and its lambda."""
    kept: list[int] = []
    whole = mean = Fraction(0)
    for i in range(X.shape[1]):
        if np.ptp(X[:, i]) == 0:
            continue
        if dep(X, y, [i], rule) < mean:
            continue
        with_it = [*kept, i]
        t = dep(X, y, with_it, rule)
        if t > whole:
            kept, whole = with_it, t
        elif whole - t <= lam * whole:
            left, now = list(with_it), t
            for f in pruning_order(seed, i, with_it):
                without = [g for g in left if g != f]
                if dep(X, y, without, rule) == now:
                    left = without
            kept, whole = left, now
        if kept:
            mean = sum(dep(X, y, [f], rule) for f in kept) / len(kept)
    return kept, whole
