"""The folder watcher: every file exactly once, when it is complete, across restarts."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from living import ROWS, expected_log, fresh, table, target

from tamis import SAOLA, FisherZ, Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import OutputError, SourceError
from tamis.engine.persistent import feeding, selection_state, watching
from tamis.engine.persistent.watching import Watcher, look


def put(folder: Path, name: str, lo: int, hi: int) -> None:
    table().iloc[:, lo:hi].to_parquet(folder / name, index=False)


@pytest.fixture
def incoming(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_files_are_fed_by_name_each_once_across_restarts(tmp_path, incoming):
    fresh(tmp_path)
    messages: list[str] = []
    put(incoming, "b.parquet", 20, 40)
    put(incoming, "a.parquet", 0, 20)

    def watcher() -> Watcher:
        return Watcher(Selection.open(tmp_path / "run"), incoming, settle=0.0, say=messages.append)

    assert watcher().once() == 2
    assert [s.partition(":")[0] for s in messages] == ["a.parquet", "b.parquet"]
    assert watcher().once() == 0
    put(incoming, "c.parquet", 40, 60)
    again = watcher()
    assert (again.once(), again.once()) == (1, 0)
    opened = Selection.open(tmp_path / "run")
    assert_same_log(opened.run.log, expected_log(table()), "watched")
    assert sum(line["action"] == "feed" for line in opened.history) == 3


def test_a_file_is_taken_only_when_it_has_stopped_changing(tmp_path, incoming, monkeypatch):
    fresh(tmp_path)
    watcher = Watcher(Selection.open(tmp_path / "run"), incoming, settle=0.0)
    put(tmp_path, "whole.parquet", 0, 60)
    data = (tmp_path / "whole.parquet").read_bytes()
    (incoming / "a.parquet").write_bytes(data[:100])

    def grows(seconds):
        with (incoming / "a.parquet").open("ab") as file:
            file.write(data[100:])

    with monkeypatch.context() as patch:  # not time.sleep itself: other threads may be in it
        patch.setattr(watching, "time", SimpleNamespace(sleep=grows))
        assert watcher.once() == 0
    assert watcher.once() == 1
    assert watcher.selection.status()["refused"] == {}


def test_unfinished_and_hidden_names_are_left_alone(incoming):
    for name in (".a.parquet", "_SUCCESS", "a.parquet.part", "a.tmp", "a.csv~", "b.CRDOWNLOAD"):
        (incoming / name).touch()
    (incoming / "nowhere.csv").symlink_to(incoming / "nothing")
    (incoming / "loop.csv").symlink_to(incoming / "loop.csv")
    assert look(incoming) == set()
    (incoming / "a.csv").touch()
    assert [file.name for file in look(incoming)] == ["a.csv"]
    with pytest.raises(SourceError, match=r"cannot be watched \(No such file or directory\)"):
        look(incoming / "not")


def test_a_bad_file_is_reported_once_and_skipped(tmp_path, incoming):
    fresh(tmp_path)
    messages: list[str] = []
    (incoming / "bad.parquet").write_bytes(b"PAR1 no such thing")
    put(incoming, "good.parquet", 0, 60)
    for _ in range(2):
        Watcher(Selection.open(tmp_path / "run"), incoming, settle=0.0, say=messages.append).once()
    assert len(messages) == 2
    assert messages[0].startswith("bad.parquet was not fed: ")
    assert messages[1].startswith("good.parquet: 60 columns taken")
    status = Selection.open(tmp_path / "run").status()
    assert list(status["refused"]) == ["bad.parquet"]
    shutil.copy(incoming / "good.parquet", incoming / "bad.parquet")  # fixed
    Watcher(Selection.open(tmp_path / "run"), incoming, settle=0.0, say=messages.append).once()
    assert messages[2] == (
        "bad.parquet: 0 columns taken, 0 of them kept; 60 were fed before and were skipped"
    )


def test_a_problematic_column_can_be_left_out_by_hand(tmp_path, incoming):
    selection = Selection.create(tmp_path / "run", target(), SAOLA(FisherZ()))
    day = table().iloc[:, :3].assign(**{"a town": ["x", "y", "z"] * (ROWS // 3)})
    day.to_parquet(incoming / "day 3.parquet", index=False)
    messages: list[str] = []
    watcher = Watcher(selection, incoming, settle=0.0, say=messages.append)
    watcher.once()
    command = f"tamis feed {tmp_path / 'run'} '{incoming / 'day 3.parquet'}' --ignore 'a town'"
    assert messages[0].endswith(
        f"; it will be retried when it changes, or feed it yourself: {command}"
    )
    assert command in watcher.selection.status()["refused"]["day 3.parquet"]
    watcher.selection.feed(incoming / "day 3.parquet", ignore="a town")
    assert watcher.selection.status()["refused"] == {}


class Stop(BaseException):
    """Simulates the end of the process."""


def test_a_watcher_that_stops_in_the_middle_of_a_file_resumes_there(
    tmp_path, incoming, monkeypatch
):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    expected = expected_log(table())
    real = selection_state.writing
    put(incoming, "a.parquet", 0, 60)
    for end in range(1, 9):
        place = tmp_path / str(end)
        place.mkdir()
        fresh(place)
        heads = iter(range(10**6))

        @contextlib.contextmanager
        def ends(*given, heads=heads, end=end, **named):
            last = next(heads) == end // 2
            with real(*given, **named) as opened:
                yield opened
                if last and not end % 2:
                    raise Stop
            if last:
                raise Stop

        with monkeypatch.context() as patch:
            patch.setattr(selection_state, "writing", ends)
            watcher = Watcher(Selection.open(place / "run"), incoming, settle=0.0)
            patch.setattr(watcher.selection, "feed", _narrow(watcher.selection.feed))
            with pytest.raises(Stop):
                watcher.once()
        again = Watcher(Selection.open(place / "run"), incoming, settle=0.0)
        again.once()
        assert_same_log(Selection.open(place / "run").run.log, expected, f"ended at {end}")
        done = [line for line in again.selection.history if line.get("done")]
        assert len(done) == 1


def _narrow(feed):
    return lambda *given, **named: feed(*given, **{**named, "width": 10})


def test_a_folder_that_cannot_be_written_stops_the_watcher(tmp_path, incoming, monkeypatch):
    fresh(tmp_path)
    put(incoming, "a.parquet", 0, 60)
    watcher = Watcher(Selection.open(tmp_path / "run"), incoming, settle=0.0)

    def full(*given):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(selection_state, "put", full)
        with pytest.raises(OutputError, match="No space left on device"):
            watcher.once()
    assert watcher.once() == 1
    assert_same_log(watcher.selection.run.log, expected_log(table()), "after a full disk")
