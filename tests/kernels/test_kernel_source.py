"""Rules for the source of kernels that keep the first compilation short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tamis.kernels

FILES = sorted(Path(tamis.kernels.__file__).parent.glob("*.py"))

#: Names of numbers that slices are filled with, and functions that return a number.
NUMBERS = {"intercept", "max", "in_units"}


def kernels(source: str) -> Iterator[ast.FunctionDef]:
    for found in ast.walk(ast.parse(source)):
        if isinstance(found, ast.FunctionDef) and found.decorator_list:
            yield found


def has_slice(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Slice) for part in ast.walk(node))


def is_array(value: ast.expr) -> bool:
    """Whether an expression may be an array: a slice, a name, or what a function returns."""
    if isinstance(value, ast.Name):
        return value.id not in NUMBERS
    if isinstance(value, ast.Call):
        return not (isinstance(value.func, ast.Name) and value.func.id in NUMBERS)
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Name):
        return True
    return has_slice(value)


def copied_slices(source: str) -> list[int]:
    """Return the lines where an array is assigned to a slice."""
    lines = []
    for kernel in kernels(source):
        for node in ast.walk(kernel):
            if not isinstance(node, ast.Assign):
                continue
            into = [t for t in node.targets if isinstance(t, ast.Subscript) and has_slice(t.slice)]
            if into and is_array(node.value):
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_array_is_assigned_to_a_slice(path: Path) -> None:
    # Numba then compiles the check of shapes, whose message needs its library of strings: some 35
    # functions, two to three seconds of the first fit. A loop does the same.
    assert copied_slices(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [("a[:] = b", True), ("a[1:k] = b[:k]", True), ("a[:] = f(b)", True),
     ("a[:, i] = b[:, j]", True), ("a[:] = b[order]", True), ("a[:] = 0.0", False),
     ("a[:k] = -mean", False),
     ("a[:] = number[0]", False), ("a[0] = b", False)],
)  # fmt: skip
def test_what_counts_as_an_array(line: str, found: bool) -> None:
    source = f"@jit\ndef kernel(a, b):\n    {line}\n"
    assert bool(copied_slices(source)) is found
