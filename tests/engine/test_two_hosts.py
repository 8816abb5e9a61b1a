"""A cluster over two hosts: the same log; and a sentence when one of them does not see the data."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from two_hosts import FAR, NEAR, NOT_ALLOWED

from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from waiting import PATIENCE

pytest.importorskip("distributed")

#: Processes, files and network of their own, which end with the first process.
APART = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork"]
APART += ["--kill-child", "--mount-proc"]


@pytest.fixture(scope="module")
def apart():
    """Skip where namespaces cannot be made."""
    for tool in ("unshare", "ip", "mount"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool} here")
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"namespaces are not allowed here: {tried.stderr.strip()}")


@pytest.mark.usefixtures("apart")
def test_two_hosts_give_the_same_log_and_one_without_the_data_is_reported(tmp_path):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 120)
    X = rng.integers(0, 2, (120, 3_000)) | (y[:, None] & (rng.random(3_000) < 0.05))
    store = write_store(tmp_path / "shared.cols", MemorySource(X.astype(float), y))
    done = subprocess.run(
        [*APART, sys.executable, str(Path(__file__).with_name("two_hosts.py")), store.path,
         str(tmp_path / "log")],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode == NOT_ALLOWED:
        pytest.skip(f"two hosts cannot be wired here: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kept"] > 5
    assert sorted(re.sub(r":\d+$", "", place) for place in found["took part"]) == [
        f"tcp://{NEAR}", f"tcp://{FAR}",
    ]  # fmt: skip
    assert re.sub(r":\d+ ", " ", found["error"]) == (
        f"the worker tcp://{FAR} cannot open the data ({store.path} is not a column store: it has "
        "no meta.json of one); every worker must see it under the same path"
    )
