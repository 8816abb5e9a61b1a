"""Mask passwords in records, logs and messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

MASK = "***"

#: scheme://user: of an address with a password; what follows is not a port. The length of a scheme
#: is bounded, so that a very long word takes no more time than it has characters.
_USER = re.compile(r"([a-zA-Z][\w+.-]{0,40}://[^\s/?#@:]*:)(?:(?<=//:)|(?!\d{1,5}(?:[/?#\s]|$)))")

#: password=..., as in the options of an address and in connection strings.
_NAMED = re.compile(
    r"(?i)(?<![\w-])((?:[\w-]*(?:password|passwd|secret|signature|credential|api_?key|access_?key)"
    r"|pwd|token|sig|[\w-]*[_-]token)\s*=\s*)('[^']*'|\"[^\"]*\"|[^&\s'\"();,]+)"
)


def masked(facts: T, *, whole: bool = False) -> T:
    """Mask the passwords of addresses in a text, or in every text of nested dicts and lists.

    Set `whole` if the entire text may be one address.

    >>> masked("redis://:hush@host:6379/0?stream=clicks")
    'redis://:***@host:6379/0?stream=clicks'
    >>> masked(["s3://bucket/x.parquet?token=hush", "redis://host:6379/0", 3])
    ['s3://bucket/x.parquet?token=***', 'redis://host:6379/0', 3]
    """
    found: Any = facts
    if isinstance(facts, Mapping):
        found = {key: masked(value) for key, value in facts.items()}
    elif isinstance(facts, list | tuple):
        found = [masked(value) for value in facts]
    elif isinstance(facts, str) and ("=" in facts or "@" in facts):
        is_address = whole and re.match(r"[a-zA-Z][\w+.-]*://", facts)
        if is_address:
            found = _without_password(facts)
        elif "://" in facts:
            found = re.sub(r"\S+", lambda word: _without_password(word[0]), facts)
        found = _NAMED.sub(rf"\g<1>{MASK}", found)
    return found  # type: ignore[no-any-return]


def _without_password(address: str) -> str:
    """Mask what is between the user and the last @ of an address."""
    user, end = _USER.search(address), address.rfind("@")
    if user is None or end < user.end():
        return address
    return address[: user.end()] + MASK + address[end:]
