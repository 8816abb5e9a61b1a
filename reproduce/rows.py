"""The SOFS paper: its generated sets, its large and medium sets, and its figures.

Every job writes one file and is not repeated. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import tamis
from tamis.kernels.threads import threads

#: The generated sets of Table I.
GENERATED = {
    "x1": {"rows": 100_000, "test": 10_000, "columns": 10_000, "informative": 100, "others": 200},
    "x2": {"rows": 100_000, "test": 10_000, "columns": 20_000, "informative": 200, "others": 400},
    "x3": {"rows": 1_000_000, "test": 100_000, "columns": 10**9, "informative": 500,
           "others": 500},
}  # fmt: skip

RHO = (0.005, 0.05, 0.1, 0.2)

#: Sizes of the curves, as shares of the informative features (generated) and as numbers.
SHARES = (0.5, 1.0, 2.0, 5.0, 20.0)
SIZES = (50, 200, 1000)
MEDIUM = {"relathe": ("relathe", 1000), "basehock": ("basehock", 1500),
          "pcmac": ("pcmac_asu", 1000)}  # fmt: skip
ORDERS = 2

#: Rows of X2 on which the batch methods are run, and rows on which gamma is tuned for X3.
BATCH_ROWS = 10_000
X3_TUNING_ROWS = 30_000

#: What is tried for each learner; the last fifth of the training rows decides. AROW has two values
#: more, because its best was the largest of five.
TRIED: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "OGD": ("eta", (0.0001, 0.001, 0.01, 0.1, 1.0)),
    "PET": ("eta", (0.0001, 0.001, 0.01, 0.1, 1.0)),
    "FOFS": ("eta", (0.0001, 0.001, 0.01, 0.1, 1.0)),
    "AROW": ("gamma", (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)),
    "SOFS": ("gamma", (0.1, 1.0, 10.0, 100.0, 1000.0)),
}

Parts = tuple[Any, Any, Any, Any]


def run(data: Path, out: Path) -> dict[str, Any]:
    """Return the results of all jobs; finished ones are read, not recomputed."""
    out.mkdir(parents=True, exist_ok=True)
    for name, job in jobs(data).items():
        path = place(out, name)
        if not path.is_file():
            with threads(1):
                found = job()
            work = path.with_suffix(".partial")
            work.write_text(json.dumps(found))
            work.replace(path)
            print(f"sofs {name}", flush=True)
    return stored(out, data)


def jobs(data: Path) -> dict[str, Callable[[], Any]]:
    """Return the jobs by name."""
    return {
        "x1": lambda: _table_2("x1"),
        "x2": lambda: _table_2("x2"),
        "figure-1": _figure_1,
        "x2-batch": _batch,
        "news20": lambda: _table_5(data / "news20_rebuilt", unit=True),
        "phish_url": lambda: _table_5(data / "phish_url", unit=True),
        "rcv1_vw_sample": lambda: _table_5(data / "rcv1_vw_sample"),
        "figure-4": lambda: _figure_4(data),
        "x3": _x3,
    }


def place(out: Path, name: str) -> Path:
    """Return the file of a job."""
    return out / f"{name}-{tamis.__version__}.json"


def stored(out: Path, data: Path) -> dict[str, Any]:
    """Return what was computed so far."""
    return {
        name: json.loads(place(out, name).read_text())
        for name in jobs(data)
        if place(out, name).is_file()
    }


# --- learners -------------------------------------------------------------------------------------


def make(name: str, size: int, **params: Any) -> Any:
    """Return a learner by its name; those that select get a size."""
    kind = getattr(tamis, name)
    return kind(**params) if name in ("OGD", "AROW") else kind(n_features=size, **params)


def tuned(name: str, size: int, X: Any, y: Any) -> dict[str, float]:
    """Return the parameter that is best on the last fifth of the training rows."""
    parameter, values = TRIED[name]
    cut = X.shape[0] * 4 // 5
    scores = []
    for value in values:
        model = make(name, size, **{parameter: value}).fit(X[:cut], y[:cut])
        scores.append(float(np.mean(model.predict(X[cut:]) == y[cut:])))
    return {parameter: values[int(np.argmax(scores))]}


def timed(model: Any, parts: Parts) -> dict[str, float]:
    """Return the accuracy on the test rows, in percent, and the CPU seconds of training."""
    X, y, test, truth = parts
    type(model)(**model.get_params()).fit(X[:200], y[:200])  # compiles
    begun = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - begun
    found = {"accuracy": 100 * float(np.mean(model.predict(test) == truth)), "seconds": seconds}
    return found | {"kept": float(len(model.kept_)), "features": float(X.shape[1])}


# --- generated sets -------------------------------------------------------------------------------


def generated(name: str, n: int, rng: np.random.Generator, weights: Any) -> tuple[Any, Any]:
    """Return n rows: informative and other features, N(0, 1); sign of a hidden weighting."""
    spec = GENERATED[name]
    informative, others = spec["informative"], spec["others"]
    width = informative + others
    values = rng.standard_normal((n, width))
    y = np.where(values[:, :informative] @ weights > 0, 1, -1)
    columns = np.empty((n, width), dtype=np.int32)
    columns[:, :informative] = np.arange(informative)
    # Distinct columns: one from each of equal ranges of those that are not informative.
    step = (spec["columns"] - informative) // others
    base = informative + step * np.arange(others)
    columns[:, informative:] = base + rng.integers(0, step, (n, others))
    indptr = np.arange(0, n * width + 1, width)
    shape = (n, spec["columns"])
    return sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=shape), y


def _split(name: str) -> Parts:
    spec, rng = GENERATED[name], np.random.default_rng(0)
    weights = rng.random(spec["informative"])
    X, y = generated(name, spec["rows"] + spec["test"], rng, weights)
    cut = spec["rows"]
    return X[:cut], y[:cut], X[cut:], y[cut:]


def _table_2(name: str) -> dict[str, Any]:
    """Return OGD, AROW and SOFS at their defaults and tuned."""
    parts, size = _split(name), GENERATED[name]["informative"]
    found: dict[str, Any] = {}
    for learner in ("OGD", "AROW", "SOFS"):
        found[learner] = timed(make(learner, size), parts)
        params = tuned(learner, size, parts[0][:30_000], parts[1][:30_000])
        found[f"{learner}, tuned"] = timed(make(learner, size, **params), parts) | params
    return found


def _x3(rows_at_a_time: int = 5_000) -> dict[str, Any]:
    """Return SOFS on a billion columns, in one pass over rows that are made as they are needed.

    The rows on which gamma is tuned are drawn apart.
    """
    spec, rng = GENERATED["x3"], np.random.default_rng(0)
    size, weights = spec["informative"], rng.random(spec["informative"])
    params = tuned("SOFS", size, *generated("x3", X3_TUNING_ROWS, rng, weights))
    models = {
        label: make("SOFS", size, n_columns=spec["columns"], classes=[-1, 1], **chosen)
        for label, chosen in (("SOFS", {}), ("SOFS, tuned", params))
    }
    seconds, right = dict.fromkeys(models, 0.0), dict.fromkeys(models, 0)
    for _ in range(spec["rows"] // rows_at_a_time):
        X, y = generated("x3", rows_at_a_time, rng, weights)
        for label, model in models.items():
            begun = time.process_time()
            model.partial_fit(X, y)
            seconds[label] += time.process_time() - begun
    for _ in range(spec["test"] // rows_at_a_time):
        X, y = generated("x3", rows_at_a_time, rng, weights)
        for label, model in models.items():
            right[label] += int(np.sum(model.predict(X) == y))
    return {
        label: {
            "accuracy": 100 * right[label] / spec["test"], "seconds": seconds[label],
            "kept": float(len(model.kept_)), "informative": int(np.sum(model.kept_ < size)),
            **(params if label != "SOFS" else {}),
        }
        for label, model in models.items()
    }  # fmt: skip


def _figure_1() -> dict[str, Any]:
    """Return accuracy and time by the number of features kept, on X1."""
    parts, informative = _split("x1"), GENERATED["x1"]["informative"]
    few = parts[0][:30_000], parts[1][:30_000]
    found: dict[str, Any] = {}
    for learner in ("SOFS", "PET", "FOFS"):
        for share in SHARES:
            size = int(share * informative)
            params = tuned(learner, size, *few)
            found[f"{learner} {size}"] = timed(make(learner, size, **params), parts) | params
    return found


def _batch() -> dict[str, Any]:
    """Return SOFS beside the batch methods on a tenth of the rows of X2."""
    parts, size = _split("x2"), GENERATED["x2"]["informative"]
    X, y, test, truth = parts[0][:BATCH_ROWS], parts[1][:BATCH_ROWS], *parts[2:]
    found: dict[str, Any] = {"SOFS": timed(make("SOFS", size), (X, y, test, truth))}
    columns = X.tocsc()
    for label, selector in batch_methods(size).items():
        found[label] = _judged(label, selector, (columns, y, test, truth))
    return found


# --- real sets ------------------------------------------------------------------------------------


def _load(folder: Path, unit: bool = False) -> tuple[Any, Any, Any]:
    X, y = sp.load_npz(folder / "X.npz").astype(np.float64).tocsr(), np.load(folder / "y.npy")
    if unit:
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sp.csr_matrix(sp.diags(1 / np.maximum(length, 1e-12)) @ X)
    return X, y, json.loads((folder / "meta.json").read_text())["split"]


def _table_5(folder: Path, unit: bool = False) -> dict[str, dict[str, float]]:
    """Return PET and SOFS at four shares of the features, at their defaults and tuned."""
    X, y, split = _load(folder, unit)
    if split:
        train, test = np.arange(*split["train"]), np.arange(*split["test"])
        train = np.random.default_rng(0).permutation(train)  # rows in random order
    else:
        order = np.random.default_rng(0).permutation(X.shape[0])
        train, test = np.split(order, [X.shape[0] * 2 // 3])
    parts = X[train], y[train], X[test], y[test]
    found = {}
    for rho in RHO:
        size = round(rho * X.shape[1])
        for name in ("PET", "SOFS"):
            found[f"{name} rho={rho:g}"] = timed(make(name, size), parts)
            params = tuned(name, size, parts[0], parts[1])
            found[f"{name}, tuned rho={rho:g}"] = timed(make(name, size, **params), parts) | params
    return found


def _orders(data: Path, name: str) -> Iterator[Parts]:
    folder, n_train = MEDIUM[name]
    X, y, _ = _load(data / folder)
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        train, test = np.split(order, [n_train])
        yield X[train], y[train], X[test], y[test]


def _figure_4(data: Path) -> dict[str, Any]:
    """Return accuracy and time by the number of features, on the medium sets: means over orders."""
    found: dict[str, Any] = {}
    for name in MEDIUM:
        for parts in _orders(data, name):
            for label, got in _curve(parts):
                found.setdefault(f"{name} {label}", []).append(got)
    return {
        key: {m: float(np.mean([g[m] for g in several])) for m in ("accuracy", "seconds")}
        for key, several in found.items()
    }


def _curve(parts: Parts) -> Iterator[tuple[str, dict[str, float]]]:
    X, y, test, truth = parts
    columns = X.tocsc()
    for size in SIZES:
        for learner in ("SOFS", "PET", "FOFS"):
            params = tuned(learner, size, X, y)
            yield f"{learner} {size}", timed(make(learner, size, **params), parts)
        for label, selector in batch_methods(size).items():
            yield f"{label} {size}", _judged(label, selector, (columns, y, test, truth))


def batch_methods(size: int) -> dict[str, Any]:
    """Return the batch methods of the paper, for a number of features."""
    return {
        "L1-SVM": tamis.L1SVM(n_features=size), "mRMR": tamis.MRMR(n_features=size),
        "FGM": tamis.FGM(n_per_cut=max(1, size // 5), max_cuts=5),
    }  # fmt: skip


def _judged(label: str, selector: Any, parts: Parts) -> dict[str, float]:
    """Return the accuracy of a classifier after a batch method, and the CPU seconds to select."""
    columns, y, test, truth = parts
    begun = time.process_time()
    kept = selector.fit(columns, y).kept_
    seconds = time.process_time() - begun
    X, new = columns[:, kept].tocsr(), test[:, kept]
    model: Any = LinearSVC()
    if label == "mRMR":  # as in the paper: online gradient descent after it
        model = tamis.OGD(**tuned("OGD", len(kept), X, y))
    right = np.mean(model.fit(X, y).predict(new) == truth)
    return {"accuracy": 100 * float(right), "seconds": seconds}
