"""Damage valid files: by byte, or by structure where the format is known.

`damage(path, rng)` changes a file, or one file of a folder, and returns what it did.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

#: Tokens that parsers of numbers and tables have trouble with.
TOKENS = [
    b"0", b"-0", b"1", b"-1", b"+1", b"1.", b".5", b"-.5e-3", b"1e5", b"1E+05", b"1e", b"1e400",
    b"-1e400", b"1e-400", b"4.9e-324", b"2.2250738585072011e-308", b"1.7976931348623157e308",
    b"0.1000000000000000055511151231257827", b"9007199254740993", b"18446744073709551616",
    b"1152921504606846977", b"9223372036854775807", b"9223372036854775808", b"2147483648",
    b"4611686018427387905", b"00012", b"1_000", b"1,5", b"1.234,5", b"0x1p3", b"1d5", b"nan",
    b"NaN", b"inf", b"-Infinity", b"NA", b"null", b"None", b"", b" ", b"\t", b"\r", b"\r\n", b"\n",
    b"\n\n", b":",
    b"::", b"1:", b":1", b"3:4:5", b"qid:3", b"qid:", b"# note", b"#", b",", b";", b"|",
    b'"', b'""', b"'", b'"a,b"', b'"a\nb"', b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\x00", b"\x1a",
    "é".encode(), "\u2212".encode(), "\u0661".encode(), "\xa0".encode(), "\u2028".encode(),
    b"True", b"false", b"2020-01-02", b"a", b"x" * 300, b"1" * 40, b"0." + b"0" * 400 + b"1",
]  # fmt: skip

#: Numbers that overflow something, or are just outside it.
NUMBERS = [
    0, 1, -1, 2, 7, 127, 128, 255, 256, 32767, 65535, 2**16, 2**24, 2**31 - 1, 2**31, -(2**31),
    2**32 - 1, 2**32, 2**40, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**64 - 1,
]  # fmt: skip

_SPLIT = re.compile(rb"([ \t,;|:\n]+)")


def damage(path: Path, rng: Random) -> str:
    """Change a file, or one file of a folder; return what was done."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        return damage(rng.choice(files), rng)
    kinds: dict[str, Callable[[Path, Random], str]] = {
        ".npy": npy, ".json": json_leaf, ".sqlite": sqlite_row, ".svm": text, ".csv": text,
        ".tsv": text, ".fam": text, ".bim": text,
    }  # fmt: skip
    by_structure = kinds.get(path.suffix)
    # SQLite files of selections have checksums in every row, so pages matter as much as rows.
    if by_structure is not None and rng.random() < 0.6:
        with contextlib.suppress(ValueError, KeyError, SyntaxError, sqlite3.Error):
            return f"{path.name}: {by_structure(path, rng)}"
    return f"{path.name}: {some_bytes(path, rng)}"


def some_bytes(path: Path, rng: Random) -> str:
    """Change one to three places of a file, whatever it holds."""
    data, done = bytearray(path.read_bytes()), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # Lengths and types are at the ends of most formats.
        at = rng.randrange(len(data) + 1)
        if rng.random() < 0.3:
            at = min(len(data), rng.randrange(64)) if rng.random() < 0.5 else max(0, at - 64)
        n = rng.choice([1, 2, 4, 8, 16, 64, 1000])
        how = rng.choice(["flip", "set", "number", "insert", "delete", "repeat", "cut", "zero"])
        if how == "flip" and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == "set":
            data[at : at + 1] = bytes([rng.choice([0, 1, 10, 32, 127, 128, 254, 255])])
        elif how == "number":
            width = rng.choice([1, 2, 4, 8])
            number = rng.choice(NUMBERS) % 256**width
            data[at : at + width] = number.to_bytes(width, rng.choice(["little", "big"]))
        elif how == "insert":
            data[at:at] = rng.randbytes(n)
        elif how == "delete":
            del data[at : at + n]
        elif how == "repeat":
            data[at:at] = data[at : at + n]
        elif how == "cut":
            del data[at:]
        else:
            data[at : at + n] = bytes(len(data[at : at + n]))
        done.append(f"{how} at {at}")
    path.write_bytes(data)
    return ", ".join(done)


def text(path: Path, rng: Random) -> str:
    """Change tokens or lines of a text."""
    parts, done = _SPLIT.split(path.read_bytes()), []
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(parts))
        how = rng.choice(["token", "token", "token", "delete", "repeat", "swap", "line", "ends"])
        if how == "token":
            parts[at] = rng.choice(TOKENS)
        elif how == "delete":
            parts[at] = b""
        elif how == "repeat":
            parts[at] = parts[at] * 2
        elif how == "swap":
            other = rng.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif how == "ends":
            ending = rng.choice([b"\r\n", b"\n\n", b" \n", b"\n "])
            parts = _SPLIT.split(b"".join(parts).replace(b"\n", ending))
        else:
            lines = b"".join(parts).split(b"\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one] = rng.choice([lines[other], b"", lines[one][: len(lines[one]) // 2]])
            parts = _SPLIT.split(b"\n".join(lines))
        done.append(how)
    path.write_bytes(b"".join(parts))
    return ", ".join(done)


def npy(path: Path, rng: Random) -> str:
    """Change the header of an .npy file, or one number in it."""
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1").strip())
    if rng.random() < 0.5 and len(data) > 10 + length:
        width = int(re.sub(r"\D", "", header["descr"]) or 1)
        n = (len(data) - 10 - length) // width
        at = 10 + length + width * rng.choice([0, max(0, n - 1), rng.randrange(max(n, 1))])
        value = rng.choice(NUMBERS) % 256**width
        data[at : at + width] = value.to_bytes(width, "little")
        path.write_bytes(data)
        return f"number at {at}"
    how = rng.choice(["shape", "descr", "fortran_order"])
    if how == "shape":
        shape = [rng.choice([n + 1, max(0, n - 1), *NUMBERS]) for n in header["shape"]]
        header["shape"] = tuple(
            shape[: rng.randrange(len(shape) + 1)] if rng.random() < 0.2 else shape
        )
    elif how == "descr":
        types = ["<f8", ">f8", "<f4", "<f2", "<i8", ">i4", "|u1", "|b1", "<U3", "|O", "<c16", "|S5",
                 "<M8[D]", "|V3", "<f0"]  # fmt: skip
        header["descr"] = rng.choice(types)
    else:
        header["fortran_order"] = not header["fortran_order"]
    text = repr(header).encode()[:length].ljust(length - 1) + b"\n"
    path.write_bytes(bytes(data[:10]) + text[:length] + bytes(data[10 + length :]))
    return how


def json_leaf(path: Path, rng: Random) -> str:
    """Change, remove or add one value of a JSON file."""
    content = json.loads(path.read_bytes())
    parent, key = None, None
    node: Any = content
    while isinstance(node, dict | list) and node and (parent is None or rng.random() < 0.85):
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        parent, node = node, node[key]
    if parent is None:
        path.write_bytes(rng.choice([b"[]", b"{}", b"7", b'""']))
        return "replace all"
    if rng.random() < 0.3:
        del parent[key]
        how = f"delete {key}"
    else:
        value = rng.choice([*NUMBERS, None, True, "", "a", "../x", "\ud800", [], {}, 0.5, 1e308,
                            float("nan"), [node], {"a": node}])  # fmt: skip
        parent[key] = value
        how = f"{key} = {value!r}"
    path.write_bytes(json.dumps(content).encode())
    return how


def sqlite_row(path: Path, rng: Random) -> str:
    """Change one cell of a table of an SQLite file."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        tables = [row[0] for row in db.execute("select name from sqlite_master where type='table'")]
        table = rng.choice(tables)
        columns = [row[1] for row in db.execute(f'pragma table_info("{table}")')]
        column = rng.choice(columns)
        rows = [row[0] for row in db.execute(f'select rowid from "{table}"')]
        row = rng.choice(rows)
        (cell,) = db.execute(f'select "{column}" from "{table}" where rowid=?', (row,)).fetchone()
        value: Any = rng.choice([None, 0, -1, 2**40, 0.5, "a", b"\x00\xff"])
        if isinstance(cell, bytes) and cell and rng.random() < 0.6:
            changed = bytearray(cell)
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            value = bytes(changed)
        if rng.random() < 0.15:
            db.execute(f'delete from "{table}" where rowid=?', (row,))
            return f"delete row {row} of {table}"
        db.execute(f'update "{table}" set "{column}"=? where rowid=?', (value, row))
    return f"{table}.{column} of row {row} = {str(value)[:30]}"
