"""Runs as folders: damage of any kind raises a one-sentence error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sample_runs import ODD, a_run

from tamis.core.decisions import Decision
from tamis.core.errors import SourceError
from tamis.engine.runs import open_run, save_run


def one_sentence(folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        open_run(folder)
    text = str(caught.value)
    assert text.startswith(str(folder))
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", ["log.parquet", "events.parquet", "run.json"])
@pytest.mark.parametrize("keep", [0, 1, 0.5, -1])
def test_a_truncated_file_is_reported_in_one_sentence(tmp_path, name, keep):
    save_run(a_run(names=ODD), tmp_path / "run")
    file = tmp_path / "run" / name
    data = file.read_bytes()
    # run.json ends with a newline, which it can do without
    cut = {0: 0, 1: 1, 0.5: len(data) // 2, -1: len(data) - 3}[keep]
    file.write_bytes(data[:cut])
    text = one_sentence(tmp_path / "run")
    assert text.endswith("; run tamis select again")


@pytest.mark.parametrize("name", ["log.parquet", "events.parquet"])
def test_a_missing_file_is_reported(tmp_path, name):
    save_run(a_run(), tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    assert "is damaged (" in one_sentence(tmp_path / "run")


def test_files_of_two_runs_are_not_mixed_up(tmp_path):
    save_run(a_run(), tmp_path / "run")
    other = a_run()
    other.log.append(Decision(8, "kept", 0.8, level=0.01))
    save_run(other, tmp_path / "other")
    (tmp_path / "other" / "events.parquet").replace(tmp_path / "run" / "events.parquet")
    assert "events.parquet has changed since it was written" in one_sentence(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.clear(), "'format_version' is missing"),
        (lambda f: f.update(format_version=2), "was written in format 2 and this tamis reads"),
        (lambda f: f.pop("measure"), "'measure' is missing"),
        (lambda f: f.pop("names"), "'names' is missing"),
        (lambda f: f.update(names=None), "is damaged ("),
        (lambda f: f.update(names=[]), "is damaged ("),
        (lambda f: f.update(reasons={}), "is missing"),
        (lambda f: f["reasons"]["kept"].update(verdict="blue"), "'BLUE' is missing"),
    ],
)
def test_a_run_json_that_lacks_something_is_reported(tmp_path, change, message):
    save_run(a_run(), tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    facts = json.loads(file.read_text(encoding="utf-8"))
    del facts["checksum"]
    change(facts)
    file.write_text(json.dumps(facts), encoding="utf-8")
    assert message in one_sentence(tmp_path / "run")


def test_a_changed_word_of_run_json_is_noticed(tmp_path):
    save_run(a_run(), tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace('"prefix": "x"', '"prefix": "y"'))
    assert "is damaged (it has changed since it was written)" in one_sentence(tmp_path / "run")


def test_a_log_that_can_be_read_but_has_changed_is_noticed(tmp_path):
    run = a_run()
    save_run(run, tmp_path / "run")
    save_run(a_run(shift=0.01), tmp_path / "other")
    (tmp_path / "other" / "log.parquet").replace(tmp_path / "run" / "log.parquet")
    assert "log.parquet has changed since it was written" in one_sentence(tmp_path / "run")


@pytest.mark.parametrize("content", [b"[]", b"null", b"7", b"\xff\xfe\x00", b"{", b'"text"'])
def test_a_run_json_with_other_content_is_reported(tmp_path, content):
    save_run(a_run(), tmp_path / "run")
    (tmp_path / "run" / "run.json").write_bytes(content)
    assert "is damaged (" in one_sentence(tmp_path / "run")


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("")])
def test_other_folders_are_not_runs(tmp_path, make):
    make(tmp_path / "run")
    assert "is not a run folder; it has no run.json" in one_sentence(tmp_path / "run")
