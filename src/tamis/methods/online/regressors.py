"""Learners that predict a number: the same methods with another loss.

Each has the model, the kept set and the parameters of its classifier; `NumberLearner` says what is
different. The kernels are those of two classes (`tamis.kernels.binary`).
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Number, OneOf, full_signature
from tamis.kernels import binary
from tamis.methods.online.arow import ArowLearner
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.merged_row_sieve import MergedRowSieveLearner
from tamis.methods.online.ogd import OgdLearner
from tamis.methods.online.pet import PetLearner
from tamis.methods.online.row_sieve import RowSieveLearner
from tamis.methods.online.sofs import SofsLearner
from tamis.methods.online.weights import Floats, Goals

#: Weights are float32, and losses are squared twice: targets outside this range could leave theirs.
SMALLEST, LARGEST = 1e-30, 1e30

#: Parameters of classifiers that regressors do not have.
_OF_CLASSES = ("multiclass", "classes")


class NumberLearner(OnlineLearner):
    """A linear model for a number, for rows that arrive over time, which selects features too.

    Parameters
    ----------
    loss : {"squared_error", "epsilon_insensitive"}
        What is made small: the square of an error, or its size beyond `epsilon`, which outliers
        of the target influence less.
    epsilon : float, default=0.1
        With the epsilon-insensitive loss, errors up to this size, in units of the target, are none.

    Attributes
    ----------
    weights_ : ndarray
        Their weights.
    intercept_ : float
        What the model predicts for a row of zeros.
    progressive_r2_ : float
        R² of the predictions that were made before each row was learned; NaN for fewer than two
        different targets.
    work_ : dict
        Counted work: rows, updates, mistakes (rows whose prediction was clearly further from the
        target than that of a model without weights), nonzeros of updates, features that entered,
        heap steps.
    """

    ranges: ClassVar = {
        "loss": OneOf(("squared_error", "epsilon_insensitive")),
        "epsilon": Number(0),
    }
    paper: ClassVar[Any] = None
    task = "regression"
    without: ClassVar[tuple[str, ...]] = ("classes_",)

    loss: str
    epsilon: float

    # Those of classifiers, which read them.
    multiclass: ClassVar[str] = "max"  # type: ignore[misc]
    classes: ClassVar[None] = None  # type: ignore[misc]

    def __init_subclass__(cls, **options: Any) -> None:
        cls.__init__ = _constructor(cls)  # type: ignore[method-assign]
        super().__init_subclass__(**options)

    def begin(self, classes: Any = None, whose: str = "y") -> None:
        """Start a new model."""
        self.check_params()
        model = self.new_model(1)
        model.predict_numbers(self.epsilon if self.loss == "epsilon_insensitive" else None)
        self._begin(model)

    def goals_of(self, labels: npt.NDArray[Any], first: int = 0) -> Goals:
        """Return the targets as numbers, or raise an error that names the first that is not one."""
        numbers, wrong = numbers_of(labels)
        if len(wrong):
            raise InputError(
                f"row {first + int(wrong[0])} has the target {labels.tolist()[wrong[0]]!r}, "
                f"{NOT_A_NUMBER}"
            )
        return numbers

    def update(self, rows: Compressed, goals: Goals) -> None:
        """Learn from checked and prepared rows with these targets."""
        super().update(rows, goals)
        fit = self.model.fit
        spread = math.sqrt(fit[binary.VARIATION] / max(self.work_["rows"], 1))
        if 0 < spread < SMALLEST or not math.isfinite(fit[binary.ERRORS]):
            raise InputError(
                f"the targets spread by {spread:g} around their mean, and the weights leave the "
                "range of float32 numbers; bring the target and the columns to a scale near 1"
            )

    @property
    def intercept_(self) -> float:
        """What the model predicts for a row of zeros."""
        return float(self.model.fit[binary.INTERCEPT])

    @property
    def progressive_r2_(self) -> float:
        """R² of the predictions that were made before each row was learned."""
        fit = self.model.fit
        squares = float(fit[binary.VARIATION])
        return 1.0 - float(fit[binary.ERRORS]) / squares if squares > 0 else math.nan

    def progressive_error(self) -> float:
        """Return the mean loss of those predictions."""
        return float(self.model.fit[binary.LOSSES]) / max(self.work_["rows"] - 1, 1)


#: Ends a sentence about a target.
NOT_A_NUMBER = f"which is not a number up to {LARGEST:g} that can be predicted"


def numbers_of(labels: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return targets as numbers, and which are none, or are too large to learn from."""
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):  # text, of which some may be numbers
        numbers = np.array([_number(label) for label in labels.tolist()])
    return numbers, np.flatnonzero(~(np.abs(numbers) <= LARGEST))


def _number(label: Any) -> float:
    try:
        return float(label)
    except (TypeError, ValueError):
        return math.nan


def _constructor(cls: type[OnlineLearner]) -> Any:
    """Return a constructor that stores the parameters of a classifier, and those of the loss."""
    classifier = next(base for base in cls.__mro__[1:] if "__init__" in vars(base))
    known = full_signature(classifier).parameters.values()
    parameters = [p for p in known if p.name not in _OF_CLASSES]
    at = sum(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters)
    own = {"loss": "squared_error", "epsilon": 0.1}
    parameters[at:at] = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in own.items()
    ]
    signature = inspect.Signature(parameters)

    def store(*args: Any, **params: Any) -> None:
        given = signature.bind(*args, **params)
        given.apply_defaults()
        (_, me), *rest = given.arguments.items()
        for name, value in rest:
            setattr(me, name, value)

    store.__name__ = "__init__"
    store.__signature__ = signature  # type: ignore[attr-defined]
    return store


class RowSieveRegressorLearner(NumberLearner, RowSieveLearner):
    """RowSieve for a number to predict: keeps the features whose weights stand out most.

    The model, the ranking by z_j = mu_j^2 (1 + p_j), the kept set K and the floor are those of
    `RowSieve`, with an intercept b that is always there and is not counted. For row t, (x, y), with
    the error r = y - b - sum_{j in K} mu_j x_j, the squared error takes the step

        beta = r / (g + sum_j x_j^2 Sigma_j),

    over all features of the row, and mu_j and p_j change as in `RowSieve`. With the
    epsilon-insensitive loss r is first moved by epsilon towards 0, and beta is the step that
    removes what is left, r / sum_j x_j^2 Sigma_j, but at most s / g in size, where s is the
    geometric mean of all errors |r| > 0 so far: outliers of the target pull no harder than other
    rows. A row with r = 0 changes no weight.

    The intercept moves by 2 r / (t + 1) (with the epsilon-insensitive loss by at most
    2 s / (t + 1)), so it is the first target at first, and in the end an average of what the
    weights leave. Row 1 changes no weight.

    Adding a number to all targets changes the intercept only; multiplying them multiplies the
    weights (with epsilon = 0, or the squared error). Columns with a mean far from 0 should be
    centred, because diagonal variances do not see that such columns move together.

    With `drift`, a row is a mistake if |r| is above |y - c| + u, where c is the intercept of a
    model without weights, and u the geometric mean of all |y - c| > 0 so far.

    References
    ----------
    docs/row-sieve.md has the evidence. The steps for the squared error are those of AROW for
    regression (Vaits, Crammer, ALT 2011).

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 40)) * (rng.random((2000, 40)) < 0.3)
    >>> y = 100 + 3 * X[:, 3] - X[:, 30] + 0.1 * rng.normal(size=2000)
    >>> model = tamis.RowSieveRegressor(n_features=2).partial_fit(X[:1000], y[:1000])
    >>> model = model.partial_fit(X[1000:], y[1000:])
    >>> model.kept_, model.weights_.round(1), round(model.intercept_)
    (array([ 3, 30]), array([ 3., -1.]), 100)
    >>> print(f"{model.score(X, y):.3f}")
    0.996
    """

    public_name: ClassVar[str] = "RowSieveRegressor"


class MergedRowSieveRegressorLearner(NumberLearner, MergedRowSieveLearner):
    """RowSieveRegressor on several shares of the rows at once, merged by precision.

    Rows are dealt out and learners are merged as in `MergedRowSieve`; the intercept is the mean of
    theirs, weighted by their rows. With one shard it equals `RowSieveRegressor`, bit for bit.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 40)) * (rng.random((2000, 40)) < 0.3)
    >>> tamis.MergedRowSieveRegressor(n_features=2, shards=4).fit(X, X[:, 3] - X[:, 30] + 9).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "MergedRowSieveRegressor"


class SofsRegressorLearner(NumberLearner, SofsLearner):
    """SOFS for a number to predict: the steps of `RowSieveRegressor` and the ranking of `SOFS`.

    mu_j += beta Sigma_j x_j with beta = r / (gamma + sum_j x_j^2 Sigma_j), and the B features of
    smallest Sigma_j keep their mu_j. With the squared error every row has loss, so the target has
    no influence on what is kept: a baseline. Our extension; the paper is about classes.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 9)) * np.arange(9)
    >>> tamis.SOFSRegressor(2).fit(X, X[:, 1]).kept_  # the largest, not the informative one
    array([7, 8])
    """

    public_name: ClassVar[str] = "SOFSRegressor"


class PetRegressorLearner(NumberLearner, PetLearner):
    """PET for a number to predict: gradient steps that keep the largest weights.

    w += eta r x / (1 + eta |x|^2), where r is the error as in `RowSieveRegressor`; then the B
    largest |w_j| stay and the others become 0. This is the implicit gradient step of the squared
    error: it takes the gradient at its end, so no learning rate makes it diverge. With the
    epsilon-insensitive loss the step removes the loss of the row, r x / |x|^2, but is at most
    eta s x. Our extension; the paper is about classes.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.PETRegressor(2).fit(X, X[:, 3] - X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "PETRegressor"


class OgdRegressorLearner(NumberLearner, OgdLearner):
    """OGD for a number to predict: the steps of `PETRegressor`; keeps every feature.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.OGDRegressor().fit(X, X[:, 3] - X[:, 30]).kept_.shape
    (40,)
    """

    public_name: ClassVar[str] = "OGDRegressor"


class ArowRegressorLearner(NumberLearner, ArowLearner):
    """AROW for a number to predict: the steps of `SOFSRegressor`; keeps every feature.

    References
    ----------
    N. Vaits, K. Crammer. Re-adapting the Regularization of Weights for Non-stationary Regression.
    ALT 2011.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.AROWRegressor().fit(X, X[:, 3] - X[:, 30]).kept_.shape
    (40,)
    """

    public_name: ClassVar[str] = "AROWRegressor"


#: What learns numbers in place of a learner of classes.
REGRESSORS: dict[type[OnlineLearner], type[NumberLearner]] = {
    RowSieveLearner: RowSieveRegressorLearner,
    MergedRowSieveLearner: MergedRowSieveRegressorLearner,
    SofsLearner: SofsRegressorLearner,
    PetLearner: PetRegressorLearner,
    OgdLearner: OgdRegressorLearner,
    ArowLearner: ArowRegressorLearner,
}


def regressor_of(learner: OnlineLearner) -> NumberLearner:
    """Return an untrained learner of the same method and parameters that predicts numbers."""
    if isinstance(learner, NumberLearner):
        return learner.clone()
    kind = REGRESSORS.get(type(learner))
    if kind is None:
        raise ParameterError(
            f"{learner.public_name} predicts classes only, and the task is regression; use "
            "RowSieveRegressor or another regressor (--method row-sieve)"
        )
    given = learner.get_params()
    for name in _OF_CLASSES:
        if given[name] != full_signature(type(learner)).parameters[name].default:
            raise ParameterError(
                f"{name}={given[name]!r} is for classes, and the task is regression; leave it out"
            )
    return kind(**{name: value for name, value in given.items() if name in kind.parameter_names})
