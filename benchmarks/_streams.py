"""Generated streams of rows: X1, X2 and X3 of the SOFS paper, and a family that is hard for SOFS.

Wu, Hoi, Mei, Yu (TKDD 2017): every row has all informative features and a given number of
others at random positions, all N(0, 1); the class is the sign of w*.x with w* from U(0, 1) on the
informative features. Their positions are random here, too.

The second family reverses this: as many uninformative features as there are informative ones occur
in every row, and each informative feature occurs in one row out of ten. Frequent features are then
not the informative ones.

A stream is generated in lots of rows, each with its own seed, so only one lot is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import Compressed, RowBlock
from tamis.sources.stores.row_writer import RowWriter

#: Entries in a lot.
LOT = 1_000_000


@dataclass(frozen=True)
class Stream:
    """Parameters of a stream; `rare` is the second family, `text` rounds to six decimals."""

    name: str
    rows: int
    columns: int
    informative: int
    others: int
    rare: bool = False
    text: bool = True
    seed: int = 0

    @property
    def per_row(self) -> int:
        """Entries per row; in the rare family, on average."""
        return self.informative + self.others

    @property
    def good(self) -> npt.NDArray[np.int64]:
        """The informative features, in ascending order."""
        return self._chosen()[1]

    def _chosen(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Any]:
        """Features of every row, informative features, and their true weights."""
        rng = np.random.default_rng(self.seed)
        some = np.unique(rng.integers(0, self.columns, 4 * self.informative))
        some = rng.permutation(some)[: 2 * self.informative]
        good, common = np.sort(some[: self.informative]), np.sort(some[self.informative :])
        weights = rng.random(self.informative)
        if self.rare:  # ten times fewer terms in a sum: signs, so that each one matters
            weights = (0.5 + weights) * rng.choice([-1.0, 1.0], self.informative)
        return (common if self.rare else good), good, weights

    def lots(self, first: int, last: int) -> Iterator[RowBlock]:
        """Rows first to last - 1; two lots are made at a time."""
        always, good, weights = self._chosen()
        step = max(1, LOT // self.per_row)
        share = 0.1 if self.rare else 0.0

        def lot(at: int) -> RowBlock:
            height = min(step, last - at)
            room = height * (self.per_row + (self.informative if self.rare else 0))
            indptr, y = np.zeros(height + 1, np.int64), np.zeros(height, np.int64)
            indices, values = np.empty(room, np.int64), np.empty(room)
            n = _fill(
                np.random.default_rng((self.seed, at)), self.columns, self.others, always, good,
                weights, share, 1e6 if self.text else 0.0, indptr, indices, values, y,
            )  # fmt: skip
            rows = Compressed(indptr, indices[:n], values[:n])
            return RowBlock(at, self.columns, rows, y)

        starts = range(first, last, step)
        with ThreadPoolExecutor(2) as pool:
            for lo in range(0, len(starts), 2):
                yield from pool.map(lot, starts[lo : lo + 2])

    def matrix(self, first: int, last: int) -> tuple[sp.csr_matrix, npt.NDArray[np.int64]]:
        """Rows first to last - 1 as a matrix, and their classes."""
        lots = list(self.lots(first, last))
        parts: list[Any] = [lot.values for lot in lots]
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([part.indices for part in parts])
        values = np.concatenate([part.data for part in parts])
        if self.columns < 2**31 > indptr[-1]:
            indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
        X = sp.csr_matrix((values, indices, indptr), shape=(last - first, self.columns))
        return X, np.concatenate([np.asarray(lot.y) for lot in lots])

    def write_text(self, path: Path, first: int, last: int) -> None:
        """Rows first to last - 1 as svmlight text, indices from 1, six decimals."""
        with path.open("wb") as file:
            for lot in self.lots(first, last):
                write_text(file, lot)

    def write_store(self, path: Path, first: int, last: int) -> None:
        """Rows first to last - 1 as a row store."""
        with RowWriter(str(path)) as writer:
            for lot in self.lots(first, last):
                writer.append(lot)
            writer.commit(n_columns=self.columns)


X1 = Stream("X1", 100_000, 10_000, 100, 200)
X2 = Stream("X2", 100_000, 20_000, 200, 400)
X3_SMALL = Stream("X3-small", 100_000, 1_000_000_000, 500, 500)
X3 = Stream("X3", 1_000_000, 1_000_000_000, 500, 500, text=False)
X1_RARE = Stream("X1, informative features rare", 100_000, 10_000, 100, 190, rare=True)
X2_RARE = Stream("X2, informative features rare", 100_000, 20_000, 200, 380, rare=True)


def write_text(file: BinaryIO, block: RowBlock) -> None:
    """Append rows to a file as svmlight text, indices from 1, up to six decimals."""
    rows: Any = block.values
    out = np.empty(len(rows.indices) * 24 + 4 * len(rows), np.uint8)
    n = _as_text(rows.indptr, rows.indices, rows.data, block.y, out)
    file.write(out[:n].data)


@numba.njit(nogil=True, cache=True)
def _merge(good, draws, ids):
    """Merge features that are in every row with others, drawn as ranks among the rest."""
    k, n = 0, 0
    for d in range(len(draws)):
        while k < len(good) and good[k] - k <= draws[d] + d:
            ids[n] = good[k]
            k += 1
            n += 1
        ids[n] = draws[d] + d + k
        n += 1
    while k < len(good):
        ids[n] = good[k]
        k += 1
        n += 1
    return n


@numba.njit(nogil=True, cache=True)
def _with(rng, ids, n, good, share, scratch):
    """Add missing informative features, each with probability `share`."""
    m, k = 0, 0
    for t in range(n + 1):
        end = ids[t] if t < n else np.int64(2**62)
        while k < len(good) and good[k] < end:
            if rng.random() < share:
                scratch[m] = good[k]
                m += 1
            k += 1
        if t < n:
            if k < len(good) and good[k] == end:
                k += 1
            scratch[m] = end
            m += 1
    ids[:m] = scratch[:m]
    return m


@numba.njit(nogil=True, cache=True)
def _fill(
    rng, columns, others, always, good, weights, share, scale, indptr, indices, values, y
):  # fmt: skip
    """Generate the rows of a lot."""
    n = 0
    draws = np.empty(others, np.int64)
    ids = np.empty(others + len(always) + len(good), np.int64)
    scratch = np.empty_like(ids)
    for r in range(len(y)):
        for d in range(others):
            draws[d] = np.int64(rng.random() * (columns - len(always) - others + 1))
        draws.sort()
        m = _merge(always, draws, ids)
        if share > 0:
            m = _with(rng, ids, m, good, share, scratch)
        score, k = 0.0, 0
        for t in range(m):
            x = rng.standard_normal()
            x = np.round(x * scale) / scale if scale > 0 else np.float64(np.float32(x))
            indices[n], values[n] = ids[t], x
            n += 1
            while k < len(good) and good[k] < ids[t]:
                k += 1
            if k < len(good) and good[k] == ids[t]:
                score += weights[k] * x
        y[r] = 1 if score > 0 else -1
        indptr[r + 1] = n
    return n


@numba.njit(nogil=True, cache=True)
def _digits(number, least, out, at):
    """Write a whole number with at least `least` digits; return the position after it."""
    n, rest = 1, number // 10
    while rest > 0 or n < least:
        rest //= 10
        n += 1
    for k in range(n):
        out[at + n - 1 - k] = 48 + number % 10
        number //= 10
    return at + n


@numba.njit(nogil=True, cache=True)
def _as_text(indptr, indices, values, y, out):
    """Write rows as svmlight text, whole numbers or six decimals; return the bytes written."""
    n = 0
    for r in range(len(y)):
        if y[r] < 0:
            out[n] = 45
            n += 1
        out[n] = 49
        n += 1
        for t in range(indptr[r], indptr[r + 1]):
            out[n] = 32
            n = _digits(indices[t] + 1, 1, out, n + 1)
            out[n] = 58
            n += 1
            millionths = np.int64(np.round(abs(values[t]) * 1e6))
            if values[t] < 0:
                out[n] = 45
                n += 1
            n = _digits(millionths // 1_000_000, 1, out, n)
            if millionths % 1_000_000:
                out[n] = 46
                n = _digits(millionths % 1_000_000, 6, out, n + 1)
        out[n] = 10
        n += 1
    return n
