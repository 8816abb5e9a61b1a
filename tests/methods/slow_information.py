"""Information from its definition, for the tests of selectors that use it."""

from __future__ import annotations

import numpy as np


def entropy(codes):
    """Entropy in bits of codes 0, 1, 2, ..."""
    share = np.bincount(codes) / len(codes)
    share = share[share > 0]
    return -(share * np.log2(share)).sum()


def information(a, b):
    """I(a; b)."""
    a, b = (np.unique(x, return_inverse=True)[1] for x in (a, b))
    return entropy(a) + entropy(b) - entropy(a * (b.max() + 1) + b)


def uncertainty(a, b, digits=11):
    """SU(a, b), rounded so that mathematically equal values are equal."""
    total = sum(entropy(np.unique(x, return_inverse=True)[1]) for x in (a, b))
    return round(2 * information(a, b) / total, digits) + 0.0 if total > 0 else 0.0
