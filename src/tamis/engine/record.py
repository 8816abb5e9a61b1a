"""A run as a folder of plain files, written all or nothing.

``selected.csv``    feature, name, relevance, arrival of each kept feature
``log.parquet``     one row a feature: verdict, reason, numbers, what decided
``events.parquet``  every decision the rule took, in order, exactly
``run.json``        what was asked, on what data, with which versions, at what cost

No pickle: opening a folder from someone else can run no code.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.core.errors import OutputError, SourceError
from tamis.engine.log_files import describe_log, read_log, write_events, write_log
from tamis.engine.run import Run

FORMAT_VERSION = 1

_RUN_FIELDS = (
    "method", "parameters", "measure", "measure_reason", "source", "work", "seconds",
    "peak_megabytes", "versions", "command", "seed",
)  # fmt: skip


def check_free(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise one sentence if a run cannot be written to `folder`."""
    path = _real(folder)
    if os.path.lexists(path):
        if not force:
            raise OutputError(
                f"{folder} is there already; choose another folder, or use --force (force=True)"
            )
        if not _is_run(path) and not (path.is_dir() and not any(path.iterdir())):
            raise OutputError(f"{folder} is there and is no run folder; it will not be replaced")
    _make_beside(path).rmdir()


def save_run(run: Run, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a run: into a hidden folder beside, then into place with one rename."""
    check_free(folder, force=force)
    path = _real(folder)
    work = _make_beside(path)
    try:
        _write_selected(run, work / "selected.csv")
        write_log(run.log, work / "log.parquet")
        write_events(run.log, work / "events.parquet")
        (work / "run.json").write_bytes(_record(run))
        _move_into_place(work, path)
    except (OSError, pa.ArrowException) as error:
        raise OutputError(
            f"{folder} cannot be written ({_reason(error)}); nothing was kept"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Path(folder)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run that `save_run` wrote."""
    path = Path(folder)
    if not _is_run(path):
        raise SourceError(f"{path} is no run folder; it has no run.json written by tamis select")
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if record["format_version"] == FORMAT_VERSION:
            log = read_log(path / "log.parquet", path / "events.parquet", record)
            if log.counts() != record["verdicts"] or len(log.replay()) != log.counts()["kept"]:
                raise ValueError("its files do not belong together")
            return Run(log=log, **{key: record[key] for key in _RUN_FIELDS})
    except (LookupError, ValueError, TypeError, AttributeError, OSError, pa.ArrowException) as e:
        raise SourceError(f"{path} is damaged ({_reason(e)}); run tamis select again") from e
    raise SourceError(
        f"{path} was written in format {record['format_version']!r} and this tamis reads format "
        f"{FORMAT_VERSION}; use the tamis that wrote it"
    )


def _real(folder: str | os.PathLike[str]) -> Path:
    """The place itself, behind links and dots."""
    return Path(os.path.realpath(folder))


def _make_beside(path: Path) -> Path:
    """Make a hidden folder beside `path`, where its content can grow."""
    if not os.path.isdir(path.parent):
        raise OutputError(f"there is no folder {path.parent} to write to; make it first")
    work = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
    try:
        work.mkdir()
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({_reason(error)})") from error
    return work


def _reason(error: BaseException) -> str:
    """What went wrong, on one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def _is_run(path: Path) -> bool:
    return os.path.isfile(path / "run.json")


def _record(run: Run) -> bytes:
    log = run.log
    record: dict[str, Any] = {"format_version": FORMAT_VERSION}
    record |= {key: getattr(run, key) for key in _RUN_FIELDS}
    record["verdicts"] = log.counts()
    record |= describe_log(log)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    # What has no UTF-8 (a file name in another encoding) becomes the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace")


def _write_selected(run: Run, path: Path) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, ["feature", "name", "relevance", "arrival"])
        writer.writeheader()
        writer.writerows(run.kept())


def _move_into_place(work: Path, path: Path) -> None:
    """Put the finished folder where it belongs; an old one goes only after the new one is there.

    Ctrl-C may come between any two steps, so what to do next is read from the disk.
    """
    old = path.with_name(f".{path.name}.old-{secrets.token_hex(4)}")
    try:
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(work, path)
    finally:
        if not os.path.lexists(path) and os.path.lexists(old):
            os.rename(old, path)
        shutil.rmtree(old, ignore_errors=True)
