"""Commands that are killed, interrupted, or run into a full disk or changed files.

After each fault the output is the old one or the new one, running the same command again succeeds,
and no temporary files are left.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from soak.damaged_files import Outcomes
from soak.jobs import JOBS, Bench, Ended, Job, on_file_event, run, same

Fault = Callable[[Bench, str, Job, Path], str]


def scenario(fault: Fault, folder: Path, rng: Random, cases: int, until: float) -> Outcomes:
    """Disturb jobs in turn; an AssertionError of `fault` is a failure, its result is counted."""
    found, bench = Outcomes(), Bench(folder, rng)
    names = list(JOBS)
    for case in range(cases):
        if time.monotonic() > until:
            break
        name = names[case % len(names)]
        try:
            found.counts[fault(bench, name, JOBS[name], bench.fresh())] += 1
        except AssertionError as error:
            found.counts["failed"] += 1
            found.failures.append(f"case {case}, {name}: {error}")
    found.memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return found


# --- the faults ----------------------------------------------------------------------------------


def kills(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Kill a command at a file event, or at any moment."""
    if bench.rng.random() < 0.6:
        last = bench.rng.randint(1, bench.events[name])

        def die(n: int) -> None:
            if n == last:
                os.kill(os.getpid(), signal.SIGKILL)

        ended, how = run(place, job.command, on_file_event(place, die)), f"at file event {last}"
    else:
        pause = bench.rng.random() * bench.seconds[name]
        ended = run(place, job.command, disturb=lambda child: _after(pause, child, signal.SIGKILL))
        how = f"after {pause * 1000:.0f} ms"
    assert ended.code in (0, -signal.SIGKILL), f"killed {how}: {ended}"
    _old_or_new(bench, name, job, place, how)
    _again(bench, name, job, place, how)
    return "killed" if ended.code else "ended before"


def interrupts(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Press Ctrl-C at any moment."""
    pause = bench.rng.random() * bench.seconds[name]
    ended = run(place, job.command, disturb=lambda child: _after(pause, child, signal.SIGINT))
    how = f"Ctrl-C after {pause * 1000:.0f} ms"
    assert ended.code in (0, 71, 130), f"{how}: {ended}"
    _no_traceback(ended, how)
    if ended.code == 130:
        assert "tamis: stopped" in ended.output, f"{how}: {ended}"
        left = set(os.listdir(place)) - {*bench.listed[name], job.leaves}
        assert not left, f"{how} left {left}"
    _old_or_new(bench, name, job, place, how)
    _again(bench, name, job, place, how)
    return {0: "ended before", 71: "outside the command", 130: "interrupted"}[ended.code]


def full_disk(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Limit the size of files, so that writing fails as on a full disk."""
    most = int(10 ** bench.rng.uniform(0, 5))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    ended = run(place, job.command, limit)
    how = f"files of at most {most} bytes"
    assert ended.code in (0, 2), f"{how}: {ended}"
    _no_traceback(ended, how)
    _old_or_new(bench, name, job, place, how)
    _again(bench, name, job, place, how)
    return "refused" if ended.code else "fits"


def clock_set_back(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Run while the clock is wrong, with input from the future."""
    days = bench.rng.choice([-20_000, -400, -1, 400]) * 86400.0

    def wrong() -> None:
        now, now_ns = time.time, time.time_ns
        time.time = lambda: max(0.0, now() + days)
        time.time_ns = lambda: max(0, now_ns() + int(days * 1e9))

    for path in place.iterdir():
        os.utime(path, (time.time() - days, max(0.0, time.time() - days)))
    ended = run(place, job.command, wrong)
    assert ended.code == 0, ended
    _again(bench, name, job, place, "with the clock set back")
    return "same result"


def folder_moved(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Move the folder of input and output while a command runs in it."""
    other = place.with_name("moved")
    shutil.rmtree(other, ignore_errors=True)
    pause = bench.rng.random() * bench.seconds[name]

    def move(child: int) -> None:
        time.sleep(pause)
        os.rename(place, other)

    ended = run(place, job.command, disturb=move)
    assert ended.code in (0, 2, 71), ended
    _no_traceback(ended, "moved")
    _old_or_new(bench, name, job, other, "moved")
    _again(bench, name, job, other, "after it was moved")
    return {0: "ended", 2: "refused", 71: "outside the command"}[ended.code]


def file_changed(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Cut, extend or replace the input while it is read."""
    path = place / next(arg for arg in job.command if arg.endswith((".csv", ".svm")))
    whole, how = path.read_bytes(), bench.rng.choice(["cut", "extend", "replace", "remove"])
    pause = bench.rng.random() * bench.seconds[name]

    def change(child: int) -> None:
        time.sleep(pause)
        if how == "cut":
            os.truncate(path, bench.rng.randrange(len(whole)))
        elif how == "extend":
            with path.open("ab") as file:
                file.write(whole[: len(whole) // 3])
        elif how == "replace":
            path.write_bytes(whole[::-1])
        else:
            path.unlink()

    ended = run(place, job.command, disturb=change)
    assert ended.code in (0, 2), f"{how}: {ended}"
    _no_traceback(ended, how)
    job.read(place / job.output)  # whatever was read, the output is complete
    path.write_bytes(whole)
    if job.output == "selection":
        assert run(place, job.command).code in (0, 2), how  # columns may have changed
    elif job.resume:
        assert run(place, job.resume).code in (0, 2), how
        _once_more(bench, name, job, place, how)
    else:
        _again(bench, name, job, place, how)
    return "ended" if ended.code == 0 else "refused"


def two_writers(bench: Bench, name: str, job: Job, place: Path) -> str:
    """Run two copies of a command at the same time."""
    others: list[Ended] = []

    def other(child: int) -> None:
        time.sleep(bench.rng.random() * bench.seconds[name])
        others.append(run(place, job.command))

    ended = [run(place, job.command, disturb=other), *others]
    for one in ended:
        assert one.code in (0, 2), one
        _no_traceback(one, "two writers")
    assert min(one.code for one in ended) == 0, ended
    assert same(job.read(place / job.output), bench.after[name]), "two writers: the output differs"
    _again(bench, name, job, place, "two writers")
    return "both" if max(one.code for one in ended) == 0 else "one was refused"


#: Faults by name, with how many are tried in a full run.
FAULTS: dict[str, tuple[Fault, int]] = {
    "kill -9": (kills, 620),
    "interrupts": (interrupts, 520),
    "full disk": (full_disk, 60),
    "clock set back": (clock_set_back, 50),
    "folder moved": (folder_moved, 50),
    "file changed": (file_changed, 60),
    "two writers": (two_writers, 50),
}


# --- what must hold afterwards -------------------------------------------------------------------


def _after(pause: float, child: int, number: int) -> None:
    time.sleep(pause)
    os.kill(child, number)


def _no_traceback(ended: Ended, how: str) -> None:
    for word in ("Traceback", "Exception ignored", "Error:"):
        assert word not in ended.output, f"{how}: {ended.output}"


def _old_or_new(bench: Bench, name: str, job: Job, place: Path, how: str) -> None:
    found: Any = job.read(place / job.output)
    known = bench.before[name], bench.after[name]
    # A feed commits in parts, so a state between the old and the new one is correct as well, and
    # what can be resumed is.
    whole = any(same(found, one) for one in known) or job.output == "selection" or job.resume
    assert whole, f"{how}: neither the old output nor the new one"


def _again(bench: Bench, name: str, job: Job, place: Path, how: str) -> None:
    if job.resume and not same(job.read(place / job.output), bench.before[name]):
        ended = run(place, job.resume)
        assert ended.code == 0, f"{how}, resumed: {ended}"
        assert same(job.read(place / job.output), bench.after[name]), f"{how}, resumed: differs"
    _once_more(bench, name, job, place, how)


def _once_more(bench: Bench, name: str, job: Job, place: Path, how: str) -> None:
    ended = run(place, job.command)
    assert ended.code == 0, f"{how}, again: {ended}"
    assert same(job.read(place / job.output), bench.after[name]), f"{how}, again: output differs"
    listed = sorted(os.listdir(place))
    assert listed == bench.listed[name], f"{how}, again: {set(listed) ^ set(bench.listed[name])}"
