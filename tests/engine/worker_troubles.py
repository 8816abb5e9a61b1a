"""Sources that fail when they are read, for workers that import this module."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import time
from pathlib import Path

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.encode.binning import EqualWidthEncoder
from tamis.sources.stores.column_store import ColumnStore


class Deadly(ColumnStore):
    """Kills the worker that reads it, as the kernel does when memory runs out."""

    def read(self, lo, hi):
        if _is_worker():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(lo, hi)


class DeadlyOnce(ColumnStore):
    """Kills the first worker that reaches its middle."""

    def read(self, lo, hi):
        mark = Path(self.path).parent / "killed"
        if _is_worker() and lo >= self.n_columns // 2:
            try:
                mark.touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().read(lo, hi)


class Starved(ColumnStore):
    """Allocates more than its worker is allowed."""

    def read(self, lo, hi):
        if _is_worker():
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + 50_000_000
            resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
            np.ones(100_000_000)
        return super().read(lo, hi)


class Greedy(ColumnStore):
    """Holds 800 MB while it reads, long enough for the memory monitor of a worker to notice."""

    def read(self, lo, hi):
        if _is_worker():
            taken = np.ones(100_000_000)
            time.sleep(600)
            del taken
        return super().read(lo, hi)


class Full(ColumnStore):
    """Makes its Dask worker believe that its memory is full, so that it takes no more tasks."""

    def read(self, lo, hi):
        from distributed import get_worker

        with contextlib.suppress(ValueError):  # the driver reads, too
            worker = get_worker()
            worker.memory_manager.memory_limit = 1
            while worker.status.name != "paused":  # else a busy machine reads all before
                time.sleep(0.005)
        return super().read(lo, hi)


def _is_worker():
    return multiprocessing.parent_process() is not None


class Witness(ColumnStore):
    """Records which process reads which columns."""

    def read(self, lo, hi):
        with open(Path(self.path).parent / f"read-{os.getpid()}", "a") as file:
            file.write(f"{lo} {hi}\n")
        return super().read(lo, hi)


class WitnessEncoder(EqualWidthEncoder):
    """Records which process encodes, in the folder named in the environment."""

    def find(self, block, target, name_of=ColumnBlock.name_of):
        with open(Path(os.environ["TAMIS_WITNESS"]) / f"encode-{os.getpid()}", "a") as file:
            file.write(f"{block.first} {block.first + block.width}\n")
        return super().find(block, target, name_of)
