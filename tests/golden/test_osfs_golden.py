"""What the authors' OSFS and Fast-OSFS selected on the same matrices, test by test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tamis
from golden_outputs import count, files, matrix, paths
from program_rules import ProgramFastOSFS

METHODS = {"osfs": tamis.OSFS, "fast_osfs": ProgramFastOSFS}
PATTERNS = ("osfs_[dz]_*.json", "fast_osfs_[dz]_*.json")

#: In synth_lin one column is the sum of two others and one an affine copy. The program inverts
#: singular matrices there, gets a complex correlation once, and its verdict is rounding; ours is
#: the rule for collinear columns. The two agree, which is luck and not required.
DEGENERATE = "synth_lin"


def selector_for(record: dict[str, Any]) -> Any:
    """The setting that matches a golden file."""
    method, kind = record["algorithm"].removesuffix("_acc").rsplit("_", 1)
    alpha = record["params"]["alpha"]
    if kind == "z":
        measure: Any = tamis.FisherZ(alpha=alpha, classes="numeric", statistic="z")
    else:
        statistic = "pearson" if record["params"]["test"] == "chi2" else "g2"
        measure = tamis.GSquared(alpha=alpha, statistic=statistic)
    return METHODS[method](measure)


def paper_for(record: dict[str, Any]) -> Any:
    """The same setting, by the rule of the paper."""
    chosen = selector_for(record)
    paper = tamis.FastOSFS if isinstance(chosen, ProgramFastOSFS) else tamis.OSFS
    return paper(**chosen.get_params(deep=False))


@pytest.mark.filterwarnings("ignore:.* too few rows for some tests:tamis.core.errors.DataWarning")
@pytest.mark.parametrize("path", files(*PATTERNS))
def test_it_selects_what_the_program_selects_by_as_many_tests(path: Path) -> None:
    record = json.loads(path.read_text())
    X, y = matrix(record["dataset"])
    assert record["skipped_because_column_sum_is_0_0based"] == []
    order = np.arange(X.shape[1])[:: -1 if record["feature_order"] == "reverse" else 1]

    found = selector_for(record).fit(X[:, order], y)

    assert order[found.kept_].tolist() == record["selected_0based"]
    tests = record["tests"]
    for key, ours in (("by_conditioning_size", "tests"), ("insufficient_by_size", "refused")):
        made = [found.work_[f"{ours}_given_{m}"] for m in range(4)]
        assert made == tests[key][:4]
        assert sum(tests[key][4:]) == 0
    singular = tests["nan_corr"] + tests["complex_corr"] > 0
    assert singular == (record["dataset"] == DEGENERATE)
    assert (found.work_["decided_by_refused"] > 0) == (sum(tests["insufficient_by_size"]) > 0)


@pytest.mark.filterwarnings("ignore:.* too few rows for some tests:tamis.core.errors.DataWarning")
@pytest.mark.parametrize("path", files(*PATTERNS))
def test_the_papers_rule_keeps_the_same_by_no_more_tests(path: Path) -> None:
    record = json.loads(path.read_text())
    X, y = matrix(record["dataset"])
    order = np.arange(X.shape[1])[:: -1 if record["feature_order"] == "reverse" else 1]
    found = paper_for(record).fit(X[:, order], y)
    assert order[found.kept_].tolist() == record["selected_0based"]
    for m in range(4):
        assert found.work_[f"tests_given_{m}"] <= record["tests"]["by_conditioning_size"][m]


def test_no_golden_file_was_missed() -> None:
    kinds = {json.loads(p.read_text())["algorithm"] for p in paths(*PATTERNS)}
    assert kinds == {
        "osfs_d", "osfs_d_acc", "osfs_z", "fast_osfs_d", "fast_osfs_d_acc", "fast_osfs_z"
    }  # fmt: skip
    assert len(paths(*PATTERNS)) == count(here=32, beside=16)
