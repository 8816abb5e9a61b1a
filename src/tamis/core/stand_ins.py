"""Stand-ins: features that can take each other's place, from the log of a selection.

A feature that was dropped as redundant fell to the feature that decided, and that one may have
fallen to another. All that end at the same kept feature form its class: they depend on it, directly
or one through the other, and were not needed beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.verdicts import Verdict

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StandIn:
    """A feature that could take the place of another one, and what would be lost.

    Attributes
    ----------
    name, feature : str, int
        The stand-in.
    kept : bool
        Whether it is the kept feature of the class.
    relevance, loss : float
        Its relevance, and how much less that is than the relevance of the feature it replaces; a
        negative loss is a gain.
    dependence, on : float or None, str or None
        The strength of its dependence on the feature to which it fell; None for the kept one.
    """

    name: str
    feature: int
    kept: bool
    relevance: float
    loss: float
    dependence: float | None
    on: str | None

    def __str__(self) -> str:
        lost = "nothing is lost" if self.loss <= 0 else f"{self.loss:.3g} less"
        text = f"{self.name}: relevance {self.relevance:.3g}, {lost}"
        if self.dependence is not None:
            text += f"; its dependence on {self.on} is {self.dependence:.3g}"
        return f"{text} (kept)" if self.kept else text


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a log: one entry per feature.

    Attributes
    ----------
    root : ndarray of int
        The kept feature at the end of the chain; -1 for a feature outside every class.
    fell_to : ndarray of int
        The feature that decided; -1 for kept features and those outside.
    dependence, relevance : ndarray
        The strength with that feature, and with the target.
    """

    root: Ints
    fell_to: Ints
    dependence: npt.NDArray[np.float64]
    relevance: npt.NDArray[np.float64]

    def members(self, root: int) -> Ints:
        """Return the features of a class, the most relevant first."""
        inside = np.flatnonzero(self.root == root)
        return inside[np.argsort(-self.relevance[inside], kind="stable")]


def classes_of(log: DecisionLog) -> Classes:
    """Return which features can take each other's place."""
    table = log.columns()
    # Of these reasons the number that decided is the dependence on the feature that decided.
    pairwise = np.array(
        [
            reason.verdict in (Verdict.REDUNDANT, Verdict.EVICTED)
            and all(part in reason.sentence for part in ("{because}", "{value}"))
            and any(part in reason.sentence for part in ("dependence", "{pair_symbol}"))
            for reason in log.reasons.values()
        ],
        dtype=np.bool_,
    )
    fell = pairwise[table["reason"]] & (table["because"] >= 0)
    fell_to = np.where(fell, table["because"], -1)
    root = np.where(fell, table["because"], np.arange(len(log)))
    # A feature falls to one that is kept at that time, so chains have no cycles.
    while not np.array_equal(further := root[root], root):
        root = further
    root = np.where(log.support[root], root, -1) if len(log) else root
    dependence = np.where(fell, table["value"], np.nan)
    return Classes(root, np.where(root >= 0, fell_to, -1), dependence, table["relevance"])


def stand_ins(log: DecisionLog, feature: int | str) -> list[StandIn]:
    """Return the features that could take the place of a feature, the most relevant first."""
    number, classes = log.number(feature), classes_of(log)
    root = int(classes.root[number])
    if root < 0:
        return []
    found = []
    for other in classes.members(root).tolist():
        on: Any = int(classes.fell_to[other])
        if other != number:
            relevance = float(classes.relevance[other])
            found.append(StandIn(
                log.names[other], other, other == root, relevance,
                float(classes.relevance[number]) - relevance,
                None if on < 0 else float(classes.dependence[other]),
                None if on < 0 else log.names[on],
            ))  # fmt: skip
    return found
