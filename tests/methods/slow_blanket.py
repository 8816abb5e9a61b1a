"""Slow and obvious: d-separation, G-squared by strata, and the searches for a Markov blanket."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chi2

#: A directed graph without cycles: the parents of each node.
Parents = list[list[int]]


def random_graph(rng: np.random.Generator, nodes: int, density: float) -> Parents:
    """A graph whose nodes are in no special order."""
    order = rng.permutation(nodes)
    parents: Parents = [[] for _ in range(nodes)]
    for place, node in enumerate(order):
        parents[node] = [int(p) for p in order[:place] if rng.random() < density]
    return parents


def markov_blanket(parents: Parents, node: int) -> set[int]:
    """Parents, children, and parents of children."""
    children = [c for c, of in enumerate(parents) if node in of]
    found = {*parents[node], *children, *(p for c in children for p in parents[c])}
    return found - {node}


def steps(parents: Parents, a: int, b: int) -> int:
    """The length of the shortest path, whatever its directions: dependence falls with it."""
    front, length = {a}, 0
    while b not in front:
        front |= {p for node in front for p in parents[node]} | {
            c for c, of in enumerate(parents) if front & set(of)
        }
        length += 1
    return length


def d_separated(parents: Parents, a: int, b: int, given: tuple[int, ...]) -> bool:
    """No path between a and b in the moral graph of the ancestors, without the given nodes."""
    ancestors = {a, b, *given}
    while more := {p for node in ancestors for p in parents[node]} - ancestors:
        ancestors |= more
    linked: dict[int, set[int]] = {node: set() for node in ancestors}
    for node in ancestors:
        for u, v in combinations([node, *parents[node]], 2):
            linked[u].add(v)
            linked[v].add(u)
    reached, front = {a}, {a}
    while front := {v for u in front for v in linked[u]} - reached - set(given):
        reached |= front
    return b not in reached


class SlowTest:
    """G-squared with the degrees of freedom of the levels that occur in each stratum."""

    def __init__(self, data: Any, alpha: float) -> None:
        self.data, self.alpha = data, alpha
        self.levels = [len(np.unique(data[:, j])) for j in range(data.shape[1])]
        self.known: dict[Any, tuple[float, bool]] = {}

    def __call__(self, a: int, b: int, given: tuple[int, ...]) -> tuple[float, bool]:
        """(statistic, independent); too few rows count as independence."""
        key = (*sorted((a, b)), *sorted(given))
        if key not in self.known:
            self.known[key] = self.test(a, b, given)
        return self.known[key]

    def refused(self, a: int, b: int, given: tuple[int, ...]) -> bool:
        cells = max(1, (self.levels[a] - 1) * (self.levels[b] - 1))
        return len(self.data) < 5 * cells * np.prod([self.levels[z] for z in given])

    def test(self, a: int, b: int, given: tuple[int, ...]) -> tuple[float, bool]:
        if self.refused(a, b, given):
            return 0.0, True
        total, df = 0.0, 0
        for stratum in np.unique(self.data[:, given], axis=0):
            rows = np.all(self.data[:, given] == stratum, axis=1)
            x, y = self.data[rows, a], self.data[rows, b]
            df += (len(np.unique(x)) - 1) * (len(np.unique(y)) - 1)
            for u in np.unique(x):
                for v in np.unique(y):
                    n = np.sum((x == u) & (y == v))
                    e = np.sum(x == u) * np.sum(y == v) / len(x)
                    total += 2 * n * np.log(n / e) if n else 0.0
        return total, not total > chi2.isf(self.alpha, max(1, df))


class SlowBlanket:
    """The rule of `tamis.methods.batch.relatives`, word for word."""

    def __init__(self, test: SlowTest, nodes: list[int], k: int) -> None:
        self.test, self.nodes, self.k = test, nodes, k
        self.known: dict[int, tuple[list[int], dict[int, tuple[int, ...]]]] = {}

    def separator(self, x: int, t: int, others: list[int], always: tuple[int, ...] = ()) -> Any:
        """The first set that separates x from t."""
        for size in range(0 if always else 1, self.k - len(always) + 1):
            for some in combinations(others, size):
                if self.test(x, t, (*some, *always))[1]:
                    return (*some, *always)
        return None

    def relatives(self, t: int) -> tuple[list[int], dict[int, tuple[int, ...]]]:
        """HITON-PC, and what separated the others."""
        if t in self.known:
            return self.known[t]
        alone = {x: self.test(x, t, ()) for x in self.nodes if x != t}
        separators: dict[int, tuple[int, ...]] = {x: () for x in alone if alone[x][1]}
        found: list[int] = []
        for x in sorted(set(alone) - set(separators), key=lambda x: (-round(alone[x][0], 9), x)):
            some = self.separator(x, t, found)
            if some is None:
                found.append(x)
            else:
                separators[x] = some
        for x in list(found):
            some = self.separator(x, t, [m for m in found if m != x])
            if some is not None:
                found.remove(x)
                separators[x] = some
        self.known[t] = found, separators
        return self.known[t]

    def blanket(self, t: int) -> set[int]:
        near, separators = list(self.relatives(t)[0]), dict(self.relatives(t)[1])
        through: dict[int, list[int]] = {}

        def ask(s: int, x: int) -> None:
            given = (*separators[s], x)
            if x in separators[s] or s not in self.relatives(x)[0]:
                return
            if not self.test(s, t, given)[1] and not self.test.refused(s, t, given):
                through.setdefault(s, []).append(x)

        for x in near:
            for s in [s for s in self.relatives(x)[0] if s != t and s not in near]:
                ask(s, x)
        gone = []
        for x in [x for x in near if t not in self.relatives(x)[0]]:
            spouses = [s for s, children in through.items() if children != [x]]
            found = self.separator(x, t, [m for m in (*near, *spouses) if m != x])
            if found is not None:
                near.remove(x)
                gone.append(x)
                separators[x] = found
        for x in gone:
            for child in near:
                ask(x, child)
        for s in list(through):
            through[s] = [x for x in through[s] if x in near and self.stays(s, x, t, near, through)]
            if not through[s]:
                del through[s]
        return {*near, *through}

    def stays(self, s: int, x: int, t: int, near: Any, through: Any) -> bool:
        others = [m for m in (*near, *through) if m not in (s, x)]
        return x in self.relatives(s)[0] or self.separator(s, t, others, (x,)) is None
