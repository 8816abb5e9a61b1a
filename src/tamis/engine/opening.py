"""What a selection is opened from and fed with, and what is said when that cannot be."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.encode import Encoder, Missing
from tamis.engine.archive import STATE, Archive
from tamis.engine.archive_reader import read_archive
from tamis.engine.durable import Record, read_head
from tamis.engine.encoded import Encoding
from tamis.selectors import BY_METHOD, BatchSelector, FeatureStreamSelector
from tamis.sources import Source, open_source
from tamis.sources.memory import MemorySource, is_frame, is_series, one_column

#: Told a sentence that a person should know.
Say = Callable[[str], object]


def say_nothing(sentence: str) -> None:
    """Say nothing."""


def source_of(
    data: Any,
    names: Sequence[str] | None,
    key: str | None,
    facts: dict[str, Any],
    reading: dict[str, Any],
) -> tuple[Source, dict[str, Any]]:
    """Open what is to be fed; the key column of a table is no feature."""
    given = None if names is None else Names.of(names)
    if isinstance(data, Source):
        return data, facts
    if isinstance(data, str | os.PathLike):
        if key is not None and "keys" not in facts:
            reading = {"key": key, **reading}
        return open_source(data, **reading), facts
    if is_series(data):
        data, given = one_column(data, given)
    elif is_frame(data) and key is not None and "keys" not in facts:
        data, keys = _split_key(data, key)
        facts = {"keys": keys, **facts}
    elif getattr(data, "ndim", 2) == 1:
        data = np.asarray(data).reshape(-1, 1)
    return MemorySource(data, names=given), facts


def read(folder: Path, selector: FeatureStreamSelector | None) -> Archive:
    """Read a folder, and once more if another process wrote to it meanwhile."""
    for _ in range(5):
        try:
            return read_archive(folder, selector)
        except SourceError:
            before = commit_in(folder)
            if before is None or before == commit_in(folder):
                break
    return read_archive(folder, selector)


def commit_in(folder: Path) -> int | None:
    """The number of the last commit, or None where it cannot be read."""
    with contextlib.suppress(Exception):
        return int(read_head(folder / STATE)["commit"])
    return None


def _split_key(frame: Any, key: str) -> tuple[Any, Any]:
    """A table without its key column, and the keys."""
    table = nw.from_native(frame, eager_only=True)
    if key not in table.columns:
        raise InputError(
            f"the table has no column {key!r} to tell which row is which, and this selection goes "
            "by it; add that column"
        )
    return table.drop(key).to_native(), table.get_column(key).to_numpy()


def name_of(data: Any) -> str:
    """What to call what is fed."""
    path = data if isinstance(data, str | os.PathLike) else getattr(data, "path", None)
    if path is None:
        return "the data"
    name = masked(os.fspath(path), whole=True)
    return name if "://" in name else os.path.basename(os.path.normpath(name))


def first_commit(history: list[Record], since: str | int | None) -> int:
    """The first commit that counts."""
    if since is None:
        return 0
    if since == "last":
        changes = [i for i, h in enumerate(history) if h["events"] > (history[i - 1]["events"]
                   if i else 0)]  # fmt: skip
        return changes[-1] if changes else len(history)
    if isinstance(since, int) or since.isdigit():
        return max(0, len(history) - int(since))
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise ParameterError(
            f"since={since!r} is no date such as 2026-11-01, no number of commits, and not 'last'"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    times = [datetime.fromisoformat(h["time"]) for h in history]
    return next((i for i, t in enumerate(times) if t >= moment), len(history))


def must_be_resumed(history: list[Record]) -> bool:
    """Tell whether a run that was begun to be resumable was stopped before its end."""
    lines = [line for line in history if line["action"] == "select"]
    return bool(lines) and not lines[-1]["done"]


def refuse_feed(folder: Path, history: list[Record]) -> None:
    """Raise one sentence where columns that are fed would come before those of the run itself."""
    if must_be_resumed(history):
        raise InputError(
            f"{folder} holds a run that is not finished; go on with it first: tamis resume "
            f"{shlex.quote(os.fspath(folder))}"
        )


def cannot_go_on(method: str) -> str:
    """Say why columns cannot be fed to a method."""
    kind = BY_METHOD.get(method)
    if kind is not None and issubclass(kind, BatchSelector):
        return (
            f"{method} decides when it has seen every column, so columns cannot be fed to it "
            "later; use a method for feature streams such as saola, or select again from all of "
            "them"
        )
    return (
        f"{method} is no method whose feature stream can be put away and go on; use one such as "
        "saola"
    )


def known_encoding(encode: Encoder | str | None, missing: Missing | str) -> Encoding:
    """How columns are encoded, also those that come later: only by what a file can name."""
    encoding = Encoding(encode, missing)
    if not encoding.known_by_name:
        raise ParameterError(
            f"{type(encoding.encoder).__name__} is no encoder of tamis, so a file cannot name it "
            "and columns that come later could not be encoded by it; use one such as 'mdlp', or "
            "select from all columns at once"
        )
    return encoding


def no_selection(path: Path) -> str:
    """Say why a folder is no living selection."""
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
        method, encoded = str(record["method"]), "encode" in record["source"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return f"{path} is no selection; make one with tamis select or tamis.Selection.create"
    kind = BY_METHOD.get(method)
    if kind is None or not issubclass(kind, FeatureStreamSelector):
        return f"{path} cannot go on: {cannot_go_on(method)}"
    if encoded:
        return (
            f"{path} was selected with an encoder that is none of tamis, or by an older tamis, so "
            "it does not say how columns that come later are encoded; run tamis select again"
        )
    return f"{path} holds no state to go on from (an older tamis wrote it); run tamis select again"
