"""The one decorator: every kernel is compiled with the options set here.

* ``nogil``: kernels run in threads, which split columns, never rows.
* no ``fastmath``: a number that decides is a fixed-order sum, the same bits on every path.
* ``cache``: compiled code is kept on disk; set ``TAMIS_NO_CACHE=1`` to compile anew each time.
* ``error_model="numpy"``: a division does not branch to raise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba

CACHE = os.environ.get("TAMIS_NO_CACHE", "") in ("", "0")


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel: arrays and numbers in, arrays and numbers out."""
    compiled: Callable[..., Any] = numba.njit(nogil=True, cache=CACHE, error_model="numpy")(
        function
    )
    return compiled


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small helper of kernels; LLVM decides whether to copy it into its callers."""
    return jit(function)
