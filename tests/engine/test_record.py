"""Runs as folders: what is written is read again, and a folder is complete or missing."""

from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_runs import ODD, REASONS, a_run, facts_of, names_in

from tamis.core import files
from tamis.core.decisions import DecisionLog
from tamis.core.errors import OutputError
from tamis.core.files import check_folder
from tamis.engine import log_tables, runs
from tamis.engine.runs import open_run, save_run
from tamis.engine.selecting import select

FILES = ["events.parquet", "log.parquet", "run.json", "selected.csv"]


@pytest.mark.parametrize("book", [{}, {"prefix": "", "base": 1}, {"names": ODD}])
def test_what_is_written_is_read_again(tmp_path, book):
    run = a_run(**book)
    assert save_run(run, tmp_path / "run") == tmp_path / "run"
    assert names_in(tmp_path) == ["run"]
    assert names_in(tmp_path / "run") == FILES
    again = open_run(str(tmp_path / "run"))
    assert facts_of(again) == facts_of(run)
    assert again.log.replay() == [1, 6]
    assert again.selector is None


def test_a_run_read_from_a_folder_can_be_written_again(tmp_path):
    first = open_run(save_run(a_run(names=ODD), tmp_path / "a"))
    assert facts_of(open_run(save_run(first, tmp_path / "b"))) == facts_of(first)


def test_a_run_of_an_earlier_version_with_a_seed_is_read(tmp_path):
    run = a_run()
    path = save_run(run, tmp_path / "run") / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert "seed" not in record
    del record["checksum"], record["files"]  # earlier versions had none
    path.write_text(json.dumps(record | {"seed": None}), encoding="utf-8")
    assert facts_of(open_run(tmp_path / "run")) == facts_of(run)


def test_a_log_in_many_pieces_is_the_same_log(tmp_path, monkeypatch):
    monkeypatch.setattr(log_tables, "CHUNK", 3)
    run = a_run(names=ODD)
    assert facts_of(open_run(save_run(run, tmp_path / "run"))) == facts_of(run)
    assert pq.ParquetFile(tmp_path / "run" / "log.parquet").num_row_groups == 4


def test_a_real_run_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = rng.integers(0, 4, (150, 60)).astype(float)
    X[:, ::7] = np.where(rng.random((150, 9)) < 0.4, y[:, None], X[:, ::7])
    run = select(X, "saola", y, command="tamis select 'it is'")
    assert facts_of(open_run(save_run(run, tmp_path / "run"))) == facts_of(run)


def test_runs_without_features_or_kept_features_are_valid(tmp_path):
    run = a_run()
    run.log = DecisionLog(REASONS)
    assert len(open_run(save_run(run, tmp_path / "none")).log) == 0
    run.log.append_bulk(np.array([0.1]), 0.5, "weak")
    again = open_run(save_run(run, tmp_path / "weak"))
    assert (again.kept_rows(), again.why("x0")) == ([], "x0 is weak: 0.1 is not above 0.5")


def test_selected_csv_holds_number_name_relevance_and_arrival(tmp_path):
    save_run(a_run(names=['the "first"', "two\nlines,", *"cdefghij"]), tmp_path / "run")
    with (tmp_path / "run" / "selected.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row.values()) for row in rows] == [
        ["1", "two\\nlines,", "0.1", "1"],  # control characters are escaped
        ["6", "g", "0.6", "6"],
    ]
    assert list(rows[0]) == ["feature", "name", "relevance", "arrival"]


def test_the_log_is_a_plain_table_for_other_programs(tmp_path):
    save_run(a_run(names=ODD), tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / "log.parquet").to_pydict()
    assert table["name"] == ODD
    assert table["verdict"][:7] == [
        "irrelevant", "kept", "irrelevant", "irrelevant", "evicted", "redundant", "kept",
    ]  # fmt: skip
    assert table["because"] == [None, None, None, None, 6, 1, None, None, None, None]
    assert table["value"][4:6] == [0.3, 0.7]
    assert table["at"][4] == 6


def test_names_that_are_not_text_do_not_lose_the_run(tmp_path):
    run = a_run(names=["\ud800", *"bcdefghij"])
    run.command = "tamis select '\udcff.svm'"
    again = open_run(save_run(run, tmp_path / "run"))
    assert again.command == run.command
    assert again.log.names[0] == "\\ud800"


def test_run_json_describes_the_run(tmp_path):
    save_run(a_run(), tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert facts["format_version"] == 1
    assert facts["verdicts"] == {"irrelevant": 6, "redundant": 1, "evicted": 1, "kept": 2}
    assert facts["source"]["fingerprint"] == "00"
    assert {"parameters", "versions", "work", "seconds", "command"} <= set(facts)


def test_an_existing_folder_is_not_overwritten(tmp_path):
    save_run(a_run(), tmp_path / "run")
    before = facts_of(open_run(tmp_path / "run"))
    with pytest.raises(OutputError, match=r"run already exists; choose another name, or use"):
        save_run(a_run(shift=0.05), tmp_path / "run")
    assert facts_of(open_run(tmp_path / "run")) == before
    save_run(a_run(shift=0.05), tmp_path / "run", force=True)
    assert facts_of(open_run(tmp_path / "run")) == facts_of(a_run(shift=0.05))
    assert names_in(tmp_path) == ["run"]


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_folder_that_is_not_a_run_is_never_replaced(tmp_path, kind):
    place = tmp_path / "run"
    if kind == "file":
        place.write_text("mine")
    else:
        real = place if kind == "folder" else tmp_path / "thesis"
        real.mkdir()
        (real / "thesis.tex").write_text("mine")
        if kind == "link":
            place.symlink_to(real)
    before = names_in(tmp_path)
    with pytest.raises(OutputError, match="exists and is not a run; it will not be replaced"):
        save_run(a_run(), place, force=True)
    assert names_in(tmp_path) == before


def test_force_accepts_an_empty_folder_and_follows_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to("real")
    for _ in range(2):
        save_run(a_run(), tmp_path / "run", force=True)
    assert (tmp_path / "run").is_symlink()
    assert names_in(tmp_path / "real") == FILES
    assert names_in(tmp_path) == ["real", "run"]


def test_the_current_folder_can_be_the_run(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    save_run(a_run(), ".", force=True)
    assert names_in(tmp_path / "here") == FILES


def test_a_missing_parent_is_reported_and_not_created(tmp_path):
    with pytest.raises(OutputError, match=r"^the folder .*/a/b does not exist; make it first"):
        check_folder(tmp_path / "a" / "b" / "run", "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"^the folder .*/file does not exist"):
        save_run(a_run(), tmp_path / "file" / "run")
    assert names_in(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_written_is_reported_before_the_work(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OutputError, match=r"run cannot be written \(Permission denied\)$"):
        check_folder(tmp_path / "run", "run")
    monkeypatch.undo()
    with pytest.raises(OutputError, match=r"cannot be written \(File name too long\)$"):
        check_folder(tmp_path / ("r" * 300), "run")


def test_checking_leaves_no_files(tmp_path):
    check_folder(tmp_path / "run", "run")
    assert names_in(tmp_path) == []


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["write_log", "write_events", "readable_files"])
@pytest.mark.parametrize(("fail", "kind"), [(no_space, OutputError), (interrupt, BaseException)])
@pytest.mark.parametrize("there", [True, False])
def test_a_failed_write_changes_nothing(tmp_path, monkeypatch, step, fail, kind, there):
    if there:
        save_run(a_run(), tmp_path / "run")
    before = names_in(tmp_path)
    monkeypatch.setattr(runs, step, fail)
    with pytest.raises(kind) as caught:
        save_run(a_run(shift=0.05), tmp_path / "run", force=True)
    if fail is no_space:
        assert str(caught.value).endswith("(No space left on device); nothing was written")
    assert names_in(tmp_path) == before
    if there:
        assert facts_of(open_run(tmp_path / "run")) == facts_of(a_run())


def test_an_arrow_error_is_reported_in_one_sentence(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise pa.ArrowInvalid("first line.\nsecond line")

    monkeypatch.setattr(pq, "write_table", fail)
    with pytest.raises(OutputError, match=r"run cannot be written \(first line\); nothing was"):
        save_run(a_run(), tmp_path / "run")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_move_that_fails_loses_no_run(tmp_path, monkeypatch, which, late, kind):
    """An error, or Ctrl-C, just before or just after either of the two renames."""
    save_run(a_run(), tmp_path / "run")
    rename, calls = os.rename, []

    def fails(source, target):
        calls.append(source)
        hit = len(calls) == which
        if not hit or late:
            rename(source, target)
        if hit:
            raise kind

    monkeypatch.setattr(files, "exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        save_run(a_run(shift=0.05), tmp_path / "run", force=True)
    monkeypatch.undo()
    is_new = late and which == 2
    assert names_in(tmp_path) == ["run"]
    assert facts_of(open_run(tmp_path / "run")) == facts_of(a_run(shift=0.05 if is_new else 0.0))
