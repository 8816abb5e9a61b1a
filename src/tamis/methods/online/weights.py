"""Weights of online learners: of the kept features, of all features, or of a listed few.

Each class holds plain arrays and calls the kernels that update and score them. `to_arrays` and
`from_arrays` save and restore a model at any row, for checkpoints, without pickle. Called by the
learners of this folder and by `tamis.engine.learning`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.kernels import binary, heap, multiclass
from tamis.kernels import row_scoring as kernel
from tamis.methods.online.drift import BATCH, Adwin, Trial

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: What rows are to be predicted as: codes of classes, or numbers.
Goals = Ints | Floats
Arrays = dict[str, npt.NDArray[Any]]


#: Marks are float32, which counts without gaps up to here.
MOST_SLOTS = 2**24


class Learned(NamedTuple):
    """The features with a weight, in order, their weights, and precisions where a model has any."""

    features: Ints
    weights: Floats
    precision: Floats


class Zeros:
    """A table of zeros with spare rows, in which untouched memory costs nothing.

    The system provides memory when it is first written to. Growing copies the nonzeros, and only
    those are saved with a model.

    >>> table = Zeros(1, np.float32)
    >>> table.reach(3); table.view[1] = 5; table.reach(4); table.view.ravel().tolist()
    [0.0, 5.0, 0.0, 0.0]
    """

    def __init__(self, width: int, dtype: npt.DTypeLike) -> None:
        self._table = np.zeros((0, width), dtype=dtype)
        self._height = 0

    @property
    def view(self) -> npt.NDArray[Any]:
        """The rows in use."""
        return self._table[: self._height]

    def reach(self, height: int, *, more_may_come: bool = False) -> None:
        """Grow to at least `height` rows; with `more_may_come`, to twice as many.

        Without spare rows every new highest feature would copy the table, and two would be held
        at that moment. Spare rows cost nothing until they are written to.
        """
        if height > len(self._table):
            for room in [2 * height, height] if more_may_come or self._height else [height]:
                try:
                    bigger = np.zeros((room, self._table.shape[1]), dtype=self._table.dtype)
                    break
                except (MemoryError, ValueError, OverflowError):
                    continue
            else:
                raise InputError(
                    f"there is not enough memory for {height:,} features; give n_bits= (for "
                    "example 28) to hash them into fewer"
                )
            kernel.copy_filled(self._table.reshape(-1), bigger.reshape(-1))
            self._table = bigger
        self._height = max(self._height, height)

    # Only the nonzeros are pickled and saved.
    def __getstate__(self) -> dict[str, Any]:
        flat = self.view.reshape(-1)
        filled = np.flatnonzero(flat)
        shape, dtype = self.view.shape, self._table.dtype
        return {"shape": shape, "dtype": dtype, "filled": filled, "values": flat[filled]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._height = state["shape"][0]
        self._table = np.zeros(state["shape"], dtype=state["dtype"])
        self._table.reshape(-1)[state["filled"]] = state["values"]


class Targets:
    """Whether weights are for classes or for a number: the state `fit` of the latter."""

    #: Empty for classes; see `tamis.kernels.binary`.
    fit: Floats = np.zeros(0)

    def predict_numbers(self, epsilon: float | None) -> None:
        """Predict numbers, with the squared error as loss, or with this epsilon."""
        self.fit = np.zeros(binary.N_FIT)
        self.fit[binary.EPSILON] = epsilon or 0.0
        self.fit[binary.ROBUST] = epsilon is not None

    @property
    def intercept(self) -> float:
        """What is added to every score; 0 for classes."""
        return float(self.fit[binary.INTERCEPT]) if len(self.fit) else 0.0

    def shifted(self, scores: Floats) -> Floats:
        """Return scores with the intercept."""
        return scores + self.intercept if len(self.fit) else scores


class KeptWeights(Targets):
    """At most `size` features with k weights each; the weights of all others are zero.

    `marks` has one row per feature: its slot if it is kept, and in second-order models its
    accumulated precisions if it is not. `held` has the precisions of the kept features.
    """

    def __init__(self, size: int, blocks: int, *, second_order: bool) -> None:
        self.size, self.blocks = size, blocks
        self.marks = Zeros(blocks if second_order else 1, np.float32)
        self.held = np.zeros((size + 1, blocks if second_order else 0), dtype=np.float32)
        self.weight = np.zeros((size + 1, blocks))
        self.feature = np.full(size + 1, -1, dtype=np.int64)
        self.order = np.zeros(size, dtype=np.int64)
        self.where = np.zeros(size + 1, dtype=np.int64)
        self.bound = np.zeros(size + 1)
        self.key = np.zeros(size + 1)
        self.serial = np.zeros(size + 1, dtype=np.int64)
        self.counts = np.zeros(heap.N_COUNTS, dtype=np.int64)
        self.scale = np.array([1.0, 0.0, 0.0])

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Grow the tables to features 0 to n_columns - 1."""
        self.marks.reach(n_columns, more_may_come=more_may_come)

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Take steps at the rates (gamma,) in a second-order model, else (eta, lam).

        With lam = 0 weights are neither shrunk nor projected.
        """
        data = (rows.indptr, rows.indices, rows.data, goals, *rates)
        kept = (self.feature, self.order, self.where, self.bound)
        keys = (self.key, self.serial, self.counts)
        marks, held, weight = self.marks.view, self.held, self.weight
        if held.shape[1] and self.blocks == 1:
            tables = (marks[:, 0], held[:, 0], weight[:, 0])
            binary.learn_second_order(*data, *tables, *kept, self.serial, self.counts, self.fit)
        elif held.shape[1]:
            multiclass.learn_second_order(*data, uniform, marks, held, weight, *kept, *keys)
        elif self.blocks == 1:
            of_one = (marks[:, 0], weight[:, 0])
            binary.learn_first_order(*data, *of_one, *kept, *keys, self.scale, self.fit)
        else:
            multiclass.learn_first_order(*data, uniform, marks, weight, *kept, *keys, self.scale)

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        found = np.zeros((len(rows), self.blocks))
        # Scale the weights as for saving, so that a saved model gives the same bits.
        weight = self.weight if self.scale[0] == 1.0 else self.weight * self.scale[0]
        kernel.score_kept(rows.indptr, rows.indices, rows.data, self.marks.view, weight, found)
        return self.shifted(found)

    def slots(self) -> Ints:
        """Return the slots of the kept features, in the order of the features."""
        used = np.arange(1, self.counts[heap.SIZE] + 1)
        return used[np.argsort(self.feature[used])]

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions."""
        slots = self.slots()
        weights = self.weight[slots] * self.scale[0]
        return Learned(self.feature[slots], weights, self.held[slots].astype(np.float64))


class RememberedWeights(KeptWeights):
    """At most `size` features that score, and what was learned about all the others.

    `marks` has one row per feature: k precisions, then k means. Of a kept feature the first is its
    slot, and `held` and `weight` have its numbers.
    """

    def __init__(self, size: int, blocks: int, drift: float | None = None) -> None:
        super().__init__(size, blocks, second_order=True)
        self.watch = None if drift is None else Adwin(drift)
        #: With `drift`: a model that began afresh when errors had risen, and how it does.
        self.fresh = None if drift is None else RememberedWeights(size, blocks)
        self.trial = None if drift is None else Trial()
        self.marks = Zeros(2 * blocks, np.float32)
        self.weight = np.zeros((size + 1, blocks), dtype=np.float32)
        #: Strength of the strongest feature so far; sum of squares of rows with loss; their number.
        self.scale = np.zeros(3)

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Grow the tables to features 0 to n_columns - 1."""
        super().reach(n_columns, more_may_come=more_may_come)
        if self.fresh is not None:
            self.fresh.reach(n_columns, more_may_come=more_may_come)

    def predict_numbers(self, epsilon: float | None) -> None:
        """Predict numbers, with the squared error as loss, or with this epsilon."""
        super().predict_numbers(epsilon)
        if self.fresh is not None:
            self.fresh.predict_numbers(epsilon)

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Take steps at the rates (gamma, advantage, floor); with `drift`, follow changes."""
        if self.watch is None:
            self._learn(rows, goals, rates, uniform)
            return
        assert self.fresh is not None
        assert self.trial is not None
        for lo, hi in self.watch.cuts(int(self.counts[heap.ROWS]), len(rows)):
            models = [self, self.fresh] if self.trial.running else [self]
            for model in models:
                model._learn(rows.part(lo, hi), goals[lo:hi], rates, uniform)
            seen = int(self.counts[heap.ROWS])
            if seen % BATCH == 0:
                self._follow(self.watch, self.trial, self.fresh, seen)

    def _follow(self, watch: Adwin, trial: Trial, fresh: RememberedWeights, seen: int) -> None:
        """After a batch: replace this model by the fresh one if that is ahead; look for a change.

        When errors have risen, all variances are those of the beginning again, so that the model
        can move, and a fresh model begins to learn beside it.
        """
        if trial.running:
            won = trial.record(seen, *self._costs(fresh))
            if won:
                self._become(fresh)
                watch.start_again(self._wrong)
            if won or not trial.running:
                fresh._forget()
            if won:
                return
        if watch.record(seen, self._wrong):
            if not trial.ahead:
                fresh._forget()
                trial.begin(seen, self._costs(fresh)[0])
            self._doubt()

    @property
    def _wrong(self) -> int:
        """Mistakes so far."""
        return int(self.counts[heap.MISTAKES])

    def _costs(self, other: RememberedWeights) -> tuple[float, float, bool]:
        """Return the mistakes of two models so far, or for numbers their losses, and which."""
        if len(self.fit):
            losses = self.fit[binary.LOSSES], other.fit[binary.LOSSES]
            return float(losses[0]), float(losses[1]), True
        return self._wrong, other._wrong, False

    def _become(self, other: RememberedWeights) -> None:
        """Take what another model has learned, and give it one's own; counts of work stay."""
        for name in _LEARNED:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)
        self.counts[heap.SIZE] = other.counts[heap.SIZE]
        self.counts[heap.SERIAL] += other.counts[heap.SERIAL]
        if len(self.fit):
            self.fit[_FIT_OF_MODEL] = other.fit[_FIT_OF_MODEL]

    def _doubt(self) -> None:
        """Forget how sure the model is; weights and the kept set stay."""
        kernel.clear_precisions(self.marks.view, self.blocks)
        self.held[...] = 0
        self.scale[binary.STRONGEST] = 0
        if len(self.fit):  # the intercept moves as it did after one batch
            self.fit[binary.SEEN] = min(float(self.fit[binary.SEEN]), float(BATCH))
        used = np.arange(1, self.counts[heap.SIZE] + 1)
        each = np.square(self.weight[used].astype(np.float64).T)
        strength = each[0]
        if self.blocks > 1:  # in the order of the classes, as the kernels add them
            strength = np.sqrt(sum((z * z for z in each), np.zeros(len(used))))
        self.key[used] = self.bound[used] = strength
        order = used[np.lexsort((-self.serial[used], strength))]
        self.order[: len(order)] = order
        self.where[order] = np.arange(len(order))

    def _forget(self) -> None:
        """Forget everything."""
        height = len(self.marks.view)
        self.marks = Zeros(2 * self.blocks, np.float32)
        self.marks.reach(height)
        for table in (self.held, self.weight, self.bound, self.key, self.scale, self.counts):
            table[...] = 0
        self.feature[...] = -1
        self.fit[binary.SEEN :] = 0

    def _learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        data = (rows.indptr, rows.indices, rows.data, goals, *rates)
        kept = (self.feature, self.order, self.where, self.bound)
        rest = (self.key, self.serial, self.counts, self.scale)
        marks, held, weight = self.marks.view, self.held, self.weight
        if self.blocks == 1:
            tables = (marks.reshape(-1), held[:, 0], weight[:, 0])  # views
            binary.learn_by_strength(*data, *tables, *kept, *rest, self.fit)
        else:
            multiclass.learn_by_strength(*data, uniform, marks, held, weight, *kept, *rest)

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        found = np.zeros((len(rows), self.blocks))
        data = (rows.indptr, rows.indices, rows.data)
        # As float64, like the weights of a saved model.
        kernel.score_kept(*data, self.marks.view, self.weight.astype(np.float64), found)
        return self.shifted(found)

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions."""
        slots = self.slots()
        weights = self.weight[slots].astype(np.float64)
        return Learned(self.feature[slots], weights, self.held[slots].astype(np.float64))


#: What a model has learned, and those positions of `fit` that belong to it.
_LEARNED = (
    "marks",
    "held",
    "weight",
    "feature",
    "order",
    "where",
    "bound",
    "key",
    "serial",
    "scale",
)
_FIT_OF_MODEL = [
    binary.SEEN, binary.INTERCEPT, binary.CONSTANT, *range(binary.SIZE_OF_ERRORS, binary.N_FIT)
]  # fmt: skip


class FullWeights(Targets):
    """Every feature with its k weights and, for second-order models, its k precisions."""

    def __init__(self, blocks: int, *, second_order: bool) -> None:
        self.blocks = blocks
        self.weight = Zeros(blocks, np.float64)
        self.held = Zeros(blocks, np.float32) if second_order else None
        self.counts = np.zeros(heap.N_COUNTS, dtype=np.int64)

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Grow the tables to features 0 to n_columns - 1."""
        for table in filter(None, (self.weight, self.held)):
            table.reach(n_columns, more_may_come=more_may_come)

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Take steps at the rates (gamma,) in a second-order model, else (eta, decay).

        With `decay` the rate is eta/sqrt(t).
        """
        rate, decay = rates if self.held is None else (*rates, False)
        data = (rows.indptr, rows.indices, rows.data, goals, rate, decay)
        weight = self.weight.view
        held = np.empty((0, self.blocks), np.float32) if self.held is None else self.held.view
        if self.blocks == 1:
            binary.learn_full(*data, weight[:, 0], held[:, 0], self.counts, self.fit)
        else:
            multiclass.learn_full(*data, uniform, weight, held, self.counts)

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        found = np.zeros((len(rows), self.blocks))
        kernel.score_full(rows.indptr, rows.indices, rows.data, self.weight.view, found)
        return self.shifted(found)

    def learned(self) -> Learned:
        """Return the features with a nonzero weight, their weights and their precisions."""
        kept = np.unique(np.flatnonzero(self.weight.view) // self.blocks)
        weights = self.weight.view[kept]
        held = np.empty(0) if self.held is None else self.held.view[kept].astype(np.float64)
        return Learned(kept, weights, held)


class ListedWeights:
    """Weights of a few features among any number, found by hashing their numbers.

    Memory is that of the listed features, whatever the number of columns.
    """

    def __init__(self, features: Ints, weights: Floats, intercept: float | None = None) -> None:
        self.blocks, self.intercept = weights.shape[1], intercept
        self.weights = np.ascontiguousarray(weights)
        self._bits = max(1, int(2 * len(features)).bit_length())
        self._keys = np.zeros(2**self._bits, dtype=np.int64)
        self._slots = np.full(2**self._bits, -1, dtype=np.int64)
        kernel.fill_table(features, self._bits, self._keys, self._slots)

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        found = np.zeros((len(rows), self.blocks))
        data = (rows.indptr, rows.indices, rows.data)
        kernel.score_listed(*data, self._bits, self._keys, self._slots, self.weights, found)
        return found if self.intercept is None else found + self.intercept


def to_arrays(model: Any) -> Arrays:
    """Return every array of a model by name; of large tables only the nonzeros."""
    found: Arrays = {}
    for name, value in _parts(model, "model"):
        if isinstance(value, np.ndarray):
            found[name] = value
        else:
            state = value.__getstate__()
            found |= {f"{name}.{part}": np.asarray(state[part]) for part in _SAVED}
    return found


def from_arrays(model: Any, arrays: Arrays) -> None:
    """Fill a new model, of the same parameters, with the arrays of another."""
    for name, value in _parts(model, "model"):
        if isinstance(value, np.ndarray):
            given = arrays[name]
            if given.shape != value.shape or given.dtype != value.dtype:
                raise ValueError(f"{name} has another shape")
            value[...] = given
        else:
            shape, indices, values = (arrays[f"{name}.{part}"] for part in _SAVED)
            height, width = shape.tolist()
            if len(indices) and not 0 <= indices.min() <= indices.max() < height * width:
                raise ValueError(f"{name} holds indices outside its table")
            state = {"shape": (height, width), "filled": indices, "values": values}
            value.__setstate__({**state, "dtype": value.view.dtype})


#: What is saved of a table.
_SAVED = ("shape", "filled", "values")


def _parts(model: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what learning changes in a model and those inside it, arrays and tables, by name."""
    for key, value in enumerate(model) if isinstance(model, list) else vars(model).items():
        ours = hasattr(value, "__dict__") and type(value).__module__.startswith("tamis.")
        if isinstance(value, np.ndarray | Zeros):
            yield f"{name}.{key}", value
        elif ours or isinstance(value, list):
            yield from _parts(value, f"{name}.{key}")
