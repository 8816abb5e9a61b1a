"""Instance learners: rows arrive, the model changes with each, and keeps few features or all.

The verb of the role is `learn`: it takes the next rows. The loop over rows is compiled, so rows may
come in chunks of any size, and the model is the same, bit for bit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError
from tamis.core.params import Nothing, Number, OneOf, Range
from tamis.core.target import refuse_missing
from tamis.kernels import heap
from tamis.kernels.rows import buckets_of
from tamis.methods.base import Selector
from tamis.methods.online import intake
from tamis.methods.online.scoring import RowScorer
from tamis.methods.online.shards import Shards
from tamis.methods.online.sizes import SideBySide
from tamis.methods.online.training import Training
from tamis.methods.online.weights import Floats, FullWeights, Ints, KeptWeights
from tamis.sources.base import Report, silent
from tamis.sources.readers.open_rows import open_rows

#: What can be in force: the kept features, several such sizes or shards side by side, or every
#: feature.
Model = KeptWeights | SideBySide | Shards | FullWeights

#: Parameters that every learner has.
SHARED_RANGES: Mapping[str, Range | Sequence[Range]] = {
    "multiclass": OneOf(("max", "uniform")),
    "passes": Number(1, integer=True),
    "n_columns": (Number(1, integer=True), Nothing()),
    "n_bits": (Number(1, 40, integer=True), Nothing()),
}


class InstanceLearner(RowScorer, Selector):
    """A linear classifier for rows that arrive over time, which is a selector of features too.

    Subclasses say what may be given as parameters (`ranges`), what a model is (`_new_model`), how
    it takes rows (`_take`), and how sure it is of each kept feature (`_confidence`) if that is not
    how large its weights are.

    How wide rows may be: arrays, matrices and frames all have as many columns as the first one. A
    stream of `RowBlock` or of dicts has any number of columns that comes, up to `n_columns` if that
    is given; the model grows. With `n_bits`, feature numbers (64 bits) and words are hashed to
    2**n_bits buckets, and `kept_` holds buckets.
    """

    multiclass: str
    passes: int
    normalize: bool
    n_columns: int | None
    n_bits: int | None
    classes: Sequence[Any] | None

    classes_: npt.NDArray[Any]
    _model: Model
    #: True while the width of rows is whatever comes.
    _open: bool

    #: What river asks of a step of its pipelines: it learns from labels.
    _supervised: ClassVar[bool] = True

    @abstractmethod
    def _new_model(self, blocks: int) -> Model:
        """A model that has seen nothing, with so many weights a feature."""

    @abstractmethod
    def _take(self, rows: Compressed, codes: Ints) -> None:
        """Learn from checked rows of the classes with these numbers."""

    def _confidence(self) -> Floats:
        """How sure the model is of each kept feature, in the order of `kept_`."""
        return np.asarray(np.linalg.norm(self._model.weights, axis=1))

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, from the first to the last, `passes` times; forgets what was before.

        Parameters
        ----------
        X : array, scipy sparse matrix, data frame or RowBlock of shape (n_rows, n_columns)
            The rows.
        y : array-like of shape (n_rows,)
            Their classes; a RowBlock brings its own.
        """
        self._forget()
        labels = self._labels_of(X, y)
        classes = np.unique(labels) if self.classes is None else np.unique(self.classes)
        if len(classes) < 2:
            raise InputError(
                f"y holds one class only, {classes.tolist()}, and there is nothing to learn; "
                "give rows of two classes or more"
            )
        self._begin(classes)
        try:
            self._learn(X, labels, first=True)
        except (TypeError, ValueError):
            self._forget()
            raise
        for _ in range(self.passes - 1):
            self._learn(X, labels, first=False)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from the next rows, once.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : array-like, optional
            All classes that will come; needed in the first call unless given as a parameter.
        """
        fresh = not hasattr(self, "_model")
        labels = self._labels_of(X, y)
        self._know_classes(classes)
        try:
            self._learn(X, labels, first=fresh)
        except (TypeError, ValueError):
            if fresh:
                self._forget()
            raise
        return self

    def learn(self, block: RowBlock) -> Self:
        """Take the next rows of a stream; the block brings the classes of its rows."""
        return self.partial_fit(block)

    def fit_stream(
        self,
        data: Any,
        *,
        passes: int | None = None,
        shuffle: int = 0,
        seed: int = 0,
        classes: Any = None,
        skip_bad_lines: bool = False,
        report: Report = silent,
        format: str | None = None,
        zero_based: bool | Literal["auto"] = "auto",
        **options: Any,
    ) -> Self:
        """Learn from a file, several files, a source or an iterator of row blocks, as they stream.

        The model is the one that `fit` gives on the same rows; what was before is forgotten. Text
        is parsed by threads while the model learns.

        Parameters
        ----------
        data : path, list of paths, Source, or iterator of RowBlock
            The rows; ``-`` is standard input, svmlight text, plain or compressed.
        passes : int, optional
            How often to go over the rows; default: the parameter `passes`. A pipe or an iterator
            can be gone over once.
        shuffle : int, default=0
            Shuffle inside each stretch of so many rows, which are held in memory for it; the
            stretches lie differently in each pass. 0 takes rows in their order.
        seed : int, default=0
            Decides the shuffling.
        classes : array-like, optional
            All classes. If neither these nor the parameter `classes` are given, files are gone over
            once for their labels; of a pipe the first megabytes must show every class, of an
            iterator the first block.
        skip_bad_lines : bool, default=False
            Count lines that cannot be learned from, in `bad_lines_`, and go on; otherwise the first
            is one sentence.
        report : callable, optional
            Called as ``report(what, done, total)``.
        format, zero_based, **options
            How files are read, as for `tamis.open`. Whether svmlight indices count from 0 is told
            by the first megabytes, and an index 0 that turns up later is a bad line.
        """
        self._check_parameters()
        readers = open_rows(data, format, zero_based=zero_based, **options)
        training = Training(
            self, readers, passes=self.passes if passes is None else passes, shuffle=shuffle,
            seed=seed, skip=skip_bad_lines,
        )  # fmt: skip
        try:
            training.start(classes, report)
            for batch in training.batches(report):
                training.take(batch)
            training.finish()
        except (TypeError, ValueError):
            self._forget()
            raise
        return self

    def learn_one(self, x: Mapping[Any, float], y: Any) -> None:
        """Learn from one row, a dict of feature numbers or names to values.

        Names get numbers as they come, or are hashed with `n_bits`. Classes other than True and
        False must be given beforehand, as a parameter or to `partial_fit`.
        """
        fresh, labels = not hasattr(self, "_model"), np.array([y])
        two = fresh and self.classes is None and labels.dtype == np.bool_
        self._know_classes([False, True] if two else None)
        seen = int(self._model.counts[heap.ROWS])
        try:
            codes = self._codes(labels, seen)
            self._one_kind_of_key(x)
            rows = intake.of_dict(x, self._number_of, self.n_bits is not None, seen)
            rows = self._checked(rows, seen)
        except (TypeError, ValueError):
            if fresh:
                self._forget()
            raise
        self._grow(rows, None)
        self._take(self._ready(rows), codes)

    # --- what was learned ----------------------------------------------------------------------

    @property
    def kept_(self) -> Ints:
        """Kept features by number, rising."""
        check_is_fitted(self)
        return self._model.kept

    @property
    def weights_(self) -> Floats:
        """Weights of the kept features: one each for two classes, else one column a class."""
        check_is_fitted(self)
        weights = self._model.weights
        return weights[:, 0] if self._model.blocks == 1 else weights

    @property
    def confidence_(self) -> Floats:
        """How sure the model is of each kept feature, in the order of `kept_`."""
        check_is_fitted(self)
        return self._confidence()

    @property
    def work_(self) -> dict[str, int]:
        """Counted work. `mistakes`: wrong predictions, each made before the row was learned."""
        check_is_fitted(self)
        counts = self._model.counts
        names = ("rows", "updates", "mistakes", "nonzeros", "entered", "heap_steps")
        indices = (heap.ROWS, heap.UPDATES, heap.MISTAKES, heap.NONZEROS, heap.SERIAL, heap.STEPS)
        return {name: int(counts[place]) for name, place in zip(names, indices, strict=True)}

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the kept features, rising in number."""
        check_is_fitted(self)
        if input_features is not None or hasattr(self, "feature_names_in_"):
            # SelectorMixin checks that the names given are the names seen.
            return np.asarray(super(Selector, self).get_feature_names_out(input_features))
        words = {number: word for word, number in self._known_words().items()}
        hashed_columns = self.n_bits is not None and not self._open
        numbers = np.flatnonzero(self._get_support_mask()) if hashed_columns else self.kept_
        return np.array(
            [words.get(j, f"{self._name_prefix}{j + self._name_base}") for j in numbers.tolist()],
            dtype=object,
        )

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        if self.n_bits is not None and not self._open:
            columns = np.arange(self.n_features_in_, dtype=np.int64)
            return np.isin(buckets_of(columns, self.n_bits), self.kept_)
        return super()._get_support_mask()

    # --- small steps ---------------------------------------------------------------------------

    def _forget(self) -> None:
        for stale in (
            "_model", "classes_", "n_features_in_", "feature_names_in_", "_open", "_vocabulary",
            "_keys", "_name_prefix", "_name_base", "bad_lines_", "curve_",
        ):  # fmt: skip
            self.__dict__.pop(stale, None)

    def _begin(self, classes: npt.NDArray[Any]) -> None:
        """Start a model for these classes."""
        self._check_parameters()
        self.classes_ = classes
        self._model = self._new_model(1 if len(classes) == 2 else len(classes))
        self._open = True
        self._vocabulary: dict[str, int] = {}
        self.n_features_in_ = 0
        if self.n_bits is not None:
            self.n_features_in_ = 2**self.n_bits
            self._model.reach(2**self.n_bits)
        elif self.n_columns is not None:
            self.n_features_in_ = self.n_columns
            self._model.reach(self.n_columns)

    def _know_classes(self, classes: Any) -> None:
        """Begin with the classes given, or check that they are those that were."""
        given = self.classes if classes is None else classes
        known = None if given is None else np.unique(np.asarray(given))
        if hasattr(self, "_model"):
            if known is not None and known.tolist() != self.classes_.tolist():
                raise InputError(
                    f"`classes={known.tolist()}` is not the same as on the last call "
                    f"to partial_fit, was: {self.classes_.tolist()}"
                )
            return
        if known is None:
            raise InputError(
                "classes must be passed on the first call to partial_fit: the rows that come "
                "first may not show every class"
            )
        if len(known) < 2:
            raise InputError(f"classes={known.tolist()} holds one class only; give two or more")
        self._begin(known)

    def _learn(self, X: Any, labels: npt.NDArray[Any], *, first: bool) -> None:
        """Check everything, then take it."""
        codes = self._codes(labels, X.first if isinstance(X, RowBlock) else 0)
        for begin, rows in self._rows_of(X, first=first, grow=self._grow):
            self._take(rows, codes[begin : begin + len(rows)])

    def _labels_of(self, X: Any, y: Any) -> npt.NDArray[Any]:
        if y is None and isinstance(X, RowBlock):
            y = X.y
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if isinstance(X, RowBlock) and isinstance(y, np.ndarray) and y.ndim == 1 and self._begun():
            labels = y  # blocks are many: that each label is a class is checked, and no more
        else:
            labels = np.asarray(column_or_1d(y, warn=True))
            refuse_missing(labels)
            check_classification_targets(labels)
        n_rows = intake.height_of(X)
        if n_rows is not None and n_rows != len(labels):
            raise InputError(
                f"X has {n_rows} rows but y has {len(labels)}: inconsistent numbers of samples; "
                "give one class for each row"
            )
        return labels

    def _begun(self) -> bool:
        return hasattr(self, "_model")

    def _codes(self, labels: npt.NDArray[Any], first: int) -> Ints:
        """Numbers of the classes of rows, or one sentence about the first that is none."""
        codes = intake.codes_of(self.classes_, labels)
        wrong = np.flatnonzero(codes < 0)
        if len(wrong):
            raise InputError(
                f"row {first + int(wrong[0])} has the class {labels[wrong[0]].item()!r}, which is "
                f"not among the classes {self.classes_.tolist()}"
            )
        return codes

    def _grow(self, rows: Compressed | None, width: int | None) -> None:
        """Make room for the features of rows."""
        if self.n_bits is not None:
            return
        needed = width or 0
        if rows is not None and len(rows.indices):
            # Rows rise, so the last entry of each is its highest; an empty row repeats another's.
            ends = rows.indptr[1:][rows.indptr[1:] > rows.indptr[:-1]]
            needed = max(needed, int(rows.indices[ends - 1].max()) + 1) if len(ends) else needed
        self._model.reach(needed, more_may_come=self._open and self.n_columns is None)
        if self._open:
            self.n_features_in_ = max(self.n_features_in_, needed)

    # --- dicts ---------------------------------------------------------------------------------

    def _number_of(self, word: str) -> int | None:
        words = self._known_words()
        if word not in words:
            if not self._open or len(words) == self.n_columns:
                raise InputError(
                    f"feature {word!r} is new, but there are {self.n_features_in_} features"
                )
            words[word] = len(words)
        return words[word]

    def _one_kind_of_key(self, x: Mapping[Any, float]) -> None:
        """Numbers and names cannot share the numbers of features."""
        kinds = {"names" if isinstance(key, str) else "numbers" for key in x}
        kinds |= {getattr(self, "_keys", kind) for kind in kinds}
        if len(kinds) > 1 and self.n_bits is None:
            raise InputError("features are called by numbers and by names; use one of them")
        if kinds:
            self._keys = kinds.pop()
