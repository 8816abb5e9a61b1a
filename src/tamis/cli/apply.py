"""`tamis apply`: write only the columns that a run kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tamis.cli.options import Command, output_options, source_options
from tamis.cli.output import echo, echo_json, progress
from tamis.engine.runs import open_run


@click.command("apply", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="File or store to write.")
@click.option("--force", is_flag=True, help="Replace an existing file or store.")
@source_options
@output_options
def command(
    run: str,
    data: str,
    out: str,
    force: bool,
    reading: dict[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the columns of DATA that RUN kept, and nothing else, to a file or a store.

    DATA is what tamis select reads, of any size; it is streamed, and rows stay in order. The name
    after --out gives the format: .parquet, .arrow, .csv, .tsv, .npy, .npz, .svm, .cols or .rows.
    Columns are found by name, or by number if they have no names. Text and dates are written
    unchanged; a CSV file keeps its decimal commas and units, which become plain numbers in Parquet
    and Arrow. The target and the key are written too if DATA has them.

    \b
    Examples:
      tamis apply run/ patients.csv --out small.parquet
      tamis apply run/ new.svm.gz --out small.svm
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.applying import apply_run

    with progress(quiet or as_json) as report:
        done = apply_run(open_run(run), data, out, force=force, progress=report, **reading)
    if as_json:
        echo_json(asdict(done))
    elif not quiet:
        echo(str(done))
