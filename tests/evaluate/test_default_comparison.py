"""The comparison of the default with baselines: folds, cells that resume, and its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from reproduce.default import __main__ as command  # noqa: E402
from reproduce.default import cells, methods, page, sets  # noqa: E402
from reproduce.default.numbers import Numbers  # noqa: E402

LIMITS = sets.Limits(60, 8)


def small(name: str, limits: sets.Limits) -> sets.DataSet:
    """Return 60 rows of 8 columns; columns 0 and 1 tell the class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 14))
    X[:, :2] += 3 * y[:, None]
    return sets.DataSet(name, X, y, "classification", X.shape)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sets, "load", small)

    def call(*arguments: str) -> Path:
        assert command.main(["--sets", "wine", "--out", str(tmp_path), *arguments]) == 0
        return tmp_path

    return call


def test_rows_columns_and_rare_classes_are_cut_to_the_limits() -> None:
    data = sets.load("digits", sets.Limits(300, 20))
    assert data.X.shape == (300, 20)
    assert data.full == (1797, 64)
    assert data.n_classes == 10
    assert np.ptp(data.X, axis=0).all()
    again = sets.load("digits", sets.Limits(300, 20))
    assert np.array_equal(again.X, data.X)
    X, y = sets._without_rare_classes(np.arange(25)[:, None], np.repeat([0, 1], [9, 16]))
    assert set(y.tolist()) == {1}
    assert X.shape == (16, 1)


def test_scores_do_not_depend_on_the_order_of_a_ranking() -> None:
    data = sets.load("digits", sets.Limits(200, 20))
    train, test = data.folds()[0]
    parts = data.X[train], data.y[train], data.X[test], data.y[test]
    scorer = cells._Scorer(data.task, *parts)
    assert scorer([7, 2, 11, 5, 9]) == scorer([2, 5, 7, 9, 11])


def test_sparse_columns_that_never_vary_are_removed() -> None:
    X = sp.csr_array(np.array([[1.0, 0, 2], [1, 0, 0], [1, 0, 3]]))
    assert sets._varies(X).tolist() == [False, False, True]


@pytest.mark.parametrize("name", sorted(sets.REGRESSION))
def test_regression_sets_have_a_target_of_numbers(name: str) -> None:
    data = sets.load(name, sets.Limits())
    assert data.task == "regression"
    assert data.n_classes == 0
    assert len(data.folds()) == 3


@pytest.mark.parametrize("method", ["f_test", "mutual_info", "l1", "forest"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_baselines_rank_what_tells_the_target_first(method: str, task: str, stored: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(80, 12)).astype(float)
    y = X[:, 3] > 1.5 if task == "classification" else X[:, 3] + rng.normal(size=80) / 10
    table = methods.Table(stored(X), np.asarray(y), task, 0)
    kept = methods.METHODS[method].select(table)
    assert kept["10"][0] == 3
    assert kept["20"][:10] == kept["10"]


def test_mrmr_is_that_of_the_package() -> None:
    package = pytest.importorskip("mrmr")
    pandas = pytest.importorskip("pandas")
    data = sets.load("breast_cancer", sets.Limits())
    table = methods.Table(data.X, data.y, data.task, 0)
    expected = package.mrmr_classif(
        pandas.DataFrame(data.X), pandas.Series(data.y), 10, n_jobs=1, show_progress=False
    )
    assert methods.mrmr(table)["10"] == expected


def test_finished_cells_are_not_repeated(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out = run("--methods", "f_test", "all")
    lines = (out / "cells.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 10
    record = json.loads(lines[0])
    assert record["status"] == cells.OK
    assert {0, 1} < set(record["kept"]["10"])
    assert set(record["scores"]["10"]) == {"linear", "forest", "knn"}
    assert "min left" in capsys.readouterr().err
    (out / "cells.jsonl").write_text("\n".join(lines[:-1]) + '\n{"set": "wi')  # killed
    run("--methods", "f_test", "all")
    assert "[1/1] wine, fold 10, all" in capsys.readouterr().err
    run("--methods", "f_test", "all")
    assert capsys.readouterr().err == ""
    run("--methods", "all", "--again", "all")
    assert "[10/10]" in capsys.readouterr().err


def test_finished_orders_are_not_repeated(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("--methods", "saola")
    assert "[11/11] wine, three orders, saola" in capsys.readouterr().err
    run("--methods", "saola")
    assert capsys.readouterr().err == ""


def test_a_method_that_is_not_installed_is_skipped_by_name(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = methods.Method(methods.mrmr, package="no_such_package")
    monkeypatch.setitem(methods.METHODS, "mrmr", absent)
    run("--methods", "mrmr", "f_test")
    assert "skipped mrmr: no_such_package is not installed" in capsys.readouterr().err


def test_sets_without_files_are_skipped_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sets, "SHARED", tmp_path / "shared")
    assert command.main(["--sets", "colon", "--out", str(tmp_path)]) == 0
    assert "skipped colon: its files are not in shared/" in capsys.readouterr().err


def test_a_slow_selection_is_stopped_and_not_tried_on_other_folds(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def slow(table: methods.Table) -> methods.Kept:
        calls.append(1)
        while True:
            np.ones(1000).sum()

    monkeypatch.setitem(methods.METHODS, "f_test", methods.Method(slow))
    out = run("--methods", "f_test", "--seconds", "0.05")
    found = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    assert [r["status"] for r in found] == [cells.TOO_SLOW] * 10
    assert len(calls) == 1


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_equal_columns_count_as_one_in_another_order(stored: Any) -> None:
    X = stored(np.array([[1.0, 0, 1, 0, 2], [0, 3, 0, 3, 0]]))
    assert cells._first_equal(X).tolist() == [0, 1, 0, 1, 4]
    assert cells._jaccard([0, 1], [0, 4]) == pytest.approx(1 / 3, abs=1e-4)
    assert cells._jaccard([], []) == 1.0


def with_scores(found: dict[tuple[str, int, str], dict[str, Any]]) -> Numbers:
    stored = cells.Cells(Path("no such file"), LIMITS)
    stored.found = found
    return Numbers(stored)


def record(**scores: float) -> dict[str, Any]:
    """Return a cell that kept as many features as the name of a score says (`k3=0.9`)."""
    by_size = {name.partition("_")[0][1:]: value for name, value in scores.items()}
    kept = {
        size: list(range(int(name.partition("_")[2] or size)))
        for size, name in zip(by_size, scores, strict=True)
    }
    numbers = {s: {m: [v, v] for m in ("linear", "forest", "knn")} for s, v in by_size.items()}
    return {"status": cells.OK, "seconds": 0.0, "kept": kept, "scores": numbers}


def test_a_baseline_is_compared_with_as_many_features_as_the_default_kept() -> None:
    numbers = with_scores({
        ("wine", 0, "sieve"): record(k10_3=0.9),
        ("wine", 0, "l1"): record(k10=0.5, k3=0.8),
    })  # fmt: skip
    ours, theirs = ("sieve", "10"), ("l1", "10")
    assert numbers.on_set("wine", ours, theirs, "knn")[0] == pytest.approx(10.0)
    assert numbers.on_set("wine", ours, theirs, "knn", same=False)[0] == pytest.approx(40.0)


def test_differences_have_the_standard_error_of_the_sets() -> None:
    found = {}
    for name, gap in (("wine", 0.01), ("digits", 0.03), ("colon", -0.07)):
        found[name, 0, "sieve"] = record(k10=0.9 + gap)
        found[name, 0, "l1"] = record(k10=0.9)
    numbers = with_scores(found)
    gap = numbers.over_sets(["wine", "digits", "colon"], ("sieve", "10"), ("l1", "10"), ["knn"])
    assert gap is not None
    assert gap.mean == pytest.approx(-1.0)
    assert gap.error == pytest.approx(np.std([1, 3, -7], ddof=1) / np.sqrt(3))
    assert (gap.wins, gap.losses, gap.worst, gap.n) == (2, 1, "colon", 3)
    far = numbers.far_behind(["wine", "digits", "colon"], ["l1"], 5.0)
    assert {row[0] for row in far} == {"colon"}


def test_the_page_has_a_place_for_every_table(run: Any, tmp_path: Path) -> None:
    out = run("--methods", "f_test", "saola")
    copy = tmp_path / "default.md"
    copy.write_text((ROOT / "docs" / "default.md").read_text(encoding="utf-8"), encoding="utf-8")
    stored = cells.Cells(out / "cells.jsonl", sets.Limits())
    assert page.write_page(stored, sets.Limits(), out, copy)[-1] == copy
    assert "| wine |" in copy.read_text()
    assert json.loads((out / "summary.json").read_text())["scores"]["wine"]["f_test"]["10"]
