"""`tamis drop`: withdraw a feature that no longer exists upstream."""

from __future__ import annotations

from typing import Any

import click

from tamis.cli.options import Command, json_option, own_class_option, wait_option
from tamis.cli.output import echo, echo_json
from tamis.core.errors import InputError
from tamis.core.near_names import no_such_feature
from tamis.core.sentences import join
from tamis.engine.persistent.saved_selection import read_saved

#: The most names to list in a sentence.
LISTED = 10


@click.command("drop", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("features", nargs=-1, required=True, metavar="FEATURE...")
@own_class_option
@wait_option
@json_option
def command(run: str, features: tuple[str, ...], selector: Any, wait: bool, as_json: bool) -> None:
    """Withdraw each FEATURE from the selection in RUN, because it no longer exists upstream.

    Prints which features it had displaced. They are not restored, because their values are not
    stored. If you feed them again, they are treated as new.

    \b
    Example:
      tamis drop run/ age
    """  # noqa: D301  (click needs the backspace character)
    log = read_saved(run).log
    unknown = log.unknown(features)
    if unknown:  # before any is withdrawn
        raise InputError(no_such_feature(log.names, unknown))
    from tamis.engine.persistent.selection import Selection

    selection = Selection.open(run, selector)
    withdrawn = {}
    for feature in features:
        withdrawn[feature] = back = selection.drop(feature, wait=wait)
        if as_json:
            continue
        sentence = f"{feature} was withdrawn"
        if back:
            named = back[:LISTED] + ([f"{len(back) - LISTED:,} more"] if len(back) > LISTED else [])
            sentence += f"; it had displaced {join(named)}, which may be fed again"
        echo(sentence)
    if as_json:
        echo_json([{"feature": name, "displaced": back} for name, back in withdrawn.items()])
