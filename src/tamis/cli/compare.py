"""`tamis compare`: cross-validate methods on your own data, with rank tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamis._registry import CLASSIFIERS, METHODS, PAIRED_TESTS
from tamis.cli.options import Choice, json_option, live_option, quiet_option, size, source_options
from tamis.cli.output import echo, echo_json, followed, progress, typed_command
from tamis.core.errors import ParameterError
from tamis.core.sentences import counted

if TYPE_CHECKING:
    from tamis.evaluate import Results
    from tamis.evaluate.result_tables import Line


@click.command("compare")
@click.argument("more_data", nargs=-1, metavar="[DATA]...")
@click.option(
    "--data", multiple=True, metavar="DATA...",
    help="Files, TRAIN:TEST for an official split, or folders with X.npz or X.npy, y.npy and "
    "meta.json.",
)  # fmt: skip
@click.option(
    "--methods", required=True, metavar="METHOD,...",
    help=f"Of {', '.join(sorted(METHODS))}, or package.module:Class. Parameters follow after "
    "colons, as in saola:alpha=0.05 or fcbf:encode=mdlp.",
)  # fmt: skip
@click.option(
    "--classifiers", default="knn,svm,tree,nb", show_default=True, metavar="NAME,...",
    help=f"Classifiers to score selections with: {', '.join(CLASSIFIERS)}.",
)  # fmt: skip
@click.option("--cv", default="5x10", show_default=True, help="REPEATSxFOLDS, stratified.")
@click.option(
    "--split", type=Choice(["official", "never"]), default="official", show_default=True,
    help="Whether to use the official split of a data set that has one.",
)  # fmt: skip
@click.option("--out", required=True, type=click.Path(), help="Folder for the results.")
@click.option("--cache", type=click.Path(), help="Folder for finished cells. Default: OUT/cells.")
@click.option(
    "--control", metavar="METHOD", help="The method to test against the others. Default: the first."
)
@click.option(
    "--paired", type=Choice(PAIRED_TESTS), default="corrected-t", show_default=True,
    help="The test behind win, tie and loss; the papers use t.",
)  # fmt: skip
@click.option("--random-state", default=0, show_default=True, type=click.IntRange(0),
              help="Seed of the folds, and of random methods.")  # fmt: skip
@click.option("--n-jobs", type=click.IntRange(1), help="Processes; default: one per core.")
@click.option(
    "--cluster", metavar="ADDRESS",
    help="Compute the cells on a Dask cluster, tcp://host:8786; OUT must be a folder that all "
    "hosts share.",
)  # fmt: skip
@click.option(
    "--cell-seconds", type=click.FloatRange(0, min_open=True),
    help="Time limit for one selection or classifier on one fold.",
)  # fmt: skip
@click.option("--cell-memory", type=size, help="Memory limit of such a step, e.g. 2GB.")
@click.option(
    "--over-time", type=click.IntRange(1), metavar="POINTS",
    help="Also compute accuracy and number kept while features arrive.",
)  # fmt: skip
@click.option(
    "--orders", type=click.IntRange(1), metavar="COUNT",
    help="Also compute both over random orders of arrival.",
)  # fmt: skip
@click.option(
    "--thresholds", metavar="NAME=V,V,...",
    help="Also compute both over values of a parameter, e.g. alpha=0.001,0.01,0.05.",
)  # fmt: skip
@source_options
@json_option
@quiet_option
@live_option
def command(as_json: bool, quiet: bool, live: bool, **given: Any) -> None:
    """Compare methods on DATA: accuracy, number kept, time, memory, stability, rank tests.

    Features are selected inside each training fold, and all methods get the same folds. Every
    finished cell (data set, method, fold) is kept in OUT/cells: after Ctrl-C or a crash the same
    command resumes where it stopped. A method or a classifier added later needs only its own cells.

    \b
    Writes into the folder:
      summary.md           the tables printed here, and more
      summary.json         the same for programs
      results.parquet      a row for each data set, method, fold and classifier
      selections.parquet   what was kept on each fold
      compare.json         the parameters
      over_*.parquet       curves, if requested

    \b
    Examples:
      tamis compare --data a.svm b.npz --methods saola,fast-osfs,fcbf --out results/
      tamis compare --data train.svm:test.svm --methods saola,all --classifiers knn,lr --out r/
      tamis compare --data genes.npz --methods saola,saola:alpha=0.001,mrmr:n_features=20 \\
          --cv 10x5 --control saola --cell-seconds 600 --cell-memory 4GB --out results/
      tamis compare --data genes.npz --methods saola --over-time 20 --orders 12 --out results/
    """  # noqa: D301  (click needs the backspace character)
    from tamis import evaluate
    from tamis.evaluate.curves import threshold_variants
    from tamis.report.comparison_page import interim_page, page_of

    given["data"] = [*given["data"], *given.pop("more_data")]
    if not given["data"]:
        raise ParameterError("give data to compare on, as in --data a.svm b.svm")
    points, orders = given.pop("over_time"), given.pop("orders")
    name, values = _values(given.pop("thresholds"))
    if values:
        threshold_variants(given["methods"], name, values)  # raises before hours of work
    if (memory := given.pop("cell_memory")) is not None:
        given["cell_megabytes"] = memory / 1024**2
    given["command"] = typed_command()
    with progress(quiet or as_json) as report, followed(live, "tamis compare") as page:
        report = report if page is None else page.relay(report)

        def watch(so_far: Callable[[], list[Line]]) -> None:
            if page is not None:
                page.offer(lambda: interim_page(so_far(), given["command"]))

        # The remaining options are those of `compare`.
        given |= {"progress": report, "watch": watch}
        try:
            results = evaluate.compare(**given)
            del given["control"]
            for curve, wanted, more in (
                (evaluate.over_time, points, {"points": points}),
                (evaluate.over_orders, orders, {"orders": orders}),
                (evaluate.over_thresholds, values, {"values": values, "name": name}),
            ):
                if wanted:
                    curve(**more, **given)
        except KeyboardInterrupt:
            cells = given["cache"] or Path(given["out"]) / "cells"
            raise KeyboardInterrupt(
                f"stopped; finished cells are in {cells}, and the same command resumes from there"
            ) from None
        if page is not None:
            page.show(page_of(results, given["out"]))
    if as_json:
        echo_json(results.summary())
    elif not quiet:
        echo(*_page(results, given["out"]))


def _values(text: str | None) -> tuple[str, list[float]]:
    """Read ``alpha=0.001,0.01``."""
    if not text:
        return "", []
    name, equals, rest = text.partition("=")
    try:
        values = [float(word) for word in rest.split(",")]
    except ValueError:
        values = []
    if not equals or not name.isidentifier() or not values:
        raise ParameterError(
            f"--thresholds {text!r} is not of the form name=value,value, as in alpha=0.001,0.01"
        )
    return name, values


def _page(results: Results, out: str) -> list[str]:
    """Return the tables that are printed at the end."""
    from tamis.evaluate.summary import problem_counts, warnings_of

    lines: list[str] = []
    for judge in results.classifiers:
        lines += [f"accuracy ({judge})", *_grid(results, "accuracy", judge, "{:.4f}")]
        lines += [*_ranks(results, judge), ""]
    lines += ["features kept", *_grid(results, "kept", None, "{:,.1f}"), ""]
    lines += ["seconds to select", *_grid(results, "seconds", None, "{:,.3f}"), ""]
    lines += [
        f"no result: {data}, {method}: {status}{': ' if note else ''}{note} ({count})"
        for (data, method, status, note), count in problem_counts(results).items()
    ]
    lines += [
        f"warning: {data}, {who}: {note} ({counted(count, 'fold')})"
        for data, who, note, count in warnings_of(results)
    ]
    total = len(results.selections)
    before = "" if results.computed == total else ", the others were finished earlier"
    lines.append(
        f"{results.computed:,} of {total:,} cells computed{before}; "
        f"wrote {Path(out) / 'summary.md'}; for an HTML page run: tamis report {out}"
    )
    return lines


def _grid(results: Results, metric: str, judge: str | None, form: str) -> list[str]:
    """Return a table with the first column left-aligned and the others right-aligned."""
    rows = [["", *results.methods]]
    for name, row in zip(results.data, results.grid(metric, judge).tolist(), strict=True):
        rows.append([name, *("-" if math.isnan(v) else form.format(v) for v in row)])
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([name.ljust(first), *map(str.rjust, words, widths)]).rstrip()
        for name, *words in rows
    ]


def _ranks(results: Results, judge: str) -> list[str]:
    from tamis.evaluate.summary import (
        paired_p_values,
        rank_summary,
        too_few_data_sets,
        win_tie_loss,
    )

    lines = []
    if (found := rank_summary(results, judge)) is not None:
        ranks = ", ".join(
            f"{m} {r:.4g}" for m, r in zip(results.methods, found["average_ranks"], strict=True)
        )
        lines.append(
            f"average ranks (1 = best): {ranks}; critical difference "
            f"{found['critical_difference']:.4g}; Friedman p = {found['friedman']['p']:.3g}"
        )
        if note := too_few_data_sets(results):
            lines.append(note)
    if won := win_tie_loss(results, judge):
        p = paired_p_values(results, judge) if len(results.data) == 1 else {}
        counts = ", ".join(
            f"{m} {'/'.join(map(str, c))}"
            + (f" (p = {p[m][0]:.2g})" if p.get(m, [None])[0] else "")
            for m, c in won.items()
        )
        lines.append(f"wins/ties/losses of {results.control}: {counts}")
    return lines
