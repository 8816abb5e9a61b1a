"""Measures: a block of columns in, numbers out (see docs/add-a-measure.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis._registry import MEASURES, load
from tamis.measures.measure import Measure, Panel, Strength
from tamis.measures.pair_measure import PairMeasure

if TYPE_CHECKING:
    from tamis.measures.any_shape import AnyShape
    from tamis.measures.fisher_z import FisherZ
    from tamis.measures.g_squared import GSquared
    from tamis.measures.mutual_information import MutualInformation, SymmetricUncertainty

__all__ = [
    "AnyShape",
    "FisherZ",
    "GSquared",
    "Measure",
    "MutualInformation",
    "PairMeasure",
    "Panel",
    "Strength",
    "SymmetricUncertainty",
]

_WHERE = {where.partition(":")[2]: where for where in MEASURES.values()}


def __getattr__(name: str) -> Any:
    """Import a measure when it is first used: a selection needs one of them."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tamis.measures' has no attribute {name!r}")
    return load(_WHERE[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
