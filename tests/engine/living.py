"""Small selections and the columns that are fed to them, for the tests of living selections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tamis import SAOLA, MutualInformation, Selection
from tamis.engine.persistent import state_file

ROWS, COLUMNS = 150, 60


def target() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, ROWS)


def table(seed: int = 1, columns: int = COLUMNS, prefix: str = "c") -> pd.DataFrame:
    """Three levels each; some follow the class, some of those follow each other."""
    rng, y = np.random.default_rng(seed), target()
    X = rng.integers(0, 3, (ROWS, columns)).astype(float)
    for j in range(2, columns, 5):
        X[:, j] = np.where(rng.random(ROWS) < rng.random() * 0.8, y, X[:, j])
    for j in range(7, columns, 15):
        X[:, j] = np.where(rng.random(ROWS) < 0.1, X[:, j], X[:, j - 5])
    return pd.DataFrame(X, columns=[f"{prefix}{j}" for j in range(columns)])


def numbers(seed: int = 1, columns: int = COLUMNS, prefix: str = "n") -> pd.DataFrame:
    """The same as real numbers with missing values, for selections that encode."""
    rng, data = np.random.default_rng(seed), table(seed, columns, prefix)
    blurred = data + rng.normal(size=data.shape) * 0.3
    return blurred.mask(rng.random(data.shape) < 0.02)


#: How such columns are encoded.
ENCODED = {"encode": "mdlp", "missing": "category"}


def selector() -> SAOLA:
    return SAOLA(MutualInformation(alpha=0.01))


def fresh(folder: Path, **options: object) -> Selection:
    return Selection.create(folder / "run", target(), selector(), **options)


def expected_log(data: pd.DataFrame):
    return selector().fit(data, target()).log_


def rewrite(folder: Path, kind: str, change, number: int = 0) -> None:
    """Change a row of the state, with a valid checksum, as in a folder from an untrusted source."""
    with state_file.writing(folder, state_file.last_version(folder)) as opened:
        facts = {n: facts for n, facts, _ in state_file.read(opened, kind)}[number]
        state_file.put(opened, kind, number, change(facts) or facts)


def head_of(folder: Path) -> dict:
    with state_file.reading(folder) as opened:
        ((_, head, _),) = state_file.read(opened, "head")
        return head


def committed(folder: Path) -> int:
    """Return how many commits a folder has; 0 if there is none."""
    version = state_file.last_version(folder)
    return 0 if version is None else version[0]
