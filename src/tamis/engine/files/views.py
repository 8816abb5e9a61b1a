"""The files of a run that people read: what was kept, and what the run was."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tamis.core.masking import without_secrets
from tamis.engine.files.log_files import describe_log
from tamis.engine.run import Run

FORMAT_VERSION = 1

RUN_FIELDS = (
    "method", "parameters", "measure", "measure_reason", "source", "work", "seconds",
    "peak_megabytes", "versions", "command", "seed",
)  # fmt: skip


def run_json(run: Run, **more: Any) -> bytes:
    """What was asked, on what data, with which versions, at what cost."""
    record: dict[str, Any] = {"format_version": FORMAT_VERSION}
    record |= {key: getattr(run, key) for key in RUN_FIELDS}
    record["verdicts"] = run.log.counts()
    record |= describe_log(run.log) | more
    text = json.dumps(without_secrets(record), indent=1, ensure_ascii=False) + "\n"
    # What has no UTF-8 (a file name in another encoding) becomes the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace")


def write_selected(run: Run, path: Path) -> None:
    """Write feature, name, relevance and arrival of each kept feature."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, ["feature", "name", "relevance", "arrival"])
        writer.writeheader()
        writer.writerows(run.kept())
