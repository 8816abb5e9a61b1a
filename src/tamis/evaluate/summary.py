"""Summary of results as plain values: means, average ranks, tests, stability."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.sentences import counted
from tamis.evaluate import ranks
from tamis.evaluate.metrics import METRICS
from tamis.evaluate.paired import PairedTest, bayesian_signed_rank, compare_pair, paired_p
from tamis.evaluate.results import COSTS, Results

Floats = npt.NDArray[np.float64]

#: Accuracies closer than this are practically equal, in the Bayesian signed-rank test.
ROPE = 0.01


def summarise(results: Results) -> dict[str, Any]:
    """Return means, ranks, tests and stability as plain values; None where there is no number."""

    def grid(metric: str, judge: str | None = None) -> list[list[float | None]]:
        return [[_finite(v) for v in row] for row in results.grid(metric, judge).tolist()]

    return {
        "control": results.control,
        "classifiers": {
            judge: {
                **{m: grid(m, judge) for m in (*METRICS, "predict_microseconds_a_row")},
                "ranks": rank_summary(results, judge),
                "win_tie_loss": win_tie_loss(results, judge),
                "paired_p": paired_p_values(results, judge),
            }
            for judge in results.classifiers
        },
        **{cost: grid(cost) for cost in COSTS},
        "stability": [
            [
                {k: _finite(v) for k, v in asdict(results.stability(d, m)).items()}
                for m in results.methods
            ]
            for d in results.data
        ],
        "data": results.data,
        "methods": results.methods,
        "problems": results.problems(),
    }


def rank_summary(results: Results, judge: str, metric: str = "accuracy") -> dict[str, Any] | None:
    """Return Friedman, Iman-Davenport, Nemenyi, Holm and Bayesian tests over the data sets.

    None if there are fewer than two methods or data sets.
    """
    values = np.round(results.grid(metric, judge), 12)  # equal up to rounding: tied
    n, k = values.shape
    if n < 2 or k < 2:
        return None
    test, difference = ranks.friedman(values), ranks.critical_difference(k, n)
    control = results.methods.index(results.control)
    beliefs = {}
    for i, method in enumerate(results.methods):
        pairs = values[:, [control, i]]
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        if i != control and len(pairs) > 1:
            beliefs[method] = asdict(bayesian_signed_rank(*pairs.T, rope=ROPE))
    return {
        "average_ranks": test.average_ranks.tolist(),
        "friedman": {
            "chi_square": test.chi_square, "p": test.p,
            "chi_square_ties": test.chi_square_ties, "p_ties": test.p_ties,
        },
        "iman_davenport": {"f": _finite(test.f), "p": test.f_p},
        "critical_difference": difference,
        "nemenyi_p": ranks.nemenyi_p(test.average_ranks, n).tolist(),
        "not_different": ranks.cliques(test.average_ranks, difference),
        "holm": [
            asdict(one) | {"method": results.methods[one.method]}
            for one in ranks.holm(test.average_ranks, n, control)
        ],
        "bayesian_signed_rank": beliefs,
        "unfinished": int(np.isnan(values).sum()),
    }  # fmt: skip


def too_few_data_sets(results: Results) -> str:
    """Return a sentence if no difference of ranks could be significant, however large; else ""."""
    n, k = len(results.data), len(results.methods)
    if n < 2 or k < 2 or ranks.critical_difference(k, n) < k - 1:
        return ""
    return (
        f"{counted(n, 'data set')} and {counted(k, 'method')} are too few for a test of ranks to "
        "find any difference significant; the wins, ties and losses are tests on each data set"
    )


def win_tie_loss(results: Results, judge: str, metric: str = "accuracy") -> dict[str, list[int]]:
    """Count the data sets that the control won, tied and lost against every other method.

    By the paired test over the folds; with a single split, over its test rows. A method without a
    result loses against one with a result.
    """
    found = {}
    for method in results.methods:
        if method != results.control:
            outcomes = [_outcome(results, d, method, judge, metric) for d in results.data]
            found[method] = [outcomes.count(word) for word in ("win", "tie", "loss")]
    return found


def paired_p_values(
    results: Results, judge: str, metric: str = "accuracy"
) -> dict[str, list[float | None]]:
    """Return the p-value of the paired test on each data set, of the control against each method.

    None where one of the two has no result.
    """
    others = [method for method in results.methods if method != results.control]
    return {
        method: [
            None if (pair := _pair(results, data, method, judge, metric)) is None
            else _finite(paired_p(pair.ours, pair.theirs, test=pair.test, share=pair.share))
            for data in results.data
        ]
        for method in others
    }  # fmt: skip


@dataclass(frozen=True)
class _Pair:
    """Results of the control and of another method on one data set, and how they are compared."""

    ours: Floats
    theirs: Floats
    test: PairedTest
    share: float


def _pair(results: Results, data: str, method: str, judge: str, metric: str) -> _Pair | None:
    """Return what is compared on one data set, or None if one of the two has no result."""
    ours = results.fold_values(metric, data, results.control, judge)
    theirs = results.fold_values(metric, data, method, judge)
    if np.isnan(ours).any() or np.isnan(theirs).any():
        return None
    if len(ours) == 1:
        rows = [_right(results, data, who, judge) for who in (results.control, method)]
        return _Pair(rows[0], rows[1], "t", 0.0)
    about = next(one for one in results.params["data"] if one["name"] == data)
    return _Pair(ours, theirs, results.params["paired"], about["test_rows"] / about["train_rows"])


def _outcome(results: Results, data: str, method: str, judge: str, metric: str) -> str:
    pair = _pair(results, data, method, judge, metric)
    if pair is None:
        values = [results.fold_values(metric, data, m, judge) for m in (results.control, method)]
        failed = [bool(np.isnan(one).any()) for one in values]
        return "tie" if all(failed) else "loss" if failed[0] else "win"
    return compare_pair(pair.ours, pair.theirs, test=pair.test, share=pair.share)


def _right(results: Results, data: str, method: str, judge: str) -> Floats:
    """Return 1 for each test row of a single split that was predicted correctly, else 0."""
    row = results.rows_of(data, method, judge)[0]
    packed, rows = results.column("right")[row], int(results.column("test_rows")[row])
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=rows).astype(np.float64)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
