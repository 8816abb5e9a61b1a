"""Learners of numbers: against a slow form, their invariances, and from rows to a saved model."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_learners import SlowRowSieve
from streams import streams

import tamis as package
from tamis.engine.learning.learn import make_learner
from tamis.engine.learning.model import open_model, save_model
from tamis.methods.online.regressors import REGRESSORS, NumberLearner


def usual(errors):
    """The geometric mean of those that are not 0."""
    sizes = [abs(error) for error in errors if error != 0]
    return math.exp(np.mean(np.log(sizes))) if sizes else 0.0


class SlowRegressor(SlowRowSieve):
    """RowSieveRegressor as its docstring says: whole vectors, one row after the other."""

    epsilon: float | None = None

    def learn(self, X, targets):
        self.b, self.constant, self.size_of_errors, self.t = 0.0, 0.0, 0.0, 0
        self.errors, self.misses, offsets = [], 0, []
        for x, target in zip(X, targets, strict=True):
            self.t += 1
            error = target - (self.b + self.scores(x)[0])
            off = target - self.constant
            self.constant += off * (2.0 / (self.t + 1))
            if self.t == 1:
                self.b += error
                continue
            self.errors.append(error)
            self.size_of_errors = usual(self.errors)
            offsets.append(abs(off))
            self.misses += abs(error) > abs(off) + usual(offsets)
            self.row(x, error)
        return self

    def beyond(self, error):
        return max(abs(error) - (self.epsilon or 0.0), 0.0) * np.sign(error)

    def row(self, x, error):
        pull = shift = self.beyond(error)
        if self.epsilon is not None:
            shift = max(-self.size_of_errors, min(self.size_of_errors, pull))
        self.b += shift * (2.0 / (self.t + 1))
        squares = 0.0
        for j in np.flatnonzero(x):
            squares += x[j] * x[j]
        if pull == 0 or squares == 0:
            return
        self.total += squares
        self.filled += 1.0
        unit = self.gamma * (self.total / self.filled)
        mass = 1.0 + self.precision[0].astype(np.float64)
        spread, old = 0.0, self.w[0].astype(np.float64)
        for j in np.flatnonzero(x):
            spread += x[j] * x[j] * (1.0 / mass[j]) if j in self.since else 0.0
        for j in np.flatnonzero(x):
            left, mine = pull, spread
            if j not in self.since:  # as if it alone were added to the kept features
                left = self.beyond(pull + np.copysign(self.epsilon or 0.0, pull) - old[j] * x[j])
                mine = spread + x[j] * x[j] / mass[j]
            if self.epsilon is not None:
                most = self.size_of_errors / unit
                self.w[0, j] = old[j] + max(-most, min(most, left / mine)) * x[j] / mass[j]
            elif j in self.since:
                self.w[0, j] = old[j] + pull / (spread + unit) * x[j] * (1.0 / mass[j])
            else:
                self.w[0, j] = old[j] + left * x[j] / ((spread + unit) * mass[j] + x[j] * x[j])
            self.precision[0, j] = float(self.precision[0, j]) + x[j] * x[j] * (1.0 / unit)
        self.choose(x)


@settings(max_examples=120)
@given(
    data=streams,
    size=st.integers(1, 12),
    gamma=st.sampled_from([0.05, 0.3, 10.0]),
    advantage=st.sampled_from([1.0, 2.0]),
    floor=st.sampled_from([0.0, 0.1]),
    epsilon=st.sampled_from([None, 0.0, 0.1, 3.0]),
)
def test_against_a_slow_form(data, size, gamma, advantage, floor, epsilon) -> None:
    X, codes = data
    rng = np.random.default_rng(len(X))
    y = 5 + X @ rng.integers(-2, 3, X.shape[1]) + codes
    slow = SlowRegressor(X.shape[1], size, 1)
    rates = {"gamma": gamma, "advantage": advantage, "floor": floor}
    vars(slow).update(rates, epsilon=epsilon)
    slow.learn(X, y)
    loss = {} if epsilon is None else {"loss": "epsilon_insensitive", "epsilon": epsilon}
    found = package.RowSieveRegressor(size, **rates, **loss).fit(sp.csr_matrix(X), y)
    assert found.kept_.tolist() == slow.kept
    if epsilon is None:
        np.testing.assert_array_equal(found.weights_, slow.weights)
        assert found.intercept_ == slow.b
    else:  # logarithms are summed in another order
        np.testing.assert_allclose(found.weights_, slow.weights, rtol=1e-5, atol=1e-6)
        assert found.intercept_ == pytest.approx(slow.b, rel=1e-9)
    assert found.work_["mistakes"] == slow.misses
    if np.ptp(y) > 0:
        r2 = 1 - np.sum(np.square(slow.errors)) / np.sum((y - y.mean()) ** 2)
        assert found.progressive_r2_ == pytest.approx(r2, rel=1e-9, abs=1e-9)


def rows(n=3000, columns=60, seed=0, bias=40.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) * (rng.random((n, columns)) < 0.3)
    return X, bias + 3 * X[:, 7] - 2 * X[:, 30] + X[:, 31] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("kind", [k for k in REGRESSORS.values() if "n_features" in k.ranges])
def test_the_informative_features_are_found(kind) -> None:
    X, y = rows()
    if kind.public_name == "SOFSRegressor":
        X[:, [7, 30, 31]] *= 3  # by frequency and scale
    learner = kind(n_features=3)
    learner.begin()
    learner.learn(X, y)
    assert learner.kept_.tolist() == [7, 30, 31]
    if kind.public_name != "SOFSRegressor":
        assert learner.score(X, y) > 0.97


def test_other_units_of_the_target_change_no_decision() -> None:
    X, y = rows()
    plain = package.RowSieveRegressor(3).fit(X, y)
    times = package.RowSieveRegressor(3).fit(X, 1024 * y)  # exact in binary
    assert times.kept_.tolist() == plain.kept_.tolist()
    np.testing.assert_array_equal(times.weights_, 1024 * plain.weights_)
    moved = package.RowSieveRegressor(3).fit(X, y + 1e6)
    assert moved.kept_.tolist() == plain.kept_.tolist()
    np.testing.assert_allclose(moved.weights_, plain.weights_, rtol=1e-4)
    assert moved.intercept_ - 1e6 == pytest.approx(plain.intercept_, abs=1e-3)


def test_outliers_pull_no_harder_with_the_epsilon_insensitive_loss() -> None:
    X, y = rows()
    spoilt = y.copy()
    spoilt[50::20] += 1e5 * np.random.default_rng(1).standard_cauchy(148)
    robust = package.RowSieveRegressor(3, loss="epsilon_insensitive").fit(X, spoilt)
    assert robust.kept_.tolist() == [7, 30, 31]
    assert robust.score(X, y) > 0.9
    assert package.RowSieveRegressor(3).fit(X, spoilt).score(X, y) < 0


def test_learning_restarts_after_a_change() -> None:
    X, y = rows(8000)
    y[4000:] = 500 - 4 * X[4000:, 2] + 3 * X[4000:, 12]
    model = package.RowSieveRegressor(3, drift=0.002).fit(X, y)
    assert len(model.changes_) >= 1
    assert 4000 < model.changes_[0] < 4400
    assert {2, 12} <= set(model.kept_.tolist())
    assert model.score(X[4000:], y[4000:]) > 0.95
    steady = package.RowSieveRegressor(3, drift=0.002).fit(*rows(8000))
    assert steady.changes_ == []


def test_auto_takes_a_small_size_that_is_good_enough() -> None:
    X, y = rows(6000)
    model = package.RowSieveRegressor("auto", sizes=(1, 3, 20, 60)).fit(X, y)
    assert model.n_features_ == 3
    curve = model.size_curve_
    assert curve[1] > 1 > curve[3]  # mean squared errors


def test_tuning_and_a_saved_model(tmp_path) -> None:
    X, y = rows()
    tuned = package.tune(package.RowSieveRegressor(3), X, y)
    assert tuned.task == "regression"
    assert set(tuned.table[0]) == {"gamma", "losses", "error"}
    best = min(tuned.table, key=lambda line: line["error"])
    assert tuned.parameters == {"gamma": best["gamma"]}
    model = tuned.learner.fit(X, y)
    saved = open_model(save_model(model, tmp_path / "m"))
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))
    assert (saved.task, saved.score(X, y)) == ("regression", model.score(X, y))
    assert saved.predict_one({7: 1.0}) == model.predict_one({7: 1.0})
    assert "R² of predictions" in saved._repr_html_()


def test_what_is_no_number_is_refused() -> None:
    X, y = rows(50)
    model = package.RowSieveRegressor(3)
    for wrong, words in (
        (np.where(np.arange(50) == 7, np.nan, y), "row 7"),
        (np.where(np.arange(50) == 7, 1e31, y), "row 7 has the target 1e+31"),
        (np.array(["a"] * 50, dtype=object), "row 0 has the target 'a'"),
    ):
        with pytest.raises(package.TamisError, match=words.replace("+", r"\+")):
            model.fit(X, wrong)
    with pytest.raises(package.TamisError, match="bring the target and the columns to a scale"):
        package.RowSieveRegressor(3).fit(X, y * 1e-35)


def test_a_model_before_its_first_row_and_of_one_target() -> None:
    model = package.RowSieveRegressor(3)
    assert model.predict_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 1.0}, 7)
    assert model.predict_one({"a": 1.0, "new": 2.0}) == 7.0
    assert math.isnan(model.progressive_r2_)
    constant = package.RowSieveRegressor(3).fit(np.eye(5), np.full(5, 3.0))
    assert constant.predict(np.eye(5)).tolist() == [3.0] * 5
    assert constant.kept_.tolist() == []


def test_a_learner_by_name_becomes_its_regressor() -> None:
    for name in ("row-sieve", "merged-row-sieve", "sofs", "pet", "ogd", "arow"):
        assert isinstance(make_learner(name, "regression"), NumberLearner)
        assert not isinstance(make_learner(name), NumberLearner)
    assert isinstance(make_learner("row-sieve", epsilon=0.5), NumberLearner)
    for arguments, words in (
        (("fofs", "regression"), "FOFS predicts classes only"),
        (("row-sieve", "classification"), "no parameter 'loss'"),
    ):
        with pytest.raises(package.TamisError, match=words):
            make_learner(*arguments, **({"loss": "squared_error"} if "loss" in words else {}))
    with pytest.raises(package.TamisError, match="multiclass='uniform' is for classes"):
        package.learn(rows(), make_learner("row-sieve", multiclass="uniform"), task="regression")


@pytest.fixture
def prices(tmp_path):
    """Rows with an integer price, as svmlight text."""
    X, y = rows(600)
    path = tmp_path / "prices.svm"
    lines = [
        " ".join([f"{round(1000 * t)}", *(f"{j + 1}:{v:.4f}" for j, v in enumerate(x) if v)])
        for x, t in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_an_integer_price_is_learned_as_a_number(prices, tmp_path) -> None:
    said = []
    hooks = package.engine.learning.learn.Hooks(said.append)
    done = package.learn(prices, "row-sieve", out=tmp_path / "m", test=prices, hooks=hooks)
    assert type(done.learner).__name__ == "RowSieveRegressorLearner"
    assert said == [done.reason]
    assert done.reason.startswith("task: regression, because ")
    assert "which look like numbers to predict; if they are classes" in done.reason
    assert done.test.scores()["r2"] > 0.9
    record = json.loads((tmp_path / "m" / "model.json").read_text())
    assert record["classes"] is None
    assert record["test"]["r2"] == done.test.scores()["r2"]
    assert record["curve"]["error"][-1] < 1500  # root mean squared error, in the target's unit
    with pytest.raises(package.TamisError, match="RowSieve learns classes; use a learner of numb"):
        package.learn(prices, package.RowSieve(3))
    regressor = package.learn(prices, package.RowSieveRegressor(3)).learner
    assert isinstance(regressor, package.RowSieveRegressor)
    with pytest.raises(package.TamisError, match="predicts numbers, so it takes no classes"):
        package.learn(prices, package.RowSieveRegressor(3), classes=[1, 2])
    with pytest.raises(package.TamisError, match="the task is classification; use RowSieve,"):
        package.learn(prices, package.RowSieveRegressor(3), task="classification")


def test_bad_targets_in_a_file_are_named_or_skipped(prices) -> None:
    text = prices.read_text().splitlines()
    prices.write_text("\n".join([*text[:5], "1e40 1:1", *text[5:]]) + "\n")
    learner = package.RowSieveRegressor(3)
    with pytest.raises(package.TamisError, match=r"line 6 has the label .* not a number up to"):
        learner.fit_stream(prices)
    model = learner.fit_stream(prices, skip_bad_lines=True)
    assert model.bad_lines_ == {"with a target that is not a number": 1}
    assert model.work_["rows"] == len(text)


@pytest.mark.usefixtures("shared_processes")
def test_shards_of_numbers_are_merged(prices) -> None:
    done = package.learn(prices, "row-sieve", cluster="local:2", task="regression")
    assert done.learner.public_name == "MergedRowSieveRegressor"
    one = package.learn(prices, "row-sieve", cluster="local:2", shards=1).learner
    alone = package.learn(prices, "row-sieve", task="regression").learner
    assert one.kept_.tolist() == alone.kept_.tolist()
    np.testing.assert_array_equal(one.weights_, alone.weights_)
    assert one.intercept_ == alone.intercept_
    assert done.learner.progressive_r2_ > 0.5
