"""Lists of entries by row, for kept columns: unrolled, one cache line per node.

A node is 16 integers: the next node, the number of its entries, and up to 14 entries. An entry
is a cell number (for a correlation, the slot of its column, with its value in a second array). New
nodes go to the head of their row's list, so adding a column never moves existing entries.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit

NODE_NEXT = 0
NODE_COUNT = 1
NODE_CELLS = 2
NODE_ROOM = 14
NODE_WIDTH = 16


@jit
def append_column(heads, nodes, numbers, used, rows, cells, values):
    """Add the entries of one column to the lists of its rows; return the number of used nodes.

    `nodes` (and `numbers`, if it has any rows) must have ``len(rows)`` more nodes free.
    """
    with_numbers = len(numbers) > 0
    for t in range(len(rows)):
        node = heads[rows[t]]
        if node < 0 or nodes[node, NODE_COUNT] == NODE_ROOM:
            nodes[used, NODE_NEXT] = node
            nodes[used, NODE_COUNT] = 0
            node = used
            heads[rows[t]] = node
            used += 1
        place = nodes[node, NODE_COUNT]
        nodes[node, NODE_CELLS + place] = cells[t]
        if with_numbers:
            numbers[node, place] = values[t]
        nodes[node, NODE_COUNT] = place + 1
    return used


@jit
def rebuild(heads, nodes, numbers, new_cells):
    """Copy the lists, without dropped entries (cell -1 in `new_cells`), into compact new ones."""
    with_numbers = len(numbers) > 0
    new_nodes = np.empty_like(nodes)
    new_numbers = np.empty_like(numbers)
    used = 0
    for row in range(len(heads)):
        node, head = heads[row], -1
        while node >= 0:
            for i in range(nodes[node, NODE_COUNT]):
                cell = new_cells[nodes[node, NODE_CELLS + i]]
                if cell < 0:
                    continue
                if head < 0 or new_nodes[head, NODE_COUNT] == NODE_ROOM:
                    new_nodes[used, NODE_NEXT] = head
                    new_nodes[used, NODE_COUNT] = 0
                    head = used
                    used += 1
                place = new_nodes[head, NODE_COUNT]
                new_nodes[head, NODE_CELLS + place] = cell
                if with_numbers:
                    new_numbers[head, place] = numbers[node, i]
                new_nodes[head, NODE_COUNT] = place + 1
            node = nodes[node, NODE_NEXT]
        heads[row] = head
    return new_nodes, new_numbers, used
