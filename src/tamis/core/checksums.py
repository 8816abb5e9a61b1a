"""Checksums that show whether what is read is what was written.

They find damage, not forgery: whoever changes a file can write another checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from typing import Any

#: The key of a JSON record that holds the checksum of all others.
CHECKSUM = "checksum"

_digest = partial(hashlib.blake2b, digest_size=16)


def with_checksum(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record for JSON with a checksum of its content as the last entry."""
    return {**record, CHECKSUM: _of_record(record)}


def check_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record from JSON without its checksum; raise ValueError if that does not fit.

    Records of earlier versions have none.
    """
    rest = {key: value for key, value in record.items() if key != CHECKSUM}
    if CHECKSUM in record and record[CHECKSUM] != _of_record(rest):
        raise ValueError("it has changed since it was written")
    return rest


def file_checksum(path: str | os.PathLike[str]) -> str:
    """Return the checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _digest).hexdigest()


def _of_record(record: dict[str, Any]) -> str:
    plain = json.loads(json.dumps(record))  # tuples are lists, and keys are text, once it is read
    return _digest(json.dumps(plain, sort_keys=True).encode()).hexdigest()
