"""One run: what was asked, on what data, what came out. Needs no selector to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.core.decisions import DecisionLog


@dataclass
class Run:
    """What was asked, on what data, what came out, and what it cost. Reports read only this.

    Attributes
    ----------
    log : DecisionLog
        What happened to every feature, and why.
    method, parameters, measure, measure_reason : str, dict, str, str
        The selector, as it was set up, and the measure it used, with the reason for it;
        both empty for methods without one.
    source : dict
        Format, shape, target and fingerprint of the data.
    work, seconds, peak_megabytes : dict, dict, float
        Counted work, times by stage, and the most memory the process held.
    versions : dict
        tamis, Python and the libraries that computed.
    command, seed : str, int or None
        How the run was asked for; the seed, for selectors that draw.
    selector : selector or None
        The fitted selector; None for a run read from a folder.
    stock : Stock or None
        What it takes to go on with more columns; None where the method cannot.
    """

    log: DecisionLog
    method: str
    parameters: dict[str, str]
    measure: str
    measure_reason: str
    source: dict[str, Any]
    work: dict[str, int]
    seconds: dict[str, float]
    peak_megabytes: float
    versions: dict[str, str]
    command: str = ""
    seed: int | None = None
    selector: Any = field(default=None, repr=False, compare=False)
    stock: Any = field(default=None, repr=False, compare=False)

    def kept(self) -> list[dict[str, Any]]:
        """The kept features: number, name, relevance and arrival of each, in order of arrival."""
        log = self.log
        kept = log.replay()
        relevance = log.relevances_of(np.array(kept, dtype=np.int64)).tolist()
        return [
            {"feature": f, "name": log.names[f], "relevance": r, "arrival": f}
            for f, r in zip(kept, relevance, strict=True)
        ]

    def why(self, feature: int | str) -> str:
        """Say in one sentence what became of a feature."""
        return self.log.why(feature)
