"""The papers' printed statistics, recomputed from their own tables.

Ranks, tests and counts are computed with `tamis.evaluate` from the printed accuracies; a printed
number that differs is a `Slip`. Nothing is run here: the tables are data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.evaluate import ranks

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Slip:
    """A printed number that does not follow from the printed table."""

    paper: str
    table: str
    what: str
    printed: str
    computed: str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A printed table: what was measured, on which data sets, for which methods."""

    paper: str
    id: str
    rows: dict[str, dict[str, Any]]
    summary: dict[str, Any]

    def grid(self, methods: list[str]) -> Floats:
        """Return the numbers of some methods; NaN for text such as ``> 3 days``."""
        return np.array([[_number(row.get(m)) for m in methods] for row in self.rows.values()])

    def groups(self) -> list[list[str]]:
        """Return the columns that are ranked together: all, or those of each classifier."""
        methods = list(self.summary["average_rank"])
        heads = dict.fromkeys(m.split(" ")[0] if m[:4] in ("KNN ", "J48 ") else "" for m in methods)
        return [[m for m in methods if not head or m.startswith(head + " ")] for head in heads]


def load(path: Path) -> dict[tuple[str, str], Table]:
    """Return every printed table by paper and number."""
    papers = json.loads(path.read_text(encoding="utf-8"))
    return {
        (paper, table["id"]): Table(paper, table["id"], table["rows"], table["summary"])
        for paper in ("saola", "osfs", "sofs", "sfs_fi")
        for table in papers[paper]["tables"]
    }


def slips(path: Path) -> list[Slip]:
    """Return every printed number of a test or claim that does not follow from the tables."""
    tables = load(path)
    papers = json.loads(path.read_text(encoding="utf-8"))
    found: list[Slip] = []
    for table in tables.values():
        if "average_rank" in table.summary:
            found += _ranks(table)
        if "average" in table.summary:
            found += _averages(table)
    found += _critical_differences(papers)
    found += _friedman(papers, tables)
    found += _claims(tables)
    return found


# --- ranks, means, tests --------------------------------------------------------------------------


def printed_ranks(table: Table, methods: list[str]) -> Floats:
    """Return average ranks as the paper counts them: SAOLA's best has the highest number."""
    smaller = table.paper == "saola" or table.id in ("V", "VI")
    return ranks.rank_rows(table.grid(methods), larger_is_better=not smaller).mean(axis=0)


def _ranks(table: Table) -> Iterator[Slip]:
    for methods in table.groups():
        printed = np.array([table.summary["average_rank"][m] for m in methods])
        computed = printed_ranks(table, methods)
        if not np.all(np.abs(printed - computed) < 1e-4):
            yield Slip(
                table.paper, table.id, f"average ranks of {', '.join(methods)}",
                _joined(printed), _joined(computed.round(4)),
            )  # fmt: skip


def _averages(table: Table) -> Iterator[Slip]:
    """Means of columns: rounded, or truncated as SFS-FI does."""
    for method, printed in table.summary["average"].items():
        digits = 4 if table.id in ("III", "IV") else 2
        mean = float(np.nanmean(table.grid([method])))
        rounded, cut = round(mean, digits), math.floor(mean * 10**digits + 1e-9) / 10**digits
        if printed not in (rounded, cut):
            yield Slip(table.paper, table.id, f"average of {method}", f"{printed:g}", f"{mean:.6g}")


def _critical_differences(papers: dict[str, Any]) -> Iterator[Slip]:
    for paper, table, k, n in (("saola", "VII", 3, 14), ("sfs_fi", "III, IV", 8, 10)):
        printed = next(
            f["value"]
            for f in papers[paper]["prose_figures"]
            if f["text"].startswith("Nemenyi critical difference")
        )
        computed = ranks.critical_difference(k, n)
        if abs(printed - computed) > 6e-4:
            yield Slip(
                paper, table, f"Nemenyi's critical difference, {k} methods, {n} data sets",
                f"{printed:g}", f"{computed:.4f}", "no verdict changes",
            )  # fmt: skip


def _friedman(papers: dict[str, Any], tables: dict[tuple[str, str], Table]) -> Iterator[Slip]:
    """Yield the p-values that SFS-FI prints; none of four forms of the test gives them."""
    printed = next(
        f["value"]
        for f in papers["sfs_fi"]["prose_figures"]
        if f["text"].startswith("Friedman p-values over the eight methods")
    )
    for name, id_ in (("KNN", "III"), ("SVM", "IV"), ("running time", "V"),
                      ("number of features", "VI")):  # fmt: skip
        table = tables["sfs_fi", id_]
        grid = table.grid(list(table.summary["average_rank"]))
        test = ranks.friedman(grid, larger_is_better=id_ in ("III", "IV"))
        forms = (test.p, test.p_ties, test.f_p)
        if not any(math.isclose(printed[name], p, rel_tol=5e-5) for p in forms):
            yield Slip(
                "sfs_fi", id_, f"p-value of Friedman's test, {name}", f"{printed[name]:g}",
                f"{test.p:.4g} (ties: {test.p_ties:.4g}; Iman-Davenport: {test.f_p:.4g})",
                "still rejected at 5%",
            )  # fmt: skip


# --- wins, ties and losses ------------------------------------------------------------------------


def counts(ours: Floats, theirs: Floats, margin: float) -> str:
    """Return wins, ties and losses; a difference of `margin` or more decides."""
    d = np.round(ours - theirs, 6)
    decides = max(margin, 1e-9)
    win, loss = int(np.sum(d >= decides)), int(np.sum(d <= -decides))
    return f"{win}/{len(d) - win - loss}/{loss}"


def win_tie_loss(table: Table, margin: float) -> dict[str, tuple[str, str]]:
    """Return printed and computed counts of a paper's own method against each other method."""
    found = {}
    for methods in table.groups():
        others = methods[1:]
        grid = table.grid(methods)
        for i, other in enumerate(others, start=1):
            printed = table.summary["win_tie_loss"][other]
            found[other] = printed, counts(grid[:, 0], grid[:, i], margin)
    return found


# --- sentences about tables -----------------------------------------------------------------------


def _claims(tables: dict[tuple[str, str], Table]) -> Iterator[Slip]:
    iv, v = tables["saola", "IV"].grid(["SAOLA", "Fast-OSFS"]), tables["saola", "V"]
    fewer = int(np.sum(iv[:, 1] < iv[:, 0]))
    if fewer < len(iv):
        yield Slip("saola", "IV", "Fast-OSFS selects fewer features than SAOLA on every data set",
                   "10 of 10", f"{fewer} of {len(iv)}")  # fmt: skip
    shown = set(tables["saola", "VIII"].rows)
    slowest = max((r["SAOLA"], d) for d, r in v.rows.items() if d not in shown)
    if slowest[0] > 5:
        yield Slip("saola", "V", "at most 5 s on the data sets left out of Table VIII",
                   "5", f"{slowest[0]:g} on {slowest[1]}")  # fmt: skip
    xiii = tables["saola", "XIII"]
    for what, columns in (
        ("is faster", ["SAOLA time (s)", "SAOLA-max time (s)"]),
        ("keeps fewer features", ["SAOLA features", "SAOLA-max features"]),
    ):
        grid = xiii.grid(columns)
        less = int(np.sum(grid[:, 0] < grid[:, 1]))
        if less < len(grid):
            yield Slip("saola", "XIII", f"SAOLA {what} than SAOLA-max on every data set",
                       f"{len(grid)} of {len(grid)}", f"{less} of {len(grid)}")  # fmt: skip
    yield from _osfs_claims(tables)
    yield from _test_rows(tables)
    sizes = tables["saola", "I"].rows["news20"], tables["sofs", "IV"].rows["news20"]
    saola = sizes[0]["training instances"], sizes[0]["testing instances"]
    sofs = sizes[1]["train"], sizes[1]["test"]
    if saola != sofs:
        yield Slip("saola, sofs", "I; IV", "training and test rows of news20",
                   "/".join(map(str, saola)), "/".join(map(str, sofs)),
                   "one paper has them swapped")  # fmt: skip


def _test_rows(tables: dict[tuple[str, str], Table]) -> Iterator[Slip]:
    """Accuracies are whole counts over the test rows, so they show how many there were."""
    printed = tables["saola", "I"].rows["dorothea"]["testing instances"]
    accuracies = [
        value
        for id_ in ("II", "III", "VI", "VII", "IX", "X", "XI", "XII")
        for value in tables["saola", id_].rows["dorothea"].values()
    ]
    fits = {n: sum(round(round(a * n) / n, 4) == a for a in accuracies) for n in (printed, 350)}
    if fits[printed] < fits[350]:
        yield Slip("saola", "I", "test rows of dorothea", str(printed),
                   f"350 fits {fits[350]} of {len(accuracies)} printed accuracies, "
                   f"{printed} fits {fits[printed]}", "its validation set has 350")  # fmt: skip


def _osfs_claims(tables: dict[tuple[str, str], Table]) -> Iterator[Slip]:
    eight, ten = tables["osfs", "8"].rows, tables["osfs", "10"].rows
    kept = eight["OSFS"]["selected features"], ten["OSFS"]["selected features"]
    if kept[0] != kept[1]:
        yield Slip("osfs", "8; 10", "features that OSFS selects at alpha 0.05",
                   f"{kept[0]} (Table 8)", f"{kept[1]} (Table 10)",
                   "with the same accuracies")  # fmt: skip
    for id_ in ("3", "4"):
        grid = tables["osfs", id_].grid(["OSFS", "Fast-OSFS"])
        faster = int(np.sum(grid[:, 1] < grid[:, 0]))
        if faster < len(grid):
            yield Slip("osfs", id_, "Fast-OSFS is faster than OSFS on every data set",
                       f"{len(grid)} of {len(grid)}", f"{faster} of {len(grid)}",
                       "the others are printed as equal")  # fmt: skip
    rows = tables["osfs", "1"].rows["sylva"], tables["sfs_fi", "II"].rows["sylva"]
    if rows[0]["instances"] != rows[1]["Instances"]:
        yield Slip("osfs, sfs_fi", "1; II", "rows of sylva",
                   str(rows[0]["instances"]), str(rows[1]["Instances"]))  # fmt: skip


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _joined(values: Floats) -> str:
    return ", ".join(f"{v:g}" for v in values)
