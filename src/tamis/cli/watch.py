"""`tamis watch`: feed files to a selection as they appear in a folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tamis.cli.options import (
    Command,
    feeding_options,
    output_options,
    own_class_option,
    source_options,
)
from tamis.cli.output import echo, echo_json
from tamis.core.errors import ParameterError


@click.command("watch", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("incoming", type=click.Path())
@click.option("--once", is_flag=True, help="Feed the files that exist and stop, for cron.")
@click.option(
    "--settle", default=2.0, show_default=True, type=click.FloatRange(min=0),
    help="Seconds without a change before a file is fed.",
)  # fmt: skip
@feeding_options
@own_class_option
@source_options
@output_options
def command(
    run: str, incoming: str, selector: Any, once: bool, settle: float, quiet: bool, **given: Any
) -> None:
    """Feed files to the selection in RUN as they appear in the folder INCOMING, each exactly once.

    A file is fed when it has stopped changing. Names that begin with . or _ or end in .part or .tmp
    are ignored. Text whose last line is incomplete is ignored for a minute. No file is moved or
    removed. Stop with Ctrl-C.

    A file that cannot be fed is skipped and reported once, with the command that feeds it by hand
    (for example with --ignore COLUMN). tamis status lists it, and it is tried again when it
    changes. With --once the exit code is 1 if a file could not be fed.

    \b
    Examples:
      tamis watch run/ incoming/
      tamis watch run/ incoming/ --once
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.persistent.selection import Selection
    from tamis.engine.persistent.watching import Watcher

    as_json = given["as_json"]
    if as_json and not once:
        raise ParameterError("--json prints one document at the end, so it goes with --once")

    def say(sentence: str) -> None:
        if not quiet and not as_json:
            echo(sentence)

    options = {**given["feeding"], **given["reading"]}
    watcher = Watcher(Selection.open(run, selector), incoming, settle=settle, say=say, **options)
    if once:
        watcher.once()
        if as_json:
            echo_json({"fed": [asdict(fed) for fed in watcher.fed], "refused": watcher.refused})
        if watcher.refused:
            click.get_current_context().exit(1)
        return
    say(f"watching {incoming}; stop with Ctrl-C")
    try:
        watcher.forever()
    except KeyboardInterrupt:
        say("stopped; what was fed is committed")
