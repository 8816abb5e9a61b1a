"""What becomes of missing values: an error, a category of their own, or left out pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import ParameterError
from tamis.core.kinds import GAP
from tamis.core.params import Nothing, Number, OneOf, check

_POLICIES = OneOf(("error", "category", "delete"))


@dataclass(frozen=True)
class Missing:
    """What becomes of missing values.

    NaN is always a missing value. Zeros of sparse data are values like any other, stored or not,
    unless `values=0` says that they mean nothing was seen.

    Parameters
    ----------
    policy : {"error", "category", "delete"}
        "error": one sentence that names the column. "category": they are a category of their own,
        one above the highest code of the column (code 0 where zeros are missing). "delete": each
        value of a measure is taken over the rows where both sides are there (pairwise deletion);
        `MutualInformation` and `SymmetricUncertainty` can, others say that they cannot.
    values : float, optional
        A number that means missing too, such as 0, -9 or 999.

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
            object.__setattr__(self, "values", None)  # NaN is missing anyway, and equals nothing
        check("missing", "values", self.values, (Number(), Nothing()))

    @classmethod
    def of(cls, missing: Missing | str) -> Missing:
        """A policy given by itself or by its word."""
        if isinstance(missing, Missing):
            return missing
        if isinstance(missing, str):
            return cls(missing)
        raise ParameterError(
            f"missing={missing!r} is not {_POLICIES}, or Missing(policy, values=...)"
        )

    @property
    def zero_is_gap(self) -> bool:
        """True where zeros mean that nothing was seen."""
        return self.values == 0

    def mark(self, block: ColumnBlock) -> ColumnBlock:
        """The block with NaN wherever a number means missing; zeros are left to the kernels."""
        if self.values is None or self.zero_is_gap:
            return block
        gone = block.entries == self.values
        if not gone.any():
            return block
        marked = np.where(gone, np.nan, block.entries)
        return with_entries(block, marked)

    def gap_codes(self, tops: np.ndarray) -> np.ndarray:
        """What a gap becomes in each column, given the highest code of each."""
        if self.zero_is_gap:
            return np.zeros(len(tops))
        return np.full(len(tops), GAP) if self.policy == "delete" else tops + 1.0


def with_entries(block: ColumnBlock, entries: np.ndarray) -> ColumnBlock:
    """The same block with other stored numbers, column after column."""
    v = block.values
    if isinstance(v, Compressed):
        return replace(block, values=Compressed(v.indptr, v.indices, entries))
    return replace(block, values=entries.reshape(v.shape, order="F"))
