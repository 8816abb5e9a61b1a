"""`tamis select`: select features from a file, and write why each was kept or dropped."""

from __future__ import annotations

import os
import re
import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from tamis._registry import ENCODERS, MEASURES, METHODS, load
from tamis.cli.options import (
    COMMIT_EVERY,
    Choice,
    Command,
    execution_options,
    groups_option,
    live_option,
    missing_target_option,
    output_options,
    size,
    source_options,
    task_option,
)
from tamis.cli.output import echo, echo_json, followed, messages, progress, resumable, typed_command
from tamis.core.errors import InputError, ParameterError, SourceError, TamisError
from tamis.core.files import check_folder
from tamis.core.params import parameters, split_method
from tamis.core.sentences import counted, suggestion

if TYPE_CHECKING:
    from tamis.engine.runs import Run
    from tamis.methods import ColumnSelector, Rule


def _method_name(value: str) -> str:
    """Reject an unknown method before anything is imported; a class is imported when needed."""
    try:
        where, _ = split_method(value)
    except ParameterError as error:
        raise click.BadParameter(str(error)) from None
    if ":" not in where and where not in METHODS:
        known = suggestion(where, sorted(METHODS), "give package.module:Class, or one of")
        raise click.BadParameter(f"{where!r} is not known; {known}")
    return value


@click.command("select", cls=Command)
@click.argument("data", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder to write; must not exist.")
@click.option(
    "--method", default="sieve", show_default=True, type=_method_name, metavar="METHOD",
    shell_complete=lambda ctx, param, typed: [name for name in METHODS if name.startswith(typed)],
    help=f"One of {', '.join(sorted(METHODS))}, or package.module:Class of your own. Parameters "
    "may follow after colons, as in saola:bound=max.",
)  # fmt: skip
@click.option(
    "--measure", default="auto", show_default=True, metavar="MEASURE",
    shell_complete=lambda ctx, param, typed: [name for name in MEASURES if name.startswith(typed)],
    help=f"The measure that scores features: {', '.join(MEASURES)}. auto picks one from the data "
    "and reports it. Parameters may follow after colons, as in fisher_z:statistic=z.",
)  # fmt: skip
@click.option("--alpha", type=float, help="Significance level of the measure's test.")
@click.option(
    "--fdr", type=float, metavar="RATE",
    help="Instead of --alpha, a false discovery rate, e.g. 0.1: of the columns that pass the test, "
    "at most this share is expected to be false.",
)  # fmt: skip
@click.option(
    "--gate", metavar="NAME",
    help="The procedure that keeps --fdr: lord++ (the default for methods that decide as columns "
    "arrive), lond, lond-any, spending, batch-bh, bh (the default for the others) or by. lond-any "
    "and by hold for any dependence between columns.",
)  # fmt: skip
@click.option(
    "--threshold", type=float,
    help="Instead of a test: scores above this are relevant (the papers use 0).",
)  # fmt: skip
@click.option(
    "--order", type=Choice(["arrival", "free"]),
    help="arrival (the default): compare features in the order of the columns. free: compare them "
    "in the order of their relevance, so that the same ones are kept whatever the order of the "
    "columns. For sieve, saola, fast-osfs, osfs, fcbf, mrmr, cfs, hiton-pc and consistency.",
)  # fmt: skip
@click.option(
    "--stability", is_flag=False, flag_value=25, type=click.IntRange(min=1), metavar="[PAIRS]",
    help="Split the rows into two random halves PAIRS times (25), select on each half, and report "
    "how far the two agree.",
)  # fmt: skip
@click.option(
    "--shadows", type=int, metavar="WORLDS",
    help="Estimate how many of the kept features are luck: the selection is repeated WORLDS times "
    "(usually 3) with decoys, columns whose rows are shuffled. What is kept does not change.",
)  # fmt: skip
@click.option(
    "--costs", metavar="FILE",
    help="With --order free: a CSV file with the header name,cost. Of two features that are "
    "redundant with each other and nearly as relevant, the cheaper one stays.",
)  # fmt: skip
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE",
    help="A parameter of the method, e.g. --param bound=max. May be repeated.",
)  # fmt: skip
@click.option(
    "--judge", is_flag=False, flag_value="linear", type=Choice(["linear", "forest"]),
    metavar="[MODEL]",
    help="Also score the whole procedure on rows that it did not see, in five folds, three times. "
    "MODEL, which predicts with the kept features, is linear (the default) or forest.",
)  # fmt: skip
@task_option
@click.option(
    "--encode", type=Choice(ENCODERS),
    help="Bin each numeric column separately. mdlp cuts where the class changes; text, and "
    "columns with few distinct whole numbers, are left unchanged.",
)  # fmt: skip
@click.option(
    "--bins", type=int, help="Number of bins, for --encode other than mdlp. Default: 5."
)  # fmt: skip
@click.option(
    "--missing", default="auto", show_default=True,
    type=Choice(["auto", "error", "category", "delete"]),
    help="Missing values: raise an error, make them a category, or leave them out of each "
    "comparison (delete, pairwise deletion). auto: any_shape, the measure of sieve, gives them a "
    "bin of their own; other measures raise an error.",
)  # fmt: skip
@click.option(
    "--missing-value", type=float, metavar="NUMBER",
    help="A number that also means missing, e.g. -9, or 0 if zeros are not measurements.",
)  # fmt: skip
@click.option(
    "--stop", multiple=True, metavar="NAME=VALUE",
    help="End the selection before the last column: features=20 (when 20 are kept), idle=10000 "
    "(when none of the last 10,000 was kept) or accuracy=0.95 (when a decision tree predicts the "
    "class with this accuracy from the kept ones, in five folds). The other columns are not "
    "examined. May be repeated; the first rule that holds ends the selection.",
)  # fmt: skip
@click.option(
    "--keep", multiple=True, metavar="COLUMN",
    help="A feature that must stay; the others are compared with it. May be repeated.",
)  # fmt: skip
@click.option(
    "--weights", metavar="COLUMN", help="The column that holds the weight of each row."
)  # fmt: skip
@click.option(
    "--given", multiple=True, metavar="COLUMN",
    help="A covariate to adjust for, such as age; it is not selected. May be repeated.",
)  # fmt: skip
@click.option(
    "--row-groups", metavar="COLUMN",
    help="With --shadows, --stability or --judge: the column that says which rows belong together, "
    "such as patient.",
)  # fmt: skip
@groups_option
@source_options
@missing_target_option
@click.option(
    "--memory", default="2GB", show_default=True, type=size,
    help="Approximate memory for converting rows to columns.",
)  # fmt: skip
@execution_options("n_jobs", "width", "cluster")
@click.option(
    "--checkpoint", is_flag=False, flag_value=COMMIT_EVERY, metavar="[SECONDS]",
    type=click.FloatRange(min=0, min_open=True),
    help="Save the decisions every SECONDS (2), so that tamis resume can continue after a kill. "
    "With --cluster this is the default, if the method decides as columns arrive.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an earlier run in the --out folder.")
@output_options
@live_option
def command(**given: Any) -> None:
    """Select features from DATA, and write which were kept, and why, to a folder.

    DATA is an svmlight or CSV file (.svm, .csv, .tsv, also .gz, .bz2, .zst), a table (.parquet,
    .arrow), a folder of daily tables, a matrix (.npz, .npy), AnnData, PLINK, a database, or a store
    made by tamis convert. --target names the column to predict; the target of NAME.npz is
    NAME.y.npy or y.npy next to it. Features are processed in column order, one at a time.

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
      tamis select genes.npz --out run/ --method saola --measure fisher_z --alpha 0.001
      tamis select genes.npz --out run/ --fdr 0.1
      tamis select data.svm.gz --out run/ --method saola:bound=max --threshold 0
      tamis select patients.csv --target sick --out run/ --encode mdlp --missing category
      tamis select genes.cols --out run/ --cluster tcp://host:8786
      tamis select genes.npz --out run/ --method group-saola --groups pathways.csv
      tamis select genes.npz --out run/ --method my_lab.top_k:TopK:size=5
    """  # noqa: D301  (click needs the backspace character)
    options = SimpleNamespace(**given)
    options.quiet = options.quiet or options.as_json
    try:
        run = _select(options, time.perf_counter())
    except (InputError, SourceError) as error:
        raise _with_all_problems(error, options) from error
    if options.as_json:
        echo_json(run_facts(run, options.out))
    elif not options.quiet:
        echo(*summary(run, options.out))


def _with_all_problems(error: TamisError, options: Any) -> TamisError:
    """Return an error that names every problem of a table, not only the first."""
    from tamis.engine.profiling import all_problems
    from tamis.sources import format_of

    reading = options.reading
    is_table = reading.get("format") or (
        format_of(options.data) if os.path.exists(options.data) else None
    )
    if "target" not in reading or is_table not in ("csv", "parquet", "arrow"):
        return error
    if options.given or options.weights:
        return error  # the command that works for these data would leave them out
    handled = ["gaps"] if options.missing not in ("auto", "error") else []
    handled += ["words"] if options.encode or options.measure != "auto" else []
    method = split_method(options.method)[0]
    return all_problems(error, options.data, None, method, handled, reading)


def _select(options: Any, begun: float) -> Run:
    """Check as much as possible before the data are read, then select."""
    from tamis.engine.persistent.selection_state import can_be_saved
    from tamis.engine.runs import save_run
    from tamis.engine.selecting import row_roles, select
    from tamis.sources import open_source
    from tamis.sources.axis import to_columns
    from tamis.sources.base import refuse_without_target

    data, out, say = options.data, options.out, messages(options.quiet)
    if os.path.lexists(out):
        from tamis.engine.persistent.resuming import refuse_unfinished

        refuse_unfinished(out, force=options.force)
    check_folder(out, "run", force=options.force)
    rule, about = _method(options)
    source = open_source(data, memory=options.memory, **options.reading)
    refuse_without_target(source)
    name = os.path.basename(os.path.normpath(data))
    if "://" in data:
        name = re.sub(r"[^\w.-]+", "_", source.label)
    cache = Path(os.path.abspath(out)).parent / f"{name}.cols"
    if os.path.abspath(out) == str(cache):
        raise ParameterError(f"--out {out} is where the columns of {data} go; choose another name")
    if rule.takes_groups and about["groups"] is None and source.format != "daily":
        say(
            f"{name} has no groups, so all its columns are one group, as with --method saola; name "
            "them with --groups FILE, or give a folder with one table per group"
        )
    live = followed(f"tamis: {name}") if options.live else nullcontext()
    with progress(options.quiet) as report, live as page:
        report = report if page is None else page.relay(report)
        repeats = {name: getattr(options, name) for name in ("stability", "judge")}
        repeats = {name: value for name, value in repeats.items() if value is not None}
        chosen = _for_parts(rule) if repeats else rule
        every, on_cluster = options.checkpoint, "cluster" in options.execution
        in_memory = every is None and not on_cluster and source.is_small(options.memory)
        store = None if in_memory else cache
        columns = to_columns(source, store, memory=options.memory, progress=report, say=say)
        if columns.target() is None:
            raise InputError(f"{data} has no target, so there is nothing to select for")
        seconds = {"columns": time.perf_counter() - begun}
        about["command"] = typed_command()
        how = {**options.execution, "progress": report}
        if page is not None:
            from tamis.report.run_page import page_of_run

            how["watch"] = lambda so_far: page.offer(lambda: page_of_run(so_far(), out, name))
        if every is None and on_cluster and columns.path is not None:
            every = COMMIT_EVERY if can_be_saved(rule.to_selector()) else None
        if every is None:
            run = select(columns, chosen, keep_state=True, **how, **about)
            run.source |= {"name": name, **row_roles(source)}
            if run.state is not None:
                run.state.know_rows(source)  # a column store does not hold their names
            run.seconds = {**seconds, **run.seconds}
            if repeats:
                _repeat(run, columns, options, report)
            save_run(run, out, force=options.force)
        else:
            from tamis.engine.persistent.resuming import alone, begin, resume

            reading = options.reading if columns is source else {}
            about |= {"name": name, "rows": source, "seconds": seconds, "force": options.force}
            begun_as = begin(out, columns, chosen, reading, repeats=repeats, **about)
            with resumable(out), alone(out, begun_as):
                run = resume(out, every=every, selector=type(rule), **how)
                run = finished(out, run, type(rule), how)
        if page is not None:
            page.show(page_of_run(run, out))
    return run


def _for_parts(rule: Rule) -> ColumnSelector:
    """Return a selector that will also run on parts of the rows."""
    selector = rule.to_selector()
    selector.rows_are_split = True
    return selector


def _repeat(run: Run, columns: Any, options: Any, progress: Any) -> None:
    """Repeat a selection on halves and folds of the rows, as far as that was requested."""
    how = {"progress": progress, "cluster": options.execution.get("cluster")}
    if options.stability is not None:
        run.stability(columns, pairs=options.stability, **how)
    if options.judge is not None:
        run.judge(columns, model=options.judge, **how)


def finished(
    out: str, run: Run, kind: Any, how: dict[str, Any], data: str | None = None, say: Any = None
) -> Run:
    """Do what a run in a folder still has to repeat on parts of the rows; return the run."""
    from tamis.engine.persistent.saved_selection import read_history, repeats_of

    if not repeats_of(read_history(out)):
        return run
    finish = load("tamis.evaluate.saved_repeats:finish")  # which needs scikit-learn
    names = ("cluster", "n_jobs", "progress")
    more = {name: how[name] for name in names if name in how}
    done: Run = finish(out, data, selector=kind, say=say or (lambda sentence: None), **more)
    return done


def _method(options: Any) -> tuple[Rule, dict[str, Any]]:
    """Return the rule, and how columns are encoded and grouped."""
    from tamis.encode import BY_NAME, Missing
    from tamis.engine.groups import read_groups
    from tamis.engine.known_selectors import parse_method

    encode, missing = options.encode, options.missing
    if options.bins is not None:
        if encode in (None, "mdlp"):
            raise ParameterError("--bins is for --encode equal-width, equal-frequency or kmeans")
        encode = BY_NAME[encode](bins=options.bins)  # type: ignore[call-arg]
        encode.check_params()
    if options.missing_value is not None:
        missing = Missing(missing, options.missing_value)
    found = parse_method(options.method, _rule_parameters(options))
    rule = found.rule()
    groups = None if options.groups is None else read_groups(options.groups)
    about = {"encode": found.encode or encode, "missing": missing, "groups": groups}
    about["task"] = options.task
    about["stop"] = list(options.stop) or None
    about |= {"sample_weight": options.weights, "given": list(options.given) or None}
    about |= {"keep": list(options.keep) or None, "row_groups": options.row_groups}
    return rule, about


def _rule_parameters(options: Any) -> dict[str, Any]:
    """Return the parameters of the method that were given, by name."""
    from tamis.methods import BY_METHOD

    method = split_method(options.method)[0]
    if options.costs is not None and method in METHODS and method != "saola":
        raise ParameterError(f"{method} has no --costs; use --method saola")
    if options.order is not None and method in BY_METHOD:
        kind: Any = BY_METHOD[method]
        if "order" not in kind.parameter_names or kind.order != "arrival":
            raise ParameterError(
                f"{method} has no --order; use a method such as sieve, saola or fast-osfs"
            )
    more = parameters(options.params)
    if options.threshold is not None:
        more.setdefault("threshold", options.threshold)
    if options.measure != "auto":
        more["measure"] = options.measure
    for name in ("alpha", "fdr", "gate", "order", "shadows"):
        if getattr(options, name) is not None:
            more[name] = getattr(options, name)
    if options.costs is not None:
        from tamis.engine.costs import read_costs

        more["costs"] = read_costs(options.costs)
    return more


def run_facts(run: Run, out: str) -> dict[str, Any]:
    """Return what `summary` says, and the names of the kept features, for JSON."""
    source, counts = run.source, run.log.counts()
    return {
        "run": out,
        "method": run.method,
        "measure": run.measure or None,
        "measure_reason": run.measure_reason or None,
        "rows": source["n_rows"],
        "features": len(run.log),
        "verdicts": counts,
        "kept": run.kept_names,
        "encode": source.get("encode") or None,
        "missing": source.get("missing"),
        "trust": run.trust,
        "stopped": run.log.stopped or None,
        "selected": str(Path(out) / "selected.csv") if counts["kept"] else None,
        "seconds": run.seconds,
    }


def summary(run: Run, out: str) -> list[str]:
    """Return the lines that are printed at the end."""
    from tamis.engine.runs import missing_words, trust_words, unasked_words

    counts, source, seconds = run.log.counts(), run.source, sum(run.seconds.values())
    dropped = ", ".join(f"{n:,} {word}" for word, n in counts.items() if word != "kept" and n)
    lines = [
        f"{run.method} kept {counts['kept']:,} of {counted(len(run.log), 'feature')} "
        f"({dropped or 'none dropped'}) on {counted(source['n_rows'], 'row')} in {seconds:.1f} s"
    ]
    lines += [f"{name}: {choice}" for name, choice in run.choices.items()]
    if source.get("given"):
        lines.append(f"adjusted for: {', '.join(source['given'])}")
    if source.get("weights"):
        lines.append(f"weights: {source['weights']}")
    if source.get("encode"):
        lines.append(f"encode: {source['encode']}")
    if words := missing_words(source):
        lines.append(f"missing: {words}")
    if source.get("row_groups"):
        lines.append(f"rows that belong together: {source['row_groups']}")
    trust = trust_words(run.trust) | unasked_words(run, shlex.quote(out))
    lines += [f"{name}: {words}" for name, words in trust.items()]
    if run.log.stopped:
        lines.append(f"the selection {run.log.stopped}")
    wrote, ask = Path(out), f"ask about any feature with: tamis why {shlex.quote(out)} FEATURE"
    if counts["kept"]:
        lines.append(f"wrote {wrote / 'selected.csv'}; {ask}")
    else:
        lines.append(f"no feature was kept, so {wrote} has no selected.csv; {ask}")
    return lines
