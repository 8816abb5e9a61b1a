"""Every kind of bad input, at once: select and feed refuse it in one sentence, nothing is lost."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.core.errors import SourceError, TamisError
from tamis.sources import open_rows

ROWS = 40


def table(columns: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    made = {f"new{j}": y + rng.normal(size=ROWS) for j in range(columns)}
    return pd.DataFrame({"id": np.arange(ROWS), **made, "y": y})


def text(head: str = "id,new0,y", line: str = "{i},{v},{c}") -> str:
    """A valid CSV file, whose lines can be damaged."""
    lines = [line.format(i=i, v=i * 0.37 % 1 + i % 2, c=i % 2) for i in range(ROWS)]
    return "\n".join([head, *lines]) + "\n"


def truncated_parquet(place: Path) -> Path:
    table().to_parquet(place / "a.parquet")
    whole = (place / "a.parquet").read_bytes()
    (place / "a.parquet").write_bytes(whole[: len(whole) // 2])
    return place / "a.parquet"


def spoilt_parquet(place: Path) -> Path:
    path = place / "a.parquet"
    pq.write_table(pa.Table.from_pandas(table()), path, compression="zstd", write_statistics=False)
    whole = bytearray(path.read_bytes())
    whole[20:60] = bytes(40)
    path.write_bytes(whole)
    return path


def corrupt_checksum(place: Path) -> Path:
    """One bit of the values changed, in a file that holds checksums of its pages."""
    path, made = place / "a.parquet", pa.Table.from_pandas(table())
    pq.write_table(made, path, compression="none", use_dictionary=False, write_page_checksum=True)
    whole = bytearray(path.read_bytes())
    at = whole.find(np.asarray(made["new0"]).tobytes()[:32])
    assert at > 0
    whole[at] ^= 1
    path.write_bytes(whole)
    return path


def written(content: str | bytes, name: str = "a.csv"):
    def make(place: Path) -> Path:
        data = content.encode() if isinstance(content, str) else content
        (place / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return place / name

    return make


def bomb(place: Path) -> Path:
    """A gigabyte of zeros in one megabyte."""
    zeros = gzip.compress(bytes(b"0" * (1 << 24)), 9)
    (place / "a.csv.gz").write_bytes(gzip.compress(b"id,new0,y\n0,") + zeros * 64)
    return place / "a.csv.gz"


def loop(place: Path) -> Path:
    (place / "a.csv").symlink_to(place / "b.csv")
    (place / "b.csv").symlink_to(place / "a.csv")
    return place / "a.csv"


LONG = text().replace("\n5,", "\n5," + "7" * 10_000_000, 1)
BAD = {
    "truncated Parquet": (truncated_parquet, "it is truncated or damaged"),
    "damaged Parquet": (spoilt_parquet, "it is truncated or damaged"),
    "corrupt checksum": (corrupt_checksum, "it is truncated or damaged"),
    "header without the target": (written(text("id,new0,z")), "has no column 'y', which target"),
    "duplicate names": (written(text("id,y,y")), "has two columns named 'y'; rename one"),
    "rows of different length": (written(text() + "7,1\n"), "line 42 has 2 values where the"),
    "NUL bytes": (written(text().replace("7", "\0", 1)), "holds a NUL byte, so it is damaged"),
    "a line of 10 MB": (written(LONG), "line 7 is longer than 8,000,000 bytes"),
    "a zip bomb": (bomb, "line 2 is longer than 8,000,000 bytes"),
    "a symlink loop": (loop, "cannot be read (Too many levels of symbolic links)"),
    "truncated gzip": (
        lambda place: written(gzip.compress(text().encode())[:-30], "a.csv")(place),
        "is a truncated or damaged gzip file",
    ),
}


@pytest.fixture(scope="module")
def selection(tmp_path_factory) -> Path:
    """A living selection with two columns."""
    place = tmp_path_factory.mktemp("living")
    table(2).rename(columns=lambda n: n.replace("new", "old")).to_parquet(place / "a.parquet")
    source = tamis.open(place / "a.parquet", target="y", key="id")
    keys = pd.Series(np.arange(ROWS), name="id")
    tamis.Selection.create(place / "run", source.target(), "saola", key=keys).feed(source)
    return place / "run"


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_sentence_and_nothing_is_lost(tmp_path, selection, what):
    make, message = BAD[what]
    path = make(tmp_path)
    shutil.copytree(selection, tmp_path / "run")

    def select() -> None:
        tamis.select(tamis.open(path, target="y", key="id"))

    def feed() -> None:
        tamis.Selection.open(tmp_path / "run").feed(tamis.open(path, target="y", key="id"))

    for act in (select, feed):
        with pytest.raises(TamisError) as caught:
            act()
        assert message in str(caught.value)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    before, after = tamis.Selection.open(selection), tamis.Selection.open(tmp_path / "run")
    assert after.kept_names == before.kept_names
    assert after.status() | {"folder": ""} == before.status() | {"folder": ""}
    assert after.feed(table(1).drop(columns="y")).taken == 1  # feeding still works


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_unusual_names_survive(tmp_path, selection, suffix):
    """Quotes, newlines and HTML: names like any other."""
    odd = ['say "hi"', "it's", "two\nlines", "<script>alert(1)</script>", "a,b", "x\ty"]
    made = table(len(odd)).set_axis(["id", *odd, "y"], axis=1)
    path = tmp_path / f"a{suffix}"
    made.to_csv(path, index=False) if suffix == ".csv" else made.to_parquet(path)
    run = tamis.select(tamis.open(path, target="y", key="id"))
    assert [run.log.names[j] for j in range(len(odd))] == odd
    assert all(str(run.why(name)).startswith(name) for name in odd)
    shutil.copytree(selection, tmp_path / "run")
    living = tamis.Selection.open(tmp_path / "run")
    assert living.feed(tamis.open(path, target="y", key="id")).taken == len(odd)
    again = tamis.Selection.open(tmp_path / "run")
    assert again.feed(made.drop(columns="y")).skipped == len(odd)
    assert set(again.kept_names) <= {*odd, "old0", "old1"}


def test_options_of_a_reader_are_refused_where_nothing_reads_with_them():
    """They used to be ignored, so that indices were read from 1 instead of 0."""
    source = tamis.open(np.eye(3), y=[0, 1, 1])
    with pytest.raises(TamisError, match="zero_based: a source that is already open"):
        open_rows(source, zero_based=True)
    with pytest.raises(TamisError, match="zero_based: rows made by a program"):
        open_rows(iter([]), zero_based=True)
    with pytest.raises(TamisError, match="delimiter: a source that is already open"):
        tamis.open(source, delimiter=";")


@pytest.mark.parametrize("name", ["a.svm.zst", "a.csv.zst"])
def test_a_small_file_of_endless_empty_lines_is_refused(tmp_path, name):
    path = tmp_path / name
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(b"a,b,y\n1,2,0\n2,3,1\n" if "csv" in name else b"1 1:1\n0 2:1\n")
        for _ in range(80):
            file.write(b"\n" * (1 << 20))
    assert path.stat().st_size < 20_000
    with pytest.raises(SourceError, match="more than 32 MB of empty lines in a row"):
        tamis.select(tamis.open(path, **({"target": "y"} if "csv" in name else {})), "saola")


def test_what_ends_the_reading_of_a_file_is_one_problem(tmp_path):
    path = tmp_path / "a.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for _ in range(40):
            file.write(b"\n" * (1 << 20))
    found = tamis.profile(path, target="y").problems
    assert len(found) == 1
    assert "more than 32 MB of empty lines in a row" in str(found[0])


@pytest.mark.parametrize(
    ("name", "words"),
    [("t.csv.zip", "packed in a way that tamis does not read"), ("t.csv.xz", "unpack it first"),
     ("t.pkl", "load it in Python"), ("t.html", "write it as CSV"), ("t.ods", "save the sheet"),
     ("-", "cannot come from standard input"),
     ("https://example.org/t.csv", "csv data cannot be read from an address")],
)  # fmt: skip
def test_files_that_are_not_read_are_refused_with_a_remedy(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    if "/" not in name:
        (tmp_path / name).write_text("a,b\n1,2\n")
    for call in (tamis.open, tamis.profile):
        with pytest.raises(SourceError, match=words):
            call(name)


def test_a_folder_of_texts_names_one_of_them(tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"give one of its files, such as .*b\.csv; tables of a"):
        tamis.open(tmp_path)


def test_rows_without_a_target_are_counted_in_a_frame_too():
    frame = pd.DataFrame({"a": range(9), "y": [1.5, 2.5, None] * 3})
    with pytest.warns(UserWarning, match="^3 rows have no target and are left out$"):
        tamis.open(frame, target="y", missing_target="drop")
