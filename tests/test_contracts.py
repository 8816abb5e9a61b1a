"""Runs every check on everything public: a new selector, measure or source is included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from pyarrow import feather
from sklearn.datasets import dump_svmlight_file
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis
from source_makers import OTHER_MAKERS
from tamis.checks import checks_of
from tamis.estimators import ColumnEstimator, estimator_of
from tamis.estimators.online import OnlineEstimator
from tamis.measures.adjusted_shape import AdjustedShape
from tamis.measures.complete_pairs import CompletePairs
from tamis.measures.measure import Measure
from tamis.measures.pairwise_deletion import PairwiseDeletion
from tamis.methods import BY_METHOD
from tamis.sources import FORMATS, MemorySource, Source, open_source
from tamis.sources.arrays.synthetic import SparseStream
from tamis.sources.axis import to_rows, write_rows, write_store


def public(kind: type) -> Iterator[type]:
    """Every public class of a kind."""
    for name in tamis.__all__:
        thing = getattr(tamis, name)
        if isinstance(thing, type) and issubclass(thing, kind):
            yield thing


SELECTORS = [cls() for cls in public(ColumnEstimator)]
# Settings that change the rule are tested as separate selectors.
SELECTORS += [
    tamis.SAOLA(bound="max"),
    tamis.SAOLA(ties="neither"),
    tamis.SAOLA(variant="program"),
    tamis.SAOLA(tamis.SymmetricUncertainty()),
    tamis.SAOLA(tamis.MutualInformation(threshold=0.0)),
    tamis.SAOLA(tamis.FisherZ(alpha=0.1, classes="numeric")),
    tamis.SAOLA("any_shape"),
    tamis.SAOLA(order="free"),
    tamis.SAOLA("any_shape", order="free", bound="max"),
    tamis.SAOLA(order="free", ties="neither"),
    tamis.SAOLA(order="free", variant="program"),
    tamis.FastOSFS(order="free"),
    tamis.OSFS(tamis.FisherZ(alpha=0.05), order="free"),
    tamis.Sieve(n_features=3, order="free"),
    tamis.SAOLA(fdr=0.1),
    tamis.SAOLA("any_shape", fdr=0.2, gate="lond", bound="max"),
    tamis.Sieve(fdr=0.2, n_features=3),
    tamis.OSFS(fdr=0.2),
    tamis.FastOSFS(fdr=0.1, gate="lond-any"),
    tamis.GroupSAOLA(fdr=0.3),
    tamis.FCBF(fdr=0.2, measure="fisher_z"),
    tamis.MRMR(n_features=3, fdr=0.2, gate="by"),
    tamis.CFS(fdr=0.2, gate="lord++"),
    tamis.HITONPC(fdr=0.1),
    tamis.GroupSAOLA(variant="program"),
    tamis.SFSFI(gain="mean"),
    tamis.SFSFI(variant="program"),
    tamis.SFSFI(tamis.MutualInformation(), correction="miller-madow"),
    tamis.SFSFI(tamis.SymmetricUncertainty(alpha=0.05), correction="significant"),
    tamis.SFSFI(tamis.SymmetricUncertainty(), variant="program"),
    tamis.AlphaInvesting(variant="program"),
    tamis.Grafting(0.02),
    tamis.Grafting(0.05, l2=0.1, scale="none"),
    tamis.OSFS(unreliable="skip"),
    tamis.SAOLA(shadows=2),
    tamis.GroupSAOLA(shadows=2),
    tamis.FastOSFS(shadows=2),
    tamis.Sieve(shadows=2),
    tamis.Sieve(AdjustedShape(alpha=0.05), n_features=3),
    tamis.SAOLA(AdjustedShape(), order="free"),
    tamis.OSFS(tamis.FisherZ(alpha=0.1, classes="numeric"), max_conditioning=1),
    tamis.FastOSFS(unreliable="dependent", max_conditioning=2),
    tamis.FastOSFS(max_tests=40),
    tamis.FastOSFS(blanket="full"),
    tamis.OSFS(tamis.FisherZ(alpha=0.05), blanket="full", max_conditioning=1),
    tamis.FastOSFS(tamis.GSquared(alpha=0.05, statistic="pearson", degrees="spirtes")),
    tamis.OFSA3M(random_state=1),
    tamis.OFSA3M(variant="program"),
    tamis.OFSDensity(0.2, order="natural"),
    tamis.OFSDensity(variant="program"),
    tamis.Sieve(n_features=3),
    tamis.Sieve("auto", n_features=2, alpha=0.95),
    tamis.Sieve(n_features=None),
    tamis.Sieve(n_features=4, redundancy=0.5, alpha=0.5),
    tamis.SAOLA(PairwiseDeletion(tamis.MutualInformation(alpha=0.01))),
    tamis.SAOLA(CompletePairs(tamis.FisherZ())),
    tamis.FCBF(measure=CompletePairs(tamis.FisherZ(alpha=0.1, classes="numeric"))),
    tamis.FCBF(measure="auto"),
    tamis.FCBF(threshold=0.05, measure="fisher_z"),
    tamis.FCBF(measure=tamis.SymmetricUncertainty(alpha=0.01)),
    tamis.MRMR(n_features=3, criterion="quotient", measure="auto"),
    tamis.MRMR(n_features=1, measure=tamis.FisherZ(alpha=0.1)),
    tamis.MRMR(n_features=4, measure="any_shape"),
    tamis.FCBF(threshold=0.1, measure=tamis.AnyShape(alpha=0.05)),
    tamis.ReliefF(5, n_neighbors=3, n_samples=40, values="discrete"),
    tamis.RandomFeatures(200, random_state=9),
    tamis.CFS(search="forward", measure="auto"),
    tamis.CFS(stale=2, measure="fisher_z"),
    tamis.L1SVM(n_features=5, scale="none"),
    tamis.Consistency(max_rate=0.2),
    tamis.HITONPC(tamis.FisherZ(alpha=0.05), max_conditioning=2, unreliable="skip"),
    tamis.HITONPC("g_squared", unreliable="dependent", max_conditioning=1),
    tamis.HITONPC(blanket="full", max_tests=200),
]
MEASURES = [cls() for cls in public(Measure)] + [
    tamis.MutualInformation(alpha=0.01),
    tamis.SymmetricUncertainty(alpha=0.01),
    tamis.FisherZ(classes="numeric"),
    tamis.AnyShape(alpha=0.1),
    AdjustedShape(),
    PairwiseDeletion(tamis.SymmetricUncertainty(alpha=0.01)),
    CompletePairs(tamis.FisherZ()),
    tamis.GSquared(statistic="pearson"),
    tamis.GSquared(degrees="spirtes"),
    tamis.GSquared(degrees="observed"),
]
LEARNERS = [cls() for cls in public(OnlineEstimator)] + [
    tamis.PET(5, eta=0.5),
    tamis.PET(7, multiclass="uniform", passes=2),
    tamis.FOFS(5, lam=0.1),
    tamis.FOFS(7, multiclass="uniform", normalize=True),
    tamis.RowSieve(5, gamma=0.1),
    tamis.RowSieve(7, multiclass="uniform", passes=2, floor=0.01),
    tamis.RowSieve(9, n_bits=6, advantage=1),
    tamis.MergedRowSieve(6, shards=3),
    tamis.RowSieve("auto", sizes=(1, 3, 8, 20)),
    tamis.SOFS(5, gamma=0.1),
    tamis.SOFS(7, multiclass="uniform", passes=2),
    tamis.SOFS(9, n_bits=6),
    tamis.MergedSOFS(6, shards=3),
    tamis.SOFS("auto", sizes=(1, 3, 8, 20)),
    tamis.PET("auto", sizes=(2, 5), multiclass="uniform", passes=2),
    tamis.FOFS("auto"),
    tamis.OGD(decay="none", multiclass="uniform"),
    tamis.AROW(gamma=0.1, multiclass="uniform", normalize=True),
    tamis.RowSieveRegressor(7, passes=2, floor=0.01),
    tamis.RowSieveRegressor(5, loss="epsilon_insensitive", n_bits=6),
    tamis.RowSieveRegressor("auto", sizes=(1, 3, 8)),
    tamis.MergedRowSieveRegressor(6, shards=3),
    tamis.OGDRegressor(decay="none", loss="epsilon_insensitive", normalize=True),
]


def named(thing: Any) -> str:
    kinds = (ColumnEstimator, OnlineEstimator, Measure)
    return repr(thing) if isinstance(thing, kinds) else thing.__name__


def pairs(things: list[Any]) -> list[Any]:
    return [
        pytest.param(thing, check, marks=[pytest.mark.slow] if is_slow(thing, check) else [])
        for thing in things
        for check in checks_of(thing)
    ]


def is_slow(thing: Any, check: Callable[[Any], None]) -> bool:
    """Return whether a check takes half a minute: every column asks whether it is a spouse."""
    return getattr(thing, "blanket", "") == "full" and "memory" in check.__name__


# Some of the data is not categorical, and selectors for categories warn.
NO_CATEGORIES = "ignore:.* takes every value as a category:tamis.core.errors.DataWarning"

# Some have too few rows for the requested tests.
TOO_FEW_ROWS = "ignore:.* too few rows for some tests:tamis.core.errors.DataWarning"


@pytest.mark.filterwarnings(TOO_FEW_ROWS)
@pytest.mark.filterwarnings(NO_CATEGORIES)
@pytest.mark.parametrize(("selector", "check"), pairs(SELECTORS), ids=named)
def test_selector(selector: ColumnEstimator, check: Callable[[Any], None]) -> None:
    check(selector)


@pytest.mark.parametrize(("learner", "check"), pairs(LEARNERS), ids=named)
def test_learner(learner: OnlineEstimator, check: Callable[[Any], None]) -> None:
    check(learner)


@pytest.mark.parametrize(("measure", "check"), pairs(MEASURES), ids=named)
def test_measure(measure: Measure, check: Callable[[Any], None]) -> None:
    check(measure)


# --- sources: one small file of each format ----------------------------------------------------


def table(seed: int = 0) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(70, 90)), 3) * (rng.random((70, 90)) < 0.2)
    X[:, -1] = 1.5  # the last column is never empty, so it occurs in a text file
    X[:, 4] = 0.0
    return sp.csr_matrix(X), rng.integers(0, 3, 70)


def make_svmlight(folder: Path) -> Source:
    path = folder / "data.svm"
    dump_svmlight_file(*table(), str(path), zero_based=False)
    with path.open("a") as file:
        file.write("1 3:0 7:2.5 90:1.5\n")  # a stored zero
    return open_source(path)


def make_npz(folder: Path) -> Source:
    X, y = table()
    sp.save_npz(folder / "data.npz", X)
    np.save(folder / "y.npy", y)
    return open_source(folder / "data.npz")


def make_cols(folder: Path) -> Source:
    write_store(folder / "data.cols", MemorySource(*table()))
    return open_source(folder / "data.cols")


def make_dense_cols(folder: Path) -> Source:
    X, y = table()
    write_store(folder / "dense.cols", MemorySource(X.toarray(), y))
    return open_source(folder / "dense.cols")


def make_rows(folder: Path) -> Source:
    write_rows(folder / "data.rows", make_svmlight(folder))
    return open_source(folder / "data.rows")


def make_dense_rows(folder: Path) -> Source:
    X, y = table()
    write_rows(folder / "dense.rows", MemorySource(X.toarray(), y))
    return open_source(folder / "dense.rows")


def tables(folder: Path) -> tuple[Any, dict[str, Any]]:
    """A table of numbers, text and booleans without missing values, and how to read it."""
    X, y = table()
    columns: dict[str, Any] = {f"f{j}": X[:, j].toarray().ravel() for j in range(20)}
    columns["colour"] = np.array(["red", "green", "blue"])[y]
    columns["side"] = np.array(["left", "right"])[y % 2]
    columns["flag"] = y == 1
    columns["class"] = np.array(["a", "b", "c"])[y]
    columns["id"] = [f"row {i}" for i in range(len(y))]
    return pa.table(columns), {"target": "class", "key": "id"}


def make_csv(folder: Path, **more: Any) -> Source:
    columns, options = tables(folder)
    pa.csv.write_csv(columns, folder / "data.csv")
    return open_source(folder / "data.csv", **options, **more)


def make_parquet(folder: Path) -> Source:
    columns, options = tables(folder)
    pq.write_table(columns, folder / "data.parquet", row_group_size=13)
    return open_source(folder / "data.parquet", **options)


def make_arrow(folder: Path) -> Source:
    columns, options = tables(folder)
    feather.write_feather(columns, str(folder / "data.arrow"), chunksize=13)
    return open_source(folder / "data.arrow", **options)


def make_daily(folder: Path) -> Source:
    columns, options = tables(folder)
    (folder / "days").mkdir()
    for day in range(5):
        names = ["id", *columns.column_names[day * 5 : day * 5 + 5]][: 6 if day < 4 else 5]
        rows = np.random.default_rng(day).permutation(len(columns))
        pq.write_table(columns.select(names).take(rows), folder / "days" / f"day{day}.parquet")
    return open_source(folder / "days", **options)


def make_npy(folder: Path, order: Any = "C", **more: Any) -> Source:
    X, y = table()
    np.save(folder / "data.npy", np.asarray(X.toarray(), order=order))
    np.save(folder / "data.y.npy", y)
    return open_source(folder / "data.npy", **more)


def make_tokens(folder: Path, memory: int = 10**9) -> Source:
    X, y = table()
    lists = [np.repeat(row.indices, np.minimum(3, 1 + np.abs(row.data)).astype(int)) for row in X]
    pq.write_table(pa.table({"words": lists, "y": y}), folder / "lists.parquet", row_group_size=9)
    return open_source(folder / "lists.parquet", tokens="words", target="y", memory=memory)


def make_long(folder: Path, memory: int = 10**9) -> Source:
    X, y = table()
    coo = X.tocoo()
    lines = pa.table({"r": coo.row, "f": [f"w{j}" for j in coo.col], "v": coo.data})
    shuffled = lines.take(np.random.default_rng(0).permutation(len(lines)))
    pq.write_table(shuffled, folder / "long.parquet", row_group_size=100)
    return open_source(folder / "long.parquet", long="r,f,v", y=y, memory=memory)


def make_column_blocks(folder: Path) -> Source:
    X, y = table()
    return open_source((X[:, j : j + 13] for j in range(0, 90, 13)), y=y)


def make_row_blocks(folder: Path, memory: int = 10**9) -> Source:
    return open_source(to_rows(MemorySource(*table())).batches(11), memory=memory, work=folder)


MAKERS: dict[str, Callable[[Path], Source]] = {
    "csv": make_csv,
    "csv, larger than memory": lambda folder: make_csv(folder, memory=20_000, longest_line=3_000),
    "parquet": make_parquet,
    "parquet, lists": make_tokens,
    "parquet, lists larger than memory": lambda folder: make_tokens(folder, memory=20_000),
    "parquet, long": make_long,
    "parquet, long larger than memory": lambda folder: make_long(folder, memory=20_000),
    "arrow": make_arrow,
    "daily": make_daily,
    "npy": make_npy,
    "npy, Fortran order": lambda folder: make_npy(folder, "F"),
    "npy, larger than memory": lambda folder: make_npy(folder, memory=20_000),
    "blocks of columns": make_column_blocks,
    "blocks of rows": make_row_blocks,
    "blocks of rows, larger than memory": lambda folder: make_row_blocks(folder, memory=20_000),
    "svmlight": make_svmlight,
    "npz": make_npz,
    "cols": make_cols,
    "cols, dense": make_dense_cols,
    "rows": make_rows,
    "rows, dense": make_dense_rows,
    "memory": lambda folder: MemorySource(*table()),
    "memory, dense": lambda folder: MemorySource(table()[0].toarray(), table()[1]),
    "synthetic": lambda folder: SparseStream(n_rows=60, n_columns=5000, informative=4),
    **OTHER_MAKERS,
}


def test_every_format_has_a_maker() -> None:
    assert set(FORMATS) <= set(MAKERS), "add a maker for the new format, to get its checks"


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("check", checks_of(MemorySource(np.eye(2))), ids=named)
def test_source(maker: str, check: Callable[[Any], None], tmp_path: Path) -> None:
    check(MAKERS[maker](tmp_path))


# --- the names -----------------------------------------------------------------------------------


def test_every_public_selector_has_a_name_on_the_command_line() -> None:
    assert set(BY_METHOD.values()) == {cls._rule for cls in public(ColumnEstimator)}
    assert all(name == rule.name for name, rule in BY_METHOD.items())
    for cls in public(ColumnEstimator):
        assert estimator_of(cls._rule) is cls
        assert cls.__name__ == cls._rule.public_name


# --- scikit-learn's own contract -----------------------------------------------------------------


# Some of its checks fit pure noise, in which there is nothing to select.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings(TOO_FEW_ROWS)
@pytest.mark.filterwarnings(NO_CATEGORIES)
@parametrize_with_checks(
    [cls() for cls in public(ColumnEstimator)],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "with FisherZ a weight is a precision, as in weighted least squares, not a number of rows",
    ),
)
def test_sklearn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@parametrize_with_checks(
    [cls() for cls in public(OnlineEstimator)]
    + [tamis.SOFS("auto"), tamis.RowSieveRegressor("auto", loss="epsilon_insensitive")]
)
def test_sklearn_learner(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
