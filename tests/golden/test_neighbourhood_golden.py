"""What the authors' programs for OFS-A3M and OFS-Density computed and selected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tamis
from golden_outputs import cases, count, files, matrix, paths
from tamis.measures.dependency import dependency

SETTINGS = {
    "ofs_a3m": (tamis.OFSA3M, "gap"),
    "ofs_density": (tamis.OFSDensity, "density rises"),
}


@pytest.mark.parametrize(
    ("name", "n_cases"),
    [("ofs_a3m_paper_table1", 6), ("wdbc", 12), ("colon", 12), ("lung_small", 12), ("GLIOMA", 12)],
)
def test_dependencies_are_the_program_s(name: str, n_cases: int) -> None:
    X, y = matrix(name)
    of_the_program = cases("neighbourhood_dependency", name)
    assert len(of_the_program) == n_cases
    for case in of_the_program:
        features = X[:, case["features"]]
        for rule, key in (("gap", "dep_gap"), ("density rises", "dep_density")):
            found = dependency(features, y, rule, program=True)
            assert found == pytest.approx(case[key], abs=1e-10)


@pytest.mark.parametrize("path", files("ofs_*_det__*.json"))
def test_it_selects_what_the_program_selects(path: Path) -> None:
    record = json.loads(path.read_text())
    selector, _ = SETTINGS[record["algorithm"].removesuffix("_det")]
    X, y = matrix(record["dataset"])
    found = selector(variant="program", order="natural").fit(X, y)
    assert found.kept_.tolist() == record["selected_0based"]


@pytest.mark.parametrize("path", files("ofs_*__rand.json"))
def test_a_random_run_ends_like_the_program_s(path: Path) -> None:
    """Its draws cannot be repeated. Where they do not matter the sets are equal, else similar."""
    record = json.loads(path.read_text())
    selector, rule = SETTINGS[record["algorithm"]]
    X, y = matrix(record["dataset"])
    runs = [selector(variant="program", random_state=seed).fit(X, y) for seed in range(4)]
    if record["dataset"] == "synth_lin":  # continuous: nothing ties, so nothing is pruned
        assert {tuple(run.kept_.tolist()) for run in runs} == {tuple(record["selected_0based"])}
        return
    theirs = dependency(X[:, record["selected_0based"]], y, rule, program=True)
    ours = [run.dependency_ for run in runs]
    assert min(ours) - 0.03 < theirs < max(ours) + 0.03
    sizes = [len(run.kept_) for run in runs]
    assert min(sizes) / 2 <= record["n_selected"] <= 2 * max(sizes)


def test_no_golden_file_was_missed() -> None:
    found = paths("ofs_*.json")
    assert len(found) == count(here=8, beside=8)
    kinds = {json.loads(path.read_text())["algorithm"] for path in found}
    assert kinds == {*SETTINGS, *(f"{name}_det" for name in SETTINGS)}
