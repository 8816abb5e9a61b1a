"""Cached compiled code: loading without a refresh, compiling afterwards, and no cache at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.caching import CompileResultCacheImpl

import tamis.kernels
from tamis.kernels import _jit

KERNELS = """
import numpy as np
from tamis.kernels._jit import inline, jit

@inline
def twice(x):
    return 2.0 * x

@jit
def total(values):
    result = 0.0
    for v in values:
        result += twice(v)
    return result

@jit
def sorted_total(values):
    order = np.argsort(values)
    picked = [values[i] for i in order if values[i] > 0]
    places = {v: i for i, v in enumerate(picked)}
    return total(np.array(picked)), len(places), np.linalg.norm(values)
"""

FIRST = """
import numpy as np, kernels
print(kernels.total(np.arange(5.0)))
"""

SECOND = """
import sys
import numpy as np, kernels
refreshed = lambda: "numba.typed.typedlist" in sys.modules
print(kernels.total(np.arange(5.0)), sum(kernels.total.stats.cache_hits.values()), refreshed())
print(kernels.sorted_total(np.array([3.0, -1.0, 2.0, 2.0])), refreshed())
print(kernels.total(np.arange(5)), kernels.total(np.arange(5, dtype=np.float32)))
"""


def run(folder, script, **more):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **more}
    environment.pop("TAMIS_NO_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder of kernels, one of which is cached."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "kernels.py").write_text(KERNELS)
    assert run(folder, FIRST) == ["20.0"]
    return folder


@pytest.mark.parametrize("refresh", ["0", "1"])
def test_what_is_not_cached_is_compiled_after_what_is(compiled, tmp_path, refresh):
    cache = shutil.copytree(compiled / "cache", tmp_path / "cache")
    options = {"TAMIS_NUMBA_REFRESH": refresh, "NUMBA_CACHE_DIR": str(cache)}
    first, second, third = run(compiled, SECOND, **options)
    assert first == f"20.0 1 {refresh == '1'}"
    assert second.replace("np.float64(", "").startswith("(14.0, 2, 4.2426406871192")
    assert second.endswith("True")
    assert third == "20.0 20.0"


def test_code_that_refers_to_a_renamed_module_is_compiled_again(tmp_path):
    helper = KERNELS.split("@jit")[0]
    user = KERNELS.replace(helper, "import importlib, os\nfrom tamis.kernels._jit import jit\n"
        "twice = importlib.import_module(os.environ['HELPER']).twice\n\n")  # fmt: skip
    (tmp_path / "kernels.py").write_text(user.split("@jit\ndef sorted_total")[0])
    (tmp_path / "old_name.py").write_text(helper)
    assert run(tmp_path, FIRST, HELPER="old_name") == ["20.0"]
    (tmp_path / "old_name.py").rename(tmp_path / "new_name.py")
    hits = FIRST + "print(sum(kernels.total.stats.cache_hits.values()))"
    assert run(tmp_path, hits, HELPER="new_name") == ["20.0", "0"]
    assert run(tmp_path, hits, HELPER="new_name") == ["20.0", "1"]


def test_numba_loads_as_assumed():
    """If this fails, numba has changed: read `Cache.load_overload` again."""
    assert _jit._is_as_known()


def test_compiled_kernels_need_nothing_from_a_refresh():
    """The only symbols that numba adds on a refresh are the secrets of string hashes."""
    for path in Path(tamis.kernels.__file__).parent.glob("__pycache__/*.nbc"):
        assert b"_numba_hashsecret" not in path.read_bytes(), path.name


def test_without_a_writable_cache_kernels_are_compiled_after_one_warning(monkeypatch):
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    monkeypatch.setattr(_jit, "CACHE", True)

    def double(value):
        return value * 2.0

    kernels = [_jit.jit(double), _jit.inline(double)]
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a writable folder") as caught:
        assert [kernel(1.5) for kernel in kernels] == [3.0, 3.0]
    assert len(caught) == 1


def test_compiling_is_announced_once_in_a_process(monkeypatch, caplog):
    monkeypatch.setattr(_jit, "_reported", False)
    with _jit.announced():
        pass
    assert caplog.records == []
    for _ in range(2):
        with _jit.announced():
            assert numba.njit(lambda value: value + 1.0)(1.0) == 2.0
    assert [record.name for record in caplog.records] == ["tamis"]
    assert "compiling kernels" in caplog.text
