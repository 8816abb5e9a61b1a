"""Random features: a control that a method must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.params import Number, param
from tamis.measures.measure import Floats
from tamis.methods.batch.scores import Codes, ScoredRule, constants


class RandomFeaturesRule(ScoredRule):
    """A control: features drawn at random.

    Every feature draws a number between 0 and 1 that depends only on `random_state` and on its
    number; the `n_features` highest are kept. So more features are a superset of fewer, and the
    draw of a feature does not change when others arrive. Constant columns draw nothing.

    Cost: one pass over the columns. Memory: the draws of the kept features.

    Parameters
    ----------
    n_features : int, default=10
        How many to keep.
    random_state : int, default=0
        The seed of the draws.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, the highest draw first.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.arange(40).reshape(4, 10)
    >>> tamis.RandomFeatures(3).fit(X, [0, 0, 1, 1]).kept_
    array([2, 3, 8])
    >>> print(tamis.RandomFeatures(3, random_state=1).fit(X, [0, 0, 1, 1]).log_.why("x0"))
    x0 was dropped: draw(x0)=0.368 is not above that of x2 (0.737699), the last that is kept
    """

    name: ClassVar[str] = "random"
    paper: ClassVar[Mapping[str, Any] | None] = None
    symbol: ClassVar[str] = "draw({name})"
    takes_text: ClassVar[bool] = True

    n_features: int = param(10, Number(1, integer=True))
    random_state: int = param(0, Number(0, 2**63 - 1, integer=True))

    def score(self, block: ColumnBlock, model: Any) -> tuple[Floats, Codes]:
        """Draw a number for each column."""
        numbers = np.arange(block.first, block.first + block.width)
        return draws(self.random_state, numbers), constants(block)


def draws(seed: int, numbers: npt.NDArray[np.int64]) -> Floats:
    """Return a number in [0, 1) for each (seed, number): two rounds of the mixer of splitmix64."""
    mixed = mix(mix(np.array([seed], np.uint64)) ^ numbers.astype(np.uint64))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Apply one step of splitmix64 (Steele, Lea, Flood 2014) to each number."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
