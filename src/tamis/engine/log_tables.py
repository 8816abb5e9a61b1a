"""A decision log as two tables: one row per feature, and one row per decision of the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.core.decisions import DecisionLog, Mark, Reason, Verdict
from tamis.core.names import NameBook, Names

#: Unnamed features get a name in the log if there are at most this many. Beyond that, the name is
#: the number (plus the base in run.json): tens of millions of strings would only fill the disk.
NAMED_UP_TO = 5_000_000

#: Up to this many names are made in Python: importing `pyarrow.compute` takes longer.
FEW = 10_000

#: Rows of the log written at a time.
CHUNK = 1_000_000


def write_log(
    log: DecisionLog, file: IO[bytes], *, first: int = 0, also: Sequence[int] = ()
) -> None:
    """Write one row per feature with its outcome, from feature `first` on and those in `also`."""
    named = not log.names.numbered or len(log) <= NAMED_UP_TO
    verdicts = pa.array([v.name.lower() for v in Verdict])
    reasons = pa.array(list(log.reasons))
    schema = pa.schema(
        [
            ("feature", pa.int64()),
            *([("name", pa.large_string())] if named else []),
            ("verdict", pa.dictionary(pa.int8(), pa.string())),
            ("reason", pa.dictionary(pa.uint8(), pa.string())),
            *((number, pa.float64()) for number in ("relevance", "value", "level")),
            ("because", pa.int64()),
            ("at", pa.int64()),
        ]
    )
    # Feature numbers increase by one, so delta encoding makes them tiny; the rest is repetitive.
    packed = dict.fromkeys(("feature", "at"), "DELTA_BINARY_PACKED")
    repeats = ["verdict", "reason", "relevance", "level"]
    older = np.asarray(also, dtype=np.int64)
    chunks = np.unique(older // CHUNK * CHUNK).tolist()
    with pq.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=repeats, column_encoding=packed
    ) as writer:
        for lo in [*chunks, *range(first, max(len(log), first + 1), CHUNK)]:
            columns: dict[str, Any] = log.columns(lo, lo + CHUNK)
            if named:
                columns["name"] = _names(log.names, lo, lo + len(columns["feature"]))
            verdict = pa.array(columns["verdict"].astype(np.int8))
            columns["verdict"] = pa.DictionaryArray.from_arrays(verdict, verdicts)
            reason = pa.array(columns["reason"])
            columns["reason"] = pa.DictionaryArray.from_arrays(reason, reasons)
            columns["because"] = pa.array(columns["because"], mask=columns["because"] < 0)
            for key in ("value", "level"):
                columns[key] = pa.array(columns[key], mask=np.isnan(columns[key]))
            table = pa.table({key: columns[key] for key in schema.names}, schema=schema)
            if lo < first:
                table = table.take(older[(older >= lo) & (older < lo + CHUNK)] - lo)
            writer.write_table(table)


def _names(names: NameBook, lo: int, hi: int) -> Any:
    """Return the names of features lo to hi - 1, vectorised if there are many."""
    known = names.between(lo, hi)
    if len(known["name_sizes"]):
        offsets = np.concatenate([[0], np.cumsum(known["name_lengths"])]).astype(np.int64)
        texts = arrow_names(Names(known["name_bytes"].tobytes(), offsets))
    prefix = names.prefix.encode("utf-8", "backslashreplace").decode("utf-8")
    runs = zip(known["name_starts"].tolist(), known["name_sizes"].tolist(), strict=True)
    found, at, done = [], lo, 0
    for start, size in [*runs, (hi, 0)]:
        if start - at <= FEW:
            numbered = [f"{prefix}{i + names.base}" for i in range(at, start)]
            found.append(pa.array(numbered, pa.large_string()))
        else:
            import pyarrow.compute as pc

            numbers = pc.cast(pa.array(np.arange(at, start) + names.base), pa.large_string())
            around = [pa.scalar(text, pa.large_string()) for text in (prefix, "")]
            found.append(pc.binary_join_element_wise(around[0], numbers, around[1]))
        if size:
            found.append(texts[done : done + size])
        at, done = start + size, done + size
    return pa.chunked_array(found, pa.large_string())


def numbered_names(names: NameBook, lo: int, hi: int) -> Names:
    """Return generated names for features lo to hi - 1, which have none of their own."""
    return _packed(_names(NameBook(names.prefix, names.base), lo, hi))


def arrow_names(names: Names) -> Any:
    """Return packed names as an Arrow array: the same bytes, if they are valid UTF-8."""
    try:
        names.blob.decode("utf-8")
    except UnicodeDecodeError:
        plain = [name.encode("utf-8", "backslashreplace").decode("utf-8") for name in names]
        return pa.array(plain, pa.large_string())
    buffers = [None, pa.py_buffer(np.ascontiguousarray(names.offsets)), pa.py_buffer(names.blob)]
    return pa.Array.from_buffers(pa.large_string(), len(names), buffers)


def _packed(column: Any) -> Names:
    """Pack the names of an Arrow column."""
    array = column.cast(pa.large_string()).combine_chunks()
    if array.null_count:
        raise ValueError("a feature has no name")
    _, indices, text = array.buffers()
    offsets = np.frombuffer(indices, np.int64)[array.offset : array.offset + len(array) + 1]
    blob = b"" if text is None else text.to_pybytes()[int(offsets[0]) : int(offsets[-1])]
    return Names(blob, offsets - offsets[0])


def write_events(log: DecisionLog, file: IO[bytes]) -> None:
    """Write one row per decision, in order."""
    state = log.since(Mark(len(log)))  # the events, nothing else
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
    # What the log held for these features before the rule saw them, so that nothing is lost.
    relevance, level, value = log.bulk_numbers(state["event_feature"])
    columns["bulk_relevance"], columns["bulk_level"] = pa.array(relevance), pa.array(level)
    columns["bulk_value"] = pa.array(value)
    pq.write_table(pa.table(columns), file, compression="zstd")


def describe_log(log: DecisionLog) -> dict[str, Any]:
    """Return the JSON part of a log: how features are named, and the texts of its reasons."""
    names = log.names
    return {
        "names": {"prefix": names.prefix, "base": names.base, "numbered": names.numbered},
        "words": log.template_fields,
        "reasons": {
            key: {"verdict": reason.verdict.name.lower(), "sentence": reason.sentence}
            for key, reason in log.reasons.items()
        },
    }


def reasons_from(record: Mapping[str, Any]) -> dict[str, Reason]:
    """Return the reasons that `describe_log` described."""
    return {
        key: Reason(Verdict[r["verdict"].upper()], str(r["sentence"]))
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
    names = NameBook(str(record["names"]["prefix"]), int(record["names"]["base"]))
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
    # If there is an event, it has the exact number.
    state["value"] = _numbers(table["value"]).astype(np.float32)
    state["value"][state["event_feature"]] = np.nan
    if "bulk_relevance" in events.column_names:  # not in an older run
        # Restore what the log held before the rule saw a feature; the table shows the final state.
        for key in ("relevance", "level", "value"):
            state[key] = state[key].astype(np.float32)
            state[key][state["event_feature"]] = _numbers(events[f"bulk_{key}"])
    words = {str(key): str(word) for key, word in record["words"].items()}
    return DecisionLog.from_state(state, reasons, names, words)


def _numbers(column: Any) -> npt.NDArray[Any]:
    """Return a column of numbers with NaN for missing ones.

    Arrow's methods for it import pandas, even that for the type in older Arrow.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    tests = {"f": pa.types.is_floating, "i": pa.types.is_signed_integer,
             "u": pa.types.is_unsigned_integer}  # fmt: skip
    letter = next((letter for letter, is_one in tests.items() if is_one(array.type)), None)
    if letter is None:
        raise ValueError(f"numbers are expected where there are values of type {array.type}")
    kind = np.dtype(f"{letter}{array.type.bit_width // 8}")
    if not len(array):
        return np.zeros(0, kind)
    numbers = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]
    if not array.null_count:
        return numbers
    return np.where(_is_there(array), numbers, np.nan)


def _is_there(array: Any) -> npt.NDArray[np.bool_]:
    """Return where an Arrow array holds a value."""
    bits = array.buffers()[0]
    if bits is None or not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    every = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return every[array.offset : array.offset + len(array)].astype(np.bool_)
