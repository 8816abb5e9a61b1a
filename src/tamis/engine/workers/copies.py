"""Copies of the kept set on workers: a base, and what changed since, each sent once.

A task names the base and the changes. A worker that has the base already reads only the changes
that are new to it. Nobody waits for the newest ones: with an older copy more survivors are left to
the driver, and the decisions are the same.
"""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tamis.methods.known_pairs import Copy
from tamis.methods.replaying import pairing

#: Changes are sent when they are this share of what is kept, or after so many tasks.
SHARE, OLD = 16, 16

#: A new base is sent after so many changes, or if they take more room than the base.
CHAIN = 16

#: Copies arrays once; Python's default for 3.11 copies them twice.
PROTOCOL = 5

#: How many runs a worker remembers the copy of.
RUNS = 4

#: The run, and the numbers of the base and the changes with references to them.
Version = tuple[str, Sequence[tuple[int, Any]]]


class Copies:
    """Sends what is kept to workers; `send` shares bytes with them, `forget` undoes that."""

    def __init__(
        self,
        selector: Any,
        send: Callable[[bytes], Any],
        forget: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._selector, self._send, self._forget = selector, send, forget
        self._run, self._number, self._age = uuid.uuid4().hex, 0, 0
        self._parts: list[tuple[int, Any]] = []
        self._before: list[tuple[int, Any]] = []
        self._base, self._changes = 0, 0  # bytes

    def latest(self) -> Version | None:
        """Return what a task needs to know, after sending what is due."""
        if not self._parts:
            self._send_base()
        else:
            self._age += 1
            changed = self._selector.n_changes
            if changed and (SHARE * changed >= len(self._selector.kept_) or self._age >= OLD):
                self._number += 1
                if len(self._parts) > CHAIN or self._changes > self._base:
                    self._send_base()
                else:
                    what = pickle.dumps(self._selector.changes(), PROTOCOL)
                    self._parts.append((self._number, self._send(what)))
                    self._changes += len(what)
                self._age = 0
        return (self._run, tuple(self._parts)) if self._parts else None

    def _send_base(self) -> None:
        copy = self._selector.snapshot()
        if copy is None:
            return
        what = pickle.dumps(copy, PROTOCOL)
        self._base, self._changes = len(what), 0
        for _, old in self._before:  # tasks that name them are done by now, or do without
            self._forget(old)
        self._before, self._parts = self._parts, [(self._number, self._send(what))]


# --- on a worker ---------------------------------------------------------------------------------

_held: OrderedDict[str, tuple[int, Copy]] = OrderedDict()


def current(version: Version, read: Callable[[Any], bytes]) -> Copy:
    """Return the copy of a worker after it has read what is new; it may be newer than requested."""
    run, parts = version
    with pairing:
        number, copy = _held.pop(run, (-1, None))
        if copy is None or number < parts[0][0]:
            number, copy = parts[0][0], pickle.loads(read(parts[0][1]))
        for one, reference in parts[1:]:
            if one > number:
                copy.follow(pickle.loads(read(reference)))
                number = one
        _held[run] = number, copy
        while len(_held) > RUNS:
            _held.popitem(last=False)
    found: Copy = copy
    return found
