"""Putting a stream away and going on: what a feature-stream selector must remember.

The target, the log and the values of the kept columns are kept by whoever puts the stream away. A
selector adds the few numbers that do not follow from them, such as the wealth of alpha-investing;
everything else (panels, bases, distances) is worked out again by the code that worked it out first,
so a file holds no inner workings, and a strange file can break none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.core.errors import SourceError
from tamis.core.names import NameBook
from tamis.core.target import Target


class Restorable:
    """The part of a feature-stream selector that is put away and restored.

    Subclasses say what to remember of each kept feature (`_each`) and besides (`_numbers`), and
    keep the features again (`_take_back`).
    """

    if TYPE_CHECKING:
        log_: DecisionLog
        n_features_in_: int
        _target: Target
        _names: NameBook

        @property
        def kept_(self) -> npt.NDArray[np.int64]:
            """Kept features by number, in order of arrival."""

        def reasons(self) -> dict[str, Reason]:
            """Every reason this selector can give."""

        def _start(self, y: Any, name_prefix: str, name_base: int) -> None: ...

    def state(self) -> dict[str, Any]:
        """What the stream needs to go on, besides the target, the log and the kept columns.

        Nested dicts of numbers, words and arrays: ``features`` are the kept ones, ``each`` has one
        entry for each of them in every array, ``numbers`` is about the whole.
        """
        return {"features": self.kept_, "each": self._each(), "numbers": self._numbers()}

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> Self:
        """Go on from a `state` as if the stream had never been put away.

        `columns` are the kept columns, oldest first. What follows from them is worked out again.
        """
        features = np.asarray(state["features"], dtype=np.int64)
        self._start(y, log.names.prefix, log.names.base)
        self._take_back(columns, features, state["each"], state["numbers"])
        declared = self.reasons()
        if list(log.reasons)[: len(declared)] != list(declared):
            raise SourceError(
                f"the log was written by a {type(self).__name__} that gave other reasons; use the "
                "tamis that wrote it"
            )
        self._names, self.log_, self.n_features_in_ = log.names, log, len(log)
        return self

    def without(self, features: Sequence[int], columns: ColumnBlock) -> Self:
        """A copy that never kept some features; `columns` are those of the features that stay.

        What the log says about them is left to the caller.
        """
        state = self.state()
        stays = ~np.isin(state["features"], features)
        state["features"] = state["features"][stays]
        state["each"] = {key: array[stays] for key, array in state["each"].items()}
        copy: Self = clone(self).restore(self._target, state, columns, self.log_)
        copy._after_withdrawal()
        return copy

    def _each(self) -> dict[str, npt.NDArray[Any]]:
        """What is to be remembered of each kept feature, besides its column."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its state is")

    def _numbers(self) -> dict[str, Any]:
        """What is to be remembered besides."""
        raise NotImplementedError

    def _take_back(
        self,
        columns: ColumnBlock,
        features: npt.NDArray[np.int64],
        each: Mapping[str, Any],
        numbers: Mapping[str, Any],
    ) -> None:
        """Keep `features` again, whose columns are given, after `_begin`."""
        raise NotImplementedError

    def _after_withdrawal(self) -> None:
        """Set right what depends on all kept features, when some were taken away."""
