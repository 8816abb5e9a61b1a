"""Group-SAOLA: columns that come in groups are sieved inside their group, then between groups."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.errors import InputError
from tamis.core.params import OneOf, Range
from tamis.measures.base import Measure
from tamis.methods.arrivals import Arrival, Kept, ScoredBlock
from tamis.methods.pair_walk import BETTER, OLDER, WEAKER, walk
from tamis.methods.streaming.saola import SAOLA

#: A stretch of columns of one group: arrival number of the first, and the label.
Run = tuple[int, Any]

#: What the walk says of a newcomer, and what it means between groups.
BETWEEN_GROUPS = {"kept": "stays", "redundant": "outdone", "tied": "matched"}


class GroupSAOLA(SAOLA):
    """SAOLA for features that come in groups, such as the genes of a pathway.

    Stage 1, inside a group: each newcomer F meets the kept features Y of its own group, as in
    `SAOLA` with delta = min(I(F;C), I(Y;C)).

    Stage 2, when the group ends: each F that is left meets, in order of arrival, what earlier
    groups G_1, G_2, ... still keep, by the same rule:

    * I(Y;C) >= I(F;C) and I(F;Y) >= delta: F goes;
    * I(F;C) > I(Y;C) and I(F;Y) >= delta: Y goes.

    A feature that is gone throws nobody out any more. Features of one group do not meet again, and
    a group that loses all its features is gone. With one group it is SAOLA.

    A group ends when a column of another group comes, or with `finish()`, which `fit` calls. Until
    then its features have met only each other. A label that comes back is a new group.

    Cost: pairs inside groups, and between what groups keep. Memory: the kept columns, those of the
    present group twice.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "symmetric_uncertainty", "fisher_z"} or Measure
        What stands for I, as in `SAOLA`.
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: a pair counts only if the measure calls it
        dependent and must be *above* delta; in stage 2 features that are gone still throw others
        out, and of two equally relevant features the newer stays.

    Attributes
    ----------
    kept_ : ndarray of int
        Kept features, in order of arrival.
    groups_ : dict
        Kept features by group label, for the groups that keep any.
    log_ : DecisionLog
        What happened to every feature, and why.
    measure_, measure_reason_ : Measure, str
        The measure in use and why.

    References
    ----------
    K. Yu, X. Wu, W. Ding, J. Pei. Scalable and Accurate Online Feature Selection for Big Data.
    ACM TKDD 11(2), 2016. doi:10.1145/2976744

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> good = np.where(rng.random(200) < 0.9, y, 1 - y)
    >>> better = np.where(rng.random(200) < 0.3, y, good)
    >>> X = np.column_stack([good, rng.integers(0, 2, 200), better, better])
    >>> sel = GroupSAOLA().fit(X, y, groups=["blood", "blood", "urine", "urine"])
    >>> sel.groups_
    {'urine': array([2])}
    >>> print(sel.log_.why("x0"))  # doctest: +NORMALIZE_WHITESPACE
    x0 was kept until x2 arrived and made it redundant: I(x0; class)=0.439 is not above its
    dependence on x2 (0.779), which is the better predictor (0.546)
    """

    method: ClassVar[str] = "group-saola"
    takes_groups: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "variant": OneOf(("paper", "program"))
    }
    bound = "min"
    ties = "kept"

    #: Groups of the columns of the call that is under way, if it says.
    _given: list[Run] | None = None
    #: What the present group keeps, and the label of every kept feature of an earlier one.
    _held: dict[int, Arrival]
    _label: Any
    _label_of: dict[int, Any]
    _pairs: int

    def __init__(self, measure: Measure | str = "auto", *, variant: str = "paper") -> None:
        self.measure = measure
        self.variant = variant

    # --- the ways in, with groups ----------------------------------------------------------

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Select features from a whole table, its columns taken in order.

        Parameters
        ----------
        X : array, scipy sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)
            The features.
        y : array-like of shape (n_rows,)
            The target: classes, or numbers for measures that take them.
        groups : array-like of shape (n_columns,), optional
            The group of each column; one label stands for all.
        """
        if groups is not None:
            shape = getattr(X, "shape", None) or np.shape(X)
            self._given = _runs(groups, 0, shape[1] if len(shape) == 2 else None)
        try:
            return super().fit(X, y)
        finally:
            self._given = None

    def feed(self, columns: Any, names: Sequence[str] | None = None, groups: Any = None) -> Self:
        """Take the next columns of the stream.

        Parameters
        ----------
        columns : array, scipy sparse matrix, data frame, Arrow table, series or ColumnBlock
            One or more columns with as many rows as the target. A 1-d array is one column.
        names : sequence of str, optional
            Their names; a data frame or a series brings its own.
        groups : array-like, optional
            The group of each column, or one label for all. A ColumnBlock brings its own.
        """
        if groups is not None and hasattr(self, "_target"):
            width = sum(block.width for block in self._blocks_of(columns, names))
            self._given = _runs(groups, self.n_features_in_, width)
        try:
            return super().feed(columns, names)
        finally:
            self._given = None

    # --- the rule --------------------------------------------------------------------------

    def _end_group(self) -> None:
        """Let what the present group keeps meet what earlier groups keep."""
        earlier, mine = self._earlier, list(self._held.values())
        if len(earlier):
            meet = self._meet_earlier if self.variant == "paper" else self._meet_snapshots
            mine = meet(mine, earlier)
        for arrival in mine:
            earlier.add(arrival)
            self._label_of[arrival.feature] = self._label
        self._pairs += self._kept.panel.pairs
        self._kept = Kept(self._panel())
        self._held = {}
        self._open = False

    def _meet_earlier(self, mine: list[Arrival], earlier: Kept) -> list[Arrival]:
        """One walk each, as for a newcomer; return those that stay."""
        staying = []
        for arrival in mine:
            decision = self.decide(arrival, earlier)
            decision = replace(decision, reason=BETWEEN_GROUPS[decision.reason])
            self.log_.append(decision)
            if decision.evicts:
                self._let_go([e.feature for e in decision.evicts])
            if self.log_.keeps(decision):
                staying.append(arrival)
        return staying

    def _meet_snapshots(self, mine: list[Arrival], earlier: Kept) -> list[Arrival]:
        """Do as the program: each earlier group is walked anew, and nobody leaves meanwhile."""
        labels = [self._label_of[f] for f in earlier.features.tolist()]
        groups = [np.array([label == one for label in labels]) for one in dict.fromkeys(labels)]
        gone: set[int] = set()
        staying = []
        for arrival in mine:
            values, bound, redundant = self._judge(arrival, earlier)
            met = [
                walk(
                    arrival, earlier, values, bound, redundant & inside, self.measure_.resolution,
                    "newer",
                )
                for inside in groups
            ]  # fmt: skip
            decision = next((m for m in met if m.reason != "kept"), met[-1])
            evicts = tuple(e for m in met for e in m.evicts if e.feature not in gone)
            gone.update(e.feature for e in evicts)
            self.log_.append(
                replace(decision, reason=BETWEEN_GROUPS[decision.reason], evicts=evicts)
            )
            if decision.reason == "kept":
                staying.append(arrival)
        self._let_go(sorted(gone))
        return staying

    def _let_go(self, features: list[int]) -> None:
        """Features of earlier groups leave."""
        self._earlier.drop(features)
        for feature in features:
            del self._label_of[feature]

    def _older_takes_ties(self) -> bool:
        return True

    def why(self) -> dict[str, Reason]:
        """Say why, inside a group as SAOLA does, and between groups."""
        fell = "{name} was kept in its group, but an earlier group says the same: " + WEAKER
        return super().why() | {
            "stays": Reason(
                Verdict.KEPT,
                "{name} is kept: {relevance_symbol}={relevance} is above {level}, {gate}, and no "
                "kept feature of its own or an earlier group makes it redundant",
            ),
            "outdone": Reason(Verdict.EVICTED, fell + BETTER),
            "matched": Reason(Verdict.EVICTED, fell + OLDER),
        }

    # --- the stream ------------------------------------------------------------------------

    def _use(self, measure: Measure, why: str) -> None:
        super()._use(measure, why)
        self._earlier = Kept(self._panel())
        self._held = {}
        self._label_of = {}
        self._label = None
        self._open = False
        self._pairs = 0

    def score(self, block: ColumnBlock) -> Grouped:
        """Work out all that does not depend on what is kept: a pure function, in any order."""
        first, last = block.first, block.first + block.width
        runs: Any = [(first, block.group)]
        if self._given is not None:
            runs = list(_between(self._given, first, last))
        elif isinstance(block.group, np.ndarray):
            runs = _runs(block.group, first, block.width)
        return Grouped(**vars(super().score(block)), runs=runs)

    def _meet(self, scored: ScoredBlock, first: int, last: int) -> None:
        assert isinstance(scored, Grouped)
        end = (scored.first + scored.width, None)
        for (start, label), (stop, _) in pairwise([*scored.runs, end]):
            if start == stop:
                continue
            if self._open and label != self._label:
                self._end_group()
            self._open, self._label = True, label
            lo, hi = np.searchsorted(scored.features, [start, stop])
            super()._meet(scored, int(lo), int(hi))

    def snapshot(self) -> None:
        """Nothing: each group begins with nobody kept, so what workers knew would soon be old."""

    def _ask(self, arrival: Arrival) -> Decision:
        decision = super()._ask(arrival)
        for gone in decision.evicts:
            del self._held[gone.feature]
        if self.log_.keeps(decision):
            # A copy: the column is a part of its block, which must not live as long as it does.
            own = replace(arrival, column=deepcopy(arrival.column))
            self._held[arrival.feature] = own
        return decision

    def finish(self) -> None:
        """End the present group; a column that comes later begins a new one."""
        if hasattr(self, "_kept"):
            self._end_group()
            if not self._picked_by_auto:
                self._tell_of_levels(self._earlier.panel.mean_n_levels, "kept")

    # --- putting a stream away, and going on -------------------------------------------------

    def _each(self) -> dict[str, npt.NDArray[Any]]:
        earlier = len(self._earlier)
        labels = list(dict.fromkeys(self._label_of.values()))
        indices = [labels.index(self._label_of[f]) for f in self._earlier.features.tolist()]
        levels = [self._held[f].level for f in self._kept.features.tolist()]
        return {
            "relevance": np.concatenate([self._earlier.relevance, self._kept.relevance]),
            "level": np.concatenate([np.full(earlier, np.nan), levels]),
            # Which label, -1 for the present group.
            "label": np.array(indices + [-1] * len(self._kept), dtype=np.int64),
        }

    def _numbers(self) -> dict[str, Any]:
        return {
            **super()._numbers(),
            "labels": list(dict.fromkeys(self._label_of.values())),
            "label": self._label,
            "open": self._open,
            "pairs_before": self._pairs,
            "pairs_between": self._earlier.panel.pairs,
        }

    def _take_back(
        self,
        columns: ColumnBlock,
        features: npt.NDArray[np.int64],
        each: Mapping[str, Any],
        numbers: Mapping[str, Any],
    ) -> None:
        nobody = features[:0], {"relevance": np.zeros(0)}
        super()._take_back(columns, *nobody, numbers)
        ready = self._kept.panel.prepare(columns, np.arange(columns.width))
        for i, (feature, relevance, level, label) in enumerate(
            zip(features.tolist(), *(each[k].tolist() for k in ("relevance", "level", "label")),
                strict=True)
        ):  # fmt: skip
            arrival = Arrival(feature, relevance, level, deepcopy(ready[i]))
            if label < 0:
                self._kept.add(arrival)
                self._held[feature] = arrival
            else:
                self._earlier.add(arrival)
                self._label_of[feature] = numbers["labels"][label]
        self._kept.panel.pairs = numbers["pairs"]
        self._earlier.panel.pairs = numbers["pairs_between"]
        self._pairs = numbers["pairs_before"]
        self._label, self._open = numbers["label"], numbers["open"]

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        present = super().kept_
        return np.concatenate([self._earlier.features, present]) if self._has_begun() else present

    @property
    def groups_(self) -> dict[Any, npt.NDArray[np.int64]]:
        """Kept features by group label, for the groups that keep any."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has seen no columns yet")
        by_label: dict[Any, list[int]] = {}
        for feature in self.kept_.tolist():
            label = self._label_of.get(feature, self._label)
            by_label.setdefault(label, []).append(feature)
        return {label: np.array(features) for label, features in by_label.items()}

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        work = super().work_
        if self._has_begun():
            work["pair_values"] += self._pairs + self._earlier.panel.pairs
        return work

    def _has_begun(self) -> bool:
        return hasattr(self, "_kept")


@dataclass(frozen=True, eq=False)
class Grouped(ScoredBlock):
    """An examined block and where its groups begin."""

    runs: list[Run]


def _runs(groups: Any, first: int, width: int | None) -> list[Run] | None:
    """Where groups begin among `width` columns from arrival number `first` on, and their labels."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.ndim == 0:
        return [(first, labels.item())]
    if labels.ndim != 1 or (width is not None and len(labels) != width):
        raise InputError(
            f"groups of shape {labels.shape} were given for {width} columns; give one label for "
            "each column, or one for all"
        )
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])[: len(labels)])
    return [(first + int(start), labels[start : start + 1].tolist()[0]) for start in starts]


def _between(runs: list[Run], first: int, last: int) -> Iterator[Run]:
    """The runs of columns first..last-1, the first of them cut where the columns begin."""
    lo = bisect_right(runs, first, key=lambda run: run[0]) - 1
    hi = bisect_left(runs, last, key=lambda run: run[0])
    for start, label in runs[lo:hi]:
        yield max(start, first), label
