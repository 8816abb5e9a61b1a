"""DailySource: a week of files, with rows in any order, equals the original table."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.core.errors import SourceError
from tamis.sources.axis import to_rows

N = 40


def week(folder, *, days=5, shuffle=True, words=True):
    """Write a table as one file a day; return it."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    keys = np.array([f"c{i:02}" for i in range(N)]) if words else np.arange(N) * 7
    table = {f"d{day}_{j}": rng.normal(size=N) for day in range(days) for j in range(day + 1)}
    table["d0_word"] = rng.choice(["x", "y", "z"], N)
    label = rng.integers(0, 2, N)
    for day in range(days):
        order = rng.permutation(N) if shuffle and day else np.arange(N)
        names = [name for name in table if name.startswith(f"d{day}_")]
        columns = {"who": keys[order], **{name: table[name][order] for name in names}}
        if day in (0, 2):
            columns["label"] = label[order]
        pq.write_table(pa.table(columns), folder / f"2026-01-0{day + 1}.parquet")
    return table, label


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("memory", [10**9, 100])
def test_rows_are_aligned_by_key(tmp_path, shuffle, words, memory):
    table, label = week(tmp_path / "days", shuffle=shuffle, words=words)
    source = tamis.open(tmp_path / "days", key="who", target="label", memory=memory)
    table["d0_word"] = np.unique(table["d0_word"], return_inverse=True)[1]
    names = sorted(table)
    assert list(source.names()) == names
    want = np.column_stack([table[name] for name in names])
    assert np.array_equal(source.load()[0], want)
    assert source.target().tolist() == label.tolist()
    assert np.array_equal(np.hstack([b.values for b in source.columns(2)]), want)
    assert np.array_equal(np.vstack([b.values for b in to_rows(source).batches(7)]), want)
    assert source.info().details == {
        "files": 5, "first": "2026-01-01.parquet", "last": "2026-01-05.parquet",
    }  # fmt: skip
    assert os.listdir(tmp_path) == ["days"]


def test_other_files_are_skipped_and_arrow_files_are_read(tmp_path):
    week(tmp_path / "days", days=2)
    (tmp_path / "days" / "notes.txt").write_text("hello")
    (tmp_path / "days" / ".2026-01-09.parquet").write_text("half written")
    (tmp_path / "days" / "_SUCCESS.parquet").write_text("")
    whole = pq.read_table(tmp_path / "days" / "2026-01-01.parquet").select(["who"])
    from pyarrow import feather

    feather.write_feather(
        whole.append_column("late", pa.array(range(N))), str(tmp_path / "days" / "2026-01-03.arrow")
    )
    source = tamis.open(tmp_path / "days", key="who", target="label")
    assert source.n_columns == 5
    assert source.load()[0][:, -1].tolist() == list(range(N))


def spoil(folder, day, **changes):
    path = folder / f"2026-01-0{day}.parquet"
    table = pq.read_table(path)
    for name, column in changes.items():
        place = table.column_names.index(name) if name in table.column_names else None
        array = pa.array(column)
        table = (
            table.append_column(name, array)
            if place is None
            else table.set_column(place, name, array)
        )
    pq.write_table(table, path)
    return path


def test_mismatched_data_gives_one_sentence(tmp_path):
    folder = tmp_path / "days"
    week(folder, shuffle=False)
    first, keys = folder / "2026-01-01.parquet", [f"c{i:02}" for i in range(N)]

    def error_of(**options):
        with pytest.raises(SourceError) as caught:
            tamis.open(folder, **{"key": "who", "target": "label", **options}).target()
        return str(caught.value)

    assert error_of(key=None) == (
        f"{folder} is a folder of tables; name the column that identifies their rows with key= "
        "(--key)"
    )
    assert error_of(target="died") == f"no file in {folder} has a column 'died'; check the name"
    path = spoil(folder, 4, who=[*keys[:-1], "stranger"])
    assert error_of() == (
        f"{path} has a row with who 'stranger' that is not in {first}; give every file the same "
        "rows"
    )
    pq.write_table(pq.read_table(spoil(folder, 4, who=keys)).slice(1), path)
    assert error_of() == (
        f"{path} has no row with who 'c00', which {first} has; give every file the same rows, or "
        "take their values as missing with --missing-rows gaps (missing_rows='gaps')"
    )
    path = spoil(folder, 3, who=["c01", *keys[1:]])
    assert error_of() == f"{path} has two rows with who 'c01'; give each key one row"
    path = spoil(folder, 3, who=[None, *keys[1:]])
    assert error_of() == f"{path} has a row without who; give every row its key"
    path = spoil(folder, 3, who=list(range(N)))
    assert error_of() == (
        f"{path} has keys of type int64 and {first} has large_string; use one type for both"
    )
    spoil(folder, 3, who=keys, label=np.zeros(N))
    os.remove(folder / "2026-01-04.parquet")
    assert error_of() == (
        f"{path} has other values of the target 'label' than a file before it; leave it out of one "
        "of them"
    )
    path = spoil(folder, 5, d1_0=np.zeros(N))
    assert error_of() == (
        f"{path} has a column 'd1_0', and so does {folder / '2026-01-02.parquet'}; give each day's "
        "columns unique names"
    )
    path.write_bytes(path.read_bytes()[:-100])
    assert error_of().startswith(
        f"{path} cannot be read as a Parquet file, it is truncated or damaged"
    )
    os.remove(path)
    os.symlink(path.name, path)
    assert error_of() == f"{path} cannot be read (Too many levels of symbolic links); check it"


def test_a_folder_without_tables_is_not_a_daily_folder(tmp_path):
    with pytest.raises(SourceError, match="is a folder but not a column store; give"):
        tamis.open(tmp_path)
    with pytest.raises(SourceError, match="holds no Parquet or Arrow file"):
        tamis.open(tmp_path, format="daily", key="id")


@pytest.mark.filterwarnings("ignore:.* takes every value as a category")
def test_days_give_the_same_selection_as_one_file(tmp_path):
    week(tmp_path / "days")
    source = tamis.open(tmp_path / "days", key="who", target="label")
    X, y = source.load()
    whole = tamis.select(X, tamis.SAOLA(tamis.MutualInformation(alpha=0.2)), y)
    for width in (1, 3, None):
        run = tamis.select(source, tamis.SAOLA(tamis.MutualInformation(alpha=0.2)), width=width)
        assert run.log.replay() == whole.log.replay()


@pytest.mark.parametrize("width", [1, 3, None])
def test_the_columns_of_a_day_are_a_group(tmp_path, width):
    week(tmp_path / "days")
    source = tamis.open(tmp_path / "days", key="who", target="label", ignore="d0_word")
    groups = [f"2026-01-0{int(name[1]) + 1}.parquet" for name in source.names()]
    selector = tamis.GroupSAOLA(tamis.FisherZ(alpha=0.5))
    found = tamis.select(source, selector, width=width).selector
    again = tamis.GroupSAOLA(tamis.FisherZ(alpha=0.5))
    again.fit(*source.load(), groups=groups)
    assert found.kept_.tolist() == again.kept_.tolist()
    assert {day: kept.tolist() for day, kept in found.groups_.items()} == {
        day: kept.tolist() for day, kept in again.groups_.items()
    }
    assert len(found.groups_) > 1
    one_group = tamis.GroupSAOLA(tamis.FisherZ(alpha=0.5)).fit(*source.load())
    assert found.work_ != one_group.work_


def test_days_that_are_fed_are_groups_too(tmp_path):
    week(tmp_path / "days")
    source = tamis.open(tmp_path / "days", key="who", target="label", ignore="d0_word")
    selection = tamis.Selection.create(
        tmp_path / "run", source.target(), tamis.GroupSAOLA(tamis.FisherZ(alpha=0.5)),
        key=pd.Series(source.keys()[1], name="who"),
    )  # fmt: skip
    selection.feed(source)
    again = tamis.Selection.open(tmp_path / "run")
    assert again.feed(source).skipped == len(source.names())
    expected = tamis.GroupSAOLA(tamis.FisherZ(alpha=0.5)).start(source.target())
    for block in source.columns(2):
        expected.feed(block)  # the last day stays open: more of it may come
    assert again.kept_names == expected.get_feature_names_out().tolist()
    assert len({name[:2] for name in again.kept_names}) > 1
