"""Blocks of data that a source passes to a selector. Block boundaries never change a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError
from tamis.core.names import Names, gathered

Floats = npt.NDArray[np.float64]
Kind = Literal["unknown", "discrete", "continuous"]

#: Columns with more levels than this, on average, are numbers rather than categories.
MANY_LEVELS = 20
#: Columns with fewer rows per level than this are numbers, too.
ROWS_A_LEVEL = 5

#: Positions that are checked together.
PIECE = 1 << 16

#: Whole numbers up to this, positive or negative, may be stored as int8.
MOST_NARROW = 127

#: Marks a missing value for measures that skip them: an integer beyond any code.
GAP = 2.0**53


@dataclass(frozen=True, eq=False)
class Compressed:
    """Compressed sparse vectors: `indptr[j]:indptr[j+1]` of `indices` and `data` is vector j.

    As in SciPy's CSC and CSR matrices: columns in a `ColumnBlock` (indices are rows), rows in a
    `RowBlock` (indices are features). Indices increase strictly inside a vector; an index that is
    not listed holds 0, which is a value.
    """

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    data: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return int(self.indptr[-1] - self.indptr[0])

    def part(self, lo: int, hi: int) -> Compressed:
        """Return vectors lo to hi - 1, sharing memory."""
        first, last = int(self.indptr[lo]), int(self.indptr[hi])
        return Compressed(
            (self.indptr[lo : hi + 1] - first).astype(np.int64, copy=False),
            self.indices[first:last],
            self.data[first:last],
        )

    def widened(self) -> Compressed:
        """Return the vectors in the kernels' types: int64 indptr, int32 indices, float64 data."""
        return Compressed(
            self.indptr.astype(np.int64, copy=False),
            self.indices.astype(np.int32, copy=False),
            self.data.astype(np.float64, copy=False),
        )

    def pick(self, vectors: npt.NDArray[np.intp]) -> Compressed:
        """Return a copy of the given vectors, in the given order."""
        indptr, at = gathered(self.indptr, vectors)
        return Compressed(indptr, self.indices[at], self.data[at])


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Some columns of the data, all rows of each, in arrival order.

    Attributes
    ----------
    first : int
        Arrival number of the first column.
    n_rows : int
        Number of rows in every column.
    values : ndarray of shape (n_rows, width) in Fortran order, or Compressed
        The numbers, float64.
    names : Names or None
        Names of the columns; None if they are named by number.
    kind : {"unknown", "discrete", "continuous"}
        Kind of the values, if the source knows it.
    group : label, ndarray of labels or None
        The group of all columns, or one group per column, for selectors that use groups.
    is_text : ndarray of bool or None
        Which columns are coded text with three or more categories, whose codes have no order.
    width : int
        Number of columns; it follows from `values`.
    """

    first: int
    n_rows: int
    values: Floats | Compressed
    names: Names | None = None
    kind: Kind = "unknown"
    group: Any = None
    is_text: npt.NDArray[np.bool_] | None = None
    width: int = field(init=False)
    #: The numbers in a shorter type, if they are stored so. A copy with other values has none.
    narrow: npt.NDArray[Any] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        v = self.values
        width = len(v.indptr) - 1 if isinstance(v, Compressed) else v.shape[1]
        object.__setattr__(self, "width", width)
        if not isinstance(v, Compressed) and v.shape[0] != self.n_rows:
            raise InputError(
                f"a block of {v.shape[0]} rows was given where {self.n_rows} are expected"
            )
        if self.names is not None and len(self.names) != self.width:
            raise InputError(f"{len(self.names)} names were given for {self.width} columns")

    @classmethod
    def of(cls, columns: Any, first: int = 0, names: Names | None = None) -> ColumnBlock:
        """Make a block from a 2-d array, a 1-d array (one column) or a SciPy sparse matrix.

        Stored zeros, duplicate entries and unsorted indices of a sparse matrix are fixed in a copy;
        the input is never changed.
        """
        if isinstance(columns, ColumnBlock):
            return columns
        if hasattr(columns, "tocsc"):
            return cls(first, columns.shape[0], compressed_columns(columns).widened(), names)
        given = np.asanyarray(columns)
        refuse_unlike_numbers(given)
        dense = np.asarray(given, dtype=np.float64)
        if dense.ndim == 1:
            dense = dense.reshape(-1, 1)
        if dense.ndim != 2:
            raise InputError(
                f"expected a table of rows and columns, got an array of {dense.ndim} dimensions"
            )
        return cls(first, dense.shape[0], np.asfortranarray(dense), names)

    @classmethod
    def of_narrow(cls, first: int, narrow: npt.NDArray[Any], names: Names | None) -> ColumnBlock:
        """Make a block of float32, or of int8 without -128, in Fortran order.

        Its `values` are made when they are asked for; most columns are scored without them.
        """
        block = cls.__new__(cls)
        n_rows, width = narrow.shape
        vars(block).update(first=first, n_rows=n_rows, width=width, names=names, narrow=narrow)
        vars(block).update(kind="unknown", group=None, is_text=None)
        return block

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            narrow = vars(self).get("narrow")
            if name != "values" or narrow is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            values = vars(self)["values"] = np.asfortranarray(narrow, dtype=np.float64)
            return values

    @property
    def is_sparse(self) -> bool:
        """True for compressed columns."""
        return self.narrow is None and isinstance(self.values, Compressed)

    def part(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1, sharing memory."""
        names = None if self.names is None else self.names.part(lo, hi)
        if self.narrow is not None and self.group is None:
            return ColumnBlock.of_narrow(self.first + lo, self.narrow[:, lo:hi], names)
        v = self.values
        values = v.part(lo, hi) if isinstance(v, Compressed) else v[:, lo:hi]
        return self._some(slice(lo, hi), self.first + lo, values, names)

    def pick(self, columns: npt.NDArray[np.intp]) -> ColumnBlock:
        """Return a copy of some columns, at increasing positions; the block itself if all."""
        if len(columns) == self.width:
            return self
        v, names = self.values, None if self.names is None else self.names.pick(columns)
        if isinstance(v, Compressed):
            return self._some(columns, self.first, v.pick(columns), names)
        return self._some(columns, self.first, np.asfortranarray(v[:, columns]), names)

    def wide(self, columns: npt.NDArray[np.intp]) -> tuple[ColumnBlock, Any]:
        """Return a block that has the `values` of some columns, and where they are in it.

        That is the block itself unless only some of its numbers need be widened.
        """
        if self.narrow is None or "values" in vars(self) or len(columns) == self.width:
            return self, columns
        # Rows of the transposed array, because they are contiguous.
        values = self.narrow.T[columns].astype(np.float64).T
        return self._some(columns, self.first, values, None), np.arange(len(columns))

    def _some(
        self, at: slice | npt.NDArray[np.intp], first: int, values: Any, names: Names | None
    ) -> ColumnBlock:
        """Return a block of some of the columns, given their values and names."""
        is_text = None if self.is_text is None else self.is_text[at]
        group = self.group[at] if isinstance(self.group, np.ndarray) else self.group
        return ColumnBlock(first, self.n_rows, values, names, self.kind, group, is_text)

    def without_zeros(self) -> ColumnBlock:
        """Return the block without stored zeros, as measures expect; itself if it has none."""
        if self.narrow is not None:
            return self
        v = self.values
        if not isinstance(v, Compressed) or np.count_nonzero(v.data) == len(v.data):
            return self
        filled = v.data != 0
        kept_before = np.concatenate([[0], np.cumsum(filled)])
        left = Compressed(kept_before[v.indptr], v.indices[filled], v.data[filled])
        return replace(self, values=left)

    def count_gaps(self) -> tuple[int, int]:
        """Return the number of missing values, and of columns that have some."""
        gone = np.flatnonzero(np.isnan(self.entries))
        columns = np.searchsorted(self.spans, gone, side="right")
        return len(gone), len(np.unique(columns))

    @property
    def entries(self) -> Floats:
        """The stored numbers, flat, column by column."""
        if isinstance(self.values, Compressed):
            return self.values.data
        return self.values.reshape(-1, order="F")

    @property
    def flat(self) -> npt.NDArray[Any]:
        """The stored numbers, as `entries`, in the type they are stored in."""
        return self.entries if self.narrow is None else self.narrow.reshape(-1, order="F")

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """(flat, indptr, indices, data) for kernels: dense columns end to end, or compressed."""
        if isinstance(self.values, Compressed):
            return np.empty(0), self.values.indptr, self.values.indices, self.values.data
        return self.entries, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)

    @property
    def spans(self) -> npt.NDArray[np.int64]:
        """Where each column begins among the entries, and where the last one ends."""
        if self.narrow is None and isinstance(self.values, Compressed):
            return self.values.indptr.astype(np.int64, copy=False)
        return np.arange(self.width + 1, dtype=np.int64) * self.n_rows

    def column_of_entry(self, entry: int) -> int:
        """Return the arrival number of the column that holds stored number `entry`."""
        if self.narrow is None and isinstance(self.values, Compressed):
            inside = int(np.searchsorted(self.values.indptr, entry, side="right")) - 1
        else:
            inside = entry // max(self.n_rows, 1)
        return self.first + inside

    def row_of_entry(self, entry: int) -> int:
        """Return the row that holds stored number `entry`, counted from 0."""
        if isinstance(self.values, Compressed):
            return int(self.values.indices[entry])
        return entry % max(self.n_rows, 1)

    def name_of(self, column: int, prefix: str = "x", base: int = 0) -> str:
        """Return the name of the column with this arrival number, in quotes."""
        return repr(self.called(column, prefix, base))

    def called(self, column: int, prefix: str = "x", base: int = 0) -> str:
        """Return the name of the column with this arrival number.

        A column without a name is called `prefix` + (number + `base`).
        """
        if self.names is None:
            return f"{prefix}{column + base}"
        return self.names[column - self.first]


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows of the data, all features of each, in arrival order.

    Attributes
    ----------
    first : int
        Arrival number of the first row.
    n_columns : int or None
        Number of columns of the data; None if it is not known yet.
    values : ndarray of shape (rows, n_columns) in C order, or Compressed
        The numbers, float64.
    y : ndarray or None
        The targets of these rows.
    mark : str or None
        Position of the source after these rows, if it can resume from there.
    place : callable or None
        Returns the location of a row, such as ``'train.svm, line 7'``, for a source that knows
        more than the row number.
    """

    first: int
    n_columns: int | None
    values: Floats | Compressed
    y: npt.NDArray[Any] | None = None
    mark: str | None = None
    place: Callable[[int], str] | None = None

    def where(self, row: int) -> str:
        """Return the location of a row of the block, for messages."""
        return f"row {self.first + row}" if self.place is None else self.place(row)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def is_sparse(self) -> bool:
        """True for compressed rows."""
        return isinstance(self.values, Compressed)


def compressed_columns(matrix: Any) -> Compressed:
    """Return the canonical compressed columns of a SciPy matrix: sorted, no duplicates, no zeros.

    Arrays keep their types, and are shared with the matrix if it is already canonical.
    """
    refuse_broken(matrix)
    csc = matrix.tocsc()
    if not csc.has_canonical_format or np.count_nonzero(csc.data) != csc.data.size:
        csc = csc.copy()
        csc.sum_duplicates()
        csc.eliminate_zeros()
    return Compressed(csc.indptr, csc.indices, csc.data)


def refuse_unlike_numbers(array: Any, called: str = "X") -> None:
    """Raise an error for what NumPy would take for other numbers: masked values, dates, complex."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        n = int(np.count_nonzero(np.ma.getmaskarray(array)))
        remedy = "pass X.filled(np.nan) and say what missing values mean with missing=, or "
        raise InputError(
            f"{called} is a masked array with {n:,} masked values; "
            f"{remedy if called == 'X' else ''}fill them with numbers"
        )
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if isinstance(array, np.ndarray) and kind in "mM":
        what = "dates" if kind == "M" else "durations"
        raise InputError(
            f"{called} holds {what} ({array.dtype}); turn them into numbers first, for example "
            f"into days: ({called} - {called}.min()) / np.timedelta64(1, 'D')"
        )
    if kind == "V":
        raise InputError(
            f"{called} is a structured array; make a data frame of it: pandas.DataFrame({called})"
        )
    if kind == "c":
        raise InputError(
            f"{called} holds complex numbers: Complex data not supported; give real and imaginary "
            "parts, or absolute values, as columns of their own"
        )


def refuse_broken(matrix: Any) -> None:
    """Raise an error for what would crash SciPy, or be taken for something else.

    That is a SciPy matrix whose indices point outside it, and what `refuse_unlike_numbers` refuses.
    Anything else passes.
    """
    refuse_unlike_numbers(matrix)
    if not hasattr(matrix, "tocsc"):
        return
    shape, axes = tuple(matrix.shape), list[tuple[Any, int]]()
    if matrix.format in ("csr", "csc", "bsr"):
        height, width = getattr(matrix, "blocksize", (1, 1))
        vectors, n = shape[0] // height, shape[1] // width
        if matrix.format == "csc":
            vectors, n = n, vectors
        indptr, axes = matrix.indptr, [(matrix.indices, n)]
        fits = len(indptr) == vectors + 1 and indptr[0] == 0
        fits = fits and indptr[-1] <= min(len(matrix.indices), len(matrix.data))
        for lo in range(0, vectors, PIECE):  # in pieces that stay in the processor's cache
            piece = indptr[lo : lo + PIECE + 1]
            fits = fits and bool(np.all(piece[1:] >= piece[:-1]))
    elif matrix.format == "coo":
        # SciPy 1.12 has no coords yet.
        coords = getattr(matrix, "coords", None) or (matrix.row, matrix.col)
        axes = list(zip(coords, shape, strict=True))
        fits = all(len(indices) == len(matrix.data) for indices, _ in axes)
    else:  # their conversion is in Python, or checks indices
        return
    for indices, n in axes:
        fits = fits and (not len(indices) or (indices.min() >= 0 and indices.max() < n))
    if not fits:
        raise InputError(
            f"the {matrix.format.upper()} matrix of shape {shape} has indices that point outside "
            "it; build it again from its rows, columns and values (scipy.sparse.coo_matrix)"
        )


def has_no_order(block: ColumnBlock) -> npt.NDArray[np.bool_]:
    """Return which columns of a block are categories without an order."""
    if block.kind == "discrete":
        return np.ones(block.width, np.bool_)
    return np.zeros(block.width, np.bool_) if block.is_text is None else block.is_text


def most_levels(n_rows: int) -> float:
    """Return the number of levels above which columns are numbers rather than categories."""
    return min(MANY_LEVELS, n_rows / ROWS_A_LEVEL)


def group_labels(groups: Any, width: int) -> Any:
    """Return the label of each of `width` columns as an array, or one label for all."""
    labels = np.asarray(groups)
    if labels.ndim == 0:
        return labels.item()
    if labels.shape != (width,):
        raise InputError(
            f"groups of shape {labels.shape} were given for {width} columns; give one label for "
            "each column, or one for all"
        )
    refuse_missing_labels(labels)
    return labels


def refuse_missing_labels(labels: npt.NDArray[Any]) -> None:
    """Raise an error if a column has no group: NaN is not even equal to itself."""
    for column, label in enumerate(labels.ravel().tolist()):
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise InputError(
                f"groups gives no group to column {column} (counted from 0); give a label for each "
                "column"
            )


def with_group(block: ColumnBlock, labels: Any, first: int) -> ColumnBlock:
    """Return the block with the group of each column; `labels` begin at column `first`."""
    if isinstance(labels, np.ndarray):
        lo = block.first - first
        labels = labels[lo : lo + block.width]
    return replace(block, group=labels)
