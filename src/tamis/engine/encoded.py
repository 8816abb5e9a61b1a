"""Columns turned into categories, and gaps put right, on their way from a source to a selector.

An encoder looks at one column and the target, so blocks are encoded as they come, and how columns
are put into blocks cannot matter. What was done is told in the record of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import ParameterError
from tamis.core.kinds import GAP
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.encode import Encoder, Missing, Plain, resolve
from tamis.measures.auto import as_asked
from tamis.measures.auto import resolve as resolve_measure
from tamis.measures.pairwise_deletion import PairwiseDeletion
from tamis.selectors import ColumnSelector
from tamis.sources.base import Report, Source, SourceInfo, silent


class Encoding:
    """What is done to columns before a selector sees them.

    Parameters
    ----------
    encode : Encoder, str or None
        How numbers become categories; None leaves them numbers.
    missing : Missing or str
        What becomes of missing values.
    """

    def __init__(self, encode: Encoder | str | None, missing: Missing | str) -> None:
        given = resolve(encode)
        self.missing = Missing.of(missing)
        if given is not None and self.missing == Missing() and given.missing != "error":
            self.missing = Missing.of(given.missing)  # the encoder's own
        self.cuts = given is not None
        encoder: Encoder = Plain() if given is None else clone(given)
        self.encoder = encoder.set_params(missing=self.missing)
        self.encoder._check_parameters()

    @property
    def idle(self) -> bool:
        """True where columns go through as they are, and gaps are refused by the selector."""
        return not self.cuts and self.missing.policy == "error" and self.missing.values != 0

    def __str__(self) -> str:
        return repr(clone(self.encoder).set_params(missing="error")) if self.cuts else ""

    def prepare(self, selector: ColumnSelector, target: Target) -> str:
        """Give a selector the measure that fits; why, where the choice was left to us."""
        policy = self.missing.policy
        if "measure" not in selector.get_params(deep=False):
            if policy != "error":
                raise ParameterError(
                    f"{selector.method} takes numbers, so missing values can be no category and "
                    "cannot be left out: fill the gaps, or use a method with a measure"
                )
            return ""
        measure, reason = resolve_measure(selector.measure), ""
        if measure is None and target.is_classes:
            measure = as_asked(selector.measure, selector.discrete_measure)
            reason = self._reason()
        if policy != "error" and (measure is None or measure.kind != "discrete"):
            what = "auto" if measure is None else type(measure).__name__
            raise ParameterError(
                f"the measure {what} takes numbers, so missing values can be no category and "
                "cannot be left out; use MutualInformation() or another measure of categories"
            )
        if policy == "delete" and measure is not None:
            measure = PairwiseDeletion(measure, 0.0 if self.missing.zero_is_gap else GAP)
        if measure is not None:
            selector.set_params(measure=measure)
        return reason

    def _reason(self) -> str:
        if self.cuts:
            return f"every column is turned into categories by {self}"
        return "missing values are told apart from categories only"

    def record(self, source: EncodedSource | None, kept: npt.NDArray[np.int64]) -> dict[str, Any]:
        """What was done, for the record of a run: with the cuts and gaps of kept features."""
        if source is None:
            return {"missing": {"policy": "error", "gaps": 0, "columns": 0}}
        missing = {
            "policy": self.missing.policy,
            "gaps": source.gaps,
            "columns": source.gap_columns,
        }
        if not np.isnan(self.missing.values):
            missing["values"] = self.missing.values
        return {"encode": str(self), "missing": missing, "encoded": source.facts_of(kept)}


class EncodedSource(Source):
    """A source of columns whose blocks are encoded as they come."""

    format: ClassVar[str] = "encoded"
    axis: ClassVar[Literal["columns", "rows"]] = "columns"

    def __init__(self, source: Source, encoding: Encoding, target: Target) -> None:
        self._source, self._encoder, self._target = source, encoding.encoder, target
        self.name_prefix, self.name_base = source.name_prefix, source.name_base
        #: Missing values, and columns that have some, in the last pass.
        self.gaps = self.gap_columns = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._source.n_rows

    @property
    def n_columns(self) -> int | None:
        """Number of columns, or None while unknown."""
        return self._source.n_columns

    def target(self) -> npt.NDArray[Any] | None:
        """The target stored with the data, or None."""
        return self._source.target()

    def columns(self, width: int | None = None, report: Report = silent) -> Iterator[ColumnBlock]:
        """Stream blocks of encoded columns."""
        self.gaps = self.gap_columns = 0
        for block in self._source.columns(width, report):
            cuts = self._encoder.find(block, self._target, self._name_of)
            self.gaps += int(cuts.missing.sum())
            self.gap_columns += int(np.count_nonzero(cuts.missing))
            yield self._encoder.apply(block, cuts)

    def rows(self, size: int | None = None, report: Report = silent) -> Any:
        """Rows are not encoded."""
        return self._source.rows(size, report)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Everything, as it was before it was encoded."""
        return self._source.load()

    def info(self) -> SourceInfo:
        """Shape, layout, target and fingerprint of the data as they were."""
        return self._source.info()

    def facts_of(self, features: npt.NDArray[np.int64]) -> dict[str, dict[str, Any]]:
        """Cuts and gaps of some features by number, in one more pass over the data."""
        facts: dict[str, dict[str, Any]] = {}
        if not len(features):
            return facts
        for block in self._source.columns():
            inside = features[(features >= block.first) & (features < block.first + block.width)]
            if not len(inside):
                continue
            picked = _pick(block, inside - block.first)
            cuts = self._encoder.find(picked, self._target, self._name_of)
            for i, feature in enumerate(inside.tolist()):
                of = cuts.of(i)
                listed = None if of is None else of.tolist()
                facts[str(feature)] = {"cuts": listed, "gaps": int(cuts.missing[i])}
        return facts

    def _name_of(self, block: ColumnBlock, column: int) -> str:
        return block.name_of(column, self.name_prefix, self.name_base)


def _pick(block: ColumnBlock, columns: npt.NDArray[np.int64]) -> ColumnBlock:
    """Some columns of a block, by their place in it."""
    v = block.values
    values = v.pick(columns) if isinstance(v, Compressed) else np.asfortranarray(v[:, columns])
    names = None
    if block.names is not None:
        names = Names.of([block.names[int(j)] for j in columns])
    words = None if block.words is None else block.words[columns]
    return ColumnBlock(block.first, block.n_rows, values, names, block.kind, block.group, words)
