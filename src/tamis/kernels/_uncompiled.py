"""Kernels that were never compiled run in Python while there is little data.

To compile the kernels of a first selection takes ten seconds. To run the same functions in Python
on a table of a few hundred rows takes less than one. So a kernel is compiled when one call takes
longer than `CALL` in Python, and every kernel when all calls together took longer than `PROCESS`.
A call that takes too long is undone first.

The results are those of compiled code, bit for bit. Only the kernels in `CHECKED` run in Python,
for which tests compare both. What Python computes in another way is left to the compiler: powers,
numbers of 32 bits, and every call that overflows or fails in Python. Logarithms and exponentials
are those of the C library, which compiled code calls too.

Set ``TAMIS_COMPILE=1`` to compile every kernel that is called.
"""

from __future__ import annotations

import dis
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

#: CPU seconds in Python: of one call, and of all calls of a process.
CALL, PROCESS = 0.5, 2.0

#: Longer loops are not begun in Python, and larger arrays are not copied for it.
LONGEST, LARGEST = 100_000, 300_000

_CHECKED = {
    "beta_tails": "upper_tails",
    "bin_cells": "least_of_cells",
    "compressed_checks": "first_broken",
    "correlation": "centre dense_relevance pair_correlation relevance",
    "exact_counts": "attained exact_tests",
    "exact_tests": "gate_columns mark_open test_columns test_many_levels test_whole_levels",
    "gate_levels": "invest shares_of",
    "hashing": "checksum_parts hash_columns hash_names",
    "information": "dense_relevance pair_information relevance relevance_by_value",
    "levels": "compress encode encode_whole",
    "rank_sums": "rank_sum_tests",
    "rowlists": "append_column",
    "saddle_point": "find_doubted find_trusted retest_against_numbers retest_smooth",
    "scan": "scan sift",
    "shape_pairs": "list_columns pair_shapes",
    "shapes": "relevance shape_columns",
    "walk": "walk_correlations walk_information",
    "worth": "enter leave mark_ties",
}

#: The kernels that run in Python, with all that they call.
CHECKED = {f"{module}.{name}" for module, names in _CHECKED.items() for name in names.split()}

#: Those in which whole numbers without a sign overflow on purpose, as they do in compiled code.
_WRAP = frozenset({"hashing.hash_columns", "hashing.hash_names"})

#: Those that write to arrays of 32 bits, but do not read them.
_WRITE_FLOAT32 = frozenset({"scan.sift"})

#: The types of arrays that Python computes with as compiled code does.
_KINDS = {np.dtype(kind) for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f8")}

_POWERS = ("**", "**=")


class NotCompiledError(Exception):
    """There is no compiled code of a kernel for these types."""


class _TooLongError(Exception):
    """A call takes too long in Python."""


class _Clock:
    """The CPU seconds that are left in this process, and when the current call has to end."""

    left = PROCESS
    end = 0.0


_clock, _lock = _Clock(), threading.RLock()


def _unlock() -> None:
    """Make a new lock after a fork: a thread that held the old one is not in the child."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _range(*bounds: int) -> range:
    """Return a range; every loop over one looks at the clock."""
    steps = range(*bounds)
    if len(steps) > LONGEST or time.thread_time() > _clock.end:
        raise _TooLongError
    return steps


# --- functions ----------------------------------------------------------------------------------


class _Functions:
    """The functions of kernels, which call each other instead of compiled code."""

    def __init__(self) -> None:
        self._of: dict[Dispatcher, Callable[..., Any] | None] = {}
        self._names: dict[str, dict[str, Any]] = {}

    def of(self, kernel: Dispatcher) -> Callable[..., Any] | None:
        """Return the function of a kernel; None if Python would compute something else."""
        if kernel not in self._of:
            self._of[kernel] = self._made(kernel) if self._is_same(kernel, set()) else None
        return self._of[kernel]

    def _is_same(self, kernel: Dispatcher, seen: set[Dispatcher]) -> bool:
        """Return True if neither a kernel nor those that it calls use powers."""
        seen.add(kernel)
        code, names = kernel.py_func.__code__, kernel.py_func.__globals__
        if any(step.argrepr in _POWERS for step in dis.get_instructions(code)):
            return False
        called = [names.get(name) for name in code.co_names]
        return all(
            self._is_same(one, seen)
            for one in called
            if isinstance(one, Dispatcher) and one not in seen
        )

    def _made(self, kernel: Dispatcher) -> Callable[..., Any]:
        function = kernel.py_func
        names = self._names_of(function.__module__)
        found: Callable[..., Any] = names[function.__name__]
        return found

    def _names_of(self, module: str) -> dict[str, Any]:
        """Return the names of a module; each kernel among them stands for its function."""
        if module in self._names:
            return self._names[module]
        names = self._names[module] = dict(vars(sys.modules[module]))
        names["range"] = _range
        for name, value in names.items():
            if isinstance(value, Dispatcher):
                function = value.py_func
                if function.__module__ != module:
                    names[name] = self._names_of(function.__module__)[function.__name__]
                else:
                    names[name] = FunctionType(
                        function.__code__, names, name, function.__defaults__, function.__closure__
                    )
            elif value is np:
                names[name] = _NUMPY
            elif name == "prefetch":
                names[name] = _nothing
        return names


def _nothing(array: Any, index: Any) -> None:
    """Replace a hint to the processor."""


#: NumPy with the logarithms and exponentials of the C library; NumPy's own may differ in a bit.
_NUMPY = SimpleNamespace(**vars(np))
_NUMPY.log, _NUMPY.log2, _NUMPY.exp = math.log, math.log2, math.exp

_functions = _Functions()


# --- calls --------------------------------------------------------------------------------------

#: What kernels were not found on disk, and which are compiled whatever they are called with.
_missing: set[tuple[Dispatcher, Any]] = set()
_compiled: set[Dispatcher] = set()

_asking = threading.local()


def is_asked() -> bool:
    """Return True, once, if a kernel that was not found on disk can run in Python."""
    asked = getattr(_asking, "now", False)
    _asking.now = False
    return asked


def is_small(values: tuple[Any, ...], float32: bool = False) -> bool:
    """Return True if Python can work on copies of these values as compiled code does."""
    for value in values:
        if isinstance(value, np.ndarray):
            known = value.dtype in _KINDS or (float32 and value.dtype == np.float32)
            if not known or value.size > LARGEST:
                return False
        elif isinstance(value, tuple):
            if not is_small(value, float32):
                return False
        elif not isinstance(value, (bool, int, float, np.bool_, np.integer, np.float64)):
            return False
    return True


def _arrays(values: tuple[Any, ...], found: list[Any]) -> list[Any]:
    """Return the arrays that a kernel may change."""
    for value in values:
        if isinstance(value, tuple):
            _arrays(value, found)
        elif isinstance(value, np.ndarray) and value.flags.writeable:
            found.append(value)
    return found


def _as_compiled(value: Any) -> Any:
    """Return a result as compiled code does: numbers of Python."""
    if isinstance(value, tuple):
        return type(value)(map(_as_compiled, value)) if type(value) is tuple else value
    return value.item() if isinstance(value, np.generic) else value


class FirstCall:
    """What a kernel calls when it has no compiled code for the types of its arguments."""

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel
        self._compile: Callable[..., Any] = kernel._compile_for_args  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return what runs the kernel: compiled code, or its function in Python."""
        kernel = self._kernel
        if named or _clock.left <= 0 or kernel in _compiled or not can_run(kernel, args):
            return self._compile(*args, **named)
        types = (kernel, tuple(map(kernel.typeof_pyval, args)))
        if types not in _missing:
            _asking.now = True
            try:
                return self._compile(*args)
            except NotCompiledError:
                _missing.add(types)
            finally:
                _asking.now = False
        return self._in_python

    def _in_python(self, *args: Any) -> Any:
        """Run the function of a kernel; if it takes too long or fails, undo that and compile."""
        found = in_python(self._kernel, args, min(CALL, _clock.left))
        if found:
            return found[0]
        _compiled.add(self._kernel)
        return self._kernel(*args)


def in_python(kernel: Dispatcher, args: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
    """Run a kernel in Python; return what it returns, in a tuple, or () if that was undone."""
    function = _functions.of(kernel)
    if function is None:
        return ()
    with _lock:
        start = time.thread_time()
        _clock.end = start + seconds
        arrays = _arrays(args, [])
        before = [array.copy() for array in arrays]
        try:
            over: Any = "ignore" if name_of(kernel) in _WRAP else "raise"
            with np.errstate(over=over, divide="ignore", invalid="ignore", under="ignore"):
                return (_as_compiled(function(*args)),)
        except BaseException as error:
            for array, old in zip(arrays, before, strict=True):
                array[...] = old
            if not isinstance(error, Exception):  # Ctrl-C; compiled code raises all others
                raise
            return ()
        finally:
            _clock.left -= time.thread_time() - start


def can_run(kernel: Dispatcher, args: tuple[Any, ...]) -> bool:
    """Return True if a kernel may be called in Python with these arguments."""
    name = name_of(kernel)
    return (
        name in CHECKED
        and is_small(args, name in _WRITE_FLOAT32)
        and _functions.of(kernel) is not None
    )


def name_of(kernel: Dispatcher) -> str:
    """Return the module and the name of a kernel."""
    return f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}"


@contextmanager
def compiling() -> Iterator[None]:
    """Compile every kernel that is called inside the block, as on large data."""
    before, _clock.left = _clock.left, 0.0
    try:
        yield
    finally:
        _clock.left = before


# NumPy 1 adds numbers of different types in another way.
if os.environ.get("TAMIS_COMPILE", "") not in ("", "0") or np.__version__.startswith("1."):
    _clock.left = 0.0
