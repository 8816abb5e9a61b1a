"""Where golden outputs and real data sets lie beside a developer's checkout, if they do."""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
