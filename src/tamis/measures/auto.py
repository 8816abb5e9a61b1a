"""Pick a measure from the data, and say why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tamis._registry import MEASURES, Lazy
from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import ParameterError
from tamis.core.kinds import most_levels
from tamis.core.target import Target
from tamis.kernels.scan import scan
from tamis.measures.fisher_z import FisherZ
from tamis.measures.measure import Floats, Measure
from tamis.measures.mutual_information import MutualInformation

#: Distinct values are counted in at most this many columns, spread over all of them.
SAMPLED = 1024

#: The choices of "auto", unless a selector has others.
DISCRETE = MutualInformation(alpha=0.01)
CONTINUOUS = FisherZ(alpha=0.01)

#: Measures by name, imported when they are looked up.
BY_NAME: Lazy[type[Measure]] = Lazy(MEASURES)

#: Measures that can be saved to a file.
_IN_FILES: Lazy[type[Measure]] = Lazy(
    {**MEASURES, "pairwise_deletion": "tamis.measures.pairwise_deletion:PairwiseDeletion"}
)


def at_alpha(measure: Measure, alpha: float | None) -> Measure:
    """Return the measure at a significance level; None leaves its own."""
    return measure if alpha is None else at_level(measure, {"alpha": alpha})


def at_level(measure: Measure, level: Mapping[str, float]) -> Measure:
    """Return the measure at this level: a threshold if it takes one and one is given, or alpha."""
    known = measure.get_params()
    if "threshold" in known and "threshold" in level:
        return replace(measure, threshold=level["threshold"], alpha=None)  # type: ignore[type-var]
    if "alpha" in known and "alpha" in level:
        return replace(measure, alpha=level["alpha"])  # type: ignore[type-var]
    return measure


def resolve(measure: Measure | str, alpha: float | None = None) -> Measure | None:
    """Turn a measure or its name into a measure at level `alpha`; None for "auto"."""
    if isinstance(measure, Measure):
        if alpha is not None:
            raise ParameterError(
                f"alpha={alpha!r} goes with a measure given by name, and measure={measure!r} has "
                "its own parameters; give alpha to that measure, or the measure by name"
            )
        return measure
    if measure == "auto":
        return None
    if isinstance(measure, str) and measure in BY_NAME:
        kind = BY_NAME[measure]
        if alpha is None:
            return kind()
        if "alpha" not in (f.name for f in fields(kind)):  # type: ignore[arg-type]
            raise ParameterError(f"the measure {measure} has no alpha")
        return kind(alpha=alpha)  # type: ignore[call-arg]
    names = ", ".join(repr(name) for name in ("auto", *BY_NAME))
    raise ParameterError(
        f"measure={measure!r} is not known; give one of {names}, or a measure such as FisherZ()"
    )


def named(measure: Measure) -> dict[str, Any]:
    """Return a measure as its name and its parameters, for a file."""
    if not known_by_name(measure):
        raise ParameterError(
            f"the measure {measure!r} is not known by name, so it cannot be written to a file; "
            f"use one of {', '.join(BY_NAME)}"
        )
    parameters = {
        key: named(value) if isinstance(value, Measure) else value
        for key, value in measure.get_params().items()
    }
    return {"name": measure.name, "parameters": parameters}


def known_by_name(measure: Measure) -> bool:
    """Return True if a measure can be written to a file and read again."""
    return type(measure) is _IN_FILES.get(measure.name)


def from_name(name: str, parameters: Mapping[str, Any]) -> Measure:
    """Return the measure that `named` describes."""
    if name not in _IN_FILES:
        raise ParameterError(f"the measure {name!r} is not known; use the tamis that wrote it")
    given = {
        key: from_name(**value) if isinstance(value, dict) else value
        for key, value in parameters.items()
    }
    return _IN_FILES[name](**given)


def choose(
    blocks: Iterable[ColumnBlock],
    target: Target,
    n_columns: int | None = None,
    discrete: Measure = DISCRETE,
    continuous: Measure = CONTINUOUS,
    name_of: Callable[[ColumnBlock, int], str] = ColumnBlock.name_of,
) -> tuple[Measure, str]:
    """Pick a measure for columns like these; return it and the reason.

    Discrete columns (whole numbers with few distinct values) with a class target get the measure
    `discrete`; everything else gets `continuous`. Every block is scanned for fractions. Distinct
    values are counted in columns that are picked by arrival number, spread over all `n_columns`,
    so that block boundaries do not matter. A column is weighted by the rows that differ from its
    most common value: among thousands of nearly empty columns, the few that vary matter.
    """
    if not target.is_classes:
        return continuous, "the target is a number, not a class"
    levels: list[tuple[int, int]] = []
    all_discrete = True
    for block in blocks:
        _, not_whole = scan(block.entries)
        if not_whole >= 0:
            name = name_of(block, block.column_of_entry(not_whole))
            return continuous, f"column {name} holds numbers that are not whole"
        all_discrete &= block.kind == "discrete"
        levels += _levels(block, n_columns or block.first + block.width)
    if not levels:
        return continuous, "there are no columns"
    counts, varied = np.array(levels).T
    mean = float(counts @ varied / varied.sum()) if varied.any() else 1.0
    if not all_discrete and mean > most_levels(target.n_rows):
        return continuous, (
            f"a value is one of {mean:.0f} different ones in its column on average, too many for "
            f"{target.n_rows} rows to be categories"
        )
    return discrete, (
        f"every value is a whole number, one of {mean:.1f} different ones in its column on average"
    )


def _levels(block: ColumnBlock, n_columns: int) -> list[tuple[int, int]]:
    """Count the levels of the sampled columns of a block, and the rows not at the commonest."""
    spread = np.unique(np.linspace(0, n_columns - 1, min(SAMPLED, n_columns)).astype(np.int64))
    inside = spread[(spread >= block.first) & (spread < block.first + block.width)] - block.first
    values = block.without_zeros().values
    if isinstance(values, Compressed):
        picked = values.pick(inside)
        return [
            _levels_of(picked.data[lo:hi], block.n_rows)
            for lo, hi in pairwise(picked.indptr.tolist())
        ]
    return [_levels_of(values[:, j], block.n_rows) for j in inside]


def _levels_of(stored: Floats, n_rows: int) -> tuple[int, int]:
    """Count the levels of a column with these nonzeros, and the rows not at the commonest."""
    _, counts = np.unique(stored, return_counts=True)
    zeros = n_rows - len(stored)
    return len(counts) + bool(zeros), n_rows - max(zeros, counts.max(initial=0))
