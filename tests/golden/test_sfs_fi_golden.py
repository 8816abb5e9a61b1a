"""SFS-FI: what the authors' program selected, with its two index mistakes repaired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from golden_outputs import count, matrix, paths
from tamis import SFSFI, FisherZ, SymmetricUncertainty

FILES = paths("sfs_fi_*.json")
REPAIRED = [path for path in FILES if "_fix__" in path.stem]
AS_PUBLISHED = [path for path in FILES if "_fix__" not in path.stem]


def selected(record: dict[str, Any]) -> SFSFI:
    """The setting that matches a golden file, fitted."""
    X, y = matrix(record["dataset"])
    discrete = record["algorithm"].startswith("sfs_fi_mi")
    measure = (
        SymmetricUncertainty()
        if discrete
        else FisherZ(alpha=0.01, classes="numeric", statistic="z")
    )
    return SFSFI(measure, gamma=record["params"]["gamma"], variant="program").fit(X, y)


@pytest.mark.parametrize("path", REPAIRED, ids=lambda path: path.stem)
def test_sfs_fi_selects_what_the_repaired_program_selects(path: Path) -> None:
    record = json.loads(path.read_text())
    found = selected(record)
    assert found.kept_.tolist() == sorted(record["selected_0based"])
    # As many conditional values as the program worked out: informations, or tests given one.
    tests = record["tests"]
    assert found.work_["pair_values"] == tests["cmi_calls"] + tests["by_conditioning_size"][1]


#: What the program as published selects, and what it selects with its two index mistakes repaired,
#: where the two differ. In its weak branch it looks up terms and features at wrong indices, so the
#: comparisons there are meaningless: it is deliberately not matched.
INDEX_MISTAKES = {
    "spect": ([6, 7], [1, 5, 7, 15]),
    "wdbc_q3": ([0, 4, 8, 15, 21, 28, 29], [0, 4, 9, 11, 14, 15, 18, 19, 21, 24, 29]),
}


@pytest.mark.parametrize("path", AS_PUBLISHED, ids=lambda path: path.stem)
def test_the_program_as_published_is_not_matched_where_its_mistakes_decide(path: Path) -> None:
    record = json.loads(path.read_text())
    ours, theirs = selected(record).kept_.tolist(), sorted(record["selected_0based"])
    if record["dataset"] in INDEX_MISTAKES:
        assert (theirs, ours) == INDEX_MISTAKES[record["dataset"]]
    elif path.stem == "sfs_fi_mi_g__synth_bn":
        assert theirs == [0, 4, 10, 19, 25, 40, 55]
        assert len(ours) == 46
    elif path.stem == "sfs_fi_mi_g__colon":
        assert (len(ours), len(theirs)) == (1972, 1995)
    else:  # no feature of these met the weak branch in a way that mattered
        assert ours == theirs


def test_no_golden_file_was_missed() -> None:
    assert len(REPAIRED) == 5
    assert len(AS_PUBLISHED) == count(here=9, beside=4)
