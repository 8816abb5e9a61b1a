"""`tamis log`: print the decisions of a selection."""

from __future__ import annotations

import click

from tamis.cli.options import Command, json_option
from tamis.cli.output import echo, echo_json
from tamis.engine.persistent.saved_selection import read_saved


@click.command("log", cls=Command)
@click.argument("run", type=click.Path())
@click.option(
    "--since", metavar="WHEN",
    help="A date or time such as 2026-11-01 (UTC), a number of commits from the end, or last.",
)  # fmt: skip
@json_option
def command(run: str, since: str | None, as_json: bool) -> None:
    """Print the decisions in the log of RUN in order, each with the time it was committed.

    Features that were dropped by their score alone, such as irrelevant ones, are not listed; use
    tamis why to explain them.

    \b
    Examples:
      tamis log run/ --since last
      tamis log run/ --since 2026-11-01 --json
    """  # noqa: D301  (click needs the backspace character)
    found = read_saved(run).decisions(since)
    if as_json:
        echo_json(found)
        return
    if not found:
        when = "yet" if since is None else f"since {since}"
        echo(f"no feature has met the rule {when}", err=True)
    echo(*(f"{entry['time'][:19]}  {entry['sentence']}" for entry in found))
