"""Worker processes that stay for the next test, which is spared the seconds that new ones take.

How they start, die and are replaced is tested on new ones: engine/test_cluster.py,
engine/test_cluster_faults.py, evaluate/test_compare.py.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tamis.engine.workers import executors
from tamis.evaluate import pool

NEW_CREW, NEW_PROCESS = executors.crew, pool._Process


@pytest.fixture(scope="session")
def _two_processes() -> Iterator[Callable[[], Any]]:
    """Start two processes at the first call; they end with the tests."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda: stack.enter_context(NEW_CREW("local:2")))


@pytest.fixture
def shared_processes(_two_processes: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `cluster="local:2"` mean processes that are already there."""

    def crew(cluster: Any) -> contextlib.AbstractContextManager[Any]:
        is_there = cluster == "local:2"
        return contextlib.nullcontext(_two_processes()) if is_there else NEW_CREW(cluster)

    monkeypatch.setattr(executors, "crew", crew)


class _Lasting(NEW_PROCESS):
    """A worker of comparisons that waits on a shelf when its task is done."""

    def __init__(self, shelf: list[_Lasting], threads: int, answers: Any) -> None:
        self._shelf, self._is_idle = shelf, False
        super().__init__(threads, answers)

    def give(self, task: pool.Task) -> None:
        self._is_idle = False
        cell, message = task
        places = {k: os.path.abspath(message[k]) for k in ("folder", "fold") if k in message}
        super().give((cell, message | places))  # it may have been started in another folder

    def end(self) -> None:
        if self._is_idle:
            self._shelf.append(self)
        else:
            super().end()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            self._is_idle = message.get("end") == pool.ENDED
            self._answers.put((self, message))
        self._is_idle = False
        self.process.wait()
        self._answers.put((self, {"lost": pool._death(self.process.returncode)}))


@pytest.fixture(scope="session")
def _shelf() -> Iterator[list[_Lasting]]:
    """Workers that wait; they end with the tests."""
    shelf: list[_Lasting] = []
    yield shelf
    for process in shelf:
        NEW_PROCESS.end(process)


@pytest.fixture(scope="module")
def shared_comparers(_shelf: list[_Lasting]) -> Iterator[None]:
    """Let comparisons begin with workers that are already there, of one thread each."""

    def take(threads: int, answers: Any) -> _Lasting:
        if not _shelf:
            return _Lasting(_shelf, 1, answers)
        process = _shelf.pop()
        process._answers = answers
        process._send({"path": sys.path})
        return process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_Process", take)
        yield
