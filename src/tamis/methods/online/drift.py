"""Detect when the errors of a learner have risen: ADWIN over small batches of rows.

Bifet and Gavaldà (SDM 2007) keep the mistakes of a window of recent rows in buckets of
exponentially growing length, and cut the window where its two parts differ by more than chance.
Here a bucket begins as a batch of `BATCH` rows, counted from the first row of the stream, so that
chunks of rows change nothing. Called by the weights of RowSieve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

#: Rows in the smallest bucket, and how many buckets of the same length there may be.
BATCH, MOST = 32, 5
#: Mistakes by which a fresh model must be ahead, and rows after which it is given up.
CLEARLY, LONGEST = 16, 2048
#: Room for buckets: more rows than can be counted.
ROOM = MOST * 50


class Adwin:
    """A window of recent rows, cut when the share of mistakes has changed.

    >>> watch = Adwin(0.002)
    >>> [k for k in range(100) if watch.add(2 if k < 50 else 16)]
    [50]
    """

    def __init__(self, level: float) -> None:
        self.level = level
        #: Rows and mistakes of each bucket, the oldest first; then zeros.
        self.buckets = np.zeros((ROOM, 2), dtype=np.int64)
        #: Mistakes up to the last batch, and rows at which a change was found, newest last.
        self.mistakes = np.zeros(1, dtype=np.int64)
        self.found = np.zeros(256, dtype=np.int64)

    @staticmethod
    def cuts(done: int, coming: int) -> Iterator[tuple[int, int]]:
        """Cut the next `coming` rows where a batch ends.

        >>> list(Adwin.cuts(30, 40))
        [(0, 2), (2, 34), (34, 40)]
        """
        first = 0
        while first < coming:
            last = min(coming, first + BATCH - (done + first) % BATCH)
            yield first, last
            first = last

    def record(self, rows: int, mistakes: int) -> bool:
        """Take the totals so far; return True if a batch has ended and errors have risen."""
        if rows % BATCH:
            return False
        wrong = mistakes - int(self.mistakes[0])
        self.mistakes[0] = mistakes
        if not self.add(wrong):
            return False
        count = int(np.count_nonzero(self.found))
        if count < len(self.found):
            self.found[count] = rows
        else:
            self.found[:-1], self.found[-1] = self.found[1:].copy(), rows
        return True

    def start_again(self, mistakes: int) -> None:
        """Empty the window, because another model makes the mistakes from now on."""
        self.mistakes[0] = mistakes
        self.buckets[:] = 0

    def add(self, wrong: int) -> bool:
        """Add a batch with so many mistakes; return True if the share of mistakes has risen."""
        used = int(np.count_nonzero(self.buckets[:, 0]))
        buckets = [*map(tuple, self.buckets[:used].tolist()), (BATCH, int(wrong))]
        at = len(buckets)
        while (same := _run(buckets, at)) > MOST:
            first = at - same
            (a, b), (c, d) = buckets[first : first + 2]
            buckets[first : first + 2] = [(a + c, b + d)]
            at = first + 1
        rose = False
        while cut := self._cut(buckets):
            rose |= cut > 0
            buckets = buckets[abs(cut) :]
        self.buckets[:] = 0
        self.buckets[: len(buckets)] = buckets
        return rose

    def _cut(self, buckets: list[tuple[int, int]]) -> int:
        """Return how many of the oldest buckets to drop, negative if errors fell; 0 for none."""
        table = np.array(buckets, dtype=np.float64)
        n, wrong = table.sum(axis=0)
        n_old, wrong_old = np.cumsum(table[:-1], axis=0).T
        if not len(n_old):
            return 0
        share, old, new = wrong / n, wrong_old / n_old, (wrong - wrong_old) / (n - n_old)
        m = 1.0 / (1.0 / n_old + 1.0 / (n - n_old))
        log = math.log(2.0 * math.log(n) / self.level)
        bound = np.sqrt(2.0 / m * share * (1.0 - share) * log) + 2.0 / (3.0 * m) * log
        beyond = np.flatnonzero(np.abs(new - old) > bound)
        if not len(beyond):
            return 0
        last = int(beyond[-1])
        return (last + 1) if new[last] > old[last] else -(last + 1)

    @property
    def rows(self) -> list[int]:
        """Rows at which errors had risen."""
        return [int(row) for row in self.found if row]


class Trial:
    """A comparison of a model with one that began afresh, by the mistakes of each batch.

    `ahead` is by how many mistakes the fresh model is ahead, since it was last behind. It wins when
    that is `CLEARLY`, and the trial ends without a winner after `LONGEST` rows. Losses of numbers
    only say which model was better in a batch, which counts as two mistakes.

    >>> trial = Trial()
    >>> trial.begin(96, cost=40)
    >>> trial.record(128, 56, 9), trial.ahead, trial.record(160, 70, 14), trial.running
    (False, 7.0, True, False)
    """

    def __init__(self) -> None:
        #: Rows seen when it began, 0 if none is running; how far ahead the fresh model is; mistakes
        #: (losses) of both up to the last batch.
        self.state = np.zeros(4)

    @property
    def running(self) -> bool:
        """Whether two models are compared."""
        return bool(self.state[0])

    @property
    def ahead(self) -> float:
        """By how many mistakes the fresh model is ahead."""
        return float(self.state[1])

    def begin(self, rows: int, cost: float) -> None:
        """Begin, with a model that has made so many mistakes (such losses) and a fresh one."""
        self.state[:] = rows, 0, cost, 0

    def record(self, rows: int, cost: float, of_fresh: float, losses: bool = False) -> bool:
        """Take the totals after a batch; return True if the fresh model has won."""
        began, ahead, before, before_of_fresh = self.state.tolist()
        better = (cost - before) - (of_fresh - before_of_fresh)
        ahead = max(0.0, ahead + (2.0 * np.sign(better) if losses else better))
        self.state[1:] = ahead, cost, of_fresh
        if ahead >= CLEARLY or rows - began >= LONGEST:
            self.state[:] = 0
        return bool(ahead >= CLEARLY)


def _run(buckets: list[tuple[int, int]], end: int) -> int:
    """Return how many buckets before `end` have the same length as the last of them."""
    same = 0
    while same < end and buckets[end - 1 - same][0] == buckets[end - 1][0]:
        same += 1
    return same
