"""Folders of runs, models and stores that this user may not read are not called damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from waiting import PATIENCE

#: The superuser may read everything, unless this is taken away.
AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]

pytestmark = pytest.mark.skipif(
    os.name == "nt" or (os.geteuid() == 0 and shutil.which("setpriv") is None),
    reason="needs a user who may not read everything",
)


def tamis(*arguments, cwd, as_user=False):
    before = AS_USER if as_user and os.geteuid() == 0 else []
    return subprocess.run(
        [*before, sys.executable, "-m", "tamis", *arguments], cwd=cwd, capture_output=True,
        text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


MAKE = {
    "selection": ("select", "t.csv", "--target", "y", "--out", "it", "--method", "saola"),
    "run": ("select", "t.csv", "--target", "y", "--out", "it", "--method", "mrmr:n_features=1"),
    "model": ("learn", "t.csv", "--target", "y", "--out", "it", "-k", "1"),
    "store": ("convert", "t.csv", "it", "--target", "y"),
}
HIDDEN = {
    "selection": "state.sqlite", "run": "log.parquet", "model": "weights.npy", "store": "meta.json",
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKE)
def test_what_may_not_be_read_is_not_called_damaged(tmp_path, kind):
    lines = [f"{i % 2},{i % 2 + i % 3},{i % 5}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["y,a,b", *lines]) + "\n")
    name = "it.cols" if kind == "store" else "it"
    made = tamis(*[name if word == "it" else word for word in MAKE[kind]], cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / name / HIDDEN[kind]).chmod(0)
    done = tamis("info", name, cwd=tmp_path, as_user=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"tamis: {name} cannot be read, because this user may not read {HIDDEN[kind]}\n"
    )
