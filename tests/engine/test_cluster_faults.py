"""Lost workers, memory and drivers: the same log, or one sentence. Real processes are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from living import committed

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import ClusterError
from tamis.engine.persistent.resuming import resume
from tamis.engine.runs import open_run
from tamis.engine.workers import cluster as engine_cluster
from tamis.engine.workers import processes as engine_processes
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from waiting import wait_until

distributed = pytest.importorskip("distributed")
sys.path.insert(0, str(Path(__file__).parent))
import worker_troubles  # noqa: E402

COMMAND = [sys.executable, "-m", "tamis"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = (rng.random((120, 6_000)) < 0.1).astype(float)
    X[:, ::40] *= rng.random((120, 150)) < 0.5 + 0.5 * y[:, None]
    path = tmp_path_factory.mktemp("wide") / "wide.cols"
    return write_store(path, MemorySource(sp.csc_matrix(X), y))


@pytest.fixture(scope="module")
def expected(wide):
    return tamis.select(wide, "saola").log


@pytest.fixture
def own_client(request):
    """A separate cluster, whose workers may be killed."""
    import dask

    workers, failures, memory = request.param
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": failures}),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit=memory,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        folder = str(Path(__file__).parent)

        class KnowsTests(distributed.WorkerPlugin):
            """Let workers that join later import the module that causes the trouble."""

            def setup(self, worker):
                import sys

                sys.path.insert(0, folder)

        client.register_plugin(KnowsTests())
        yield client


# --- a worker is lost ---------------------------------------------------------------------------


@pytest.mark.parametrize("own_client", [(2, 1, "2GB")], indirect=True)
def test_a_worker_killed_midway_changes_nothing(wide, expected, tmp_path, own_client):
    shutil.copytree(wide.path, tmp_path / "w.cols")
    deadly = worker_troubles.DeadlyOnce(tmp_path / "w.cols")
    there = tamis.select(deadly, "saola", cluster=own_client, width=500)
    assert (tmp_path / "killed").exists()
    assert_same_log(there.log, expected, "after the loss of a worker")


def test_a_process_killed_midway_changes_nothing(wide, expected, tmp_path):
    shutil.copytree(wide.path, tmp_path / "w.cols")
    deadly = worker_troubles.DeadlyOnce(tmp_path / "w.cols")
    there = tamis.select(deadly, "saola", cluster="local:2", width=100)
    assert (tmp_path / "killed").exists()
    assert_same_log(there.log, expected, "after the loss of a process")


# --- memory ends --------------------------------------------------------------------------------


def test_processes_that_die_repeatedly_are_reported(wide, monkeypatch):
    monkeypatch.setattr(engine_processes, "LOSSES", 0)
    with pytest.raises(ClusterError) as caught:
        tamis.select(worker_troubles.Deadly(wide.path), "saola", cluster="local:1")
    assert str(caught.value) == (
        "worker processes died repeatedly at the same place, most likely for lack of memory; "
        "give fewer processes, a smaller width (--width) or more memory"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are kept by Linux")
def test_a_process_at_its_memory_limit_reports_it(wide):
    with pytest.raises(ClusterError) as caught:
        tamis.select(worker_troubles.Starved(wide.path), "saola", cluster="local:1")
    assert str(caught.value) == (
        "a worker process ran out of memory on columns 0 to 255; take fewer at a time (--width "
        "64), or give each worker more memory"
    )


@pytest.mark.parametrize("own_client", [(1, 0, "700MB")], indirect=True)
def test_a_worker_that_dask_kills_for_its_memory_is_reported(wide, own_client):
    with pytest.raises(ClusterError) as caught:
        tamis.select(worker_troubles.Greedy(wide.path), "saola", cluster=own_client)
    assert str(caught.value) == (
        "workers died repeatedly on the same columns, most likely for lack of memory; give "
        "them more memory, or a smaller width (--width)"
    )


@pytest.fixture
def inside(monkeypatch):
    """A cluster in this process, and little patience with it."""
    monkeypatch.setattr(engine_cluster, "PATIENCE", 1)
    monkeypatch.setattr(engine_cluster, "LOOK", 0.1)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0",
            memory_limit="20GB",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


PAUSED = (
    "Dask has paused the workers, because their memory is nearly full; give each more (dask worker "
    "--memory-limit), or take a smaller width (--width)"
)


def test_a_run_does_not_wait_forever_for_paused_workers(wide, inside):
    full = worker_troubles.Full(wide.path)
    for _ in range(2):  # in the middle of a run, and when it begins
        with pytest.raises(ClusterError) as caught:
            tamis.select(full, "saola", cluster=inside, width=10)
        assert str(caught.value) == PAUSED


def test_a_run_does_not_wait_forever_for_workers_that_left(wide, inside):
    answer = engine_cluster._Answer(inside, time.sleep, 60)
    inside.cluster.scale(0)
    with pytest.raises(ClusterError, match="the cluster has no worker; start one with `dask work"):
        answer.result()


# --- the driver is lost -------------------------------------------------------------------------


def started(arguments, folder):
    """A driver, killed when it has committed a few times; the processes it had begun.

    What it leaves in the folder for temporary files is in "tmp" there.
    """
    (folder / "tmp").mkdir()
    driver = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(folder / "tmp")},
    )  # fmt: skip
    try:
        while driver.poll() is None:
            if committed(folder / "run") > 3:
                break
            time.sleep(0.005)
        begun = children_of(driver.pid)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert driver.returncode == -signal.SIGKILL
    return begun


def children_of(pid):
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in found.stdout.split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("ps") is None, reason="needs ps")
@pytest.mark.parametrize("way", ["local:2", "dask"])
def test_a_killed_driver_is_resumed_and_its_workers_stop(way, wide, expected, tmp_path, client):
    shutil.copytree(wide.path, tmp_path / "w.cols")
    address = client.scheduler.address if way == "dask" else way
    arguments = ["select", "w.cols", "--method", "saola", "--out", "run"]
    arguments += ["--cluster", address, "--checkpoint", "0.01"]
    others = client.run_on_scheduler(_tasks_left)
    begun = started([*arguments, "--width", "3", "--quiet"], tmp_path)
    last = Selection.open(tmp_path / "run").history[-1]
    assert 0 < last["columns"] < wide.n_columns
    if way == "dask":
        wait_until(lambda: client.run_on_scheduler(_tasks_left) <= others)
    else:
        assert len(begun) >= 2
        wait_until(lambda: not any(map(alive, begun)))
        assert not list((tmp_path / "tmp").glob("tamis-*"))
    messages = []
    run = resume(tmp_path / "run", cluster=client if way == "dask" else None, say=messages.append)
    assert messages == [f"resuming after column {last['columns']:,} of w.cols"]
    assert_same_log(run.log, expected, f"resumed after kill -9, {way}")
    assert_same_log(open_run(tmp_path / "run").log, expected, "as it was written")


def _tasks_left(dask_scheduler):
    return len(dask_scheduler.tasks)
