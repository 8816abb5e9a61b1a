"""`tamis why`: what became of a feature, in one sentence with the numbers."""

from __future__ import annotations

import click

from tamis.cli.text import one_line
from tamis.core.errors import InputError
from tamis.engine.record import open_run


@click.command("why")
@click.argument("run", type=click.Path())
@click.argument("features", nargs=-1, required=True, metavar="FEATURE...")
def command(run: str, features: tuple[str, ...]) -> None:
    """Say why each FEATURE of a RUN was kept or dropped.

    FEATURE is a name as in selected.csv; for svmlight files, the index it has in the file.

    \b
    Example:
      tamis why run/ 17 2301
    """  # noqa: D301  (click wants the backspace itself)
    opened = open_run(run)
    unknown: InputError | None = None
    for feature in features:
        try:
            click.echo(one_line(opened.why(feature)))
        except InputError as error:
            unknown = unknown or error
    if unknown is not None:  # told last, so that it costs nobody the other answers
        raise unknown
