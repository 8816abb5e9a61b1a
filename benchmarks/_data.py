"""The benchmark data: real sets next to the project, or generated ones of the same shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks._harness import ROOT, MissingError

SHARED = ROOT.parent / "shared" / "data"


@dataclass(frozen=True)
class Workload:
    """A data set that a paper timed, our replacement for it, and the shape to generate if missing.

    `paper_seconds` is the time printed in SAOLA's papers.
    """

    paper: str
    real: str
    n_rows: int
    n_columns: int
    per_row: int
    paper_seconds: float | None = None

    def load(self) -> tuple[str, Any, npt.NDArray[Any]]:
        """Return the name of the loaded data, a CSR matrix (or an array), and the classes."""
        if (SHARED / self.real).is_dir():
            return self.real, *load_real(self.real)
        X, y = zipf_matrix(self.n_rows, self.n_columns, self.per_row)
        return f"generated, like {self.paper}", X, y


WORKLOADS = {
    w.paper: w
    for w in (
        Workload("news20", "news20_rebuilt", 9_996, 1_355_191, 380, 944),
        Workload("kdd2010", "debian_paths", 20_000, 29_890_095, 31, 1056),
        # Fewer nonzeros than webspam: enough to measure a time, and fits on any machine.
        Workload("webspam", "enron_spam_byte3", 20_000, 16_609_143, 400, 1456),
        Workload("dorothea", "dorothea", 800, 100_000, 900, 58),
        Workload("thrombin", "thrombin", 1_909, 139_351, 950, 63),
    )
}


def load_real(name: str) -> tuple[Any, npt.NDArray[Any]]:
    """Return the training rows of a set in the shared folder; all rows if it is not split."""
    folder = SHARED / name
    if not folder.is_dir():
        raise MissingError(f"it needs the data set {name}, which is not beside the project")
    meta = json.loads((folder / "meta.json").read_text())
    y = np.load(folder / "y.npy")
    X = sp.load_npz(folder / "X.npz") if "CSR" in meta["format"] else np.load(folder / "X.npy")
    lo, hi = (meta["split"] or {"train": (0, len(y))})["train"]
    return X[lo:hi], y[lo:hi]


def zipf_matrix(
    n_rows: int, n_columns: int, per_row: int, seed: int = 0
) -> tuple[sp.csr_matrix, npt.NDArray[np.int8]]:
    """Return binary rows with column frequencies like those of words, and two classes.

    The k-th most frequent column is drawn with probability about 1/(k ln n_columns); one pair of
    columns in ten is informative about the class. Columns are in random order.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows, dtype=np.int8)
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), per_row)
    ranks = (np.exp(rng.random(len(rows)) * np.log(n_columns)) - 1).astype(np.int32)
    # In rows of class 1 half of the draws of column 20 k go to column 20 k + 1 instead.
    moved = (ranks % 20 == 0) & (y[rows] == 1) & (rng.random(len(rows)) < 0.5)
    ranks[moved] = np.minimum(ranks[moved] + 1, n_columns - 1)
    columns = rng.permutation(np.arange(n_columns, dtype=np.int32))[ranks]
    ones = np.ones(len(rows), np.int8)
    X = sp.csr_matrix((ones, (rows, columns)), shape=(n_rows, n_columns))
    X.data[:] = 1  # sparse construction sums duplicate draws
    return X, y


def table_of_codes(
    n_rows: int, n_columns: int, levels: int = 12, seed: int = 0
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int8]]:
    """Return dense columns with a few levels each, every third of which is informative."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows, dtype=np.int8)
    X = rng.integers(0, rng.integers(2, levels + 1, n_columns), (n_rows, n_columns))
    informative = (rng.random((n_rows, n_columns)) < 0.3) & (np.arange(n_columns) % 3 == 0)
    return np.where(informative, y[:, None], X).astype(np.int16), y


def megabytes(X: Any) -> float:
    """Return the megabytes of the arrays of a sparse or dense matrix."""
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(array.nbytes for array in arrays) / 1e6
