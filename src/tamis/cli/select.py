"""`tamis select`: select features from a file, and write them with a reason for every other."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamis.cli.options import (
    COMMIT_EVERY,
    MethodOptions,
    Size,
    data_name,
    encode_options,
    encoding_lines,
    execution_options,
    groups_option,
    method_options,
    open_data,
    quiet_option,
    source_options,
)
from tamis.cli.output import followed, live_option, messages, one_line, progress, typed_command
from tamis.core.errors import InputError, ParameterError
from tamis.core.files import check_folder
from tamis.core.sentences import counted

if TYPE_CHECKING:
    from tamis.engine.groups import GroupTable
    from tamis.engine.runs import Run
    from tamis.methods import ColumnSelector
    from tamis.report.live_server import LivePage
    from tamis.sources import ColumnSource, Source


@dataclass
class Options:
    """The options of the command; those that belong together are one."""

    data: str
    out: str
    method: MethodOptions
    encoding: dict[str, Any]
    groups: str | None
    reading: dict[str, Any]
    memory: int
    execution: dict[str, Any]
    checkpoint: float | None
    force: bool
    quiet: bool
    live: bool


@click.command("select")
@click.argument("data", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder to write; must not exist.")
@method_options
@encode_options
@groups_option
@source_options
@click.option(
    "--memory", default="2GB", show_default=True, type=Size(),
    help="Approximate memory for converting rows to columns.",
)  # fmt: skip
@execution_options("n_jobs", "width", "cluster")
@click.option(
    "--checkpoint", is_flag=False, flag_value=COMMIT_EVERY, metavar="[SECONDS]",
    type=click.FloatRange(min=0, min_open=True),
    help="Save the decisions every so many seconds (2), so that tamis resume can continue after a "
    "kill. With --cluster that is the default, if the method decides as columns arrive.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an earlier run in the --out folder.")
@quiet_option
@live_option
def command(**given: Any) -> None:
    """Select features from DATA, and write which were kept, and why, to a folder.

    DATA is an svmlight or CSV file (.svm, .csv, .tsv, also .gz, .bz2, .zst), a table (.parquet,
    .arrow), a folder of daily tables, a matrix (.npz, .npy), AnnData, PLINK, a database, or a store
    made by tamis convert. --target names the column to predict; the target of NAME.npz is
    NAME.y.npy or y.npy beside it. Features are processed in column order, one at a time.

    \b
    Writes into the folder, all or nothing:
      selected.csv    feature, name, relevance, arrival
      log.parquet     the verdict on every feature, with the numbers behind it
      events.parquet  every decision, in order
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
    options = Options(**given)
    run = _select(options, time.perf_counter())
    if not options.quiet:
        for line in summary(run, options.out):
            click.echo(one_line(line))


def _select(options: Options, begun: float) -> Run:
    """Check everything that can be wrong before the data are read, then select."""
    from tamis.sources.axis import to_columns
    from tamis.sources.base import refuse_without_target

    out, say = options.out, messages(options.quiet)
    _refuse_unfinished(out, options.force)
    check_folder(out, "run", force=options.force)
    selector, encode = options.method.selector()
    if encode is not None:
        from tamis.encode import resolve

        options.encoding["encode"] = resolve(encode)
    groups = _groups(options.groups)
    source = open_data(options.data, options.reading, options.memory)
    refuse_without_target(source)
    name = data_name(options.data, source)
    cache = Path(os.path.abspath(out)).parent / f"{name}.cols"
    if os.path.abspath(out) == str(cache):
        raise ParameterError(
            f"--out {out} is where the columns of {options.data} go; choose another name"
        )
    if selector.takes_groups and groups is None and source.format != "daily":
        say(
            f"{name} has no groups, so all its columns are one group, as with --method saola; name "
            "them with --groups FILE, or give a folder with one table per group"
        )
    with progress(options.quiet) as report, followed(options.live, f"tamis: {name}") as page:
        by_others = options.checkpoint is not None or bool(options.execution["cluster"])
        store = cache if by_others or not source.is_small(options.memory) else None
        columns = to_columns(source, store, memory=options.memory, progress=report, say=say)
        if columns.target() is None:
            raise InputError(f"{options.data} has no target, so there is nothing to select for")
        about = {
            "name": name, "rows": source, "command": typed_command(), "force": options.force,
            "seconds": {"columns": time.perf_counter() - begun}, "groups": groups,
            **options.encoding,
        }  # fmt: skip
        how = {**options.execution, "progress": report, "watch": _watch(page, name, out)}
        every = _commits_every(options, selector, columns)
        if every is None:
            run = _at_once(out, columns, selector, how, **about)
        else:
            from tamis.engine.persistent.resuming import begin, resume

            begin(out, columns, selector, options.reading if columns is source else {}, **about)
            run = resume(out, every=every, selector=type(selector.rule), **how)
        if page is not None:
            from tamis.report.run_page import page_of_run

            page.show(page_of_run(run, out))
    return run


def _refuse_unfinished(out: str, force: bool) -> None:
    if os.path.lexists(out) and not force:
        from tamis.engine.persistent.resuming import refuse_unfinished

        refuse_unfinished(out)


def _groups(path: str | None) -> GroupTable | None:
    if path is None:
        return None
    from tamis.engine.groups import read_groups

    return read_groups(path)


def _watch(
    page: LivePage | None, name: str, out: str
) -> Callable[[Callable[[], Run]], None] | None:
    """Return a function that shows the run so far on a page."""
    if page is None:
        return None
    from tamis.report.run_page import page_of_run

    def watch(so_far: Callable[[], Run]) -> None:
        page.offer(lambda: page_of_run(_named(so_far(), name), out))

    return watch


def _at_once(
    out: str,
    columns: ColumnSource,
    selector: ColumnSelector,
    how: dict[str, Any],
    *,
    name: str,
    rows: Source,
    seconds: dict[str, float],
    force: bool,
    **options: Any,
) -> Run:
    """Select, and write everything at the end."""
    from tamis.engine.runs import save_run
    from tamis.engine.selecting import select

    run = _named(select(columns, selector, keep_state=True, **how, **options), name)
    if run.state is not None:
        run.state.know_rows(rows)  # a column store does not hold their names
    run.seconds = {**seconds, **run.seconds}
    save_run(run, out, force=force)
    return run


def _commits_every(
    options: Options, selector: ColumnSelector, columns: ColumnSource
) -> float | None:
    """Return the seconds between commits; None if all is written at the end."""
    if options.checkpoint is not None or options.execution["cluster"] is None:
        return options.checkpoint
    from tamis.engine.persistent.selection_state import can_be_saved

    return COMMIT_EVERY if can_be_saved(selector) and columns.path is not None else None


def _named(run: Run, name: str) -> Run:
    run.source["name"] = name
    return run


def summary(run: Run, out: str) -> list[str]:
    """Return the lines that are printed at the end."""
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
