"""Gates: which p-values, in order of arrival, are finds, so that few of the finds are false.

The false discovery rate (FDR) is the expected share of false finds among all finds. A gate gives
each test a level, which depends on the past alone, and a p-value at or below its level is a find.

A column whose smallest possible p-value is above the coming level cannot be found. That depends on
the counts of its values only, not on the target, so it is not a test, and later levels are higher.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.core.growable import Growable
from tamis.kernels.gate_levels import (
    FEW_FINDS,
    LEAF,
    NOTHING,
    ONE_SHARE,
    POINTS,
    SHAPE,
    add_find,
    factor,
    invest,
    shares_of,
    spend,
)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Met:
    """What became of columns at a gate, one entry for each.

    Attributes
    ----------
    found, tested : ndarray of bool
        Whether it is a find, and whether it was a test at all.
    level : ndarray of float
        The level it met. Where the p-value is far above it, or there was no test, this may be an
        upper bound of the level.
    """

    found: Bools
    tested: Bools
    level: Floats


class Gate(ABC):
    """A gate at a false discovery rate.

    Parameters
    ----------
    alpha : float
        The false discovery rate: the expected share of false finds is at most this, if `needs`
        holds.

    Attributes
    ----------
    tests, finds : int
        Numbers of tests and finds so far.
    level : float
        An upper bound of the coming level.
    """

    #: The name as a parameter and in sentences, and what the guarantee needs.
    name: ClassVar[str]
    title: ClassVar[str]
    needs: ClassVar[str]

    #: Whether it decides about whole tables: all of their p-values must be known first.
    waits: ClassVar[bool] = False

    #: Whether it decides only once, when all columns are known.
    only_once: ClassVar[bool] = False

    #: A warning, for gates without a guarantee on real columns.
    warning: ClassVar[str] = ""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    tests: int
    finds: int
    level: float

    @property
    def screen(self) -> float:
        """P-values above this may be replaced by any larger number."""
        return self.alpha

    @property
    def most(self) -> float:
        """No level is above this."""
        return self.alpha

    def record(self) -> dict[str, Any]:
        """Return where the gate stands, as plain values."""
        return {
            "name": self.name, "title": self.title, "fdr": self.alpha, "needs": self.needs,
            "tests": self.tests, "finds": self.finds,
            "level": float(self.level), "wealth": float(self.wealth),
        }  # fmt: skip

    def test(
        self, p: npt.ArrayLike, least_p: npt.ArrayLike | None = None, watch: Floats | None = None
    ) -> Met:
        """Test p-values in order of arrival.

        Parameters
        ----------
        p : array-like
            P-values; those above `screen` need not be exact.
        least_p : array-like, optional
            The smallest p-value that each column could have, by the counts of its values; infinity
            for a column that is not to be tested.
        watch : array-like, optional
            Other numbers that will be compared with the levels: levels are exact where these are
            at or below them.
        """
        values = np.ascontiguousarray(p, np.float64)
        least = np.zeros(len(values)) if least_p is None else np.asarray(least_p, np.float64)
        met = Met(np.zeros(len(values), bool), np.zeros(len(values), bool), np.empty(len(values)))
        watch = values if watch is None else np.ascontiguousarray(watch, np.float64)
        self._test(values, np.ascontiguousarray(least), watch, met)
        return met

    @abstractmethod
    def _test(self, p: Floats, least_p: Floats, watch: Floats, met: Met) -> None:
        """Fill `met`."""

    @property
    @abstractmethod
    def wealth(self) -> float:
        """What coming tests can spend: the sum of all coming levels if nothing more is found."""

    @property
    @abstractmethod
    def memory(self) -> dict[str, Any]:
        """What a later process needs to go on: numbers and arrays."""

    @memory.setter
    @abstractmethod
    def memory(self, saved: Mapping[str, Any]) -> None: ...

    def __str__(self) -> str:
        return f"{self.title} at a false discovery rate of {self.alpha:g}"


# --- shares ----------------------------------------------------------------------------------

#: Sums of the first shares are tabulated; the rest is the integral and two corrections.
_SUMMED = 4096


def shares_left(t: npt.ArrayLike, *, power: bool = False) -> Floats:
    """Return the sum of all shares after test t; the sum of all shares counts as 1.

    >>> shares_left([0, 1, 10**9]).round(4).tolist()
    [1.0, 0.9465, 0.3327]
    """
    t = np.atleast_1d(np.asarray(t, np.float64))
    sums = np.concatenate([[0.0], np.cumsum(shares_of(np.arange(1.0, _SUMMED + 1), power))])
    left = 1.0 - sums[np.minimum(t, _SUMMED).astype(np.int64)]
    far = t > _SUMMED
    if far.any():
        x, a = t[far], float(_SUMMED)
        half = (shares_of(x, power) - shares_of(np.array([a]), power)) / 2
        left[far] -= _integral(a, power) - _integral(x, power) + half
    rest: Floats = np.maximum(left, 0.0)
    return rest


def _integral(t: Any, power: bool) -> Any:
    """Return the integral of the shares from t to infinity."""
    if power:
        return 0.4374901658 / 0.6 * t**-0.6
    v = np.sqrt(np.log(t))
    return 0.07720838 * 2 * np.exp(-v) * (v**3 + 3 * v**2 + 6 * v + 6)


# --- gates for streams -------------------------------------------------------------------------


def _number(at: int) -> Any:
    """Return a property: one of the numbers that kernels count in."""
    return property(lambda self: int(self._numbers[at]))


class InvestingGate(Gate):
    """Base of gates whose levels rise with every find, for a while."""

    tests: Any = _number(0)
    finds: Any = _number(2)

    #: Half of the error may be spent before the first find.
    start: ClassVar[float] = 0.5

    #: The clock advances at p-values above `low` and up to `high`.
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = math.inf
    scale: ClassVar[float] = 1.0
    power: ClassVar[bool] = False

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        wealth, most = self.start * alpha, self.low if self.low > 0 else math.inf
        self._limits = np.array(
            [alpha, wealth, self.scale, most, self.low, self.high, float(self.power)]
        )
        self._numbers = np.zeros(5, np.int64)
        self._finds = Growable(np.int64)
        self.level = min(most, self.scale * wealth * float(shares_of(np.ones(1), self.power)[0]))
        self._grow()

    def _grow(self) -> None:
        """Make a tree with room for twice the present tests, and add all finds to it again."""
        if self.finds < FEW_FINDS:
            self._tree, self._starts = np.zeros((0, POINTS)), np.zeros(2, np.int64)
            return
        leaves = 1
        while leaves * LEAF <= 2 * int(self._numbers[1]) + 2:
            leaves *= 2
        sizes = [leaves]
        while sizes[-1] > 1:
            sizes.append(sizes[-1] // 2)
        self._tree = np.zeros((0, POINTS))  # free the old one first
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._tree = np.zeros((int(self._starts[-1]), POINTS))
        for time in self._finds.view[1:].tolist():
            add_find(time, self._tree, self._starts)

    def _test(self, p: Floats, least_p: Floats, watch: Floats, met: Met) -> None:
        at = 0
        while at < len(p):
            known = self._finds.view
            room = np.concatenate([known, np.zeros(max(1024, len(known) // 2), np.int64)])
            at, self.level = invest(
                p, least_p, watch, at, self._limits, self._numbers, self.level, room, self._tree,
                self._starts, met.found, met.level, met.tested,
            )  # fmt: skip
            self._finds.extend(room[len(known) : self.finds])
            clock, ends = int(self._numbers[1]), int(self._starts[1]) * LEAF
            if clock + 2 >= ends if len(self._tree) else self.finds >= FEW_FINDS:
                self._grow()

    @property
    def wealth(self) -> float:
        """What coming tests can spend: the sum of all coming levels if nothing more is found."""
        clock, finds = int(self._numbers[1]), self._finds.view
        alpha, start = self.alpha, self.start * self.alpha
        left = start * float(shares_left(clock, power=self.power)[0])
        if len(finds):
            each = shares_left(clock - finds, power=self.power)
            left += (alpha - start) * float(each[0]) + alpha * float(each[1:].sum())
        return self.scale * left

    @property
    def memory(self) -> dict[str, Any]:
        """What a later process needs to go on; the tree is rebuilt."""
        return {
            "numbers": self._numbers.copy(), "finds": self._finds.view.copy(), "level": self.level
        }  # fmt: skip

    @memory.setter
    def memory(self, saved: Mapping[str, Any]) -> None:
        numbers, finds = np.array(saved["numbers"], np.int64), np.array(saved["finds"], np.int64)
        if (
            numbers.shape != (5,)
            or len(finds) != numbers[2]
            or np.any(numbers < 0)
            or np.any(np.diff(finds) < 0)
            or (len(finds) and (finds[0] < 0 or finds[-1] > numbers[1]))
        ):
            raise SourceError("the gate holds numbers that do not belong together")
        self._numbers, self._finds = numbers, Growable(np.int64)
        self._finds.extend(finds)
        self.level = float(saved["level"])
        self._grow()


class LordPlusPlus(InvestingGate):
    """LORD++: every find raises the levels of the tests that follow it.

    The level of test t is w g(t) + (alpha - w) g(t - t_1) + alpha * sum of g(t - t_j), j >= 2,
    where t_j is the test of find j, w = alpha / 2, and g(t) is the share of test t.

    References
    ----------
    A. Ramdas, F. Yang, M. Wainwright, M. Jordan. Online control of the false discovery rate with
    decaying memory. NIPS 2017. arXiv:1710.00499
    """

    name = "lord++"
    title = "LORD++"
    needs = "the columns of pure noise are independent of each other, or only near ones are not"


class Saffron(InvestingGate):
    """SAFFRON: p-values above 0.5 alone use up shares, for streams with many signals.

    References
    ----------
    A. Ramdas, T. Zrnic, M. Wainwright, M. Jordan. SAFFRON. ICML 2018. arXiv:1802.09098
    """

    name = "saffron"
    title = "SAFFRON"
    needs = "the columns are independent of each other"
    warning = (
        "gate='saffron' needs independent columns: on correlated ones its share of false finds was "
        "three times the level; gate='lord++' is safer"
    )
    low, scale, power = 0.5, 0.5, True

    @property
    def screen(self) -> float:
        """P-values above this may be replaced by any larger number."""
        return 0.5

    @property
    def most(self) -> float:
        """No level is above this."""
        return self.low


class Addis(Saffron):
    """ADDIS: like SAFFRON, and p-values above 0.5 are discarded, for conservative p-values.

    References
    ----------
    J. Tian, A. Ramdas. ADDIS: an adaptive discarding algorithm for online FDR control with
    conservative nulls. NeurIPS 2019. arXiv:1905.11465
    """

    name = "addis"
    title = "ADDIS"
    needs = "the columns are independent of each other"
    warning = (
        "gate='addis' needs independent columns: on correlated ones its share of false finds was "
        "twice the level; gate='lord++' is safer"
    )
    low, high, scale, power = 0.25, 0.5, 0.25, True


class SpendingGate(Gate):
    """Base of gates whose levels depend on the number of tests and finds only."""

    tests: Any = _number(0)
    finds: Any = _number(1)

    kind: ClassVar[int]

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        self._numbers = np.zeros(2, np.int64)
        self.level = alpha * factor(0, self.kind) * float(shares_of(np.ones(1), False)[0])

    def _test(self, p: Floats, least_p: Floats, watch: Floats, met: Met) -> None:
        self.level = spend(
            p, least_p, self.alpha, self.kind, self._numbers, met.found, met.level, met.tested
        )

    @property
    def wealth(self) -> float:
        """What coming tests can spend: the sum of all coming levels if nothing more is found."""
        return float(self.alpha * factor(self.finds, self.kind) * shares_left(self.tests)[0])

    @property
    def memory(self) -> dict[str, Any]:
        """What a later process needs to go on."""
        return {"numbers": self._numbers.copy(), "level": self.level}

    @memory.setter
    def memory(self, saved: Mapping[str, Any]) -> None:
        numbers = np.array(saved["numbers"], np.int64)
        if numbers.shape != (2,) or not 0 <= numbers[1] <= numbers[0]:
            raise SourceError("the gate holds numbers that do not belong together")
        self._numbers, self.level = numbers, float(saved["level"])


class Lond(SpendingGate):
    """LOND: the level of test t is alpha * g(t) * (finds + 1).

    References
    ----------
    A. Javanmard, A. Montanari. On online control of false discovery rate. 2015. arXiv:1502.06197
    T. Zrnic, A. Ramdas, M. Jordan. Asynchronous online testing of multiple hypotheses. JMLR 22,
    2021 (positive dependence). arXiv:1812.05068
    """

    name = "lond"
    title = "LOND"
    needs = "the columns are independent, or depend on each other positively (PRDS)"
    kind = ONE_SHARE


class LondAny(SpendingGate):
    """Reshaped LOND: the level of test t is alpha * g(t) * beta(finds + 1), whatever the columns.

    beta(r) is the mean of s over s = 1, 2, 4, ..., 1024, where s counts as 0 if s > r. A false find
    costs at most 1 / (finds + 1), and P(p <= c beta(V)) / V is at most c on average for any V, so
    the share of false finds is at most the sum of alpha * g(t).

    References
    ----------
    G. Blanchard, E. Roquain. Two simple sufficient conditions for FDR control. EJS 2, 2008, 963.
    doi:10.1214/08-EJS180
    """

    name = "lond-any"
    title = "reshaped LOND"
    needs = "nothing about the columns: they may depend on each other in any way"
    kind = SHAPE


class AlphaSpending(SpendingGate):
    """Alpha-spending: the level of test t is alpha * g(t), whatever is found.

    It bounds the chance of any false find, which is more than the false discovery rate.
    """

    name = "spending"
    title = "alpha-spending"
    needs = (
        "nothing about the columns: they may depend on each other in any way; even the chance of "
        "any false find is at most the level"
    )
    kind = NOTHING


# --- gates for tables ------------------------------------------------------------------------


def step_up(p: Floats, alpha: float, n: int) -> int:
    """Return how many of n p-values the step-up procedure of Benjamini and Hochberg finds.

    `p` need only hold those that are at most alpha.

    >>> step_up(np.array([0.01, 0.02]), 0.05, 3)
    2
    """
    passes = np.sort(p) <= alpha * np.arange(1, len(p) + 1) / n
    return int(len(p) - np.argmax(passes[::-1])) if passes.any() else 0


class TableGate(Gate):
    """Base of gates that decide about whole tables: one call of `test` is one table."""

    waits = True

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        self.tests = self.finds = 0
        self.level = alpha

    def _test(self, p: Floats, least_p: Floats, watch: Floats, met: Met) -> None:
        # A column that cannot reach the rate itself is never found: not a test.
        met.tested[:] = least_p <= self.alpha
        some = p[met.tested]
        met.level[:] = self.decide(some[some <= self.alpha], len(some))
        met.found[:] = met.tested & (p <= met.level)

    def decide(self, p: Floats, n: int) -> float:
        """Return the level of a table of n tests, given those p-values that are at most alpha."""
        level = self._threshold(p, n) if n else self.level
        self.tests += n
        self.finds += int(np.count_nonzero(p <= level))
        return level

    @abstractmethod
    def _threshold(self, p: Floats, n: int) -> float:
        """Return the level of a table; at least that of its smallest p-value."""

    @property
    def memory(self) -> dict[str, Any]:
        """What a later process needs to go on."""
        return {"tests": self.tests, "finds": self.finds, "level": self.level}

    @memory.setter
    def memory(self, saved: Mapping[str, Any]) -> None:
        self.tests, self.finds = int(saved["tests"]), int(saved["finds"])
        self.level = float(saved["level"])


class BenjaminiHochberg(TableGate):
    """Benjamini-Hochberg: the k smallest of n p-values, for the largest k with p_(k) <= alpha k/n.

    References
    ----------
    Y. Benjamini, Y. Hochberg. JRSS-B 57, 1995. doi:10.1111/j.2517-6161.1995.tb02031.x
    """

    name = "bh"
    title = "Benjamini-Hochberg"
    needs = "the columns are independent, or depend on each other positively (PRDS)"
    only_once = True

    def _threshold(self, p: Floats, n: int) -> float:
        alpha = self.alpha / self._price(n)
        self.level = alpha * max(1, step_up(p, alpha, n)) / n
        return self.level

    def _price(self, n: int) -> float:
        return 1.0

    @property
    def wealth(self) -> float:
        """Nothing can be tested later."""
        return 0.0


class BenjaminiYekutieli(BenjaminiHochberg):
    """Benjamini-Yekutieli: Benjamini-Hochberg at alpha / (1 + 1/2 + ... + 1/n).

    References
    ----------
    Y. Benjamini, D. Yekutieli. Annals of Statistics 29, 2001. doi:10.1214/aos/1013699998
    """

    name = "by"
    title = "Benjamini-Yekutieli"
    needs = "nothing about the columns: they may depend on each other in any way"

    def _price(self, n: int) -> float:
        return float(np.sum(1.0 / np.arange(1, n + 1)))


class BatchBH(TableGate):
    """BatchBH: Benjamini-Hochberg on each table, at a level that earlier tables earned.

    With R_s finds of table s, and R+_s finds if its largest p-value were 0, the level of table t of
    n columns is (alpha * sum of the first t shares - beta) * (n + R) / n, where R is the number of
    earlier finds and beta the sum of alpha_s R+_s / (R+_s + R - R_s) over earlier tables. Here it
    is at most alpha.

    References
    ----------
    T. Zrnic, D. Jiang, A. Ramdas, M. Jordan. The power of batching in multiple hypothesis testing.
    AISTATS 2020. arXiv:1910.04968
    """

    name = "batch-bh"
    title = "BatchBH"
    needs = (
        "the columns of one table are independent or depend on each other positively, and tables "
        "are independent of each other"
    )

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        #: Of each table: its level, its finds, and those it would have had with one p-value of 0.
        self._tables = np.zeros((0, 3))

    def _left(self, coming: int) -> float:
        """Return the error that is left for a table, `coming` tables after the last."""
        levels, found, most = self._tables.T
        spent = levels * most / np.maximum(most + found.sum() - found, 1)
        each = shares_of(np.arange(1.0, len(levels) + coming + 1), True)
        shares = float(sum(each.tolist()))
        return max(0.0, self.alpha * shares - float(spent.sum()))

    def _threshold(self, p: Floats, n: int) -> float:
        level = min(self.alpha, self._left(1) * (n + self._tables[:, 1].sum()) / n)
        found = step_up(p, level, n)
        # The largest p-value of all is one of these only if these are all.
        others = np.sort(p)[:-1] if len(p) == n else p
        most = step_up(np.append(others, 0.0), level, n)
        self._tables = np.vstack([self._tables, [level, found, most]])
        return float(level * max(1, found) / n)

    @property
    def wealth(self) -> float:
        """What coming tables can spend."""
        return max(0.0, self._left(0) + self.alpha * float(self._coming_shares()))

    def _coming_shares(self) -> float:
        return float(shares_left(len(self._tables), power=True)[0])

    @property
    def memory(self) -> dict[str, Any]:
        """What a later process needs to go on."""
        return {**super().memory, "tables": self._tables.ravel()}

    @memory.setter
    def memory(self, saved: Mapping[str, Any]) -> None:
        TableGate.memory.fset(self, saved)  # type: ignore[attr-defined]
        self._tables = np.array(saved["tables"], np.float64).reshape(-1, 3)


#: Every gate by name.
GATES: dict[str, type[Gate]] = {
    gate.name: gate
    for gate in (
        LordPlusPlus, Lond, LondAny, AlphaSpending, BatchBH, BenjaminiHochberg, BenjaminiYekutieli,
        Saffron, Addis,
    )
}  # fmt: skip
