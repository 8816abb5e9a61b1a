"""Learners for rows that arrive, on the paper's generated set X1: accuracy, and time a nonzero.

X1 (Wu, Hoi, Mei, Yu, TKDD 2017): 100,000 rows to learn and 10,000 to test, 10,000 columns, in each
row the 100 informative features and 200 others, all N(0, 1); the class is the sign of w*.x with w*
from U(0, 1) on the informative features, which are at random places here. gamma, eta and lam are
picked on the first fifth of the training rows, by the mistakes made before each row was learned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

import tamis
from benchmarks._harness import Report

ROWS, TEST_ROWS, COLUMNS, INFORMATIVE, OTHERS = 100_000, 10_000, 10_000, 100, 200
ROUNDS = 3
#: The paper's accuracy of SOFS on X1, and what we set out to reach, in ns a nonzero.
PAPER = 99.17
TARGETS = {"SOFS": 8, "PET": 15, "FOFS": 15}

GRIDS: dict[str, list[dict[str, float]]] = {
    "SOFS": [{"gamma": g} for g in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)],
    "AROW": [{"gamma": g} for g in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)],
    "PET": [{"eta": e} for e in (0.01, 0.1, 1.0)],
    "FOFS": [{"eta": e, "lam": la} for e in (0.01, 0.1, 1.0) for la in (0.001, 0.1)],
    "OGD": [{"eta": e} for e in (0.01, 0.1, 1.0)],
}


def generated(rows: int, columns: int, informative: int, others: int, seed: int = 0) -> Any:
    """Rows in which every informative feature occurs, and as many others as asked for."""
    rng = np.random.default_rng(seed)
    good = np.sort(rng.choice(columns, informative, replace=False))
    rest = np.setdiff1d(np.arange(columns), good)
    truth = np.zeros(columns)
    truth[good] = rng.random(informative)
    # Sorted draws plus 0, 1, 2, ... are different from each other.
    drawn = np.sort(rng.integers(0, len(rest) - others + 1, (rows, others)), axis=1)
    places = np.empty((rows, informative + others), dtype=np.int32)
    places[:, :informative] = good
    places[:, informative:] = rest[drawn + np.arange(others)]
    places.sort(axis=1)
    values = rng.normal(size=places.shape)
    y = np.einsum("ij,ij->i", values, truth[places]) > 0
    pointers = np.arange(0, places.size + 1, places.shape[1])
    X = sp.csr_matrix((values.ravel(), places.ravel(), pointers), shape=(rows, columns))
    return X, y, good


def tuned(name: str, X: Any, y: Any) -> Any:
    """The learner with the parameters that made the fewest mistakes on rows it had not seen."""
    fixed = {"n_features": INFORMATIVE} if name in TARGETS else {}
    models = [getattr(tamis, name)(**fixed, **choice) for choice in GRIDS[name]]
    return clone(min(models, key=lambda m: m.fit(X, y).work_["mistakes"]))


def timed(job: Callable[[], Any], again: Callable[[], Any]) -> tuple[float, float]:
    """Best wall and CPU seconds of `job`, with `again` before each round, off the clock."""
    wall, cpu = [], []
    for _ in range(ROUNDS):
        again()
        start, busy = time.perf_counter(), time.process_time()
        job()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return min(wall), min(cpu)


def one(name: str, model: Any, X: Any, y: Any, test: Any, good: Any) -> dict[str, Any]:
    """One line of the table."""
    live: list[Any] = []
    wall, cpu = timed(
        lambda: live[-1].partial_fit(X, y, classes=[False, True]),
        lambda: live.append(clone(model)),
    )
    done, ns = live[-1], cpu / X.nnz * 1e9
    kept = done.kept_ if hasattr(done, "kept_") else np.flatnonzero(done.coef_[0])
    target = TARGETS.get(name)
    shown = {k: v for k, v in model.get_params().items() if k in ("gamma", "eta", "lam")}
    return {
        "learner": name,
        "picked": ", ".join(f"{k}={v:g}" for k, v in shown.items()) if name in GRIDS else "",
        "test accuracy %": f"{100 * np.mean(done.predict(test[0]) == test[1]):.2f}",
        "kept": len(kept),
        "informative among them": int(np.isin(kept, good).sum()),
        "wall s": wall,
        "CPU s": cpu,
        "ns a nonzero": ns,
        "target": "" if target is None else f"{target} {'met' if ns < target else 'MISSED'}",
    }


def main() -> None:
    report = Report("instances", __doc__)
    X, y, good = generated(ROWS + TEST_ROWS, COLUMNS, INFORMATIVE, OTHERS)
    train, test = (X[:ROWS], y[:ROWS]), (X[ROWS:], y[ROWS:])
    part = train[0][: ROWS // 5], train[1][: ROWS // 5]
    lines = [one(name, tuned(name, *part), *train, test, good) for name in GRIDS]
    peer = SGDClassifier(loss="hinge", random_state=0)
    lines.append(one("SGDClassifier", peer, *train, test, good))
    theirs = lines[-1]["CPU s"]
    for line in lines:
        line["times SGDClassifier's speed"] = theirs / line["CPU s"]
    report.table(f"X1: {ROWS:,} rows, {train[0].nnz:,} nonzeros, one pass", lines)
    verdict = "reached" if float(lines[0]["test accuracy %"]) >= PAPER else "MISSED"
    report.note(f"the paper's {PAPER} % of SOFS: {verdict} ({lines[0]['test accuracy %']} %)")
    report.save()


if __name__ == "__main__":
    main()
