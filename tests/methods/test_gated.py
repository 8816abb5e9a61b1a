"""Methods with a false discovery rate: what passes, what the log says, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis.core.errors import DataWarning, ParameterError
from tamis.measures.pair_measure import PairMeasure
from tamis.methods.gates import GATES

STREAMS = ["sieve", "saola", "group-saola", "osfs", "fast-osfs"]
BATCH = ["fcbf", "mrmr", "cfs", "hiton-pc"]
ESTIMATORS = {
    "sieve": tamis.Sieve, "saola": tamis.SAOLA, "group-saola": tamis.GroupSAOLA,
    "osfs": tamis.OSFS, "fast-osfs": tamis.FastOSFS, "fcbf": tamis.FCBF, "mrmr": tamis.MRMR,
    "cfs": tamis.CFS, "hiton-pc": tamis.HITONPC,
}  # fmt: skip


def numbers(n=200, columns=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, columns))
    X[:, 10::30] += y[:, None]
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(columns)]), y


def flags(n=300, columns=200, seed=0):
    """Mostly rare flags, which no test can find significant, and a few signals."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = (rng.random((n, columns)) < rng.choice([0.01, 0.02, 0.3], columns)).astype(int)
    for j in range(5, columns, 40):
        X[:, j] = np.where(rng.random(n) < 0.7, y, X[:, j])
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(columns)]), y


@pytest.mark.parametrize("method", STREAMS + BATCH)
def test_the_columns_that_pass_are_those_that_the_gate_finds(method):
    X, y = numbers()
    selector = ESTIMATORS[method](fdr=0.1).fit(X, y)
    measure = selector.measure_
    gate = GATES["lord++" if method in STREAMS else "bh"](0.1)
    p = measure.p_values(X.to_numpy(), y)
    expected = np.flatnonzero(gate.test(p).found)
    reasons = [selector.log_.reason_of(j) for j in range(X.shape[1])]
    assert np.flatnonzero(np.array(reasons) != "irrelevant").tolist() == expected.tolist()
    assert set(range(10, 150, 30)) <= set(expected.tolist())
    assert set(selector.kept_) <= set(expected)
    assert selector.gate_.finds == len(expected)
    assert selector.gate_.wealth == gate.wealth
    for j in expected:
        assert selector.log_.p_of(j) == pytest.approx(p[j], rel=3e-6)
        assert selector.log_.p_of(j) >= p[j]


def test_columns_that_cannot_be_significant_are_not_tests():
    X, y = flags()
    selector = tamis.SAOLA(fdr=0.1).fit(X, y)
    reasons = [selector.log_.reason_of(j) for j in range(X.shape[1])]
    assert reasons.count("unreachable") > 50
    assert selector.gate_.tests == len(reasons) - reasons.count("unreachable") - reasons.count(
        "constant"
    )
    rare = reasons.index("unreachable")
    sentence = selector.why(rare)
    assert sentence.startswith(f"f{rare} was dropped as irrelevant: it cannot be significant")
    assert "p is at least" in sentence
    # Had they been tests, a later signal would have met a lower level.
    everything = GATES["lord++"](0.1)
    met = everything.test(selector.measure_.p_values(X.to_numpy(), y), watch=np.zeros(X.shape[1]))
    last = int(np.flatnonzero([r in ("kept", "redundant", "tied") for r in reasons])[-1])
    assert selector.log_.decision(selector.log_.n_events - 1).feature == last
    assert selector.log_.columns()["level"][last] > 1.5 * met.level[last]


@pytest.mark.parametrize("method", STREAMS + BATCH)
def test_why_states_the_p_value_the_test_and_the_level(method):
    X, y = numbers()
    selector = ESTIMATORS[method](fdr=0.1).fit(X, y)
    title = "LORD++" if method in STREAMS else "Benjamini-Hochberg"
    kept = selector.why(int(selector.kept_[0]))
    assert f"{title} at a false discovery rate of 0.1" in kept
    assert "p=" in kept
    assert any(test in kept for test in selector.measure_.tests)
    dropped = selector.why("g3")
    assert "is above its level of at most" in dropped


def test_a_fed_table_is_one_batch():
    X, y = numbers()
    live = tamis.SAOLA("fisher_z", fdr=0.1, gate="batch-bh").start(y)
    gate, found = GATES["batch-bh"](0.1), []
    p = tamis.FisherZ().p_values(X.to_numpy(), y)
    for lo, hi in ((0, 50), (50, 51), (51, 150)):
        live = live.feed(X.iloc[:, lo:hi])
        found += (lo + np.flatnonzero(gate.test(p[lo:hi]).found)).tolist()
        assert live.gate_.memory["tables"].tolist() == gate.memory["tables"].tolist()
    passed = [j for j in range(150) if live.log_.reason_of(j) != "irrelevant"]
    assert passed == found
    assert len(found) >= 3
    assert "BatchBH" in live.why(found[0])


def test_blocks_of_a_table_do_not_change_batch_bh():
    X, y = numbers()
    runs = [
        tamis.select(X, "saola", y, fdr=0.1, gate="batch-bh", width=width) for width in (150, 7, 1)
    ]
    for run in runs[1:]:
        for key, array in run.log.state().items():
            np.testing.assert_array_equal(array, runs[0].log.state()[key])


def test_features_that_must_stay_are_not_tests():
    X, y = numbers()
    selector = tamis.SAOLA(fdr=0.1, keep=["g3"]).fit(X, y)
    assert "g3" in selector.get_feature_names_out()
    assert selector.gate_.tests == X.shape[1] - 1
    assert selector.why("g3") == "g3 is kept: you asked for it"


class WithoutP(PairMeasure):
    """A measure without p-values."""

    name, kind, symbol = "without_p", "continuous", "W({a}; {b})"

    def pair(self, x, y):
        return abs(np.corrcoef(x, y)[0, 1])

    def cutoff(self, n_rows):
        return 0.1

    def gate(self):
        return "0.1"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: tamis.SAOLA(fdr=0.1, alpha=0.01), "fdr sets the level of every test, and alpha"),
        (lambda: tamis.FCBF(fdr=0.1, threshold=0.1), "and threshold sets one level"),
        (lambda: tamis.SAOLA(gate="lond"), "needs a false discovery rate, such as fdr=0.1"),
        (lambda: tamis.Sieve(fdr=0.1, gate="bh"), "decides when it has seen every column"),
        (lambda: tamis.SFSFI(fdr=0.1), "does not decide by one test for each column"),
        (lambda: tamis.OSFS(fdr=0.1, blanket="full"), "columns that pass no test"),
        (lambda: tamis.SAOLA(fdr=1.5), "above 0 and below 1"),
        (lambda: tamis.SAOLA(fdr=0.1, gate="lord"), "did you mean 'lord\\+\\+'"),
        (lambda: tamis.SAOLA(fdr=0.1, order="free"), "depend on the order of the columns"),
        (lambda: tamis.SAOLA(WithoutP(), fdr=0.1), "fdr needs p-values"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(build, says):
    X, y = numbers(60, 10)
    with pytest.raises(ParameterError, match=says):
        build().fit(X, y)


def test_a_method_without_tests_is_refused():
    X, y = numbers(60, 10)
    with pytest.raises(ParameterError, match="relieff does not decide by one test"):
        tamis.select(X, "relieff", y, fdr=0.1)
    with pytest.raises(ParameterError, match="needs a false discovery rate"):
        tamis.select(X, "saola", y, gate="lond")
    with pytest.raises(ParameterError, match="cannot stop before"):
        tamis.select(X, "saola", y, fdr=0.1, gate="batch-bh", stop="features=2")


@pytest.mark.parametrize("name", ["saffron", "addis"])
def test_gates_that_broke_on_correlated_columns_warn(name):
    X, y = numbers(60, 10)
    with pytest.warns(DataWarning, match="needs independent columns"):
        tamis.SAOLA(fdr=0.1, gate=name).fit(X, y)


def test_a_stopping_rule_stops_at_the_same_column_for_every_block_width():
    X, y = numbers()
    runs = [tamis.select(X, "saola", y, fdr=0.1, stop="features=3", width=w) for w in (150, 11, 1)]
    assert len({run.log.stopped for run in runs}) == 1
    assert runs[0].log.stopped
    assert [run.trust["gate"]["tests"] for run in runs] == [runs[0].trust["gate"]["tests"]] * 3


@pytest.mark.parametrize("gate", ["lord++", "batch-bh"])
@pytest.mark.parametrize("method", ["saola", "sieve", "fast-osfs"])
def test_shadow_worlds_meet_the_levels_of_their_columns(method, gate):
    """Decoys change nothing, and pass exactly where their p-value is within the level."""
    X, y = numbers(seed=2)
    plain = ESTIMATORS[method](fdr=0.5, gate=gate).fit(X, y)
    logs = []
    for width in (150, 13):
        run = tamis.select(X, ESTIMATORS[method](fdr=0.5, gate=gate, shadows=3), y, width=width)
        assert run.kept_names == plain.get_feature_names_out().tolist()
        assert run.trust["gate"]["tests"] == plain.gate_.tests
        logs.append(run.trust["false_keeps"])
    assert logs[0] == logs[1]


def test_a_world_with_the_true_order_of_rows_passes_as_the_columns_do(monkeypatch):
    from tamis.methods.shadow_worlds import RowOrder

    X, y = numbers(seed=2)
    monkeypatch.setattr(
        RowOrder, "of", classmethod(lambda cls, target, *_: cls(np.arange(target.n_rows)))
    )
    passed = []
    monkeypatch.setattr(
        "tamis.methods.shadow_worlds.PairWorld.meet", lambda self, decoy, *_: passed.append(decoy)
    )
    selector = tamis.SAOLA(fdr=0.3, shadows=1).fit(X, y)
    found = [j for j in range(150) if selector.log_.reason_of(j) != "irrelevant"]
    assert [decoy.feature for decoy in passed] == found


def test_missing_values_that_are_left_out_have_p_values():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 30)), np.arange(80) % 2
    X[:, :3] += 2 * y[:, np.newaxis]
    X[rng.random(X.shape) < 0.2] = np.nan
    found = tamis.SAOLA("fisher_z", fdr=0.2, missing="delete").fit(X, y)
    assert found.gate_.tests == 30
    assert found.gate_.finds == found.work_["relevant"] > 0
    assert "is within" in found.why(f"x{found.kept_[0]}")
