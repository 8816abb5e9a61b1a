"""Files and folders that are written completely or not at all.

Everything is written under a hidden name next to its destination, flushed to disk, and moved into
place in the last step. A process that is killed at any moment leaves either the old content or the
new content, never a partial file or nothing:

- a file is replaced by one rename;
- a folder that replaces another is exchanged with it in one step (Linux, macOS). Where the system
  or the file system cannot do this, the old folder is renamed first; `recover` undoes that.

The hidden names are ``.NAME.partial-MARK`` and ``.NAME.old-MARK``. The mark identifies the
machine, its boot and the process, and a running writer holds a lock on what it writes. `recover`
removes or restores what killed writers left behind; every writer calls it first.

Checksums show whether what is read is what was written. They find damage, not forgery: whoever
changes a file can write another checksum.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tamis.core.errors import OutputError, SourceError, TamisError
from tamis.core.writers import before_replacing

#: The file that identifies each kind of folder.
MARKERS = {
    "run": "run.json",
    "model": "model.json",
    "comparison": "compare.json",
    "path": "path.json",
    "column store": "meta.json",
    "row store": "meta.json",
}

#: The key of a JSON record that holds the checksum of all others.
CHECKSUM = "checksum"

_LEFT = re.compile(r"\.(.+)\.(partial|old)-([0-9a-f]{6})-([0-9a-f]{6})-(\d+)-[0-9a-f]{8}", re.S)
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


# --- writing --------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, hint: str = "nothing was written"
) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the block ends without an error.

    Links are followed. A device or a pipe is written to directly. `hint` ends the
    error message if the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"{path} cannot be written (Is a directory)")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    with partial(target, hint=hint) as work:
        with work.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, target)
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], kind: str, *, force: bool = False
) -> Iterator[Path]:
    """Make a folder that replaces `path` when the block ends without an error.

    `kind` is a key of `MARKERS`. With `force`, a folder of the same kind, or an empty one, is
    replaced.
    """
    with partial(path, kind, force=force) as work:
        yield work
        publish(work, path, force=force)


def check_folder(path: str | os.PathLike[str], kind: str, *, force: bool = False) -> None:
    """Raise a one-sentence error if `atomic_folder` would; call it before long work."""
    with partial(path, kind, force=force):
        pass


def scratch_folder(parent: str | os.PathLike[str]) -> contextlib.AbstractContextManager[Path]:
    """Make a hidden folder that is removed when the block ends, or by `recover` after a kill."""
    return partial(Path(parent, "tamis"), "folder")


def scratch_for(owner: object, parent: str | os.PathLike[str]) -> Path:
    """Make a hidden folder that is removed with `owner`, or by `recover` after a kill."""
    scratch = scratch_folder(parent)
    path = scratch.__enter__()
    weakref.finalize(owner, scratch.__exit__, None, None, None)
    return path


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and its parents, unless it exists."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({reason(error)})") from error
    return Path(path)


def kind_of(folder: str | os.PathLike[str]) -> str:
    """Return "run", "model", "comparison" or "path" for a folder that holds one, else ""."""
    recover_missing(folder)
    kinds = ("run", "model", "comparison", "path")
    return next((k for k in kinds if os.path.isfile(os.path.join(folder, MARKERS[k]))), "")


@contextlib.contextmanager
def partial(
    path: str | os.PathLike[str],
    kind: str = "file",
    *,
    force: bool = False,
    hint: str = "nothing was written",
) -> Iterator[Path]:
    """Make a file or folder next to its destination, to be moved there; remove leftovers.

    `kind` is "file", "folder" or a key of `MARKERS`; a destination that `atomic_folder` would not
    replace is refused. Disk errors become one-sentence errors.
    """
    target = Path(os.path.realpath(path))
    if not os.fspath(path) or not target.name or not target.parent.is_dir():
        raise _no_place(path, target)
    work, named, lock = target, False, None
    try:
        try:
            recover(target.parent)
            while lock is None:  # None: another process removed it as abandoned
                mark = f"{'-'.join(_here())}-{os.getpid()}-{secrets.token_hex(4)}"
                work, named = target.with_name(f".{target.name}.partial-{mark}"), True
                if kind == "file":
                    work.touch(exist_ok=False)
                else:
                    work.mkdir()
                lock = _lock(work)
        except OSError as error:
            raise OutputError(f"{target} cannot be written ({reason(error)})") from error
        if kind in MARKERS and os.path.lexists(target):
            _refuse_replacing(target, path, kind, force)
        try:
            yield work
        except Exception as error:
            if _is_about_writing(error, work):
                message = f"{target} cannot be written ({reason(error)}); {hint}"
                raise OutputError(message) from error
            raise
    finally:  # also after Ctrl-C, from the moment the name was chosen
        # Every call below can be the moment of Ctrl-C, before its first line as well.
        try:
            if named:
                _remove(work)
        except KeyboardInterrupt:
            if named:
                _remove(work)
            raise
        finally:
            if lock is not None and lock >= 0:
                os.close(lock)


def _no_place(path: str | os.PathLike[str], target: Path) -> OutputError:
    """Return a one-sentence error about a path where nothing can be written."""
    if not os.fspath(path) or not target.name:
        where = "it is the root of a disk" if os.fspath(path) else "its name is empty"
        return OutputError(f"'{path}' cannot be written ({where}); choose another name")
    return OutputError(f"the folder {target.parent} does not exist; make it first")


def _refuse_replacing(target: Path, path: str | os.PathLike[str], kind: str, force: bool) -> None:
    if not force:
        raise OutputError(
            f"{path} already exists; choose another name, or use --force (force=True)"
        )
    if not (target / MARKERS[kind]).is_file() and not _is_empty(target):
        raise OutputError(f"{path} exists and is not a {kind}; it will not be replaced")
    with before_replacing(Path(path), wait=False):  # an error before long work, not after it
        pass


def _is_about_writing(error: Exception, work: Path) -> bool:
    if isinstance(error, TamisError):
        return False
    if isinstance(error, OSError):
        within = str(error.filename or "").startswith(str(work))
        return error.errno is None or error.errno in _DISK or within
    arrow, sqlite = sys.modules.get("pyarrow"), sys.modules.get("sqlite3")
    if arrow is not None and isinstance(error, arrow.ArrowException):
        return True
    return sqlite is not None and isinstance(error, sqlite.OperationalError)


# --- replacing ------------------------------------------------------------------------------


def publish(work: Path, path: str | os.PathLike[str], *, force: bool) -> None:
    """Flush a folder that `partial` made to disk and move it to its destination."""
    target = Path(os.path.realpath(path))
    for place, _, names in os.walk(work):
        for name in names:
            _sync(os.path.join(place, name))
        _sync(place)
    if not os.path.lexists(target) or _is_empty(target):
        os.rename(work, target)
    elif not force:
        raise OutputError(f"{target} was made by another process; choose another name")
    else:
        with before_replacing(target, wait=True):
            if not exchange(work, target):
                _replace(work, target)
    _sync(target.parent)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False where the system cannot."""
    import ctypes

    names = os.fsencode(one), os.fsencode(other)
    here = ctypes.c_int(-100)  # AT_FDCWD: relative names are in the current folder
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "linux":
            done = library.renameat2(here, names[0], here, names[1], 2)
        elif sys.platform == "darwin":
            done = library.renamex_np(*names, 2)
        else:
            return False
    except (AttributeError, OSError):  # an older C library
        return False
    number = ctypes.get_errno()
    if done != 0 and number not in _UNSUPPORTED:
        raise OSError(number, os.strerror(number), str(other))
    return bool(done == 0)


def _replace(work: Path, target: Path) -> None:
    """Replace a folder in two renames; after Ctrl-C, the disk shows which step to undo."""
    mark = work.name.rpartition(".partial-")[2]
    old = target.with_name(f".{target.name}.old-{mark}")
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
    """Restore or remove what killed writers left in a folder."""
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(parent)):  # ".old" before ".partial"
            left = _LEFT.fullmatch(name)
            if left is None:
                continue
            path, target = Path(parent, name), Path(parent, left[1])
            host, boot = left[3] == _here()[0], left[4] == _here()[1]
            lock = _lock(path) if boot else None
            try:
                if lock == -1:
                    dead = host and not _runs(int(left[5]))
                else:  # it can be locked, or dates from before this machine was rebooted
                    dead = lock is not None if boot else host
                if dead and left[2] == "old" and not os.path.lexists(target):
                    os.rename(path, target)
                elif dead:
                    _remove(path)
            finally:
                if lock is not None and lock >= 0:
                    os.close(lock)


def recover_missing(path: str | os.PathLike[str]) -> None:
    """Restore a folder that is missing because its writer was killed while replacing it."""
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target):
        recover(target.parent)


def _remove(path: Path) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        try:
            shutil.rmtree(path, ignore_errors=True)
        except OSError as error:
            # Not ignored, so not about the folder: after Ctrl-C, Python 3.11 and 3.12 can close a
            # handle twice, and "Bad file descriptor" hides the interrupt.
            raise KeyboardInterrupt from error
    else:
        with contextlib.suppress(OSError):
            path.unlink()


# --- who writes -----------------------------------------------------------------------------


@functools.cache
def _here() -> tuple[str, str]:
    """Return short identifiers of this machine and of its boot, which containers share."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    host = hashlib.blake2b(platform.node().encode(), digest_size=3).hexdigest()
    return host, hashlib.blake2b((boot or host).encode(), digest_size=3).hexdigest()


def _lock(path: Path) -> int | None:
    """Lock a file or folder until the process ends or the returned handle is closed.

    Return None if another process holds or has removed it; -1 where the system cannot lock folders.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return -1
    handle = failed = None
    try:
        handle = os.open(path, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except FileNotFoundError:
        pass
    except OSError as error:
        if handle is None:
            raise
        failed = None if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else -1
    if handle is not None:
        os.close(handle)
    return failed


def _runs(pid: int) -> bool:
    if os.name == "nt":  # where the check would interrupt the process
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


# --- the disk -------------------------------------------------------------------------------


def _sync(path: str | os.PathLike[str]) -> None:
    """Flush a file, or the names in a folder, to disk."""
    try:
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not os.path.isdir(path):  # not every system can flush folders
            raise


def reason(error: BaseException) -> str:
    """Return what went wrong, on one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def refuse_unreadable(folder: str | os.PathLike[str]) -> None:
    """Raise a one-sentence error if this user may not read a file of a folder."""
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if not os.access(os.path.join(folder, name), os.R_OK):
                raise SourceError(f"{folder} cannot be read, because this user may not read {name}")


def refuse_endless(path: str | os.PathLike[str]) -> None:
    """Raise an OSError for a pipe or a device: reading all of it may never end."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, f"{os.path.basename(path)} is not a regular file")


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file of a run, model or store, which someone else may have made."""
    refuse_endless(path)
    with open(path, "rb") as file:
        return file.read()


# --- checksums ------------------------------------------------------------------------------

_digest = functools.partial(hashlib.blake2b, digest_size=16)


def with_checksum(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record for JSON with a checksum of its content as the last entry."""
    plain = json.loads(json.dumps(record))  # tuples are lists, and keys are text, once it is read
    content = json.dumps(plain, sort_keys=True).encode()
    return {**record, CHECKSUM: _digest(content).hexdigest()}


def check_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record from JSON without its checksum; raise ValueError if that does not fit.

    Records of earlier versions have none.
    """
    rest = {key: value for key, value in record.items() if key != CHECKSUM}
    if CHECKSUM in record and record[CHECKSUM] != with_checksum(rest)[CHECKSUM]:
        raise ValueError("it has changed since it was written")
    return rest


def file_checksum(path: str | os.PathLike[str]) -> str:
    """Return the checksum of a file."""
    refuse_endless(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _digest).hexdigest()
