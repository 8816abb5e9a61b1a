"""One word that is the paper, for every method."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from tamis import _registry as registry
from tamis.core.errors import ParameterError
from tamis.engine.known_selectors import parse_method
from tamis.evaluate import compare

OURS = {"sieve", "row-sieve", "merged-row-sieve", "merged-sofs", "all", "random"}


@pytest.mark.parametrize("entry", [*registry.METHODS.values(), *registry.LEARNERS.values()])
def test_every_method_of_a_paper_has_the_word(entry: registry.Method) -> None:
    kind = getattr(tamis, entry.class_name)
    if entry.name in OURS:
        with pytest.raises(ParameterError, match="has no paper, so it has no setting 'paper'"):
            kind.paper()
        return
    assert isinstance(kind.paper(), kind)
    if entry.name in registry.METHODS:
        found = parse_method(f"{entry.name}:paper")
        params = {**found.params, **({"encode": found.encode} if found.encode else {})}
        assert repr(kind(**params)) == repr(kind.paper())


def test_saola_of_the_paper_keeps_copies_and_any_information() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    good = np.where(rng.random(200) < 0.8, y, 1 - y)
    noise = rng.integers(0, 2, (200, 1))
    X = np.column_stack([good, good])
    assert tamis.SAOLA().fit(X, y).kept_.tolist() == [0]
    assert tamis.SAOLA.paper().fit(X, y).kept_.tolist() == [0, 1]
    assert tamis.SAOLA().fit(noise, y).kept_.tolist() == []
    assert tamis.SAOLA.paper().fit(noise, y).kept_.tolist() == [0]
    numbers = X + rng.normal(scale=0.1, size=X.shape)
    assert tamis.SAOLA.paper().fit(numbers, y).measure_ == tamis.FisherZ(0.01, statistic="z")


def test_sfs_fi_of_the_paper_keeps_a_copy_in_the_third_case() -> None:
    """The second b interacts with a, as the first does, and ties with the first."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 40))
    y = np.where(rng.random(40) < 0.3, 1 - (a ^ b), a ^ b)
    X = np.column_stack([a, b, 1 - b])
    assert tamis.SFSFI("paper", gamma=10.0).fit(X, y).kept_.tolist() == [0, 1]
    assert tamis.SFSFI.paper(gamma=10.0).fit(X, y).kept_.tolist() == [0, 1, 2]


def test_osfs_of_the_paper_is_its_own_test_at_its_own_level() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (100, 4))
    found = tamis.OSFS.paper().fit(X, X[:, 0] > 1).measure_
    assert found == tamis.GSquared(alpha=0.05, statistic="g2", degrees="spirtes")
    assert tamis.OSFS.paper(alpha=0.01).fit(X, X[:, 0] > 1).measure_.alpha == 0.01
    encoded = tamis.OSFS.paper(encode="mdlp").fit(X + 0.5, X[:, 0] > 1).measure_
    assert encoded == found


def test_the_word_in_a_comparison() -> None:
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = np.column_stack([y, y, rng.integers(0, 2, 60)])
    found = compare({"d": (X, y)}, "saola:paper,saola", "knn", cv="1x2", n_jobs=1)
    kept = found.grid("kept")[0]
    assert kept[0] >= 2 > kept[1] == 1
    with pytest.raises(ParameterError, match="Sieve has no paper"):
        compare({"d": (X, y)}, "sieve:paper", "knn", cv="1x2", n_jobs=1)
