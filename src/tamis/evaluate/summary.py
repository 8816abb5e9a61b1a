"""Summary of results: means, average ranks, tests, stability; as plain values and Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.markup import cell, code, table
from tamis.core.sentences import counted
from tamis.evaluate import ranks
from tamis.evaluate.cells import OK
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


# --- as a page ------------------------------------------------------------------------------------


def summary_markdown(results: Results) -> str:
    """Return the summary as Markdown tables."""
    params = results.params
    parts = ["# Comparison of feature selectors\n", _intro(results)]
    for judge in results.classifiers:
        parts += [f"## Accuracy ({judge})\n", _grid(results, "accuracy", "{:.4f}", judge)]
        parts.append(_tests(results, judge))
    for title, metric, form in (
        ("Features kept", "kept", "{:,.1f}"),
        ("Seconds to select", "seconds", "{:,.3f}"),
        ("Memory above the data and the libraries (MB)", "extra_megabytes", "{:,.0f}"),
    ):
        parts += [f"## {title}\n", _grid(results, metric, form)]
    parts.append(_stability(results))
    problems = [
        f"- {cell(data)}, {cell(method)}: {status}{': ' if note else ''}{cell(note)} "
        f"({counted(count, 'fold')} and classifiers)"
        for (data, method, status, note), count in problem_counts(results).items()
    ]
    parts.append(_listed("Cells without a result", problems, "results.parquet"))
    notes = [
        f"- {cell(data)}, {cell(who)}: {cell(note)} ({counted(count, 'fold')})"
        for data, who, note, count in warnings_of(results)
    ]
    parts.append(_listed("Notes", notes, "results.parquet and selections.parquet"))
    if params["command"]:
        parts.append(f"To reproduce: {code(params['command'])}\n")
    versions = ", ".join(f"{name} {number}" for name, number in params["versions"].items())
    parts.append(f"random_state={params['random_state']}; {versions}.\n")
    return "\n".join(part for part in parts if part)


def _intro(results: Results) -> str:
    heads = ["data", "rows", "features", "classes", "folds", "train", "test", "fingerprint"]
    rows = [
        [
            cell(d["name"]), f"{d['rows']:,}", f"{d['features']:,}", str(len(d["classes"])),
            str(d["folds"]), f"{d['train_rows']:,}", f"{d['test_rows']:,}",
            f"`{d['fingerprint'][:16]}`",
        ]
        for d in results.params["data"]
    ]  # fmt: skip
    return (
        "Features were selected inside each training fold. Folds are the same for all methods. "
        f"Cross-validation: {results.params['cv']} (repeats x folds, stratified), unless a data "
        f"set has an official split and it was used.\n\n{table(heads, rows, 'lrrrrrrl')}\n"
    )


def _grid(results: Results, metric: str, form: str, judge: str | None = None) -> str:
    """Return means by data set and method; with a classifier, also over all data sets."""
    values = results.grid(metric, judge)
    means = dict(zip(product(results.data, results.methods), values.flat, strict=True))
    reasons: dict[tuple[str, str], set[str]] = {}
    for row in results.problems():
        reasons.setdefault((row["data"], row["method"]), set()).add(row["status"])

    def text(data: str, method: str) -> str:
        why_not = ", ".join(sorted(reasons.get((data, method), "-")))
        value = means[data, method]
        return why_not if math.isnan(value) else form.format(value)

    overall = ["" if math.isnan(v) else form.format(v) for v in values.mean(axis=0)]
    return _by_method(results, text, *([["mean", *overall]] if judge and len(values) > 1 else []))


def _by_method(results: Results, text: Callable[[str, str], str], *more: list[str]) -> str:
    """Return a table with a row per data set and a column per method."""
    rows = [[cell(data), *(text(data, m) for m in results.methods)] for data in results.data]
    return table(["data", *map(cell, results.methods)], [*rows, *more]) + "\n"


def _tests(results: Results, judge: str) -> str:
    """Return ranks, tests and win/tie/loss of one classifier."""
    lines = []
    found = rank_summary(results, judge)
    won = win_tie_loss(results, judge)
    control = results.control
    if won:
        name = {"corrected-t": "corrected resampled t-test", "t": "paired t-test"}.get(
            results.params["paired"], "Wilcoxon's test"
        )
        lines += [
            f"Wins/ties/losses of {cell(control)} by a {name} at 5% (over test rows where there is "
            "one split): "
            + "; ".join(f"{cell(m)} {'/'.join(map(str, c))}" for m, c in won.items()) + ".\n"
        ]  # fmt: skip
    if found is None:
        return "\n".join(lines)
    by_rank = np.argsort(found["average_ranks"], kind="stable")
    listed = ", ".join(
        f"{cell(results.methods[i])} {found['average_ranks'][i]:.4g}" for i in by_rank
    )
    lines.append(f"Average ranks (1 = best): {listed}.\n")
    f = found["iman_davenport"]["f"]
    lines.append(
        f"Friedman: chi-square {found['friedman']['chi_square']:.4g}, "
        f"p = {found['friedman']['p']:.3g} (with ties {found['friedman']['p_ties']:.3g}); "
        f"Iman-Davenport: F = {'infinite' if f is None else format(f, '.4g')}, "
        f"p = {found['iman_davenport']['p']:.3g}. "
        f"Nemenyi's critical difference at 5%: {found['critical_difference']:.4g}.\n"
    )
    lines.append(_against(found, control))
    if note := too_few_data_sets(results):
        lines.append(f"{note}.\n")
    if found["unfinished"]:
        lines.append("A method without a result on a data set ranks last there.\n")
    return "\n".join(lines)


def _against(found: dict[str, Any], control: str) -> str:
    """Return the control against each other method: Holm, and the Bayesian signed-rank test."""
    heads = [f"{cell(control)} against", "z", "p", "p (Holm)"]
    rows = []
    for one in found["holm"]:
        belief = found["bayesian_signed_rank"].get(one["method"])
        words = ["-"] * 3 if belief is None else [f"{p:.3f}" for p in belief.values()]
        numbers = [f"{one['z']:.2f}", f"{one['p']:.3g}", f"{one['p_holm']:.3g}"]
        rows.append([cell(one["method"]), *numbers, *words])
    return (
        f"{table([*heads, 'P(better)', 'P(equal)', 'P(worse)'], rows)}\n\n"
        f"z above 0: {cell(control)} ranks better. P: Bayesian signed-rank test; equal means "
        f"within {ROPE:g} of accuracy.\n"
    )


def _stability(results: Results) -> str:
    if all(one["folds"] < 2 for one in results.params["data"]):
        return ""

    def text(data: str, method: str) -> str:
        s = results.stability(data, method)
        kuncheva = "-" if math.isnan(s.kuncheva) else f"{s.kuncheva:.2f}"
        interval = f"{s.nogueira:.2f} [{s.low:.2f}, {s.high:.2f}]; {kuncheva}"
        return "-" if math.isnan(s.nogueira) else interval

    return (
        "## Stability of the selections\n\n"
        "Nogueira's measure over the folds with its 95% interval, and Kuncheva's index: 1 is the "
        f"same set every time, 0 is chance.\n\n{_by_method(results, text)}"
    )


def _listed(title: str, lines: list[str], where: str, most: int = 20) -> str:
    """Return a section with the first lines; the rest are in the files."""
    if not lines:
        return ""
    more = [f"- and {len(lines) - most} more, in {where}"] if len(lines) > most else []
    return "\n".join([f"## {title}\n", *lines[:most], *more]) + "\n"


def problem_counts(results: Results) -> Counter[tuple[str, str, str, str]]:
    """Count the cells without a result by data, method, status and note."""
    return Counter(
        (row["data"], row["method"], row["status"], row["note"]) for row in results.problems()
    )


def warnings_of(results: Results) -> list[tuple[str, str, str, int]]:
    """Return the warnings of methods and classifiers: data, source, first such warning, count.

    Numbers in a warning differ from fold to fold, so it is reported once per method and data set.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for rows, who in ((results.selections, ["method"]), (results.rows, ["method", "classifier"])):
        for row in rows.select(["data", *who, "status", "note"]).to_pylist():
            if row["status"] == OK and row["note"]:
                source = ", ".join(row[name] for name in who)
                found.setdefault((row["data"], source), []).append(row["note"])
    return [(data, who, notes[0], len(notes)) for (data, who), notes in found.items()]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
