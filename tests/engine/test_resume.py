"""A selection whose driver dies resumes after its last commit, to the same log."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from living import committed

import tamis
from command_line import CommandLine
from tamis import Selection
from tamis.checks.data import assert_same_log, cases
from tamis.core.errors import InputError, OutputError, ParameterError, SourceError
from tamis.engine.persistent.resuming import begin, refuse_unfinished, resume
from tamis.engine.persistent.saved_selection import (
    left_to_do,
    read_history,
    read_saved,
    repeats_of,
)
from tamis.engine.persistent.selection_state import can_be_saved
from tamis.engine.runs import open_run
from tamis.methods import BY_METHOD
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

METHODS = sorted(name for name, kind in BY_METHOD.items() if can_be_saved(kind().to_selector()))


class DiedError(Exception):
    """Simulates the end of the process."""


def dies_after(calls):
    """Return a callback that ends the run after `calls` calls."""
    left = calls

    def report(what, done, total):
        nonlocal left
        left -= 1
        if left == 0:
            raise DiedError

    return report


def until_done(folder, calls=4, **how):
    """Resume until the end, dying every few reports; return the run and the number of deaths."""
    deaths = 0
    while True:
        try:
            return resume(folder, every=1e-9, progress=dies_after(calls + deaths), **how), deaths
        except DiedError:
            deaths += 1


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return [
        write_store(
            folder / f"{n}.cols", MemorySource(sp.csc_matrix(case.X) if n % 2 else case.X, case.y)
        )
        for n, case in enumerate(cases())
    ]


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_stream_selector_dies_and_resumes(method, stores, tmp_path):
    for n, store in enumerate(stores):
        expected = tamis.select(store, method)
        begin(tmp_path / str(n), store, BY_METHOD[method](), name="data")
        run, deaths = until_done(tmp_path / str(n), width=7, n_jobs=1)
        assert deaths > 1
        assert_same_log(run.log, expected.log, f"{method}, store {n}, {deaths} deaths")
        assert_same_log(open_run(tmp_path / str(n)).log, expected.log, "as it was written")


def test_columns_that_must_be_read_from_the_start(tmp_path):
    """Not every source can read a column without those before it; blocks are cut then."""
    case = cases()[1]
    np.savez(tmp_path / "X.npz", **_csc(case.X))
    np.save(tmp_path / "X.y.npy", case.y)
    source = open_source(tmp_path / "X.npz")
    assert not source.portable
    begin(tmp_path / "run", source, BY_METHOD["saola"](), name="X.npz")
    with pytest.raises(DiedError):
        resume(tmp_path / "run", width=10, every=1e-9, progress=dies_after(4), n_jobs=1)
    assert Selection.open(tmp_path / "run").status()["features"] > 0
    run = resume(tmp_path / "run", width=7)
    assert_same_log(run.log, tamis.select(source, "saola").log, "from a matrix file")
    left = [(b.first, b.width) for b in source.columns(10, 13)]
    assert left[0] == (13, 10)
    assert sum(width for _, width in left) == source.n_columns - 13


def _csc(X):
    matrix = sp.csc_matrix(X)
    return {
        "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
        "shape": np.array(matrix.shape), "format": np.array(b"csc"),
    }  # fmt: skip


def test_a_cluster_resumes_where_a_process_stopped_and_vice_versa(stores, tmp_path, client):
    expected = tamis.select(stores[1], "saola")
    begin(tmp_path / "run", stores[1], BY_METHOD["saola"](), name="data")
    with pytest.raises(DiedError):
        resume(tmp_path / "run", cluster=client, width=9, every=1e-9, progress=dies_after(5))
    half = Selection.open(tmp_path / "run").status()
    assert 0 < half["features"] < stores[1].n_columns
    assert half["unfinished"] == [f"data after {half['features']} columns"]
    with pytest.raises(DiedError):
        resume(tmp_path / "run", width=9, every=1e-9, progress=dies_after(3), n_jobs=1)
    run = resume(tmp_path / "run", cluster=client)
    assert_same_log(run.log, expected.log, "here and there")
    # What is kept can be fed on, so its values were fetched.
    fed = Selection.open(tmp_path / "run").feed(cases()[1].y, allow_target=True)
    assert "1 column taken" in str(fed)


def test_a_killed_driver_is_resumed(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 100)
    X = (rng.random((100, 10_000)) < 0.2).astype(float)
    X[:, ::40] *= rng.random((100, 250)) < 0.5 + 0.5 * y[:, None]
    store = write_store(tmp_path / "wide.cols", MemorySource(sp.csc_matrix(X), y))
    out, command = tmp_path / "run", CommandLine(capsys, monkeypatch)
    monkeypatch.chdir(tmp_path)
    arguments = ["select", "wide.cols", "--out", "run", "--checkpoint", "0.01", "--width", "20"]
    driver = subprocess.Popen([sys.executable, "-m", "tamis", *arguments, "--quiet"])
    try:
        while driver.poll() is None:
            if committed(out) > 4:
                break
            time.sleep(0.005)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert driver.returncode == -signal.SIGKILL
    last = Selection.open(out).history[-1]
    assert 0 < last["columns"] < 10_000
    assert last["done"] is False
    assert command(*arguments).one_sentence() == (
        "run holds a run that is not finished; resume it: tamis resume run; or choose "
        "another folder, or use --force"
    )
    done = command("resume", out)
    assert done.code == 0
    assert f"resuming after column {last['columns']:,} of wide.cols" in done.err
    assert_same_log(open_run(out).log, tamis.select(store, "sieve").log, "after kill -9")


# --- messages ----------------------------------------------------------------------------------


def test_runs_that_cannot_be_resumed_are_reported(stores, tmp_path):
    with pytest.raises(ParameterError, match=r"fcbf decides when it has seen every column"):
        begin(tmp_path / "run", stores[0], BY_METHOD["fcbf"]())
    with pytest.raises(InputError, match="only columns in a file or a folder"):
        begin(tmp_path / "run", MemorySource(cases()[0].X, cases()[0].y), BY_METHOD["saola"]())
    Selection.create(tmp_path / "fed", cases()[0].y)
    with pytest.raises(SourceError, match="was not begun by tamis select --checkpoint"):
        resume(tmp_path / "fed")


def test_a_finished_run_is_reported(stores, tmp_path):
    begin(tmp_path / "run", stores[0], BY_METHOD["saola"](), name="data")
    with pytest.raises(OutputError, match="holds a run that is not finished"):
        refuse_unfinished(tmp_path / "run")
    first, messages = resume(tmp_path / "run"), []
    again = resume(tmp_path / "run", say=messages.append)
    assert messages == [f"{tmp_path / 'run'} is finished; nothing is left to do"]
    assert_same_log(again.log, first.log, "resumed when finished")
    Selection.create(tmp_path / "fed", cases()[0].y)
    for other in ("run", "fed", "nowhere"):
        refuse_unfinished(tmp_path / other)


def test_other_data_and_other_columns_are_refused(stores, tmp_path, monkeypatch):
    shutil.copytree(stores[0].path, tmp_path / "data.cols")
    begin(tmp_path / "run", open_source(tmp_path / "data.cols"), BY_METHOD["saola"](), name="data")
    shutil.rmtree(tmp_path / "data.cols")
    with pytest.raises(SourceError, match=r"data\.cols"):
        resume(tmp_path / "run")
    shutil.copytree(stores[1].path, tmp_path / "data.cols")
    with pytest.raises(SourceError, match="is not what it was when"):
        resume(tmp_path / "run")
    shutil.rmtree(tmp_path / "data.cols")
    shutil.copytree(stores[0].path, tmp_path / "data.cols")
    more = np.arange(stores[0].n_rows) % 2
    with pytest.raises(InputError) as caught:
        Selection.open(tmp_path / "run").feed(more)
    assert str(caught.value) == (
        f"{tmp_path / 'run'} holds a run that is not finished; resume it first: tamis resume "
        f"{tmp_path / 'run'}"
    )
    assert Selection.open(tmp_path / "run").status()["must_be_resumed"]
    selection = Selection.open(tmp_path / "run")
    selection._state.left_to_do = str  # what it takes to feed it all the same
    selection.feed(more)
    with pytest.raises(SourceError, match="holds columns of something else"):
        resume(tmp_path / "run")


def test_what_is_left_to_do_is_found_without_reading_the_log(stores, tmp_path, monkeypatch):
    """The log of a billion columns takes gigabytes; the history is a few lines."""
    begin(tmp_path / "run", stores[0], "saola")
    before = read_history(tmp_path / "run")
    resume(tmp_path / "run")
    saved = read_saved(tmp_path / "run")

    def refuse(*_, **__):
        raise AssertionError("the log was read")

    monkeypatch.setattr("tamis.engine.persistent.saved_selection.read_log", refuse)
    assert left_to_do(before) == "columns"
    history = read_history(tmp_path / "run")
    assert history == saved.history
    assert (left_to_do(history), repeats_of(history)) == ("", {})
    refuse_unfinished(tmp_path / "run")
