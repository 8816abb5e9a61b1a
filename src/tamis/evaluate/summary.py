"""Summary of results: means, average ranks, tests, stability; as plain values and Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.markup import cell, code
from tamis.evaluate import ranks
from tamis.evaluate.metrics import METRICS
from tamis.evaluate.paired import bayesian_signed_rank, compare_pair, paired_t

if TYPE_CHECKING:
    from tamis.evaluate.results import Results

Floats = npt.NDArray[np.float64]

#: Accuracies closer than this are practically equal, in the Bayesian signed-rank test.
ROPE = 0.01


def summarise(results: Results) -> dict[str, Any]:
    """Return means, ranks, tests and stability as plain values; None if there is no number."""
    return {
        "control": results.control,
        "classifiers": {
            judge: {
                **{metric: _plain(results.grid(metric, judge)) for metric in METRICS},
                "predict_microseconds_a_row": _plain(
                    results.grid("predict_microseconds_a_row", judge)
                ),
                "ranks": rank_summary(results, judge),
                "win_tie_loss": win_tie_loss(results, judge),
            }
            for judge in results.classifiers
        },
        **{
            cost: _plain(results.grid(cost))
            for cost in ("kept", "seconds", "cpu_seconds", "peak_megabytes", "extra_megabytes")
        },
        "stability": [
            [_plain_dict(asdict(results.stability(d, m))) for m in results.methods]
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
    table = np.round(results.grid(metric, judge), 12)  # means equal on paper are tied
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    test = ranks.friedman(table)
    control = results.methods.index(results.control)
    beliefs = {}
    for i, method in enumerate(results.methods):
        both = ~np.isnan(table[:, [control, i]]).any(axis=1)
        if i != control and both.sum() > 1:
            beliefs[method] = asdict(
                bayesian_signed_rank(table[both, control], table[both, i], rope=ROPE)
            )
    return {
        "average_ranks": test.average_ranks.tolist(),
        "friedman": {
            "chi_square": test.chi_square, "p": test.p,
            "chi_square_ties": test.chi_square_ties, "p_ties": test.p_ties,
        },
        "iman_davenport": {"f": _finite(test.f), "p": test.f_p},
        "critical_difference": ranks.critical_difference(k, n),
        "nemenyi_p": ranks.nemenyi_p(test.average_ranks, n).tolist(),
        "not_different": ranks.cliques(
            test.average_ranks, ranks.critical_difference(k, n)
        ),
        "holm": [
            asdict(one) | {"method": results.methods[one.method]}
            for one in ranks.holm(test.average_ranks, n, control)
        ],
        "bayesian_signed_rank": beliefs,
        "unfinished": int(np.isnan(table).sum()),
    }  # fmt: skip


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


def _outcome(results: Results, data: str, method: str, judge: str, metric: str) -> str:
    ours = results.fold_values(metric, data, results.control, judge)
    theirs = results.fold_values(metric, data, method, judge)
    failed = bool(np.isnan(ours).any()), bool(np.isnan(theirs).any())
    if any(failed):
        return "tie" if all(failed) else "loss" if failed[0] else "win"
    if len(ours) == 1:
        rows = [_right(results, data, who, judge) for who in (results.control, method)]
        p = paired_t(*rows)
        if math.isnan(p) or p > 0.05:
            return "tie"
        return "win" if rows[0].mean() > rows[1].mean() else "loss"
    about = next(one for one in results.params["data"] if one["name"] == data)
    share = about["test_rows"] / about["train_rows"]
    return compare_pair(ours, theirs, test=results.params["paired"], share=share)


def _right(results: Results, data: str, method: str, judge: str) -> Floats:
    """Return 1 for each test row of a single split that was predicted correctly, else 0."""
    which = (
        (results.column("data") == data)
        & (results.column("method") == method)
        & (results.column("classifier") == judge)
        & (results.column("share") == 1.0)
    )
    packed = results.column("right")[which][0]
    rows = int(results.column("test_rows")[which][0])
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=rows).astype(np.float64)


# --- as a page ------------------------------------------------------------------------------------


def summary_markdown(results: Results) -> str:
    """Return the summary as Markdown tables."""
    params = results.params
    parts = ["# Comparison of feature selectors\n", _intro(results)]
    for judge in results.classifiers:
        parts.append(f"## Accuracy ({judge})\n")
        parts.append(_grid(results, results.grid("accuracy", judge), "{:.4f}".format))
        parts.append(_tests(results, judge))
    for title, metric, form in (
        ("Features kept", "kept", "{:,.1f}".format),
        ("Seconds to select", "seconds", "{:,.3f}".format),
        ("Memory above the data and the libraries (MB)", "extra_megabytes", "{:,.0f}".format),
    ):
        parts.append(f"## {title}\n")
        parts.append(_grid(results, results.grid(metric), form, mean=False))
    parts.append(_stability(results))
    parts += [_problems(results), _notes(results)]
    if params["command"]:
        parts.append(f"To do it again: {code(params['command'])}\n")
    versions = ", ".join(f"{name} {number}" for name, number in params["versions"].items())
    parts.append(f"random_state={params['random_state']}; {versions}.\n")
    return "\n".join(part for part in parts if part)


def _intro(results: Results) -> str:
    params = results.params
    lines = [
        "Features were selected inside each training fold. Folds are the same for all methods. "
        f"Cross-validation: {params['cv']} (repeats x folds, stratified), unless a data set has an "
        "official split and it was used.\n",
        "| data | rows | features | classes | folds | train | test | fingerprint |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {cell(d['name'])} | {d['rows']:,} | {d['features']:,} | {len(d['classes'])} | "
        f"{d['folds']} | {d['train_rows']:,} | {d['test_rows']:,} | `{d['fingerprint'][:16]}` |"
        for d in params["data"]
    ]
    return "\n".join(lines) + "\n"


def _grid(
    results: Results, values: Floats, form: Callable[[float], str], *, mean: bool = True
) -> str:
    """Return a table of data sets x methods, and their mean if all have one."""
    lines = [
        "| data | " + " | ".join(cell(m) for m in results.methods) + " |",
        "|---|" + "---:|" * len(results.methods),
    ]
    for name, row in zip(results.data, values, strict=True):
        words = [
            _why_not(results, name, method) if math.isnan(v) else form(v)
            for method, v in zip(results.methods, row, strict=True)
        ]
        lines.append(f"| {cell(name)} | " + " | ".join(words) + " |")
    if mean and len(values) > 1:
        words = ["" if math.isnan(v) else form(v) for v in values.mean(axis=0)]
        lines.append("| mean | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def _why_not(results: Results, data: str, method: str) -> str:
    """Return the reason for a cell of a table without a number."""
    words = {
        row["status"]
        for row in results.problems()
        if (row["data"], row["method"]) == (data, method)
    }
    return ", ".join(sorted(words)) or "-"


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
    if found["unfinished"]:
        lines.append("A method without a result on a data set ranks last there.\n")
    return "\n".join(lines)


def _against(found: dict[str, Any], control: str) -> str:
    """Return the control against each other method: Holm, and the Bayesian signed-rank test."""
    lines = [
        f"| {cell(control)} against | z | p | p (Holm) | P(better) | P(equal) | P(worse) |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found["holm"]:
        belief = found["bayesian_signed_rank"].get(one["method"])
        words = ["-"] * 3 if belief is None else [f"{belief[k]:.3f}" for k in
                                                   ("better", "equal", "worse")]  # fmt: skip
        lines.append(
            f"| {cell(one['method'])} | {one['z']:.2f} | {one['p']:.3g} | {one['p_holm']:.3g} | "
            + " | ".join(words) + " |"
        )  # fmt: skip
    return (
        "\n".join(lines)
        + f"\n\nz above 0: {cell(control)} ranks better. P: Bayesian signed-rank test; equal means "
        f"within {ROPE:g} of accuracy.\n"
    )


def _stability(results: Results) -> str:
    if all(one["folds"] < 2 for one in results.params["data"]):
        return ""
    lines = [
        "## Stability of the selections\n",
        "Nogueira's measure over the folds with its 95% interval, and Kuncheva's index: 1 is the "
        "same set every time, 0 is chance.\n",
        "| data | " + " | ".join(cell(m) for m in results.methods) + " |",
        "|---|" + "---:|" * len(results.methods),
    ]
    for data in results.data:
        words = []
        for method in results.methods:
            s = results.stability(data, method)
            words.append(
                "-" if math.isnan(s.nogueira)
                else f"{s.nogueira:.2f} [{s.low:.2f}, {s.high:.2f}]; {_or_dash(s.kuncheva)}"
            )  # fmt: skip
        lines.append(f"| {cell(data)} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def _or_dash(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _problems(results: Results, most: int = 20) -> str:
    found: dict[tuple[str, ...], int] = {}
    for row in results.problems():
        key = (row["data"], row["method"], row["status"], row["note"])
        found[key] = found.get(key, 0) + 1
    if not found:
        return ""
    lines = ["## Cells without a result\n"]
    lines += [
        f"- {cell(data)}, {cell(method)}: {status}{': ' if note else ''}{cell(note)} "
        f"({count} fold{'s' if count > 1 else ''} and classifiers)"
        for (data, method, status, note), count in list(found.items())[:most]
    ]
    if len(found) > most:
        lines.append(f"- and {len(found) - most} more, in results.parquet")
    return "\n".join(lines) + "\n"


def warnings_of(results: Results) -> list[tuple[str, str, str, int]]:
    """Return the warnings of methods and classifiers: data, source, first such warning, count.

    Numbers in a warning differ from fold to fold, so it is reported once per method and data set.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for row in results.selections.select(["data", "method", "status", "note"]).to_pylist():
        if row["status"] == "ok" and row["note"]:
            found.setdefault((row["data"], row["method"]), []).append(row["note"])
    for row in results.rows.select(["data", "method", "classifier", "status", "note"]).to_pylist():
        if row["status"] == "ok" and row["note"]:
            who = f"{row['method']}, {row['classifier']}"
            found.setdefault((row["data"], who), []).append(row["note"])
    return [(data, who, notes[0], len(notes)) for (data, who), notes in found.items()]


def _notes(results: Results, most: int = 20) -> str:
    found = warnings_of(results)
    if not found:
        return ""
    lines = [
        f"- {cell(data)}, {cell(who)}: {cell(note)} ({count} fold{'s' if count > 1 else ''})"
        for data, who, note, count in found[:most]
    ]
    if len(found) > most:
        lines.append(f"- and {len(found) - most} more, in results.parquet and selections.parquet")
    return "\n".join(["## Notes\n", *lines]) + "\n"


def _plain(values: Floats) -> list[list[float | None]]:
    return [[_finite(v) for v in row] for row in values.tolist()]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain_dict(values: dict[str, Any]) -> dict[str, Any]:
    return {k: _finite(float(v)) if k != "selections" else v for k, v in values.items()}


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows of text as columns: the first to the left, the others to the right.

    >>> table_lines([["a", "b"], ["word", "1.5"]])
    ['a       b', 'word  1.5']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            word.ljust(width) if i == 0 else word.rjust(width)
            for i, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
