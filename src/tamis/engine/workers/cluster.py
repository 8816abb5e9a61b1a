"""A Dask cluster that scores blocks; decisions are made here, in order, with the same result.

Every worker opens the source itself and reads its own columns inside the task, so a task can be
rerun anywhere if its worker is lost. A task returns the strength of each column and the few columns
that the rule must process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from tamis._version import __version__, versions
from tamis.core.errors import ClusterError, need
from tamis.core.files import reason
from tamis.engine.workers.copies import Version, current
from tamis.engine.workers.ranges import Crew, Task

#: Seconds to wait for a cluster, for its first worker, and while no worker works.
PATIENCE = 30
#: Seconds between two checks of the workers while waiting for a result.
LOOK = 2.0


@contextlib.contextmanager
def on_cluster(cluster: Any) -> Iterator[Crew]:
    """Yield the workers of a cluster, given its address or a client, which stays open."""
    distributed = need("distributed", extra="cluster", what_for="cluster=")
    client = cluster
    with contextlib.ExitStack() as stack:
        if not isinstance(cluster, distributed.Client):
            settings = distributed.Security().get_connection_args("client")
            if cluster.startswith("tls://") and settings.get("ssl_context") is None:
                raise ClusterError(  # Dask would find out late, and wait for a minute
                    f"the Dask scheduler at {cluster!r} needs a certificate, and Dask's "
                    "configuration names none for clients; set distributed.comm.tls (see "
                    "docs/scaling.md)"
                )
            try:
                client = distributed.Client(cluster, timeout=PATIENCE, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                raise ClusterError(
                    f"there is no Dask scheduler at {cluster!r} ({reason(error)}); start one with "
                    "`dask scheduler`, or use local:2"
                ) from error
            stack.enter_context(client)
        check_workers(client)
        yield _Workers(client)


class _Workers:
    """The workers of a cluster."""

    def __init__(self, client: Any) -> None:
        self._client, self._ours = client, deciding_versions()
        self.size = sum(client.nthreads().values())

    def submit(self, call: Callable[..., Any], *what: Any) -> _Answer:
        """Call a function on a worker."""
        return _Answer(self._client, call, *what)

    def share(self, what: bytes) -> Any:
        """Send bytes to one worker as a task, so that Dask recreates them if the worker is lost.

        Workers pass them on to each other unopened, as each has to open the source itself.
        """
        dask = need("dask", extra="cluster", what_for="a cluster")
        # Dask would warn about large data, but that is intended: kept columns may be large.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(bytes, what, pure=False)

    def forget(self, reference: Any) -> None:
        """Do nothing: Dask forgets bytes that no task needs."""

    def score(self, task: Task, shared: Any, version: Version | None) -> _Answer:
        """Score the blocks of a task on a worker."""
        return self.submit(_score, task, shared, version, self._ours)


def _score(task: Task, shared: bytes, version: Version | None, ours: dict[str, str]) -> Any:
    from distributed import get_worker

    who = f"the worker {get_worker().address}"
    refuse_other(who, deciding_versions(), ours)  # it may have joined after all were checked
    return task.done_by(
        who, shared, lambda: None if version is None else current(version, lambda part: part)
    )


class _Answer:
    """A result that a worker is computing."""

    def __init__(self, client: Any, call: Callable[..., Any], *what: Any) -> None:
        self._client, self._future = client, client.submit(call, *what, pure=False)

    def result(self) -> Any:
        """Wait for the result; raise a one-sentence error if the workers are lost for good."""
        distributed = need("distributed", extra="cluster", what_for="a cluster")
        idle: float | None = None
        try:
            while True:  # check now and then whether any worker is still alive
                try:
                    return self._future.result(timeout=LOOK)
                except TimeoutError:
                    if self._future.done():  # just now, or with a timeout of its own
                        return self._future.result()
                states = _states(self._client)
                if "running" in states:
                    idle = None
                elif idle is None:
                    idle = time.monotonic()
                elif time.monotonic() - idle >= PATIENCE:
                    raise ClusterError(_nobody_works(self._client, states))
        except distributed.KilledWorker as error:
            raise ClusterError(
                "workers died repeatedly on the same columns, most likely for lack of memory; "
                "give them more memory, or a smaller width (--width)"
            ) from error
        except (distributed.comm.CommClosedError, distributed.client.FutureCancelledError) as error:
            raise ClusterError(
                f"the cluster went away ({type(error).__name__}); start it again and run this again"
            ) from error

    def cancel(self) -> Any:
        """Cancel it."""
        return self._future.cancel()


def _states(client: Any) -> set[str]:
    """Return the state of the workers, as reported by Dask."""
    workers = client.sync(client.scheduler.identity)["workers"]
    return {worker["status"] for worker in workers.values()}


def _nobody_works(client: Any, states: set[str]) -> str:
    if "paused" in states:
        return (
            "Dask has paused the workers, because their memory is nearly full; give each more "
            "(dask worker --memory-limit), or take a smaller width (--width)"
        )
    return (
        f"the cluster has no worker; start one with `dask worker {client.scheduler.address}` and "
        "run this again"
    )


def check_workers(client: Any) -> None:
    """Wait for a worker, and check that all run the same versions, for identical results."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise ClusterError(_nobody_works(client, _states(client))) from error
    ours = deciding_versions()
    try:
        theirs = client.run(deciding_versions, on_error="return")
    except Exception as error:  # a worker without tamis cannot even unpickle the task
        raise ClusterError(
            f"the workers cannot run tamis ({reason(error)}); install tamis {__version__} there"
        ) from error
    for worker, found in theirs.items():
        who = f"the worker {worker}"
        if isinstance(found, OSError):  # the connection was cut
            raise ClusterError(
                f"{who} ended before it sent its versions, most likely for lack of memory; "
                "give it more (dask worker --memory-limit)"
            )
        if not isinstance(found, dict):
            raise ClusterError(
                f"{who} cannot run tamis ({reason(found)}); install tamis {__version__} there"
            )
        refuse_other(who, found, ours)


def refuse_other(who: str, theirs: dict[str, str], ours: dict[str, str]) -> None:
    """Raise an error if a worker has other versions of the libraries than we do."""
    for package, number in ours.items():
        if theirs.get(package) != number:
            raise ClusterError(
                f"{who} has {package} {theirs.get(package)} where the driver has {number}; install "
                "the same version, so that numbers agree to the bit"
            )


def deciding_versions() -> dict[str, str]:
    """Return the versions that results depend on: tamis and its numeric libraries."""
    every = versions()
    found = {name: every[name] for name in ("tamis", "numpy", "scipy", "numba")}
    return found | {"python": ".".join(every["python"].split(".")[:2])}
