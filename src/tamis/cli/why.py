"""`tamis why`: explain a feature in one sentence, with the numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tamis.cli.options import Command, json_option
from tamis.cli.output import echo, echo_json
from tamis.core.errors import InputError
from tamis.core.near_names import no_such_feature
from tamis.engine.runs import Run, open_run


@click.command("why", cls=Command)
@click.argument("run", type=click.Path())
@click.argument("features", nargs=-1, required=True, metavar="FEATURE...")
@click.option(
    "--instead", is_flag=True,
    help="Also list the features that could take its place, and what would be lost.",
)  # fmt: skip
@json_option
def command(run: str, features: tuple[str, ...], instead: bool, as_json: bool) -> None:
    """Explain why each FEATURE of a RUN was kept or dropped.

    FEATURE is a name as in selected.csv; for svmlight files, the index it has in the file.

    \b
    Examples:
      tamis why run/ 17 2301
      tamis why run/ age --json
      tamis why run/ age --instead
    """  # noqa: D301  (click needs the backspace character)
    opened = open_run(run)
    unknown = opened.log.unknown(features)
    known = [feature for feature in features if feature not in unknown]
    if as_json:
        echo_json([_facts(opened, feature, instead) for feature in known])
    else:
        for feature in known:
            echo(opened.why(feature), *(_instead(opened, feature) if instead else ()))
    if unknown:  # raised last, after the other features were explained
        raise InputError(no_such_feature(opened.log.names, unknown))


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
