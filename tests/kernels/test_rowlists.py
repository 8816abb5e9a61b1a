"""Lists by row: entries added to a row are found there, whatever was dropped in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.rowlists import (
    NODE_CELLS,
    NODE_COUNT,
    NODE_NEXT,
    NODE_ROOM,
    NODE_WIDTH,
    append_column,
    rebuild,
)

N_ROWS = 4
entries = st.lists(st.lists(st.integers(0, N_ROWS - 1), unique=True), max_size=40)
modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def found_on(row, heads, nodes, numbers):
    """Everything on a row's list as {cell: number}, and the fill of its nodes from the head on."""
    found, fills, node = {}, [], heads[row]
    while node >= 0:
        count = nodes[node, NODE_COUNT]
        fills.append(count)
        for i in range(count):
            cell = int(nodes[node, NODE_CELLS + i])
            assert cell not in found
            found[cell] = numbers[node, i] if len(numbers) else None
        node = nodes[node, NODE_NEXT]
    return found, fills


def hang(run, columns, with_numbers):
    heads = np.full(N_ROWS, -1, np.int32)
    room = sum(map(len, columns)) + 1
    nodes = np.full((room, NODE_WIDTH), -99, np.int32)
    numbers = np.empty((room if with_numbers else 0, NODE_ROOM))
    used = 0
    for cell, rows in enumerate(columns):
        cells = np.full(len(rows), cell, np.int32)
        values = np.array([cell + row / 10 for row in rows]) if with_numbers else np.empty(0)
        used = run(heads, nodes, numbers, used, np.array(rows, np.int32), cells, values)
    return heads, nodes, numbers, used


def wanted_on(row, columns, with_numbers):
    return {
        cell: cell + row / 10 if with_numbers else None
        for cell, rows in enumerate(columns)
        if row in rows
    }


@modes
@given(columns=entries, with_numbers=st.booleans())
@settings(max_examples=60)
def test_every_entry_hangs_on_its_row_and_nodes_are_filled_before_new_ones(
    compiled, columns, with_numbers
):
    run = append_column if compiled else append_column.py_func
    heads, nodes, numbers, used = hang(run, columns, with_numbers)
    in_use = 0
    for row in range(N_ROWS):
        found, fills = found_on(row, heads, nodes, numbers)
        assert found == wanted_on(row, columns, with_numbers)
        assert all(fill == NODE_ROOM for fill in fills[1:])
        in_use += len(fills)
    assert used == in_use


@modes
@given(columns=entries, with_numbers=st.booleans(), data=st.data())
@settings(max_examples=60)
def test_rebuilt_lists_hold_kept_columns_under_new_numbers_in_full_nodes(
    compiled, columns, with_numbers, data
):
    heads, nodes, numbers, _ = hang(append_column, columns, with_numbers)
    alive = np.array([data.draw(st.booleans()) for _ in columns], dtype=bool)
    new_cells = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
    run = rebuild if compiled else rebuild.py_func
    new_nodes, new_numbers, used = run(heads, nodes, numbers, new_cells)
    in_use = 0
    for row in range(N_ROWS):
        found, fills = found_on(row, heads, new_nodes, new_numbers)
        wanted = wanted_on(row, columns, with_numbers)
        assert found == {int(new_cells[c]): v for c, v in wanted.items() if alive[c]}
        assert len(fills) == -(-len(found) // NODE_ROOM)
        in_use += len(fills)
    assert used == in_use
    assert len(new_numbers) == len(numbers)
