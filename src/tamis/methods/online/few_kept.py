"""Learners that keep few features, as many as asked for, or as many as the stream itself asks for.

With ``n_features="auto"`` several sizes learn side by side (`tamis.methods.online.sizes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, Range, check
from tamis.methods.online.learner import SHARED_RANGES, InstanceLearner
from tamis.methods.online.sizes import SIZES, SideBySide
from tamis.methods.online.weights import MOST_SLOTS, KeptWeights

_SIZE = Number(1, MOST_SLOTS, integer=True)

#: Parameters of every learner that keeps few features.
FEW_RANGES: Mapping[str, Range | Sequence[Range]] = {
    "n_features": (_SIZE, OneOf(("auto",))),
    **SHARED_RANGES,
}


class FewKept(InstanceLearner):
    """A learner whose model holds at most `n_features` features."""

    n_features: int | str
    sizes: Sequence[int] | None

    #: Whether the model holds precisions beside weights.
    second_order: ClassVar[bool]

    _model: KeptWeights | SideBySide

    @property
    def n_features_(self) -> int:
        """How many features may be kept: as given, or with "auto" as picked so far."""
        check_is_fitted(self)
        return self._model.size

    @property
    def size_curve_(self) -> dict[int, float]:
        """Progressive error of each size that "auto" tries; of a size that was given, its own.

        With "auto" the rows that count are those after the first p of the t rows seen, where p is
        the largest power of two up to t/2; otherwise all.
        """
        check_is_fitted(self)
        return self._model.curve

    def _new_model(self, blocks: int) -> KeptWeights | SideBySide:
        if self.n_features == "auto":
            sizes = SIZES if self.sizes is None else self.sizes
            return SideBySide(sizes, blocks, second_order=self.second_order)
        return KeptWeights(int(self.n_features), blocks, second_order=self.second_order)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        if self.sizes is None:
            return
        if self.n_features != "auto":
            raise ParameterError(
                f"{owner}: sizes= are for n_features='auto', but n_features={self.n_features!r}; "
                "give one of the two"
            )
        sizes: Any = self.sizes if isinstance(self.sizes, Sequence) else list(self.sizes)
        if not len(sizes):
            raise ParameterError(f"{owner}: sizes= is empty; give one size or more")
        for size in sizes:
            check(owner, "sizes", size, _SIZE)
