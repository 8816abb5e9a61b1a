"""A Redis stream and one of its consumer groups: the few calls needed to read rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from tamis.core.errors import SourceError, TamisError, need, one_sentence, warn
from tamis.core.masking import MASK, masked

#: Number of ids acknowledged or requested at a time.
_MANY = 1000


class Entry(NamedTuple):
    """One entry: its id and its fields, as text."""

    id: str
    fields: list[tuple[str, str]]


def id_key(id: str) -> tuple[int, int]:
    """Return an id as two numbers, which sort like ids in Redis.

    >>> id_key("9-2") < id_key("10-1")
    True
    """
    time, _, number = id.partition("-")
    return int(time), int(number or 0)


class Stream:
    """The stream `name` on a server, read directly or through its group."""

    def __init__(
        self, server: Any, name: str | None, group: str, consumer: str, wait: float
    ) -> None:
        redis = need("redis", extra="redis", what_for="reading a Redis stream")
        self._error = redis.RedisError
        self.where = "this client"
        if isinstance(server, (str, os.PathLike)):
            address = masked(os.fspath(server), whole=True)
            try:
                server, options = _split(os.fspath(server))
                name, group = name or options.get("stream"), options.get("group", group)
                consumer, wait = options.get("consumer", consumer), float(options.get("wait", wait))
                parts = urlsplit(server)
                self.where = parts.hostname or parts.path or "localhost"  # never the password
                server = redis.Redis.from_url(server)
            except TamisError:
                raise
            except ValueError as error:  # its message may contain part of the password
                raise SourceError(
                    f"{address} is not a Redis address; write it as "
                    f"redis://:{MASK}@host:6379/0?stream=NAME, with %2F, %3F, %23 and %40 for /, "
                    "?, # and @ in the password"
                ) from error
        if not name:
            raise SourceError("a Redis source needs the name of a stream; give stream=")
        self.client, self.name, self.group, self.consumer = server, name, group, consumer
        self._wait = wait

    def extent(self) -> tuple[str, int]:
        """Return the id of the last entry, and the number of entries."""
        with self._one_sentence():
            if not self.client.exists(self.name):
                raise SourceError(
                    f"there is no stream {self.name!r} on {self.where}; check its name, or make "
                    "it with XADD"
                )
            last = self.client.xrevrange(self.name, count=1)
            return (_entries(last)[0].id if last else "0-0"), int(self.client.xlen(self.name))

    def between(self, start: str, end: str, size: int) -> Iterator[list[Entry]]:
        """Stream entries from `start` to `end`, `size` at a time, independent of groups."""
        while True:
            with self._one_sentence():
                found = _entries(self.client.xrange(self.name, start, end, count=size))
            if not found:
                return
            yield found
            start = "(" + found[-1].id

    def go_to(self, mark: str | None) -> None:
        """Let the group resume after a mark; acknowledge pending entries up to it."""
        start = mark or "0-0"
        with self._one_sentence():
            try:
                self.client.xgroup_create(self.name, self.group, id=start, mkstream=True)
            except self._error as error:
                if "BUSYGROUP" not in str(error):
                    raise
            while mark is not None:
                pending = self.client.xpending_range(self.name, self.group, "-", mark, _MANY)
                self.acknowledge([_text(each["message_id"]) for each in pending])
                if not pending:
                    break
            self._warn_if_lost(mark)
            self.client.xgroup_setid(self.name, self.group, start)

    def _warn_if_lost(self, mark: str | None) -> None:
        """Warn if rows that were delivered after the mark are no longer in the stream."""
        first = _entries(self.client.xrange(self.name, count=1))
        until = "(" + first[0].id if first else "+"
        if mark is None or (first and id_key(first[0].id) <= id_key(mark)):
            return
        lost = self.client.xpending_range(self.name, self.group, "(" + mark, until, _MANY)
        if lost:
            last = _text(lost[-1]["message_id"])
            warn(
                f"the stream {self.name!r} was trimmed beyond entry {last}, and the checkpoint "
                f"ends with {mark}: the rows in between were never learned from"
            )

    def next(self, size: int) -> list[Entry]:
        """Return the next entries of the group, which become pending; none after the wait."""
        wait = {"block": max(1, round(1000 * self._wait))} if self._wait else {}
        with self._one_sentence():
            reply = self.client.xreadgroup(
                self.group, self.consumer, {self.name: ">"}, count=size, **wait
            )
        if not reply:
            return []
        # A list of pairs in one version of the Redis protocol, a dict in the other.
        found = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
        if isinstance(reply, dict) and len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        return _entries(found)

    def acknowledge(self, ids: list[str]) -> None:
        """Acknowledge entries that have been processed."""
        with self._one_sentence():
            for lo in range(0, len(ids), _MANY):
                self.client.xack(self.name, self.group, *ids[lo : lo + _MANY])

    def _one_sentence(self) -> AbstractContextManager[None]:
        what = f"the stream {self.name!r} on {self.where} cannot be read"
        return one_sentence(what, "check the server and the name", (self._error,))


def _split(url: str) -> tuple[str, dict[str, str]]:
    """Split tamis's own options from a URL: return the remaining URL, and the options."""
    if f":{MASK}@" in url:
        raise SourceError(
            f"{url}: the password was not recorded; put it in place of {MASK}, or let the shell do "
            "it with a variable such as $PASSWORD"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise SourceError(f"{url} is not a Redis address; begin with redis:// or unix://")
    given = parse_qsl(parts.query)
    ours = {k: v for k, v in given if k in ("stream", "group", "consumer", "wait")}
    rest = urlencode([(k, v) for k, v in given if k not in ours])
    return f"{parts.scheme}://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}", ours


def _entries(reply: Any) -> list[Entry]:
    """Return the entries of a reply, without those deleted while pending, which have no fields."""
    return [
        Entry(_text(id), [(_text(k), _text(v)) for k, v in fields.items()])
        for id, fields in reply
        if fields
    ]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
