"""The rules that judge the papers' claims, and the parts of the page, on small data."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import SelectKBest

sys.path.insert(0, str(Path(__file__).parents[2]))

from reproduce import __main__ as command
from reproduce import claims, code, figures, page, rows, stored, studies
from reproduce.f_test import FTest
from reproduce.page import _power, _side_by_side, _summary
from reproduce.plans import LARGE, PLANS, SAOLA, Plan

from tamis.evaluate import compare, over_time
from tamis.evaluate.pool import ENDED


@pytest.fixture(scope="module")
def small():
    """One good feature of six; "all" and "best" on two sets of the paper and one more."""
    rng = np.random.default_rng(0)
    data = {}
    for name in ("first", "second", "third"):
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 40))
        X[:, 3] += 4 * y
        data[name] = (X, y)
    methods = {"ours": "saola:paper", "theirs": "random:n_features=1", "all": "all"}
    plan = Plan("saola", "A paper (2020)", {"first": "", "second": ""}, methods, {"KNN": "knn"},
                "1x3", more=("third",), extra=("all",))  # fmt: skip
    results = compare(data, methods, "knn", cv="1x3", n_jobs=1)
    return claims.Ours(results, plan)


def test_every_rule_can_hold_and_fail(small):
    def verdicts(a, b):
        return [
            claims.at_least_as_accurate(small, a, b, ("KNN",), "text", "short").verdict,
            claims.best_rank(small, a, "KNN", "text", "short").verdict,
            claims.less_on_all(small, "kept", a, "all", "text", "short").verdict,
        ]

    assert verdicts("ours", "theirs") == [claims.HOLDS] * 3
    assert verdicts("theirs", "ours")[:2] == [claims.FAILS] * 2
    more = claims.less_on_all(small, "kept", "all", "ours", "text", "short")
    assert more.verdict == claims.FAILS
    assert more.because == "on 0 of 2 data sets; not on first, second"  # third is not the paper's
    assert small.ranks("KNN") == {"ours": 1.0, "theirs": 2.0}
    assert small.counts("ours", "theirs", "KNN") == (3, 0, 0)
    assert small.counts("ours", "theirs", "KNN", ["first"]) == (1, 0, 0)


def test_a_set_without_a_result_is_left_out(small, monkeypatch):
    accuracy = {"ours": [0.9, 0.8, np.nan], "theirs": [0.7, 0.8, 0.1]}
    monkeypatch.setattr(claims.Ours, "accuracy", lambda self, m, judge: np.array(accuracy[m]))
    assert small.counts("ours", "theirs", "KNN") == (1, 1, 0)
    assert small.n_complete("KNN") == 2
    assert small.ranks("KNN") == {"ours": 1.25, "theirs": 1.75}
    assert (
        " 2 sets: KNN 1/1/0"
        in claims.at_least_as_accurate(small, "ours", "theirs", ("KNN",), "text", "short").because
    )
    assert claims.no_difference(
        small, "ours", "theirs", ("KNN",), "text", "short"
    ).because.startswith("on 2 sets: KNN p = ")


def test_power_is_that_of_the_sign_test():
    """Five sets: only five of five; 0.8 to the fifth, and the tiny chance of the other side."""
    least, found = claims.power(5, 0.8)
    assert least == 5
    assert found == pytest.approx(0.8**5 + 0.2**5)
    assert claims.power(20, 0.8)[0] == 15
    assert claims.power(20, 0.8)[1] > 0.8


def test_the_summary_and_a_table(small):
    good = claims.judged("a long claim", True, "", "short one")
    lines = _summary({"A paper (2020)": [good, claims.untestable("b", "not ours", "two sets")]})
    assert lines[0].startswith(
        "**1 of the 1 claims that we could test hold here**, and 1 groups of claims cannot"
    )
    assert lines[3] == "| [A paper](#a-paper-2020) | - | - | - | 1 of 1 |  |"
    assert lines[-4:] == ["- **A paper**", "    - *holds:* short one",
                          "    - *cannot be tested:* b (not ours)", ""]  # fmt: skip
    bad = claims.judged("a claim", False, "", "another", claims.TIME)
    lines = _summary({PLANS["fcbf"].title: [bad]})
    assert lines[3].endswith(f"| - | - | 0 of 1 | - | {page.WHY_NOT['fcbf']} |")
    assert lines[-2] == "    - *does not hold:* another"
    known = {("saola", "I"): type("T", (), {"rows": {"first": {"ours": 7}}})}
    plan = Plan("saola", "t", small.plan.data, {"ours": "saola"}, {"KNN": "knn"}, "1x3",
                more=("third",), tables={"kept": ("I",)})  # fmt: skip
    table = list(_side_by_side(plan, known, small, "kept", "kept", "{:.0f}"))
    assert table[2].startswith("| first | 7 / ")
    assert table[3].startswith("| second | - / ")
    assert "/" not in table[4]
    assert any(line.startswith("| 5 | 5 | ") for line in _power({}))


def test_a_run_that_used_up_its_tests_is_marked_and_not_compared(small):
    """What it would have kept is unknown, and it took longer than any run that ended."""
    most = claims.MOST_TESTS
    work = [{"data": name, "method": "ours", "status": "ok",
             "work": json.dumps({"tests_given_0": most, "tests_given_1": made})}
            for name, made in (("first", most), ("second", most - 1))]  # fmt: skip
    small = claims.Ours(replace(small.results, selections=pa.Table.from_pylist(work)), small.plan)
    assert small.unfinished("ours") == {"first"}
    assert small.unfinished("theirs") == set()
    kept = claims.less_on_all(small, "kept", "ours", "all", "text", "short")
    assert kept.because == "on 1 of 1 data sets"
    slow = claims.less_on_all(small, "seconds", "ours", "theirs", "text", "short")
    assert "not on first" in slow.because
    known: dict[str, Any] = {}
    lines = list(_side_by_side(small.plan, known, small, "kept", "kept", "{:.0f}"))
    assert [line.count(r"\*") for line in lines[2:]] == [1, 0, 0, 0, 1]
    assert lines[-1].startswith(r"\* stopped after 5,000,000 conditional tests")


def test_claims_that_differ_in_where_they_were_tested_are_joined():
    assert page._together(["X1: fast", "best, KNN", "X2: fast", "best, SVM", "a, b", "c"]) == [
        "fast (X1, X2)", "best (KNN, SVM)", "a, b", "c",
    ]  # fmt: skip


def test_the_contents_link_to_every_section():
    lines = page._contents(["## A paper (2020)\n", "text", "### A: table, KNN (ours: knn)\n",
                            "### A, large: kept\n", "## B\n"])  # fmt: skip
    assert lines[1] == (
        "- [A paper](#a-paper-2020): [table, KNN](#a-table-knn-ours-knn), "
        "[large: kept](#a-large-kept)"
    )
    assert lines[2] == "- [B](#b)"


def test_what_was_not_run_is_named(monkeypatch):
    baselines = set(map(studies.f_name, studies.NIPS_ALL))
    monkeypatch.setattr(stored, "content", lambda name: name in baselines)

    def run(sets):
        return SimpleNamespace(params={"data": [{"name": one} for one in sets]})

    whole = {name: run(study.data) for name, study in studies.STUDIES.items()}
    whole["ofs"] = {name: {} for name in (*SAOLA.sets, *LARGE.sets)}
    assert page._left(whole, {}) == []
    assert set(page.WHAT_STUDIES_ARE) == {*whole, "nips-baselines"}
    baselines.remove("nips-f/madelon")
    assert page._left(whole, {}) == [
        "**Not run yet:** the baselines of the NIPS 2003 sets on madelon. `make reproduce` runs "
        "it.\n"
    ]
    baselines.add("nips-f/madelon")
    some = page._left(whole | {"gamma": None, "orders": run([]), "ofs": {"news20": {}}}, {})[0]
    assert "(its Tables VI to VIII) on dexter, " in some
    most = SimpleNamespace(data=[one for one in PLANS["sfs_fi"].sets if one != "cns"])
    assert page._left(whole, {"sfs_fi": most})[0].startswith("**Not run yet:** SFS-FI on cns.")
    assert "news20" not in some
    assert "arcene" not in some  # not a set of the paper
    assert "SFS-FI's gamma (its Figures 4 to 7)" in some
    assert "OSFS on random orders (its Figures 11 to 13) on madelon" in some


def test_every_method_of_every_plan_is_known():
    names = [text for plan in (*PLANS.values(), LARGE) for text in plan.methods.values()]
    names += [text for study in studies.STUDIES.values() for text in study.methods
              if isinstance(study.methods, list)]  # fmt: skip
    names += [text for study in studies.STUDIES.values() if isinstance(study.methods, dict)
              for text in study.methods.values()]  # fmt: skip
    for text in names:
        made = studies.method(text, "label")
        assert made.label == "label"
        assert made.identity()["code"] == code.fingerprint(made.where)
        assert text.startswith("saola:z") == ("statistic" in str(made.params))
    assert studies.method("saola:z:bound=max").params["bound"] == "max"


def test_the_word_is_listed_for_every_method_of_a_paper():
    lines = list(figures.words_of_papers())
    assert any("| `saola` | `SAOLA.paper()` | `SAOLA(measure='paper', ties='neither')` |" in one
               for one in lines)  # fmt: skip
    assert not any(line.startswith("| `sieve`") for line in lines)


# --- what is stored, and when it is computed again ------------------------------------------------


def test_comments_and_docstrings_change_no_fingerprint(tmp_path):
    texts = {
        "as it is": 'def f(x):\n    """Return x."""\n    return x + 1\n',
        "other words": 'def f(x):\n    """Return one more."""\n    return x + 1  # why\n',
        "other code": 'def f(x):\n    """Return x."""\n    return x + 2\n',
    }
    found = {}
    for name, text in texts.items():
        (tmp_path / "one.py").write_text(text)
        found[name] = code.hash_of(tmp_path / "one.py")
    assert found["as it is"] == found["other words"] != found["other code"]


def test_a_fingerprint_covers_what_a_method_uses():
    of = {name: code.modules_of(studies.method(name).where) for name in ("osfs", "lars", "all")}
    of["sofs"] = code.hashes(rows.MODULES)
    for modules in of.values():
        assert {"tamis.measures.g_squared", "tamis.kernels.strata", "tamis.encode.mdlp",
                "tamis.evaluate.nearest_rows"} <= set(modules)  # fmt: skip
    assert "tamis.methods.separating" in of["osfs"]
    assert "tamis.methods.separating" not in of["lars"]
    assert "tamis.kernels.heap" in of["sofs"]
    assert "reproduce.f_test" in code.modules_of("reproduce.f_test:FTest")
    assert code.changed(of["osfs"]) == []
    assert code.changed(of["osfs"] | {"tamis.methods.separating": "0", "tamis.gone": "1"}) == [
        "tamis.methods.separating", "tamis.gone",
    ]  # fmt: skip


def test_what_is_stored_is_what_was_found(small, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    cells = tmp_path / "cells"
    cells.mkdir()
    (cells / "a.json").touch()
    rows_of = small.results.rows.to_pylist()
    rows_of[0] |= {"status": "time cap", "note": "stopped", "accuracy": None}
    found = replace(small.results, rows=pa.Table.from_pylist(rows_of, small.results.rows.schema))
    stored.keep("a/part", found, cells)
    again = stored.read("a/part")
    assert again.data == found.data
    assert again.methods == found.methods
    for metric in ("accuracy", "balanced_accuracy", "kept"):
        assert np.array_equal(again.grid(metric), found.grid(metric), equal_nan=True)
    assert np.isnan(again.grid("accuracy")).sum() == 1
    assert np.allclose(again.grid("cpu_seconds"), found.grid("cpu_seconds"), rtol=1e-5)
    assert again.problems() == found.problems()
    plan = claims.Ours(again, small.plan)
    assert plan.work("ours", "tests_") == small.work("ours", "tests_")
    assert stored.read("nothing") is None
    first = (tmp_path / "a" / "part.json").read_bytes()
    stored.keep("a/part", again, cells)
    assert (tmp_path / "a" / "part.json").read_bytes() == first


def test_curves_are_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    rng = np.random.default_rng(0)
    data = {"one": (rng.normal(size=(40, 6)), np.arange(40) % 2)}
    found = over_time(data, "saola", "knn", points=2, cv="1x3", n_jobs=1, out=tmp_path / "out")
    stored.keep("time", found, tmp_path / "out" / "cells")
    again = stored.read("time")
    assert again.kind == "time"
    for y in ("accuracy", "kept"):
        assert np.array_equal(again.line("one", "saola", "knn", y),
                              found.line("one", "saola", "knn", y))  # fmt: skip


def test_a_cell_is_computed_again_only_if_its_code_has_changed(tmp_path, monkeypatch):
    computed = []

    def watched(tasks, n_jobs, caps):
        tasks = list(tasks)
        computed.append(sorted(state.cell.method.label for state, _ in tasks))
        return invented(tasks, n_jobs, caps)

    write_small_sets(tmp_path / "shared" / "data")
    for name, value in (("SHARED", tmp_path / "shared"), ("OUT", tmp_path / "out")):
        monkeypatch.setattr(studies, name, value)
    monkeypatch.setattr(stored, "RESULTS", tmp_path / "results")
    monkeypatch.setattr("tamis.evaluate.comparison.run_here", watched)
    study = studies.Study("compare", {"dexter": "dexter"}, {"a": "saola", "b": "lars"})
    for _ in range(2):
        studies.run_study("two", study)
    monkeypatch.setattr(studies, "fingerprint", lambda where: f"new {'lars' in where}")
    studies.run_study("two", study)
    monkeypatch.setattr(studies, "fingerprint", lambda where: "new False")
    studies.run_study("two", study)
    assert computed == [["a", "b"], [], ["a", "b"], ["b"]]
    assert stored.read("two").methods == ["a", "b"]


def test_the_f_test_keeps_what_scikit_learn_keeps():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 12)) + np.outer(y, rng.random(12))
    X[:, 5] = 2.0  # constant: no statistic
    theirs = SelectKBest(k=4).fit(X[:, np.arange(12) != 5], y).get_support(indices=True)
    ours = FTest(n_features=4).fit(X, y).get_support(indices=True)
    assert ours.tolist() == [k + (k >= 5) for k in theirs]
    X[:, 1] = X[:, 0] = y
    assert FTest(n_features=1).fit(X, y).get_support(indices=True).tolist() == [0]
    assert FTest(n_features=12).fit(X, y).get_support().all()


def test_generated_rows_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    X, y = rows.generated("x1", 50, rng, rng.random(100))
    assert X.shape == (50, 10_000)
    assert set(np.diff(X.indptr)) == {300}
    assert np.all(X.indices.reshape(50, 300)[:, :100] == np.arange(100))
    assert set(y) == {-1, 1}


# --- the whole page, from invented cells ------------------------------------------------------

TABLES = Path(__file__).resolve().parents[3] / "shared" / "paper_tables.json"


def invented(tasks, n_jobs, caps):
    """Stand in for the workers: what they would report, without any work."""
    rng = np.random.default_rng(0)
    for state, message in tasks:
        kept = [{"count": k + 1, "features": list(range(k + 1))}
                for k in range(len(message["shares"]))]  # fmt: skip
        yield state, "selection", {
            "status": "ok", "note": "", "kept": kept, "seconds": float(rng.random()),
            "cpu_seconds": 0.1, "peak_megabytes": 1.0, "extra_megabytes": 0.0, "measure": "",
            "work": {"tests_given_0": 5, "tests_given_1": int(rng.integers(1, 9))},
        }  # fmt: skip
        right = base64.b64encode(bytes(-(-len(state.fold.test) // 8))).decode()
        for classifier in message["classifiers"]:
            over = [{"status": "ok", "note": "", "accuracy": float(rng.random()), "auc": 0.5,
                     "balanced_accuracy": float(rng.random()), "f1": 0.5, "fit_seconds": 0.1,
                     "predict_seconds": 0.1, "right": right} for _ in kept]  # fmt: skip
            yield state, classifier, {**over[-1], "over": over}
        yield state, ENDED, {}


def write_small_sets(folder):
    """Write a small table under the name of every set that is used."""
    plans = (*PLANS.values(), LARGE)
    used = {one for plan in plans for one in plan.sets.values()}
    used |= {one for study in studies.STUDIES.values() for one in study.data.values()}
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    for one in used:
        how, _, name = one.rpartition(":")
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        X = rng.integers(0, 4, (40, 12)).astype(float)
        if how in ("unit", "some"):
            sp.save_npz(place / "X.npz", sp.csr_matrix(X))
        else:
            X[0, 0] = np.nan if how == "filled" else 0.0
            np.save(place / "X.npy", X)
        np.save(place / "y.npy", y)
        split = {"train": [0, 30], "test": [30, 40]} if name in ("dexter", "debian_paths") else None
        about = {"format": "CSR" if how in ("unit", "some") else "dense", "split": split}
        (place / "meta.json").write_text(json.dumps(about))
    place = folder / "monk1"
    place.mkdir()
    np.save(place / "X.npy", rng.integers(0, 3, (124, 6)))
    np.save(place / "y.npy", np.arange(124) % 2)


def invented_rows():
    """What the jobs of the SOFS paper write."""
    one = {"accuracy": 90.0, "seconds": 0.1, "kept": 5.0, "informative": 4}
    table = dict.fromkeys(("OGD", "AROW", "SOFS"), one)
    shares = {f"{m} rho={rho:g}": one for rho in rows.RHO
              for m in ("PET", "PET, tuned", "SOFS", "SOFS, tuned")}  # fmt: skip
    all_six = ("SOFS", "PET", "FOFS", "L1-SVM", "FGM", "mRMR")
    curve = {f"{name} {m} {size}": one for name in rows.MEDIUM for size in rows.SIZES
             for m in all_six}  # fmt: skip
    others = {f"{name} {m} {size}": one for name in rows.STAND_INS for size in rows.SIZES[:2]
              for m in all_six}  # fmt: skip
    batch = {f"{m} 200": one for m in ("SOFS", "L1-SVM", "mRMR", "FGM")}
    tuned = table | {f"{m}, tuned": one | {"eta": 0.1} for m in table}
    billion = dict.fromkeys(("SOFS", "SOFS, tuned", "PET, tuned"), one)
    return {"x1": tuned, "x2": tuned, "x3": billion,
            "figure-1": {"SOFS 100": one}, "figure-1-batch": batch, "x2-batch": batch,
            "news20": shares, "phish_url": shares, "rcv1_vw_sample": shares,
            "figure-4": curve, "figure-4-stand-ins": others}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not TABLES.is_file(), reason="the printed tables are not next to the project")
def test_the_whole_page_is_written(tmp_path, monkeypatch):
    shared, out = tmp_path / "shared", tmp_path / "out"
    write_small_sets(shared / "data")
    (shared / "paper_tables.json").write_bytes(TABLES.read_bytes())
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(stored, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(studies, "TREES", 2)
    for module in (studies, command, page, figures):
        for name, value in (("ROOT", tmp_path), ("SHARED", shared), ("OUT", out)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("tamis.evaluate.comparison.run_here", invented)
    monkeypatch.setattr(studies, "MOST_TRAIN", 20)
    monkeypatch.setattr(rows, "READ", {})
    monkeypatch.setattr(rows, "jobs", lambda data: {k: lambda k=k: made[k] for k in made})
    made = invented_rows()
    assert command.main(["--page"]) == 0  # nothing was run yet
    assert "Not run yet." in (tmp_path / "docs" / "reproduction.md").read_text()
    assert command.main([]) == 0
    text = (tmp_path / "docs" / "reproduction.md").read_text()
    assert "Not run yet" not in text
    assert "nan" not in text.replace("dominant", "")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(set(headings)) == len(headings)
    for part in ("OFS1 and OFS2", "at their best size", "Figures 6 and 7", "Figure 8",
                 "numbers of tests (Table 2)", "seconds at 0.01", "over time (Figure 10)",
                 "Figures 11 to 13", "(Table 5)", "LARS, naive boosting and FGM at", "Contents",
                 "What the tests can find", "Figures 4 to 7", "MONK-1", "NIPS 2003", "In a minute",
                 "The paper in one word", "SAOLA, large sets",
                 "When each part was made"):  # fmt: skip
        assert any(part in line for line in headings), part
    for row in (line for line in text.splitlines() if line.startswith("| ")):
        assert row.endswith(" |"), row
    prepared = np.load(out / "prepared" / "filled-arrhythmia" / "X.npy")
    assert np.isfinite(prepared).all()
    parts = json.loads((out / "prepared" / "some-debian_paths" / "meta.json").read_text())["split"]
    assert parts == {"train": [0, 20], "test": [20, 30]}
