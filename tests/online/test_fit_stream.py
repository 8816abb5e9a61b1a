"""Learning from files, pipes and iterators: bad lines, bases, classes, names, marks."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.checks.data import rows_of
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.methods.online.progressive import MOST, Curve
from tamis.sources import open_rows
from tamis.sources.text import svmlight_rows as svmlight

SKIP = "with skip_bad_lines=True (--skip-bad-lines)"


def text_of(X, y, base: int = 1) -> list[str]:
    X = sp.csr_matrix(X)
    lines = []
    for r, label in enumerate(y):
        row = X[r]
        entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        lines.append(" ".join([str(label), *(f"{j + base}:{v!r}" for j, v in entries)]))
    return lines


@pytest.fixture
def table():
    X = sp.random(400, 40, 0.3, random_state=0, format="csr")
    y = np.where(X[:, 3].toarray().ravel() > X[:, 30].toarray().ravel(), 1, -1)
    return X, y


def save(path, lines) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def same(a, b) -> bool:
    return np.array_equal(a.kept_, b.kept_) and np.array_equal(a.weights_, b.weights_)


# --- bad lines -------------------------------------------------------------------------------

BAD = {
    "empty": ("", "line 31 is empty; remove it, or skip it " + SKIP, "empty"),
    "blank": (" \t", "line 31 is empty; remove it, or skip it " + SKIP, "empty"),
    "class": (
        "7 3:1",
        "line 31 has the label 7, which is not among the classes [-1, 1]; give all classes with "
        f"classes= (--classes), or skip such lines {SKIP}",
        "with a label that is not among the classes",
    ),
    "nan": (
        "1 3:nan",
        "line 31, byte 5: 'nan' is not a finite value; expected a number such as 1, -0.5 or 1e-3",
        "with NaN or infinity",
    ),
    "index 0": (
        "1 0:1 3:1",
        "line 31, byte 3: '0:1' has index 0 where indices count from 1, as the first 4 MB of "
        "text suggest; use zero_based=True (--zero-based)",
        "with index 0 where indices count from 1",
    ),
    "label": (
        "spam 1:1",
        "line 31, byte 1: 'spam' is not a number (a string label); expected numbers, so number the "
        "classes first",
        "without a number as label",
    ),
    "order": (
        "1 4:1 3:1",
        "line 31, byte 7: '3:1' does not follow in order; expected indices that rise inside a row",
        "with indices that do not rise",
    ),
    "too large": (
        "1 4:1e999",
        "line 31, byte 5: '1e999' is not a finite value; expected a number such as 1, -0.5 or 1e-3",
        "with a value that is not a number",
    ),
    "huge": (
        "1 4:1e99",
        "line 31, column 4 holds 1e+99, which is too large to learn from; scale it",
        "with a number too large to learn from",
    ),
    "no value": ("1 4", "line 31, byte 3: '4' has no colon; expected index:value", None),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("chunk", [1, 300, 10**6])
@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_line_is_one_sentence_or_counted(tmp_path, table, monkeypatch, kind, chunk, packed):
    line, message, words = BAD[kind]
    lines = text_of(*table)
    monkeypatch.setattr(svmlight, "LOOK", len("\n".join(lines[:10])))
    lines.insert(5, "# a comment")
    good = save(tmp_path / "good.svm", lines)
    lines.insert(30, line)
    path = save(tmp_path / "bad.svm", lines)
    if packed:
        content = (tmp_path / "bad.svm").read_bytes()
        path = str(tmp_path / "bad.svm.gz")
        (tmp_path / "bad.svm.gz").write_bytes(gzip.compress(content))
    message = message.replace("first 4 MB", "first 0 MB")
    model = tamis.SOFS(9)
    with pytest.raises(ValueError, match="bad") as error:
        model.fit_stream(path, classes=[-1, 1], chunk=chunk)
    assert str(error.value) == f"{path}, {message}"
    assert not hasattr(model, "classes_")
    model.fit_stream(path, classes=[-1, 1], chunk=chunk, skip_bad_lines=True)
    assert sum(model.bad_lines_.values()) == 1
    assert words is None or model.bad_lines_ == {words: 1}
    assert same(model, tamis.SOFS(9).fit_stream(good))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_mixture_of_bad_lines_leaves_the_model_of_the_good_ones(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X, y = sp.random(40, 12, 0.4, random_state=rng), rng.choice([-1, 1], 40)
    good = text_of(X, y)
    bad = data.draw(st.lists(st.sampled_from([line for line, _, _ in BAD.values()]), max_size=60))
    mixed = list(good)
    for line in bad:
        mixed.insert(data.draw(st.integers(0, len(mixed))), line)
    options = {"classes": [-1, 1], "zero_based": False}
    expected = tamis.SOFS(5).fit_stream(save(folder / "good.svm", good), **options)
    for chunk in (data.draw(st.integers(1, 400)), 10**6):
        path = save(folder / "mixed.svm", mixed)
        found = tamis.SOFS(5).fit_stream(path, skip_bad_lines=True, chunk=chunk, **options)
        assert same(found, expected)
        assert sum(found.bad_lines_.values()) == len(bad)


def test_a_file_of_bad_lines_takes_linear_time(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("spam\n" * 300_000 + "1 1:1\n-1 2:1\n")
    model = tamis.PET(2).fit_stream(path, skip_bad_lines=True)
    assert model.bad_lines_ == {"without a number as label": 300_000}
    assert model.work_["rows"] == 2
    (tmp_path / "all.svm").write_text("spam\n" * 1000)
    with pytest.raises(InputError, match=r"all\.svm holds no row to learn from; give some"):
        tamis.PET(2).fit_stream(tmp_path / "all.svm", skip_bad_lines=True, classes=[0, 1])


@pytest.mark.parametrize("chunk", [1, 1000, 10**6])
def test_complete_rows_of_a_truncated_file_are_used_on_request(tmp_path, table, chunk):
    lines = text_of(*table)
    packed = gzip.compress(("\n".join(lines) + "\n").encode())
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SourceError) as error:
        tamis.SOFS(9).fit_stream(path, chunk=chunk)
    message = str(error.value)
    model = tamis.SOFS(9).fit_stream(path, chunk=chunk, skip_bad_lines=True)
    rows = model.work_["rows"]
    assert 100 < rows < 300
    assert message.startswith(f"{path} is a truncated or damaged gzip file near byte ")
    assert message.endswith(
        f", after line {rows}; fetch or write it again, or learn from what came before {SKIP}"
    )
    assert model.bad_lines_ == {"end of a damaged file": 1}
    assert same(model, tamis.SOFS(9).fit_stream(save(tmp_path / "head.svm", lines[:rows])))


def test_rows_of_tables_are_skipped_too(tmp_path, table):
    X, y = table
    frame = pd.DataFrame(X.toarray(), columns=[f"c{j}" for j in range(40)])
    frame["y"] = y
    good = frame.drop(index=[7, 50])
    frame.loc[7, "c3"] = np.nan
    frame.loc[50, "y"] = 9
    frame.to_csv(tmp_path / "t.csv", index=False)
    good.to_csv(tmp_path / "good.csv", index=False)
    options = {"target": "y", "classes": [-1, 1]}
    expected = tamis.SOFS(9).fit_stream(tmp_path / "good.csv", **options)
    model = tamis.SOFS(9).fit_stream(tmp_path / "t.csv", skip_bad_lines=True, **options)
    assert model.bad_lines_ == {
        "with NaN or infinity": 1, "with a label that is not among the classes": 1,
    }  # fmt: skip
    assert same(model, expected)
    assert model.get_feature_names_out()[0].startswith("c")
    with pytest.raises(InputError, match=r"NaN or infinity in .*t\.csv, row 7, column 'c3'"):
        tamis.SOFS(9).fit_stream(tmp_path / "t.csv", **options)


# --- bases and classes -----------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 200, "to the line", 10**6])
def test_index_0_in_the_first_megabytes_means_a_zero_base(tmp_path, table, monkeypatch, chunk):
    lines = text_of(*table)
    monkeypatch.setattr(svmlight, "LOOK", len("\n".join(lines[:100])) + 1)
    for at, base in ((98, 0), (99, 0), (100, 0), (101, None)):
        # Line 100 contains the last byte that is inspected, line 101 is beyond.
        changed = [*lines[:at], "1 0:1 5:1", *lines[at:]]
        changed = [" ".join([line.split()[0], *(e for e in line.split()[1:] if e[:2] != "1:")])
                   if line != "1 0:1 5:1" else line for line in changed]  # fmt: skip
        monkeypatch.setattr(svmlight, "LOOK", len("\n".join(changed[:100])) + 1)
        path = save(tmp_path / "t.svm", changed)
        # The first chunk can end where the last inspected line begins.
        size = svmlight.LOOK if chunk == "to the line" else chunk
        if base is None:
            with pytest.raises(SourceError, match="has index 0 where indices count from 1, as the"):
                tamis.SOFS(9).fit_stream(path, chunk=size)
            model = tamis.SOFS(9).fit_stream(path, chunk=size, zero_based=True)
        else:
            model = tamis.SOFS(9).fit_stream(path, chunk=size)
        assert model.learner_.columns.base == 0
        assert same(model, tamis.SOFS(9).fit(*tamis.open(path, zero_based=True).load()))


def test_later_files_count_from_where_the_first_does(tmp_path, table):
    X, y = table
    lines = text_of(X, y, base=0)
    late = [line for line in lines if " 0:" not in line]
    assert late
    files = [save(tmp_path / "a.svm", lines), save(tmp_path / "b.svm", late)]
    expected = tamis.SOFS(9).fit_stream(save(tmp_path / "ab.svm", [*lines, *late]))
    assert same(tamis.SOFS(9).fit_stream(files), expected)
    assert expected.learner_.columns.base == 0


def test_classes_are_found_in_all_files_and_in_the_first_part_of_a_pipe(tmp_path, table):
    X, _ = table
    y = np.repeat([3, 1, 2, 2], 100)
    lines = text_of(X, y)
    files = [save(tmp_path / "a.svm", lines[:150]), save(tmp_path / "b.svm", lines[150:])]
    reported = []
    model = tamis.SOFS(9).fit_stream(files, progress=lambda *what: reported.append(what))
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.classes_.dtype == np.int64
    assert same(model, tamis.SOFS(9).fit(X, y))
    assert {what for what, _, _ in reported} == {"reading labels", "learning"}
    with pytest.raises(InputError, match=r"one class only, \[2\]; give all classes with classes="):
        tamis.SOFS(9).fit_stream(save(tmp_path / "c.svm", lines[200:]))
    save(tmp_path / "r.svm", ["0.5 1:1", "1 1:2"])
    with pytest.raises(InputError, match=r"labels such as 0\.5, which are numbers to predict"):
        tamis.SOFS(9).fit_stream(tmp_path / "r.svm")


class Stdin:
    """Standard input that returns a few bytes at a time and cannot seek."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BufferedReader(_Dripping(content))


class _Dripping(io.RawIOBase):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def readable(self):
        return True

    def readinto(self, into):
        piece = self._content[: min(len(into), 777)]
        into[: len(piece)] = piece
        self._content = self._content[len(piece) :]
        return len(piece)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_once_and_never_sought(table, monkeypatch, pack):
    X, y = table
    content = pack(("\n".join(text_of(X, y)) + "\n").encode())
    expected = tamis.SOFS(9).fit(X, y)
    for options in ({}, {"classes": [-1, 1]}, {"zero_based": False}, {"chunk": 100}):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        model = tamis.SOFS(9).fit_stream("-", **options)
        assert same(model, expected)
        assert model.classes_.tolist() == [-1, 1]
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    with pytest.raises(InputError, match="standard input can be read only once; give passes"):
        tamis.SOFS(9).fit_stream("-", passes=2)
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    with pytest.raises(SourceError, match="standard input is empty; give at least one row"):
        tamis.SOFS(9).fit_stream("-")


def test_a_label_that_appears_late_in_a_pipe_is_reported(table, monkeypatch):
    X, y = table
    lines = text_of(X, y)
    monkeypatch.setattr(svmlight, "LOOK", 2000)
    monkeypatch.setattr(sys, "stdin", Stdin(("\n".join([*lines, "5 1:1"]) + "\n").encode()))
    with pytest.raises(InputError) as error:
        tamis.SOFS(9).fit_stream("-", chunk=500)
    assert str(error.value).startswith(
        "standard input, line 401 has the label 5, which is not among the classes [-1, 1]; give "
    )


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux what is open")
@pytest.mark.parametrize("line", ["1 4", "5 1:1", "1 4:1e99"])
@pytest.mark.parametrize("zero_based", [False, "auto"])
def test_a_stored_error_keeps_no_file_open(tmp_path, table, monkeypatch, line, zero_based):
    monkeypatch.setattr(svmlight, "LOOK", 200)
    lines = text_of(*table)
    lines.insert(30, line)
    path = save(tmp_path / "bad.svm", lines)
    with pytest.raises(ValueError, match="line 31") as error:
        tamis.SOFS(9).fit_stream(path, classes=[-1, 1], chunk=300, zero_based=zero_based)
    handles = [Path("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    assert str(path) not in {os.readlink(handle) for handle in handles if handle.is_symlink()}
    del error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_like_standard_input(tmp_path, table):
    X, y = table
    pipe = tmp_path / "pipe.svm"
    os.mkfifo(pipe)
    content = ("\n".join(text_of(X, y)) + "\n").encode()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    model = tamis.SOFS(9).fit_stream(pipe)
    writer.join()
    assert same(model, tamis.SOFS(9).fit(X, y))


# --- iterators, sources, shuffling, the curve -------------------------------------------------


def test_iterators_and_sources(table):
    X, y = table
    expected = tamis.SOFS(9).fit(X, y)
    blocks = [rows_of(X[lo : lo + 50], y[lo : lo + 50], lo) for lo in range(0, 400, 50)]
    assert same(tamis.SOFS(9).fit_stream(iter(blocks)), expected)
    assert same(tamis.SOFS(9).fit_stream(blocks), expected)
    assert same(tamis.SOFS(9).fit_stream(tamis.open(X, y=y)), expected)
    for data, message in (
        (X, "is not a stream of rows; use fit for tables"),
        ([], "there is no file to read; give at least one"),
        (3, "a int is not a stream of rows"),
        (iter([3]), "an iterator of rows gave a int; give RowBlocks"),
        (iter([rows_of(X, None)]), "are unknown; give them with classes="),
    ):
        with pytest.raises(InputError, match=message):
            tamis.SOFS(9).fit_stream(data)
    with pytest.raises(InputError, match="the iterator of rows can be read only once"):
        tamis.SOFS(9, passes=2).fit_stream(iter(blocks))
    with pytest.raises(InputError, match="row 0 has no label; name the column"):
        tamis.SOFS(9).fit_stream(iter([rows_of(X, None)]), classes=[0, 1])
    with pytest.raises(ParameterError, match="shuffle=-1 is not a whole number at least 0"):
        tamis.SOFS(9).fit_stream(iter(blocks), shuffle=-1)


def test_shuffling_uses_every_row_once_per_pass(tmp_path):
    # Each row has its own feature, so OGD's weights show when each row was learned.
    own = sp.identity(400, format="csr")
    y = np.where(np.arange(400) % 2, 1, -1)
    path = save(tmp_path / "own.svm", text_of(own, y))
    weights = {}
    for size in (1, 7, 100, 1000):
        model = tamis.OGD().fit_stream(path, shuffle=size, random_state=1)
        weights[size] = np.abs(model.weights_)
        steps = np.sort(weights[size])[::-1]
        assert np.array_equal(steps, 0.2 / np.sqrt(np.arange(1, 401)))
    in_order = np.abs(tamis.OGD().fit(own, y).weights_)
    assert np.array_equal(weights[1], in_order)
    indices = np.argsort(-weights[100])
    assert 1 < np.abs(indices - np.arange(400)).max() < 100
    other = np.abs(tamis.OGD().fit_stream(path, shuffle=100, random_state=2).weights_)
    assert not np.array_equal(other, weights[100])


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=20))
def test_points_of_the_curve_do_not_depend_on_chunks(sizes):
    def run(chunks):
        curve, done = Curve(), 0
        for size in chunks:
            for lo, hi in curve.cuts(done, size):
                assert lo < hi
                curve.record(done + hi, (done + hi) // 3, (done + hi) // 5)
            done += size
        return curve

    one, many = run([sum(sizes)]), run(sizes)
    assert one.table() == many.table() == Curve.from_state(many.state()).table()
    rows = one.table()["rows"]
    assert len(rows) <= MOST
    assert rows == [one.every * (k + 1) for k in range(len(rows))]
    assert sum(sizes) - (rows[-1] if rows else 0) < one.every


def test_a_reader_resumes_from_a_mark(tmp_path, table):
    X, y = table
    lines = ["# head", *text_of(X, y)]
    (tmp_path / "t.svm").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    (reader,) = open_rows(tmp_path / "t.svm", chunk=900, zero_based=False)
    parts = list(reader.batches())
    assert len(parts) > 5
    for k in (0, 2, len(parts) - 1):
        rest = list(reader.batches(after=parts[k].mark))
        first = sum(part.height for part in parts[: k + 1])
        labels = [part.y for part in rest]
        assert np.concatenate([np.zeros(0), *labels]).tolist() == y[first:].tolist()
        if rest:
            assert rest[0].first == first
            assert rest[0].where(0) == f"{tmp_path / 't.svm'}, line {first + 2}"
