"""BlocksSource: selecting from blocks gives the same result as from the whole table."""

from __future__ import annotations

import gc
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.sources import MemorySource
from tamis.sources.axis import to_rows
from tamis.sources.streams.iterators import open_blocks


def data(sparse: bool, n: int = 60, width: int = 23):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 4, (n, width)) * (rng.random((n, width)) < 0.5).astype(float)
    X[:, 5] = y * 2
    X[:, -1] = 1
    return (sp.csc_matrix(X) if sparse else X), y


def given(X, y, kind: str, how: str):
    source = MemorySource(X, y)
    blocks = source.columns(4) if kind == "columns" else to_rows(source).batches(7)
    if how == "iterator":
        return blocks
    held = list(blocks)
    return held if how == "list" else lambda: iter(held)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kind", ["columns", "rows"])
@pytest.mark.parametrize("how", ["iterator", "list", "function"])
@pytest.mark.parametrize("memory", [10**9, 400])
def test_blocks_give_the_selection_of_the_whole(tmp_path, sparse, kind, how, memory):
    X, y = data(sparse)
    whole = tamis.select(X, "saola", y)
    target = {"y": y} if kind == "columns" else {}
    source = tamis.open(given(X, y, kind, how), memory=memory, work=tmp_path, **target)
    assert (source.format, source.axis) == ("blocks", kind)
    run = tamis.select(source, "saola")
    assert run.kept_rows() == whole.kept_rows()
    found = source.load()[0]
    dense = X.toarray() if sparse else X
    assert np.array_equal(found.toarray() if sp.issparse(found) else found, dense)
    assert source.info().fingerprint == source.info().fingerprint
    del source
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_select_accepts_an_iterator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data(sparse=False)
    whole = tamis.select(X, "saola", y).kept_rows()
    assert tamis.select((X[:, j : j + 5] for j in range(0, 23, 5)), "saola", y).kept_rows() == whole
    parts = ((X[i : i + 9], y[i : i + 9]) for i in range(0, 60, 9))
    assert tamis.select(parts, "saola").kept_rows() == whole


def test_blocks_are_numbered_in_order_and_keep_names_groups_and_text():
    parts = [
        ColumnBlock.of(np.eye(3), first=77, names=Names.of("abc")),
        ColumnBlock(5, 3, np.eye(3, order="F"), Names.of("def"), group=2),
    ]
    blocks = list(open_blocks(iter(parts)).columns(2))
    assert [(b.first, b.width, b.group) for b in blocks] == [
        (0, 2, None), (2, 1, None), (3, 2, 2), (5, 1, 2),
    ]  # fmt: skip
    assert [n for b in blocks for n in b.names] == list("abcdef")
    days = (pd.DataFrame({f"w{i}": ["x", "y", "z"], f"n{i}": [1, 2, 3]}) for i in range(2))
    block = next(tamis.open(days).columns())
    assert (list(block.names), block.is_text.tolist()) == (["w0", "n0"], [True, False])


def test_learners_accept_blocks_of_rows():
    X, y = data(sparse=True)
    whole = tamis.SOFS(5).partial_fit(X, y, classes=[0, 1])
    rows = tamis.open(to_rows(MemorySource(X, y)).batches(7)).batches(11)
    stream = tamis.SOFS(5).fit_stream(rows, classes=[0, 1])
    assert np.array_equal(stream.weights_, whole.weights_)


def test_mismatched_data_gives_one_sentence(tmp_path):
    columns, rows = ColumnBlock.of(np.eye(3)), RowBlock(0, 3, np.eye(3), np.arange(3))
    cases = [
        (iter([]), "there is no block; give at least one"),
        ([columns, ColumnBlock.of(np.eye(4))], "a block of 4 rows came after blocks of 3; give"),
        ([columns, rows], "a block of rows came among blocks of columns; give one kind"),
        ([rows, columns], "a block of columns came among blocks of rows; give one kind"),
        ([rows, RowBlock(3, 3, np.eye(3))], "some blocks of rows have targets and others have"),
        (iter(["words"]), "a str came where a block was expected; give ColumnBlocks"),
        (iter([3]), "a int came where a block was expected; give ColumnBlocks"),
    ]
    for blocks, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            open_blocks(blocks).load()
    grouped = (ColumnBlock(0, 90, np.zeros((90, 9), order="F"), group=1) for _ in range(9))
    with pytest.raises(InputError, match="these blocks have groups and are too many to be held"):
        open_blocks(grouped, memory=1000, work=tmp_path)
