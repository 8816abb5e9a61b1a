"""Accuracy against kept features: SOFS, PET, FOFS, an l1-SVM and mRMR; and many classes (Figure 5).

One pass over the training rows, as in the paper. gamma, eta and lam are picked at each number of
features on training rows only, by progressive validation. Rows are scaled to length 1. mRMR picks
the features, then OGD learns with them, as in the paper. The l1-SVM is scikit-learn's, which makes
passes until it converges; C is varied, and the model with the most features up to the requested
number is shown.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

import tamis
from benchmarks._data import SHARED
from benchmarks._docs import fill
from benchmarks._harness import RESULTS, Report, table
from tamis.methods.online.row_sieve import RowSieveLearner

SPLITS = 5
#: Sets of many classes, by the part of the page.
CLASSES = {"classes": ("digits", "isolet", "multi_features"), "text classes": ("ohsumed_23",)}
#: Data set, training rows in the paper (None: its own split), numbers of kept features.
TWO_CLASSES: dict[str, tuple[int | None, tuple[int, ...]]] = {
    "relathe": (1000, (10, 20, 50, 100, 200, 500, 1000, 2000)),
    "basehock": (1500, (10, 20, 50, 100, 200, 500, 1000, 2000)),
    "pcmac_asu": (1000, (10, 20, 50, 100, 200, 500, 1000, 2000)),
    "news20_rebuilt": (None, (100, 1000, 7000, 70_000, 140_000, 280_000)),
}
#: mRMR compares every candidate with every picked feature: beyond this number it is not shown.
MOST_MRMR = {"news20_rebuilt": 100}
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SPLITS": 1, "TWO_CLASSES": {"basehock": (1500, (10, 100))}, "CLASSES": {}}
GAMMAS = [{"gamma": g} for g in (0.001, 0.01, 0.1, 1.0, 10.0)]
ETAS = [{"eta": e} for e in (0.03, 0.1, 0.3, 1.0)]
GRIDS: dict[str, list[dict[str, float]]] = {
    "RowSieve": [{"gamma": g} for g in RowSieveLearner.grid["gamma"]],
    "SOFS": GAMMAS,
    "PET": ETAS,
    "FOFS": [{"eta": e, "lam": lam} for e in (0.1, 0.3, 1.0) for lam in (0.001, 0.01)],
    "OGD": ETAS,
}

Rows = tuple[Any, Any]


def load(name: str) -> tuple[Any, Any, Any]:
    """Return all rows of a set in the shared folder, its classes, and its metadata."""
    meta = json.loads((SHARED / name / "meta.json").read_text())
    sparse = "CSR" in meta["format"]
    X = sp.load_npz(SHARED / name / "X.npz") if sparse else np.load(SHARED / name / "X.npy")
    return X, np.load(SHARED / name / "y.npy"), meta


def splits(X: Any, y: Any, train: int, repeats: int | None = None) -> list[tuple[Rows, Rows]]:
    """Return random splits, the same for every method."""
    found = []
    for seed in range(repeats or SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        a, b = order[:train], order[train:]
        found.append(((X[a], y[a]), (X[b], y[b])))
    return found


def tuned(name: str, rows: Rows, **fixed: Any) -> Any:
    """Return the fitted learner with the fewest mistakes in progressive validation."""
    models = [getattr(tamis, name)(**fixed, **choice).fit(*rows) for choice in GRIDS[name]]
    return min(models, key=lambda model: model.work_["mistakes"])


def right(model: Any, rows: Rows) -> float:
    """Return the accuracy of a model in percent."""
    return float(100 * np.mean(model.predict(rows[0]) == rows[1]))


def of_learner(name: str) -> Callable[..., list[float | None]]:
    def curve(train: Rows, test: Rows, sizes: Sequence[int], most: int) -> list[float | None]:
        return [right(tuned(name, train, n_features=size), test) for size in sizes]

    return curve


def of_l1_svm(train: Rows, test: Rows, sizes: Sequence[int], most: int) -> list[float | None]:
    found = []
    for C in np.geomspace(0.01, 100, 13):
        svm = LinearSVC(penalty="l1", dual=False, C=C, tol=1e-3, max_iter=300)
        with warnings.catch_warnings():  # 300 iterations are known not to be enough
            warnings.simplefilter("ignore")
            svm.fit(*train)
        found.append((int(np.count_nonzero(svm.coef_)), right(svm, test)))
        if found[-1][0] > max(sizes):
            break
    fitting = [max((f for f in found if 0 < f[0] <= size), default=None) for size in sizes]
    return [None if best is None else best[1] for best in fitting]


def of_mrmr(train: Rows, test: Rows, sizes: Sequence[int], most: int) -> list[float | None]:
    reach = max((size for size in sizes if size <= most), default=0)
    if not reach:
        return [None] * len(sizes)
    present = (train[0] != 0).astype(np.float64)
    ranking = tamis.MRMR(n_features=reach).fit(present, train[1]).ranking_
    found: list[float | None] = []
    for size in sizes:
        columns = ranking[:size]
        part = train[0][:, columns], train[1]
        model = tuned("OGD", part) if size <= reach else None
        found.append(None if model is None else right(model, (test[0][:, columns], test[1])))
    return found


METHODS: dict[str, Callable[..., list[float | None]]] = {
    "RowSieve": of_learner("RowSieve"),
    "SOFS": of_learner("SOFS"),
    "PET": of_learner("PET"),
    "FOFS": of_learner("FOFS"),
    "l1-SVM": of_l1_svm,
    "mRMR + OGD": of_mrmr,
}


def two_classes(name: str) -> list[dict[str, Any]]:
    """Return the table of a set: the accuracy of each method by number of features."""
    X, y, meta = load(name)
    X = normalize(X.tocsr().astype(np.float64))
    y = (y == y.max()).astype(int)
    train, sizes = TWO_CLASSES[name]
    if train is None:
        rows, rest = (range(*meta["split"][part]) for part in ("train", "test"))
        order = np.random.default_rng(0).permutation(np.array(rows))
        parts = [((X[order], y[order]), (X[np.array(rest)], y[np.array(rest)]))]
    else:
        parts = splits(X, y, train)
    most = MOST_MRMR.get(name, 200)
    lines: list[dict[str, Any]] = [{"kept": size} for size in sizes]
    for method, curve in METHODS.items():
        runs = np.array([curve(*part, sizes, most) for part in parts], dtype=np.float64)
        for line, values in zip(lines, runs.T, strict=True):
            there = values[~np.isnan(values)]
            line[method] = f"{there.mean():.1f}" if len(there) else "-"
    return lines


def many_classes() -> dict[str, tuple[Any, Any, tuple[int, ...]]]:
    """Return multiclass sets with scaled columns, and numbers of features."""
    X, y = load_digits(return_X_y=True)
    found: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
        "digits": (X / 16.0, y, (5, 10, 20, 30, 40, 64))
    }
    for name in ("isolet", "multi_features"):
        if (SHARED / name).is_dir():
            X, y, _ = load(name)
            X = StandardScaler().fit_transform(X.astype(np.float64))
            found[name] = (X, y, (10, 20, 50, 100, 200, 400, X.shape[1]))
    return found


def text_classes() -> dict[str, tuple[Any, Any, tuple[int, ...]]]:
    """Return a text set of 23 classes, if available: rows of length 1, and numbers of features."""
    if not (SHARED / "ohsumed_23").is_dir():
        return {}
    X, y, _ = load("ohsumed_23")
    X = normalize(X.tocsr().astype(np.float64))
    return {"ohsumed_23": (X, y, (100, 500, 1000, 5000, X.shape[1]))}


def figure_5(X: Any, y: Any, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Return the table: one line per number of features, with learners and random features."""
    parts = splits(X, y, int(0.7 * len(y)))
    lines = []
    for size in sizes:
        line: dict[str, Any] = {"kept": size}
        for name in ("RowSieve", "SOFS", "PET", "FOFS"):
            for rivals in ("max",) if name == "RowSieve" else ("max", "uniform"):
                runs = [
                    right(tuned(name, train, n_features=size, multiclass=rivals), test)
                    for train, test in parts
                ]
                line[name if name == "RowSieve" else f"{name}, {rivals}"] = f"{np.mean(runs):.1f}"
        runs = []
        for seed, (train, test) in enumerate(parts):
            drawn = np.random.default_rng(seed).choice(X.shape[1], size, replace=False)
            model = tuned("SOFS", (train[0][:, drawn], train[1]), n_features=size)
            runs.append(right(model, (test[0][:, drawn], test[1])))
        line["drawn at random"] = f"{np.mean(runs):.1f}"
        lines.append(line)
    return lines


def leaders(lines: Sequence[dict[str, Any]], of: Sequence[str]) -> str:
    """Who is best at which number of features, in words."""
    best = []
    for line in lines:
        score = {m: float(line[m]) for m in of if line[m] != "-"}
        best.append((line["kept"], max(score, key=lambda m: score[m])))
    return ", ".join(f"{size:,}: {who}" for size, who in best)


def plot(tables: dict[str, list[dict[str, Any]]], name: str) -> None:
    """Plot the curves of all sets in bench-results/NAME.png, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(4.2 * len(tables), 3.6), layout="constrained")
    indices = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, (title, lines) in zip(indices, tables.items(), strict=True):
        for method in list(lines[0])[1:]:
            shown = [(line["kept"], float(line[method])) for line in lines if line[method] != "-"]
            if shown:
                axes.plot(*zip(*shown, strict=True), marker="o", markersize=3, label=method)
        axes.set(title=title, xscale="log", xlabel="kept features", ylabel="test accuracy %")
    figure.axes[-1].legend(fontsize=7)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=130)


def main() -> None:
    report = Report("instance_curves", __doc__)
    tables = {}
    for name in TWO_CLASSES:
        if not (SHARED / name).is_dir():
            report.note(f"{name}: not available, skipped")
            continue
        tables[name] = two_classes(name)
        report.table(f"{name}: test accuracy %", tables[name])
        report.note(f"best of the four at each size: {leaders(tables[name], list(METHODS)[:4])}")
    known = {**many_classes(), **text_classes()}
    for page_part, names in CLASSES.items():
        classes = {}
        for name, given in ((name, known[name]) for name in names if name in known):
            classes[name] = figure_5(*given)
            report.table(f"{name}: test accuracy %", classes[name])
        if classes:
            plot(classes, f"instance_curves_{page_part.replace(' ', '_')}")
            shown = [f"**{name}**\n\n{table(lines)}\n" for name, lines in classes.items()]
            fill("instance-streams.md", page_part, "\n".join(shown))
    if tables:
        plot(tables, "instance_curves")
        text = [f"**{name}**\n\n{table(lines)}\n" for name, lines in tables.items()]
        text += [
            f"Best of the four online learners on {name}, by kept features: "
            f"{leaders(lines, list(METHODS)[:4])}.\n"
            for name, lines in tables.items()
        ]
        fill("instance-streams.md", "curves", "\n".join(text))
    report.save()


if __name__ == "__main__":
    main()
