"""Processes on this machine that score blocks: ``cluster="local:2"``.

They end with the process that started them, however it ends. If one of them is lost, new ones redo
the unfinished tasks.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tamis.core.errors import ClusterError
from tamis.engine.workers.copies import Version, current
from tamis.engine.workers.ranges import Done, Task
from tamis.methods.known_pairs import Copy

#: Processes are restarted at most this many times without a result in between.
LOSSES = 2


class Processes:
    """Worker processes, and the tasks that are not done yet."""

    def __init__(self, count: int) -> None:
        self.size = count
        #: Pending results, and how often processes were lost since the last result.
        self.requested: list[_Answer] = []
        self.losses = self._shared = 0
        self._folder = TemporaryDirectory(prefix="tamis-")
        self._begin()

    def _begin(self) -> None:
        # Fresh processes: a fork of one that runs threads may hang.
        context = multiprocessing.get_context("spawn")
        self._begun = context.Event()
        self._pool = ProcessPoolExecutor(
            self.size, context, _begin, (self._begun, self._folder.name)
        )

    def share(self, what: bytes) -> Path:
        """Write the next file, which each process reads once: tasks only name it."""
        path = Path(self._folder.name, str(self._shared))
        path.write_bytes(what)
        self._shared += 1
        return path

    def forget(self, reference: Path) -> None:
        """Delete a file; a process can do without."""
        with contextlib.suppress(OSError):  # in use by a reader, on some systems
            reference.unlink()

    def score(self, task: Task, shared: Path, version: Version | None) -> _Answer:
        """Score the blocks of a task in a process."""
        return self.submit(_score, task, shared, version)

    def submit(self, call: Callable[..., Any], *what: Any) -> _Answer:
        """Submit a task and return its future result."""
        answer = _Answer(self, call, what)
        self.requested.append(answer)
        self._ask(answer)
        return answer

    def _ask(self, answer: _Answer) -> None:
        """Submit now; a dead process is noticed when the result is awaited."""
        try:
            answer.future = self._pool.submit(answer.call, *answer.what)
        except BrokenProcessPool as error:
            answer.future = Future()
            answer.future.set_exception(error)

    def replace(self, error: BrokenProcessPool) -> None:
        """Replace lost processes with new ones, up to the maximum number of restarts."""
        if not self._begun.is_set():
            raise ClusterError(
                "the worker processes ended before they began; a script must call tamis under "
                '`if __name__ == "__main__":`, and a process needs memory to start'
            ) from error
        self.losses += 1
        if self.losses > LOSSES:
            raise ClusterError(
                "worker processes died repeatedly at the same place, most likely for lack of "
                "memory; give fewer processes, a smaller width (--width) or more memory"
            ) from error
        self._pool.shutdown(cancel_futures=True)
        self._begin()
        for answer in self.requested:
            self._ask(answer)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()


@dataclass(eq=False)
class _Answer:
    """A result that a process is computing; submitted again if that process is lost."""

    crew: Processes
    call: Callable[..., Any]
    what: tuple[Any, ...]
    future: Future[Any] = field(init=False)

    def result(self) -> Any:
        """Wait for the result."""
        while True:
            try:
                found = self.future.result()
            except BrokenProcessPool as error:
                self.crew.replace(error)
            else:
                self.crew.requested.remove(self)
                self.crew.losses = 0
                return found

    def cancel(self) -> bool:
        """Cancel it."""
        self.crew.requested.remove(self)
        return self.future.cancel()


def _begin(begun: Any, folder: str) -> None:
    """Start as a worker process; the source is opened with the first task."""
    threading.Thread(target=_end_with_driver, args=(folder,), daemon=True).start()
    begun.set()


def _end_with_driver(folder: str) -> None:
    """Wait for the end of the parent process, which cannot clean up if it is killed."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


@functools.lru_cache(maxsize=4)
def _read(path: Path) -> bytes:
    return path.read_bytes()


def _score(task: Task, shared: Path, version: Version | None) -> Done:
    def copy() -> Copy | None:
        with contextlib.suppress(FileNotFoundError):
            return None if version is None else current(version, Path.read_bytes)
        return None

    return task.done_by("a worker process", _read(shared), copy)
