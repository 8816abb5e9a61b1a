"""Groups of columns: by position, by name, from a file; at once, fed, resumed; the same result."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis import GroupSAOLA, MutualInformation, Selection
from tamis.checks.data import assert_same_log
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError
from tamis.core.names import Names
from tamis.engine.groups import GroupTable, grouped, read_groups
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.runs import open_run, save_run
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

ROWS, SIZES = 120, [4, 1, 7, 3, 9]
LABELS = np.repeat([f"g{i}" for i in range(len(SIZES))], SIZES)


def labels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, ROWS)


def table() -> pd.DataFrame:
    rng, y = np.random.default_rng(1), labels()
    X = rng.integers(0, 3, (ROWS, len(LABELS))).astype(float)
    for j in range(0, len(LABELS), 2):
        X[:, j] = np.where(rng.random(ROWS) < 0.3 + 0.4 * rng.random(), y, X[:, j])
    X[:, 15] = np.where(rng.random(ROWS) < 0.05, X[:, 15], X[:, 0])
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(len(LABELS))])


def selector() -> GroupSAOLA:
    return GroupSAOLA(MutualInformation(alpha=0.05))


def expected() -> GroupSAOLA:
    return selector().fit(table(), labels(), groups=LABELS)


def written(folder, text=None, name="groups.csv"):
    lines = "".join(f"c{j},{label}\n" for j, label in enumerate(LABELS))
    (folder / name).write_text("feature,group\n" + lines if text is None else text)
    return folder / name


def test_the_groups_matter():
    one = selector().fit(table(), labels())
    assert expected().work_ != one.work_
    assert len(expected().groups_) > 1


@pytest.mark.parametrize("width", [1, 2, 5, None])
@pytest.mark.parametrize("encode", [None, "mdlp"])
def test_every_way_to_give_groups_has_the_same_result(tmp_path, width, encode):
    data, y, by_name = table(), labels(), dict(zip(table(), LABELS, strict=True))
    store = write_store(tmp_path / "data.cols", MemorySource(sp.csc_matrix(data), y))
    numbered = {f"x{j}": label for j, label in enumerate(LABELS)}
    for what, groups in [
        (data, LABELS), (data, by_name), (data, read_groups(written(tmp_path))),
        (store, LABELS), (store, numbered), (MemorySource(data, y), by_name),
    ]:  # fmt: skip
        run = tamis.select(what, selector(), y, groups=groups, width=width, encode=encode)
        assert_same_log(run.log, expected().log_, f"{type(what).__name__}, {type(groups).__name__}")
        assert {k: v.tolist() for k, v in run.selector.groups_.items()} == {
            k: v.tolist() for k, v in expected().groups_.items()
        }
    whole = tamis.select(data, selector(), y, groups="all")
    assert_same_log(whole.log, selector().fit(data, y).log_, "one label for all")


def test_on_a_cluster_too(tmp_path, client):
    store = write_store(tmp_path / "data.cols", MemorySource(table(), labels()))
    run = tamis.select(store, selector(), groups=LABELS, cluster=client, width=4)
    assert_same_log(run.log, expected().log_, "on a cluster")


@pytest.mark.parametrize("cut", [0, 3, 4, 9, 20])
def test_a_group_may_be_fed_in_parts(tmp_path, cut):
    data, y = table(), labels()
    selection = Selection.create(tmp_path / "run", y, selector())
    by_name = dict(zip(data, LABELS, strict=True))
    selection.feed(data.iloc[:, :cut], groups=LABELS[:cut]) if cut else None
    again = Selection.open(tmp_path / "run")
    again.feed(data, groups=by_name, width=2)  # the first ones were fed before
    hand = selector().start(y).feed(data, groups=LABELS)  # the last group stays open
    assert_same_log(Selection.open(tmp_path / "run").run.log, hand.log_, f"cut at {cut}")
    assert Selection.open(tmp_path / "run").feed(data, groups=by_name).skipped == len(LABELS)


def test_select_and_feed_is_select(tmp_path):
    """A run ends its last group; if the cut is between two groups nothing is different."""
    data, y, first = table(), labels(), sum(SIZES[:3])
    how = {"groups": LABELS[:first], "keep_state": True}
    run = tamis.select(data.iloc[:, :first], selector(), y, **how)
    save_run(run, tmp_path / "run")
    Selection.open(tmp_path / "run").feed(data.iloc[:, first:], groups=LABELS[first:])
    hand = selector().fit(data.iloc[:, :first], y, groups=LABELS[:first])
    hand.feed(data.iloc[:, first:], groups=LABELS[first:])
    assert_same_log(open_run(tmp_path / "run").log, hand.log_, "selected and fed")


class DiedError(Exception):
    """Simulates the end of the process."""


def test_a_checkpointed_run_reads_the_groups_again(tmp_path):
    store = write_store(tmp_path / "data.cols", MemorySource(table(), labels()))
    groups = read_groups(written(tmp_path))
    begin(tmp_path / "run", store, selector(), name="data", groups=groups)

    def report(what, done, total):
        if done >= 9:
            raise DiedError

    with pytest.raises(DiedError):
        resume(tmp_path / "run", width=3, every=1e-9, n_jobs=1, progress=report)
    assert 0 < len(open_run(tmp_path / "run").log) < len(LABELS)
    text = groups_text = written(tmp_path).read_text()
    written(tmp_path, text.replace("c9,g2", "c9,g3"))
    with pytest.raises(SourceError, match=r"groups\.csv is not what it was when .*run was begun"):
        resume(tmp_path / "run")
    written(tmp_path, groups_text)
    assert_same_log(resume(tmp_path / "run").log, expected().log_, "resumed")


def test_columns_without_names_are_called_as_the_selection_calls_them(tmp_path):
    data, y = table().to_numpy(), labels()
    selection = Selection.create(tmp_path / "run", y, selector())
    by_name = {f"x{j}": label for j, label in enumerate(LABELS)}
    selection.feed(data[:, :6], groups=by_name)
    selection.feed(data[:, 6:], groups=by_name)
    hand = selector().start(y).feed(data, groups=LABELS)
    assert_same_log(selection.run.log, hand.log_, "numbered")


def test_a_label_that_occurs_again_is_reported():
    mixed = np.array(["a", "b", "a"])
    with pytest.warns(DataWarning) as caught:
        tamis.select(table().iloc[:, :3], selector(), labels(), groups=mixed)
    assert str(caught[0].message) == (
        "the columns of the group 'a' are not next to each other in the data; a label that comes "
        "back is a new group"
    )


def test_files_of_every_kind(tmp_path):
    plain = read_groups(written(tmp_path))
    tabs = written(tmp_path, plain_text(tmp_path).replace(",", "\t"), "groups.tsv")
    (tmp_path / "groups.csv.gz").write_bytes(gzip.compress(plain_text(tmp_path).encode()))
    odd = written(tmp_path, 'note,group,feature\n,"g, 1","a\nb"\nx,g2,NA\n', "odd.csv")
    for path in (tabs, tmp_path / "groups.csv.gz"):
        again = read_groups(path)
        assert list(again.names) == list(plain.names)
        assert again.groups.tolist() == plain.groups.tolist()
    assert list(read_groups(odd).names) == ["a\nb", "NA"]
    assert read_groups(odd).groups.tolist() == ["g, 1", "g2"]


def plain_text(folder) -> str:
    return written(folder).read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,group\nc0,a\n", "{} has no column 'feature' of its own; its first line must be"),
        ("feature,label\nc0,a\n", "{} has no column 'group' of its own; its first line must be"),
        ("", "{} cannot be read as a table of groups (Empty CSV file); give a CSV or TSV file"),
        ("feature,group\nc0,a,b\n", "{} cannot be read as a table of groups (CSV parse error"),
        ("feature,group\nc0,a\nc1,\n", "{} gives no group to 'c1'; fill it in"),
        ("feature,group\nc0,a\nc0,b\n", "{} names 'c0' more than once; a feature has one group"),
    ],
)
def test_files_that_cannot_be_are_reported(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(SourceError) as caught:
        read_groups(path)
    assert str(caught.value).startswith(message.format(path))
    assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match="No such file or directory"):
        read_groups(tmp_path / "gone.csv")


def test_features_that_are_missing_or_unknown_are_named(tmp_path):
    data, y = table(), labels()
    by_name = dict(zip(data, LABELS, strict=True))
    few = {name: label for name, label in by_name.items() if name not in ("c3", "c5")}
    with pytest.raises(InputError) as caught:
        tamis.select(data, selector(), y, groups=few)
    assert str(caught.value) == (
        "groups gives no group to 'c3' and 'c5' of the data; add a line for each"
    )
    with pytest.raises(InputError) as caught:
        tamis.select(data, selector(), y, groups=by_name | {"zz": "g9"})
    assert str(caught.value) == (
        "groups names 'zz', which the data does not have as a feature; check the names, or leave "
        "them out"
    )
    selection = Selection.create(tmp_path / "run", y, selector())
    with pytest.raises(InputError, match="gives no group to 'c3' and 'c5' of the data"):
        selection.feed(data, groups=few)
    assert len(selection.run.log) == 0
    selection.feed(data.iloc[:, :2], groups=by_name)  # which may know more
    with pytest.raises(InputError, match=r"groups of shape \(3,\) were given for 2 columns"):
        selection.feed(data.iloc[:, 2:4], groups=["a", "b", "c"])
    with pytest.raises(ParameterError, match="saola takes no groups; use group-saola"):
        tamis.select(data, "saola", y, groups=by_name)
    with pytest.raises(ParameterError, match="sieve takes no groups; use group-saola"):
        Selection.create(tmp_path / "plain", y).feed(data, groups="a")


def test_many_names_are_not_all_listed():
    with pytest.raises(InputError, match=r"'c1', 'c2', 'c3', 'c4', 'c5' and 18 more of"):
        GroupTable.of({"c0": "a"}).labels(Names.of(table()), "the data")


def test_blocks_carry_their_labels_along():
    source = grouped(MemorySource(table()), LABELS)
    for block in source.columns(5):
        assert isinstance(block, ColumnBlock)
        expect = LABELS[block.first : block.first + block.width].tolist()
        assert block.group.tolist() == expect
        assert block.part(1, block.width).group.tolist() == expect[1:]
        assert block.pick(np.array([0])).group.tolist() == expect[:1]


def test_days_fed_one_by_one_are_groups_of_their_own(tmp_path):
    """Two folders of one day each: the second day does not continue the group of the first."""
    data, y = table(), labels()
    selection = Selection.create(tmp_path / "run", y, selector(), key=pd.Series(range(ROWS),
                                 name="id"))  # fmt: skip
    for day, (lo, hi) in enumerate([(0, 8), (8, 24)]):
        (tmp_path / f"days{day}").mkdir()
        part = data.iloc[:, lo:hi].assign(id=range(ROWS))
        part.to_parquet(tmp_path / f"days{day}" / f"{day}.parquet", index=False)
        selection.feed(tmp_path / f"days{day}")
    hand = selector().start(y).feed(data, groups=np.repeat([0, 1], [8, 16]))
    assert_same_log(selection.run.log, hand.log_, "two days")


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA])
def test_a_column_without_a_group_is_refused(empty):
    some = np.array(["a", empty, empty, "b"], dtype=object)
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    for attempt in (
        lambda: selector().fit(X, y, groups=some),
        lambda: selector().start(y).feed(X, groups=some),
    ):
        with pytest.raises(InputError, match=r"gives no group to column 1 \(counted from 0\)"):
            attempt()
