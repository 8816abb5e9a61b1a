"""Every module name is unique, and none shadows the standard library or a dependency."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import tamis

ROOT = Path(tamis.__file__).parent

#: Folders whose files are named for what they check, wrap or run: `checks/measures.py` checks
#: `measures/`, `estimators/batch.py` wraps `methods/batch/`, `cli/select.py` is `tamis select`.
MIRRORS = {"checks", "estimators", "cli"}

#: Still to be renamed. Remove a name when it is done; do not add any.
TO_DO: set[str] = set()


def modules() -> list[Path]:
    """Modules and packages, without `__init__`, `__main__` and the private ones at the top."""
    files = [p for p in ROOT.rglob("*.py") if not p.stem.startswith("__")]
    packages = [p.parent for p in ROOT.rglob("__init__.py") if p.parent != ROOT]
    return [p for p in (*files, *packages) if str(p.relative_to(ROOT)) not in TO_DO]


def is_mirror(path: Path) -> bool:
    return path.parent.name in MIRRORS


def test_no_name_occurs_twice() -> None:
    paths = defaultdict(list)
    for path in modules():
        if not is_mirror(path):
            paths[path.stem].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in paths.items() if len(found) > 1} == {}


def test_no_name_occurs_twice_in_a_kind_of_mirror() -> None:
    for folder in MIRRORS:
        names = [path.stem for path in modules() if path.parent.name == folder]
        assert len(set(names)) == len(names)


def test_no_name_shadows_a_module_of_python_or_of_a_dependency() -> None:
    # The commands are `tamis select` and `tamis compare`, whatever Python calls its modules. What
    # else is installed, such as the peers of the benchmarks, may be called as it likes.
    needed = {re.split(r"[^\w.-]", line)[0].lower() for line in requires("tamis") or ()}
    of_dependencies = {
        module
        for module, owners in packages_distributions().items()
        if {owner.lower() for owner in owners} & (needed - {"tamis"})
    }
    assert {"numpy", "sklearn", "redis", "h5py"} <= of_dependencies
    taken = sys.stdlib_module_names | of_dependencies
    hiding = [p for p in modules() if p.stem in taken and p.parent.name != "cli"]
    assert [str(path.relative_to(ROOT)) for path in hiding] == []


def test_the_names_still_to_change_exist() -> None:
    assert [place for place in TO_DO if not (ROOT / place).exists()] == []
