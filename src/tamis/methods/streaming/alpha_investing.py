"""Alpha-investing: test each newcomer at a level that discoveries earn and tests spend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc

from tamis.core.decisions import Decision, Reason
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.kernels.least_squares import (
    EXPLAINED,
    NO_DEGREES,
    accept,
    explained_shares,
    exponential_tail,
    invest,
    whiten,
)
from tamis.methods.modelled import UNUSABLE, Columns, Floats, ModelRule, Page
from tamis.methods.rule import when_irrelevant, when_kept, when_redundant


class LeastSquares:
    """A least-squares model of some targets that grows by one column at a time.

    Kept as an orthonormal basis of its columns, so that adding one costs rows times columns.
    """

    def __init__(self, targets: Floats, *, intercept: bool) -> None:
        self.intercept = intercept
        # One target per row: its residual.
        self.residuals = targets - targets.mean(axis=1, keepdims=True) if intercept else targets
        self._totals = np.sum(self.residuals**2, axis=1)
        self._panel = np.zeros((targets.shape[1], len(targets) + 8))
        self._used = len(targets)
        #: Independent directions of the targets that are not explained yet.
        self.rank = int(whiten(self.residuals, self._totals, self._panel))

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the test of one more column, below the line of its F."""
        columns = self._used - len(self.residuals) + self.intercept
        return len(self._panel) - columns - self.rank

    def shares(self, columns: Columns, lo: int, hi: int, shares: Floats, left: Floats) -> None:
        """Compute what columns lo..hi-1 would explain, and what of them is new: see the kernel."""
        model = (self._panel, len(self.residuals), self._used)
        moments = (columns.means, columns.shifts, columns.squares)
        columns.share_out(
            lambda a, b: explained_shares(
                *columns.arrays, *moments, *model, a, b, lo, shares, left
            ),
            lo, hi, self._used,
        )  # fmt: skip

    def add(self, column: Floats) -> None:
        """Add a column to the model."""
        if self._used == self._panel.shape[1]:
            bigger = np.zeros((len(self._panel), 2 * self._used))
            bigger[:, : self._used] = self._panel
            self._panel = bigger
        accept(column, self.residuals, self._panel, len(self.residuals), self._used)
        self._used += 1
        self.rank = int(whiten(self.residuals, self._totals, self._panel))


class AlphaInvestingRule(ModelRule):
    """Alpha-investing: streamwise regression with a changing level.

    A newcomer is tested for what it adds to a linear model of the features kept so far. Feature
    i = 1, 2, ... is tested at the level a_i = w / (2i), a bet out of the wealth w:

    * its p-value is below a_i: it is kept, and w becomes w + payout - a_i;
    * otherwise it is dropped, and w becomes w - a_i.

    Discoveries earn the right to more tests, and a long run of noise makes the levels small. So the
    expected number of false discoveries stays in proportion to all discoveries, without knowing
    how many features will come.

    The p-value is that of the F test of the added variable, in a model with an intercept.
    Regression and two classes: F with (1, n - q - 1) degrees of freedom for q fitted coefficients,
    the square of the usual t. More classes: Wilks' test on the class indicators, whose F is exact
    with (k - 1, n - q - k + 1) degrees of freedom; it does not depend on how classes are numbered,
    and with nothing kept yet it is the analysis of variance.

    Constant columns are not tested: they cost nothing and are not counted. A column that is a
    linear combination of the kept ones (less than 1e-10 of its variance is left) has p-value 1.
    When no degrees of freedom are left, or nothing of the target (1e-10), testing stops.

    Cost: entries of the column times (kept features + classes - 1) for each feature, and rows times
    kept features for each one kept; nothing is refitted. Memory: rows times kept features.

    Parameters
    ----------
    wealth : float, default=0.5
        The initial wealth, at most 1.
    payout : float, default=0.5
        What a discovery earns, at most 1. It is roughly the accepted false discovery rate: the
        paper's 0.5 is generous, 0.05 for both is strict.
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: column 0 is the intercept and is
        always kept, there is no other intercept, i is the column number, the target is the class
        number 1..k, and p = exp(-(SSE - SSE') / (2 SSE / n)), a chi-square tail with 2 degrees of
        freedom.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why. The relevance is -log10 of the p-value and the
        level -log10 of the bet, so that larger is stronger.
    wealth_ : float
        The present wealth.

    References
    ----------
    J. Zhou, D. P. Foster, R. A. Stine, L. H. Ungar. Streamwise Feature Selection. Journal of
    Machine Learning Research 7, 2006, 1861-1885. https://jmlr.org/papers/v7/zhou06a.html
    (earlier: KDD 2005, doi:10.1145/1081870.1081914)

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(200, 50))
    >>> y = X[:, 3] - X[:, 30] + rng.normal(size=200)
    >>> sel = tamis.AlphaInvesting().fit(X, y)
    >>> sel.kept_
    array([ 3, 30])
    >>> print(sel.log_.why("x40"))  # doctest: +NORMALIZE_WHITESPACE
    x40 was dropped as irrelevant: the p-value of adding it to the kept features, 0.29, is not below
    the bet of 0.0079
    """

    name: ClassVar[str] = "alpha-investing"
    saved: ClassVar[Mapping[str, str]] = {
        "wealth": "wealth_", "counted": "_counted", "p_values": "_p_values",
    }  # fmt: skip
    counted: ClassVar[Mapping[str, str]] = {"p_values": "_p_values", "updates": "features.size"}

    wealth: float = param(0.5, Number(0, 1, open_low=True))
    payout: float = param(0.5, Number(0, 1))
    _: KW_ONLY
    variant: str = param("paper", OneOf(("paper", "program")))

    @property
    def centred(self) -> bool:
        """Whether columns are centred; the program has no other intercept."""
        return self.variant != "program"

    def begin(self, target: Target) -> None:
        """Begin with an empty model and the initial wealth."""
        self._as_program = self.variant == "program"
        targets = targets_of(target, numbered=self._as_program)
        self.model = LeastSquares(targets, intercept=not self._as_program)
        self.features = np.zeros(0, np.int64)
        self._counted = self._p_values = 0
        self.wealth_ = float(self.wealth)

    def take(self, columns: Columns, lo: int, hi: int, page: Page) -> tuple[int, Decision | None]:
        """Bet on columns in turn until one is accepted."""
        if self._as_program and columns.first + lo == 0:
            return 1, self._take_intercept(columns)
        if self.model.rank == 0 or self.model.degrees < 1:
            ended = EXPLAINED if self.model.rank == 0 else NO_DEGREES
            unusable = columns.unusable(lo, hi)
            page.codes[lo:hi] = np.where(unusable, unusable, ended)
            return hi, None
        shares, left = np.empty(hi - lo), np.empty(hi - lo)
        self.model.shares(columns, lo, hi, shares, left)
        self._p_values += hi - lo
        p = np.empty(hi - lo)
        if self._as_program:
            exponential_tail(shares, columns.n_rows / 2, p)
        else:
            # The upper tail of F is the lower tail of a beta distribution, that of 1 - share.
            betainc(self.model.degrees / 2, self.model.rank / 2, 1.0 - shares, out=p)
        found, self._counted, self.wealth_, bet = invest(
            p, columns.squares, left, lo, hi, self._as_program, self._counted, self.wealth_,
            page.strengths, page.levels, page.codes,
        )  # fmt: skip
        if found < 0:
            return hi, None
        before = self.wealth_
        self.wealth_ = before + self.payout - bet
        self._keep(columns, found)
        evidence = {
            "p": float(p[found - lo]), "bet": bet,
            "wealth_before": before, "wealth_after": self.wealth_,
        }  # fmt: skip
        strength, level = (-math.log10(max(p, 5e-324)) for p in (evidence["p"], bet))
        feature = columns.first + found
        return found + 1, Decision(feature, "kept", strength, level=level, evidence=evidence)

    def _take_intercept(self, columns: Columns) -> Decision:
        """Take column 0 as the intercept, as the program does."""
        self._counted = 1
        if not columns.whole(0).any():
            return Decision(0, "constant", 0.0)
        self._keep(columns, 0)
        return Decision(0, "intercept", 0.0)

    def _keep(self, columns: Columns, j: int) -> None:
        self.model.add(columns.whole(j))
        self.features = np.append(self.features, columns.first + j)

    def keep_again(self, columns: Columns, each: Mapping[str, Any]) -> None:
        """Take the kept columns of a saved stream into the model."""
        for j in range(columns.width):
            self.model.add(columns.whole(j))

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, the first six in the order of their codes."""
        out = "{name} was dropped as irrelevant: "
        return {
            "not better": when_irrelevant(
                out + "the p-value of adding it to the kept features, {relevance_p}, is not below "
                "the bet of {level_p}"
            ),
            **UNUSABLE,
            "collinear": when_redundant(
                "{name} was dropped as redundant: it is a linear combination of the kept features, "
                "so its p-value is {relevance_p}, not below the bet of {level_p}"
            ),
            "no degrees": when_irrelevant(
                out + "no degrees of freedom are left to test it, with so many features kept on so "
                "few rows"
            ),
            "explained": when_irrelevant(out + "nothing of the {target} is left to explain"),
            "intercept": when_kept("{name} is kept: it came first and is taken for the intercept"),
            "kept": when_kept(
                "{name} is kept: the p-value of adding it to the features kept before, {p}, is "
                "below the bet of {bet}; the wealth went from {wealth_before} to {wealth_after}"
            ),
        }


def targets_of(target: Target, *, numbered: bool) -> Floats:
    """Return the targets of the regression, one per row: numbers, class numbers, or indicators.

    Indicators of all classes but one are enough.
    """
    if target.codes is None:
        return target.values[np.newaxis].copy()
    if numbered:
        return target.codes[np.newaxis].astype(np.float64) + 1.0
    classes = np.arange(max(1, target.n_classes - 1))
    indicators: Floats = (target.codes == classes[:, np.newaxis]).astype(np.float64)
    return indicators
