"""Learners that keep few features: a given number, or a number chosen from the stream.

`KeptLearner` is the base of SOFS, MergedSOFS, PET and FOFS. With ``n_features="auto"`` its model is
`SideBySide`: several sizes learn in one pass, a model for each. Which rows had loss depends on what
a model kept, so the sizes share nothing but the rows. The size in use is the smallest one whose
recent errors are within a standard error of the fewest; it depends on the rows seen so far,
whatever chunks they came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import Compressed
from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, check
from tamis.kernels import binary, heap
from tamis.kernels.threads import over_columns
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.progressive import Recent, RecentLosses
from tamis.methods.online.weights import MOST_SLOTS, Floats, Goals, Ints, KeptWeights, Learned

#: The sizes that "auto" tries by default.
SIZES = tuple(2**k for k in range(2, 13))

#: Sums of a model of numbers.
_SUMS = [binary.ERRORS, binary.LOSSES, binary.SQUARED_LOSSES]

SIZE = Number(1, MOST_SLOTS, integer=True)


class Several:
    """Models that share nothing but the rows."""

    models: list[KeptWeights]

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Grow the tables to features 0 to n_columns - 1."""
        for model in self.models:
            model.reach(n_columns, more_may_come=more_may_come)

    def predict_numbers(self, epsilon: float | None) -> None:
        """Predict numbers, with the squared error as loss, or with this epsilon."""
        for model in self.models:
            model.predict_numbers(epsilon)


class SideBySide(Several):
    """Models of several sizes that learn from the same rows; the best of them answers."""

    def __init__(self, models: Sequence[KeptWeights]) -> None:
        self.models = list(models)
        self.blocks = self.models[0].blocks
        self.recent: Recent = Recent(len(self.models))
        #: The model that was best at the last power of two, and the work of those that led.
        self.lead = np.zeros(1, dtype=np.int64)
        self.work = np.zeros(heap.N_COUNTS, dtype=np.int64)

    def predict_numbers(self, epsilon: float | None) -> None:
        """Predict numbers, with the squared error as loss, or with this epsilon."""
        super().predict_numbers(epsilon)
        self.recent = RecentLosses(len(self.models))
        #: Errors and losses of the models that led before, and those that the present one had
        #: when it took the lead: differences of chunks would be rounded differently.
        self.led, self.since = np.zeros(len(_SUMS)), np.zeros(len(_SUMS))

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Update every model with the rows, and count its mistakes at powers of two."""
        for lo, hi in self.recent.cuts(int(self.models[0].counts[heap.ROWS]), len(rows)):
            part, labels = rows.part(lo, hi), goals[lo:hi]

            def some(
                first: int, last: int, part: Compressed = part, labels: Goals = labels
            ) -> None:
                for model in self.models[first:last]:
                    model.learn(part, labels, rates, uniform)

            lead = self.models[int(self.lead[0])]
            before = lead.counts.copy()
            # Threads split models, which share nothing.
            over_columns(some, np.arange(len(self.models) + 1) * part.stored)
            self.work += lead.counts - before
            seen = int(lead.counts[heap.ROWS])
            self.recent.record(seen, self.recent.totals(self.models))
            if seen & (seen - 1) == 0:
                self.lead[0] = self.recent.first_good()
                if len(lead.fit):
                    self.led += lead.fit[_SUMS] - self.since
                    self.since[:] = self.models[int(self.lead[0])].fit[_SUMS]

    @property
    def chosen(self) -> KeptWeights:
        """The model of the size in use."""
        return self.models[self.recent.first_good()]

    @property
    def size(self) -> int:
        """The size in use."""
        return self.chosen.size

    @property
    def fit(self) -> Floats:
        """The state for numbers of the size in use, with the errors of those that led."""
        fit = self.chosen.fit.copy()
        if len(fit):
            fit[_SUMS] = self.led + self.models[int(self.lead[0])].fit[_SUMS] - self.since
        return fit

    @property
    def counts(self) -> Ints:
        """Counted work of the models that led, each from one power of two of rows to the next.

        So mistakes are those of predictions that were made, not those of the size that won.
        """
        return self.work

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        return self.chosen.scores(rows)

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions."""
        return self.chosen.learned()


class KeptLearner(OnlineLearner):
    """A learner whose model holds at most `n_features` features.

    Parameters
    ----------
    n_features : int or "auto", default=500
        B above. With "auto" all of `sizes` learn side by side, each a model of its own, and the
        smallest one is used whose progressive error (predictions made before the row was learned,
        on the latest half of the rows or a little more) is within one standard error of the
        fewest. That takes the time and the memory of as many models as there are sizes: eleven
        times four bytes per column by default. Rows that come again (`passes`) count like new
        ones, which favours large sizes.
    sizes : sequence of int, optional
        The sizes that "auto" tries; default: 4, 8, 16, ..., 4096.

    Attributes
    ----------
    n_features_ : int
        B; with "auto" the size in use.
    size_curve_ : dict
        Progressive error of each size that was tried, for numbers the mean loss; `work_` is that
        of the sizes that led.
    """

    ranges: ClassVar = {"n_features": (SIZE, OneOf(("auto",)))}

    model: KeptWeights | SideBySide

    def __init__(
        self, n_features: int | str = 500, *, sizes: Sequence[int] | None = None, **options: Any
    ) -> None:
        OnlineLearner.__init__(self, **options)
        self.n_features, self.sizes = n_features, sizes

    @property
    def n_features_(self) -> int:
        """How many features may be kept: as given, or with "auto" as chosen so far."""
        return self.model.size

    @property
    def size_curve_(self) -> dict[int, float]:
        """Progressive error (mean loss) of each size that "auto" tries, or of the one given.

        With "auto" the rows that count are those after the first p of the t rows seen, where p is
        the largest power of two up to t/2; otherwise all.
        """
        model = self.model
        if isinstance(model, SideBySide):
            errors = model.recent.errors.tolist()
            return {one.size: error for one, error in zip(model.models, errors, strict=True)}
        return {model.size: self.progressive_error()}

    def new_model(self, blocks: int) -> KeptWeights | SideBySide:
        """Return a model of the given size, or of several sizes."""
        if self.n_features == "auto":
            sizes = SIZES if self.sizes is None else self.sizes
            different = sorted({int(size) for size in sizes})
            return SideBySide([self.new_kept(size, blocks) for size in different])
        return self.new_kept(int(self.n_features), blocks)

    def new_kept(self, size: int, blocks: int) -> KeptWeights:
        """Return a model of the given size."""
        return KeptWeights(size, blocks, second_order=self.second_order)

    def check_params(self) -> None:
        """Check the sizes too."""
        super().check_params()
        if self.sizes is None:
            return
        if self.n_features != "auto":
            raise ParameterError(
                f"{self.public_name}: sizes= are for n_features='auto', but "
                f"n_features={self.n_features!r}; give one of the two"
            )
        sizes = list(self.sizes)
        if not sizes:
            raise ParameterError(f"{self.public_name}: sizes= is empty; give one size or more")
        for size in sizes:
            check(self.public_name, "sizes", size, SIZE)
