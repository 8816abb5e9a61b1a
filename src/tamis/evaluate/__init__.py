"""Compare selectors on your own data: protocol, metrics, stability, rank tests, results.

Names are imported when first used: worker processes need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis._registry import load

if TYPE_CHECKING:
    from tamis.evaluate.comparison import compare as compare
    from tamis.evaluate.curves import Curves as Curves
    from tamis.evaluate.curves import open_curves as open_curves
    from tamis.evaluate.curves import over_orders as over_orders
    from tamis.evaluate.curves import over_thresholds as over_thresholds
    from tamis.evaluate.curves import over_time as over_time
    from tamis.evaluate.results import Results as Results
    from tamis.evaluate.results import open_results as open_results
    from tamis.evaluate.sizes import SizePath as SizePath
    from tamis.evaluate.sizes import open_path as open_path
    from tamis.evaluate.sizes import size_path as size_path

_NAMES = {
    "comparison": ("compare",),
    "curves": ("Curves", "open_curves", "over_orders", "over_thresholds", "over_time"),
    "results": ("Results", "open_results"),
    "sizes": ("SizePath", "open_path", "size_path"),
}
_WHERE = {name: f"tamis.evaluate.{m}:{name}" for m, names in _NAMES.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'tamis.evaluate' has no attribute {name!r}")
    value = globals()[name] = load(_WHERE[name])
    return value
