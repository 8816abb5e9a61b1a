"""An honest score of a selection: cross-validation of the whole procedure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Score:
    """A mean over folds, its standard error, and an interval that covers 95 %."""

    mean: float
    std_error: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Judged:
    """The score of a selection on rows that it did not see, beside two others.

    ``print(judged)`` says it in one sentence.

    Attributes
    ----------
    scoring : str
        What the scores are: balanced accuracy (the mean over classes of the share that is predicted
        right) or R squared (the part of the variance that is predicted).
    model, cv : str
        What predicted, and the folds, such as "3x5" for three times five.
    kept, every, random : Score
        With the features that the selection kept in each fold, with all features (None if that
        would take too much memory), and with as many features at random.
    n_kept, n_features, n_rows : float, int, int
        The mean number of features kept in a fold, and the size of the data.
    """

    scoring: str
    model: str
    cv: str
    kept: Score
    every: Score | None
    random: Score
    n_kept: float
    n_features: int
    n_rows: int

    def record(self) -> dict[str, Any]:
        """Return it as plain values, for run.json."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return what `record` wrote."""
        scores = {
            key: None if record[key] is None else Score(**record[key])
            for key in ("kept", "every", "random")
        }
        return cls(**{**record, **scores})

    def rows(self) -> list[tuple[str, Score]]:
        """Return the scores, each with what it is the score of."""
        found = [(f"kept ({self.n_kept:,.3g} on average)", self.kept)]
        if self.every is not None:
            found.append((f"all {self.n_features:,}", self.every))
        return [*found, ("as many at random", self.random)]

    def __str__(self) -> str:
        beside = "" if self.every is None else f"; all {self.n_features:,} features {self.every}"
        features = "feature" if self.n_kept == 1 else "features"
        return (
            f"{self.scoring} {self.kept} on rows that the selection did not see, "
            f"{self.n_kept:,.3g} {features} on average{beside}; as many at random {self.random} "
            f"({self.model}, {self.cv} folds, 95 % intervals)"
        )
