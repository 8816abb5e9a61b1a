"""Tables II and V of the SOFS paper, on generated rows and on news20."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis

#: The generated data set of Table II.
X1 = {"rows": 100_000, "test": 10_000, "columns": 10_000, "informative": 100, "others": 200}

RHO = (0.005, 0.05, 0.1, 0.2)


def run(data: Path, out: Path) -> dict[str, Any]:
    """Return the results of both tables; finished ones are read, not recomputed."""
    out.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, job in (("x1", _x1), ("news20", lambda: _news20(data))):
        path = out / f"{name}-{tamis.__version__}.json"
        if not path.is_file():
            work = path.with_suffix(".partial")
            work.write_text(json.dumps(job()))
            work.replace(path)
        found[name] = json.loads(path.read_text())
    return found


def _timed(model: Any, X: Any, y: Any, test: Any, truth: Any) -> dict[str, float]:
    type(model)(**model.get_params()).fit(X[:200], y[:200])  # compiles
    begun = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begun
    return {"accuracy": 100 * float(np.mean(model.predict(test) == truth)), "seconds": seconds}


def _x1() -> dict[str, dict[str, float]]:
    """X1: rows of 100 informative and 200 other features, N(0, 1); sign of a hidden weighting."""
    rng = np.random.default_rng(0)
    n, width = X1["rows"] + X1["test"], X1["informative"] + X1["others"]
    weights = rng.random(X1["informative"])
    values = rng.normal(size=(n, width))
    y = np.where(values[:, : X1["informative"]] @ weights > 0, 1, -1)
    columns = np.empty((n, width), dtype=np.int32)
    columns[:, : X1["informative"]] = np.arange(X1["informative"])
    # Distinct columns: one from each of equal ranges of those that are not informative.
    step = (X1["columns"] - X1["informative"]) // X1["others"]
    base = X1["informative"] + step * np.arange(X1["others"])
    columns[:, X1["informative"] :] = base + rng.integers(0, step, (n, X1["others"]))
    indptr = np.arange(0, n * width + 1, width)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(n, X1["columns"]))
    cut = X1["rows"]
    parts = X[:cut], y[:cut], X[cut:], y[cut:]
    models = {
        "OGD": tamis.OGD(), "AROW": tamis.AROW(), "SOFS": tamis.SOFS(n_features=X1["informative"])
    }  # fmt: skip
    return {name: _timed(model, *parts) for name, model in models.items()}


def _news20(data: Path) -> dict[str, dict[str, float]]:
    folder = data / "news20_rebuilt"
    X, y = sp.load_npz(folder / "X.npz").astype(np.float64), np.load(folder / "y.npy")
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags(1 / np.maximum(length, 1e-12)) @ X)
    split = json.loads((folder / "meta.json").read_text())["split"]
    train, test = slice(*split["train"]), slice(*split["test"])
    order = np.random.default_rng(0).permutation(X[train].shape[0])  # rows in random order
    parts = X[train][order], y[train][order], X[test], y[test]
    found = {}
    for rho in RHO:
        kept = round(rho * X.shape[1])
        for name, model in (("PET", tamis.PET(kept)), ("SOFS", tamis.SOFS(kept))):
            found[f"{name} rho={rho:g}"] = _timed(model, *parts)
    return found
