"""The section of a report that says how far the selection can be trusted."""

from __future__ import annotations

from tamis.core.false_keeps import FalseKeeps
from tamis.core.judged import Judged
from tamis.engine.runs import Run, gate_words, unasked_words
from tamis.report.page import Column, Facts, Section, Table

#: Families in the table of votes.
MOST_FAMILIES = 50


def trust_section(run: Run) -> Section | None:
    """Return what is known about how far a run can be trusted; None if nothing is."""
    items: list[tuple[str, str]] = []
    notes: list[str] = []
    if "false_keeps" in run.trust:
        luck = FalseKeeps.of(run.trust["false_keeps"])
        items.append((f"of {luck.kept:,} kept, expected to be luck", luck.about))
        notes.append(
            f"{luck}. Each world judges every column with its rows in another order, by the same "
            "rule, and counts what it keeps: that is luck."
        )
    if "gate" in run.trust:
        gate = run.trust["gate"]
        items.append(("of the finds, on average false", f"at most {100 * gate['fdr']:g} %"))
        notes.append(
            f"{gate_words(gate)}. Of the features that passed the gate, at most a share of "
            f"{gate['fdr']:g} is expected to be false, if {gate['needs']}. This is about the "
            "features that passed, before redundant ones were dropped. Which of the kept ones you "
            f"can report: tamis status RUN --certify {gate['fdr']:g}."
        )
    if "stability" in run.trust:
        found = run.trust["stability"]
        value = found["families"]["nogueira"]
        items.append(("stability over rows", "none" if value is None else f"{value:.2f}"))
        notes.append(f"Stability: {found['sentence']}.")
    if "judged" in run.trust:
        judged = Judged.of(run.trust["judged"])
        items += [(f"{judged.scoring}, {what}", str(score)) for what, score in judged.rows()]
        notes.append(
            f"Scores are those of a {judged.model} on rows that neither the selection nor the "
            f"model saw, with 95 % intervals: everything was repeated in {judged.cv} folds."
        )
    notes += [f"{name.capitalize()}: {words}." for name, words in unasked_words(run).items()]
    return Facts("How far can this be trusted?", items, notes) if items or notes else None


def votes_table(run: Run) -> Section | None:
    """Return how often halves of the rows keep each kept feature or a stand-in of it."""
    found = run.trust.get("stability")
    if found is None or not found["votes"]:
        return None
    rows = [
        [one["name"], one["votes"], one["own_votes"], one["size"] - 1, one["also"]]
        for one in found["votes"][:MOST_FAMILIES]
    ]
    columns = [
        Column("feature", "feature"), Column("votes with stand-ins", "number", bar=True),
        Column("votes alone", "number"), Column("stand-ins", "count"),
        Column("most often instead", "feature"),
    ]  # fmt: skip
    note = (
        f"The share of {found['features']['selections']} halves of the rows that keep the feature "
        "or one that fell to it, and that keep the feature itself."
    )
    if found["outside"] >= 0.05:
        note += (
            f" A half also keeps {found['outside']:.1f} features on average that are in no row of "
            "this table."
        )
    if len(found["votes"]) > len(rows):
        note += f" The first {len(rows)} of {len(found['votes']):,}."
    return Table("Would other rows agree?", columns, rows, note=note)
