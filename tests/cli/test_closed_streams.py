"""Standard input, output or error that the parent process closed, as some services do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from waiting import PATIENCE

TAMIS = f'"{sys.executable}" -m tamis'


def closed(command: str, cwd) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    lines = [f"{i % 2} 1:{i % 2 + i % 3} 2:{i % 5}" for i in range(40)]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_closed_input_is_an_empty_one(folder):
    ways = {
        how: closed(f"{TAMIS} learn - -k 2 --classes 0,1 --out m {how}", folder)
        for how in ("<&-", "< /dev/null")
    }
    done = ways["<&-"]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ways["< /dev/null"].stderr
    assert done.stderr.startswith("tamis: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_the_result_does_not_depend_on_closed_streams(folder, how):
    assert closed(f"{TAMIS} learn t.svm -k 2 --out whole", folder).returncode == 0
    done = closed(f"{TAMIS} learn t.svm -k 2 --out m {how}", folder)
    assert done.returncode == 0, done.stderr
    for name in ("features.npy", "weights.npy"):
        assert (folder / "m" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    assert closed(f"{TAMIS} info nothing.csv {how}", folder).returncode == 2
