"""The interface of a kind of file under test: a valid file, and two ways to read it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from soak import mutate

#: A dictionary of comparable things: arrays, lists and numbers by name.
Content = dict[str, Any]


class Reader:
    """A kind of file."""

    name: str
    #: Whether the content can be given to `select`, which runs compiled code on it.
    is_data = True

    def make(self, folder: Path, rng: Random) -> Path:
        """Write a valid file, or folder, with a name of this kind."""
        raise NotImplementedError

    def damage(self, path: Path, rng: Random) -> str:
        """Damage it; return what was done."""
        return mutate.damage(path, rng)

    def options(self, path: Path) -> dict[str, Any]:
        """Return the options that tamis opens it with."""
        return {}

    def read(self, path: Path) -> Content:
        """Read it with tamis; a TamisError refuses it."""
        source = tamis.open(path, **self.options(path))
        X, y = source.load()
        return content(X, y)

    def use(self, path: Path) -> None:
        """Let compiled code work on the columns, block by block."""
        source = tamis.open(path, **self.options(path))
        y = source.target()
        if y is None:
            y = np.arange(source.n_rows) % 2
        tamis.select(source, "saola", y, missing="delete")

    def peer(self, path: Path, original: Path) -> Content | None:
        """Read it with an independent reader: None if it has no opinion; an error refuses it."""
        return None


def content(X: Any, y: Any) -> Content:
    """Return a matrix and a target in a comparable form."""
    found: Content = {"y": None if y is None else np.asarray(y)}
    if sp.issparse(X):
        coo = X.tocoo()
        coo.sum_duplicates()
        there = coo.data != 0
        order = np.lexsort((coo.col[there], coo.row[there]))
        parts = (coo.row, coo.col, coo.data)
        return found | {k: p[there][order] for k, p in zip("rcv", parts, strict=True)}
    return found | {"X": np.asarray(X, dtype=np.float64)}


@functools.cache
def seeds(name: str) -> list[bytes]:
    """Return the inputs that coverage-guided fuzzing found to matter (`guided.py`)."""
    path = Path(__file__).parent / "seeds" / f"{name}.json"
    return [text.encode("latin-1") for text in json.loads(path.read_text(encoding="ascii"))]


def differ(ours: Content, theirs: Content) -> str | None:
    """Return what differs between two contents, or None."""
    for key, other in theirs.items():
        if key not in ours:
            return f"{key} is missing"
        a, b = ours[key], other
        if a is None or b is None:
            if a is not b:
                return f"{key}: {a!r} and {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return f"{key} has shapes {a.shape} and {b.shape}"
        numbers = a.dtype.kind in "biuf" and b.dtype.kind in "biuf"
        if numbers and not np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f"):
            at = np.flatnonzero((a != b).ravel() & ~((a != a) & (b != b)).ravel())
            if len(at):
                return f"{key} at {at[0]}: {a.ravel()[at[0]]!r} and {b.ravel()[at[0]]!r}"
        elif not numbers and str(a.tolist()) != str(b.tolist()):
            return f"{key}: {str(a.tolist())[:60]} and {str(b.tolist())[:60]}"
    return None


def sparse(rng: Random, n_rows: int = 24, n_columns: int = 30) -> tuple[Any, Any]:
    """Return a small sparse matrix and labels."""
    draw = np.random.default_rng(rng.randrange(2**32))
    X = sp.random(n_rows, n_columns, 0.2, random_state=draw, format="csr")
    kind = rng.randrange(3)
    X.data = (
        np.ones(X.nnz) if kind == 0 else
        draw.integers(1, 9, X.nnz).astype(float) if kind == 1 else
        np.round(draw.normal(size=X.nnz), rng.choice([1, 6, 17]))
    )  # fmt: skip
    y = draw.integers(0, rng.choice([2, 3]), n_rows)
    y[:3] = [0, 1, 1]
    return X, y


def table(rng: Random) -> dict[str, list[Any]]:
    """Return a small table of numbers, text, Booleans and missing values, with a target `y`."""
    n, columns = 22, {}
    for j in range(rng.choice([2, 5, 9])):
        kind = rng.choice(["int", "float", "float", "word", "gap", "bool"])
        columns[f"c{j}"] = {
            "int": [rng.randrange(-9, 99) for _ in range(n)],
            "float": [round(rng.gauss(0, 3), 4) for _ in range(n)],
            "word": [rng.choice(["red", "green", "blue sky"]) for _ in range(n)],
            "gap": [None if rng.random() < 0.2 else rng.gauss(0, 1) for _ in range(n)],
            "bool": [rng.random() < 0.5 for _ in range(n)],
        }[kind]
    columns["y"] = [k % 2 for k in range(n)]
    return columns
