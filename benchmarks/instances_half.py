"""RowSieve with half the memory: remembered numbers of 16 bits instead of 32.

After each row the precision and the mean of the row's features that are not kept are rounded to
float16 (11 bits of precision) or bfloat16 (8 bits). gamma is the default. Kept features keep 32
bits, because there are few. The last line is the mean difference from 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import tamis
from benchmarks import _streams
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from benchmarks.instance_curves import (
    TWO_CLASSES,
    Rows,
    load,
    many_classes,
    splits,
    text_classes,
)

#: Data set, numbers of kept features, splits.
SETS: dict[str, tuple[tuple[int, ...], int]] = {
    "basehock": ((10, 100, 1000), 5),
    "pcmac_asu": ((10, 100, 1000), 5),
    "isolet": ((10, 50), 5),
    "digits": ((5, 20), 5),
    "ohsumed_23": ((500,), 1),
    "X1": ((100,), 1),
    "X1, informative features rare": ((100,), 1),
}
#: Rows of the generated streams.
ROWS = 30_000
STREAMS = {stream.name: stream for stream in (_streams.X1, _streams.X1_RARE)}
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": {"digits": ((5, 20), 1)}}


def as_float16(values: Any) -> Any:
    """Round to float16."""
    return values.astype(np.float16).astype(np.float32)


def as_bfloat16(values: Any) -> Any:
    """Round to bfloat16, to the nearest."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


ROUNDED: dict[str, Callable[[Any], Any] | None] = {
    "32 bits (8 bytes)": None,
    "float16 (4 bytes)": as_float16,
    "bfloat16 (4 bytes)": as_bfloat16,
}


def trained(rows: Rows, kept: int, rounded: Callable[[Any], Any] | None) -> Any:
    """Return the learner after one pass."""
    X, y = sp.csr_matrix(rows[0]), rows[1]
    learner = tamis.RowSieve(kept)
    if rounded is None:
        return learner.fit(X, y)
    learner.partial_fit(X[:1], y[:1], classes=np.unique(y))
    inner: Any = learner.learner_
    marks = inner.model.marks.view
    for r in range(1, len(y)):
        part = X[r : r + 1]
        inner.learn(part, y[r : r + 1])
        columns = part.indices
        outside = columns[marks[columns, 0] >= 0]
        marks[outside] = rounded(marks[outside])
    return learner


def parts_of(name: str, repeats: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield training and test rows, as in the other benchmarks of rows."""
    if name in STREAMS:
        stream = STREAMS[name]
        yield stream.matrix(0, ROWS), stream.matrix(stream.rows, stream.rows + 10_000)
        return
    classes = {**many_classes(), **text_classes()}
    if name in classes:
        X, y, _ = classes[name]
        yield from splits(X, y, int(0.7 * len(y)), repeats)
        return
    X, y, _ = load(name)
    rows = TWO_CLASSES[name][0]
    assert rows is not None
    yield from splits(normalize(X.tocsr().astype(np.float64)), (y == y.max()).astype(int), rows)


def main() -> None:
    report = Report("instances_half", __doc__)
    lines: list[dict[str, Any]] = []
    gaps: dict[str, list[float]] = {what: [] for what in ROUNDED}
    for name, (sizes, repeats) in SETS.items():
        parts = list(parts_of(name, repeats))
        for size in sizes:
            found = {
                what: float(np.mean([
                    100 * np.mean(trained(train, size, rounded).predict(test[0]) == test[1])
                    for train, test in parts
                ]))
                for what, rounded in ROUNDED.items()
            }  # fmt: skip
            exact = found["32 bits (8 bytes)"]
            for what, value in found.items():
                gaps[what].append(value - exact)
            shown = {what: f"{value:.2f}" for what, value in found.items()}
            print(name, size, found, flush=True)
            lines.append({"set": name, "kept": size, **shown})
    means = {what: f"{np.mean(each):+.2f}" for what, each in gaps.items()}
    lines.append({"set": "mean difference", "kept": "", **means})
    report.table("test accuracy %", lines)
    fill("row-sieve.md", "half the memory", table(lines))
    report.save()


if __name__ == "__main__":
    main()
