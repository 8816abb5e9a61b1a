"""Several sizes of kept set side by side, for ``n_features="auto"``: one pass, a model for each.

Which rows had loss depends on what a model kept, so the sizes share nothing but the rows. The size
in force is a function of the rows seen so far, whatever chunks they came in: it is the smallest one
whose recent errors are within a standard error of the fewest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tamis.core.blocks import Compressed
from tamis.kernels import heap
from tamis.kernels.threads import over_columns
from tamis.methods.online.weights import Floats, Ints, KeptWeights

#: The sizes that are tried unless others are given: each twice the one before.
SIZES = tuple(2**k for k in range(2, 13))


def stretches(done: int, coming: int) -> Iterator[tuple[int, int]]:
    """Cut the next `coming` rows where the number of rows seen is a power of two.

    >>> list(stretches(0, 6)), list(stretches(6, 4))
    ([(0, 1), (1, 2), (2, 4), (4, 6)], [(0, 2), (2, 4)])
    """
    first = 0
    while first < coming:
        power = 1 << (done + first).bit_length()  # the next one above
        last = min(coming, power - done)
        yield first, last
        first = last


class Recent:
    """Mistakes of several models on the latest half of the rows, or a little more.

    The first rows say how fast a model starts, not how good it gets. With t rows seen, the rows
    that count are those after the first p, where p is the largest power of two up to t/2: between
    half and three quarters of all. What was counted up to two powers of two is all that is held.

    >>> recent = Recent(1)
    >>> for rows, mistakes in ((1, 1), (2, 2), (4, 3), (8, 3), (10, 4)):
    ...     recent.note(rows, np.array([mistakes]))
    >>> recent.rows, recent.mistakes.tolist()
    (6, [1])
    """

    def __init__(self, models: int) -> None:
        #: Rows seen, then the mistakes of each model: two powers of two ago, one ago, and now.
        self.counts = np.zeros((3, 1 + models), dtype=np.int64)

    def note(self, rows: int, mistakes: Ints) -> None:
        """Hear the totals so far; must be told at every power of two (see `stretches`)."""
        self.counts[2, 0], self.counts[2, 1:] = rows, mistakes
        if rows & (rows - 1) == 0:
            self.counts[0] = self.counts[1]
            self.counts[1] = self.counts[2]

    @property
    def rows(self) -> int:
        """How many rows count."""
        return int(self.counts[2, 0] - self.counts[0, 0])

    @property
    def mistakes(self) -> Ints:
        """Mistakes on those rows, one number a model."""
        return np.asarray(self.counts[2, 1:] - self.counts[0, 1:])

    @property
    def errors(self) -> Floats:
        """Share of those rows that each model got wrong; 0 before the first row."""
        return np.asarray(self.mistakes / max(self.rows, 1))

    def tolerance(self) -> float:
        """The standard error of the fewest errors, e = (mistakes + 1) / (rows + 2)."""
        rows = self.rows
        share = (int(self.mistakes.min()) + 1) / (rows + 2)
        return math.sqrt(share * (1.0 - share) / max(rows, 1))

    def first_good(self) -> int:
        """The first model whose errors are within that of the fewest."""
        errors = self.errors
        return int(np.argmax(errors <= errors.min() + self.tolerance()))


class SideBySide:
    """Models of several sizes that learn from the same rows; what is asked of it, one answers."""

    def __init__(self, sizes: Sequence[int], blocks: int, *, second_order: bool) -> None:
        self.sizes = tuple(sorted({int(size) for size in sizes}))
        self.blocks = blocks
        self.models = [KeptWeights(s, blocks, second_order=second_order) for s in self.sizes]
        self.recent = Recent(len(self.models))
        #: The model that was best at the last power of two, and the work of those that led.
        self.lead = np.zeros(1, dtype=np.int64)
        self.work = np.zeros(heap.N_COUNTS, dtype=np.int64)

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Make room for features 0 to n_columns - 1."""
        for model in self.models:
            model.reach(n_columns, more_may_come=more_may_come)

    def learn_first_order(
        self, rows: Compressed, codes: Ints, eta: float, lam: float, uniform: bool
    ) -> None:
        """Gradient steps; lam=0 neither shrinks nor projects."""
        self._learn(rows, codes, lambda m, r, c: m.learn_first_order(r, c, eta, lam, uniform))

    def learn_second_order(
        self, rows: Compressed, codes: Ints, gamma: float, uniform: bool
    ) -> None:
        """Confidence-weighted steps."""
        self._learn(rows, codes, lambda m, r, c: m.learn_second_order(r, c, gamma, uniform))

    def _learn(
        self,
        rows: Compressed,
        codes: Ints,
        take: Callable[[KeptWeights, Compressed, Ints], None],
    ) -> None:
        """Let every model take the rows, and count its mistakes at powers of two."""
        for lo, hi in stretches(int(self.models[0].counts[heap.ROWS]), len(rows)):
            part, labels = rows.part(lo, hi), codes[lo:hi]

            def some(first: int, last: int, part: Compressed = part, labels: Ints = labels) -> None:
                for model in self.models[first:last]:
                    take(model, part, labels)

            lead = self.models[int(self.lead[0])]
            before = lead.counts.copy()
            # Threads split models, which share nothing.
            over_columns(some, np.arange(len(self.models) + 1) * part.stored)
            self.work += lead.counts - before
            mistakes = np.array([model.counts[heap.MISTAKES] for model in self.models])
            seen = int(lead.counts[heap.ROWS])
            self.recent.note(seen, mistakes)
            if seen & (seen - 1) == 0:
                self.lead[0] = self.recent.first_good()

    @property
    def chosen(self) -> KeptWeights:
        """The model of the size in force."""
        return self.models[self.recent.first_good()]

    @property
    def size(self) -> int:
        """The size in force."""
        return self.sizes[self.recent.first_good()]

    @property
    def curve(self) -> dict[int, float]:
        """The recent error of each size."""
        return dict(zip(self.sizes, self.recent.errors.tolist(), strict=True))

    @property
    def counts(self) -> Ints:
        """Counted work of the models that led, each from one power of two of rows to the next.

        So mistakes are those of predictions that were made, not those of the size that won.
        """
        return self.work

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""
        return self.chosen.scores(rows)

    @property
    def kept(self) -> Ints:
        """Kept features, rising."""
        return self.chosen.kept

    @property
    def weights(self) -> Floats:
        """Weights of the kept features, one column a block."""
        return self.chosen.weights

    @property
    def precision(self) -> Floats:
        """Accumulated precisions of the kept features."""
        return self.chosen.precision
