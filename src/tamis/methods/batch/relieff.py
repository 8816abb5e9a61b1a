"""ReliefF: a feature is good if it separates a row from near rows of other classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.kernels.relief import (
    add_distances,
    add_off,
    column_ranges,
    nearest_by_class,
    weights,
)
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats
from tamis.methods.batch.scores import Codes, ScoredRule

#: Maximum number of distances held in memory (3.2 GB).
MOST_DISTANCES = 400_000_000


class ReliefFRule(ScoredRule):
    """ReliefF, for any number of classes.

    diff(A, r, s) is |a - b| / (max - min) for the values a and b of feature A in rows r and s, or,
    for values without an order, 0 if they are equal and 1 if not. The distance of two rows is the
    sum of their diff over all features. For each of m rows R, with its k nearest rows H of the same
    class (hits) and the k nearest M of every other class c (misses),

        W(A) = - sum over R, H of diff(A, R, H) / (m k)
               + sum over R, c of P(c) / (1 - P(class of R)) sum over M of diff(A, R, M) / (m k)

    and the `n_features` highest weights are kept, of equal ones the first to arrive.

    Cost: two passes over the columns. The first adds up distances, O(m rows) per column, O(nonzeros
    squared) for one that is mostly zero; the second weighs, O(m k classes) per column, less for one
    that is mostly zero. Memory: 8 m rows bytes of distances, and a block. Sparse columns are never
    written out, but for 64 at a time of those that are mostly not zero.

    Deviations: where a class has fewer than k rows, all of them are used, and k is their
    number. Differences are rounded to 2^-24 in distances (not in weights), so that distances equal
    on paper are equal; of equally near rows the lower number is taken.

    Parameters
    ----------
    n_features : int, default=10
        How many to keep.
    n_neighbors : int, default=10
        k above.
    n_samples : int, optional
        m above: rows drawn with `random_state`; default: all of them.
    random_state : int, default=0
        The seed of the draw.
    values : {"numeric", "discrete"}, default="numeric"
        Whether values have an order. Columns of text never have one.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, the highest weight first.
    log_ : DecisionLog
        What happened to every feature, and why; its relevance is the weight.

    References
    ----------
    I. Kononenko. Estimating attributes: analysis and extensions of RELIEF. ECML 1994.
    doi:10.1007/3-540-57868-4_57. As in M. Robnik-Sikonja, I. Kononenko. Theoretical and empirical
    analysis of ReliefF and RReliefF. Machine Learning 53, 2003. doi:10.1023/A:1025667309714

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> a, b, noise = rng.integers(0, 2, (3, 300))
    >>> sel = tamis.ReliefF(2).fit(np.column_stack([a, noise, b]), a ^ b)
    >>> sel.kept_
    array([0, 2])
    >>> print(sel.log_.why("x1"))
    x1 was dropped: W(x1)=0 is not above that of x0 (0.492), the last that is kept
    """

    name: ClassVar[str] = "relieff"
    only_classes: ClassVar[bool] = True
    symbol: ClassVar[str] = "W({name})"
    takes_text: ClassVar[bool] = True

    n_features: int = param(10, Number(1, integer=True))
    n_neighbors: int = param(10, Number(1, integer=True))
    n_samples: int | None = param(None, Number(1, integer=True), None)
    random_state: int = param(0, Number(0, integer=True))
    values: str = param("numeric", OneOf(("numeric", "discrete")))

    # --- first pass: neighbours of the rows --------------------------------------------------

    def fit(self, blocks: Iterable[ColumnBlock], target: Target) -> tuple[Any, ...]:
        """Find the neighbours of the rows, in a pass over all columns."""
        n = target.n_rows
        picks = np.arange(n)
        if self.n_samples is not None and self.n_samples < n:
            rng = np.random.default_rng(self.random_state)
            picks = np.sort(rng.permutation(n)[: self.n_samples])
        if len(picks) * n > MOST_DISTANCES:
            raise InputError(
                f"ReliefF holds the distances of {len(picks)} rows to {n}, more than "
                f"{MOST_DISTANCES:,} numbers; give n_samples={MOST_DISTANCES // n} or fewer"
            )
        slots = np.full(n, -1)
        slots[picks] = np.arange(len(picks))
        near, off = np.zeros((len(picks), n), np.int64), np.zeros(n, np.int64)
        for block in blocks:
            columns = self._ranged(block)
            over_columns(
                lambda lo, hi, columns=columns: add_distances(  # type: ignore[misc]
                    *columns, picks, slots, lo, hi, near, off
                ),
                np.arange(len(picks) + 1) * (n * block.width),
            )
        add_off(near, picks, off)
        return self._pairs(near, picks, target)

    def _pairs(
        self, near: npt.NDArray[np.int64], picks: npt.NDArray[np.intp], target: Target
    ) -> tuple[Any, ...]:
        """Return neighbouring rows and the share of each pair, as compressed rows."""
        codes, classes = target.codes, target.n_classes
        assert codes is not None
        n, k = target.n_rows, min(self.n_neighbors, target.n_rows)
        found = np.zeros((len(picks), classes, k), np.int32)
        counts = np.zeros((len(picks), classes), np.int64)
        over_columns(
            lambda lo, hi: nearest_by_class(near, picks, codes, k, lo, hi, found, counts),
            np.arange(len(picks) + 1) * n,
        )
        prior = target.counts / n
        own = codes[picks]
        share = prior[None, :] / (1.0 - prior[own])[:, None]
        share[np.arange(len(picks)), own] = -1.0
        share /= np.maximum(counts, 1) * len(picks)
        taken = np.arange(k) < counts[:, :, None]
        each = np.broadcast_to(share[:, :, None], found.shape)[taken]
        rows = np.repeat(picks, counts.sum(axis=1))
        one_way = sp.csr_array((each, (rows, found[taken])), shape=(n, n))
        both = (one_way + one_way.T).tocsr()
        both.sort_indices()
        return both.indptr, both.indices, both.data

    # --- second pass: weights ----------------------------------------------------------------

    def score(self, block: ColumnBlock, model: tuple[Any, ...]) -> tuple[Floats, Codes]:
        """Weigh the columns of a block."""
        *columns, _, spans, discrete = self._ranged(block)
        out = np.empty(block.width)
        over_columns(
            lambda lo, hi: weights(*columns, spans, discrete, *model, lo, hi, out),
            np.arange(block.width + 1) * len(model[1]),
        )
        unusable = np.where(spans == 0.0, 1, np.where(np.isfinite(spans), 0, 2))
        return out, unusable.astype(np.uint8)

    def _ranged(self, block: ColumnBlock) -> tuple[Any, ...]:
        """Return a block as the kernels take it, with the lowest value and range of each column."""
        arrays, n = block.arrays, block.n_rows
        lows, spans = np.empty(block.width), np.empty(block.width)
        over_columns(
            lambda lo, hi: column_ranges(*arrays, n, lo, hi, lows, spans),
            np.arange(block.width + 1) * n,
        )
        discrete = np.full(block.width, self.values == "discrete")
        if block.is_text is not None:
            discrete |= block.is_text
        return (*arrays, n, lows, spans, discrete)
