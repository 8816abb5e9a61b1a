"""Generated streams with a known answer: for demos, tests and benchmarks of any size.

Columns are drawn in fixed batches from (random_state, column number), so a stream does not depend
on the width of the blocks in which it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.params import Number, check
from tamis.sources.base import ColumnRange, ColumnSource, default_width
from tamis.sources.rebatch import rebatch

#: Columns drawn together; part of the definition of a stream, so it must never change.
LOT = 4096


class SparseStream(ColumnSource):
    """Rare binary features, nearly all noise, with a few that matter and weaker copies of them.

    There are two classes of equal size. Planted feature k (of `informative`) is on in a share of
    the rows of one class, a different share for each k, and almost never in the other; it is the
    feature to be found. Each is followed some columns later by a weaker copy: on in a random
    half of its rows, so that it is redundant. All other columns are on in a few random rows.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape.
    informative : int
        Number of planted features; `planted` and `copies` list their columns.
    nonzeros : float
        Mean number of rows in which a noise column is on.
    random_state : int, default=0
        The seed: the same one gives the same stream.

    Examples
    --------
    >>> stream = SparseStream(n_rows=400, n_columns=10_000, informative=3)
    >>> stream.planted.tolist()
    [1250, 3750, 6250]
    """

    format: ClassVar[str] = "synthetic"
    layout: ClassVar[Literal["dense", "sparse"]] = "sparse"
    n_rows: int = 0
    n_columns: int = 0

    def __init__(
        self,
        n_rows: int = 2_000,
        n_columns: int = 1_000_000,
        informative: int = 10,
        nonzeros: float = 5.0,
        random_state: int = 0,
    ) -> None:
        check("SparseStream", "n_rows", n_rows, Number(20, integer=True))
        check("SparseStream", "n_columns", n_columns, Number(4, integer=True))
        check("SparseStream", "informative", informative, Number(0, n_columns // 4, integer=True))
        check("SparseStream", "nonzeros", nonzeros, Number(0, n_rows))
        check("SparseStream", "random_state", random_state, Number(0, integer=True))
        self.n_rows, self.n_columns = n_rows, n_columns
        self.nonzeros = nonzeros
        self.random_state = random_state
        step = n_columns / max(informative, 1)
        self.planted = ((np.arange(informative) + 0.5) * step * 0.75).astype(np.int64)
        self.copies = self.planted + max(1, int(step * 0.25))
        self._y = np.zeros(n_rows, dtype=np.int64)
        self._y[np.random.default_rng((random_state, 0)).permutation(n_rows)[: n_rows // 2]] = 1

    def target(self) -> npt.NDArray[Any]:
        """Return the classes, 0 and 1."""
        return self._y

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the columns; nothing is kept."""
        start, last = wanted.start, wanted.end(self.n_columns)
        stored = int(self.nonzeros * self.n_columns)  # approximately
        step = wanted.width or default_width(self.n_rows, self.n_columns, stored)
        pieces = (
            (None, self._lot(lot).part(max(start - lot, 0), min(LOT, last - lot)))
            for lot in range(start - start % LOT, last, LOT)
        )
        for _, values in rebatch(pieces, step):
            yield ColumnBlock(start, self.n_rows, values)
            start += len(values)
            wanted.progress("reading columns", start, self.n_columns)

    def fingerprint(self) -> str:
        """Return the parameters that define the stream."""
        sizes = f"{self.n_rows}-{self.n_columns}-{len(self.planted)}"
        return f"{sizes}-{self.nonzeros:g}-{self.random_state}"

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"planted": self.planted.tolist()}

    def _lot(self, first: int) -> Compressed:
        """Return columns first..first + LOT - 1, independent of block boundaries."""
        rng = np.random.default_rng((self.random_state, 1, first))
        width = min(LOT, self.n_columns - first)
        lengths = np.minimum(rng.poisson(self.nonzeros, LOT), self.n_rows)[:width]
        rows = rng.integers(0, self.n_rows, int(lengths.sum()))
        column = np.repeat(np.arange(width), lengths)
        for k, feature in enumerate(self.planted.tolist()):
            on = self._rows_of(k)
            for place, which in ((feature, on), (int(self.copies[k]), on[::2])):
                if first <= place < first + width:
                    others = column != place - first
                    rows = np.concatenate([rows[others], which])
                    column = np.concatenate([column[others], np.full(len(which), place - first)])
        order = np.unique(column * self.n_rows + rows)
        indptr = np.searchsorted(order, np.arange(width + 1) * self.n_rows)
        indices = (order % self.n_rows).astype(np.int32)
        return Compressed(indptr.astype(np.int64), indices, np.ones(len(order)))

    def _rows_of(self, k: int) -> npt.NDArray[np.int64]:
        """Return rows where planted feature k is on, in random order: a share of one class."""
        rng = np.random.default_rng((self.random_state, 2, k))
        mine = np.flatnonzero(self._y == k % 2)
        share = 0.25 + 0.35 * (k + 1) / max(len(self.planted), 1)
        return rng.permutation(mine)[: max(4, int(share * len(mine)))]
