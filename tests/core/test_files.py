"""Files and folders are written completely or not at all, even if the process is killed."""

from __future__ import annotations

import errno
import gc
import os
import signal
import stat
import subprocess
import sys

import pytest

from tamis.core import files
from tamis.core.errors import OutputError, SourceError
from tamis.core.files import atomic_file, atomic_folder, recover, recover_missing, scratch_folder
from waiting import PATIENCE

posix = pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")


def write_folder(path, text, force=False):
    with atomic_folder(path, "model", force=force) as work:
        (work / "model.json").write_text(text)
        (work / "part").mkdir()
        (work / "part" / "weights").write_text(text * 3)


def content(path):
    return (path / "model.json").read_text(), (path / "part" / "weights").read_text()


OLD, NEW = ("old", "oldoldold"), ("new", "newnewnew")


def names(folder):
    return sorted(os.listdir(folder))


# --- a process that is killed ---------------------------------------------------------------

#: Calls of a writer that change the disk.
STEPS = (
    (os, "mkdir"), (os, "rename"), (os, "replace"), (os, "fsync"), (os, "unlink"), (os, "rmdir"),
    (files, "exchange"),
)  # fmt: skip


def killed_at(step, late, work, can_exchange):
    """Do `work` in a child that is killed at its `step`-th change; return False if it ends."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    count = 0

    def counted(real):
        def call(*args, **options):
            nonlocal count
            count += 1
            if count == step and not late:
                os.kill(os.getpid(), signal.SIGKILL)
            done = real(*args, **options)
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return call

    try:
        if not can_exchange:
            files.exchange = lambda *_: False
        for module, name in STEPS:
            setattr(module, name, counted(getattr(module, name)))
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


@posix
@pytest.mark.parametrize("can_exchange", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_kill_while_a_folder_is_replaced_leaves_the_old_or_the_new(tmp_path, can_exchange, late):
    seen = []
    for step in range(1, 100):
        place = tmp_path / str(step)
        place.mkdir()
        write_folder(place / "model", "old")
        work = lambda: write_folder(place / "model", "new", force=True)  # noqa: B023, E731
        if not killed_at(step, late, work, can_exchange):
            break
        if can_exchange and files.exchange(place, place):
            assert "model" in names(place)  # at every moment, without any repair
        recover_missing(place / "model")
        seen.append(content(place / "model"))
        with scratch_folder(place):  # the next writer there
            assert [n for n in names(place) if not n.startswith(".tamis.")] == ["model"]
        assert content(place / "model") == seen[-1]
        assert names(place) == ["model"]
    assert set(seen) == {OLD, NEW}
    assert len(seen) > 8


@posix
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_kill_while_a_folder_is_written_leaves_nothing_or_all_of_it(tmp_path, late):
    for step in range(1, 100):
        place = tmp_path / str(step)
        place.mkdir()
        if not killed_at(step, late, lambda: write_folder(place / "model", "new"), True):  # noqa: B023
            break
        recover(place)
        assert names(place) in ([], ["model"])
        if names(place):
            assert content(place / "model") == NEW
    assert step > 6


@posix
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_kill_while_a_file_is_replaced_leaves_the_old_or_the_new(tmp_path, late):
    def write(text):
        with atomic_file(path) as file:
            file.write(text)

    seen = set()
    for step in range(1, 100):
        path = tmp_path / str(step) / "page.html"
        path.parent.mkdir()
        write(b"old")
        if not killed_at(step, late, lambda: write(b"new"), True):
            break
        seen.add(path.read_bytes())
        recover(path.parent)
        assert names(path.parent) == ["page.html"]
    assert seen == {b"old", b"new"}


ALIVE = """
import sys
from tamis.core.files import atomic_folder
with atomic_folder(sys.argv[1], "model") as work:
    (work / "model.json").write_text("new")
    print("writing", flush=True)
    sys.stdin.readline()
"""


def test_a_running_writer_is_left_alone(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", ALIVE, str(tmp_path / "model")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert writer.stdout.readline() == "writing\n"
    recover(tmp_path)
    (left,) = names(tmp_path)
    assert left.startswith(".model.partial-")
    writer.communicate("\n", timeout=PATIENCE)
    assert names(tmp_path) == ["model"]


def test_files_of_another_machine_are_left_alone_and_leftovers_of_this_one_are_removed(tmp_path):
    host, boot = files._here()
    other = "000000"
    gone = [f".a.partial-{host}-{other}-1-00000000", f".a.partial-{host}-{boot}-1-00000000",
            f".b.old-{host}-{other}-1-00000000"]  # fmt: skip
    kept = [f".a.partial-{other}-{other}-1-00000000", ".a.partial-mine", ".config.old-1"]
    for name in [*gone, *kept]:
        (tmp_path / name).mkdir()
    recover(tmp_path)
    assert names(tmp_path) == sorted([*kept, "b"])  # b was missing, so the old one is restored


def test_without_locks_the_process_id_is_checked(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    host, boot = files._here()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for pid in (dead.pid, os.getpid()):
        (tmp_path / f".a.partial-{host}-{boot}-{pid}-00000000").mkdir()
    recover(tmp_path)
    assert names(tmp_path) == [f".a.partial-{host}-{boot}-{os.getpid()}-00000000"]


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("can_exchange", [True, False], ids=["exchange", "two renames"])
def test_replacing_needs_force_and_the_same_kind(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    write_folder(tmp_path / "model", "old")
    with pytest.raises(OutputError, match=r"model already exists; choose another name, or use --f"):
        write_folder(tmp_path / "model", "new")
    write_folder(tmp_path / "model", "new", force=True)
    assert content(tmp_path / "model") == NEW
    (tmp_path / "mine").mkdir()
    write_folder(tmp_path / "mine", "new", force=True)  # it was empty
    (tmp_path / "mine" / "model.json").unlink()
    with pytest.raises(OutputError, match=r"mine exists and is not a model; it will not be repl"):
        write_folder(tmp_path / "mine", "new", force=True)
    assert names(tmp_path) == ["mine", "model"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), OSError()])
def test_a_disk_error_is_one_sentence_and_changes_nothing(tmp_path, error):
    def fail(write):
        with pytest.raises(OutputError, match=r" cannot be written \(.+\); nothing was written$"):
            write()

    def folder():
        with atomic_folder(tmp_path / "model", "model", force=True):
            raise error

    def file():
        with atomic_file(tmp_path / "page") as handle:
            handle.write(b"new")
            raise error

    write_folder(tmp_path / "model", "old")
    (tmp_path / "page").write_bytes(b"old")
    fail(folder)
    fail(file)
    assert content(tmp_path / "model") == OLD
    assert (tmp_path / "page").read_bytes() == b"old"
    assert names(tmp_path) == ["model", "page"]


@pytest.mark.parametrize(
    "error",
    [SourceError("line 3 is damaged"), FileNotFoundError(errno.ENOENT, "gone", "data.csv"),
     KeyboardInterrupt(), ConnectionRefusedError(errno.ECONNREFUSED, "refused")],
)  # fmt: skip
def test_other_errors_pass_unchanged(tmp_path, error):
    with pytest.raises(type(error)) as caught, atomic_folder(tmp_path / "model", "model"):
        raise error
    assert caught.value is error
    assert names(tmp_path) == []


def test_a_linked_file_and_a_device(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with atomic_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    with atomic_file(os.devnull) as file:
        file.write(b"nobody reads this")
    assert not os.path.isfile(os.devnull)
    with (
        pytest.raises(OutputError, match=r"cannot be written \(Is a directory\)$"),
        atomic_file(tmp_path),
    ):
        pass


def test_files_are_synced_before_they_are_renamed(tmp_path, monkeypatch):
    steps, sync, rename = [], os.fsync, os.rename

    def noted_sync(handle):
        steps.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")).partition("-")[0])
        sync(handle)

    def noted_rename(one, other):
        steps.append("rename")
        rename(one, other)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "rename", noted_rename)
    write_folder(tmp_path / "model", "new")
    assert sorted(steps[:-2]) == [".model.partial", "model.json", "part", "weights"]
    assert steps[-2:] == ["rename", tmp_path.name]


def test_scratch_folders_are_deleted_with_their_owner(tmp_path):
    class Owner:
        pass

    owner = Owner()
    folder = files.scratch_for(owner, tmp_path)
    (folder / "held").write_text("x")
    recover(tmp_path)
    assert names(folder) == ["held"]
    del owner
    gc.collect()
    assert names(tmp_path) == []


def test_ctrl_c_while_a_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    real, calls = files._remove, []

    def interrupted(path):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        real(path)

    monkeypatch.setattr(files, "_remove", interrupted)
    with pytest.raises(KeyboardInterrupt), files.partial(tmp_path / "a", "folder") as work:
        (work / "file").write_text("new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_ctrl_c_at_any_call_of_a_function_leaves_nothing(tmp_path, kind):
    """Python handles a signal where a function begins, also in the midst of cleaning up."""
    count = 0

    def interrupt(frame, event, argument):
        nonlocal count
        count += event == "call"
        if count == at:
            sys.settrace(None)
            raise KeyboardInterrupt

    at, stopped = 0, 0
    while at == 0 or count >= at:  # until all calls were interrupted, each in turn
        at, count = at + 1, 0
        before = sys.gettrace()
        try:
            with files.partial(tmp_path / "a", kind) as work:
                if kind == "folder":
                    (work / "file").write_text("new")
                sys.settrace(interrupt)
        except KeyboardInterrupt:
            stopped += 1
        finally:
            sys.settrace(before)
        assert os.listdir(tmp_path) == [], f"Ctrl-C at call {at}"
    assert stopped > 2


def test_ctrl_c_after_a_folder_was_closed_is_not_a_bad_file_descriptor(tmp_path, monkeypatch):
    # shutil.rmtree closes the folder, is interrupted before it notes that, and closes it again.
    real, closed = os.close, []

    def interrupted(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        real(handle)
        if is_folder:
            closed.append(handle)
            if len(closed) == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), files.partial(tmp_path / "a", "folder"):
        monkeypatch.setattr(os, "close", interrupted)
    assert closed
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "why"), [("/", "it is the root of a disk"), ("//.", "it is the root of a disk"),
                      ("", "its name is empty")],
)  # fmt: skip
def test_a_place_without_a_name_is_refused(path, why):
    with pytest.raises(OutputError) as caught, atomic_folder(path, "run", force=True):
        pass
    assert str(caught.value) == f"'{path}' cannot be written ({why}); choose another name"
