"""`tamis why`: explain a feature in one sentence, with the numbers."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

import click

from tamis.cli.options import Command, json_option
from tamis.cli.output import echo, echo_json
from tamis.core.errors import InputError
from tamis.core.near_names import no_such_feature
from tamis.core.sentences import counted
from tamis.engine.runs import Run, open_run

#: Kept features that are explained if none is named.
LISTED = 20


@click.command("why", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("features", nargs=-1, metavar="[FEATURE...]")
@click.option(
    "--instead", is_flag=True,
    help="Also list the features that could take its place, and what would be lost.",
)  # fmt: skip
@json_option
def command(run: str, features: tuple[str, ...], instead: bool, as_json: bool) -> None:
    """Explain why each FEATURE of a RUN was kept or dropped; without any, explain the kept ones.

    FEATURE is a name as in selected.csv; for svmlight files, the index it has in the file.

    \b
    Examples:
      tamis why run/
      tamis why run/ 17 2301
      tamis why run/ age --json
      tamis why run/ age --instead
    """  # noqa: D301  (click needs the backspace character)
    opened = open_run(run)
    kept = [] if features else opened.kept_names
    rest = "" if features else _rest(opened, run, len(kept))
    features = features or tuple(kept if as_json else kept[:LISTED])
    left_out = {name: why for name in features if (why := opened.left_out(name))}
    unknown = [name for name in opened.log.unknown(features) if name not in left_out]
    known = [feature for feature in features if feature not in unknown]
    if as_json and not known:
        pass  # the error is all there is to say
    elif as_json:
        echo_json([
            {"name": name, "verdict": "left out", "sentence": left_out[name]}
            if name in left_out else _facts(opened, name, instead)
            for name in known
        ])  # fmt: skip
    else:
        for name in known:
            others = _instead(opened, name) if instead and name not in left_out else ()
            echo(opened.why(name), *others)
        echo(*([rest] if rest else []))
    if unknown:  # raised last, after the other features were explained
        raise InputError(no_such_feature(opened.log.names, unknown))


def _rest(opened: Run, run: str, kept: int) -> str:
    """Return how many kept features are not explained, and how to ask about any feature."""
    ask = f"ask about any of {counted(len(opened.log), 'feature')} with: "
    ask += f"tamis why {shlex.quote(run)} FEATURE"
    if not kept:
        return f"no feature was kept; {ask}"
    return f"{kept - LISTED:,} more are kept; {ask}" if kept > LISTED else ask


def _instead(run: Run, feature: str) -> list[str]:
    """Return one line for each feature that could take its place."""
    others = [f"  {other}" for other in run.instead(feature)]
    return others or [f"  no other feature is known to take the place of {feature}"]


def _facts(run: Run, feature: str, instead: bool) -> dict[str, Any]:
    """Return the last decision about a feature: the numbers compared, and the sentence."""
    log = run.log
    decision = log.final_decision(feature)
    return {
        "name": log.names[decision.feature],
        "feature": decision.feature,
        "verdict": log.reasons[decision.reason].verdict.name.lower(),
        "reason": decision.reason,
        "relevance": decision.relevance,
        "value": decision.value,
        "level": decision.level,
        "because": [log.names[other] for other in decision.because],
        **decision.evidence,
        "sentence": run.why(feature),
        **({"instead": [asdict(other) for other in run.instead(feature)]} if instead else {}),
    }
