"""All kinds of files that are damaged, by name."""

from __future__ import annotations

from soak.data_files import (
    AnnData,
    Compressed,
    Csv,
    Numpy,
    Parquet,
    Plink,
    Sql,
    Stores,
    Svmlight,
)
from soak.own_files import Checkpoints, Models, Runs, Selections, Unfinished
from soak.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Svmlight(), Compressed(), Csv(), Parquet(), Sql(), Numpy(), Stores(), AnnData(), Plink(),
        Runs(), Selections(), Unfinished(), Models(), Checkpoints(),
    )
}  # fmt: skip
