"""The whole Markov blanket: exact with exact tests, and the rule word for word with data."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_blanket import (
    SlowBlanket,
    SlowTest,
    d_separated,
    markov_blanket,
    random_graph,
    steps,
)

import tamis
from tamis import HITONPC, OSFS, FastOSFS, FisherZ, GSquared
from tamis.checks.data import assert_same_log
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels.subsets import SPENT
from tamis.measures.conditional import ConditionalPanel
from tamis.measures.measure import Measure, Strength
from tamis.measures.panels import code_columns
from tamis.methods.blanket import spread
from tamis.methods.separating import Separable
from tamis.methods.streaming.fast_osfs import FastOSFSRule

pytestmark = pytest.mark.filterwarnings("ignore:.* too few rows for some tests")


# --- a measure that knows the graph ----------------------------------------------------------


def key(values: Any) -> bytes:
    """What identifies a column of two levels, however they are numbered."""
    return (np.asarray(values) != values[0]).tobytes()


@dataclass(frozen=True)
class Oracle(Measure):
    """Dependence by d-separation; columns are known by their values."""

    nodes: dict[bytes, int] = field(default_factory=dict)
    parents: list[list[int]] = field(default_factory=list)

    name: ClassVar[str] = "oracle"
    kind: ClassVar[str] = "discrete"
    symbol: ClassVar[str] = "d({a}; {b})"
    needs_classes: ClassVar[bool] = True

    def gate(self) -> str:
        return "the graph"

    def under(self, unreliable: str) -> Oracle:
        return self

    def relevance(self, columns: Any, target: Any, out: Any = None) -> Strength:
        block = ColumnBlock.of(columns)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        goal = self.nodes[key(target.codes)]
        coded = code_columns(block, np.arange(block.width))
        for j in range(block.width):
            node = self.nodes[key(spread(coded[j], block.n_rows))]
            apart = node != goal and d_separated(self.parents, node, goal, ())
            result.value[j] = 0.0 if apart else 1 / (1 + steps(self.parents, node, goal))
            result.cutoff[j] = 0.0
        return result

    def panel(self, target: Any) -> OraclePanel:
        return OraclePanel(self, target)

    conditional_panel = panel


class OraclePanel(ConditionalPanel):
    prepare = staticmethod(code_columns)
    between_many = cutoffs = None

    def __init__(self, oracle: Oracle, target: Any) -> None:
        self.oracle, self.goal = oracle, oracle.nodes[key(target.codes)]
        self.n_rows, self.pairs, self.live, self.spare = target.n_rows, 0, [], -1

    def __len__(self) -> int:
        return len(self.live)

    def consider(self, column: Any) -> None:
        self.spare = self.oracle.nodes[key(spread(column, self.n_rows))]

    def add(self, column: Any) -> None:
        self.consider(column)
        self.live.append(self.spare)

    def drop(self, positions: Any) -> None:
        self.live = [v for i, v in enumerate(self.live) if i not in positions]

    def _search(self, x, among, including, smallest, largest, given):
        nodes, always = [*self.live, self.spare], [] if including < 0 else [including]
        limit, made = self.limit, 0
        for size in range(max(smallest, len(always)), largest + 1):
            for some in combinations(range(len(among)), size - len(always)):
                if made == limit:
                    return SPENT, (0.0,) * 5
                made += 1
                self.tests[size] += 1
                sets = tuple(nodes[i] for i in (*among[list(some)], *always))
                if d_separated(self.oracle.parents, nodes[x], self.goal, sets):
                    given[: len(some)] = some
                    return size, (0.0, 0.5, 0.0, 1.0, 1.0)
        return -1, (1.0, 0.5, 1.0, 1.0, 0.0)


OraclePanel.__abstractmethods__ = frozenset()


def known_graph(parents: list[list[int]], target: int) -> tuple[Oracle, Any, Any, list[int]]:
    """A measure, columns and a target for a graph, and the nodes of the columns."""
    X = np.random.default_rng(0).integers(0, 2, (64, len(parents))).astype(float)
    columns = [j for j in range(len(parents)) if j != target]
    oracle = Oracle({key(X[:, j]): j for j in range(len(parents))}, parents)
    return oracle, X[:, columns], X[:, target].astype(int), columns


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    nodes=st.integers(3, 9),
    density=st.sampled_from([0.2, 0.35, 0.5]),
)
def test_with_exact_tests_the_blanket_is_exact(seed, nodes, density) -> None:
    parents = random_graph(np.random.default_rng(seed), nodes, density)
    for target in range(nodes):
        oracle, X, y, columns = known_graph(parents, target)
        found = HITONPC(oracle, nodes, blanket="full", task="classification").fit(X, y)
        assert {columns[j] for j in found.kept_} == markov_blanket(parents, target)


def alarm() -> tuple[list[str], list[list[int]]]:
    """The structure of the ALARM network (Beinlich and others 1989)."""
    text = """
    CVP<LVEDVOLUME PCWP<LVEDVOLUME HISTORY<LVFAILURE TPR<ANAPHYLAXIS
    BP<CO,TPR CO<HR,STROKEVOLUME HRBP<ERRLOWOUTPUT,HR HREKG<ERRCAUTER,HR HRSAT<ERRCAUTER,HR
    PAP<PULMEMBOLUS SAO2<PVSAT,SHUNT FIO2 PRESS<INTUBATION,KINKEDTUBE,VENTTUBE
    EXPCO2<ARTCO2,VENTLUNG MINVOL<INTUBATION,VENTLUNG MINVOLSET HYPOVOLEMIA LVFAILURE
    ANAPHYLAXIS INSUFFANESTH PULMEMBOLUS INTUBATION KINKEDTUBE DISCONNECT
    LVEDVOLUME<HYPOVOLEMIA,LVFAILURE STROKEVOLUME<HYPOVOLEMIA,LVFAILURE
    CATECHOL<ARTCO2,INSUFFANESTH,SAO2,TPR ERRLOWOUTPUT HR<CATECHOL ERRCAUTER
    SHUNT<INTUBATION,PULMEMBOLUS PVSAT<FIO2,VENTALV ARTCO2<VENTALV
    VENTALV<INTUBATION,VENTLUNG VENTLUNG<INTUBATION,KINKEDTUBE,VENTTUBE
    VENTTUBE<DISCONNECT,VENTMACH VENTMACH<MINVOLSET
    """
    given = dict(entry.partition("<")[::2] for entry in text.split())
    names = list(given)
    return names, [[names.index(p) for p in of.split(",") if p] for of in given.values()]


def test_with_exact_tests_every_blanket_of_alarm_is_exact() -> None:
    names, parents = alarm()
    assert (len(names), sum(map(len, parents))) == (37, 46)
    for target in range(len(names)):
        oracle, X, y, columns = known_graph(parents, target)
        found = HITONPC(oracle, 4, blanket="full", task="classification").fit(X, y)
        assert {columns[j] for j in found.kept_} == markov_blanket(parents, target), names[target]


# --- with data -------------------------------------------------------------------------------


def sampled(seed: int, rows: int, nodes: int = 8) -> tuple[list[list[int]], Any]:
    """A random graph of categories, and rows of it."""
    rng = np.random.default_rng(seed)
    parents = random_graph(rng, nodes, 0.3)
    data = np.zeros((rows, nodes), int)
    done: set[int] = set()
    while len(done) < nodes:
        for node in set(range(nodes)) - done:
            if set(parents[node]) <= done:
                levels = int(rng.integers(2, 4))
                table = rng.dirichlet(np.full(levels, 0.5), 3 ** len(parents[node]))
                at = data[:, parents[node]] @ 3 ** np.arange(len(parents[node]))
                cuts = table.cumsum(axis=1)[at.astype(int)]
                data[:, node] = (rng.random(rows)[:, None] >= cuts[:, :-1]).sum(axis=1)
                done.add(node)
    data[0], data[1] = 0, 1  # no column is constant
    return parents, data


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), rows=st.sampled_from([60, 300, 1000]), k=st.integers(1, 3))
def test_the_rule_is_followed_word_for_word(seed, rows, k) -> None:
    _, data = sampled(seed, rows)
    slow = SlowBlanket(SlowTest(data, 0.01), list(range(data.shape[1])), k)
    for target in range(3):
        columns = [j for j in range(data.shape[1]) if j != target]
        # The slow one breaks ties by the number of the node, the fast one has the target last.
        selector = HITONPC(
            GSquared(alpha=0.01, statistic="g2", degrees="observed"),
            k,
            blanket="full",
            task="classification",
        )
        found = selector.fit(data[:, columns].astype(float), data[:, target])
        assert {columns[j] for j in found.kept_} == slow.blanket(target)
        assert found.log_.replay() == found.kept_.tolist()


def collider(rows: int = 2000, seed: int = 0) -> tuple[Any, Any, Any]:
    """A class, its child, and the child's other parent, which says nothing about the class."""
    rng = np.random.default_rng(seed)
    y, spouse = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    child = np.where(rng.random(rows) < 0.9, y ^ spouse | (rng.random(rows) < 0.3), 0)
    return y, spouse, child


@pytest.mark.parametrize("method", [HITONPC, FastOSFS, OSFS])
def test_a_spouse_is_kept_and_explained(method) -> None:
    y, spouse, child = collider()
    noise = np.random.default_rng(1).integers(0, 2, len(y))
    X = np.column_stack([noise, child | y, spouse]).astype(float)
    assert method().fit(X, y).kept_.tolist() == [1]
    found = method(blanket="full").fit(X, y)
    assert found.kept_.tolist() == [1, 2]
    assert found.log_.why("x2").startswith(
        "x2 is kept as a spouse of the class: given x1 they are dependent (G2="
    )
    assert found.ranking_.tolist() == [1, 2]


@pytest.mark.parametrize("method", [HITONPC, FastOSFS, OSFS])
@pytest.mark.parametrize("classes", [2, 4, None], ids=["two", "four", "numbers"])
def test_spouses_of_numbers(method, classes) -> None:
    rng = np.random.default_rng(3)
    rows = 1500
    y = rng.normal(size=rows) if classes is None else rng.integers(0, classes, rows)
    spouse, noise, cause = rng.normal(size=(3, rows))
    y = y + cause if classes is None else y
    child = y + spouse + 0.3 * rng.normal(size=rows)
    X = np.column_stack([noise, child, child + rng.normal(size=rows), spouse, cause])
    found = method(FisherZ(alpha=0.001), blanket="full").fit(X, y)
    assert set(found.kept_.tolist()) == {1, 3} | ({4} if classes is None else set())


def test_on_a_stream_a_spouse_must_come_after_the_child() -> None:
    y, spouse, child = collider()
    X = np.column_stack([spouse, child | y]).astype(float)
    assert FastOSFS(blanket="full").fit(X, y).kept_.tolist() == [1]
    assert HITONPC(blanket="full").fit(X, y).kept_.tolist() == [0, 1]


@pytest.mark.parametrize("method", [FastOSFS, OSFS])
def test_a_spouse_leaves_with_its_child(method) -> None:
    """A copy with errors of the child comes first, and the child itself makes it redundant."""
    rng = np.random.default_rng(5)
    y, spouse, noise = rng.normal(size=(3, 3000))
    child = y + spouse + 0.2 * noise
    copy = child + 0.8 * rng.normal(size=3000)
    X = np.column_stack([copy, spouse, child])
    found = method(FisherZ(alpha=0.001), blanket="full").fit(X, y)
    assert "x0 was kept until a later feature came" in found.log_.why("x0")
    assert found.log_.why("x1") == (
        "x1 was kept as a spouse of the target until x0 left, which was their common child"
    )
    assert found.kept_.tolist() == [2]


def test_a_stream_with_spouses_resumes_where_it_stopped(tmp_path) -> None:
    y, spouse, child = collider()
    X = np.column_stack([child | y, spouse, child & y, spouse ^ 1]).astype(float)
    frame = pd.DataFrame(X, columns=["child", "spouse", "both", "other"])
    method = FastOSFS(blanket="full", max_tests=1_000)
    whole = tamis.select(frame, method, y)
    assert whole.kept_names[:2] == ["child", "spouse"]
    selection = tamis.Selection.create(tmp_path / "run", y, method)
    for name in frame:
        selection.feed(frame[[name]])
        selection = tamis.Selection.open(tmp_path / "run")
    assert_same_log(selection.run.log, whole.log, "fed")


def test_weights_and_covariates_are_refused() -> None:
    y, spouse, child = collider(200)
    X = np.column_stack([child, spouse]).astype(float)
    with pytest.raises(ParameterError, match="blanket='full' cannot use sample weights"):
        FastOSFS("fisher_z", blanket="full").fit(X, y, sample_weight=np.ones(200))


@pytest.mark.parametrize("options", [{"blanket": "full"}, {"max_tests": 9}])
def test_shadow_worlds_are_refused(options) -> None:
    with pytest.raises(ParameterError, match="shadow worlds cannot be used with"):
        FastOSFS(shadows=3, **options).fit(np.eye(4), [0, 0, 1, 1])


# --- a limit of tests ------------------------------------------------------------------------


def many(rows: int = 400, features: int = 30) -> tuple[Any, Any]:
    """Features that each add something, so that all of them stay and tests are many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    return X, X.sum(axis=1) + rng.normal(size=rows)


@pytest.mark.parametrize("method", [FastOSFS, OSFS, HITONPC])
def test_a_limit_of_tests_ends_the_selection_and_says_so(method) -> None:
    X, y = many()
    free = method(FisherZ(alpha=0.2)).fit(X, y)
    found = method(FisherZ(alpha=0.2), max_tests=100).fit(X, y)
    made = [count for name, count in found.work_.items() if name.startswith("tests_given_")]
    assert sum(made[1:]) == 100
    assert 0 < len(found.kept_) < len(free.kept_)
    assert found.log_.stopped.endswith("because all 100 conditional tests (max_tests) were made")
    left = np.flatnonzero(found.log_.verdicts == tamis.Verdict.UNEXAMINED)
    assert len(left)
    assert "was not examined: the selection had stopped at x" in found.log_.why(int(left[-1]))
    assert found.log_.replay() == sorted(found.kept_.tolist())


def test_the_limit_holds_for_the_search_for_spouses() -> None:
    y, spouse, child = collider()
    X = np.column_stack([child | y, spouse, child]).astype(float)
    free = HITONPC(blanket="full").fit(X, y)
    total = sum(v for k, v in free.work_.items() if k.startswith("tests_given_")) - 3
    for tests in range(1, total):
        found = HITONPC(blanket="full", max_tests=tests).fit(X, y)
        assert found.log_.stopped
        assert found.log_.replay() == sorted(found.kept_.tolist())
    assert not HITONPC(blanket="full", max_tests=total).fit(X, y).log_.stopped


def test_the_limit_is_the_same_for_any_block_width() -> None:
    X, y = many()
    known = None
    for width in (1, 7, 30):
        found = FastOSFS(FisherZ(alpha=0.2), max_tests=500).start(y)
        for lo in range(0, X.shape[1], width):
            found.feed(X[:, lo : lo + width])
        state = (found.kept_.tolist(), found.log_.stopped)
        assert known in (None, state)
        known = state


def test_what_all_columns_will_take_is_said_after_a_few() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 400))
    y = X[:, :50].sum(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # which ends the selection
        with pytest.raises(UserWarning, match=r"the first 32 of 400 columns took .* bound them"):
            FastOSFS().fit(X, y)
        FastOSFS().fit(X[:, :36], y)  # few columns are soon done
        FastOSFS(max_tests=20_000).fit(X, y)


def test_a_search_of_many_tests_is_announced_before_it_is_made() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    y = X.sum(axis=1)
    kept = FastOSFSRule(FisherZ()).kept(FisherZ(), Target.of(y))
    kept._fastest = 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept._warn_of_search(60, 3)  # 36,050 tests
        FastOSFS().fit(X, y)  # all are kept; it takes less than a second
    with pytest.warns(UserWarning, match="one search may need 56,.* tests and 56 seconds"):
        kept._warn_of_search(60, 6)


@pytest.mark.parametrize("method", [FastOSFS, OSFS])
@pytest.mark.parametrize("order", ["relevant", "shuffled"])
def test_the_forecast_of_tests_is_right_within_a_factor_of_three(
    method, order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.methods.separating.LONG", 0.0)
    monkeypatch.setattr(Separable, "_warn_of_search", lambda *_: None)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 70))
    y = X.sum(axis=1)
    if order == "shuffled":
        y = X[:, rng.random(70) < 0.7].sum(axis=1)
    with pytest.warns(UserWarning, match="if they keep growing") as seen:
        found = method().fit(X, y)
    forecast = re.search(r"all columns take about ([\d,]+) tests", str(seen[0].message))
    assert forecast is not None
    made = sum(found.work_[f"tests_given_{m}"] for m in (1, 2, 3))
    assert 1 / 3 < int(forecast[1].replace(",", "")) / made < 3
