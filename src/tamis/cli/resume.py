"""`tamis resume`: goes on with a selection whose process was stopped."""

from __future__ import annotations

import click

from tamis.cli.method_options import own_class as own_class_of
from tamis.cli.method_options import own_class_option
from tamis.cli.options import COMMIT_EVERY
from tamis.cli.progress import progress
from tamis.cli.select import summary
from tamis.cli.text import one_line


@click.command("resume")
@click.argument("run", type=click.Path())
@click.option(
    "--data", type=click.Path(),
    help="Where the data is now. Only if it has moved, or its address has a password: passwords "
    "are not recorded.",
)  # fmt: skip
@click.option("--n-jobs", type=click.IntRange(1), help="Threads that compute; default: all cores.")
@click.option(
    "--width", type=click.IntRange(1), help="Columns in a block. Cannot change the answer."
)
@click.option(
    "--cluster", metavar="ADDRESS",
    help="Examine columns elsewhere, as in tamis select; need not be where the run began.",
)  # fmt: skip
@click.option(
    "--checkpoint", default=COMMIT_EVERY, show_default=True, metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True), help="Commit what is decided every so often.",
)  # fmt: skip
@own_class_option
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    run: str,
    data: str | None,
    n_jobs: int | None,
    width: int | None,
    cluster: str | None,
    checkpoint: float,
    own_class: str | None,
    quiet: bool,
) -> None:
    """Go on with the selection in RUN that was killed or stopped, behind its last commit.

    RUN was begun by tamis select with --checkpoint or --cluster. The log ends as that of a run
    that was never stopped. The data must be unchanged, and where it was unless --data says where.

    \b
    Examples:
      tamis resume run/
      tamis resume run/ --cluster local:2
    """  # noqa: D301  (click wants the backspace itself)
    from tamis.engine.persistent.resuming import resume

    def say(sentence: str) -> None:
        if not quiet:
            click.echo(one_line(sentence), err=True)

    with progress(quiet) as report:
        done = resume(
            run, data, cluster=cluster, width=width, n_jobs=n_jobs, every=checkpoint,
            progress=report, say=say, selector=own_class_of(own_class),
        )  # fmt: skip
    if not quiet:
        for line in summary(done, run):
            click.echo(one_line(line))
