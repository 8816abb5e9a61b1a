"""Grafting against the paper's rule with a fit from zero at every step, and scikit-learn."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

import tamis
from tamis import DecisionLog, Grafting
from tamis.core.errors import ConvergenceWarning


def slopes_of(X, positive, w, b):
    return 1 / (1 + np.exp(-(X @ w + b))) - positive


def fit_from_zero(X, positive, penalty, l2):
    """The penalised fit by proximal gradient steps, each as long as the curvature allows."""
    n = len(X)
    w, b = np.zeros(X.shape[1]), 0.0
    centred = X - X.mean(axis=0)
    # numpy 1 has no norm of a table without columns
    largest = np.linalg.norm(centred, 2) if X.shape[1] else 0.0
    curvature = 0.25 * (1 + largest**2 / n) + l2
    v, vb, t = w, b, 1.0
    for _ in range(20_000):
        slopes = slopes_of(centred, positive, v, vb)
        z = v - (centred.T @ slopes / n + l2 * v) / curvature
        new = np.sign(z) * np.maximum(np.abs(z) - penalty / curvature, 0)
        new_b = vb - slopes.mean() / curvature
        if max(np.abs(new - v).max(initial=0), abs(new_b - vb)) < 1e-13:
            w, b = new, new_b
            break
        # Momentum, dropped when it points uphill.
        uphill = (v - new) @ (new - w) + (vb - new_b) * (new_b - b) > 0
        t_new = 1.0 if uphill else (1 + np.sqrt(1 + 4 * t * t)) / 2
        pull = 0.0 if uphill else (t - 1) / t_new
        v, vb = new + pull * (new - w), new_b + pull * (new_b - b)
        w, b, t = new, new_b, t_new
    return w, b - w @ X.mean(axis=0)


def slow_grafting(X, classes, penalty, l2=0.0):
    """The rule, with a full fit for each feature that enters."""
    n, kept = len(X), []
    models = [fit_from_zero(X[:, []], c, penalty, l2) for c in classes]
    for j in range(X.shape[1]):
        x = X[:, j] - X[:, j].mean()
        gradients = [
            abs(x @ slopes_of(X[:, kept], c, *model)) / n
            for c, model in zip(classes, models, strict=True)
        ]
        if max(gradients) <= penalty * (1 + 2e-6):
            continue
        kept.append(j)
        models = [fit_from_zero(X[:, kept], c, penalty, l2) for c in classes]
        stays = np.any([w != 0 for w, _ in models], axis=0)
        kept = [k for k, stay in zip(kept, stays, strict=True) if stay]
        models = [(w[stays], b) for w, b in models]
    return kept, models


def data(seed, n_classes=2, density=1.0, rows=60, columns=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)
    X[:, 8] = X[:, 2] + 0.5 * X[:, 8]  # better than what came before, or worse
    signal = X[:, 1] + X[:, 8] - X[:, 11] + 0.5 * rng.normal(size=rows)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return X, y


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3]),
    density=st.sampled_from([0.4, 1.0]),
    penalty=st.sampled_from([0.15, 0.05]),
    l2=st.sampled_from([0.0, 0.2]),
)
def test_it_keeps_what_a_fit_from_zero_keeps(seed, n_classes, density, penalty, l2) -> None:
    X, y = data(seed, n_classes, density)
    classes = [y == 1] if n_classes == 2 else [y == c for c in range(n_classes)]
    expected, models = slow_grafting(X, classes, penalty, l2)

    found = Grafting(penalty, l2=l2, scale="none").fit(sp.csr_matrix(X), y)

    assert found.kept_.tolist() == expected
    np.testing.assert_allclose(found.coef_, [w for w, _ in models], atol=1e-4)
    np.testing.assert_allclose(found.intercept_, [b for _, b in models], atol=1e-4)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 4]),
    penalty=st.sampled_from([0.1, 0.02, 0.005]),
    l2=st.sampled_from([0.0, 0.1]),
)
def test_the_model_is_optimal_and_features_that_left_are_not_needed(
    seed, n_classes, penalty, l2
) -> None:
    X, y = data(seed, n_classes, rows=90, columns=40)
    X = X / X.std(axis=0) + 3.0
    found = Grafting(penalty, l2=l2).fit(X, y)
    classes = [y == 1] if n_classes == 2 else [y == c for c in range(n_classes)]
    Z = X[:, found.kept_]
    for w, b, positive in zip(found.coef_, found.intercept_, classes, strict=True):
        slopes = slopes_of(Z, positive, w, b)
        gradient = (Z - 3.0).T @ slopes / 90 + l2 * w
        assert abs(slopes.mean()) < 1e-6
        assert np.all(np.abs(gradient + penalty * np.sign(w))[w != 0] < 1e-6)
        assert np.all(np.abs(gradient)[w == 0] < penalty + 1e-6)
    assert np.all(found.coef_.any(axis=0))
    for event in found.log_.events():
        if event.reason == "evicted":
            assert event.value <= penalty * (1 + 1e-6)
            assert event.because[0] > event.feature
        else:
            assert event.reason == "kept"
            assert event.relevance > penalty


@pytest.mark.parametrize("penalty", [0.1, 0.03, 0.01])
@pytest.mark.parametrize("scale", ["std", "none"])
def test_it_matches_scikit_learns_l1_fit_on_the_kept_columns(penalty, scale) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scale == "none" else X
    found = Grafting(penalty, scale=scale).fit(X, y)
    Z = X[:, found.kept_]
    mean, deviation = Z.mean(axis=0), Z.std(axis=0)
    newer = "penalty" not in inspect.signature(LogisticRegression).parameters or (
        inspect.signature(LogisticRegression).parameters["penalty"].default == "deprecated"
    )
    peer = LogisticRegression(
        **({"l1_ratio": 1.0} if newer else {"penalty": "l1"}),
        C=1 / (len(y) * penalty), solver="saga", tol=1e-9, max_iter=50_000,
    ).fit((Z - mean) / deviation, y)  # fmt: skip
    np.testing.assert_allclose(found.coef_ * deviation, peer.coef_, atol=1e-5)
    intercept = found.intercept_ + found.coef_ @ mean
    np.testing.assert_allclose(intercept, peer.intercept_, atol=1e-5)


def test_three_classes_are_three_models_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    found = Grafting(0.02).fit(X, y)
    assert found.coef_.shape == (3, len(found.kept_))
    scores = X[:, found.kept_] @ found.coef_.T + found.intercept_
    assert (scores.argmax(axis=1) == y).mean() > 0.9
    for c in range(3):
        alone = Grafting(0.02).fit(X[:, found.kept_], y == c)
        picked = found.coef_[c][alone.kept_]
        np.testing.assert_allclose(alone.coef_[0], picked, atol=1e-4)


def test_a_better_new_feature_displaces_a_worse_copy() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(size=300)
    y = (good + 0.3 * rng.normal(size=300) > 0).astype(int)
    worse = good + rng.normal(size=300)
    found = Grafting(0.1).fit(np.column_stack([worse, good, worse, good]), y)
    assert found.kept_.tolist() == [1]
    assert found.log_.counts() == {"irrelevant": 2, "redundant": 0, "evicted": 1, "kept": 1}


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), penalty=st.sampled_from([0.1, 0.01]))
def test_copies_of_kept_features_stay_out(seed, penalty) -> None:
    X, y = data(seed)
    first = Grafting(penalty).fit(X, y)
    copies = [X[:, j] * -3.0 + 2.0 for j in first.kept_] + [X[:, j] for j in first.kept_]
    first.feed(np.column_stack([*copies, np.ones(60)]))
    assert np.all(first.kept_ < X.shape[1])


def test_the_unit_of_a_column_matters_only_without_scaling() -> None:
    X, y = data(1, rows=200)
    units = 10.0 ** np.arange(-6, 8)
    expected = Grafting(0.05).fit(X, y)
    found = Grafting(0.05).fit(X * units, y)
    assert found.kept_.tolist() == expected.kept_.tolist()
    kept = expected.kept_
    np.testing.assert_allclose(found.coef_ * units[kept], expected.coef_, rtol=1e-3)
    small = Grafting(0.05, scale="none").fit(X * 1e-6, y)
    assert len(small.kept_) == 0


def test_separable_classes_have_a_finite_model() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 10))
    y = np.where(X[:, 3] > 0, "yes", "no")
    found = Grafting(0.001).fit(X, y)
    assert 3 in found.kept_
    assert np.isfinite(found.coef_).all()


def test_a_large_penalty_keeps_nothing() -> None:
    X, y = data(3)
    found = Grafting(0.6).fit(X, y)
    assert found.kept_.tolist() == []
    assert found.coef_.shape == (1, 0)
    assert found.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=1e-6)


def test_sentences_carry_the_numbers() -> None:
    rng = np.random.default_rng(0)
    good, noise = rng.normal(size=(2, 300))
    y = (good + 0.3 * rng.normal(size=300) > 0).astype(int)
    live = Grafting(0.1).start(y)
    live.feed(good + rng.normal(size=300), names=["worse"])
    assert live.log_.why("worse") == (
        "worse is kept: the gradient of the loss at weight 0, 0.25, is above the penalty of 0.1, "
        "and it entered the model with the weight 0.472"
    )
    live.feed(good, names=["good"]).feed(noise, names=["noise"]).feed(good * 2, names=["twice"])
    live.feed(np.ones(300), names=["flat"])
    assert live.log_.why("worse") == (
        "worse was kept until good arrived: its weight went back to 0, where the gradient of the "
        "loss, 0.0502, is not above the penalty of 0.1"
    )
    assert live.log_.why("noise") == (
        "noise was dropped as irrelevant: the gradient of the loss at weight 0, 0.0153, is not "
        "above the penalty of 0.1"
    )
    assert "not above the penalty of 0.1" in live.log_.why("twice")
    assert live.log_.why("flat") == (
        "flat was dropped as irrelevant: it has the same value in every row"
    )


def test_work_is_counted() -> None:
    X, y = data(5, columns=500)
    found = Grafting(0.1).fit(X, y)
    work = found.work_
    entered = sum(event.reason == "kept" for event in found.log_.events())
    assert work["fits"] == entered > 0
    assert work["sweeps"] >= work["fits"]
    assert 500 <= work["gradients"] <= 2 * 500 + 16 * (entered + 1)


def test_a_fit_that_does_not_converge_warns(monkeypatch) -> None:
    from tamis.methods.streaming import grafting

    def give_up(*arguments):
        grafting_fit(*arguments)
        return 1, 0.5

    grafting_fit = grafting.fit_weights
    X, y = data(6)
    monkeypatch.setattr(grafting, "fit_weights", give_up)
    with pytest.warns(ConvergenceWarning, match=r"optimal only to 0.5 instead of 1e-07; raise"):
        Grafting(0.1).fit(X, y)


def test_targets_it_cannot_take_are_refused_in_one_sentence() -> None:
    with pytest.raises(tamis.TamisError, match="the target is a number; use AlphaInvesting"):
        Grafting().fit(np.eye(4), [0.5, 1.2, 0.1, 2.2])
    with pytest.raises(tamis.TamisError, match="the target is 1 in every row"):
        Grafting().fit(np.eye(4), [1, 1, 1, 1])


def test_a_log_read_from_a_file_has_the_same_sentences() -> None:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 30)) + y[:, None] * (np.arange(30) % 7 == 0)
    X[:, 4], X[:, 9] = 1.0, X[:, 0]
    log = Grafting(0.1).fit(X, y).log_
    read = DecisionLog.from_state(log.state(), log.reasons, log.names, log.template_fields)
    assert [read.why(j) for j in range(30)] == [log.why(j) for j in range(30)]


def test_columns_whose_squares_overflow_are_reported() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(50, 4)) * [1, 1e200, 1e-200, 1e150]
    log = Grafting(0.1).fit(X, X[:, 3] > 0).log_
    for j in (1, 2):
        assert log.why(j) == (
            f"x{j} was dropped as irrelevant: its values are so large or so small that their "
            "squares cannot be held"
        )
    assert log.replay() == [3]


def test_parameters_are_checked_in_one_sentence() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(tamis.TamisError, match="Grafting: penalty=0 is not a number above 0"):
        Grafting(0).fit(X, y)
    with pytest.raises(tamis.TamisError, match="l2=-1 is not a number at least 0"):
        Grafting(l2=-1).fit(X, y)
    with pytest.raises(tamis.TamisError, match="scale='max' is not one of 'std', 'none'"):
        Grafting(scale="max").fit(X, y)
    with pytest.raises(tamis.TamisError, match="tol=1 is not a number above 0"):
        Grafting(tol=1).fit(X, y)
