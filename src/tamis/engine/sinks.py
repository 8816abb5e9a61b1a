"""Files that rows with kept columns are written to, completely or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.core.files import atomic_file
from tamis.sources.base import joined
from tamis.sources.tables.table_columns import floats, kind_of


@dataclass(frozen=True)
class Part:
    """Some rows: the kept columns with their names, the target, and the key."""

    names: list[str]
    values: Any  # an Arrow record batch, an array, or compressed rows
    target: tuple[str, Any] | None = None
    key: tuple[str, Any] | None = None

    @property
    def height(self) -> int:
        """Number of rows."""
        return int(self.values.num_rows) if self.is_table else len(self.values)

    @property
    def is_table(self) -> bool:
        """Whether the values are those of a table."""
        return hasattr(self.values, "num_rows")


#: Returns the number of rows written, and the names of the target and the key, if any.
Writer = Callable[[str, Iterator[Part]], tuple[int, tuple[str | None, str | None]]]


#: No target and no key.
NONE: tuple[str | None, str | None] = (None, None)


def _others_of(part: Part) -> tuple[str | None, str | None]:
    return (
        None if part.target is None else part.target[0],
        None if part.key is None else part.key[0],
    )


def _as_table(part: Part) -> Any:
    """Return some rows as an Arrow table: the key, the kept columns, the target."""
    import pyarrow as pa

    found: dict[str, Any] = {}
    if part.key is not None:
        found[part.key[0]] = part.key[1]
    if part.is_table:
        found |= {name: part.values.column(name) for name in part.names}
    else:
        dense = _dense(part.values, len(part.names))
        found |= {n: np.ascontiguousarray(dense[:, j]) for j, n in enumerate(part.names)}
    if part.target is not None:
        found[part.target[0]] = part.target[1]
    return pa.table({name: _arrow(values) for name, values in found.items()})


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
    return values


def _dense(values: Any, width: int) -> npt.NDArray[np.float64]:
    if not isinstance(values, Compressed):
        return np.asarray(values)
    dense = np.zeros((len(values), width))
    dense[np.repeat(np.arange(len(values)), np.diff(values.indptr)), values.indices] = values.data
    return dense


def _write_arrow(path: str, parts: Iterator[Part]) -> tuple[int, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, writer, others, schema = 0, None, NONE, None
    with atomic_file(path) as file:
        try:
            for part in parts:
                table = _as_table(part)
                if writer is None:
                    schema, others = table.schema, _others_of(part)
                    to_parquet = path.lower().endswith((".parquet", ".pq"))
                    new: Any = pq.ParquetWriter if to_parquet else pa.ipc.new_file
                    writer = new(file, schema)
                writer.write_table(table.cast(schema))
                rows += part.height
        finally:
            if writer is not None:
                writer.close()
    return rows, others


def _write_csv(path: str, parts: Iterator[Part]) -> tuple[int, Any]:
    rows, others, delimiter = 0, NONE, "\t" if path.lower().endswith(".tsv") else ","
    with atomic_file(path) as file, _text(file) as text:
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        for part in parts:
            table = _as_table(part)
            if not rows:
                others = _others_of(part)
                writer.writerow(table.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
            rows += part.height
    return rows, others


@contextmanager
def _text(file: IO[bytes]) -> Iterator[IO[str]]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    yield text
    text.flush()
    text.detach()


def _matrix(part: Part) -> Any:
    """Return some rows as an array or compressed rows; refuse what is not a number."""
    if not part.is_table:
        return part.values
    columns = []
    for name in part.names:
        column = part.values.column(name)
        if kind_of(column.type) != "number":
            raise InputError(
                f"column {name!r} holds values of type {column.type}, and a matrix holds numbers "
                "only; write a .parquet or .csv file"
            )
        columns.append(floats(column))
    return np.column_stack(columns)


def _labels(parts: list[Any]) -> npt.NDArray[Any]:
    import pyarrow as pa

    found = [
        np.asarray(p.to_pylist()) if isinstance(p, pa.Array | pa.ChunkedArray) else p for p in parts
    ]
    return np.concatenate(found)


def _write_matrix(path: str, parts: Iterator[Part]) -> tuple[int, Any]:
    """Write NAME.npy or NAME.npz, and the target as NAME.y.npy."""
    values, labels, others, width = [], [], NONE, 0
    sparse = path.lower().endswith(".npz")
    for part in parts:
        others, width = (_others_of(part)[0], None), len(part.names)
        values.append(_matrix(part))
        if part.target is not None:
            labels.append(part.target[1])
    with atomic_file(path) as file:
        if sparse:
            from scipy.sparse import save_npz

            matrix = joined(values, width, True)
            save_npz(file, matrix)
        else:
            matrix = np.concatenate([_dense(value, width) for value in values])
            np.save(file, matrix)
    if labels:
        with atomic_file(f"{os.path.splitext(path)[0]}.y.npy") as file:
            np.save(file, _labels(labels))
    return int(matrix.shape[0]), others


def _write_svm(path: str, parts: Iterator[Part]) -> tuple[int, Any]:
    """Write svmlight lines; the kept features are numbered from 1 in order of arrival."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, others = 0, NONE
    with atomic_file(path) as file:
        for part in parts:
            others = (_others_of(part)[0], None)
            if part.target is None:
                labels: Any = pa.array(np.zeros(part.height, np.int64))
            else:
                labels = _arrow(part.target[1])
            if kind_of(labels.type) != "number":
                raise InputError(
                    f"the target {part.target[0]!r} holds words, and the labels of an svmlight "  # type: ignore[index]
                    "file are numbers; write a .parquet or .csv file"
                )
            values = _matrix(part)
            if not isinstance(values, Compressed):
                at, columns = np.nonzero(values)
                counts = np.bincount(at, minlength=len(values))
                values = Compressed(
                    np.concatenate([[0], np.cumsum(counts)]), columns, values[at, columns]
                )
            text = pa.large_string()
            pairs = pc.binary_join_element_wise(
                pa.array(values.indices + 1).cast(text), _short(values.data), pa.scalar(":", text)
            )
            lists = pa.LargeListArray.from_arrays(pa.array(values.indptr.astype(np.int64)), pairs)
            label = _short(floats(labels))
            lines = pc.binary_join_element_wise(
                label, pc.binary_join(lists, pa.scalar(" ", text)), pa.scalar(" ", text)
            )
            file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())
            rows += part.height
    return rows, others


def _short(numbers: npt.NDArray[np.float64]) -> Any:
    """Return numbers as text that reads back as the same number; 3 for 3.0."""
    import pyarrow as pa

    numbers = np.asarray(numbers, dtype=np.float64) + 0.0  # no -0
    return pa.array(numbers).cast(pa.large_string())


WRITERS: dict[str, Writer] = {
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather"), _write_arrow),
    **dict.fromkeys((".csv", ".tsv"), _write_csv),
    **dict.fromkeys((".npy", ".npz"), _write_matrix),
    ".svm": _write_svm,
}
