"""`tamis status`: show the state of a selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tamis.cli.options import Command, json_option
from tamis.cli.output import echo, echo_json
from tamis.core.certificate import Certificate
from tamis.engine.persistent.saved_selection import is_persistent, read_saved

#: So many certified features are named.
SHOWN = 20


@click.command("status", cls=Command)
@click.argument("run", type=click.Path())
@click.option(
    "--certify", type=float, metavar="RATE",
    help="Name the kept features that you can report: of these, at most the share RATE, e.g. 0.1, "
    "is expected to be false, however the columns depend on each other.",
)  # fmt: skip
@json_option
def command(run: str, certify: float | None, as_json: bool) -> None:
    """Show the state of the selection in RUN: features seen and kept, feeds, unfinished work.

    \b
    Examples:
      tamis status run/
      tamis status run/ --certify 0.1
      tamis status run/ --json
    """  # noqa: D301  (click needs the backspace character)
    facts, certificate = _facts(run, certify)
    if as_json:
        more = {} if certificate is None else {"certificate": certificate.record()}
        echo_json(facts | more)
        return
    lines = _lines(facts) if facts else []
    if certificate is not None:
        lines.append(("certified", str(certificate)))
        some, rest = certificate.names[:SHOWN], len(certificate.names) - SHOWN
        names = ", ".join(some) + (f" and {rest:,} more (--json lists them)" if rest > 0 else "")
        lines += [("", names)] if some else []
    echo(*(f"{key:<11} {value}" for key, value in lines))


def _facts(run: str, certify: float | None) -> tuple[dict[str, Any], Certificate | None]:
    """Return the state of a selection, and the certified part of what it keeps if requested."""
    path = Path(run)
    if certify is not None and not is_persistent(path) and (path / "run.json").is_file():
        from tamis.engine.runs import open_run

        return {}, open_run(path).certificate(certify)  # a method that saw all columns at once
    saved: Any = read_saved(run)
    facts = saved.status()
    if not facts["shown"]:
        from tamis.engine.persistent.selection import Selection

        saved = Selection.open(run)  # which repairs what a crash left behind
        facts = saved.status()
    return facts, None if certify is None else saved.certificate(certify)


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
