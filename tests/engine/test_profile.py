"""Profiles in Python: the same for every layout, and against a slow and obvious reference."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import DataWarning, InputError
from tamis.engine.profiled_columns import ColumnKind, copies, of_block

#: The method that is used if none is given.
DEFAULT = inspect.signature(tamis.select).parameters["selector"].default

value = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -3.0, 0.5, 1e17, np.nan])


def slowly(column: np.ndarray) -> tuple[int, int, str]:
    """Return gaps, distinct values and kind of one column, as a person would count them."""
    known = sorted({x for x in column.tolist() if x == x})
    gaps = int(np.isnan(column).sum())
    if len(known) + (gaps > 0) <= 1:
        return gaps, len(known), "constants"
    whole = all(float(x).is_integer() for x in known)
    return gaps, len(known), "whole numbers" if whole else "numbers"


@settings(max_examples=150)
@given(st.lists(st.lists(value, min_size=4, max_size=4), min_size=1, max_size=8))
def test_blocks_are_described_as_a_person_would(columns):
    X = np.array(columns).T
    dense = of_block(ColumnBlock.of(X))
    sparse = of_block(ColumnBlock.of(sp.csc_matrix(X)))
    for j, column in enumerate(X.T):
        gaps, levels, kind = slowly(column)
        assert (dense.gaps[j], dense.levels[j]) == (gaps, levels)
        assert ColumnKind(dense.kinds[j]).label == kind
        assert dense.large[j] == (1e17 in column.tolist() and kind != "numbers")
    assert np.array_equal(dense.kinds, sparse.kinds)
    assert np.array_equal(dense.gaps, sparse.gaps)
    assert np.array_equal(dense.large, sparse.large)
    assert np.array_equal(dense.hashes, sparse.hashes)
    groups, count = copies(dense, np.ones(X.shape[1], bool), 100)
    same: dict[bytes, list[int]] = {}
    for j, column in enumerate(X.T):
        same.setdefault(np.ascontiguousarray(column).tobytes(), []).append(j)
    expected = [group for group in same.values() if len(group) > 1]
    assert groups == expected
    assert count == sum(len(group) - 1 for group in expected)


def frame(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "id": range(n),
            "dose": rng.normal(size=n) + y,
            "town": rng.choice(["A", "B", "C"], n),
            "when": pd.date_range("2024-01-01", periods=n),
            "y again": y,
        }
    )
    table.loc[::7, "dose"] = np.nan
    return table, y


@pytest.mark.parametrize("kind", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_data_frames_have_the_same_profile(kind):
    table, y = frame()
    found = tamis.profile(kind(table), y)
    assert (found.n_rows, found.n_columns) == (60, 5)
    assert {k: n for k, n in found.kinds.items() if n} == {
        "numbers": 1, "whole numbers": 1, "words": 1, "dates": 1, "identifiers": 1, "gaps": 1,
    }  # fmt: skip
    assert [finding.kind for finding in found.suspicious] == [
        "identifiers", "target copies", "dates",
    ]  # fmt: skip
    assert [finding.kind for finding in found.problems] == (
        [] if DEFAULT == "sieve" else ["gaps", "words"]
    )
    method = "" if DEFAULT == "sieve" else ", selector='sieve'"
    assert found.python == f"tamis.select(data.drop(columns=['id', 'y again']), y=y{method})"
    assert found.to_frame()["kind"].tolist() == [
        "identifiers", "numbers", "words", "dates", "whole numbers",
    ]  # fmt: skip
    assert "suspicious: 'id' is an identifier" in repr(found)
    assert "suspicious: &#x27;id&#x27; is an identifier" in found._repr_html_()


def test_the_suggested_call_works():
    data, y = frame()
    python = tamis.profile(data, y).python
    with pytest.warns(DataWarning, match="'when' holds dates and was left out"):
        run = eval(python, {"tamis": tamis, "data": data, "y": y})
    assert run.kept_names == ["dose"]


def test_select_names_all_problems():
    data, y = frame()
    with (
        pytest.warns(DataWarning, match="'when' holds dates"),
        pytest.raises(InputError) as caught,
    ):
        tamis.select(data, "saola", y)
    assert str(caught.value) == (
        "the data has 2 problems: 'dose' has missing values: --method sieve takes them, or "
        "--missing (missing=); 'town' holds words beside numbers: --method sieve takes them, or "
        "--encode (encode=); this works: "
        "tamis.select(data.drop(columns=['id', 'y again']), y=y, selector='sieve')"
    )


def test_dates_of_data_frames_are_left_out_or_numbers():
    data, y = frame()
    with pytest.warns(DataWarning, match="the data: 'when' holds dates and was left out"):
        source = tamis.open(data, y=y)
    assert source.column_names == ["id", "dose", "town", "y again"]
    for kind in (lambda t: t, pl.from_pandas, pa.Table.from_pandas):
        source = tamis.open(kind(data[["when"]]), y=y, dates="number")
        assert source.load()[0][:, 0].tolist() == list(range(19_723, 19_783))


def test_a_million_sparse_columns():
    """Names and findings are made for a handful of columns only."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 50, 5_000), rng.integers(0, 1_000_000, 5_000)
    X = sp.coo_matrix((np.ones(5_000), at), (50, 1_000_000)).tocsc()
    found = tamis.profile(X, rng.integers(0, 2, 50))
    assert found.n_columns == 1_000_000
    assert found.kinds["constants"] == int(np.sum(np.diff(X.indptr) == 0))
    assert len(found.problems) + len(found.suspicious) < 5
