"""Files that hold a table of named columns: Parquet and Arrow, read a few columns at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from tamis.core.errors import SourceError
from tamis.sources.addresses import AddressedFile, from_here, is_address
from tamis.sources.text_files import TextFile

#: With more columns than this, the metadata of a Parquet file is too large for its readers.
MOST_COLUMNS = 50_000


class TableFile(Protocol):
    """A table on disk or in memory.

    Attributes
    ----------
    format, path : str
        The name of the format, and where the file is.
    schema : pyarrow.Schema
        Names and types of the columns.
    n_rows : int
        Number of rows.
    content : TextFile or AddressedFile
        The bytes of the file, which give its fingerprint; None for a table in memory.
    details : dict
        Additional details for `tamis info`.
    """

    format: str
    path: str
    schema: Any
    n_rows: int
    content: Any
    details: dict[str, Any]

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table."""

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""


@contextmanager
def _damage_as_one_sentence(path: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors about a damaged file into a one-sentence error."""
    import pyarrow as pa

    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        known = (pa.ArrowException, OSError, MemoryError, UnicodeError)
        if not isinstance(error, known) and not is_address(
            path
        ):  # remote file systems have their own errors
            raise
        reason = " ".join(str(error).split()).rstrip(".")[:200] or "it needs too much memory"
        if "TProtocolException" in reason or "size limit" in reason:
            raise SourceError(f"{path}: {_too_wide(None)}") from error
        raise SourceError(
            f"{path} cannot be read as {what}, it is truncated or damaged ({reason}); fetch or "
            "write it again"
        ) from error


def _too_wide(n_columns: int | None) -> str:
    many = "more columns" if n_columns is None else f"{n_columns:,} columns, more"
    return (
        f"the file has {many} than a Parquet file can carry well ({MOST_COLUMNS:,}); write a list "
        "of the features of each row (tokens=) or one line for each row, feature and value (long=)"
    )


class ParquetTable:
    """A Parquet file; only its metadata stays in memory."""

    format = "parquet"

    def __init__(self, path: str) -> None:
        self.path = path
        # Both raise an error if the file does not exist.
        self.content: Any = AddressedFile(path) if is_address(path) else TextFile(path)
        with _damage_as_one_sentence(path, "a Parquet file"):
            self._file = self._open(None)
        self._lock = threading.Lock()
        self.schema, metadata = self._file.schema_arrow, self._file.metadata
        self.n_rows = int(metadata.num_rows)
        self.details = {"bytes": self.content.size, "row_groups": int(metadata.num_row_groups)}
        if len(self.schema) > MOST_COLUMNS:
            raise SourceError(f"{path}: {_too_wide(len(self.schema))}")

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table; nothing else is read."""
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._lock:
            table = self._file.read(columns=list(names), use_threads=len(names) > 1)
            table.validate(full=True)  # strings of a damaged file may not be valid text
            return table

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows, row group by row group."""
        known = self._file.metadata  # reading it takes a second for a wide file
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._open(known) as file:
            for batch in file.iter_batches(size, columns=list(names), use_threads=False):
                batch.validate(full=True)
                yield batch

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the open file."""
        return type(self), (from_here(self.path),)

    def _open(self, metadata: Any) -> Any:
        import pyarrow.parquet as pq

        far = is_address(self.path)
        # Few writers store page checksums; if there are any, comparing them is cheap.
        return pq.ParquetFile(
            self.content.open() if far else self.path, metadata=metadata,
            page_checksum_verification=True, pre_buffer=far,
        )  # fmt: skip


class ArrowTable:
    """An Arrow IPC (feather) file, memory-mapped, or a stream of record batches in a file."""

    format = "arrow"

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self.path, self.content = path, TextFile(path)
        self.details = {"bytes": self.content.size}
        with open(path, "rb") as raw:
            head = raw.read(6)
        if head.startswith(b"FEA1"):
            raise SourceError(
                f"{path} is a feather file of version 1, which is obsolete; write it "
                "again with pyarrow.feather.write_feather"
            )
        self._is_file = head == b"ARROW1"
        self._reader = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        with _damage_as_one_sentence(path, "an Arrow file"), pa.memory_map(path) as mapped:
            self.schema = self._reader(mapped).schema
        self.n_rows = sum(batch.num_rows for batch in self._each(self.schema.names[:1]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path."""
        return type(self), (from_here(self.path),)

    def _each(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield every batch, decompressing only the named columns.

        Lengths and offsets are checked, because Arrow trusts the file.
        """
        import pyarrow as pa

        indices = {name: i for i, name in enumerate(self.schema.names)}
        options = pa.ipc.IpcReadOptions(included_fields=sorted(indices[name] for name in names))
        with (
            _damage_as_one_sentence(self.path, "an Arrow file"),
            pa.memory_map(self.path) as mapped,
            self._reader(mapped, options=options) as reader,
        ):
            numbers = range(reader.num_record_batches) if self._is_file else None
            for batch in reader if numbers is None else map(reader.get_batch, numbers):
                batch.validate(full=True)
                yield batch

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table that shares memory with the file."""
        import pyarrow as pa

        batches = list(self._each(names))
        table = pa.Table.from_batches(batches) if batches else self.schema.empty_table()
        return table.select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        for batch in self._each(names):
            picked = batch.select(list(names))
            for lo in range(0, picked.num_rows, size):
                yield picked.slice(lo, size)


class MemoryTable:
    """An Arrow table in memory that was read from a file; its owner knows that file."""

    content = None

    def __init__(self, table: Any, path: str, format: str) -> None:
        self.path, self.format = path, format
        self.schema, self.n_rows = table.schema, int(table.num_rows)
        self.details = {"bytes": int(table.nbytes)}
        self._table = table

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns."""
        return self._table.select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        yield from self.read(names).to_batches(max_chunksize=size)
