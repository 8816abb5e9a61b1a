"""`tamis select`: from a file to a folder with the kept features and the reason for every other."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamis._registry import MEASURES, METHODS
from tamis.cli.encode_options import encode_options, encoding_lines
from tamis.cli.live import followed, live_option
from tamis.cli.method_options import MethodWords, selector_of
from tamis.cli.options import (
    COMMIT_EVERY,
    Size,
    data_name,
    groups_option,
    open_data,
    source_options,
)
from tamis.cli.progress import progress
from tamis.cli.text import asked as asked_for
from tamis.cli.text import one_line
from tamis.core.errors import InputError, ParameterError
from tamis.core.sentences import counted

if TYPE_CHECKING:
    from tamis.engine.runs import Run
    from tamis.methods import ColumnSelector
    from tamis.sources import Source


@click.command("select")
@click.argument("data", type=click.Path())
@click.option(
    "--method", default="saola", show_default=True, type=MethodWords(), metavar="METHOD",
    help=f"One of {', '.join(sorted(METHODS))}, or package.module:Class of your own; parameters "
    "may follow after colons, as in saola:bound=max.",
)  # fmt: skip
@click.option("--out", required=True, type=click.Path(), help="Folder to write; must not exist.")
@click.option(
    "--measure", default="auto", show_default=True, type=click.Choice(["auto", *MEASURES]),
    help="How features are scored. auto looks at the data and says what it picked.",
)  # fmt: skip
@click.option("--alpha", type=float, help="Level of the measure's test, whichever it is.")
@click.option(
    "--threshold", type=float,
    help="Instead of a test: scores above this are relevant (the papers use 0).",
)  # fmt: skip
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE",
    help="A parameter of the method, e.g. --param bound=max. May be repeated.",
)  # fmt: skip
@encode_options
@groups_option
@source_options
@click.option(
    "--memory", default="2GB", show_default=True, type=Size(),
    help="Memory for turning rows into columns.",
)  # fmt: skip
@click.option("--n-jobs", type=click.IntRange(1), help="Threads that compute; default: all cores.")
@click.option(
    "--width", type=click.IntRange(1), help="Columns in a block. Cannot change the answer."
)
@click.option(
    "--cluster", metavar="ADDRESS",
    help="Examine columns elsewhere: tcp://host:8786 of a Dask cluster, or local:2 for two "
    "processes here. Cannot change the answer.",
)  # fmt: skip
@click.option(
    "--checkpoint", is_flag=False, flag_value=COMMIT_EVERY, metavar="[SECONDS]",
    type=click.FloatRange(min=0, min_open=True),
    help="Commit what is decided every so often (2 s), so that tamis resume goes on after a kill. "
    "With --cluster that is done anyway, where the method decides as columns come.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an earlier run in the --out folder.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@live_option
def command(
    data: str,
    method: str,
    out: str,
    measure: str,
    alpha: float | None,
    threshold: float | None,
    params: tuple[str, ...],
    encoding: dict[str, Any],
    groups: str | None,
    reading: dict[str, Any],
    memory: int,
    n_jobs: int | None,
    width: int | None,
    cluster: str | None,
    checkpoint: float | None,
    force: bool,
    quiet: bool,
    live: bool,
) -> None:
    """Select features from DATA and write what was kept, and why, to a folder.

    DATA is a svmlight or CSV file (.svm, .csv, .tsv, also .gz, .bz2, .zst), a table (.parquet,
    .arrow), a folder of daily tables, a matrix (.npz, .npy), AnnData, PLINK, a database, or a store
    made by tamis convert. --target names the column to predict; the target of NAME.npz is
    NAME.y.npy or y.npy beside it. Features are taken in column order, as if they arrived one by
    one.

    \b
    Writes into the folder, all or nothing:
      selected.csv    feature, name, relevance, arrival
      log.parquet     what became of every feature, and the numbers behind it
      events.parquet  every decision in the order it was taken
      run.json        parameters, versions, data fingerprint, work, times

    \b
    Examples:
      tamis select news20.svm --out run/
      tamis select patients.csv --target died --ignore name --out run/
      tamis select genes.npz --out run/ --measure fisher_z --alpha 0.001
      tamis select data.svm.gz --out run/ --threshold 0 --param bound=max
      tamis select patients.csv --target sick --out run/ --encode mdlp --missing category
      tamis select genes.cols --out run/ --cluster tcp://host:8786
      tamis select genes.npz --out run/ --method group-saola --groups pathways.csv
      tamis select genes.npz --out run/ --method my_lab.top_k:TopK:size=5
    """  # noqa: D301  (click wants the backspace itself)
    from tamis.core.files import check_folder
    from tamis.encode import resolve as resolve_encoder
    from tamis.engine.groups import read_groups
    from tamis.engine.persistent.resuming import begin, refuse_unfinished, resume
    from tamis.report.run_page import page_of_run
    from tamis.sources.axis import to_columns
    from tamis.sources.base import refuse_without_target

    begun = time.perf_counter()
    refuse_unfinished(out, force=force)
    check_folder(out, "run", force=force)
    selector, encode = selector_of(method, params, measure, alpha, threshold)
    if encode is not None:
        encoding["encode"] = resolve_encoder(encode)
    table = None if groups is None else read_groups(groups)
    source = open_data(data, reading, memory)
    refuse_without_target(source)
    cache = Path(os.path.abspath(out)).parent / f"{data_name(data, source)}.cols"
    if os.path.abspath(out) == str(cache):
        raise ParameterError(f"--out {out} is where the columns of {data} go; choose another name")
    name = data_name(data, source)
    if selector.takes_groups and table is None and source.format != "daily" and not quiet:
        click.echo(one_line(_one_group(name)), err=True)
    with progress(quiet) as report, followed(live, f"tamis: {name}") as page:

        def watch(so_far: Callable[[], Run]) -> None:
            if page is not None:
                page.offer(lambda: page_of_run(_named(so_far(), name), out))

        columns = to_columns(
            source, cache, memory=memory, progress=report,
            say=lambda sentence: None if quiet else click.echo(one_line(sentence), err=True),
        )  # fmt: skip
        converted = time.perf_counter()
        if columns.target() is None:
            raise InputError(f"{data} has no target, so there is nothing to select for")
        every = _commits_every(checkpoint, cluster, selector, columns)
        how: Any = {
            "cluster": cluster, "width": width, "n_jobs": n_jobs, "progress": report,
            "watch": watch,
        }  # fmt: skip
        asked: Any = {
            "name": name, "rows": source, "command": asked_for(),
            "seconds": {"columns": converted - begun}, "force": force,
        }  # fmt: skip
        if every is not None:
            asked |= {"groups": table, **encoding}
            begin(out, columns, selector, reading if columns is source else {}, **asked)
            run = resume(out, every=every, selector=type(selector.rule), **how)
        else:
            run = _at_once(out, columns, selector, how | {"groups": table, **encoding}, **asked)
        if page is not None:
            page.show(page_of_run(run, out))
    if not quiet:
        for line in summary(run, out):
            click.echo(one_line(line))


def _one_group(name: str) -> str:
    """Say that groups were not given, and how they can be."""
    return (
        f"{name} has no groups, so all its columns are one group, as with --method saola; say "
        "which they are with --groups FILE, or give a folder with a table for each group"
    )


def _at_once(
    out: str,
    columns: Source,
    selector: ColumnSelector,
    how: dict[str, Any],
    *,
    name: str,
    rows: Source,
    command: str,
    seconds: dict[str, float],
    force: bool,
) -> Run:
    """Select, and write everything at the end."""
    from tamis.engine.runs import save_run
    from tamis.engine.select import select

    run = _named(select(columns, selector, command=command, keep_state=True, **how), name)
    if run.state is not None:
        run.state.know_rows(rows)  # a column store forgets what they are called
    run.seconds = {**seconds, **run.seconds}
    save_run(run, out, force=force)
    return run


def _commits_every(
    checkpoint: float | None, cluster: str | None, selector: ColumnSelector, columns: Source
) -> float | None:
    """Seconds between commits; None where all is written at the end."""
    if checkpoint is not None or cluster is None:
        return checkpoint
    from tamis.engine.persistent.selection_state import can_be_saved

    return COMMIT_EVERY if can_be_saved(selector) and columns.path is not None else None


def _named(run: Run, name: str) -> Run:
    run.source["name"] = name
    return run


def summary(run: Run, out: str) -> list[str]:
    """What is said at the end."""
    counts, source, seconds = run.log.counts(), run.source, sum(run.seconds.values())
    dropped = ", ".join(f"{n:,} {word}" for word, n in counts.items() if word != "kept" and n)
    return [
        f"{run.method} kept {counts['kept']:,} of {counted(len(run.log), 'feature')} "
        f"({dropped or 'none dropped'}) on {counted(source['n_rows'], 'row')} in {seconds:.1f} s",
        *([f"measure: {run.measure}, because {run.measure_reason}"] if run.measure else []),
        *encoding_lines(source),
        f"wrote {Path(out) / 'selected.csv'}; ask about any feature with: "
        f"tamis why {shlex.quote(out)} FEATURE",
    ]
