"""The same comparison when cells are done on a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.core.errors import ClusterError
from tamis.evaluate import compare
from tamis.evaluate.cells import Caps
from tamis.evaluate.pool import _run_cell

pytest.importorskip("distributed")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 12))
    X[:, 3] += 2 * y
    return {"small": (X, y)}


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_cells_are_the_same_as_without_a_cluster(data, client, tmp_path):
    params = {"methods": "saola,all", "classifiers": "knn", "cv": 2}
    here = compare(data, **params, n_jobs=1)
    there = compare(data, **params, cluster=client, out=tmp_path / "results")
    assert np.array_equal(here.grid("accuracy", "knn"), there.grid("accuracy", "knn"))
    again = compare(data, **params, cluster="tcp://127.0.0.1:1", out=tmp_path / "results")
    assert np.array_equal(again.grid("accuracy", "knn"), here.grid("accuracy", "knn"))


def test_a_folder_that_a_worker_cannot_see_is_reported():
    with pytest.raises(ClusterError, match=r"a worker cannot see /nowhere.* that all hosts share"):
        _run_cell(({"folder": "/nowhere"}, Caps(None, None)))


def test_a_worker_that_dies_loses_one_step_and_another_resumes_with_the_next(tmp_path):
    message = {"folder": str(tmp_path), "kept": [{"features": [1]}], "classifiers": ["knn", "nb"]}
    lost = _run_cell((message, Caps(None, None)))  # there is no data in the folder
    assert [step for step, _ in lost] == ["knn", "nb", "task"]
    assert all(r["passing"] and r["note"] == "the process ended with code 1" for _, r in lost[:2])
    lost = _run_cell((message | {"kept": None}, Caps(None, None)))
    assert [step for step, _ in lost] == ["selection", "task"]
