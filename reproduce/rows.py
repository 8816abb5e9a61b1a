"""The SOFS paper: its generated sets, its large and medium sets, and its figures.

Every job writes one file, and is repeated only if its data, or code that decides it, has changed.
Times are CPU seconds of one thread.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import tamis
from reproduce import stored
from reproduce.code import hash_of, hashes, joined
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
BATCH_SIZES = (50, 100, 200)
MEDIUM = {"relathe": ("relathe", 1000), "basehock": ("basehock", 1500),
          "pcmac": ("pcmac_asu", 1000)}  # fmt: skip
ORDERS = 2

#: Texts in place of medium sets that we do not have, in one order and at the first sizes.
STAND_INS = {"tick_reuters (stand-in for ccat)": ("tick_reuters", 7770),
             "basehock_26k (stand-in for aut)": ("basehock_26k", 1197),
             "pcmac_26k (stand-in for real-sim)": ("pcmac_26k", 1168)}  # fmt: skip

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


#: Modules whose code decides the jobs.
MODULES = tuple(
    f"tamis.methods.{name}"
    for name in ("online.sofs", "online.pet", "online.fofs", "online.ogd", "online.arow",
                 "batch.l1_svm", "batch.mrmr", "batch.fgm")
)  # fmt: skip

#: The data sets that the jobs read.
READ = {"news20": ("news20_rebuilt",), "phish_url": ("phish_url",),
        "rcv1_vw_sample": ("rcv1_vw_sample",),
        "figure-4": ("relathe", "basehock", "pcmac_asu"),
        "figure-4-stand-ins": ("tick_reuters", "basehock_26k", "pcmac_26k")}  # fmt: skip


def run(data: Path, out: Path) -> None:
    """Run all jobs and store their results; finished ones are read, not recomputed."""
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    places: list[Path] = []
    code = hashes(MODULES)
    for name, job in jobs(data).items():
        path = out / f"{name}-{_identity(data, name, joined(code))}.json"
        if not path.is_file():
            with threads(1):
                made = job()
            work = path.with_suffix(".partial")
            work.write_text(json.dumps(made))
            work.replace(path)
            print(f"sofs {name}", flush=True)
        found[name] = json.loads(path.read_text())
        places.append(path)
        stored.put("sofs", {"made": stored.made(places), "code": code, "jobs": found})


def _identity(data: Path, name: str, code: str) -> str:
    """Return a hash of what a job depends on: this module, tamis and the data."""
    digest = hashlib.blake2b(code.encode(), digest_size=8)
    digest.update(hash_of(__file__).encode())
    for folder in READ.get(name, ()):
        for part in ("X.npz", "y.npy"):
            digest.update((data / folder / part).read_bytes())
    return digest.hexdigest()


def jobs(data: Path) -> dict[str, Callable[[], Any]]:
    """Return the jobs by name."""
    return {
        "x1": lambda: _table_2("x1"),
        "x2": lambda: _table_2("x2"),
        "figure-1": _figure_1,
        "figure-1-batch": lambda: _batch("x1", BATCH_SIZES),
        "x2-batch": lambda: _batch("x2", (GENERATED["x2"]["informative"],)),
        "news20": lambda: _table_5(data / "news20_rebuilt", unit=True),
        "phish_url": lambda: _table_5(data / "phish_url", unit=True),
        "rcv1_vw_sample": lambda: _table_5(data / "rcv1_vw_sample"),
        "figure-4": lambda: _figure_4(data, MEDIUM, SIZES, ORDERS),
        "figure-4-stand-ins": lambda: _figure_4(data, STAND_INS, SIZES[:2], 1),
        "x3": _x3,
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
    """Return SOFS and PET on a billion columns, in one pass over rows that are made when needed.

    The rows on which gamma and eta are tuned are drawn apart.
    """
    spec, rng = GENERATED["x3"], np.random.default_rng(0)
    size, weights = spec["informative"], rng.random(spec["informative"])
    few = generated("x3", X3_TUNING_ROWS, rng, weights)
    params: dict[str, dict[str, float]] = {"SOFS": {}}
    params |= {f"{name}, tuned": tuned(name, size, *few) for name in ("SOFS", "PET")}
    models = {
        label: make(label.partition(",")[0], size, n_columns=spec["columns"], classes=[-1, 1],
                    **chosen)
        for label, chosen in params.items()
    }  # fmt: skip
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
            **params[label],
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


def _batch(name: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return SOFS beside the batch methods on a tenth of the rows of a generated set."""
    parts = _split(name)
    X, y, test, truth = parts[0][:BATCH_ROWS], parts[1][:BATCH_ROWS], *parts[2:]
    columns = X.tocsc()
    found: dict[str, Any] = {}
    for size in sizes:
        found[f"SOFS {size}"] = timed(make("SOFS", size), (X, y, test, truth))
        for label, selector in batch_methods(size).items():
            found[f"{label} {size}"] = _judged(label, selector, (columns, y, test, truth))
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


def _orders(folder: Path, n_train: int, orders: int) -> Iterator[Parts]:
    X, y, _ = _load(folder)
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        train, test = np.split(order, [n_train])
        yield X[train], y[train], X[test], y[test]


def _figure_4(
    data: Path, sets: dict[str, tuple[str, int]], sizes: tuple[int, ...], orders: int
) -> dict[str, Any]:
    """Return accuracy and time by the number of features, on medium sets: means over orders."""
    found: dict[str, Any] = {}
    for name, (folder, n_train) in sets.items():
        for parts in _orders(data / folder, n_train, orders):
            for label, got in _curve(parts, sizes):
                found.setdefault(f"{name} {label}", []).append(got)
    return {
        key: {m: float(np.mean([g[m] for g in several])) for m in ("accuracy", "seconds")}
        for key, several in found.items()
    }


def _curve(parts: Parts, sizes: tuple[int, ...]) -> Iterator[tuple[str, dict[str, float]]]:
    X, y, test, truth = parts
    columns = X.tocsc()
    for size in sizes:
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
