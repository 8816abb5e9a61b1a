"""Stopping rules: the same column for every block width, cluster and way of feeding."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import tamis
from tamis._registry import STREAM_METHODS
from tamis.core.decisions import DecisionLog
from tamis.engine.runs import open_run, save_run
from tamis.engine.stopping import Stop
from tamis.evaluate.kept_accuracy import kept_accuracy

RULES = [{"features": 3}, {"idle": 4}, {"accuracy": 0.72}, {"features": 9, "idle": 6}]


def table(seed=0, rows=200, columns=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, columns))
    for j in range(4, columns, 5):
        X[:, j] += y * rng.uniform(0.3, 1.5)
    return X, y


def content(log: DecisionLog):
    """Return everything a log holds."""
    return log.stopped, [log.names[i] for i in range(len(log))], {
        key: array.tobytes() for key, array in log.state().items()
    }  # fmt: skip


def slow_stop(method, X, y, rule: Stop):
    """Return the first column after which a rule holds, with a fresh selection of each prefix."""
    last = -1
    for j in range(X.shape[1]):
        kept = set(tamis.select(X[:, : j + 1], method, y).log.replay())
        entered = j in kept
        if entered:
            last = j
        if rule.features is not None and entered and len(kept) >= rule.features:
            return j
        accurate = entered and rule.accuracy is not None
        if accurate and kept_accuracy(X[:, sorted(kept)], y) >= rule.accuracy:
            return j
        if rule.idle is not None and j - last >= rule.idle:
            return j
    return None


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("method", ["saola", "fast-osfs"])
def test_a_selection_stops_where_a_slow_search_finds_it(method, rule):
    X, y = table()
    log = tamis.select(X, method, y, stop=rule).log
    at = slow_stop(method, X, y, Stop.of(rule))
    assert at is not None
    assert log.stopped.startswith(f"stopped at x{at}, because ")
    assert log.counts()["unexamined"] == X.shape[1] - at - 1
    alone = tamis.select(X[:, : at + 1], method, y).log
    assert log.replay() == alone.replay()
    assert [log.why(j) for j in range(at + 1)] == [alone.why(j) for j in range(at + 1)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("method", STREAM_METHODS)
def test_the_log_does_not_depend_on_the_width_of_blocks(method, rule):
    X, y = table(rows=120, columns=40)
    logs = [content(tamis.select(X, method, y, stop=rule, width=w).log) for w in (1, 3, 16, 40)]
    assert logs[0] == logs[1] == logs[2] == logs[3]


def test_groups_can_be_stopped_too():
    X, y = table()
    groups = np.arange(60) // 6
    logs = [
        content(tamis.select(X, "group-saola", y, groups=groups, stop="features=5", width=w).log)
        for w in (1, 4, 17, 60)
    ]
    assert logs[0] == logs[1] == logs[2] == logs[3]
    assert logs[0][0].endswith("because 5 features were kept")


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.usefixtures("shared_processes")
def test_workers_give_the_same_log(tmp_path, rule):
    X, y = table()
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    here = tamis.select(X, "saola", y, stop=rule)
    there = tamis.select(tmp_path / "x.npy", "saola", stop=rule, cluster="local:2", width=5)
    assert content(here.log) == content(there.log)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_feeding_column_by_column_gives_the_same_log(tmp_path, rule):
    X, y = table(columns=30)
    names = [f"c{j}" for j in range(30)]
    whole = tamis.select(pa.table(dict(zip(names, X.T, strict=True))), "saola", y, stop=rule)
    tamis.Selection.create(tmp_path / "run", y, "saola", stop=rule)
    for lo in range(0, 30, 4):
        part = pa.table({name: X[:, j] for j, name in list(enumerate(names))[lo : lo + 4]})
        fed = tamis.Selection.open(tmp_path / "run").feed(part)
    if whole.log.stopped:
        assert str(fed).endswith(f"; the selection {whole.log.stopped}")
    assert content(tamis.Selection.open(tmp_path / "run").run.log) == content(whole.log)


def test_a_stopped_run_can_be_saved_opened_and_explained(tmp_path):
    X, y = table()
    run = tamis.select(X, "saola", y, stop={"features": 2}, keep_state=True)
    for name, keep in (("plain", False), ("fed", True)):
        if not keep:
            run.state, state = None, run.state
        else:
            run.state = state
        save_run(run, tmp_path / name)
        opened = open_run(tmp_path / name)
        assert content(opened.log) == content(run.log)
        last = "x59 was not examined: the selection had "
        assert opened.why("x59") == f"{last}{run.log.stopped}"
    from tamis.report.folder_page import page_of_folder

    assert "unexamined" in str(page_of_folder(tmp_path / "plain"))


def test_an_encoded_selection_stops_at_the_same_column_however_it_is_cut():
    X, y = table()
    X[::17, 3] = np.nan
    logs = []
    for width in (1, 9, 60):
        run = tamis.select(
            X, "saola", y, encode="mdlp", missing="category", stop="features=3", width=width
        )
        logs.append((content(run.log), run.source["missing"], run.source["encoded"]))
    assert logs[0] == logs[1] == logs[2]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_estimators_stop_at_the_same_column_fitted_or_fed(rule):
    X, y = table()
    whole = tamis.select(X, "saola", y, stop=rule).log
    fitted = tamis.SAOLA(stop=rule).fit(X, y)
    assert content(fitted.log_) == content(whole)
    assert clone(fitted).get_params()["stop"] == rule
    live = tamis.SAOLA(stop=rule).start(y)
    begun = tamis.SAOLA(stop=rule).fit(X[:, :6], y)
    for lo in range(0, 60, 7):
        live.feed(X[:, lo : lo + 7])
        live = pickle.loads(pickle.dumps(live))
    begun.feed(X[:, 6:])
    assert content(live.log_) == content(begun.log_) == content(whole)


def test_methods_that_need_every_column_have_no_stop():
    with pytest.raises(TypeError, match="stop"):
        tamis.FCBF(stop={"features": 3})


@pytest.mark.parametrize(
    ("method", "y", "stop", "sentence"),
    [
        ("fcbf", 2, "features=3", "fcbf decides when it has seen every column, so it cannot stop"),
        ("saola", None, "accuracy=0.9", "stop: accuracy is for a target of classes"),
        ("saola", 2, "feature=3", "no stopping rule 'feature'; did you mean 'features'?"),
        ("saola", 2, "features=0", "stop: features=0 is not a whole number at least 1"),
        ("saola", 2, "features", "'features' is not of the form name=value"),
        ("saola", 2, {"accuracy": 2}, "stop: accuracy=2 is not a number above 0 and at most 1"),
    ],
)
def test_wrong_rules_are_refused(method, y, stop, sentence):
    rng = np.random.default_rng(0)
    target = rng.normal(size=40) if y is None else np.arange(40) % 2
    with pytest.raises(tamis.TamisError, match=sentence.replace("?", r"\?")):
        tamis.select(rng.normal(size=(40, 3)), method, target, stop=stop)
