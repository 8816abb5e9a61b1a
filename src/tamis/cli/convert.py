"""`tamis convert`: any source to a column store or a row store, in bounded memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tamis.cli.options import (
    Command,
    missing_target_option,
    output_options,
    size,
    source_options,
)
from tamis.cli.output import echo, echo_json, progress
from tamis.core.sentences import counted

if TYPE_CHECKING:
    from tamis.sources.base import Source


@click.command("convert", cls=Command)
@click.argument("data", type=click.Path())
@click.argument("store", type=click.Path())
@source_options
@missing_target_option
@click.option(
    "--memory", default="2GB", show_default=True, type=size, help="Approximate memory to use."
)
@click.option("--force", is_flag=True, help="Replace an existing store.")
@output_options
def command(
    data: str,
    store: str,
    reading: dict[str, Any],
    memory: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Convert DATA to a STORE, a folder of NumPy files that is read much faster than text.

    NAME.rows holds rows, for learners that make several passes. Any other name holds columns, to
    select from. `tamis select` makes a column store automatically if DATA is stored by rows.

    \b
    Examples:
      tamis convert clicks.svm.zst clicks.cols --memory 4GB
      tamis convert clicks.svm.zst clicks.rows
    """  # noqa: D301  (click needs the backspace character)
    from tamis.sources import open_source
    from tamis.sources.axis import write_rows, write_store

    source = open_source(data, memory=memory, **reading)
    with progress(quiet or as_json) as report:
        if os.path.normpath(store).endswith(".rows"):
            made: Source = write_rows(store, source, progress=report, force=force)
        else:
            made = write_store(store, source, memory=memory, progress=report, force=force)
    info = made.info()
    if as_json:
        facts = {"rows": info.n_rows, "columns": info.n_columns, "stored": info.stored}
        echo_json({"store": store, **facts})
        return
    if quiet:
        return
    stored = "" if info.stored is None else f", {counted(info.stored, 'stored value')}"
    shape = f"{counted(info.n_rows or 0, 'row')}, {counted(info.n_columns or 0, 'column')}"
    echo(f"wrote {store}: {shape}{stored}")
