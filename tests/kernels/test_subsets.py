"""Subsets inside kernels come in the order of itertools."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from tamis.kernels.subsets import next_subset


@pytest.mark.parametrize("run", [next_subset, next_subset.py_func], ids=["compiled", "plain"])
@pytest.mark.parametrize("total", range(6))
def test_subsets_are_in_lexicographic_order_and_report_what_changed(run, total):
    for size in range(total + 1):
        chosen = np.arange(size)
        seen, changes = [tuple(chosen.tolist())], []
        while (place := run(chosen, size, total)) >= 0:
            changes.append(place)
            seen.append(tuple(chosen.tolist()))
        assert seen == list(combinations(range(total), size))
        for (before, after), place in zip(pairwise(seen), changes, strict=True):
            assert before[:place] == after[:place]
            assert before[place] != after[place]
