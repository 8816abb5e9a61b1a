"""The Markov blanket of columns that are all at hand: relatives of any column, and spouses.

`tamis.methods.blanket` says what a spouse is. Two corrections make the result exact if the tests
are (Tsamardinos, Brown and Aliferis 2006; Gao and Ji 2017). Each removes a feature only if two
searches agree, because one alone, with data, finds false separations:

* a parent or child X is dropped if T is not a relative of X, and some set of the others, spouses
  included, separates X from T;
* a spouse S through X is dropped if X is not a relative of S, and some set that contains X
  separates S from T.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.decisions import Decision
from tamis.measures.conditional import Independence
from tamis.measures.measure import Prepared
from tamis.methods.batch.candidates import ROUNDING, Candidates, best_first
from tamis.methods.blanket import as_target, columns_of
from tamis.methods.measured import Arrival
from tamis.methods.separating import Separable, taken


def interleaved(tentative: Separable, arrivals: Iterable[Arrival]) -> Iterator[Decision]:
    """Yield the decisions of semi-interleaved HITON-PC about candidates, the strongest first.

    Candidates enter `tentative` one by one unless a set of those inside separates them from the
    target. At the end every one inside is tested again given the others. Those that leave stay in
    `tentative` as columns, because they may separate others.
    """
    arrival = None
    for arrival in arrivals:
        new = tentative.consider(arrival)
        found = tentative.separator(new, range(new))
        if found is not None:
            yield tentative.dropped(found, new, arrival)
            continue
        tentative.add(arrival)
        yield taken(arrival)
    if arrival is not None:
        yield from tentative.pruned(range(len(tentative)), arrival)[1]


def members_after(decisions: Iterable[Decision]) -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """Return the features that are in at the end, in order of entry, and what separated others."""
    members: dict[int, None] = {}
    separators: dict[int, tuple[int, ...]] = {}
    for decision in decisions:
        if decision.reason.startswith("kept"):
            members[decision.feature] = None
        else:
            members.pop(decision.feature, None)
            separators[decision.feature] = decision.because
    return list(members), separators


class Relatives:
    """The relatives of columns and of the target: what no set of others separates from them.

    Columns are known by position. Those of the target come last.

    Parameters
    ----------
    kept : Separable
        The kept set of the target; its measure, limits and counts are those of all tests.
    columns : Prepared
        All columns that can be a relative.
    """

    def __init__(self, kept: Separable, columns: Prepared) -> None:
        self._kept, self._n_rows = kept, kept.target.n_rows
        block = ColumnBlock.of(columns_of(kept.measure, kept.target))
        own: Any = kept.panel.prepare(block, np.arange(block.width))
        self.columns = type(own).joined([columns, own])
        self.of_target = frozenset(range(len(columns), len(self.columns)))
        c: Any = self.columns
        values = c.codes if "codes" in c.arrays else c.values
        entries = Compressed(c.indptr, c.rows[: c.indptr[-1]], values[: c.indptr[-1]])
        self._block = ColumnBlock(0, self._n_rows, entries.widened())
        self._found: dict[int, list[int]] = {}

    def of(self, j: int) -> list[int]:
        """Return the relatives of the column at position j."""
        if j not in self._found:
            measure, kept = self._kept.measure, self._kept
            target = as_target(measure, self.columns[j], self._n_rows)
            strength = measure.relevance(self._block, target)
            strength.value[j] = -np.inf
            passing = np.flatnonzero(strength.value > strength.cutoff)
            inner = kept.towards(target)
            order = passing[best_first(strength.value[passing], max(measure.resolution, ROUNDING))]
            arrivals = (
                Arrival(i, float(strength.value[i]), float(strength.cutoff[i]), self.columns[i])
                for i in order.tolist()
            )
            self._found[j], _ = members_after(interleaved(inner, arrivals))
            kept.count_refusals(inner.decided_by_refusals - kept.decided_by_refusals)
        return self._found[j]

    def knows_target(self, j: int) -> bool:
        """Return whether the target is a relative of the column at position j."""
        return not self.of_target.isdisjoint(self.of(j))


class Blanket:
    """The Markov blanket of the target among columns that are all at hand.

    Features are positions of columns.

    Features are positions among the candidates. `kept` holds the columns that ever entered as a
    parent or child.

    Parameters
    ----------
    candidates : Candidates
        All columns that are not constant.
    near : list of int
        The parents and children, in order of entry.
    separators : dict of int to tuple of int
        What separated others from the target; nothing separates one that is not there.
    """

    def __init__(
        self, candidates: Candidates, near: list[int], separators: dict[int, tuple[int, ...]]
    ) -> None:
        self.near, self.separators = near, separators
        self.kept: Separable = candidates.kept
        self._candidates = candidates
        self.relatives = Relatives(self.kept, candidates.columns)
        #: The children through which each spouse was found, and the test that found it.
        self.through: dict[int, list[int]] = {}
        self.tests: dict[int, Independence] = {}

    def decisions(self) -> Iterator[Decision]:
        """Yield the decisions about spouses, and about relatives that they help to separate."""
        for x in self.near:
            for s in self.relatives.of(x):
                if s not in self.relatives.of_target and s not in self.near:
                    self._ask(s, x)
        for s in self.through:
            if self._candidates.features[s] not in self.kept.features:
                self.kept.add(self._candidates.arrival(s))
        gone = {x: found for x in list(self.near) if (found := self._leaves(x)) is not None}
        for x, found in gone.items():
            yield self.kept.dropped(found, self._place(x), None)
            for child in self.near:  # it may be a spouse
                if x in self.relatives.of(child):
                    self._ask(x, child)
        for s in list(self.through):
            self.through[s] = [x for x in self.through[s] if x in self.near and self._stays(s, x)]
            if not self.through[s]:
                del self.through[s]
        for s, children in self.through.items():
            yield self.kept.married(self.tests[s], self._candidates.arrival(s), children[0])

    def _ask(self, s: int, x: int) -> None:
        """Note s as a spouse if x makes it dependent on the target."""
        given = self.separators.get(s, ())
        if x in given:
            return
        new = self.kept.consider(self._candidates.arrival(s))
        test = self.kept.panel.test(new, [self._place(i) for i in (*given, x)])
        if not test.independent and not test.refused:
            self.through.setdefault(s, []).append(x)
            self.tests.setdefault(s, test)

    def _leaves(self, x: int) -> Independence | None:
        """Remove a parent or child that is separated from the target if both corrections agree."""
        if x < self._candidates.required or self.relatives.knows_target(x):
            return None
        spouses = [s for s, children in self.through.items() if children != [x]]
        others = [i for i in (*self.near, *spouses) if i != x]
        found = self.kept.separator(self._place(x), [self._place(i) for i in others])
        if found is not None:
            self.near.remove(x)
            self.separators[x] = tuple(i for i in others if self._place(i) in found.given)
        return found

    def _stays(self, s: int, x: int) -> bool:
        """Return whether s is still a spouse through x, given all others."""
        if x in self.relatives.of(s):
            return True
        others = [self._place(i) for i in (*self.near, *self.through) if i not in (s, x)]
        return self.kept.separator(self._place(s), others, self._place(x)) is None

    def _place(self, feature: int) -> int:
        """Return the place of a column among those that entered."""
        return int(np.flatnonzero(self.kept.features == self._candidates.features[feature])[0])
