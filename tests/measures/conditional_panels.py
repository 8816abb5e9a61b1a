"""Panels of conditional measures, and what holds for every one of them."""

from __future__ import annotations

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target


def panel_of(measure, X, y):
    """A panel that keeps all columns of X but the last, which it considers."""
    panel = measure.conditional_panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(X.shape[1]))
    for j in range(X.shape[1] - 1):
        panel.add(ready[j])
    panel.consider(ready[X.shape[1] - 1])
    return panel


def check_that_added_and_dropped_columns_leave_no_trace(measure, X, y):
    """Test 12 columns: what was added, considered and dropped before changes no test."""
    panel = measure.conditional_panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(12))
    for j in range(6):
        panel.add(ready[j])
    panel.consider(ready[11])
    panel.drop(np.array([0, 3]))
    panel.add(ready[9])
    panel.drop(np.array([1]))
    panel.add(ready[10])
    panel.consider(ready[8])
    kept = [1, 4, 5, 9, 10, 8]
    expected = panel_of(measure, X[:, kept], y)
    for x in range(6):
        for given in ([], [0], [4, 2], [5, 1, 3]):
            if x not in given:
                assert panel.test(x, given) == expected.test(x, given)
