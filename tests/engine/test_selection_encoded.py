"""Living selections whose columns are encoded: fed columns go through the same rule, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from living import head_of, rewrite

import tamis
from tamis import SAOLA, MutualInformation, Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.encode import BY_NAME, MDLP, EqualFrequency, Missing
from tamis.engine import loop
from tamis.engine.persistent import feeding
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.runs import open_run, save_run
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

ROWS = 160


def labels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 3, ROWS)


def mixed(columns: int = 30, seed: int = 1, gaps: float = 0.05) -> pd.DataFrame:
    """Numbers, text and counts; every third follows the class, every fifth has missing values."""
    rng, y = np.random.default_rng(seed), labels()
    made: dict[str, object] = {}
    for j in range(columns):
        column = rng.normal(size=ROWS) + (j % 3 == 0) * y * rng.random()
        if j % 7 == 3:
            made[f"w{j}"] = np.where(column > 0.5, "high", np.where(column < -0.5, "low", "mid"))
            continue
        if j % 7 == 5:
            column = np.round(column)
        if j % 5 == 0:
            column[rng.random(ROWS) < gaps] = np.nan
        made[f"n{j}"] = column
    return pd.DataFrame(made)


HOW = {
    "mdlp, category": {"encode": "mdlp", "missing": "category"},
    "mdlp, delete": {"encode": MDLP(which="all"), "missing": "delete"},
    "bins, a number is missing": {
        "encode": EqualFrequency(np.int64(3)), "missing": Missing("category", 0),
    },
    "kmeans": {"encode": "kmeans", "missing": "category"},
}  # fmt: skip


def same(found: tamis.Run, expected: tamis.Run, where: str) -> None:
    assert_same_log(found.log, expected.log, where)
    for key in ("encode", "missing", "encoded"):
        assert found.source[key] == expected.source[key], f"{where}: {key}"
    assert (found.measure, found.measure_reason) == (expected.measure, expected.measure_reason)
    assert [found.why(f) for f in range(len(found.log))] == [
        expected.why(f) for f in range(len(found.log))
    ]


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
@pytest.mark.parametrize("method", ["saola", "osfs"])
def test_select_and_feed_equal_one_select(tmp_path, how, method):
    if method == "osfs" and how["missing"] == "delete":  # its test cannot delete missing values
        method = "saola"
    data, y = mixed(), labels()
    expected = tamis.select(data, method, y, **how)
    save_run(tamis.select(data.iloc[:, :11], method, y, keep_state=True, **how), tmp_path / "run")
    Selection.open(tmp_path / "run").feed(data.iloc[:, 11:19], width=3)
    Selection.open(tmp_path / "run").feed(data.iloc[:, 19:], width=2)
    made = Selection.create(tmp_path / "made", y, method, **how)
    assert made.status()["missing"] == (
        how["missing"] if isinstance(how["missing"], str) else how["missing"].policy
    )
    made.feed(data.iloc[:, :25])
    made.feed(data.iloc[:, 25:])
    same(open_run(tmp_path / "run"), expected, "selected and fed")
    same(Selection.open(tmp_path / "made").run, expected, "created and fed")
    assert Selection.open(tmp_path / "run").why(0) == expected.why(0)


def test_a_column_is_identified_by_its_values_before_encoding(tmp_path):
    data, y = mixed(), labels()
    selection = Selection.create(tmp_path / "run", y, "saola", encode="mdlp", missing="category")
    selection.feed(data)
    before = selection.run
    assert selection.feed(data).skipped == 30
    same(selection.run, before, "fed twice")
    moved = data[["n0"]] * 2  # other cuts, the same categories
    with pytest.raises(InputError, match="'n0' was fed before with other values"):
        selection.feed(moved)
    assert selection.feed(moved, replace=True).replaced == ["n0"]
    copy = pd.DataFrame({"answer": y.astype(float)})
    with pytest.raises(InputError, match="'answer' equals the target"):
        selection.feed(copy)


def test_settings_are_plain_json_and_nothing_else_is_made(tmp_path):
    how = {"encode": EqualFrequency(4), "missing": Missing("delete", -9)}
    Selection.create(tmp_path / "run", labels(), "saola", **how).feed(mixed(gaps=0.0))
    head = head_of(tmp_path / "run")
    assert head["encoding"] == {
        "encode": {"method": "equal-frequency", "bins": 4, "which": "numbers"},
        "missing": {"policy": "delete", "values": -9},
        "levels": 20,
    }
    spoil = {"encoding": head["encoding"] | {"levels": 16}}
    rewrite(tmp_path / "run", "head", lambda head: head | spoil)
    with pytest.raises(ParameterError) as caught:
        Selection.open(tmp_path / "run")
    assert str(caught.value) == (
        "columns of up to 16 levels were left unchanged, and this tamis leaves those of up to "
        "20; use the tamis that wrote it"
    )
    for spoilt in ({"method": "os.system"}, {"method": "mdlp", "bins": 3}, {"which": "all"}):
        spoil = {"encoding": head["encoding"] | {"encode": spoilt}}
        rewrite(tmp_path / "run", "head", lambda head, spoil=spoil: head | spoil)
        with pytest.raises((SourceError, ParameterError)) as caught:
            Selection.open(tmp_path / "run")
        assert "\n" not in str(caught.value)
    plain = Selection.create(tmp_path / "plain", labels(), "saola")
    assert head_of(plain.folder)["encoding"] is None


class Mine(BY_NAME["mdlp"]):
    """An encoder that tamis does not know."""


def test_a_custom_encoder_is_refused_in_one_sentence(tmp_path):
    data, y = mixed(gaps=0.0), labels()
    with pytest.raises(ParameterError) as caught:
        Selection.create(tmp_path / "run", y, "saola", encode=Mine())
    assert str(caught.value) == (
        "Mine is not an encoder of tamis, so a file cannot name it and later columns could not be "
        "encoded by it; use one such as 'mdlp', or select from all columns at once"
    )
    save_run(tamis.select(data, "saola", y, encode=Mine(), keep_state=True), tmp_path / "run")
    with pytest.raises(SourceError, match=r"holds no state to resume .*an encoder that no file"):
        Selection.open(tmp_path / "run")


def test_withdrawing_leaves_what_the_selector_saw(tmp_path):
    data, y = mixed(), labels()
    selection = Selection.create(tmp_path / "run", y, "saola", encode="mdlp", missing="category")
    selection.feed(data)
    first = selection.kept_names[0]
    back = selection.drop(first)
    assert str(selection.run.log.number(first)) not in selection.run.source["encoded"]
    again = Selection.open(tmp_path / "run")
    if back:
        again.feed(data[back])
    more = mixed(seed=9).add_suffix("_b")
    again.feed(more)
    # The same by hand, on columns encoded beforehand.
    hand = SAOLA(MutualInformation(alpha=0.01))
    by_hand = Selection.create(tmp_path / "hand", y, hand)
    encoded = encoded_by_hand(data, y)
    by_hand.feed(encoded)
    by_hand.drop(first)
    if back:
        by_hand.feed(encoded[back])
    by_hand.feed(encoded_by_hand(more, y))
    assert again.kept_names == by_hand.kept_names


def encoded_by_hand(data: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    blocks = MemorySource(data).columns()
    encoder = MDLP(missing="category").to_encoder()
    target = tamis.core.target.Target.of(y)
    parts = [np.asarray(encoder.encode(block, target).values) for block in blocks]
    return pd.DataFrame(np.column_stack(parts), columns=data.columns)


def test_a_bad_column_leaves_nothing_behind(tmp_path):
    selection = Selection.create(tmp_path / "run", labels(), "saola", encode="mdlp")
    selection.feed(mixed(gaps=0.0))
    before = len(selection.run.log)
    bad = mixed(seed=2, gaps=0.2).add_suffix("_b")
    with pytest.raises(InputError, match=r"NaN \(a missing value\) in column 'n0_b'"):
        selection.feed(bad, width=3)
    bad = bad.fillna(0.0)
    bad.iloc[3, -1] = np.inf
    with pytest.raises(InputError, match="contains infinity in column"):
        selection.feed(bad, width=3)
    assert len(Selection.open(tmp_path / "run").run.log) == before


class DiedError(Exception):
    """Simulates the end of the process."""


def test_a_checkpointed_run_dies_and_resumes(tmp_path):
    data, y = mixed(60), labels()
    data["answer"] = y
    data.to_parquet(tmp_path / "data.parquet")
    source = open_source(tmp_path / "data.parquet", target="answer")
    how = {"encode": "mdlp", "missing": "category"}
    expected = tamis.select(source, "saola", **how)
    reading = {"target": "answer"}
    begin(tmp_path / "run", source, SAOLA(), reading, name="data.parquet", **how)
    deaths = 0
    while True:
        left = 3 + deaths

        def report(what: str, done: int, total: int | None) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise DiedError

        try:
            run = resume(tmp_path / "run", every=1e-9, width=7, progress=report, n_jobs=1)
            break
        except DiedError:
            deaths += 1
    assert deaths > 1
    same(run, expected, f"after {deaths} deaths")
    same(open_run(tmp_path / "run"), expected, "as it was written")
    more = mixed(12, seed=5).add_suffix("_b")
    Selection.open(tmp_path / "run").feed(more)
    whole = tamis.select(pd.concat([data.drop(columns="answer"), more], axis=1), "saola", y, **how)
    same(open_run(tmp_path / "run"), whole, "and fed")


def test_on_a_cluster_it_is_the_same(tmp_path, client):
    data, y = mixed(40), labels()
    numbers = data[[name for name in data if name.startswith("n")]]
    store = write_store(tmp_path / "data.cols", MemorySource(numbers, y))
    how = {"encode": "mdlp", "missing": "category"}
    begin(tmp_path / "run", store, SAOLA(), name="data", **how)
    run = resume(tmp_path / "run", cluster=client, width=9)
    same(run, tamis.select(store, "saola", **how), "elsewhere")


def test_a_feed_that_stops_between_commits_resumes(tmp_path, monkeypatch):
    data, y = mixed(40), labels()
    expected = tamis.select(data, "saola", y, encode="mdlp", missing="category")
    Selection.create(tmp_path / "run", y, "saola", encode="mdlp", missing="category")
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    monkeypatch.setattr(loop, "REPORT_EVERY", 0.0)
    for blocks in (2, 5, 9):
        calls = iter(range(10**6))

        def report(what: str, done: int, total: int | None, calls=calls, blocks=blocks) -> None:
            if what == loop.SETTLED and next(calls) == blocks:
                raise DiedError

        with pytest.raises(DiedError):
            Selection.open(tmp_path / "run").feed(data, width=2, progress=report)
        found = Selection.open(tmp_path / "run").run
        n = len(found.log)
        same(found, tamis.select(data.iloc[:, :n], "saola", y, encode="mdlp", missing="category"),
             f"{n} columns")  # fmt: skip
    Selection.open(tmp_path / "run").feed(data, width=7)
    same(open_run(tmp_path / "run"), expected, "in the end")


def test_auto_over_a_numeric_target_looks_at_encoded_columns(tmp_path):
    y = np.random.default_rng(3).normal(size=ROWS)
    data = pd.DataFrame({"a": y + 0.1, "b": np.random.default_rng(4).normal(size=ROWS)})
    selection = Selection.create(tmp_path / "run", y, "saola", encode="equal-width")
    selection.feed(data)
    expected = tamis.select(data, "saola", y, encode="equal-width")
    same(Selection.open(Path(tmp_path / "run")).run, expected, "numbers")


@pytest.mark.parametrize("measure", ["auto", tamis.FisherZ(alpha=0.05)])
@pytest.mark.usefixtures("shared_processes")
def test_numbers_with_gaps_can_be_fed_and_resumed(tmp_path, measure):
    data, y = mixed(gaps=0.2), labels()
    data = data[[name for name in data if name.startswith("n")]]
    method = SAOLA(measure)
    expected = tamis.select(data, method, y, missing="delete")
    assert "CompletePairs" in expected.measure
    made = Selection.create(tmp_path / "made", y, method, missing="delete")
    made.feed(data.iloc[:, :9], width=2)
    Selection.open(tmp_path / "made").feed(data.iloc[:, 9:])
    same(Selection.open(tmp_path / "made").run, expected, "created and fed")
    store = write_store(tmp_path / "data.cols", MemorySource(data, y))
    begin(tmp_path / "run", store, method, missing="delete")
    run = resume(tmp_path / "run", cluster="local:2", width=3)
    assert_same_log(run.log, expected.log, "on a cluster")
    gone = Selection.open(tmp_path / "made")
    gone.drop(expected.kept_names[0])
    again = Selection.open(tmp_path / "made")
    assert again.kept_names == expected.kept_names[1:]
    assert again.run.measure == expected.measure
