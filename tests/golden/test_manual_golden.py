"""What the manual of LOFS prints for its two sample sets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tamis
from golden_outputs import matrix, paths

(MANUAL,) = (json.loads(path.read_text()) for path in paths("anchors_lofs_manual.json"))

G2 = tamis.GSquared(alpha=0.01, statistic="g2")
Z = tamis.FisherZ(alpha=0.01, classes="numeric", statistic="z")
#: Calls as the manual prints them: the set, the selector, and groups of how many features.
CALLS: dict[str, tuple[str, Any, int | None]] = {
    "Alpha_Investing(wdbc(:,1:30),wdbc(:,31))":
        ("wdbc", tamis.AlphaInvesting(variant="program"), None),
    "osfs_d(spect,23,0.01,'g2')": ("spect", tamis.OSFS(G2), None),
    "osfs_z(wdbc,31,0.01)": ("wdbc", tamis.OSFS(Z), None),
    "fast_osfs_d(spect,23,0.01,'g2')": ("spect", tamis.FastOSFS(G2), None),
    "fast_osfs_z(wdbc,31,0.01)": ("wdbc", tamis.FastOSFS(Z), None),
    "fast_osfs_z(wdbc(1:500,:),31,0.01)": ("wdbc", tamis.FastOSFS(Z), None),
    "saola_mi(spect,0)":
        ("spect", tamis.SAOLA(tamis.SymmetricUncertainty(), variant="program"), None),
    "saola_z_test(wdbc,0.01)": ("wdbc", tamis.SAOLA(Z, variant="program"), None),
    "saloa_group_mi(group_f(1:22,4),spect,23,0)":
        ("spect", tamis.GroupSAOLA(tamis.SymmetricUncertainty(), variant="program"), 4),
    "saloa_group_z_test(group_f(1:30,5),wdbc,31,0.01)":
        ("wdbc", tamis.GroupSAOLA(Z, variant="program"), 5),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_it_selects_what_the_manual_prints(call: str) -> None:
    name, selector, n_groups = CALLS[call]
    X, y = matrix(name)
    if "Alpha" in call:
        # The manual's classes are 0 and 1 and there is no intercept, so it matters that we count
        # classes from 1. A target of real numbers is used unchanged.
        y = y - 1 + 1e-9 * np.arange(len(y))
    n_rows = 500 if "1:500" in call else len(y)
    options: dict[str, Any] = {}
    if n_groups:
        size = X.shape[1] // n_groups
        options["groups"] = np.minimum(np.arange(X.shape[1]) // size, n_groups - 1)
    found = selector.fit(X[:n_rows], y[:n_rows], **options)
    assert (found.kept_ + 1).tolist() == MANUAL["selected_1based"][call]


def test_no_call_of_the_manual_was_missed() -> None:
    assert set(CALLS) == set(MANUAL["selected_1based"])


def test_information_of_two_columns_is_what_the_manual_prints() -> None:
    X, y = matrix("spect")
    printed = MANUAL["values"]
    column = X[:, [1]]
    for measure, call in (
        (tamis.MutualInformation(), "mi(spect(:,23),spect(:,2))"),
        (tamis.SymmetricUncertainty(), "SU(spect(:,23),spect(:,2))"),
    ):
        assert measure.relevance(column, y)[0] == pytest.approx(printed[call], rel=2e-5)


def test_the_worked_example_of_ofs_a3m_ends_as_printed() -> None:
    X, y = matrix("ofs_a3m_paper_table1")
    found = tamis.OFSA3M(variant="program", order="natural").fit(X, y)
    printed = MANUAL["ofs_a3m_paper_worked_example"]["printed_selection"]
    assert [f"f{j + 1}" for j in found.kept_] == printed
