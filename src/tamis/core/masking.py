"""Mask passwords in records, logs and messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

MASK = "***"

#: scheme://user:password@ inside a text, up to the last @ of a word; ports are not masked.
_PASSWORD = r"([a-zA-Z][\w+.-]*://[^\s/?#@:]*:)(?:(?<=//:)|(?!\d{{1,5}}(?:[/?#\s]|$))){}@"
_INSIDE = re.compile(_PASSWORD.format(r"\S*"))
#: The same for a text that is a single address, whose password may contain spaces.
_WHOLE = re.compile(_PASSWORD.format(r".*"), re.DOTALL)

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
        pattern = _WHOLE if is_address else _INSIDE
        found = _NAMED.sub(rf"\g<1>{MASK}", pattern.sub(rf"\g<1>{MASK}@", facts))
    return found  # type: ignore[no-any-return]
