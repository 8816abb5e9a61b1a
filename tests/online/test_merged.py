"""MergedSOFS and MergedRowSieve: the product of Gaussian posteriors, one for each shard."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from tamis.checks.data import assert_same_model, cases
from tamis.core.errors import ParameterError
from tamis.kernels import heap
from tamis.methods.online.shards import merged


@pytest.mark.parametrize("more", [{}, {"gamma": 0.1}, {"multiclass": "uniform", "passes": 2}])
@pytest.mark.parametrize("size", [1, 4, 9, 1000])
def test_one_shard_is_sofs_to_the_bit(more, size):
    for case in cases():
        one = tamis.MergedSOFS(size, shards=1, **more).fit(case.X, case.y)
        sofs = tamis.SOFS(size, **more).fit(case.X, case.y)
        assert_same_model(one, sofs, str(case))
        assert np.array_equal(one.decision_function(case.X), sofs.decision_function(case.X))


@pytest.mark.parametrize("more", [{}, {"gamma": 0.1, "floor": 0.1}, {"multiclass": "uniform"}])
@pytest.mark.parametrize("size", [1, 4, 9, 1000])
def test_one_shard_is_row_sieve_to_the_bit(more, size):
    for case in cases():
        one = tamis.MergedRowSieve(size, shards=1, **more).fit(case.X, case.y)
        alone = tamis.RowSieve(size, **more).fit(case.X, case.y)
        assert_same_model(one, alone, str(case))
        assert np.array_equal(one.decision_function(case.X), alone.decision_function(case.X))


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_what_is_remembered_is_merged_too(shards):
    for case in cases():
        found = tamis.MergedRowSieve(5, shards=shards).fit(case.X, case.y)
        precision, weighted = 0.0, 0.0
        for s in range(shards):
            one = tamis.RowSieve(5, classes=np.unique(case.y))
            model = one.fit(case.X[s::shards], case.y[s::shards]).learner_.model
            added, mean = np.split(model.marks.view.astype(float), 2, axis=1)
            added[one.kept_], mean[one.kept_] = model.learned().precision, model.learned().weights
            precision, weighted = precision + added, weighted + (1 + added) * mean
        mean = weighted / (1 + precision)
        strength = np.linalg.norm(mean**2 * (1 + precision), axis=1)
        kept = np.sort(np.argsort(-strength, kind="stable")[: min(5, np.sum(strength > 0))])
        assert found.kept_.tolist() == kept.tolist(), str(case)
        np.testing.assert_allclose(found.weights_.reshape(len(kept), -1), mean[kept], rtol=1e-12)
        np.testing.assert_allclose(found.confidence_, strength[kept], rtol=1e-12)


def slowly_merged(case, size, shards, gamma):
    """The formulas of the docstring, from one SOFS for each share that keeps every feature known.

    The precisions of features that a shard does not keep follow from its marks.
    """
    precision, weighted = 0.0, 0.0
    keeps = np.zeros(case.X.shape[1])
    for s in range(shards):
        one = tamis.SOFS(size, gamma=gamma, classes=np.unique(case.y))
        one.fit(case.X[s::shards], case.y[s::shards])
        model = one.learner_.model
        added = np.maximum(model.marks.view.astype(float), 0)
        mean = np.zeros_like(added)
        added[one.kept_], mean[one.kept_] = model.learned().precision, model.learned().weights
        keeps[one.kept_] += 1
        precision = precision + added
        weighted = weighted + (1 + added) * mean
    mean = weighted / (1 + precision)
    sure = np.sum(1 - 1 / (1 + precision), axis=1)
    order = sorted(np.flatnonzero(sure > 0), key=lambda j: (-sure[j].round(12), -keeps[j], j))
    kept = np.sort(order[:size])
    return kept, mean[kept], sure[kept]


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_precisions_add_and_means_are_weighted(shards):
    for case in cases():
        found = tamis.MergedSOFS(5, gamma=0.5, shards=shards).fit(case.X, case.y)
        kept, means, sure = slowly_merged(case, 5, shards, 0.5)
        assert found.kept_.tolist() == kept.tolist(), str(case)
        np.testing.assert_allclose(found.weights_.reshape(means.shape), means, rtol=1e-12)
        np.testing.assert_allclose(found.confidence_, sure, rtol=1e-12)
        assert found.learner_.model.counts[heap.ROWS] == len(case.y)


def test_ties_go_to_features_kept_by_more_shards_then_to_lower_numbers():
    def part(features, added, kept):
        a = np.array(added, dtype=float)[:, None]
        return np.array(features), a, a, np.array(kept)

    parts = [part([2, 5, 8], [1, 2, 2], [0, 1, 0]), part([2, 5, 8, 9], [2, 1, 1, 3], [1, 1, 1, 0])]
    assert merged(parts, 1)[0].tolist() == [5]
    assert merged(parts, 3)[0].tolist() == [2, 5, 8]
    assert merged(parts, 9)[0].tolist() == [2, 5, 8, 9]


def test_auto_and_no_shards_are_refused():
    case = cases()[0]
    with pytest.raises(ParameterError, match="n_features"):
        tamis.MergedSOFS("auto").fit(case.X, case.y)
    with pytest.raises(ParameterError, match="shards"):
        tamis.MergedSOFS(shards=0).fit(case.X, case.y)
