"""`tamis feed`: feed new columns to an earlier selection."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tamis.cli.options import (
    Command,
    execution_options,
    feeding_options,
    groups_option,
    live_option,
    output_options,
    own_class_option,
    source_options,
    wait_option,
)
from tamis.cli.output import echo, echo_json, followed, messages, progress
from tamis.core.sentences import counted


@click.command("feed", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@feeding_options
@wait_option
@own_class_option
@groups_option
@source_options
@execution_options("n_jobs", "width")
@output_options
@live_option
def command(run: str, files: tuple[str, ...], quiet: bool, live: bool, **given: Any) -> None:
    """Feed the columns of each FILE to the selection in RUN, which resumes where it stopped.

    RUN is a folder that tamis select or tamis.Selection.create made. FILE holds new columns of the
    same rows: in the same order, or with the key column that the selection was made with. A column
    that was fed before is recognised by its name and values, and skipped. Columns without names
    count as new and continue the numbering.

    Columns are encoded as in RUN, if it was selected with --encode or --missing. The --groups file
    may name more features than FILE has; without --groups the last group continues.

    If a feed is killed, everything it had committed is kept; feed the same file again to resume.

    \b
    Examples:
      tamis feed run/ tuesday.parquet
      tamis feed run/ tuesday.parquet --replace
      tamis feed run/ genes.parquet --groups pathways.csv
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.groups import read_groups
    from tamis.engine.persistent.selection import Selection
    from tamis.engine.selecting import watched
    from tamis.kernels.threads import threads
    from tamis.report.run_page import page_of_run

    selection, feeds, as_json = Selection.open(run, given["selector"]), [], given["as_json"]
    quiet = quiet or as_json
    options = {**given["feeding"], **given["execution"], **given["reading"], "wait": given["wait"]}
    if given["groups"] is not None:
        options["groups"] = read_groups(given["groups"])
    with contextlib.ExitStack() as stack:
        if "n_jobs" in options:
            stack.enter_context(threads(options.pop("n_jobs")))
        report = stack.enter_context(progress(quiet))
        page = stack.enter_context(followed(f"tamis: {run}")) if live else None
        if page is not None:
            report = page.relay(report)
            report = watched(report, lambda: page.offer(lambda: page_of_run(selection.run, run)))
        for file in files:
            try:
                fed = selection.feed(file, progress=report, say=messages(quiet), **options)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"stopped; the decisions until a moment ago are saved in {run}; to resume, "
                    f"feed it again: tamis feed {shlex.join([run, file])}"
                ) from None
            feeds.append(asdict(fed))
            if not quiet:
                echo(str(fed))
        if page is not None:
            page.show(page_of_run(selection.run, run))
    if as_json:
        echo_json({"run": run, "feeds": feeds, "kept": selection.kept_names})
    elif not quiet:
        names = selection.kept_names
        kept = counted(len(names), "feature is", "features are")
        echo(f"{kept} kept; see {Path(run, 'selected.csv')}" if names else "no feature is kept")
