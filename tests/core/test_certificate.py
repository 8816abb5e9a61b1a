"""The certificate: the largest self-consistent part, its guarantee, and runs that have none."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

import tamis
from tamis import Selection
from tamis.core.certificate import Certificate, certify, p_values_of, share_by_arrival
from tamis.core.errors import InputError, ParameterError
from tamis.engine.runs import open_run, save_run, unasked_words

HARMONIC = sum(1 / i for i in range(1, 101))


def slowly(p: list[float], weights: list[float], alpha: float) -> list[bool]:
    """Try every size, the largest first."""
    for size in range(len(p), 0, -1):
        inside = [
            w > 0 and a <= alpha * w * min(size, 100) / HARMONIC
            for a, w in zip(p, weights, strict=True)
        ]
        if sum(inside) >= size:
            return inside
    return [False] * len(p)


@given(
    st.lists(st.tuples(st.floats(0, 0.1), st.sampled_from([0.0, 0.001, 0.1, 0.5])), max_size=30),
    st.sampled_from([0.05, 0.1, 0.5]),
)
@settings(max_examples=200, deadline=None)
def test_the_largest_size_that_is_consistent(pairs, alpha):
    p, weights = [a for a, _ in pairs], [w for _, w in pairs]
    expected = slowly([a / 1000 for a in p], weights, alpha)
    found = certify(np.array(p) / 1000, np.array(weights), alpha).tolist()
    assert found == expected


def test_more_than_a_hundred_features():
    p = np.concatenate([np.full(150, 1e-6), np.full(20, 0.5)])
    assert certify(p, np.full(170, 1e-3), 0.1).sum() == 150


def test_weights_by_arrival_add_up_to_at_most_one():
    assert share_by_arrival(np.arange(1, 2_000_000)).sum() < 1


def test_the_share_of_false_features_is_below_the_level_under_dependence():
    """Noise columns are copies of each other, and the best looking ones are picked."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        noise = np.repeat(rng.random(20), 10)
        p = np.concatenate([noise, rng.random(5) * 1e-7])
        picked = np.argsort(p)[:30]
        found = picked[certify(p[picked], np.full(30, 1 / len(p)), 0.3)]
        shares.append(np.mean(found < 200) if len(found) else 0.0)
    assert np.mean(shares) < 0.3


def data(n=200, columns=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, columns))
    X[:, 5::20] += y[:, None] * 1.5
    X[:, 7] += y * 0.45
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(columns)]), y


@pytest.mark.parametrize("method", [tamis.Sieve(), tamis.Sieve(fdr=0.3), tamis.FCBF(fdr=0.3)])
def test_a_run_certifies_what_it_keeps(method, tmp_path):
    X, y = data()
    run = tamis.select(X, method, y, keep_state=True)
    found = run.certificate(0.1)
    kept = run.log.replay()
    p = method.fit(X, y).measure_.p_values(X.to_numpy(), y)
    expected = np.array(kept)[certify(p[kept], np.full(len(kept), 1 / 80), 0.1)]
    assert found.features == expected.tolist()
    assert {"g5", "g25", "g45", "g65"} <= set(found.names)
    save_run(run, tmp_path / "run")
    assert open_run(tmp_path / "run").certificate(0.1) == found
    assert f"of {len(kept)} kept features are certified" in str(found)
    assert "independent of the target" in str(found)
    assert "rows exchangeable" in str(found)


def test_columns_that_cannot_be_significant_have_no_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    rare = (rng.random((300, 2000)) < 0.01).astype(int)
    signal = np.where(rng.random((300, 20)) < 0.24, y[:, None], rng.integers(0, 2, (300, 20)))
    run = tamis.select(np.hstack([rare, signal]), tamis.SAOLA(fdr=0.2), y)
    found = run.certificate(0.1)
    assert found.columns == 20
    every = Certificate.of(run.log, 0.1, by_arrival=False)
    assert len(found.features) > len(every.features)


def test_a_fed_selection_is_certified_by_arrival(tmp_path):
    X, y = data()
    selection = Selection.create(tmp_path / "run", y, tamis.SAOLA("fisher_z", fdr=0.1))
    for lo in (0, 40):
        selection.feed(X.iloc[:, lo : lo + 40])
    found = Selection.open(tmp_path / "run").certificate(0.1)
    kept = np.array(selection.run.log.replay())
    p = tamis.FisherZ().p_values(X.to_numpy(), y)
    expected = kept[certify(p[kept], share_by_arrival(kept + 1), 0.1)]
    assert found.features == expected.tolist()
    assert found.by_arrival
    assert len(found.features) >= 4
    assert "so that more columns may follow" in str(found)


def test_a_run_without_p_values_says_so():
    X, y = data()
    with pytest.raises(InputError, match="holds no p-values, so nothing can be certified"):
        tamis.select(X, tamis.SAOLA(tamis.FisherZ(statistic="z")), y).certificate(0.1)
    with pytest.raises(InputError, match="cut where the class changes"):
        tamis.select(X, tamis.Sieve(), y, encode="mdlp").certificate(0.1)


def test_cuts_that_look_at_the_target_have_no_false_discovery_rate():
    X, y = data()
    with pytest.raises(ParameterError, match="cuts columns by looking at the target"):
        tamis.select(X, tamis.SAOLA(fdr=0.1), y, encode="mdlp")
    run = tamis.select(X, tamis.SAOLA(fdr=0.1), y, encode="equal-frequency")
    assert "g5" in run.kept_names


def test_certify_on_the_command_line(tmp_path, command_line):
    X, y = data()
    X.assign(sick=y).to_csv(tmp_path / "data.csv", index=False)
    run = tmp_path / "run"
    command_line("select", tmp_path / "data.csv", "--target", "sick", "--out", run)
    told = command_line("status", run, "--certify", "0.1")
    assert "certified" in told
    assert "g25, g45, g65" in told
    facts = json.loads(command_line("status", run, "--certify", "0.1", "--json"))
    assert facts["certificate"]["certified"][-1] == "g65"


@pytest.fixture
def command_line():
    from click.testing import CliRunner

    from tamis.cli.main import cli

    def call(*arguments):
        done = CliRunner().invoke(cli, [str(one) for one in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    return call


def test_p_values_are_those_of_the_test_whatever_the_method():
    # Levels that many columns share stand for no p-value: they certified nothing, however strong.
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 40))
    X[:, :2] += y[:, None] * np.array([2.0, 1.0])
    expected = ttest_ind(X[y == 0], X[y == 1]).pvalue
    for method in ("saola", tamis.SAOLA(order="free"), "fcbf", "osfs", "fast-osfs", "hiton-pc"):
        run = tamis.select(X, method, y=y)
        assert run.log.replay() == [0, 1]
        assert run.certificate(0.1).features == [0, 1]
        assert p_values_of(run.log, [1]) == pytest.approx(expected[1], rel=1e-5)
        assert p_values_of(run.log, [1, 0]).tolist() == p_values_of(run.log, [0, 1]).tolist()[::-1]


def test_a_log_without_p_values_certifies_nothing_and_says_so():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 5)) + y[:, None]
    for method in ("mrmr", "sfs-fi", "alpha-investing"):
        run = tamis.select(X, method, y=y)
        with pytest.raises(InputError, match="holds no p-values, so nothing can be certified"):
            run.certificate(0.1)
        assert unasked_words(run) == {}


def test_covariates_are_named(tmp_path):
    X, y = data()
    X = X.assign(age=np.arange(len(X)) % 7, site=np.arange(len(X)) % 3)
    for names, words in ((["age"], "age is"), (["age", "site"], "age, site are")):
        run = tamis.select(X, "saola", y, given=names, fdr=0.3, keep_state=True)
        sentence = str(run.certificate(0.1))
        assert f"are independent of the target once {words} known, however" in sentence
        save_run(run, tmp_path / names[-1])
        assert str(open_run(tmp_path / names[-1]).certificate(0.1)) == sentence
