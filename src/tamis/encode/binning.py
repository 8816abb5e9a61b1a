"""Bins that ask no class: of the same width, of about the same number of rows, around means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.params import Number, Range
from tamis.core.target import Target
from tamis.encode.encoder import WHICH, Encoder, Floats
from tamis.encode.missing import Missing
from tamis.kernels.bins import FREQUENCY, KMEANS, WIDTH, bin_columns


class _Bins(Encoder):
    """What the three share: a number of bins, and a kernel."""

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "bins": Number(2, 2**15, integer=True),
        **WHICH,
    }
    _way: ClassVar[int]

    def __init__(
        self, bins: int = 5, *, which: str = "numbers", missing: Missing | str = "error"
    ) -> None:
        self.bins = bins
        self.which = which
        self.missing = missing

    def _find(self, columns: Any, target: Target | None, stays: Any, numbers: Any) -> Floats:
        form = (*columns.form, self._way, self.bins, stays)
        return columns.gather(lambda lo, hi: bin_columns(*form, lo, hi, numbers))  # type: ignore[no-any-return]


class EqualWidthEncoder(_Bins):
    """Bins of the same width, from the lowest to the highest value of a column.

    Parameters
    ----------
    bins : int, default=5
        How many.
    which : {"numbers", "all"}
        "numbers": columns that are categories already stay as they are (see `MDLP`).
    missing : {"error", "category", "delete"} or Missing, default="error"
        What becomes of missing values; they have no part in the cuts.

    Attributes
    ----------
    cuts_ : list
        The cuts of each column, rising; None for a column that stays as it is.

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
    """Bins of about the same number of rows.

    With N rows in order there is a cut above the value of row ceil(N i / bins) for i = 1, 2, ...,
    half-way to the next value. Equal values share a bin, so bins may differ, and there may be
    fewer than asked for: in a sparse column the zeros are one bin.

    Parameters
    ----------
    bins : int, default=5
        How many.
    which : {"numbers", "all"}
        "numbers": columns that are categories already stay as they are (see `MDLP`).
    missing : {"error", "category", "delete"} or Missing, default="error"
        What becomes of missing values; they have no part in the cuts.

    Attributes
    ----------
    cuts_ : list
        The cuts of each column, rising; None for a column that stays as it is.

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

    Lloyd's rounds begin with the middles of bins of equal width and go on until no value changes
    its mean, at most 300; cuts are half-way between two means. A mean that no value is nearest to
    goes, so there may be fewer bins than asked for. Nothing is drawn at random.

    Parameters
    ----------
    bins : int, default=5
        How many, at most.
    which : {"numbers", "all"}
        "numbers": columns that are categories already stay as they are (see `MDLP`).
    missing : {"error", "category", "delete"} or Missing, default="error"
        What becomes of missing values; they have no part in the cuts.

    Attributes
    ----------
    cuts_ : list
        The cuts of each column, rising; None for a column that stays as it is.

    Examples
    --------
    >>> from tamis.encode import KMeansBins
    >>> import numpy as np
    >>> KMeansBins(2).fit(np.array([[0.5], [1.5], [2.0], [9.5]])).cuts_
    [array([5.41666667])]
    """

    method: ClassVar[str] = "kmeans"
    _way: ClassVar[int] = KMEANS
