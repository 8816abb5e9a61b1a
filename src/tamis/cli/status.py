"""`tamis status`: show the state of a selection."""

from __future__ import annotations

from typing import Any

import click

from tamis.cli.options import json_option
from tamis.cli.output import echo, echo_json
from tamis.engine.persistent.saved_selection import read_saved


@click.command("status")
@click.argument("run", type=click.Path())
@json_option
def command(run: str, as_json: bool) -> None:
    """Show the state of the selection in RUN: features seen and kept, feeds, open work.

    \b
    Examples:
      tamis status run/
      tamis status run/ --json
    """  # noqa: D301  (click needs the backspace character)
    facts = read_saved(run).status()
    if not facts["shown"]:
        from tamis.engine.persistent.selection import Selection

        facts = Selection.open(run).status()  # which repairs what a crash left behind
    if as_json:
        echo_json(facts)
    else:
        echo(*(f"{key:<11} {value}" for key, value in _lines(facts)))


#: Facts that are printed on separate lines.
_SEPARATE = ("unfinished", "must_be_resumed", "refused", "shown")


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [
        (key, f"{value:,}" if isinstance(value, int) else str(value))
        for key, value in facts.items()
        if value not in (None, "", [], {}) and key not in _SEPARATE
    ]
    how = "resume it with tamis resume" if facts["must_be_resumed"] else "feed it again to resume"
    lines += [("unfinished", f"{what}; {how}") for what in facts["unfinished"]]
    lines += [("refused", f"{name}: {why}") for name, why in facts["refused"].items()]
    if not facts["shown"]:
        lines.append(("note", "selected.csv and log.parquet are older than the last commit"))
    return lines
