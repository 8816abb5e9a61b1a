"""select(): the same answer for every width, thread count and kind of data, and a full record."""

from __future__ import annotations

import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_digits

import tamis
from tamis import SAOLA
from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError
from tamis.engine.runs import save_run
from tamis.engine.selecting import select
from tamis.kernels.threads import thread_count
from tamis.measures import FisherZ, MutualInformation
from tamis.methods.measured import MeasuredStream
from tamis.methods.selector import FeatureStreamSelector
from tamis.methods.streaming.saola import SAOLARule
from tamis.report.html_page import as_html as html_of
from tamis.report.run_page import page_of_run
from tamis.sources import axis, open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

N_ROWS, N_COLUMNS = 200, 150


@pytest.fixture(scope="module")
def table():
    """Rare flags, some that follow the class and copies of them: every verdict occurs."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, N_ROWS)
    X = (rng.random((N_ROWS, N_COLUMNS)) < 0.1).astype(float)
    for k in range(0, N_COLUMNS, 5):
        like = X[:, k - 10] if k % 10 == 0 and k else X[:, k]
        X[:, k] = np.where(rng.random(N_ROWS) < 0.1 + 0.3 * rng.random(), y, like)
    X[:, 7] = 0.0
    return X, y


def events_of(log):
    """Every decision, exactly: the repr of a float is the float, and NaN equals NaN."""
    return [repr(event) for event in log.events()]


def facts_of(run):
    """All facts of a run about its features."""
    log = run.log
    return [log.why(k) for k in range(len(log))], run.kept_rows(), events_of(log)


def test_the_table_produces_every_verdict(table):
    assert min(select(table[0], "saola", table[1]).log.counts().values()) >= 3


@pytest.mark.parametrize("measure", ["mutual_information", FisherZ(alpha=0.01)])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("width", [1, 7, 64, N_COLUMNS, 10 * N_COLUMNS])
def test_the_log_is_the_same_for_every_width_and_thread_count(table, measure, n_jobs, width):
    X, y = table
    plain = SAOLA(measure)._to_selector().run(MemorySource(X), y, width=N_COLUMNS)
    run = select(sp.csc_matrix(X), SAOLA(measure), y, width=width, n_jobs=n_jobs)
    assert events_of(run.log) == events_of(plain.log_)
    assert [run.why(k) for k in range(N_COLUMNS)] == [plain.log_.why(k) for k in range(N_COLUMNS)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_thread_means_no_extra_thread_and_two_mean_one_that_prefetches(table, n_jobs):
    names = set()

    class Watched(MeasuredStream):
        def score(self, block):
            names.add(threading.current_thread().name)
            return super().score(block)

    select(table[0], Watched(SAOLARule()), table[1], n_jobs=n_jobs, width=10)
    assert names == ({threading.current_thread().name} if n_jobs == 1 else {"tamis-ahead_0"})


def test_the_thread_count_holds_for_the_call_only(table):
    before = thread_count()
    select(table[0], "saola", table[1], n_jobs=before + 3)
    assert thread_count() == before


@pytest.mark.parametrize(
    "turn",
    [
        np.asfortranarray,
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.float32),
        sp.csr_matrix,
        sp.coo_array,
        lambda X: pd.DataFrame(X, columns=[f"x{k}" for k in range(N_COLUMNS)]),
        lambda X: pl.DataFrame(X, schema=[f"x{k}" for k in range(N_COLUMNS)]),
        lambda X: pl.DataFrame(X, schema=[f"x{k}" for k in range(N_COLUMNS)]).to_arrow(),
    ],
    ids=["fortran", "int8", "float32", "csr", "coo", "pandas", "polars", "arrow"],
)
def test_arrays_and_frames_give_the_same_features_and_sentences(table, turn):
    X, y = table
    assert facts_of(select(turn(X), "saola", y)) == facts_of(select(X, "saola", y))


def test_files_give_the_same_features_and_sentences(table, tmp_path):
    X, y = table
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=True)
    sp.save_npz(tmp_path / "t.npz", sp.csr_matrix(X))
    np.save(tmp_path / "t.y.npy", y)
    write_store(tmp_path / "t.cols", tamis.open(tmp_path / "t.svm", zero_based=True))
    wanted = facts_of(select(X, "saola", y))
    npz = select(tmp_path / "t.npz", "saola")
    assert facts_of(npz) == wanted
    # Names of svmlight columns are their numbers in the file; the sentences are otherwise equal.
    rows = select(str(tmp_path / "t.svm"), "saola")
    assert facts_of(rows) == facts_of(select(tmp_path / "t.cols", "saola"))
    assert [row["feature"] for row in rows.kept_rows()] == [row["feature"] for row in wanted[1]]
    assert events_of(rows.log) == wanted[2]


def test_names_of_frames_are_in_the_sentences(table):
    X, y = table
    names = [f"gene {k}" for k in range(N_COLUMNS)]
    run = select(pd.DataFrame(X, columns=names), "saola", y)
    plain = select(X, "saola", y)
    assert run.kept_names == [f"gene {r['feature']}" for r in plain.kept_rows()]
    assert run.why("gene 7").startswith("gene 7 was dropped as irrelevant")


def test_a_given_target_overrides_the_one_in_the_data(table, tmp_path):
    X, y = table
    sp.save_npz(tmp_path / "t.npz", sp.csc_matrix(X))
    np.save(tmp_path / "t.y.npy", y)
    other = np.roll(y, 1)
    assert facts_of(select(tmp_path / "t.npz", "saola", other)) == facts_of(
        select(X, "saola", other)
    )


def test_data_without_a_target_is_refused_in_one_sentence(table):
    with pytest.raises(InputError, match=r"^the data has no target; give one with y=$"):
        select(table[0])


def test_a_file_without_a_target_shows_how_to_open_it_with_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,b\n1,0\n0,1\n")
    with pytest.raises(InputError) as message:
        select("x.csv")
    assert str(message.value) == (
        "x.csv has no target; name the column to predict with --target, in Python "
        "tamis.open('x.csv', target=...); it has 'a', 'b'"
    )


def test_the_repr_of_a_run_is_one_line(table):
    X, y = table
    run = select(X, "saola", y)
    counts = ", ".join(f"{n} {word}" for word, n in run.log.counts().items() if n)
    assert repr(run) == f"<Run of saola, {X.shape[1]} features: {counts}>"
    run.source["name"] = "t.npz"
    assert repr(run).startswith("<Run of saola on t.npz, ")


@pytest.mark.parametrize(("y", "shown"), [([7] * N_ROWS, "7"), (["a"] * N_ROWS, "a")])
def test_a_target_with_one_value_is_refused(table, y, shown):
    with pytest.raises(InputError, match=rf"^the target is {shown} in every row, so no feature"):
        select(table[0], "saola", y)


@pytest.mark.parametrize(
    ("y", "description"),
    [
        (["ham", "spam"] * (N_ROWS // 2), "2 classes: ham (100), spam (100)"),
        (np.arange(N_ROWS) / 8, "numbers from 0 to 24.875"),
    ],
)
def test_the_record_describes_the_target_given(table, y, description):
    assert select(table[0], "saola", y).source["target"] == description


def test_a_target_of_another_length_is_refused(table):
    with pytest.raises(InputError, match=r"200 rows but the target has 199"):
        select(table[0], "saola", table[1][1:])


def test_an_unknown_method_is_refused_and_the_known_ones_named(table):
    with pytest.raises(
        ParameterError, match=r"method 'colander' is not known; give one of .*saola"
    ):
        select(table[0], "colander", table[1])


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SourceError, match=r"nothing\.svm does not exist"):
        select(tmp_path / "nothing.svm")


@pytest.mark.parametrize("parameter", ["width", "n_jobs"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "8", True])
def test_invalid_widths_and_thread_counts_are_refused(table, parameter, value):
    with pytest.raises(ParameterError, match=rf"^select: {parameter}={value!r} is not a whole"):
        select(table[0], "saola", table[1], **{parameter: value})


def test_the_given_selector_is_not_changed(table):
    given = SAOLA(bound="max")
    run = select(table[0], given, table[1])
    assert not hasattr(given, "log_")
    assert run.selector is not given
    assert run.selector.kept_.tolist() == [row["feature"] for row in run.kept_rows()]


def test_a_run_records_its_parameters_data_and_cost(table):
    X, y = table
    run = select(X, SAOLA(MutualInformation(alpha=0.05), bound="max"), y, command="tamis test")
    assert run.method == "saola"
    assert run.parameters["bound"] == "'max'"
    assert run.parameters["measure"] == run.measure == repr(MutualInformation(alpha=0.05))
    assert run.measure_reason == "it was given"
    assert run.source["n_rows"] == N_ROWS
    assert run.source["n_columns"] == N_COLUMNS
    assert run.source["target"].startswith("2 classes: 0 (")
    assert len(run.source["fingerprint"]) == 16
    assert run.work["features"] == N_COLUMNS
    relevant = run.log.counts()
    assert run.work["relevant"] == N_COLUMNS - relevant["irrelevant"]
    assert run.work["pair_values"] > 0
    assert set(run.seconds) == {"select", "fingerprint"}
    assert run.versions["tamis"] == tamis.__version__
    assert run.versions["python"] == sys.version.split()[0]
    assert run.peak_megabytes > 10
    assert run.command == "tamis test"


def test_the_reason_for_a_picked_measure_is_recorded(table):
    run = select(table[0], "saola", table[1])
    assert run.parameters["measure"] == "'auto'"
    assert run.measure.startswith("MutualInformation(")
    assert "whole number" in run.measure_reason


def test_another_value_gives_another_fingerprint(table):
    X, y = table
    other = X.copy()
    other[0, 0] = 1 - other[0, 0]
    prints = {select(data, "saola", y).source["fingerprint"] for data in (X, other, X.copy())}
    assert len(prints) == 2


def test_progress_is_reported_up_to_the_end(table):
    seen = []
    select(table[0], "saola", table[1], width=40, progress=lambda *args: seen.append(args))
    assert [done for what, done, _ in seen if what == "reading columns"] == [40, 80, 120, 150]
    assert [done for what, done, _ in seen if what == "selecting features"][-1] == N_COLUMNS
    assert {total for *_, total in seen} == {N_COLUMNS}


def test_the_end_is_reported_once():
    """The rule settles the last column, and then the loop is done with it."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (100, 17)), np.arange(100) % 2
    X[:, 16] = y
    seen = []
    select(X, "sieve", y, progress=lambda *args: seen.append(args))
    assert seen.count(("selecting features", 17, 17)) == 1


@pytest.mark.parametrize(("kind", "where"), [(MeasuredStream, "_take"), (MeasuredStream, "score")])
def test_an_exception_leaves_no_thread(table, kind, where, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, where, fail)
    with pytest.raises(KeyboardInterrupt) as caught:  # held on to: nothing is collected meanwhile
        select(table[0], "saola", table[1], width=3, n_jobs=2)
    assert caught.tb is not None
    assert not any(t.name.startswith("tamis-ahead") for t in threading.enumerate())


def test_a_selector_keeps_its_parameters():
    chosen = tamis.SAOLA(bound="max")._to_selector()
    assert isinstance(chosen, FeatureStreamSelector)
    assert chosen.rule.bound == "max"


def test_kept_features_have_the_relevance_in_the_log(table):
    run = select(table[0], "saola", table[1])
    assert len(run.kept_rows()) > 3
    for row in run.kept_rows():
        assert row["relevance"] == run.log.relevance_of(row["feature"])
        assert row["arrival"] == row["feature"]


@pytest.mark.parametrize("memory", [1_000_000, 2_000_000_000])
def test_a_file_of_rows_is_turned_into_columns_once_and_nothing_is_left(
    tmp_path, monkeypatch, memory
) -> None:
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "digits.svm"), zero_based=False)
    made = []
    write = axis.write_store
    monkeypatch.setattr(axis, "write_store", lambda *a, **k: made.append(1) or write(*a, **k))

    run = select(open_source(tmp_path / "digits.svm", memory=memory), "saola")

    assert run.log.replay() == SAOLA().fit(X, y).kept_.tolist()
    assert made == ([1] if memory == 1_000_000 else [])  # in memory where it fits
    assert [p.name for p in tmp_path.iterdir()] == ["digits.svm"]


def test_a_parameter_of_a_method_is_given_to_the_method():
    X, y = np.eye(6), [0, 1] * 3
    cases = [
        ("sieve", {"n_features": 3}, r"the selector tamis\.Sieve\(n_features=3\)$"),
        (tamis.MRMR(), {"n_features": 3}, r"the selector tamis\.MRMR\(n_features=3\)$"),
        ("saola", {"n_features": 3}, r"of other methods; .* such as tamis\.Sieve\(n_features=3\)"),
        (y, {"n_features": 3}, r"data \(list\) is not a method"),
        ("sieve", {"target": "died"}, "the target is called y"),
    ]
    for selector, more, sentence in cases:
        with pytest.raises(ParameterError, match=sentence):
            tamis.select(X, selector, y, **more)
    with pytest.raises(TypeError, match="unexpected keyword argument 'targets'"):
        tamis.select(X, "sieve", y, targets="died")


def test_parameters_may_follow_the_name_of_a_method(table):
    X, y = table
    run = select(X, "sieve:n_features=3", y)
    assert run.kept_names == select(X, tamis.Sieve(n_features=3), y).kept_names
    assert run.log.counts()["kept"] == 3
    with pytest.raises(ParameterError, match="no parameter 'n_featurs'; did you mean 'n_features'"):
        select(X, "sieve:n_featurs=3", y)
    with pytest.raises(ParameterError, match="give encode='mdlp' apart from the method"):
        select(X, "saola:encode=mdlp", y)


def test_a_run_with_its_state_is_saved_to_two_folders(table, tmp_path):
    X, y = table
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    run = select(X.iloc[:, :100], "sieve", y, keep_state=True)
    for folder in ("a", "b"):
        save_run(run, tmp_path / folder)
    assert (tmp_path / "a/log.parquet").read_bytes() == (tmp_path / "b/log.parquet").read_bytes()
    fed = []
    for folder in ("a", "b"):
        selection = tamis.Selection.open(tmp_path / folder)
        selection.feed(X.iloc[:, 100:])
        fed.append([selection.why(name) for name in X.columns])
    whole = select(X, "sieve", y)
    assert fed[0] == fed[1] == [whole.why(name) for name in X.columns]


def test_a_column_that_says_too_much_is_in_the_record_and_its_report(table, tmp_path):
    X, _ = table
    price = np.random.default_rng(0).normal(size=N_ROWS) * 1e5
    data = pd.DataFrame(X[:, :5], columns=list("abcde")).assign(usd=1.1 * price, price2=price)
    with pytest.warns(DataWarning, match="equals the target") as caught:
        run = select(data, y=price)
    (sentence,) = (str(one.message) for one in caught)
    assert sentence == (
        "the column 'price2' equals the target in every row; if it is the target, select again "
        "without it (--ignore price2 --ignore usd); 'usd' says nearly as much about it"
    )
    save_run(run, tmp_path / "run")
    assert f"T{sentence[1:]}." in tamis.open_run(tmp_path / "run").notes
    html = html_of(page_of_run(tamis.open_run(tmp_path / "run")))
    assert "The column 'price2' equals the target in every row" in html


@pytest.mark.parametrize("method", ["sieve", "saola"])
def test_two_classes_under_other_codes_are_a_leak(method):
    """As 0 for 1, or as two numbers; with more classes a measure cannot tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = np.c_[rng.normal(size=80), np.where(y, -1.5, 20.25), y + rng.normal(size=80)]
    with pytest.warns(DataWarning, match="the column 'x1' says nearly everything about the targ"):
        tamis.select(X, method, y=y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tamis.select(X[:, [0, 2]], method, y=y)
