"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The tests keep every core busy. More threads would wait for each other, and scikit-learn's do so
# in a loop: a boosted model took ten times the time. Set before it is imported, here or below.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Tests are of compiled kernels; tests/kernels/test_uncompiled.py compares others with them.
os.environ.setdefault("TAMIS_COMPILE", "1")

from tamis.engine.persistent import state_file  # noqa: E402
from tests_shared import SHARED  # noqa: E402

pytest_plugins = ["shared_workers"]

# No example is timed: the first one of a kernel compiles it, and the machine may be busy. Every run
# tries the same examples; `make soak` draws new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("same")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave the tests themselves, millions of objects, out of every garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_works() -> Iterator[None]:
    """Let Ctrl-C stop what the tests start, even if the parent of the tests ignores it.

    Background jobs are started that way; children inherit it, and could not be stopped.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _quick_disk() -> Iterator[None]:
    """Do not sync to disk: no test loses power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        patch.setattr(state_file, "SYNCHRONOUS", "OFF")
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of golden outputs and data; skip tests that need it if it is missing."""
    if not SHARED.is_dir():
        pytest.skip("the shared folder of golden outputs and data is not next to this clone")
    return SHARED
