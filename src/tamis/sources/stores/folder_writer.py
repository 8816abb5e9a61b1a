"""Writes a store: into a folder beside it, moved into place as the very last step.

Until that move there is no store of that name (or still the one before), so a run that is killed
half-way never leaves something that looks whole.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import secrets
import shutil
from types import TracebackType
from typing import Any, ClassVar, Self

from tamis.core.errors import OutputError
from tamis.sources.stores.store_files import META, GrowingFile

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)


class FolderWriter:
    """A store in the making; used as a context manager.

    `folder` is the folder in the making, beside the store; what else needs room on disk meanwhile
    may use it too, and goes when the writer goes. Subclasses say what is written (`KIND`).
    """

    KIND: ClassVar[str]

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.overwrite = overwrite
        self._files: dict[str, GrowingFile] = {}
        parent, name = os.path.split(self.path)
        self.folder = os.path.join(parent, f"{_mark(name)}{os.getpid()}-{secrets.token_hex(4)}")
        if os.path.lexists(self.path):
            if not overwrite:
                raise OutputError(f"{path} exists; give another name or overwrite=True")
            if not os.path.isfile(os.path.join(self.path, META)):
                raise OutputError(f"{path} exists and is not a {self.KIND}; give another name")
        if not os.path.isdir(parent):
            raise OutputError(f"{path} cannot be written: the folder {parent} does not exist")

    def __enter__(self) -> Self:
        _clear_away(*os.path.split(self.path))
        try:
            os.mkdir(self.folder)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written ({error.strerror})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise OutputError(
                f"{self.path} cannot be written ({error.strerror}); nothing was kept"
            ) from error

    def _close(self) -> None:
        """Close what is still open."""
        for file in self._files.values():
            file.close()

    def _open(self, name: str, dtype: Any) -> GrowingFile:
        self._files[name] = GrowingFile(os.path.join(self.folder, name), dtype)
        return self._files[name]

    def _finish(self, meta: dict[str, Any]) -> None:
        """Write meta.json, make everything durable and move it into place."""
        with open(os.path.join(self.folder, META), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self.folder)
        self._move_into_place()

    def _move_into_place(self) -> None:
        parent, name = os.path.split(self.path)
        aside = os.path.join(parent, f".{name}.old-{secrets.token_hex(4)}")
        had_one = os.path.lexists(self.path)
        if had_one and not self.overwrite:
            raise OutputError(f"{self.path} came into being meanwhile; give another name")
        if had_one:
            os.rename(self.path, aside)
        try:
            os.rename(self.folder, self.path)
        except OSError:
            if had_one:
                os.rename(aside, self.path)
            raise
        _sync_folder(parent)
        if had_one:
            shutil.rmtree(aside, ignore_errors=True)


def _mark(name: str) -> str:
    """How the folder begins in which a store is being written on this machine."""
    return f".{name}.partial-{platform.node() or 'here'}-"


def _clear_away(parent: str, name: str) -> None:
    """Remove what writers of the same store left behind that were killed on this machine."""
    for entry in os.listdir(parent or "."):
        writer = entry.removeprefix(_mark(name)).partition("-")[0]
        if entry.startswith(_mark(name)) and writer.isdigit() and not _runs(int(writer)):
            shutil.rmtree(os.path.join(parent, entry), ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync_folder(path: str) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
