"""Outputs of the authors' programs, and the matrices they were computed from.

Small sets are part of the repository (`tests/golden`); the others are read from the shared folder
next to the clone, and their tests are skipped if it is missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from tests_shared import SHARED

HERE = Path(__file__).parent / "golden"
BESIDE = SHARED / "golden"

#: The sets whose matrices and outputs are in the repository.
SMALL = ("spect", "wdbc", "wdbc_q3", "synth_bn", "synth_lin")


def paths(*patterns: str) -> list[Path]:
    """Return the golden files of some patterns, in order of their names, each once."""
    found = {
        path.name: path
        for folder in (BESIDE, HERE / "outputs")
        for pattern in patterns
        for path in folder.glob(pattern)
    }
    return [found[name] for name in sorted(found)]


def files(*patterns: str) -> list[Any]:
    """Return the golden files of some patterns as parameters of a test."""
    return [pytest.param(path, id=path.stem) for path in paths(*patterns)]


def count(here: int, beside: int) -> int:
    """Return the number of golden files, in the repository and next to it."""
    return here + (beside if BESIDE.is_dir() else 0)


def cases(name: str, dataset: str) -> list[dict[str, Any]]:
    """Return the single test values of a data set."""
    records = json.loads((HERE / "outputs" / f"primitive__{name}.json").read_text())
    return [record for record in records if record["dataset"] == dataset]


def matrix(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the classes of a golden matrix; skip the test where it is missing."""
    if name in SMALL:
        data = np.load(HERE / "matrices" / f"{name}.npz")
        return data["X"].astype(np.float64), data["y"].astype(int)
    if name == "ofs_a3m_paper_table1":
        manual = json.loads((HERE / "outputs" / "anchors_lofs_manual.json").read_text())
        example = manual["ofs_a3m_paper_worked_example"]
        return np.array(example["X"], dtype=np.float64), np.array(example["y"])
    if not BESIDE.is_dir():
        pytest.skip("a set that is not in the repository; it is in the folder `shared` next to it")
    folder = SHARED / "data" / name.lower()
    if not (BESIDE / "data" / f"{name}.mat").is_file():  # a set of the shared data
        return np.load(folder / "X.npy").astype(float), np.load(folder / "y.npy").ravel()
    data = loadmat(BESIDE / "data" / f"{name}.mat")
    return data["X"].astype(np.float64), data["Y"].ravel().astype(int)
