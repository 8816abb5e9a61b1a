"""Cells done on a cluster: each by a process of its own there, under the same caps as here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from tamis.core.errors import ClusterError
from tamis.engine.workers.executors import workers
from tamis.evaluate.cells import Caps
from tamis.evaluate.pool import Finished, Pool, Task
from tamis.kernels.threads import threads


class Elsewhere:
    """Runs tasks on a cluster, as `Pool` does here; a cell that is lost with its host is redone."""

    def __init__(self, cluster: Any, caps: Caps) -> None:
        self._cluster, self._caps = cluster, caps

    def run(self, tasks: Iterable[Task], finished: Finished, ended: Callable[[Any], None]) -> None:
        """Do all tasks; `finished` hears of every step, `ended` of every cell."""
        todo = list(tasks)
        if not todo:
            return
        with workers(self._cluster) as run:
            jobs = [(task.message, self._caps) for task in todo]
            for task, steps in zip(todo, run(_do, jobs), strict=True):
                for step, record in steps:
                    finished(task.about, step, record)
                ended(task.about)


class _Noted:
    """A cell as the host that does it knows it: its message, and the steps that are finished."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._message = message
        self.steps: list[tuple[str, dict[str, Any]]] = []

    def kept(self) -> Any:
        """What its selection kept."""
        return dict(self.steps).get("selection", self._message).get("kept")


def _do(job: tuple[dict[str, Any], Caps]) -> list[tuple[str, dict[str, Any]]]:
    """On a host of the cluster: one cell, in one process."""
    message, caps = job
    if not os.path.isdir(message["folder"]):
        raise ClusterError(
            f"a worker cannot see {message['folder']}; give --out (out=) a folder that all hosts "
            "share"
        )
    cell = _Noted(message)
    with threads(1):
        Pool(1, caps).run(
            [Task(cell, message)],
            lambda about, step, record: about.steps.append((step, record)),
            lambda about: None,
        )
    return cell.steps
