"""Compare tamis's default with the usual baselines and write docs/default.md.

python -m reproduce.default                       everything; resumes where it stopped
python -m reproduce.default --sets wine digits    some sets; the page keeps the earlier results
python -m reproduce.default --again sieve         repeat the cells of a method that was changed
python -m reproduce.default --page                run nothing, write the page from stored results
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from reproduce.default import sets
from reproduce.default.cells import (
    OK,
    ORDERS,
    TOO_SLOW,
    Cell,
    Cells,
    add_sizes,
    run_fold,
    run_orders,
)
from reproduce.default.methods import BASELINES, METHODS, SIZES
from reproduce.default.page import write_page

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "bench-results" / "default"


def plan(names: Sequence[str], methods: Sequence[str], limits: sets.Limits) -> list[Cell]:
    """Return the cells in the order in which they run: the first fold of every set first."""
    folds = {name: len(sets.load(name, limits).folds()) for name in names}
    cells = [
        (name, fold, method)
        for fold in range(max(folds.values(), default=0))
        for name in names
        if fold < folds[name]
        for method in methods
    ]
    orders = [(name, ORDERS, m) for name in names for m in methods if METHODS[m].ordered]
    return cells + orders


def sizes_of_default(cells: Cells, cell: Cell) -> set[int]:
    """Return how many features the default kept where it kept fewer than it was asked for."""
    name, fold, method = cell
    record = cells.found.get((name, fold, "sieve"), {})
    if method not in BASELINES or fold == ORDERS or record.get("status") != OK:
        return set()
    kept = record["kept"]
    return {len(kept[str(k)]) for k in SIZES if str(k) in kept and len(kept[str(k)]) < k}


def finished(cells: Cells, cell: Cell) -> bool:
    """Return True if a cell has all its scores; baselines are also scored at the default's size."""
    record = cells.found.get(cell)
    if cell[1] == ORDERS:
        return record is not None
    return record is not None and not add_sizes(record, sizes_of_default(cells, cell))


def run(cells: Cells, planned: list[Cell], limits: sets.Limits, seconds: float) -> None:
    """Run the cells that are not finished, and print the time left."""
    todo = [cell for cell in planned if not finished(cells, cell)]
    data: sets.DataSet | None = None
    for number, cell in enumerate(todo):
        name, fold, method = cell
        if data is None or data.name != name:
            data = sets.load(name, limits)
        begun = time.perf_counter()
        first = cells.found.get((name, 0, method), {})
        if fold and first.get("status", OK) != OK:  # not tried again on the other folds
            record = {k: first[k] for k in ("status", "note")} | {"seconds": 0.0}
        elif fold == ORDERS:
            record = run_orders(data, METHODS[method], seconds)
        else:
            record = run_fold(data, fold, METHODS[method], seconds, cells.found.get(cell))
            if add_sizes(record, sizes_of_default(cells, cell)):
                record = run_fold(data, fold, METHODS[method], seconds, record)
        spent = time.perf_counter() - begun
        cells.add(cell, {**record, "spent": round(spent, 2)})
        ended = "" if record["status"] == OK else f" {record['status']} ({record['note']})"
        left = _left(cells, todo[number + 1 :]) / 60
        where = "three orders" if fold == ORDERS else f"fold {fold + 1}"
        print(
            f"[{number + 1}/{len(todo)}] {name}, {where}, {method}: {spent:.1f} s{ended}; "
            f"about {left:.0f} min left",
            file=sys.stderr, flush=True,
        )  # fmt: skip


def _left(cells: Cells, todo: list[Cell]) -> float:
    """Return the seconds that the cells will take: as long as cells like them took."""
    spent: dict[tuple[str, str], list[float]] = {}
    for (name, _, method), record in cells.found.items():
        if "spent" in record and record["status"] != TOO_SLOW:
            for key in ((name, method), ("", method), ("", "")):
                spent.setdefault(key, []).append(record["spent"])
    total = 0.0
    for name, _, method in todo:
        keys = ((name, method), ("", method), ("", ""))
        total += next((fmean(spent[key]) for key in keys if key in spent), 0.0)
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.default",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", nargs="+", choices=sets.NAMES, metavar="SET", help="these sets")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help="these")
    parser.add_argument("--again", nargs="+", choices=METHODS, metavar="METHOD", default=[],
                        help="forget the stored cells of these methods first")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    parser.add_argument("--rows", type=int, default=1000, help="the most rows of a set")
    parser.add_argument("--columns", type=int, default=5000, help="the most columns of a set")
    parser.add_argument("--seconds", type=float, default=120.0,
                        help="processor time that a selection may take")  # fmt: skip
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        help="folder of the results; the page is written from the default one",
    )
    options = parser.parse_args(arguments)
    limits = sets.Limits(options.rows, options.columns)
    cells = Cells(options.out / "cells.jsonl", limits)
    if options.again:
        cells.forget(options.again)
    if not options.page:
        here = sets.available()
        for name in options.sets or sets.NAMES:
            if name not in here:
                print(f"skipped {name}: its files are not in {sets.SHARED.name}/", file=sys.stderr)
        methods = []
        for name in options.methods or METHODS:
            if absent := METHODS[name].missing():
                print(f"skipped {name}: {absent} is not installed", file=sys.stderr)
            else:
                methods.append(name)
        names = [name for name in options.sets or sets.NAMES if name in here]
        try:
            run(cells, plan(names, methods, limits), limits, options.seconds)
        except KeyboardInterrupt:
            print("stopped; the same command resumes", file=sys.stderr)
            return 130
    page = ROOT / "docs" / "default.md" if options.out == OUT else None
    for path in write_page(cells, limits, options.out, page):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
