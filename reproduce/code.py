"""Fingerprints of the code that a result depends on, without comments and docstrings.

The modules of a method, the measures, the encoders and the classifiers decide what a cell holds,
with everything they import from those packages and from the kernels.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import tamis
from tamis.engine.known_selectors import load_class
from tamis.methods import Rule

#: What is followed from import to import. Other packages read data, write files and report.
DECIDES = ("tamis.methods", "tamis.measures", "tamis.kernels", "tamis.encode", "tamis.core.blocks",
           "tamis.core.target")  # fmt: skip
JUDGES = tuple(f"tamis.evaluate.{name}" for name in ("classifiers", "metrics", "nearest_rows"))

TAMIS = Path(tamis.__file__).resolve().parents[1]
PLACES = (TAMIS, Path(__file__).resolve().parents[1])
OURS = ("tamis", "reproduce")


def file_of(module: str) -> Path | None:
    """Return the file of a module of ours, or None if there is no such module."""
    for place in PLACES:
        path = place.joinpath(*module.split("."))
        for one in (path / "__init__.py", path.with_suffix(".py")):
            if one.is_file():
                return one
    return None


@cache
def parsed(module: str) -> tuple[str, frozenset[str]]:
    """Return a hash of a module without comments and docstrings, and the modules it imports."""
    path = file_of(module)
    assert path is not None, module
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            below = (f"{node.module}.{alias.name}" for alias in node.names)
            imported |= {one if file_of(one) else node.module for one in below}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return _hash(tree), frozenset(one for one in imported if one.startswith("tamis"))


def hash_of(path: str | Path) -> str:
    """Return a hash of a file of Python without comments and docstrings."""
    return _hash(ast.parse(Path(path).read_text(encoding="utf-8")))


def _hash(tree: ast.AST) -> str:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value.value = ""  # a docstring
    return hashlib.blake2b(ast.dump(tree).encode(), digest_size=6).hexdigest()


def modules_of(where: str) -> dict[str, str]:
    """Return the hash of every module that decides what a method (``module:Class``) keeps."""
    kind = load_class(where)
    roots = {base.__module__ for base in kind.__mro__}
    if issubclass(kind, Rule):
        roots |= {base.__module__ for base in kind.machinery.__mro__}
    return hashes(one for one in roots if one.partition(".")[0] in OURS)


def hashes(roots: Iterable[str]) -> dict[str, str]:
    """Return the hash of modules, of the measures and encoders, and of all that they import."""
    found: dict[str, str] = {}
    todo = [*roots, *JUDGES, *_of_package("measures"), *_of_package("encode")]
    while todo:
        module = todo.pop()
        if module not in found:
            found[module], imported = parsed(module)
            todo += (one for one in imported if one.startswith(DECIDES))
    return dict(sorted(found.items()))


@cache
def fingerprint(where: str) -> str:
    """Return one hash for all modules that decide what a method keeps."""
    return joined(modules_of(where))


def joined(found: dict[str, str]) -> str:
    """Return one hash for several."""
    text = " ".join(f"{name} {value}" for name, value in sorted(found.items()))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def changed(found: dict[str, str]) -> list[str]:
    """Return the modules whose code is not what it was when these hashes were made."""
    return [name for name, value in found.items()
            if file_of(name) is None or parsed(name)[0] != value]  # fmt: skip


def _of_package(name: str) -> list[str]:
    files = sorted((TAMIS / "tamis" / name).glob("*.py"))
    return [f"tamis.{name}.{path.stem}" for path in files if path.stem != "__init__"]
