"""`tamis why`: explain a feature in one sentence, with the numbers."""

from __future__ import annotations

import click

from tamis.cli.output import echo
from tamis.core.errors import InputError
from tamis.core.near_names import no_such_feature
from tamis.engine.runs import open_run


@click.command("why")
@click.argument("run", type=click.Path())
@click.argument("features", nargs=-1, required=True, metavar="FEATURE...")
def command(run: str, features: tuple[str, ...]) -> None:
    """Explain why each FEATURE of a RUN was kept or dropped.

    FEATURE is a name as in selected.csv; for svmlight files, the index it has in the file.

    \b
    Example:
      tamis why run/ 17 2301
    """  # noqa: D301  (click needs the backspace character)
    opened = open_run(run)
    unknown = opened.log.unknown(features)
    for feature in features:
        if feature not in unknown:
            echo(opened.why(feature))
    if unknown:  # raised last, after the other features were explained
        raise InputError(no_such_feature(opened.log.names, unknown))
