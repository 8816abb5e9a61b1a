"""Write the tables of the comparison into docs/default.md, and into files next to the cells."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._docs import fill

from reproduce.default import sets
from reproduce.default.cells import Cells
from reproduce.default.methods import ALL, BASELINES, METHODS, OWN, SIZES
from reproduce.default.numbers import BALANCED, MODELS, PLAIN, Difference, Numbers

#: How a method is called in the tables.
TITLES = {
    "sieve": "Sieve", "sieve_free": "Sieve, order free", "saola": "SAOLA", "f_test": "F test",
    "mutual_info": "mutual information", "l1": "L1", "forest": "forest importance",
    "mrmr": "mRMR (batch)", "boruta": "Boruta", "all": "all columns",
}  # fmt: skip

#: Baselines that the default must not be below on average, and by how much it may be below mRMR.
BARS = {"f_test": 0.0, "l1": 0.0, "forest": 0.0, "mrmr": -0.5}
FAR = 5.0
AGREEMENT = 0.9

Section = list[str]


def write_page(cells: Cells, limits: sets.Limits, out: Path, page: Path | None) -> list[Path]:
    """Write the tables; return the files that were written."""
    numbers = Numbers(cells)
    run = sorted({name for name, _, _ in cells.found}, key=sets.NAMES.index)
    classes = [name for name in run if name not in sets.REGRESSION]
    regression = [name for name in run if name in sets.REGRESSION]
    fresh = [name for name in classes if name not in sets.SEEN]
    parts = {
        "bars": _bars(numbers, classes, regression),
        "differences": _differences(numbers, classes),
        "fresh": _differences(numbers, fresh, short=True),
        "asked": _differences(numbers, run, short=True, same=False),
        "balanced": _differences(numbers, classes, short=True, which=BALANCED),
        "regression": _differences(numbers, regression),
        "far": _far(numbers, run),
        "own": _own(numbers, run),
        "orders": _orders(numbers, run),
        "free": _free(numbers, run),
        "sets": _described(cells, run, limits),
        "scores": [line for size in SIZES for line in _scores(numbers, run, size)],
    }
    out.mkdir(parents=True, exist_ok=True)
    markdown, facts = out / "summary.md", out / "summary.json"
    text = "\n".join(f"## {name}\n\n" + "\n".join(lines) + "\n" for name, lines in parts.items())
    markdown.write_text(text, encoding="utf-8")
    facts.write_text(json.dumps(_facts(numbers, run), indent=1) + "\n", encoding="utf-8")
    if page is None:
        return [markdown, facts]
    for name, lines in parts.items():
        fill(str(page), name, "\n".join(lines))
    return [markdown, facts, page]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Section:
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows)]


def _gap(found: Difference | None) -> str:
    if found is None:
        return "-"
    return f"{found.mean:+.1f} ± {found.error:.1f} ({found.wins}/{found.losses})"


def _bars(numbers: Numbers, classes: list[str], regression: list[str]) -> Section:
    """Return what the default was required to reach, and whether it does."""
    rows = []
    kinds = ([*classes, *regression], classes, regression)
    for baseline, bar in BARS.items():
        pair = ("sieve", ""), (baseline, "")
        found = [numbers.over_sets(names, *pair, list(MODELS), sizes=SIZES) for names in kinds]
        if found[0] is None:
            continue
        below = "not below" if not bar else f"at most {-bar:g} below"
        shown = ["-" if f is None else f"{f.mean:+.1f} ± {f.error:.1f} ({f.n})" for f in found]
        rows.append([
            f"{below} {TITLES[baseline]} on average", *shown, _verdict(found[0].mean >= bar)
        ])  # fmt: skip
    behind = [
        sorted({name for name, *_ in numbers.far_behind(names, tuple(BARS), FAR)})
        for names in kinds
    ]
    rows.append([
        f"never more than {FAR:g} points behind one of them",
        *(f"not on {len(b)} of {len(names)}" for b, names in zip(behind, kinds, strict=True)),
        _verdict(not behind[0]),
    ])  # fmt: skip
    agreed = [_least_agreement(numbers, names) for names in kinds]
    if agreed[0]:
        shown = [f"{np.mean(a):.2f}, least {min(a):.2f}" if a else "-" for a in agreed]
        rows.append([
            f"Jaccard over column orders at least {AGREEMENT}", *shown,
            _verdict(min(agreed[0]) >= AGREEMENT),
        ])  # fmt: skip
    return _table(("required", "all sets", "classification", "regression", "holds"), rows)


def _least_agreement(numbers: Numbers, names: list[str]) -> list[float]:
    """Return the agreement of the default over column orders, for every set and size."""
    return [value for (name, _), value in _agreement(numbers, "sieve").items() if name in names]


def _verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _differences(
    numbers: Numbers, names: list[str], short: bool = False, which: int = PLAIN, same: bool = True
) -> Section:
    """Return Sieve minus each baseline; wins and losses are by more than half a point."""
    rows = []
    for baseline in BASELINES:
        if not short:
            for size in SIZES:
                pair = ("sieve", str(size)), (baseline, str(size))
                found = [numbers.over_sets(names, *pair, [m], which, same=same) for m in MODELS]
                worst = min((f for f in found if f), key=lambda f: f.least, default=None)
                if worst:
                    model = list(MODELS.values())[found.index(worst)]
                    last = f"{worst.least:+.1f} {worst.worst} ({model})"
                    rows.append([TITLES[baseline], str(size), *map(_gap, found), last])
        means = [
            numbers.over_sets(names, ("sieve", ""), (baseline, ""), [m], which, SIZES, same)
            for m in MODELS
        ]
        worst = min((f for f in means if f), key=lambda f: f.least, default=None)
        if worst:
            model = list(MODELS.values())[means.index(worst)]
            last = f"{worst.least:+.1f} {worst.worst} ({model})"
            rows.append([TITLES[baseline], "all sizes", *map(_gap, means), last])
    return _table(("Sieve minus", "features", *MODELS.values(), "worst set"), rows)


def _far(numbers: Numbers, names: list[str]) -> Section:
    rows = [
        [name, TITLES[baseline], str(size), MODELS[model], f"{gap:+.1f} ± {error:.1f}"]
        for name, baseline, size, model, gap, error in numbers.far_behind(names, BASELINES, FAR)
    ]
    if not rows:
        return ["Nowhere."]
    return _table(("set", "behind", "features", "model", "points ± error over folds"), rows)


def _own(numbers: Numbers, names: list[str]) -> Section:
    """Return sizes and scores of the methods that decide how many they keep."""
    columns = {
        "Sieve, own size": ("sieve", OWN), "SAOLA": ("saola", OWN), "Boruta": ("boruta", OWN),
        "Sieve, 50": ("sieve", "50"), "all columns": ("all", ALL),
    }  # fmt: skip
    rows = []
    for name in names:
        cells = []
        for method, size in columns.values():
            kept = numbers.kept(name, method, size)
            if math.isnan(kept):
                cells.append(numbers.status(name, method) or "-")
            else:
                cells.append(f"{kept:.0f}; {_three(numbers, name, method, size)}")
        rows.append([name, *cells])
    return _table(("set", *columns), rows)


def _three(numbers: Numbers, name: str, method: str, size: str) -> str:
    values = [numbers.mean(name, method, size, model) for model in MODELS]
    return " / ".join(f"{v:.1f}" for v in values)


def _agreement(numbers: Numbers, method: str) -> dict[tuple[str, str], float]:
    """Return the mean Jaccard index over pairs of orders, by set and size."""
    return {
        (name, size): float(np.mean(values))
        for (name, m), by_size in numbers.jaccard.items()
        if m == method
        for size, values in by_size.items()
    }


def _orders(numbers: Numbers, names: list[str]) -> Section:
    sizes = [*map(str, SIZES), OWN]
    rows = []
    for method, shown in (("sieve", sizes), ("saola", [OWN])):
        for size in shown:
            values = _agreement_at(numbers, method, size, names)
            if values:
                low = sorted(values, key=lambda n: values[n])[:3]
                rows.append([
                    f"{TITLES[method]}, {_size(size)}",
                    f"{np.mean(list(values.values())):.3f}",
                    f"{sum(v >= AGREEMENT for v in values.values())} of {len(values)}",
                    ", ".join(f"{n} {values[n]:.2f}" for n in low),
                ])  # fmt: skip
    return _table(("method", "mean Jaccard", f"sets at {AGREEMENT} or more", "lowest"), rows)


def _agreement_at(numbers: Numbers, method: str, size: str, names: list[str]) -> dict[str, float]:
    """Return the agreement of a method over column orders at one size, by set."""
    found = _agreement(numbers, method)
    return {name: found[name, size] for name in names if (name, size) in found}


def _size(size: str) -> str:
    return size if size != OWN else "own size"


def _free(numbers: Numbers, names: list[str]) -> Section:
    """Return agreement with order="free", and its scores minus those in the order of arrival."""
    rows = []
    for size in [*map(str, SIZES), OWN]:
        agreed = list(_agreement_at(numbers, "sieve_free", size, names).values())
        pair = ("sieve_free", size), ("sieve", size)
        found = [numbers.over_sets(names, *pair, [m], same=False) for m in MODELS]
        n_scored = max((f.n for f in found if f), default=0)
        least = f"{min(agreed):.2f} ({len(agreed)} sets)" if agreed else "-"
        rows.append([_size(size), least, *map(_gap, found), str(n_scored)])
    return _table(("features", "lowest Jaccard", *MODELS.values(), "sets scored"), rows)


def _described(cells: Cells, names: list[str], limits: sets.Limits) -> Section:
    rows = []
    here = sets.available()
    for name in names:
        if name not in here:
            continue
        data = sets.load(name, limits)
        rows.append([
            name, f"{data.X.shape[0]:,} × {data.X.shape[1]:,}",
            f"{data.full[0]:,} × {data.full[1]:,}",
            str(data.n_classes) if data.n_classes else "a number",
            "sparse" if data.sparse else "dense",
            str(len(data.folds())), "yes" if name in sets.SEEN else "no",
        ])  # fmt: skip
    heads = ("set", "rows × columns used", "of", "classes", "stored", "folds",
             "seen while Sieve was designed")  # fmt: skip
    return _table(heads, rows)


def _scores(numbers: Numbers, names: list[str], size: int) -> Section:
    methods = ("sieve", *BASELINES)
    rows = []
    for name in names:
        cells = []
        for method in methods:
            if math.isnan(numbers.kept(name, method, str(size))):
                cells.append(numbers.status(name, method) or "-")
            else:
                cells.append(_three(numbers, name, method, str(size)))
        if any(" / " in cell for cell in cells):
            kept = numbers.kept(name, "sieve", str(size))
            rows.append([name, "-" if math.isnan(kept) else f"{kept:.0f}", *cells])
    heads = ("set", "Sieve keeps", *(TITLES[m] for m in methods))
    return [f"### {size} features: {' / '.join(MODELS.values())}\n", *_table(heads, rows), ""]


def _facts(numbers: Numbers, names: list[str]) -> dict[str, Any]:
    """Return every mean as JSON."""
    sizes = [*map(str, SIZES), OWN, ALL]
    scores = {
        name: {
            method: {
                size: {
                    "kept": numbers.kept(name, method, size),
                    **{model: numbers.mean(name, method, size, model) for model in MODELS},
                }
                for size in sizes
                if not math.isnan(numbers.kept(name, method, size))
            }
            for method in METHODS
        }
        for name in names
    }
    jaccard = {f"{name}, {method}": found for (name, method), found in numbers.jaccard.items()}
    return {"scores": scores, "jaccard": jaccard}
