"""Kernels that run in Python while there is little data: the same results, nothing half done."""

from __future__ import annotations

import math
import os
import pkgutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis import FCBF, SAOLA, AnyShape, FisherZ, MutualInformation, Sieve
from tamis.kernels import _uncompiled
from tamis.kernels._jit import inline, jit
from tamis.kernels._uncompiled import CHECKED, can_run, in_python, is_small, name_of
from tamis.kernels.hashing import hash_names

pd = pytest.importorskip("pandas")

ROOT = Path(__file__).resolve().parents[2]


@inline
def _doubled(x):
    return x + x


@jit
def _double_all(values, times):
    for _ in range(times):
        for i in range(len(values)):
            values[i] = _doubled(values[i])
    return values[0]


@jit
def _cube(x):
    return x**3


@jit
def _call_cube(x):
    return _cube(x)


@jit
def _logarithms(x):
    return np.log(x), np.exp(-x), math.log1p(x)


def test_a_kernel_runs_in_python_with_numbers_of_python() -> None:
    values = np.arange(3.0)
    (first,) = in_python(_double_all, (values, 2), 5.0)
    assert values.tolist() == [0, 4, 8]
    assert type(first) is float
    assert type(in_python(_double_all, (np.arange(1, 3), 2), 5.0)[0]) is int


def test_a_call_that_takes_too_long_is_undone() -> None:
    values = np.ones(3)
    assert in_python(_double_all, (values, 100_000), 0.01) == ()
    assert in_python(_double_all, (values, 10**9), 5.0) == ()
    assert values.tolist() == [1, 1, 1]


def test_a_call_that_overflows_is_undone() -> None:
    for values in (np.full(3, 100, np.int8), np.full(3, 1e308), np.full(3, 2**62)):
        before = values.copy()
        assert in_python(_double_all, (values, 2), 5.0) == ()
        assert (values == before).all()


def test_an_interrupted_call_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(values: Any, times: int) -> None:
        values[0] = 5.0
        raise KeyboardInterrupt

    monkeypatch.setitem(_uncompiled._functions._of, _double_all, interrupted)
    values = np.ones(3)
    with pytest.raises(KeyboardInterrupt):
        in_python(_double_all, (values, 2), 5.0)
    assert values.tolist() == [1, 1, 1]


def test_powers_are_left_to_the_compiler() -> None:
    assert in_python(_cube, (2.0,), 5.0) == ()
    assert in_python(_call_cube, (2.0,), 5.0) == ()


def test_logarithms_are_those_of_compiled_code() -> None:
    for x in np.random.default_rng(0).lognormal(0, 3, 3000).tolist():
        assert in_python(_logarithms, (x,), 5.0) == (_logarithms(x),)


def test_float32_is_left_to_the_compiler() -> None:
    assert is_small((np.ones(3), 1, 2.0, True, (np.ones(2, np.int8),)))
    assert not is_small((np.ones(3, np.float32),))
    assert not is_small((np.float32(1),))
    assert not is_small((1, (np.ones(3, np.float32),)))
    assert not is_small(([1.0],))
    assert not is_small((np.ones(_uncompiled.LARGEST + 1),))


# --- both ways ----------------------------------------------------------------------------------


def _bits(value: Any) -> Any:
    """Return what two equal results have in common: types, shapes, and every bit.

    The sign of NaN, which nothing shows, is not compared.
    """
    if isinstance(value, (tuple, list)):
        return tuple(map(_bits, value))
    if isinstance(value, np.ndarray):
        known = np.where(np.isnan(value), np.nan, value) if value.dtype.kind == "f" else value
        return value.dtype, value.shape, np.ascontiguousarray(known).tobytes()
    return type(value), _bits(np.asarray(value))


class _BothWays:
    """A kernel that also runs in Python, and must do the same."""

    def __init__(self, kernel: Any, calls: Counter[str]) -> None:
        self._kernel, self._calls = kernel, calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __call__(self, *args: Any) -> Any:
        kernel, name = self._kernel, name_of(self._kernel)
        if not can_run(kernel, args):
            return kernel(*args)
        arrays = _uncompiled._arrays(args, [])
        before = [array.copy() for array in arrays]
        found = in_python(kernel, args, 1.0)
        changed = [array.copy() for array in arrays]
        for array, old in zip(arrays, before, strict=True):
            array[...] = old
        result = kernel(*args)
        if found:
            self._calls[name] += 1
            assert _bits(found[0]) == _bits(result), name
            assert _bits(changed) == _bits(arrays), name
        return result


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    calls = Counter[str]()
    for module in pkgutil.walk_packages(tamis.__path__, "tamis."):
        if module.name.startswith(("tamis.measures", "tamis.methods", "tamis.encode")):
            import_module(module.name)
    for name, loaded in list(sys.modules.items()):
        if name.startswith("tamis.") and not name.startswith("tamis.kernels"):
            for key, value in list(vars(loaded).items()):
                if isinstance(value, _uncompiled.Dispatcher):
                    monkeypatch.setattr(loaded, key, _BothWays(value, calls))
    return calls


def _table(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a small table of columns of all kinds, and classes or numbers."""
    n, classes = int(rng.choice([12, 25, 40, 90, 200])), int(rng.choice([0, 2, 2, 3, 5]))
    y: Any = rng.integers(0, classes, n) if classes else rng.normal(size=n).round(3)
    if classes and rng.random() < 0.3:
        y[rng.random(n) < 0.7] = 0
    signal, columns = (y - y.mean()) / (y.std() + 1e-9), dict[str, Any]()
    for j in range(int(rng.integers(3, 20))):
        at, kind = rng.choice([0, 0, 0.5, 1, 3]) * signal, int(rng.integers(8))
        x: Any = rng.normal(size=n) + at
        if kind == 1:
            x = x.round()
        if kind == 2:
            x = (x > rng.normal()).astype(int)
        if kind == 3:
            x = np.where(rng.random(n) < 0.8, 0, np.abs(x).round(2))
        if kind == 4:
            x = rng.poisson(np.exp(np.clip(at, -3, 3)))
        if kind == 5:
            x = np.exp(3 * x)
        if kind < 6 and rng.random() < 0.15:
            x = np.where(rng.random(n) < 0.1, np.nan, x)
        if kind == 6:
            x = np.array([f"k{int(q)}" for q in np.clip(2 * x, -9, 9)], object)
        if kind == 7 and columns:
            x = list(columns.values())[-1]
        columns[f"c{j}"] = x
    return pd.DataFrame(columns), y


METHODS = [
    Sieve, lambda: Sieve(fdr=0.1), SAOLA, lambda: SAOLA(AnyShape()), lambda: SAOLA(FisherZ()),
    lambda: SAOLA(FisherZ(), fdr=0.1), lambda: SAOLA(FisherZ(), order="free"),
    lambda: SAOLA(order="free"), FCBF, lambda: Sieve(order="free"),
    lambda: SAOLA(MutualInformation(alpha=0.01)),
]  # fmt: skip


def _fit(method: Any, X: Any, y: Any, form: int, rng: np.random.Generator) -> None:
    """Fit a method on a data frame, a table of numbers, sparse or whole numbers."""
    if form == 0:
        tamis.select(X, method, y=y)
        return
    Z: Any = X.select_dtypes("number").fillna(0).to_numpy(float)
    if form == 2:
        Z = sp.csc_matrix(np.where(rng.random(Z.shape) < 0.7, 0, Z))
    if form == 3:
        Z = np.clip(Z, -9, 9).round().astype(rng.choice(["i1", "i4", "i8"]))
    method.fit(Z, y)


@pytest.mark.filterwarnings("ignore")
def test_kernels_do_the_same_in_python(both_ways: Counter[str]) -> None:
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        X, y = _table(rng)
        for form in range(4):
            method = METHODS[(seed + form) % len(METHODS)]()
            try:
                _fit(method, X, y, form, rng)
            except ValueError:  # such as a table without numbers
                continue
    # Each column is nearer to the target than the one before, which it makes redundant.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    signal = y + rng.normal(0, 0.5, 150)
    noise = rng.normal(size=(150, 12)) * np.linspace(2, 0.01, 12)
    Sieve().fit(signal[:, None] + noise, y)
    text, ends = rng.integers(0, 256, 3000).astype(np.uint8), np.sort(rng.integers(0, 3001, 200))
    _BothWays(hash_names, both_ways)(text, ends, np.empty(199, np.uint64))
    missed = CHECKED - both_ways.keys()
    assert not missed


ROUNDS = 30

FIRST = """
import sys, numpy as np, pandas as pd, tamis
run = tamis.select(pd.read_csv("docs/houses.csv"), y="price")
run.to_frame().to_csv(sys.argv[1])
"""


def test_a_first_selection_of_a_small_table_compiles_nothing(tmp_path: Path) -> None:
    logs = []
    for name in ("compiled", "python"):
        environment = dict(os.environ)
        environment.pop("TAMIS_COMPILE", None)
        if name == "python":
            environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
        else:
            environment["TAMIS_COMPILE"] = "1"
        log = tmp_path / f"{name}.csv"
        subprocess.run(
            [sys.executable, "-c", FIRST, str(log)], cwd=ROOT, env=environment, check=True
        )
        logs.append(log.read_text(encoding="utf-8"))
    assert logs[0] == logs[1]
    assert not list(tmp_path.rglob("*.nbi"))
