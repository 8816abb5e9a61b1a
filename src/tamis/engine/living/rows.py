"""Rows must match: the same rows in the same order, or keys that tell which row is which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError

Places = npt.NDArray[np.intp]


def as_keys(values: Any, n_rows: int, where: str) -> npt.NDArray[Any]:
    """Keys of rows as numbers or words, one each, none twice."""
    keys = np.asarray(values)
    if keys.dtype.kind not in "iuUSb":
        keys = np.array([str(key) for key in keys.ravel().tolist()])
    if keys.shape != (n_rows,):
        raise InputError(f"{where} gives {keys.size} keys for {n_rows} rows; give one for each row")
    again = _first_double(np.sort(keys))
    if again is not None:
        raise InputError(f"{where}: the key {again} names two rows; keys must be different")
    return keys


def aligned(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], where: str) -> Places | None:
    """For each of our rows the row of theirs that has its key; None if they are in order already.

    A key that is missing, unknown or there twice is told in one sentence.
    """
    if ours.dtype.kind != theirs.dtype.kind:
        ours, theirs = ours.astype(str), theirs.astype(str)
    if len(ours) == len(theirs) and bool(np.all(ours == theirs)):
        return None
    order = np.argsort(theirs, kind="stable")
    in_order = theirs[order]
    again = _first_double(in_order)
    if again is not None:
        raise InputError(f"{where}: the key {again} names two rows; keys must be different")
    indices = np.searchsorted(in_order, ours)
    there = np.zeros(len(ours), np.bool_)
    inside = indices < len(in_order)
    there[inside] = in_order[indices[inside]] == ours[inside]
    if not there.all():
        lacking = ours[np.argmin(there)]
        raise InputError(f"{where} has no row with the key {_said(lacking)}, which is in the "
                         "selection; give all of its rows")  # fmt: skip
    if len(theirs) > len(ours):
        unknown = in_order[~np.isin(np.arange(len(theirs)), indices)][0]
        raise InputError(f"{where} has a row with the key {_said(unknown)}, which is not in the "
                         "selection; leave it out")  # fmt: skip
    return order[indices]


def rearranged(block: ColumnBlock, indices: Places | None) -> ColumnBlock:
    """A block with its rows in our order."""
    if indices is None:
        return block
    if not isinstance(block.values, Compressed):
        return replace(block, values=np.asfortranarray(block.values[indices]), n_rows=len(indices))
    import scipy.sparse as sp

    v, new_place = block.values, np.empty(len(indices), dtype=np.int32)
    new_place[indices] = np.arange(len(indices), dtype=np.int32)
    shape = (len(indices), block.width)
    moved = sp.csc_matrix((v.data.copy(), new_place[v.indices], v.indptr), shape=shape)
    moved.sort_indices()
    values = Compressed(moved.indptr, moved.indices, moved.data).widened()
    return replace(block, values=values, n_rows=len(indices))


def _first_double(in_order: npt.NDArray[Any]) -> str | None:
    same = np.flatnonzero(in_order[1:] == in_order[:-1])
    return _said(in_order[same[0]]) if len(same) else None


def _said(key: Any) -> str:
    return repr(key.item() if isinstance(key, np.generic) else key)
