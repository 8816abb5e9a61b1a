"""Numbers to predict: RowSieveRegressor and the other regressors, beside scikit-learn and VW.

One pass. Dense columns are standardised on the training rows. Each learner has its defaults;
`RowSieveRegressor, tuned` has gamma picked by progressive losses on the training rows. SGDRegressor
and Vowpal Wabbit (18 bits) get a standardised target, because in one pass their intercepts do not
reach a mean far from 0.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler

import tamis
from benchmarks import _streams
from benchmarks._data import zipf_matrix
from benchmarks._docs import fill
from benchmarks._harness import Report, table

LEARNERS = ("SOFSRegressor", "PETRegressor", "OGDRegressor", "AROWRegressor")

ROWS = 50_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROWS": 2_000}

Data = tuple[str, Any, Any, int]


def sets() -> Iterator[Data]:
    """Yield name, rows, targets and how many features decide, or are to be kept."""
    rng = np.random.default_rng(0)
    for stream in (_streams.X1, _streams.X1_RARE):
        X, _ = stream.matrix(0, ROWS)
        _, good, weights = stream._chosen()
        signal = X[:, good] @ weights
        name = "X1, a number" if stream is _streams.X1 else "X1, rare features, a number"
        yield name, X, 100 + signal + 0.5 * signal.std() * rng.normal(size=len(signal)), len(good)
    X, _ = zipf_matrix(ROWS * 2 // 5, 100_000, 40)
    frequent = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]))[100:300:2]
    signal = X[:, frequent] @ rng.choice([-1.0, 1.0], len(frequent))
    yield "words", X.astype(np.float64), 7 + signal + 0.3 * rng.normal(size=len(signal)), 100
    X, y = make_friedman1(ROWS * 2 // 5, 200, noise=1.0, random_state=0)
    yield "friedman1, 195 noise columns", X, y, 5
    X, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    yield "diabetes", X[order], y[order], 5


def vw(train: Any, test: Any) -> tuple[Any, float, int] | None:
    """Return the predictions of Vowpal Wabbit, its CPU seconds, and the nonzeros of its weights."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None

    def write(path: Path, X: Any, y: Any) -> None:
        rows = sp.csr_matrix(X)
        with path.open("w") as file:
            for r in range(rows.shape[0]):
                at = slice(rows.indptr[r], rows.indptr[r + 1])
                pairs = zip(rows.indices[at].tolist(), rows.data[at].tolist(), strict=True)
                file.write(f"{float(y[r])!r} | {' '.join(f'{j}:{v:.6g}' for j, v in pairs)}\n")

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(place / "train", *train)
        write(place / "test", *test)
        begun = time.process_time()
        model = Workspace(f"-d {place / 'train'} -b 18 --quiet -f {place / 'model'}")
        model.finish()
        taken = time.process_time() - begun
        say = f"-t -i {place / 'model'} -d {place / 'test'} -p {place / 'out'} --quiet"
        Workspace(say).finish()
        return np.loadtxt(place / "out"), taken, sp.csr_matrix(train[0]).shape[1]


def r2(found: Any, truth: Any) -> float:
    """Return R² of predictions."""
    return float(1 - np.mean((found - truth) ** 2) / np.var(truth))


def lines_of(data: Data) -> list[dict[str, Any]]:
    """Return one line per learner."""
    name, X, y, kept = data
    cut = int(0.8 * len(y))
    train, test = (X[:cut], y[:cut]), (X[cut:], y[cut:])
    if not sp.issparse(X):
        scaler = StandardScaler().fit(train[0])
        train, test = (scaler.transform(train[0]), y[:cut]), (scaler.transform(X[cut:]), y[cut:])
    nonzeros = train[0].nnz if sp.issparse(train[0]) else train[0].size
    lines: list[dict[str, Any]] = []

    def add(learner: str, fit: Callable[[], Any], n: Callable[[Any], int]) -> None:
        fit()  # compiles
        begun = time.process_time()
        model = fit()
        taken = 1e9 * (time.process_time() - begun) / nonzeros
        lines.append(
            {
                "set": name, "learner": learner, "kept": f"{n(model):,}",
                "test R²": f"{r2(model.predict(test[0]), test[1]):.3f}",
                "CPU ns per nonzero": f"{taken:.0f}",
            }
        )  # fmt: skip

    def size(model: Any) -> int:
        return len(model.kept_)

    add("RowSieveRegressor", lambda: tamis.RowSieveRegressor(kept).fit(*train), size)
    best = tamis.tune(tamis.RowSieveRegressor(kept), *train).learner
    add("RowSieveRegressor, tuned", lambda: tamis.RowSieveRegressor(**best.get_params()).fit(
        *train), size)  # fmt: skip
    for learner in LEARNERS:
        kind = getattr(tamis, learner)
        given = {"n_features": kept} if "n_features" in kind().get_params() else {}
        add(learner, lambda kind=kind, given=given: kind(**given).fit(*train), size)  # type: ignore[misc]
    mean, spread = train[1].mean(), train[1].std()

    class Sgd(SGDRegressor):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return mean + spread * super().predict(X)

    goal = (train[1] - mean) / spread
    add("SGDRegressor", lambda: Sgd().partial_fit(train[0], goal), lambda m: len(m.coef_))
    if (found := vw((train[0], goal), (test[0], (test[1] - mean) / spread))) is not None:
        lines.append(
            {
                "set": name, "learner": "Vowpal Wabbit", "kept": f"{found[2]:,}",
                "test R²": f"{r2(mean + spread * found[0], test[1]):.3f}",
                "CPU ns per nonzero": f"{1e9 * found[1] / nonzeros:.0f} (with reading)",
            }
        )  # fmt: skip
    return lines


def main() -> None:
    report = Report("instances_numbers", __doc__)
    lines: list[dict[str, Any]] = []
    for data in sets():
        found = lines_of(data)
        print(table(found), flush=True)
        lines += found
    report.table("numbers to predict", lines)
    fill("row-sieve.md", "numbers", table(lines))
    report.save()


if __name__ == "__main__":
    main()
