"""The folder next to a checkout with golden outputs and real data sets, if it exists."""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
