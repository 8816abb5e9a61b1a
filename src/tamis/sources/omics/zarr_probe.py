"""Look at the stored chunks of a Zarr array before zarr decodes them.

Blosc takes the length of its input from the input itself. If bytes of a chunk are missing, it reads
the memory behind the chunk: wrong values, different each time, or a crash. So the length in each
chunk is compared with the length of the chunk. Other codecs check their input, except those that
run code from it (pickle); arrays with codecs that are not listed here are refused.
"""

from __future__ import annotations

import math
import os
from typing import IO, Any

import numpy as np

from tamis.core.errors import SourceError

#: Codecs that end in an error if their input is damaged.
SAFE = {
    "bytes", "transpose", "zstd", "gzip", "zlib", "bz2", "lzma", "lz4", "shuffle", "delta",
    "vlen-utf8", "vlen-bytes", "crc32", "crc32c", "adler32", "fletcher32",
}  # fmt: skip

_REMEDY = "fetch it or write it again"


def refuse_unsafe(array: Any) -> None:
    """Raise a one-sentence error for a Zarr array that it is not safe to decode."""
    if not hasattr(array, "metadata"):  # an array in an HDF5 file
        return
    facts = array.metadata
    if facts.zarr_format == 2:
        used = (*(facts.filters or ()), facts.compressor)
        codecs = [codec.get_config() for codec in used if codec is not None]
    else:
        codecs = [codec.to_dict() for codec in facts.codecs]
    folder = os.path.join(str(array.store.root), array.path)
    inner = None
    if codecs and _name(codecs[-1]) == "sharding_indexed":
        inner = codecs[-1]["configuration"]
        codecs = [*codecs[:-1], *inner["codecs"]]
    names = [_name(codec) for codec in codecs]
    unknown = [name for name in names[:-1] if name not in SAFE]
    unknown += [name for name in names[-1:] if name not in {*SAFE, "blosc"}]
    if unknown:
        raise SourceError(
            f"{folder} is stored with the codec {unknown[0]!r}, which is not safe to decode; write "
            "it again with zstd or gzip"
        )
    if "blosc" not in names:
        return
    for place, _, files in os.walk(folder):
        for name in files:
            if name.startswith(".") or name == "zarr.json":
                continue
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                length = os.fstat(file.fileno()).st_size
                chunks = [(0, length)] if inner is None else _chunks(facts, inner, file, length)
                for offset, size in chunks:
                    _check_blosc(path, file, offset, min(size, length - offset))


def _name(codec: Any) -> str:
    return str(codec.get("id", codec.get("name"))).removeprefix("numcodecs.")


def _check_blosc(path: str, file: IO[bytes], offset: int, size: int) -> None:
    """Raise an error unless the header of a chunk names its length."""
    file.seek(offset)
    header = file.read(16)
    if len(header) < 16 or int.from_bytes(header[12:], "little") != size:
        raise SourceError(f"{path} is damaged: a chunk of it has another length; {_REMEDY}")


def _chunks(facts: Any, inner: Any, file: IO[bytes], length: int) -> list[tuple[int, int]]:
    """Return the offset and length of each chunk in a shard, from the index of the shard."""
    index = [_name(codec) for codec in inner["index_codecs"]]
    endian = inner["index_codecs"][0].get("configuration", {}).get("endian")
    if index not in (["bytes"], ["bytes", "crc32c"]) or endian != "little":
        raise SourceError(f"{file.name}: its index is packed, and cannot be checked; {_REMEDY}")
    shard, chunk = facts.chunk_grid.chunk_shape, inner["chunk_shape"]
    n = math.prod(outer // within for outer, within in zip(shard, chunk, strict=True))
    size = 16 * n + 4 * (len(index) - 1)
    file.seek(0 if inner["index_location"] == "start" else max(0, length - size))
    entries = file.read(16 * n)
    if len(entries) != 16 * n:
        raise SourceError(f"{file.name} is damaged: its index is cut off; {_REMEDY}")
    pairs = np.frombuffer(entries, "<u8").reshape(n, 2).tolist()
    absent = 2**64 - 1  # the chunk holds fill values only
    return [(offset, size) for offset, size in pairs if offset != absent]
