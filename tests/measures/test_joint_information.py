"""Interactions of columns: what they say about the class together."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.errors import InputError, ParameterError


def entropy(*columns: object) -> float:
    """The definition, in bits."""
    counts = Counter(zip(*columns, strict=True)).values()  # type: ignore[call-overload]
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts)


def information(y: np.ndarray, *columns: np.ndarray) -> float:
    return entropy(y) + entropy(*columns) - entropy(y, *columns)


@pytest.mark.parametrize("t", [1, 2, 3, 4])
def test_joint_information_is_the_definition(t: int) -> None:
    rng = np.random.default_rng(t)
    X, y = rng.integers(-1, 3, (90, t)), rng.integers(0, 3, 90)
    for table in (X, X.astype(float), sp.csc_matrix(X)):
        found = tamis.interaction(table, y)
        assert found.joint == pytest.approx(information(y, *X.T), abs=1e-12)
        assert found.alone == pytest.approx([information(y, c) for c in X.T], abs=1e-12)
        assert found.value == pytest.approx(found.joint - sum(found.alone), abs=1e-15)


def monk_1() -> tuple[np.ndarray, np.ndarray]:
    """All 432 rows of MONK-1: the class is a1 = a2 or a5 = 1."""
    levels = (3, 3, 2, 3, 4, 2)
    X = np.array(list(itertools.product(*(range(1, k + 1) for k in levels))))
    return X, ((X[:, 0] == X[:, 1]) | (X[:, 4] == 1)).astype(int)


def test_three_columns_of_monk_1_tell_the_class_and_none_does_alone() -> None:
    X, y = monk_1()
    assert tamis.interaction(X[:, [0, 1, 4]], y).joint == pytest.approx(1.0, abs=1e-12)
    assert tamis.interaction(X[:, [0, 1]], y).joint == pytest.approx(0.4591, abs=5e-5)
    assert tamis.interaction(X[:, [0, 4]], y).value == pytest.approx(0.0, abs=1e-12)


def test_the_printed_values_of_monk_1_are_those_of_its_training_rows(shared: Path) -> None:
    papers = json.loads((shared / "paper_tables.json").read_text())
    printed = next(
        figure["value"]
        for figure in papers["sfs_fi"]["prose_figures"]
        if figure["text"].startswith("MONK-1: mutual information")
    )
    X, y = (np.load(shared / "data" / "monk1" / f"{name}.npy")[:124] for name in ("X", "y"))
    assert len(printed) == 12
    for names, value in printed.items():
        columns = [int(name[1]) - 1 for name in names.split(",")]
        joint = tamis.interaction(X[:, columns], y).joint
        assert round(joint, 8 if value < 0.001 else 4) == value, names


def test_gains_are_sums_of_pairwise_interactions_and_those_of_sfs_fi() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 5))
    y = (X[:, 0] + X[:, 1]) % 3
    kept = [3, 0]
    slow = [sum(tamis.interaction(X[:, [f, s]], y).value for s in kept if s != f) for f in range(5)]
    assert tamis.interaction_gains(X, y, kept) == pytest.approx(slow, abs=1e-12)
    shares = [1 if f in kept else 2 for f in range(5)]
    mean = np.array(slow) / shares
    assert tamis.interaction_gains(X, y, kept, gain="mean") == pytest.approx(mean, abs=1e-12)
    # The rule keeps the first column, so the gain of the second is with it alone.
    log = tamis.SFSFI(tamis.MutualInformation(), gamma=0.01).fit(X, y).log_
    assert log.final_decision(1).value == pytest.approx(
        tamis.interaction_gains(X, y, [0])[1], abs=1e-6
    )
    assert tamis.interaction_gains(X, y, []).tolist() == [0.0] * 5


def test_what_is_refused() -> None:
    X = np.zeros((4, 2))
    with pytest.raises(InputError, match="X has no columns; give at least one"):
        tamis.interaction(np.zeros((4, 0)), [0, 1, 0, 1])
    with pytest.raises(InputError, match="4 rows but the target has 3"):
        tamis.interaction(X, [0, 1, 0])
    with pytest.raises(ParameterError, match="must be distinct column numbers from 0 to 1"):
        tamis.interaction_gains(X, [0, 1, 0, 1], [0, 2])
    with pytest.raises(ParameterError, match="must be distinct column numbers"):
        tamis.interaction_gains(X, [0, 1, 0, 1], [1, 1])
    with pytest.raises(ParameterError, match="gain='largest'"):
        tamis.interaction_gains(X, [0, 1, 0, 1], [0], gain="largest")
