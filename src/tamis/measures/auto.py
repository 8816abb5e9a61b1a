"""Picking a measure from the data, and saying why."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels.scan import scan
from tamis.measures.base import Measure
from tamis.measures.fisher_z import FisherZ
from tamis.measures.information import MutualInformation, SymmetricUncertainty

#: Columns with more levels than this, on average, are numbers rather than categories.
MANY_LEVELS = 16
#: And so are columns with fewer rows than this to a level.
ROWS_A_LEVEL = 5
#: Levels are counted on at most this many columns, spread over the block.
LOOK_AT = 256

BY_NAME: dict[str, type[Measure]] = {
    m.name: m for m in (MutualInformation, SymmetricUncertainty, FisherZ)
}


def resolve(measure: Measure | str) -> Measure | None:
    """Turn a measure or its name into a measure; None for "auto"."""
    if isinstance(measure, Measure):
        return measure
    if measure == "auto":
        return None
    if isinstance(measure, str) and measure in BY_NAME:
        return BY_NAME[measure]()
    words = ", ".join(repr(w) for w in ("auto", *BY_NAME))
    raise ParameterError(
        f"measure={measure!r} is not known; give one of {words}, or a measure such as FisherZ()"
    )


def choose(blocks: Iterable[ColumnBlock], target: Target) -> tuple[Measure, str]:
    """Pick a measure for columns like these and say why.

    Discrete columns (whole numbers with few levels) with a class target get
    ``MutualInformation(alpha=0.01)``; everything else gets ``FisherZ(alpha=0.01)``. All blocks are
    looked at for numbers that are not whole, the first for its levels.
    """
    if not target.is_classes:
        return FisherZ(alpha=0.01), "the target is a number, not a class"
    block = None
    for seen in blocks:
        _, not_whole = scan(seen.entries)
        if not_whole >= 0:
            name = seen.name_of(seen.column_of_entry(not_whole))
            return FisherZ(alpha=0.01), f"column {name} holds numbers that are not whole"
        block = block or seen
    if block is None:
        return FisherZ(alpha=0.01), "there is no column to look at"
    levels = _mean_levels(block)
    if block.kind != "discrete" and (levels > MANY_LEVELS or levels * ROWS_A_LEVEL > block.n_rows):
        return FisherZ(alpha=0.01), (
            f"a column has {levels:.0f} different values on average, too many for "
            f"{block.n_rows} rows to be categories"
        )
    return MutualInformation(alpha=0.01), (
        f"every value is a whole number, and a column has {levels:.1f} different values on average"
    )


def _mean_levels(block: ColumnBlock) -> float:
    """Mean number of levels over some columns that are not constant; 1 if there are none."""
    picks = np.unique(np.linspace(0, block.width - 1, min(LOOK_AT, block.width)).astype(np.intp))
    values = block.values
    if isinstance(values, Compressed):
        # Empty columns say nothing: look at those that hold something.
        filled = np.flatnonzero(np.diff(values.pointers))
        picks = (
            filled[np.unique(np.linspace(0, len(filled) - 1, LOOK_AT).astype(np.intp))]
            if len(filled)
            else filled
        )
        picked = values.pick(picks)
        counts = [
            len(np.unique(picked.values[lo:hi])) + (hi - lo < block.n_rows)
            for lo, hi in zip(picked.pointers[:-1], picked.pointers[1:], strict=True)
        ]
    else:
        counts = [len(np.unique(values[:, j])) for j in picks]
    several = [c for c in counts if c > 1]
    return float(np.mean(several)) if several else 1.0
