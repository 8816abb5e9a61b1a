"""Memory: four bytes per column for SOFS, eight for RowSieve, none for columns that never occur."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tamis
from tamis.core.blocks import Compressed, RowBlock
from tamis.methods.online.weights import Zeros


def rows_at(indices, first=0):
    indices = np.sort(np.asarray(indices, dtype=np.int64)).reshape(-1, 2)
    indptr = np.arange(0, indices.size + 1, 2)
    y = np.arange(len(indices)) % 2
    return RowBlock(first, None, Compressed(indptr, indices.ravel(), np.ones(indices.size)), y)


@pytest.mark.parametrize(
    ("cls", "each"), [(tamis.RowSieve, 8), (tamis.SOFS, 4), (tamis.PET, 4), (tamis.FOFS, 4)]
)
def test_bytes_per_column_and_a_few_per_kept_feature(cls, each) -> None:
    for n_columns in (1_000_000, 10_000_000):
        model = cls(100, n_columns=n_columns)
        model.partial_fit(rows_at([3, 9]), classes=[0, 1])
        arrays = [v for v in vars(model.learner_.model).values() if isinstance(v, np.ndarray)]
        assert model.learner_.model.marks.view.nbytes == each * n_columns
        assert sum(a.nbytes for a in arrays) < 100 * 100
    assert len(pickle.dumps(model)) < 20_000


def test_zero_arrays_grow_and_pickle_compactly() -> None:
    table = Zeros(2, np.float32)
    table.reach(10)
    table.view[7] = [1, -2]
    table.reach(5)
    assert table.view.shape == (10, 2)
    table.reach(1_000_000)
    assert table.view[7].tolist() == [1, -2]
    assert np.count_nonzero(table.view) == 2
    packed = pickle.dumps(table)
    assert len(packed) < 1_000
    again = pickle.loads(packed)
    assert again.view.shape == (1_000_000, 2)
    assert again.view[7].tolist() == [1, -2]
    assert np.count_nonzero(again.view) == 2


def test_a_growing_stream_copies_seldom() -> None:
    """Each block has a higher number than all before; the table is reallocated only a few times."""
    model, tables = tamis.SOFS(10), set()
    for n in range(1, 200):
        model.partial_fit(rows_at([n, 1000 + n]), classes=[0, 1])
        tables.add(id(model.learner_.model.marks.view.base))
    assert len(tables) == 1
    assert model.n_features_in_ == 1000 + 199 + 1
    known = tamis.SOFS(10, n_columns=5000).partial_fit(rows_at([1, 2]), classes=[0, 1])
    assert len(known.learner_.model.marks.view.base) == 5000


PROGRAM = """
import sys
import numpy as np
import tamis
from tamis.core.blocks import Compressed, RowBlock

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

n_columns = int(sys.argv[1])
indices = np.sort(np.array([5, n_columns // 2, n_columns - 1]))
block = RowBlock(0, None, Compressed(np.array([0, 3]), indices, np.ones(3)), np.array([1]))
warm = tamis.SOFS(3).partial_fit(
    RowBlock(0, None, Compressed(np.array([0, 1]), indices[:1], np.ones(1)), np.array([1])),
    classes=[0, 1])
before = resident()
known = {"known": n_columns, "unknown": None}[sys.argv[2]]
model = tamis.SOFS(2, n_columns=known)
model.partial_fit(block, classes=[0, 1])
model.partial_fit(block, classes=[0, 1])
assert model.kept_.tolist() == indices[:2].tolist(), model.kept_
assert model.predict(block).tolist() == [1]
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("known", ["known", "unknown"])
@pytest.mark.parametrize("n_columns", [200_000_000, 2**31 + 10])
def test_columns_that_never_occur_cost_nothing(n_columns, known) -> None:
    command = [sys.executable, "-c", PROGRAM, str(n_columns), known]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is not enough memory for" in done.stderr:
        pytest.skip("this machine does not promise so much memory")
    assert done.returncode == 0, done.stderr
    # Three columns touch three pages, of 2 MB each where the system hands out large ones.
    assert float(done.stdout) < 30
