"""Living selections survive kill -9, full disks, damage, and each other."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from living import (
    ENCODED,
    expected_log,
    fresh,
    numbers,
    rewrite,
    selector,
    table,
    target,
)

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import OutputError, ParameterError, SourceError, TamisError
from tamis.core.writers import LOCK, only_writer
from tamis.engine.persistent import feeding, selection_state, state_file
from tamis.engine.persistent.state_file import STATE, pack, unpack
from tamis.kernels.threads import threads

#: Starts a process with everything imported and compiled, which forks a child for every feed and
#: kills it after a while: no fresh import, and no threads that a fork would lose.
KILLER = """
import os, random, signal, sys, time
os.environ["TAMIS_THREADS"] = "1"
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from living import ENCODED, fresh, numbers, table
from tamis import Selection
from tamis.engine.persistent import feeding, selection_state, state_file
folder, rounds, seed = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
how, make = (ENCODED, numbers) if sys.argv[5:] == ["encoded"] else ({}, table)
os.fsync = lambda handle: None  # a killed process that does not lose power needs none
state_file.SYNCHRONOUS = "OFF"
feeding.COMMIT_EVERY = 0.0
selection_state.SHORT = 70
data, rng = make(columns=240), random.Random(seed)
parts = [data.iloc[:, :100], data.iloc[:, 100:110], data.iloc[:, 110:]]
feed = lambda place: [Selection.open(place).feed(part, width=9) for part in parts]
for warm in ("warm", "timed"):  # the first time kernels are read or compiled
    (folder / warm).mkdir(); fresh(folder / warm, **how)
    began = time.monotonic(); feed(folder / warm / "run"); whole = time.monotonic() - began
kills = ends = 0
while kills < rounds:
    place = folder / f"run{ends}"
    if not place.exists():
        place.mkdir(); fresh(place, **how)
    child = os.fork()
    if child == 0:
        try:
            feed(place / "run")
            os._exit(0)
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
    time.sleep(rng.random() * whole)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        kills += 1
    else:
        assert os.WEXITSTATUS(status) == 0
    if not os.WIFSIGNALED(status) or kills == rounds:
        feed(place / "run"); ends += 1
feed(folder / f"run{ends}" / "run") if (folder / f"run{ends}").exists() else None
print(ends)
"""


def kill_and_compare(tmp_path: Path, rounds: int, *more: str) -> None:
    seed = "7"
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(Path(__file__).parent), tmp_path, str(rounds), seed,
         *more],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    assert "child" not in done.stdout, f"seed {seed}: {done.stdout}"
    encoded = None
    if more:
        encoded = tamis.select(numbers(columns=240), selector(), target(), **ENCODED)
    expected = expected_log(table(columns=240)) if encoded is None else encoded.log
    indices = sorted(tmp_path.glob("run*/run"))
    assert indices
    for place in indices:
        found = Selection.open(place)
        assert_same_log(found.run.log, expected, f"seed {seed}, {place.parent.name}")
        if encoded is not None:
            assert found.run.source["encoded"] == encoded.source["encoded"]
            assert found.run.source["missing"] == encoded.source["missing"]
        assert found.status()["shown"]
        assert found.status()["unfinished"] == []
        left = set(os.listdir(place)) - {"recent.parquet"}
        assert left == {STATE, LOCK, "selected.csv", "log.parquet", "events.parquet", "run.json"}


def test_a_killed_feed_resumes_to_the_same_log(tmp_path):
    kill_and_compare(tmp_path, 15)


def test_a_killed_feed_of_encoded_columns_resumes(tmp_path):
    kill_and_compare(tmp_path, 5, "encoded")


@pytest.mark.slow
def test_a_feed_killed_200_times_resumes(tmp_path):
    kill_and_compare(tmp_path, 200)


def test_commits_are_synced_and_leave_one_file(tmp_path, monkeypatch):
    selection = fresh(tmp_path)
    monkeypatch.setattr(state_file, "SYNCHRONOUS", "EXTRA")
    real, found = selection_state.put, set()

    def put(opened, *given):
        pragmas = ("journal_mode", "synchronous", "trusted_schema", "cell_size_check")
        found.add(tuple(opened.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas))
        return real(opened, *given)

    monkeypatch.setattr(selection_state, "put", put)
    selection.feed(table())
    assert found == {("delete", 3, 0, 1)}
    assert {n for n in os.listdir(tmp_path / "run") if n.startswith("state")} == {LOCK, STATE}


class Stop(BaseException):
    """Simulates the end of a process at one point of a commit."""


STEPS = ["writing", "put", "atomic_file", "write_log", "write_events"]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_ends_before_any_step_of_a_commit_leaves_before_or_after(
    tmp_path, monkeypatch, step
):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    monkeypatch.setattr(selection_state, "SHORT", 30)
    data = table()
    expected = expected_log(data)
    real = getattr(selection_state, step)
    for end in range(60):
        place = tmp_path / str(end)
        place.mkdir()
        fresh(place)
        calls = iter(range(10**6))

        def ends(*given, calls=calls, end=end, **named):
            if next(calls) == end:
                raise Stop
            return real(*given, **named)

        with threads(1), pytest.MonkeyPatch.context() as patch:
            patch.setattr(selection_state, step, ends)
            try:
                Selection.open(place / "run").feed(data, width=11)
                stopped = False
            except Stop:
                stopped = True
        again = Selection.open(place / "run")
        n = len(again.run.log)
        assert again.status()["shown"]
        assert len(json.loads((place / "run/run.json").read_text())["verdicts"]) == 4
        assert_same_log(
            again.run.log, selector().fit(data.iloc[:, :n], target()).log_, f"{step} {end}"
        ) if n else None
        again.feed(data, width=11)
        assert_same_log(Selection.open(place / "run").run.log, expected, f"{step} {end}")
        if not stopped:
            break
    assert end > 0
    assert not stopped


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("step", ["writing", "put", "atomic_file"])
def test_a_failed_write_is_reported_and_leaves_the_selection(tmp_path, monkeypatch, step, number):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :30])
    before = selection.kept_names

    def fails(*given, **named):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(selection_state, step, fails)
        with pytest.raises(OutputError) as caught:
            selection.feed(data.iloc[:, 30:])
    assert str(caught.value) == (
        f"{tmp_path / 'run'} cannot be written ({os.strerror(number)}); the selection is as it was "
        "when it was last committed"
    )
    if step != "atomic_file":
        assert selection.kept_names == Selection.open(tmp_path / "run").kept_names == before
    selection.feed(data)
    assert_same_log(selection.run.log, expected_log(data), "after a failed write")


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path):
    data = table(columns=400)
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :10])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, limits[1]))
        with pytest.raises(OutputError, match=r"cannot be written \(.*\); the selection is as it"):
            selection.feed(data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert len(Selection.open(tmp_path / "run").run.log) == 10
    selection.feed(data)
    assert_same_log(selection.run.log, expected_log(data), "after a full disk")


def test_a_folder_that_cannot_be_locked_is_reported(tmp_path):
    selection = fresh(tmp_path)
    (tmp_path / "run" / LOCK).unlink()
    (tmp_path / "run" / LOCK).mkdir()
    with pytest.raises(OutputError, match=r"run cannot be written \(unable to open database file"):
        selection.feed(table())
    assert Selection.open(tmp_path / "run").feed  # reading needs no lock


def is_noticed_or_harmless(folder: Path, where: str) -> bool:
    """Open a folder whose state was damaged and feed it; True if the damage was noticed."""
    message = ""
    try:
        selection = Selection.open(folder)
        selection.feed(table())
    except TamisError as error:
        message = str(error)
    if message:
        assert message.startswith(str(folder)), where
        assert "\n" not in message, where
    else:
        assert_same_log(selection.run.log, expected_log(table()), where)
    return message != ""


@pytest.fixture(scope="module")
def fed_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fed")
    selection = fresh(folder)
    for lo in range(0, 50, 10):
        selection.feed(table().iloc[:, lo : lo + 10])
    return folder / "run"


@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_anywhere_is_detected_or_harmless(tmp_path, fed_state, part):
    data = (fed_state / STATE).read_bytes()
    rng = random.Random(part)
    positions = [*range(25 * part, 25 * part + 25), *rng.sample(range(len(data)), 60)]
    noticed = 0
    for place in positions:  # all of the header, and some of everything else
        folder = tmp_path / str(place)
        shutil.copytree(fed_state, folder)
        bit = 1 << rng.randrange(8)
        flipped = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
        (folder / STATE).write_bytes(flipped)
        noticed += is_noticed_or_harmless(folder, f"bit {bit} of byte {place}")
        shutil.rmtree(folder)
    assert noticed > 10  # the header, at least


@pytest.mark.parametrize("how", ["cut", "longer", "zeros", "gone", "other"])
def test_damage_of_the_file_is_detected_or_harmless(tmp_path, fed_state, how):
    data = (fed_state / STATE).read_bytes()
    for i, at in enumerate(range(0, len(data), 1500)):
        folder = tmp_path / str(i)
        shutil.copytree(fed_state, folder)
        spoilt = {
            "cut": data[:at], "longer": data + b"x" * (at + 1), "other": b"x" * (at + 1),
            "zeros": data[:at] + bytes(512) + data[at + 512 :],
        }  # fmt: skip
        if how == "gone":
            (folder / STATE).unlink()
        else:
            (folder / STATE).write_bytes(spoilt[how])
        noticed = is_noticed_or_harmless(folder, f"{how} {at}")
        assert noticed or how in ("longer", "zeros") or (how == "cut" and at > len(data) // 2)


@pytest.mark.parametrize("kind", ["head", "rows", "selector", "log", "column", "history"])
@pytest.mark.parametrize("how", ["gone", "number", "text", "null-like", "bytes"])
def test_a_missing_or_changed_row_is_reported(tmp_path, fed_state, kind, how):
    shutil.copytree(fed_state, tmp_path / "run")
    change = {
        "gone": "DELETE FROM part WHERE kind = ?",
        "number": "UPDATE part SET number = number + 1000 WHERE kind = ?",
        "text": "UPDATE part SET data = CAST(data AS TEXT) WHERE kind = ?",
        "null-like": "UPDATE part SET data = 7 WHERE kind = ?",
        "bytes": "UPDATE part SET data = data || x'00' WHERE kind = ?",
    }[how]
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / STATE)) as state, state:
        state.execute(change, (kind,))
    with pytest.raises(SourceError) as caught:
        Selection.open(tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'run'} is damaged (")


def features(change):
    return lambda f: f.update(features=change(f["features"]))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("selector", features(lambda a: a + 7)),
        ("selector", features(lambda a: a[::-1])),
        ("selector", lambda f: f.pop("numbers")),
        ("selector", lambda f: f["each"].update(relevance=f["each"]["relevance"][1:])),
        ("log", lambda f: f["seen"].update(names=f["seen"]["names"][1:])),
        ("log", lambda f: f["log"].update(reason=f["log"]["reason"] + 90)),
        ("log", lambda f: f["log"].update(event_feature=f["log"]["event_feature"] + 10**6)),
        ("log", lambda f: f["log"].update(level=f["log"]["level"][1:])),
        ("log", lambda f: f["log"].update(value=f["log"]["level"][1:])),
        ("log", lambda f: f["log"].pop("relevance")),
        ("log", lambda f: f["names"].update(name_lengths=f["names"]["name_lengths"] + 900)),
        ("rows", lambda f: f.update(labels=1 - f["labels"])),
        ("rows", lambda f: f.update(labels=f["labels"][1:])),
        ("rows", lambda f: f.update(keys=f["labels"][1:])),
        ("head", lambda f: f.update(features=9)),
        ("head", lambda f: f.update(commit=9)),
        ("head", lambda f: f.pop("method")),
        ("head", lambda f: f.update(reasons={})),
    ],
)
def test_untrusted_state_is_checked(tmp_path, kind, change):
    fresh(tmp_path).feed(table())

    def changed(facts):
        change(facts)

    rewrite(tmp_path / "run", kind, changed)
    with pytest.raises(TamisError) as caught:
        Selection.open(tmp_path / "run")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.update(rows=f["rows"] + 150),
        lambda f: f.update(rows=f["rows"][::-1]),
        lambda f: f.update(rows=-1 - f["rows"]),
        lambda f: f.update(rows=f["rows"][1:]),
        lambda f: f.update(rows=f["rows"].astype("U9")),
        lambda f: f.update(rows=f["rows"].reshape(1, -1), values=f["values"].reshape(1, -1)),
        lambda f: f.update(rows=list(map(int, f["rows"]))),
        lambda f: f.update(values=f["values"] * float("nan")),
    ],
)
def test_untrusted_columns_never_reach_a_kernel(tmp_path, change):
    selection = fresh(tmp_path)
    selection.feed(table())
    kept = int(selection._state.selector.kept_[0])

    def changed(facts):
        change(facts)

    rewrite(tmp_path / "run", "column", changed, kept)
    with pytest.raises(SourceError, match="is damaged"):
        Selection.open(tmp_path / "run")


@pytest.mark.parametrize(
    "more",
    [
        "CREATE TRIGGER t AFTER INSERT ON part BEGIN DELETE FROM part; END",
        "CREATE VIEW v AS SELECT * FROM part",
        "CREATE TABLE other (a)",
        "CREATE INDEX i ON part (checksum)",
        "ALTER TABLE part RENAME TO parts",
        "ALTER TABLE part ADD COLUMN more GENERATED ALWAYS AS (1)",
    ],
)
def test_tables_that_are_not_ours_are_refused(tmp_path, more):
    fresh(tmp_path).feed(table())
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / STATE)) as state, state:
        state.execute(more)
    with pytest.raises(SourceError, match="does not hold the tables of a selection"):
        Selection.open(tmp_path / "run")


def test_values_are_numbers_text_and_plain_arrays(tmp_path):
    import numpy as np

    facts = {
        "a": [1, 2.5, None, True, "ü\udc80"], "b": np.arange(6, dtype=np.int16).reshape(2, 3),
        "c": {"d": np.array(["x", "yz"]), "e": np.zeros(0), "f": np.arange(9000) % 7 == 0},
    }  # fmt: skip
    again = unpack(pack(facts))
    assert again["a"] == facts["a"]
    np.testing.assert_array_equal(again["b"], facts["b"])
    for key in "def":
        np.testing.assert_array_equal(again["c"][key], facts["c"][key])
    with pytest.raises(ParameterError, match="cannot be written to a file of numbers and text"):
        pack({"a": object()})
    with pytest.raises(ValueError, match="an array of an unknown kind"):
        unpack(pack({"a": np.zeros(3)}).replace(b'"<f8"', b'"|O8"'))
    with pytest.raises(ValueError, match="cut off"):
        unpack(pack({"a": np.zeros(3)}).replace(b"[3]", b"[9]"))
    with pytest.raises(ValueError, match="too large"):
        unpack(b"\1" + (2**60).to_bytes(8, "little") + b"x")


def test_another_format_is_reported(tmp_path):
    fresh(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / STATE)) as state, state:
        state.execute("PRAGMA user_version = 9")
    with pytest.raises(TamisError, match="was written in format 9 and this tamis reads format 3"):
        Selection.open(tmp_path / "run")


def test_readers_see_the_last_commit_while_another_process_writes(tmp_path):
    selection = fresh(tmp_path)
    selection.feed(table().iloc[:, :30])
    version = state_file.last_version(tmp_path / "run")
    with state_file.writing(tmp_path / "run", version) as opened:
        state_file.put(opened, "history", 99, {"half": "a commit"})
        assert len(Selection.open(tmp_path / "run").run.log) == 30
        opened.execute("ROLLBACK")
        opened.execute("BEGIN")
    assert selection.feed(table()).taken == 30


def test_no_pickle_is_written_or_read(tmp_path):
    fresh(tmp_path).feed(table())
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            assert b"pickle" not in file.read_bytes()
            assert b"numpy.core" not in file.read_bytes()


def test_a_second_writer_waits_or_is_refused(tmp_path):
    selection = fresh(tmp_path)
    messages: list[str] = []
    script = (
        "import sys; from pathlib import Path\n"
        "from tamis.core.writers import only_writer\n"
        "with only_writer(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    folder = str(tmp_path / "run")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script, folder], stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=r"another process is writing to .*run; wait until"):
            selection.feed(table(), wait=False)

        def say(text: str) -> None:
            messages.append(text)
            other.stdin.close()  # which lets the other one continue

        assert selection.feed(table(), say=say).taken == 60
    assert messages == [f"another process is writing to {tmp_path / 'run'}; waiting for it"]
    with only_writer(tmp_path / "run", wait=False):
        pass
