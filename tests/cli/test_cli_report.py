"""`tamis report`: one page, in three forms, or one sentence."""

from __future__ import annotations

import json

import numpy as np

from tamis.evaluate import SizePath


def test_a_run_becomes_a_page_in_each_form(tamis, svm, tmp_path):
    assert tamis("select", "t.svm", "--out", "run").code == 0
    done = tamis("report", "run")
    assert done.code == 0
    assert done.out.startswith("wrote run/report.html (")
    html = (tmp_path / "run" / "report.html").read_text()
    assert html.startswith("<!doctype html>")
    assert tamis("report", "run", "--format", "md", "--out", "page.md").code == 0
    assert (tmp_path / "page.md").read_text().startswith("# tamis: t.svm\n")
    assert tamis("report", "run", "--format", "json").code == 0
    page = json.loads((tmp_path / "run" / "report.json").read_text())
    assert page["summary"].startswith("sieve kept ")
    assert tamis("why", "run", "1").code == 0  # the page does not disturb the run


def test_a_size_path_becomes_a_page(tamis, tmp_path):
    path = SizePath([1, 2], np.array([[0.5, 0.7], [0.6, 0.8]]), ["a", "b"], "accuracy")
    path.save(tmp_path / "path")
    assert tamis("report", "path").out.startswith("wrote path/report.html (")
    found = tamis("info", "path", "--json")
    assert json.loads(found.out)["best"] == 2


def test_other_folders_are_reported(tamis, svm, tmp_path):
    assert tamis("report", "nowhere").one_sentence() == "nowhere: there is no such folder"
    (tmp_path / "other").mkdir()
    assert "was not written by tamis" in tamis("report", "other").one_sentence()
