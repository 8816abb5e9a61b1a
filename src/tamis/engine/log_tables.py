"""A decision log as two tables: one row a feature, and one row a decision of the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.core.decisions import DecisionLog, Reason, Verdict
from tamis.core.log_arrays import Mark, arrays_since
from tamis.core.names import NameBook, Names

#: Features called by number get a name in the log up to this many; beyond, the name is the number
#: (plus the base in run.json), and tens of millions of strings would only fill the disk.
NAMED_UP_TO = 5_000_000

#: So few names are made in Python: importing `pyarrow.compute` takes longer.
FEW = 10_000

#: Rows of the log written at a time.
CHUNK = 1_000_000


def write_log(
    log: DecisionLog, file: IO[bytes], *, first: int = 0, also: Sequence[int] = ()
) -> None:
    """Write one row a feature: what became of it. From feature `first` on, `also` some before."""
    named = not log.names.numbered or len(log) <= NAMED_UP_TO
    schema = pa.schema(
        [
            ("feature", pa.int64()),
            *([("name", pa.large_string())] if named else []),
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
        file, schema, compression="zstd", use_dictionary=repeats, column_encoding=packed
    ) as writer:
        older = np.asarray(also, dtype=np.int64)
        for lo in np.unique(older // CHUNK * CHUNK).tolist():
            inside = older[(older >= lo) & (older < lo + CHUNK)] - lo
            writer.write_table(_table(log, lo, lo + CHUNK, schema).take(inside))
        for lo in range(first, max(len(log), first + 1), CHUNK):
            writer.write_table(_table(log, lo, lo + CHUNK, schema))


def _table(log: DecisionLog, lo: int, hi: int, schema: Any) -> Any:
    """Return features lo to hi - 1 as a table, with names for verdicts and reasons."""
    table = log.columns(lo, hi)
    verdicts = pa.array([v.name.lower() for v in Verdict])
    reasons = pa.array(list(log.reasons))
    verdict = pa.array(table["verdict"].astype(np.int8))
    columns: dict[str, Any] = {
        **table,
        "verdict": pa.DictionaryArray.from_arrays(verdict, verdicts),
        "reason": pa.DictionaryArray.from_arrays(pa.array(table["reason"]), reasons),
        "because": pa.array(table["because"], mask=table["because"] < 0),
        "value": pa.array(table["value"], mask=np.isnan(table["value"])),
        "level": pa.array(table["level"], mask=np.isnan(table["level"])),
    }
    if "name" in schema.names:
        columns["name"] = _names(log.names, lo, lo + len(table["feature"]))
    return pa.table({key: columns[key] for key in schema.names}, schema=schema)


def _names(names: NameBook, lo: int, hi: int) -> Any:
    """The names of features lo to hi - 1, without a step in Python for each."""
    found, at = [], lo
    for start, piece in names.pieces_between(lo, hi):
        found += [_numbered(names, at, start), arrow_names(piece)]
        at = start + len(piece)
    return pa.chunked_array([*found, _numbered(names, at, hi)], pa.large_string())


def _numbered(names: NameBook, lo: int, hi: int) -> Any:
    if hi - lo <= FEW:
        prefix, base = _plain(names.prefix), names.base
        return pa.array([f"{prefix}{i + base}" for i in range(lo, hi)], pa.large_string())
    import pyarrow.compute as pc

    numbers = pc.cast(pa.array(np.arange(lo, hi) + names.base), pa.large_string())
    return pc.binary_join_element_wise(
        pa.scalar(_plain(names.prefix), pa.large_string()),
        numbers,
        pa.scalar("", pa.large_string()),
    )


def numbered_names(names: NameBook, lo: int, hi: int) -> Names:
    """Return the names of features lo to hi - 1 that came without one."""
    return _packed(pa.chunked_array([_numbered(names, lo, hi)]))


def arrow_names(names: Names) -> Any:
    """Packed names as Arrow has them: the same two arrays, if every reader takes their letters."""
    try:
        names.blob.decode("utf-8")
    except UnicodeDecodeError:
        return pa.array([_plain(name) for name in names], pa.large_string())
    buffers = [None, pa.py_buffer(np.ascontiguousarray(names.offsets)), pa.py_buffer(names.blob)]
    return pa.Array.from_buffers(pa.large_string(), len(names), buffers)


def _packed(column: Any) -> Names:
    """Names as Arrow has them, packed."""
    array = column.cast(pa.large_string()).combine_chunks()
    if array.null_count:
        raise ValueError("a feature has no name")
    _, indices, text = array.buffers()
    offsets = np.frombuffer(indices, np.int64)[array.offset : array.offset + len(array) + 1]
    blob = b"" if text is None else text.to_pybytes()[int(offsets[0]) : int(offsets[-1])]
    return Names(blob, offsets - offsets[0])


def _plain(name: str) -> str:
    """A name in characters that every reader of Parquet takes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def write_events(log: DecisionLog, file: IO[bytes]) -> None:
    """Write one row a decision, in order."""
    state = arrays_since(log, Mark())
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
            values, absent = np.zeros(len(ends)), np.ones(len(ends), dtype=np.bool_)
            values[state[key]], absent[state[key]] = state[f"evidence:{name}"], False
            columns[f"evidence:{name}"] = pa.array(values, mask=absent)
    # What the log held of these features before the rule met them, so that nothing is lost.
    features = state["event_feature"]
    columns["bulk_relevance"] = pa.array(state["relevance"][features])
    columns["bulk_level"] = pa.array(state["level"][features])
    value = state["value"][features] if "value" in state else np.full(len(ends), np.nan, np.float32)
    columns["bulk_value"] = pa.array(value)
    pq.write_table(pa.table(columns), file, compression="zstd")


def describe_log(log: DecisionLog) -> dict[str, Any]:
    """Return what JSON holds of a log: how features are named, and the sentences of its reasons."""
    return {
        "names": {
            "prefix": log.names.prefix,
            "base": log.names.base,
            "numbered": log.names.numbered,
        },
        "words": log.template_fields,
        "reasons": {
            key: {"verdict": reason.verdict.name.lower(), "sentence": reason.sentence}
            for key, reason in log.reasons.items()
        },
    }


def reasons_from(record: Mapping[str, Any]) -> dict[str, Reason]:
    """Return the reasons that `describe_log` described."""
    return {
        key: Reason(Verdict[r["verdict"].upper()], r["sentence"])
        for key, r in record["reasons"].items()
    }


def read_log(log_file: Any, events_file: Any, record: Mapping[str, Any]) -> DecisionLog:
    """Read a log from two files (paths, or open files), as `describe_log` described it."""
    reasons = reasons_from(record)
    file = pq.ParquetFile(log_file)
    # Names that came later are stored elsewhere.
    named = not record["names"]["numbered"] and "name" in file.schema_arrow.names
    wanted = {"reason", "relevance", "level", "value", *(["name"] if named else [])}
    table = file.read([name for name in file.schema_arrow.names if name in wanted])
    names = NameBook(record["names"]["prefix"], record["names"]["base"])
    names.append(len(table), _packed(table["name"]) if named else None)
    codes = {key: code for code, key in enumerate(reasons)}
    reason = table["reason"].combine_chunks()
    order = np.array([codes[key] for key in reason.dictionary.to_pylist()], dtype=np.uint8)
    state: dict[str, Any] = {
        "reason": order[_numbers(reason.indices)] if len(table) else np.zeros(0, np.uint8),
        "relevance": _numbers(table["relevance"]),
        "level": _numbers(table["level"]),
    }
    events = pq.ParquetFile(events_file).read()
    because = events["because"].combine_chunks()
    state["because"] = _numbers(because.flatten())
    state["event_because_end"] = np.asarray(_numbers(because.offsets)[1:], dtype=np.int64)
    for key in events.column_names:
        if key.startswith("evidence:"):
            at = np.flatnonzero(_is_there(events[key].combine_chunks()))
            state[f"{key}:at"] = at
            state[key] = _numbers(events[key])[at]
        elif key != "because" and not key.startswith("bulk_"):
            state[f"event_{key}"] = _numbers(events[key])
    # Where there is an event it has the exact number.
    state["value"] = _numbers(table["value"]).astype(np.float32)
    state["value"][state["event_feature"]] = np.nan
    _take_bulk_numbers(state, events)
    return DecisionLog.from_state(state, reasons, names, record["words"])


def _numbers(column: Any) -> npt.NDArray[Any]:
    """A column of numbers, NaN where one is missing; Arrow's own way would import pandas."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = np.dtype(array.type.to_pandas_dtype())
    if kind.kind not in "iuf":
        raise ValueError(f"numbers are expected where there are values of type {array.type}")
    if not len(array):
        return np.zeros(0, kind)
    numbers = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]
    if not array.null_count:
        return numbers
    return np.where(_is_there(array), numbers, np.nan)


def _is_there(array: Any) -> npt.NDArray[np.bool_]:
    """Where an Arrow array holds a value."""
    bits = array.buffers()[0]
    if bits is None or not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    every = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return every[array.offset : array.offset + len(array)].astype(np.bool_)


def _take_bulk_numbers(state: dict[str, Any], events: Any) -> None:
    """Put back what the log held of features before the rule met them; the table shows the end."""
    features = state["event_feature"]
    if "bulk_relevance" not in events.column_names:  # an older run
        return
    for key in ("relevance", "level", "value"):
        numbers = state[key].astype(np.float32)
        numbers[features] = _numbers(events[f"bulk_{key}"])
        state[key] = numbers
