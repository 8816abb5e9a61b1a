"""The results of a comparison: a typed table, its summaries, and its folder on disk.

``results.parquet``     one row per data set, method, fold, classifier (and share of features)
``selections.parquet``  what each method kept on each fold, by number and name
``compare.json``        the parameters, the data and the versions
``summary.json``        means, ranks, tests and stability, for programs
``summary.md``          the same, for people
``cells/``              finished cells, so that nothing is computed twice
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.core.errors import DAMAGE, OutputError, ParameterError, SourceError, need
from tamis.core.files import atomic_file, make_folder
from tamis.core.notebook import card, html_table
from tamis.core.sentences import counted, suggestion
from tamis.evaluate.cells import OK
from tamis.evaluate.metrics import METRICS
from tamis.evaluate.stability import Stability, stability

Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1

#: Numbers of a selection, the same for every classifier.
COSTS = ("kept", "seconds", "cpu_seconds", "peak_megabytes", "extra_megabytes")
#: Numbers of a classifier.
TIMES = ("fit_seconds", "predict_seconds", "predict_microseconds_a_row")


def columns(kind: pa.DataType, *names: str) -> list[tuple[str, pa.DataType]]:
    """Return columns of one type, for a schema."""
    return [(name, kind) for name in names]


ROWS = pa.schema(
    [
        *columns(pa.string(), "data", "method", "family"),
        *columns(pa.int64(), "order"),
        *columns(pa.int32(), "repeat", "fold"),
        *columns(pa.string(), "classifier"),
        *columns(pa.float64(), "share"),
        *columns(pa.string(), "status", "note"),
        *columns(pa.float64(), *METRICS),
        *columns(pa.int64(), "kept", "features", "train_rows", "test_rows"),
        *columns(pa.float64(), *COSTS[1:]),
        *columns(pa.float64(), *TIMES),
        *columns(pa.binary(), "right"),
        *columns(pa.int64(), "seed"),
        *columns(pa.string(), "cell"),
    ]
)

SELECTIONS = pa.schema(
    [
        *columns(pa.string(), "data", "method"),
        *columns(pa.int32(), "repeat", "fold"),
        *columns(pa.float64(), "share"),
        *columns(pa.string(), "status", "note", "measure", "work"),
        *columns(pa.bool_(), "every_feature"),
        *columns(pa.list_(pa.int64()), "features"),
        *columns(pa.list_(pa.string()), "names"),
        *columns(pa.string(), "cell"),
    ]
)


@dataclass(eq=False)
class Results:
    """The results of a comparison.

    Attributes
    ----------
    rows : pyarrow.Table
        One row per data set, method, fold, classifier and share of features; see ``ROWS``.
    selections : pyarrow.Table
        One row per data set, method, fold and share: what was kept; see ``SELECTIONS``.
    params : dict
        The parameters: data, methods, classifiers, folds, random_state, control, caps, versions.
    computed : int
        Number of cells that were computed; the others were already finished.
    data, methods, classifiers : list of str
        Their names, in the order given.
    control : str
        The method that the others are compared with.
    """

    rows: pa.Table
    selections: pa.Table
    params: dict[str, Any]
    computed: int = 0

    def __post_init__(self) -> None:
        self.data: list[str] = [one["name"] for one in self.params["data"]]
        self.methods: list[str] = [one["label"] for one in self.params["methods"]]
        self.classifiers: list[str] = list(self.params["classifiers"])
        self.control: str = self.params["control"]

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column of `rows` as an array."""
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {k: self.rows[k].to_numpy(zero_copy_only=False) for k in self.rows.column_names}

    def fold_values(
        self, metric: str, data: str, method: str, classifier: str, share: float = 1.0
    ) -> Floats:
        """Return a metric per fold, in the order of the folds; NaN for a cell without a result."""
        which = self.rows_of(data, method, classifier, share)
        return np.asarray(self.column(metric)[which], dtype=np.float64)

    def rows_of(
        self, data: str, method: str, classifier: str, share: float = 1.0
    ) -> npt.NDArray[np.intp]:
        """Return the numbers of the rows of a cell, in the order of the folds."""
        wanted = {"data": data, "method": method, "classifier": classifier, "share": share}
        same = [self.column(name) == value for name, value in wanted.items()]
        return np.flatnonzero(np.all(same, axis=0))

    def grid(
        self, metric: str = "accuracy", classifier: str | None = None, share: float = 1.0
    ) -> Floats:
        """Return means over the folds: one row per data set, one column per method.

        A method that lacks a result on any fold has no mean (NaN): a mean over fewer folds would
        not be comparable. The costs and the size of a selection need no classifier.
        """
        judge = classifier or self.classifiers[0]
        if metric not in (*METRICS, *COSTS, *TIMES):
            raise ParameterError(f"metric {metric!r} is not known; {suggestion(metric, METRICS)}")
        if judge not in self.classifiers:
            raise ParameterError(f"there are no results of the classifier {judge!r}")
        means = np.full((len(self.data), len(self.methods)), np.nan)
        for i, j in np.ndindex(means.shape):
            values = self.fold_values(metric, self.data[i], self.methods[j], judge, share)
            if len(values):
                means[i, j] = values.mean()
        return means

    def stability(self, data: str, method: str) -> Stability:
        """Return the stability of the selections of a method over the folds of a data set."""
        n = next(one["features"] for one in self.params["data"] if one["name"] == data)
        rows = [row for row in self._selected if (row["data"], row["method"]) == (data, method)]
        finished = all(row["status"] == OK for row in rows)
        kept = [np.arange(n) if row["every_feature"] else row["features"] for row in rows]
        return stability(kept if finished else [], n)

    @cached_property
    def _selected(self) -> list[dict[str, Any]]:
        """The final selections, by data set, method and fold."""
        rows = self.selections.drop_columns(["names"]).to_pylist()
        return [row for row in rows if row["share"] == 1.0]

    def problems(self) -> list[dict[str, Any]]:
        """Return the cells without a result, and why."""
        wanted = ["data", "method", "repeat", "fold", "classifier", "status", "note"]
        table = self.rows.select(wanted).to_pylist()
        return [row for row in table if row["status"] != OK]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        need("pandas", extra="pandas", what_for="to_pandas")
        return self.rows.to_pandas()

    def summary(self) -> dict[str, Any]:
        """Return means, ranks, tests and stability, as plain values."""
        from tamis.evaluate.summary import summarise

        return summarise(self)

    def to_markdown(self) -> str:
        """Return the summary as Markdown."""
        from tamis.evaluate.fact_tables import summary_markdown

        return summary_markdown(self)

    def plot_ranks(self, classifier: str | None = None) -> Any:
        """Plot a critical-difference diagram; returns a matplotlib figure."""
        from tamis.evaluate.rank_plot import critical_differences

        return critical_differences(self, classifier or self.classifiers[0])

    def _repr_html_(self) -> str:
        """Return a card for a notebook: mean accuracy with each classifier, and features kept."""

        def grid(title: str, metric: str, form: str, judge: str | None = None) -> str:
            means = self.grid(metric, judge).tolist()
            cells = [
                [name, *(None if math.isnan(v) else v for v in row)]
                for name, row in zip(self.data, means, strict=True)
            ]
            return html_table([title, *self.methods], cells, form, best=judge is not None)

        title = f"{counted(len(self.methods), 'method')} on {counted(len(self.data), 'data set')}"
        tables = [
            grid(f"mean accuracy, {judge}", "accuracy", ".3f", judge) for judge in self.classifiers
        ]
        return card(title, *tables, grid("features kept", "kept", ",.1f"))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write everything to a folder; a file is replaced when the new one is complete."""
        path = Path(folder)
        record = {"format_version": FORMAT_VERSION, **self.params}
        put(path / "results.parquet", self.rows)
        put(path / "selections.parquet", self.selections)
        put(path / "summary.json", self.summary())
        put(path / "summary.md", self.to_markdown())
        # Last, because this file marks the folder as a folder of results.
        put(path / "compare.json", record)
        return path


def open_results(folder: str | os.PathLike[str]) -> Results:
    """Read the results that `compare` wrote to a folder."""
    place = Path(folder)
    if not (place / "compare.json").is_file():
        raise SourceError(f"{folder} holds no results; it has no compare.json by tamis compare")
    try:
        params = json.loads((place / "compare.json").read_text(encoding="utf-8"))
        if "seed" in params:  # what `random_state` was called in earlier versions
            params["random_state"] = params.pop("seed")
        written = params.pop("format_version")
        rows = pq.read_table(place / "results.parquet")
        selections = pq.read_table(place / "selections.parquet")
        if written == FORMAT_VERSION:
            if not (rows.schema.equals(ROWS) and selections.schema.equals(SELECTIONS)):
                raise ValueError("its columns are not those of results")
            return Results(rows, selections, params)
    except (*DAMAGE, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"{folder} is damaged ({reason}); run tamis compare again, finished cells are kept"
        ) from error
    raise SourceError(
        f"{folder} was written in format {written!r} and this tamis reads format {FORMAT_VERSION}; "
        "use the tamis that wrote it"
    )


def check_place(folder: str | os.PathLike[str]) -> None:
    """Raise an error unless the folder is new, empty, or already holds results."""
    place = Path(folder)
    if not place.exists():
        return
    if not place.is_dir():
        raise OutputError(f"{folder} is a file; give a folder for the results")
    known = any((place / name).exists() for name in ("compare.json", "cells"))
    if not known and any(place.iterdir()):
        raise OutputError(f"{folder} exists and holds no results; choose another folder")


def put(path: Path, content: str | dict[str, Any] | pa.Table) -> None:
    """Write a text, JSON or a table to a file, completely or not at all."""
    make_folder(path.parent)
    if isinstance(content, dict):
        content = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_file(path, hint="finished cells are kept") as file:
        if isinstance(content, str):
            file.write(content.encode())
        else:
            pq.write_table(content, file, compression="zstd")
