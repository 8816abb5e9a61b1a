"""Selectors that pass a gate: p-values of columns in order of arrival, and what is logged of them.

`score` computes p-values, a pure function. The gate is sequential, so it works in `update`. A gate
for whole tables holds scored blocks until the table ends (`end_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.certificate import REACHABLE
from tamis.core.errors import ParameterError, warn
from tamis.core.p_levels import LEAST, packed_p
from tamis.core.target import Target
from tamis.measures.measure import Floats, Measure
from tamis.methods.gates import GATES, Gate, TableGate
from tamis.methods.rule import UNREACHABLE
from tamis.methods.selector import ColumnSelector

if TYPE_CHECKING:
    from tamis.methods.measured import ScoredBlock

#: What explanations say about p-values and levels.
GATE_SENTENCES = {
    "level_passed": "{relevance_symbol}={relevance}, {p_shown} ({test_used}) is within {level}, "
    "its level by {gate_title}",
    "level_missed": "{relevance_symbol}={relevance}, {p_shown} ({test_used}) is above its level of "
    "at most {level} by {gate_title}",
    "gate": "its level by {gate_title} with {p_shown} ({test_used})",
}


def check_gate(rule: Any) -> None:
    """Raise a one-sentence error if a rule cannot have the gate that its parameters name."""
    if rule.fdr is None:
        raise ParameterError(
            f"{rule.public_name}: gate={rule.gate!r} needs a false discovery rate, such as fdr=0.1"
        )
    if rule.takes_fdr and not rule.gated:
        raise ParameterError(
            f"{rule.public_name}: blanket='full' also looks at columns that pass no test of their "
            "own, so it cannot be used with fdr; leave one of the two out"
        )
    if not rule.takes_fdr:
        raise ParameterError(
            f"{rule.public_name} does not decide by one test for each column, so it cannot control "
            "the false discovery rate; use a method such as sieve, saola, fast-osfs or fcbf"
        )
    other = "alpha" if rule.alpha is not None else "threshold"
    if rule.alpha is not None or getattr(rule, "threshold", 0.0) > 0.0:
        raise ParameterError(
            f"{rule.public_name}: fdr sets the level of every test, and {other} sets one level for "
            "all of them; give one of them"
        )
    free = getattr(rule, "order", "") == "free"
    if free and not GATES[rule.gate].waits:
        raise ParameterError(
            f"the levels of gate={rule.gate!r} depend on the order of the columns, so it cannot be "
            "used with order='free'; use gate='bh', which decides when it has seen every column, "
            "or 'batch-bh' to decide table by table"
        )
    if GATES[rule.gate].only_once and rule.is_stream and not free:
        raise ParameterError(
            f"gate={rule.gate!r} decides when it has seen every column, and {rule.public_name} "
            "decides as columns arrive; use gate='lord++', or 'batch-bh' to decide table by table"
        )


class Gating(ColumnSelector):
    """The part of a selector that runs a gate, if its rule has a false discovery rate."""

    #: The gate; None without a false discovery rate.
    _gate: Gate | None = None

    _kept: Any
    _relevant: int

    #: Scored blocks of a table that a gate for whole tables waits for.
    _table: list[ScoredBlock]
    #: Columns whose counts allow a p-value that a certificate can use.
    _reachable: int

    @property
    def gate_(self) -> Gate:
        """The gate, with the tests and finds so far."""
        if self._gate is None:
            raise AttributeError("gate_ needs a false discovery rate; set fdr=0.1")
        return self._gate

    def _begin_gate(self) -> None:
        self._table, self._reachable, self.is_inside_table = [], 0, False
        self._gate = GATES[self.rule.gate](self.rule.fdr)
        if self._gate.warning:
            warn(self._gate.warning)

    def _gate_fields(self, measure: Measure) -> dict[str, str]:
        """Return the texts that explanations need, or refuse a measure without p-values."""
        if not measure.tests:
            raise ParameterError(
                f"fdr needs p-values, and {type(measure).__name__} has none; use one of the "
                "measures any_shape, mutual_information, g_squared and fisher_z"
            )
        return GATE_SENTENCES | {
            "gate_title": str(self._gate),
            "fdr": repr(self.rule.fdr),
            "p_tests": "|".join(measure.tests),
        }

    # --- the two halves of taking a block --------------------------------------------------

    def _score_tested(self, block: ColumnBlock, scored: type[ScoredBlock]) -> ScoredBlock:
        """Compute p-values, and prepare the columns that may pass."""
        gate, block = self._gate, self._ready(block)
        assert gate is not None
        tested, *of_worlds = self.measure_.tested_with_each(block, self._targets, gate.screen)
        may_pass = ~tested.constant & (tested.p <= gate.most)
        may_pass[: max(0, self.required - block.first)] = True
        survivors = np.flatnonzero(may_pass)
        strengths = np.maximum(tested.value[survivors], LEAST)
        return scored(
            block.first,
            block.names,
            tested.value.astype(np.float32),
            np.nan,
            tested.constant.astype(np.uint8),
            survivors + block.first,
            strengths,
            np.full(len(survivors), np.nan),
            self._kept.panel.prepare(block, survivors),
            gaps=block.count_gaps() if self.takes_gaps else (0, 0),
            p=tested.p,
            least_p=tested.least_p,
            test=tested.test,
            decoys=self._decoys(block, of_worlds),
        )

    def _through_gate(self, scored: ScoredBlock) -> None:
        """Log a scored block, and take the survivors that are found."""
        gate = self._gate
        assert gate is not None
        assert scored.p is not None
        self.gaps = self.gaps[0] + scored.gaps[0], self.gaps[1] + scored.gaps[1]
        least = self._least_p(scored)
        self._reachable += int(np.count_nonzero(least <= REACHABLE))
        if isinstance(gate, TableGate):
            if gate.only_once and gate.tests and not self.is_inside_table:
                raise ParameterError(
                    f"gate={gate.name!r} has decided about all columns, so no others can follow; "
                    "make a selection that grows with gate='batch-bh'"
                )
            tested = least <= gate.alpha
            self._log_tested(scored, tested, np.nan)
            self._hold(scored, tested)
            return
        met = gate.test(scored.p, least, self._watched(scored))
        self._expect_decoys(scored, met.level)
        same = len(met.level) and (met.level == met.level[0]).all()
        self._log_tested(scored, met.tested, met.level[0] if same else met.level)
        at = scored.features - scored.first
        self._take_found(scored, met.found[at], met.level[at])

    def _least_p(self, scored: ScoredBlock) -> Floats:
        """Return the least possible p-values; infinity for columns that are not to be tested."""
        assert scored.least_p is not None
        untested = scored.constant.astype(bool)
        untested[: max(0, self.required - scored.first)] = True
        return np.where(untested, np.inf, scored.least_p)

    def _log_tested(
        self, scored: ScoredBlock, tested: npt.NDArray[np.bool_], level: float | Floats
    ) -> None:
        """Log a block in bulk, with the p-value of each column, or the least possible one."""
        assert scored.p is not None
        assert scored.least_p is not None
        assert scored.test is not None
        codes = scored.constant.copy()
        unreachable = ~tested & (codes == 0)
        unreachable[: max(0, self.required - scored.first)] = False
        codes[unreachable] = list(self.log_.reasons).index(UNREACHABLE)
        self.log_.append_bulk(scored.relevance, level, codes, scored.names)
        p = np.where(unreachable, scored.least_p, scored.p)
        self.log_.append_values(scored.first, packed_p(p, scored.test))

    def _take_found(
        self, scored: ScoredBlock, found: npt.NDArray[np.bool_], levels: Floats
    ) -> None:
        """Take the survivors of a block that are found, and those that must stay."""
        go = np.flatnonzero(found | (scored.features < self.required))
        some = scored.pick(go, levels)
        self._relevant += int(np.count_nonzero(found))
        self._take(some, 0, len(go))

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        raise NotImplementedError

    # --- decoys, for selectors with shadow worlds ----------------------------------------------

    @property
    def _targets(self) -> list[Target]:
        """The target, and those of the shadow worlds."""
        return [self._target]

    def _decoys(self, block: ColumnBlock, of_worlds: Sequence[Any]) -> tuple[Any, ...]:
        """Return the decoys of a block that may pass, one entry for each shadow world."""
        return ()

    def _watched(self, scored: ScoredBlock) -> Floats | None:
        """Return p-values that will be compared with the levels, those of decoys included."""
        return None

    def _expect_decoys(self, scored: ScoredBlock, level: float | Floats) -> None:
        """Let the decoys that are within their levels wait for the turn of their columns."""

    def _end_of_block(self, end: int) -> None:
        """Judge the decoys of the columns before `end`."""

    # --- whole tables ------------------------------------------------------------------------

    @property
    def table_features(self) -> npt.NDArray[np.int64]:
        """Features of an unfinished table whose columns may still be needed."""
        parts = [scored.features for scored in self._table]
        decoys = [world.features for scored in self._table for world in scored.decoys]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *parts, *decoys]))

    def _hold(self, scored: ScoredBlock, tested: npt.NDArray[np.bool_]) -> None:
        """Hold the survivors of a block, with infinity as the p-value of those that are no tests.

        All other columns count only by their number.
        """
        assert scored.p is not None
        at = scored.features - scored.first
        p = np.where(tested[at], scored.p[at], np.inf)
        if not self._table:
            self._table_first, self._table_tests = scored.first, 0
        self._table_tests += int(np.count_nonzero(tested))
        self.is_inside_table = True
        width = np.broadcast_to(np.float32(0), len(scored.relevance))  # which takes no memory
        self._table.append(
            replace(
                scored, p=p, names=None, relevance=width, constant=np.zeros(0, np.uint8),
                least_p=None, test=None,
            )
        )  # fmt: skip

    def end_table(self) -> None:
        """Decide about the columns of a table, if the gate waited for its end."""
        if not self.is_inside_table:
            return
        table, self._table, self.is_inside_table = self._table, [], False
        assert isinstance(self._gate, TableGate)
        p = [np.zeros(0) if scored.p is None else scored.p for scored in table]
        every = np.concatenate(p)
        level = self._gate.decide(every[np.isfinite(every)], self._table_tests)
        self.log_.replace_levels(self._table_first, level)
        for scored, mine in zip(table, p, strict=True):
            self._expect_decoys(scored, level)
            self._take_found(scored, mine <= level, np.full(len(mine), level))
            self._end_of_block(scored.first + len(scored.relevance))
