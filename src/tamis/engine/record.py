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

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.core.decisions import DecisionLog, Reason, Verdict
from tamis.core.errors import OutputError, SourceError
from tamis.core.names import NameBook, Names
from tamis.engine.run import Run

FORMAT_VERSION = 1

#: Features called by number get a name in the log up to this many; beyond, the name is the number
#: (plus the base in run.json), and tens of millions of words would only fill the disk.
NAMED_UP_TO = 5_000_000

#: Rows of the log written at a time.
CHUNK = 1_000_000

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
        _write_log(run.log, work / "log.parquet")
        _write_events(run.log, work / "events.parquet")
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
            log = _read_log(path, record)
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
    record["names"] = {
        "prefix": log.names.prefix,
        "base": log.names.base,
        "numbered": log.names.numbered,
    }
    record["words"] = log.words
    record["reasons"] = {
        key: {"verdict": reason.verdict.name.lower(), "sentence": reason.sentence}
        for key, reason in log.reasons.items()
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    # What has no UTF-8 (a file name in another encoding) becomes the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace")


def _write_selected(run: Run, path: Path) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, ["feature", "name", "relevance", "arrival"])
        writer.writeheader()
        writer.writerows(run.kept())


def _write_log(log: DecisionLog, path: Path) -> None:
    verdicts = pa.array([v.name.lower() for v in Verdict])
    reasons = pa.array(list(log.reasons))
    named = not log.names.numbered or len(log) <= NAMED_UP_TO
    schema = pa.schema(
        [
            ("feature", pa.int64()),
            *([("name", pa.string())] if named else []),
            ("verdict", pa.dictionary(pa.int8(), pa.string())),
            ("reason", pa.dictionary(pa.uint8(), pa.string())),
            ("relevance", pa.float64()),
            ("value", pa.float64()),
            ("level", pa.float64()),
            ("because", pa.int64()),
            ("at", pa.int64()),
        ]
    )
    # Feature numbers rise by one, so their differences pack to nothing; the rest repeats itself.
    packed = dict.fromkeys(("feature", "at"), "DELTA_BINARY_PACKED")
    repeats = ["verdict", "reason", "relevance", "level"]
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=repeats, column_encoding=packed
    ) as writer:
        for lo in range(0, max(len(log), 1), CHUNK):
            table = log.columns(lo, lo + CHUNK)
            columns: dict[str, Any] = {
                **table,
                "verdict": pa.DictionaryArray.from_arrays(
                    pa.array(table["verdict"].astype(np.int8)), verdicts
                ),
                "reason": pa.DictionaryArray.from_arrays(pa.array(table["reason"]), reasons),
                "because": pa.array(table["because"], mask=table["because"] < 0),
                "value": pa.array(table["value"], mask=np.isnan(table["value"])),
                "level": pa.array(table["level"], mask=np.isnan(table["level"])),
            }
            if named:
                columns["name"] = _names(log.names, table["feature"])
            writer.write_table(pa.table({k: columns[k] for k in schema.names}, schema=schema))


def _names(names: NameBook, features: npt.NDArray[np.int64]) -> Any:
    """The names of some features; those called by number without a step in Python for each."""
    if names.numbered:
        numbers = pc.cast(pa.array(features + names.base), pa.string())
        return pc.binary_join_element_wise(_plain(names.prefix), numbers, "")
    return [_plain(names[i]) for i in features.tolist()]


def _plain(name: str) -> str:
    """A name in characters that every reader of Parquet takes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _write_events(log: DecisionLog, path: Path) -> None:
    state = log.state()
    ends = state["event_because_end"]
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    columns = {
        key.removeprefix("event_"): pa.array(np.ascontiguousarray(state[key]))
        for key in state
        if key.startswith("event_") and key != "event_because_end"
    }
    columns["because"] = pa.LargeListArray.from_arrays(offsets, pa.array(state["because"]))
    for key in state:
        if key.startswith("evidence:") and key.endswith(":at"):
            name = key.removeprefix("evidence:").removesuffix(":at")
            values = np.full(len(ends), np.nan)
            values[state[key]] = state[f"evidence:{name}"]
            columns[f"evidence:{name}"] = pa.array(values, mask=np.isnan(values))
    pq.write_table(pa.table(columns), path, compression="zstd")


def _read_log(path: Path, record: dict[str, Any]) -> DecisionLog:
    reasons = {
        key: Reason(Verdict[r["verdict"].upper()], r["sentence"])
        for key, r in record["reasons"].items()
    }
    named = not record["names"]["numbered"]
    wanted = {"reason", "relevance", "level", "value", *(["name"] if named else [])}
    file = pq.ParquetFile(path / "log.parquet")
    table = file.read([name for name in file.schema_arrow.names if name in wanted])
    names = NameBook(record["names"]["prefix"], record["names"]["base"])
    names.append(len(table), Names.of(table["name"].to_pylist()) if named else None)
    codes = {key: code for code, key in enumerate(reasons)}
    reason = table["reason"].combine_chunks()
    order = np.array([codes[key] for key in reason.dictionary.to_pylist()], dtype=np.uint8)
    state: dict[str, Any] = {
        "reason": order[reason.indices.to_numpy()] if len(table) else np.zeros(0, np.uint8),
        "relevance": table["relevance"].to_numpy(),
        "level": table["level"].to_numpy(),
    }
    events = pq.read_table(path / "events.parquet")
    because = events["because"].combine_chunks()
    state["because"] = because.flatten().to_numpy()
    state["event_because_end"] = np.asarray(because.offsets.to_numpy()[1:], dtype=np.int64)
    for key in events.column_names:
        if key.startswith("evidence:"):
            values = events[key].to_numpy()
            at = np.flatnonzero(~np.isnan(values))
            state[f"{key}:at"] = at
            state[key] = values[at]
        elif key != "because":
            state[f"event_{key}"] = events[key].to_numpy()
    # Where there is an event it has the exact number.
    state["value"] = table["value"].to_numpy().astype(np.float32)
    state["value"][state["event_feature"]] = np.nan
    log = DecisionLog.from_state(state, reasons, names, record["words"])
    kept = log.counts()["kept"]
    if log.counts() != record["verdicts"] or len(log.replay()) != kept:
        raise ValueError("its files do not belong together")
    return log


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
