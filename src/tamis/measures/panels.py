"""Columns coded by their levels, and kept columns as lists by row: the base of compiled panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.kernels.gaps import code_gapped
from tamis.kernels.information import entropy_table
from tamis.kernels.levels import compress, encode, encode_whole
from tamis.kernels.rowlists import NODE_ROOM, NODE_WIDTH, append_column, rebuild
from tamis.measures.measure import Floats, Ints, Panel, Prepared

#: The table of entropies for n rows, and its units per bit; the last few are cached.
table_of = lru_cache(maxsize=4)(entropy_table)


@dataclass(frozen=True, eq=False)
class CodedColumns(Prepared):
    """Columns as the rows that leave their most common level, with the count of every level."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr",
        "codes": "indptr",
        "level_counts": "level_pointers",
        "entropies": None,
    }

    indptr: Ints
    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    level_pointers: Ints
    level_counts: Ints
    entropies: Ints

    @cached_property
    def widest(self) -> int:
        """Largest number of levels of a column."""
        return int(np.diff(self.level_pointers).max())

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per column."""
        return float(np.count_nonzero(self.level_counts)) / len(self)


def code_columns(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> CodedColumns:
    """Code the picked columns of a block."""
    if block.narrow is None or block.narrow.dtype.kind == "f":
        block, picks = block.wide(picks)
    n, width, spans = block.n_rows, len(picks), block.spans
    stored = int((spans[1:] - spans[:-1])[picks].sum())
    indptr, level_pointers = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    rows, codes = np.empty(stored + 1, np.int32), np.empty(stored + 1, np.int32)
    counts = np.empty(stored + width, np.int64)
    into, done = (indptr, rows, codes, level_pointers, counts), 0
    if not block.is_sparse:
        # Short whole numbers are not widened: their kernel reads them in the relevance pass, too.
        done = encode_whole(block.flat, n, picks, *into)
    if done < width:
        encode(*block.arrays, n, picks, done, *into)
    table, _ = table_of(n)
    counts = counts[: level_pointers[-1]].copy()
    h = np.zeros(0, np.int64)
    if width:
        h = table[n] - np.add.reduceat(table[counts], level_pointers[:-1])
    return CodedColumns(indptr, rows, codes, level_pointers, counts, h)


def compressed(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Compressed:
    """Return some columns of a block, compressed, whatever its layout."""
    if block.narrow is not None:
        block, picks = block.wide(picks)
    if isinstance(block.values, Compressed):
        everything = len(picks) == block.width and np.array_equal(picks, np.arange(block.width))
        return block.values if everything else block.values.pick(picks)
    indptr = np.zeros(len(picks) + 1, dtype=np.int64)
    rows = np.empty(len(picks) * block.n_rows, dtype=np.int32)
    values = np.empty(len(picks) * block.n_rows, dtype=np.float64)
    compress(block.arrays[0], block.n_rows, picks, indptr, rows, values)
    return Compressed(indptr, rows[: indptr[-1]], values[: indptr[-1]])


@dataclass(frozen=True, eq=False)
class GappedColumns(Prepared):
    """Columns coded by their values, zero as code 0: its rows are not listed.

    `gaps` is the code of missing values in each column, or -1.
    """

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr",
        "codes": "indptr",
        "n_levels": None,
        "gaps": None,
    }

    indptr: Ints
    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    n_levels: Ints
    gaps: Ints

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per column, without the missing ones."""
        return float(np.mean(self.n_levels - (self.gaps >= 0)))


def gapped_columns(block: ColumnBlock, picks: npt.NDArray[np.intp], gap: float) -> GappedColumns:
    """Code the picked columns of a block; the number `gap` means missing (NaN: none does)."""
    v = compressed(block, picks)
    codes = np.empty(len(v.data), dtype=np.int32)
    n_levels, gaps = np.empty(len(picks), dtype=np.int64), np.empty(len(picks), dtype=np.int64)
    indptr = v.indptr.astype(np.int64, copy=False)
    code_gapped(indptr, v.data, gap, codes, n_levels, gaps)
    return GappedColumns(indptr, v.indices.astype(np.int32, copy=False), codes, n_levels, gaps)


#: Free slots and nodes that a walk starts with; it stops when they run out, and gets more.
ROOM = 32
MORE_NODES = 2048


def roomy(array: npt.NDArray[Any], used: int, need: int) -> npt.NDArray[Any]:
    """Return the array if it has room for `need` entries, else a longer copy of what is in use."""
    if len(array) >= need:
        return array
    larger = np.zeros((max(need, 3 * used // 2), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


#: What a walk takes for groups if there are none.
NO_GROUPS = (np.zeros(0, np.int64), False)


class KeptFeatures(Protocol):
    """The kept features, oldest first."""

    features: Ints
    relevance: Floats


class Walk:
    """What SAOLA's compiled walk needs, and what it did: events in order, as arrays.

    Parameters
    ----------
    about : (features, relevance, levels)
        Arrival numbers, strengths and cutoffs of the newcomers.
    rule : tuple
        The numbers of the rule: see `tamis.kernels.walk.walk_correlations`.
    kept : KeptFeatures
        The kept features; the walk changes them.
    groups : (since, between)
        The first arrival number of each newcomer's group, and whether newcomers meet only earlier
        groups; else only their own, and the last group is what is kept at the end.
    """

    def __init__(
        self,
        about: tuple[Ints, Floats, Floats],
        rule: tuple[bool, bool, float, int],
        kept: KeptFeatures,
        groups: tuple[Ints, bool] = NO_GROUPS,
    ) -> None:
        self.about, self.rule, self.kept, self.groups = about, rule, kept, groups
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []

    def room(self, count: int) -> tuple[npt.NDArray[Any], ...]:
        """Return room for events: settled by, feature, code, numbers and cause of each."""
        settled_by, features, codes, causes = np.empty((4, count), np.int64)
        return settled_by, features, codes, np.empty((count, 3)), causes

    def add(self, events: tuple[npt.NDArray[Any], ...], count: int) -> None:
        """Note the first `count` events."""
        self._parts.append(tuple(array[:count] for array in events))

    def take_events(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the events since the last call."""
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return parts[0]
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class RowListPanel(Panel):
    """Store kept columns as entries by row, so a newcomer visits only the entries of its own rows.

    A slot is a kept column; `_alive` marks whether it is still kept. A slot has one or more cells,
    which its entries belong to: ``_slot_cells[s]:_slot_cells[s + 1]`` are those of slot s. `_slots`
    and `_cells` hold what subclasses store about each of them, by name, with room at the end.
    Slots of dropped columns are removed when they outnumber the live ones.
    """

    #: The types of what is stored about each slot and each cell.
    slot_types: ClassVar[Mapping[str, Any]]
    cell_types: ClassVar[Mapping[str, Any]] = {}
    #: Whether an entry has a number besides its cell.
    with_numbers: ClassVar[bool] = False
    #: Whether `walk` runs compiled.
    walks: ClassVar[bool] = False

    def __init__(self, n_rows: int, measure: Any) -> None:
        self.n_rows, self.measure, self.pairs = n_rows, measure, 0
        self._heads = np.full(n_rows, -1, dtype=np.int32)
        self._nodes = np.empty((0, NODE_WIDTH), dtype=np.int32)
        self._numbers = np.empty((0, NODE_ROOM), dtype=np.float64)
        self._used = 0
        self._alive = np.zeros(0, dtype=np.bool_)
        self._live = np.zeros(0, dtype=np.intp)
        self._slot_cells = np.zeros(1, dtype=np.int64)
        self._slots = {name: np.zeros(0, dtype) for name, dtype in self.slot_types.items()}
        self._cells = {name: np.zeros(0, dtype) for name, dtype in self.cell_types.items()}

    def __len__(self) -> int:
        return len(self._live)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without spare capacity: copies are sent to workers."""
        few = {"_nodes": self._nodes[: self._used], "_numbers": self._numbers[: self._used]}
        return self.__dict__ | few

    def _hang(
        self,
        rows: npt.NDArray[Any],
        cells: npt.NDArray[Any],
        values: npt.NDArray[Any],
        n_cells: Ints,
        of_slot: Mapping[str, npt.NDArray[Any]],
    ) -> None:
        """Add slots with these entries, and store `of_slot` about them.

        `cells` count from 0 through all of them, and `n_cells` has the number of each.
        """
        self._room_for_nodes(self._used + len(rows))
        first, before, n = self._slot_cells[-1], len(self._alive), len(n_cells)
        self._used = append_column(
            self._heads, self._nodes, self._numbers, self._used, rows,
            (cells + first).astype(np.int32), values,
        )  # fmt: skip
        self._live = np.concatenate([self._live, np.arange(before, before + n)])
        self._alive = np.concatenate([self._alive, np.ones(n, np.bool_)])
        self._slot_cells = np.concatenate([self._slot_cells, first + np.cumsum(n_cells)])
        for name, of_each in of_slot.items():
            self._put(self._slots, name, before, of_each, n)

    def _put(
        self, store: dict[str, npt.NDArray[Any]], name: str, at: int, values: Any, n: int
    ) -> None:
        """Store `n` values about slots or cells from `at` on; arrays have room at the end."""
        array = store[name]
        if at + n > len(array):
            larger = np.zeros((max(16, 2 * (at + n)), *array.shape[1:]), array.dtype)
            larger[: len(array)] = array
            array = store[name] = larger
        array[at : at + n] = values

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._alive[self._live[positions]] = False
        self._live = self._live[self._alive[self._live]]
        if len(self._alive) > 2 * len(self._live) + 8:
            self._forget_dead()

    def walk(self, columns: Any, first: int, last: int, walk: Walk) -> None:
        """Let newcomers first..last-1 walk over the kept columns, as `tamis.kernels.walk` says.

        The kernel stops when it has no room for another kept column; it resumes in larger arrays.
        """
        kept = walk.kept
        while True:
            n_slots = len(self._alive)
            room = n_slots + min(last - first, max(ROOM, n_slots // 2))
            alive = np.zeros(room, np.bool_)
            alive[:n_slots] = self._alive
            features, relevance = np.empty(room, np.int64), np.empty(room)
            features[self._live], relevance[self._live] = kept.features, kept.relevance
            self._slots = {n: roomy(a, n_slots, room) for n, a in self._slots.items()}
            events = walk.room(2 * (last - first) + 2 * room + 1)
            counts = np.array([n_slots, 0, self._used, 0, 0])
            state = (alive, features, relevance)
            first = self._run_walk(columns, first, last, walk, state, counts, events)
            n_slots, _, self._used, n_events, pairs = counts.tolist()
            self.pairs += pairs
            self._alive = alive[:n_slots]
            self._live = np.flatnonzero(self._alive)
            kept.features, kept.relevance = features[self._live], relevance[self._live]
            walk.add(events, n_events)
            if len(self._alive) > 2 * len(self._live) + 8:
                self._forget_dead()
            if first == last:
                return

    def _run_walk(
        self, columns: Any, first: int, last: int, walk: Walk, kept: Any, counts: Ints, events: Any
    ) -> int:
        """Run the kernel; return the first newcomer for which there was no room."""
        raise NotImplementedError

    def _room_for_nodes(self, room: int) -> None:
        """Make room for so many nodes."""
        if room > len(self._nodes):
            capacity = max(room, 2 * len(self._nodes), 256)
            for name in ("_nodes", "_numbers") if self.with_numbers else ("_nodes",):
                setattr(self, name, roomy(getattr(self, name), self._used, capacity))

    def _forget_dead(self) -> None:
        """Remove the slots of dropped columns."""
        widths = np.diff(self._slot_cells)
        cell_lives = np.repeat(self._alive, widths)
        new_cells = np.where(cell_lives, np.cumsum(cell_lives) - 1, -1).astype(np.int32)
        self._nodes, self._numbers, self._used = rebuild(
            self._heads, self._nodes, self._numbers, new_cells
        )
        self._slot_cells = np.concatenate([[0], np.cumsum(widths[self._live])])
        self._slots = {name: array[self._live] for name, array in self._slots.items()}
        cells = np.flatnonzero(cell_lives)
        self._cells = {name: array[cells] for name, array in self._cells.items()}
        self._alive = np.ones(len(self._live), dtype=np.bool_)
        self._live = np.arange(len(self._live))
