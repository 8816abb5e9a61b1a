"""SFS-FI: keep features for what they add together with the kept ones, not only alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Decision, Reason
from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.auto import paper_choices
from tamis.measures.interaction_gain import GainForm, Meeting, interaction_panel
from tamis.measures.measure import Floats, Measure
from tamis.methods.measured import (
    BETTER,
    DROPPED,
    OLDER,
    REPLACED,
    WEAKER,
    Arrival,
    Kept,
    MeasuredRule,
    MeasuredStream,
    ScoredBlock,
    Ties,
    walk,
)
from tamis.methods.rule import no_deletion, when_evicted, when_irrelevant, when_kept, when_redundant

#: Terms of a gain that a decision records, the largest first.
TERMS = 3


class SFSFIRule(MeasuredRule):
    """Streaming feature selection considering feature interaction.

    The interaction gain of a newcomer f is the information that it and the kept features s in S
    give about the class D in pairs, beyond what they give one by one:

        IG(f, S) = sum over s in S of [I(D; f,s) - I(D;s) - I(D;f)].

    * IG >= gamma: f is kept, even if it is irrelevant alone;
    * IG <= 0: f is dropped;
    * in between, f is compared with every kept s, oldest first: if I(s;D) > I(f;D) and I(s;f) >=
      I(f;D), f is redundant and is dropped; if I(f;D) > I(s;D) and I(f;s) >= I(s;D), s is dropped.
      f is kept unless it was dropped.

    There is no gate: features that are irrelevant alone meet the rule too, as XOR-type features
    are. The first column that is not constant is kept, for there is nothing yet to interact with.

    A feature that is irrelevant alone cannot be distinguished from noise before its partner comes.
    The rule keeps what has a gain above 0, and plug-in terms are above 0 by chance, so it keeps
    such features, and most of the noise with them; the more, the fewer the rows. ``correction``
    drops the noise, and with it first partners that are irrelevant alone, unless they come first of
    all.

    With `FisherZ` a term is |r(s, D | f)| - |r(s, D)|; with more than two classes both are multiple
    correlations with the class indicators, which do not depend on how classes are numbered. Such a
    term sees suppression, not XOR.

    Cost: three-way counts (or correlations) of each column with the kept ones, in one compiled
    call. Memory: the kept columns, never pairs of them; nine bytes in the log for each feature that
    is dropped with no relevance and no gain.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "symmetric_uncertainty", "fisher_z"} or Measure
        The measure used for I in the third case, and the kind of the terms (in bits for both
        information measures). "auto" picks as for `SAOLA`. Only pairs that the measure calls
        dependent can be redundant. ``MutualInformation(threshold=0.0)`` is as printed in the
        paper: features that are irrelevant alone are then dropped by any later feature.
    gamma : float, default=0.01
        Gain from which a feature is kept without further tests.
    gain : {"sum", "mean"}, default="sum"
        The paper's sum means less and less as S grows; the mean does not.
    correction : {None, "miller-madow", "significant"}, default=None
        Correction for chance, for information measures only. "miller-madow" subtracts the expected
        bias (levels of f - 1)(levels of s - 1)(classes - 1) / 2n ln 2 from each term. "significant"
        leaves out terms that chance explains: a term is I(f;s|D) - I(f;s), and counts above 0 if
        the G-squared test of the first rejects, below 0 if that of the second does, at the level
        of the measure over the number of kept features. If none counts, a feature that is relevant
        alone is decided by the third case, and any other is dropped.
    ties : {"kept", "neither"}, default="kept"
        Which stays of two equally relevant features in the third case: the one already kept, so
        that copies are dropped; or neither is dropped (the strict comparison of the paper).
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does, with its two index mistakes repaired: only
        relevant features meet the rule; the gain is the mean of I(s;D|f) less the *measure's*
        strength of s, or of the terms of `FisherZ` whose partial correlation is significant; pairs
        with a positive term make none redundant, others only above their bound.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why: the gain, and its largest terms.

    References
    ----------
    P. Zhou, P. Li, S. Zhao, X. Wu. Feature Interaction for Streaming Feature Selection. IEEE TNNLS
    32(10), 2021, Algorithm 1. doi:10.1109/TNNLS.2020.3025922

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(1)
    >>> X = rng.integers(0, 2, (400, 6))
    >>> y = X[:, 0] ^ X[:, 3]
    >>> sel = tamis.SFSFI(correction="significant").fit(X, y)
    >>> sel.kept_
    array([0, 3])
    >>> print(sel.log_.why("x3"))  # doctest: +NORMALIZE_WHITESPACE
    x3 is kept: its interaction gain with the kept features is 0.996, at least 0.01; most of it with
    x0 (up to 0.996 each)
    """

    name: ClassVar[str] = "sfs-fi"
    takes_fdr: ClassVar[bool] = False
    paper_measures: ClassVar[tuple[Measure, Measure] | None] = paper_choices()
    paper: ClassVar[Mapping[str, Any] | None] = {"measure": "paper", "ties": "neither"}

    _: KW_ONLY
    gamma: float = param(0.01, Number(0, open_low=True))
    gain: str = param("sum", OneOf(("sum", "mean")))
    correction: str | None = param(None, None, OneOf(("miller-madow", "significant")))
    ties: str = param("kept", OneOf(("kept", "neither")))
    variant: str = param("paper", OneOf(("paper", "program")))

    # --- the rule --------------------------------------------------------------------------

    def decide(self, arrival: Arrival, kept: Any) -> Decision:
        """Decide by what a feature adds together with the kept ones."""
        if len(kept) == 0:
            return Decision(arrival.feature, "first", arrival.relevance, level=arrival.level)
        return self.weigh(arrival, kept, kept.panel.meet_one(arrival.column))

    def weigh(self, arrival: Arrival, kept: Kept, met: Meeting) -> Decision:
        """Decide by the gain, and between 0 and gamma by pairs."""
        gain = float(met.gains[-1])
        feature, relevance = arrival.feature, arrival.relevance
        if gain <= 0 and not relevance > arrival.level:
            return Decision(feature, "irrelevant", relevance, gain, arrival.level)
        order = _first_few(met.terms if gain <= 0 else -met.terms)
        most = tuple(kept.features[order].tolist())
        terms = {f"term_{i + 1}": float(met.terms[s]) for i, s in enumerate(order.tolist())}
        if len(order) == 0 and self.variant == "program":
            return Decision(feature, "no term", relevance, gain, 0.0)
        if gain <= 0 and len(order) > 0:
            return Decision(feature, "no gain", relevance, gain, 0.0, most, evidence=terms)
        if gain >= self.gamma:
            return Decision(feature, "interacts", relevance, gain, self.gamma, most, evidence=terms)

        bound = np.minimum(kept.relevance, relevance)
        redundant = met.pairs > kept.panel.cutoffs(arrival.column)
        rounding = kept.measure.resolution
        if self.variant == "paper":
            redundant &= met.pairs >= bound - rounding
        else:
            redundant &= (met.pairs > bound + rounding) & ~(met.terms > 0)
        stays = self.variant == "paper" and self.ties == "kept"
        ties: Ties = "older" if stays else "neither"
        walked = walk(arrival, kept, met.pairs, bound, redundant, ties)
        walked = replace(walked, evidence={"gain": gain, **terms})
        if walked.reason != "kept":
            return walked
        if len(order) == 0:
            return replace(walked, reason="alone")
        return replace(walked, value=gain, level=self.gamma, because=most)

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, with the gain and its largest terms."""
        gain = f"its {'mean ' if self._form().mean else ''}interaction gain"
        weak = f"{gain} {{gain}} is below {self.gamma:g}, and "
        alone = "{relevance_symbol}={relevance}"
        own = {
            "first": when_kept("{name} is kept: it came first, and had nothing to interact with"),
            "interacts": when_kept(
                f"{{name}} is kept: {gain} with the kept features is {{value}}, at least {{level}};"
                " most of it with {because} (up to {term_1} each)"
            ),
            "kept": when_kept(
                f"{{name}} is kept: {gain} with the kept features is {{value}}, above 0 though "
                "below {level}, and no kept feature makes it redundant"
            ),
            "alone": when_kept(
                "{name} is kept: {level_passed}; it interacts with no kept feature, and none makes "
                "it redundant"
            ),
            "no gain": when_redundant(
                f"{{name}} was dropped: {alone}, but {gain} with the kept features is {{value}}, "
                "not above 0; least of all with {because} (down to {term_1} each)"
            ),
            "no term": when_redundant(
                f"{{name}} was dropped: {alone}, but given it no kept feature depends on the "
                "{target} any more"
            ),
            "redundant": when_redundant(DROPPED + weak + WEAKER + BETTER),
            "tied": when_redundant(DROPPED + weak + WEAKER + OLDER),
            "evicted": when_evicted(REPLACED + WEAKER + BETTER),
        }
        if self.gated:
            return own
        return own | {
            "irrelevant": when_irrelevant(
                "{name} was dropped as irrelevant: {level_missed}, "
                f"and {gain} with the kept features is {{value}}, not above 0"
            )
        }

    @property
    def gated(self) -> bool:
        """Whether only relevant features meet the rule, as in the program."""
        return self.variant == "program"

    def _form(self) -> GainForm:
        program = self.variant == "program"
        return GainForm(self.gain == "mean" or program, self.correction, program)

    def kept(self, measure: Measure, target: Target) -> Kept:
        """Return an empty kept set that computes interaction gains, or refuse the measure."""
        if measure.deletes_pairs:
            raise ParameterError(no_deletion("SFSFI", "another and the target"))
        if self.correction == "significant" and getattr(measure, "alpha", 0) is None:
            raise ParameterError(
                f"SFSFI: correction='significant' needs a measure with a level, and the measure is "
                f"{measure!r}; give it alpha="
            )
        if self.correction is not None and measure.kind != "discrete":
            raise ParameterError(
                f"SFSFI: correction={self.correction!r} is for counts, and the measure is "
                f"{measure!r}, which counts nothing; pass correction=None"
            )
        panel = interaction_panel(measure, target, self._form())
        if panel is None:
            raise ParameterError(
                f"SFSFI has no interaction gain for {measure!r}; give a mutual information, a "
                "symmetric uncertainty or FisherZ()"
            )
        return Kept(panel, measure)


class InteractionStream(MeasuredStream):
    """Runs SFS-FI: every column meets the kept ones, in compiled calls."""

    _gains: npt.NDArray[np.float32]
    _first: int

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Process survivors; each compiled call finds the next feature that needs a decision.

        The gains of those dropped in bulk are logged together at the end.
        """
        self._first, self._gains = scored.first, np.full(len(scored.relevance), np.nan, np.float32)
        relevant = scored.strengths > scored.levels
        for begin in range(first, last, self.look_ahead):
            lo, hi = begin, min(begin + self.look_ahead, last)
            while lo < hi:
                if hi - lo == 1 or len(self._kept) == 0:
                    arrival = scored.arrival(lo)
                    self._carry_out(self.rule.decide(arrival, self._kept), arrival)
                    lo += 1
                    continue
                met = self._kept.panel.meet(scored.columns, lo, hi, relevant[lo:hi])
                bulk = scored.features[lo : met.stop] - self._first
                self._gains[bulk] = met.gains[: met.stop - lo]
                if met.stop < hi:
                    arrival = scored.arrival(met.stop)
                    self._carry_out(self.rule.weigh(arrival, self._kept, met), arrival)
                lo = met.stop + 1
        self.log_.append_values(self._first, self._gains)
        self._gains = np.zeros(0, np.float32)

    def _carry_out(self, decision: Decision, arrival: Arrival) -> None:
        if decision.reason == "irrelevant":
            # Its entry in bulk says it all but the gain.
            self._gains[decision.feature - self._first] = decision.value
        else:
            super()._carry_out(decision, arrival)


SFSFIRule.machinery = InteractionStream


def _first_few(values: Floats) -> npt.NDArray[np.intp]:
    """Return positions of the smallest values, in order, older first among equals; never NaN."""
    few = np.flatnonzero(~np.isnan(values))
    if len(few) > TERMS:
        few = few[values[few] <= np.partition(values[few], TERMS - 1)[TERMS - 1]]
    return few[np.argsort(values[few], kind="stable")][:TERMS]
