"""Checkpoints of a training: one file of plain arrays and JSON, replaced in one step.

The file is a zip of .npy arrays, as `numpy.savez` writes it, with a checksum of each. It holds the
whole state of the learner, where reading stands, and what the run was asked for, so that only the
same run goes on from it.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tamis.core.errors import SourceError
from tamis.core.files import atomic_file, reason
from tamis.core.masking import without_secrets
from tamis.engine.learning.model import classes_in, classes_out
from tamis.methods.online.curve import Curve
from tamis.methods.online.state import arrays_of, restore
from tamis.methods.online.training import Position, Training
from tamis.sources.readers.row_reader import BadLines

FORMAT_VERSION = 1


def place_of(folder: str | os.PathLike[str]) -> Path:
    """Where the checkpoint of a run is kept that writes to a folder: beside it."""
    path = Path(os.path.normpath(folder))
    return path.with_name(f"{path.name}.checkpoint")


def write_checkpoint(path: Path, training: Training, asked: dict[str, Any], seconds: float) -> None:
    """Write the state between two batches; the old checkpoint is there until the new one is."""
    learner = training.learner
    record = {
        "format_version": FORMAT_VERSION,
        "asked": without_secrets(asked),
        "position": asdict(training.position),
        "classes": classes_out(learner.classes_),
        "base": training.base,
        "n_features_in": int(learner.n_features_in_),
        "seconds": seconds,
    }
    text = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    with atomic_file(path, hint="make room") as file:
        np.savez(file, record=text, curve=training.curve.state(), **arrays_of(learner._model))  # type: ignore[arg-type]


def read_checkpoint(path: Path, training: Training, asked: dict[str, Any]) -> float:
    """Bring a training to where a checkpoint was written; give the seconds it had taken."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            record = json.loads(file["record"].tobytes())
            if record["format_version"] == FORMAT_VERSION:
                _refuse_another(path, record["asked"], asked)
                _bring(training, record, {name: file[name] for name in file.files})
    except (
        LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile,
        zlib.error,
    ) as error:  # fmt: skip
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{path} is damaged ({reason(error)}); remove it to begin afresh"
        ) from error
    if record["format_version"] != FORMAT_VERSION:
        raise SourceError(f"{path} is of another version of tamis; remove it to begin afresh")
    return float(record["seconds"])


def _bring(training: Training, record: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Set everything that learning changes."""
    training.start(classes_in(record["classes"]))
    learner = training.learner
    restore(learner._model, arrays)
    learner.n_features_in_ = int(record["n_features_in"])
    training.curve = Curve.from_state(arrays["curve"])
    training.base = record["base"]
    if training.base is not None:
        learner._name_base = training.base
    position = record["position"]
    training.position = Position(**{**position, "bad": BadLines(**position["bad"])})


def _refuse_another(path: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise one sentence if a checkpoint is of another run."""
    now = json.loads(json.dumps(without_secrets(now)))
    for key in [*now, *then]:
        if then.get(key) != now.get(key):
            raise SourceError(
                f"{path} is of another run: {key} was {_short(then.get(key))} and is "
                f"{_short(now.get(key))} now; give the same command to go on, or remove it to "
                "begin afresh"
            )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."
