"""Missing values that stay missing: AnyShape gives them the middle rank and a bin of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata

import tamis
from tamis.core.errors import TamisError

ROWS = 200


def gapped(rng: np.random.Generator, columns: int) -> np.ndarray:
    """Normal numbers, with a different share of missing values in each column."""
    X = rng.normal(size=(ROWS, columns))
    X[rng.random(X.shape) < np.linspace(0, 0.7, columns)] = np.nan
    return X


def table() -> tuple[np.ndarray, np.ndarray]:
    """Columns: a signal with gaps, gaps that are the signal, only gaps, one gap, noise."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, ROWS)
    X = gapped(rng, 20)
    X[:, 0] = y + rng.normal(size=ROWS)
    X[::7, 0] = np.nan
    X[:, 1] = np.where(y == 1, np.nan, rng.normal(size=ROWS))
    X[:, 2] = np.nan
    X[:, 3] = rng.normal(size=ROWS)
    X[3, 3] = np.nan
    return X, y


def middle_rank(x: np.ndarray) -> np.ndarray:
    """Centred ranks, with 0 for missing values."""
    scores, there = np.zeros(len(x)), ~np.isnan(x)
    scores[there] = 2 * rankdata(x[there]) - there.sum() - 1
    return scores


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_the_share_of_noise_that_passes_is_the_level(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, ROWS) if classes else rng.normal(size=ROWS)
    p = tamis.AnyShape().p_values(gapped(rng, 4000), y)
    for level in (0.01, 0.05):
        sd = np.sqrt(level * (1 - level) / 4000)
        assert level / 2 < np.mean(p < level) < level + 4 * sd


def test_ranks_of_a_numeric_target_are_those_of_an_imputed_column():
    """A rising relation is found as strongly as in a column whose gaps have the middle rank."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=ROWS)
    x = y + rng.normal(size=ROWS)
    x[rng.random(ROWS) < 0.03] = np.nan  # too few for a bin of their own
    r = np.corrcoef(middle_rank(x), rankdata(y))[0, 1]
    adjusted = 1 - (1 - r**2) * (ROWS - 1) / (ROWS - 2)
    found = tamis.AnyShape().relevance(x, y).value[0]
    assert found >= np.sqrt(adjusted) - 1e-12  # bins may say more
    assert found == pytest.approx(np.sqrt(adjusted), abs=0.05)


def test_a_column_without_gaps_is_judged_as_before():
    X, y = table()
    whole = np.where(np.isnan(X), 0.5, X)
    some = np.flatnonzero(~np.isnan(X).any(axis=0))
    assert np.array_equal(
        tamis.AnyShape().p_values(X, y)[some], tamis.AnyShape().p_values(whole, y)[some]
    )


def test_gaps_of_sparse_columns_are_those_of_dense_ones():
    X, y = table()
    X[np.abs(X) < 0.8] = 0.0
    columns = sp.csc_matrix(X)
    measure = tamis.AnyShape()
    assert np.array_equal(measure.p_values(X, y), measure.p_values(columns, y))
    assert np.array_equal(measure.between(X, X), measure.between(columns, columns))


@pytest.mark.parametrize("method", ["sieve", "saola", "fcbf", "mrmr"])
def test_missing_values_need_no_preparation(method):
    X, y = table()
    chosen = tamis._registry.METHODS[method].class_name
    selector = getattr(tamis, chosen)(**({} if method == "sieve" else {"measure": "any_shape"}))
    run = tamis.select(X, selector, y)
    assert {"x0", "x1"} <= set(run.kept_names)
    assert run.why("x2") == "x2 was dropped as irrelevant: it has the same value in every row"
    gaps = {"policy": "auto", "gaps": int(np.isnan(X).sum()), "columns": 20}
    gaps["columns"] = int(np.isnan(X).any(axis=0).sum())
    assert run.source["missing"] == gaps
    assert tamis.select(X, selector, y, width=3).kept_names == run.kept_names
    assert selector.fit(X, y).kept_.tolist() == run.selector.kept_.tolist()


def test_the_other_policies_say_what_they_did():
    X, y = table()
    with pytest.raises(TamisError, match=r"contains NaN .* in column 'x0'"):
        tamis.select(X, "sieve", y, missing="error")
    with pytest.raises(TamisError, match="have missing values: --method sieve takes them"):
        tamis.select(X, "saola", y)
    assert tamis.select(X, "sieve", y, missing="category").kept_names == (
        tamis.select(X, "sieve", y).kept_names
    )
    coded = np.where(np.isnan(X), -9.0, X)
    found = tamis.select(coded, "sieve", y, missing=tamis.encode.Missing("auto", values=-9))
    assert found.kept_names == tamis.select(X, "sieve", y).kept_names
    X[0, 5] = np.inf
    with pytest.raises(TamisError, match="contains infinity in column 'x5', row 0"):
        tamis.select(X, "sieve", y)


def test_a_living_selection_counts_them(tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(20)])
    selection = tamis.Selection.create(tmp_path / "run", y, "sieve")
    selection.feed(frame.iloc[:, :7])
    again = tamis.Selection.open(tmp_path / "run")
    again.feed(frame.iloc[:, 7:])
    whole = tamis.select(frame, "sieve", y)
    assert again.run.kept_names == whole.kept_names
    assert again.run.source["missing"] == whole.source["missing"]
