"""Processes on this machine that examine blocks: ``cluster="local:2"``."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tamis.core.errors import ClusterError
from tamis.engine.ranges import News, Task, in_order, packed, tasks
from tamis.selectors.base import ColumnSelector, Examining
from tamis.sources.base import Report, Source

#: What this worker process examines with, and where it reads; set once, when it begins.
_mine: dict[str, Any] = {}


@contextlib.contextmanager
def processes(count: int) -> Iterator[Examining]:
    """Give what examines blocks with so many processes."""
    with contextlib.ExitStack() as stack:

        def examining(
            selector: ColumnSelector, source: Source, width: int | None, report: Report
        ) -> Generator[Any]:
            # Fresh processes: a fork of one that runs threads may hang.
            pool = stack.enter_context(
                ProcessPoolExecutor(
                    count, multiprocessing.get_context("spawn"), _begin, (packed(selector, source),)
                )
            )
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="tamis-")))
            news = News(selector, _Files(folder))
            done = in_order(
                tasks(source, width, report),
                lambda task: pool.submit(_examine, task, news.latest()),
                2 * count + 2,
                lambda task: report("examining columns", task.last, source.n_columns),
            )
            return stack.enter_context(contextlib.closing(_told(done)))

        yield examining


@contextlib.contextmanager
def calling(count: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Give what calls a function for each of some things, with so many processes."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        yield lambda call, items: _told(
            in_order(iter(items), lambda item: pool.submit(call, item), count + 1, lambda _: None)
        )


def _told(blocks: Generator[Any]) -> Generator[Any]:
    """The same, with one sentence when a process dies."""
    try:
        yield from blocks
    except BrokenProcessPool as error:
        raise ClusterError(
            "a worker process died, most likely for lack of memory; give fewer processes or a "
            "smaller width"
        ) from error
    finally:
        blocks.close()


class _Files:
    """News in files, which go to every process once; with each task they would go again."""

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


def _begin(what: bytes) -> None:
    _mine["selector"], _mine["source"] = pickle.loads(what)


def _examine(task: Task, news: Path | None) -> Any:
    if news is not None and _mine.get("news") != news:
        with contextlib.suppress(FileNotFoundError):
            _mine["kept"], _mine["news"] = pickle.loads(news.read_bytes()), news
    kept = None if news is None else _mine.get("kept")
    return task.examine(_mine["selector"], _mine["source"], kept)
