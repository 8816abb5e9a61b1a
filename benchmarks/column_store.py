"""Rows to a column store in a tenth of scipy's memory, against scipy, duckdb, polars; reading it.

Two sets: news20 (the shared one, or one generated with its shape), and a generated one like url,
20,000 by 3,231,961. `scipy` transposes a CSR matrix in memory (tocsc). `tamis, rows` reads a row
store from disk and writes a column store to disk, `tamis, text` reads svmlight text. The others
sort the triples of a Parquet file by column and row and write a Parquet file; polars, the slower,
only for news20. Memory is the growth at the peak, relative to the process with everything imported
and compiled.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._data import SHARED, zipf_matrix
from benchmarks._harness import Report, clear_peak, in_own_process, peak_megabytes

SETS = ("news20", "like url")
URL_ROWS, URL_COLUMNS, URL_DRAWS = 20_000, 3_231_961, 4_200
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": ("like url",), "URL_ROWS": 1_000, "URL_COLUMNS": 500_000}
#: Our budget, as a share of scipy's memory. The blocks that the source holds come on top; together
#: they should stay below a tenth.
SHARE = 0.072
_AT_A_TIME = 500


def url_like(n_rows: int, n_columns: int, draws: int, seed: int = 0) -> sp.csr_matrix:
    """Rows with column frequencies like those of words; one value in fifty is not 1."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.arange(n_columns, dtype=np.int32))
    indices, values, lengths = [], [], []
    for lo in range(0, n_rows, _AT_A_TIME):
        height = min(_AT_A_TIME, n_rows - lo)
        ranks = np.exp(rng.random((height, draws)) * np.log(n_columns)) - 1
        drawn = np.sort(order[ranks.astype(np.int32)], axis=1)
        is_new = np.ones(drawn.shape, dtype=bool)
        is_new[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        indices.append(drawn[is_new])
        lengths.append(is_new.sum(axis=1))
        number = np.ones(len(indices[-1]))
        odd = rng.random(len(number)) < 0.02
        number[odd] = np.round(rng.random(int(odd.sum())), 3) + 0.001
        values.append(number)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    arrays = np.concatenate(values), np.concatenate(indices), indptr
    return sp.csr_matrix(arrays, shape=(n_rows, n_columns))


def write_files(folder: str, matrix: sp.csr_matrix) -> None:
    """Write the same rows as plain arrays, as svmlight text, as a row store and as triples."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from tamis.sources.axis import write_rows
    from tamis.sources.text.svmlight_rows import SvmlightSource

    for name in ("data", "indices", "indptr"):
        np.save(f"{folder}/{name}.npy", getattr(matrix, name))
    np.save(f"{folder}/shape.npy", matrix.shape)
    triples = pa.schema([("row", pa.int32()), ("column", pa.int32()), ("value", pa.float64())])
    with (
        open(f"{folder}/rows.svm", "wb") as text,
        pq.ParquetWriter(f"{folder}/triples.parquet", triples) as writer,
    ):
        for lo in range(0, matrix.shape[0], _AT_A_TIME):
            part = matrix[lo : lo + _AT_A_TIME]
            words = pc.binary_join_element_wise(
                pa.array(part.indices + 1).cast(pa.string()),
                pa.array(part.data).cast(pa.string()),
                ":",
            )
            lines = pc.binary_join(
                pa.ListArray.from_arrays(part.indptr.astype(np.int32), words), " "
            )
            text.writelines(
                f"{r % 2} {line}\n".encode() for r, line in enumerate(lines.to_pylist())
            )
            rows = np.repeat(np.arange(part.shape[0], dtype=np.int32), np.diff(part.indptr)) + lo
            columns = [rows.astype(np.int32), part.indices.astype(np.int32), part.data]
            writer.write(pa.table(dict(zip(triples.names, columns, strict=True)), schema=triples))
    write_rows(f"{folder}/store.rows", SvmlightSource(f"{folder}/rows.svm", zero_based=False))


@contextmanager
def measured(result: dict[str, float]) -> Iterator[None]:
    """Record wall and CPU seconds, and the peak in megabytes above the current memory."""
    clear_peak()
    held = peak_megabytes()
    start, begun = time.perf_counter(), time.process_time()
    yield
    result["seconds"], result["CPU s"] = time.perf_counter() - start, time.process_time() - begun
    result["MB"] = peak_megabytes() - held
    result["MB with the program"] = peak_megabytes()


def by_scipy(folder: str, memory: int) -> dict[str, float]:
    """Measure the time of tocsc alone, and the memory including the rows it starts from."""
    result: dict[str, float] = {}
    clear_peak()
    held = peak_megabytes()
    arrays = (np.load(f"{folder}/{name}.npy") for name in ("data", "indices", "indptr"))
    matrix = sp.csr_matrix(tuple(arrays), shape=np.load(f"{folder}/shape.npy"))
    with measured(result):
        matrix.tocsc()
    return result | {"MB": peak_megabytes() - held}


def _by_tamis(open_rows: Callable[[], Any], folder: str, memory: int) -> dict[str, float]:
    from tamis.sources.arrays.in_memory import MemorySource
    from tamis.sources.axis import write_rows, write_store

    with tempfile.TemporaryDirectory(dir=folder) as work:
        # Compile, or load from the cache, before the clock starts.
        small = sp.random(3000, 40, 0.5, "csr", random_state=np.random.default_rng(0))
        rows = write_rows(f"{work}/warm.rows", MemorySource(small, np.zeros(3000)))
        write_store(f"{work}/warm.cols", rows, memory=30_000)
        next(iter(open_rows().batches()))
        result: dict[str, float] = {}
        with measured(result):
            write_store(f"{work}/out.cols", open_rows(), memory=memory)
    return result


def by_tamis_rows(folder: str, memory: int) -> dict[str, float]:
    """From a row store on disk."""
    from tamis.sources.stores.row_store import RowStore

    return _by_tamis(lambda: RowStore(f"{folder}/store.rows"), folder, memory)


def by_tamis_text(folder: str, memory: int) -> dict[str, float]:
    """From svmlight text."""
    from tamis.sources.text.svmlight_rows import SvmlightSource

    return _by_tamis(lambda: SvmlightSource(f"{folder}/rows.svm", False), folder, memory)


def by_duckdb(folder: str, memory: int) -> dict[str, float]:
    """Triples sorted by duckdb with a gigabyte of memory; it fails with less."""
    import duckdb

    result: dict[str, float] = {}
    connection = duckdb.connect(config={"memory_limit": "1GB", "temp_directory": f"{folder}/duck"})
    out = f"{folder}/duck.parquet"
    with measured(result):
        connection.execute(
            f'copy (select * from \'{folder}/triples.parquet\' order by "column", "row") '
            f"to '{out}' (format parquet, compression uncompressed)"
        )
    os.remove(out)
    return result


def by_polars(folder: str, memory: int) -> dict[str, float]:
    """Triples sorted by polars in streaming mode."""
    import polars as pl

    result: dict[str, float] = {}
    out = f"{folder}/polars.parquet"
    with measured(result):
        triples = pl.scan_parquet(f"{folder}/triples.parquet").sort("column", "row")
        triples.sink_parquet(out, compression="uncompressed")
    os.remove(out)
    return result


#: The programs, and the package that each needs.
PROGRAMS = {
    "scipy, in memory": ("by_scipy", "scipy"),
    "tamis, rows": ("by_tamis_rows", "numpy"),
    "tamis, text": ("by_tamis_text", "numpy"),
    "duckdb, triples": ("by_duckdb", "duckdb"),
    "polars, triples": ("by_polars", "polars"),
}


def compared(folder: str, without: str = "") -> list[dict[str, Any]]:
    """Run every program on one set, except `without`."""
    rows: list[dict[str, Any]] = []
    memory = 0
    for name, (function, package) in PROGRAMS.items():
        if package == without or find_spec(package) is None:
            continue
        found = in_own_process("benchmarks.column_store", function, folder, memory)
        rows.append({"program": name, **found})
        memory = memory or int(SHARE * 1e6 * rows[0]["MB"])
        rows[-1]["CPU over scipy's"] = found["CPU s"] / rows[0]["CPU s"]
        rows[-1]["memory over scipy's"] = found["MB"] / rows[0]["MB"]
    return rows


def reading(folder: str) -> dict[str, Any]:
    """Speed of reading the columns of a store, with and without touching the values."""
    from tamis.sources.axis import write_store
    from tamis.sources.stores.row_store import RowStore

    store = write_store(f"{folder}/read.cols", RowStore(f"{folder}/store.rows"))
    stored = store.info().details["bytes"]

    def summed() -> int:
        total = 0
        for block in store.columns():
            values: Any = block.values
            total += int(values.indices.sum(dtype=np.int64)) + int(values.data.sum())
        return total

    def mapped() -> int:
        return sum(block.width for block in store.columns(1 << 20))

    seconds, passed = (min(_cpu_seconds(job) for _ in range(3)) for job in (summed, mapped))
    columns = store.n_columns
    shutil.rmtree(store.path)
    return {
        "columns": columns, "MB": stored / 1e6, "CPU s": seconds,
        "GB/s, summed": stored / 1e9 / seconds,
        "million columns/s, summed": columns / 1e6 / seconds,
        "million columns/s, mapped": columns / 1e6 / passed,
    }  # fmt: skip


def _cpu_seconds(job: Callable[[], object]) -> float:
    begun = time.process_time()
    job()
    return time.process_time() - begun


def main() -> None:
    report = Report("column_store", __doc__ or "")
    news = SHARED / "news20_rebuilt" / "X.npz"
    sets: dict[str, Callable[[], sp.csr_matrix]] = {
        "news20": lambda: (
            sp.load_npz(news).tocsr().astype(np.float64)
            if news.is_file()
            else zipf_matrix(20_000, 1_400_000, 380)[0].astype(np.float64)
        ),
        "like url": lambda: url_like(URL_ROWS, URL_COLUMNS, URL_DRAWS),
    }
    rates = []
    for name, make in ((name, sets[name]) for name in SETS):
        with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
            matrix = make()
            n_rows, n_columns = matrix.shape
            write_files(folder, matrix)
            entries = matrix.nnz
            del matrix
            title = f"{name}: {n_rows:,} rows, {n_columns:,} columns, {entries:,} entries"
            report.table(title, compared(folder, without="polars" if name != "news20" else ""))
            rates.append(
                {"set": name, **in_own_process("benchmarks.column_store", "reading", folder)}
            )
    report.table("Reading the store, from the page cache, by CPU time", rates)
    report.note("Target: tamis, rows within 2 times of scipy's CPU time at a tenth of its memory.")
    report.save()


if __name__ == "__main__":
    main()
