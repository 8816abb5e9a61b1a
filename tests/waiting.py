"""Waiting for another process or thread, on a machine that may be busy."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

#: Seconds until a test gives up. Success does not wait, so this only bounds a test that hangs.
PATIENCE = 1800.0


def wait_until(is_true: Callable[[], object], program: subprocess.Popen[str] | None = None) -> None:
    """Wait until a condition is true, while the program that should make it true is running."""
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert program is None or program.poll() is None, program.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
