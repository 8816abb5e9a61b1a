"""What the authors' programs selected, and the matrices they selected from, where they lie here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from tests_shared import SHARED

GOLDEN = SHARED / "golden"


def paths(*patterns: str) -> list[Path]:
    """Golden files, in order; none in a clone without them."""
    return sorted(path for pattern in patterns for path in GOLDEN.glob(pattern))


def files(*patterns: str) -> list[Any]:
    """Golden files as parameters of a test, or one skipped entry in a clone without them."""
    missing = pytest.param(None, marks=pytest.mark.skip("no golden outputs beside this clone"))
    return [pytest.param(path, id=path.stem) for path in paths(*patterns)] or [missing]


def matrix(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The columns and the classes of a golden matrix."""
    if name == "GLIOMA":  # not among the golden matrices, but the same set lies with the data
        folder = SHARED / "data" / "glioma"
        return np.load(folder / "X.npy").astype(float), np.load(folder / "y.npy").ravel()
    data = loadmat(GOLDEN / "data" / f"{name}.mat")
    return data["X"].astype(np.float64), data["Y"].ravel().astype(int)
