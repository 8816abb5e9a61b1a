"""RedisSource: rows from a Redis stream, each used for learning exactly once, even after a crash.

Entries are read through a consumer group, so that Redis keeps every entry as *pending* until it is
acknowledged. A checkpoint holds the id of the last entry that is in the model; only then are the
entries up to it acknowledged. After a crash, reading resumes after the id in the checkpoint:
pending entries that are in the model are acknowledged and not read again, and pending entries that
are not in the model are read again.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import SourceError
from tamis.core.names import Names
from tamis.sources.base import (
    MEMORY,
    Progress,
    RowPlace,
    RowRange,
    RowSource,
    joined,
    silent,
    whole_numbers,
)
from tamis.sources.rebatch import join_labels
from tamis.sources.streams.redis_stream import Entry, Stream, id_key
from tamis.sources.text.svmlight_rows import parse_chunk

#: Default number of entries in a block.
_BLOCK = 1000


class RedisSource(RowSource):
    """Rows are the entries of a stream.

    The field `y` of an entry is its target, and its features are

    - in the field `x`, as svmlight text: ``XADD clicks * y 1 x "3:1 17:2.5"``;
    - or in fields named by feature numbers: ``XADD clicks * y 1 3 1 17 2.5``;
    - or in fields with names that are listed in `columns`: ``XADD clicks * y 1 age 42``.

    `all_rows` and `load` read the entries that existed when the source was opened and
    acknowledge nothing. `batches` and `committed` read through the consumer group, as learners do.
    Only one learner may read a group at a time; learners that should each see every row need
    separate groups.

    Parameters
    ----------
    server : str or redis client
        ``redis://host:6379/0?stream=clicks``, or ``unix:///path/redis.sock?stream=clicks``; `group`
        and the other options may be in the URL, too. Or a client of the redis package.
    stream : str
        Name of the stream.
    group, consumer : str
        The consumer group, created if it does not exist, and the name of this reader in it.
    target : str
        Name of the field that holds the target, a number.
    columns : list of str, optional
        Names of the features, for named fields; a field that is not listed is an error.
    zero_based : bool
        Whether feature numbers count from 0.
    wait : float
        Seconds that `batches` waits for more rows before it ends.
    """

    format: ClassVar[str] = "redis"
    n_rows: int = 0

    def __init__(
        self,
        server: Any,
        stream: str | None = None,
        *,
        group: str = "tamis",
        consumer: str = "tamis",
        target: str = "y",
        columns: Sequence[str] | None = None,
        zero_based: bool = False,
        wait: float = 0.0,
    ) -> None:
        self._stream = Stream(server, stream, group, consumer, wait)
        self._target = target
        self._names = None if columns is None else Names.of(columns)
        self._numbers = None if columns is None else {c: j for j, c in enumerate(columns)}
        self.zero_based = zero_based or columns is not None
        self.name_prefix, self.name_base = "", 0 if self.zero_based else 1
        self._end, self.n_rows = self._stream.extent()
        self._waiting: deque[str] = deque()
        self._y: npt.NDArray[Any] | None = None
        self._width: int | None = None if columns is None else len(columns)

    @property
    def n_columns(self) -> int:
        """Number of columns: of names given, or the highest feature number (needs a pass)."""
        if self._width is None:
            self.target()
        assert self._width is not None
        return self._width

    def names(self) -> Names | None:
        """Return the names of the columns, if they were given."""
        return self._names

    def target(self) -> npt.NDArray[Any]:
        """Return the target of the entries that existed; this takes one pass over them."""
        if self._y is None:
            width, labels = 0, []
            for block in self.all_rows():
                assert isinstance(block.values, Compressed)
                width = max(width, int(block.values.indices.max(initial=-1)) + 1)
                labels.append(np.asarray(block.y))
            self._y = whole_numbers(join_labels([np.zeros(0), *labels]))
            self._width = width if self._width is None else self._width
        return self._y

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream the entries after a mark through the group; they stay pending until committed.

        Ends when no entry has arrived for `wait` seconds.
        """
        self._waiting.clear()
        self._stream.go_to(wanted.after)
        first = 0
        while entries := self._stream.next(wanted.size or _BLOCK):
            self._waiting.extend(entry.id for entry in entries)
            yield self._block(entries, first)
            first += len(entries)
            wanted.progress("reading rows", first, None)

    def all_rows(self, memory: int = MEMORY, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream the entries that existed, without acknowledging them."""
        first = 0
        for entries in self._stream.between("-", self._end, _BLOCK):
            yield self._block(entries, first)
            first += len(entries)
            progress("reading rows", first, max(first, self.n_rows))

    def committed(self, mark: str) -> None:
        """Acknowledge the entries up to a mark, which are now in a checkpoint."""
        safe, limit = [], id_key(mark)
        while self._waiting and id_key(self._waiting[0]) <= limit:
            safe.append(self._waiting.popleft())
        self._stream.acknowledge(safe)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return all entries that existed: a CSR matrix, and the target."""
        parts = [block.values for block in self.all_rows()]
        return joined(parts, self.n_columns, is_sparse=True), self.target()

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self.load()[0].nnz)

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"stream": self._stream.name, "group": self._stream.group, "last": self._end}

    def reading(self) -> dict[str, Any]:
        """Return whether feature numbers count from 0 or 1."""
        return {"zero_based": self.zero_based}

    @property
    def label(self) -> str:
        """Name of the stream."""
        return self._stream.name

    def fingerprint(self) -> str:
        """Return a short hash of the entries that existed."""
        digest = hashlib.blake2b(self._stream.name.encode(), digest_size=8)
        for entries in self._stream.between("-", self._end, _BLOCK):
            digest.update(repr([(entry.id, entry.fields) for entry in entries]).encode())
        return digest.hexdigest()

    def _block(self, entries: list[Entry], first: int) -> RowBlock:
        """Return entries as rows, parsed as svmlight text."""
        text = "".join(self._line(entry) for entry in entries).encode("utf-8", "replace")
        part = parse_chunk(np.frombuffer(text, dtype=np.uint8), 0 if self.zero_based else 1)
        if part.fault is not None or len(part.rows) != len(entries):
            at = len(text) if part.fault is None else part.fault.at
            entry = entries[min(text.count(b"\n", 0, at), len(entries) - 1)]
            raise SourceError(
                f"entry {entry.id} of the stream {self._stream.name!r} is not a row of numbers: "
                f"{_shown(entry)}; fix what writes the stream, or delete the entry with XDEL"
            )
        rows = part.rows
        values = Compressed(rows.indptr, rows.indices - self.name_base, rows.data)
        place = RowPlace(f"{self.name}, row", first)
        return RowBlock(first, self._width, values, part.labels, entries[-1].id, place)

    def _line(self, entry: Entry) -> str:
        """Return an entry as a line of svmlight text."""
        fields = dict(entry.fields)
        label, text = fields.pop(self._target, ""), fields.pop("x", None)
        if self._numbers is not None:
            fields |= {} if text is None else {"x": text}
            other = next((name for name in fields if name not in self._numbers), None)
            if other is not None:
                raise SourceError(
                    f"entry {entry.id} of the stream {self._stream.name!r} has a field {other!r} "
                    "that is not among the columns given; add it to columns="
                )
            fields = {str(self._numbers[name]): value for name, value in fields.items()}
            text = None
        if text is None:
            rising = sorted(fields, key=lambda name: (len(name), name))
            text = " ".join(f"{name}:{fields[name]}" for name in rising)
        # Characters that would end the line early are replaced, so that the parser rejects them.
        return re.sub(r"[#\r\n]", "?", f"{label} {text}") + "\n"


def _shown(entry: Entry) -> str:
    text = " ".join(", ".join(f"{name}={value}" for name, value in entry.fields).split())
    return text if len(text) <= 60 else text[:60] + "..."
