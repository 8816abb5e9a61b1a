"""Base class of encoders: find cuts from a block and a target, and apply cuts to a block.

Nothing here needs scikit-learn; the transformers are in `tamis.estimators`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, most_levels
from tamis.core.errors import InputError
from tamis.core.params import DeclaredParameters, OneOf, param
from tamis.core.target import Target
from tamis.encode.missing import Missing, with_entries
from tamis.kernels.threads import over_columns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Takes a range of columns and an array for the number of cuts of each; returns all cuts, joined.
Finder = Callable[[int, int, Ints], Floats]
#: The name of a column in a message.
NameOf = Callable[[ColumnBlock, int], str]


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cuts of some columns: `indptr[j]:indptr[j+1]` of `values` are those of column j.

    `stays` marks columns that are already categorical; `gaps` is the code of a missing value in
    each column, and `missing` the number of missing values.
    """

    indptr: Ints
    values: Floats
    stays: npt.NDArray[np.bool_]
    gaps: Floats
    missing: Ints

    def part(self, count: int) -> Cuts:
        """Return those of the first `count` columns."""
        indptr = self.indptr[: count + 1]
        values = self.values[: indptr[-1]]
        return Cuts(indptr, values, self.stays[:count], self.gaps[:count], self.missing[:count])

    def of(self, j: int) -> Floats | None:
        """Return the cuts of column j; None if it stays unchanged."""
        if self.stays[j]:
            return None
        return self.values[self.indptr[j] : self.indptr[j + 1]].copy()


class Encoder(DeclaredParameters):
    """Encode numeric columns as categories, each column independently: block in, block out.

    Subclasses find the cuts (`_find`). Codes increase with the values. The bin with 0 has code
    0, those above it 1, 2, ..., those below it -1, -2, ..., so that sparse columns stay sparse;
    where zeros mean missing, bins count from 1. A value equal to a cut belongs to the bin below.

    Mixed columns: with ``which="numbers"``, text columns and integer columns with few levels (up to
    20, and up to a fifth of the rows) are already categorical and stay unchanged. All columns of
    the result are therefore discrete.

    Parameters
    ----------
    which : {"numbers", "all"}
        "numbers": columns that are already categorical stay unchanged (see `MDLP`).
    missing : {"error", "category", "delete"} or Missing, default="error"
        How missing values are treated; they are ignored when cuts are found.

    Attributes
    ----------
    cuts_ : list
        The sorted cuts of each column; None for a column that stays unchanged.
    """

    suffix: ClassVar[str] = "Encoder"

    #: The name on the command line: ``tamis select --encode mdlp``.
    method: ClassVar[str]
    #: Whether cuts depend on the class.
    supervised: ClassVar[bool] = False
    #: Whether an encoded block keeps the kind of its input; otherwise it is discrete.
    keeps_kind: ClassVar[bool] = False

    _: KW_ONLY
    which: str = param("numbers", OneOf(("numbers", "all")))
    missing: Missing | str = "error"

    @abstractmethod
    def _finder(self, form: tuple[Any, ...], target: Target | None, stays: Any) -> Finder:
        """Return a function that finds the cuts of columns lo..hi-1 and marks unchanged columns.

        `form` is a block in the form that kernels take.
        """

    # --- blocks --------------------------------------------------------------------------------

    def find(
        self, block: ColumnBlock, target: Target | None, name_of: NameOf = ColumnBlock.name_of
    ) -> Cuts:
        """Find the cuts of each column of a block; raise an error if a column cannot be cut."""
        self.check_params()
        missing = Missing.of(self.missing)
        block = missing.mark(block)
        if target is not None and target.n_rows != block.n_rows:
            raise InputError(
                f"the columns have {block.n_rows} rows but the target has {target.n_rows}; "
                "give one target value for each row"
            )
        gaps, not_whole, tops = self._survey(block, missing, name_of)
        stays = np.full(block.width, block.kind == "discrete")
        if block.is_text is not None:
            stays |= block.is_text
        # An integer column with at most this many levels stays unchanged; negative: none does.
        most = most_levels(block.n_rows) if self.which == "numbers" else -1.0
        form = (*block.arrays, block.n_rows, missing.zero_is_gap, most)
        find, parts = self._finder(form, target, stays), dict[int, Floats]()
        numbers = np.zeros(block.width, dtype=np.int64)

        def find_some(lo: int, hi: int) -> None:
            parts[lo] = find(lo, hi, numbers)

        over_columns(find_some, block.spans)
        values = np.concatenate([parts[lo] for lo in sorted(parts)])
        indptr = np.concatenate([[0], np.cumsum(numbers)])
        bad = stays & not_whole & (gaps > 0)
        if missing.policy == "category" and bad.any():
            name = name_of(block, block.first + int(np.argmax(bad)))
            raise InputError(
                f"column {name} has missing values among numbers that are not whole, so they "
                "cannot be a category: turn the numbers into categories too, with encode='mdlp' "
                "(--encode mdlp)"
            )
        cut = ~stays
        below = np.zeros(block.width)
        if not missing.zero_is_gap and len(values):
            under = np.concatenate([[0], np.cumsum(values < 0)])
            below = under[indptr[1:]] - under[indptr[:-1]]
        tops[cut] = (numbers - below)[cut]
        return Cuts(indptr, values, stays, missing.gap_codes(tops), gaps)

    def apply(self, block: ColumnBlock, cuts: Cuts) -> ColumnBlock:
        """Return the block as categories."""
        from tamis.kernels.cuts import code_entries  # not needed without an encoder

        missing = Missing.of(self.missing)
        block = missing.mark(block)
        entries, spans = np.asarray(block.entries), block.spans
        codes = np.empty(len(entries))
        over_columns(
            lambda lo, hi: code_entries(
                entries, spans, cuts.indptr, cuts.values, cuts.stays, cuts.gaps,
                missing.zero_is_gap, lo, hi, codes,
            ),
            spans,
        )  # fmt: skip
        kind = block.kind if self.keeps_kind else "discrete"
        return replace(with_entries(block, codes).without_zeros(), kind=kind)

    def encode(
        self, block: ColumnBlock, target: Target | None, name_of: NameOf = ColumnBlock.name_of
    ) -> ColumnBlock:
        """Find the cuts of a block and apply them."""
        return self.apply(block, self.find(block, target, name_of))

    def refuse_bad_values(self, block: ColumnBlock, name_of: NameOf) -> None:
        """Raise a one-sentence error for infinity, and for missing values if they are an error."""
        missing = Missing.of(self.missing)
        self._survey(missing.mark(block), missing, name_of)

    # --- small steps ---------------------------------------------------------------------------

    def _survey(
        self, block: ColumnBlock, missing: Missing, name_of: NameOf
    ) -> tuple[Ints, npt.NDArray[np.bool_], Floats]:
        """Return the missing counts, fractional columns and highest values; refuse infinity."""
        from tamis.kernels.cuts import survey_columns

        width = block.width
        gaps, tops = np.zeros(width, dtype=np.int64), np.zeros(width)
        infinite, not_whole = np.zeros(width, dtype=np.bool_), np.zeros(width, dtype=np.bool_)
        entries, spans = np.asarray(block.entries), block.spans
        over_columns(
            lambda lo, hi: survey_columns(
                entries, spans, block.n_rows, missing.zero_is_gap, lo, hi, gaps, infinite,
                not_whole, tops,
            ),
            spans,
        )  # fmt: skip
        if infinite.any():
            name = name_of(block, block.first + int(np.argmax(infinite)))
            raise InputError(
                f"Input X contains infinity in column {name}; drop the column, or put a number in "
                "its place"
            )
        if missing.policy == "error" and gaps.any():
            name = name_of(block, block.first + int(np.argmax(gaps > 0)))
            raise InputError(
                f"Input X contains NaN (a missing value) in column {name}; say what missing values "
                "mean with missing='category' or 'delete' (--missing on the command line), fill "
                "the gaps, or drop the column"
            )
        return gaps, not_whole, tops
