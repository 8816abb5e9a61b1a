"""Covariates: columns to adjust for, such as age, sex or principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import most_levels, refuse_unlike_numbers
from tamis.core.errors import InputError

Floats = npt.NDArray[np.float64]

#: Sentences name this many covariates.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Covariates:
    """One row of covariates per row of the data; categories are coded by numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_covariates)
        The numbers, and the codes of categories.
    names : tuple of str
        Their names.
    is_text : ndarray of bool
        Which of them are categories without an order.
    """

    values: Floats
    names: tuple[str, ...]
    is_text: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        bad = ~np.isfinite(self.values)
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            raise InputError(
                f"the covariate {self.names[column]!r} is missing or infinite in row {row} "
                "(counted from 0); fill the gap, or leave out the row"
            )

    def __len__(self) -> int:
        return len(self.names)

    def design(self) -> Floats:
        """Return the covariates as columns of numbers, categories as indicators of their levels."""
        columns = []
        for column, is_text in zip(self.values.T, self.is_text.tolist(), strict=True):
            if is_text:
                columns += [(column == level).astype(float) for level in np.unique(column)[1:]]
            else:
                columns.append(column)
        return np.array(columns).reshape(len(columns), len(self.values))

    def strata(self, measure: str) -> tuple[npt.NDArray[np.int32], int]:
        """Return the joint category of each row, and their number; refuse covariates with many."""
        most = most_levels(len(self.values))
        for column, name in zip(self.values.T, self.names, strict=True):
            found = len(np.unique(column))
            if found > most or np.any(column != np.floor(column)):
                raise InputError(
                    f"the covariate {name!r} has {found} different values, and {measure} compares "
                    "rows of the same category; cut it into a few groups, or use "
                    "measure='fisher_z', which takes numbers"
                )
        levels, codes = np.unique(self.values, axis=0, return_inverse=True)
        return codes.ravel().astype(np.int32), len(levels)

    def __str__(self) -> str:
        if len(self) > _NAMED:
            return f"{len(self)} covariates"
        return ", ".join(self.names)

    def update(self, digest: Any) -> None:
        """Add everything to a hash."""
        digest.update("\0".join(self.names).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.values).tobytes())
        digest.update(self.is_text.tobytes())


def checked_weights(weights: Any, n_rows: int) -> Floats:
    """Return sample weights as an array; raise an error unless there is a valid one per row."""
    refuse_unlike_numbers(weights, "sample_weight")
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight holds something that is not a number: {error}") from error
    if found.shape != (n_rows,):
        raise InputError(
            f"sample_weight has the shape {found.shape} and there are {n_rows} rows; give one "
            "weight for each row"
        )
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"sample_weight is {found[row]} in row {row} (counted from 0); weights must be finite "
            "and not negative"
        )
    if not found.any():
        raise InputError("every sample_weight is zero; give some rows a positive weight")
    return found
