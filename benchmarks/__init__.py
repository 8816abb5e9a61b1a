"""Benchmarks against other packages, in one run; see ``python -m benchmarks --help``."""
