"""Results that are kept with the code: one JSON file for each part of the page.

Cells are computed in `studies.OUT`, which is not under version control. What the page needs of
them is written here, with the fingerprints of data and code and the days on which the cells were
made, so that the page can be written again and says what it was made of.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from reproduce.code import joined, modules_of
from tamis.evaluate import Curves, Results
from tamis.evaluate.curves import POINTS
from tamis.evaluate.results import ROWS, SELECTIONS

RESULTS = Path(__file__).resolve().parent / "results"

#: Columns that the page reads; the others stay empty.
KEPT = ("data", "method", "repeat", "fold", "classifier", "share", "status", "note", "accuracy",
        "balanced_accuracy", "kept", "cpu_seconds")  # fmt: skip
CHOSEN = ("data", "method", "repeat", "fold", "share", "status", "measure", "work")

Found = Results | Curves


def place(name: str) -> Path:
    """Return the file of a part."""
    return RESULTS / f"{name.replace(':', '-')}.json"


def keep(name: str, found: Found, cells: Path) -> None:
    """Write what the page needs of a part; `cells` is the folder of its cells."""
    params = found.params
    code: dict[str, str] = {}
    for method in params["methods"]:
        code |= modules_of(method["where"])
    content: dict[str, Any] = {
        "made": made(cells.rglob("*.json")), "code": code,
        "params": {k: v for k, v in params.items() if k != "command"},
    }  # fmt: skip
    if isinstance(found, Results):
        content["rows"] = _columns(found.rows.select(KEPT))
        content["selections"] = _columns(found.selections.select(CHOSEN))
    else:
        content |= {"kind": found.kind, "points": _columns(found.points)}
    put(name, content)


def put(name: str, content: dict[str, Any]) -> None:
    """Write a part: one line for each column, so that a difference can be read."""
    lines = []
    for key, value in content.items():
        if key in ("rows", "selections", "points"):
            inside = ",\n".join(f"  {_text(k)}: {_text(v)}" for k, v in value.items())
            lines.append(f"{_text(key)}: {{\n{inside}\n}}")
        else:
            lines.append(f"{_text(key)}: {_text(value)}")
    path = place(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_suffix(".partial")
    work.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    work.replace(path)


def content(name: str) -> dict[str, Any] | None:
    """Return what is written of a part, or None."""
    path = place(name)
    found: dict[str, Any] | None = None
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def read(name: str) -> Any:
    """Return the results or the curves of a part, or None."""
    found = content(name)
    if found is None:
        return None
    if "points" in found:
        return Curves(found["kind"], _table(found["points"], POINTS), found["params"])
    rows, chosen = _table(found["rows"], ROWS), _table(found["selections"], SELECTIONS)
    return Results(rows, chosen, found["params"])


def made(files: Iterable[Path]) -> list[str]:
    """Return the first and the last day on which these files were written."""
    times = [path.stat().st_mtime for path in files]
    return [time.strftime("%Y-%m-%d", time.gmtime(when)) for when in (min(times), max(times))]


def fingerprint(found: dict[str, Any]) -> str:
    """Return the fingerprint of the code of a part."""
    return joined(found["code"])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _columns(table: pa.Table) -> dict[str, Any]:
    return {name: _packed(name, table[name].to_pylist()) for name in table.column_names}


def _tests(work: str | None) -> str | None:
    """Return the work of a selection as JSON, numbers of tests only."""
    return work and _text({k: v for k, v in json.loads(work).items() if k.startswith("tests_")})


def _packed(name: str, values: list[Any]) -> Any:
    """Return values for JSON: text as a list of words and numbers of words.

    Accuracies stay exact, because ties of their means matter; costs have six digits.
    """
    if name == "work":
        values = [_tests(value) for value in values]
    if any(isinstance(value, str) for value in values):
        words = list(dict.fromkeys(values))
        return {"words": words, "at": [words.index(value) for value in values]}
    if any(isinstance(value, float) for value in values):
        short = "seconds" in name
        return [None if v is None or math.isnan(v) else float(f"{v:.6g}") if short else v
                for v in values]  # fmt: skip
    return values


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    n = len(next(v for v in columns.values() if isinstance(v, list)))
    full = {}
    for field in schema:
        values = columns.get(field.name, [None] * n)
        if isinstance(values, dict):
            values = [values["words"][i] for i in values["at"]]
        full[field.name] = pa.array(values, field.type)
    return pa.table(full, schema=schema)
