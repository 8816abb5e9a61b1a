"""Worker processes that run cells, each under limits of time and memory.

A worker that exceeds a limit is killed, and its current step is reported as such; another worker
resumes the cell with the next step.
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tamis.core.errors import ClusterError
from tamis.core.process_memory import held_megabytes
from tamis.engine.workers.executors import workers
from tamis.evaluate.cells import FAILED, MEMORY_CAP, TIME_CAP, Caps, outcome
from tamis.kernels.threads import thread_count, threads

#: Seconds between two checks of the time and memory of the workers.
LOOK = 0.05

#: Seconds a worker may take to start, to map the data and to compile.
READY = 600.0


@dataclass
class CellTask:
    """A message for a worker, and the cell it is about."""

    about: Any
    message: dict[str, Any]
    #: Finished steps, so that another worker can resume with the rest.
    done: list[str] = field(default_factory=list)


class _Process:
    """One worker process and its current task."""

    def __init__(self, threads: int, answers: queue.Queue[tuple[_Process, dict[str, Any]]]) -> None:
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
        self.task: CellTask | None = None
        self.step = ""
        self.since = 0.0
        self._answers = answers
        self.send({"path": sys.path})
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, OSError):
            return  # it has ended, and the listener reports it

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put((self, json.loads(line)))
        self.process.wait()
        self._answers.put((self, {"gone": self.process.returncode}))

    def give(self, task: CellTask) -> None:
        self.task = task
        self.begin("ready")
        self.send(task.message)

    def begin(self, step: str) -> None:
        self.step, self.since = step, time.monotonic()

    def end(self) -> None:
        """Kill the process; its current step is lost."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


#: Called with the cell, the step ("selection" or a classifier) and its record.
Finished = Callable[[Any, str, dict[str, Any]], None]


class Pool:
    """Run tasks in `n_jobs` worker processes, which share the cores."""

    def __init__(self, n_jobs: int, caps: Caps) -> None:
        self._jobs, self._threads = n_jobs, max(1, thread_count() // n_jobs)
        self._seconds, self._megabytes = caps.seconds, caps.megabytes
        self._answers: queue.Queue[tuple[_Process, dict[str, Any]]] = queue.Queue()
        self._processes: list[_Process] = []

    def run(
        self, tasks: Iterable[CellTask], finished: Finished, ended: Callable[[Any], None]
    ) -> None:
        """Do all tasks; call `finished` after each step and `ended` after each cell."""
        waiting = deque(tasks)
        try:
            for _ in range(min(self._jobs, len(waiting))):
                self._processes.append(_Process(self._threads, self._answers))
            for process in self._processes:
                process.give(waiting.popleft())
            while any(process.task is not None for process in self._processes):
                self._look(waiting, finished, ended)
        finally:
            for process in self._processes:
                process.end()
            self._processes.clear()

    def _look(
        self, waiting: deque[CellTask], finished: Finished, ended: Callable[[Any], None]
    ) -> None:
        try:
            process, message = self._answers.get(timeout=LOOK)
        except queue.Empty:
            for process in list(self._processes):
                stopped = self._over_a_cap(process)
                if stopped is not None:
                    self._replace(process, stopped, waiting, finished, ended)
            return
        task = process.task
        if process not in self._processes or task is None:
            return  # it was replaced in the meantime
        if "begin" in message:
            process.begin(message["begin"])
        elif "gone" in message:
            self._replace(process, _death(message["gone"]), waiting, finished, ended)
        elif message["end"] == "task":
            ended(task.about)
            process.task = None
            if waiting:
                process.give(waiting.popleft())
        else:
            task.done.append(message["end"])
            finished(task.about, message["end"], self._capped(message["record"]))

    def _over_a_cap(self, process: _Process) -> dict[str, Any] | None:
        if process.task is None:
            return None
        ready = process.step == "ready"
        most = READY if ready else self._seconds
        if most is not None and time.monotonic() - process.since > most:
            return outcome(TIME_CAP, f"stopped after {most:g} s") | {"cap": most}
        if self._megabytes is not None and not ready:
            held = held_megabytes(process.process.pid)
            if held > self._megabytes:
                note = f"stopped when it held {held:.0f} MB"
                return outcome(MEMORY_CAP, note) | {"cap": self._megabytes}
        return None

    def _capped(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the record, as a memory cap if the peak was exceeded between two checks."""
        if record["status"] == MEMORY_CAP:
            return record | {"cap": self._megabytes or 0.0}
        over = self._megabytes is not None and record.get("peak_megabytes", 0.0) > self._megabytes
        if over:
            note = f"its peak was {record['peak_megabytes']:.0f} MB"
            return outcome(MEMORY_CAP, note) | {"cap": self._megabytes}
        return record

    def _replace(
        self,
        process: _Process,
        record: dict[str, Any],
        waiting: deque[CellTask],
        finished: Finished,
        ended: Callable[[Any], None],
    ) -> None:
        """Kill a worker, report its current step, and let another worker do the rest."""
        task, step = process.task, process.step
        assert task is not None
        process.end()
        if step == "ready":  # no step was begun: report the first
            step = "selection" if task.message["kept"] is None else task.message["classifiers"][0]
            record = record | {"passing": True}
        finished(task.about, step, record)
        task.done.append(step)
        left = [c for c in task.message["classifiers"] if c not in task.done]
        if step != "selection" and left:
            kept = task.message["kept"] or task.about.kept()
            waiting.appendleft(
                CellTask(task.about, task.message | {"classifiers": left, "kept": kept})
            )
        else:
            ended(task.about)
        place = self._processes.index(process)
        if waiting:
            self._processes[place] = _Process(self._threads, self._answers)
            self._processes[place].give(waiting.popleft())
        else:
            del self._processes[place]


def _death(code: int) -> dict[str, Any]:
    """Return the record of a worker that ended unexpectedly."""
    if code == -9:
        note = "the system ended the process, probably for lack of memory"
    elif code < 0:
        note = f"the process ended with signal {-code}"
    else:
        note = f"the process ended with code {code}"
    return outcome(FAILED, note) | {"passing": True}


class ClusterPool:
    """Run tasks on a cluster, as `Pool` does on this machine.

    Each cell runs in a process of its own there, under the same caps. A cell that is lost with its
    host is done again.
    """

    def __init__(self, cluster: Any, caps: Caps) -> None:
        self._cluster, self._caps = cluster, caps

    def run(
        self, tasks: Iterable[CellTask], finished: Finished, ended: Callable[[Any], None]
    ) -> None:
        """Do all tasks; call `finished` after each step and `ended` after each cell."""
        todo = list(tasks)
        if not todo:
            return
        with workers(self._cluster) as run:
            jobs = [(task.message, self._caps) for task in todo]
            for task, steps in zip(todo, run(_run_cell, jobs), strict=True):
                for step, record in steps:
                    finished(task.about, step, record)
                ended(task.about)


class _RemoteCell:
    """A cell on the host that does it: its message and its finished steps."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._message = message
        self.steps: list[tuple[str, dict[str, Any]]] = []

    def kept(self) -> Any:
        """Return what its selection kept."""
        return dict(self.steps).get("selection", self._message).get("kept")


def _run_cell(job: tuple[dict[str, Any], Caps]) -> list[tuple[str, dict[str, Any]]]:
    """Do one cell in one process, on a host of the cluster."""
    message, caps = job
    if not os.path.isdir(message["folder"]):
        raise ClusterError(
            f"a worker cannot see {message['folder']}; give --out (out=) a folder that all hosts "
            "share"
        )
    cell = _RemoteCell(message)
    with threads(1):
        Pool(1, caps).run(
            [CellTask(cell, message)],
            lambda about, step, record: about.steps.append((step, record)),
            lambda about: None,
        )
    return cell.steps
