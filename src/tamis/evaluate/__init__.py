"""Compare selectors on your own data: protocol, metrics, stability, rank tests, results.

Names are imported when first used: worker processes need few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tamis.evaluate.comparison import compare
    from tamis.evaluate.curves import Curves, open_curves, over_orders, over_thresholds, over_time
    from tamis.evaluate.results import Results, open_results

_WHERE = {
    "compare": "tamis.evaluate.comparison",
    "Results": "tamis.evaluate.results",
    "open_results": "tamis.evaluate.results",
    "Curves": "tamis.evaluate.curves",
    "open_curves": "tamis.evaluate.curves",
    "over_orders": "tamis.evaluate.curves",
    "over_thresholds": "tamis.evaluate.curves",
    "over_time": "tamis.evaluate.curves",
}

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


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'tamis.evaluate' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
