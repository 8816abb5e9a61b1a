"""Algorithms 1 to 4 of Wu, Hoi, Mei, Yu (2017) as printed: slow, dense, obvious.

Sums go over the row's features in their order, one after the other, as in the compiled loops, so
that a margin of exactly 1 is the same on both sides. Everything else is done on whole vectors.
"""

from __future__ import annotations

import math

import numpy as np


def rivals(scores, code, multiclass):
    """Which blocks a row of class `code` moves, with what sign, and the margin."""
    if len(scores) == 1:
        y = 1.0 if code == 1 else -1.0
        return [(0, y)], y * scores[0]
    wrong = [i for i in range(len(scores)) if i != code]
    if multiclass == "max":
        best = max(wrong, key=lambda i: scores[i])  # the first of equals
        return [(code, 1.0), (best, -1.0)], scores[code] - scores[best]
    ahead = [i for i in wrong if scores[i] >= scores[code]]
    if not ahead:
        return [], math.inf
    total = 0.0
    for i in ahead:
        total += scores[i]
    signs = [(code, 1.0)] + [(i, -1.0 / len(ahead)) for i in ahead]
    return signs, scores[code] - total / len(ahead)


class Slow:
    """Shared by all: scores, and the kept set with the stated rule for ties."""

    def __init__(self, n_columns, size, blocks, multiclass="max"):
        self.w = np.zeros((blocks, n_columns))
        self.size, self.multiclass = size, multiclass
        self.since: dict[int, int] = {}  # kept features, and when each came
        self.serial = 0
        self.on_a_tie = False

    def scores(self, x):
        found = []
        for w in self.w:
            score = 0.0
            for j in np.flatnonzero(x):
                score += w[j] * x[j]
            found.append(score)
        return found

    def learn(self, X, codes):
        for x, code in zip(X, codes, strict=True):
            scores = self.scores(x)
            signs, margin = rivals(scores, code, self.multiclass)
            self.note_ties(x, scores, code, margin)
            if 1.0 - margin > 0:
                self.update(x, signs, 1.0 - margin)
        return self

    def note_ties(self, x, scores, code, margin):
        """Check whether the last bits decide about the loss or about the leading class."""
        bits = 1e-12 * np.abs(self.w * x).sum(axis=1).max()
        self.on_a_tie = abs(1.0 - margin) <= 1e-12 + bits
        if len(scores) > 1 and any(scores):
            order = np.sort(scores)
            self.on_a_tie |= bool(np.any(np.diff(order) <= bits))

    def keep_the_best(self, rank, x, lowest):
        """The highest ranks stay; ties go to the older feature, then to the lower number."""
        new = [int(j) for j in np.flatnonzero(x) if j not in self.since and rank[j] > lowest]
        arrival = dict(self.since)
        for n, j in enumerate(new):
            arrival[j] = self.serial + n
        order = sorted(arrival, key=lambda j: (-rank[j], arrival[j]))
        best = order[: self.size]
        if len(order) > self.size:
            last, next_ = rank[order[self.size - 1]], rank[order[self.size]]
            self.on_a_tie |= bool(last - next_ <= 1e-12 * abs(last))
        self.serial += len(new)
        self.since = {j: arrival[j] for j in best}
        gone = np.ones(self.w.shape[1], dtype=bool)
        gone[best] = False
        self.w[:, gone] = 0.0

    @property
    def kept(self):
        return sorted(self.since)

    @property
    def weights(self):
        w = self.w[:, self.kept]
        return w[0] if len(w) == 1 else w.T


def size_of(w):
    """The weight's size; of more than one block the norm, summed one after the other."""
    if len(w) == 1:
        return np.abs(w[0])
    total = np.zeros(w.shape[1])
    for row in w:
        total = total + row * row
    return np.sqrt(total)


class SlowPET(Slow):
    """Algorithm 1."""

    eta = 0.2

    def update(self, x, signs, loss):
        for i, sign in signs:
            self.w[i] += sign * self.eta * x
        self.keep_the_best(size_of(self.w), x, 0.0)


class SlowFOFS(Slow):
    """Algorithm 2."""

    eta, lam = 0.2, 0.01

    def update(self, x, signs, loss):
        self.w *= 1.0 - self.lam * self.eta
        for i, sign in signs:
            self.w[i] += self.eta * sign * x
        norm = np.sqrt(np.sum(self.w**2))
        self.w *= min(1.0, (1.0 / np.sqrt(self.lam)) / norm) if norm > 0 else 1.0
        self.keep_the_best(size_of(self.w), x, 0.0)


class SlowSOFS(Slow):
    """Algorithm 3: all variances are sorted after every update. `precision` is 1/Sigma - 1."""

    gamma, dtype = 1.0, np.float32

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.precision = np.zeros(self.w.shape, dtype=self.dtype)

    def step(self, x, signs, loss):
        sigma = 1.0 / (1.0 + self.precision.astype(np.float64))
        spread = 0.0
        for j in np.flatnonzero(x):
            for i, sign in signs:
                part = sign * x[j]
                spread += part * part * sigma[i, j]
        beta = loss / (spread + self.gamma)
        for i, sign in signs:
            part = sign * x
            self.w[i] += beta * part * sigma[i]
            grown = self.precision[i].astype(np.float64) + part * part * (1.0 / self.gamma)
            self.precision[i] = grown.astype(self.dtype)

    def rank(self):
        if len(self.w) == 1:
            return self.precision[0].astype(np.float64), 0.0
        doubt = np.zeros(self.w.shape[1])
        for row in self.precision:
            doubt = doubt + 1.0 / (1.0 + row.astype(np.float64))
        return -doubt, -float(len(self.w))

    def update(self, x, signs, loss):
        self.step(x, signs, loss)
        rank, lowest = self.rank()
        self.keep_the_best(rank, x, lowest)


class SlowFastSOFS(SlowSOFS):
    """Algorithm 4: only the row's features are compared, one by one, with the weakest kept."""

    def update(self, x, signs, loss):
        self.step(x, signs, loss)
        rank, lowest = self.rank()
        for j in map(int, np.flatnonzero(x)):
            if j in self.since:
                continue
            if len(self.since) == self.size:
                weakest = min(self.since, key=lambda i: (rank[i], -self.since[i]))
                if rank[j] > rank[weakest]:
                    del self.since[weakest]
                    self.w[:, weakest] = 0.0
            if rank[j] > lowest and len(self.since) < self.size:
                self.since[j] = self.serial
                self.serial += 1
            else:
                self.w[:, j] = 0.0


class SlowRowSieve(Slow):
    """The rule of docs/row-sieve.md on whole vectors: everything is remembered, few score."""

    gamma, advantage, floor = 1.0, 2.0, 0.0

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.w = self.w.astype(np.float32)
        self.precision = np.zeros(self.w.shape, dtype=np.float32)
        self.top = self.total = self.filled = 0.0

    def scores(self, x):
        found = []
        for w in self.w.astype(np.float64):
            score = 0.0
            for j in np.flatnonzero(x):
                score += w[j] * x[j] if j in self.since else 0.0
            found.append(score)
        return found

    def learn(self, X, codes):
        for x, code in zip(X, codes, strict=True):
            squares = 0.0
            for j in np.flatnonzero(x):
                squares += x[j] * x[j]
            signs, margin = rivals(self.scores(x), code, self.multiclass)
            if 1.0 - margin > 0 and squares > 0:
                self.total += squares
                self.filled += 1.0
                self.update(x, signs, 1.0 - margin)
        return self

    def update(self, x, signs, loss):
        """Kept features learn together; each of the others as if it alone were added to them."""
        unit = self.gamma * (self.total / self.filled)
        mass = 1.0 + self.precision.astype(np.float64)
        spread = 0.0
        for j in np.flatnonzero(x):
            part = 0.0
            for i, sign in signs:
                part += (sign * x[j]) * (sign * x[j]) * (1.0 / mass[i, j])
            spread += part if j in self.since else 0.0
        old = self.w.astype(np.float64)
        for j in np.flatnonzero(x):
            left, more = loss, 0.0
            if j not in self.since:
                own = 0.0
                for i, sign in signs:
                    own += old[i, j] * (sign * x[j])
                    more += (sign * x[j]) * (sign * x[j]) * (1.0 / mass[i, j])
                left = max(loss - own, 0.0)
            for i, sign in signs:
                part = sign * x[j]
                if j not in self.since and len(self.w) == 1:
                    grown = old[i, j] + left * part / ((spread + unit) * mass[i, j] + x[j] * x[j])
                else:
                    step = left / (spread + more + unit)
                    grown = old[i, j] + step * part * (1.0 / mass[i, j])
                self.w[i, j] = grown
                grown = float(self.precision[i, j]) + part * part * (1.0 / unit)
                self.precision[i, j] = grown
        self.choose(x)

    def strength(self):
        total = np.zeros(self.w.shape[1])
        for w, p in zip(self.w.astype(np.float64), self.precision.astype(np.float64), strict=True):
            z = w * w * (1.0 + p)
            total = total + (z if len(self.w) == 1 else z * z)
        return total if len(self.w) == 1 else np.sqrt(total)

    def choose(self, x):
        z, share, there = self.strength(), 1.0 / self.advantage, np.flatnonzero(x).tolist()
        self.top = max([self.top, *(z[j] for j in there if j in self.since)])

        def weakest():
            return min(self.since, key=lambda j: (z[j], -self.since[j]))

        parts = self.w.astype(np.float64) * x

        def copies(j, i):
            alike = z[j] == z[i] and (self.precision[:, j] == self.precision[:, i]).all()
            return alike and (parts[:, j] == parts[:, i]).all()

        copies_of = set()
        for j in sorted((j for j in there if j not in self.since), key=lambda j: (-z[j], j)):
            if j in copies_of:
                continue
            if not z[j] * share > self.floor * self.top:
                break
            if len(self.since) == self.size:
                if not z[j] * share > z[weakest()]:
                    break
                del self.since[weakest()]
            again = [i for i in there if i != j and i not in self.since and copies(i, j)]
            self.since[j] = self.serial
            self.serial += 1
            copies_of.update(again)
            self.w[:, again] = 0.0
            self.top = max(self.top, z[j])
        while self.since and z[weakest()] < self.floor * self.top:
            del self.since[weakest()]

    @property
    def weights(self):
        return super().weights.astype(np.float64)
