"""One small source of each format that needs an optional library, for the source checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redis_for_tests import redis_client
from tamis.sources import Source, open_source

ANNDATA = Path(__file__).parent / "sources" / "data" / "cells.h5ad"


def _anndata(layer: str | None) -> Callable[[Path], Source]:
    def make(folder: Path) -> Source:
        pytest.importorskip("h5py")
        return open_source(ANNDATA, target="type", layer=layer)

    return make


def _plink(folder: Path) -> Source:
    bed_reader = pytest.importorskip("bed_reader")
    rng = np.random.default_rng(3)
    calls = rng.integers(0, 3, (61, 83)).astype(np.float64)
    phenotypes = [str(1 + int(row[7] > 0)) for row in calls]
    bed_reader.to_bed(folder / "snps.bed", calls, properties={"pheno": phenotypes})
    return open_source(folder / "snps.bed")


def _table() -> Any:
    rng = np.random.default_rng(4)
    table = {f"c{j}": np.round(rng.normal(size=50), 2) for j in range(9)}
    return table | {"y": rng.choice(["no", "yes"], 50)}


def _duckdb(folder: Path) -> Source:
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    table = pa.table(_table())
    with duckdb.connect(str(folder / "table.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("create table t as select * from given")
    return open_source(folder / "table.duckdb", query="select * from t", target="y")


def _sqlite(folder: Path) -> Source:
    import sqlite3

    table = _table()
    connection = sqlite3.connect(folder / "table.sqlite")
    connection.execute(f"create table t ({', '.join(table)})")
    rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
    connection.executemany(f"insert into t values ({', '.join('?' * len(table))})", rows)
    connection.commit()
    connection.close()
    return open_source(folder / "table.sqlite", query="select * from t", target="y")


def _redis(folder: Path) -> Source:
    client, name = redis_client(), f"contract-{folder}"
    for i in range(130):
        client.xadd(name, {"y": i % 3, "x": f"{i % 7 + 1}:1.5 {i % 11 + 8}:{i + 1} 19:0"})
    return open_source(client, format="redis", stream=name)


OTHER_MAKERS: dict[str, Callable[[Path], Source]] = {
    "anndata": _anndata(None),
    "anndata, rows": _anndata("rows"),
    "anndata, dense": _anndata("dense"),
    "plink": _plink,
    "sql": _duckdb,
    "sql, sqlite": _sqlite,
    "redis": _redis,
}
