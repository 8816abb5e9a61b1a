"""Columns with a role: weights and covariates are set aside, features that must stay come first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, refuse_unlike_numbers
from tamis.core.covariates import Covariates
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.sources.arrays.in_memory import MemorySource, is_series, one_column
from tamis.sources.base import ColumnRange, ColumnSource, ColumnWrapper, default_width, short_hash
from tamis.sources.tables.table_columns import no_such

Positions = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


class ArrangedColumns(ColumnWrapper):
    """Some columns of a source, in a given order.

    Columns without a name keep the name that they have by their position in the source.
    """

    def __init__(self, source: ColumnSource, positions: Positions) -> None:
        super().__init__(source)
        self._positions = positions

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._positions)

    def names(self) -> Names | None:
        """Return the names of the columns, if the source knows them."""
        names = self._source.names()
        return None if names is None else names.pick(self._positions)

    def words(self) -> npt.NDArray[np.bool_] | None:
        """Return which columns are coded text with three or more categories, if known."""
        words = self._source.words()
        return None if words is None else words[self._positions]

    def fingerprint(self) -> str:
        """Return a short hash of the data and of the columns that are picked."""
        return short_hash(self._source.fingerprint(), self._positions.astype(np.int64).tobytes())

    def change(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block with names, if it has none."""
        if block.names is not None:
            return block
        numbers = range(block.first, block.first + block.width)
        called = Names.of([block.called(j, self.name_prefix, self.name_base) for j in numbers])
        return replace(block, names=called)

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the columns; adjacent ones are read together."""
        total, end = self.n_columns, wanted.end(self.n_columns)
        step = wanted.width or default_width(self.n_rows, total, self.stored)
        at = wanted.start
        while at < end:
            last = min(at + step, end)
            picked = self._positions[at:last]
            jumps = np.flatnonzero(np.diff(picked) != 1)
            hi = at + int(jumps[0]) + 1 if len(jumps) else last
            first = int(self._positions[at])
            for block in self._source.columns(hi - at, first, first + hi - at):
                named = self.change(block)
                yield replace(named, first=at)
                at += block.width
            wanted.progress("reading columns", at, total)


@dataclass(frozen=True, eq=False)
class Arranged:
    """The candidates, those that must stay first, and what was set aside.

    `positions` are those of the candidates in the data, or None if all come in their order.
    """

    columns: ColumnSource
    weights: Any = None
    covariates: Covariates | None = None
    row_groups: Any = None
    n_required: int = 0
    positions: Positions | None = None

    def record(self, width: int) -> dict[str, Any]:
        """Return what a run records of the order, given the number of columns of the data."""
        if self.positions is None:
            return {}
        first = self.positions[: self.n_required].tolist()
        aside = np.setdiff1d(np.arange(width), self.positions).tolist()
        return {"arranged": {"width": width, "first": first, "aside": aside}}


def original_positions(arranged: Mapping[str, Any], features: Sequence[int]) -> list[int]:
    """Return where features of a run are in the data that it selected from (`Arranged.record`)."""
    width, first, aside = (arranged[key] for key in ("width", "first", "aside"))
    order = [*first, *np.delete(np.arange(width), [*first, *aside]).tolist()]
    return [order[f] if f < len(order) else f + len(aside) for f in features]


def arranged(
    columns: ColumnSource,
    sample_weight: Any = None,
    given: Any = None,
    keep: Any = None,
    row_groups: Any = None,
) -> Arranged:
    """Set aside columns with weights, covariates and row groups, and put those to keep first.

    `sample_weight` is the name of a column, or the weights themselves, and so is `row_groups`;
    `given` are names of columns, or a table of covariates; `keep` are names or numbers of columns.
    """
    required = required_positions(columns, keep)
    names = names_of(given)
    if names and isinstance(given, list | tuple) and len(names) < len(given):
        raise InputError(f"given={given!r} mixes names of columns with something else")
    aside = [*names, *(one for one in (sample_weight, row_groups) if isinstance(one, str))]
    if len(set(aside)) < len(aside):
        twice = next(name for name in aside if aside.count(name) > 1)
        raise InputError(f"the column {twice!r} was given twice; a column has one role")
    held = _beside(columns, aside)
    own = [name for name in aside if name not in held]
    role = "given" if names else "row_groups" if isinstance(row_groups, str) else "sample_weight"
    at = positions_of(columns, own, role) if own else []
    held |= {name: _column(columns, place) for name, place in zip(own, at, strict=True)}
    if isinstance(sample_weight, str):
        sample_weight = held[sample_weight][0]
    if isinstance(row_groups, str):
        row_groups = held[row_groups][0]
    covariates = None
    if names:
        values = np.column_stack([held[name][0] for name in names])
        is_text = np.array([held[name][1] for name in names])
        covariates = Covariates(values, tuple(names), is_text)
    elif given is not None and len(given):
        covariates = covariates_of(given)
    if both := set(at) & set(required):
        name = aside[at.index(min(both))]
        raise InputError(f"the column {name!r} was given twice; a column has one role")
    if not at and not required:
        return Arranged(columns, sample_weight, covariates, row_groups)
    rest = np.delete(np.arange(columns.n_columns or 0), [*at, *required])
    positions = np.concatenate([np.array(required, dtype=np.intp), rest])
    picked = ArrangedColumns(columns, positions)
    return Arranged(picked, sample_weight, covariates, row_groups, len(required), positions)


def required_positions(columns: ColumnSource, keep: Any) -> list[int]:
    """Return the positions of columns to keep, given by name or number, in increasing order."""
    if keep is None:
        return []
    chosen = [keep] if isinstance(keep, str | int) else list(np.asarray(keep, object).tolist())
    names = [name for name in chosen if isinstance(name, str)]
    found = dict(zip(names, positions_of(columns, names, "keep") if names else [], strict=True))
    width, at = columns.n_columns or 0, set[int]()
    for one in chosen:
        if isinstance(one, str):
            at.add(found[one])
        elif isinstance(one, bool) or not isinstance(one, int) or not -width <= one < width:
            raise InputError(
                f"keep: {one!r} is neither the name of a column nor a number from 0 to {width - 1}"
            )
        else:
            at.add(one % width)
    return sorted(at)


def names_of(given: Any) -> list[str]:
    """Return the covariates that are given by the names of columns."""
    chosen = [given] if isinstance(given, str) else given
    if not isinstance(chosen, list | tuple):
        return []
    return [name for name in chosen if isinstance(name, str)]


def covariates_of(given: Any, names: Sequence[str] | None = None) -> Covariates:
    """Return covariates from a data frame, a series, or an array with one row per row."""
    if isinstance(given, Covariates):
        return given
    refuse_unlike_numbers(given, "given")
    if is_series(given):
        given, names = one_column(given, None)
    elif not hasattr(given, "shape") and not hasattr(given, "columns"):
        given = np.asarray(given)
    if getattr(given, "ndim", 2) == 1:
        given = np.asarray(given).reshape(-1, 1)
    if isinstance(given, np.ndarray) and given.dtype.kind in "OUS":
        import pyarrow as pa

        called = names or [f"z{j}" for j in range(given.shape[1])]
        given = pa.table([pa.array(column.tolist()) for column in given.T], names=list(called))
    block = MemorySource(given, names=names).whole()
    names = tuple(block.called(j, "z") for j in range(block.width))
    is_text = np.zeros(block.width, np.bool_) if block.is_text is None else block.is_text
    return Covariates(_dense(block), names, is_text)


def positions_of(columns: ColumnSource, names: Sequence[str], role: str) -> list[int]:
    """Return the positions of columns by name, or raise an error that names a similar one."""
    known = columns.names()
    if known is None:
        found: list[str] = []
        for block in columns.columns():
            numbers = range(block.first, block.first + block.width)
            found += [block.called(j, columns.name_prefix, columns.name_base) for j in numbers]
    else:
        found = list(known)
    at = {name: position for position, name in reversed(list(enumerate(found)))}
    for name in names:
        if name not in at:
            others = [] if role == "keep" else _others(columns, at)
            raise InputError(no_such(columns.path or "the data", role, name, [*others, *found]))
    return [at[name] for name in names]


def _beside(columns: ColumnSource, names: Sequence[str]) -> dict[str, tuple[Floats, bool]]:
    """Return columns that are not features: those of a joined table of phenotypes."""
    features, found = columns.names(), dict[str, tuple[Floats, bool]]()
    if features is None:
        return found
    for name in names:
        if features.find(name) is None and (values := columns.column(name)) is not None:
            one = covariates_of(np.asarray(values).reshape(-1, 1), [name])
            found[name] = one.values[:, 0], bool(one.is_text[0])
    return found


def _others(columns: ColumnSource, features: Mapping[str, int]) -> list[str]:
    """Return the columns that are not features but may have a role, such as phenotypes."""
    keys = columns.keys()
    taken = {*features, columns.target_name, keys[0] if keys else None}
    return [name for name in columns.column_names or () if name and name not in taken]


def _column(columns: ColumnSource, position: int) -> tuple[npt.NDArray[np.float64], bool]:
    block = next(columns.columns(1, position, position + 1))
    return _dense(block)[:, 0], block.is_text is not None and bool(block.is_text[0])


def _dense(block: ColumnBlock) -> npt.NDArray[np.float64]:
    v = block.values
    if not isinstance(v, Compressed):
        return np.array(v)
    out = np.zeros((block.n_rows, block.width))
    out[v.indices, np.repeat(np.arange(block.width), np.diff(v.indptr))] = v.data
    return out
