"""Pick a measure from the data, and give the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis._registry import MEASURES, Lazy
from tamis.core.blocks import ColumnBlock, Compressed, most_levels
from tamis.core.errors import ParameterError
from tamis.core.sentences import suggestion
from tamis.core.target import Target
from tamis.kernels.information import count_levels
from tamis.kernels.scan import LARGEST, scan
from tamis.measures.measure import Ints, Measure
from tamis.measures.panels import code_columns

#: Distinct values are counted in this many columns; of as many again in every second one, of twice
#: as many again in every fourth one, and so on.
SAMPLED = 256

#: A column with fewer values that are not zero says little about whether numbers are categories.
FILLED = 16

#: With so many values in these columns, a kernel of its own is worth compiling.
MANY = 100_000

#: Names that leave the measure to the data: "paper" is "auto" as in the papers.
BY_DATA = ("auto", "paper")

#: Measures by name, imported when they are looked up.
BY_NAME: Lazy[type[Measure]] = Lazy(MEASURES)

#: Measures that can be saved to a file.
_IN_FILES: Lazy[type[Measure]] = Lazy(
    {
        **MEASURES,
        "adjusted_shape": "tamis.measures.adjusted_shape:AdjustedShape",
        "complete_pairs": "tamis.measures.complete_pairs:CompletePairs",
        "pairwise_deletion": "tamis.measures.pairwise_deletion:PairwiseDeletion",
    }
)


@cache
def usual_choices() -> tuple[Measure, Measure]:
    """Return the choices of "auto", unless a rule has others: for categories, and for numbers."""
    from tamis.measures import FisherZ, MutualInformation

    return MutualInformation(alpha=0.01), FisherZ(alpha=0.01)


@cache
def paper_choices() -> tuple[Measure, Measure]:
    """Return those of the papers of SAOLA and SFS-FI: any information counts, and Fisher's z."""
    from tamis.measures import FisherZ, MutualInformation

    return MutualInformation(statistic="g2"), FisherZ(alpha=0.01, statistic="z")


def at_level(measure: Measure, level: Mapping[str, float]) -> Measure:
    """Return the measure at this level: a threshold if it takes one and one is given, or alpha."""
    known = measure.get_params()
    if "threshold" in known and "threshold" in level:
        return replace(measure, threshold=level["threshold"], alpha=None)  # type: ignore[type-var]
    if "alpha" in known and "alpha" in level:
        return replace(measure, alpha=level["alpha"])  # type: ignore[type-var]
    return measure


def resolve(measure: Measure | str, alpha: float | None = None) -> Measure | None:
    """Turn a measure or its name into a measure at level `alpha`; None if the data decide."""
    if isinstance(measure, Measure):
        if alpha is not None:
            raise ParameterError(
                f"alpha={alpha!r} goes with a measure given by name, and measure={measure!r} has "
                "its own parameters; give alpha to that measure, or the measure by name"
            )
        return measure
    if measure in BY_DATA:
        return None
    kind = BY_NAME.get(measure) if isinstance(measure, str) else None
    if kind is not None:
        if alpha is None:
            return kind()
        if "alpha" not in (f.name for f in fields(kind)):  # type: ignore[arg-type]
            raise ParameterError(f"the measure {measure} has no alpha")
        return kind(alpha=alpha)  # type: ignore[call-arg]
    known = suggestion(measure, (*BY_DATA, *BY_NAME), "give a measure such as FisherZ(), or one of")
    raise ParameterError(f"measure={measure!r} is not known; {known}")


def named(measure: Measure) -> dict[str, Any]:
    """Return a measure as its name and its parameters, for a file."""
    if type(measure) is not _IN_FILES.get(measure.name):
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
    kind = _IN_FILES.get(name)
    if kind is None:
        raise ParameterError(f"the measure {name!r} is not known; use the tamis that wrote it")
    # Selections that began before there were valid p-values keep their test.
    paper = {"fisher_z": "z", "mutual_information": "g2", "symmetric_uncertainty": "g2"}
    if name in paper:
        parameters = {"statistic": paper[name], **parameters}
    given = {
        key: from_name(**value) if isinstance(value, dict) else value
        for key, value in parameters.items()
    }
    return kind(**given)


def choose(
    blocks: Iterable[ColumnBlock],
    target: Target,
    choices: tuple[Measure, Measure] | None = None,
    name_of: Callable[[ColumnBlock, int], str] = ColumnBlock.name_of,
    *,
    every: bool = False,
) -> tuple[Measure, str]:
    """Pick a measure for columns like these; return it and the reason.

    Discrete columns (whole numbers with few distinct values) with a class target get the first of
    two `choices`; everything else gets the second. Every block is scanned for fractions. Distinct
    values are counted in some of the columns that have at least `FILLED` values other than zero,
    or in some of the others if no column has; with `every`, in every column. They are picked by
    how many such columns came before, so that block boundaries do not matter, and the order of
    columns hardly does: among thousands of nearly empty columns, a sample finds the few that vary
    by luck. A column is weighted by the rows that differ from its most common value.
    """
    discrete, continuous = choices or usual_choices()
    if not target.is_classes:
        return continuous, "the target is a number, not a class"
    # Of nearly empty columns, and of the others: how many came, how many rows differ from the most
    # common value, and the same times the distinct values.
    came, varied, different = (np.zeros(2, dtype=np.int64) for _ in range(3))
    all_discrete = True
    for block in blocks:
        not_finite, not_whole = -1, -1
        if block.narrow is None or block.narrow.dtype.kind == "f":
            not_finite, not_whole, _ = scan(block.flat, LARGEST)
        if not_finite >= 0:
            block = _without_gaps(block)
            _, not_whole, _ = scan(block.entries, LARGEST)
        if not_whole >= 0:
            name = name_of(block, block.column_of_entry(not_whole))
            return continuous, f"column {name} holds numbers that are not whole"
        block = block.without_zeros()
        all_discrete &= block.kind == "discrete"
        filled = np.ones(block.width, np.bool_) if every else _filled(block)
        for kind in (0, 1):
            columns = np.flatnonzero(filled == kind)
            number = came[kind] + np.arange(len(columns))
            came[kind] += len(columns)
            if not every:
                columns = columns[number % (1 << np.frexp(number // SAMPLED)[1]) == 0]
            if len(columns):
                n_levels, off_commonest = _count_levels(block, columns)
                different[kind] += int(n_levels @ off_commonest)
                varied[kind] += int(off_commonest.sum())
    if not came.any():
        return continuous, "there are no columns"
    kind = int(varied[1] > 0)
    mean = different[kind] / varied[kind] if varied[kind] else 1.0
    if not all_discrete and mean > most_levels(target.n_rows):
        return continuous, (
            f"a value is one of {mean:.0f} different ones in its column on average, too many for "
            f"{target.n_rows} rows to be categories"
        )
    return discrete, (
        f"every value is a whole number, one of {mean:.1f} different ones in its column on average"
    )


def _without_gaps(block: ColumnBlock) -> ColumnBlock:
    """Return a block with zeros for missing and infinite values, which kernels cannot count.

    Whether they are refused, left out or a category is decided later.
    """
    values = block.values
    if isinstance(values, Compressed):
        finite = np.where(np.isfinite(values.data), values.data, 0.0)
        return replace(block, values=Compressed(values.indptr, values.indices, finite))
    return replace(block, values=np.asfortranarray(np.where(np.isfinite(values), values, 0.0)))


def _filled(block: ColumnBlock) -> npt.NDArray[np.bool_]:
    """Return which columns have at least `FILLED` values that are not zero."""
    values = block.values if block.narrow is None else block.narrow
    if isinstance(values, Compressed):
        return np.asarray(np.diff(values.indptr) >= FILLED)
    # Row by row, as far as needed: most columns of a dense table are soon found to be filled.
    found = np.zeros(block.width, dtype=np.int64)
    lo, hi = 0, 4 * FILLED
    while lo < block.n_rows and len(open_ := np.flatnonzero(found < FILLED)):
        part = values[lo:hi] if lo == 0 else values[lo:hi, open_]
        found[open_] += np.count_nonzero(part, axis=0)
        lo, hi = hi, 2 * hi
    return found >= FILLED


def _count_levels(block: ColumnBlock, picks: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values of some columns, and the rows off the commonest one of each."""
    n_levels, commonest = np.full((2, len(picks)), -1, np.int64)
    n = block.n_rows
    if not block.is_sparse and len(picks) * n >= MANY:
        count_levels(block.flat, n, picks, n_levels, commonest)
    rest = np.flatnonzero(n_levels < 0)
    if len(rest):
        coded = code_columns(block, picks[rest])
        starts = coded.level_pointers[:-1]
        n_levels[rest] = np.add.reduceat((coded.level_counts > 0).astype(np.int64), starts)
        commonest[rest] = coded.level_counts[starts]
    return n_levels, n - commonest
