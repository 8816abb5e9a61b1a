"""Curves over time, orders of arrival and levels."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from tamis._registry import STREAM_METHODS
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.evaluate import open_curves, over_orders, over_thresholds, over_time
from tamis.evaluate.cells import select_features
from tamis.evaluate.compared_methods import named_method
from tamis.evaluate.curves import POINTS, threshold_variants
from tamis.evaluate.protocol import make_folds, parse_cv
from tamis.report.comparison_page import _over


@pytest.fixture(scope="module")
def flags():
    """150 rows of 40 flags; 5, 20 and 35 follow the class, and 21 follows 20."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    X = (rng.random((150, 40)) < 0.4).astype(float)
    for column, share in ((5, 0.5), (20, 0.7), (35, 0.9)):
        X[:, column] = np.where(rng.random(150) < share, y, X[:, column])
    X[:, 21] = np.where(rng.random(150) < 0.9, X[:, 20], X[:, 21])
    return X, y


STREAMS = sorted(STREAM_METHODS)


@pytest.mark.parametrize("method", STREAMS)
def test_intermediate_kept_sets_are_those_of_shorter_streams(flags, method):
    X, y = flags
    shares = (0.1, 0.33, 0.5, 1.0)
    made = named_method(method)
    over = select_features(made, 0, X, y, shares)["kept"]
    for share, kept in zip(shares, over, strict=True):
        stop = int(np.ceil(share * 40))
        alone = select_features(made, 0, X[:, :stop], y, (1.0,))["kept"][0]
        wanted = list(range(stop)) if alone["features"] is None else alone["features"]
        assert kept["features"] == wanted, (share, method)


def test_an_order_of_arrival_is_a_permutation_of_the_columns(flags):
    X, y = flags
    order = np.random.default_rng(3).permutation(40)
    got = select_features(named_method("saola").shuffled(3), 0, X, y, (1.0,))["kept"][0]["features"]
    slow = np.sort(order[tamis.SAOLA().fit(X[:, order], y).kept_])
    assert got == slow.tolist()


def test_batch_selectors_have_no_intermediate_result(flags):
    with pytest.raises(InputError, match=r"^FCBF waits for the last feature, so it keeps nothing"):
        select_features(named_method("fcbf"), 0, *flags, (0.5, 1.0))


@pytest.fixture(scope="module")
def curves(flags, tmp_path_factory):
    out = tmp_path_factory.mktemp("curves")
    options = {"cv": "1x3", "out": out, "n_jobs": 1}
    data = {"flags": flags}
    return {
        "time": over_time(data, "saola,fcbf", points=4, **options),
        "orders": over_orders(data, "saola", orders=3, **options),
        "thresholds": over_thresholds(
            data, "saola,all", values=[1e-9, 0.01, 0.5], name="alpha", **options
        ),
        "out": out,
    }


def test_over_time(curves, flags):
    X, y = flags
    x, kept = curves["time"].line("flags", "saola", "knn", "kept")
    assert x.tolist() == [0.25, 0.5, 0.75, 1.0]
    folds = make_folds(y, parse_cv("1x3"), 0)
    slow = [
        np.mean(
            [len(tamis.SAOLA().fit(X[f.train, : int(40 * s)], y[f.train]).kept_) for f in folds]
        )
        for s in x
    ]
    assert kept == pytest.approx(slow)
    _, accuracy = curves["time"].line("flags", "saola", "knn")
    assert accuracy[-1] > accuracy[0]  # the best feature comes late
    assert curves["time"].line("flags", "fcbf", "knn")[0].tolist() == [1.0]


def test_over_orders(curves):
    x, accuracy = curves["orders"].line("flags", "saola", "knn")
    assert x.tolist() == [0, 1, 2, 3]
    assert np.all(accuracy > 0.7)
    page = curves["orders"].to_markdown()
    assert "| flags | saola | knn | 4 | " in page


def test_over_thresholds(curves):
    x, kept = curves["thresholds"].line("flags", "saola", "knn", "kept")
    assert x.tolist() == [1e-9, 0.01, 0.5]
    assert np.all(np.diff(kept) >= 0)
    assert kept[-1] > kept[0]
    assert set(curves["thresholds"].points["method"].to_pylist()) == {"saola"}  # all has no alpha


def test_curves_say_what_they_are_over(curves):
    assert [curves[kind].over for kind in ("time", "thresholds")] == ["time", "alpha"]
    titles = [section.title for section in _over(curves["out"])]
    assert "flags over alpha: accuracy with knn" in titles
    assert "flags over time: features kept" in titles


def test_curves_are_read_from_their_folder(curves):
    for kind in ("time", "orders", "thresholds"):
        back = open_curves(curves["out"], kind)
        assert back.points.equals(curves[kind].points)
        assert back.points.schema.equals(POINTS)
        assert (curves["out"] / f"over_{kind}.md").read_text() == back.to_markdown()
    with pytest.raises(SourceError, match="has no curves over time"):
        open_curves(curves["out"] / "cells", "time")


def test_invalid_variants():
    with pytest.raises(
        ParameterError, match="alpha-investing has no measure, so it takes no alpha"
    ):
        threshold_variants("alpha-investing", "alpha", [0.1])
    with pytest.raises(ParameterError, match="method 'soala' is not known"):
        threshold_variants("saola,soala", "alpha", [0.1])
    with pytest.raises(ParameterError, match="give at least one value"):
        threshold_variants("saola", "alpha", [])
    with pytest.raises(ParameterError, match="give methods by name"):
        threshold_variants([tamis.SAOLA()], "alpha", [0.1])
