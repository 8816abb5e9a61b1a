"""tamis: pick the features worth keeping from data that keeps growing.

source -> column blocks -> measure -> selector -> decision log -> report

Names are imported when first used, so ``import tamis`` costs nothing that is not needed. They are
listed in `tamis._registry`.
"""

from __future__ import annotations

import importlib
from typing import Any

from tamis._registry import PACKAGES, PUBLIC, load
from tamis._version import __version__

__all__ = ["__version__", *sorted(PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return importlib.import_module(f"tamis.{name}")
    if name not in PUBLIC:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    value = globals()[name] = load(PUBLIC[name])
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PACKAGES})
