"""Least angle regression of one or more targets at once.

The fit moves towards the least squares fit on the features taken so far, just far enough that
another feature correlates as much with the residual as they do; that one is taken next. The
correlation of a feature with the residual R is the Euclidean norm of its products with the columns
of R. So with one target the path is that of Efron et al., and with more that of Simila and Tikka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Reason
from tamis.core.params import Number, param
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.scores import Found, Table, TableRule
from tamis.methods.rule import when_irrelevant, when_kept, when_redundant

#: A column of which the features taken leave less than this share of its squares is one of them.
COLLINEAR = 1e-10
#: Products closer than this (columns and targets have norm 1) are tied; below it nothing is left.
ROUNDING = 1e-12


class UnitColumns:
    """The columns of a table, centred, with norm 1; sparse ones are never written out together."""

    def __init__(self, table: Table) -> None:
        norms = np.sqrt(table.columns.squares)
        lengths = np.diff(table.columns.indptr)
        m = table.matrix
        self.matrix: Any = type(m)(
            (m.data / np.repeat(norms, lengths), m.indices, m.indptr), m.shape
        )
        self.means = table.columns.means / norms

    def products(self, with_: Floats) -> Floats:
        """Return the product of every column with every column of an array."""
        result: Floats = self.matrix.T @ with_ - np.outer(self.means, with_.sum(axis=0))
        return result

    def column(self, j: int) -> Floats:
        """Return one column with all its rows."""
        m = self.matrix
        whole = np.full(m.shape[0], -self.means[j])
        a, b = m.indptr[j], m.indptr[j + 1]
        whole[m.indices[a:b]] += m.data[a:b]
        return whole


@dataclass(frozen=True, eq=False)
class Path:
    """Columns in the order in which they were taken, and their correlations with the residual.

    `sizes` are the correlations when the last column is taken, `at_entry` those when each column
    was taken; `collinear` are columns that are linear combinations of those taken.
    """

    taken: list[int]
    at_entry: list[float]
    sizes: Floats
    collinear: npt.NDArray[np.bool_]


def least_angle(columns: UnitColumns, targets: Floats, steps: int) -> Path:
    """Take up to `steps` columns; the targets are centred, and their squares sum to 1."""
    products, left = columns.products(targets), targets.copy()
    sizes = _sizes(products)
    common = float(sizes.max())  # correlation of every column taken with the residual
    gone, collinear = np.zeros((2, len(sizes)), np.bool_)
    basis, move, towards = np.zeros((len(left), 0)), np.zeros_like(left), np.zeros_like(products)
    taken: list[int] = []
    at_entry: list[float] = []
    new = int(np.argmax(sizes >= common - ROUNDING))
    while common > ROUNDING:
        gone[new] = True
        rest = _beyond(basis, columns.column(new))
        if rest is None:
            collinear[new] = True
        else:
            basis = np.column_stack([basis, rest])
            taken.append(new)
            at_entry.append(common)
            if len(taken) == steps:
                break
            move = basis @ (basis.T @ left)
            towards = columns.products(move)
        share = _shares(products, towards, common)
        share[gone] = np.inf
        step = min(1.0, float(share.min()))
        left -= step * move
        products -= step * towards
        common *= 1.0 - step
        if step == 1.0:
            break
        new = int(np.argmax(share <= step + ROUNDING))
        move *= 1.0 - step  # what is left to go, unless the newcomer changes the direction
        towards *= 1.0 - step
    return Path(taken, at_entry, _sizes(products), collinear)


def _sizes(products: Floats) -> Floats:
    sizes: Floats = np.sqrt((products**2).sum(axis=1))
    return sizes


def _shares(products: Floats, towards: Floats, common: float) -> Floats:
    """Return the step g at which each column correlates with the residual as much as those taken.

    |products - g towards| = (1 - g) common: the smaller root of a quadratic equation, which lies
    between 0 and 1, in the form that loses no digits.
    """
    square = common * common
    a = (towards**2).sum(axis=1) - square
    b = square - (products * towards).sum(axis=1)
    c = np.minimum((products**2).sum(axis=1) - square, 0.0)
    below = b + np.sqrt(np.maximum(b * b - a * c, 0.0))
    share = np.full(len(a), np.inf)
    np.divide(-c, below, out=share, where=below > 0)
    share[(c == 0.0) & (below <= 0)] = 0.0
    return share


def _beyond(basis: Floats, column: Floats) -> Floats | None:
    """Return what a column adds to an orthonormal basis, with norm 1; None if that is nothing."""
    for _ in range(2):  # once is not enough for columns that are nearly in it
        column = column - basis @ (basis.T @ column)
    square = float(column @ column)
    return None if square < COLLINEAR else column / np.sqrt(square)


class PathRule(TableRule):
    """A batch rule that takes features along the path of least angle regression.

    Parameters
    ----------
    n_features : int, default=10
        How many to take; fewer if the residual becomes zero.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they were taken.
    """

    model_reasons: ClassVar[Mapping[str, Reason]] = {
        "below": when_irrelevant(
            "{name} was dropped: others were taken before it; at the end of the path "
            "|r({name}, rest)|={relevance}"
        ),
        "collinear": when_redundant(
            "{name} was dropped as redundant: the features that were taken leave nothing of it "
            "(less than 1e-10 of its variance)"
        ),
        "kept": when_kept(
            "{name} is kept, number {value} to be taken: |r({name}, rest)|={relevance} was the "
            "highest"
        ),
    }

    n_features: int = param(10, Number(1, integer=True))

    def found(self, ranking: Ints, scores: Floats, collinear: npt.NDArray[np.bool_]) -> Found:
        """Return the outcome of a path for all columns, including collinear ones."""
        codes = np.where(collinear, self.code("collinear"), self.code("below"))
        return Found(ranking, scores, codes.astype(np.uint8))
