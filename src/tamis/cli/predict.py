"""`tamis predict`: predict classes or numbers of rows with a model from `tamis learn`."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click

from tamis.cli.learn import tested
from tamis.cli.options import Command, output_options, source_options
from tamis.cli.output import echo, echo_json, progress
from tamis.core.errors import ParameterError
from tamis.core.files import atomic_file
from tamis.core.sentences import counted


@click.command("predict", cls=Command)
@click.argument("model", type=click.Path())
@click.argument("data", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--out", type=click.Path(), help="CSV file for the predictions; - prints them.")
@click.option(
    "--scores",
    is_flag=True,
    help="Also write scores: one per class; of two classes, that of the second.",
)
@click.option("--skip-bad-lines", is_flag=True,
              help="Count bad lines and continue; they get no row number.")  # fmt: skip
@source_options
@output_options
def command(model: str, data: tuple[str, ...], quiet: bool, **given: Any) -> None:
    """Predict the class of each row of DATA, or its number, with a MODEL folder.

    Prints the accuracy if DATA has labels that are classes, or R² for numbers. Svmlight indices
    begin where those of the training data did. The CSV has the columns row (counted from 0),
    prediction and, with --scores, score (with more than two classes, one per class).

    \b
    Examples:
      tamis predict model/ test.svm
      tamis predict model/ new.svm --out predictions.csv --scores
      zcat new.svm.gz | tamis predict model/ - --out - | gzip > predictions.csv.gz
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.learning.model import open_model
    from tamis.engine.learning.predict import Tally, predict_stream

    out, as_json = given["out"], given["as_json"]
    if as_json and out == "-":
        raise ParameterError("--json and --out - both go to standard output; give one of the two")
    opened, tally = open_model(model), Tally()
    if opened.task == "regression" and given["scores"]:
        raise ParameterError(f"{model} predicts numbers, which are its scores; leave out --scores")
    classes = getattr(opened, "classes_", None)
    with progress(quiet or as_json) as report, _table(out, classes, given["scores"]) as write:
        found = predict_stream(
            opened, list(data), tally=tally, skip_bad_lines=given["skip_bad_lines"],
            progress=report, **given["reading"],
        )  # fmt: skip
        for part in found:
            write(part)
    if as_json:
        facts = {"rows": tally.rows, "labelled": tally.labelled, **tally.scores(),
                 "bad_lines": tally.bad.counts, "predictions": out}  # fmt: skip
        echo_json(facts)
    elif not quiet:
        lines, target = tested(tally), opened.record.get("target")
        if not tally.labelled and target is not None and given["reading"].get("target") is None:
            option = shlex.join(["--target", target])
            lines[0] = f"{counted(tally.rows, 'row')} predicted; if they have a target, {option} "
            lines[0] += "scores them"
        if out is None and not tally.labelled:
            lines.append("they were not written; give --out FILE, or --out - to print them")
        elif out not in (None, "-"):
            lines.append(f"wrote {out}")
        echo(*lines, err=out == "-")


@contextmanager
def _table(out: str | None, classes: Any, scores: bool) -> Iterator[Any]:
    """Yield a function that writes predictions to a file, which appears when all are written.

    - is standard output.
    """
    if out is None:
        yield lambda part: None
        return
    import numpy as np
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    def write(found: Any) -> None:
        table: list[Any] = [found.rows, found.answers, *np.atleast_2d(found.scores.T)]
        arrays = [pa.array(np.ascontiguousarray(column)) for column in table[: len(columns)]]
        options = WriteOptions(include_header=False, quoting_style="needed")
        write_csv(pa.Table.from_arrays(arrays, columns), file, options)

    columns = ["row", "prediction"]
    if scores:
        columns += ["score"] if len(classes) == 2 else [f"score {c}" for c in classes.tolist()]
    heading = io.StringIO()
    csv.writer(heading, lineterminator="\n").writerow(columns)
    with nullcontext(sys.stdout.buffer) if out == "-" else atomic_file(out) as file:
        file.write(heading.getvalue().encode())
        yield write
        file.flush()
