"""Runs beside the papers' main comparisons: figures, other sizes, OFS, the NIPS 2003 sets.

A study is a comparison or a set of curves with its own folder. Cells are saved one by one, so a
study that is added later computes only its own.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score

import tamis
from reproduce import stored
from reproduce.code import fingerprint
from reproduce.plans import BOUNDED, LARGE, OSFS, SAOLA, SFS_FI, stand_in_name
from tamis.evaluate import compare, over_orders, over_time
from tamis.evaluate.compared_methods import ComparedMethod, parse_methods
from tamis.evaluate.datasets import read_dataset
from tamis.evaluate.protocol import make_folds, parse_cv

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OUT = ROOT / "bench-results" / "reproduce"

#: Sizes of OFS2, SPSF-LAR and GDM: some of those of the SAOLA paper, up to its largest.
OFS_SIZES = (5, 10, 20, 35, 50, 75, 100)
OFS_FEW = (5, 20, 50, 100)
SPSF_SIZES = (5, 10, 20, 35, 50, 65)
GDM_SIZES = (10, 50, 100, 180, 260)

#: Sizes of the batch rivals that keep a number of features.
RIVAL_SIZES = (5, 20, 50)

#: CPU seconds and megabytes that each step of a cell may use. CPU time, so that other work on the
#: machine does not decide which cells have a result; more on sets of 20,000 rows and more.
LIMITS = {"cell_cpu_seconds": 30.0, "cell_megabytes": 6000.0}
MORE = {"cell_cpu_seconds": 100.0}

#: Relevance thresholds of SAOLA's Figure 8, and values of gamma in SFS-FI's Figures 4 to 7.
THRESHOLDS = (0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1)
GAMMAS = (0.01, 0.03, 0.05, 0.09)

#: Rows of ``some:``.
MOST_TRAIN, MOST_TEST = 20_000, 10_000

BOTH = ("knn", "tree")
NIPS = ("arcene", "dexter", "dorothea", "madelon")
NIPS_ALL = (*NIPS, "gisette_valid")


@dataclass(frozen=True)
class Study:
    """One run: what kind, on which sets, with which methods.

    Attributes
    ----------
    kind : {"compare", "time", "orders"}
        A comparison, or curves over what.
    data : dict
        Names of data sets and their folders.
    methods : dict or list
        As `tamis.evaluate.compare` takes them; a method ``saola:z`` is SAOLA with the paper's z.
    """

    kind: str
    data: dict[str, str]
    methods: Any
    classifiers: tuple[str, ...] = BOTH
    cv: str = "1x3"
    options: dict[str, Any] = field(default_factory=dict)


def same(*names: str) -> dict[str, str]:
    """Return data sets under the names of their folders."""
    return {name: name for name in names}


#: Methods and classifiers on the NIPS 2003 sets.
OF_NIPS = {
    "all features": "all", "Sieve": "sieve", "SAOLA": "saola", "SAOLA, paper": "saola:paper",
    "Fast-OSFS, paper": "fast-osfs:paper", "FCBF": "fcbf", "Alpha-investing": "alpha-investing",
    "L1-SVM": "l1-svm",
}  # fmt: skip
JUDGES_OF_NIPS = ("svm", "rbf", "knn", "tree", "nb")

FOFS = "tamis.estimators.online:FOFS:normalize=True:n_features="

STUDIES = {
    "large": Study("compare", LARGE.sets, LARGE.methods, options=MORE),
    "sizes": Study(
        "compare", {**SAOLA.data, "ohsumed_23": "ohsumed_23"},
        {f"SPSF-LAR {k}": f"spsf-lar:n_features={k}" for k in SPSF_SIZES}
        | {f"GDM {k}": f"gdm:n_per_cut=10:max_cuts={k // 10}" for k in GDM_SIZES},
    ),
    "orders": Study(
        "orders", same("madelon"),
        ["osfs:paper", "fast-osfs:paper", "osfs:paper:encode=mdlp", "fast-osfs:paper:encode=mdlp",
         "alpha-investing:paper"],
        options={"orders": 12},
    ),
    "saola-orders": Study(
        "orders", same("dexter", "madelon", "dorothea"),
        ["saola:paper", "saola:z"], options={"orders": 10},
    ),
    "time": Study(
        "time", same("dexter", "arcene", "madelon", "dorothea", "colon", "leukemia", "prostate"),
        {name: f"{name}{BOUNDED}" if "osfs" in name else name
         for name in ("osfs:paper", "fast-osfs:paper", "alpha-investing:paper",
                      "fast-osfs:paper:encode=mdlp", "all")},
        ("knn",), options={"points": 10},
    ),
    "thresholds": Study(
        "compare", same("dorothea", "thrombin"),
        {f"{value:g}": f"saola:paper:threshold={value:g}" for value in THRESHOLDS},
    ),
    "osfs-0.01": Study(
        "compare", OSFS.data,
        {"OSFS": f"osfs:paper:alpha=0.01:encode=mdlp{BOUNDED}",
         "Fast-OSFS": f"fast-osfs:paper:alpha=0.01:encode=mdlp{BOUNDED}"},
        ("knn",),
    ),
    "rivals": Study(
        "compare", same("dexter", "arcene", "madelon"),
        {f"HITON-PC {alpha:g}": f"hiton-pc:paper:alpha={alpha:g}{BOUNDED}"
         for alpha in (0.01, 0.05)}
        | {f"LARS {k}": f"lars:paper:n_features={k}" for k in RIVAL_SIZES}
        | {f"Naive Boosting {k}": f"boosting:paper:n_features={k}" for k in RIVAL_SIZES}
        | {f"FGM {k}": f"fgm:paper:n_per_cut={k // 5}:max_cuts=5" for k in RIVAL_SIZES},
    ),
    "gamma": Study(
        "compare",
        {**SFS_FI.data, **same("madelon"), stand_in_name("gina", "gisette_valid"): "gisette_valid"},
        {f"paper {g}": f"sfs-fi:paper:gamma={g}" for g in GAMMAS}
        | {f"program {g}": f"sfs-fi:variant=program:measure=paper:alpha=0.01:gamma={g}"
           for g in GAMMAS},
        ("knn", "svm"), "1x3", {"split": "never"},
    ),
    "nips": Study("compare", same(*NIPS), OF_NIPS, JUDGES_OF_NIPS),
    "nips-gisette": Study(
        "compare", same("gisette_valid"), OF_NIPS, JUDGES_OF_NIPS, "1x5", {"split": "never"}
    ),
}  # fmt: skip


class Fingerprinted(ComparedMethod):
    """A method whose cells are found again only if no code that decides them has changed."""

    def identity(self) -> dict[str, Any]:
        """Return everything that determines its result."""
        return {**super().identity(), "code": fingerprint(self.where)}


def run_study(name: str, study: Study, **options: Any) -> None:
    """Run a study and store its results; finished cells are not recomputed."""
    out = OUT / name.replace(":", "-")
    folders = {one: folder_of(folder) for one, folder in study.data.items()}
    listed = study.methods
    texts = listed.items() if isinstance(listed, dict) else [(text, text) for text in listed]
    chosen = [method(text, label) for label, text in texts]
    whole: dict[str, Any] = {
        "cv": study.cv, "out": out, "paired": "t", **LIMITS, **options, **study.options,
    }  # fmt: skip
    run = {"compare": compare, "time": over_time, "orders": over_orders}[study.kind]
    stored.keep(name, run(folders, chosen, list(study.classifiers), **whole), out / "cells")


def method(text: str, label: str = "") -> Fingerprinted:
    """Return a method of a plan: ``saola:z:alpha=0.05`` is SAOLA with the paper's z test."""
    given: Any = text
    if text.startswith("saola:z"):
        params = dict(part.split("=") for part in text.split(":")[2:])
        z = tamis.FisherZ(float(params.pop("alpha", 0.01)), statistic="z")
        given = tamis.SAOLA(z, ties="neither", **params)
    (made,) = parse_methods({label or text: given})
    return Fingerprinted(**vars(made))


def folder_of(folder: str) -> Path:
    """Return the folder of a data set, or of a copy of it.

    ``unit:`` scales rows to length 1; ``filled:`` puts the median of its column for a missing
    value; ``some:`` takes at most 20,000 training and 10,000 test rows.
    """
    how, _, name = folder.rpartition(":")
    source = SHARED / "data" / name
    made = OUT / "prepared" / f"{how}-{name}"
    if not how:
        return source
    if not (made / "meta.json").is_file():
        made.mkdir(parents=True, exist_ok=True)
        y, about = np.load(source / "y.npy"), json.loads((source / "meta.json").read_text())
        X = np.load(source / "X.npy") if how == "filled" else sp.load_npz(source / "X.npz")
        if how == "filled":
            np.save(made / "X.npy", np.where(np.isnan(X), np.nanmedian(X, axis=0), X))
        else:
            X = X.astype(np.float64).tocsr()
            if how == "unit":
                length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
                X = sp.csr_matrix(sp.diags(1 / np.maximum(length, 1e-12)) @ X)
            else:
                order = np.arange(X.shape[0])
                if not about["split"]:
                    order = np.random.default_rng(0).permutation(order)
                    about["split"] = {"train": [0, MOST_TRAIN], "test": [MOST_TRAIN, len(order)]}
                (a, b), (c, d) = about["split"]["train"], about["split"]["test"]
                taken = np.concatenate([order[a : min(b, MOST_TRAIN)], order[c:d][:MOST_TEST]])
                n = min(b - a, MOST_TRAIN)
                about["split"] = {"train": [0, n], "test": [n, len(taken)]}
                X, y = X[taken], y[taken]
            sp.save_npz(made / "X.npz", X)
        np.save(made / "y.npy", y)
        (made / "meta.json").write_text(json.dumps(about))  # last: the copy is complete
    return made


# --- OFS1 and OFS2 of the SAOLA paper -------------------------------------------------------------


def ofs_name(folder: str) -> str:
    """Return the name of the part that holds OFS on a data set."""
    return f"ofs/{folder}"


def ofs_sets() -> dict[str, dict[str, str]]:
    """Return the sets on which OFS is run, by the part that SAOLA's results are in."""
    first = {name: folder for name, folder in SAOLA.sets.items() if name not in SAOLA.more}
    rest = {name: folder for name, folder in LARGE.sets.items() if name not in first}
    return {SAOLA.paper: first, "large": rest}


def run_ofs(sets: dict[str, str], kept: dict[str, float], **options: Any) -> None:
    """Run OFS at the size that SAOLA kept (OFS1) and at the sizes of which OFS2 is the best.

    OFS is `FOFS`: gradient steps on the hinge loss, weights projected onto a ball, the largest
    kept.
    """
    for name, folder in sets.items():
        sizes = OFS_FEW if name in LARGE.sets else OFS_SIZES
        if math.isnan(kept.get(name, math.nan)):
            continue
        methods = {"OFS1": f"{FOFS}{max(1, round(kept[name]))}"}
        methods |= {f"OFS {k}": f"{FOFS}{k}" for k in sizes}
        limits = MORE if name in LARGE.sets else {}
        study = Study("compare", {name: folder}, methods, options=limits)
        run_study(ofs_name(folder), study, **options)


# --- baselines on the NIPS 2003 sets --------------------------------------------------------------

#: Trees of the random forest.
TREES = 500


def f_name(name: str) -> str:
    """Return the name of the part that holds the F test on one of the NIPS 2003 sets."""
    return f"nips-f/{name}"


def run_baselines(kept: dict[str, float], **options: Any) -> None:
    """Run the F test with as many features as Sieve, and a random forest on all features."""
    for name, count in kept.items():
        methods = {"F test": f"reproduce.f_test:FTest:n_features={max(1, round(count))}"}
        study = STUDIES["nips" if name in NIPS else "nips-gisette"]
        run_study(f_name(name), replace(study, data={name: name}, methods=methods), **options)
    run_forests()


def run_forests() -> None:
    """Run a random forest on all features of the NIPS 2003 sets, on the same rows."""
    before = stored.content("nips-forest") or {"data": {}, "errors": {}}
    data, errors = {}, {}
    for name in NIPS_ALL:
        one = read_dataset(folder_of(name), name)
        data[name] = one.fingerprint
        if before["data"].get(name) == one.fingerprint:
            errors[name] = before["errors"][name]
            continue
        found = []
        for fold in make_folds(one.codes, parse_cv(STUDIES["nips-gisette"].cv), 0, one.official):
            model = RandomForestClassifier(TREES, random_state=0)
            model.fit(one.X[fold.train], one.codes[fold.train])
            right = balanced_accuracy_score(one.codes[fold.test], model.predict(one.X[fold.test]))
            found.append(1 - right)
        errors[name] = float(np.mean(found))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    when = before["made"] if data == before["data"] else [today, today]
    stored.put("nips-forest", {"made": when, "code": {}, "data": data, "errors": errors})
