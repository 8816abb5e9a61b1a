"""A small run with every verdict and unusual names, for the tests of folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.names import NameBook, Names
from tamis.engine.runs import RUN_FIELDS, Run

ODD = [
    'say "hi"',
    "two\nlines",
    "a,b;c",
    "<b>&amp;</b>",
    "🧬 gène",
    "",
    " ",
    "{name}",
    "=1+1",
    "x|y",
]

REASONS = {
    "weak": Reason(Verdict.IRRELEVANT, "{name} is weak: {relevance} is not above {level}"),
    "kept": Reason(Verdict.KEPT, "{name} is kept with {relevance} and p={p}"),
    "copy": Reason(Verdict.REDUNDANT, "{name} repeats {because} ({value} of {level})"),
    "gone": Reason(Verdict.EVICTED, "{name} was displaced by {because}, {gain} better"),
}


def a_run(names=None, shift=0.0, **book) -> Run:
    """Ten features: 1, 4, 6 kept, 4 evicted by 6, 5 redundant because of two; evidence for some."""
    log = DecisionLog(REASONS, NameBook(**book), {"target": "class"})
    packed = None if names is None else Names.of(names)
    relevance = np.linspace(0, 0.9, 10) + shift
    log.append_bulk(relevance[:4], 0.25, "weak", packed and packed.part(0, 4))
    log.append_bulk(relevance[4:], np.linspace(0.5, 1.1, 6), "weak", packed and packed.part(4, 10))
    log.append(Decision(1, "kept", 0.1 + shift, level=0.01, evidence={"p": 0.125}))
    log.append(Decision(4, "kept", 1 / 3, level=0.01, evidence={"p": 1 / 7}))
    log.append(Decision(5, "copy", 0.5, 0.7, 0.6, because=(1, 4)))
    gone = Decision(4, "gone", 1 / 3, 0.3, 0.2, because=(6,), evidence={"gain": 2.5})
    log.append(Decision(6, "kept", 0.6, level=0.01, evicts=(gone,), evidence={"p": 1e-300}))
    return Run(
        log, "test", {"bound": "'min'"}, "Measure()", "it was given",
        {"format": "memory", "n_rows": 5, "fingerprint": "00", "target": "2 classes"},
        {"features": 10, "pair_values": 3}, {"select": 0.5}, 12.5, {"tamis": "0"}, "tamis test", 7,
    )  # fmt: skip


def facts_of(run):
    log = run.log
    return {
        "why": [run.why(k) for k in range(len(log))],
        "events": [repr(event) for event in log.events()],
        "kept": run.kept_rows(),
        "counts": log.counts(),
        "names": [log.names[k] for k in range(len(log))],
        "fields": {key: getattr(run, key) for key in RUN_FIELDS},
    }


def names_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())
