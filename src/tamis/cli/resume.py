"""`tamis resume`: resume a selection whose process was stopped."""

from __future__ import annotations

from typing import Any

import click

from tamis.cli.options import (
    COMMIT_EVERY,
    Command,
    execution_options,
    output_options,
    own_class_option,
)
from tamis.cli.output import echo, echo_json, messages, progress, resumable
from tamis.cli.select import finished, run_facts, summary


@click.command("resume", cls=Command)
@click.argument("run", type=click.Path())
@click.option(
    "--data", type=click.Path(),
    help="Where the data is now. Needed if it has moved, or if its address has a password: "
    "passwords are not recorded.",
)  # fmt: skip
@execution_options("n_jobs", "width", "cluster")
@click.option(
    "--checkpoint", "every", default=COMMIT_EVERY, show_default=True, metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True), help="Save the decisions every SECONDS.",
)  # fmt: skip
@own_class_option
@output_options
def command(run: str, quiet: bool, as_json: bool, execution: dict[str, Any], **given: Any) -> None:
    """Resume the selection in RUN that was killed or stopped, after its last commit.

    RUN was begun by tamis select with --checkpoint or --cluster. The final log equals that of a
    run that was never stopped. The data must be unchanged; if it has moved, give --data.

    \b
    Examples:
      tamis resume run/
      tamis resume run/ --cluster local:2
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.persistent.resuming import alone, resume

    with progress(quiet or as_json) as report, resumable(run), alone(run):
        how = {**execution, "progress": report}
        done = resume(run, say=messages(quiet), **given, **how)
        done = finished(run, done, given["selector"], how, given["data"], messages(quiet))
    if as_json:
        echo_json(run_facts(done, run))
    elif not quiet:
        echo(*summary(done, run))
