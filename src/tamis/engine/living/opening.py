"""What a selection is opened from and fed with, and what is said when that cannot be."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from tamis.core.errors import InputError, ParameterError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.encode import Encoder, Missing
from tamis.engine.files.durable import Record
from tamis.engine.living.archive import Archive
from tamis.engine.living.archive_reader import Given, read_archive
from tamis.engine.living.record import must_be_resumed, read_steadily
from tamis.engine.wrappers.encoded import Encoding
from tamis.sources import Source, open_source
from tamis.sources.arrays.in_memory import MemorySource, is_frame, is_series, one_column

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


def read(folder: Path, selector: Given) -> Archive:
    """Read all that it takes to go on."""
    return read_steadily(folder, lambda path: read_archive(path, selector))


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
    path = data.path if isinstance(data, Source) else data
    if not isinstance(path, str | os.PathLike):
        return "the data"
    name = masked(os.fspath(path), whole=True)
    return name if "://" in name else os.path.basename(os.path.normpath(name))


def refuse_feed(folder: Path, history: list[Record]) -> None:
    """Raise one sentence where columns that are fed would come before those of the run itself."""
    if must_be_resumed(history):
        raise InputError(
            f"{folder} holds a run that is not finished; go on with it first: tamis resume "
            f"{shlex.quote(os.fspath(folder))}"
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
