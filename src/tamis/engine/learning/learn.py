"""Learn from a stream of rows, with checkpoints: the same model as `fit_stream`, killed or not."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from sklearn.base import clone

from tamis._registry import LEARNERS, Lazy
from tamis.core.errors import ParameterError, SourceError
from tamis.core.files import check_folder
from tamis.core.memory import peak_megabytes
from tamis.core.sentences import counted
from tamis.engine.learning.checkpoint import place_of, read_checkpoint, write_checkpoint
from tamis.engine.learning.model import plain, save_model
from tamis.engine.learning.predict import Tally, accuracy_on
from tamis.methods.online.learner import InstanceLearner
from tamis.methods.online.training import Training
from tamis.sources.base import Report, silent
from tamis.sources.readers.open_rows import open_rows
from tamis.sources.readers.row_reader import BadLines, RowReader

#: Learners by their name on the command line, imported when they are looked up.
BY_METHOD: Lazy[type[InstanceLearner]] = Lazy({name: m.where for name, m in LEARNERS.items()})


class Stopped(KeyboardInterrupt):
    """Ctrl-C, after a last checkpoint was written."""


@dataclass
class Learned:
    """What came of learning.

    Attributes
    ----------
    learner : InstanceLearner
        The fitted copy.
    rows, mistakes : int
        Rows learned from, in all passes, and how many were predicted wrongly just before.
    bad : BadLines
        Lines that were passed over in the last pass.
    test : Tally or None
        How the model did on the test rows.
    seconds : dict
        Time by stage; learning counts what went before a kill, too.
    folder : Path or None
        Where the model was written.
    """

    learner: InstanceLearner
    rows: int
    mistakes: int
    bad: BadLines
    test: Tally | None
    seconds: dict[str, float] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def error(self) -> float:
        """The progressive error."""
        return self.mistakes / max(self.rows, 1)


def make_learner(method: str, **parameters: Any) -> InstanceLearner:
    """A learner by its word on the command line."""
    if method not in LEARNERS:
        raise ParameterError(f"method {method!r} is not known; give one of {', '.join(LEARNERS)}")
    kind = BY_METHOD[method]
    known = kind._get_param_names()
    for name in parameters:
        if name not in known:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(known)}")
    learner = kind(**parameters)
    learner._check_parameters()
    return learner


def learn(
    data: Any,
    learner: InstanceLearner | str = "sofs",
    *,
    out: str | Path | None = None,
    test: Any = None,
    passes: int | None = None,
    shuffle: int = 0,
    seed: int = 0,
    classes: Any = None,
    skip_bad_lines: bool = False,
    checkpoint: float | None = None,
    force: bool = False,
    command: str = "",
    facts: dict[str, Any] | None = None,
    report: Report = silent,
    say: Callable[[str], object] = lambda sentence: None,
    watch: Callable[[Training], object] = lambda training: None,
    format: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> Learned:
    """Learn from a stream, and write the model to a folder.

    Parameters
    ----------
    data, passes, shuffle, seed, classes, skip_bad_lines, report, format, zero_based, **options
        As for `fit_stream`.
    learner : InstanceLearner or str
        What learns (a copy of it), or its word on the command line.
    out : str or path, optional
        The folder for the model.
    test : path, list of paths or Source, optional
        Rows to measure accuracy on at the end.
    checkpoint : float, optional
        Write a checkpoint beside `out` every so many seconds, and when Ctrl-C comes. The same call
        goes on from it, and ends in the same model, bit for bit.
    force : bool
        Replace a model at `out`.
    facts : dict, optional
        What else is to be recorded in model.json.
    command : str
        How the run was asked for, for the record.
    say, watch : callable
        Told a sentence when a run goes on from a checkpoint; given the training after each batch.
    """
    chosen = make_learner(learner) if isinstance(learner, str) else clone(learner)
    chosen._check_parameters()
    place = _prepare(out, checkpoint, force)
    begun = time.perf_counter()
    reading = {"format": format, "zero_based": zero_based, **options}
    readers = open_rows(data, **reading)
    # A wrong name is told now, not hours later.
    tests = None if test is None else open_rows(test, **reading)
    passes = chosen.passes if passes is None else passes
    training = Training(
        chosen, readers, passes=passes, shuffle=shuffle, seed=seed, skip=skip_bad_lines
    )
    asked = _asked(training, classes, reading)
    begun -= _begin(training, place, asked, classes, report, say)
    _run(training, place, checkpoint, asked, begun, report, watch)
    training.finish()
    done = tested(training, tests, begun, report)
    if out is not None:
        told = {**(facts or {}), **facts_of(done, training, command, asked)}
        done.folder = save_model(chosen, out, force=force, **told)
    for file, mark in training.marks.items():
        readers[file].committed(mark)
    if place is not None:
        with suppress(FileNotFoundError):
            place.unlink()
    return done


def _asked(training: Training, classes: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """What the model depends on: a checkpoint of anything else is not gone on from."""
    learner = training.learner
    return {
        "method": type(learner).__name__,
        **{name: plain(value) for name, value in learner.get_params(deep=False).items()},
        "passes": training.passes, "shuffle": training.shuffle, "seed": training.seed,
        "classes": plain(classes if classes is None else list(classes)),
        "skip_bad_lines": training.skip,
        **{name: plain(value) for name, value in reading.items()},
        "data": [reader.identity() for reader in training.readers],
    }  # fmt: skip


def _begin(
    training: Training,
    place: Path | None,
    asked: dict[str, Any],
    classes: Any,
    report: Report,
    say: Callable[[str], object],
) -> float:
    """Start a model, or go on from a checkpoint; gives the seconds that went before it."""
    if place is None or not place.exists():
        training.start(classes, report)
        return 0.0
    before = read_checkpoint(place, training, asked)
    say(f"going on from {place}, after {counted(training.rows, 'row')}")
    return before


def tested(
    training: Training, tests: Sequence[RowReader] | None, begun: float, report: Report
) -> Learned:
    """What came of a training that is done, with its accuracy on the test rows, if any."""
    learner, learned, tally = training.learner, time.perf_counter(), None
    if tests is not None:
        tally = accuracy_on(learner, tests, skip_bad_lines=training.skip, report=_testing(report))
    seconds = {"learn": learned - begun, "test": time.perf_counter() - learned}
    return Learned(learner, training.rows, training.mistakes, training.bad, tally, seconds)


def _prepare(out: str | Path | None, checkpoint: float | None, force: bool) -> Path | None:
    """Check where things will be written; give the place of the checkpoint, if there is to be."""
    if out is not None:
        check_folder(out, "model", force=force)
    if checkpoint is None:
        if out is not None and place_of(out).exists():
            raise SourceError(
                f"{place_of(out)} was left by a run that was stopped; add --checkpoint "
                "(checkpoint=) to go on from it, or remove it"
            )
        return None
    if out is None:
        raise ParameterError("a checkpoint is kept beside the model; give --out (out=) too")
    if not checkpoint > 0:
        raise ParameterError(f"checkpoint={checkpoint} is not a number of seconds above 0")
    return place_of(out)


def _run(
    training: Training,
    place: Path | None,
    every: float | None,
    asked: dict[str, Any],
    begun: float,
    report: Report,
    watch: Callable[[Training], object],
) -> None:
    """Learn to the end, writing checkpoints between batches."""
    last = time.perf_counter()

    def save() -> None:
        assert place is not None
        write_checkpoint(place, training, asked, time.perf_counter() - begun)
        position = training.position
        if position.mark is not None:
            training.readers[position.file].committed(position.mark)

    with _patient() as patient:
        try:
            for batch in training.batches(report):
                with patient():
                    training.take(batch)
                watch(training)
                if every is not None and time.perf_counter() - last >= every:
                    with patient():
                        save()
                    last = time.perf_counter()
        except KeyboardInterrupt:
            if place is None:
                raise
            save()
            raise Stopped(
                f"stopped after {counted(training.rows, 'row')}; give the same command again to "
                f"go on from {place}"
            ) from None


@contextmanager
def _patient() -> Iterator[Callable[[], Any]]:
    """Give a way to put Ctrl-C off until a step is done, so that none is left half done."""
    busy = came = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if not busy:
            raise KeyboardInterrupt

    @contextmanager
    def step() -> Iterator[None]:
        nonlocal busy
        busy = True
        try:
            yield
        finally:
            busy = False
        if came:
            raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield step  # Ctrl-C comes to the main thread only, and not to a job in the background
        return
    old = signal.signal(signal.SIGINT, hear)
    try:
        yield step
    finally:
        signal.signal(signal.SIGINT, old)


def _testing(report: Report) -> Report:
    return lambda _, done, total: report("testing", done, total)


def facts_of(
    done: Learned, training: Training, command: str, asked: dict[str, Any]
) -> dict[str, Any]:
    """What model.json says beyond the model itself."""
    test = done.test
    return {
        "source": asked["data"],
        "passes": training.passes,
        "shuffle": training.shuffle,
        "seed": training.seed,
        "error": done.error,
        "first_bad_lines": dict(sorted(done.bad.first.items())),
        "test": None if test is None else {
            "rows": test.rows, "labelled": test.labelled, "accuracy": test.accuracy,
            "bad_lines": dict(sorted(test.bad.counts.items())),
        },
        "seconds": {stage: round(taken, 3) for stage, taken in done.seconds.items()},
        "peak_megabytes": round(peak_megabytes(), 1),
        "command": command,
    }  # fmt: skip
