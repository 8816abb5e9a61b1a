"""How much the order of the columns matters: kept sets and accuracy over 20 orders.

SAOLA, Fast-OSFS and Sieve at 0.01 on seven real sets, and OSFS on the two with the fewest relevant
columns, with order="arrival" (the papers) and order="free". Nogueira's index compares the sets that
20 random orders keep: 1 is always the same, 0 is chance. Balanced accuracy is that of logistic
regression on scaled columns in five stratified folds, with the selection inside the folds; for
order="arrival" its mean and standard deviation over 20 orders. At equal size, the free order is cut
to the most relevant ones, as many as single runs keep on average.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import tamis
from benchmarks._data import load_real
from benchmarks._harness import Report
from tamis.core.names import Names
from tamis.evaluate.stability import stability
from tamis.sources.arrays.in_memory import MemorySource

SETS = ("colon", "lymphoma", "prostate", "leukemia", "basehock", "arcene", "pcmac_asu")
METHODS: dict[str, type[tamis.SAOLA | tamis.FastOSFS | tamis.Sieve | tamis.OSFS]] = {
    "SAOLA": tamis.SAOLA, "Fast-OSFS": tamis.FastOSFS, "Sieve": tamis.Sieve, "OSFS": tamis.OSFS,
}  # fmt: skip
#: With thousands of relevant columns OSFS takes hours, because the least relevant come first.
FEW_RELEVANT = ("colon", "pcmac_asu")
ORDERS, FOLDS = 20, 5
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": ("colon",), "FEW_RELEVANT": ("colon",), "ORDERS": 3}


def kept(method: str, X: Any, y: Any, order: str, columns: Any) -> tuple[Any, tamis.Run]:
    """Return the numbers of the columns that are kept, best first, and the run."""
    names = Names.of([f"c{j}" for j in columns.tolist()])
    source = MemorySource(X[:, columns], y, names=names)
    selector = METHODS[method](alpha=0.01, order=order)
    run = tamis.select(source, selector, task="classification")
    return columns[run.log.ranking()], run


def accuracy(X: Any, y: Any, train: Any, test: Any, features: Any) -> float:
    """Return the balanced accuracy of a model of some features."""
    if not len(features):
        values, counts = np.unique(y[train], return_counts=True)
        return float(balanced_accuracy_score(y[test], np.full(len(test), values[counts.argmax()])))
    scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
    model = make_pipeline(scaler, LogisticRegression(max_iter=1000))
    model.fit(X[train][:, features], y[train])
    return float(balanced_accuracy_score(y[test], model.predict(X[test][:, features])))


def one_set(name: str, method: str) -> dict[str, Any]:
    """Return one line of the table."""
    X, y = load_real(name)
    X = sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X)
    orders = [np.random.default_rng(k).permutation(X.shape[1]) for k in range(ORDERS)]
    line: dict[str, Any] = {
        "set": name,
        "method": method,
        "rows": X.shape[0],
        "columns": X.shape[1],
    }
    for order in ("arrival", "free"):
        begun = time.process_time()
        runs = [kept(method, X, y, order, columns) for columns in orders]
        seconds = (time.process_time() - begun) / ORDERS
        sets = [features for features, _ in runs]
        line |= {
            "relevant": runs[0][1].work["relevant"],
            f"{order}: kept": float(np.mean([len(s) for s in sets])),
            f"{order}: Nogueira": round(stability(sets, X.shape[1]).nogueira, 2),
            f"{order}: pairs": int(np.mean([run.work.get("pair_values", 0) for _, run in runs])),
            f"{order}: CPU s": seconds,
        }
    single, free, cut = [], [], []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(np.zeros(len(y)), y):
        sets = [kept(method, X[train], y[train], "arrival", columns)[0] for columns in orders]
        single.append([accuracy(X, y, train, test, features) for features in sets])
        features, _ = kept(method, X[train], y[train], "free", orders[0])
        free.append(accuracy(X, y, train, test, features))
        size = round(float(np.mean([len(s) for s in sets])))
        cut.append(accuracy(X, y, train, test, features[:size]))
    over_orders = np.mean(single, axis=0)
    mean, std = float(over_orders.mean()), float(over_orders.std(ddof=1))
    return line | {
        "accuracy, arrival": f"{mean:.3f} ({std:.3f})",
        "free": f"{np.mean(free):.3f}",
        "free, equal size": f"{np.mean(cut):.3f}",
        "not below by more than the sd": bool(np.mean(cut) >= mean - std),
    }


def main() -> None:
    report = Report("order", __doc__)
    lines = []
    for method in METHODS:
        for name in SETS if method != "OSFS" else FEW_RELEVANT:
            lines.append(one_set(name, method))
            print(lines[-1], flush=True)
    stable = [key for key in lines[0] if "accuracy" not in key and "free," not in key]
    stable = [key for key in stable if key not in ("free", "not below by more than the sd")]
    report.table(f"Kept sets over {ORDERS} orders", [{k: d[k] for k in stable} for d in lines])
    scored = ["set", "method", *(key for key in lines[0] if key not in stable)]
    report.table("Balanced accuracy", [{k: d[k] for k in scored} for d in lines])
    report.save()


if __name__ == "__main__":
    main()
