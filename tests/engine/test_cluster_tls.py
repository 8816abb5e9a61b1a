"""A cluster that asks for certificates: tls:// works with them, and tells what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import CommandLine
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

pytest.importorskip("distributed")
OPENSSL = shutil.which("openssl")

SCHEDULER = """
import asyncio, distributed
async def main():
    where = {"host": "127.0.0.1", "port": 0, "dashboard": False}
    async with distributed.Scheduler(protocol="tls", **where) as s:
        async with distributed.Worker(s.address, nthreads=1, dashboard=False):
            print(s.address, flush=True)
            await s.finished()
asyncio.run(main())
"""


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_a_cluster_with_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
         str(cert), "-days", "2", "-subj", "/CN=test"],
        check=True, capture_output=True,
    )  # fmt: skip
    tls = {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(cert),
    }
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(cert)
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(key)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 30)) + y[:, None] * (np.arange(30) < 3)
    write_store(tmp_path / "data.cols", MemorySource(X, y))

    def select(address: str, out: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        words = ["select", "data.cols", "--cluster", address, "--out", out]
        return subprocess.run(
            [sys.executable, "-m", "tamis", *words], cwd=tmp_path, env=os.environ | env,
            capture_output=True, text=True,
        )  # fmt: skip

    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], env=os.environ | tls, stdout=subprocess.PIPE, text=True
    ) as cluster:
        try:
            assert cluster.stdout is not None
            address = cluster.stdout.readline().strip()
            assert address.startswith("tls://")
            found = select(address, "far", tls)
            assert found.returncode == 0, found.stderr
            refused = select(address, "none", {})
        finally:
            cluster.kill()
    assert refused.returncode == 2
    sentence = re.sub(r"\s+", " ", refused.stderr)
    assert "needs a certificate" in sentence
    assert "Traceback" not in sentence
    here = CommandLine(capsys, monkeypatch)(
        "select", tmp_path / "data.cols", "--out", tmp_path / "here"
    )
    assert here.code == 0, here.err
    chosen = [(tmp_path / run / "selected.csv").read_bytes() for run in ("far", "here")]
    assert chosen[0] == chosen[1]
