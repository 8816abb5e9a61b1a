"""Every example runs as it is, warns of nothing, and draws a picture."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
#: Examples of about ten seconds, which make docs and make test-slow run.
SLOW = {"plot_compare", "plot_column_limit"}


def packages(example: Path) -> list[str]:
    """Return the packages that an example names in its line `# Requires:`."""
    found = re.search(r"^# Requires: (.+)$", example.read_text(), re.MULTILINE)
    return found[1].split(", ") if found else []


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            path,
            id=path.stem.removeprefix("plot_"),
            marks=pytest.mark.slow if path.stem in SLOW else (),
        )
        for path in EXAMPLES
    ],
)
def test_an_example_runs_and_draws(example, tmp_path, monkeypatch):
    for package in packages(example):
        pytest.importorskip(package)
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(plt.get_fignums()))
    try:
        with warnings.catch_warnings():
            if {"mlflow", "feast"} & set(packages(example)):
                warnings.simplefilter("ignore")  # they warn of their own future
            runpy.run_path(str(example), run_name="__main__")
        assert drawn
    finally:
        plt.close("all")


def test_the_list_of_examples_is_complete():
    listed = re.findall(r"\]\((plot_\w+\.py)\)", (FOLDER / "README.md").read_text())
    assert listed == [example.name for example in EXAMPLES]
    assert len(EXAMPLES) >= 10
    for example in EXAMPLES:
        title = example.read_text().split("\n")[1]
        assert f"[{title}]({example.name})" in (FOLDER / "README.md").read_text()
