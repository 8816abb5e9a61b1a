"""Arrow's threads hold nothing of Python once a CSV file has been read, so exiting is safe."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.csv
import pytest

from tamis.core.errors import SourceError
from tamis.sources.text import csv_text
from tamis.sources.text.csv_table import open_csv
from waiting import PATIENCE


@pytest.fixture
def texts(monkeypatch):
    """All texts given to Arrow."""
    made = []

    class Kept(csv_text._Lines):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(csv_text, "_Lines", Kept)
    return made


def closed(texts) -> list[bool]:
    """Which texts were let go by Arrow and then closed."""
    return [inspect.getgeneratorstate(t._chunks) == inspect.GEN_CLOSED for t in texts]


def table(path, rows: int):
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(rows)))
    return path


def test_reading_waits_for_a_thread_that_still_holds_the_text(tmp_path, monkeypatch):
    opened, let_go = pyarrow.csv.open_csv, list[bool]()

    def hold(streams):
        time.sleep(0.2)
        let_go.append(True)
        streams.clear()

    def open_and_hold(stream, *options):
        threading.Thread(target=hold, args=([stream],)).start()
        return opened(stream, *options)

    monkeypatch.setattr(pyarrow.csv, "open_csv", open_and_hold)
    source = open_csv(table(tmp_path / "a.csv", 10), "y")  # reads the names and the types
    assert len(let_go) == 1
    assert source.n_rows == 10
    assert len(let_go) == 2


def test_arrow_gets_copies_of_the_bytes(tmp_path, monkeypatch):
    opened, given = pyarrow.csv.open_csv, []
    read = csv_text._Lines.read

    def keep(self, size):
        given.append(read(self, size))
        return given[-1]

    def look(stream, *options):
        block = stream.read_buffer(1 << 20)
        counts = [sys.getrefcount(given[0])]
        text = block.to_pybytes()
        del block
        counts.append(sys.getrefcount(given[0]))
        assert counts[0] == counts[1]  # the block did not refer to it
        return opened(pyarrow.BufferReader(text), *options)

    monkeypatch.setattr(csv_text._Lines, "read", keep)
    monkeypatch.setattr(pyarrow.csv, "open_csv", look)
    open_csv(table(tmp_path / "a.csv", 10), "y")
    assert given


def test_a_stream_that_is_left_early_is_closed(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(csv_text, "_BLOCK", 1 << 10)
    source = open_csv(table(tmp_path / "a.csv", 50_000), "y")
    batches = source.original(["a", "b"])
    assert next(batches).num_rows < 1_000
    assert closed(texts) == [True, False]
    batches.close()
    assert closed(texts) == [True, True]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a,y\n1,2\n\0,3\n", "line 3 holds a NUL byte"),
        (b"a,y\n" + b"1,2\n" * 900_000 + b"\0,3\n", "line 900002 holds a NUL byte"),
        (b"a,y\n" + b"1,2\n" * 900_000 + b"5\n", "line 900002 has 1 value where"),
        (b"a,y\n1,2\n5\n", "line 3 has 1 value where"),
        (b"a,y\n1,2\n\0,3\n", "holds a NUL byte"),
    ],
)
def test_a_refused_text_is_closed(tmp_path, texts, text, says):
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    with pytest.raises(SourceError, match=says):
        open_csv(path, "y", categorical="a").load()
    assert texts
    assert all(closed(texts))


def test_the_interpreter_exits_while_a_file_is_being_read(tmp_path):
    table(tmp_path / "a.csv", 20_000)
    program = """
import time
from tamis.sources.text import csv_text
from tamis.sources.text.csv_table import open_csv

csv_text._BLOCK = 1 << 10
source = open_csv("a.csv", "y")
read = csv_text._Lines.read
csv_text._Lines.read = lambda self, size: (time.sleep(0.1), read(self, size))[1]
batches = source.original(["a", "b"])
print(next(batches).num_rows > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, timeout=PATIENCE, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_arrow_lets_go_of_a_text_without_running_python():
    """Arrow cannot pass on an exception there, so Ctrl-C would be lost."""
    stream = pa.BufferedInputStream(pa.PythonFile(csv_text._Held(lambda n: b""), "r"), 64)
    called = []
    sys.setprofile(lambda frame, event, arg: event == "call" and called.append(frame.f_code))
    try:
        stream = None
    finally:
        sys.setprofile(None)
    assert stream is None
    assert called == []
