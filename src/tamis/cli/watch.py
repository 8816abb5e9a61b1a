"""`tamis watch`: feeds files to a selection as they appear in a folder."""

from __future__ import annotations

from typing import Any

import click

from tamis.cli.method_options import own_class as own_class_of
from tamis.cli.method_options import own_class_option
from tamis.cli.options import source_options
from tamis.cli.text import one_line


@click.command("watch")
@click.argument("run", type=click.Path())
@click.argument("incoming", type=click.Path())
@click.option("--once", is_flag=True, help="Feed what is there and end, for cron.")
@click.option(
    "--settle", default=2.0, show_default=True, type=click.FloatRange(min=0),
    help="Seconds for which a file must not have changed before it is taken.",
)  # fmt: skip
@click.option(
    "--replace", is_flag=True,
    help="Columns of a known name with other values replace the old ones.",
)  # fmt: skip
@click.option(
    "--allow-target", is_flag=True,
    help="Take a column that equals the target in every row.",
)  # fmt: skip
@own_class_option
@source_options
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    run: str,
    incoming: str,
    once: bool,
    settle: float,
    replace: bool,
    allow_target: bool,
    own_class: str | None,
    reading: dict[str, Any],
    quiet: bool,
) -> None:
    """Feed files to the selection in RUN as they appear in the folder INCOMING, each exactly once.

    A file is taken when it has stopped changing. Names that begin with . or _ or end in .part or
    .tmp are left alone, and for a minute text whose last line has no end. A file that cannot be fed
    is told once and passed over, with the command that feeds it by hand (for example with --ignore
    COLUMN); tamis status lists it, and it is tried again when it changes. Stop with Ctrl-C. Nothing
    is moved or removed.

    \b
    Examples:
      tamis watch run/ incoming/
      tamis watch run/ incoming/ --once
    """  # noqa: D301  (click wants the backspace itself)
    from tamis.engine.persistent.selection import Selection
    from tamis.engine.persistent.watching import Watcher

    def say(sentence: str) -> None:
        if not quiet:
            click.echo(one_line(sentence))

    watcher = Watcher(
        Selection.open(run, own_class_of(own_class)), incoming, settle=settle, replace=replace,
        allow_target=allow_target, say=say, **reading,
    )  # fmt: skip
    if once:
        watcher.once()
        return
    say(f"watching {incoming}; stop with Ctrl-C")
    try:
        watcher.forever()
    except KeyboardInterrupt:
        say("stopped; what was fed is committed")
