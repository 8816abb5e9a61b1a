"""Fixtures for the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from command_line import CommandLine


@pytest.fixture
def tamis(capsys, monkeypatch, tmp_path) -> CommandLine:
    """The command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys, monkeypatch)


@pytest.fixture
def svm(tmp_path) -> Path:
    """200 rows of 30 flags: 3 and 20 follow the class, 21 is a copy of 20; indices from 1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.random((200, 31)) < 0.3
    X[:, 3] = np.where(rng.random(200) < 0.4, y, X[:, 3])
    X[:, 20] = X[:, 21] = np.where(rng.random(200) < 0.6, y, X[:, 20])
    lines = [f"{2 * c - 1} " + " ".join(f"{j}:1" for j in np.flatnonzero(row[1:]) + 1)
             for c, row in zip(y, X, strict=True)]  # fmt: skip
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    return tmp_path / "t.svm"


@pytest.fixture(scope="module", autouse=True)
def _workers_stay(shared_comparers: None) -> None:
    """Every comparison begins with the workers of the last one."""
