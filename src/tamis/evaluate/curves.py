"""Curves: what is kept, and how accurate it is, over time, orders or thresholds.

`over_time`        against the share of features seen (the OSFS paper's Figure 10)
`over_orders`      over random orders of arrival (its Figures 11 to 13; SAOLA's Figures 6 and 7)
`over_thresholds`  over levels of the measure (SAOLA's Figure 8 and Table XIV)

Each is a comparison with the same folds, caps and cache, reduced to points for a plot.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.core.errors import DAMAGE, ParameterError, SourceError
from tamis.core.markup import cell, table
from tamis.core.params import Number, check
from tamis.evaluate.compared_methods import ComparedMethod, named_method, parse_methods, words
from tamis.evaluate.comparison import compare
from tamis.evaluate.results import Results, columns, put
from tamis.sources.base import Progress, silent

Kind = Literal["time", "orders", "thresholds"]

POINTS = pa.schema(
    [
        *columns(pa.string(), "data", "method", "classifier"),
        *columns(pa.float64(), "x", "accuracy", "accuracy_sd", "balanced_accuracy"),
        *columns(pa.float64(), "kept", "kept_sd", "seconds"),
        *columns(pa.int64(), "folds", "unfinished"),
    ]
)

#: What x is, by the kind of curves.
MEANING: dict[Kind, str] = {
    "time": "share of features seen",
    "orders": "order of arrival (0 is the order of the columns)",
    "thresholds": "level",
}


@dataclass(eq=False)
class Curves:
    """Points for a plot: one per data set, method, classifier and x.

    Attributes
    ----------
    kind : {"time", "orders", "thresholds"}
        What x is: the share of features seen, the number of the order, or the level.
    points : pyarrow.Table
        Means over the folds, and their standard deviations; see ``POINTS``.
    params : dict
        The parameters of the comparison.
    """

    kind: Kind
    points: pa.Table
    params: dict[str, Any]

    @property
    def over(self) -> str:
        """What x is, in one word: "time", "orders", or the name of the parameter."""
        name: str = self.params.get("parameter", self.kind)
        return name

    def line(self, data: str, method: str, classifier: str, y: str = "accuracy") -> Any:
        """Return one curve: x and y as arrays, sorted by x."""
        rows = sorted(
            (row["x"], row[y])
            for row in self.points.to_pylist()
            if (row["data"], row["method"], row["classifier"]) == (data, method, classifier)
        )
        return tuple(np.array(rows, dtype=float).reshape(-1, 2).T)

    def to_markdown(self) -> str:
        """Return the points as a table."""
        parts = [
            f"# Over {self.over}\n",
            f"x: {MEANING[self.kind]}. Means over the folds; ± is the standard deviation.\n",
        ]
        rows = []
        finished: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for r in self.points.to_pylist():
            who: tuple[str, ...] = (cell(r["data"]), cell(r["method"]), r["classifier"])
            values = ["no result", "", ""]
            if r["accuracy"] is not None:
                values = [
                    f"{r['accuracy']:.4f} ± {r['accuracy_sd']:.4f}",
                    f"{r['kept']:.1f} ± {r['kept_sd']:.1f}",
                    f"{r['seconds']:.3f}",
                ]
                finished.setdefault(who, []).append((r["accuracy"], r["kept"]))
            rows.append([*who, f"{r['x']:g}", *values])
        heads = ["data", "method", "classifier", "x", "accuracy", "kept", "seconds"]
        parts.append(table(heads, rows, "lllrrrr"))
        if self.kind == "orders":
            heads = [
                "data", "method", "classifier", "orders", "accuracy: lowest", "mean", "highest",
                "kept: lowest", "mean", "highest",
            ]  # fmt: skip
            spread = []
            for who, found in finished.items():
                a, k = zip(*found, strict=True)
                ranges = [f"{v:.4f}" for v in (min(a), np.mean(a), max(a))]
                ranges += [f"{v:.1f}" for v in (min(k), np.mean(k), max(k))]
                spread.append([*who, str(len(found)), *ranges])
            parts.append("\n" + table(heads, spread, "lllrrrrrrr"))
        return "\n".join(parts) + "\n"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write over_KIND.parquet, .json and .md into a folder."""
        path = Path(folder) / f"over_{self.kind}"
        put(path.with_suffix(".parquet"), self.points)
        put(path.with_suffix(".json"), self.params)
        put(path.with_suffix(".md"), self.to_markdown())


def open_curves(folder: str | os.PathLike[str], kind: Kind) -> Curves:
    """Read the curves that `Curves.save` wrote."""
    path = Path(folder) / f"over_{kind}"
    try:
        params = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return Curves(kind, pq.read_table(path.with_suffix(".parquet")), params)
    except (*DAMAGE, pa.ArrowException) as error:
        raise SourceError(f"{folder} has no curves over {kind}") from error


def over_time(
    data: Any, methods: Any, classifiers: Any = "knn", *, points: int = 10, **options: Any
) -> Curves:
    """Compute accuracy and number kept against the share of features that have arrived.

    Methods that need all features have one point, the last. `options` are those of
    `compare`.
    """
    check("over_time", "points", points, Number(1, integer=True))
    shares = [i / points for i in range(1, points + 1)]
    chosen = parse_methods(methods)
    places = [[Place(m.label, m.label, share, share) for share in shares] for m in chosen]
    return _curves("time", data, chosen, classifiers, places, shares=shares, **options)


def over_orders(
    data: Any, methods: Any, classifiers: Any = "knn", *, orders: int = 12, **options: Any
) -> Curves:
    """Compute accuracy and number kept for the order of the columns and `orders` random orders.

    Order k is the permutation drawn with seed k, so more orders can be added later.
    """
    check("over_orders", "orders", orders, Number(1, integer=True))
    families = parse_methods(methods)
    variants = [v for m in families for v in (m, *(m.shuffled(k) for k in range(1, orders + 1)))]
    places = [[Place(v.label, v.family or v.label, v.order or 0)] for v in variants]
    return _curves("orders", data, variants, classifiers, places, **options)


def over_thresholds(
    data: Any,
    methods: Any,
    classifiers: Any = "knn",
    *,
    values: Sequence[float],
    name: str = "alpha",
    **options: Any,
) -> Curves:
    """Compute accuracy and number kept over values of a parameter, such as ``alpha``.

    Methods are given by name here; those without this parameter are left out.
    """
    variants = threshold_variants(methods, name, values)
    places = [[Place(method.label, word, value)] for word, value, method in variants]
    chosen = [method for _, _, method in variants]
    facts = {"parameter": name}
    return _curves("thresholds", data, chosen, classifiers, places, facts, **options)


def threshold_variants(
    methods: Any, name: str, values: Sequence[float]
) -> list[tuple[str, float, ComparedMethod]]:
    """Return the methods that have a parameter, at each of its values."""
    names = words(methods)
    if not names or not all(isinstance(word, str) for word in names):
        raise ParameterError("over_thresholds: give methods by name, such as 'saola'")
    if not values:
        raise ParameterError("over_thresholds: give at least one value")
    variants = []
    for word in names:
        try:
            made = [named_method(f"{word}:{name}={value}") for value in values]
        except ParameterError as error:
            named_method(word)  # but an unknown method is an error
            last = error
            continue
        variants += [(word, value, method) for value, method in zip(values, made, strict=True)]
    if not variants:
        raise last
    return variants


class Place(NamedTuple):
    """The origin of a point: the compared method, its name on the plot, x, and the share."""

    label: str
    method: str
    x: float
    share: float = 1.0


def _curves(
    kind: Kind,
    data: Any,
    methods: Any,
    classifiers: Any,
    places: list[list[Place]],
    facts: dict[str, Any] | None = None,
    **options: Any,
) -> Curves:
    """Run a comparison whose cells are saved, if requested, but whose tables are not."""
    progress: Progress = options.pop("progress", silent)
    options["progress"] = lambda _, done, total: progress(f"over {kind}", done, total)
    out = options.pop("out", None)
    if out is not None:
        options.setdefault("cache", Path(out) / "cells")
    results = compare(data, methods, classifiers, **options)
    found = [
        _point(results, one, judge, place)
        for one in results.data
        for line in places
        for judge in results.classifiers
        for place in line
    ]
    points = pa.Table.from_pylist([point for point in found if point["folds"]], POINTS)
    curves = Curves(kind, points, results.params | (facts or {}))
    if out is not None:
        curves.save(out)
    return curves


def _point(results: Results, data: str, judge: str, place: Place) -> dict[str, Any]:
    """Return one point: means over the folds with a result."""

    def values(metric: str) -> Any:
        return results.fold_values(metric, data, place.label, judge, place.share)

    accuracy = values("accuracy")
    good = ~np.isnan(accuracy)
    point = {
        "data": data, "method": place.method, "classifier": judge, "x": float(place.x),
        "folds": len(accuracy), "unfinished": int((~good).sum()),
    }  # fmt: skip
    if good.all() and len(good):
        metrics = ("accuracy", "balanced_accuracy", "kept", "seconds")
        point |= {metric: float(values(metric).mean()) for metric in metrics}
        point |= {f"{metric}_sd": float(values(metric).std()) for metric in ("accuracy", "kept")}
    return point
