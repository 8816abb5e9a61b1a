"""The files of the project agree, and the package works where nothing else is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import tamis

ROOT = Path(__file__).resolve().parent.parent
TESTS = sorted((ROOT / "tests").glob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_conda_recipe_has_the_same_dependencies():
    text = (ROOT / "conda" / "recipe.yaml").read_text()
    run = text.split("  run:\n")[1].split("\n\n")[0]
    listed = [line.strip("- ").replace(" ", "") for line in run.splitlines()]
    python = "python" + PROJECT["requires-python"]
    assert listed == [python, *PROJECT["dependencies"]]


def test_versions_and_pythons_agree():
    released = tamis.__version__.partition(".dev")[0]
    assert f'version: "{released}"' in (ROOT / "conda" / "recipe.yaml").read_text()
    assert f"version: {released}" in (ROOT / "CITATION.cff").read_text()
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == pythons


def test_a_release_finds_its_version_and_its_notes():
    """The lines that .github/workflows/release.yml looks for are written as it expects."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    version = tamis.__version__
    for file, line in (
        ("src/tamis/_version.py", f'__version__ = "{version}"'),
        ("CITATION.cff", f"version: {version.partition('.dev')[0]}"),
        ("CHANGELOG.md", f"## {version.partition('.dev')[0]} "),
    ):
        assert file in workflow
        assert any(text.startswith(line) for text in (ROOT / file).read_text().splitlines())


def test_the_sdist_holds_what_its_tests_read():
    sdist = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    read = set(re.findall(r'ROOT / "([\w.]+)"', "".join(p.read_text() for p in TESTS)))
    assert {"conda", ".github"} <= read & folders <= set(sdist["targets"]["sdist"]["include"])


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    """Build both packages, install the wheel that the sdist makes, without extras, and use it."""

    def run(*words, where=tmp_path):
        plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(
            [str(word) for word in words], cwd=where, env=plain, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run(sys.executable, "-m", "hatchling", "build", "-d", tmp_path / "dist", where=ROOT)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    assert all(name.startswith(("tamis/", "tamis-")) for name in held)
    assert "tamis/py.typed" in held
    run(sys.executable, "-m", "venv", tmp_path / "env")
    scripts = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", sdist)
    there = run(scripts / "python", "-c", "import tamis; print(tamis.__file__)")
    assert str(tmp_path) in there
    lines = [
        "a,b,word,y",
        *(f"{i % 7},{i * i % 11},{'uv'[i % 2]},{i % 7 > 3:d}" for i in range(200)),
    ]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    run(scripts / "tamis", "select", "own.csv", "--target", "y", "--out", "run")
    assert run(scripts / "tamis", "why", "run", "a").startswith("a is kept")
    run(scripts / "tamis", "report", "run")
    run(scripts / "tamis", "apply", "run", "own.csv", "--out", "small.csv")
    fit = "import numpy as np, tamis; print(tamis.Sieve().fit(np.eye(40), np.arange(40) % 2).kept_)"
    run(scripts / "python", "-c", fit)
