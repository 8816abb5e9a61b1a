"""The decorators that compile kernels: every option of numba is set here.

* ``nogil``: kernels run in threads, which split columns, never rows.
* no ``fastmath``: decisions rest on fixed-order sums, which are bit-identical on every path.
* ``cache``: compiled code is cached on disk; set ``TAMIS_NO_CACHE=1`` to compile every time.
* ``error_model="numpy"``: a division does not branch to raise.

Compiled code is loaded without numba's refresh, which imports the implementations of everything
that a kernel may call and took a third of the time of a short command. Compiled code needs none of
them, and the compiler still refreshes. Set ``TAMIS_NUMBA_REFRESH=1`` to load as numba does.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.cpu import CPUContext
from numba.core.runtime.nrt import rtsys

from tamis.kernels._uncompiled import FirstCall, NotCompiledError, is_asked

CACHE = os.environ.get("TAMIS_NO_CACHE", "") in ("", "0")


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel: arrays and numbers in, arrays and numbers out."""
    return _cached(numba.njit(nogil=True, error_model="numpy", **_NOT_FROM_C)(function))


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper of kernels that makes no array; LLVM decides whether to inline it.

    Arrays passed to it are not reference-counted while it runs (`_nrt=False`). Counting costs two
    atomic additions per array and call, which took three quarters of the time of a text parser.
    """
    options = {"_nrt": False} | _NOT_FROM_C
    return _cached(numba.njit(nogil=True, error_model="numpy", **options)(function))


def always_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper as `inline` does, but always into its caller.

    LLVM leaves a call of a helper this large, and each array passed to it counts as seven numbers.
    """
    options = {"_nrt": False, "forceinline": True} | _NOT_FROM_C
    return _cached(numba.njit(nogil=True, error_model="numpy", **options)(function))


#: Options that are missing from numba's own types: nothing calls kernels from C, and wrappers take
#: a twentieth of the time to compile. (Those for Python stay: without them a call from Python, such
#: as from a kernel that a test runs uncompiled, crashes.)
_NOT_FROM_C: dict[str, Any] = {"no_cfunc_wrapper": True}


# --- compiled code on disk -------------------------------------------------------------------


class _Cache(FunctionCache):
    """Compiled code on disk, opened at first use and loaded without `target_context.refresh()`.

    A command imports ten times as many kernels as it calls, and to open a cache is to write a
    temporary file next to it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._open: Callable[[], None] | None = lambda: FunctionCache.__init__(self, function)
        self.disable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code; None if it was never compiled for these types.

        Code of an older version may refer to a module that has another name now. It is compiled
        again, and replaced.
        """
        if self._open is not None:
            open_cache, self._open = self._open, None
            _unless_read_only(open_cache)
        rtsys.initialize(target_context)  # the only part of a refresh that compiled code needs
        runs_in_python, found = is_asked(), None
        with self._guard_against_spurious_io_errors(), suppress(ModuleNotFoundError):
            found = self._load_overload(sig, target_context)
        if found is None and runs_in_python:
            raise NotCompiledError
        return found


def _is_as_known() -> bool:
    """Return True if this numba loads compiled code as `_Cache` assumes."""
    try:
        loads = FunctionCache.load_overload.__code__.co_names
        refreshes = CPUContext.load_additional_registries.__code__.co_names
    except AttributeError:
        return False
    steps = ("refresh", "_guard_against_spurious_io_errors", "_load_overload")
    return loads == steps and refreshes[:2] == ("rtsys", "initialize")


_SKIPS_REFRESH = _is_as_known() and os.environ.get("TAMIS_NUMBA_REFRESH", "") in ("", "0")


def _cached(kernel: Any) -> Callable[..., Any]:
    """Cache the compiled code of a kernel on disk, if a folder is writable."""
    if CACHE and hasattr(kernel, "enable_caching"):  # numba may be switched off
        if _SKIPS_REFRESH:
            kernel._cache = _Cache(kernel.py_func)
            kernel._compile_for_args = FirstCall(kernel)
        else:
            _unless_read_only(kernel.enable_caching)
    return kernel  # type: ignore[no-any-return]


def _unless_read_only(open_cache: Callable[[], None]) -> None:
    """Open the cache of a kernel; warn, once, if no folder is writable."""
    global CACHE
    try:
        if CACHE:
            open_cache()
    except RuntimeError:  # no writable folder
        CACHE = False
        warnings.warn(
            "compiled code cannot be cached, because no folder for it is writable, so every "
            "process compiles again; set NUMBA_CACHE_DIR to a writable folder",
            stacklevel=3,
        )


# --- progress ---------------------------------------------------------------------------------


class _Compilations(event.Listener):
    """Call a function when the first kernel is compiled; pause the garbage collector meanwhile.

    The compiler allocates so much that looking for garbage takes a tenth of its time.
    """

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._running, self._pauses, self._lock = 0, False, threading.Lock()

    def on_start(self, event: Any) -> None:
        """Call the function, once, and pause the collector."""
        with self._lock:
            callback, self._callback = self._callback, None
            self._running += 1
            if self._running == 1 and gc.isenabled():
                gc.disable()
                self._pauses = True
        if callback is not None:
            callback()

    def on_end(self, event: Any) -> None:
        """Let the collector run again when nothing is compiled."""
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self.end_pause()

    def end_pause(self) -> None:
        """Let the collector run again."""
        if self._pauses:
            gc.enable()
            self._pauses = False


#: Whether this process has reported that it compiles.
_reported = False


def _report_once() -> None:
    global _reported
    if not _reported:
        _reported = True
        logging.getLogger("tamis").warning(
            "compiling kernels, which takes a few seconds, once per machine and kind of data"
        )


def announced() -> AbstractContextManager[None]:
    """Log, once per process, that kernels are compiled, if that happens inside the block."""
    return on_first_compilation(_report_once)


@contextmanager
def on_first_compilation(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` if a kernel must be compiled (a few seconds, once per machine)."""
    compilations = _Compilations(callback)
    try:
        with event.install_listener("numba:compile", compilations):
            yield
    finally:
        compilations.end_pause()  # an exception may have left the compiler
