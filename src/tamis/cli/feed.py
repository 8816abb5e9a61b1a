"""`tamis feed`: new columns for a selection that was made before."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from tamis.cli.live import followed, live_option, showing
from tamis.cli.method_options import own_class as own_class_of
from tamis.cli.method_options import own_class_option
from tamis.cli.options import groups_option, source_options
from tamis.cli.progress import progress
from tamis.cli.text import one_line
from tamis.core.sentences import counted


@click.command("feed")
@click.argument("run", type=click.Path())
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--replace", is_flag=True,
    help="Columns of a known name with other values replace the old ones.",
)  # fmt: skip
@click.option(
    "--allow-target", is_flag=True,
    help="Take a column that equals the target in every row.",
)  # fmt: skip
@click.option("--no-wait", is_flag=True, help="Refuse if another process is feeding RUN.")
@own_class_option
@groups_option
@source_options
@click.option("--n-jobs", type=click.IntRange(1), help="Threads that compute; default: all cores.")
@click.option(
    "--width", type=click.IntRange(1), help="Columns in a block. Cannot change the answer."
)
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@live_option
def command(
    run: str,
    files: tuple[str, ...],
    replace: bool,
    allow_target: bool,
    no_wait: bool,
    own_class: str | None,
    groups: str | None,
    reading: dict[str, Any],
    n_jobs: int | None,
    width: int | None,
    quiet: bool,
    live: bool,
) -> None:
    """Feed the columns of each FILE to the selection in RUN, which goes on where it stopped.

    RUN is a folder that tamis select or tamis.Selection.create made. FILE holds new columns of the
    same rows: in the same order, or with the key column that the selection was made with. A column
    that was fed before is recognised by its name and values and skipped. Columns without names are
    new arrivals and continue the numbering.

    Columns are encoded as RUN was, if it was selected with --encode or --missing. A file of
    --groups may name more features than FILE has; without it the group that is open goes on.

    A feed that is killed leaves all that it had committed; feed the same file again to go on.

    \b
    Examples:
      tamis feed run/ tuesday.parquet
      tamis feed run/ tuesday.parquet --replace
      tamis feed run/ genes.parquet --groups pathways.csv
    """  # noqa: D301  (click wants the backspace itself)
    from tamis.engine.groups import read_groups
    from tamis.engine.persistent.selection import Selection
    from tamis.kernels.threads import threads
    from tamis.report.run_page import page_of_run

    def say(sentence: str) -> None:
        if not quiet:
            click.echo(one_line(sentence), err=True)

    selection = Selection.open(run, own_class_of(own_class))
    table = None if groups is None else read_groups(groups)
    with contextlib.ExitStack() as stack:
        if n_jobs is not None:
            stack.enter_context(threads(n_jobs))
        report = stack.enter_context(progress(quiet))
        page = stack.enter_context(followed(live, f"tamis: {run}"))
        if page is not None:
            report = showing(report, lambda: page.offer(lambda: page_of_run(selection.run, run)))
        for file in files:
            fed = selection.feed(
                file, groups=table, replace=replace, allow_target=allow_target, wait=not no_wait,
                width=width, progress=report, say=say, **reading,
            )  # fmt: skip
            if not quiet:
                click.echo(one_line(str(fed)))
        if page is not None:
            page.show(page_of_run(selection.run, run))
    if not quiet:
        kept = counted(len(selection.kept_names), "feature is", "features are")
        click.echo(one_line(f"{kept} kept; see {run}/selected.csv"))
