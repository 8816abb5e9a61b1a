"""Policies for missing values: left to the measure, an error, a category, pairwise deletion."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tamis.core.blocks import GAP, ColumnBlock, Compressed
from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, check

_POLICIES = OneOf(("auto", "error", "category", "delete"))


@dataclass(frozen=True)
class Missing:
    """How missing values are treated.

    NaN is always missing. Zeros of sparse data are values, stored or not, unless `values=0` says
    that they mean missing.

    Parameters
    ----------
    policy : {"auto", "error", "category", "delete"}
        "auto": they stay missing, for measures that take them (`AnyShape`); others raise an error.
        "error": raise an error that names the column. "category": missing values are a category
        of their own, one above the highest code of the column (code 0 if zeros are missing).
        "delete": each value of a measure is computed over the rows where neither side is missing
        (pairwise deletion); `FisherZ`, `MutualInformation` and `SymmetricUncertainty` support it.
    values : float, optional
        A number that also means missing, such as 0, -9 or 999.

    Examples
    --------
    >>> Missing("category", values=-9)
    Missing(policy='category', values=-9)
    """

    policy: str = "error"
    values: float | None = None

    def __post_init__(self) -> None:
        check("missing", "policy", self.policy, _POLICIES)
        if isinstance(self.values, float) and math.isnan(self.values):
            object.__setattr__(self, "values", None)  # NaN is always missing, and equals nothing
        check("missing", "values", self.values, (Number(), None))

    @classmethod
    def of(cls, missing: Missing | str) -> Missing:
        """Return a policy, given as an object or by name."""
        if isinstance(missing, Missing):
            return missing
        if isinstance(missing, str):
            return cls(missing)
        raise ParameterError(
            f"missing={missing!r} is not {_POLICIES}, or Missing(policy, values=...)"
        )

    @property
    def zero_is_gap(self) -> bool:
        """True if zeros mean missing."""
        return self.values == 0

    def mark(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block with NaN for values that mean missing; kernels handle zeros."""
        if self.values is None or self.zero_is_gap:
            return block
        gone = block.entries == self.values
        if not gone.any():
            return block
        marked = np.where(gone, np.nan, block.entries)
        return with_entries(block, marked)

    def gap_codes(self, tops: np.ndarray) -> np.ndarray:
        """Return the code of a missing value in each column, given the highest code of each."""
        if self.zero_is_gap:
            return np.zeros(len(tops))
        if self.policy == "category":
            return tops + 1.0
        return np.full(len(tops), GAP if self.policy == "delete" else np.nan)


def with_entries(block: ColumnBlock, entries: np.ndarray) -> ColumnBlock:
    """Return the block with its stored numbers replaced, column by column."""
    v = block.values
    if isinstance(v, Compressed):
        return replace(block, values=Compressed(v.indptr, v.indices, entries))
    return replace(block, values=entries.reshape(v.shape, order="F"))
