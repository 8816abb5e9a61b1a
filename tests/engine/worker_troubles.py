"""Sources that make trouble where they are read, for workers that import this module."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tamis.sources.store import ColumnStore


class Deadly(ColumnStore):
    """Kills the worker that reads it."""

    def between(self, lo, hi):
        if _is_worker():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().between(lo, hi)


class DeadlyOnce(ColumnStore):
    """Kills the first worker that gets to the middle of it."""

    def between(self, lo, hi):
        mark = Path(self.path).parent / "killed"
        if _is_worker() and lo >= self.n_columns // 2:
            try:
                mark.touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().between(lo, hi)


def _is_worker():
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
