"""Files and folders that are written completely or not at all.

Everything is written to a hidden name beside its destination, forced to the disk, and moved there
in the last step. A process that is killed at any moment leaves the old content or the new content,
never half of either, and never neither:

- a file is replaced by one rename;
- a folder that replaces another is exchanged with it in one step (Linux, macOS). Where the system
  or the file system cannot do that, the old folder is first renamed; `recover` undoes that.

The hidden names are ``.NAME.partial-MARK`` and ``.NAME.old-MARK``. The mark tells the machine, its
boot and the process, and a living writer holds a lock on what it writes. `recover` removes or
restores what dead writers left; every writer calls it first.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tamis.core.errors import OutputError, TamisError

#: The file that makes a folder what it is.
MARKERS = {
    "run": "run.json",
    "model": "model.json",
    "comparison": "compare.json",
    "column store": "meta.json",
    "row store": "meta.json",
}

_LEFT = re.compile(r"\.(.+)\.(partial|old)-([0-9a-f]{6})-([0-9a-f]{6})-(\d+)-[0-9a-f]{8}", re.S)
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


# --- writing --------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, hint: str = "nothing was written"
) -> Iterator[IO[bytes]]:
    """Open a binary file that takes the place of `path` when the block ends without an error.

    Links are followed. A device or a pipe is written to directly. `hint` ends the sentence of the
    error if the disk does not take the file.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"{path} cannot be written (Is a directory)")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    with Partial(target, hint=hint) as partial:
        with partial.path.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial.path, target)
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], kind: str, *, force: bool = False
) -> Iterator[Path]:
    """Make a folder that takes the place of `path` when the block ends without an error.

    `kind` is a key of `MARKERS`. With `force`, a folder of the same kind, or an empty one, is
    replaced.
    """
    with Partial(Path(os.path.realpath(path)), folder=True) as partial:
        _refuse_taken(path, kind, force)
        yield partial.path
        partial.publish(force=force)


@contextlib.contextmanager
def scratch_folder(parent: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a hidden folder that is removed when the block ends, or by `recover` after a kill."""
    with Partial(Path(os.path.realpath(parent)) / "tamis", folder=True) as partial:
        yield partial.path


def scratch_for(owner: object, parent: str | os.PathLike[str]) -> Path:
    """Make a hidden folder that is removed with `owner`, or by `recover` after a kill."""
    partial = Partial(Path(os.path.realpath(parent)) / "tamis", folder=True)
    weakref.finalize(owner, partial.__enter__().__exit__, None, None, None)
    return partial.path


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder, and those above it, unless it exists."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({reason(error)})") from error
    return Path(path)


def check_folder(path: str | os.PathLike[str], kind: str, *, force: bool = False) -> None:
    """Raise a one-sentence error if `atomic_folder` would; call it before long work."""
    with Partial(Path(os.path.realpath(path)), folder=True):
        _refuse_taken(path, kind, force)


def _refuse_taken(path: str | os.PathLike[str], kind: str, force: bool) -> None:
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target):
        return
    if not force:
        raise OutputError(
            f"{path} already exists; choose another name, or use --force (force=True)"
        )
    if not (target / MARKERS[kind]).is_file() and not _is_empty(target):
        raise OutputError(f"{path} exists and is not a {kind}; it will not be replaced")


def kind_of(folder: str | os.PathLike[str]) -> str:
    """Return "run", "model" or "comparison" for a folder that holds one, else ""."""
    recover_missing(folder)
    for kind in ("run", "model", "comparison"):
        if os.path.isfile(os.path.join(folder, MARKERS[kind])):
            return kind
    return ""


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


class Partial:
    """A file or folder that is being written beside its destination; a context manager.

    On entry, `path` is made (a folder) or may be made (a file). On exit, what is still there is
    removed. Errors of the disk become one sentence.
    """

    def __init__(
        self, target: Path, *, folder: bool = False, hint: str = "nothing was written"
    ) -> None:
        self.target, self.folder, self.hint = target, folder, hint
        self.path = target

    def __enter__(self) -> Self:
        if not self.target.parent.is_dir():
            raise OutputError(f"the folder {self.target.parent} does not exist; make it first")
        try:
            recover(self.target.parent)
            self._lock: int | None = None
            while self._lock is None:
                self.path = self.target.with_name(f".{self.target.name}.partial-{_new_mark()}")
                if self.folder:
                    self.path.mkdir()
                else:
                    self.path.touch(exist_ok=False)
                self._lock = _lock(self.path)  # None: another process took it for a dead one's
        except OSError as error:
            raise OutputError(f"{self.target} cannot be written ({reason(error)})") from error
        except BaseException:  # Ctrl-C before `with` would remove it
            self.discard()
            raise
        return self

    def discard(self) -> None:
        """Remove what was made, where nothing is going to be written."""
        if self.path != self.target:
            _remove(self.path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        _remove(self.path)
        if self._lock is not None and self._lock >= 0:
            os.close(self._lock)
        if error is not None and self._is_about_writing(error):
            raise OutputError(
                f"{self.target} cannot be written ({reason(error)}); {self.hint}"
            ) from error

    def publish(self, *, force: bool) -> None:
        """Force the folder to the disk and move it to its destination."""
        for place, _, names in os.walk(self.path):
            for name in names:
                _sync(os.path.join(place, name))
            _sync(place)
        if not os.path.lexists(self.target) or _is_empty(self.target):
            os.rename(self.path, self.target)
        elif not force:
            raise OutputError(f"{self.target} was made by another process; choose another name")
        elif not exchange(self.path, self.target):
            _replace(self.path, self.target)
        _sync(self.target.parent)

    def _is_about_writing(self, error: BaseException) -> bool:
        if isinstance(error, TamisError):
            return False
        if isinstance(error, OSError):
            within = str(error.filename or "").startswith(str(self.path))
            return error.errno is None or error.errno in _DISK or within
        arrow = sys.modules.get("pyarrow")
        return arrow is not None and isinstance(error, arrow.ArrowException)


# --- replacing ------------------------------------------------------------------------------


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False where the system cannot."""
    call, folder = _exchange_call()
    if call is None:
        return False
    import ctypes

    done = call(*folder, os.fsencode(one), *folder, os.fsencode(other), 2)
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


@functools.cache
def _exchange_call() -> tuple[Any, tuple[Any, ...]]:
    """Return the function of the C library, and what precedes each of its two names."""
    import ctypes

    here = ctypes.c_int(-100)  # AT_FDCWD: names that do not begin with / are of this folder
    known = {"linux": ("renameat2", (here,)), "darwin": ("renamex_np", ())}
    with contextlib.suppress(KeyError, AttributeError, OSError):
        name, folder = known[sys.platform]
        return getattr(ctypes.CDLL(None, use_errno=True), name), folder
    return None, ()


def _replace(work: Path, target: Path) -> None:
    """Replace a folder in two renames; what to do after Ctrl-C is read from the disk."""
    old = target.with_name(f".{target.name}.old-{_new_mark()}")
    lock = _lock(target)
    try:
        os.rename(target, old)
        os.rename(work, target)
    finally:
        if not os.path.lexists(target) and os.path.lexists(old):
            os.rename(old, target)
        _remove(old)
        if lock is not None and lock >= 0:
            os.close(lock)


def recover(parent: str | os.PathLike[str]) -> None:
    """Restore or remove what writers that were killed left in a folder."""
    with contextlib.suppress(OSError):
        found = [(name, match) for name in os.listdir(parent) if (match := _LEFT.fullmatch(name))]
        for name, match in sorted(found):  # ".old" before ".partial"
            path = Path(parent, name)
            with _held_if_dead(path, *match.group(3, 4, 5)) as is_dead:
                if is_dead:
                    _restore_or_remove(path, Path(parent, match[1]), match[2])


def recover_missing(path: str | os.PathLike[str]) -> None:
    """Restore a folder that is not there because its writer was killed while replacing it."""
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target):
        recover(target.parent)


def _restore_or_remove(path: Path, target: Path, what: str) -> None:
    if what == "old" and not os.path.lexists(target):
        os.rename(path, target)
    else:
        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


# --- who writes -----------------------------------------------------------------------------


@functools.cache
def _here() -> tuple[str, str]:
    """Return short marks of this machine and of its boot, which containers share."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    host = hashlib.blake2b(platform.node().encode(), digest_size=3).hexdigest()
    return host, hashlib.blake2b((boot or host).encode(), digest_size=3).hexdigest()


def _new_mark() -> str:
    host, boot = _here()
    return f"{host}-{boot}-{os.getpid()}-{secrets.token_hex(4)}"


def _lock(path: Path) -> int | None:
    """Lock a file or folder until the process ends or the handle that is returned is closed.

    None if another process holds or has removed it; -1 where the system has no locks on folders.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return -1
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(handle)
            return -1
    os.close(handle)
    return None


@contextlib.contextmanager
def _held_if_dead(path: Path, host: str, boot: str, pid: str) -> Iterator[bool]:
    """Hold what a writer left and tell whether that writer is dead; unknown counts as alive."""
    here = _here()
    if boot != here[1]:
        yield host == here[0]  # this machine, before it was started again
        return
    handle = _lock(path)
    try:
        asked = handle == -1 and host == here[0] and not _runs(int(pid))
        yield asked or (handle is not None and handle >= 0)
    finally:
        if handle is not None and handle >= 0:
            os.close(handle)


def _runs(pid: int) -> bool:
    if os.name == "nt":  # where asking would interrupt it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# --- the disk -------------------------------------------------------------------------------


def _sync(path: str | os.PathLike[str]) -> None:
    """Force a file, or the names in a folder, to the disk."""
    try:
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not os.path.isdir(path):  # not every system can do that to folders
            raise


def reason(error: BaseException) -> str:
    """Return what went wrong, on one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")
