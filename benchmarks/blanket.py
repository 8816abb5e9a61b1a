"""Markov blankets: precision and recall on published networks, for every node as the target.

Fills the table of docs/trust.md. The networks come with pgmpy, of which only the files are read:
``pip install --no-deps "pgmpy<1"``.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks._docs import fill
from benchmarks._harness import Report, table
from benchmarks._networks import Network
from tamis import HITONPC, OSFS, FastOSFS

NETWORKS, ROWS = ("alarm", "child", "insurance", "hailfinder"), 8_000
WIDE = 1_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"NETWORKS": ("child",), "ROWS": 2_000, "WIDE": 200}
NEAR, FULL = {"blanket": "parents-children"}, {"blanket": "full"}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "HITON-PC": (HITONPC, NEAR),
    'HITON-PC, `blanket="full"`': (HITONPC, FULL),
    "Fast-OSFS": (FastOSFS, NEAR),
    'Fast-OSFS, `blanket="full"`': (FastOSFS, FULL),
    "OSFS": (OSFS, NEAR),
    'OSFS, `blanket="full"`': (OSFS, FULL),
}


def shares(found: set[int], truth: set[int]) -> tuple[float, float]:
    """Return precision and recall; both are 1 if there is nothing to find or nothing was found."""
    both = len(found & truth)
    return both / len(found) if found else 1.0, both / len(truth) if truth else 1.0


def judged(network: Network, data: Any, method: Any, options: dict[str, Any]) -> Any:
    """Return precision and recall of parents and children, and of the blanket, for each node.

    A node that is constant in the data is left out.
    """
    results = []
    for target in np.flatnonzero(np.ptp(data, axis=0) > 0).tolist():
        others = np.delete(np.arange(data.shape[1]), target)
        selector = method(**options, task="classification")
        log = selector.fit(data[:, others].astype(float), data[:, target]).log_
        found = set(others[log.replay()].tolist())
        spouses = {i for i in log.replay() if log.reason_of(i) == "kept, spouse"}
        near = found - set(others[list(spouses)].tolist())
        results.append(
            shares(near, network.relatives(target)) + shares(found, network.blanket(target))
        )
    return np.array(results)


def seconds_of(columns: int, rows: int = 2_000) -> float:
    """Return the seconds of HITON-PC with spouses for one target among many columns."""
    network = Network.load("alarm")
    rng = np.random.default_rng(0)
    data = network.sample(rows)
    target = network.names.index("CATECHOL")
    noise = rng.integers(0, 3, (rows, columns + 1 - data.shape[1]))
    X = np.column_stack([np.delete(data, target, axis=1), noise]).astype(float)
    began = time.perf_counter()
    HITONPC(blanket="full", task="classification").fit(X, data[:, target])
    return time.perf_counter() - began


def main() -> None:
    """Print the table, write it into the documentation, and print a time."""
    warnings.simplefilter("ignore")  # about tests with too few rows
    report = Report("blanket", __doc__)
    names = ("parents and children: precision", "their recall", "blanket: precision", "its recall")
    for backwards in (False, True):
        lines = list[dict[str, Any]]()
        for name in NETWORKS:
            network = Network.load(name)
            data = network.sample(ROWS)
            if backwards:
                network, data = network.reversed(), data[:, ::-1].copy()
            for title, (method, options) in METHODS.items():
                means = judged(network, data, method, options).mean(axis=0)
                cells = {what: f"{share:.2f}" for what, share in zip(names, means, strict=True)}
                about = f"{name} ({len(network.names)} nodes)"
                lines.append({"network": about, "method": title, **cells})
        report.table("The columns in the opposite order" if backwards else "Blankets", lines)
        if not backwards:
            fill("trust.md", "blanket", table(lines))
    seconds_of(100)
    wide = {"method": "HITON-PC with spouses", "columns": WIDE, "seconds": seconds_of(WIDE)}
    report.table("One target among many columns, 2,000 rows", [wide])
    report.save()


if __name__ == "__main__":
    main()
