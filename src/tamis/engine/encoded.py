"""Encode columns as categories and handle missing values between a source and a selector.

An encoder sees one column and the target, so blocks are encoded as they are read. How columns are
split into blocks does not matter, and columns that arrive days later are encoded by the same rule.
The run folder records what was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import GAP, MANY_LEVELS, ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.encode import BY_NAME, Encoder, Missing, resolve
from tamis.encode.encoder import Cuts, NameOf
from tamis.encode.plain import PlainEncoder
from tamis.engine.seen_columns import Hashes, equal_to_target, hashes_of
from tamis.measures.auto import at_level
from tamis.measures.auto import resolve as resolve_measure
from tamis.measures.measure import Measure
from tamis.methods import ColumnSelector
from tamis.sources.base import ColumnSource, ColumnWrapper

#: What was done to kept features, by number: cuts, and how many gaps.
Facts = dict[str, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class EncodedBlock(ColumnBlock):
    """Encoded columns, with what was done to each, and hashes of the original values.

    Columns without names have no hashes. `leak` is the number of a column that equals the target.
    """

    cuts: Cuts | None = None
    hashes: Hashes | None = None
    leak: int | None = None


class Encoding:
    """The encoder and the missing-value policy applied before a selector sees the columns.

    Parameters
    ----------
    encode : Encoder, str or None
        How numbers become categories; with None they stay numbers.
    missing : Missing or str
        How missing values are handled.
    """

    def __init__(self, encode: Encoder | str | None, missing: Missing | str) -> None:
        given = resolve(encode)
        self.missing = Missing.of(missing)
        says_nothing = self.missing in (Missing(), Missing("auto"))
        if given is not None and says_nothing and given.missing != "error":
            self.missing = Missing.of(given.missing)  # the encoder's own
        self.cuts = given is not None
        if self.missing.policy == "auto" and (self.cuts or self.missing.zero_is_gap):
            self.missing = replace(self.missing, policy="error")  # no measure sees them
        encoder: Encoder = PlainEncoder() if given is None else given.clone()
        plain = {k: _plain(v) for k, v in encoder.get_params(deep=False).items()}
        self.encoder = encoder.set_params(**plain | {"missing": self.missing})
        self.encoder.check_params()

    def __str__(self) -> str:
        return repr(self.encoder.clone().set_params(missing="error")) if self.cuts else ""

    def prepare(self, selector: ColumnSelector, target: Target) -> str:
        """Give a selector a suitable measure, and the reason where we chose it."""
        rule, passes = selector.rule, self.missing.policy in ("auto", "error")
        if "measure" not in rule.get_params():
            if not passes:
                raise ParameterError(
                    f"{selector.method} takes numbers, so missing values can be no category and "
                    "cannot be left out: fill the gaps, or use a method with a measure"
                )
            return ""
        if self.cuts and self.encoder.supervised and getattr(rule, "shadows", False):
            raise ParameterError(
                f"{self} cuts columns by looking at the target, which decoys cannot repeat, so "
                "shadow worlds would find too few false features; use encode='equal-frequency' "
                "(--encode equal-frequency), or leave shadows out"
            )
        if self.cuts and self.encoder.supervised and getattr(rule, "fdr", None) is not None:
            raise ParameterError(
                f"{self} cuts columns by looking at the target, so their p-values are too small "
                "for a false discovery rate; use encode='equal-frequency' (--encode "
                "equal-frequency), or leave fdr out"
            )
        measure, reason = resolve_measure(rule.measure, rule.alpha), ""
        own = rule.measure == type(rule).measure
        given = f"it is the default of {rule.public_name}" if own else "it was given"
        if measure is None and self.cuts and target.is_classes:
            measure = rule.auto_measures()[0]
            if rule.alpha is not None:
                measure = at_level(measure, {"alpha": rule.alpha})
            reason = f"every column is turned into categories by {self}"
        if self.cuts and self.encoder.supervised and getattr(measure, "alpha", None) is not None:
            reason = (
                f"{reason or given}; its p-values are not valid here, because the cuts "
                "were chosen by looking at the target"
            )
        if measure is not None:
            rule.measure, rule.alpha = self.adapted(measure), None
        elif not passes:
            selector.adapt_measure = self.adapted
        return reason

    def adapted(self, measure: Measure) -> Measure:
        """Return the measure as it treats missing values, or raise an error."""
        if self.missing.policy == "category" and measure.takes_gaps and not self.cuts:
            self.encoder.set_params(missing=replace(self.missing, policy="auto"))
        elif self.missing.policy == "category" and measure.kind == "continuous":
            raise ParameterError(
                f"the measure {type(measure).__name__} takes numbers, so missing values cannot be "
                "a category: turn numbers into categories with encode='mdlp' (--encode mdlp), or "
                "leave missing values out with missing='delete' (--missing delete)"
            )
        if self.missing.policy == "delete":
            from tamis.measures.pairwise_deletion import deleting  # slow to import

            return deleting(measure, 0.0 if self.missing.zero_is_gap else GAP)
        return measure

    def encode(self, block: ColumnBlock, target: Target, name_of: NameOf) -> EncodedBlock:
        """Return the columns as a selector sees them."""
        cuts = self.encoder.find(block, target, name_of)
        hashes = None if block.names is None else hashes_of(block)
        encoded = self.encoder.apply(block, cuts)
        parts = {f.name: getattr(encoded, f.name) for f in fields(ColumnBlock) if f.init}
        leak = equal_to_target(block, target)
        return EncodedBlock(**parts, cuts=cuts, hashes=hashes, leak=leak)

    def record(
        self, gaps: int = 0, columns: int = 0, encoded: Facts | None = None
    ) -> dict[str, Any]:
        """Return what a run records: missing values, and how the kept features were encoded."""
        missing = {"policy": self.missing.policy, "gaps": gaps, "columns": columns}
        if self.missing.values is not None:
            missing["values"] = _plain(self.missing.values)
        return {"encode": str(self), "missing": missing, "encoded": encoded or {}}

    # --- in a file -----------------------------------------------------------------------------

    @property
    def known_by_name(self) -> bool:
        """Return whether it can be saved to a file and read back without running foreign code."""
        return not self.cuts or type(self.encoder) is BY_NAME.get(self.encoder.method)

    def settings(self) -> dict[str, Any]:
        """Return what is needed to encode later columns, as numbers and text."""
        parameters = self.encoder.get_params(deep=False)
        del parameters["missing"]
        return {
            "encode": {"method": self.encoder.method, **parameters} if self.cuts else None,
            "missing": {"policy": self.missing.policy, "values": _plain(self.missing.values)},
            # Integer columns with up to this many levels stay unchanged; this is not a parameter.
            "levels": MANY_LEVELS,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the encoding that was saved; only the encoders of tamis can be restored."""
        encoder, missing = settings["encode"], settings["missing"]
        if settings["levels"] != MANY_LEVELS:
            raise ParameterError(
                f"columns of up to {settings['levels']} levels were left unchanged, and this tamis "
                f"leaves those of up to {MANY_LEVELS}; use the tamis that wrote it"
            )
        if encoder is not None:
            given = dict(encoder)
            encoder = resolve(given.pop("method")).set_params(**given)  # type: ignore[union-attr]
        return cls(encoder, Missing(missing["policy"], missing["values"]))


def encoding_of(encode: Any, missing: Missing | str) -> Encoding | None:
    """Return the encoding, or None if columns pass unchanged."""
    found = Encoding(encode, missing)
    return None if not found.cuts and found.missing == Missing("auto") else found


class EncodedSoFar:
    """What was done to the columns of a stream so far: missing values, and cuts of kept features.

    It continues from a `record` that an earlier instance returned.
    """

    def __init__(self, encoding: Encoding, record: Mapping[str, Any] | None = None) -> None:
        self.encoding = encoding
        missing = {"gaps": 0, "columns": 0} if record is None else record["missing"]
        self._gaps, self._columns = int(missing["gaps"]), int(missing["columns"])
        self._facts: Facts = {} if record is None else dict(record["encoded"])

    def add(self, first: int, cuts: Cuts, kept: npt.NDArray[np.int64]) -> None:
        """Count the missing values of columns from number `first` on; note the cuts of kept ones.

        Entries of dropped features are removed when they outnumber the kept ones.
        """
        self._gaps += int(cuts.missing.sum())
        self._columns += int(np.count_nonzero(cuts.missing))
        lo, hi = np.searchsorted(kept, [first, first + len(cuts.stays)])
        for feature in kept[lo:hi].tolist():
            self._facts[str(feature)] = _facts_of(cuts, feature - first)
        if len(self._facts) > 2 * len(kept) + 64:
            self._facts = self._of(kept)

    def record(self, kept: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return what a run records."""
        return self.encoding.record(self._gaps, self._columns, self._of(kept))

    def _of(self, kept: npt.NDArray[np.int64]) -> Facts:
        return {str(f): self._facts[str(f)] for f in np.sort(kept).tolist()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _facts_of(cuts: Cuts, j: int) -> dict[str, Any]:
    """Return what was done to column j."""
    of = cuts.of(j)
    return {"cuts": None if of is None else of.tolist(), "gaps": int(cuts.missing[j])}


class EncodedSource(ColumnWrapper):
    """A source of columns whose blocks are encoded as they are read."""

    def __init__(self, source: ColumnSource, encoding: Encoding, target: Target) -> None:
        super().__init__(source)
        self.encoding, self._target = encoding, target

    def change(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block as a selector sees it."""
        return self.encoding.encode(block, self._target, self._name_of)

    def record(
        self, kept: npt.NDArray[np.int64], gaps: int, columns: int, so_far: EncodedSoFar | None
    ) -> dict[str, Any]:
        """Return what was done, for the record of a run that counted missing values.

        Cuts of kept features that were not noted during the run take one more pass over the data.
        """
        if so_far is not None:
            return so_far.record(kept)
        facts: Facts = {}
        for block in self._source.columns() if len(kept) else ():
            inside = kept[(kept >= block.first) & (kept < block.first + block.width)]
            if len(inside):
                picked = block.pick(inside - block.first)
                cuts = self.encoding.encoder.find(picked, self._target, self._name_of)
                facts |= {str(f): _facts_of(cuts, i) for i, f in enumerate(inside.tolist())}
        return self.encoding.record(gaps, columns, facts)

    def _name_of(self, block: ColumnBlock, column: int) -> str:
        return block.name_of(column, self.name_prefix, self.name_base)
