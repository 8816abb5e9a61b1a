"""Processes on this machine that score blocks: ``cluster="local:2"``.

They end with the process that began them, however it ends. When one of them is lost, new ones do
again what was under way.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import shutil
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tamis.core.errors import ClusterError
from tamis.engine.loop import Executor, Scorer
from tamis.engine.workers.ranges import News, Task, in_order, one_by_one, packed, tasks
from tamis.sources.base import ColumnSource, Progress

#: Processes are begun anew so many times without a result in between.
LOSSES = 2

#: What this worker process was sent last.
_mine: dict[str, Any] = {}


@contextlib.contextmanager
def processes(count: int) -> Iterator[Executor]:
    """Yield an executor that scores blocks with so many processes."""
    with contextlib.ExitStack() as stack:

        def execute(
            scorer: Scorer, source: ColumnSource, width: int | None, progress: Progress, start: int
        ) -> Generator[Any]:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="tamis-")))
            crew = _Crew(count, packed(scorer, source), folder)
            stack.enter_context(contextlib.closing(crew))
            news = News(scorer, _Files(folder))
            done = in_order(
                tasks(source, width, progress, start),
                lambda task: crew.submit(_examine, task, news.latest()),
                2 * count + 2,
                lambda task: progress("examining columns", task.last, source.n_columns),
            )
            return stack.enter_context(contextlib.closing(one_by_one(done)))

        yield execute


@contextlib.contextmanager
def calling(count: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Yield a function that calls another for each item, with so many processes."""
    with contextlib.closing(_Crew(count)) as crew:
        yield lambda call, items: in_order(
            iter(items), lambda item: crew.submit(call, item), count + 1, lambda _: None
        )


class _Crew:
    """Worker processes, and the tasks that are not done yet."""

    def __init__(self, count: int, told: bytes = b"", folder: Path | None = None) -> None:
        self._count, self._told, self._folder = count, told, folder
        self._requested: list[_Answer] = []
        self._losses = 0
        self._begin()

    def _begin(self) -> None:
        # Fresh processes: a fork of one that runs threads may hang.
        context = multiprocessing.get_context("spawn")
        self._begun = context.Event()
        what = (self._begun, self._told, self._folder)
        self._pool = ProcessPoolExecutor(self._count, context, _begin, what)

    def submit(self, call: Callable[..., Any], *what: Any) -> _Answer:
        """Submit a task and return its future result."""
        answer = _Answer(self, call, what)
        self._requested.append(answer)
        self.ask(answer)
        return answer

    def ask(self, answer: _Answer) -> None:
        """Submit now; whoever waits for the result learns of a dead process."""
        try:
            answer.future = self._pool.submit(answer.call, *answer.what)
        except BrokenProcessPool as error:
            answer.future = Future()
            answer.future.set_exception(error)

    def replace(self, error: BrokenProcessPool) -> None:
        """Start new processes instead of those that were lost, unless that did not help before."""
        if not self._begun.is_set():
            raise ClusterError(
                "the worker processes ended before they began; a script must call tamis under "
                '`if __name__ == "__main__":`, and a process needs memory to start'
            ) from error
        self._losses += 1
        if self._losses > LOSSES:
            raise ClusterError(
                "worker processes died again and again at the same place, most likely for lack of "
                "memory; give fewer processes, a smaller width (--width) or more memory"
            ) from error
        self._pool.shutdown(cancel_futures=True)
        self._begin()
        for answer in self._requested:
            self.ask(answer)

    def forget(self, answer: _Answer, *, came: bool) -> None:
        """Note that a result was taken, or is not needed any more."""
        self._requested.remove(answer)
        self._losses = 0 if came else self._losses

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)


class _Answer:
    """A result that a process is computing; submitted again if that process is lost."""

    future: Future[Any]

    def __init__(self, crew: _Crew, call: Callable[..., Any], what: tuple[Any, ...]) -> None:
        self._crew, self.call, self.what = crew, call, what

    def result(self) -> Any:
        """Wait for it."""
        while True:
            try:
                found = self.future.result()
            except BrokenProcessPool as error:
                self._crew.replace(error)
            else:
                self._crew.forget(self, came=True)
                return found

    def cancel(self) -> bool:
        """Cancel it."""
        self._crew.forget(self, came=False)
        return self.future.cancel()


class _Files:
    """What is kept, in files: each process reads it once, instead of with every task."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, 0

    def __call__(self, what: bytes) -> Path:
        """Write the next file; only the last two stay, as whoever misses one can do without."""
        with contextlib.suppress(OSError):  # not there, or being read where that matters
            (self._folder / str(self._files - 2)).unlink()
        path = self._folder / str(self._files)
        path.write_bytes(what)
        self._files += 1
        return path


def _begin(begun: Any, told: bytes, folder: Path | None) -> None:
    """Start as a worker process; the source is opened with the first task."""
    threading.Thread(target=_end_with_driver, args=(folder,), daemon=True).start()
    _mine["told"] = told
    begun.set()


def _end_with_driver(folder: Path | None) -> None:
    """Wait for the end of the process that began this one; a killed one cannot tidy up."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _examine(task: Task, news: Path | None) -> Any:
    if news is not None and _mine.get("news") != news:
        with contextlib.suppress(FileNotFoundError):
            _mine["kept"], _mine["news"] = pickle.loads(news.read_bytes()), news
    kept = None if news is None else _mine.get("kept")
    return task.done_by("a worker process", _mine["told"], kept)
