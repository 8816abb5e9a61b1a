"""Indices that point outside a matrix or a store: one sentence, never a crash or a wrong answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.errors import TamisError
from tamis.sources.axis import write_rows, write_store
from tamis.sources.stores.store_folder import HEADER
from waiting import PATIENCE

ROWS, COLUMNS = 30, 40

#: Breaks one array of a matrix in each of the given ways, and prints what became of it.
CHILD = """
import json, os, sys
import numpy as np, scipy.sparse as sp
import tamis, tamis.estimators
from tamis.core.errors import TamisError

def attempt(kind, array, position, value, use):
    rng = np.random.default_rng(0)
    X = sp.random(30, 40, 0.2, random_state=rng, format="csr")
    X.data[:] = rng.integers(1, 4, X.nnz)
    y = rng.integers(0, 2, 30)
    X = X.asformat(kind)
    whole = X.copy()
    broken = getattr(X, array)
    if position is not None:
        broken[position] = value
    try:
        if use == "fit":
            tamis.SAOLA().fit(X, y)
        elif use == "transform":
            tamis.SAOLA().fit(whole, y).transform(X)
        elif use == "select":
            tamis.select(X, "saola", y)
        elif use == "encode":
            tamis.encode.EqualWidth().fit_transform(X)
        elif use == "measure":
            tamis.MutualInformation().relevance(X, y)
        else:
            tamis.SOFS(n_features=5).fit(X, y)
    except (TamisError, ValueError) as error:
        return 0
    return 1

with tamis.threads(1):
    assert attempt("csr", "indices", None, None, sys.argv[2])  # loads kernels, for the children
    for case in json.loads(sys.argv[1]):
        child = os.fork()  # a crash ends the child only
        if not child:
            os._exit(attempt(*case, sys.argv[2]))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

BROKEN = [
    (kind, array, position, value)
    for kind in ("csr", "csc", "bsr")
    for array, position, value in (
        ("indices", 3, 10**6), ("indices", 0, -5), ("indices", -1, 2**31 - 1),
        ("indptr", 5, 10**6), ("indptr", 4, -3), ("indptr", -1, 10**6), ("indptr", 0, 7),
    )
] + [("coo", "row", 3, 10**6), ("coo", "col", 3, -10**6)]  # fmt: skip


@pytest.mark.parametrize("use", ["fit", "transform", "select", "measure", "encode", "learn"])
def test_a_matrix_with_broken_indices_is_refused(use):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(BROKEN), use],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = dict(zip(BROKEN, map(int, done.stdout.split()), strict=True))
    crashed = {case: code for case, code in outcomes.items() if code < 0}
    accepted = [case for case, code in outcomes.items() if code > 0]
    assert not crashed
    assert not accepted


def test_unsorted_columns_behind_a_flag_that_says_sorted_are_refused():
    X = sp.csc_matrix(np.ones((3, 2)))
    X.indices[:3] = [2, 0, 1]
    X.has_canonical_format = True
    with pytest.raises(TamisError, match="row numbers of column 0 do not rise from 0 to 2"):
        tamis.select(X, "saola", [0, 1, 1])


# --- stores --------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    X = sp.random(ROWS, COLUMNS, 0.3, random_state=rng, format="csc")
    X.data[:] = rng.integers(1, 4, X.nnz)
    source = tamis.open(X, y=rng.integers(0, 2, ROWS))
    source._names = tamis.sources.Names.of([f"gene_{j}é" for j in range(COLUMNS)])
    write_store(tmp_path / "x.cols", source)
    return tmp_path / "x.cols"


def replace(path: Path, position: int, value: int, dtype: str) -> None:
    """Change one number of an .npy file, or one byte of another file, in place."""
    begin = HEADER if path.suffix == ".npy" else 0
    data = np.memmap(path, dtype, "r+", begin)
    data[position] = value
    data.flush()


@pytest.mark.parametrize(
    ("file", "dtype", "position", "value"),
    [
        ("places.npy", "<i4", 5, 2**30), ("places.npy", "<i4", 0, -1),
        ("places.npy", "<i4", 7, 0), ("pointers.npy", "<i8", 9, 2**40),
        ("pointers.npy", "<i8", 9, -1), ("pointers.npy", "<i8", 9, 0),
        ("names_offsets.npy", "<i8", 5, 2**40), ("names_offsets.npy", "<i8", 5, -9),
        ("names_offsets.npy", "<i8", 5, 0), ("names_offsets.npy", "<i8", 1, 7),
        ("names.bin", "u1", 3, 255),
    ],
)  # fmt: skip
def test_a_store_with_one_changed_number_is_refused(store, file, dtype, position, value):
    replace(store / file, position, value, dtype)
    with pytest.raises(TamisError, match=r"is damaged: .* cannot be right; rebuild the store"):
        tamis.select(store, "saola")
    with pytest.raises(TamisError, match="is damaged"):
        write_rows(store.parent / "x.rows", tamis.open(store))
    assert [path.name for path in store.parent.iterdir()] == ["x.cols"]
