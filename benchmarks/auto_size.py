"""How well n_features="auto" finds the number of informative features on the paper's X1 and X2.

X1 has 100 informative features of 10,000, X2 200 of 20,000 (see benchmarks/_streams.py). Each
learner runs with the default sizes, and with closely spaced sizes around the true one. gamma or eta
is picked by `tamis.tune` from the first fifth of the rows with 500 features, so that nothing gives
away the true size. For comparison, the test accuracy with the true size.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import tamis
from benchmarks._harness import Report
from benchmarks._streams import X1, X2

STREAMS = (X1, X2)
ROWS, TEST_ROWS = 100_000, 10_000
LEARNERS = ("SOFS", "PET", "FOFS")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROWS": 5_000, "TEST_ROWS": 1_000, "STREAMS": (X1,)}


def close_sizes(informative: int) -> list[int]:
    """Return sizes from half to twice the true one, in steps of a tenth of it."""
    return [informative * tenth // 10 for tenth in range(5, 21)]


def one(model: Any, what: str, train: Any, test: Any, good: Any) -> dict[str, Any]:
    """One line of the table."""
    start, busy = time.perf_counter(), time.process_time()
    model.fit(*train)
    wall, cpu = time.perf_counter() - start, time.process_time() - busy
    given = {k: v for k, v in model.get_params().items() if k in ("gamma", "eta", "lam")}
    return {
        "learner": type(model).__name__,
        "sizes": what,
        "picked": model.n_features_,
        "informative": len(good),
        "informative kept": int(np.isin(model.kept_, good).sum()),
        "test accuracy %": f"{100 * np.mean(model.predict(test[0]) == test[1]):.2f}",
        "tuned": ", ".join(f"{k}={v:g}" for k, v in given.items()),
        "models": len(model.size_curve_),
        "wall s": wall,
        "CPU s": cpu,
        "CPU ns per nonzero and model": cpu / train[0].nnz / len(model.size_curve_) * 1e9,
    }


def main() -> None:
    report = Report("auto_size", __doc__)
    for stream in STREAMS:
        name, informative, good = stream.name, stream.informative, stream.good
        X, y = stream.matrix(0, ROWS + TEST_ROWS)
        train, test = (X[:ROWS], y[:ROWS]), (X[ROWS:], y[ROWS:])
        lines, curves = [], []
        for learner in LEARNERS:
            base = getattr(tamis, learner)(500)
            tuned = tamis.tune(base, *train, rows=ROWS // 5).learner
            for what, sizes in (
                ("4, 8, ..., 4096", {"n_features": "auto"}),
                ("close", {"n_features": "auto", "sizes": close_sizes(informative)}),
                ("the truth", {"n_features": informative}),
            ):
                model = tuned.set_params(**{"sizes": None, **sizes})
                lines.append(one(model, what, train, test, good))
                if sizes == {"n_features": "auto"}:
                    shown = {str(k): f"{100 * v:.2f}" for k, v in model.size_curve_.items()}
                    curves.append({"learner": learner, **shown})
        report.table(f"{name}: {informative} informative features of {stream.columns:,}", lines)
        report.table(f"{name}: progressive error in % by size", curves)
    report.save()


if __name__ == "__main__":
    main()
