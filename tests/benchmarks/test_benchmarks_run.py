"""The benchmarks are found and their helpers work; tests do not check speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import discover, run  # noqa: E402

from benchmarks import _data, _harness, _history  # noqa: E402

NAMES = {"growth", "parse_svmlight", "relevance_pass", "saola_paper_gate", "saola_papers"}


def test_every_module_with_a_main_is_found(tmp_path: Path) -> None:
    assert set(discover()) >= NAMES
    (tmp_path / "fast.py").write_text('"""How fast.\n\nMore."""\n\ndef main():\n    pass\n')
    (tmp_path / "_helper.py").write_text("def main():\n    pass\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    assert discover(tmp_path) == {"fast": "How fast."}


def test_help_lists_them() -> None:
    command = [sys.executable, "-m", "benchmarks", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name, description in discover().items():
        assert name in shown
        assert description in shown


def test_an_unknown_name_is_rejected_before_anything_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run(["growth", "nonsense"])
    assert "unknown benchmark 'nonsense'" in capsys.readouterr().err


def test_best_of_alternates_jobs_after_one_warm_up_round() -> None:
    calls: list[str] = []
    seconds = _harness.best_of(2, lambda: calls.append("a"), lambda: calls.append("b"))
    assert calls == ["a", "b"] * 3
    assert all(s >= 0 for s in seconds)


def test_table_is_markdown_with_numbers_on_the_right() -> None:
    text = _harness.table(
        [{"set": "a", "n": 12345, "s": 0.12345}, {"set": "bc", "n": 1, "s": 250.4}]
    )
    assert text.splitlines() == [
        "| set |      n |     s |",
        "| --- | -----: | ----: |",
        "| a   | 12,345 | 0.123 |",
        "| bc  |      1 |   250 |",
    ]


def test_report_writes_markdown_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _harness.Report("toy", "What it is.\n\nMore.", tmp_path)
    report.table("Times", [{"what": "us", "seconds": 1.5}])
    report.note("So it goes.")
    assert report.save() == tmp_path / "toy.md"
    written = (tmp_path / "toy.md").read_text()
    assert "| us   |     1.5 |" in written
    assert "| us   |     1.5 |" in capsys.readouterr().out
    content = json.loads((tmp_path / "toy.json").read_text())
    assert content["tables"] == {"Times": [{"what": "us", "seconds": 1.5}]}
    assert "So it goes." in content["notes"]


def test_a_separate_process_returns_the_result() -> None:
    assert _harness.in_own_process("math", "hypot", 3, 4) == 5.0


def test_peak_is_a_size() -> None:
    _harness.clear_peak()
    assert not _harness.peak_megabytes() <= 0


def test_generated_rows_have_the_requested_shape() -> None:
    X, y = _data.zipf_matrix(200, 5_000, 30)
    assert X.shape == (200, 5_000)
    assert set(X.data.tolist()) == {1}
    assert X.nnz <= 200 * 30
    assert set(y.tolist()) == {0, 1}
    frequency = np.sort(np.bincount(X.indices, minlength=5_000))[::-1]
    assert frequency[0] > 20 * max(1, frequency[2_500])
    again, _ = _data.zipf_matrix(200, 5_000, 30)
    assert (again != X).nnz == 0


def test_generated_codes_have_the_requested_shape() -> None:
    X, y = _data.table_of_codes(50, 7)
    assert X.shape == (50, 7)
    assert X.min() >= 0
    assert set(y.tolist()) == {0, 1}
    assert _data.megabytes(X) == 50 * 7 * 2 / 1e6


def test_without_the_shared_folder_data_is_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_data, "SHARED", tmp_path)
    name, X, y = _data.Workload("toy", "not_there", 40, 300, 5).load()
    assert name == "generated, like toy"
    assert X.shape == (40, 300)
    assert len(y) == 40


def test_runs_are_appended_and_a_slowdown_is_marked(tmp_path: Path) -> None:
    for seconds in (1.0, 1.1, 1.0, 1.6):
        report = _harness.Report("toy", "What it is.", tmp_path)
        report.table(
            "Times", [{"what": "us", "seconds": seconds}, {"what": "<it>", "seconds": 2.0}]
        )
        report.save()
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["toy"] * 4
    found = _history.series([json.loads(line) for line in lines])
    assert found["Times", "us", "seconds"] == [1.0, 1.1, 1.0, 1.6]
    assert _history.is_slower(("Times", "us", "seconds"), [1.0, 1.1, 1.0, 1.6])
    assert not _history.is_slower(("Times", "us", "seconds"), [1.0, 1.1, 1.0, 1.2])
    assert not _history.is_slower(("Times", "us", "kept"), [1.0, 9.0])
    page = _history.write_page(tmp_path).read_text()
    assert page.count("<tr class='slower'>") == 1
    assert page.count("<polyline") == 2
    assert "&lt;it&gt;" in page
