"""Alpha-investing against what the authors' program selected, and against its steps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from golden_outputs import count, files, matrix, paths
from tamis import AlphaInvesting
from tamis.core.blocks import ColumnBlock
from tamis.kernels.least_squares import exponential_tail


@pytest.mark.parametrize("path", files("alpha_investing*.json"))
def test_it_selects_what_the_program_selects(path: Path) -> None:
    record = json.loads(path.read_text())
    X, y = matrix(record["dataset"])
    shift = 0
    if record["algorithm"] == "alpha_investing_const":
        X, shift = np.column_stack([np.ones(len(X)), X]), 1

    found = AlphaInvesting(variant="program").fit(X, y)

    kept = found.kept_[shift:] - shift
    assert kept.tolist() == sorted(record["selected_0based"])
    assert 0 in found.kept_


@pytest.mark.parametrize("path", files("primitive__alpha_investing_trace_*.json"))
def test_every_step_has_the_numbers_of_the_program(path: Path) -> None:
    trace = json.loads(path.read_text())
    X, y = matrix(path.stem.rpartition("trace_")[2])
    live = AlphaInvesting(variant="program").start(y).feed(X[:, 0])
    share, left, tail = np.empty(1), np.empty(1), np.empty(1)
    for feature, bet, p, sse, wealth in trace["rows"]:
        column = live._selector.score(ColumnBlock.of(X[:, feature : feature + 1], feature))
        live._selector.rule.model.shares(column, 0, 1, share, left)
        # No step is degenerate: without an intercept even the affine copies bring something new.
        assert left[0] > 1e-10
        assert live.wealth_ == pytest.approx(wealth, rel=1e-10)
        assert live.wealth_ / (2 * (feature + 1)) == pytest.approx(bet, rel=1e-10)
        before = np.sum(live._selector.rule.model.residuals**2)
        assert before * (1 - share[0]) == pytest.approx(sse, rel=1e-10)
        # The printed p-value is 0 where it is smaller than what the trace was printed with.
        exponential_tail(share, len(y) / 2, tail)
        assert tail[0] == pytest.approx(p, rel=1e-10, abs=1e-12)
        live.feed(X[:, feature])
        logged = list(live.log_.events())[-1]
        assert (logged.feature == feature) == (feature in trace["selected_0based"])
    assert live.kept_.tolist() == trace["selected_0based"]


def test_no_golden_file_was_missed() -> None:
    assert len(paths("alpha_investing*.json")) == count(here=4, beside=2)
    assert len(paths("primitive__alpha_investing_trace_*.json")) == 2
