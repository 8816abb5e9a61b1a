"""The papers' figures and smaller tables, with numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tamis
from reproduce import stored
from reproduce.claims import COST, Ours, gamma_tests
from reproduce.plans import LARGE, OSFS, SAOLA
from reproduce.studies import SHARED, TREES, f_name, ofs_name
from tamis import _registry as registry
from tamis.core.errors import TamisError
from tamis.evaluate.results import Results

JUDGES = {"KNN": "knn", "J48": "tree"}


def beside(paper: str, results: Results | None, studies: dict[str, Any], known: Any) -> list[str]:
    """Return what belongs to a paper beside its main tables."""
    if results is None:
        return []
    parts = {
        "saola": lambda: [
            *ofs(studies["ofs"], known), *sizes(studies.get("sizes"), known),
            *orders(studies.get("saola-orders"), "SAOLA: random orders (Figures 6 and 7)", CHOSEN),
            *thresholds(studies.get("thresholds")),
        ],
        "osfs": lambda: [
            *tests(results, studies.get("osfs-0.01"), known),
            *table_5(results, studies.get("saola plan"), known),
            *over_time(studies.get("time")),
            *orders(studies.get("orders"), "OSFS: 12 random orders of madelon (Figures 11 to 13)"),
            *rivals(studies.get("rivals")),
        ],
        "sfs_fi": lambda: [*gamma(studies.get("gamma")), *monk_table(studies["monk"])],
        "fcbf": list,
    }  # fmt: skip
    return parts[paper]()


def grid(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table whose first column is text."""
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


# --- SAOLA ----------------------------------------------------------------------------------------


def ofs_rows(saola: Results | None, large: Results | None) -> dict[str, dict[str, float]]:
    """Return SAOLA, OFS1 and OFS2 on every set where all are known."""
    found: dict[str, dict[str, float]] = {}
    for plan, results in ((SAOLA, saola), (LARGE, large)):
        if results is None:
            continue
        column = results.methods.index("SAOLA")
        for i, name in enumerate(results.data):
            folder = plan.sets.get(name)
            if name in found or folder is None or (done := stored.read(ofs_name(folder))) is None:
                continue
            row: dict[str, float] = {"kept": results.grid("kept")[i, column]}
            for judge, classifier in JUDGES.items():
                row[f"{judge} SAOLA"] = results.grid("accuracy", classifier)[i, column]
                of_sizes = done.grid("accuracy", classifier)[0]
                row[f"{judge} OFS1"] = of_sizes[0]
                row[f"{judge} OFS2"] = float(np.nanmax(of_sizes[1:]))
            row["seconds SAOLA"] = results.grid(COST["seconds"])[i, column]
            row["seconds OFS1"] = done.grid(COST["seconds"])[0, 0]
            if not any(math.isnan(v) for v in row.values()):
                found[name] = row
    return found


def ofs(found: dict[str, dict[str, float]], known: Any) -> list[str]:
    """Return Tables VI to VIII."""
    if not found:
        return []
    heads = ["data"]
    heads += [f"{judge} {m}" for judge in JUDGES for m in ("SAOLA", "OFS1", "OFS2")]
    heads += ["seconds SAOLA", "seconds OFS1"]
    lines = []
    for name, row in found.items():
        cells = [name]
        for head in heads[1:]:
            judge, _, method = head.partition(" ")
            table = known["saola", {"KNN": "VI", "J48": "VII", "seconds": "VIII"}[judge]]
            form = "{:.3g}" if judge == "seconds" else "{:.4f}"
            cells.append(f"{table.rows.get(name, {}).get(method, '-')} / {form.format(row[head])}")
        lines.append(cells)
    return [
        "### SAOLA: beside OFS1 and OFS2 (Tables VI to VIII)\n",
        "OFS is `FOFS`, on rows of length 1. OFS1 keeps as many features as SAOLA; OFS2 is the "
        "best of 5, 10, 20, 35, 50, 75 and 100 by *test* accuracy (the paper tries 20 sizes), or "
        "of 5, 20, 50 and 100 on the large sets. Picking by test accuracy favours OFS2.\n",
        *grid(heads, lines),
    ]


def sizes(found: Results | None, known: Any) -> list[str]:
    """Return SPSF-LAR and GDM at the sizes of the paper, the best by test accuracy."""
    if found is None:
        return []
    lines = []
    for judge, classifier in JUDGES.items():
        accuracy = found.grid("accuracy", classifier)
        for i, name in enumerate(found.data):
            cells = [f"{name}, {judge}"]
            for method, ids in (("SPSF-LAR", ("IX", "X")), ("GDM", ("XI",))):
                at = [k for k, m in enumerate(found.methods) if m.startswith(method)]
                values = accuracy[i, at]
                row: dict[str, Any] = {}
                for id_ in ids:
                    if (id_ == "X") == (judge == "KNN") or id_ == "XI":
                        row = known["saola", id_].rows.get(name, {})
                theirs = row.get(method, row.get(f"{judge} {method}", "-"))
                if np.isnan(values).all():
                    cells += [f"{theirs} / -", "-"]
                    continue
                best = int(np.nanargmax(values))
                cells += [f"{theirs} / {values[best]:.4f}", found.methods[at[best]].split()[-1]]
            lines.append(cells)
    return [
        "### SAOLA: SPSF-LAR and GDM at their best size\n",
        "The paper reports the size with the highest test accuracy; so does this table, over "
        "SPSF-LAR with 5 to 65 features and GDM with 10 to 260 support features.\n",
        *grid(["data", "SPSF-LAR", "features", "GDM", "support features"], lines),
    ]


NO_RESULT = "A `-` has no result: the run was stopped at a [limit](#how-to-read-this-page).\n"

#: What the orders of SAOLA show besides.
CHOSEN = (
    "`saola:paper` takes mutual information for the flags of dorothea, and Fisher's z for the "
    "counts of dexter and madelon. `saola:z` is SAOLA with Fisher's z on all three.\n"
)


def orders(curves: Any, title: str, note: str = "") -> list[str]:
    """Return the spread over random orders of arrival."""
    if curves is None:
        return []
    lines = []
    points = curves.points.to_pylist()
    keys = dict.fromkeys((p["data"], p["method"], p["classifier"]) for p in points)
    for data, method, classifier in keys:
        same = [p for p in points if (p["data"], p["method"], p["classifier"])
                == (data, method, classifier) and p["accuracy"] is not None]  # fmt: skip
        if same:
            a, k = (np.array([p[m] for p in same]) for m in ("accuracy", "kept"))
            lines.append([
                f"{data}, `{method}`, {classifier}",
                *(f"{v:.4f}" for v in (a.min(), a.mean(), a.max(), a.std())),
                *(f"{v:.1f}" for v in (k.min(), k.mean(), k.max())),
            ])  # fmt: skip
    heads = ["data, method, classifier", "accuracy: lowest", "mean", "highest", "sd",
             "kept: lowest", "mean", "highest"]  # fmt: skip
    more = [note] if note else []
    unprinted = "The figures are printed without numbers.\n"
    return [f"### {title}\n", unprinted, *more, *grid(heads, lines)]


def thresholds(found: Results | None) -> list[str]:
    """Return SAOLA over the relevance threshold (Figure 8)."""
    if found is None:
        return []
    lines = []
    kept, knn, tree = (found.grid("kept"), *(found.grid("accuracy", c) for c in ("knn", "tree")))
    for i, j in np.ndindex(kept.shape):
        k, a, b = kept[i, j], knn[i, j], tree[i, j]
        shown = [f"{k:.1f}", f"{a:.4f}", f"{b:.4f}"]
        cells = ["-"] * 3 if math.isnan(k + a + b) else shown
        lines.append([f"{found.data[i]}, {found.methods[j]}", *cells])
    return [
        "### SAOLA: relevance thresholds (Figure 8)\n",
        *([NO_RESULT] if any("-" in line for line in lines) else []),
        *grid(["data, threshold in bits", "kept", "KNN", "J48"], lines),
    ]


# --- OSFS -----------------------------------------------------------------------------------------


def tests(results: Results, stricter: Results | None, known: Any) -> list[str]:
    """Return Table 2 (numbers of tests) and Table 3 (seconds at 0.01)."""
    ours = Ours(results, OSFS)
    more, less = (ours.work(f"{m}, G2", "tests_given") for m in ("OSFS", "Fast-OSFS"))
    more_z, less_z = (ours.work(m, "tests_given") for m in ("OSFS", "Fast-OSFS"))
    printed = dict(known["osfs", "2"].rows)
    guessed = {"dexter": 31.82, "dorothea": 35.96, "arcene": 3.5, "madelon": 3.34, "colon": 2.08,
               "prostate": 3.26, "leukemia": 2.54}  # fmt: skip
    lines = []
    for name in results.data:
        if name in more and name in less:
            theirs = printed.get(name, {}).get("accelerate ratio", guessed.get(name, "-"))
            z = f"{more_z[name] / max(less_z[name], 1):.2f}" if name in more_z else "-"
            lines.append([name, f"{more[name]:,.0f}", f"{less[name]:,.0f}",
                          f"{theirs} / {more[name] / max(less[name], 1):.2f}", z])  # fmt: skip
    parts = [
        "### OSFS: numbers of tests (Table 2)\n",
        "Tests do not depend on the machine. Printed ratios of the left half of Table 2 have no "
        "legible names; they stand where their order puts them.\n",
        *grid(["data", "OSFS, G2", "Fast-OSFS, G2", "ratio", "ratio by z"], lines),
    ]
    if stricter is not None:
        table, lines = known["osfs", "3"].rows, []
        seconds = stricter.grid(COST["seconds"])
        for i, name in enumerate(stricter.data):
            lines.append([name, *(f"{table.get(name, {}).get(m, '-')} / {seconds[i, k]:.3g}"
                                  for k, m in enumerate(stricter.methods))])  # fmt: skip
        parts += ["### OSFS: seconds at 0.01, by G2 (Table 3)\n",
                  *grid(["data", *stricter.methods], lines)]  # fmt: skip
    return parts


def table_5(results: Results, saola: Results | None, known: Any) -> list[str]:
    """Return Table 5: Alpha-investing and Fast-OSFS, which the SAOLA plan runs at 0.01."""
    printed = known["osfs", "5"].rows
    at = {"0.05": Ours(results, OSFS)} | ({} if saola is None else {"0.01": Ours(saola, SAOLA)})
    names = {"dorothea": "dorothea", "ohsumed_23 (stand-in for ohsumed)": "",
             "reged1 (stand-in for sido0)": ""}  # fmt: skip
    lines = []
    for name, of_paper in names.items():
        cells = [name]
        for alpha in ("0.01", "0.05"):
            for method in ("Alpha-investing", "Fast-OSFS"):
                ours, value = at.get(alpha), math.nan
                where = name if ours and name in ours.data else name.partition(" ")[0]
                if ours and where in ours.data:
                    value = ours.values("seconds", method)[ours.data.index(where)]
                theirs = printed.get(of_paper, {}).get(f"alpha={alpha} {method}", "-")
                cells.append(f"{theirs} / {'-' if math.isnan(value) else f'{value:.3g}'}")
        lines.append(cells)
    return [
        "### OSFS: seconds beside Alpha-investing (Table 5)\n",
        "Alpha-investing has no level; where its two columns differ, they are two runs.\n",
        *grid(["data", *(f"{m}, {a}" for a in ("0.01", "0.05")
                         for m in ("Alpha-investing", "Fast-OSFS"))], lines),
    ]  # fmt: skip


def rivals(found: Results | None) -> list[str]:
    """Return HITON-PC, LARS, naive boosting and FGM at several sizes."""
    if found is None:
        return []
    knn, tree = (found.grid("accuracy", c) for c in ("knn", "tree"))
    kept = found.grid("kept")
    lines = []
    for i, method in enumerate(found.methods):
        cells = [f"{a:.3f}, {b:.3f} ({k:.0f})" if not math.isnan(a + b + k) else "-"
                 for a, b, k in zip(knn[:, i], tree[:, i], kept[:, i], strict=True)]  # fmt: skip
        lines.append([method, *cells])
    return [
        "### OSFS: HITON-PC, LARS, naive boosting and FGM at several sizes\n",
        "Accuracy with KNN and J48, and in brackets the features kept. HITON-PC has a level where "
        "the others have a number of features.\n",
        *grid(["method", *found.data], lines),
    ]


def over_time(curves: Any) -> list[str]:
    """Return Figure 10: what is kept, and how good it is, by the share of features seen."""
    if curves is None:
        return []
    shown = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    lines = []
    methods = dict.fromkeys((p["data"], p["method"]) for p in curves.points.to_pylist())
    for data, method in methods:
        x, accuracy = curves.line(data, method, "knn")
        kept = curves.line(data, method, "knn", "kept")[1]
        at = {round(v, 3): f"{a:.3f} ({k:.0f})" for v, a, k in zip(x, accuracy, kept, strict=True)
              if not math.isnan(a + k)}  # fmt: skip
        lines.append([f"{data}, `{method}`", *(at.get(round(s, 3), "-") for s in shown)])
    return [
        "### OSFS: features that arrive over time (Figure 10)\n",
        "KNN accuracy, and in brackets the number kept, after a share of the features. `all` needs "
        "all features, so it has one point.\n",
        *([NO_RESULT] if any("-" in line for line in lines if "`all`" not in line[0]) else []),
        *grid(["data, method", *(f"{100 * s:.0f}%" for s in shown)], lines),
    ]


# --- SFS-FI ---------------------------------------------------------------------------------------


def gamma(found: Results | None) -> list[str]:
    """Return Figures 4 to 7: means over the sets for each gamma, and Friedman's test."""
    if found is None:
        return []
    lines = []
    table = {"KNN": found.grid("accuracy", "knn"), "SVM": found.grid("accuracy", "svm"),
             "seconds": found.grid(COST["seconds"]), "features": found.grid("kept")}  # fmt: skip
    for form in ("paper", "program"):
        p = gamma_tests(found, form)
        for metric, values in table.items():
            at = [i for i, m in enumerate(found.methods) if m.startswith(form)]
            style = "{:.4f}" if metric in ("KNN", "SVM") else "{:.4g}"
            printed = {"KNN": 0.1179, "SVM": 0.5095, "seconds": 1.8087e-07, "features": 7.9883e-07}
            lines.append([f"{form}, {metric}", *(style.format(np.nanmean(values[:, i]))
                          for i in at), f"{printed[metric]:.3g} / {p[metric]:.3g}"])  # fmt: skip
    heads = ["variant, mean", "0.01", "0.03", "0.05", "0.09", "p of Friedman's test"]
    return [
        "### SFS-FI: gamma (Figures 4 to 7)\n",
        f"Means over {len(found.data)} sets. \"paper\" sums gains, \"program\" takes their mean.\n",
        *grid(heads, lines),
    ]  # fmt: skip


def monk(tables: Path) -> dict[str, dict[str, float]]:
    """Return the worked example of the SFS-FI paper: information of sets of features, in bits."""
    papers = json.loads(tables.read_text(encoding="utf-8"))
    printed = next(f["value"] for f in papers["sfs_fi"]["prose_figures"]
                   if f["text"].startswith("MONK-1: mutual information"))  # fmt: skip
    folder = SHARED / "data" / "monk1"
    X, y = np.load(folder / "X.npy")[:124], np.load(folder / "y.npy")[:124]  # the training rows
    found = {}
    for names, value in printed.items():
        together = tamis.interaction(X[:, [int(n[1]) - 1 for n in names.split(",")]], y)
        digits = 8 if value < 0.001 else 4
        found[names] = {"printed": value, "joint": together.joint, "value": together.value,
                        "rounded": round(together.joint, digits)}  # fmt: skip
    return found


def monk_table(found: dict[str, dict[str, float]]) -> list[str]:
    """Return the example as a table."""
    lines = [
        [
            names,
            f"{m['printed']:g} / {m['joint']:.6g}",
            f"{m['value']:.4f}" if "," in names else "-",
        ]
        for names, m in found.items()
    ]
    return [
        "### SFS-FI: the example MONK-1\n",
        "`tamis.interaction(X, y)` on the 124 training rows; the interaction is the joint "
        "information less the sum of the single ones. The paper defines it for any number of "
        "features; its algorithm uses pairs.\n",
        *grid(["features", "information with the class, bits", "interaction"], lines),
    ]


# --- NIPS 2003, and the word "paper" --------------------------------------------------------------


def nips(studies: dict[str, Any]) -> list[str]:
    """Return balanced errors on the official validation sets, and those of baselines."""
    parts = [found for name in ("nips", "nips-gisette") if (found := studies.get(name))]
    if not parts:
        return []
    names = [name for results in parts for name in results.data]
    lines = [
        [method, *(_errors(results, d, m) for results in parts for d in range(len(results.data)))]
        for m, method in enumerate(parts[0].methods)
    ]
    tests = [stored.read(f_name(name)) for name in names]
    if any(tests):
        cells = ["-" if found is None else _errors(found, 0, 0) for found in tests]
        lines.append(["*F test, as many as Sieve*", *cells])
    forest = stored.content("nips-forest")
    if forest is not None:
        errors = [forest["errors"].get(name, math.nan) for name in names]
        cells = ["-" if math.isnan(e) else f"{100 * e:.1f} forest" for e in errors]
        lines.append([f"*random forest of {TREES} trees, all features*", *cells])
    heads = [NAMES.get(name, name) for name in names]
    return [
        "## NIPS 2003 sets\n",
        "Balanced error in percent on the official validation rows, trained on the official "
        "training rows: with a linear SVM, then the lowest of five classifiers (svm, rbf, knn, "
        "tree, nb) and its name, and in brackets the number of features. The lowest of five is "
        "picked by the validation rows, so it is too good by a little. We have only the validation "
        "part of gisette: its column is five folds of those 1,000 rows. Rows in italics are our "
        "own baselines, on the same rows.\n",
        "**No published error is printed beside them**, because we could read none in its source. "
        "The results of the challenge are in Guyon, Gunn, Ben-Hur and Dror, Result analysis of the "
        "NIPS 2003 feature selection challenge (NIPS 17, 2004, p. 545), later baselines in Guyon "
        "et al., Competitive baseline methods set new standards for the NIPS 2003 feature "
        "selection benchmark (Pattern Recognition Letters 28, 2007, 1438). Of both we could read "
        "only the abstract; the organisers' slides name the winners: Bayesian neural networks with "
        "Dirichlet diffusion trees (arcene, dexter, dorothea) and SVMs (gisette, madelon). The "
        "errors that ranked them are those of the test rows, whose labels are not published.\n",
        *grid(["method", *heads], lines),
    ]


#: How sets are called in the table of the NIPS 2003 sets.
NAMES = {"gisette_valid": "gisette, 5 folds"}


def _errors(results: Results, data: int, method: int) -> str:
    """Return the balanced errors with a linear SVM and at best, and the number of features."""
    errors = {c: 100 * (1 - results.grid("balanced_accuracy", c)[data, method])
              for c in results.classifiers}  # fmt: skip
    best = min(errors, key=lambda c: (math.isnan(errors[c]), errors[c]))
    if math.isnan(errors[best]):
        return "-"
    linear = "-" if math.isnan(errors["svm"]) else f"{errors['svm']:.1f}"
    return f"{linear}, {errors[best]:.1f} {best} ({results.grid('kept')[data, method]:.0f})"


def words_of_papers() -> Iterator[str]:
    """Yield what the word ``paper`` sets, for every method."""
    lines = []
    for entry in (*registry.METHODS.values(), *registry.LEARNERS.values()):
        kind = getattr(tamis, entry.class_name)
        try:
            made = kind.paper()
        except TamisError:
            continue
        changed = "nothing beyond the defaults" if repr(made) == repr(kind()) else made
        lines.append(f"| `{entry.name}` | `{entry.class_name}.paper()` | {_code(changed)} |")
    yield "## The paper in one word\n"
    yield (
        'What `METHOD:paper` sets. `measure="paper"` picks between two measures as "auto" does, '
        "with the tests and thresholds of the paper: SAOLA and SFS-FI take mutual information "
        "above 0 for categories and Fisher's z at 1% for numbers; OSFS, Fast-OSFS, HITON-PC take "
        "G-squared with Spirtes' degrees of freedom and Fisher's z, both at 5%. What still differs "
        "from a paper, and why, is in [deviations](deviations.md).\n"
    )
    yield "| method | in Python | sets |"
    yield "|---|---|---|"
    yield from lines
    yield ""


def _code(thing: Any) -> str:
    return thing if isinstance(thing, str) else f"`{' '.join(repr(thing).split())}`"
