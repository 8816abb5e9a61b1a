"""A Dask cluster that examines blocks; decisions are taken here, in order, with the same answer.

Every worker opens the source itself and reads its own columns inside the task, so that a task can
be run again anywhere when its worker is lost. What comes back is the strength of each column and
the few columns that the rule must meet.
"""

from __future__ import annotations

import contextlib
import pickle
import platform
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib.metadata import version
from typing import Any

from tamis._version import __version__
from tamis.core.errors import ClusterError, need
from tamis.engine.ranges import News, Task, in_order, packed, tasks
from tamis.selectors.base import ColumnSelector, Examining
from tamis.sources.base import Report, Source

#: Seconds to wait for a cluster, and for its first worker.
PATIENCE = 30


@contextlib.contextmanager
def on_cluster(cluster: Any) -> Iterator[Examining]:
    """Give what examines blocks on a cluster: an address, or a client of it."""
    with _client(cluster) as client, contextlib.ExitStack() as stack:
        check_workers(client)

        def examining(
            selector: ColumnSelector, source: Source, width: int | None, report: Report
        ) -> Generator[Any]:
            # A task, not scattered data: what is lost with a worker is made again.
            knowledge = client.submit(pickle.loads, packed(selector, source), pure=False)
            news = News(selector, lambda what: _broadcast(client, what))
            done = in_order(
                tasks(source, width, report),
                lambda task: client.submit(_examine, task, knowledge, news.latest(), pure=False),
                2 * sum(client.nthreads().values()) + 2,
                lambda task: report("examining columns", task.last, source.n_columns),
            )
            return stack.enter_context(contextlib.closing(_told(done)))

        yield examining


@contextlib.contextmanager
def calling_on(cluster: Any) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Give what calls a function for each of some things on a cluster."""
    with _client(cluster) as client:
        check_workers(client)
        window = sum(client.nthreads().values()) + 1
        yield lambda call, items: _told(
            in_order(
                iter(items), lambda item: client.submit(call, item, pure=False), window,
                lambda _: None,
            )
        )  # fmt: skip


def _broadcast(client: Any, what: bytes) -> Any:
    """Something packed, for all workers, as a task like any other."""
    dask = need("dask", extra="cluster", what_for="a cluster")
    # Dask would warn of what is meant to be: the kept columns may be large.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        return client.submit(pickle.loads, what, pure=False)


def _examine(task: Task, knowledge: tuple[ColumnSelector, Any], kept: Any) -> Any:
    return task.examine(*knowledge, kept)


def _told(blocks: Generator[Any]) -> Generator[Any]:
    """The same, with one sentence when workers are lost for good."""
    distributed = need("distributed", extra="cluster", what_for="a cluster")
    try:
        yield from blocks
    except distributed.KilledWorker as error:
        raise ClusterError(
            "workers died again and again on the same columns, most likely for lack of memory; "
            "give them more memory, or a smaller width (--width)"
        ) from error
    except (distributed.comm.CommClosedError, distributed.client.FutureCancelledError) as error:
        raise ClusterError(
            f"the cluster went away ({type(error).__name__}); start it again and run this again"
        ) from error
    finally:
        blocks.close()


@contextlib.contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    """A client: the one given, or a new one for an address, closed afterwards."""
    distributed = need("distributed", extra="cluster", what_for="cluster=")
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    try:
        client = distributed.Client(cluster, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"there is no Dask scheduler at {cluster!r} ({_first_line(error)}); start one with "
            "`dask scheduler`, or use local:2"
        ) from error
    with client:
        yield client


def check_workers(client: Any, ask: Callable[[], dict[str, str]] | None = None) -> None:
    """Wait for a worker, and see to it that all run what we run: bits depend on it."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise ClusterError(
            f"the cluster has no worker; start one with `dask worker {client.scheduler.address}`"
        ) from error
    ours = versions()
    try:
        theirs = client.run(ask or versions, on_error="return")
    except Exception as error:  # a worker without tamis cannot even read the question
        raise ClusterError(
            f"the workers cannot run tamis ({_first_line(error)}); install tamis "
            f"{__version__} there"
        ) from error
    for worker, found in theirs.items():
        if not isinstance(found, dict):
            raise ClusterError(
                f"the worker {worker} cannot run tamis ({_first_line(found)}); install tamis "
                f"{__version__} there"
            )
        for package, number in ours.items():
            if found.get(package) != number:
                raise ClusterError(
                    f"the worker {worker} has {package} {found.get(package)} where this process "
                    f"has {number}; install the same version, so that numbers agree to the bit"
                )


def versions() -> dict[str, str]:
    """What numbers depend on: tamis, and what computes for it."""
    return {
        "tamis": __version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{package: version(package) for package in ("numpy", "scipy", "numba")},
    }


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
