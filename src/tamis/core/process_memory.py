"""Memory of a process: how much it holds, its peak, and reuse of freed memory; its CPU time."""

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
#: Arrays up to this many bytes reuse freed memory; glibc allows up to 32 MB.
_REUSED = 16 * _MEGABYTE


@cache
def reuse_freed() -> None:
    """Let arrays of several megabytes reuse freed memory.

    The C library of Linux returns large arrays to the system when they are freed, so every new
    array consists of pages that the system must clear first. That takes a quarter of the time of
    parsing text, and half of the time of reading a row store. The library stops doing so for sizes
    that were freed once. The pages of this array are never touched, so it costs nothing.
    """
    np.empty(_REUSED, dtype=np.uint8)


def held_megabytes(process: int | None = None) -> float:
    """Return the memory that a process holds now (Linux; 0 on other systems)."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{process or 'self'}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
    return 0.0


def available_bytes() -> float:
    """Return the memory that can be used without swapping (Linux; infinite on other systems)."""
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(a.split()[1]) for a in lines if a.startswith("MemAvailable:"))
    return float("inf")


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used (Linux; 0 on other systems)."""
    with suppress(OSError, ValueError, IndexError):
        # After the name of the program, which may hold spaces: user and system time in ticks.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def start_peak() -> float:
    """Return unused memory to the system, reset the peak, and return the megabytes held now."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # Windows has no library without a name
        ctypes.CDLL(None).malloc_trim(0)  # glibc
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return held_megabytes()


def peak_megabytes() -> float:
    """Return the peak memory of this process since `start_peak` (not on Linux: since its start)."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (_MEGABYTE if sys.platform == "darwin" else 1024)
