"""Runs for the tests of reports."""

from __future__ import annotations

import numpy as np

from tamis import SAOLA
from tamis.core.names import Names
from tamis.engine.selecting import select
from tamis.sources.arrays.in_memory import MemorySource

ODD = [
    "<script>alert(1)</script>", "a|b", "two\nlines\r\n", "*bold* _it_ `code`", "[l](http://x)",
    "\"quotes\" and 'more' &amp;", "\u05e9\u05dc\u05d5\u05dd \u202eright to left", "long " * 100,
    "{gap}", "]]></script><!--",
]  # fmt: skip


def a_run(n_columns=40, names=None, classes=(0, 1), **options):
    """A run in which feature 6 is redundant and feature 9 evicts feature 5."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = rng.integers(0, 2, (300, n_columns)).astype(float)
    X[:, 5] = np.where(rng.random(300) < 0.5, y, X[:, 5])
    X[:, 6] = np.where(rng.random(300) < 0.3, X[:, 6], X[:, 5])
    X[:, 9] = np.where(rng.random(300) < 0.5, y, X[:, 5])
    packed = None if names is None else Names.of(names)
    source = MemorySource(X, np.array(classes)[y], names=packed)
    return select(source, SAOLA(**options), command="tamis test")


def an_odd_run():
    """A run whose names and classes try to inject markup."""
    names = [f"{ODD[(k + 1) % len(ODD)]} {k}" for k in range(40)]  # feature 9 is kept
    run = a_run(names=names, classes=ODD[:2], measure="mutual_information")
    run.command = "tamis `rm -rf`\n# a heading </script>"
    run.measure_reason = "column <img> is\nodd"
    return run
