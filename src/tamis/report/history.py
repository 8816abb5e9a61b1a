"""What a living selection was fed, and when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tamis.core.errors import TamisError
from tamis.engine.persistent.saved_selection import is_persistent, read_saved
from tamis.report.page import Column, Section, Table

#: Lines of the table; what came before is in the log.
MOST = 200


def history_of(folder: str | os.PathLike[str]) -> Section | None:
    """Return every feed, drop and refused file of a run; None for a run that was never fed."""
    if not is_persistent(Path(folder)):
        return None
    try:
        lines = read_saved(folder).history
    except TamisError:
        return None  # the run itself is whole; tamis status says what is wrong with its state
    steps: dict[Any, dict[str, Any]] = {}
    for line in lines:  # a long feed has many commits, and the last one tells all
        same = line["action"], line.get("source"), line.get("fingerprint")
        steps[same if "done" in line else line["commit"]] = line
    if len(steps) < 2:
        return None
    columns = [
        Column("when (UTC)"), Column("what"), Column("of"), Column("columns taken", "count"),
        Column("features seen", "count"), Column("note"),
    ]  # fmt: skip
    rows = [_row(line) for line in steps.values()]
    note = "The decisions of each are printed by tamis log."
    if len(rows) > MOST:
        note = f"The last {MOST:,} of {len(rows):,}. {note}"
    return Table("What was fed", columns, rows[-MOST:], note=note)


def _row(line: dict[str, Any]) -> list[Any]:
    counted = [f"{line[word]:,} {word}" for word in ("skipped", "replaced") if line.get(word)]
    return [
        line["time"][:19].replace("T", " "),
        {"refuse": "refused"}.get(line["action"], line["action"]),
        str(line.get("source") or line.get("feature") or ""),
        line.get("taken"),
        line["features"],
        str(line.get("why") or ", ".join(counted)),
    ]
