"""Sieve with covariates and sample weights: the default of `tamis select` adjusts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.methods.slow_sieve import SlowSieve

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.blocks import ColumnBlock
from tamis.core.covariates import Covariates
from tamis.core.target import Target
from tamis.engine.runs import save_run
from tamis.measures.adjusted_shape import AdjustedShape

ASIDE = ["age", "sex"]


def cohort(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that age explains, with gaps and words, causes, copies, noise; and a class."""
    rng = np.random.default_rng(4)
    age, sex = rng.normal(50, 10, n), rng.choice(["f", "m"], n)
    cause, bend, word = rng.normal(size=n), rng.normal(size=n), rng.choice(list("abcd"), n)
    risk = (age - 50) / 7 + (sex == "m") + cause + 2.5 * (np.abs(bend) > 1) + (word == "a")
    y = (risk + rng.normal(size=n) > 1.5).astype(int)
    frame = pd.DataFrame({"grey": age + 4 * rng.normal(size=n), "cause": cause, "age": age})
    frame["sex"], frame["bend"], frame["word"] = sex, bend, word
    frame["gaps"] = np.where(rng.random(n) < 0.1, np.nan, cause + 0.5 * rng.normal(size=n))
    frame["old"] = np.where(age > 55, "old", np.where(age < 45, "young", "between"))
    for j in range(12):
        frame[f"noise{j}"] = rng.normal(size=n) + (0.1 * age if j % 2 else 0)
    frame["copy"] = 2 * frame["cause"] + 0.01 * rng.normal(size=n)
    return frame, y


def test_what_only_follows_a_covariate_is_dropped_and_the_log_says_why():
    frame, y = cohort()
    plain = tamis.select(frame.drop(columns=ASIDE), "sieve", y)
    assert {"grey", "old"} <= set(plain.kept_names)
    run = tamis.select(frame, "sieve", y, given=ASIDE)
    assert {"bend", "word", "gaps"} <= set(run.kept_names)
    assert len({"cause", "copy"} & set(run.kept_names)) == 1
    assert not {"grey", "old", *ASIDE} & set(run.kept_names)
    sentence = run.why("grey")
    assert sentence.startswith("grey was dropped as irrelevant: R(grey, class | age, sex)=")
    assert sentence.endswith("given age and sex is not below 0.01")
    assert "the 1% level of its tests given age and sex" in run.why("bend")
    assert "they are copies" in run.why("copy")
    assert run.measure == "AdjustedShape(alpha=0.01)"
    assert run.source["given"] == ASIDE


@pytest.mark.parametrize("target", ["two classes", "three classes", "a number"])
def test_blocks_layouts_and_threads_change_nothing(target):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 40)) * (rng.random((120, 40)) < rng.choice([0.2, 1.0], 40))
    z = rng.normal(size=120)
    X[:, ::3] += z[:, None]
    signal = z + X[:, 0] + np.abs(X[:, 1]) + X[:, 2] + rng.normal(size=120)
    y = {"two classes": signal > 1, "three classes": np.digitize(signal, [0, 2])}.get(
        target, signal
    )
    adjust = {"given": z, "sample_weight": rng.integers(0, 3, 120)}
    for rule in (
        tamis.Sieve(n_features=3, alpha=0.2), tamis.Sieve(n_features=None, redundancy=0.5),
        tamis.Sieve(fdr=0.3, n_features=4), tamis.Sieve(order="free", alpha=0.3, n_features=2),
        tamis.Sieve(shadows=2, alpha=0.3),
    ):  # fmt: skip
        run = tamis.select(X, rule, y, **adjust)
        assert run.kept_names
        for how in ({"width": 1}, {"width": 7, "n_jobs": 1}):
            assert_same_log(tamis.select(X, rule, y, **adjust, **how).log, run.log, str(how))
        sparse = tamis.select(sp.csc_matrix(X), rule, y, **adjust, width=3)
        assert_same_log(sparse.log, run.log, "sparse")


def test_the_pool_decides_as_the_slow_reference():
    """R, D and c come from the measure, which has a reference of its own."""
    rng = np.random.default_rng(6)
    z = rng.normal(size=100)
    X = rng.normal(size=(100, 30)) + 0.8 * z[:, None]
    X[:, 10:20] = 0.8 * X[:, :10] + 0.5 * rng.normal(size=(100, 10))
    y = (z + X[:, :4].sum(axis=1) + rng.normal(size=100) > 0).astype(int)
    age = Covariates(z[:, None], ("age",), np.zeros(1, bool))
    target, measure = Target.of(y).adjusted(None, age), AdjustedShape(alpha=0.9)
    strength, block = measure.relevance(X, target), ColumnBlock.of(X)
    panel = measure.panel(target)
    _, c, _ = panel.among(panel.prepare(block, np.arange(30)), np.arange(30), np.arange(30))
    D = panel.among(panel.prepare(block, np.arange(30)), np.arange(30), np.arange(30))[0]
    slow = SlowSieve(strength.value, D, c, 5, 200, None)
    for j in np.flatnonzero(strength.dependent):
        slow.arrive(int(j))
    fitted = tamis.Sieve(n_features=5, alpha=0.9).fit(X, y, given=z)
    assert fitted.kept_.tolist() == slow.kept(5)
    assert fitted.ranking_.tolist() == slow.ranking()


def test_the_order_of_the_columns_changes_nothing_with_free_order():
    frame, y = cohort()
    rule = tamis.Sieve(order="free", n_features=3)
    expected = tamis.select(frame, rule, y, given=ASIDE).kept_names
    turned = frame[frame.columns[::-1]]
    assert set(tamis.select(turned, rule, y, given=ASIDE).kept_names) == set(expected)


@pytest.mark.parametrize("options", [{}, {"order": "free"}, {"shadows": 2}, {"fdr": 0.2}])
def test_feeding_later_columns_is_as_if_they_had_come_at_once(tmp_path, options):
    frame, y = cohort()
    rule = tamis.Sieve(n_features=4, **options)
    expected = tamis.select(frame, rule, y, given=ASIDE)
    names = [name for name in frame if name not in ASIDE]
    some = tamis.select(frame[[*names[:7], *ASIDE]], rule, y, given=ASIDE, keep_state=True)
    save_run(some, tmp_path / "run")
    Selection.open(tmp_path / "run").feed(frame[names[7:]])
    fed = Selection.open(tmp_path / "run").run
    assert sorted(fed.kept_names) == sorted(expected.kept_names)
    if not options.get("order"):
        assert_same_log(fed.log, expected.log, "fed")
    if "shadows" in options:
        assert fed.trust["false_keeps"] == expected.trust["false_keeps"]


def test_rows_without_weight_are_as_if_they_were_not_there():
    frame, y = cohort()
    weights = np.random.default_rng(0).integers(0, 3, len(y)) / 2
    rest, there = frame.drop(columns=ASIDE), weights > 0
    whole = tamis.Sieve().fit(rest, y, given=frame[ASIDE], sample_weight=weights)
    part = tamis.Sieve().fit(
        rest[there], y[there], given=frame.loc[there, ASIDE], sample_weight=weights[there]
    )
    assert whole.kept_.tolist() == part.kept_.tolist()
    assert np.array_equal(whole.scores_, part.scores_)
