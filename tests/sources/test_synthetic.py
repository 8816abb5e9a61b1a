"""Generated streams: the same for every width, with planted features, in little memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tamis import SAOLA
from tamis.core.decisions import Verdict
from tamis.core.errors import ParameterError
from tamis.engine.selecting import select
from tamis.measures import MutualInformation
from tamis.sources.arrays.synthetic import LOT, SparseStream
from tamis.sources.axis import to_rows

#: More than two lots, and the last one is incomplete.
N = 2 * LOT + 900


def whole(stream, width):
    """indptr, indices and data of all columns, read in blocks of `width`."""
    blocks = list(stream.columns(width))
    assert [b.first for b in blocks] == np.cumsum([0] + [b.width for b in blocks[:-1]]).tolist()
    lengths = np.concatenate([np.diff(b.values.indptr) for b in blocks])
    indices = np.concatenate([b.values.indices for b in blocks])
    return lengths, indices, np.concatenate([b.values.data for b in blocks])


@pytest.mark.parametrize("width", [1, 7, 64, 1000, LOT - 1, LOT, LOT + 1, N, 10 * N])
def test_a_stream_is_the_same_for_every_width(width):
    stream = SparseStream(n_rows=50, n_columns=N, informative=4, random_state=3)
    for got, wanted in zip(whole(stream, width), whole(stream, None), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert all(block.width <= width for block in stream.columns(width))


def test_load_columns_and_rows_are_the_same_numbers():
    stream = SparseStream(n_rows=50, n_columns=N, informative=4)
    matrix, y = stream.load()
    assert matrix.shape == (50, N)
    lengths, indices, values = whole(stream, 100)
    np.testing.assert_array_equal(np.diff(matrix.indptr), lengths)
    np.testing.assert_array_equal(matrix.indices, indices)
    assert set(values) == {1.0}
    np.testing.assert_array_equal(y, stream.target())
    rows = list(to_rows(stream).batches(20))
    assert [len(block.y) for block in rows] == [20, 20, 10]
    assert sum(block.values.stored for block in rows) == matrix.nnz


def test_the_seed_decides_everything():
    matrices = [
        SparseStream(100, 500, random_state=s).load()[0].toarray().tobytes() for s in (0, 0, 1)
    ]
    assert matrices[0] == matrices[1] != matrices[2]


def test_classes_are_of_equal_size_and_noise_has_the_requested_density():
    stream = SparseStream(n_rows=1000, n_columns=5000, informative=0, nonzeros=12.0)
    assert stream.target().sum() == 500
    assert whole(stream, None)[0].mean() == pytest.approx(12, rel=0.05)


def test_copies_are_a_half_of_their_feature_and_come_after_it():
    stream = SparseStream(n_rows=400, n_columns=N, informative=5)
    columns = stream.load()[0].toarray().astype(bool)
    y = stream.target()
    for k, (feature, copy) in enumerate(zip(stream.planted, stream.copies, strict=True)):
        assert copy > feature
        assert not np.any(columns[:, copy] & ~columns[:, feature])
        assert columns[:, copy].sum() == -(-columns[:, feature].sum() // 2)
        assert set(y[columns[:, feature]]) == {k % 2}


@pytest.mark.parametrize(("n_columns", "informative"), [(4, 1), (40, 10), (41, 10), (1000, 250)])
def test_small_streams_contain_all_planted_features(n_columns, informative):
    stream = SparseStream(n_rows=40, n_columns=n_columns, informative=informative)
    indices = [*stream.planted.tolist(), *stream.copies.tolist()]
    assert max(indices) < n_columns
    assert len(set(indices)) == 2 * informative


def test_planted_features_are_found_and_copies_are_redundant():
    stream = SparseStream(n_columns=20_000)
    run = select(stream, SAOLA(MutualInformation(alpha=0.01 / stream.n_columns)))
    assert run.log.replay() == stream.planted.tolist()
    assert {run.log.verdicts[c] for c in stream.copies} == {Verdict.REDUNDANT}
    for feature, copy in zip(stream.planted, stream.copies, strict=True):
        assert f" its dependence on x{feature} (" in run.why(int(copy))


def test_info_shows_the_recipe():
    info = SparseStream(100, 500, 2, random_state=9).info()
    assert (info.n_rows, info.n_columns, info.layout, info.axis) == (100, 500, "sparse", "columns")
    assert info.fingerprint != SparseStream(100, 500, 2, random_state=8).info().fingerprint
    assert info.target == "2 classes: 0 (50), 1 (50)"


def test_progress_is_reported_up_to_the_end():
    seen = []
    list(SparseStream(50, 1000).columns(300, progress=lambda *args: seen.append(args)))
    assert [done for _, done, _ in seen] == [300, 600, 900, 1000]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_rows": 19}, {"n_columns": 3}, {"informative": 300}, {"informative": -1},
        {"nonzeros": -1}, {"nonzeros": float("nan")}, {"nonzeros": 1e9}, {"random_state": -1},
        {"random_state": 0.5},
    ],
)  # fmt: skip
def test_invalid_recipes_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"SparseStream: {name}="):
        SparseStream(**{"n_rows": 100, "n_columns": 1000} | wrong)


@pytest.mark.parametrize("width", [0, -1, 2.5])
def test_invalid_widths_are_refused(width):
    with pytest.raises(ParameterError, match="width="):
        next(SparseStream(50, 1000).columns(width))


GROWTH = """
import resource
import tamis
from tamis.sources.arrays.synthetic import SparseStream

def run(columns):
    stream = SparseStream(n_rows=500, n_columns=columns, nonzeros=2.0)
    kept = tamis.select(stream, tamis.SAOLA(tamis.MutualInformation(alpha=0.01 / columns)))
    return kept, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

_, before = run(200_000)
result, after = run(2_000_000)
print(after - before, len(result.log))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit")
def test_memory_grows_only_by_the_log():
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True
    )
    grown, features = map(int, done.stdout.split())
    assert features == 2_000_000
    assert grown < 8 * features + 60_000_000
