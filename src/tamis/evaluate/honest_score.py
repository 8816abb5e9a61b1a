"""Judge a selection by cross-validation of the whole procedure.

A score on the rows that a selection saw is too high: of thousands of useless features some fit
these rows by chance, and they are the ones that are kept. Here every fold selects anew, with
encoding and all, from its training rows only, and the score is that of its test rows.

The score of a fold is built so that the mean over the folds of a repeat is the score of all rows,
each predicted once. With F folds, n_c rows of class c of K, and N rows:

* balanced accuracy: 1 - F * sum over the wrong test rows of 1 / (K n_c);
* R squared: 1 - F * sum over the test rows of (y - prediction)^2 / (N variance of y).

Folds share training rows, so their scores are not independent. The standard error is that of
Nadeau and Bengio, s * sqrt(1 / J + test rows / training rows) for J folds with standard deviation
s, and never below the binomial standard error of the recalls; the interval has J - 1 degrees of
freedom.

References
----------
C. Nadeau, Y. Bengio. Inference for the Generalization Error. Machine Learning 52, 2003.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.core.judged import Judged, Score
from tamis.core.params import OneOf, check
from tamis.core.target import Target
from tamis.engine.runs import Run
from tamis.evaluate.protocol import Fold, fold_seed, make_folds, parse_cv
from tamis.evaluate.repeating import Repeated, repeated, results_of
from tamis.sources.aside import original_positions
from tamis.sources.base import ColumnSource, Progress, silent

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: What predicts, by name.
MODELS = ("linear", "forest")

#: The largest table, in stored numbers, for which all features are judged too.
MOST_CELLS = 100_000_000

CLASSES, NUMBERS = "balanced accuracy", "R squared"

#: What progress is called, and the sets of features that are scored.
JUDGING, SCORED = "judging folds", ("kept", "every", "random")

#: Three times five folds.
CV = "3x5"


def judge(
    data: Any,
    selector: Any = "sieve",
    y: Any = None,
    *,
    cv: str | int = CV,
    model: Any = "linear",
    row_groups: Any = None,
    random_state: int = 0,
    cluster: Any = None,
    progress: Progress = silent,
    **how: Any,
) -> Judged:
    """Score a selection on rows that it did not see, by nested cross-validation.

    In each fold features are selected from the training rows, the model is fitted to the kept ones,
    and its predictions of the test rows are scored; so are those of all features, and of as many
    features at random.

    Parameters
    ----------
    data, selector, y
        As for `tamis.select`; or a run in place of the selector, which is done again.
    cv : str or int, default="3x5"
        Folds: three times five, with the rows in another order each time.
    model : {"linear", "forest"} or scikit-learn estimator, default="linear"
        What predicts. "linear" is logistic regression, or ridge regression whose penalty is chosen
        inside the fold, with scaled columns, words as columns of 0 and 1, and medians for missing
        values. "forest" is a random forest of 200 trees. Classes have equal weight.
    row_groups : name of a column or array-like, optional
        Rows that belong together, such as those of one patient: they stay in one fold.
    random_state : int, default=0
        Seed of the folds and the random features.
    cluster : str or dask.distributed.Client, optional
        Where folds are judged, as for `tamis.select`. Does not affect the result.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    **how
        ``task``, ``encode``, ``missing``, ``keep``, ``given`` and the like, as for `tamis.select`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import judge
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 300)), rng.integers(0, 2, 60)
    >>> judged = judge(X, "saola", y)  # nothing but noise
    >>> judged.kept.low < 0.5 < judged.kept.high
    True
    """
    if not isinstance(model, BaseEstimator):
        check("judge", "model", model, OneOf(MODELS))
    if isinstance(selector, Run) and how.get("task") == "auto":
        del how["task"]
    with repeated(data, selector, y, how, row_groups, progress=progress) as repeats:
        work = Folds(repeats, model, random_state)
        folds = work.folds(cv)
        found = results_of(work, folds, JUDGING, cluster=cluster, progress=progress)
        return work.over(folds, found, str(parse_cv(cv)))


def folds_of(
    target: Target, cv: Any, random_state: int, groups: npt.ArrayLike | None = None
) -> list[Fold]:
    """Return repeated folds: stratified for classes, and with groups of rows kept together."""
    if groups is None and target.is_classes:
        return make_folds(np.asarray(target.codes, np.int64), cv, random_state)
    n = target.n_rows
    found: list[Fold] = []
    labels = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    size = n if labels is None else int(labels.max()) + 1
    if size < cv.folds:
        what = "rows" if labels is None else "groups of rows"
        raise InputError(f"{size} {what} cannot be cut into {cv.folds} folds; use fewer (cv=)")
    for repeat in range(cv.repeats):
        seed = fold_seed(random_state, Fold(repeat, 0, np.zeros(0, int), np.zeros(0, int)))
        cutter: Any = KFold(cv.folds, shuffle=True, random_state=seed)
        if labels is not None:
            kind = StratifiedGroupKFold if target.is_classes else GroupKFold
            cutter = kind(cv.folds, shuffle=True, random_state=seed)
        y = target.codes if target.is_classes else np.zeros(n)
        parts = cutter.split(np.zeros((n, 1)), y, labels)
        found += [Fold(repeat, i, np.sort(a), np.sort(b)) for i, (a, b) in enumerate(parts)]
    return found


@dataclass(frozen=True, eq=False)
class Folds:
    """Selects, fits and predicts in one fold after the other."""

    repeated: Repeated
    model: Any
    random_state: int

    def folds(self, cv: str | int) -> list[Fold]:
        """Return the folds."""
        repeats = self.repeated
        return folds_of(repeats.target, parse_cv(cv), self.random_state, repeats.groups)

    def one(self, item: Fold, cluster: Any = None) -> dict[str, Any]:
        """Return what a fold keeps, what is lost with it and with others, and how often."""
        kept, every = self.selected(item, cluster)
        rng = np.random.default_rng(fold_seed(self.random_state, item))
        drawn = np.sort(rng.choice(every, min(len(kept), len(every)), replace=False))
        wrong, missed = {}, {}
        for name, features in zip(SCORED, (kept, every, drawn), strict=True):
            if name == "every" and not self.table.whole:
                continue
            losses = self.losses(item, features)
            wrong[name] = float(losses.sum())
            missed[name] = self.by_class(item.test[losses > 0])
        return {"kept": len(kept), "every": len(every), "wrong": wrong, "missed": missed}

    def over(self, folds: Sequence[Fold], found: Sequence[dict[str, Any]], cv: str) -> Judged:
        """Return the scores over all folds."""
        ratio = float(np.mean([len(f.test) / len(f.train) for f in folds]))
        repeats = 1 + max(f.repeat for f in folds)
        per_repeat = np.array([sum(f.repeat == one.repeat for f in folds) for one in folds])
        scores: dict[str, Any] = dict.fromkeys(SCORED)
        for name in found[0]["wrong"]:
            wrong = per_repeat * np.array([one["wrong"][name] for one in found])
            missed = np.sum([one["missed"][name] for one in found], axis=0) / repeats
            scores[name] = score_of(1 - wrong, ratio, self.binomial(missed))
        target = self.repeated.target
        return Judged(
            CLASSES if target.is_classes else NUMBERS, _called(self.model), cv, **scores,
            n_kept=float(np.mean([one["kept"] for one in found])), n_features=found[-1]["every"],
            n_rows=target.n_rows,
        )  # fmt: skip

    def selected(self, fold: Fold, cluster: Any = None) -> tuple[Ints, Ints]:
        """Return the columns that a selection from the training rows keeps, and all candidates."""
        run = self.repeated.selected(fold.train, cluster)
        place = run.source.get("arranged")
        kept, every = run.log.replay(), list(range(len(run.log)))
        if place is not None:
            kept, every = original_positions(place, kept), original_positions(place, every)
        return np.array(sorted(kept), np.int64), np.array(sorted(every), np.int64)

    @functools.cached_property
    def table(self) -> Table:
        """The values of the columns."""
        return Table.of(self.repeated.columns)

    @property
    def y(self) -> npt.NDArray[Any]:
        """The target as codes of classes, or as numbers."""
        target = self.repeated.target
        return np.asarray(target.codes if target.is_classes else target.values)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs; it reads the values itself."""
        own = {name: vars(self)[name] for name in ("model", "random_state")}
        return own | {"repeated": replace(self.repeated, run=None)}

    def losses(self, fold: Fold, features: Ints) -> Floats:
        """Return the loss of each test row, as a part of the loss of all rows."""
        X, is_text = self.table.cells(features)
        train, test, y = fold.train, fold.test, self.y
        classes = self.repeated.target.is_classes
        if not len(features) or len(np.unique(y[train])) < 2:
            made: Any = DummyClassifier() if classes else DummyRegressor()
            X = np.zeros((len(y), 1))
        else:
            seed = fold_seed(self.random_state, fold)
            made = make_model(self.model, classes, is_text, sp.issparse(X), seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, and of words that are new
            predicted = made.fit(X[train], y[train]).predict(X[test])
        if classes:
            counts = np.bincount(y)
            weight = 1 / (np.count_nonzero(counts) * np.maximum(counts, 1))
            return np.where(predicted != y[test], weight[y[test]], 0.0)
        error: Floats = (y[test] - predicted) ** 2 / (len(y) * float(np.var(y)))
        return error

    def by_class(self, rows: Ints) -> list[int]:
        """Return how many of some rows are of each class; nothing for numbers."""
        if not self.repeated.target.is_classes:
            return []
        counts: list[int] = np.bincount(self.y[rows], minlength=int(self.y.max()) + 1).tolist()
        return counts

    def binomial(self, missed: npt.NDArray[Any]) -> float:
        """Return the standard error of balanced accuracy if rows were independent, or 0."""
        if not self.repeated.target.is_classes:
            return 0.0
        n = np.bincount(self.y)
        n, missed = n[n > 0], missed[n > 0]
        share = (missed + 2) / (n + 4)  # Agresti and Coull
        return float(np.sqrt(np.sum(share * (1 - share) / (n + 4)))) / len(n)


def score_of(folds: Floats, ratio: float, least: float = 0.0) -> Score:
    """Return the mean of the scores of folds with Nadeau and Bengio's standard error.

    `least` is the least that the error can be; it is above 0 for shares, which are never below 0.
    """
    n, mean = len(folds), float(folds.mean())
    error = max(float(folds.std(ddof=1)) * math.sqrt(1 / n + ratio), least)
    half = float(stats.t.ppf(0.975, n - 1)) * error
    low = max(mean - half, 0.0) if least else mean - half
    return Score(mean, error, low, min(mean + half, 1.0))


# --- the columns of a fold -------------------------------------------------------------------


class Table:
    """The columns of a source as a matrix; read again for each request if they are too many."""

    def __init__(self, columns: ColumnSource, whole: bool) -> None:
        self.columns, self.whole = columns, whole
        self._cells: tuple[Any, npt.NDArray[np.bool_]] | None = None
        if whole:
            self._cells = _gathered(columns.columns(), None)

    @classmethod
    def of(cls, columns: ColumnSource) -> Table:
        """Return the table of a source, in memory if it is not too large."""
        cells = columns.stored if columns.stored is not None else MOST_CELLS + 1
        if columns.n_columns is not None and columns.layout == "dense":
            cells = columns.n_rows * columns.n_columns
        return cls(columns, cells <= MOST_CELLS)

    def cells(self, features: Ints) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Return some columns, and which of them hold words."""
        if self._cells is not None:
            X, is_text = self._cells
            return X[:, features], is_text[features]
        return _gathered(self.columns.columns(), features)


def _gathered(blocks: Any, features: Ints | None) -> tuple[Any, npt.NDArray[np.bool_]]:
    """Return columns of blocks side by side; None for all of them."""
    parts, texts = [], []
    for block in blocks:
        inside = np.arange(block.width)
        if features is not None:
            inside = features[(features >= block.first) & (features < block.first + block.width)]
            inside = inside - block.first
        if not len(inside):
            continue
        some = block.pick(inside)
        is_text = np.zeros(some.width, bool) if some.is_text is None else some.is_text
        texts.append(is_text)
        if isinstance(some.values, Compressed):
            v, shape = some.values, (some.n_rows, some.width)
            parts.append(sp.csc_matrix((v.data, v.indices, v.indptr), shape=shape))
        else:
            parts.append(some.values)
    is_text = np.concatenate([np.zeros(0, bool), *texts])
    if parts and all(sp.issparse(part) for part in parts):
        stacked = sp.hstack(parts, format="csc")
        # Rows are picked again and again, and words and gaps need a dense table.
        small = stacked.nnz * 3 > stacked.shape[0] * stacked.shape[1]
        if not small and not is_text.any() and np.isfinite(stacked.data).all():
            return sp.csc_matrix(stacked), is_text
    dense = [part.toarray() if sp.issparse(part) else part for part in parts]
    return (np.hstack(dense) if dense else np.zeros((0, 0))), is_text


# --- models ----------------------------------------------------------------------------------


def make_model(
    model: Any, classes: bool, is_text: npt.NDArray[np.bool_], sparse: bool, seed: int
) -> Any:
    """Return an unfitted model for columns of which some hold codes of words."""
    if isinstance(model, BaseEstimator):
        return clone(model)
    if model == "forest":
        if classes:
            return RandomForestClassifier(200, random_state=seed, class_weight="balanced")
        return RandomForestRegressor(200, random_state=seed)
    # Classes count equally in the score, so they do in the model.
    last: Any = RidgeCV(np.logspace(-3, 5, 9))
    if classes:
        last = LogisticRegression(max_iter=1000, class_weight="balanced")
    if sparse:
        return make_pipeline(MaxAbsScaler(), last)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    prepare = make_column_transformer(
        (numbers, np.flatnonzero(~is_text)),
        (OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(is_text)),
    )
    return make_pipeline(prepare, last)


def _called(model: Any) -> str:
    return f"{model} model" if isinstance(model, str) else type(model).__name__
