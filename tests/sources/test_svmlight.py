"""SvmlightSource against scikit-learn's reader and Python's float()."""

from __future__ import annotations

import bz2
import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from tamis.core.errors import ParameterError, SourceError
from tamis.kernels.threads import threads
from tamis.sources import temporary_columns
from tamis.sources.axis import to_columns
from tamis.sources.text.svmlight_rows import SvmlightSource

REAL = sorted((Path(__file__).parents[3] / "shared" / "data" / "_svm").glob("*.svm.gz"))

PLAIN = b"""# a comment line
+1 1:0.5 3:-2e3 10:1  # and a note 4:4
-1 qid:7 2:1

\t3\t1:.25   7:1. \t
0.5
-2 4:123456789012345678901234567890 5:1e-320 9:1e5"""


def write(folder, data, name="data.svm"):
    path = Path(folder) / name
    path.write_bytes(data)
    return path


def dense_rows(source, size=None):
    """Collect rows() into (indptr, indices, data, y) lists, checking the numbering."""
    indptr, indices, values, y, first = [0], [], [], [], 0
    for block in source.batches(size):
        assert block.first == first
        assert block.values.indptr[0] == 0
        assert size is None or block.height <= size
        indptr += (block.values.indptr[1:] + indptr[-1]).tolist()
        indices += block.values.indices.tolist()
        values += block.values.data.tolist()
        y += block.y.tolist()
        first += block.height
    return indptr, indices, values, y


def test_a_small_file_by_hand(tmp_path):
    source = SvmlightSource(write(tmp_path, PLAIN))
    X, y = source.load()
    assert y.tolist() == [1.0, -1.0, 3.0, 0.5, -2.0]
    want = np.zeros((5, 10))
    want[0, [0, 2, 9]] = 0.5, -2000.0, 1.0
    want[1, 1] = 1.0
    want[2, [0, 6]] = 0.25, 1.0
    want[4, [3, 4, 8]] = 123456789012345678901234567890.0, 1e-320, 1e5
    assert np.array_equal(X.toarray(), want)
    assert isinstance(X, sp.csr_matrix)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.data.dtype == np.float64
    assert (source.n_rows, source.n_columns, source.name_base, source.name_prefix) == (5, 10, 1, "")


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n \t\n"])
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 17, 64, 10**6])
def test_chunks_line_ends_and_marks_change_nothing(tmp_path, newline, bom, end, chunk):
    data = bom + (PLAIN + end).replace(b"\n", newline)
    X, y = SvmlightSource(write(tmp_path, data), chunk=chunk).load()
    want, want_y = SvmlightSource(write(tmp_path, PLAIN, "plain.svm")).load()
    assert X.shape == want.shape
    assert (want != X).nnz == 0
    assert y.tolist() == want_y.tolist()


ZSTD = zstandard.ZstdCompressor()
PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": ZSTD.compress,
    "gzip twice": lambda d: gzip.compress(d[:20]) + gzip.compress(d[20:]),
    "bzip2 twice": lambda d: bz2.compress(d[:20]) + bz2.compress(d[20:]),
    "zstd twice": lambda d: ZSTD.compress(d[:20]) + ZSTD.compress(d[20:]),
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_compression_is_reported_by_content(tmp_path, packer, chunk):
    source = SvmlightSource(write(tmp_path, PACKERS[packer](PLAIN), "misleading.txt"), chunk=chunk)
    want, want_y = SvmlightSource(write(tmp_path, PLAIN, "plain.svm.gz")).load()
    X, y = source.load()
    assert (want != X).nnz == 0
    assert y.tolist() == want_y.tolist()
    assert source.info().details["compression"] == packer.split()[0]


@pytest.mark.parametrize("packer", ["gzip", "bzip2", "zstd"])
@pytest.mark.parametrize("harm", ["cut", "cut short", "flip"])
def test_a_damaged_compressed_file_is_one_sentence(tmp_path, packer, harm):
    lines = b"".join(b"1 %d:%d\n" % (i + 1, i * i) for i in range(3000))
    if packer == "zstd":  # with a checksum, as the zstd program writes
        packed = zstandard.ZstdCompressor(write_checksum=True).compress(lines)
    else:
        packed = PACKERS[packer](lines)
    if harm == "flip":
        middle = len(packed) // 2
        packed = packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :]
    else:
        packed = packed[: -2 if harm == "cut short" else len(packed) // 2]
    path = write(tmp_path, packed)
    with pytest.raises(SourceError) as error:
        SvmlightSource(path).load()
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    if harm != "flip":  # a flipped byte may also damage a line before it is detected
        assert f"truncated or damaged {packer} file" in str(error.value)


def test_zstd_needs_no_extra_package(tmp_path, monkeypatch):
    packed = ZSTD.compress(PLAIN)
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert (
        SvmlightSource(write(tmp_path, packed)).n_rows
        == SvmlightSource(write(tmp_path, PLAIN, "plain")).n_rows
    )


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        SvmlightSource(tmp_path / "absent.svm")
    with pytest.raises(SourceError, match="is a folder"):
        SvmlightSource(tmp_path)
    with pytest.raises(SourceError, match="is empty"):
        SvmlightSource(write(tmp_path, b""))
    for data in (b"# nothing\n\n", b"\xef\xbb\xbf", gzip.compress(b"")):
        source = SvmlightSource(write(tmp_path, data))
        for ask in (
            source.load,
            source.target,
            lambda s=source: s.n_rows,
            lambda s=source: [*s.batches()],
        ):
            with pytest.raises(SourceError, match="holds no rows"):
                ask()
    with pytest.raises(ParameterError, match="zero_based='yes' is not"):
        SvmlightSource(write(tmp_path, PLAIN), zero_based="yes")
    with pytest.raises(ParameterError, match="size=0"):
        next(SvmlightSource(write(tmp_path, PLAIN)).batches(0))


LONG = "y" * 50
MALFORMED = {
    "a string label": ("spam 1:1", 1, "spam", "string label"),
    "several labels": ("1,2 1:1", 1, "1,2", "multi-label"),
    "no label": ("3:1 4:1", 1, "3:1", "where the label should"),
    "a nan label": ("nan 1:1", 1, "nan", "not a finite label"),
    "an infinite label": ("-inf 1:1", 1, "-inf", "not a finite label"),
    "a label out of range": ("1e999 1:1", 1, "1e999", "not a finite label"),
    "an underscore label": ("1_0 1:1", 1, "1_0", "string label"),
    "a hexadecimal label": ("0x10 1:1", 1, "0x10", "string label"),
    "a long label": (LONG, 1, LONG[:40] + "...", "string label"),
    "no colon": ("1 2:1 7", 7, "7", "no colon"),
    "a word": ("1 spam", 3, "spam", "no colon"),
    "a word index": ("1 a:1", 3, "a:1", "no whole number before the colon"),
    "a negative index": ("1 -3:1", 3, "-3:1", "no whole number before the colon"),
    "a fractional index": ("1 3.0:1", 3, "3.0:1", "no whole number before the colon"),
    "no index": ("1 :1", 3, ":1", "no whole number before the colon"),
    "an index too large": (f"1 {2**62 + 1}:1", 3, f"{2**62 + 1}:1", "above 2**62"),
    "an index past int64": ("1 9999999999999999999:1", 3, "9999999999999999999:1", "above 2**62"),
    "an index past uint64": (
        "1 18446744073709551617:1",
        3,
        "18446744073709551617:1",
        "above 2**62",
    ),
    "a repeated index": ("1 2:1 2:1", 7, "2:1", "indices that rise"),
    "a falling index": ("1 2:1 5:1 3:9", 11, "3:9", "indices that rise"),
    "no value": ("1 2: 3:1", 5, "", "not a number"),
    "no value at the end": ("1 2:", 5, "", "not a number"),
    "a word value": ("1 2:b", 5, "b", "not a number"),
    "two colons": ("1 2:3:4", 5, "3:4", "not a number"),
    "an underscore value": ("1 2:1_0", 5, "1_0", "not a number"),
    "a hexadecimal value": ("1 2:0x10", 5, "0x10", "not a number"),
    "half an exponent": ("1 2:1e", 5, "1e", "not a number"),
    "a nan value": ("1 2:NaN", 5, "NaN", "not a finite value"),
    "an infinite value": ("1 2:+inf", 5, "+inf", "not a finite value"),
    "a value out of range": ("1 2:1 3:-1e309", 9, "-1e309", "not a finite value"),
    "a slow fault before another": ("1 2:1e999 3:x", 5, "1e999", "not a finite value"),
    "a fault after a slow label": ("4.9e-324 2:e-", 12, "e-", "not a number"),
    "a fault after a large label": ("9007199254740993 2:x", 20, "x", "not a number"),
    "a null byte": ("1 2:1\0", 5, "1\\x00", "not a number"),
    "a bad query": ("1 qid:x 2:1", 3, "qid:x", "expected qid:"),
    "a late query": ("1 2:1 qid:3", 7, "qid:3", "no whole number before the colon"),
    "a lone return": ("1 2:1\r2 3:1", 6, "", "without a newline"),
}


@pytest.mark.parametrize("chunk", [1, 30, 10**6])
@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_line_is_named(tmp_path, case, chunk):
    line, column, token, says = MALFORMED[case]
    path = write(tmp_path, b"1 1:1\n\n# note\n-1 2:2 # x\n" + line.encode() + b"\n1 1:1\n")
    with pytest.raises(SourceError) as error:
        SvmlightSource(path, chunk=chunk).load()
    message = str(error.value)
    shown = repr(token.encode().decode("unicode_escape"))
    assert message.startswith(f"{path}, line 5, byte {column}: {shown} "), message
    assert says in message
    assert "expected" in message
    assert "\n" not in message


def test_every_way_of_reading_refuses_a_malformed_line(tmp_path):
    path = write(tmp_path, b"1 1:1\n1 3:x\n")
    for ask in ("load", "target", "info"):
        with pytest.raises(SourceError, match="line 2, byte 5"):
            getattr(SvmlightSource(path), ask)()
    for memory in (10**9, 90):
        source = SvmlightSource(path, memory=memory)
        for ask in (lambda s=source: list(s.batches()), lambda s=source: to_columns(s)):
            with pytest.raises(SourceError, match="line 2, byte 5"):
                ask()
    assert os.listdir(tmp_path) == ["data.svm"]


def test_the_base_is_found_or_given(tmp_path):
    zero, one = write(tmp_path, b"1 5:1\n2 0:1 3:1\n", "0"), write(tmp_path, b"1 5:1\n2 1:1\n", "1")
    assert (SvmlightSource(zero).name_base, SvmlightSource(zero).n_columns) == (0, 6)
    assert (SvmlightSource(one).name_base, SvmlightSource(one).n_columns) == (1, 5)
    assert (SvmlightSource(one, True).name_base, SvmlightSource(one, True).n_columns) == (0, 6)
    assert SvmlightSource(one, True).load()[0].indices.tolist() == [5, 1]
    with pytest.raises(SourceError, match=r"line 2, byte 3: '0:1' has index 0 .*zero_based=True"):
        SvmlightSource(zero, False).load()
    assert [b.n_columns for b in SvmlightSource(one, False).batches()] == [None]
    auto = SvmlightSource(one)
    assert [b.n_columns for b in auto.batches()] == [None]  # known after the first pass
    assert [b.n_columns for b in auto.batches()] == [5]


@pytest.mark.parametrize(
    ("line", "base"),
    [
        (b"1 0:1 3:1", 0),
        (b"1\t0:1", 0),
        (b"1 00:1", 0),
        (b"1 001:1", 1),
        (b"0 1:0", 1),
        (b"1 10:1 20:0", 1),
        (b"1 1:1 # 0:1", 1),
    ],
)
def test_index_zero_is_detected_quickly(tmp_path, line, base):
    """The quick check only skips chunks that cannot contain a 0: both agree."""
    text = b"1 7:1\n" * 5 + line + b"\n" + b"1 7:1\n" * 5
    for chunk in (1, 10, 1000):
        path = write(tmp_path, text)
        glanced, counted = (SvmlightSource(path, chunk=chunk) for _ in range(2))
        assert glanced.name_base == base
        assert counted.n_rows == 11  # a pass over all of it
        assert counted.name_base == base


def test_large_indices_are_exact(tmp_path):
    source = SvmlightSource(write(tmp_path, f"1 7:1 {2**62}:2\n".encode()))
    X, _ = source.load()
    assert X.indices.dtype == np.int64
    assert X.indices.tolist() == [6, 2**62 - 1]
    assert source.n_columns == 2**62
    assert dense_rows(source)[1] == [6, 2**62 - 1]
    Y, _ = SvmlightSource(write(tmp_path, f"1 {2**31}:1\n".encode())).load()
    assert Y.shape == (1, 2**31)


ROW = st.tuples(
    st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False)),
    st.dictionaries(
        st.integers(0, 300),
        st.one_of(st.just(1.0), st.floats(allow_nan=False, allow_infinity=False)),
        max_size=6,
    ),
)


@settings(max_examples=60)
@given(st.lists(ROW, min_size=1, max_size=12), st.integers(1, 90), st.integers(1, 5), st.data())
def test_random_files_come_back(tmp_path_factory, rows, chunk, size, data):
    form = data.draw(st.sampled_from(["{!r}", "{:.17g}", "{:.25e}", "{:+.20E}"]))
    sep = data.draw(st.sampled_from([" ", "  ", "\t", " \t"]))
    lines = []
    for label, entries in rows:
        tokens = [form.format(label)] + [f"{i}:{form.format(entries[i])}" for i in sorted(entries)]
        lines.append(
            sep.join(tokens) + data.draw(st.sampled_from(["", " ", "#c 1:1", " # c", "\r"]))
        )
    text = data.draw(st.sampled_from(["", "\n", "# x\n"])) + "\n".join(lines)
    path = write(tmp_path_factory.mktemp("random"), text.encode())
    source = SvmlightSource(path, chunk=chunk)
    all_places = [i for _, entries in rows for i in entries]
    base = 0 if 0 in all_places else 1
    indices = [i - base for _, entries in rows for i in sorted(entries)]
    values = [entries[i] for _, entries in rows for i in sorted(entries)]
    indptr = np.cumsum([0] + [len(entries) for _, entries in rows]).tolist()
    read_back = [float(form.format(v)) for v in values]
    labels = [float(form.format(label)) for label, _ in rows]
    assert dense_rows(source, size) == (indptr, indices, read_back, labels)
    X, y = source.load()
    assert (X.indptr.tolist(), X.indices.tolist(), X.data.tolist()) == (indptr, indices, read_back)
    assert y.astype(float).tolist() == labels
    want = X.toarray()
    for memory in (10**9, 5_000):  # in one run, and for the longer ones in several
        blocks = list(to_columns(SvmlightSource(path, chunk=chunk, memory=memory)).columns(size))
        got = [block.values for block in blocks]
        filled = np.zeros(want.shape)
        for block, part in zip(blocks, got, strict=True):
            for j in range(block.width):
                span = slice(part.indptr[j], part.indptr[j + 1])
                filled[part.indices[span], block.first + j] = part.data[span]
        assert np.array_equal(filled, want)
    assert os.listdir(path.parent) == ["data.svm"]


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("chunk", [1, 40, 10**6])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_rows_are_the_same_for_every_size_chunk_and_thread_count(tmp_path, size, chunk, count):
    path = write(tmp_path, PLAIN)
    want = dense_rows(SvmlightSource(path))
    with threads(count):
        assert dense_rows(SvmlightSource(path, chunk=chunk), size) == want
    blocks = list(SvmlightSource(path, chunk=chunk).batches(size))
    if size is not None:
        assert [b.height for b in blocks[:-1]] == [size] * (len(blocks) - 1)


def test_labels_alone_make_a_matrix_without_columns(tmp_path):
    source = SvmlightSource(write(tmp_path, b"1\n-1\n"))
    X, y = source.load()
    assert X.shape == (2, 0)
    assert y.tolist() == [1, -1]
    assert y.dtype == np.int64
    assert list(to_columns(source).columns()) == []


def test_info(tmp_path):
    path = write(tmp_path, b"1 1:1\n-1 5:2\n1 1:0\n")
    info = SvmlightSource(path).info()
    assert (info.format, info.axis, info.layout) == ("svmlight", "rows", "sparse")
    assert (info.n_rows, info.n_columns, info.stored) == (3, 5, 3)
    assert info.target == "2 classes: -1 (1), 1 (2)"
    assert re.fullmatch("[0-9a-f]{16}", info.fingerprint)
    assert info.details == {"zero_based": False, "bytes": 19, "compression": "none"}
    other = SvmlightSource(write(tmp_path, b"1 1:1\n-1 5:2\n1 1:3\n", "other"))
    assert other.info().fingerprint != info.fingerprint


def test_progress_ends_at_the_size_of_the_file(tmp_path):
    path = write(tmp_path, gzip.compress(PLAIN * 50))
    calls = []
    list(SvmlightSource(path, chunk=100).batches(progress=lambda *call: calls.append(call)))
    size = path.stat().st_size
    assert calls[-1] == ("reading rows", size, size)
    assert all(total == size and 0 <= done <= size for _, done, total in calls)


def test_a_closed_stream_of_columns_leaves_no_files(tmp_path):
    path = write(tmp_path, PLAIN)
    calls = []
    source = SvmlightSource(path, memory=1_000)
    with temporary_columns(source, lambda *call: calls.append(call[0])) as columns:
        next(columns.columns(1))
        assert len(os.listdir(tmp_path)) == 2
    assert "sorting entries by column" in calls
    assert os.listdir(tmp_path) == ["data.svm"]
    columns = to_columns(source)
    assert len(os.listdir(tmp_path)) == 2
    del columns
    assert os.listdir(tmp_path) == ["data.svm"]


@pytest.mark.skipif(not REAL, reason="the shared data is not next to the project")
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_files_match_scikit_learn(path):
    source = SvmlightSource(path, chunk=200_000)
    X, y = source.load()
    want, want_y = load_svmlight_file(str(path))
    assert X.shape == want.shape
    assert np.array_equal(X.indptr, want.indptr)
    assert np.array_equal(X.indices, want.indices)
    assert np.array_equal(y, want_y)
    # scikit-learn reads numbers by strtod of its own build; ours equal Python's float().
    assert np.array_equal(X.data, want.data)
