"""How many features are enough: cross-validated scores of every size, from one ranking per fold."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import indexable

from tamis.core.errors import DAMAGE, InputError, ParameterError, SourceError, need
from tamis.core.files import MARKERS, atomic_folder, reason, recover_missing
from tamis.core.notebook import card, html_table
from tamis.core.params import Number, check
from tamis.core.sentences import counted
from tamis.core.target import Target
from tamis.sources.arrays.in_memory import is_frame

#: Sizes that are tried unless others are given, as far as a ranking reaches.
SIZES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50, 70, 100)

Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1
#: Features that a notebook lists for each size.
LISTED = 3


@dataclass(frozen=True, eq=False)
class SizePath:
    """Scores by number of features, and the features of each size.

    Attributes
    ----------
    sizes : list of int
        The numbers of features, ascending.
    scores : ndarray of shape (n_folds, n_sizes)
        The score of each fold, on rows that neither the selection nor the estimator saw.
    ranking : list of str
        The features of a selection from all rows, best first: ``ranking[:k]`` are those of size k.
    scoring : str
        What the scores are, such as "accuracy".
    """

    sizes: list[int]
    scores: Floats
    ranking: list[str]
    scoring: str

    @property
    def mean(self) -> Floats:
        """The mean score of each size."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def std_error(self) -> Floats:
        """The standard error of each mean, as if folds were independent; NaN for one fold."""
        if len(self.scores) < 2:
            return np.full(len(self.sizes), np.nan)
        return np.asarray(self.scores.std(axis=0, ddof=1) / np.sqrt(len(self.scores)))

    @property
    def best(self) -> int:
        """The size with the largest mean; the smallest of equal ones."""
        return self.sizes[int(np.argmax(self.mean))]

    @property
    def enough(self) -> int:
        """The smallest size whose mean is within one standard error of the best."""
        top = int(np.argmax(self.mean))
        near = self.mean >= self.mean[top] - np.nan_to_num(self.std_error[top])
        return self.sizes[int(np.argmax(near))]

    def kept(self, size: int) -> list[str]:
        """Return the features of a size, best first."""
        check("SizePath.kept", "size", size, Number(1, len(self.ranking), integer=True))
        return self.ranking[:size]

    def to_frame(self) -> Any:
        """Return a pandas data frame: one row for each size, with the features that it adds."""
        pandas = need("pandas", extra="pandas", what_for="SizePath.to_frame")
        starts = [0, *self.sizes[:-1]]
        return pandas.DataFrame({
            "n_features": self.sizes, "mean": self.mean, "std_error": self.std_error,
            "adds": [
                self.ranking[lo:hi] for lo, hi in zip(starts, self.sizes, strict=True)
            ],
        })  # fmt: skip

    def plot(self) -> Any:
        """Draw the mean score by number of features, with one standard error to each side."""
        module = need("matplotlib.figure", extra="plot", what_for="SizePath.plot")
        figure = module.Figure(figsize=(7.0, 4.0), layout="constrained")
        axes = figure.add_subplot()
        low, high = self.mean - self.std_error, self.mean + self.std_error
        axes.fill_between(self.sizes, low, high, color="#0072B2", alpha=0.2, linewidth=0)
        axes.plot(self.sizes, self.mean, color="#0072B2", marker="o", markersize=4)
        for size, what in ((self.enough, "enough"), (self.best, "best")):
            if what == "best" and size == self.enough:
                continue
            axes.axvline(size, color="0.5", linestyle=":" if what == "best" else "--", linewidth=1)
            axes.annotate(
                f" {what}: {size}", (size, 0.02), xycoords=("data", "axes fraction"), color="0.3"
            )
        axes.set_xscale("log")
        axes.set_xticks(self.sizes, [str(size) for size in self.sizes])
        axes.minorticks_off()
        axes.set_xlabel("features")
        axes.set_ylabel(self.scoring)
        return figure

    @property
    def sentence(self) -> str:
        """How many features are enough, and how many are best."""
        few, top = (self.mean[self.sizes.index(size)] for size in (self.enough, self.best))
        said = f"{counted(self.enough, 'feature is', 'features are')} enough: {self.scoring} "
        said += f"{few:.3f} on rows that the selection did not see"
        if self.enough == self.best:
            return f"{said}, the best of {counted(len(self.sizes), 'size')}."
        return f"{said}, within one standard error of the best, {top:.3f} with {self.best:,}."

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a folder that `open_path` reads, and that ``tamis report`` makes a page of."""
        record = {
            "format_version": FORMAT_VERSION, "sizes": self.sizes, "scores": self.scores.tolist(),
            "ranking": self.ranking, "scoring": self.scoring,
        }  # fmt: skip
        with atomic_folder(folder, "path", force=force) as work:
            text = json.dumps(record, ensure_ascii=False) + "\n"
            (work / MARKERS["path"]).write_bytes(text.encode("utf-8", "backslashreplace"))
        return Path(folder)

    def _repr_html_(self) -> str:
        """Return a card for a notebook: the score of each size, and what it adds."""
        starts = [0, *self.sizes[:-1]]
        rows = []
        for i, (lo, hi) in enumerate(zip(starts, self.sizes, strict=True)):
            more = f" and {hi - lo - LISTED:,} more" if hi - lo > LISTED else ""
            added = ", ".join(self.ranking[lo : min(hi, lo + LISTED)]) + more
            rows.append([hi, float(self.mean[i]), float(self.std_error[i]), added])
        heads = ["features", f"mean {self.scoring}", "standard error", "adds"]
        return card(self.sentence, html_table(heads, rows, ".3f"))

    def __repr__(self) -> str:
        top, few = (self.mean[self.sizes.index(size)] for size in (self.best, self.enough))
        return (
            f"<SizePath of {len(self.scores)} folds: best {self.scoring} {top:.3f} with "
            f"{self.best} features, {few:.3f} with {self.enough}>"
        )


def open_path(folder: str | os.PathLike[str]) -> SizePath:
    """Read a path that `SizePath.save` wrote."""
    place = Path(folder)
    recover_missing(place)
    if not (place / MARKERS["path"]).is_file():
        raise SourceError(f"{folder} holds no path; it has no path.json by SizePath.save")
    try:
        record = json.loads((place / MARKERS["path"]).read_text(encoding="utf-8"))
        written = record["format_version"]
        if written == FORMAT_VERSION:
            sizes, ranking = [int(n) for n in record["sizes"]], [str(n) for n in record["ranking"]]
            scores = np.array(record["scores"], dtype=np.float64)
            if scores.ndim != 2 or not 0 < len(sizes) == scores.shape[1] or len(scores) == 0:
                raise ValueError("its scores do not belong to its sizes")
            return SizePath(sizes, scores, ranking, str(record["scoring"]))
    except DAMAGE as error:
        raise SourceError(f"{folder} is damaged ({reason(error)}); save the path again") from error
    raise SourceError(
        f"{folder} was written in format {written!r} and this tamis reads format {FORMAT_VERSION}; "
        "use the tamis that wrote it"
    )


def size_path(
    X: Any,
    y: Any,
    selector: Any = None,
    *,
    estimator: Any = None,
    cv: Any = 5,
    sizes: Sequence[int] | None = None,
    scoring: str | None = None,
) -> SizePath:
    """Score every number of features by cross-validation, with one selection per fold.

    In each fold the selector sees the training rows only. Its ranking gives the features of every
    size; the estimator is fitted to each of them and scored on the other rows.

    Parameters
    ----------
    X, y : array, sparse matrix or data frame, and array-like
        The table and its target.
    selector : estimator with `ranking_`, default=Sieve()
        Such as ``Sieve()`` or ``MRMR(n_features=100)``.
    estimator : scikit-learn estimator, optional
        What uses the features; default: logistic regression for classes, ridge regression for
        numbers, with scaled columns.
    cv : int or splitter, default=5
        Folds, as in scikit-learn.
    sizes : sequence of int, optional
        Numbers of features to try.
    scoring : str, optional
        A scorer of scikit-learn; default: accuracy or R squared.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import MRMR
    >>> from tamis.evaluate import size_path
    >>> path = size_path(*load_wine(return_X_y=True), MRMR(n_features=8), sizes=[1, 2, 4, 8])
    >>> path.scores.shape, path.kept(2)
    ((5, 4), ['x6', 'x9'])
    """
    if selector is None:
        from tamis.estimators.streaming import Sieve

        selector = Sieve()
    X, y = indexable(X, y)
    target = Target.of(y, getattr(selector, "task", "auto"))
    classes = target.is_classes
    if "task" in selector.get_params():  # the rows of a fold alone could be taken for the other
        selector = clone(selector).set_params(task=target.task)
    scoring = scoring or ("accuracy" if classes else "r2")
    scorer = get_scorer(scoring)
    if estimator is None:
        scaler = MaxAbsScaler() if hasattr(X, "nnz") else StandardScaler()
        estimator = make_pipeline(scaler, LogisticRegression(max_iter=1000) if classes else Ridge())
    ranked = _ranked(selector, X, y)
    tried = sorted(set(SIZES if sizes is None else sizes))
    for size in tried:
        check("size_path", "sizes", size, Number(1, integer=True))
    tried = [size for size in tried if size <= len(ranked[0])]
    if not tried:
        raise InputError(
            f"the ranking has {len(ranked[0])} features, fewer than every size; give smaller sizes"
        )
    folds = check_cv(cv, y, classifier=classes)
    scores: list[list[float]] = []
    for train, test in folds.split(X, y):
        order = _ranked(selector, _rows(X, train), _rows(y, train))[0]
        scores.append([])
        for size in tried:
            columns = order[:size]  # all of them, if fewer are ranked
            fitted = clone(estimator).fit(_cells(X, train, columns), _rows(y, train))
            scores[-1].append(scorer(fitted, _cells(X, test, columns), _rows(y, test)))
    return SizePath(tried, np.array(scores, dtype=np.float64), ranked[1], scoring)


def _ranked(selector: Any, X: Any, y: Any) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Fit a copy of a selector; return its ranking by number and by name."""
    fitted = clone(selector).fit(X, y)
    if not hasattr(fitted, "ranking_"):
        raise ParameterError(
            f"{type(selector).__name__} does not rank its features; use one that does, such as "
            "Sieve() or MRMR(n_features=100)"
        )
    ranking = np.asarray(fitted.ranking_, dtype=np.int64)
    if not len(ranking):
        raise InputError(f"{type(selector).__name__} kept no feature, so there is nothing to rank")
    return ranking, [fitted.log_.names[int(f)] for f in ranking]


def _rows(table: Any, rows: npt.NDArray[np.int64]) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _cells(X: Any, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Any:
    if is_frame(X) and hasattr(X, "iloc"):
        return X.iloc[rows, columns]
    return X[rows][:, columns]
