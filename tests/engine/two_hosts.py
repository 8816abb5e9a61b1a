"""Two connected hosts in separate network namespaces, and a cluster over both.

Run by test_two_hosts under `unshare`, so that nothing is visible outside or remains: a scheduler
and a worker on the near host, a worker on the far one, and a store that both see, then one that the
far one does not. Prints the result.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time

NEAR, FAR = "10.213.7.1", "10.213.7.2"
SCHEDULER = f"tcp://{NEAR}:8786"
#: Messages that mean that the environment does not allow this.
NOT_ALLOWED = 77
FAR_HOST = ["ip", "netns", "exec", "far"]
WIRE = f"""
mount -t tmpfs tmpfs /run
mkdir /run/netns
ip netns add far
ip link add near0 type veth peer name far0 netns far
ip addr add {NEAR}/24 dev near0
ip -n far addr add {FAR}/24 dev far0
ip link set lo up
ip link set near0 up
ip -n far link set lo up
ip -n far link set far0 up
"""


def connect_hosts():
    for line in WIRE.strip().splitlines():
        done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{line}: {done.stderr.strip()}")
            sys.exit(NOT_ALLOWED)


@contextlib.contextmanager
def running(*command, log):
    with open(log, "ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def dask(what, host):
    return [
        sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", host, "--no-dashboard",
    ]  # fmt: skip


def worker(host, name):
    return [*dask("worker", host), SCHEDULER, "--nthreads", "1", "--no-nanny", "--name", name]


def main(store, log):
    connect_hosts()
    with (
        running(*dask("scheduler", NEAR), "--port", "8786", log=log),
        running(*worker(NEAR, "near"), log=log),
    ):
        import distributed

        import tamis
        from tamis.checks.data import assert_same_log
        from tamis.core.errors import ClusterError
        from tamis.engine.workers.ranges import opened

        source = tamis.open(store)
        here = tamis.select(source, "saola", width=40).log
        with distributed.Client(SCHEDULER, timeout=600, set_as_default=False) as client:
            with running(*FAR_HOST, *worker(FAR, "far"), log=log):
                client.wait_for_workers(2, timeout=600)
                there = tamis.select(source, "saola", cluster=client, width=40).log
                took_part = [
                    place
                    for place, n in client.run(lambda: opened.cache_info().misses).items()
                    if n
                ]
            hidden = f"mount -t tmpfs tmpfs {store} && exec " + " ".join(worker(FAR, "blind"))
            with running(*FAR_HOST, "unshare", "-m", "sh", "-c", hidden, log=log):
                while not any("blind" in name for name in _names(client)):
                    time.sleep(0.05)
                try:
                    tamis.select(source, "saola", cluster=client, width=40)
                    message = ""
                except ClusterError as error:
                    message = str(error)
    assert_same_log(there, here, "over two hosts")
    print(json.dumps({"kept": len(there.replay()), "took part": took_part, "error": message}))


def _names(client):
    workers = client.sync(client.scheduler.identity)["workers"]
    return [str(worker["name"]) for worker in workers.values()]


if __name__ == "__main__":
    main(*sys.argv[1:])
