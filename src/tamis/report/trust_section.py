"""The section of a report that says how far the selection can be trusted."""

from __future__ import annotations

from tamis.core.false_keeps import FalseKeeps
from tamis.engine.runs import Run, gate_words
from tamis.report.page import Facts, Section


def trust_section(run: Run) -> Section | None:
    """Return what is known about how far a run can be trusted; None if nothing is."""
    items: list[tuple[str, str]] = []
    notes: list[str] = []
    if "false_keeps" in run.trust:
        found = FalseKeeps.of(run.trust["false_keeps"])
        items.append(("expected to be false", found.about))
        notes.append(
            f"{found}. Each world judges every column with its rows in another order, by the same "
            "rule, and counts what it keeps: that is luck."
        )
    if "gate" in run.trust:
        gate = run.trust["gate"]
        items.append(("gate", gate_words(gate)))
        notes.append(
            f"Of the features that passed the gate, at most a share of {gate['fdr']:g} is expected "
            f"to be false, if {gate['needs']}. This is about the features that passed, before "
            "redundant ones were dropped."
        )
    return Facts("How far can this be trusted?", items, notes) if items or notes else None
