"""`tamis learn`: train a small model on a stream of rows."""

from __future__ import annotations

import os
import shlex
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from tamis._registry import LEARNERS
from tamis.cli.options import (
    Choice,
    Command,
    live_option,
    missing_target_option,
    output_options,
    source_options,
    task_option,
)
from tamis.cli.output import echo, echo_json, followed, messages, progress, short, typed_command
from tamis.core.errors import ParameterError
from tamis.core.files import check_folder
from tamis.core.params import parameters
from tamis.core.sentences import counted, option_words

if TYPE_CHECKING:
    from tamis.engine.learning.learn import Learned
    from tamis.engine.learning.training import Training


#: Options of reading that other files like the training data need too.
_OF_FILES = (
    "format", "delimiter", "decimal", "header", "na", "dates", "categorical", "tokens", "long",
    "layer", "transpose",
)  # fmt: skip


@click.command("learn", cls=Command)
@click.argument("data", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--method", default="row-sieve", show_default=True, type=Choice(LEARNERS),
    help="Which learner; ogd and arow keep every feature.",
)  # fmt: skip
@click.option("-k", "--n-features", metavar="N",
              help="How many features to keep, or auto. Default: 500.")  # fmt: skip
@click.option("--gamma", type=float,
              help="For row-sieve, sofs and arow: a smaller value makes larger steps.")  # fmt: skip
@click.option("--eta", type=float, help="Learning rate of pet, fofs and ogd.")
@click.option("--lam", type=float, help="Regularisation of fofs.")
@click.option(
    "--tune", "tune_rows", is_flag=False, flag_value="all", metavar="[ROWS]",
    help="First choose gamma, eta and lam, unless given, by progressive validation on the "
    "training rows, or on the first ROWS of them.",
)  # fmt: skip
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE",
    help="Another parameter of the method, e.g. --param multiclass=uniform. May be repeated.",
)  # fmt: skip
@click.option("--passes", default=1, show_default=True, type=click.IntRange(1),
              help="Number of passes over the rows.")  # fmt: skip
@click.option("--shuffle", default=0, metavar="ROWS", type=click.IntRange(0),
              help="Shuffle this many rows at a time; they are held in memory.")  # fmt: skip
@click.option("--random-state", default=0, show_default=True, type=click.IntRange(0),
              help="Seed of the shuffling.")  # fmt: skip
@click.option("--normalize", is_flag=True, default=None, help="Scale every row to length 1.")
@click.option("--n-bits", type=click.IntRange(1, 40),
              help="Hash features to 2**N buckets, if their numbers are unbounded.")  # fmt: skip
@task_option
@click.option(
    "--classes", metavar="A,B,...",
    help="All classes. Default: files are first read for their labels; for standard input the "
    "first 4 MB must contain all of them.",
)  # fmt: skip
@click.option("--test", type=click.Path(), multiple=True,
              help="Rows to measure accuracy (or R²) on at the end. May be repeated.")  # fmt: skip
@click.option("--out", type=click.Path(), help="Folder for the model; must not exist.")
@click.option(
    "--checkpoint", is_flag=False, flag_value=60.0, type=float, metavar="[SECONDS]",
    help="Save the state next to --out every SECONDS (60); after a kill or Ctrl-C the same "
    "command resumes from there and gives the same model.",
)  # fmt: skip
@click.option(
    "--cluster", metavar="ADDRESS",
    help="Train a separate learner on each file in other processes, and merge them by precision "
    "(row-sieve and sofs): tcp://host:8786 of a Dask cluster, or local:2 for two processes here. "
    "One row store, or one svmlight file that is not compressed, is cut into ranges of rows.",
)  # fmt: skip
@click.option(
    "--shards", type=click.IntRange(1), metavar="N",
    help="With --cluster: cut the one file into this many ranges of rows; local:2 makes two. The "
    "model depends on N, not on the workers.",
)  # fmt: skip
@click.option("--skip-bad-lines", is_flag=True, help="Count bad lines and continue.")
@click.option(
    "--raw",
    is_flag=True,
    help="Use the numbers of a table unchanged; missing values raise an error.",
)
@source_options
@missing_target_option
@click.option("--force", is_flag=True, help="Replace an earlier model in the --out folder.")
@output_options
@live_option
def command(data: tuple[str, ...], as_json: bool, quiet: bool, live: bool, **given: Any) -> None:
    """Train on the rows of DATA, one or more files, and keep few features.

    DATA is svmlight text (.svm, also .gz, .bz2, .zst), a row store (.rows), or any other file that
    tamis reads; - is standard input, svmlight text, plain or compressed. Rows are read once per
    pass, in order, and never loaded as a whole.

    svmlight indices begin at 0 if an index 0 occurs in the first 4 MB, else at 1. If one occurs
    only later, learning stops with an error; give --zero-based then.

    In a table (CSV, Parquet, Arrow), numbers are standardised, a missing number becomes the mean of
    its column, and each value of a text column becomes a feature, NAME=VALUE. The model remembers
    this.

    \b
    Writes into the --out folder, all or nothing:
      model.json                            method, parameters, classes, error curve, data
      features.npy weights.npy confidence.npy   the kept features only

    \b
    Examples:
      tamis learn train.svm -k 500 --test test.svm --out model/
      zcat *.gz | tamis learn - --classes -1,1 --method pet --out model/
      tamis learn train.svm -k 100 --tune 20000 --out model/
      tamis learn part1.svm part2.svm --cluster local:2 --out model/
      tamis learn train.rows --cluster tcp://host:8786 --shards 8 --out model/
      tamis learn big.svm --passes 3 --shuffle 100000 --checkpoint 30 --out model/
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.learning.learn import Hooks, learn, make_learner
    from tamis.engine.learning.model import snapshot
    from tamis.engine.learning.tune import grid_of, tune
    from tamis.report.model_page import page_of_model, training_page

    names = ("gamma", "eta", "lam", "n_bits", "normalize")
    params = {name: value for name in names if (value := given.pop(name)) is not None}
    if (k := given.pop("n_features")) is not None:
        params["n_features"] = _whole(k, "auto", f"-k {k} is not a whole number and not auto")
    params |= parameters(given.pop("params"))
    learner = make_learner(given.pop("method"), given["task"], **params)
    reading, tune_rows = given.pop("reading"), given.pop("tune_rows")
    # The remaining options are those of `tamis.learn`.
    given |= {"classes": _classes(given["classes"]), "test": list(given["test"]) or None}
    command_line = typed_command()
    watched, quiet = _Watched(), quiet or as_json
    facts: dict[str, Any] = {"command": command_line}

    message = messages(quiet)
    followed_live = followed("tamis learn") if live else nullcontext()
    with progress(quiet, watched.note) as report, followed_live as page:
        report = report if page is None else page.relay(report)

        def after_batch(training: Training) -> None:
            watched(training)
            if page is not None:
                model, curve = training.learner, training.curve
                page.offer(lambda: training_page(snapshot(model), curve.table(), command_line))

        if tune_rows is not None:
            rows = _whole(tune_rows, "all", f"--tune {tune_rows} is not a number of rows")
            if given["out"] is not None:
                check_folder(given["out"], "model", force=given["force"])
            grid = {n: v for n, v in grid_of(learner).items() if n not in params}
            if not grid:
                raise ParameterError(
                    "--tune has nothing to choose: every parameter it tries was given"
                )
            tuned = tune(
                learner, list(data), rows=None if rows == "all" else rows, grid=grid,
                progress=report, classes=given["classes"], task=given["task"],
                skip_bad_lines=given["skip_bad_lines"], raw=given["raw"], **reading,
            )  # fmt: skip
            learner = tuned.learner
            if tuned.reason:
                message(tuned.reason)
            message(f"tuned: {tuned}")
            facts["tuned"] = {"rows": tuned.rows, "table": tuned.table}
        hooks = Hooks(message, after_batch, facts)
        done = learn(list(data), learner, progress=report, hooks=hooks, **given, **reading)
        if page is not None and done.folder is not None:
            page.show(page_of_model(done.folder))
    if as_json:
        echo_json(_facts(done))
    elif not quiet:
        echo(*_summary(done, reading))


class _Watched:
    """What the progress bar shows next to the bytes: rows per second, and the running error."""

    def __init__(self) -> None:
        self._training: Training | None = None
        self._begun, self._rows = 0.0, 0

    def __call__(self, training: Training) -> None:
        if self._training is None:
            self._training, self._begun, self._rows = training, time.monotonic(), training.rows

    def note(self) -> str:
        if self._training is None:
            return ""
        work, seconds = self._training.learner.work_, time.monotonic() - self._begun
        rows = work["rows"]
        rate = (rows - self._rows) / seconds if seconds > 0.2 else 0.0
        learner: Any = self._training.learner
        if learner.task == "regression":
            return f"{short(rows)} rows, {short(rate)} rows/s, R² {learner.progressive_r2_:.3f}"
        error = work["mistakes"] / max(rows, 1)
        return f"{short(rows)} rows, {short(rate)} rows/s, error {100 * error:.2f}%"


def _whole(text: str, word: str, refusal: str) -> Any:
    """Return a whole number, or `word` if that was given instead."""
    if text == word:
        return word
    try:
        return int(text.replace("_", ""))
    except ValueError:
        raise ParameterError(refusal) from None


def _classes(text: str | None) -> list[Any] | None:
    """Return classes from the command line: numbers if all of them are, else text.

    >>> _classes("-1,1"), _classes("ham, spam"), _classes(None)
    ([-1, 1], ['ham', 'spam'], None)
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return words
    return [int(n) if n.is_integer() else n for n in numbers]


def _facts(done: Learned) -> dict[str, Any]:
    """Return the result as plain values, for JSON."""
    from tamis.engine.learning.predict import Tally

    learner, test = done.learner, done.test
    return {
        "method": learner.public_name,
        "task": learner.task,
        "rows": done.rows,
        "columns": int(learner.n_features_in_),
        "kept": len(learner.kept_),
        "progressive_error": done.error,
        **({"progressive_r2": learner.progressive_r2_} if learner.task == "regression" else {}),
        "test_rows": None if test is None else test.rows,
        **{f"test_{k}": v for k, v in (test or Tally(task=learner.task)).scores().items()},
        "bad_lines": learner.bad_lines_,
        "test_bad_lines": {} if test is None else test.bad.counts,
        "seconds": done.seconds["learn"],
        "rows_per_second": done.rows / max(done.seconds["learn"], 1e-9),
        "model": None if done.folder is None else str(done.folder),
        "model_bytes": None if done.folder is None else _size(done.folder),
    }


def _read_alike(reading: dict[str, Any]) -> str:
    """Return the options with which files like the training data are read, as on a command line."""
    words = list[str]()
    for name in _OF_FILES:
        if name in reading:
            several = reading[name] if isinstance(reading[name], list | tuple) else [reading[name]]
            words += [word for value in several for word in option_words(name, value)]
    return "".join(f" {shlex.quote(word)}" for word in words)


def _summary(done: Learned, reading: dict[str, Any]) -> list[str]:
    learner, seconds = done.learner, done.seconds["learn"]
    rate = short(done.rows / max(seconds, 1e-9))
    lines = [
        f"{learner.public_name} kept {len(learner.kept_):,} of "
        f"{counted(learner.n_features_in_, 'column')}; "
        f"{counted(done.rows, 'row')} in {seconds:.1f} s ({rate} rows/s)",
        f"progressive error {100 * done.error:.2f}%: "
        f"{counted(done.mistakes, 'row was', 'rows were')} predicted "
        "wrongly before they were learned",
    ]
    if learner.task == "regression":
        lines[1] = (
            f"progressive R² {learner.progressive_r2_:.4f}: each row was predicted before it was "
            f"learned, {100 * (1 - done.error):.1f}% of them no worse than by a constant"
        )
    if len(curve := getattr(learner, "size_curve_", {})) > 1:
        most, columns = max(curve), learner.n_features_in_
        lines.append(
            f"auto chose {counted(learner.n_features_, 'feature')} of the sizes {min(curve):,} to "
            f"{most:,}: {_errors(curve[learner.n_features_], learner)}, fewest "
            f"{_errors(min(curve.values()), learner, '')}"
        )
        if learner.n_features_ == most < columns:
            lines.append(
                f"{most:,} is the largest size, and more may do better: try --param "
                f"sizes={most},{min(4 * most, columns)}"
            )
    if changes := getattr(learner, "changes_", []):
        lines.append(
            f"errors rose at row {', '.join(f'{r:,}' for r in changes)}, and the model adapted"
        )
    if done.bad.total:
        lines.append(f"skipped {counted(done.bad.total, 'bad line')}: {done.bad}")
    if done.test is not None:
        lines += tested(done.test)
    if done.folder is not None:
        lines.append(
            f"wrote {done.folder} ({short(_size(done.folder))}B); use it with: tamis predict "
            f"{shlex.quote(str(done.folder))} FILE{_read_alike(reading)}"
        )
    return lines


def tested(test: Any) -> list[str]:
    """Return lines about the predicted rows."""
    lines = []
    what = "a class" if test.task == "classification" else "a number"
    if not test.labelled:
        one = "one of the classes" if test.task == "classification" else what
        lines.append(f"{counted(test.rows, 'row')} predicted; none has a label that is {one}")
    else:
        if test.task == "classification":
            sentence = f"accuracy {100 * test.accuracy:.2f}%"
        else:
            scores = test.scores()
            sentence = f"R² {scores['r2']:.4f} (root mean squared error {scores['rmse']:.4g})"
        sentence += f" on {counted(test.labelled, 'row')}"
        if others := test.rows - test.labelled:
            sentence += (
                f" ({counted(others, 'other has', 'others have')} a label that is not {what})"
            )
        lines.append(sentence)
    if test.bad.total:
        lines.append(f"skipped {counted(test.bad.total, 'bad line')} there: {test.bad}")
    return lines


def _errors(error: float, learner: Any, what: str = " recent errors") -> str:
    """Return the error of a size."""
    if learner.task == "regression":
        return f"{error:.4g}" if not what else f"a recent mean loss of {error:.4g}"
    return f"{100 * error:.2f}%{what}"


def _size(folder: Any) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(folder))
