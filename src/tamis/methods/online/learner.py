"""The base of online learners: rows arrive, and each may change the model.

A learner is plain: parameters, a model, and the steps that a training needs (`begin`, `expect`,
`prepare`, `update`). It knows nothing of files or scikit-learn. `tamis.engine.learning` trains it
from streams, and `tamis.estimators.online` gives it the interface of scikit-learn.

The loop over rows is compiled, so rows may come in chunks of any size: the model is the same, bit
for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.core.params import Number, OneOf, Parameters
from tamis.kernels import heap
from tamis.kernels.row_scoring import buckets_of
from tamis.methods.online import row_input
from tamis.methods.online.scorer import NO_END, Columns, LinearScorer, Weights
from tamis.methods.online.weights import (
    Floats,
    FullWeights,
    Goals,
    Ints,
    KeptWeights,
    Learned,
)


class Model(Weights, Protocol):
    """What a learner updates: the weights of all features, of the kept ones, or several such."""

    @property
    def counts(self) -> Ints:
        """Counted work, by `tamis.kernels.heap`."""

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions."""

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Grow the tables to features 0 to n_columns - 1."""

    @property
    def fit(self) -> Floats:
        """The state of a model of numbers, by `tamis.kernels.binary`; empty for classes."""

    def predict_numbers(self, epsilon: float | None) -> None:
        """Predict numbers, with the squared error as loss, or with this epsilon."""

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Take one step per row with loss; goals are codes of classes, or numbers to predict."""


class OnlineLearner(Parameters, LinearScorer, ABC):
    """A linear classifier for rows that arrive over time, which selects features too.

    A learner adds its parameters, their ranges, and how they make a step (`rates`). By default its
    model has weights for every feature. Its constructor calls that of this class by name, because
    its estimator uses it too.

    How wide rows may be: arrays, matrices and frames must all have as many columns as the first.
    Row blocks may have any number of columns, up to `n_columns` if that is given; the model grows.
    A dict may always bring features that were never seen. With `n_bits`, feature numbers (64 bits)
    and names are hashed to 2**n_bits buckets, and `kept_` holds buckets.

    Parameters
    ----------
    multiclass : {"max", "uniform"}
        With more than two classes, which wrong classes a row moves down: the one that scores
        highest, or all that score at least as high as the true one, in equal shares.
    passes : int, default=1
        How often `fit` goes over the rows; `partial_fit` goes over them once.
    normalize : bool, default=False
        Scale every row to length 1.
    n_columns : int, optional
        Number of columns, for a stream that does not give it; higher feature numbers are refused.
    n_bits : int, optional
        Hash feature numbers and names to 2**n_bits buckets, where they are unbounded.
    classes : sequence, optional
        All classes, needed if the first rows may not include every class.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    kept_ : ndarray of int
        Kept features by number, in increasing order.
    kept_names_ : list of str
        Their names; those without one are numbered.
    weights_ : ndarray
        Their weights: one each for two classes, else one column per class.
    confidence_ : ndarray
        How sure the model is of each: |w_j|; with more than two classes the norm of its weights.
    work_ : dict
        Counted work: rows, updates, mistakes, nonzeros of updates, features that entered, heap
        steps.
    """

    ranges: ClassVar = {
        "multiclass": OneOf(("max", "uniform")),
        "passes": Number(1, integer=True),
        "n_columns": (Number(1, integer=True), None),
        "n_bits": (Number(1, 40, integer=True), None),
    }

    #: Values that `tune` tries by default, where they are not the usual ones.
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    #: Whether the model has precisions beside weights.
    second_order: ClassVar[bool] = False

    #: The parameters that make it the method of its paper; None: no paper.
    paper: ClassVar[Mapping[str, Any] | None] = {}

    model: Model

    #: What `Training` records: lines that were skipped, by reason, and the error over the rows.
    bad_lines_: dict[str, int]
    curve_: dict[str, list[float]]
    #: By feature: rows seen when it came first and left last (0: it is kept), how often it came.
    turnover_: dict[int, list[int]]

    def __init__(
        self,
        *,
        multiclass: str = "max",
        passes: int = 1,
        normalize: bool = False,
        n_columns: int | None = None,
        n_bits: int | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    # --- what a learner defines -----------------------------------------------------------------

    @property
    @abstractmethod
    def rates(self) -> tuple[float, ...]:
        """The numbers that make a step, as the model takes them."""

    def new_model(self, blocks: int) -> Model:
        """Return a model that has seen nothing, with so many weights per feature."""
        return FullWeights(blocks, second_order=self.second_order)

    @property
    def confidence_(self) -> Floats:
        """How sure the model is of each kept feature, in the order of `kept_`."""
        return np.asarray(np.linalg.norm(self.model.learned().weights, axis=1))

    # --- the steps of a training ----------------------------------------------------------------

    def begin(self, classes: Any, whose: str = "y") -> None:
        """Start a new model for these classes; `whose` says where they are from, for an error."""
        self.check_params()
        self.classes_ = known = np.unique(np.asarray(classes))
        if len(known) < 2:
            found = f"one class only, {known.tolist()}" if len(known) else "no class"
            raise InputError(
                f"{whose} holds {found}; give all classes with classes= "
                "(--classes), or rows of two or more"
            )
        self._begin(self.new_model(1 if len(known) == 2 else len(known)))

    def _begin(self, model: Model) -> None:
        """Start with a model that has seen nothing."""
        self.model = model
        self.columns = Columns(2**self.n_bits if self.n_bits is not None else self.n_columns or 0)
        self.model.reach(self.columns.width)

    def goals_of(self, labels: npt.NDArray[Any], first: int = 0) -> Goals:
        """Return the codes of classes, or raise an error that names the first unknown class."""
        codes = row_input.codes_of(self.classes_, labels)
        wrong = np.flatnonzero(codes < 0)
        if len(wrong):
            raise InputError(
                f"row {first + int(wrong[0])} has the class {labels[wrong[0]].item()!r}, which is "
                f"not among the classes {self.classes_.tolist()}"
            )
        return codes

    def expect(self, rows: Compressed | None, width: int | None) -> None:
        """Make room for the features of checked rows."""
        if self.n_bits is not None:
            return
        needed = width or 0
        if rows is not None and rows.stored:
            used = rows.indices[rows.indptr[0] : rows.indptr[-1]]
            needed = max(needed, int(used.max()) + 1)
        columns = self.columns
        self.model.reach(needed, more_may_come=columns.is_open and self.n_columns is None)
        if columns.is_open:
            columns.width = max(columns.width, needed)

    def update(self, rows: Compressed, goals: Goals) -> None:
        """Learn from checked and prepared rows of the classes with these codes."""
        self.model.learn(rows, goals, self.rates, self.multiclass == "uniform")

    def learn(self, X: Any, labels: npt.NDArray[Any], first: int = 0) -> None:
        """Check all rows and labels, then learn from them.

        X is a `RowBlock`, a scipy matrix or a table of numbers; `first` is the number of its first
        row, for errors.
        """
        goals = self.goals_of(labels, first)
        for begin, rows in self.checked_parts(X, self.expect):
            self.update(rows, goals[begin : begin + len(rows)])

    def learn_one(self, x: Mapping[Any, float], y: Any) -> None:
        """Learn from one row, a dict of feature numbers or names to values."""
        if self.preparation is not None:
            x = self.preparation.of_dict(x)
        hashed, seen = self.n_bits is not None, self.work_["rows"]
        goals = self.goals_of(np.array([y]), seen)
        if not hashed:
            self.columns.check_keys(x)
        rows = row_input.dict_row(
            x, lambda name: self.columns.number_of(name, self.n_columns), hashed, seen
        )
        rows = self.check(rows, first=seen, limit=self.n_columns or NO_END)
        self.expect(rows, None)
        self.update(self.prepare(rows), goals)
        if hashed:
            self._name_buckets(x)

    def _name_buckets(self, x: Mapping[Any, float]) -> None:
        """Remember the names of a row's buckets that are kept, and forget those of the others."""
        model, known = self.model, self.columns.hashed_names
        if not isinstance(model, KeptWeights):  # every feature is kept, or several models learn
            return
        marks = model.marks.view[:, 0]
        names = [str(key) for key in x if not isinstance(key, Integral)]
        hashes = np.array([row_input.hash_name(name) for name in names], dtype=np.uint64)
        for name, bucket in zip(names, buckets_of(hashes, self.n_bits).tolist(), strict=True):
            if marks[bucket] < 0 and name not in known.setdefault(bucket, []):
                known[bucket].append(name)
        if len(known) > 2 * model.size:
            for bucket in [b for b in known if marks[b] >= 0]:
                del known[bucket]

    #: Return an untrained learner with the same parameters; estimators have this too.
    new_learner = Parameters.clone

    def holding(self, learner: OnlineLearner) -> OnlineLearner:
        """Return a trained learner; an estimator returns an estimator around it."""
        return learner

    # --- what was learned -----------------------------------------------------------------------

    @property
    def kept_(self) -> Ints:
        """Kept features by number, in increasing order."""
        return self.model.learned().features

    @property
    def weights_(self) -> Floats:
        """Weights of the kept features: one each for two classes, else one column per class."""
        weights = self.model.learned().weights
        return weights[:, 0] if self.model.blocks == 1 else weights

    @property
    def work_(self) -> dict[str, int]:
        """Counted work. `mistakes`: wrong predictions, each made before the row was learned."""
        return {name: int(self.model.counts[place]) for name, place in _COUNTS.items()}

    def progressive_error(self) -> float:
        """Return the share of mistakes so far; of numbers the mean loss."""
        work = self.work_
        return work["mistakes"] / max(work["rows"], 1)

    @property
    def kept_names_(self) -> list[str]:
        """Names of the kept features, in the order of `kept_`, also of those that came in dicts."""
        return self.columns.names_of(self.kept_)

    def get_feature_names_out(self) -> npt.NDArray[Any]:
        """Return the names of the kept features, in the order of `kept_`."""
        return np.array(self.kept_names_, dtype=object)


_COUNTS = {
    "rows": heap.ROWS, "updates": heap.UPDATES, "mistakes": heap.MISTAKES,
    "nonzeros": heap.NONZEROS, "entered": heap.SERIAL, "heap_steps": heap.STEPS,
}  # fmt: skip


class SecondOrderLearner(OnlineLearner):
    """A learner that keeps a mean and a variance of each weight: RowSieve, SOFS, AROW.

    Parameters
    ----------
    gamma : float, default=1.0
        The smaller, the larger the steps, and the faster confidence grows.

    Attributes
    ----------
    confidence_ : ndarray
        C_j = 1 - Sigma_j; with k > 2 classes k - sum_i Sigma_ij.
    """

    ranges: ClassVar = {"gamma": Number(0, open_low=True)}
    second_order: ClassVar[bool] = True

    gamma: float

    @property
    def rates(self) -> tuple[float, ...]:
        """Return gamma."""
        return (self.gamma,)

    @property
    def confidence_(self) -> Floats:
        """C_j = 1 - Sigma_j; with k > 2 classes k - sum_i Sigma_ij."""
        return np.asarray(np.sum(1.0 - 1.0 / (1.0 + self.model.learned().precision), axis=1))
