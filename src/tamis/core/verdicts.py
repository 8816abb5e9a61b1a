"""Verdicts on features, the reasons for them, and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class Verdict(IntEnum):
    """What happened to a feature."""

    IRRELEVANT = 0
    REDUNDANT = 1
    EVICTED = 2
    KEPT = 3
    UNEXAMINED = 4


@dataclass(frozen=True)
class Reason:
    """Why a verdict was given, as a template sentence.

    Its fields are ``{name}``, ``{because}`` (the features that decided), the numbers
    ``{relevance}``, ``{value}``, ``{level}``, ``{because_relevance}``, any evidence, and the
    template fields of the log such as ``{target}``. A template field may hold fields:
    ``{I}`` with ``I = "I({name}; {target})"``. Strengths that are -log10 of a p-value, so that
    larger is stronger, are shown as p-values by ``{relevance_p}`` and ``{level_p}``.
    ``{level_passed}`` and ``{level_missed}`` are what the measure says about relevance and level:
    one that gates by p-values (`tamis.core.p_levels`) shows ``{p}`` and ``{test_used}``.
    """

    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class Decision:
    """The decision of a selector about one arriving feature.

    Attributes
    ----------
    feature : int
        Arrival number.
    reason : str
        Key of a declared `Reason`; it carries the verdict.
    relevance, value, level : float
        Relevance to the target; the number that decided; the level it was compared with.
    because : tuple of int
        The feature or set of features that decided.
    evicts : tuple of Decision
        Kept features that are evicted because of this one, in order. They are evicted even if this
        feature is then dropped itself.
    evidence : mapping
        Additional named numbers for the explanation.
    """

    feature: int
    reason: str
    relevance: float
    value: float = np.nan
    level: float = np.nan
    because: tuple[int, ...] = ()
    evicts: tuple[Decision, ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)


#: One recorded decision.
EVENT = np.dtype(
    [
        ("at", np.int64),
        ("feature", np.int64),
        ("reason", np.uint8),
        ("relevance", np.float64),
        ("value", np.float64),
        ("level", np.float64),
        ("because_end", np.int64),
    ]
)

#: An additional number of a recorded decision, and its name.
EVIDENCE = np.dtype([("event", np.int64), ("number", np.float64)])
