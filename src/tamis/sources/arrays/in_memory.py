"""Data in memory: NumPy, scipy.sparse, pandas, polars, Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import (
    MOST_NARROW,
    ColumnBlock,
    Compressed,
    compressed_columns,
    refuse_broken,
)
from tamis.core.errors import InputError, warn
from tamis.core.names import Names
from tamis.core.sentences import suggestion
from tamis.kernels.compressed_checks import first_broken
from tamis.kernels.scan import scan
from tamis.kernels.turn import shorten, turn
from tamis.sources.base import ColumnSource
from tamis.sources.tables.dates import days, note_left_out, warn_of_dates
from tamis.sources.tables.table_columns import (
    as_words,
    coded,
    floats,
    listed,
    row_labels,
    sorted_words,
)
from tamis.sources.text.units import warn_of_numbers


def is_frame(data: Any) -> bool:
    """Return True for pandas, polars (lazy too) and Arrow tables, and objects that stream Arrow."""
    import narwhals as nw

    known = nw.dependencies
    if known.is_polars_lazyframe(data) or known.is_into_dataframe(data):
        return True
    streams = hasattr(data, "__arrow_c_stream__") and not isinstance(data, np.ndarray)
    return streams and not known.is_into_series(data)


def is_series(data: Any) -> bool:
    """Return True for a pandas or polars series."""
    import narwhals as nw

    return bool(nw.dependencies.is_into_series(data))


def table_of_words(X: Any) -> Any:
    """Return an array of objects or text as an Arrow table, or None if it holds numbers only.

    Such an array is what `frame.values` gives of a data frame with words. A column whose values
    all are numbers becomes numbers, as in `numpy.asarray(X, dtype=float)`, and any other one text.
    """
    import pyarrow as pa

    if not (isinstance(X, np.ndarray) and X.dtype.kind in "OU" and X.ndim == 2):
        return None
    columns = [_numbers_or_words(column) for column in X.T]
    if all(column.dtype != object for column in columns):
        return None
    return pa.table({f"x{j}": pa.array(column) for j, column in enumerate(columns)})


def _numbers_or_words(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column of objects as floats, or with None for gaps as text or dates."""
    pandas_gaps = ("NAType", "NaTType")
    gaps = np.array([v is None or v is np.nan or type(v).__name__ in pandas_gaps for v in column])
    column = column.astype(object)
    column[gaps] = None
    try:
        return column.astype(np.float64)
    except ValueError:
        column[~gaps] = [str(value) for value in column[~gaps]]
        return column
    except TypeError:
        if all(hasattr(value, "isoformat") for value in column[~gaps]):
            return column
        raise


def one_column(series: Any, names: Names | None) -> tuple[Any, Names | None]:
    """Return a series as a table of one column, with its name unless another is given."""
    import narwhals as nw

    column = nw.from_native(series, series_only=True)
    if names is None and column.name:
        names = Names.of([column.name])
    return column.alias("column").to_frame().to_native(), names


class MemorySource(ColumnSource):
    """Columns of data in memory.

    Parameters
    ----------
    X : array, scipy sparse matrix, pandas/polars DataFrame or Arrow table
        The features. Sparse rows (CSR) are converted once. Data frame columns may hold numbers,
        Booleans, or text and categories, which become codes. The index of a pandas table is not a
        feature, even if it became a column of an Arrow table.
    y : array-like, optional
        The target.
    names : iterable of str, optional
        Names of the columns; data frames have their own.
    first : int, default=0
        Arrival number of the first column.
    dates : {"error", "ignore", "number"}, optional
        Refuse columns of dates in a data frame (the default), leave them out, or take them as days
        since 1970. None leaves them out with a warning.
    """

    format: ClassVar[str] = "memory"
    n_rows: int = 0
    n_columns: int = 0
    stored: int | None = None
    #: Where the features are in a data frame, if dates among its columns were left out.
    positions: npt.NDArray[np.int64] | None = None
    #: The words of columns of a data frame, if their codes are those of another one.
    known_words: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        names: Iterable[object] | None = None,
        first: int = 0,
        dates: Literal["error", "ignore", "number"] | None = "error",
    ) -> None:
        import scipy.sparse as sp

        self._first, self._names = first, None if names is None else Names.of(names)
        self._y = None if y is None else np.asarray(y)
        self._frame: Any = None
        self._matrix: Any = None
        if (table := table_of_words(X)) is not None:
            X = table
        if is_frame(X):
            frame = _decimals_as_numbers(_as_frame(X))
            self._frame = frame if dates == "error" else _without_dates(frame, dates)
            if len(self._frame.columns) < len(frame.columns):
                taken = set(self._frame.columns)
                self.positions = np.flatnonzero([name in taken for name in frame.columns])
            shape = (len(self._frame), len(self._frame.columns))
            if names is None:
                self._names = Names.of(self._frame.columns)
            X = _sparse_matrix(self._frame)
        if sp.issparse(X):
            # The only conversion: canonical compressed columns, shared with X if it has them.
            self._matrix, shape = compressed_columns(X), X.shape
            self.stored = self._matrix.stored
        elif self._frame is not None:
            pass
        else:
            refuse_broken(X)
            self._matrix = np.asarray(X)
            shape = self._matrix.shape
            if len(shape) != 2:
                raise InputError(
                    f"expected a table of rows and columns, got an array of {len(shape)} "
                    "dimensions; use reshape(-1, 1) for one column"
                )
        self.n_rows, self.n_columns = int(shape[0]), int(shape[1])
        if self._names is not None and len(self._names) != self.n_columns:
            raise InputError(f"{len(self._names)} names were given for {self.n_columns} columns")
        if self._y is not None and len(self._y) != self.n_rows:
            raise InputError(
                f"X has {self.n_rows} rows but y has {len(self._y)}: inconsistent numbers of "
                "samples; give one target value for each row"
            )

    def names(self) -> Names | None:
        """Return the names of the columns, if they have any."""
        return self._names

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the sorted words of each column of text of a data frame."""
        words = {} if self._frame is None else _words_in(self._frame)
        return {str(name): known.to_pylist() for name, known in words.items()}

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        return None if self._y is not None else "give one with y="

    def target(self) -> npt.NDArray[Any] | None:
        """Return the given target."""
        return self._y

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns of a data frame."""
        return None if self._frame is None else [str(name) for name in self._frame.columns]

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of one column of a data frame, or None if it does not exist."""
        if self._frame is None or name not in self._frame.columns:
            return None
        found: npt.NDArray[Any] = self._frame.get_column(name).to_numpy()
        return found

    def whole(self) -> ColumnBlock:
        """Return everything as one block."""
        return self.read(0, self.n_columns)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return a scipy CSC matrix or an array, and the target."""
        import scipy.sparse as sp

        if isinstance(self._matrix, Compressed):
            m, shape = self._matrix, (self.n_rows, self.n_columns)
            return sp.csc_matrix((m.data, m.indices, m.indptr), shape=shape), self._y
        return (self._matrix if self._frame is None else self.whole().values), self._y

    def fingerprint(self) -> str:
        """Return a short hash of the shape and the values."""
        digest = hashlib.blake2b(repr((self.n_rows, self.n_columns)).encode(), digest_size=8)
        # Blocks are widened: the same numbers stored as other types have the same fingerprint.
        for block in self.columns():
            v = block.values
            arrays = (v.indptr, v.indices, v.data) if isinstance(v, Compressed) else (v.T,)
            for array in arrays:
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1; compressed ones share the memory of the matrix."""
        names = None if self._names is None else self._names.part(lo, hi)
        first = self._first + lo
        if isinstance(self._matrix, Compressed):
            part = self._matrix.part(lo, hi)
            if (broken := first_broken(part.indptr, part.indices, self.n_rows)) >= 0:
                raise InputError(
                    f"the row numbers of column {lo + broken} do not rise from 0 to "
                    f"{self.n_rows - 1}; call sum_duplicates() of the matrix"
                )
            refuse_rounding(part.data, f"columns {lo} to {hi - 1}")
            return ColumnBlock(first, self.n_rows, part.widened(), names)
        if self._frame is not None:
            values, all_categories, words = _frame_values(self._frame, lo, hi, self.known_words)
            kind: Any = "discrete" if all_categories else "unknown"
            return ColumnBlock(first, self.n_rows, values, names, kind, is_text=words)
        if (narrow := _narrow(self._matrix, lo, hi)) is not None:
            return ColumnBlock.of_narrow(first, narrow, names)
        try:
            dense = _in_columns(self._matrix[:, lo:hi], np.dtype(np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"columns {lo} to {hi - 1} hold something that is not a number: {error}"
            ) from error
        wide = self._matrix.dtype.kind in "iu" and self._matrix.dtype.itemsize == 8
        # The numbers nearest to 2^53 may be that after rounding, so the integers decide.
        if wide and scan(dense.reshape(-1, order="F"), 2.0**53 - 1)[2] >= 0:
            refuse_rounding(self._matrix[:, lo:hi], f"columns {lo} to {hi - 1}")
        return ColumnBlock(first, self.n_rows, dense, names)


#: Tables with fewer numbers are copied by NumPy: a kernel is not worth compiling.
_MANY = 1 << 17


def _narrow(table: npt.NDArray[Any], lo: int, hi: int) -> npt.NDArray[Any] | None:
    """Return columns lo to hi - 1 as float32 or int8 if they are, or are small whole numbers."""
    kind = table.dtype
    if kind == np.float32:
        return _in_columns(table[:, lo:hi], kind)
    if kind.kind not in "biu" or not kind.isnative:
        return None
    part = table[:, lo:hi].view(np.int8) if kind.kind == "b" else table[:, lo:hi]
    if not _are_short(part[:8]):  # nearly always the first rows decide
        return None
    if kind == np.int64 and (shortened := _shortened(part)) is not None:
        return _in_columns(shortened, shortened.dtype) if shortened.size else None
    return _in_columns(part, np.dtype(np.int8)) if _are_short(part) else None


def _are_short(part: npt.NDArray[Any]) -> bool:
    return not part.size or (part.min() >= -MOST_NARROW and part.max() <= MOST_NARROW)


def _shortened(part: npt.NDArray[Any]) -> npt.NDArray[np.int8] | None:
    """Return int64 as int8 in the same order; empty if it is too large, None if NumPy is to do it.

    NumPy would read it three times.
    """
    runs, transposed = _runs(part), False
    if runs is None:
        runs, transposed = _runs(part.T), True
    if runs is None:
        return None
    short = np.empty(part.T.shape if transposed else part.shape, np.int8)
    if not shorten(*runs, *short.shape, short.reshape(-1)):
        return np.empty((0, 0), np.int8)
    return short.T if transposed else short


def _in_columns(part: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """Return a table in Fortran order, in this type."""
    runs = _runs(part) if part.dtype == kind and part.dtype.isnative else None
    if runs is None:
        return np.asfortranarray(part, dtype=kind)
    n, width = part.shape
    columns = np.empty((width, n), kind)
    turn(*runs, n, width, columns.reshape(-1))
    return columns.T


def _runs(part: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int] | None:
    """Return the memory of a large table that lies row by row, and how far apart rows are.

    That is from its first to its last number, whatever else is between its rows.
    """
    (n, width), (step, beside), size = part.shape, part.strides, part.itemsize
    if part.size < _MANY or width < 2 or beside != size or step % size or step < width * size:
        return None
    length = (n - 1) * (step // size) + width
    held = np.lib.stride_tricks.as_strided(part, (length,), (size,), writeable=False)
    return held, step // size


#: How columns of dates of a data frame become features.
_AS_DAYS = "tamis.open(frame, dates='number') to tamis.select"


def _as_frame(data: Any) -> Any:
    """Return a narwhals frame; lazy frames and Arrow streams are read into a table first."""
    import narwhals as nw

    try:
        frame = nw.from_native(as_table(data), eager_only=True)
        frame.columns  # noqa: B018  (narwhals checks for duplicate names here)
    except nw.exceptions.DuplicateError as error:
        details = " ".join(str(error).split())
        raise InputError(
            f"two columns have the same name; rename one of them ({details})"
        ) from error
    if frame.columns and isinstance(frame.columns[0], tuple):
        raise InputError(
            f"the columns have names of several levels, such as {frame.columns[0]!r}; join them "
            "first: X.columns = ['_'.join(map(str, name)) for name in X.columns]"
        )
    return frame


def warn_of_order(X: Any, y: Any) -> None:
    """Warn if a table and a target of pandas have the same row labels in another order."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(y, "index", None)
    if not (hasattr(ours, "equals") and hasattr(theirs, "isin")) or len(ours) != len(theirs):
        return
    if not ours.equals(theirs) and theirs.isin(ours).all() and ours.isin(theirs).all():
        warn(
            "X and y have the same row labels in another order, and rows are matched by position; "
            "if labels say which rows belong together, give y.reindex(X.index)"
        )


def _decimals_as_numbers(frame: Any) -> Any:
    """Return a frame of which columns of Decimal objects are numbers."""
    import narwhals as nw

    made = []
    for name in [name for name, dtype in frame.schema.items() if dtype == nw.Object]:
        series = frame.get_column(name)
        kinds = {type(v) for v in series.to_list() if v is not None and v == v}
        if kinds and kinds <= {Decimal, int, float} and Decimal in kinds:
            numbers = [np.nan if v is None else float(v) for v in series.to_list()]
            made.append(nw.new_series(name, numbers, nw.Float64, backend=frame.implementation))
    return frame.with_columns(*made) if made else frame


def _without_dates(frame: Any, dates: str | None) -> Any:
    """Return a frame without columns of dates, or with their days since 1970."""
    import narwhals as nw

    temporal = (nw.Datetime, nw.Date, nw.Time, nw.Duration)
    found = [name for name, dtype in frame.schema.items() if dtype in temporal]
    if not found:
        return frame
    if dates == "number":
        implementation = nw.get_native_namespace(frame)
        made = []
        for name in found:
            numbers = floats(days(frame.get_column(name).to_arrow()))
            made.append(nw.new_series(name, numbers, nw.Float64, backend=implementation))
        return frame.with_columns(*made)
    if len(found) == len(frame.columns):
        raise InputError(
            f"the data has only dates ({listed(found)}); to use dates as numbers (days), give "
            f"{_AS_DAYS}"
        )
    if dates is None:
        note_left_out("the data", found, _AS_DAYS)
    return frame.drop(found)


def picked_columns(data: Any, columns: list[int], kind: str | None = None) -> Any:
    """Return some columns of a data frame, unchanged, as the same or another kind of data frame.

    `kind` is "pandas" or "polars"; by default it stays the same.
    """
    import narwhals as nw

    if not columns and nw.dependencies.is_pandas_dataframe(data) and kind in (None, "pandas"):
        return data.iloc[:, []]  # narwhals would forget the rows
    picked = _as_frame(data)[:, columns]
    if kind == "pandas":
        return picked.to_pandas()
    return picked.to_polars() if kind == "polars" else picked.to_native()


def has_column(data: Any, name: str) -> bool:
    """Return whether data is a data frame with a column of this name."""
    return is_frame(data) and name in map(str, _as_frame(data).columns)


def split_target(data: Any, name: str) -> tuple[Any, Any]:
    """Return a data frame without one of its columns, and that column."""
    frame = _as_frame(data)
    found = next((column for column in frame.columns if str(column) == name), None)
    if found is None:
        near = suggestion(name, list(map(str, frame.columns)), "it has")
        raise InputError(f"the data has no column {name!r} to be the target; {near}")
    if len(frame.columns) == 1:
        raise InputError(f"the data has no column besides the target {name!r}; give features")
    return frame.drop(found).to_native(), frame.get_column(found).to_native()


def as_table(data: Any) -> Any:
    """Read a lazy frame or an Arrow stream into a table; return anything else unchanged.

    A former pandas index is removed from an Arrow table.
    """
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(data):
        return data.collect()
    if is_frame(data) and not nw.dependencies.is_into_dataframe(data):
        import pyarrow as pa

        data = pa.table(data)
    if not nw.dependencies.is_pyarrow_table(data):
        return data
    labels = row_labels(data.schema.names, data.schema.metadata)
    return data.drop_columns(labels) if labels else data


def refuse_rounding(values: Any, what: str) -> None:
    """Raise a one-sentence error for integers that floats cannot represent exactly."""
    wide = values.dtype.kind in "iu" and values.dtype.itemsize == 8
    if wide and values.size and max(int(values.max()), -int(values.min())) > 2**53:
        raise InputError(
            f"{what} hold whole numbers beyond 2^53, which floats cannot represent exactly; leave "
            "identifiers out, or renumber them"
        )


def frame_words(data: Any) -> dict[str, Any]:
    """Return the sorted words of each column of a data frame that holds text or categories."""
    return _words_in(_as_frame(data))


def _words_in(frame: Any) -> dict[str, Any]:
    found = {}
    for name in frame.columns:
        series = frame.get_column(name)
        if _is_words(series.dtype):
            found[name] = sorted_words(_text(series))
    return found


def _is_words(dtype: Any) -> bool:
    import narwhals as nw

    return dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)


def _is_sparse(series: Any) -> bool:
    """Return whether a column of a data frame is a sparse one of pandas."""
    return hasattr(series.to_native(), "sparse") and hasattr(series.to_native().dtype, "fill_value")


def _sparse_matrix(frame: Any) -> Any:
    """Return a data frame as a sparse matrix if its columns are, with one kind of number."""
    if not frame.columns or not all(_is_sparse(frame.get_column(name)) for name in frame.columns):
        return None
    dtypes = set(frame.to_native().dtypes)
    if len(dtypes) > 1 or any(dtype.fill_value != 0 for dtype in dtypes):
        return None  # column by column
    return frame.to_native().sparse.to_coo()


def _frame_values(
    frame: Any, lo: int, hi: int, known: Mapping[str, Any] = MappingProxyType({})
) -> tuple[npt.NDArray[np.float64], bool, npt.NDArray[np.bool_]]:
    """Return columns lo..hi-1 as numbers, whether all are categories, and which are text.

    `known` are the words of columns, if their codes are given; other words have one code more.
    """
    import narwhals as nw

    words = np.zeros(hi - lo, dtype=np.bool_)
    values = np.empty((len(frame), hi - lo), dtype=np.float64, order="F")
    all_categories = True
    for j, name in enumerate(frame.columns[lo:hi]):
        series = frame.get_column(name)  # frame[0] would be a row if names are numbers
        if _is_sparse(series):
            dense = series.to_native().sparse.to_dense()
            series = nw.from_native(dense, series_only=True)
        dtype = series.dtype
        if dtype == nw.Boolean or dtype.is_numeric():
            all_categories &= dtype == nw.Boolean
            gaps = series.null_count() > 0
            column = (series.cast(nw.Float64) if gaps else series).to_numpy()
            if column.dtype == object:  # nullable numbers of pandas before 2.2
                column = np.where(series.is_null().to_numpy(), np.nan, column).astype(np.float64)
            refuse_rounding(column, f"values of column {name!r}")
            values[:, j] = column
        elif _is_words(dtype):
            values[:, j] = _codes(series, known.get(name), f"column {name!r}")
            # Two categories are a flag: the order of their codes does not matter.
            words[j] = np.fmax.reduce(values[:, j], initial=0.0) > 1
        else:
            kind = series.to_native().dtype if dtype == nw.Unknown else dtype
            raise InputError(
                f"column {name!r} is of type {kind}, which is neither a number nor a category; "
                "convert it or leave it out"
            )
    return values, all_categories, words


def _codes(series: Any, words: Any, where: str) -> npt.NDArray[np.float64]:
    """Return codes of text or categories, by sorted value; NaN if missing.

    Words that are not among the given ones have the code that follows them.
    """
    import narwhals as nw

    text = _text(series)
    if words is None:
        words = sorted_words(text)
        if series.dtype in (nw.String, nw.Object):
            warn_of_numbers(words, where)
            as_dates = "convert them to dates (pandas.to_datetime), or leave the column out"
            warn_of_dates(words, where, as_dates)
        return coded(text, words)
    codes = coded(text, words)
    unknown = np.isnan(codes) & ~np.asarray(text.is_null())
    return np.where(unknown, float(len(words)), codes)


def frame_as_arrow(data: Any) -> Any:
    """Return a data frame as an Arrow table, columns of any objects or categories as text."""
    import narwhals as nw
    import pyarrow as pa

    frame = _decimals_as_numbers(_as_frame(data))
    objects = (nw.Object, nw.Categorical, nw.Enum)
    series = {name: frame.get_column(name) for name in frame.columns}
    return pa.table(
        {str(name): _text(s) if s.dtype in objects else s.to_arrow() for name, s in series.items()}
    )


def _text(series: Any) -> Any:
    """Return text or categories as an Arrow column of words."""
    import narwhals as nw
    import pyarrow as pa

    if series.dtype == nw.Object:
        return as_words(
            pa.array([None if v != v or v is None else str(v) for v in series.to_list()])
        )
    column = series.to_arrow()
    try:
        return as_words(column)
    except pa.ArrowNotImplementedError:  # intervals, as of pandas.cut
        words = [None if word is None else str(word) for word in column.dictionary.to_pandas()]
        return pa.array(words, pa.large_string()).take(column.indices)
