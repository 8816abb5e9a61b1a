"""Sieve: the rules against a slow reference, the log, and what a saved stream continues with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from tests.methods.slow_sieve import SlowSieve

import tamis
from tamis.checks.data import assert_same_log
from tamis.cli.main import cli
from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Verdict
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.engine.persistent.selection import Selection
from tamis.measures.measure import Floats, Measure, Panel, Strength
from tamis.methods.measured import Arrival, ScoredBlock
from tamis.methods.streaming.sieve import SieveRule, SieveStream
from tamis.sources.arrays.in_memory import MemorySource

# --- a measure that looks numbers up -------------------------------------------------------------


@dataclass(eq=False)
class Tables:
    """R, D and c of a few features; c[f, y] is what f says once y is known."""

    R: Floats
    D: Floats
    c: Floats


@dataclass(frozen=True, eq=False)
class LookUp(Measure):
    """A measure whose strengths are in tables; the second row of a column is its number."""

    name: ClassVar[str] = "look_up"
    kind: ClassVar[str] = "continuous"
    symbol: ClassVar[str] = "R({a}; {b})"
    resolution: ClassVar[float] = 1e-12

    tables: Tables = field(repr=False)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        block = ColumnBlock.of(columns)
        return Strength(self.tables.R[numbers_of(block)], np.full(block.width, 0.0))

    def panel(self, target: Target) -> LookUpPanel:
        return LookUpPanel(self.tables)

    def gate(self) -> str:
        return "the least"


class Number(int):
    """The number of a column, with its place among those that were prepared together."""

    columns: Any
    i: int


class Numbers(list[Number]):
    """Columns by their numbers; their contents are equal, so that they decide nothing."""

    rows = codes = scores = np.zeros(0, np.int32)

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        super().__init__(map(Number, numbers))
        self.indptr = np.zeros(len(self) + 1, np.int64)
        for i, number in enumerate(self):
            number.columns, number.i = self, i


class LookUpPanel(Panel):
    """Kept columns by their numbers."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.pairs = tables, 0
        self._kept: list[int] = []

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Sequence[Any]:
        return Numbers(numbers_of(block)[picks])

    def between_many(self, columns: Any, lo: int, hi: int) -> Floats:
        raise NotImplementedError

    def beyond_many(
        self, columns: Any, picks: npt.NDArray[np.intp], out: Any = None, places: Any = None
    ) -> Floats:
        which = np.ix_([columns[i] for i in picks], self._kept)
        c = np.rint(self.tables.c * 2.0**40) / 2.0**40
        found = np.array([self.tables.D[which], c[which], c.T[which]])
        if out is not None:
            out[:, :, places] = found
        return found

    def among(
        self, columns: Any, picks: npt.NDArray[np.intp], others: npt.NDArray[np.intp]
    ) -> Floats:
        which = np.ix_([columns[i] for i in picks], [columns[i] for i in others])
        c = np.rint(self.tables.c * 2.0**40) / 2.0**40
        return np.array([self.tables.D[which], c[which], c.T[which]])

    def cutoffs(self, column: Any) -> Floats:
        raise NotImplementedError

    def add(self, column: int) -> None:
        self._kept.append(column)

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        self._kept = [f for i, f in enumerate(self._kept) if i not in set(positions.tolist())]

    def __len__(self) -> int:
        return len(self._kept)


def numbers_of(block: ColumnBlock) -> npt.NDArray[np.int64]:
    return np.asarray(block.values)[1].astype(np.int64) - 1


def columns(n: int) -> Floats:
    """Columns that a `LookUp` can tell apart."""
    return np.vstack([np.arange(n) + 2.0, np.arange(n) + 1.0, np.zeros((2, n))])


Y = np.array([0, 1, 0, 1])


def random_tables(rng: np.random.Generator, n: int, *, ties: bool) -> Tables:
    """Make tables; with few different numbers there are many ties and copies."""
    R, D, c = rng.random(n), rng.random((n, n)), rng.random((n, n)) ** 2
    if ties:
        R, D, c = (np.round(t * 4) / 4 for t in (R, D, c))
        R = np.maximum(R, 0.25)
    D = np.maximum(D, D.T)
    if not ties:
        D[D > 0.9] = 0.99
    return Tables(R, D, c)


# --- the rules -----------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6), st.integers(1, 24), st.integers(1, 7), st.integers(0, 5),
    st.sampled_from([None, 0.0, 0.5, 1.0, 3.0]), st.booleans(),
)  # fmt: skip
@settings(deadline=None)
def test_the_rules_are_those_of_the_slow_reference(
    seed: int, n: int, k: int, more: int, gamma: float | None, ties: bool
) -> None:
    tables = random_tables(np.random.default_rng(seed), n, ties=ties)
    rule = SieveRule(LookUp(tables), n_features=k, redundancy=gamma)
    selector = rule.to_selector()
    selector.start(Y)
    selector._kept.capacity = k + more  # smaller than it would be
    slow = SlowSieve(tables.R, tables.D, tables.c, k, k + more, gamma)
    for j in range(n):
        selector.update(selector.score(ColumnBlock(j, 4, columns(n)[:, j : j + 1])))
        assert selector.kept_.tolist() == slow.arrive(j)
        assert selector.held_features.tolist() == slow.pool
        assert selector.log_.replay() == selector.kept_.tolist()
    assert selector.ranking_.tolist() == slow.ranking()
    kept = selector.kept_.tolist()
    expected = [slow.worth(f, kept) for f in kept]
    np.testing.assert_allclose(selector.worth_, expected, rtol=0, atol=1e-12)
    for feature in range(n):
        sentence = selector.log_.why(feature)
        assert f"x{feature}" in sentence
        assert "{" not in sentence
        assert "nan" not in sentence


class OneAtATime(SieveStream):
    """Each column enters the pool, all are weighed, and the differences are logged, one by one."""

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        for i in range(first, last):
            self._take_one(scored.arrival(i))

    def _take_one(self, arrival: Arrival) -> None:
        pool, column, panel = self._kept, arrival.column, self._kept.panel
        if len(pool) == pool.capacity:
            least = pool.weigh(1).worth[int(pool.weigh(1).order[0])]
            alone = round(arrival.relevance**2 * 2**40) / 2**40
            if alone < 1.5 * least - 1e-12:
                self.log_.append(
                    Decision(arrival.feature, "weak", arrival.relevance, alone, float(least))
                )
                return
        if isinstance(panel, LookUpPanel):
            pairs = panel.beyond_many([column], np.zeros(1, np.intp))[:, 0]
        else:
            pairs = pool.beyond(arrival)
        dropped, evicts = self.rule.redundant(arrival, pool, pairs[0])
        if dropped is not None:
            self.log_.append(dropped)
            return
        pairs = pool.by_slot(pairs)
        if evicts:
            pool.leave(np.searchsorted(pool.features, [e.feature for e in evicts]))
        pool.enter(arrival, pairs)
        new, was_kept = len(pool) - 1, pool.is_kept
        weighed = pool.weigh(pool.n_features)
        pool.is_kept = weighed.is_left
        out = int(weighed.order[0]) if len(pool) > pool.capacity else -1
        changes = np.flatnonzero(was_kept & ~pool.is_kept)
        told = [
            self._decision("pushed out" if i == out else "displaced", i, weighed) for i in changes
        ]
        if out >= 0 and out != new and not was_kept[out]:
            told.append(self._decision("least", out, weighed))
        if pool.is_kept[new]:
            told.append(replace(self._decision("kept", new, weighed), level=arrival.level))
        else:
            told.append(self._decision("least" if out == new else "reserve", new, weighed))
        returned = np.flatnonzero(pool.is_kept[:new] & ~was_kept[:new])
        told += [self._decision("returned", i, weighed) for i in returned]
        for decision in [*evicts, *told]:
            self.log_.append(decision, at=arrival.feature)
        if out >= 0:
            pool.leave(np.array([out]))


@pytest.mark.parametrize("seed", range(12))
def test_the_log_is_that_of_one_column_at_a_time(seed: int) -> None:
    """Compiled, with many columns in a block, or each alone and in Python."""
    rng = np.random.default_rng(seed)
    n, gamma = 90, (None, 0.5, 1.0)[seed % 3]
    rule = SieveRule(
        LookUp(random_tables(rng, n, ties=seed % 2 == 0)), n_features=1 + seed, redundancy=gamma
    )
    found, expected = SieveStream(rule), OneAtATime(rule)
    for stream in (found, expected):
        stream.look_ahead = 40
        stream.start(Y)
        stream._kept.capacity = 6 + 2 * seed
        stream.update(stream.score(ColumnBlock(0, 4, columns(n))))
    assert_same_log(found.log_, expected.log_, "in blocks")
    for name in ("features", "relevance", "is_kept", "keys"):
        assert np.array_equal(getattr(found._kept, name), getattr(expected._kept, name))


def test_on_numbers_and_on_flags_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns leave the pool before they are listed by row, and after."""
    flags, y = csc_matrix((X > 1.0) * 1.0), CLASSES > 0
    for table in (X, flags):
        sieve = tamis.Sieve(n_features=6, alpha=0.9)
        found = clone(sieve).fit(table, y)
        with monkeypatch.context() as patched:
            patched.setattr(SieveRule, "machinery", OneAtATime)
            expected = clone(sieve).fit(table, y)
        assert_same_log(found.log_, expected.log_, "in blocks")
        assert found.ranking_.tolist() == expected.ranking_.tolist()


def test_a_weak_column_is_not_compared_with_a_full_pool() -> None:
    """It must say 1.5 times what the least of the pool is worth; before, any column enters."""
    R = np.array([0.1, 0.9, 0.8, 0.7, 0.5, 0.1, 0.48])
    c = np.tile(R[:, np.newaxis] ** 2, 7)  # no column says anything about another
    rule = SieveRule(LookUp(Tables(R, np.eye(7), c)), n_features=1)
    found = rule.to_selector()
    found.start(Y)
    found._kept.capacity = 4
    found.update(found.score(ColumnBlock(0, 4, columns(7))))
    reasons = [found.log_.reason_of(f) for f in range(7)]
    assert reasons == ["least alone", "kept", *["reserve alone"] * 3, "weak", "weak"]
    assert found.held_features.tolist() == [1, 2, 3, 4]
    assert found.log_.why(5) == (
        "x5 was dropped as too weak: alone it says 0.01 of the class, less than 1.5 times what the "
        "weakest feature of the full pool is worth (0.25)"
    )


def test_a_weak_column_costs_no_pair_value() -> None:
    found = SieveRule(n_features=5, measure=tamis.AnyShape(alpha=0.8)).to_selector()
    found.start(CLASSES)
    found.update(found.score(ColumnBlock(0, len(X), X)))
    reasons = [found.log_.reason_of(f) for f in range(X.shape[1])]
    before, weak = found.work_["pair_values"], X[:, [reasons.index("weak")]]
    found.update(found.score(ColumnBlock(X.shape[1], len(X), weak)))
    assert found.log_.reason_of(X.shape[1]) == "weak"
    assert found.work_["pair_values"] == before


def test_the_pool_holds_twice_as_many_as_are_kept() -> None:
    target, measure = Target.of(np.arange(50) % 2), LookUp(random_tables(RNG(), 1, ties=False))
    sizes = {}
    for n_features in (None, 1, 50, 180):
        pool = SieveRule(measure, n_features=n_features).kept(measure, target)
        sizes[n_features] = pool.n_features, pool.capacity
    assert sizes == {None: (25, 200), 1: (1, 200), 50: (50, 200), 180: (180, 360)}
    few, many = Target.of(np.arange(12) % 2), Target.of(np.arange(5000) % 2)
    own = SieveRule(measure, n_features=None)
    assert (own.kept(measure, few).n_features, own.kept(measure, many).n_features) == (10, 1000)


def RNG() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_newcomer_that_is_dropped_evicts_nothing() -> None:
    """The first is a copy of the third, which is a copy of the second, which is stronger."""
    tables = Tables(np.array([0.2, 0.9, 0.5]), np.eye(3), np.full((3, 3), 0.1))
    for a, b in ((0, 2), (2, 1)):
        tables.D[a, b] = tables.D[b, a] = 0.99
    found = SieveRule(LookUp(tables)).to_selector().run(MemorySource(columns(3)), Y)
    assert found.kept_.tolist() == [0, 1]


def test_ties_do_not_depend_on_the_order_of_columns() -> None:
    """Of 150 columns that say all of the class the same ones are kept in any order."""
    rng = RNG()
    y = np.arange(40) % 2
    table = np.column_stack([y + 0.3 * rng.random(40) for _ in range(150)])
    expected = set(tamis.Sieve(n_features=8).fit(table, y).kept_)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(150)
        assert set(order[tamis.Sieve(n_features=8).fit(table[:, order], y).kept_]) == expected


# --- on data -------------------------------------------------------------------------------------


def genes(n_rows: int = 120, n_columns: int = 400) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Columns of numbers: straight, curved, copies and noise."""
    rng = RNG()
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, ::4] += 0.6 * rng.normal(size=(1, n_columns // 4)) * y[:, None]
    X[:, 7] = (y - 1.0) ** 2 * 3 + rng.normal(size=n_rows)
    X[:, 8] += 2 * y
    X[:, 9] = 2 * X[:, 8] + 1
    return X, y


X, CLASSES = genes()


def test_curved_relations_are_kept_and_copies_are_not() -> None:
    found = tamis.Sieve(n_features=20).fit(X, CLASSES)
    assert len(found.kept_) == 20
    assert 7 in found.kept_
    assert not {8, 9} <= set(found.kept_.tolist())
    assert set(found.kept_) == set(found.ranking_[:20])
    assert len(found.worth_) == 20
    assert (found.worth_ > 0).all()
    assert found.log_.counts()["kept"] == 20


def test_a_smaller_size_is_the_beginning_of_the_ranking() -> None:
    ranking = tamis.Sieve().fit(X, CLASSES).ranking_
    for size in (1, 5, 17, 50):
        kept = tamis.Sieve(n_features=size).fit(X, CLASSES).kept_
        assert kept.tolist() == sorted(ranking[:size])


def test_the_order_of_columns_matters_little() -> None:
    expected = set(tamis.Sieve(n_features=20).fit(X, CLASSES).kept_)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(X.shape[1])
        kept = set(order[tamis.Sieve(n_features=20).fit(X[:, order], CLASSES).kept_])
        assert len(kept & expected) >= 0.9 * len(kept | expected)


def test_a_column_of_one_row_says_nothing() -> None:
    """With equal classes the statistic is the same for every order of the rows."""
    assert tamis.AnyShape().p_values(np.eye(40)[:, :3], np.arange(40) % 2).tolist() == [1.0] * 3


def test_columns_with_few_nonzeros_pass_rarely_by_chance() -> None:
    rng = RNG()
    noise = np.zeros((600, 4000))
    for j in range(4000):
        noise[rng.permutation(600)[: 2 + j % 8], j] = rng.integers(1, 500, 2 + j % 8)
    passed = tamis.AnyShape().p_values(noise, np.arange(600) % 2) < 0.01
    assert passed.mean() <= 0.012


def test_redundancy_keeps_fewer_the_smaller_it_is() -> None:
    table, y = load_breast_cancer(return_X_y=True)
    sizes = [
        len(tamis.Sieve(n_features=None, redundancy=gamma).fit(table, y).kept_)
        for gamma in (0.0, 0.5, 1.0, 4.0)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] < sizes[3]
    own = tamis.Sieve(n_features=None).fit(table, y).kept_
    assert own.tolist() == tamis.Sieve(n_features=None, redundancy=1).fit(table, y).kept_.tolist()


def test_a_number_is_a_target_too() -> None:
    table, y = load_diabetes(return_X_y=True)
    found = tamis.Sieve(n_features=4).fit(table, y / 3)
    assert {2, 8} < set(found.kept_.tolist())  # body mass and triglycerides
    assert "of the target" in " ".join(found.why(f) for f in range(10))


def test_every_way_out_has_its_sentence() -> None:
    found = tamis.Sieve(n_features=5, alpha=0.8).fit(X, CLASSES)
    told = {found.log_.reason_of(f): found.why(f) for f in range(X.shape[1])}
    assert {"irrelevant", "kept", "reserve", "least", "displaced", "copy", "weak"} <= set(told)
    assert re.search(
        r"^x\d+ was dropped as too weak: alone it says 0\.\d+ of the class, less than 1\.5 times "
        r"what the weakest feature of the full pool is worth \(0\.\d+\)$",
        told["weak"],
    )
    assert re.search(
        r"^x\d+ was dropped: of 201 it was least worth keeping \(0\.\d+\); once x\d+ is known it "
        r"says 0(\.\d+)? of the class$",
        told["least"],
    )
    assert "among the 5 features most worth keeping" in told["kept"]
    assert "waits in reserve" in told["reserve"]
    assert "was kept for a while" in told["displaced"]
    assert found.why(9).startswith("x9 was dropped as redundant: its dependence on x8 is 1, so")


def test_the_pool_is_larger_if_more_features_must_stay() -> None:
    table = np.random.default_rng(0).normal(size=(60, 420))
    y = (table[:, :200].sum(axis=1) > 0).astype(int)
    found = tamis.Sieve(keep=range(150), alpha=0.9).fit(table, y)
    told = [found.why(f) for f in range(420) if found.log_.reason_of(f).startswith("least")]
    assert told
    assert all(": of 301 it was least worth keeping" in sentence for sentence in told)


def test_a_measure_of_pairs_only_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"any_shape only, .* fisher_z: --method saola"):
        tamis.Sieve("fisher_z").fit(X, CLASSES)
    with pytest.raises(ParameterError, match="n_features=0 is not a whole number at least 1"):
        tamis.Sieve(n_features=0).fit(X, CLASSES)


# --- selections that go on -----------------------------------------------------------------------


def test_a_selection_in_a_folder_keeps_its_reserve(tmp_path: Path) -> None:
    """Columns that wait in reserve are saved too, and return as in one pass."""
    names = [f"x{i}" for i in range(X.shape[1])]
    sieve = tamis.Sieve(n_features=6, alpha=0.9)  # more pass than the pool holds
    expected = clone(sieve).fit(X, CLASSES)
    selection = Selection.create(tmp_path / "run", CLASSES, sieve)
    for lo in range(0, 400, 80):
        selection = Selection.open(tmp_path / "run")
        selection.feed(X[:, lo : lo + 80], names[lo : lo + 80])
    assert selection.kept_names == [names[f] for f in expected.kept_]
    assert_same_log(selection.run.log, expected.log_, "fed in parts")


def test_the_reserve_takes_the_place_of_a_withdrawn_feature(tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(X.shape[1])]
    selection = Selection.create(tmp_path / "run", CLASSES, tamis.Sieve(n_features=6))
    selection.feed(X, names)
    ranking = [names[f] for f in tamis.Sieve(n_features=6).fit(X, CLASSES).ranking_]
    selection.drop(ranking[0])
    selection = Selection.open(tmp_path / "run")
    assert len(selection.kept_names) == 6
    assert ranking[0] not in selection.kept_names
    back = set(selection.kept_names) - set(ranking[:6])
    assert back
    assert all("waited in reserve" in selection.run.log.why(name) for name in back)


# --- the command line ----------------------------------------------------------------------------


def test_on_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", CLASSES)
    out = tmp_path / "run"
    given = ["select", str(tmp_path / "X.npy"), "--method", "sieve", "--param", "n_features=6"]
    result = CliRunner().invoke(cli, [*given, "--out", str(out)])
    assert result.exit_code == 0, result.output
    expected = tamis.Sieve(n_features=6).fit(X, CLASSES)
    run = tamis.open_run(out)
    assert run.log.replay() == expected.kept_.tolist()
    dropped = int(np.flatnonzero(expected.log_.verdicts == Verdict.EVICTED)[0])
    result = CliRunner().invoke(cli, ["why", str(out), run.log.names[dropped]])
    assert "waits in reserve" in result.output
