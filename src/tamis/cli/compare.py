"""`tamis compare`: cross-validate methods on your own data, with rank tests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamis._registry import CLASSIFIERS, CV, METHODS, PAIRED_TESTS
from tamis.cli.options import (
    Choice,
    Command,
    live_option,
    missing_target_option,
    output_options,
    size,
    source_options,
    task_option,
)
from tamis.cli.output import echo, echo_json, followed, progress, typed_command
from tamis.core.errors import ParameterError

if TYPE_CHECKING:
    from tamis.evaluate import Results
    from tamis.evaluate.fact_tables import FactTable
    from tamis.evaluate.result_tables import Line


@click.command("compare", cls=Command)
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
@click.option("--cv", default=CV, show_default=True, help="REPEATSxFOLDS, stratified.")
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
@click.option(
    "--cell-cpu-seconds", type=click.FloatRange(0, min_open=True),
    help="The same in CPU seconds (Linux), which other work on the machine hardly changes.",
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
@task_option
@source_options
@missing_target_option
@output_options
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
    followed_live = followed("tamis compare") if live else nullcontext()
    with progress(quiet or as_json) as report, followed_live as page:
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
    from tamis.evaluate.fact_tables import fact_tables

    lines: list[str] = []
    for one in fact_tables(results):
        if one.brief:
            lines += [one.title, *one.notes, *_aligned(one), ""]
    total = len(results.selections)
    before = "" if results.computed == total else ", the others were finished earlier"
    lines.append(
        f"{results.computed:,} of {total:,} cells computed{before}; "
        f"wrote {Path(out) / 'summary.md'}; for an HTML page run: tamis report {out}"
    )
    return lines


def _aligned(facts: FactTable) -> list[str]:
    """Return the lines of a table, with text aligned to the left and numbers to the right."""
    rows = [facts.heads, *facts.texts()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.rjust if is_number else str.ljust for is_number in facts.is_number]
    return [
        "  ".join(side(text, width) for side, text, width in zip(sides, row, widths, strict=True))
        .rstrip()
        for row in rows
    ]  # fmt: skip
