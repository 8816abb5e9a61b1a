"""What Linux has and other systems lack is missed by nobody: no fcntl, no resource, no /proc."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio  # before names vanish: Python 3.14 on Linux needs os.sysconf to import it
import builtins, ctypes, os, pathlib, signal, sys

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # importing it raises ImportError, as on Windows
for name in ("fork", "getuid", "sysconf", "statvfs"):
    vars(os).pop(name, None)
for name in ("SIGHUP", "SIGUSR1", "SIGALRM", "alarm", "setitimer", "pthread_kill"):
    vars(signal).pop(name, None)
real = pathlib.Path.open
def opened(self, *how, **more):
    if str(self).startswith("/proc"):
        raise FileNotFoundError(self)
    return real(self, *how, **more)
pathlib.Path.open = opened
library = ctypes.CDLL.__init__
def load(self, name, *more, **how):
    if name is None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")
    library(self, name, *more, **how)
ctypes.CDLL.__init__ = load

from tamis.core import process_memory
process_memory.start_peak()
assert process_memory.held_megabytes() == 0
assert process_memory.peak_megabytes() == 0

import numpy as np, tamis
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 100)
X = rng.normal(size=(100, 6)) + 0.0
X[:, 1] += 2 * y
np.save("x.npy", X)
np.save("y.npy", y)
np.save("more.npy", X[:, 1:2] + y[:, None])
from tamis.cli.main import run
for command in (
    "select x.npy --method saola --out run --quiet",
    "feed run more.npy --json",
    "status run --json",
    "convert x.npy x.rows --quiet",
    "learn x.rows -k 2 --checkpoint 1 --out model --json",
    "compare --data x.npy --methods saola,all --classifiers nb --cv 3 --n-jobs 1 --out r --quiet",
):
    sys.argv = ["tamis", *command.split()]
    try:
        run()
    except SystemExit as end:
        assert not end.code, command
"""


def test_the_main_commands_work_without_what_linux_has(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "selected.csv").exists()
    assert (tmp_path / "model").exists()
    first = json.JSONDecoder().raw_decode(done.stdout)[0]
    assert first["kept"]


def test_paths_with_spaces_and_letters_beyond_ascii_work(tmp_path, monkeypatch):
    import numpy as np

    import tamis

    folder = tmp_path / "une été, 夏"
    folder.mkdir()
    monkeypatch.chdir(folder)
    y = np.arange(60) % 2
    np.save("données.npy", np.column_stack([y, np.arange(60)]).astype(float))
    np.save("y.npy", y)
    run = tamis.select("données.npy", "saola")
    tamis.save_run(run, "résultat")
    assert tamis.open_run(Path("résultat")).kept_names == run.kept_names
