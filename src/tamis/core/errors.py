"""The exceptions of tamis. Each message is one sentence that explains what to do."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType

from tamis.core.masking import masked


class TamisError(Exception):
    """An error that a user can fix; the command line prints it without a traceback.

    Passwords in the message are masked.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*map(masked, args))


class InputError(TamisError, ValueError):
    """The data cannot be used unchanged; `column` names the offending column, if there is one."""

    def __init__(self, *args: object, column: str | None = None) -> None:
        super().__init__(*args)
        self.column = column


class ParameterError(TamisError, ValueError):
    """A parameter is outside its declared range."""


class NotStartedError(TamisError, ValueError, AttributeError):
    """Something was requested of a selector that has not been started."""


class SourceError(TamisError, ValueError):
    """A file cannot be read; the message names file, line, byte and token if they are known."""


class OutputError(TamisError, OSError):
    """A file or folder cannot be written."""


class ClusterError(TamisError, RuntimeError):
    """The workers of a cluster cannot do a task."""


class MissingDependencyError(TamisError, ImportError):
    """An optional package is needed but not installed."""


#: What reading a damaged record raises, whatever part of it is wrong.
DAMAGE = (
    LookupError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, EOFError,
    RecursionError,
)  # fmt: skip


class DataWarning(UserWarning):
    """The data can be used, but the result may not mean what was intended."""


class ConvergenceWarning(DataWarning):
    """An optimisation ended before it reached its tolerance."""


def warn(sentence: str, kind: type[Warning] = DataWarning) -> None:
    """Warn at the line that called tamis, however deep inside tamis the cause was found."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "tamis":
        frame, level = frame.f_back, level + 1
    warnings.warn(masked(sentence), kind, stacklevel=level)


@contextmanager
def one_sentence(
    what: str, remedy: str, kinds: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """Turn a library's errors into a SourceError: what (the library's message); remedy."""
    try:
        yield
    except TamisError:
        raise
    except kinds as error:
        message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        message = message.split("LINE 1:")[0]  # after this, DuckDB repeats the query
        message = " ".join(message.split()).rstrip(".") or type(error).__name__
        raise SourceError(f"{what} ({message}); {remedy}") from error


def need(module: str, *, extra: str, what_for: str) -> ModuleType:
    """Import an optional package, or raise an error that names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{what_for} needs the package {module!r}; run: pip install 'tamis[{extra}]'"
        ) from error
