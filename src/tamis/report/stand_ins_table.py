"""The table of a report that says who could take the place of each kept feature."""

from __future__ import annotations

import numpy as np

from tamis.core.decisions import DecisionLog
from tamis.core.stand_ins import classes_of
from tamis.report.page import Column, Section, Table

#: Kept features in the table of stand-ins.
MOST_STAND_INS = 200


def stand_in_table(log: DecisionLog) -> Section | None:
    """Return who could take the place of each kept feature, and what would be lost."""
    classes = classes_of(log)
    sizes = np.bincount(classes.root[classes.root >= 0], minlength=len(log))
    roots = np.flatnonzero(sizes > 1)
    roots = roots[np.argsort(-classes.relevance[roots], kind="stable")]
    rows = []
    for root in roots[:MOST_STAND_INS].tolist():
        best = next(f for f in classes.members(root).tolist() if f != root)
        mine, other = float(classes.relevance[root]), float(classes.relevance[best])
        rows.append([
            log.names[root], int(sizes[root]) - 1, log.names[best], float(f"{other:.5g}"),
            float(f"{mine - other:.3g}"), float(f"{classes.dependence[best]:.5g}"),
        ])  # fmt: skip
    if not rows:
        return None
    columns = [
        Column("kept feature", "feature"), Column("stand-ins", "count"),
        Column("strongest of them", "feature"), Column("its relevance", "number"),
        Column("lost", "number"), Column("dependence", "number"),
    ]  # fmt: skip
    note = (
        "Features that were dropped as redundant could take the place of the kept one, at the loss "
        "of some relevance. All of them: tamis why RUN FEATURE --instead."
    )
    if len(roots) > len(rows):
        note += f" The strongest {len(rows):,} of {len(roots):,} kept features that have any."
    return Table("Stand-ins", columns, rows, note=note)
