"""Sieve: the rules against a slow reference, the log, and what a saved stream continues with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Verdict
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.measures.measure import Floats, Measure, Panel, Strength
from tamis.methods.streaming import sieve
from tamis.methods.streaming.sieve import SieveRule
from tests.methods.slow_sieve import SlowSieve

# --- a measure that looks numbers up -------------------------------------------------------------


@dataclass(eq=False)
class Tables:
    """R, D and c of a few features; c[f, y] is what f says once y is known."""

    R: Floats
    D: Floats
    c: Floats


@dataclass(frozen=True, eq=False)
class LookUp(Measure):
    """A measure whose strengths are in tables; the second row of a column is its number."""

    name: ClassVar[str] = "look_up"
    kind: ClassVar[str] = "continuous"
    symbol: ClassVar[str] = "R({a}; {b})"
    resolution: ClassVar[float] = 1e-12

    tables: Tables = field(repr=False)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        block = ColumnBlock.of(columns)
        return Strength(self.tables.R[numbers_of(block)], np.full(block.width, 0.0))

    def panel(self, target: Target) -> LookUpPanel:
        return LookUpPanel(self.tables)

    def gate(self) -> str:
        return "the least"


class LookUpPanel(Panel):
    """Kept columns by their numbers."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.pairs = tables, 0
        self._kept: list[int] = []

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Sequence[Any]:
        return [int(i) for i in numbers_of(block)[picks]]

    def between_many(self, columns: Any, lo: int, hi: int) -> Floats:
        raise NotImplementedError

    def between(self, column: int) -> Floats:
        return self.tables.D[column, self._kept]

    def beyond(self, column: int) -> tuple[Floats, Floats]:
        self.pairs += len(self._kept)
        return self.tables.c[column, self._kept], self.tables.c[self._kept, column]

    def cutoffs(self, column: Any) -> Floats:
        raise NotImplementedError

    def add(self, column: int) -> None:
        self._kept.append(column)

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        self._kept = [f for i, f in enumerate(self._kept) if i not in set(positions.tolist())]

    def __len__(self) -> int:
        return len(self._kept)


def numbers_of(block: ColumnBlock) -> npt.NDArray[np.int64]:
    return np.asarray(block.values)[1].astype(np.int64) - 1


def columns(n: int) -> Floats:
    """Columns that a `LookUp` can tell apart."""
    return np.vstack([np.arange(n) + 2.0, np.arange(n) + 1.0, np.zeros((2, n))])


Y = np.array([0, 1, 0, 1])


def random_tables(rng: np.random.Generator, n: int, *, ties: bool) -> Tables:
    """Make tables; with few different numbers there are many ties and copies."""
    R, D, c = rng.random(n), rng.random((n, n)), rng.random((n, n)) ** 2
    if ties:
        R, D, c = (np.round(t * 4) / 4 for t in (R, D, c))
        R = np.maximum(R, 0.25)
    D = np.maximum(D, D.T)
    if not ties:
        D[D > 0.9] = 0.99
    return Tables(R, D, c)


# --- the rules -----------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6), st.integers(1, 24), st.integers(1, 7), st.integers(0, 5),
    st.sampled_from([None, 0.0, 0.5, 1.0, 3.0]), st.booleans(),
)  # fmt: skip
@settings(deadline=None)
def test_the_rules_are_those_of_the_slow_reference(
    seed: int, n: int, k: int, more: int, gamma: float | None, ties: bool
) -> None:
    tables = random_tables(np.random.default_rng(seed), n, ties=ties)
    rule = SieveRule(LookUp(tables), n_features=k, redundancy=gamma)
    selector = rule.to_selector()
    selector.start(Y)
    selector._kept.capacity = k + more  # smaller than it would be
    slow = SlowSieve(tables.R, tables.D, tables.c, k, k + more, gamma)
    for j in range(n):
        selector.update(selector.score(ColumnBlock(j, 4, columns(n)[:, j : j + 1])))
        assert selector.kept_.tolist() == slow.arrive(j)
        assert selector.held_.tolist() == slow.pool
        assert selector.log_.replay() == selector.kept_.tolist()
    assert selector.ranking_.tolist() == slow.ranking()
    kept = selector.kept_.tolist()
    expected = [slow.worth(f, kept) for f in kept]
    np.testing.assert_allclose(selector.scores_, expected, rtol=0, atol=1e-12)
    for feature in range(n):
        sentence = selector.log_.why(feature)
        assert f"x{feature}" in sentence
        assert "{" not in sentence and "nan" not in sentence
