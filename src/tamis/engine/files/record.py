"""A run as a folder of plain files, written all or nothing.

``selected.csv``    feature, name, relevance, arrival of each kept feature
``log.parquet``     one row a feature: verdict, reason, numbers, what decided
``events.parquet``  every decision the rule took, in order, exactly
``run.json``        what was asked, on what data, with which versions, at what cost
``state/``          what it takes to go on (see `tamis.engine.living.archive`), where the method can

No pickle: opening a folder from someone else can run no code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tamis.core.errors import SourceError
from tamis.engine.files.folders import put_in_place, reason, refuse_taken
from tamis.engine.files.log_files import read_log, write_events, write_log
from tamis.engine.files.views import FORMAT_VERSION, RUN_FIELDS, run_json, write_selected
from tamis.engine.living.record import is_living, read_living_run
from tamis.engine.run import Run


def check_free(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise one sentence if a run cannot be written to `folder`."""
    refuse_taken(folder, _is_run, "run folder", force=force)


def save_run(run: Run, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a run: into a hidden folder beside, then into place with one rename."""

    def write(work: Path) -> None:
        write_selected(run, work / "selected.csv")
        if run.stock is not None:
            from tamis.engine.living.archive import add_state  # reading a run needs no selector

            more = add_state(work, run)
        else:
            write_log(run.log, work / "log.parquet")
            write_events(run.log, work / "events.parquet")
            more = {}
        (work / "run.json").write_bytes(run_json(run, **more))

    return publish(write, folder, force=force)


def publish(
    write: Callable[[Path], None], folder: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Let a run be written into a hidden folder, which is then moved into place."""
    check_free(folder, force=force)
    return put_in_place(write, folder)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run that `save_run` wrote."""
    path = Path(folder)
    if not _is_run(path):
        raise SourceError(f"{path} is no run folder; it has no run.json written by tamis select")
    try:
        if is_living(path):
            return read_living_run(path)
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if record["format_version"] == FORMAT_VERSION:
            log = read_log(path / "log.parquet", path / "events.parquet", record)
            if log.counts() != record["verdicts"] or len(log.replay()) != log.counts()["kept"]:
                raise ValueError("its files do not belong together")
            return Run(log=log, **{key: record[key] for key in RUN_FIELDS})
    except (LookupError, ValueError, TypeError, AttributeError, OSError, pa.ArrowException) as e:
        raise SourceError(f"{path} is damaged ({reason(e)}); run tamis select again") from e
    raise SourceError(
        f"{path} was written in format {record['format_version']!r} and this tamis reads format "
        f"{FORMAT_VERSION}; use the tamis that wrote it"
    )


def _is_run(path: Path) -> bool:
    return os.path.isfile(path / "run.json")
