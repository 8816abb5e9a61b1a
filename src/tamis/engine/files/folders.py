"""A folder that is written beside its place and moved there as the last step: whole, or not."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tamis.core.errors import OutputError, TamisError

#: What a folder is, by a file that lies in it.
_TELLS = {"run": "run.json", "model": "model.json", "comparison": "compare.json"}


def kind_of(folder: str | os.PathLike[str]) -> str:
    """Which of "run", "model" and "comparison" tamis wrote to a folder; "" for none of them."""
    for kind, name in _TELLS.items():
        if os.path.isfile(os.path.join(folder, name)):
            return kind
    return ""


def real(folder: str | os.PathLike[str]) -> Path:
    """The place itself, behind links and dots."""
    return Path(os.path.realpath(folder))


def refuse_taken(
    folder: str | os.PathLike[str], ours: Callable[[Path], bool], kind: str, *, force: bool
) -> None:
    """Raise one sentence if `folder` cannot be written, or is there and may not be replaced.

    With `force`, what is `ours`, or empty, may be.
    """
    path = real(folder)
    if os.path.lexists(path):
        if not force:
            raise OutputError(
                f"{folder} is there already; choose another folder, or use --force (force=True)"
            )
        if not ours(path) and not (path.is_dir() and not any(path.iterdir())):
            raise OutputError(f"{folder} is there and is no {kind}; it will not be replaced")
    make_beside(path).rmdir()


def put_in_place(write: Callable[[Path], None], folder: str | os.PathLike[str]) -> Path:
    """Let the content be written into a hidden folder, which is then moved into place."""
    path = real(folder)
    work = make_beside(path)
    try:
        write(work)
        move_into_place(work, path)
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, TamisError):
            raise
        raise OutputError(
            f"{folder} cannot be written ({reason(error)}); nothing was kept"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Path(folder)


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
