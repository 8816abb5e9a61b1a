"""Mask passwords in records, logs and messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

#: scheme://user:password@ inside a text, up to the last @ of a word; a port is not a password.
_PASSWORD = r"([a-zA-Z][\w+.-]*://[^\s/?#@:]*:)(?:(?<=//:)|(?!\d{{1,5}}(?:[/?#\s]|$))){}@"
_INSIDE = re.compile(_PASSWORD.format(r"\S*"))
#: The same for a text that is an address as a whole, whose password may hold blanks.
_WHOLE = re.compile(_PASSWORD.format(r".*"), re.DOTALL)

#: password=..., as in the options of an address and in connection strings.
_NAMED = re.compile(
    r"(?i)(?<![\w-])((?:[\w-]*(?:password|passwd|secret|signature|credential|api_?key|access_?key)"
    r"|pwd|token|sig|[\w-]*[_-]token)\s*=\s*)('[^']*'|\"[^\"]*\"|[^&\s'\"();,]+)"
)


def masked(text: str, *, whole: bool = False) -> str:
    """Mask the passwords of addresses in a text; `whole` if the text may be one address.

    >>> masked("redis://:hush@host:6379/0?stream=clicks")
    'redis://:***@host:6379/0?stream=clicks'
    >>> masked("s3://bucket/x.parquet?token=hush"), masked("redis://host:6379/0")
    ('s3://bucket/x.parquet?token=***', 'redis://host:6379/0')
    """
    if "=" not in text and "@" not in text:
        return text
    is_address = whole and re.match(r"[a-zA-Z][\w+.-]*://", text)
    pattern = _WHOLE if is_address else _INSIDE
    return _NAMED.sub(rf"\g<1>{MASK}", pattern.sub(rf"\g<1>{MASK}@", text))


def without_secrets(facts: Any) -> Any:
    """Mask every text in nested dicts and lists."""
    if isinstance(facts, str):
        return masked(facts)
    if isinstance(facts, Mapping):
        return {key: without_secrets(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [without_secrets(value) for value in facts]
    return facts
