"""The page about a model trained on rows: how training went, and what was kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from tamis.core.masking import masked
from tamis.core.sentences import counted
from tamis.engine.learning.model import MODEL, how_wrong, open_model, test_score
from tamis.report.page import Column, Facts, Lines, Page, Section, Table

#: Rows of the table of kept features.
MOST_KEPT = 2_000


def page_of_model(folder: str | os.PathLike[str]) -> Page:
    """Return the page about a model folder."""
    model = open_model(folder)
    size = sum((Path(folder) / name).stat().st_size for name in (MODEL, *model.record["crc32"]))
    return _page(model, model.record, size)


def training_page(model: Any, curve: dict[str, list[float]], command: str) -> Page:
    """Return the page about a model that is still training."""
    return _page(model, model.record | {"curve": curve, "command": masked(command)}, None)


def _page(model: Any, record: dict[str, Any], size: int | None) -> Page:
    work = record["work"]
    name = ", ".join(str(file.get("name", "")) for file in record.get("source") or [])
    summary = (
        f"{record['method']} kept {record['kept']:,} of "
        f"{counted(record['n_features_in'], 'feature')} after {counted(work['rows'], 'row')}"
        f"{' of ' + name if name else ''}; {how_wrong(record, 'them')}."
    )
    sections: list[Section | None] = [
        _facts(record, size),
        *_over_rows(record),
        _sizes(record),
        _kept(model),
        _turnover(record),
        _requested(record),
    ]
    title = f"tamis: {record['method']}{' on ' + name if name else ''}"
    command = record.get("command") or "(trained in Python; see the parameters above)"
    return Page.of(title, summary, sections, command, record["versions"])


def _facts(record: dict[str, Any], size: int | None) -> Section:
    items = [
        ("rows", f"{record['work']['rows']:,}"),
        ("kept", f"{record['kept']:,}"),
    ]
    if record["classes"] is None:
        r2 = record["progressive_r2"]
        items.append(("R² while learning", "–" if r2 is None else f"{r2:.4f}"))
    else:
        error = record["work"]["mistakes"] / max(record["work"]["rows"], 1)
        items.append(("error while learning", f"{error:.2%}"))
    if (on_test := test_score(record)) is not None:
        items.append((f"test {on_test[0]}", on_test[1]))
    bad = sum(record.get("bad_lines", {}).values())
    if bad:
        items.append(("bad lines skipped", f"{bad:,}"))
    if size is not None:
        items.append(("model size", f"{size / 1000:,.0f} kB"))
    return Facts("At a glance", items)


def _over_rows(record: dict[str, Any]) -> list[Section]:
    """Return the error, and the change of the kept set, over the rows."""
    curve = record.get("curve")
    if not curve or len(curve["rows"]) < 2:
        return []
    series = {"since the beginning": curve["error"], "recently": curve["recent_error"]}
    rows = np.diff(np.array([0, *curve["rows"]], dtype=float))
    entered = (1000 * np.array(curve["entered"]) / np.maximum(rows, 1)).tolist()
    of_numbers = record["classes"] is None
    unit = "root mean squared error" if of_numbers else "share of wrong predictions"
    return [
        Lines(
            "Error over the rows", "rows", curve["rows"], series, unit,
            colours=["blue", "orange"],
            note="Each row is predicted before it is learned, so this is the error on rows not "
            "seen.",
        ),
        Lines(
            "Change of the kept set", "rows", curve["rows"], {"newcomers in 1,000 rows": entered},
            "features", colours=["purple"],
            note="How many features entered the kept set; it has settled when this falls to 0.",
        ),
    ]  # fmt: skip


def _sizes(record: dict[str, Any]) -> Section | None:
    """Return the curve behind n_features="auto"."""
    curve = record.get("size_curve") or {}
    if len(curve) < 2:
        return None
    pairs = sorted((float(size), float(error)) for size, error in curve.items())
    return Lines(
        "Error against the number of kept features", "kept features", [p[0] for p in pairs],
        {"error while learning": [p[1] for p in pairs]},
        note=f"Sizes that were trained in parallel; {record['kept']:,} features are kept now.",
    )  # fmt: skip


def _kept(model: Any) -> Section:
    weights = np.asarray(model.weights_)
    strength = np.abs(weights) if weights.ndim == 1 else np.abs(weights).max(axis=1)
    order = np.lexsort((-strength, -model.confidence_))[:MOST_KEPT]
    names = (
        ["weight"] if weights.ndim == 1 else [f"weight for {c}" for c in model.classes_.tolist()]
    )
    cells = weights.reshape(len(weights), -1).tolist()
    rows = [[model.names_[i], float(model.confidence_[i]), *cells[i]] for i in order.tolist()]
    note = "Most confident first."
    if len(weights) > MOST_KEPT:
        note += f" The first {MOST_KEPT:,} of {len(weights):,}; all are in features.npy."
    columns = [
        Column("feature", "feature"), Column("confidence", "number", bar=True),
        *(Column(name, "number") for name in names),
    ]  # fmt: skip
    return Table("Kept features by confidence", columns, rows, note=note)


def _turnover(record: dict[str, Any]) -> Section | None:
    """Return which features entered and left the kept set, the latest first."""
    entries = record.get("turnover") or []
    if not entries:
        return None
    rows = [[name, came, left or None, times] for name, came, left, times in entries]
    columns = [
        Column("feature", "feature"), Column("came at row", "number"),
        Column("left at row", "number"), Column("times it came", "number"),
    ]  # fmt: skip
    note = "Checked at the points of the curves above; features kept only between two are missing."
    if changes := record.get("changes"):
        at = ", ".join(f"{row:,}" for row in changes)
        note = f"Errors rose at row {at}, and the model adapted. {note}"
    return Table("Kept features over time", columns, rows, note=note)


def _requested(record: dict[str, Any]) -> Section:
    rows: list[list[Any]] = [["method", record["method"]]]
    rows += [[key, _text(value)] for key, value in record["parameters"].items()]
    if record["classes"] is None:
        rows += [["intercept", f"{record['intercept']:.6g}"]]
    else:
        rows += [["classes", _text(record["classes"]["values"])]]
    rows += [[what, count] for what, count in record["work"].items()]
    rows += [[f"bad lines: {kind}", count] for kind, count in record.get("bad_lines", {}).items()]
    columns = [Column("what"), Column("value")]
    return Table("Parameters and counted work", columns, rows)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "–" if value is None else "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
