"""Convert a decision log to plain arrays and back: all of it, or what was added since a mark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.core.growable import Growable
from tamis.core.names import Names
from tamis.core.verdicts import EVENT

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Mark:
    """A position in a log: features, events, features that decided, and evidence by name."""

    features: int = 0
    events: int = 0
    because: int = 0
    evidence: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, log: DecisionLog) -> Mark:
        """Return the present end of a log."""
        evidence = {key: len(indices) for key, (indices, _) in log._evidence.items()}
        return cls(len(log), len(log._events), len(log._because), evidence)


def arrays_of(log: DecisionLog) -> Arrays:
    """Return everything except names, reasons and template fields."""
    arrays = {
        "reason": log._reason.view,
        "relevance": log._relevance.view,
        "level": log._bulk_levels(0, len(log)),
        "because": log._because.view,
    }
    if log._values:
        arrays["value"] = log._values.between(0, len(log))
    return arrays | _events_since(log, Mark())


def arrays_since(log: DecisionLog, mark: Mark) -> Arrays:
    """Return what was added after a mark; verdicts on older features follow from the events."""
    lo, hi = mark.features, len(log)
    arrays = {
        "reason": log._reason.view[lo:hi],
        "relevance": log._relevance.view[lo:hi],
        "level": log._levels.between(lo, hi),
        "because": log._because.view[mark.because :],
    }
    value = log._values.between(lo, hi)
    if not np.isnan(value).all():
        arrays["value"] = value
    return arrays | _events_since(log, mark)


def _events_since(log: DecisionLog, mark: Mark) -> Arrays:
    events = log._events.view[mark.events :]
    arrays = {f"event_{key}": events[key] for key in EVENT.names or ()}
    for key, (indices, numbers) in log._evidence.items():
        at = mark.evidence.get(key, 0)
        if len(indices) > at:
            arrays[f"evidence:{key}:at"] = indices.view[at:]
            arrays[f"evidence:{key}"] = numbers.view[at:]
    return arrays


def extend(log: DecisionLog, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Append the result of `arrays_since` or `arrays_of`; names are appended separately.

    The arrays may come from an untrusted file: indices out of range raise an error.
    """
    first, width = len(log), len(arrays["reason"])
    _refuse_nonsense(log, arrays)
    log._levels.append(first, width, np.asarray(arrays["level"]))
    if "value" in arrays:
        log.append_values(first, np.asarray(arrays["value"]))
    log._relevance.extend(arrays["relevance"])
    log._reason.extend(arrays["reason"])
    log._because.extend(arrays["because"])
    events = np.zeros(len(arrays["event_at"]), dtype=EVENT)
    for key in EVENT.names or ():
        events[key] = arrays[f"event_{key}"]
    log._events.extend(events)
    # A later event of the same feature overwrites an earlier one: assignment keeps the last.
    log._reason.view[events["feature"]] = events["reason"]
    for key in arrays:
        if key.startswith("evidence:") and key.endswith(":at"):
            name = key.removeprefix("evidence:").removesuffix(":at")
            if name not in log._evidence:
                log._evidence[name] = (Growable(np.int64), Growable(np.float64))
            indices, numbers = log._evidence[name]
            indices.extend(arrays[key])
            numbers.extend(arrays[f"evidence:{name}"])


def _refuse_nonsense(log: DecisionLog, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise one sentence for indices outside the log."""
    n, reasons = len(log) + len(arrays["reason"]), len(log.reasons)
    ends = arrays["event_because_end"]
    before, after = len(log._because), len(log._because) + len(arrays["because"])
    rises = (
        bool(np.all(np.diff(ends, prepend=before) >= 0))
        and (int(ends[-1]) if len(ends) else before) == after
    )
    lengths = {len(arrays[k]) for k in ("reason", "relevance", "level")}
    inside = all(
        len(a) == 0 or (int(a.min()) >= 0 and int(a.max()) < top)
        for a, top in (
            (arrays["reason"], reasons),
            (arrays["event_reason"], reasons),
            (arrays["event_feature"], n),
            (arrays["because"], n),
        )
    )
    if not (rises and inside and len(lengths) == 1):
        raise SourceError("the log holds numbers that point nowhere")


def names_between(log: DecisionLog, lo: int, hi: int) -> Arrays:
    """Return the names of features lo to hi - 1 that have one: where runs of them start, and bytes.

    Names that follow each other become one run, however they arrived.
    """
    pieces = list(log.names.pieces_between(lo, hi))
    starts: list[int] = []
    sizes: list[int] = []
    for start, names in pieces:
        if starts and starts[-1] + sizes[-1] == start:
            sizes[-1] += len(names)
        else:
            starts.append(start)
            sizes.append(len(names))
    lengths = [np.diff(names.offsets) for _, names in pieces]
    return {
        "name_starts": np.array(starts, dtype=np.int64),
        "name_sizes": np.array(sizes, dtype=np.int64),
        "name_lengths": np.concatenate([np.zeros(0, np.int64), *lengths]),
        "name_bytes": np.frombuffer(b"".join(names.blob for _, names in pieces), dtype=np.uint8),
    }


def append_names(log: DecisionLog, arrays: Mapping[str, npt.NDArray[Any]], width: int) -> None:
    """Give the next `width` features the names that `names_between` returned."""
    book, last = log.names, len(log.names) + width
    starts, sizes, lengths = (arrays[f"name_{key}"] for key in ("starts", "sizes", "lengths"))
    ends = np.concatenate([[len(book)], starts + sizes])
    if (
        np.any(lengths < 0)
        or lengths.sum() != len(arrays["name_bytes"])
        or np.any(sizes < 0)
        or sizes.sum() != len(lengths)
        or np.any(starts < ends[:-1])
        or ends[-1] > last
    ):
        raise SourceError("the names of the log do not fit together")
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = Names(arrays["name_bytes"].tobytes(), offsets)
    at = 0
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        book.append(start - len(book), None)
        book.append(size, whole.part(at, at + size))
        at += size
    book.append(last - len(book), None)
