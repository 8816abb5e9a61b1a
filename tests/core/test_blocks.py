"""Blocks: every layout gives the same numbers, and the input is not changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock, compressed_columns
from tamis.core.errors import InputError
from tamis.core.names import Names

several = settings(max_examples=80)
tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 3.0]),
)


def dense_of(block: ColumnBlock) -> np.ndarray:
    if not isinstance(block.values, Compressed):
        return block.values
    v = block.values
    out = np.zeros((block.n_rows, block.width))
    for j in range(block.width):
        inside = slice(v.indptr[j], v.indptr[j + 1])
        out[v.indices[inside], j] = v.data[inside]
    return out


@st.composite
def messy(draw):
    """A CSC matrix with duplicates, stored zeros and rows in any order."""
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    columns = [
        draw(
            st.lists(
                st.tuples(st.integers(0, n_rows - 1), st.sampled_from([0.0, 1.0, -1.0, 2.0])),
                max_size=8,
            )
        )
        for _ in range(n_columns)
    ]
    indptr = np.cumsum([0, *map(len, columns)])
    flat = [entry for column in columns for entry in column]
    index = draw(st.sampled_from([np.int32, np.int64]))
    return sp.csc_matrix(
        (
            np.array([v for _, v in flat]),
            np.array([r for r, _ in flat], dtype=index),
            indptr.astype(index),
        ),
        shape=(n_rows, n_columns),
    )


@given(messy(), st.sampled_from(["csc", "csr", "coo"]))
@several
def test_messy_sparse_input_is_made_canonical_without_changing_it(matrix, layout):
    given_matrix = matrix if layout == "csc" else matrix.asformat(layout)
    wanted = matrix.toarray()
    parts = [a for a in ("data", "indices", "indptr", "row", "col") if hasattr(given_matrix, a)]
    before = [getattr(given_matrix, a).tobytes() for a in parts]
    block = ColumnBlock.of(given_matrix)
    assert [getattr(given_matrix, a).tobytes() for a in parts] == before
    assert np.array_equal(dense_of(block), wanted)
    assert np.all(block.values.data != 0)
    for j in range(block.width):
        inside = slice(block.values.indptr[j], block.values.indptr[j + 1])
        assert np.all(np.diff(block.values.indices[inside]) > 0)


def test_canonical_columns_are_shared_not_copied():
    matrix = sp.random(50, 8, density=0.3, format="csc", random_state=0)
    compressed = compressed_columns(matrix)
    assert np.shares_memory(compressed.data, matrix.data)
    assert np.shares_memory(compressed.widened().data, matrix.data)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.bool_])
def test_kernels_get_the_types_they_take_for_every_input_type(dtype):
    matrix = sp.csc_array(np.array([[1, 0], [0, 1]], dtype=dtype))
    v = ColumnBlock.of(matrix).values
    assert (v.indptr.dtype, v.indices.dtype, v.data.dtype) == (np.int64, np.int32, np.float64)
    dense = ColumnBlock.of(matrix.toarray()).values
    assert dense.dtype == np.float64
    assert dense.flags.f_contiguous


@given(tables, st.booleans(), st.data())
@several
def test_a_part_holds_the_requested_columns_under_their_own_numbers(table, sparse, data):
    width = table.shape[1]
    lo = data.draw(st.integers(0, width))
    hi = data.draw(st.integers(lo, width))
    names = Names.of([f"c{j}" for j in range(width)])
    block = ColumnBlock.of(sp.csc_matrix(table) if sparse else table, first=7, names=names)
    part = block.part(lo, hi)
    assert np.array_equal(dense_of(part), table[:, lo:hi])
    assert (part.first, part.width, part.n_rows) == (7 + lo, hi - lo, len(table))
    assert list(part.names) == [f"c{j}" for j in range(lo, hi)]
    assert part.is_sparse == sparse


@given(tables, st.booleans())
@several
def test_every_stored_number_has_its_column(table, sparse):
    block = ColumnBlock.of(sp.csc_matrix(table) if sparse else table, first=3)
    where = [block.column_of_entry(i) for i in range(len(block.entries))]
    columns, rows = np.nonzero(table.T) if sparse else np.indices(table.T.shape).reshape(2, -1)
    assert where == (columns + 3).tolist()
    assert [block.row_of_entry(i) for i in range(len(block.entries))] == rows.tolist()
    assert np.array_equal(block.entries, table[rows, columns])


@given(tables, st.data())
@several
def test_picked_vectors_come_in_the_requested_order_with_repeats(table, data):
    width = table.shape[1]
    picks = np.array(data.draw(st.lists(st.integers(0, width - 1), max_size=6)), dtype=np.intp)
    picked = ColumnBlock.of(sp.csc_matrix(table)).values.pick(picks)
    assert len(picked) == len(picks)
    assert np.array_equal(dense_of(ColumnBlock(0, len(table), picked)), table[:, picks])
    assert picked.stored == np.count_nonzero(table[:, picks])


def test_a_vector_is_one_column_and_a_block_is_used_unchanged():
    block = ColumnBlock.of([1, 2, 3])
    assert block.values.shape == (3, 1)
    assert ColumnBlock.of(block) is block


def test_columns_are_called_by_name_if_they_have_one_else_by_number():
    unnamed = ColumnBlock.of(np.zeros((2, 2)), first=5)
    assert unnamed.name_of(6) == "'x6'"
    assert unnamed.name_of(6, "", 1) == "'7'"
    named = ColumnBlock.of(np.zeros((2, 2)), first=5, names=Names.of(["a", "it's"]))
    assert named.name_of(6) == '"it\'s"'


def test_rows_and_names_that_do_not_fit_are_refused_in_one_sentence():
    with pytest.raises(InputError) as error:
        ColumnBlock(0, 3, np.zeros((2, 1)))
    assert str(error.value) == "a block of 2 rows was given where 3 are expected"
    with pytest.raises(InputError) as error:
        ColumnBlock.of(np.zeros((2, 3)), names=Names.of("ab"))
    assert str(error.value) == "2 names were given for 3 columns"


def test_a_row_block_knows_its_height_and_layout():
    dense = RowBlock(4, 3, np.zeros((2, 3)))
    assert (dense.height, dense.is_sparse, dense.first) == (2, False, 4)
    sparse = RowBlock(0, None, Compressed(np.array([0, 1, 1]), np.array([9]), np.array([1.0])))
    assert (sparse.height, sparse.is_sparse) == (2, True)
