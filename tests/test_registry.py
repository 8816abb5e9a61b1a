"""The registry lists what exists, and every other list of names agrees with it."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
from tamis import _registry as registry
from tamis._registry import ENCODERS, FORMATS, LEARNERS, MEASURES, METHODS, PACKAGES, PUBLIC, load
from tamis.cli.options import COMMIT_EVERY
from tamis.engine.persistent.resuming import EVERY
from tamis.evaluate.classifiers import _PLAIN, _SCALED
from tamis.evaluate.paired import PAIRED_TESTS
from tamis.methods import BatchSelector, FeatureStreamSelector, Rule
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.regressors import REGRESSORS

ROOT = Path(tamis.__file__).parent
ROLES = {"streaming": FeatureStreamSelector, "batch": BatchSelector, "online": OnlineLearner}


@pytest.mark.parametrize("name", [*METHODS, *LEARNERS])
def test_a_method_matches_its_entry(name):
    entry = METHODS[name] if name in METHODS else LEARNERS[name]
    kind = load(entry.where)
    assert issubclass(getattr(kind, "machinery", kind), ROLES[entry.role])
    assert getattr(kind, "name", name) == name
    public = getattr(tamis, entry.class_name)
    assert public is load(entry.estimator)
    assert (public.learner_class if entry.role == "online" else public._rule) is kind
    assert kind.public_name == entry.class_name
    if entry.regressor:
        assert getattr(tamis, entry.regressor).learner_class is REGRESSORS[kind]


@pytest.mark.parametrize("role", ["streaming", "batch", "online"])
def test_every_file_of_a_method_has_an_entry(role):
    """A file of a method defines a public class that can be made without arguments."""
    known = {e.module for e in (*METHODS.values(), *LEARNERS.values()) if e.role == role}
    for path in (ROOT / "methods" / role).glob("*.py"):
        module = f"tamis.methods.{role}.{path.stem}"
        kinds = [
            thing
            for thing in vars(load_module(module)).values()
            if isinstance(thing, type) and thing.__module__ == module
            if (issubclass(thing, Rule) and "name" in vars(thing))
            or (issubclass(thing, OnlineLearner) and thing.public_name != thing.__name__)
        ]
        if path.stem == "regressors":  # those of all learners
            of_numbers = {e.regressor for e in LEARNERS.values()}
            assert {k.public_name for k in kinds} == of_numbers - {""}
        else:
            assert bool(kinds) <= (path.stem in known), module


def load_module(name):
    __import__(name)
    return sys.modules[name]


def test_measures_encoders_and_formats_match_their_entries():
    for name, where in MEASURES.items():
        assert load(where).name == name
    for name, where in ENCODERS.items():
        assert load(where).method == name
    for entry in FORMATS.values():
        assert callable(load(entry.where))
    assert {*_SCALED, *_PLAIN, "nb"} == set(registry.CLASSIFIERS)
    assert PAIRED_TESTS == registry.PAIRED_TESTS
    assert COMMIT_EVERY == EVERY


def test_all_public_names_exist():
    assert tamis.__all__ == ["__version__", *sorted(PUBLIC)]
    for name in tamis.__all__:
        assert getattr(tamis, name) is not None
    assert set(dir(tamis)) == {*tamis.__all__, *PACKAGES}
    with pytest.raises(AttributeError, match="has no attribute 'SAOLLA'"):
        _ = tamis.SAOLLA


def test_packages_are_attributes_of_tamis_without_being_imported():
    script = f"import tamis\nfor name in {PACKAGES}: print(getattr(tamis, name).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [f"tamis.{name}" for name in PACKAGES]


def test_type_checkers_see_the_same_names():
    found = {}
    for line in ast.parse((ROOT / "__init__.pyi").read_text()).body:
        if isinstance(line, ast.ImportFrom):
            for one in line.names:
                found[one.asname or one.name] = f"{line.module}:{one.name}"
        elif isinstance(line, ast.Assign):
            found[line.targets[0].id] = found.pop(line.value.id)
    packages = {name: f"tamis:{name}" for name in PACKAGES}
    assert found == {**PUBLIC, **packages, "__version__": "tamis._version:__version__"}


def test_the_page_of_methods_has_the_tables_of_methods_and_learners():
    listed = [line for line in (ROOT.parents[1] / "docs" / "methods.md").read_text().splitlines()
              if line.startswith("| `") and line.count(" | ") == 3]  # fmt: skip
    assert listed == [
        f"| `{entry.class_name}` | `{entry.name}` | {entry.help} | {entry.reference} |"
        for entry in (*METHODS.values(), *LEARNERS.values())
    ]


def test_the_reference_matches_the_registry_and_the_docstrings():
    """If this fails, run `make reference` to rewrite the page."""
    path = ROOT.parents[1] / "docs" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert reference.PAGE.read_text() == reference.page()
    assert reference.COMMANDS_PAGE.read_text() == reference.commands_page()
    titles = [line[4:] for line in reference.page().splitlines() if line.startswith("### ")]
    assert sorted(titles) == sorted([*PUBLIC, *reference.PACKAGE_OF])
    documented = {name for name, package in reference.PACKAGE_OF.items() if package == "evaluate"}
    assert documented == set(tamis.evaluate.__all__)
    assert set(tamis.checks.__all__) | set(tamis.encode.TRANSFORMERS) <= set(titles)
    # What the pages on classes of one's own import is in it too.
    for page in ("add-a-selector", "add-a-measure", "add-a-source"):
        text = path.with_name(f"{page}.md").read_text()
        for names in re.findall(r"from tamis\.(?:methods|measures|sources) import (.+)", text):
            assert set(names.split(", ")) <= set(titles)
