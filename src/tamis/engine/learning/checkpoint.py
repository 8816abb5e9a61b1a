"""Checkpoints of a training: one file of plain arrays and JSON, replaced in one step.

The file is a zip of .npy arrays, as `numpy.savez` writes it, with a checksum of each. It holds the
whole state of the learner, the position in the data, and the parameters of the run, so that only
the same run can resume from it. Called by `learn`.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tamis.core.errors import DAMAGE, SourceError
from tamis.core.files import atomic_file, reason
from tamis.core.interrupts import handled_by
from tamis.core.masking import masked
from tamis.core.sentences import counted
from tamis.engine.learning.model import classes_from_json, classes_to_json
from tamis.engine.learning.training import Position, Training
from tamis.methods.online.progressive import Curve, Turnover
from tamis.methods.online.weights import from_arrays, to_arrays
from tamis.sources.base import BadLines, Progress

FORMAT_VERSION = 1


class Stopped(KeyboardInterrupt):
    """Raised on Ctrl-C, after a last checkpoint was written."""


def checkpoint_path(folder: str | os.PathLike[str]) -> Path:
    """Return the path of the checkpoint of a run, next to its output folder."""
    path = Path(os.path.normpath(folder))
    return path.with_name(f"{path.name}.checkpoint")


def write_checkpoint(
    path: Path, training: Training, params: dict[str, Any], seconds: float
) -> None:
    """Write the state between two batches; the new checkpoint replaces the old one atomically."""
    learner = training.learner
    record = {
        "format_version": FORMAT_VERSION,
        "asked": masked(params),
        "position": asdict(training.position),
        # None: it predicts numbers.
        "classes": None if learner.task == "regression" else classes_to_json(learner.classes_),
        "base": training.base,
        "n_features_in": int(learner.n_features_in_),
        "seconds": seconds,
    }
    text = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    with atomic_file(path, hint="free some space") as file:
        state = {"curve": training.curve.state(), "turnover": training.turnover.state()}
        np.savez(file, record=text, **state, **to_arrays(learner.model))  # type: ignore[arg-type]


def read_checkpoint(path: Path, training: Training, params: dict[str, Any]) -> float:
    """Restore a training from a checkpoint; return the seconds it had taken until then."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            record = json.loads(file["record"].tobytes())
            if record["format_version"] == FORMAT_VERSION:
                _refuse_another(path, record["asked"], params)
                if record["classes"] is None:
                    training.predict_numbers()
                    training.start()
                else:
                    training.start(classes_from_json(record["classes"]))
                arrays = {name: file[name] for name in file.files}
                from_arrays(training.learner.model, arrays)
                training.learner.columns.width = int(record["n_features_in"])
                training.curve = Curve.from_state(arrays["curve"])
                if "turnover" in arrays:  # earlier versions had none
                    training.turnover = Turnover.from_state(arrays["turnover"])
                if record["base"] is not None:
                    training.set_base(record["base"])
                position = record["position"] | {"bad": BadLines(**record["position"]["bad"])}
                training.position = Position(**position)
    except (*DAMAGE, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{path} is damaged ({reason(error)}); remove it to start again"
        ) from error
    if record["format_version"] != FORMAT_VERSION:
        raise SourceError(
            f"{path} was written by another version of tamis; remove it to start again"
        )
    return float(record["seconds"])


class Checkpoints:
    """Writes checkpoints of a training, which started at `begun`, every few seconds.

    If there is a checkpoint already, the training resumes from it (`resumed`).

    Parameters
    ----------
    path : Path
        Where they are written.
    every : float
        Seconds between two checkpoints.
    training : Training
        The training.
    params : dict
        Everything that the model depends on.
    """

    def __init__(
        self, path: Path, every: float, training: Training, params: dict[str, Any]
    ) -> None:
        self.path, self.every, self.training, self.params = path, every, training, params
        self.begun = self.last = time.perf_counter()
        self.resumed = path.exists()
        if self.resumed:
            self.begun -= read_checkpoint(path, training, params)

    def save(self) -> None:
        """Write a checkpoint, and let the source know which rows are saved."""
        training, now = self.training, time.perf_counter()
        write_checkpoint(self.path, training, self.params, now - self.begun)
        position = training.position
        if position.mark is not None:
            training.sources[position.file].committed(position.mark)
        self.last = time.perf_counter()

    def run(self, progress: Progress, after_batch: Callable[[Training], object]) -> None:
        """Learn from all rows, writing checkpoints between batches and on Ctrl-C."""
        with _delayed_interrupts() as step:
            try:
                for batch in self.training.batches(progress):
                    with step():
                        self.training.take(batch)
                    after_batch(self.training)
                    if time.perf_counter() - self.last >= self.every:
                        with step():
                            self.save()
            except KeyboardInterrupt:
                self.save()
                raise Stopped(
                    f"stopped after {counted(self.training.rows, 'row')}; give the same command "
                    f"again to resume from {self.path}"
                ) from None


@contextmanager
def _delayed_interrupts() -> Iterator[Callable[[], Any]]:
    """Yield a context that makes Ctrl-C and SIGTERM wait until the step inside it is done."""
    busy = came = False

    def handle(number: int, frame: FrameType | None) -> None:
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

    with handled_by(handle):
        yield step


def _refuse_another(path: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise an error if a checkpoint belongs to another run."""
    now = json.loads(json.dumps(masked(now)))
    if "seed" in then:  # what `random_state` was called in earlier versions
        then["random_state"] = then.pop("seed")
    for key in [*now, *then]:
        if then.get(key) != now.get(key):
            texts = (json.dumps(some.get(key), ensure_ascii=False) for some in (then, now))
            was, is_now = (t if len(t) <= 100 else t[:97] + "..." for t in texts)
            raise SourceError(
                f"{path} belongs to another run: {key} was {was} and is {is_now} now; give the "
                "same command to resume, or remove it to start again"
            )
