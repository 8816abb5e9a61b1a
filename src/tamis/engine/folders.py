"""A folder that is written beside its place and moved there as the last step: whole, or not."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from tamis.core.errors import OutputError


def real(folder: str | os.PathLike[str]) -> Path:
    """The place itself, behind links and dots."""
    return Path(os.path.realpath(folder))


def make_beside(path: Path) -> Path:
    """Make a hidden folder beside `path`, where its content can grow."""
    if not os.path.isdir(path.parent):
        raise OutputError(f"there is no folder {path.parent} to write to; make it first")
    work = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
    try:
        work.mkdir()
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({reason(error)})") from error
    return work


def reason(error: BaseException) -> str:
    """What went wrong, on one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def move_into_place(work: Path, path: Path) -> None:
    """Put the finished folder where it belongs; an old one goes only after the new one is there.

    Ctrl-C may come between any two steps, so what to do next is read from the disk.
    """
    old = path.with_name(f".{path.name}.old-{secrets.token_hex(4)}")
    try:
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(work, path)
    finally:
        if not os.path.lexists(path) and os.path.lexists(old):
            os.rename(old, path)
        shutil.rmtree(old, ignore_errors=True)
