"""Unsupervised binning: equal width, equal frequency, and k-means."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.encode.encoder import Encoder, Finder
from tamis.kernels.bins import FREQUENCY, KMEANS, WIDTH, bin_columns


class _Bins(Encoder):
    """Base class of the three: a number of bins, and a kernel.

    Parameters
    ----------
    bins : int, default=5
        Number of bins.
    """

    _way: ClassVar[int]

    bins: int = param(5, Number(2, 2**15, integer=True))

    def _finder(self, form: tuple[Any, ...], target: Target | None, stays: Any) -> Finder:
        return lambda lo, hi, numbers: bin_columns(
            *form, self._way, self.bins, stays, lo, hi, numbers
        )


class EqualWidthEncoder(_Bins):
    """Bins of equal width, from the lowest to the highest value of a column.

    Examples
    --------
    >>> from tamis.encode import EqualWidth
    >>> import numpy as np
    >>> EqualWidth(4).fit(np.array([[0.5], [1.5], [2.25], [4.5]])).cuts_
    [array([1.5, 2.5, 3.5])]
    """

    method: ClassVar[str] = "equal-width"
    _way: ClassVar[int] = WIDTH


class EqualFrequencyEncoder(_Bins):
    """Bins with about the same number of rows.

    With N sorted rows there is a cut above the value of row ceil(N i / bins) for i = 1, 2, ...,
    half-way to the next value. Equal values share a bin, so the sizes of bins may differ, and there
    may be fewer than `bins`: in a sparse column the zeros are one bin.

    Examples
    --------
    >>> from tamis.encode import EqualFrequency
    >>> import numpy as np
    >>> EqualFrequency(2).fit(np.array([[0.5], [1.5], [2.25], [4.5]])).cuts_
    [array([1.875])]
    """

    method: ClassVar[str] = "equal-frequency"
    _way: ClassVar[int] = FREQUENCY


class KMeansBinsEncoder(_Bins):
    """Bins around the means that k-means finds in one column.

    Lloyd's algorithm starts from the midpoints of bins of equal width and stops when no value
    changes its cluster, after at most 300 iterations; cuts are half-way between two means. Empty
    clusters are dropped, so there may be fewer than `bins`. The result is deterministic.

    Parameters
    ----------
    bins : int, default=5
        Maximum number of bins.

    Examples
    --------
    >>> from tamis.encode import KMeansBins
    >>> import numpy as np
    >>> KMeansBins(2).fit(np.array([[0.5], [1.5], [2.0], [9.5]])).cuts_
    [array([5.41666667])]
    """

    method: ClassVar[str] = "kmeans"
    _way: ClassVar[int] = KMEANS
