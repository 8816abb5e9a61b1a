"""How far a selection is, told while it goes on."""

from __future__ import annotations

import time

from tamis.sources.base import Progress

#: What `Telling` reports.
SETTLED = "selecting features"


class Telling:
    """Says how many features have been settled, a few times a second: rules can be slow."""

    EVERY = 0.2

    def __init__(self, report: Progress, total: int | None) -> None:
        self._report, self._total = report, total
        self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        """Tell, unless it was told a moment ago."""
        now = time.monotonic()
        if now - self._last >= self.EVERY or done == self._total:
            self._last = now
            self._report(SETTLED, done, self._total)


def untold(done: int) -> None:
    """Say nothing: columns that are fed are not reported."""
