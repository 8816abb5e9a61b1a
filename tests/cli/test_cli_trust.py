"""How far a selection can be trusted, as a user asks for it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tamis import open_run


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    patient = np.repeat([f"p{i}" for i in range(30)], 5)
    sick = np.where(np.arange(150) % 2, "yes", "no")
    X = pd.DataFrame(rng.normal(size=(150, 400)), columns=[f"c{j}" for j in range(400)])
    X["c7"] += 2.0 * (sick == "yes")
    path = tmp_path / "visits.csv"
    X.assign(patient=patient, sick=sick).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("how", [(), ("--checkpoint",), ("--cluster", "local:2")])
@pytest.mark.parametrize("method", ["sieve", "saola"])
@pytest.mark.usefixtures("shared_processes")
def test_shadow_worlds(tamis, visits, tmp_path, method, how):
    out, select = tmp_path / "run", ("select", visits, "--target", "sick", "--method", method)
    plain = tamis(*select, "--row-groups", "patient", "--out", out)
    assert plain.code == 2
    assert "add shadows=3 (--shadows 3)" in plain.err
    assert tamis(*select, "--ignore", "patient", "--out", tmp_path / "plain").code == 0
    done = tamis(*select, "--shadows", "3", "--row-groups", "patient", "--out", out, *how)
    assert done.code == 0
    assert "\nrows that belong together: patient\nluck: " in done.out
    assert "of them expected to be false (3 shadow worlds)\n" in done.out
    kept, plainly = ((tmp_path / name / "selected.csv").read_text() for name in ("run", "plain"))
    assert kept == plainly
    found = json.loads((out / "run.json").read_text())["trust"]["false_keeps"]
    assert len(found["worlds"]) == 3
    assert "expected to be false" in tamis("status", out).out
    again = tamis(*select, "--shadows", "3", "--row-groups", "patient", "--out", tmp_path / "b")
    assert again.code == 0
    assert json.loads((tmp_path / "b" / "run.json").read_text())["trust"]["false_keeps"] == found
    assert tamis("report", out, "--format", "md").code == 0
    report = (out / "report.md").read_text()
    assert "How far can this be trusted?" in report
    assert f"of {found['kept']} kept, expected to be luck" in report


def test_luck_without_asking(tamis, visits, tmp_path):
    out, select = tmp_path / "run", ("select", visits, "--target", "sick", "--ignore", "patient")
    done = tamis(*select, "--out", out)
    kept = len((out / "selected.csv").read_text().splitlines()) - 1
    assert (
        "\nluck: chance alone lets about 4 of 400 columns pass the test at 0.01; --shadows 3 "
        f"estimates how many of the {kept} kept did\ncertified: 1 of {kept} kept features, at most "
        f"10 % of them luck; tamis status {out} --certify 0.1 names them\n"
    ) in done.out
    assert tamis("status", out, "--certify", "0.1").out.endswith("c7\n")
    assert tamis("report", out, "--format", "md").code == 0
    assert "Luck: chance alone lets about 4 of 400 columns" in (out / "report.md").read_text()
    stopped = tamis(*select, "--method", "saola", "--stop", "features=2", "--out", tmp_path / "a")
    log = open_run(tmp_path / "a").log
    examined = len(log) - log.counts()["unexamined"]
    assert examined < 300
    assert f" of {examined} columns pass the test" in stopped.out
    done = tamis(*select, "--method", "fcbf", "--out", tmp_path / "b")
    assert "pass the test at 0.01; --fdr 0.1 limits their share\n" in done.out
    for more in (("--fdr", "0.1"), ("--encode", "mdlp"), ("--method", "relieff")):
        done = tamis(*select, *more, "--out", tmp_path / "c", "--force")
        assert done.code == 0
        assert "luck: " not in done.out
        assert "certified: " not in done.out


def test_methods_without_worlds_are_refused(tamis, visits, tmp_path):
    for method, message in (
        ("fcbf", "fcbf has no parameter 'shadows'"),
        ("sfs-fi", "SFSFI cannot judge decoys"),
    ):
        run = ("select", visits, "--target", "sick", "--method", method, "--out", tmp_path / "x")
        refused = tamis(*run, "--shadows", "3")
        assert refused.code == 2
        assert message in refused.err


def test_stability_over_rows(tamis, visits, tmp_path):
    out, select = tmp_path / "run", ("select", visits, "--target", "sick", "--method", "saola")
    more = ("--ignore", "patient", "--stability", "3")
    done = tamis(*select, *more, "--out", out)
    assert done.code == 0
    assert "\nstability: " in done.out
    assert "over 6 halves of the rows" in done.out
    assert "over 6 halves of the rows" in tamis("status", out).out
    assert json.loads((out / "run.json").read_text())["trust"]["stability"]["votes"]
    assert tamis("report", out, "--format", "md").code == 0
    assert "Would other rows agree?" in (out / "report.md").read_text()
    # More columns: what halves said about fewer of them no longer holds.
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(150, 3)), columns=["n1", "n2", "n3"])
    table.to_csv(tmp_path / "more.csv", index=False)
    assert tamis("feed", out, tmp_path / "more.csv").code == 0
    assert "halves of the rows" not in tamis("status", out).out
