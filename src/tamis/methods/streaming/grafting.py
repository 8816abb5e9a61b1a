"""Grafting: take a newcomer into an L1-penalised model when the slope of the loss allows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Decision, Reason
from tamis.core.errors import ConvergenceWarning, InputError, warn
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.kernels.logistic import block_gradients, fit_weights
from tamis.methods.modelled import UNUSABLE, Columns, Floats, ModelRule, Page
from tamis.methods.rule import Rule, when_evicted, when_irrelevant, when_kept, when_redundant

#: The log holds strengths as float32.
LARGEST = np.finfo(np.float32).max


class PenalisedLogistic:
    """L1-penalised logistic models, one for each class (one for two), on the same columns.

    Columns enter and leave; each fit starts from the weights of the previous one.
    """

    def __init__(
        self, classes: npt.NDArray[np.bool_], penalty: float, l2: float, tol: float
    ) -> None:
        n_models, n = classes.shape
        self._classes = classes.astype(np.float64)
        self._settings = (penalty, l2, tol * penalty)
        self._pointers = np.zeros(1, np.int64)
        self._rows, self._entries = np.zeros(0, np.int32), np.zeros(0)
        #: One row per class; the intercept is last.
        self.weights = np.zeros((n_models, 1))
        #: d loss / d margin of each row, one column per class.
        self.slopes = np.zeros((n, n_models))
        self.gradients = np.zeros((n_models, 1))
        self.sweeps = 0
        self.fit()

    @property
    def intercepts(self) -> Floats:
        """The intercept of each model."""
        return self.weights[:, -1]

    @intercepts.setter
    def intercepts(self, intercepts: Floats) -> None:
        self.weights[:, -1] = intercepts

    def add(self, rows: npt.NDArray[np.int32], entries: Floats) -> None:
        """Add a column, with weight 0."""
        self._pointers = np.append(self._pointers, self._pointers[-1] + len(rows))
        self._rows = np.concatenate([self._rows, rows])
        self._entries = np.concatenate([self._entries, entries])
        self.weights = np.insert(self.weights, -1, 0.0, axis=1)

    def keep_only(self, kept: npt.NDArray[np.bool_]) -> None:
        """Drop the other columns, whose weights are 0."""
        lengths = np.diff(self._pointers)
        entries = np.repeat(kept, lengths)
        self._pointers = np.concatenate([[0], np.cumsum(lengths[kept])])
        self._rows, self._entries = self._rows[entries], self._entries[entries]
        self.weights = self.weights[:, np.append(kept, True)]

    def fit(self) -> float:
        """Fit all weights from where they are; return how far from optimal they ended."""
        columns = (self._pointers, self._rows, self._entries)
        self.gradients = np.zeros_like(self.weights)
        worst = 0.0
        for c, positive in enumerate(self._classes):
            slopes = np.empty(len(positive))
            sweeps, off = fit_weights(
                *columns, positive, *self._settings, self.weights[c], slopes, self.gradients[c]
            )
            self.slopes[:, c] = slopes
            self.sweeps += int(sweeps)
            worst = max(worst, float(off))
        return worst


class GraftingRule(ModelRule):
    """Grafting: features enter and leave a penalised logistic model as they arrive.

    The model minimises, over the features it holds,

        L(w, b) = mean of log(1 + exp(-y (w.x + b))) + penalty ||w||_1 + l2/2 ||w||^2.

    At weight 0 the penalty pulls back with the force `penalty`, so a newcomer can lower L only if
    the loss alone pulls harder: |d loss / d w| > penalty. Then it enters, all weights are optimised
    again from where they were, and features whose weight went back to exactly 0 leave. A feature
    that left or never entered is forgotten, as in a stream it must be.

    More than two classes: one model for each class against the rest, all on the same features. A
    feature enters if any of the gradients is above the penalty and leaves when all of its weights
    are 0.

    The penalty treats all weights alike, so the unit of a column matters: by default columns are
    divided by their standard deviation. Copies of a kept feature have a gradient equal to the
    penalty and stay out (with l2 = 0).

    Cost: entries of the column, times the models, for each feature; entries of the kept columns,
    times the sweeps made, for each one that enters. Memory: the kept columns.

    Parameters
    ----------
    penalty : float, default=0.1
        The L1 penalty. Against scikit-learn's LogisticRegression: C = 1 / (rows * penalty).
    l2 : float, default=0.0
        An added L2 penalty.
    scale : {"std", "none"}, default="std"
        Divide columns by their standard deviation, or leave them unchanged.
    tol : float, default=1e-6
        Weights are optimal when the optimality conditions hold to tol * penalty, and a
        gradient is above the penalty when it is so by more than twice that.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (models, kept features) and (models,)
        The model, for unscaled columns, in the order of `kept_`.
    log_ : DecisionLog
        What happened to every feature, and why. The relevance is the largest gradient on arrival.

    References
    ----------
    S. Perkins, J. Theiler. Online Feature Selection using Grafting. ICML 2003, 592-599.
    https://www.aaai.org/Library/ICML/2003/icml03-078.php
    (in batch: S. Perkins, K. Lacker, J. Theiler, JMLR 3, 2003, https://jmlr.org/papers/v3/perkins03a.html)

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 50))
    >>> y = X[:, 3] - X[:, 30] + 0.5 * rng.normal(size=200) > 0
    >>> sel = tamis.Grafting().fit(X, y)
    >>> sel.kept_
    array([ 3, 30])
    """

    name: ClassVar[str] = "grafting"
    only_classes: ClassVar[bool] = True
    counted: ClassVar[Mapping[str, str]] = {
        "gradients": "_gradients", "fits": "_fits", "sweeps": "model.sweeps",
    }  # fmt: skip
    former_parameters: ClassVar[Mapping[str, str | None]] = {"tolerance": "tol"}

    penalty: float = param(0.1, Number(0, open_low=True))
    _: KW_ONLY
    l2: float = param(0.0, Number(0))
    scale: str = param("std", OneOf(("std", "none")))
    tol: float = param(1e-6, Number(0, 0.1, open_low=True))

    @classmethod
    def from_saved(cls, parameters: Mapping[str, Any]) -> Rule:
        """Return a rule with parameters read from a file; "std" was "deviation" once."""
        if parameters.get("scale") == "deviation":
            parameters = {**parameters, "scale": "std"}
        return super().from_saved(parameters)

    def begin(self, target: Target) -> None:
        """Begin with a model without features."""
        if not target.is_classes:
            raise InputError(
                "Grafting needs classes, but the target is a number; use AlphaInvesting, which "
                "takes both, or group the target into classes"
            )
        self.model = PenalisedLogistic(
            target.against_rest(), float(self.penalty), float(self.l2), float(self.tol)
        )
        self._gate = float(self.penalty * (1 + 2 * self.tol))
        self.features = np.zeros(0, np.int64)
        self._relevance = np.zeros(0)
        self._shifts, self._scales = np.zeros(0), np.zeros(0)
        self._gradients = self._fits = 0

    def take(self, columns: Columns, lo: int, hi: int, page: Page) -> tuple[int, Decision | None]:
        """Look for the first column whose gradient is above the penalty, and add it."""
        squares = columns.squares[lo:hi]
        scales = self._scales_of(squares, columns.n_rows)
        gradients = np.empty(hi - lo)
        columns.share_out(
            lambda a, b: block_gradients(
                *columns.arrays, columns.n_rows, columns.shifts, scales, self.model.slopes,
                a, b, lo, gradients,
            ),
            lo, hi, self.model.slopes.shape[1],
        )  # fmt: skip
        self._gradients += hi - lo
        above = np.flatnonzero(gradients > self._gate)
        stop = lo + int(above[0]) + 1 if len(above) else hi
        page.strengths[lo:stop] = np.minimum(gradients[: stop - lo], LARGEST)
        page.levels[lo:stop] = self._gate
        page.codes[lo:stop] = columns.unusable(lo, stop)
        if not len(above):
            return hi, None
        return stop, self._enter(columns, stop - 1, gradients[above[0]], scales[above[0]])

    def _scales_of(self, squares: Floats, n_rows: int) -> Floats:
        """Return the scales of columns with these sums of squares; 0 where they cannot be used."""
        usable = np.maximum(squares, 0.0)
        return np.sqrt(usable / n_rows) if self.scale == "std" else np.sign(usable)

    def _enter(self, columns: Columns, j: int, gradient: float, scale: float) -> Decision:
        """Add a column to the model, optimise all weights, and drop those that became 0."""
        rows, entries = columns.listed(j)
        self.model.add(rows, entries / scale)
        newcomer = columns.first + j
        self.features = np.append(self.features, newcomer)
        self._relevance = np.append(self._relevance, gradient)
        self._shifts = np.append(self._shifts, columns.shifts[j])
        self._scales = np.append(self._scales, scale)
        self._optimise()
        weights = self.model.weights[:, :-1]
        stays = np.any(weights != 0.0, axis=0)
        now = np.abs(self.model.gradients[:, :-1]).max(axis=0)
        evicts = tuple(
            Decision(
                int(self.features[i]), "evicted", float(self._relevance[i]), float(now[i]),
                self._gate, (newcomer,),
            )
            for i in np.flatnonzero(~stays[:-1])
        )  # fmt: skip
        furthest = max(weights[:, -1].tolist(), key=abs)  # from 0, over the models
        decision = Decision(
            newcomer, "kept" if stays[-1] else "returned", float(gradient), level=self._gate,
            evicts=evicts, evidence={"weight": float(furthest / scale)},
        )  # fmt: skip
        if not stays.all():
            self.model.keep_only(stays)
            self.features, self._relevance = self.features[stays], self._relevance[stays]
            self._shifts, self._scales = self._shifts[stays], self._scales[stays]
        return decision

    def _optimise(self) -> None:
        self._fits += 1
        worst = self.model.fit()
        if worst > self.tol * self.penalty:
            warn(
                f"Grafting: the weights of {len(self.features)} features are optimal only to "
                f"{worst:.2g} instead of {self.tol * self.penalty:.2g}; raise tol or "
                "the penalty",
                ConvergenceWarning,
            )

    # --- saving a stream -------------------------------------------------------------------

    saved_per_feature: ClassVar[Mapping[str, str]] = {
        "relevance": "_relevance",
        "weight": "_weights",
    }
    saved: ClassVar[Mapping[str, str]] = {
        # Where the next fit begins depends on all that came before.
        "intercepts": "model.intercepts",
        "slopes": "model.slopes",
        "sweeps": "model.sweeps",
        "gradients": "_gradients",
        "fits": "_fits",
    }

    @property
    def _weights(self) -> Floats:
        return self.model.weights[:, :-1].T

    def keep_again(self, columns: Columns, each: Mapping[str, Any]) -> None:
        """Take the kept columns of a saved stream into the model, with their weights."""
        self._relevance = np.array(each["relevance"])
        self._shifts = columns.shifts.copy()
        self._scales = self._scales_of(columns.squares, columns.n_rows)
        for j in range(columns.width):
            rows, entries = columns.listed(j)
            self.model.add(rows, entries / self._scales[j])
        self.model.weights[:, :-1] = each["weight"].T

    def after_withdrawal(self) -> None:
        """Optimise the weights that are left."""
        self._optimise()

    # --- what can be read ------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """Weights of the kept features, for unscaled columns; one row per model."""
        weights: Floats = self.model.weights[:, :-1] / self._scales
        return weights

    @property
    def intercept_(self) -> Floats:
        """Intercept of each model."""
        intercepts: Floats = self.model.weights[:, -1] - self.coef_ @ self._shifts
        return intercepts

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, the first three in the order of their codes."""
        pulls = "the gradient of the loss at weight 0, {relevance}, is "
        return {
            "irrelevant": when_irrelevant(
                "{name} was dropped as irrelevant: " + pulls + "not above the penalty of {level}"
            ),
            **UNUSABLE,
            "returned": when_redundant(
                "{name} was dropped as redundant: " + pulls + "above the penalty of {level}, but "
                "its weight went back to 0 when all weights were optimised"
            ),
            "evicted": when_evicted(
                "{name} was kept until {because} arrived: its weight went back to 0, where the "
                "gradient of the loss, {value}, is not above the penalty of {level}"
            ),
            "kept": when_kept(
                "{name} is kept: " + pulls + "above the penalty of {level}, and it entered the "
                "model with the weight {weight}"
            ),
        }
