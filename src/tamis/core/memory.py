"""How much memory a process holds, as the system counts it, and that it is used again."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

_MEGABYTE = 1024**2
#: Arrays up to so many bytes are made of memory that others have left; glibc heeds up to 32 MB.
_REUSED = 16 * _MEGABYTE


@cache
def reuse_freed() -> None:
    """Let arrays of some megabytes be made of memory that others before them have left.

    The C library of Linux gives large arrays back to the system when they are freed, so that each
    new one is made of pages which the system clears first: a quarter of the time of parsing text,
    half of that of reading a row store. It ceases to do so for sizes that it has seen freed once.
    The pages of this array are never touched, so it costs nothing.
    """
    np.empty(_REUSED, dtype=np.uint8)


def held_megabytes(process: int | None = None) -> float:
    """Memory a process holds now (Linux; 0 elsewhere)."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{process or 'self'}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
    return 0.0


def start_peak() -> float:
    """Give back what is not used, let the peak start again, and give what is held now."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # glibc
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return held_megabytes()


def peak_megabytes() -> float:
    """Most memory this process has held since `start_peak` (since its start, outside Linux)."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (_MEGABYTE if sys.platform == "darwin" else 1024)
