"""Look at an HDF5 file in a child process first: damage can hang or crash the HDF5 library.

Neither can be stopped inside a process. The child walks over the groups, the text and the lists of
chunks that a reader will meet, with a limit of processor time; a slow disk does not count.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys

from tamis.core.errors import SourceError

#: Seconds of processor time, and bytes of the file that add another one.
LIMIT, BYTES_A_SECOND = 10, 20_000_000

_CHILD = """
import resource, sys
path, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import h5py
def look(name, node):
    dict(node.attrs)
    if isinstance(node, h5py.Dataset) and node.size:
        if h5py.check_vlen_dtype(node.dtype) or node.dtype.kind == "O":
            for lo in range(0, len(node), 100_000):
                node[lo : lo + 100_000]
        elif node.chunks and hasattr(node.id, "chunk_iter"):
            node.id.chunk_iter(lambda chunk: None)
with h5py.File(path, "r") as root:
    for name in ("X", "obs", "var", "layers", "raw", "raw.X", "raw.var"):
        if name in root:
            look(name, root[name])
            if hasattr(root[name], "visititems"):
                root[name].visititems(look)
"""


def refuse_endless(path: str) -> None:
    """Raise a one-sentence error for a file that hangs or crashes the HDF5 library."""
    status = os.stat(path)
    _probe(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=1000)
def _probe(path: str, size: int, written: int) -> None:
    """Look at a file; a file that has not changed since is not looked at again."""
    if os.name == "nt" or not sys.executable:
        return
    limit = LIMIT + size // BYTES_A_SECOND
    command = [sys.executable, "-c", _CHILD, path, str(limit)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    if done.returncode >= 0:  # other damage is an ordinary error, which the reader reports
        return
    number = -done.returncode
    what = (
        f"does not end within {limit} s of computing" if number in (signal.SIGXCPU, signal.SIGKILL)
        else f"crashes ({signal.Signals(number).name})"
    )  # fmt: skip
    raise SourceError(
        f"{path} is damaged: the HDF5 library {what} when it reads the file; fetch it or write it "
        "again"
    )
