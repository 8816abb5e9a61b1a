"""Data in memory: every container gives the same blocks, and is not changed."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import tamis
from tamis import SAOLA
from tamis.core.blocks import Compressed
from tamis.core.errors import DataWarning, InputError, ParameterError
from tamis.core.names import Names
from tamis.sources.arrays.in_memory import MemorySource, is_frame
from tamis.sources.axis import to_rows

RNG = np.random.default_rng(0)
TABLE = np.where(RNG.random((23, 11)) < 0.4, RNG.integers(-3, 4, (23, 11)), 0)
NAMES = [f"c{j}" for j in range(10)] + ["🧬 'odd'"]


def with_index(matrix, dtype):
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    return matrix


def frame_dict():
    return {name: TABLE[:, j] for j, name in enumerate(NAMES)}


CONTAINERS = {
    "C order": lambda: np.ascontiguousarray(TABLE, dtype=float),
    "F order": lambda: np.asfortranarray(TABLE, dtype=float),
    "ints": lambda: TABLE.astype(np.int16),
    "float32": lambda: TABLE.astype(np.float32),
    "a view": lambda: np.repeat(np.repeat(TABLE, 2, axis=0), 3, axis=1)[::2, ::3],
    "lists": lambda: TABLE.tolist(),
    "CSR": lambda: sp.csr_matrix(TABLE),
    "CSC": lambda: sp.csc_matrix(TABLE.astype(float)),
    "COO": lambda: sp.coo_array(TABLE),
    "CSC with int64": lambda: with_index(sp.csc_matrix(TABLE), np.int64),
    "CSR with int64": lambda: with_index(sp.csr_array(TABLE.astype(float)), np.int64),
    "pandas": lambda: pd.DataFrame(frame_dict()),
    "pandas nullable": lambda: pd.DataFrame(frame_dict()).astype("Int64"),
    "pandas arrow": lambda: pd.DataFrame(frame_dict()).astype("int64[pyarrow]"),
    "polars": lambda: pl.DataFrame(frame_dict()),
    "Arrow": lambda: pa.table(frame_dict()),
}
every_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())


def dense(values, n_rows):
    if not isinstance(values, Compressed):
        return values
    csc = (values.data, values.indices, values.indptr)
    return sp.csc_matrix(csc, shape=(n_rows, len(values))).toarray()


@every_container
@pytest.mark.parametrize("width", [None, 1, 4, 11, 500])
def test_blocks_of_every_width_hold_the_table(make, width):
    source = MemorySource(make(), first=100)
    blocks = list(source.columns(width))
    assert (source.n_rows, source.n_columns) == TABLE.shape
    assert np.array_equal(np.hstack([dense(b.values, 23) for b in blocks]), TABLE)
    firsts = np.cumsum([100, *(b.width for b in blocks)])
    assert [b.first for b in blocks] == firsts[:-1].tolist()
    assert all(b.width == (width or 11) for b in blocks[:-1])
    for block in blocks:
        if block.is_sparse:
            v = block.values
            types = (v.indptr.dtype, v.indices.dtype, v.data.dtype)
            assert types == (np.int64, np.int32, np.float64)
        else:
            assert block.values.dtype == np.float64
            assert block.values.flags.f_contiguous
    assert np.array_equal(dense(source.whole().values, 23), TABLE)


@every_container
@pytest.mark.parametrize("size", [None, 1, 5, 500])
def test_blocks_of_rows_of_every_size_hold_the_table(make, size):
    y = np.arange(23)
    blocks = list(to_rows(MemorySource(make(), y)).batches(size))
    for block in blocks:
        values = block.values.data if block.is_sparse else block.values
        assert values.dtype == np.float64
    rows = [
        dense(b.values, 11).T if b.is_sparse else b.values  # compressed vectors are rows here
        for b in blocks
    ]
    assert np.array_equal(np.vstack(rows), TABLE)
    assert np.concatenate([b.y for b in blocks]).tolist() == y.tolist()
    assert [b.first for b in blocks] == np.cumsum([0, *(b.height for b in blocks)])[:-1].tolist()
    assert {b.n_columns for b in blocks} == {11}


def content(data) -> str:
    """A hash of every number held, their order and their types."""
    held = [data]
    if sp.issparse(data):
        held = [getattr(data, a, None) for a in ("data", "indices", "indptr", "row", "col")]
    elif isinstance(data, pd.DataFrame):
        # Pickled, a pandas frame would hold its caches too.
        held = [data.to_dict("list"), data.dtypes.astype(str).tolist()]
    return hashlib.sha256(pickle.dumps(held)).hexdigest()


@every_container
def test_the_given_data_is_never_changed(make):
    data = make()
    before = content(data)
    source = MemorySource(data, np.arange(23) % 2)
    list(source.columns(3))
    list(to_rows(source).batches(3))
    source.info()
    source.load()
    SAOLA().fit(data, np.arange(23) % 2)
    assert content(data) == before


@every_container
def test_equal_data_have_equal_fingerprints_and_other_data_others(make):
    data = make()
    info = MemorySource(data).info()
    twin = sp.csc_matrix(TABLE) if sp.issparse(data) else TABLE
    assert info.fingerprint == MemorySource(twin).info().fingerprint
    assert info.layout == ("sparse" if sp.issparse(data) else "dense")
    assert info.stored == (np.count_nonzero(TABLE) if sp.issparse(data) else None)
    changed = TABLE.copy()
    changed[22, 10] += 1
    for other in (changed, TABLE[::-1], TABLE[:, :10]):
        again = sp.csc_matrix(other) if sp.issparse(data) else other
        assert info.fingerprint != MemorySource(again).info().fingerprint


def test_tables_of_zeros_differ_by_shape():
    shapes = [(2, 6), (6, 2), (3, 4), (0, 3), (3, 0)]
    for layout in (np.zeros, sp.csc_matrix):
        prints = {MemorySource(layout(shape)).info().fingerprint for shape in shapes}
        assert len(prints) == len(shapes)


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow"])
def test_frames_keep_their_names_in_every_block(kind):
    source = MemorySource(CONTAINERS[kind]())
    names = [name for block in source.columns(4) for name in block.names]
    assert names == NAMES
    given = Names.of(f"n{j}" for j in range(11))
    renamed = MemorySource(CONTAINERS[kind](), names=given).whole()
    assert list(renamed.names) == list(given)


def test_arrays_have_no_names_of_their_own():
    assert MemorySource(TABLE).whole().names is None
    assert MemorySource(sp.csc_matrix(TABLE)).whole().names is None


def test_a_frame_whose_names_are_numbers_is_read_by_columns():
    block = MemorySource(pd.DataFrame(TABLE)).whole()
    assert np.array_equal(block.values, TABLE)
    assert list(block.names) == [str(j) for j in range(11)]
    backwards = pd.DataFrame(TABLE, columns=range(10, -1, -1))
    assert np.array_equal(MemorySource(backwards).whole().values, TABLE)


WORDS = ["pear", "apple", "", "pear", "🍐"]
CODES = [2.0, 1.0, 0.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"w": WORDS}),
        pd.DataFrame({"w": pd.Series(WORDS, dtype=object)}),
        pd.DataFrame({"w": pd.Categorical(WORDS, categories=["🍐", "pear", "apple", ""])}),
        pl.DataFrame({"w": WORDS}),
        pl.DataFrame({"w": WORDS}, schema={"w": pl.Categorical}),
        pl.DataFrame({"w": WORDS}, schema={"w": pl.Enum(["🍐", "pear", "apple", ""])}),
        pa.table({"w": WORDS}),
        pa.table({"w": pa.array(WORDS).dictionary_encode()}),
    ],
    ids=lambda f: type(f).__module__.split(".")[0],
)
def test_text_and_categories_become_codes_in_sorted_order(frame):
    block = MemorySource(frame).whole()
    assert block.values[:, 0].tolist() == CODES
    assert block.kind == "discrete"


def test_booleans_are_zero_and_one_and_numbers_make_a_block_of_unknown_kind():
    for frame in (pd.DataFrame({"t": [True, False]}), pl.DataFrame({"t": [True, False]})):
        block = MemorySource(frame).whole()
        assert (block.values[:, 0].tolist(), block.kind) == ([1.0, 0.0], "discrete")
    mixed = MemorySource(pl.DataFrame({"t": [True, False], "x": [1, 2]}))
    assert mixed.whole().kind == "unknown"
    assert MemorySource(np.array([[True], [False]])).whole().values.tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2, 3], "gap 'b'": pd.array([1, None, 3], dtype="Int64")}),
        pd.DataFrame({"a": [1, 2, 3], "gap 'b'": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"a": [1, 2, 3], "gap 'b'": [1.0, np.nan, 2.0]}),
        pd.DataFrame({"a": [1, 2, 3], "gap 'b'": ["u", None, "v"]}),
        pd.DataFrame({"a": [1, 2, 3], "gap 'b'": pd.Categorical(["u", None, "v"])}),
        pl.DataFrame({"a": [1, 2, 3], "gap 'b'": [1, None, 2]}),
        pl.DataFrame({"a": [1, 2, 3], "gap 'b'": ["u", None, "v"]}),
        pa.table({"a": [1, 2, 3], "gap 'b'": [True, None, False]}),
    ],
)
def test_a_missing_value_is_refused_with_the_name_of_its_column(frame):
    with pytest.raises(InputError, match=r"Input X contains NaN .*in column \"gap 'b'\", row 1 "):
        SAOLA().fit(frame, [0, 1, 0])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MemorySource(np.zeros(3)), "expected a table of rows and columns"),
        (lambda: MemorySource(pl.Series([1, 2])), "an array of 1 dimensions"),
        (lambda: MemorySource(TABLE, names=Names.of("ab")), "2 names were given for 11 columns"),
        (lambda: MemorySource(TABLE, [0, 1]), "X has 23 rows but y has 2"),
        (lambda: MemorySource(np.array([[b"a"]])).whole(), "columns 0 to 0 hold something that is"),
        (
            lambda: MemorySource(pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])})).whole(),
            "column 'day' is of type Datetime",
        ),
        (
            lambda: MemorySource(pd.DataFrame([[1, 2]], columns=["a", "a"])),
            "two columns have the same name",
        ),
    ],
)
def test_what_cannot_be_a_table_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_an_object_with_only_an_arrow_stream_is_a_frame_and_arrays_are_not():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(frame_dict()).__arrow_c_stream__(requested_schema)

    assert is_frame(Stream())
    assert np.array_equal(MemorySource(Stream()).whole().values, TABLE)
    assert not is_frame(TABLE)
    assert not is_frame(sp.csc_matrix(TABLE))
    assert not is_frame(pl.Series([1]))


def test_loading_everything_gives_the_data_and_shares_canonical_columns():
    y = np.arange(23) % 3
    matrix = sp.csc_matrix(TABLE.astype(float))
    loaded, target = MemorySource(matrix, y).load()
    assert np.shares_memory(loaded.data, matrix.data)
    assert np.array_equal(loaded.toarray(), TABLE)
    assert target is y
    assert np.array_equal(MemorySource(pl.DataFrame(frame_dict())).load()[0], TABLE)
    assert np.shares_memory(MemorySource(matrix).whole().values.data, matrix.data)


def test_progress_is_reported_in_columns_and_in_rows():
    steps = []
    source = MemorySource(TABLE, np.arange(23) % 2)
    list(source.columns(4, progress=lambda *step: steps.append(step)))
    list(to_rows(source).batches(10, progress=lambda *step: steps.append(step)))
    assert steps == [
        ("reading columns", 4, 11), ("reading columns", 8, 11), ("reading columns", 11, 11),
        ("reading rows", 10, 23), ("reading rows", 20, 23), ("reading rows", 23, 23),
    ]  # fmt: skip
    assert source.info().target == "2 classes: 0 (12), 1 (11)"


def test_every_kind_of_table_in_memory_gives_the_same_numbers():
    import polars as pl

    plain = {
        "n": [1.5, None, 3.0],
        "i": [1, 2, None],
        "w": ["b", None, "a"],
        "f": [True, False, None],
    }
    nan = np.nan
    want = np.array([[1.5, 1, 1, 1], [nan, 2, nan, 0], [3, nan, 0, nan]])
    arrow = pa.table(plain)
    nullable = pd.DataFrame(
        {
            "n": pd.array(plain["n"], "Float64"),
            "i": pd.array(plain["i"], "Int64"),
            "w": pd.Categorical(["b", None, "a"], ["b", "unused", "a"]),
            "f": pd.array(plain["f"], "boolean"),
        }
    )
    tables = [
        arrow,
        arrow.to_reader(max_chunksize=1),
        arrow.to_batches()[0],
        pl.DataFrame(plain),
        pl.LazyFrame(plain),
        pl.DataFrame(plain).with_columns(pl.col("w").cast(pl.Categorical)),
        nullable,
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame(plain | {"f": [1.0, 0.0, None]}),
        pd.DataFrame(plain | {"f": [1.0, 0.0, None]}).astype({"w": object}),
    ]
    for table in tables:
        block = MemorySource(table).whole()
        assert np.array_equal(block.values, want, equal_nan=True), type(table)
        assert list(block.names) == ["n", "i", "w", "f"]
        assert block.is_text.tolist() == [False] * 4
    from tamis.sources import open_source

    assert open_source(arrow.to_reader(), y=[0, 1, 1]).format == "memory"


@pytest.mark.parametrize("name", ["patient", None])
def test_the_index_of_a_pandas_table_is_not_a_feature_of_an_arrow_table(name):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    index = pd.Index(y + 7.0, name=name)  # would be the best feature of all
    frame = pd.DataFrame({"a": rng.normal(size=60) + y, "b": rng.normal(size=60)}, index=index)
    table = pa.Table.from_pandas(frame)
    assert table.num_columns == 3
    source = MemorySource(table)
    assert list(source.whole().names) == ["a", "b"]
    np.testing.assert_array_equal(source.whole().values, frame.to_numpy())

    found = SAOLA().fit(table, y)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert found.get_feature_names_out().tolist() == ["a"]
    np.testing.assert_array_equal(found.transform(table), frame[["a"]].to_numpy())
    np.testing.assert_array_equal(found.transform(frame), frame[["a"]].to_numpy())
    found.set_output(transform="pandas")
    pd.testing.assert_frame_equal(found.transform(frame), frame[["a"]])


def test_a_column_that_was_not_an_index_stays_in_an_arrow_table():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    for table in (pa.Table.from_pandas(frame), pa.table(dict(frame))):
        assert MemorySource(table).n_columns == 2


def test_sparse_columns_of_pandas_are_a_sparse_matrix_with_names():
    rng = np.random.default_rng(0)
    Z = rng.integers(1, 4, size=(30, 5)) * (rng.random((30, 5)) < 0.3)
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(Z), columns=list("abcde"))
    source = MemorySource(frame)
    assert source.stored == np.count_nonzero(Z)
    assert list(source.names()) == list("abcde")
    assert np.array_equal(source.load()[0].toarray(), Z)
    assert source.column("c").tolist() == Z[:, 2].tolist()
    words = frame.assign(word=np.where(Z[:, 0], "x", "y"))
    gaps = pd.arrays.SparseArray(np.where(Z[:, 1], Z[:, 1], np.nan))  # not stored: missing
    flags = pd.arrays.SparseArray(Z[:, 1] > 0)
    for mixed in (words, frame.assign(a=gaps), frame.assign(a=flags), frame.iloc[:, 0:0]):
        source = MemorySource(mixed)
        assert source.stored is None
        if mixed is not words and len(mixed.columns):
            expected = mixed.sparse.to_dense().to_numpy(float)
            assert np.array_equal(source.load()[0], expected, equal_nan=True)
    assert np.array_equal(MemorySource(words).load()[0][:, :5], Z)


# --- what pandas users have ----------------------------------------------------------------------


def _houses(rows: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(2)
    area = rng.lognormal(4, 0.5, rows).round(1)
    X = pd.DataFrame({"area": area, "noise": rng.normal(size=rows)})
    return X, pd.Series(area * 900 + rng.normal(0, 900, rows), name="price")


def test_decimal_objects_are_numbers():
    X, y = _houses()
    in_decimals = [None if k % 9 == 0 else Decimal(str(v)) for k, v in enumerate(X["area"])]
    expected = tamis.Sieve().fit(X.assign(area=X["area"].where(X.index % 9 > 0)), y)
    found = tamis.Sieve().fit(X.assign(area=in_decimals), y)
    assert found.scores_.tolist() == expected.scores_.tolist()
    assert found.transform(X.assign(area=in_decimals))["area"][1] == in_decimals[1]
    assert tamis.profile(X.assign(area=in_decimals), y).kinds["numbers"] == 2


def test_a_sparse_frame_whose_columns_are_numbered_is_read():
    X, y = _houses()
    sparse = sp.random(200, 9, 0.3, random_state=0, format="csr")
    frame = pd.DataFrame.sparse.from_spmatrix(sparse)
    assert tamis.open(frame, y=y).load()[0].toarray().tolist() == sparse.toarray().tolist()
    assert tamis.select(X.set_axis([3, 7], axis=1).assign(price=y), y="price").kept_names == ["3"]
    numbered = pd.concat([X, y], axis=1).set_axis([0, 1, 2], axis=1)
    assert tamis.select(numbered, y="2").kept_names == ["0"]
    assert tamis.profile(numbered, "2").target_name == "2"


def test_intervals_of_pandas_are_categories():
    X, y = _houses()
    cut = X.assign(area=pd.cut(X["area"], 5).where(X.index % 9 > 0))
    assert tamis.open(cut, y=y).vocabulary()["area"][0].startswith("(")
    assert tamis.Sieve().fit(cut, y).get_feature_names_out().tolist() == ["area"]
    assert tamis.profile(cut, y).kinds["words"] == 1


def test_names_of_several_levels_are_refused_in_a_sentence():
    X, y = _houses()
    levels = X.set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1)
    for call in (tamis.Sieve().fit, tamis.select, tamis.profile):
        with pytest.raises(InputError, match=r"of several levels, such as .* join them first"):
            call(levels, y=y)


def test_row_labels_in_another_order_are_questioned():
    X, y = _houses()
    shuffled = y.sample(frac=1, random_state=0)
    for call in (tamis.Sieve().fit, tamis.select):
        with pytest.warns(DataWarning, match="same row labels in another order"):
            call(X, y=shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(X.loc[shuffled.index], y=shuffled)
            call(X, y=y.set_axis(range(5, 205)))  # other labels: rows go by position


def test_tables_that_are_no_data_frames_are_refused_in_a_sentence():
    X, y = _houses()
    with pytest.raises(InputError, match="structured array; make a data frame of it"):
        tamis.Sieve().fit(X.to_records(index=False), y)
    with pytest.raises(ParameterError, match="make a data frame of the data"):
        tamis.select({"area": X["area"], "price": y}, y="price")
    with pytest.raises(InputError, match=r"0 feature\(s\)"):
        tamis.Sieve().fit(X[[]], y)
    with pytest.raises(InputError, match="no column besides the target 'price'"):
        tamis.select(y.to_frame(), y="price")
    with pytest.raises(InputError, match=r"column 'month' is of type period\[M\]"):
        tamis.select(X.assign(month=pd.period_range("2000-01", periods=200, freq="M")), y=y)
