"""Published Bayesian networks: their structure, and data sampled from them.

The files are those of pgmpy 0.1 (``pip install --no-deps "pgmpy<1"``); pgmpy itself is never
imported.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import MissingError

VARIABLE = re.compile(r"variable\s+(\S+)\s*\{\s*type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}")
PROBABILITY = re.compile(r"probability\s*\(\s*([^|)]+?)\s*(?:\|\s*([^)]*?))?\s*\)\s*\{([^}]*)\}")


def folder() -> Path | None:
    """Return the folder with the files of the networks, or None."""
    found = find_spec("pgmpy")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "utils" / "example_models"
    return path if path.is_dir() else None


@dataclass(frozen=True)
class Network:
    """A Bayesian network of categories: nodes in the order of the file.

    `parents` are positions of nodes; `tables` hold one row of probabilities for each combination
    of the levels of the parents, the last parent changing fastest.
    """

    names: list[str]
    levels: list[int]
    parents: list[list[int]]
    tables: list[Any]

    @classmethod
    def load(cls, name: str) -> Network:
        """Read a network by its name, such as "alarm"."""
        models = folder()
        if models is None:
            raise MissingError(
                'it needs networks that come with pgmpy: pip install --no-deps "pgmpy<1"'
            )
        return cls.parse(gzip.decompress((models / f"{name}.bif.gz").read_bytes()).decode())

    @classmethod
    def parse(cls, text: str) -> Network:
        """Read a network from the text of a .bif file."""
        values = {name: _words(levels) for name, levels in VARIABLE.findall(text)}
        names = list(values)
        parents: list[list[int]] = [[] for _ in names]
        tables: list[Any] = [None] * len(names)
        for name, given, body in PROBABILITY.findall(text):
            node, of = names.index(name), _words(given)
            parents[node] = [names.index(p) for p in of]
            shape = [len(values[p]) for p in of]
            table = np.zeros((int(np.prod(shape, dtype=int)), len(values[name])))
            for line in filter(None, map(str.strip, body.split(";"))):
                key, _, numbers = line.removeprefix("table").rpartition(")")
                where = [
                    values[p].index(v) for p, v in zip(of, _words(key.strip("( ")), strict=True)
                ]
                row = int(np.ravel_multi_index(where, shape)) if of else 0
                table[row] = [float(number) for number in _words(numbers)]
            tables[node] = table / table.sum(axis=1, keepdims=True)
        return cls(names, [len(v) for v in values.values()], parents, tables)

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each node."""
        nodes = range(len(self.names))
        return [[c for c in nodes if p in self.parents[c]] for p in nodes]

    def relatives(self, node: int) -> set[int]:
        """Return the parents and children of a node."""
        return {*self.parents[node], *self.children[node]}

    def blanket(self, node: int) -> set[int]:
        """Return the Markov blanket of a node: parents, children, and the children's parents."""
        spouses = {p for c in self.children[node] for p in self.parents[c]}
        return (self.relatives(node) | spouses) - {node}

    def reversed(self) -> Network:
        """Return the same network with its nodes in the opposite order."""
        last = len(self.names) - 1
        parents = [[last - p for p in of] for of in self.parents[::-1]]
        return Network(self.names[::-1], self.levels[::-1], parents, self.tables[::-1])

    @property
    def order(self) -> list[int]:
        """The nodes, parents before children."""
        done: list[int] = []
        while len(done) < len(self.names):
            done += [
                node
                for node in range(len(self.names))
                if node not in done and set(self.parents[node]) <= set(done)
            ]
        return done

    def sample(self, rows: int, seed: int = 0) -> Any:
        """Return rows of data, one column of level numbers for each node."""
        rng = np.random.default_rng(seed)
        data = np.zeros((rows, len(self.names)), np.int64)
        for node in self.order:
            at = np.zeros(rows, np.int64)
            for p in self.parents[node]:
                at = at * self.levels[p] + data[:, p]
            edges = self.tables[node].cumsum(axis=1)[at]
            data[:, node] = (rng.random(rows)[:, None] >= edges[:, :-1]).sum(axis=1)
        return data


def _words(text: str) -> list[str]:
    """Return the parts of a text between commas."""
    return [part.strip() for part in text.split(",")] if text.strip() else []
