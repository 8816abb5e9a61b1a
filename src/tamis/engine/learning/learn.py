"""Learn from a stream of rows and save the model: `tamis.learn` and the command `tamis learn`.

With a checkpoint, a run that was killed resumes and ends with the same model as one that was not.
With a cluster, workers learn shards of the rows (`learn_shards.py`). Everything else is the loop of
`Training`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis._registry import LEARNERS, Lazy
from tamis.core.errors import ParameterError, SourceError
from tamis.core.files import check_folder
from tamis.core.process_memory import peak_megabytes
from tamis.core.sentences import counted, suggestion
from tamis.engine.learning.checkpoint import Checkpoints, checkpoint_path
from tamis.engine.learning.learn_shards import cut_shards, learn_shards, merged_learner
from tamis.engine.learning.model import plain, save_model
from tamis.engine.learning.predict import Tally, accuracy_on
from tamis.engine.learning.table_rows import Preparation, TableRows, prepare_tables
from tamis.engine.learning.training import Schedule, Training, for_task
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.regressors import REGRESSORS
from tamis.sources import open_rows
from tamis.sources.base import BadLines, Progress, RowSource, silent

#: Learners by their name on the command line, imported when they are looked up.
BY_METHOD: Lazy[type[OnlineLearner]] = Lazy({name: m.where for name, m in LEARNERS.items()})


@dataclass
class Learned:
    """The result of learning.

    Attributes
    ----------
    learner : estimator or OnlineLearner
        The fitted learner, of the kind that was given; a plain one for a name.
    rows, mistakes : int
        Rows learned, in all passes, and how many were predicted wrongly just before (of numbers:
        worse than by a constant model).
    bad : BadLines
        Lines that were skipped in the last pass.
    test : Tally or None
        The predictions of the test rows.
    seconds : dict
        Time by stage; learning includes the time before a kill.
    folder : Path or None
        Where the model was written.
    reason : str
        Why numbers are predicted, if the labels decided so.
    """

    learner: Any
    rows: int
    mistakes: int
    bad: BadLines
    test: Tally | None
    seconds: dict[str, float]
    folder: Path | None = None
    reason: str = ""

    @property
    def error(self) -> float:
        """The progressive error."""
        return self.mistakes / max(self.rows, 1)


@dataclass(frozen=True)
class Hooks:
    """Callbacks for programs that display a training, and entries that they add to the record.

    Attributes
    ----------
    message : callable
        Called with a sentence when a run resumes from a checkpoint, or when the labels decide that
        numbers are predicted.
    after_batch : callable
        Called with the training after each batch.
    facts : mapping
        Further entries of model.json.
    """

    message: Callable[[str], object] = lambda sentence: None
    after_batch: Callable[[Training], object] = lambda training: None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def say(self, sentence: str) -> None:
        """Call `message` if there is something to say."""
        if sentence:
            self.message(sentence)


def make_learner(method: str, task: str = "auto", **parameters: Any) -> OnlineLearner:
    """Return a learner by its name on the command line.

    It predicts numbers if that is the task, or if a parameter is given that only regressors have.
    """
    if method not in LEARNERS:
        raise ParameterError(f"method {method!r} is not known; {suggestion(method, LEARNERS)}")
    kind: type[OnlineLearner] = BY_METHOD[method]
    of_numbers = REGRESSORS.get(kind)
    known = kind.parameter_names
    if of_numbers is not None and task != "classification":
        only = set(of_numbers.parameter_names) - set(known)
        if task == "regression" or only & set(parameters):
            kind, known = of_numbers, of_numbers.parameter_names
    for name in parameters:
        if name not in known:
            found = suggestion(name, known, "it has")
            raise ParameterError(f"{method} has no parameter {name!r}; {found}")
    learner = for_task(kind(**parameters), task)
    learner.check_params()
    return learner


def learn(
    data: Any,
    learner: Any = "row-sieve",
    *,
    out: str | Path | None = None,
    test: Any = None,
    task: str = "auto",
    classes: Any = None,
    passes: int | None = None,
    shuffle: int = 0,
    random_state: int = 0,
    skip_bad_lines: bool = False,
    checkpoint: float | None = None,
    cluster: Any = None,
    shards: int | None = None,
    raw: bool = False,
    force: bool = False,
    progress: Progress = silent,
    hooks: Hooks = Hooks(),
    **reading: Any,
) -> Learned:
    """Learn from a stream, and write the model to a folder.

    Parameters
    ----------
    data, classes, passes, shuffle, random_state, skip_bad_lines, progress, **reading
        As for `fit_stream`. With a cluster, paths of files.
    learner : estimator, OnlineLearner or str
        What learns (a copy of it), or its name on the command line.
    out : str or path, optional
        The folder for the model.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target holds classes, or a number to predict. "regression" makes the learner
        the regressor of its method; with "auto" a name does so if the labels look like numbers, and
        a classifier refuses them.
    test : path, list of paths or Source, optional
        Rows to measure accuracy on at the end.
    checkpoint : float, optional
        Write a checkpoint next to `out` every this many seconds, and on Ctrl-C. The same call
        resumes from it and ends with the same model, bit for bit.
    cluster : str or dask.distributed.Client, optional
        Learn shards of the rows on workers, each with its own RowSieve or SOFS, and merge them
        (`MergedRowSieve`, `MergedSOFS`): ``"local:2"`` for two processes, or the address or a
        client of a Dask cluster. Every worker must be able to read the files.
    shards : int, optional
        Number of shards. By default each file is a shard. A single file that can be split (a row
        store between rows, uncompressed svmlight text between lines) makes as many shards as
        ``"local:2"`` has processes, or as the parameter `shards` says. On a Dask cluster the number
        must be given, because the model depends on it. Shard s of S has rows s n // S to
        (s + 1) n // S - 1 of a store of n rows.
    raw : bool
        Use the columns of a table (CSV, Parquet, Arrow) unchanged. By default numbers are
        standardised, a missing number becomes the mean of its column, and each value of a text
        column becomes a feature, NAME=VALUE; that takes another pass over the file, before
        learning. The model remembers this, so `tamis.open_model` predicts from tables.
    force : bool
        Replace a model at `out`.
    hooks : Hooks, optional
        For programs that display the training.
    """
    given = make_learner(learner, task) if isinstance(learner, str) else learner
    chosen = for_task(given.new_learner(), task)
    chosen.check_params()
    place = _check_outputs(out, checkpoint, cluster, force)
    if cluster is not None:
        data = [data] if isinstance(data, str | os.PathLike) else data
        if "-" in data:
            raise ParameterError(
                "standard input cannot be read elsewhere; give files with --cluster"
            )
        merged_learner(chosen, 1).check_params()
        data = [os.path.abspath(path) for path in data]
    elif shards is not None:
        raise ParameterError("--shards (shards=) goes with --cluster (cluster=); give both")
    begun = time.perf_counter()
    sources = open_rows(data, **reading)
    # A wrong name is reported now, not hours later.
    tests = None if test is None else open_rows(test, **reading)
    sources, how = _prepared(sources, tests, raw, cluster, progress)
    cuts = None if cluster is None else cut_shards(data, sources, chosen, cluster, shards)
    chosen = chosen if cuts is None else merged_learner(chosen, len(cuts))
    schedule = Schedule(
        chosen.passes if passes is None else passes, shuffle, random_state, skip_bad_lines
    )
    training = Training(chosen, sources, schedule)
    saver, reason = None, ""
    if place is not None and checkpoint is not None:
        saver = Checkpoints(place, checkpoint, training, _params(training, classes, raw, reading))
    if saver is not None and saver.resumed:
        begun = saver.begun
        hooks.message(f"resuming from {place}, after {counted(training.rows, 'row')}")
    else:
        may_change = isinstance(given, OnlineLearner)
        reason = training.start(classes, progress, task, may_change=may_change)
        hooks.say(reason)
    chosen = training.learner
    chosen.preparation = how
    if cuts is not None:
        learn_shards(training, cuts, cluster, reading, progress)
    elif saver is not None:
        saver.run(progress, hooks.after_batch)
    else:
        training.run(progress, hooks.after_batch)
    training.finish()
    learned, tally = time.perf_counter(), None
    if tests is not None:
        tally = accuracy_on(
            chosen, tests, skip_bad_lines=skip_bad_lines,
            progress=lambda _, *way: progress("testing", *way),
        )  # fmt: skip
    seconds = {"learn": learned - begun, "test": time.perf_counter() - learned}
    work, holder = chosen.work_, given.holding(chosen)
    done = Learned(holder, work["rows"], work["mistakes"], training.bad, tally, seconds)
    done.reason = reason
    if out is not None:
        facts = {**hooks.facts, **_facts(done, training)}
        done.folder = save_model(chosen, out, force=force, **facts)
    for file, mark in training.marks.items():
        sources[file].committed(mark)
    if saver is not None:
        saver.path.unlink(missing_ok=True)
    return done


def _prepared(
    sources: list[RowSource],
    tests: list[RowSource] | None,
    raw: bool,
    cluster: Any,
    progress: Progress,
) -> tuple[list[RowSource], Preparation | None]:
    """Return training rows as features, and how they were made if they are tables."""
    as_it_is = "" if cluster is None else "with --cluster (cluster=) columns are taken as they are"
    as_it_is = "raw=True (--raw) was given" if raw else as_it_is
    found, how = prepare_tables(sources, progress, as_it_is)
    if how is not None:
        for one in tests or ():
            TableRows(one, how)  # says now what does not fit
    return found, how


def _check_outputs(
    out: str | Path | None, checkpoint: float | None, cluster: Any, force: bool
) -> Path | None:
    """Check the output paths; return the path of the checkpoint, if one is requested."""
    if out is not None:
        check_folder(out, "model", force=force)
    if checkpoint is None:
        if out is not None and checkpoint_path(out).exists():
            raise SourceError(
                f"{checkpoint_path(out)} was left by a run that was stopped; add --checkpoint "
                "(checkpoint=) to resume it, or remove it"
            )
        return None
    if cluster is not None:
        raise ParameterError(
            "--checkpoint (checkpoint=) does not go with --cluster (cluster=): a shard that is "
            "lost is learned again"
        )
    if out is None:
        raise ParameterError("a checkpoint is kept beside the model; give --out (out=) too")
    if not checkpoint > 0:
        raise ParameterError(f"checkpoint={checkpoint} is not a number of seconds above 0")
    return checkpoint_path(out)


def _params(training: Training, classes: Any, raw: bool, reading: dict[str, Any]) -> dict[str, Any]:
    """Return everything that the model depends on: other checkpoints are not resumed."""
    learner, schedule = training.learner, training.schedule
    reading = {"format": None, "zero_based": "auto", **reading}
    return {
        "method": learner.public_name,
        **{name: plain(value) for name, value in learner.get_params().items()},
        "passes": schedule.passes, "shuffle": schedule.shuffle,
        "random_state": schedule.random_state,
        "classes": plain(classes if classes is None else list(classes)),
        "skip_bad_lines": schedule.skip_bad_lines,
        **({"raw": True} if raw else {}),
        **{name: plain(value) for name, value in reading.items()},
        "data": [source.identity() for source in training.sources],
    }  # fmt: skip


def _facts(done: Learned, training: Training) -> dict[str, Any]:
    """Return what model.json records in addition to the model itself."""
    test, schedule = done.test, training.schedule
    return {
        "source": [source.identity() for source in training.sources],
        "target": training.sources[0].target_name,
        "passes": schedule.passes,
        "shuffle": schedule.shuffle,
        "random_state": schedule.random_state,
        "error": done.error,
        "reason": done.reason,
        "first_bad_lines": dict(sorted(done.bad.first.items())),
        "test": None if test is None else {
            "rows": test.rows, "labelled": test.labelled, **test.scores(),
            "bad_lines": dict(sorted(test.bad.counts.items())),
        },
        "seconds": {stage: round(taken, 3) for stage, taken in done.seconds.items()},
        "peak_megabytes": round(peak_megabytes(), 1),
    }  # fmt: skip
