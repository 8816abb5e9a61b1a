"""Files that hold a table of named columns: Parquet and Arrow, read a few columns at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from tamis.core.errors import SourceError
from tamis.sources.addresses import AddressedFile, from_here, is_address
from tamis.sources.text_files import TextFile

#: Beyond this many columns the metadata of a Parquet file outgrows its readers.
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
    """

    format: str
    path: str
    schema: Any
    n_rows: int

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table."""

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""

    def fingerprint(self) -> str:
        """Return a short hash of what it holds."""

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` says about it."""


@contextmanager
def _damage_as_one_sentence(path: str, what: str) -> Iterator[None]:
    """Turn what Arrow says about a damaged file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        known = (pa.ArrowException, OSError, MemoryError, UnicodeError)
        if not isinstance(error, known) and not is_address(path):  # there, stores have their own
            raise
        reason = " ".join(str(error).split()).rstrip(".")[:200] or "it asks for too much memory"
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
    """A Parquet file; only its metadata stay in memory."""

    format = "parquet"

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        self.path = path
        # Both say in one sentence if it is not there.
        self._bytes = AddressedFile(path) if is_address(path) else TextFile(path)
        with _damage_as_one_sentence(path, "a Parquet file"), pq.ParquetFile(self._place()) as file:
            self.schema, self.n_rows = file.schema_arrow, int(file.metadata.num_rows)
            self._groups = int(file.metadata.num_row_groups)
            self._metadata = file.metadata
        self._file: Any = None
        self._lock = threading.Lock()
        if len(self.schema) > MOST_COLUMNS:
            raise SourceError(f"{path}: {_too_wide(len(self.schema))}")

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table; nothing else is read."""
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._lock:
            self._file = self._file or self._open()  # a wide file takes a second to open
            table = self._file.read(columns=list(names), use_threads=len(names) > 1)
            table.validate(full=True)  # words of a damaged file may be no text
            return table

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows, row group after row group."""
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._open() as file:
            for batch in file.iter_batches(size, columns=list(names), use_threads=False):
                batch.validate(full=True)
                yield batch

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the way to the file, not the open file."""
        return type(self), (from_here(self.path),)

    def _place(self) -> Any:
        """Return what Arrow opens: a path, or a file that fetches the requested bytes."""
        return self._bytes.open() if isinstance(self._bytes, AddressedFile) else self.path

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # Few writers store checksums of pages; where they are, they cost little to compare.
        return pq.ParquetFile(
            self._place(), metadata=self._metadata, page_checksum_verification=True,
            pre_buffer=is_address(self.path),
        )  # fmt: skip

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file."""
        return self._bytes.fingerprint()

    def details(self) -> dict[str, Any]:
        """Return bytes and row groups."""
        return {"bytes": self._bytes.size, "row_groups": self._groups}


class ArrowTable:
    """An Arrow IPC (feather) file, memory-mapped, or a stream of record batches in a file."""

    format = "arrow"

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self.path = path
        self._bytes = TextFile(path)
        with open(path, "rb") as raw:
            head = raw.read(6)
        if head.startswith(b"FEA1"):
            raise SourceError(
                f"{path} is a feather file of version 1, which has been superseded; write it "
                "again with pyarrow.feather.write_feather"
            )
        self._is_file = head == b"ARROW1"
        with _damage_as_one_sentence(path, "an Arrow file"):
            with pa.memory_map(path) as raw, self._open(raw) as reader:
                self.schema = reader.schema
            with pa.memory_map(path) as raw, self._open(raw, self.schema.names[:1]) as reader:
                self.n_rows = sum(batch.num_rows for batch in self._each(reader))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the way to the file."""
        return type(self), (os.path.abspath(self.path),)

    def _open(self, raw: Any, names: Sequence[str] | None = None) -> Any:
        """Open the mapped file; only the fields of the named columns are decompressed."""
        import pyarrow as pa

        fields = None
        if names is not None:
            indices = {name: i for i, name in enumerate(self.schema.names)}
            fields = sorted(indices[name] for name in names)
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        opener = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return opener(raw, options=options)

    def _each(self, reader: Any) -> Iterator[Any]:
        """Yield every batch, its lengths and offsets checked: Arrow believes what a file says."""
        indices = range(reader.num_record_batches) if self._is_file else None
        for batch in reader if indices is None else map(reader.get_batch, indices):
            batch.validate(full=True)
            yield batch

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table that shares memory with the file."""
        import pyarrow as pa

        with (
            _damage_as_one_sentence(self.path, "an Arrow file"),
            pa.memory_map(self.path) as raw,
            self._open(raw, names) as reader,
        ):
            batches = list(self._each(reader))
            return pa.Table.from_batches(batches, schema=reader.schema).select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        import pyarrow as pa

        with (
            _damage_as_one_sentence(self.path, "an Arrow file"),
            pa.memory_map(self.path) as raw,
            self._open(raw, names) as reader,
        ):
            for batch in self._each(reader):
                picked = batch.select(list(names))
                for lo in range(0, picked.num_rows, size):
                    yield picked.slice(lo, size)

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file."""
        return self._bytes.fingerprint()

    def details(self) -> dict[str, Any]:
        """Return bytes of the file."""
        return {"bytes": self._bytes.size}


class MemoryTable:
    """An Arrow table in memory that was read from a file."""

    def __init__(self, table: Any, path: str, format: str) -> None:
        self.path, self.format = path, format
        self.schema, self.n_rows = table.schema, int(table.num_rows)
        self._table = table

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns."""
        return self._table.select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        yield from self.read(names).to_batches(max_chunksize=size)

    def fingerprint(self) -> str:
        """Return nothing: whoever holds the table knows where it came from."""
        return ""

    def details(self) -> dict[str, Any]:
        """Return bytes in memory."""
        return {"bytes": int(self._table.nbytes)}
