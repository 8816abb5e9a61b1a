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
from pathlib import Path

import pyarrow as pa

from tamis.core.errors import SourceError
from tamis.core.files import MARKERS, atomic_folder, reason, recover_missing
from tamis.engine.files.log_files import read_log, write_events, write_log
from tamis.engine.files.views import FORMAT_VERSION, RUN_FIELDS, run_json, write_selected
from tamis.engine.living.record import is_living, read_living_run
from tamis.engine.run import Run


def save_run(run: Run, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a run to a folder, completely or not at all."""
    with atomic_folder(folder, "run", force=force) as work:
        write_selected(run, work / "selected.csv")
        if run.stock is not None:
            from tamis.engine.living.archive import add_state  # reading a run needs no selector

            more = add_state(work, run)
        else:
            write_log(run.log, work / "log.parquet")
            write_events(run.log, work / "events.parquet")
            more = {}
        (work / "run.json").write_bytes(run_json(run, **more))
    return Path(folder)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run that `save_run` wrote."""
    path = Path(folder)
    recover_missing(path)
    if not (path / MARKERS["run"]).is_file():
        raise SourceError(f"{path} is not a run folder; it has no run.json written by tamis select")
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
