"""Gates that control the false discovery rate: their cost, noise only, and planted signals.

1. Cost: LORD++ on 30 million tests with about 100,000 finds.
2. Noise only: real columns with permuted labels, so that every find is false. At a false discovery
   rate of 0.1, anything may be found in at most 10 % of the permutations.
3. Planted signals: families of near-copies that depend on permuted labels, among real columns,
   which do not. The share of false ones among the finds, and among what SAOLA keeps of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from benchmarks._data import SHARED, load_real
from benchmarks._harness import Report, in_own_process
from tamis.core.blocks import ColumnBlock
from tamis.core.certificate import REACHABLE, certify
from tamis.core.decisions import Verdict
from tamis.core.target import Target
from tamis.measures.measure import Measure
from tamis.methods.gates import GATES
from tamis.sources.arrays.in_memory import MemorySource

FDR = 0.1
#: Millions of tests, and finds.
COST = (30, 100_000)

#: Sets, their measures, and the number of permutations: fewer where a set is large.
NOISE = {
    "dorothea": ("flags", 100), "thrombin": ("flags", 100), "news20_rebuilt": ("flags", 30),
    "dexter": ("categories", 100), "ohsumed_23": ("flags", 100), "tick_reuters": ("numbers", 100),
    "leukemia": ("numbers", 100), "prostate": ("numbers", 100), "glioma": ("numbers", 100),
    "isolet": ("numbers", 100),
}  # fmt: skip
STREAMS = ("lord++", "lond", "lond-any", "spending", "batch-bh", "bh", "by")
TABLES = 20


def main() -> None:
    report = Report("fdr", __doc__)
    report.table("Cost of LORD++", [in_own_process("benchmarks.fdr", "cost", *COST)])
    if not SHARED.is_dir():
        report.note("the real sets are not here, so the other tables are left out")
        report.save()
        return
    report.table("Noise only: share of permutations with any find", list(noise()))
    report.table("Planted signals", list(planted()))
    report.table("Certificates of what SAOLA keeps at level 0.01", list(certified()))
    report.save()


# --- cost --------------------------------------------------------------------------------------


def cost(millions: int, finds: int) -> dict[str, Any]:
    """Return the time and the memory of LORD++; p-values come in blocks of a million."""
    rng, seconds = np.random.default_rng(0), 0.0
    GATES["lord++"](FDR).test(rng.random(10))  # compile
    gate: Any = GATES["lord++"](FDR)
    for _ in range(millions):
        p = rng.random(1_000_000)
        p[rng.random(len(p)) < finds / millions / 1e6] = 1e-12
        begun = time.process_time()
        gate.test(p)
        seconds += time.process_time() - begun
    beside = gate._tree.nbytes / 1e6
    return {
        "tests": gate.tests, "finds": gate.finds, "CPU s": seconds, "MB beside the finds": beside,
    }  # fmt: skip


# --- noise only --------------------------------------------------------------------------------


def measures_of(kind: str) -> dict[str, Measure]:
    discrete = tamis.MutualInformation(alpha=0.01)
    own: Measure = tamis.FisherZ(alpha=0.01) if kind == "numbers" else discrete
    return {type(own).__name__: own, "AnyShape": tamis.AnyShape()}


def noise() -> Iterator[dict[str, Any]]:
    for name, (kind, permutations) in NOISE.items():
        X, y = load_real(name)
        if kind == "flags" and sp.issparse(X):
            X = X.copy()
            X.data[:] = 1
        blocks = [block.without_zeros() for block in MemorySource(X, y).columns()]
        for title, measure in measures_of(kind).items():
            yield one_set(name, blocks, y, title, measure, permutations)


def one_set(
    name: str, blocks: list[ColumnBlock], y: Any, title: str, measure: Measure, permutations: int
) -> dict[str, Any]:
    """Return how often each gate finds anything with permuted labels."""
    rng, found = np.random.default_rng(0), {gate: np.zeros(permutations) for gate in STREAMS}
    for k in range(permutations):
        target = Target.of(rng.permutation(y), "classification")
        tested = [measure.tested(block, target, FDR) for block in blocks]
        constant = np.concatenate([t.constant for t in tested])
        p = np.concatenate([t.p for t in tested])[~constant]
        least = np.concatenate([t.least_p for t in tested])[~constant]
        for gate in STREAMS:
            parts = TABLES if gate == "batch-bh" else 1
            made = GATES[gate](FDR)
            cuts = zip(np.array_split(p, parts), np.array_split(least, parts), strict=True)
            found[gate][k] = sum(int(made.test(a, b).found.sum()) for a, b in cuts)
    line = {"set": name, "measure": title, "columns": len(p), "permutations": permutations}
    line |= {
        gate: f"{np.mean(n > 0):.2f}" + (f" ({n.mean():.1f})" if n.any() else "")
        for gate, n in found.items()
    }
    print(line, file=sys.stderr, flush=True)
    return line


# --- planted signals ---------------------------------------------------------------------------


def flags_like(X: Any, y: Any, rng: Any, copies: int, odds: float, rarest: float) -> Any:
    """Return 40 families of flags with this odds ratio; a tenth of the ones of a copy are moved.

    As many ones as in real columns, from a share of `rarest` on.
    """
    families, n, ones = 40, len(y), np.diff(sp.csc_matrix(X).indptr)
    common = ones[(ones >= rarest * n) & (ones <= 0.3 * n)]
    columns = []
    for _ in range(families):
        share = rng.choice(common) / n
        low = _share_without(share, float(np.mean(y)), odds)
        high = odds * low / (1 - low + odds * low)
        base = rng.random(n) < np.where(y == 1, high, low)
        for _ in range(copies):
            copy = base & (rng.random(n) >= 0.1)
            copy[rng.integers(0, n, int(base.sum()) - int(copy.sum()))] = True
            columns.append(copy)
    return np.column_stack(columns).astype(float)


def _share_without(share: float, ones: float, odds: float) -> float:
    """Return the share of ones in class 0, so that the share over both classes is as given."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        total = (1 - ones) * middle + ones * odds * middle / (1 - middle + odds * middle)
        low, high = (middle, high) if total < share else (low, middle)
    return low


def numbers_like(y: Any, rng: Any, families: int, copies: int, shift: float) -> Any:
    """Return families of numbers whose mean differs by `shift` standard deviations."""
    base = rng.normal(size=(len(y), families)) + shift * (y == 1)[:, None]
    near = np.repeat(base, copies, axis=1)
    return near + 0.3 * rng.normal(size=near.shape)


def design(name: str, seed: int) -> tuple[Any, Any, Any, int]:
    """Return columns in random order, labels, the family of each column (-1: noise), and copies."""
    rng = np.random.default_rng(seed)
    if name == "independent noise":
        y = np.arange(200) % 2
        y = rng.permutation(y)
        X, new, copies = rng.normal(size=(200, 3000)), numbers_like(y, rng, 20, 6, 0.7), 6
    else:
        X, y = load_real(name)
        y, copies = rng.permutation((y == np.unique(y)[-1]).astype(int)), 5
        if name == "news20_rebuilt":
            X = sp.csc_matrix(X)
            X = X[:, np.flatnonzero(np.diff(X.indptr))[:300_000]]
        if sp.issparse(X):
            X = (X != 0).astype(float)
            odds, rarest = (8.0, 0.02) if name == "dorothea" else (4.0, 0.002)
            new = flags_like(X, y, rng, copies, odds, rarest)
        else:
            new = numbers_like(y, rng, 30, copies, 1.0 if name == "prostate" else 1.8)
    family = np.repeat(
        [-1, *range(new.shape[1] // copies)], [X.shape[1], *[copies] * (new.shape[1] // copies)]
    )
    order = rng.permutation(len(family))
    both = sp.hstack([X, new], "csc") if sp.issparse(X) else np.hstack([X, new])
    return both[:, order], y, family[order], copies


DESIGNS = {
    "dorothea": 10, "news20_rebuilt": 5, "prostate": 20, "leukemia": 20, "independent noise": 30,
}  # fmt: skip
#: The short form, for `make bench`.
SHORT = {
    "COST": (3, 10_000),
    "NOISE": {"dexter": ("categories", 5), "leukemia": ("numbers", 10)},
    "DESIGNS": {"leukemia": 1, "independent noise": 1},
}


def planted() -> Iterator[dict[str, Any]]:
    methods: dict[str, Callable[[Any], Any]] = {
        "SAOLA, level 0.01": lambda m: tamis.SAOLA(m, alpha=0.01),
        **{f"SAOLA, {g}": (lambda m, g=g: tamis.SAOLA(m, fdr=FDR, gate=g)) for g in STREAMS[:5]},
        "FCBF, bh": lambda m: tamis.FCBF(m, fdr=FDR),
        "Sieve, lord++": lambda m: tamis.Sieve(fdr=FDR),
    }
    for name, seeds in DESIGNS.items():
        found: dict[str, list[list[float]]] = {title: [] for title in methods}
        for seed in range(seeds):
            X, y, family, _ = design(name, seed)
            measure = "mutual_information" if sp.issparse(X) else "fisher_z"
            for title, make in methods.items():
                run = tamis.select(X, make(measure), y, task="classification")
                passed = run.log.verdicts != Verdict.IRRELEVANT
                kept = np.array(run.log.replay(), dtype=int)
                families = len(set(family[kept].tolist()) - {-1}) / (family.max() + 1)
                found[title].append([
                    np.mean(family[passed] < 0) if passed.any() else 0.0,
                    passed[family >= 0].mean(), len(kept),
                    np.mean(family[kept] < 0) if len(kept) else 0.0, families,
                ])  # fmt: skip
        for title, numbers in found.items():
            mean = np.mean(numbers, axis=0)
            line = {
                "design": f"{name}, {seeds} seeds", "method and gate": title,
                "false share of finds": round(float(mean[0]), 3),
                "power": round(float(mean[1]), 2), "kept": round(float(mean[2]), 1),
                "false share of kept": round(float(mean[3]), 3),
                "families kept": round(float(mean[4]), 2),
            }  # fmt: skip
            print(line, file=sys.stderr, flush=True)
            yield line


def certified() -> Iterator[dict[str, Any]]:
    """Compare certificates with Bonferroni's, on what SAOLA keeps."""
    for name, seeds in DESIGNS.items():
        numbers = []
        for seed in range(min(seeds, 20)):
            X, y, family, _ = design(name, seed)
            measure: Measure = tamis.MutualInformation(alpha=0.01)
            if not sp.issparse(X):
                measure = tamis.FisherZ(alpha=0.01)
            run = tamis.select(X, tamis.SAOLA(measure), y, task="classification")
            kept = np.array(run.log.replay())
            target = Target.of(y, "classification")
            blocks = MemorySource(X, y).columns()
            tested = [measure.tested(block.without_zeros(), target, 1e-2) for block in blocks]
            p = np.concatenate([t.p for t in tested])[kept]
            least = np.concatenate([t.least_p for t in tested])
            true, line = family[kept] >= 0, [float(np.sum(family[kept] >= 0))]
            reachable = int(np.count_nonzero(least <= REACHABLE))
            weights = np.full(len(kept), 1 / X.shape[1])
            some = weights if 2 * reachable > X.shape[1] else (p <= REACHABLE) / reachable
            for passed in (p <= FDR / X.shape[1], certify(p, weights, FDR), certify(p, some, FDR)):
                line += [
                    float(np.sum(passed & true)),
                    float(np.mean(~true[passed]) if passed.any() else 0),
                ]
            numbers.append(line)
        mean = [round(float(v), 3) for v in np.mean(numbers, axis=0)]
        line = {
            "design": f"{name}, {len(numbers)} seeds", "true ones kept": mean[0],
            "Bonferroni": f"{mean[1]:.1f} ({mean[2]:.3f})",
            "certified, equal weights": f"{mean[3]:.1f} ({mean[4]:.3f})",
            "certified": f"{mean[5]:.1f} ({mean[6]:.3f})",
        }  # fmt: skip
        print(line, file=sys.stderr, flush=True)
        yield line


if __name__ == "__main__":
    main()
