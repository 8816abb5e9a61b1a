"""Executors: who scores blocks, if not this process: processes beside it, or a cluster.

To the loop all are the same: a function that returns the scored blocks of a source in order
(`tamis.engine.loop.Executor`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tamis.core.errors import ParameterError
from tamis.engine.loop import Executor


@contextlib.contextmanager
def executor(cluster: Any) -> Iterator[Executor]:
    """Give what scores blocks, and end whatever it has begun, also when something goes wrong.

    `cluster` is ``"local:2"`` for two processes on this machine, or the address or client of a Dask
    cluster.
    """
    if isinstance(cluster, str) and cluster.startswith("local:"):
        from tamis.engine.workers.processes import processes

        with processes(process_count(cluster)) as scoring:
            yield scoring
    else:
        from tamis.engine.workers.cluster import on_cluster

        with on_cluster(cluster) as scoring:
            yield scoring


@contextlib.contextmanager
def workers(cluster: Any) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Yield a function that calls another for each item elsewhere; results come in order."""
    if isinstance(cluster, str) and cluster.startswith("local:"):
        from tamis.engine.workers.processes import calling

        with calling(process_count(cluster)) as run:
            yield run
    else:
        from tamis.engine.workers.cluster import calling_on

        with calling_on(cluster) as run:
            yield run


def process_count(cluster: str) -> int:
    """Return how many processes ``"local:2"`` asks for."""
    text = cluster.removeprefix("local:")
    if not text.isdigit() or int(text) < 1:
        raise ParameterError(
            f"cluster={cluster!r} does not say how many processes; write for example local:2"
        )
    return int(text)
