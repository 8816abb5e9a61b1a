"""The one decorator: every kernel is compiled with the options set here.

* ``nogil``: kernels run in threads, which split columns, never rows.
* no ``fastmath``: a number that decides is a fixed-order sum, the same bits on every path.
* ``cache``: compiled code is kept on disk; set ``TAMIS_NO_CACHE=1`` to compile anew each time.
* ``error_model="numpy"``: a division does not branch to raise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

CACHE = os.environ.get("TAMIS_NO_CACHE", "") in ("", "0")


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel: arrays and numbers in, arrays and numbers out."""
    compiled: Callable[..., Any] = numba.njit(nogil=True, cache=CACHE, error_model="numpy")(
        function
    )
    return compiled


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper of kernels that makes no array; LLVM decides whether to copy it into them.

    Arrays given to it are not counted as held while it runs (`_nrt=False`). Counting costs two
    atomic additions an array and call, which took three quarters of the time of a text parser.
    """
    uncounted: dict[str, Any] = {"_nrt": False}  # an option that numba's own types leave out
    compiled: Callable[..., Any] = numba.njit(
        nogil=True, cache=CACHE, error_model="numpy", **uncounted
    )(function)
    return compiled


class _Once(event.Listener):
    """Says something when a kernel is compiled, the first time."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say: Callable[[], None] | None = say

    def on_start(self, event: Any) -> None:
        """Speak, once."""
        if self._say is not None:
            say, self._say = self._say, None
            say()

    def on_end(self, event: Any) -> None:
        """Say nothing more."""


@contextmanager
def on_first_compilation(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` if a kernel has to be compiled, which takes seconds and happens once a machine."""
    with event.install_listener("numba:compile", _Once(say)):
        yield
