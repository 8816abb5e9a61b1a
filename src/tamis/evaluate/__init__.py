"""Compare selectors on your own data: protocol, metrics, stability, rank tests, results."""

from __future__ import annotations

from tamis.evaluate.compare import compare
from tamis.evaluate.results import Results, open_results
from tamis.evaluate.streams import Curves, open_curves, over_orders, over_thresholds, over_time

__all__ = [
    "Curves",
    "Results",
    "compare",
    "open_curves",
    "open_results",
    "over_orders",
    "over_thresholds",
    "over_time",
]
