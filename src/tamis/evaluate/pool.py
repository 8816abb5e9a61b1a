"""Worker processes that run cells, each under limits of time and memory.

A worker that exceeds a limit is killed, and its current step is reported as such; another worker
resumes the cell with the next step.

A task is a cell and the message that a worker gets about it. `run_here` and `run_on_cluster` yield
the cell, the step ("selection" or a classifier) and its record after every step, and the cell,
`ENDED` and an empty record after its last one.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import Any

from tamis.core.errors import ClusterError
from tamis.core.process_memory import cpu_seconds, held_megabytes
from tamis.engine.workers.executors import workers
from tamis.evaluate.cells import CPU, FAILED, MEMORY_CAP, TIME_CAP, Caps, outcome
from tamis.kernels.threads import thread_count, threads

#: Seconds between two checks of the time and memory of the workers.
LOOK = 0.05

#: Seconds a worker may take to start, to map the data and to compile.
READY = 600.0

#: The step after the last one.
ENDED = "task"

Message = dict[str, Any]
Task = tuple[Any, Message]
Event = tuple[Any, str, dict[str, Any]]


class _Process:
    """One worker process and its current task."""

    def __init__(self, threads: int, answers: queue.Queue[tuple[_Process, Message]]) -> None:
        limits = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TAMIS_THREADS"),
            str(threads),
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tamis.evaluate.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, **limits}, text=True, encoding="utf-8",
            start_new_session=True,  # Ctrl-C in a terminal goes to this process only
        )  # fmt: skip
        self._answers = answers
        self._send({"path": sys.path})
        threading.Thread(target=self._listen, daemon=True).start()

    def give(self, task: Task) -> None:
        self.cell, self.left = task
        self.begin("ready")
        self._send(self.left)

    def begin(self, step: str) -> None:
        self.step, self.since = step, time.monotonic()
        self.used = cpu_seconds(self.process.pid)

    def finish(self, step: str, record: dict[str, Any]) -> Event:
        """Note that a step is done, so that another worker can resume with the rest."""
        if step == "selection":
            self.left = {**self.left, "kept": record.get("kept")}
        else:
            classifiers = [c for c in self.left["classifiers"] if c != step]
            self.left = {**self.left, "classifiers": classifiers}
        return self.cell, step, record

    def stop(self, record: dict[str, Any]) -> Event:
        """Kill the process; return its current step with this record."""
        self.end()
        step = self.step
        if step == "ready":  # no step was begun: report the first
            step = "selection" if self.left["kept"] is None else self.left["classifiers"][0]
            record = record | {"passing": True}
        return self.finish(step, record)

    def end(self) -> None:
        """Kill the process; its current step is lost."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    def _send(self, message: Message) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended, and the listener reports it
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put((self, json.loads(line)))
        self.process.wait()
        self._answers.put((self, {"lost": _death(self.process.returncode)}))


def run_here(tasks: Iterable[Task], n_jobs: int, caps: Caps) -> Generator[Event]:
    """Run tasks in `n_jobs` worker processes, which share the cores."""
    waiting = deque(tasks)
    answers: queue.Queue[tuple[_Process, Message]] = queue.Queue()
    busy: list[_Process] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < n_jobs:
                busy.append(_Process(max(1, thread_count() // n_jobs), answers))
                busy[-1].give(waiting.popleft())
            for process, message in _news(answers, busy, caps):
                if process not in busy:
                    continue  # it was replaced in the meantime
                if "begin" in message:
                    process.begin(message["begin"])
                elif "lost" in message:
                    busy.remove(process)
                    yield (lost := process.stop(message["lost"]))
                    if lost[1] != "selection" and process.left["classifiers"]:
                        waiting.appendleft((process.cell, process.left))
                    else:
                        yield process.cell, ENDED, {}
                elif message["end"] != ENDED:
                    yield process.finish(message["end"], _capped(message["record"], caps))
                else:
                    yield process.cell, ENDED, {}
                    if waiting:
                        process.give(waiting.popleft())
                    else:
                        busy.remove(process)
                        process.end()
    finally:
        for process in busy:
            process.end()


def _news(
    answers: queue.Queue[tuple[_Process, Message]], busy: list[_Process], caps: Caps
) -> list[tuple[_Process, Message]]:
    """Wait for an answer, and meanwhile look for workers that exceed a cap."""
    try:
        return [answers.get(timeout=LOOK)]
    except queue.Empty:
        found = [(process, _over_a_cap(process, caps)) for process in busy]
        return [(process, {"lost": record}) for process, record in found if record is not None]


def _over_a_cap(process: _Process, caps: Caps) -> dict[str, Any] | None:
    ready = process.step == "ready"
    most = READY if ready else caps.seconds
    if most is not None and time.monotonic() - process.since > most:
        return outcome(TIME_CAP, f"stopped after {most:g} s") | {"cap": most}
    if caps.cpu_seconds is not None and not ready:
        most = caps.cpu_seconds
        if cpu_seconds(process.process.pid) - process.used > most:
            return outcome(TIME_CAP, f"stopped after {most:g} CPU seconds") | {
                "cap": most,
                "clock": CPU,
            }
    if caps.megabytes is not None and not ready:
        held = held_megabytes(process.process.pid)
        if held > caps.megabytes:
            note = f"stopped when it held {held:.0f} MB"
            return outcome(MEMORY_CAP, note) | {"cap": caps.megabytes}
    return None


def _capped(record: dict[str, Any], caps: Caps) -> dict[str, Any]:
    """Return the record, as a memory cap if the peak was exceeded between two checks."""
    if record["status"] == MEMORY_CAP:
        return record | {"cap": caps.megabytes or 0.0}
    if caps.megabytes is not None and record.get("peak_megabytes", 0.0) > caps.megabytes:
        note = f"its peak was {record['peak_megabytes']:.0f} MB"
        return outcome(MEMORY_CAP, note) | {"cap": caps.megabytes}
    return record


def _death(code: int) -> dict[str, Any]:
    """Return the record of a worker that ended unexpectedly."""
    note = f"the process ended with {'signal' if code < 0 else 'code'} {abs(code)}"
    if code == -9:
        note = "the system ended the process, probably for lack of memory"
    return outcome(FAILED, note) | {"passing": True}


def run_on_cluster(tasks: Iterable[Task], cluster: Any, caps: Caps) -> Generator[Event]:
    """Run tasks on a cluster, each in its own process, under the same caps.

    A cell that is lost with its host is run again.
    """
    todo = list(tasks)
    if not todo:
        return
    with workers(cluster) as run:
        jobs = [(message, caps) for _, message in todo]
        for (cell, _), steps in zip(todo, run(_run_cell, jobs), strict=True):
            for step, record in steps:
                yield cell, step, record


def _run_cell(job: tuple[Message, Caps]) -> list[tuple[str, dict[str, Any]]]:
    """Run one cell in one process, on a host of the cluster."""
    message, caps = job
    if not os.path.isdir(message["folder"]):
        raise ClusterError(
            f"a worker cannot see {message['folder']}; give --out (out=) a folder that all hosts "
            "share"
        )
    with threads(1):
        return [(step, record) for _, step, record in run_here([(None, message)], 1, caps)]
