"""One run: what was asked, on what data, what came out. Needs no selector to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.core.decisions import DecisionLog
from tamis.core.sentences import counted


@dataclass(repr=False)
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
    selector: Any = field(default=None, compare=False)
    stock: Any = field(default=None, compare=False)

    def kept(self) -> list[dict[str, Any]]:
        """The kept features: number, name, relevance and arrival of each, in order of arrival."""
        log = self.log
        kept = log.replay()
        relevance = log.relevances_of(np.array(kept, dtype=np.int64)).tolist()
        return [
            {"feature": f, "name": log.names[f], "relevance": r, "arrival": f}
            for f, r in zip(kept, relevance, strict=True)
        ]

    def __repr__(self) -> str:
        about = f" on {self.source['name']}" if self.source.get("name") else ""
        counts = ", ".join(f"{n:,} {word}" for word, n in self.log.counts().items() if n)
        of = counted(len(self.log), "feature")
        return f"<Run of {self.method}{about}, {of}: {counts or 'none yet'}>"

    def why(self, feature: int | str) -> str:
        """Say in one sentence what became of a feature."""
        sentence = self.log.why(feature)
        facts = self.source.get("encoded", {}).get(str(self.log.number(feature)))
        added = "" if facts is None else encoded_words(facts, self.source["missing"])
        return f"{sentence}; {added}" if added else sentence


def encoded_how(source: dict[str, Any]) -> dict[str, str]:
    """How columns are encoded, in a word each; nothing where they stay as they are."""
    missing = source.get("missing", {"policy": "error"})
    told = {"encode": source.get("encode", ""), "missing": missing["policy"]}
    return {key: str(word) for key, word in told.items() if word not in ("", "error")}


def encoded_words(facts: dict[str, Any], missing: dict[str, Any]) -> str:
    """What was done to one feature, as the end of a sentence; empty if nothing was.

    >>> encoded_words({"cuts": [2.45, 4.75], "gaps": 3}, {"policy": "category"})
    'its values were cut at 2.45 and 4.75, and 3 missing values are a category of their own'
    """
    parts = []
    if facts["cuts"]:
        numbers = [f"{cut:.6g}" for cut in facts["cuts"]]
        listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if numbers[1:] else numbers)
        parts.append(f"its values were cut at {listed}")
    if facts["gaps"]:
        owner = "its" if facts["gaps"] == 1 else "their"
        became = {
            "category": f"a category of {owner} own", "delete": "left out of each comparison",
        }[missing["policy"]]  # fmt: skip
        gaps = counted(facts["gaps"], "missing value is", "missing values are")
        parts.append(f"{gaps} {became}")
    return ", and ".join(parts)
