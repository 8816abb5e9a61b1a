"""Parameters that every method for columns takes besides those of its rule.

They say how the data is read, not how a method decides, so rules do not have them. `tamis.select`
takes them as arguments, and an estimator in its constructor.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from tamis.core.errors import ParameterError
from tamis.core.params import DeclaredParameters, param
from tamis.core.target import TASKS, Target
from tamis.encode import Encoder, Missing, resolve
from tamis.engine.encoded import Encoding, encoding_of
from tamis.engine.stopping import Stop
from tamis.methods.selector import ColumnSelector

#: Why features to keep cannot be named before the first column.
KEEP_LATER = (
    "keep= puts features first, so it needs all columns: use it with tamis.select or fit, and feed "
    "more columns afterwards"
)


class CommonParameters(DeclaredParameters):
    """How the target, the columns and their missing values are read, for any method.

    Parameters
    ----------
    task : {"auto", "classification", "regression"}, default="auto"
        What the target holds: classes, or numbers. "auto" decides by its type, by how many
        different values it has and how often they repeat.
    encode : {"mdlp", "equal-width", "equal-frequency", "kmeans"} or Encoder, optional
        Turn columns of numbers into categories, each independently. Columns of text and of few
        whole numbers are unchanged (`tamis.encode`). All columns are then compared as categories.
    missing : {"auto", "error", "category", "delete"} or Missing, default="auto"
        How missing values are handled. "auto": `AnyShape`, the measure of `Sieve`, gives them a bin
        of their own; other measures raise an error. "category" makes them a category. "delete"
        leaves them out of each comparison (pairwise deletion): correlations are then those of the
        complete pairs, with their own degrees of freedom.
    keep : sequence of names or numbers of columns, optional
        Features that must stay. They come first, whatever their position, and are never dropped;
        the others are compared with them: a feature that they make redundant is dropped, unless it
        is the better predictor.
    stop : dict or str, optional
        End the selection before the last column, at the first of these: ``{"features": 20}``,
        20 are kept; ``{"idle": 10_000}``, none of the last 10,000 was kept; ``{"accuracy": 0.95}``,
        a decision tree predicts the class with this accuracy from the kept ones, in five folds.
        The other columns are logged as not examined. For methods for feature streams.
    """

    _: KW_ONLY
    task: str = param("auto", TASKS)
    encode: Encoder | str | None = None
    missing: Missing | str = "auto"
    keep: Any = None
    stop: Any = None

    def check_params(self) -> None:
        """Raise a one-sentence error for the first parameter outside its range."""
        super().check_params()
        if self.encode is not None:
            resolve(self.encode)
        if self.missing != "auto":
            Missing.of(self.missing)
        if self.stop is not None:
            Stop.of(self.stop)

    @classmethod
    def of(cls, method: Any, given: CommonParameters | None = None) -> CommonParameters:
        """Return what an estimator says, or `given`; refuse two that contradict each other.

        Anything else than an estimator, such as a rule or a name, says nothing.
        """
        stated = getattr(method, "_common_parameters", None)
        common = cls() if given is None else given
        if stated is None or given is None:
            common = common if stated is None else stated()
            common.check_params()
            return common
        own, found = stated(), {}
        for name, default in cls().get_params().items():
            requested, says = getattr(given, name), getattr(own, name)
            found[name] = says if _same(name, requested, default) else requested
            if not any(_same(name, says, other) for other in (default, found[name])):
                raise ParameterError(
                    f"{name}={requested!r} contradicts {name}={says!r} of {type(method).__name__}; "
                    "give one of them"
                )
        common = cls(**found)
        common.check_params()
        return common

    def target(self, selector: ColumnSelector, y: Any) -> Target:
        """Return the target as a selector and the encoder can use it."""
        encoder = None if self.encode is None else resolve(self.encode)
        supervised = encoder is not None and encoder.supervised
        needs_classes = supervised or selector.rule.needs_classes()
        target = Target.of(y, self.task, needs_classes=needs_classes)
        if self.task == "classification":
            target.question_classes()
        return target

    def prepare(
        self, selector: ColumnSelector, target: Target
    ) -> tuple[Encoding | None, Stop | None, str]:
        """Prepare a selector for how its columns are read, and when it stops.

        Return the encoding, the stopping rule, and why the encoding gave the selector its measure,
        if it did.
        """
        encoding, stop, reason = None, None, ""
        if self.encode is not None or self.missing != "auto":
            encoding = encoding_of(self.encode, self.missing)
        if self.stop is not None:
            stop = Stop.for_selector(self.stop, selector, target)
        if encoding is not None:
            reason = encoding.prepare(selector, target)
        return encoding, stop, reason


def _same(name: str, one: Any, other: Any) -> bool:
    """Return whether two values of a parameter mean the same, such as "mdlp" and MDLP()."""
    if name == "encode":
        one, other = resolve(one), resolve(other)
    elif name == "missing":
        one, other = Missing.of(one), Missing.of(other)
    elif name == "stop":
        one, other = Stop.of(one), Stop.of(other)
    return repr(one) == repr(other)
