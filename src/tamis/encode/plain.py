"""The encoder that only treats missing values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.encode.encoder import Encoder, Floats
from tamis.encode.missing import Missing


class PlainEncoder(Encoder):
    """Leave every column unchanged, except for its missing values.

    Parameters
    ----------
    missing : {"error", "category", "delete"} or Missing, default="error"
        How missing values are treated.

    Examples
    --------
    >>> from tamis.encode import Plain
    >>> import numpy as np
    >>> Plain(missing="category").fit_transform(np.array([[1.0], [np.nan], [3.0]])).ravel()
    array([1., 4., 3.])
    """

    method: ClassVar[str] = "plain"
    ranges: ClassVar = {}
    which = "numbers"

    def __init__(self, *, missing: Missing | str = "error") -> None:
        self.missing = missing

    def _find(self, columns: Any, target: Target | None, stays: Any, numbers: Any) -> Floats:
        stays[:] = True
        return np.empty(0)

    def _kind_of(self, block: ColumnBlock) -> Any:
        return block.kind
