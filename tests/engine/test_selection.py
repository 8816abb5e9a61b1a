"""Living selections: feeding over time gives the same decisions as feeding at once."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from living import (
    COLUMNS,
    ROWS,
    expected_log,
    fresh,
    rewrite,
    selector,
    table,
    target,
)

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import (
    DataWarning,
    InputError,
    OutputError,
    ParameterError,
    SourceError,
)
from tamis.core.target import Target
from tamis.engine.persistent import feeding, selection_state, state_file
from tamis.engine.seen_columns import equal_to_target
from tamis.engine.selecting import select
from tamis.estimators import estimator_of
from tamis.kernels.threads import threads
from tamis.methods.streaming.saola import SAOLARule


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("width", [1, 7, None])
def test_a_selection_fed_in_parts_equals_one_fit(tmp_path, monkeypatch, width, n_threads):
    monkeypatch.setattr(feeding, "COMMIT_EVERY", 0.0)
    data = table()
    selection = fresh(tmp_path)
    with threads(n_threads, least_work=1):
        for lo, hi in ((0, 20), (20, 21), (21, COLUMNS)):
            selection.feed(data.iloc[:, lo:hi], width=width)
    for found in (selection.run, Selection.open(tmp_path / "run").run):
        assert_same_log(found.log, expected_log(data), "fed")
    run = tamis.open_run(tmp_path / "run")
    assert_same_log(run.log, expected_log(data), "opened as a run")
    assert run.kept_names == selection.kept_names
    assert list(pd.read_csv(tmp_path / "run" / "selected.csv")["name"]) == selection.kept_names


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d,
        pl.DataFrame,
        lambda d: d.to_numpy(),
        lambda d: sp.csc_matrix(d.to_numpy()),
        lambda d: sp.csr_matrix(d.to_numpy()),
    ],
)
def test_every_kind_of_data_can_be_fed(tmp_path, make):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(make(data.iloc[:, :30]), names=list(data.columns[:30]))
    fed = selection.feed(make(data.iloc[:, 30:]), names=list(data.columns[30:]))
    assert (fed.taken, fed.skipped) == (30, 0)
    assert_same_log(selection.run.log, expected_log(data), "fed")


def test_a_column_is_known_in_every_layout(tmp_path):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(data)
    assert selection.feed(sp.csr_matrix(data.to_numpy()), names=list(data.columns)).skipped == 60
    assert selection.feed(data["c3"]).skipped == 1
    assert selection.feed(data["c3"].to_numpy(), names=["c3"]).skipped == 1


def test_a_run_of_select_can_be_fed(tmp_path):
    data, y = table(), target()
    run = select(data.iloc[:, :40], selector(), y, keep_state=True)
    tamis.save_run(run, tmp_path / "run")
    assert_same_log(tamis.open_run(tmp_path / "run").log, run.log, "saved")
    selection = Selection.open(tmp_path / "run")
    assert selection.feed(data).skipped == 40
    assert_same_log(selection.run.log, expected_log(data), "selected, then fed")


def test_columns_without_names_continue_the_numbering_and_are_recognised_as_a_whole(tmp_path):
    data = table().to_numpy()
    selection = fresh(tmp_path, name_prefix="", name_base=1)
    selection.feed(data[:, :30])
    assert str(selection.feed(data[:, :30])) == "the data was fed before; nothing was taken"
    selection.feed(data[:, 30:])
    assert selection.run.log.names[59] == "60"
    assert_same_log(selection.run.log, expected_log(table()), "numbered")
    with pytest.raises(InputError, match="the column '7' has the name by which a column that"):
        selection.feed(pd.DataFrame({"7": data[:, 0]}))


def test_other_values_under_a_known_name_are_refused_or_replace(tmp_path):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(data)
    kept = selection.kept_names
    changed = data.assign(**{kept[0]: target() * 1.0, "c1": data["c0"]})
    with pytest.raises(InputError) as refused:
        selection.feed(changed)
    assert str(refused.value) == (
        "the data: the column 'c1' was fed before with other values; rename it, or use --replace "
        "(replace=True) to put it in place of the old one"
    )
    assert (selection.kept_names, len(selection.run.log)) == (kept, COLUMNS)
    fed = selection.feed(changed, replace=True, allow_target=True)
    assert (fed.taken, fed.skipped, sorted(fed.replaced)) == (2, 58, sorted([kept[0], "c1"]))
    assert selection.kept_names == [kept[0]]  # it is the class itself now
    old = data.columns.get_loc(kept[0])
    assert selection.why(old) == (
        f"{kept[0]} was kept until it was replaced: other values came under the same name"
    )
    assert "is kept" in selection.why(kept[0])
    selection.feed(changed)  # what the old one had displaced may come again
    assert selection.feed(changed).skipped == 60
    assert Selection.open(tmp_path / "run").kept_names == [kept[0]]


@pytest.mark.filterwarnings("ignore:OSFS. there are too few rows", "ignore:FastOSFS. there are")
@pytest.mark.parametrize(
    "chosen",
    ["saola", "osfs", "fast-osfs", "alpha-investing", "grafting", "ofs-a3m", "ofs-density",
     "sfs-fi", "group-saola"],
)  # fmt: skip
def test_feeding_continues_after_a_feature_was_dropped(tmp_path, chosen):
    data = table()
    selection = Selection.create(tmp_path / "run", target(), chosen)
    selection.feed(data.iloc[:, :40])
    gone = selection.kept_names[0]
    selection.drop(gone)
    assert gone not in selection.kept_names
    again = Selection.open(tmp_path / "run")
    assert again.kept_names == selection.kept_names
    again.feed(data.iloc[:, 40:])
    assert_same_log(Selection.open(tmp_path / "run").run.log, again.run.log, "opened after a drop")
    with pytest.raises(InputError, match=f"{gone} was withdrawn before"):
        again.drop(gone)


def test_features_displaced_by_a_dropped_one_are_reported_and_can_be_fed_again(tmp_path):
    y = target()
    weak = np.where(np.random.default_rng(3).random(ROWS) < 0.5, y, 1 - y)
    data = pd.DataFrame({"good": 1 - y, "copy": 1 - y, "noise": weak}) * 1.0
    selection = fresh(tmp_path)
    selection.feed(data)
    assert selection.kept_names == ["good"]
    assert selection.drop("good") == ["copy"]
    assert selection.kept_names == []
    fed = selection.feed(data[["copy", "noise"]])
    assert (fed.taken, fed.skipped, fed.kept) == (1, 1, ["copy"])
    assert selection.why("good") == (
        "good was kept until it was withdrawn: it no longer exists upstream"
    )
    selection.drop("noise")
    assert selection.why("noise") == (
        "noise was withdrawn: it no longer exists upstream; it was not kept"
    )
    with pytest.raises(InputError, match="no feature is called 'height'"):
        selection.drop("height")


def test_rows_are_reordered_by_their_keys(tmp_path):
    data, order = table(), np.random.default_rng(5).permutation(ROWS)
    ids = pd.Series([f"r{i}" for i in range(ROWS)], name="id")
    selection = fresh(tmp_path, key=ids)
    selection.feed(data.iloc[:, :20].assign(id=ids))
    selection.feed(data.iloc[:, 20:40].assign(id=ids).iloc[order])
    matrix = sp.csc_matrix(data.iloc[order, 40:].to_numpy())
    selection.feed(matrix, names=list(data.columns[40:]), keys=ids.iloc[order])
    assert_same_log(selection.run.log, expected_log(data), "by key")
    assert selection.status()["key"] == "id"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="id"), "the table has no column 'id' to tell which row is"),
        (lambda t: t.iloc[1:], "the data has no row with the key 0, which is in the selection"),
        (lambda t: pd.concat([t, t.iloc[:1].assign(id=999)]), "has a row with the key 999, which"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "the data: the key 0 names two rows; keys must be"),
        (lambda t: t.assign(id=t["id"] + 1), "the data has no row with the key 0, which is in"),
    ],
)
def test_keys_that_do_not_fit_are_reported(tmp_path, change, message):
    selection = fresh(tmp_path, key=np.arange(ROWS), key_name="id")
    with pytest.raises(InputError, match=message):
        selection.feed(change(table().assign(id=np.arange(ROWS))))
    assert len(Selection.open(tmp_path / "run").run.log) == 0


def test_rows_that_do_not_match_are_reported(tmp_path):
    selection = fresh(tmp_path)
    with pytest.raises(InputError, match=r"the data has 149 rows but the selection has 150; feed"):
        selection.feed(table().iloc[1:])
    np.save(tmp_path / "more.y.npy", 1 - target())
    sp.save_npz(tmp_path / "more.npz", sp.csc_matrix(table().to_numpy()))
    with pytest.raises(InputError, match=r"more.npz brings a target that is not the one of the"):
        selection.feed(tmp_path / "more.npz")
    np.save(tmp_path / "more.y.npy", target())
    assert selection.feed(tmp_path / "more.npz").taken == COLUMNS


def test_a_file_that_cannot_be_fed_leaves_nothing_behind(tmp_path):
    selection = fresh(tmp_path)
    spoilt = table()
    spoilt.iloc[3, 50] = np.nan
    before = (tmp_path / "run" / "state.sqlite").read_bytes()
    with pytest.raises(InputError, match="c50"):
        selection.feed(spoilt, width=7)
    with pytest.raises(InputError, match=r"the data has two columns named 'a'; rename one of"):
        selection.feed(np.eye(ROWS)[:, :3], names=["a", "b", "a"])
    assert (tmp_path / "run" / "state.sqlite").read_bytes() == before
    selection.feed(table())
    assert_same_log(selection.run.log, expected_log(table()), "after two refusals")


def test_unusual_names_are_accepted(tmp_path):
    odd = ['say "hi"', "two\nlines", "a,b;c", "<b>&amp;</b>", "🧬 gène", "", " ", "{name}"]
    data = table(columns=len(odd))
    data.columns = odd
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :4])
    Selection.open(tmp_path / "run").feed(data)
    opened = Selection.open(tmp_path / "run")
    assert [opened.run.log.names[i] for i in range(len(odd))] == odd
    assert opened.feed(data).skipped == len(odd)
    assert pq.read_table(tmp_path / "run" / "log.parquet")["name"].to_pylist() == odd


def test_two_selections_on_one_folder_see_each_other(tmp_path):
    data = table()
    one = fresh(tmp_path)
    two = Selection.open(tmp_path / "run")
    one.feed(data.iloc[:, :30])
    two.feed(data.iloc[:, 30:])
    assert one.kept_names == two.kept_names
    assert_same_log(one.run.log, expected_log(data), "fed by two")


def test_a_long_log_is_not_rewritten_for_a_few_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(selection_state, "SHORT", 10)
    data, folder = table(), tmp_path / "run"
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :55])
    log = (folder / "log.parquet").read_bytes()
    selection.feed(data.iloc[:, 55:58])
    assert (folder / "log.parquet").read_bytes() == log
    recent = pq.read_table(folder / "recent.parquet").to_pydict()
    assert set(recent["feature"]) >= {55, 56, 57}
    whole = selection.run.log.columns()
    for feature, at in zip(recent["feature"], recent["at"], strict=True):
        assert whole["at"][feature] == at
    assert_same_log(tamis.open_run(folder).log, selection.run.log, "in pieces")
    assert json.loads((folder / "run.json").read_text())["log_shows"] == 55
    Selection.open(folder).feed(data)
    assert (folder / "recent.parquet").exists()
    assert_same_log(tamis.open_run(folder).log, expected_log(data), "in pieces")
    Selection.open(folder).feed(table(2, prefix="d").iloc[:, :7])  # now a tenth is new
    assert not (folder / "recent.parquet").exists()
    assert pq.read_metadata(folder / "log.parquet").num_rows == COLUMNS + 7


def test_a_log_is_stored_in_few_pieces_and_pieces_are_never_too_long(tmp_path, monkeypatch):
    data = table(columns=300)
    selection = fresh(tmp_path)
    for lo in range(0, 60, 2):
        selection.feed(data.iloc[:, lo : lo + 2])
        if lo == 20:
            monkeypatch.setattr(selection_state, "LONGEST", 25)
        if lo == 40:
            selection.drop("c3")
    selection.feed(data.iloc[:, 60:])
    pieces = selection._state.pieces
    assert len(pieces) <= 20
    assert [p.begin for p in pieces] == [
        p.begin for p in Selection.open(tmp_path / "run")._state.pieces
    ]
    for found in (selection, Selection.open(tmp_path / "run")):
        assert len(found.run.log) == 300
        assert found.feed(data.drop(columns="c3")).skipped == 299
        assert_same_log(found.run.log, selection.run.log, "in pieces")


def test_only_kept_columns_are_on_disk(tmp_path):
    y, rng = target(), np.random.default_rng(7)
    selection = fresh(tmp_path)
    for i in range(25):
        flip = rng.random(ROWS) < 0.45 - 0.01 * i  # each better than those before
        selection.feed(pd.DataFrame({f"better{i}": np.where(flip, 1 - y, y) * 1.0}))
    with state_file.reading(tmp_path / "run") as opened:
        stored = [number for number, _, _ in state_file.read(opened, "column")]
    assert stored == selection._state.selector.kept_.tolist()
    assert Selection.open(tmp_path / "run").kept_names == selection.kept_names


def test_the_log_lists_what_happened_since(tmp_path):
    data = table()
    selection = fresh(tmp_path)
    selection.feed(data.iloc[:, :30])
    selection.feed(data.iloc[:, 30:])
    everything = selection.log()
    assert [e["sentence"] for e in everything] == [
        selection.run.log.explain(d) for d in selection.run.log.events()
    ]
    last = selection.log("last")
    assert last == selection.log(1)
    assert last == everything[-len(last) :]
    assert 0 < len(last) < len(everything)
    assert {e["time"] for e in last} == {selection.history[-1]["time"]}
    assert selection.log(selection.history[-1]["time"]) == last
    assert (selection.log("2020-01-01"), selection.log("2100-01-01")) == (everything, [])
    with pytest.raises(ParameterError, match="since='soon' is not a date such as 2026-11-01, a"):
        selection.log("soon")


def test_what_can_be_fed_and_what_cannot(tmp_path):
    with pytest.raises(ParameterError, match="fcbf decides when it has seen every column, so"):
        Selection.create(tmp_path / "run", target(), tamis.FCBF())
    tamis.save_run(select(table(), "fcbf", target()), tmp_path / "batch")
    with pytest.raises(SourceError, match="batch cannot be fed: fcbf decides when it has seen"):
        Selection.open(tmp_path / "batch")
    with pytest.raises(SourceError, match="is not a selection; make one with tamis select or"):
        Selection.open(tmp_path)
    tamis.save_run(select(table(), "saola", target()), tmp_path / "read")
    with pytest.raises(SourceError, match=r"holds no state to resume from \(it was saved without"):
        Selection.open(tmp_path / "read")
    old = select(table(), "saola", target(), command="tamis select days --out run")
    tamis.save_run(old, tmp_path / "old")
    (tmp_path / "old" / "state").mkdir()
    (tmp_path / "old" / "state" / "HEAD.json").write_text("{}")
    with pytest.raises(SourceError) as caught:
        Selection.open(tmp_path / "old")
    assert str(caught.value) == (
        f"{tmp_path / 'old'} was written by an older tamis, whose state this one does not read "
        "(its log can still be read); select again with: tamis select days --out run, and feed "
        "what was fed"
    )
    assert_same_log(tamis.open_run(tmp_path / "old").log, old.log, "read without its state")
    fresh(tmp_path)
    with pytest.raises(OutputError, match="run already exists; choose another name"):
        fresh(tmp_path)
    assert fresh(tmp_path, force=True).kept_names == []


class MineRule(SAOLARule):
    """A rule that tamis does not know."""

    name = "mine"


Mine = estimator_of(MineRule)


def test_a_custom_selector_is_given_when_the_folder_is_opened(tmp_path):
    Selection.create(tmp_path / "run", target(), Mine(tamis.MutualInformation(alpha=0.01)))
    with pytest.raises(ParameterError, match="this was selected with test_selection:MineRule"):
        Selection.open(tmp_path / "run")
    with pytest.raises(ParameterError, match="with test_selection:MineRule, and not with test_"):
        Selection.open(tmp_path / "run", Disguised)
    given = Mine(tamis.MutualInformation(alpha=0.01))
    Selection.open(tmp_path / "run", given).feed(table())
    # Of a class the folder knows the parameters.
    for known in (given, Mine, MineRule, MineRule(tamis.MutualInformation(alpha=0.01))):
        assert_same_log(
            Selection.open(tmp_path / "run", known).run.log, expected_log(table()), "my own"
        )


class Disguised(SAOLARule):
    """A rule that calls itself by a name of tamis."""


def test_a_class_with_the_name_of_a_method_is_not_mistaken_for_it(tmp_path):
    Selection.create(tmp_path / "run", target(), Disguised(tamis.MutualInformation(alpha=0.01)))
    with pytest.raises(ParameterError, match="selected with test_selection:Disguised; it is not"):
        Selection.open(tmp_path / "run")
    assert type(Selection.open(tmp_path / "run", Disguised)._state.selector.rule) is Disguised
    fresh(tmp_path, force=True)
    with pytest.raises(ParameterError, match=r"^this was selected with saola, and not with test_s"):
        Selection.open(tmp_path / "run", Disguised)


def test_a_folder_cannot_cause_an_import(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    Selection.create(tmp_path / "run", target(), Mine(tamis.MutualInformation(alpha=0.01)))
    rewrite(tmp_path / "run", "head", lambda head: head | {"class": "stranger:Stranger"})
    with pytest.raises(ParameterError, match="with stranger:Stranger; it is not a class of tamis"):
        Selection.open(tmp_path / "run")
    with pytest.raises(ParameterError, match="with stranger:Stranger, and not with test_selec"):
        Selection.open(tmp_path / "run", Mine)


def test_text_and_dates_can_be_targets(tmp_path: Path):
    y = np.where(target() == 1, "yes", "no")
    for i, labels in enumerate((y, y.astype(object), list(y), pd.Series(y), target() == 1)):
        selection = Selection.create(tmp_path / f"run{i}", labels, selector())
        selection.feed(table())
        assert_same_log(selection.run.log, expected_log(table()), f"target {i}")


@pytest.mark.parametrize("numbers", [np.array([0, 1]), np.array([-1, 1]), np.array(["no", "yes"])])
@pytest.mark.parametrize("make", [lambda d: d, pl.DataFrame, lambda d: sp.csc_matrix(d.to_numpy())])
def test_a_copy_of_the_target_is_refused_under_any_name(tmp_path, numbers, make):
    selection = Selection.create(tmp_path / "run", numbers[target()], selector())
    data = table(columns=4)
    data.insert(2, "sick_2", target() if numbers.dtype.kind == "U" else numbers[target()])
    name = "number 2" if sp.issparse(make(data)) else "'sick_2'"
    with pytest.raises(InputError) as caught:
        selection.feed(make(data), width=1)
    assert str(caught.value) == (
        f"the data: the column {name} equals the target of the selection in every row; "
        "leave it out, or use --allow-target (allow_target=True) if it is a feature all the same"
    )
    assert selection.status()["features"] == 0
    assert selection.feed(make(data), allow_target=True).taken == 5
    if not sp.issparse(make(data)):  # it is known now, so it is accepted
        assert selection.feed(make(data)).skipped == 5


def test_text_and_numbers_that_equal_the_target_are_refused(tmp_path):
    words = np.array(["well", "sick", "worse"])[np.random.default_rng(0).integers(0, 3, 90)]
    selection = Selection.create(tmp_path / "words", words, selector())
    with pytest.raises(InputError, match="the column 'copy' equals the target"):
        selection.feed(pd.DataFrame({"copy": words}))
    amount = np.random.default_rng(0).normal(size=90)
    selection = Selection.create(tmp_path / "numbers", amount, "saola")
    with pytest.raises(InputError, match="the column 'copy' equals the target"):
        selection.feed(pd.DataFrame({"copy": amount}))
    assert selection.feed(pd.DataFrame({"twice": 2 * amount})).taken == 1


def test_the_name_of_a_series_is_the_name_of_the_target(tmp_path):
    y = pd.Series(target(), name="sick")
    Selection.create(tmp_path / "run", y, selector())
    data = table(columns=3).assign(sick=0.0)
    with pytest.raises(InputError, match="the column 'sick' is the target of the selection"):
        Selection.open(tmp_path / "run").feed(data)


def test_selecting_from_a_column_that_is_the_target_warns_once(tmp_path):
    data = table(columns=6).assign(copy=target())
    with pytest.warns(DataWarning) as caught:
        run = select(data, selector(), target(), width=2)
    assert [str(one.message) for one in caught] == [
        "the column 'copy' equals the target in every row; if it is the target, select "
        "again without it (--ignore copy)"
    ]
    assert run.kept_names == ["copy"]


@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], ["no", "yes"], [2.5, 7.0]])
def test_a_plain_select_finds_the_target_among_its_columns(classes):
    y = np.array(classes)[target()]
    task = "regression" if y.dtype.kind == "f" else "auto"
    data = table(columns=9)
    data.iloc[:, 4] = np.roll(target(), 1)  # as many of each, in other rows
    data.insert(5, "copy", target() * 1.0 if isinstance(classes[0], str) else y * 1.0)
    with pytest.warns(DataWarning, match="the column 'copy' equals the target in every row; if"):
        select(data, "saola", y, task=task, width=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(data.drop(columns="copy"), "saola", y, task=task, width=4)
    codes = Target.of(y, task)
    block = ColumnBlock.of(sp.csc_matrix(data.to_numpy()))
    assert equal_to_target(block, codes) == equal_to_target(ColumnBlock.of(data), codes) == 5
    full = Compressed(*(getattr(block.values, key) for key in ("indptr", "indices", "data")))
    assert equal_to_target(replace(block, values=full), codes) == 5


def test_a_target_of_zeros_is_compared_with_columns_without_entries():
    block = ColumnBlock.of(sp.csc_matrix(np.array([[1.0, 0, 0], [0, 0, 2], [3, 0, 0]])))
    assert equal_to_target(block, Target.of([0.0, 0.0, 0.0], "regression")) == 1


def test_a_plain_select_does_not_use_persistent_selections(monkeypatch):
    def not_here(*given, **named):
        raise AssertionError("not for a plain select")

    monkeypatch.setattr(selection_state, "SelectionState", not_here)
    monkeypatch.setattr("tamis.engine.loop.hashes_of", not_here)
    assert_same_log(select(table(), selector(), target()).log, expected_log(table()), "plain")


def test_the_target_can_be_named(tmp_path):
    frame = table(columns=5).assign(sick=target())
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = select(frame.drop(columns="sick"), selector(), frame["sick"]).to_frame()
    for data in (
        frame,
        pl.from_pandas(frame),
        pl.from_pandas(frame).to_arrow(),
        tmp_path / "t.csv",
    ):
        run = select(data, selector(), "sick")
        pd.testing.assert_frame_equal(run.to_frame(), expected)
    gaps = frame.assign(a=np.where(target() > 0, np.nan, 1.0), b=[None, *"xy" * 74, "x"])
    with pytest.raises(InputError) as error:
        select(gaps, "saola", "sick")
    assert "'a'" in str(error.value)
    assert "'b'" in str(error.value)
    with pytest.raises(InputError, match="no column 'sik' to be the target; did you mean 'sick'"):
        select(frame, y="sik")
    with pytest.raises(ParameterError, match="'sick' is a column of the data and not a method; if"):
        select(frame, "sick")
    with pytest.raises(ParameterError, match="names a column of a data frame or a file; give the"):
        select(frame.to_numpy(), y="sick")
    with pytest.raises(ParameterError, match="stop=1 does not say what to count; write stop='feat"):
        select(frame, y="sick", stop=1)


def test_a_column_that_is_nearly_the_target_is_reported():
    rng = np.random.default_rng(0)
    price = rng.normal(300_000, 50_000, 200).round(-3)
    X = rng.normal(size=(200, 4)) + price[:, np.newaxis] / 1e5
    data = pd.DataFrame(X, columns=list("abcd")).assign(thousands=price / 1000 + 0.001 * X[:, 0])
    for method in ("sieve", "saola"):
        with pytest.warns(DataWarning, match="column 'thousands' says nearly everything about the"):
            select(data, method, price, task="regression")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            select(data.drop(columns="thousands"), method, price, task="regression")


def test_numbers_that_are_taken_for_classes_are_reported():
    rng = np.random.default_rng(0)
    with pytest.warns(DataWarning, match="classes in 300 rows, too few rows of each to tell a"):
        select(rng.normal(size=(300, 2)), y=rng.integers(0, 1000, 300), task="classification")
