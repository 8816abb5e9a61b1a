"""Finished cells on disk: one file per cell, named by a hash of all that decides its result."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tamis.core.files import atomic_file, make_folder
from tamis.evaluate.cells import MEMORY_CAP, OK, TIME_CAP, Caps, Cell, judge_key


class CellCache:
    """A folder of finished cells.

    A file holds the identity of the cell, its selection, and the scores of every classifier. It is
    written atomically, so that a kill leaves no partial file.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = make_folder(folder)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        return self.folder / cell.key[:2] / f"{cell.key}.json"

    def load(self, cell: Cell) -> dict[str, Any]:
        """Return ``selection`` and ``scores`` of a cell, as far as they are finished.

        A file that cannot be read (after a full disk) is ignored, and written again.
        """
        empty: dict[str, Any] = {"selection": None, "scores": {}}
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return empty
        same = isinstance(record, dict) and record.get("identity") == cell.identity
        return {k: record[k] for k in empty} if same else empty

    def save(self, cell: Cell, record: dict[str, Any]) -> None:
        """Save what is known about a cell."""
        path = self.path(cell)
        text = json.dumps({"identity": cell.identity, **record}, ensure_ascii=False)
        make_folder(path.parent)
        with atomic_file(path, hint="finished cells are kept") as file:
            file.write(text.encode())


def finished(step: dict[str, Any] | None, caps: Caps) -> bool:
    """Return True if a step needs no more work under these caps.

    A step that was stopped by a cap is finished unless the cap is larger now.
    """
    if step is None or step.get("passing"):
        return False
    if step["status"] == TIME_CAP:
        return caps.seconds is not None and caps.seconds <= step["cap"]
    if step["status"] == MEMORY_CAP:
        return caps.megabytes is not None and caps.megabytes <= step.get("cap", 0.0)
    return True


def missing(
    record: dict[str, Any], classifiers: tuple[str, ...], caps: Caps
) -> tuple[bool, list[str]]:
    """Return whether the selection is missing, and which classifiers are."""
    selection = record["selection"]
    if not finished(selection, caps):
        return True, list(classifiers)
    if selection["status"] != OK:
        return False, []
    scores = record["scores"]
    return False, [c for c in classifiers if not finished(scores.get(judge_key(c)), caps)]
