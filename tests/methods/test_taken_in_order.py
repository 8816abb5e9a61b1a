"""order="free" of rules that take all features in order: streams, and methods that see all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from slow_worlds import decoys, osfs_world

from tamis import (
    CFS,
    FCBF,
    HITONPC,
    MRMR,
    OSFS,
    SAOLA,
    Consistency,
    FastOSFS,
    FisherZ,
    GSquared,
    Sieve,
)  # fmt: skip
from tamis.core.errors import ParameterError
from tamis.methods.streaming import sieve

MAKERS = {
    "fast-osfs, numbers": lambda **more: FastOSFS(FisherZ(alpha=0.2), **more),
    "fast-osfs, categories": lambda **more: FastOSFS(
        GSquared(alpha=0.2), max_conditioning=1, **more
    ),
    "osfs, numbers": lambda **more: OSFS(FisherZ(alpha=0.2), **more),
    "osfs, categories": lambda **more: OSFS(GSquared(alpha=0.2), max_conditioning=1, **more),
    "sieve": lambda **more: Sieve(n_features=3, alpha=0.3, **more),
    "sieve, own size": lambda **more: Sieve(n_features=None, alpha=0.3, **more),
    "sieve, chains": lambda **more: Sieve(n_features=4, redundancy=0.5, **more),
}


def table(seed: int, named: str, columns: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Return related columns, some sparse, some copies of each other, and a target."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 70)
    hidden = rng.normal(size=(70, 6)) + y[:, None] * rng.random(6)
    X = hidden[:, rng.integers(0, 6, columns)] + rng.normal(size=(70, columns)) * 0.7
    X[:, ::4] *= rng.random(X[:, ::4].shape) < 0.4
    if "categories" in named:
        X = np.clip(np.round(X), -1, 2)
    X[:, 7], X[:, 8] = X[:, 3], -X[:, 3]
    return X, y


def frame_of(X: np.ndarray, order: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X[:, order], columns=[f"c{j:02d}" for j in order])


@pytest.mark.parametrize("named", MAKERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_order_of_arrival_keeps_what_the_rule_keeps_in_the_order_of_features(
    named, seed, monkeypatch
):
    monkeypatch.setattr(sieve, "LEAST_POOL", 3)  # so that features leave the pool
    make = MAKERS[named]
    X, y = table(seed, named)
    relevance = make().fit(X, y).scores_
    place = sorted(range(X.shape[1]), key=lambda j: (-relevance[j], f"c{j:02d}"))
    if named.startswith("osfs"):  # where the newer of two features stays
        place.reverse()
    expected = set(make().fit(frame_of(X, np.array(place)), y).get_feature_names_out())
    single, rankings, rng = set(), set(), np.random.default_rng(seed)
    for _ in range(6):
        frame = frame_of(X, rng.permutation(X.shape[1]))
        found = make(order="free").fit(frame, y)
        assert set(found.get_feature_names_out()) == expected
        assert found.log_.replay() == found.kept_.tolist()
        single.add(frozenset(make().fit(frame, y).get_feature_names_out()))
        if named.startswith("sieve"):
            rankings.add(tuple(frame.columns[found.ranking_]))
            worth = dict(zip(frame.columns[found.kept_], found.worth_.tolist(), strict=True))
            assert min(worth.values()) > 0
            rankings.add(tuple(sorted(worth.items())))
    assert len(expected) > 1
    assert len(rankings) == (2 if named.startswith("sieve") else 0)
    if seed == 1 and not named.startswith("sieve"):  # whose pool hides most of it
        assert len(single) > 1  # the order of arrival matters without it


@pytest.mark.parametrize("named", MAKERS)
def test_columns_without_names_are_told_apart_by_their_values(named) -> None:
    X, y = table(2, named)
    kept = set()
    for k in range(4):
        part = X[:, np.random.default_rng(k).permutation(X.shape[1])]
        found = MAKERS[named](order="free").fit(sp.csc_matrix(part) if k % 2 else part, y)
        kept.add(frozenset(part[:, j].tobytes() for j in found.kept_))
    assert len(kept) == 1


@pytest.mark.parametrize("kind", [SAOLA, FastOSFS, OSFS, Sieve])
def test_a_gate_does_not_mix_up_the_values_of_columns_without_names(kind) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 16))  # most of them do not pass
    X[:, 3] += 2 * y
    X[:, [8, 12, 15]] = X[:, [3, 3, 3]] * [-1, 2, 3]  # equal for every method
    measure = {} if kind is Sieve else {"measure": "fisher_z"}
    kept = set()
    for k in range(8):
        part = X[:, np.random.default_rng(k).permutation(16)]
        fit = kind(order="free", fdr=0.3, gate="bh", **measure).fit(part, y)
        kept.add(frozenset(part[:, j].tobytes() for j in fit.kept_))
    assert len(kept) == 1


@pytest.mark.parametrize("named", ["fast-osfs, numbers", "osfs, numbers", "sieve"])
@pytest.mark.parametrize("how", [{}, {"alpha": None, "fdr": 0.6, "gate": "bh"}])
def test_shadow_worlds_and_gates_do_not_bring_the_order_back(named, how) -> None:
    X, y = table(3, named, columns=60)
    X[:, 20:] = np.random.default_rng(0).normal(size=(70, 40))
    found = set()
    for k in range(5):
        order = np.random.default_rng(k).permutation(60)
        selector = MAKERS[named](order="free", shadows=3)
        if how:
            measure = "any_shape" if named == "sieve" else "fisher_z"
            selector.set_params(measure=measure, **how)
        fit = selector.fit(frame_of(X, order), y)
        kept = frozenset(order[fit.kept_].tolist())
        plain = clone(selector).set_params(shadows=0).fit(frame_of(X, order), y)
        assert kept == frozenset(order[plain.kept_].tolist())
        found.add((kept, fit.false_keeps_.worlds))
    assert len(found) == 1
    if not how:
        assert sum(found.pop()[1])


@pytest.mark.parametrize(("kind", "drops_itself"), [(FastOSFS, False), (OSFS, True)])
@pytest.mark.parametrize("world", [0, 1])
def test_decoys_are_judged_at_their_own_place(kind, drops_itself, world) -> None:
    X, y = table(4, "", columns=24)
    measure = FisherZ(alpha=0.3)
    strength = np.asarray(measure.relevance(X, y))
    sign = 1 if drops_itself else -1  # OSFS begins with the least relevant
    X = X[:, np.argsort(sign * strength, kind="stable")]

    real, fake = (np.asarray(measure.relevance(some, y)) for some in (X, decoys(X, y, 0, world)))
    turns = [(sign * real[j], j, False) for j in range(24)]
    turns = sorted([*turns, *((sign * fake[j], j, True) for j in range(24))])
    expected = osfs_world(
        lambda: kind(measure, max_conditioning=1), measure, X, y, world, largest=1,
        drops_itself=drops_itself, turns=[(j, is_decoy) for _, j, is_decoy in turns],
    )  # fmt: skip
    order = np.random.default_rng(0).permutation(24)
    fit = kind(measure, max_conditioning=1, order="free", shadows=2).fit(frame_of(X, order), y)
    assert fit.false_keeps_.worlds[world] == len(expected)


def test_fast_osfs_needs_fewer_tests_if_the_best_come_first() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    hidden = y[:, None] + rng.normal(size=(300, 8)) * 3
    X = np.column_stack([hidden + rng.normal(size=(300, 8)) * noise for noise in (3, 2, 1)])
    tests = [
        sum(FastOSFS("fisher_z", order=order).fit(X, y).work_[f"tests_given_{m}"] for m in (1, 2))
        for order in ("arrival", "free")
    ]
    assert tests[1] < tests[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FastOSFS(order="free", blanket="full"), "blanket='full', which needs columns"),
        (lambda: OSFS(order="free", max_tests=10), "max_tests; leave one of the two out"),
        (lambda: Sieve(order="free", fdr=0.1), "levels of gate="),
    ],
)
def test_what_cannot_be_combined_is_refused(make, message) -> None:
    with pytest.raises(ParameterError, match=message):
        make().fit(np.eye(8), np.arange(8) % 2)


BATCH = {
    "fcbf": lambda **more: FCBF(measure="symmetric_uncertainty", **more),
    "mrmr": lambda **more: MRMR(n_features=5, measure="mutual_information", **more),
    "cfs": lambda **more: CFS(measure="auto", **more),
    "consistency": lambda **more: Consistency(**more),
    "hiton-pc": lambda **more: HITONPC("g_squared", max_conditioning=1, **more),
    "full blanket": lambda **more: HITONPC(blanket="full", max_conditioning=1, **more),
}


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("method", BATCH)
def test_methods_that_see_all_columns_take_equal_ones_by_name(method, names) -> None:
    X, y = table(1, "categories")
    X[:, 3] = 2 * y
    X[:12, 3] = 1
    X[:, 7], X[:, 8], X[:, 20] = X[:, 3], -X[:, 3], X[:, 3]  # the best, three times again
    kept: dict[str, set] = {"arrival": set(), "free": set()}
    for k in range(5):
        order = np.random.default_rng(k).permutation(X.shape[1])
        data = frame_of(X, order) if names else X[:, order]
        for way, found in kept.items():
            fit = BATCH[method](order=way).fit(data, y)
            found.add(frozenset(X[:, order][:, j].tobytes() for j in fit.kept_))
            if names:
                found.add(frozenset(fit.get_feature_names_out()))
    assert len(kept["free"]) == 1 + names
    assert len(kept["arrival"]) > 1 + names
