"""The section of a report that says how far the selection can be trusted."""

from __future__ import annotations

from tamis.core.false_keeps import FalseKeeps
from tamis.engine.runs import Run
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
    return Facts("How far can this be trusted?", items, notes) if items or notes else None
