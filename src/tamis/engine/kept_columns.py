"""The kept columns of a table in memory, as a table of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError
from tamis.core.sentences import counted, join
from tamis.sources.arrays.in_memory import is_frame
from tamis.sources.aside import original_positions

#: The most names in a sentence.
LISTED = 10


def kept_columns(log: DecisionLog, X: Any, arranged: Mapping[str, Any] | None = None) -> Any:
    """Return the kept columns of a data frame, an Arrow table, an array or a sparse matrix.

    A table is matched by name. One without the names, and an array, must have every column of the
    run, in their order. `arranged` says how the run took the columns in another order, if it did.
    """
    kept = log.replay()
    names = [log.names[feature] for feature in kept]
    if not is_frame(X):
        wide: Any = X if hasattr(X, "shape") else np.asarray(X)
        width = wide.shape[1] if len(wide.shape) == 2 else 1
        if arranged is None:
            _check_width(len(log), width)
        else:
            _check_width(len(log) + len(arranged["aside"]), width)
            kept = original_positions(arranged, kept)
        wide = wide.tocsr() if getattr(wide, "format", "") in ("coo", "dia", "bsr") else wide
        return wide[:, kept]
    import narwhals as nw

    table = nw.from_native(X)
    there = [str(name) for name in table.collect_schema().names()]
    lacking = [name for name in names if name not in set(there)]
    if not lacking:
        where = {name: i for i, name in enumerate(there)}
        kept = [where[name] for name in names]
    elif log.names.numbered:
        _check_width(len(log), len(there))
    else:
        more = [f"{len(lacking) - LISTED:,} more"] if len(lacking) > LISTED else []
        raise InputError(
            f"the table lacks {len(lacking):,} of the {counted(len(names), 'kept column')}: "
            f"{join([*map(repr, lacking[:LISTED]), *more])}; give one with all of them"
        )
    return table.select(nw.nth(*kept)).to_native() if kept else table.select([]).to_native()


def _check_width(expected: int, width: int) -> None:
    if width != expected:
        raise InputError(
            f"the run selected from {counted(expected, 'column')} and X has {width:,}; give the "
            "same columns in the same order, or a table with their names"
        )
