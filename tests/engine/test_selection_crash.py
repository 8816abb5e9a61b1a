"""Living selections survive kill -9, full disks, damage, and each other."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from living import (
    ENCODED,
    expected_log,
    fresh,
    numbers,
    quick_disk,  # noqa: F401 - a fixture
    selector,
    table,
    target,
)

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import OutputError, SourceError, TamisError
from tamis.engine.files import durable
from tamis.engine.files.durable import locked, pack, unpack
from tamis.engine.living import archive, feeding
from tamis.kernels.threads import threads

pytestmark = pytest.mark.usefixtures("quick_disk")

#: Makes a process with everything imported and compiled, which forks a child for every feed and
#: kills it after a while: no fresh import, and no threads that a fork would lose.
KILLER = """
import os, random, signal, sys, time
os.environ["TAMIS_THREADS"] = "1"
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from living import ENCODED, fresh, numbers, table
from tamis import Selection
from tamis.engine.living import archive
from tamis.engine.living import feeding
folder, rounds, seed = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
how, make = (ENCODED, numbers) if sys.argv[5:] == ["encoded"] else ({}, table)
os.fsync = lambda handle: None  # who is killed, and does not lose power, needs none
feeding.COMMIT_EVERY = 0.0
archive.SHORT, archive.MOST_SEGMENTS = 70, 5
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
    told = subprocess.run(
        [sys.executable, "-c", KILLER, str(Path(__file__).parent), tmp_path, str(rounds), seed,
         *more],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, f"seed {seed}: {told.stdout}{told.stderr}"
    assert "child" not in told.stdout, f"seed {seed}: {told.stdout}"
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
        left = set(os.listdir(place / "state"))
        named = set(archive.names_in(durable.read_head(place / "state")))
        assert left == named | {"HEAD.json", "lock", "history.jsonl"}


def test_a_feed_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path):
    kill_and_compare(tmp_path, 15)


def test_a_feed_of_encoded_columns_that_is_killed_goes_on(tmp_path):
    kill_and_compare(tmp_path, 5, "encoded")


@pytest.mark.slow
def test_a_feed_that_is_killed_200_times_goes_on(tmp_path):
    kill_and_compare(tmp_path, 200)


def test_every_file_is_forced_to_the_disk_before_the_head_names_it(tmp_path, monkeypatch):
    (tmp_path / "warm").mkdir()
    fresh(tmp_path / "warm").feed(table())  # kernels are compiled and put on the disk before
    selection = fresh(tmp_path)
    steps: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(handle):
        steps.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        return real_sync(handle)

    def moved(source, place):
        steps.append(f"{os.path.basename(source)} -> {os.path.basename(place)}")
        return real_replace(source, place)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", moved)
    selection.feed(table())
    at = steps.index("HEAD.json.part -> HEAD.json")
    assert steps[at - 2 : at] == ["state", "HEAD.json.part"]
    assert steps[at + 1] == "state"
    named = set(archive.names_in(selection._archive.head)) - {"rows.npz"}
    assert named | {"history.jsonl"} == set(steps[: at - 2])


class Stop(BaseException):
    """Stands for the end of a process at one point of a commit."""


STEPS = ["write_file", "append_line", "write_head", "clear_others", "link", "record_of"]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_ends_before_any_step_of_a_commit_leaves_before_or_after(
    tmp_path, monkeypatch, step
):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    monkeypatch.setattr(archive, "SHORT", 30)
    data = table()
    expected = expected_log(data)
    real = getattr(archive, step)
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
            patch.setattr(archive, step, ends)
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
@pytest.mark.parametrize("step", ["write_file", "append_line", "write_head", "link"])
def test_what_cannot_be_written_is_told_and_leaves_the_selection(
    tmp_path, monkeypatch, step, number
):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :30])
    before = selection.kept

    def fails(*given, **named):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(archive, step, fails)
        with pytest.raises(OutputError) as told:
            selection.feed(data.iloc[:, 30:])
    assert str(told.value) == (
        f"{tmp_path / 'run'} cannot be written ({os.strerror(number)}); the selection is as it was "
        "when it was last committed"
    )
    if step != "link":
        assert selection.kept == Selection.open(tmp_path / "run").kept == before
    selection.feed(data)
    assert_same_log(selection.run.log, expected_log(data), "after a failed write")


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path):
    data = table(columns=400)
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :10])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        with pytest.raises(OutputError, match=r"cannot be written \(.*File too large\); the"):
            selection.feed(data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert len(Selection.open(tmp_path / "run").run.log) == 10
    selection.feed(data)
    assert_same_log(selection.run.log, expected_log(data), "after a full disk")


def test_a_folder_that_cannot_be_locked_is_told(tmp_path):
    selection = fresh(tmp_path)
    lock = tmp_path / "run" / "state" / "lock"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(OutputError, match=r"run cannot be written \(Is a directory\); the select"):
        selection.feed(table())


@pytest.mark.parametrize("how", ["cut", "flip", "gone", "longer"])
def test_damage_of_any_file_is_told_in_one_sentence(tmp_path, monkeypatch, how):
    monkeypatch.setattr(archive, "SHORT", 10)
    selection = fresh(tmp_path)
    selection.feed(table().iloc[:, :55])
    selection.feed(table().iloc[:, 55:])
    state = tmp_path / "run" / "state"
    kinds = set()
    for name in sorted(set(os.listdir(state)) - {"lock"}):
        file, data = state / name, (state / name).read_bytes()
        middle = len(data) // 2
        spoilt = {
            "cut": data[:middle],
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "longer": data + b"x" if name != "history.jsonl" else data[:-1],
        }
        file.unlink()
        if how != "gone":
            file.write_bytes(spoilt[how])
        with pytest.raises(SourceError) as told:
            Selection.open(tmp_path / "run").feed(table())
        text = str(told.value)
        assert "\n" not in text
        assert name == "HEAD.json" or text.startswith(f"{tmp_path / 'run'} is damaged (")
        file.write_bytes(data)
        kinds.add(name.partition("-")[0])
    assert {"HEAD.json", "log", "events", "ledger", "segment", "columns", "selector"} <= kinds
    assert Selection.open(tmp_path / "run").feed(table()).skipped == 60


def rewritten(state: Path, part: str, change) -> None:
    """Change what a file holds, with checksums that fit: what a stranger could send."""
    head = durable.read_head(state)
    record = head[part]
    facts = unpack((state / record["name"]).read_bytes())
    change(facts)
    (state / record["name"]).unlink()
    head[part] = durable.write_file(state, record["name"], pack(facts))
    durable.write_head(state, head)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("selector", lambda f: f.update(features=f["features"] + 7)),
        ("selector", lambda f: f.update(features=f["features"][::-1])),
        ("selector", lambda f: f.pop("numbers")),
        ("selector", lambda f: f["each"].update(relevance=f["each"]["relevance"][1:])),
        ("ledger", lambda f: f.update(ledger_names=f["ledger_names"][1:])),
        ("rows", lambda f: f.update(labels=1 - f["labels"])),
        ("rows", lambda f: f.update(labels=f["labels"][1:])),
    ],
)
def test_files_that_a_stranger_wrote_are_looked_at(tmp_path, part, change):
    fresh(tmp_path).feed(table())
    rewritten(tmp_path / "run" / "state", part, change)
    with pytest.raises(TamisError) as told:
        Selection.open(tmp_path / "run")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.update(column_rows=f["column_rows"] + 150),
        lambda f: f.update(column_rows=f["column_rows"][::-1]),
        lambda f: f.update(column_pointers=f["column_pointers"] * 2),
        lambda f: f.update(column_values=f["column_values"] * float("nan")),
        lambda f: f.update(column_features=f["column_features"] + 1),
    ],
)
def test_columns_that_a_stranger_wrote_never_reach_a_kernel(tmp_path, change):
    fresh(tmp_path).feed(table())
    state = tmp_path / "run" / "state"
    head = durable.read_head(state)
    (record,) = head["columns"]
    facts = unpack((state / record["name"]).read_bytes())
    change(facts)
    (state / record["name"]).unlink()
    head["columns"] = [durable.write_file(state, record["name"], pack(facts))]
    durable.write_head(state, head)
    with pytest.raises(SourceError, match="is damaged"):
        Selection.open(tmp_path / "run")


def test_names_of_files_outside_the_folder_are_refused(tmp_path):
    fresh(tmp_path).feed(table())
    state = tmp_path / "run" / "state"
    head = durable.read_head(state)
    head["rows"]["name"] = "../../rows.npz"
    durable.write_head(state, head)
    with pytest.raises(SourceError, match="is no name of a file in the folder"):
        Selection.open(tmp_path / "run")


def test_another_format_is_told(tmp_path):
    fresh(tmp_path)
    state = tmp_path / "run" / "state"
    durable.write_head(state, durable.read_head(state) | {"version": 9})
    with pytest.raises(
        TamisError, match="was written in format 9 and this tamis reads formats 1 and 2"
    ):
        Selection.open(tmp_path / "run")


def test_no_pickle_is_written_or_read(tmp_path):
    fresh(tmp_path).feed(table())
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            assert b"pickle" not in file.read_bytes()
            assert b"numpy.core" not in file.read_bytes()


def test_a_second_writer_waits_or_is_refused(tmp_path):
    selection = fresh(tmp_path)
    said: list[str] = []
    script = (
        "import sys; from pathlib import Path; from tamis.engine.files.durable import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    state = str(tmp_path / "run" / "state")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script, state], stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=r"another process is feeding .*run; wait for it"):
            selection.feed(table(), wait=False)

        def say(text: str) -> None:
            said.append(text)
            other.stdin.close()  # which lets the other one go on

        assert selection.feed(table(), say=say).taken == 60
    assert said == [f"another process is feeding {tmp_path / 'run'}; waiting for it"]
    with locked(tmp_path / "run" / "state", wait=False):
        pass
