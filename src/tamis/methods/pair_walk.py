"""The walk over kept features that SAOLA and its kin share: of two redundant ones, one goes."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Decision
from tamis.measures.measure import Floats
from tamis.methods.arrivals import Arrival, Kept

#: Which of two equally relevant features stays.
Ties = Literal["older", "newer", "neither"]

#: Parts of sentences: what happened, about the weaker of two features, and about the stronger.
DROPPED = "{name} was dropped as redundant: "
REPLACED = "{name} was kept until {because} arrived and made it redundant: "
WEAKER = "{relevance_symbol}={relevance} is not above its dependence on {because} ({value})"
BETTER = ", which is the better predictor ({because_relevance})"
OLDER = ", which predicts as well and came first"


def walk(
    arrival: Arrival,
    kept: Kept,
    values: Floats,
    bound: Floats,
    redundant: npt.NDArray[np.bool_],
    ties: Ties,
) -> Decision:
    """Compare a newcomer with every kept feature, oldest first, until one throws it out.

    `redundant` marks the redundant pairs, judged by their `values` and `bound`. Of such a pair the
    more relevant feature stays; `ties` says which if both are equally relevant. It is one walk: a
    feature that was evicted before the newcomer falls stays out. Reasons are "kept", "redundant",
    "tied" (equal, and the older stays) and "evicted".
    """
    tied = np.abs(kept.relevance - arrival.relevance) <= kept.measure.resolution
    older_wins = ~tied & (kept.relevance > arrival.relevance)
    newer_wins = ~tied & ~older_wins
    if ties == "older":
        older_wins |= tied
    elif ties == "newer":
        newer_wins |= tied

    throws_out = np.flatnonzero(redundant & older_wins)
    end = int(throws_out[0]) if len(throws_out) else len(kept)
    evicts = tuple(
        Decision(
            int(kept.features[i]), "evicted", float(kept.relevance[i]),
            float(values[i]), float(bound[i]), (arrival.feature,),
        )
        for i in np.flatnonzero((redundant & newer_wins)[:end])
    )  # fmt: skip
    if end == len(kept):
        return Decision(
            arrival.feature, "kept", arrival.relevance, level=arrival.level, evicts=evicts
        )
    return Decision(
        arrival.feature, "tied" if tied[end] else "redundant", arrival.relevance,
        float(values[end]), float(bound[end]), (int(kept.features[end]),), evicts,
    )  # fmt: skip
