"""Sieve: a bounded set of the features most worth keeping, in one pass over the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason
from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.any_shape import AnyShape
from tamis.measures.measure import Floats, Ints, Measure
from tamis.methods.measured import STRETCH, Arrival, MeasuredRule, MeasuredStream, ScoredBlock
from tamis.methods.pool_world import PoolWorld
from tamis.methods.rule import when_evicted, when_kept, when_redundant
from tamis.methods.shadow_worlds import World
from tamis.methods.taken_in_order import NO_MORE, TakenInOrder, reasons_in_order, world_of
from tamis.methods.worth_pool import ENTERING, WEAK, Newcomers, Pool, Weighed

#: Two features that depend on each other at least this strongly are copies.
COPY = 0.98

#: The reasons of events, by the constants of `tamis.kernels.worth`.
REASONS = (
    "copy", "explained", "weak", "kept", "returned", "least", "reserve", "displaced", "pushed out",
    "least alone", "reserve alone", "displaced alone", "pushed out alone",
)  # fmt: skip

#: The pool holds at least this many features, or twice as many as are kept.
LEAST_POOL = 200

#: The most features that are kept without a given number, whatever the number of rows.
MOST_OF_ITS_OWN = 1000


class SieveRule(MeasuredRule):
    """Keep the features most worth keeping, at most 50 unless told otherwise, in one pass.

    R(F) is the relevance of a feature F to the class C, D(F,Y) the dependence between two
    features, both from 0 to 1, and c(F given Y) the part of C that F still explains once Y is
    known, on the scale of R(F)^2 (see `AnyShape`).

    1. Gate: F is dropped as irrelevant unless its test passes at level alpha.
    2. Redundancy: F is dropped because of a feature Y that is at least as relevant if they are
       copies, D(F,Y) >= 0.98, or if D(F,Y) * R(Y)^redundancy >= R(F): all that F says about C
       reaches it through Y. A newcomer that passes evicts the features that it makes redundant.
    3. Size: a feature is worth half the least of R(F)^2 and c(F given Y) over all more relevant
       Y, plus half the mean of c(F given Y) over all Y (R(F)^2 for F itself). If there are too
       many features, the one that is worth least leaves. Once the pool is full, F is dropped as
       too weak if R(F)^2 is less than 1.5 times the lowest worth in the pool.

    During the stream a pool of max(200, 2 * n_features) features is held, so that the order of
    arrival matters little. Leaving in turn orders the pool: the last `n_features` are kept, the
    others wait in reserve, and return if they become worth more than a kept one. What is kept is
    right at any time, and more columns can follow.

    About ``alpha`` times the number of irrelevant columns pass the gate by chance. Neither
    `n_features` nor `redundancy` changes that.

    Cost: one relevance value per column; for each relevant column that is not too weak, one pair
    value with each feature of the pool. Memory: the columns of the pool and a table of its pairs.

    Parameters
    ----------
    measure : {"any_shape"} or Measure
        The measure for R, D and c; it sees linear and curved relations, of numbers and categories.
        With covariates or sample weights it is `AnyShape` given these (docs/any-shape.md).
    n_features : int or None, default=50
        How many to keep; fewer if fewer are relevant. None keeps every feature that no kept one
        makes redundant (``redundancy=1``), but at most half as many as there are rows (at least
        10, at most 1,000).
    redundancy : float, optional
        The exponent of rule 2: 0 keeps few features (R(Y) does not count), 1 follows a chain
        F - Y - C, and larger values keep more. By default rule 2 drops only copies if
        `n_features` is a number, and is 1 if it is None.
    order : {"arrival", "free"}, default="arrival"
        The order in which features enter the pool: that of arrival; or the most relevant first,
        then by name, so that the same features are kept whatever the order of arrival. With "free"
        the columns of all relevant features are held, and all enter again when more come.

    Attributes
    ----------
    ranking_ : ndarray of int
        The features of the pool, best first: the first j of them are what ``n_features=j`` would
        keep of the pool.
    worth_ : ndarray of float
        What each kept feature is worth, in the order of `kept_`.

    References
    ----------
    The two halves of worth are those of F. Fleuret, JMLR 5, 2004 (CMIM), and of H. H. Yang and
    J. Moody, NIPS 12, 1999 (JMI), as a bound on a stream.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import Sieve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sel = Sieve(n_features=5).fit(X, y)
    >>> len(sel.kept_), len(sel.ranking_)
    (5, 22)
    """

    name: ClassVar[str] = "sieve"
    paper: ClassVar[Mapping[str, Any] | None] = None
    keeps: ClassVar[bool] = True
    adjusts: ClassVar[bool] = True
    newer_reasons: ClassVar[frozenset[str]] = frozenset({"weak", "weak" + NO_MORE})

    measure: Measure | str = "any_shape"
    _: KW_ONLY
    n_features: int | None = param(50, Number(1, integer=True), None)
    redundancy: float | None = param(None, Number(0), None)
    order: str = param("arrival", OneOf(("arrival", "free")))

    @property
    def world(self) -> type[World]:  # type: ignore[override]
        """How decoys are judged."""
        return world_of(self, PoolWorld)

    @classmethod
    def usual_measures(cls) -> tuple[Measure, Measure]:
        """Return what ``measure="auto"`` picks between: for categories, and for numbers."""
        return AnyShape(), AnyShape()

    def kept(self, measure: Measure, target: Target) -> Pool:
        """Return an empty pool, or refuse a measure that says nothing about three columns."""
        panel = measure.panel(target)
        if not hasattr(panel, "beyond_many"):
            raise ParameterError(
                f"Sieve works with the measure any_shape only, and not with {measure.name}; leave "
                f"the measure out, or use a method that takes {measure.name}: --method saola, "
                "SAOLA() in Python"
            )
        if self.n_features is None:
            size = min(max(10, target.n_rows // 2), MOST_OF_ITS_OWN)
        else:
            size = self.n_features
        exponent = self.redundancy
        if exponent is None:
            exponent = np.inf if self.n_features is not None else 1.0
        return Pool(
            panel, measure, n_features=size, capacity=max(LEAST_POOL, 2 * size), exponent=exponent
        )

    def template_fields(self, pool: Pool, target: Target) -> dict[str, str]:
        """Return the fields that the sentences share."""
        return pool.measure.template_fields(target) | {
            "n_features": f"{pool.n_features:,}",
            "one_too_many": f"{pool.capacity + 1:,}",
        }

    # --- rule 2 ----------------------------------------------------------------------------

    def redundant_pairs(
        self, arrival: Arrival, pool: Pool, dependence: Floats
    ) -> tuple[npt.NDArray[np.bool_], Floats, npt.NDArray[np.bool_]]:
        """Return which features of a pool are copies of a newcomer, what is passed on, and both.

        What the stronger feature of each pair passes on of the target is nothing if only copies
        are dropped.
        """
        rounding, exponent = pool.measure.resolution, pool.exponent
        mine, others = arrival.relevance, pool.relevance
        passed = np.zeros(len(dependence))
        if np.isfinite(exponent):
            passed = dependence * np.maximum(others, mine) ** exponent
        copies = dependence >= COPY - rounding
        return copies, passed, copies | (passed >= np.minimum(others, mine) - rounding)

    def redundant(
        self, arrival: Arrival, pool: Pool, dependence: Floats
    ) -> tuple[Decision | None, list[Decision]]:
        """Return the decision that drops a newcomer, if any, and else those of what it evicts."""
        mine, others = arrival.relevance, pool.relevance
        copies, passed, pairs = self.redundant_pairs(arrival, pool, dependence)
        if not pairs.any():
            return None, []
        drops = pairs & pool.stronger(arrival)
        if drops.any():
            which = int(np.argmax(np.where(drops, dependence, -1.0)))
            reason = "copy" if copies[which] else "explained"
            cause = (int(pool.features[which]),)
            value, level = float(dependence[which]), float(passed[which])
            return Decision(arrival.feature, reason, mine, value, level, cause), []
        return None, [
            Decision(
                int(pool.features[i]),
                ("evicted " if pool.is_kept[i] else "") + ("copy" if copies[i] else "explained"),
                float(others[i]), float(dependence[i]), float(passed[i]), (arrival.feature,),
            )
            for i in np.flatnonzero(pairs).tolist()
            if i >= pool.required
        ]  # fmt: skip

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons; those that end in "alone" name no other feature."""
        own_size = self.n_features is None
        among = "among the {n_features} features most worth keeping"
        kept = "{name} is kept: {relevance_symbol}={relevance} passes {gate}, and "
        copy = (
            "its dependence on {because} is {value}, so that they are copies, and {because} "
            "predicts the {target} as well or better ({because_relevance} against {relevance})"
        )
        explained = (
            "{relevance_symbol}={relevance} is not above {level}, what {because} passes on of the "
            "{target} with a dependence of {value}"
        )
        until = "{name} was kept until {because} arrived: "
        reasons = {
            "kept": when_kept(
                kept + ("no kept feature explains it" if own_size else f"it is {among}")
            ),
            "returned": when_kept(
                f"{{name}} is kept: it waited in reserve, and is {among} again ({{value}})"
            ),
            "copy": when_redundant("{name} was dropped as redundant: " + copy),
            "explained": when_redundant("{name} was dropped as redundant: " + explained),
            "evicted copy": when_evicted(until + copy),
            "evicted explained": when_evicted(until + explained),
        }
        reasons["weak"] = when_redundant(
            "{name} was dropped as too weak: alone it says {value} of the {target}, less than "
            f"{WEAK:g} times what the weakest feature of the full pool is worth ({{level}})"
        )
        least = "of {one_too_many} it was least worth keeping ({value})"
        reserve = f"it is not {among} ({{value}}) and waits in reserve"
        of_pool = {
            "least": when_redundant("{name} was dropped: " + least),
            "reserve": when_redundant("{name} is not kept for now: " + reserve),
            "pushed out": when_evicted("{name} was kept until " + least),
            "displaced": when_evicted("{name} was kept for a while: " + reserve),
        }
        known = "; once {because} is known it says {level} of the {target}"
        for key, reason in of_pool.items():
            reasons[key] = Reason(reason.verdict, reason.sentence + known)
            reasons[f"{key} alone"] = reason
        return reasons if self.order == "arrival" else reasons_in_order(reasons)


class SieveStream(MeasuredStream):
    """Runs Sieve: the pool changes one relevant column at a time."""

    _kept: Pool

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        pool, lo, compared = self._kept, first, ENTERING
        # Each entrant is looked at here if more depends on it than the pool.
        alone = self._shadows is not None or np.isfinite(pool.exponent)
        while lo < last:
            end = min(lo + STRETCH * self.look_ahead, last)
            compared = min(compared, self.look_ahead)
            newcomers = Newcomers(pool, scored, lo, end, compared, COPY)
            n_new = len(newcomers.features)
            at, most = 0, 0 if alone else n_new
            while at < n_new:
                is_required = scored.features[lo + at] < self.required
                if not is_required:
                    at = newcomers.walk(at, most)
                    if not newcomers.is_known:
                        break
                if self._shadows is not None:
                    self._shadows.catch_up(int(scored.features[lo + at]), pool)
                arrival = scored.arrival(lo + at)
                if is_required:
                    self._keep_required(arrival, newcomers.pairs[:, newcomers.rows[at]])
                    newcomers.met_entrant(at)
                    at += 1
                else:
                    at = self._meet(arrival, newcomers, at)
                if self._shadows is not None:
                    self._shadows.changed(pool, arrival)
            newcomers.log_events(self.log_, REASONS)
            # So many enter per column compared, if those to come are like these.
            entered = max(1, newcomers.among.shape[2])
            compared = max(ENTERING, ENTERING * len(newcomers.compared) // entered)
            lo += at
            if self.on_settled is not None:
                self.on_settled(int(scored.features[lo - 1]) + 1)

    def _keep_required(self, arrival: Arrival, pairs: Floats) -> None:
        """Keep a feature that must stay; it never leaves the pool. These come before all others."""
        pool = self._kept
        pool.enter(arrival, pairs)
        pool.required += 1
        pool.is_kept[-1] = True
        pool.n_features = max(pool.n_features, pool.required)
        pool.capacity = max(pool.capacity, 2 * pool.n_features)
        self.log_.template_fields |= self.rule.template_fields(pool, self._target)
        self.log_.append(
            Decision(arrival.feature, "required", arrival.relevance, level=arrival.level)
        )

    def _meet(self, arrival: Arrival, newcomers: Newcomers, i: int) -> int:
        """Take in a column that changes the pool, and drop what it makes redundant.

        Returns the next newcomer to look at.
        """
        pool = self._kept
        if newcomers.evicts or np.isfinite(pool.exponent):
            pairs = newcomers.pairs[0, newcomers.rows[i], pool.slots]
            dropped, evicts = self.rule.redundant(arrival, pool, pairs)
            if dropped is not None or evicts:
                newcomers.log_events(self.log_, REASONS)
            if dropped is not None:  # only if two ways to round a power differ
                self.log_.append(dropped)
                return i + 1
            for decision in evicts:
                self.log_.append(decision, at=arrival.feature)
            if evicts:
                pool.leave(np.searchsorted(pool.features, [e.feature for e in evicts]))
        if not pool.has_places:
            return newcomers.walk(i, 1, at_once=True)
        newcomers.log_events(self.log_, REASONS)
        worth = pool.enter(arrival, newcomers.pairs[:, newcomers.rows[i]])
        pool.is_kept[-1] = True
        self.log_.append(Decision(arrival.feature, "kept", arrival.relevance, worth, arrival.level))
        newcomers.met_entrant(i)
        return i + 1

    def _decision(self, reason: str, i: int, weighed: Weighed) -> Decision:
        """Return the decision about the feature at position i, with what it is worth."""
        pool, level = self._kept, np.nan
        cause: tuple[int, ...] = ()
        if reason not in ("kept", "returned"):
            by = int(weighed.limited_by[i])
            if by >= 0:
                level, cause = float(weighed.limit[i]), (int(pool.features[by]),)
            else:
                reason += " alone"
        return Decision(
            int(pool.features[i]), reason, float(pool.relevance[i]), float(weighed.worth[i]),
            level, cause,
        )  # fmt: skip

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        pool = self._kept
        return np.sort(pool.features[pool.is_kept]) if len(pool.features) else pool.features.copy()

    @property
    def candidates(self) -> npt.NDArray[np.int64]:
        """The features of the pool, in order of arrival: those kept and those in reserve."""
        features: npt.NDArray[np.int64] = self._kept.features.copy()
        return features

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """The features of the pool, best first."""
        features = self.candidates
        return features[self._kept.weigh(1).order[::-1]] if len(features) else features

    @property
    def worth_(self) -> Floats:
        """What each kept feature is worth, in the order of `kept_`."""
        if not len(self._kept.features):
            return np.zeros(0)
        pool = self._kept
        in_order = np.argsort(pool.features[pool.is_kept])  # features to keep come first
        return pool.weigh(pool.n_features).worth[pool.is_kept][in_order]

    # --- saving a stream -------------------------------------------------------------------

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        pool = self._kept
        pool.fill(columns, state["features"], state["each"]["relevance"])
        pool.required = int(np.count_nonzero(state["features"] < self.required))
        pool.n_features = max(pool.n_features, pool.required)
        pool.capacity = max(pool.capacity, 2 * pool.n_features)
        if len(pool) > pool.n_features:
            pool.is_kept = pool.weigh(pool.n_features).is_left
        else:
            pool.is_kept[:] = True

    def _after_withdrawal(self) -> None:
        """Log which features of the reserve take the places of those that were withdrawn."""
        before = self.log_.replay()
        weighed = self._kept.weigh(self._kept.n_features)
        for i in np.flatnonzero(self._kept.is_kept & ~np.isin(self.candidates, before)).tolist():
            self.log_.append(self._decision("returned", i, weighed), at=len(self.log_) - 1)
        for i in np.flatnonzero(~self._kept.is_kept & np.isin(self.candidates, before)).tolist():
            self.log_.append(self._decision("displaced", i, weighed), at=len(self.log_) - 1)


class OrderedSieveStream(TakenInOrder, SieveStream):
    """Runs Sieve in the order of the features."""

    @property
    def ranking_(self) -> Ints:
        """The features of the pool, best first."""
        pool = self._in_use
        if not len(pool.features):
            return np.zeros(0, np.int64)
        ranking: Ints = self._at[pool.features[pool.weigh(1).order[::-1]]]
        return ranking

    @property
    def worth_(self) -> Floats:
        """What each kept feature is worth, in the order of `kept_`."""
        pool = self._in_use
        if not len(pool.features):
            return np.zeros(0)
        by_arrival = np.argsort(self._at[pool.features[pool.is_kept]])
        worth: Floats = pool.weigh(pool.n_features).worth[pool.is_kept][by_arrival]
        return worth


SieveRule.machinery = SieveStream
SieveRule.in_order = OrderedSieveStream
