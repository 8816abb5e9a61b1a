"""How honest `tamis.judge` is: its score beside that of rows that were never touched.

Eleven sets, each split ten times at random: 70 % of the rows are judged (three times five folds,
with Sieve and a linear model), then features are selected from all of them, the same model is
fitted, and the other 30 % are predicted. Beside it the usual mistake: features are selected from
all rows first, and only the model is cross-validated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
)
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import tamis
from benchmarks._data import load_real
from benchmarks._harness import ROOT, Report
from tamis.core.target import Target
from tamis.evaluate.honest_score import Table, folds_of, make_model
from tamis.evaluate.protocol import parse_cv
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import to_columns

SPLITS = 10


def houses() -> tuple[Any, Any]:
    """Return the example of the docs: words, gaps and a price."""
    frame = pd.read_csv(ROOT / "docs" / "houses.csv").drop(columns="sold")
    return frame.drop(columns="price"), frame["price"].to_numpy()


def friedman() -> tuple[Any, Any]:
    """Return five informative columns among 100, and a curved target."""
    return make_friedman1(300, 100, noise=1.0, random_state=0)


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "colon": lambda: load_real("colon"),
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "houses": houses,
    "friedman": friedman,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "lymphoma": lambda: load_real("lymphoma"),
    "leukemia": lambda: load_real("leukemia"),
    "digits": lambda: load_digits(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "promoters": lambda: load_real("promoters"),
    "cns": lambda: load_real("cns"),
}
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "SPLITS": 1,
    "SETS": {name: SETS[name] for name in ("diabetes", "wine")},
}


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of a table."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def cells(X: Any, y: Any) -> tuple[Any, Any]:
    """Return a table as a model takes it, and which columns hold words."""
    source = to_columns(MemorySource(X, y))
    return Table.of(source).cells(np.arange(source.n_columns))


def score(target: Target, truth: Any, predicted: Any) -> float:
    """Return the score of predictions."""
    return float((balanced_accuracy_score if target.is_classes else r2_score)(truth, predicted))


def one_split(X: Any, y: Any, target: Target, train: Any, test: Any) -> dict[str, float]:
    """Judge the training rows, and predict the others."""
    mine, theirs = rows_of(X, train), y[train]
    judged = tamis.judge(mine, "sieve", theirs, task=target.task)
    kept = np.array(tamis.select(mine, "sieve", theirs, task=target.task).log.replay())
    table, is_text = cells(X, y)
    some, words = table[:, kept], is_text[kept]

    def predicted(fit: Any, of: Any) -> Any:
        model = make_model("linear", target.is_classes, words, sp.issparse(some), 0)
        return model.fit(some[fit], y[fit]).predict(some[of])

    found = {
        "judged": judged.kept.mean, "se": judged.kept.std_error,
        "inside": 0.0, "held out": score(target, y[test], predicted(train, test)),
    }  # fmt: skip
    found["inside"] = float(judged.kept.low <= found["held out"] <= judged.kept.high)
    part = Target.of(theirs, target.task)
    guesses = np.zeros(len(train), y.dtype)
    for fold in folds_of(part, parse_cv(5), 0):
        guesses[fold.test] = predicted(train[fold.train], train[fold.test])
    return found | {"mistake": score(target, theirs, guesses)}


def one_set(name: str) -> dict[str, Any]:
    """Return one line of the table."""
    X, y = SETS[name]()
    X = sp.csr_matrix(X) if sp.issparse(X) else X
    target = Target.of(y)
    y = target.codes if target.is_classes else np.asarray(y, float)
    kind = StratifiedShuffleSplit if target.is_classes else ShuffleSplit
    splits = kind(SPLITS, test_size=0.3, random_state=0).split(np.zeros((len(y), 1)), y)
    runs = [one_split(X, y, target, train, test) for train, test in splits]
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {
        "set": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "score": "balanced accuracy" if target.is_classes else "R squared",
        "judged": f"{mean['judged']:.3f}",
        "held out": f"{mean['held out']:.3f}",
        "difference": f"{mean['judged'] - mean['held out']:+.3f}",
        "standard error": f"{mean['se']:.3f}",
        "within": abs(mean["judged"] - mean["held out"]) <= mean["se"],
        "inside the interval": f"{mean['inside'] * SPLITS:.0f} of {SPLITS}",
        "selected before the folds": f"{mean['mistake']:.3f}",
    }


def main() -> None:
    report = Report("judge", __doc__)
    warnings.simplefilter("ignore")
    lines = []
    for name in SETS:
        lines.append(one_set(name))
        print(lines[-1], flush=True)
    report.table(f"Means over {SPLITS} splits", lines)
    report.save()


if __name__ == "__main__":
    main()
