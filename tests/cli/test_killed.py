"""Commands that are killed while they write leave the old folder or the new one."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

KILLED = """
import os, signal, sys
from tamis.cli import main
from tamis.core import files
from tamis.sources.stores import store_files

when, *sys.argv[1:] = sys.argv[1:]
rename, exchange = os.rename, files.exchange

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if when == "while writing":
    files.publish = store_files.publish = die
if when == "before the exchange":
    files.exchange = die
if when == "after the exchange":
    files.exchange = lambda *names: exchange(*names) and die()
if when == "between two renames":
    files.exchange = lambda *_: False
    os.rename = lambda *names: (rename(*names), die())
main.run()
"""


def kill(folder, when, *arguments):
    command = [sys.executable, "-c", KILLED, when, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done


MOMENTS = ["while writing", "before the exchange", "after the exchange", "between two renames"]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("when", MOMENTS)
def test_convert_with_force_leaves_the_old_store_or_the_new_one(tamis, svm, tmp_path, when):
    (tmp_path / "short.svm").write_text("1 1:1\n-1 2:1\n")
    assert tamis("convert", "short.svm", "a.cols").code == 0
    kill(tmp_path, when, "convert", "t.svm", "a.cols", "--force")
    rows = "200" if when.startswith("after") else "2"
    message = tamis("info", "a.cols", "--verify")
    assert ["n_rows", rows] in [line.split() for line in message.out.splitlines()], message
    assert tamis("convert", "t.svm", "a.cols", "--force").code == 0
    assert sorted(os.listdir(tmp_path)) == ["a.cols", "short.svm", "t.svm"]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("when", MOMENTS[2:])
def test_learn_with_force_leaves_the_old_model_or_the_new_one(tamis, svm, tmp_path, when):
    learn = ("learn", "t.svm", "--out", "model", "--quiet", "-k")
    assert tamis(*learn, 3).code == 0
    kill(tmp_path, when, *learn, "5", "--force")
    kept = 5 if when.startswith("after") else 3
    assert tamis("info", "model").code == 0
    assert json.loads((tmp_path / "model" / "model.json").read_text())["kept"] == kept
    assert tamis(*learn, 4, "--force").code == 0
    assert sorted(os.listdir(tmp_path)) == ["model", "t.svm"]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("when", ["while writing", "between two renames"])
def test_select_leaves_nothing_that_the_next_one_does_not_clear(tamis, svm, tmp_path, when):
    assert tamis("select", "t.svm", "--out", "run", "--quiet").code == 0
    kill(tmp_path, when, "select", "t.svm", "--out", "run", "--quiet", "--force")
    assert tamis("why", "run", "20").code == 0
    assert tamis("select", "t.svm", "--out", "other", "--quiet").code == 0
    assert sorted(os.listdir(tmp_path)) == ["other", "run", "t.svm"]


@pytest.mark.skipif(os.name == "nt", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("most", [0, 100, 20_000])
def test_a_disk_that_is_full_when_a_run_is_saved_is_one_sentence(tamis, svm, tmp_path, most):
    assert tamis("select", "t.svm", "--out", "run", "--quiet").code == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        ended = tamis("select", "t.svm", "--out", "run", "--quiet", "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "run cannot be written (" in ended.one_sentence()
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["run", "t.svm"]
