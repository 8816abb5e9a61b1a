"""A slow reference for SFS-FI: the paper's Algorithm 1, and terms for counts and numbers."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2


def entropy(*columns) -> float:
    mixed = sum(np.asarray(c).astype(int) * 8**i for i, c in enumerate(columns))
    counts = np.bincount(mixed)
    share = counts[counts > 0] / len(mixed)
    return float(-(share * np.log2(share)).sum())


def bits(a, b) -> float:
    """Mutual information, rounded so that equal counts give equal numbers."""
    return round(entropy(a) + entropy(b) - entropy(a, b), 11)


def terms_of_counts(X, y, f, kept, correction=None, alpha=0.01):
    """The terms of the gain of f; None for one that does not count."""
    n, k = len(y), len(np.unique(y))
    levels = [len(np.unique(column)) for column in X.T]
    terms = []
    for s in kept:
        together = entropy(X[:, f], X[:, s]) + entropy(y) - entropy(X[:, f], X[:, s], y)
        term = round(together - bits(X[:, s], y) - bits(X[:, f], y), 10)
        df = (levels[f] - 1) * (levels[s] - 1)
        if correction == "miller-madow":
            term -= df * (k - 1) / (2 * n * math.log(2))
        if correction == "significant":
            apart = bits(X[:, f], X[:, s])
            value, freedom = (term + apart, df * k) if term > 0 else (apart, df)
            if chi2.sf(2 * n * math.log(2) * value, freedom) >= alpha / len(kept):
                term = None
        terms.append(term)
    return terms


def algorithm_1(relevance, between, terms, relevant, dependent, gamma=0.01, gain=sum):
    """The paper's algorithm. `relevance` is NaN for constant columns.

    Our interpretation: the first is kept; copies are dropped; a pair must be dependent to be
    redundant; without any term that counts, a relevant feature is compared in pairs.
    """
    kept: list[int] = []
    for f in range(len(relevance)):
        if np.isnan(relevance[f]):
            continue
        if kept:
            found = terms(f, kept)
            counted = [t for t in found if t is not None]
            ig = gain([t or 0.0 for t in found])
            if ig <= 1e-12 and (counted or not relevant[f]):
                continue
            if ig < gamma:
                thrown_out = False
                for s in list(kept):
                    if not dependent(f, s):
                        continue
                    if relevance[s] >= relevance[f] and between[f][s] >= relevance[f]:
                        thrown_out = True
                        break
                    if relevance[f] > relevance[s] and between[f][s] >= relevance[s]:
                        kept.remove(s)
                if thrown_out:
                    continue
        kept.append(f)
    return kept


def partial(s, f, targets) -> float:
    """Multiple correlation of s and the targets after taking f off all of them."""
    basis = np.column_stack([np.ones(len(f)), f])

    def off(columns):
        return columns - basis @ np.linalg.lstsq(basis, columns, rcond=None)[0]

    left, rest = off(s), off(targets)
    fitted = rest @ np.linalg.lstsq(rest, left, rcond=1e-8)[0]
    return float(np.sqrt((fitted @ fitted) / (left @ left)))
