"""The information of columns about the class jointly, beyond what each has alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.params import OneOf, check
from tamis.core.target import Target
from tamis.measures.interaction_gain import GainForm, InformationInteractions
from tamis.measures.measure import Floats
from tamis.measures.mutual_information import MutualInformation
from tamis.measures.panels import code_columns

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Interaction:
    """The information of some columns about the class, in bits.

    Attributes
    ----------
    joint : float
        That of all columns together, I(y; f1, ..., ft).
    alone : tuple of float
        That of each column, I(y; f).
    value : float
        `joint` less the sum of `alone`: above 0, the columns interact; below 0, they repeat each
        other.
    """

    joint: float
    alone: tuple[float, ...]

    @property
    def value(self) -> float:
        """The joint information beyond what each column has alone."""
        return self.joint - sum(self.alone)


def interaction(X: Any, y: Any) -> Interaction:
    """Return how all columns of a table interact, as defined in the paper of SFS-FI.

    Every value is a category; cut numbers into categories first (`tamis.encode.MDLP`). The joint
    information of t columns needs rows: with many levels nearly every row is a level of its own,
    and determines its class by chance alone.

    Parameters
    ----------
    X : array, scipy sparse matrix or data frame of shape (n_rows, t)
        The columns, two or more.
    y : array-like of shape (n_rows,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import interaction
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> found = interaction(X, X[:, 0] ^ X[:, 1])
    >>> found.joint, found.alone, found.value
    (1.0, (0.0, 0.0), 1.0)

    The paper's example is MONK-1: a row is of the class if a1 = a2 or a5 = 1. These are all 432
    rows; its printed values, other than those that are 1, are of the 124 training rows.

    >>> from itertools import product
    >>> levels = (3, 3, 2, 3, 4, 2)
    >>> X = np.array(list(product(*(range(1, k + 1) for k in levels))))
    >>> y = (X[:, 0] == X[:, 1]) | (X[:, 4] == 1)
    >>> for names in ([1, 2], [1, 5], [1, 2, 5], [1, 2, 3, 4, 5]):
    ...     found = interaction(X[:, [a - 1 for a in names]], y)
    ...     print(names, f"joint {found.joint:.4f}, interaction {abs(found.value):.4f}")
    [1, 2] joint 0.4591, interaction 0.4591
    [1, 5] joint 0.3113, interaction 0.0000
    [1, 2, 5] joint 1.0000, interaction 0.6887
    [1, 2, 3, 4, 5] joint 1.0000, interaction 0.6887
    """
    block, target = _ready(X, y)
    codes = np.zeros(block.n_rows, dtype=np.int64)
    for column in _dense_codes(block, range(block.width)):
        # Levels are numbered again after each column, so that numbers stay small.
        _, codes = np.unique(codes * (int(column.max()) + 1) + column, return_inverse=True)
    measure = MutualInformation()
    alone = measure.relevance(block, target).value
    joint = measure.relevance(codes[:, None].astype(np.float64), target).value
    return Interaction(float(joint[0]), tuple(alone.tolist()))


def interaction_gains(X: Any, y: Any, kept: Sequence[int], gain: str = "sum") -> Floats:
    """Return the interaction gain of every column with the kept ones, as SFS-FI computes it.

    The gain of f is the sum over the kept columns s of I(y; f, s) - I(y; f) - I(y; s), in bits; the
    gain of a kept column is with the others.

    Parameters
    ----------
    X : array, scipy sparse matrix or data frame of shape (n_rows, n_columns)
        The columns; every value is a category.
    y : array-like of shape (n_rows,)
        The classes.
    kept : sequence of int
        The kept columns, by number.
    gain : {"sum", "mean"}, default="sum"
        The sum over the kept columns, or their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import interaction_gains
    >>> X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    >>> interaction_gains(X, X[:, 0] ^ X[:, 1], kept=[0])
    array([0., 1., 0.])

    MONK-1 again: once a1 is kept, only a2 gains.

    >>> from itertools import product
    >>> levels = (3, 3, 2, 3, 4, 2)
    >>> X = np.array(list(product(*(range(1, k + 1) for k in levels))))
    >>> y = (X[:, 0] == X[:, 1]) | (X[:, 4] == 1)
    >>> np.abs(interaction_gains(X, y, kept=[0])).round(4)
    array([0.    , 0.4591, 0.    , 0.    , 0.    , 0.    ])
    """
    check("interaction_gains", "gain", gain, OneOf(("sum", "mean")))
    block, target = _ready(X, y)
    if any(not 0 <= k < block.width for k in kept) or len(set(kept)) < len(kept):
        raise ParameterError(
            f"kept={list(kept)} must be distinct column numbers from 0 to {block.width - 1}"
        )
    panel = InformationInteractions(target, MutualInformation(), GainForm())
    columns = panel.prepare(block, np.arange(block.width))
    for k in kept:
        panel.add(columns[k])
    gains = np.zeros(block.width)
    for i in range(block.width) if len(kept) else ():
        terms = panel.meet_one(columns[i]).terms
        others = [term for k, term in zip(kept, terms.tolist(), strict=True) if k != i]
        gains[i] = sum(others) / (max(len(others), 1) if gain == "mean" else 1)
    return gains


def _ready(X: Any, y: Any) -> tuple[ColumnBlock, Target]:
    """Return the columns and the classes, or refuse numbers to predict."""
    block, target = ColumnBlock.of(X), Target.of(y, "classification")
    if target.n_rows != block.n_rows:
        raise InputError(
            f"the columns have {block.n_rows} rows but the target has {target.n_rows}; "
            "give one class for each row"
        )
    if not block.width:
        raise InputError("X has no columns; give at least one")
    return block, target


def _dense_codes(block: ColumnBlock, numbers: Sequence[int]) -> list[Ints]:
    """Return columns as one level code per row."""
    found = []
    for column in code_columns(block, np.asarray(numbers)):
        codes = np.zeros(block.n_rows, dtype=np.int64)
        codes[column.rows] = column.codes
        found.append(codes)
    return found
