"""The same log from a real cluster of two worker processes."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.checks.data import assert_same_log, cases
from tamis.core.errors import ClusterError, ParameterError
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.encode.binning import EqualWidthEncoder
from tamis.engine.encoded import EncodedSource, Encoding
from tamis.engine.loop import Scorer
from tamis.engine.workers import cluster as engine_cluster
from tamis.engine.workers import executors, ranges
from tamis.engine.workers.ranges import FIRST, MOST, Pace, Task, in_order, packed, tasks
from tamis.estimators import ColumnEstimator
from tamis.kernels.threads import thread_count
from tamis.sources import base
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from tamis.sources.stores.column_store import ColumnStore
from test_contracts import public

pytest.importorskip("distributed")
sys.path.insert(0, str(Path(__file__).parent))
import worker_troubles


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The hard cases as column stores that every worker can open, sparse and dense in turn."""
    folder = tmp_path_factory.mktemp("stores")
    return {
        case.name: write_store(
            folder / f"{number}.cols",
            MemorySource(sp.csc_matrix(case.X) if number % 2 else case.X, case.y),
        )
        for number, case in enumerate(cases())
    }


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """More columns than the first few blocks hold."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = (rng.random((120, 6_000)) < 0.1).astype(float)
    X[:, ::40] *= rng.random((120, 150)) < 0.5 + 0.5 * y[:, None]
    path = tmp_path_factory.mktemp("wide") / "wide.cols"
    return write_store(path, MemorySource(sp.csc_matrix(X), y))


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("selector", [cls() for cls in public(ColumnEstimator)], ids=repr)
def test_every_selector_decides_the_same_on_two_workers(selector, stores, client):
    for number, case in enumerate(cases()):
        store = stores[case.name]
        expected = tamis.select(store, selector)
        width = (31, 70, 23, 44)[number]
        found = tamis.select(store, selector, cluster=client, width=width)
        assert_same_log(found.log, expected.log, f"{case}, two workers, width {width}")


EXACT = [
    tamis.SAOLA(tamis.MutualInformation(threshold=0.02)),
    tamis.FCBF(),
    tamis.FastOSFS(tamis.GSquared(alpha=0.05)),
    tamis.OSFS(tamis.GSquared(alpha=0.05)),
    tamis.SFSFI(),
    tamis.AlphaInvesting(),
]


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
@pytest.mark.parametrize("selector", EXACT, ids=lambda selector: selector._rule.name)
def test_random_cuts_of_random_streams_with_ties_change_nothing(
    selector, client, monkeypatch, tmp_path
):
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        store = write_store(tmp_path / f"{seed}.cols", _with_ties(rng))
        cuts = np.unique(np.r_[0, rng.integers(0, 80, 9), 80]).tolist()
        cut = [Task(lo, hi) for lo, hi in pairwise(cuts)]
        monkeypatch.setattr(executors, "tasks", lambda *_, cut=cut: iter(cut))
        here = tamis.select(store, selector)
        there = tamis.select(store, selector, cluster=client)
        assert_same_log(there.log, here.log, f"seed {seed}, cut at {cuts}")
        kept += here.log.counts()["kept"]
    assert kept > 6


def _with_ties(rng):
    """Columns of two or three levels, a third of them copies of others or of their complements."""
    y = rng.integers(0, 2, 80)
    wrong = 0.1 + 0.5 * rng.random(80)
    X = np.where(rng.random((80, 80)) < wrong, rng.integers(0, 3, (80, 80)), y[:, None])
    to, of = rng.integers(0, 80, (2, 26))
    X[:, to] = np.where(rng.random(26) < 0.5, X[:, of], 2 - X[:, of])
    X = X.astype(float)
    return MemorySource(sp.csc_matrix(X) if rng.random() < 0.5 else X, y)


@pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")
def test_a_cluster_of_threads_in_this_process_is_accepted(stores):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        before = thread_count()
        for case in cases()[:2]:
            for selector in EXACT:
                here = tamis.select(stores[case.name], selector)
                there = tamis.select(stores[case.name], selector, cluster=client, width=9)
                assert_same_log(there.log, here.log, f"{selector}, {case}")
        assert thread_count() == before


@pytest.fixture(scope="module")
def rising(tmp_path_factory):
    """Columns of increasing relevance, so that many are kept, and many of these are evicted."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    wrong = np.linspace(0.45, 0.2, 900) + 0.1 * rng.random(900)
    hidden = np.where(rng.random((150, 900)) < wrong, 1 - y[:, None], y[:, None])
    tables = {
        "whole": hidden * rng.integers(1, 3, 900),
        "real": hidden + rng.normal(size=(150, 900)),
    }
    found = {}
    for kind, X in tables.items():
        copies = rng.integers(0, 900, (2, 300))
        X[:, copies[0]] = X[:, copies[1]]
        path = tmp_path_factory.mktemp("rising") / f"{kind}.cols"
        found[kind] = write_store(path, MemorySource(X.astype(float), y))
    return found


@pytest.mark.parametrize("bound", ["min", "max"])
@pytest.mark.parametrize("ties", ["kept", "neither"])
@pytest.mark.parametrize(
    ("kind", "measure"),
    [("whole", tamis.MutualInformation(alpha=0.05)), ("real", tamis.FisherZ(alpha=0.05))],
)
def test_workers_foresee_drops_with_an_older_kept_set(
    rising, client, monkeypatch, kind, measure, bound, ties
):
    sent, share = [], engine_cluster._Workers.share
    monkeypatch.setattr(
        engine_cluster._Workers, "share", lambda *args: sent.append(args) or share(*args)
    )
    store, selector = rising[kind], tamis.SAOLA(measure, bound=bound, ties=ties)
    here = tamis.select(store, selector)
    for width in (7, 60):
        sent.clear()
        there = tamis.select(store, selector, cluster=client, width=width)
        assert_same_log(there.log, here.log, f"width {width}")
        assert len(sent) > 3
        if bound == "min":  # else almost nothing is dropped
            assert there.log.counts()["evicted"] > 20
            assert there.work["pair_values"] < here.work["pair_values"]


@pytest.mark.usefixtures("shared_processes")
def test_processes_receive_the_kept_set(rising):
    for kind, store in rising.items():
        here = tamis.select(store, "saola")
        there = tamis.select(store, "saola", cluster="local:2", width=20)
        assert_same_log(there.log, here.log, kind)


@pytest.mark.usefixtures("shared_processes")
def test_a_progress_callback_need_not_be_picklable(rising):
    reported = []
    tamis.select(
        rising["whole"], "saola", cluster="local:2", progress=lambda *args: reported.append(args)
    )
    assert reported


def test_blocks_are_handed_over_where_workers_cannot_read(client):
    case = cases()[0]
    here = tamis.select(case.X, "saola", case.y)
    there = tamis.select(case.X, "saola", case.y, cluster=client, width=11)
    assert_same_log(there.log, here.log, "blocks from memory")


def test_processes_on_this_machine_give_the_same_log(wide):
    here = tamis.select(wide, "saola")
    there = tamis.select(wide, "saola", cluster="local:2")
    assert_same_log(there.log, here.log, "two processes")


def test_an_address_is_accepted(wide, client):
    there = tamis.select(wide, "saola", cluster=client.scheduler.address)
    assert_same_log(there.log, tamis.select(wide, "saola").log, "by address")


def paced(pace, columns, rate):
    """Sizes of tasks as they are submitted, and the most columns under way for those decided.

    A worker does `rate` columns per second.
    """
    left, waiting, sizes, worst = columns, deque(), [], 0.0
    decided = 0
    while left or waiting:
        while left and pace.may_begin(len(waiting)):
            step = pace.step(left)
            pace.gave(step)
            waiting.append(step)
            sizes.append(step)
            left -= step
        if decided > 10**5:
            worst = max(worst, sum(waiting) / decided)
        done = waiting.popleft()
        pace.took(done, done / rate)
        decided += done
    return sizes, worst


@pytest.mark.parametrize(("workers", "rate"), [(1, 1e4), (2, 1e7), (100, 3e4), (100, 1e8)])
def test_tasks_begin_small_and_take_a_second_when_much_is_decided(workers, rate):
    sizes, worst = paced(Pace(workers), 10**8, rate)
    assert sum(sizes) == 10**8
    assert sizes[0] <= FIRST * (workers + 1)
    assert worst < 0.75  # of what is decided is under way
    seconds = max(ranges.SECONDS, ranges.FOR_EACH * workers)
    shared = max(int(ranges.SHORT * seconds * rate), 10**8 // workers)
    longest = min(MOST, int(seconds * rate), shared)
    assert 0.4 * longest <= max(sizes) <= longest
    assert len(sizes) < 10**8 / longest + 40 * (workers + 1)
    assert sizes[-1] <= longest


def test_tasks_that_send_much_are_shorter():
    pace = Pace(2)
    pace.took(10**9, 1e3)
    long = pace.step(10**9)
    assert long == 10**6
    pace.took(10**9, 1e3, 10_000 * ranges.PIECE)
    assert pace.step(10**9) == long // 10


def test_tasks_cover_every_column_and_few_where_all_columns_may_be_sent(wide, monkeypatch):
    for width, start in ((None, 0), (2_500, 0), (None, 777)):
        cut = list(tasks(wide, width, lambda *_: None, start, Pace(2)))
        assert [task.first for task in cut[1:]] == [task.last for task in cut[:-1]]
        assert (cut[0].first, cut[-1].last) == (start, wide.n_columns)
        if width:
            assert [task.last - task.first for task in cut] == [2_500, 2_500, 1_000]
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 800)
    narrow = base.default_width(wide.n_rows, wide.n_columns, wide.stored)
    assert 4 * narrow < FIRST
    pace = Pace(2, may_grow=False)
    pace.took(10**9, 1e3)
    cut = list(tasks(wide, None, lambda *_: None, 0, pace))
    assert max(task.last - task.first for task in cut) == ranges.BLOCKS * narrow
    assert {task.width for task in cut} == {narrow}


def test_a_task_holds_several_narrow_blocks_and_decides_the_same(wide, client, monkeypatch):
    expected = tamis.select(wide, "saola")
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 800)
    narrow = base.default_width(wide.n_rows, wide.n_columns, wide.stored)
    assert narrow < 60
    task = next(tasks(wide, None, lambda *_: None, 0, Pace(2)))
    assert task.width == narrow
    selector = tamis.SAOLA()._to_selector().start(wide.target())
    selector.prepare(wide.columns())
    scorer, read = Scorer(selector, Target.of(wide.target())), []
    monkeypatch.setattr(
        ColumnStore, "read", lambda self, lo, hi, old=ColumnStore.read: (
            read.append((lo, hi)) or old(self, lo, hi)
        )
    )  # fmt: skip
    pieces = task.score(scorer, wide)
    assert len(read) > 2
    assert [(one.first, one.end) for one in pieces] == [(0, task.last)]
    there = tamis.select(wide, "saola", cluster=client)
    assert_same_log(there.log, expected.log, "several blocks a task")


def test_data_sent_to_workers_is_compact(wide):
    selector = tamis.SAOLA()._to_selector().start(wide.target())
    selector.prepare(wide.columns())
    selector.log_.append_bulk(np.zeros(1), 0.0, next(iter(selector.log_.reasons)))
    before = len(packed(selector, wide))
    selector.log_.expected = 10**7
    selector.log_.append_bulk(np.zeros(99), 0.0, next(iter(selector.log_.reasons)))
    assert len(packed(selector, wide)) < before + 2000
    found = pickle.loads(packed(selector, wide))[0].log_
    assert len(found) == 100


@pytest.mark.parametrize("encode", [None, EqualWidthEncoder(3)])
def test_columns_near_each_other_are_read_together(tmp_path, monkeypatch, encode):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 300)).astype(float), rng.integers(0, 2, 40)
    columns = store = write_store(tmp_path / "wide.cols", MemorySource(X, y))
    monkeypatch.setattr(ranges, "default_width", lambda *_: 8 * ranges.NEAR)
    target = Target.of(y)
    selector = tamis.SAOLA("mutual_information")._to_selector()
    if encode is not None:
        columns = EncodedSource(store, Encoding(encode, "auto"), target)
    selector.start(target)
    selector.prepare(columns.columns())
    read, one_read = [], store.read
    monkeypatch.setattr(store, "read", lambda lo, hi: read.append((lo, hi)) or one_read(lo, hi))
    wanted = [3, 7, 8, 13, 40, 299]
    found = ranges.fetching(selector, columns)(wanted)
    together = [(3, 14), (40, 41), (299, 300)]
    if encode is not None:  # neighbours would have to be encoded, too
        together = [(3, 4), (7, 9), (13, 14), *together[1:]]
    assert read == together
    alone = [selector.prepared([next(columns.columns(1, f, f + 1))]) for f in wanted]
    alone = type(found).joined(alone)
    for name, by in found.arrays.items():
        end = None if by is None else getattr(found, by)[-1]
        assert np.array_equal(getattr(found, name)[:end], getattr(alone, name)[:end])
    many = list(range(0, 300, 2))
    monkeypatch.setattr(ranges, "AT_ONCE", 100)
    assert len(ranges.fetching(selector, columns)(many)) == 100


def test_results_are_in_order_and_few_are_in_progress():
    under_way, most = [], 0

    class Promise:
        def __init__(self, value):
            self.value = value
            under_way.append(self)

        def result(self):
            nonlocal most
            most = max(most, len(under_way))
            under_way.remove(self)
            return self.value

        def cancel(self):
            under_way.remove(self)

    told = []
    results = in_order(
        iter(range(100)), Promise, lambda waiting: waiting < 5, lambda *done: told.append(done)
    )
    assert [next(results) for _ in range(10)] == list(range(10))
    results.close()
    assert told == [(i, i) for i in range(10)]
    assert most == 5
    assert under_way == []


@pytest.mark.parametrize("way", ["dask", "local:1"])
def test_a_store_that_a_worker_cannot_see_is_reported(wide, tmp_path, client, monkeypatch, way):
    shutil.copytree(wide.path, tmp_path / "gone.cols")
    store = ColumnStore(tmp_path / "gone.cols")
    monkeypatch.setattr(
        ColumnStore, "__reduce__", lambda self: (ColumnStore, ("/nowhere/gone.cols",))
    )
    with pytest.raises(ClusterError) as caught:
        tamis.select(store, "saola", cluster=client if way == "dask" else way)
    who, what = str(caught.value).split(" cannot open the data ")
    assert who.startswith("the worker tcp://" if way == "dask" else "a worker process")
    assert what == (
        "(/nowhere/gone.cols does not exist; check the path); every worker must see it under the "
        "same path"
    )


def test_another_version_on_a_worker_is_reported(wide, client, monkeypatch):
    newer = engine_cluster.versions() | {"tamis": "99.0"}
    monkeypatch.setattr(engine_cluster, "versions", lambda: newer)
    sentence = (
        rf"the worker tcp://\S+ has tamis {re.escape(tamis.__version__)} where the driver has "
        r"99\.0; install the same version, so that numbers agree to the bit"
    )
    with pytest.raises(ClusterError, match=sentence):
        tamis.select(wide, "saola", cluster=client)
    # A worker that joins later was not checked, and raises the error itself.
    monkeypatch.setattr(engine_cluster, "check_workers", lambda client: None)
    with pytest.raises(ClusterError, match=sentence):
        tamis.select(wide, "saola", cluster=client)


def test_no_scheduler_and_no_count_are_reported(wide, monkeypatch):
    monkeypatch.setattr(engine_cluster, "PATIENCE", 1)
    with pytest.raises(ClusterError, match=r"there is no Dask scheduler at 'tcp://127\.0\.0\.1:1'"):
        tamis.select(wide, "saola", cluster="tcp://127.0.0.1:1")
    with pytest.raises(ParameterError, match="write for example local:2"):
        tamis.select(wide, "saola", cluster="local:two")


# --- where columns are read and encoded ---------------------------------------------------------


def _ranges(folder: Path, what: str) -> dict[int, list[tuple[int, int]]]:
    """Which columns each process has read or encoded, by its number."""
    found = {}
    for path in folder.glob(f"{what}-*"):
        lines = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
        found[int(path.name.split("-")[1])] = lines
    return found


@pytest.mark.parametrize("saved", [True, False])
def test_workers_read_and_encode_not_the_driver(tmp_path, monkeypatch, saved):
    """With an encoder and a cluster, each column is read and encoded by the worker that scores it.

    What is recorded of cuts and missing values is the same as without a cluster.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 700)) + 0.4 * y[:, None] * (np.arange(700) % 50 == 0)
    X[rng.random(X.shape) < 0.01] = np.nan
    names = Names.of(f"gene{j}" for j in range(700))
    write_store(tmp_path / "data.cols", MemorySource(X, y, names=names))
    expected = tamis.select(
        ColumnStore(tmp_path / "data.cols"), "saola", encode=EqualWidthEncoder(4),
        missing="category", keep_state=saved,
    )  # fmt: skip
    monkeypatch.setenv("TAMIS_WITNESS", str(tmp_path))
    encoder = EqualWidthEncoder(4) if saved else worker_troubles.WitnessEncoder(4)
    there = tamis.select(
        worker_troubles.Witness(tmp_path / "data.cols"), "saola", encode=encoder,
        missing="category", keep_state=saved, cluster="local:2", width=50,
    )  # fmt: skip
    assert_same_log(there.log, expected.log, "encoded by workers")
    for fact in ("missing", "encoded"):
        assert there.source[fact] == expected.source[fact]
    assert there.source["missing"]["gaps"] == int(np.isnan(X).sum())
    assert len(there.source["encoded"]) > 1
    read = _ranges(tmp_path, "read")
    here = read.pop(os.getpid(), [])
    by_workers = sorted(r for ranges in read.values() for r in ranges)
    assert by_workers == [(lo, lo + 50) for lo in range(0, 700, 50)]  # each once, by a worker
    if not saved:
        encoded = _ranges(tmp_path, "encode")
        encoded.pop(os.getpid(), None)
        assert sorted(r for ranges in encoded.values() for r in ranges) == by_workers
    else:  # here, the few kept columns are read alone, for the state
        assert {r for r in here if r[1] - r[0] == 1} == {(f, f + 1) for f in there.selector.kept_}


@pytest.mark.parametrize(
    "how", [{}, {"fdr": 0.2}, {"stop": {"features": 9}}, {"keep": ["gene5"]}], ids=str
)
def test_tasks_of_many_named_blocks_decide_and_remember_the_same(
    how, tmp_path, client, monkeypatch
):
    """Names, hashes, gates, features that must stay and early ends, when blocks are joined."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 150)
    wrong = np.linspace(0.45, 0.2, 900) + 0.1 * rng.random(900)
    hidden = np.where(rng.random((150, 900)) < wrong, 1 - y[:, None], y[:, None])
    X = hidden + rng.normal(size=(150, 900))
    X[:, 700] = X[:, 13]
    names = Names.of(f"gene{j}" for j in range(900))
    store = write_store(tmp_path / "named.cols", MemorySource(X, y, names=names))
    expected = tamis.select(store, "saola", keep_state=True, **how)
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 1_500)  # ten columns
    monkeypatch.setattr(ranges, "FIRST", 64)
    there = tamis.select(store, "saola", keep_state=True, cluster=client, **how)
    assert_same_log(there.log, expected.log, str(how))
    assert there.log.counts()["evicted"] > 5 or "stop" in how
    for mine, other in zip(
        there.state.seen.arrays(0, 900).values(), expected.state.seen.arrays(0, 900).values(),
        strict=True,
    ):  # fmt: skip
        assert np.array_equal(mine, other)
    for feature in expected.selector.held_features.tolist():
        for mine, other in zip(
            there.state.columns[feature], expected.state.columns[feature], strict=True
        ):
            assert np.array_equal(mine, other)
