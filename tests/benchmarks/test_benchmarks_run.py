"""The benchmarks are found and their helpers work; tests do not check speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import discover, run  # noqa: E402

from benchmarks import __main__ as _main  # noqa: E402
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
    for column in ("CPU s, longest shard", "s", "ns/value", "seconds"):
        assert _history.is_slower(("Times", "us", column), [1.0, 9.0])
    assert _history.is_slower(("CPU seconds", "us", "Sieve"), [1.0, 9.0])
    for column in ("kept", "MB/s", "rows per s", "over one thread's", "shards"):
        assert not _history.is_slower(("Times", "us", column), [1.0, 9.0])
    page = _history.write_page(tmp_path).read_text()
    assert page.count("<tr class='slower'>") == 1
    assert "<li>1.60 times: <a href='#toy'>toy</a>, Times: us: seconds" in page
    assert page.count("<polyline") == 2
    assert "&lt;it&gt;" in page


def test_rows_are_named_by_what_is_not_measured() -> None:
    run_ = {
        "name": "toy",
        "tables": {
            "By size": [{"rows": 10, "s": 1.0, "kept": 3}, {"rows": 20, "s": 2.0, "kept": 3}],
            "Formatted": [{"set": "a", "accuracy %": "94.1", "same": "yes"}],
            "Twice": [{"what": "us", "s": 1.0}, {"what": "us", "s": 3.0}],
            "Two keys": [{"set": "a", "gate": 1, "s": 0.5}, {"set": "a", "gate": 2, "s": 0.6}],
            "One row": [{"s": 4.0}],
        },
    }
    found = _history.series([run_, run_])
    assert {key: values[0] for key, values in found.items() if key[2] not in ("kept", "gate")} == {
        ("By size", "rows 10", "rows"): 10.0,
        ("By size", "rows 10", "s"): 1.0,
        ("By size", "rows 20", "rows"): 20.0,
        ("By size", "rows 20", "s"): 2.0,
        ("Formatted", "a", "accuracy %"): 94.1,
        ("Twice", "us", "s"): 1.0,
        ("Twice", "us (2)", "s"): 3.0,
        ("Two keys", "a, gate 1", "s"): 0.5,
        ("Two keys", "a, gate 2", "s"): 0.6,
        ("One row", "", "s"): 4.0,
    }
    assert all(len(values) == 2 for values in found.values())


def test_a_benchmark_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def works() -> None:
        report = _harness.Report("works", "What it is.", tmp_path)
        report.table("Times", [{"what": "us", "seconds": 1.0}])
        report.save()

    mains = {"broken": lambda: 1 / 0, "works": works}
    monkeypatch.setattr(_main, "discover", lambda: dict.fromkeys(mains, "A benchmark."))
    monkeypatch.setattr(_main, "RESULTS", tmp_path)
    for name, main in mains.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", SimpleNamespace(main=main))
    assert run([]) == 1
    assert "ZeroDivisionError" in (said := capsys.readouterr()).err
    assert said.err.endswith("Failed: broken\n")
    assert "works" in (tmp_path / "history.html").read_text()
    assert run(["works"]) == 0
