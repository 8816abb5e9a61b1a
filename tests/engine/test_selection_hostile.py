"""Living selections under hostile conditions: files that change, disks that fill."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time

import numpy as np
import pandas as pd
import pytest
from living import (
    ENCODED,
    expected_log,
    fresh,
    numbers,
    selector,
    table,
    target,
)

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import InputError, OutputError, SourceError
from tamis.engine.persistent import feeding, watching
from tamis.engine.persistent.state_file import LOCK, STATE
from tamis.engine.persistent.watching import Watcher, look
from tamis.sources.arrays.in_memory import MemorySource
from waiting import PATIENCE

HOW = {"plain": ({}, table), "encoded": (ENCODED, numbers)}


class Moving(MemorySource):
    """A file that has changed, from some column on, when it is read for the second time."""

    def __init__(self, first: pd.DataFrame, second: pd.DataFrame) -> None:
        super().__init__(first)
        self._second, self._passes = MemorySource(second), 0

    def columns(self, width=None, start=0, stop=None, progress=lambda *_: None):
        self._passes += width is not None  # not when its fingerprint is taken
        source = self._second if self._passes > 1 else super()
        return source.columns(width, start, stop, progress)


def changed(data: pd.DataFrame, how: str) -> pd.DataFrame:
    if how == "a value":
        data = data.copy()
        data.iloc[7, -3] += 1
        return data
    return {
        "a name": data.rename(columns={data.columns[-3]: "other"}),
        "shorter": data.iloc[:, :-3],
        "longer": data.assign(more=data.iloc[:, 0]),
        "rows": data.iloc[::-1],
    }[how]


@pytest.mark.parametrize("kind", HOW)
@pytest.mark.parametrize("how", ["a value", "a name", "shorter", "longer", "rows"])
def test_a_file_that_changes_between_check_and_read_is_refused(tmp_path, monkeypatch, kind, how):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    options, make = HOW[kind]
    data = make()
    selection = fresh(tmp_path, **options)
    with pytest.raises(InputError) as caught:
        selection.feed(Moving(data, changed(data, how)), width=7)
    assert str(caught.value) == (
        "the data changed while it was fed; feed it again when nobody writes to it"
    )
    taken = len(Selection.open(tmp_path / "run").run.log)
    assert (taken == 0) == (how == "rows")  # the unchanged part is committed
    selection.feed(data, width=5)
    expected = tamis.select(data, selector(), target(), **options)
    assert_same_log(selection.run.log, expected.log, how)


def test_an_empty_feed_does_not_pick_a_measure(tmp_path):
    y = target()
    selection = Selection.create(tmp_path / "run", y, "saola")
    for nothing in (np.empty((len(y), 0)), pd.DataFrame(index=range(len(y)))):
        fed = selection.feed(nothing)
        assert (fed.taken, fed.skipped) == (0, 0)
    selection.feed(table())
    assert selection.run.measure == tamis.select(table(), "saola", y).measure
    assert selection.feed(table().iloc[:, :0]).taken == 0


@pytest.mark.parametrize("spoil", ["cut", "gone", "text", "empty"])
def test_a_state_damaged_while_a_selection_is_open_is_reported(tmp_path, spoil):
    selection = fresh(tmp_path)
    selection.feed(table())
    state = tmp_path / "run" / STATE
    whole = state.read_bytes()
    if spoil == "gone":
        state.unlink()
    else:
        state.write_bytes({"cut": whole[:5000], "text": b"[]" * 900, "empty": b""}[spoil])
    for ask in (lambda: selection.kept_names, lambda: selection.feed(table(2)), selection.status):
        with pytest.raises(SourceError, match="run is damaged"):
            ask()
    state.write_bytes(whole)
    assert selection.feed(table()).skipped == 60


def test_two_feeders_at_once_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    fresh(tmp_path, **ENCODED)
    parts = [numbers(seed, 20, prefix) for seed, prefix in ((1, "a"), (2, "b"), (1, "a"))]
    failed: list[BaseException] = []

    def feed(part: pd.DataFrame) -> None:
        try:
            Selection.open(tmp_path / "run").feed(part, width=6)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=feed, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    found = Selection.open(tmp_path / "run")
    names = [found.run.log.names[f] for f in range(len(found.run.log))]
    order = parts[:2] if names[0] == "a0" else parts[1::-1]
    whole = tamis.select(pd.concat(order, axis=1), selector(), target(), **ENCODED)
    assert_same_log(found.run.log, whole.log, "two feeders")
    assert found.run.source["encoded"] == whole.source["encoded"]


EXPORTS = {"selected.csv", "log.parquet", "events.parquet", "run.json"}


def left_over(run) -> set[str]:
    return set(os.listdir(run)) - {STATE, LOCK, *EXPORTS}


@pytest.mark.parametrize("kind", HOW)
def test_a_full_disk(tmp_path, kind):
    """A real full disk: a file system in memory, enlarged afterwards."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        options, make = HOW[kind]
        data = make(columns=600)
        selection = fresh(disk, **options)
        selection.feed(data.iloc[:, :20])
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 512):
                pass
        for _ in range(2):
            with pytest.raises(OutputError) as caught:
                selection.feed(data)
            assert str(caught.value) == (
                f"{disk / 'run'} cannot be written (database or disk is full); the selection is "
                "as it was when it was last committed"
            )
            assert left_over(disk / "run") == set()
        with pytest.raises(OutputError):
            selection.drop(selection.kept_names[0])
        assert len(Selection.open(disk / "run").run.log) == 20
        filler.unlink()
        selection.feed(data)
        expected = tamis.select(data, selector(), target(), **options)
        assert_same_log(Selection.open(disk / "run").run.log, expected.log, "with room again")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_names_with_newlines_are_encoded_like_others(tmp_path):
    data = numbers(columns=6)
    data.columns = ["two\nlines", 'quo"te', "<b>", "tab\t", "", "ü\u2028"]
    selection = fresh(tmp_path, **ENCODED)
    selection.feed(data)
    assert selection.feed(data).skipped == 6
    whole = tamis.select(data, selector(), target(), **ENCODED)
    assert_same_log(Selection.open(tmp_path / "run").run.log, whole.log, "odd names")
    assert Selection.open(tmp_path / "run").why("two\nlines") == whole.why("two\nlines")


def test_text_that_may_be_incomplete_is_not_read_until_complete(tmp_path, monkeypatch):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    text = table().to_csv(index=False)
    file = incoming / "a.csv"
    file.write_text(text[:-2])  # the same number of rows, with an incomplete last value
    selection = fresh(tmp_path)
    watcher = Watcher(selection, incoming, settle=0.0)
    assert watcher.once() == 0
    assert look(incoming) == set()
    file.write_text(text)
    assert watcher.once() == 1
    assert_same_log(selection.run.log, expected_log(table()), "when complete")
    # A file without a final newline is accepted after a while.
    monkeypatch.setattr(watching, "CUT_OFF", PATIENCE)
    (incoming / "b.csv").write_text(table(2, prefix="b").to_csv(index=False).rstrip("\n"))
    assert watcher.once() == 0
    monkeypatch.setattr(watching, "CUT_OFF", 0.0)
    time.sleep(0.01)
    assert watcher.once() == 1
    assert selection.status()["refused"] == {}


def test_a_truncated_file_is_refused_and_fed_when_complete(tmp_path):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    table().to_parquet(incoming / "a.parquet")
    whole = (incoming / "a.parquet").read_bytes()
    (incoming / "a.parquet").write_bytes(whole[: len(whole) // 2])
    selection = fresh(tmp_path)
    watcher = Watcher(selection, incoming, settle=0.0)
    assert watcher.once() == 1
    assert "truncated or damaged" in selection.status()["refused"]["a.parquet"]
    assert watcher.once() == 0
    (incoming / "a.parquet").write_bytes(whole)
    assert watcher.once() == 1
    assert_same_log(selection.run.log, expected_log(table()), "when complete")
