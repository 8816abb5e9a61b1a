"""The benchmarks are found and their helpers work; tests do not check speed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import discover, run  # noqa: E402

from benchmarks import __main__ as _main  # noqa: E402
from benchmarks import _data, _docs, _harness, _history  # noqa: E402

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
    assert page.count("<td class='n slower'>") == 1
    link = "<a href='#toy, in full'>toy, in full</a>"
    assert f"<li>1.60 times: {link}, Times: us: seconds" in page
    assert page.count("<polyline") == 1  # the other number never changed
    assert "<title>1, 1.1, 1, 1.6</title>" in page
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


WORKS = '''"""What it is."""
from benchmarks._harness import Report

SIZE = 100
SHORT = {"SIZE": 1}

def main():
    report = Report("works", __doc__)
    report.table("Times", [{"what": "us", "seconds": float(SIZE)}])
    report.save()
'''
BROKEN = '''"""It fails."""

def main():
    1 / 0
'''
LACKING = '''"""It needs what is not here."""
from benchmarks._data import load_real

def main():
    load_real("no-such-set")
'''
ALONE = '''"""It needs a package."""
import no_such_package

def main():
    pass
'''
SLOW = '''"""It never ends."""
import threading

def main():
    threading.Event().wait()
'''
INTERRUPTED = '''"""Somebody presses Ctrl-C."""
import os, signal, threading

def main():
    os.kill(os.getppid(), signal.SIGINT)
    threading.Event().wait()
'''


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    """Return a folder for toy benchmarks."""
    folder = tmp_path / "toys"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    return folder


def runs_of(results: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (results / "history.jsonl").read_text().splitlines()]


def test_benchmarks_that_fail_or_lack_something_do_not_stop_the_others(
    toys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"a": ALONE, "b": BROKEN, "c": LACKING, "works": WORKS}
    for name, text in texts.items():
        (toys / f"{name}.py").write_text(text)
    assert run([], toys, tmp_path) == 1
    said = capsys.readouterr()
    assert "[1 of 4] a: It needs a package. (about 2 min left)" in said.out
    assert "a: skipped: it needs the package no_such_package, which is not installed" in said.err
    assert "b: failed: ZeroDivisionError: division by zero; see " in said.err
    assert "c: skipped: it needs the data set no-such-set, which is not beside" in said.err
    assert "1 of 4 benchmarks ran to their end." in said.out
    assert said.out.endswith(f"All runs over time: {tmp_path / 'history.html'}\n")
    assert "Traceback" in (tmp_path / "b-short.txt").read_text()
    assert "What it is." in (tmp_path / "history.html").read_text()
    (toys / "b.py").unlink()
    assert run(["a", "works"], toys, tmp_path) == 0
    assert [(r["short"], r["tables"]["Times"][0]["seconds"]) for r in runs_of(tmp_path)] == [
        (True, 1.0), (False, 100.0),
    ]  # fmt: skip
    assert (tmp_path / "works.md").exists()
    assert (tmp_path / "works-short.md").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_one_that_takes_too_long_is_stopped_and_leaves_no_files(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (toys / "slow.py").write_text(SLOW)
    scratch = tempfile.TemporaryDirectory(dir=tmp_path)
    (Path(scratch.name) / "left.txt").write_text("left")
    monkeypatch.setattr(_main, "_scratch", lambda: scratch)
    assert run(["--limit", "0.5"], toys, tmp_path) == 1
    assert "slow: stopped after 0.5 s; --limit gives it longer" in capsys.readouterr().err
    assert not Path(scratch.name).exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_keeps_what_is_done(
    toys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {"a": WORKS, "b": INTERRUPTED, "c": WORKS}.items():
        (toys / f"{name}.py").write_text(text)
    assert run([], toys, tmp_path) == 130
    said = capsys.readouterr().out
    assert "Interrupted; what ended before is kept." in said
    assert "1 of 3 benchmarks ran to their end." in said
    assert len(runs_of(tmp_path)) == 1
    assert (tmp_path / "history.html").exists()


def test_time_left_is_judged_by_earlier_runs(tmp_path: Path) -> None:
    assert _main._left(["a", "b"], False, tmp_path) == ""
    lines = [
        {"name": "a", "short": True, "seconds": 60.0}, {"name": "b", "short": True, "seconds": 180},
        {"name": "a", "short": True, "seconds": 120.0}, {"name": "a", "seconds": 9_000.0},
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "history.jsonl").write_text(text)
    assert _main._left(["a", "b"], True, tmp_path) == "(about 5 min left)"
    assert _main._left(["a", "new"], True, tmp_path) == "(about 4 min left)"
    assert _main._left(["a"], False, tmp_path) == "(about 150 min left)"
    assert _main._left(["a", "b"], False, tmp_path) == ""


def test_every_short_form_replaces_constants_that_exist() -> None:
    """It is read without importing the benchmarks, which need peers."""
    for name in discover():
        tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text())
        constants: dict[str, ast.expr] = {}
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else ()
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                constants |= {one.id: node.value for one in names if isinstance(one, ast.Name)}
        short = constants.get("SHORT")
        if short is None:  # it runs in full, and is stopped if that takes too long
            continue
        assert isinstance(short, ast.Dict), f"{name}: its short form is not a dict of constants"
        for key in short.keys:
            assert isinstance(key, ast.Constant)
            assert key.value in constants, f"{name}: {key.value} is not a constant"
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        defaults = [
            ast.dump(default) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults))
        ]  # fmt: skip
        for key in short.keys:
            assert key.value in used, f"{name}: {key.value} is not used"
            assert not any(f"'{key.value}'" in default for default in defaults), (
                f"{name}: {key.value} is a default, which a short form cannot replace"
            )


def test_a_short_form_leaves_the_documentation_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("<!-- it -->\nold\n<!-- end of it -->\n")
    monkeypatch.setattr(_docs, "ROOT", tmp_path)
    monkeypatch.setenv("TAMIS_BENCH_SHORT", "1")
    _docs.fill("page.md", "it", "new")
    assert "old" in page.read_text()
    monkeypatch.setenv("TAMIS_BENCH_SHORT", "")
    _docs.fill("page.md", "it", "new")
    assert page.read_text() == "<!-- it -->\nnew\n<!-- end of it -->\n"
