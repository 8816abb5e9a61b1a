"""Class labels that floats would round stay different, from files and from arrays."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.core.errors import SourceError
from tamis.sources.text import svmlight_rows


def write(path: Path, labels: list[int], rows: int = 60) -> np.ndarray:
    """An svmlight file whose first feature tells the labels apart."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % len(labels)
    lines = [f"{labels[c]} 1:{c + 0.1 * rng.random():.4f} 2:{rng.random():.4f}" for c in y]
    path.write_text("\n".join(lines) + "\n")
    return np.array([labels[c] for c in y])


PAIRS = [
    [2**60, 2**60 + 1],
    [2**53, 2**53 + 1],
    [123456789012345677, 123456789012345678],
    [-(2**62) - 1, -(2**62), 3],
]


@pytest.mark.parametrize("labels", PAIRS, ids=str)
def test_labels_of_svmlight_files_stay_different(tmp_path, labels) -> None:
    y = write(tmp_path / "ids.svm", labels)
    source = tamis.open(tmp_path / "ids.svm")
    assert source.target().tolist() == y.tolist()
    assert tamis.open(tmp_path / "ids.svm").load()[1].tolist() == y.tolist()
    assert svmlight_rows.SvmlightSource(tmp_path / "ids.svm").classes().tolist() == sorted(labels)
    assert tamis.select(source, tamis.SAOLA()).kept_names == ["1"]


def test_labels_stay_different_whatever_the_chunks(tmp_path) -> None:
    """Some chunks hold small labels only, which are floats by themselves."""
    labels = [1] * 30 + [2**60, 2**60 + 1] * 10 + [2] * 30
    (tmp_path / "ids.svm").write_text("".join(f"{label} 1:{i}\n" for i, label in enumerate(labels)))
    for chunk in (16, 64, 1 << 20):
        source = svmlight_rows.SvmlightSource(tmp_path / "ids.svm")
        source.chunk = chunk
        assert source.target().tolist() == labels
        assert source.classes().tolist() == [1, 2, 2**60, 2**60 + 1]
        parts = [block.y for block in source.batches(7)]
        assert [int(label) for part in parts for label in part] == labels


def test_labels_of_more_than_64_bits_are_refused(tmp_path) -> None:
    write(tmp_path / "ids.svm", [10**25, 10**25 + 1])
    with pytest.raises(SourceError, match=r"line 1, byte 1: '10+' is a whole number of"):
        tamis.open(tmp_path / "ids.svm").target()


def test_a_target_with_fractions_may_hold_large_numbers(tmp_path) -> None:
    (tmp_path / "t.svm").write_text(f"0.5 1:1\n{2**60 + 1} 1:2\n1e300 1:3\n")
    assert tamis.open(tmp_path / "t.svm").target().tolist() == [0.5, 2.0**60, 1e300]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object])
def test_large_labels_of_arrays_stay_different(kind) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([y + 0.3 * rng.normal(size=60), rng.normal(size=60)])
    large = (y + 2**62).astype(kind)
    found = tamis.SAOLA().fit(X, large)
    assert found.kept_.tolist() == [0]
    assert tamis.SAOLA(tamis.FisherZ(classes="numeric")).fit(X, large).kept_.tolist() == [0]


@pytest.mark.parametrize("bits", [128, 256])
def test_decimals_beyond_2_53_stay_different_or_are_refused(tmp_path, bits) -> None:
    labels = [Decimal(2**60 + i % 2) for i in range(60)]
    kind = getattr(pa, f"decimal{bits}")(30, 0)
    table = pa.table({"x": [i % 2 for i in range(60)], "ids": pa.array(labels, kind)})
    pq.write_table(table, tmp_path / "ids.parquet")
    y = tamis.open(tmp_path / "ids.parquet", target="ids").target()
    assert y.tolist() == [str(label) for label in labels]
    with pytest.raises(SourceError, match=r"column 'ids' holds whole numbers beyond 2\^53"):
        tamis.open(tmp_path / "ids.parquet", target="x").load()


def test_bytes_are_a_target_if_they_are_text(tmp_path) -> None:
    for first in ["ü".encode(), b"\xff"]:
        labels = pa.array([first, b"b"] * 30, pa.binary())
        pq.write_table(pa.table({"x": [1, 0] * 30, "y": labels}), tmp_path / "b.parquet")
        source = tamis.open(tmp_path / "b.parquet", target="y")
        if first == b"\xff":
            with pytest.raises(SourceError, match="the target holds bytes that are not UTF-8 text"):
                source.target()
        else:
            assert source.target().tolist() == ["ü", "b"] * 30
