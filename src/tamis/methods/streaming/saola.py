"""SAOLA: keep a newcomer unless it is redundant with a kept feature, by pairs only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Decision, Reason
from tamis.core.params import OneOf, param
from tamis.core.target import Target
from tamis.kernels.walk import foresee_walk
from tamis.measures.auto import paper_choices
from tamis.measures.measure import Floats, Measure
from tamis.methods.free_order import (
    FreeOrderStream,
    OrderedKept,
    OrderedWorld,
    check_costs,
    decide_in_order,
    reasons_in_order,
)
from tamis.methods.measured import (
    BETTER,
    DROPPED,
    FORESIGHT,
    OLDER,
    REPLACED,
    WEAKER,
    Arrival,
    Foresight,
    Kept,
    MeasuredRule,
    Ties,
    walk,
)
from tamis.methods.rule import when_evicted, when_kept, when_redundant
from tamis.methods.shadow_worlds import PairWorld, World


class SAOLARule(MeasuredRule):
    """Scalable and accurate online approach for feature selection.

    A newcomer F that is relevant to the class C is compared with every kept feature Y, oldest
    first:

    * Y is at least as relevant, I(Y;C) >= I(F;C), and I(F;Y) >= delta: F is redundant and is
      dropped;
    * F is more relevant, I(F;C) > I(Y;C), and I(F;Y) >= delta: Y is redundant and is dropped.

    If no Y drops F, F is kept. delta = min(I(F;C), I(Y;C)); SAOLA-max takes the larger. It is
    one walk: a Y that F evicted stays out even if a later Y then drops F.

    With ``order="free"`` the same comparisons are made in an order that belongs to the features:
    the most relevant first, then by name. What is kept is then the same for every order of arrival,
    at any time: a feature that was dropped returns when the one that dropped it leaves. See
    `tamis.methods.free_order`.

    Cost: one relevance value per feature, and at most one pair value for each relevant feature and
    kept feature. Memory: the kept columns; with ``order="free"`` all relevant columns.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "fisher_z", "any_shape", ...} or Measure
        The measure used for I. "auto" depends on the data: whole numbers with few levels and a
        class target get ``MutualInformation(alpha=0.01)``, everything else
        ``FisherZ(alpha=0.01)``; `measure_` is what was picked, and `choices_` says why.
    bound : {"min", "max"}, default="min"
        delta above; "max" is the paper's SAOLA-max, which keeps more.
    ties : {"kept", "neither"}, default="kept"
        Which stays when two features are equally relevant: the one already kept, so that exact
        copies are dropped; or neither, so that both stay (the strict comparison printed in the
        paper).
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: a pair counts only if the measure calls it
        dependent, it must be *above* delta, and for discrete measures ties keep both.
    order : {"arrival", "free"}, default="arrival"
        The order of comparison: that of arrival, as in the paper, or one that does not depend on
        it.
    costs : dict, optional
        The cost of each feature by name, with ``order="free"``: of two features that are redundant
        with each other and near-equal, the cheaper one stays. Relevance counts 5 % less at the
        highest cost, nothing less at the lowest, and in equal steps between; the larger of these
        numbers comes first. A feature without a cost counts as one of the highest cost.

    References
    ----------
    K. Yu, X. Wu, W. Ding, J. Pei. Towards Scalable and Accurate Online Feature Selection for Big
    Data. ICDM 2014, Algorithm 1. doi:10.1109/ICDM.2014.63

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> noise = rng.integers(0, 2, 200)
    >>> good = np.where(rng.random(200) < 0.9, y, 1 - y)
    >>> better = np.where(rng.random(200) < 0.3, y, good)
    >>> sel = tamis.SAOLA().fit(np.column_stack([noise, good, better, better]), y)
    >>> sel.kept_
    array([2])
    >>> sel.measure_
    MutualInformation(threshold=0.0, alpha=0.01)
    >>> print(sel.log_.why("x3"))  # doctest: +NORMALIZE_WHITESPACE
    x3 was dropped as redundant: I(x3; class)=0.626 is not above its dependence on x2 (0.984), which
    predicts as well and came first
    """

    name: ClassVar[str] = "saola"
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True
    in_order = FreeOrderStream
    foreseen: ClassVar[tuple[str, ...]] = ("redundant", "tied")
    paper_measures: ClassVar[tuple[Measure, Measure] | None] = paper_choices()
    paper: ClassVar[Mapping[str, Any] | None] = {"measure": "paper", "ties": "neither"}

    _: KW_ONLY
    bound: str = param("min", OneOf(("min", "max")))
    ties: str = param("kept", OneOf(("kept", "neither")))
    variant: str = param("paper", OneOf(("paper", "program")))
    order: str = param("arrival", OneOf(("arrival", "free")))
    costs: Mapping[str, float] | None = None

    @property
    def world(self) -> type[World]:  # type: ignore[override]
        """How decoys are judged."""
        return PairWorld if self.order == "arrival" else OrderedWorld

    def check_params(self) -> None:
        """Raise an error for a parameter outside its range, or two that exclude each other."""
        super().check_params()
        if self.costs is not None:
            check_costs(self.costs, self.order)

    def kept(self, measure: Measure, target: Target) -> Kept:
        """Return an empty kept set."""
        if self.order == "arrival":
            return super().kept(measure, target)
        one = Kept(measure.panel(target), measure)
        return OrderedKept(measure.panel(target), measure, one=one, costs=self.costs)

    def decide(self, arrival: Arrival, kept: Kept) -> Decision:
        """Walk over the kept features, oldest first, or over those that come first in order."""
        if isinstance(kept, OrderedKept):
            return decide_in_order(self, arrival, kept)
        ties: Ties = "neither" if self.tied_stay(kept.measure) else "older"
        return walk(arrival, kept, *self.compare(arrival, kept), ties)

    def walking(self, kept: Kept) -> tuple[bool, bool, float, int] | None:
        """Return the numbers of the compiled walk, which is that of the paper in arrival order."""
        own = type(self).decide is SAOLARule.decide and type(self).compare is SAOLARule.compare
        return self.numbers_of_walk(kept) if own else None

    def numbers_of_walk(self, kept: Kept) -> tuple[bool, bool, float, int] | None:
        """Return the numbers of `walking`, for a class that decides as this one."""
        if self.variant != "paper" or isinstance(kept, OrderedKept):
            return None
        return self.bound == "max", self.ties == "kept", kept.measure.resolution, kept.required

    def tied_stay(self, measure: Measure) -> bool:
        """Return whether two equally relevant features both stay."""
        return measure.kind != "continuous" if self.variant == "program" else self.ties != "kept"

    def compare(self, arrival: Arrival, kept: Kept) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """Return the strength with every kept feature, its bound, and which are redundant."""
        values = kept.panel.between(arrival.column)
        lower = np.minimum(kept.relevance, arrival.relevance)
        bound = lower if self.bound == "min" else np.maximum(kept.relevance, arrival.relevance)
        rounding = kept.measure.resolution
        if self.variant == "paper":
            redundant = values >= bound - rounding
        else:
            redundant = (values > bound + rounding) & (values > kept.panel.cutoffs(arrival.column))
        return values, bound, redundant

    def foresee(self, relevance: Floats, pairs: Floats, kept: Kept) -> Foresight | None:
        """Find the newcomers that a kept feature drops before they evict any other."""
        lower = np.minimum if self.bound == "min" else np.maximum
        if isinstance(kept, OrderedKept):
            if kept.costs is not None:
                return None
            bound = lower(relevance[:, None], kept.relevance)
            hit = kept.drop_in_order(relevance, pairs >= bound - kept.measure.resolution, self)
            ends, plain = np.argmax(hit, axis=1), hit.any(axis=1)
        else:
            ends, evicts = np.empty(len(pairs), np.intp), np.empty(len(pairs), np.bool_)
            foresee_walk(
                pairs, kept.relevance, relevance, self.bound == "max", self.ties == "kept",
                kept.measure.resolution, ends, evicts,
            )  # fmt: skip
            plain = (ends >= 0) & ~evicts
        other = kept.relevance[ends]
        seen = np.empty(len(pairs), FORESIGHT)
        seen["because"] = np.where(plain, kept.features[ends], -1)
        seen["value"] = pairs[np.arange(len(pairs)), ends]
        seen["level"] = lower(relevance, other)
        seen["reason"] = np.abs(relevance - other) <= kept.measure.resolution
        return seen

    @property
    def foresees(self) -> bool:
        """Whether drops can be settled in bulk: the program's variant needs more than pairs."""
        return self.variant == "paper"

    @property
    def compares_pairs(self) -> bool:
        """Whether decisions follow from the redundant pairs, which workers find independently."""
        own = type(self).decide is SAOLARule.decide and type(self).compare is SAOLARule.compare
        return own and self.variant == "paper" and self.order == "arrival"

    def redundant_pairs(
        self, relevance: Floats, pairs: Floats, kept: Kept
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the redundant pairs: positions of newcomers, and those of kept features."""
        lower = np.minimum if self.bound == "min" else np.maximum
        bound = lower(relevance[:, None], kept.relevance)
        newcomer, other = np.nonzero(pairs >= bound - kept.measure.resolution)
        return newcomer, other

    def drops(self, relevance: Floats, other: Floats, resolution: float) -> npt.NDArray[np.bool_]:
        """Return which newcomers a kept feature drops, if the two are redundant."""
        tied = np.abs(relevance - other) <= resolution
        return (~tied & (other > relevance)) | (tied & (self.ties == "kept"))

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, which depend on the bound and the order."""
        weaker, better = WEAKER, BETTER
        if self.bound == "max":
            weaker = "its dependence on {because} ({value}) reaches the relevance of both"
            better += " against {relevance}"
        found = {
            "redundant": when_redundant(DROPPED + weaker + better),
            "tied": when_redundant(DROPPED + weaker + OLDER),
            "evicted": when_evicted(REPLACED + weaker + better),
            "kept": when_kept(
                "{name} is kept: {level_passed}, and no kept feature makes it redundant"
            ),
        }
        return found if self.order == "arrival" else found | reasons_in_order(weaker, better)
