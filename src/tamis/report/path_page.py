"""The page about a size path: how many features are enough, and which ones."""

from __future__ import annotations

import math
import os
from typing import Any

from tamis.evaluate.sizes import SizePath, open_path
from tamis.report.page import Column, Facts, Lines, Page, Section, Table


def page_of_path(folder: str | os.PathLike[str]) -> Page:
    """Return the page about a folder that `SizePath.save` wrote."""
    return page_of_sizes(open_path(folder))


def page_of_sizes(path: SizePath) -> Page:
    """Return the page about scores by number of features."""
    mean, error = _numbers(path.mean), _numbers(path.std_error)
    at = {size: mean[i] for i, size in enumerate(path.sizes)}
    items = [
        ("enough", f"{path.enough:,}"),
        (f"{path.scoring} with {path.enough:,}", _shown(at[path.enough])),
        ("best", f"{path.best:,}"),
        (f"{path.scoring} with {path.best:,}", _shown(at[path.best])),
        ("folds", f"{len(path.scores):,}"),
    ]
    rows: list[list[Any]] = []
    for i, (lo, hi) in enumerate(zip([0, *path.sizes[:-1]], path.sizes, strict=True)):
        rows.append([hi, mean[i], error[i], ", ".join(path.ranking[lo:hi])])
    sizes = Table(
        "Sizes",
        [
            Column("features", "count"), Column(f"mean {path.scoring}", "number", 4),
            Column("standard error", "number", 4), Column("adds"),
        ],
        rows, note="A size holds the features that it adds, and those of all smaller sizes.",
    )  # fmt: skip
    ranking = Table(
        "Ranking", [Column("feature", "feature"), Column("rank", "count")],
        [[name, i + 1] for i, name in enumerate(path.ranking)],
        note="Of a selection from all rows, best first.",
    )  # fmt: skip
    sections: list[Section] = [Facts("At a glance", items), _curve(path), sizes, ranking]
    return Page("tamis: how many features", path.sentence, sections)


def _curve(path: SizePath) -> Section:
    low, high = path.mean - path.std_error, path.mean + path.std_error
    return Lines(
        f"Mean {path.scoring} by number of features", "features (logarithmic)",
        [float(size) for size in path.sizes], {f"mean {path.scoring}": _numbers(path.mean)},
        path.scoring, colours=["blue"], points=True, log_x=True,
        low=_numbers(low), high=_numbers(high),
        note="Each fold selects from its training rows and is scored on the others. The shade is "
        "one standard error to each side.",
    )  # fmt: skip


def _numbers(values: Any) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
