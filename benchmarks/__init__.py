"""Benchmarks against other packages, in one run; see ``python -m benchmarks --help``."""

import os

# Small data in a first round, which is not timed, would otherwise run in Python.
os.environ.setdefault("TAMIS_COMPILE", "1")
