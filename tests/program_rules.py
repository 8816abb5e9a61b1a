"""Rules that make all tests of the authors' programs (tamis makes fewer), for golden counts."""

from __future__ import annotations

from typing import ClassVar

from tamis.core.decisions import Decision
from tamis.estimators import estimator_of
from tamis.methods import Arrival
from tamis.methods.separating import Separable
from tamis.methods.streaming.fast_osfs import FastOSFSRule


class ProgramFastOSFSRule(FastOSFSRule):
    """Test a new feature once more, given sets that contain the newest of the others."""

    name: ClassVar[str] = "program-fast-osfs"

    def decide(self, arrival: Arrival, kept: Separable) -> Decision:
        decision = super().decide(arrival, kept)
        if decision.reason.startswith("kept"):
            gone = {evicted.feature for evicted in decision.evicts}
            left = [i for i, f in enumerate(kept.features.tolist()) if f not in gone]
            if left:  # which can find nothing new
                kept.separator(len(kept), left[:-1], including=left[-1])
        return decision


ProgramFastOSFS = estimator_of(ProgramFastOSFSRule)
