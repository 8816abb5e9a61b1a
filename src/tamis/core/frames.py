"""The columns of a log as a data frame wants them: names and words in place of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from tamis.core.names import NameBook
from tamis.core.verdicts import Verdict


def named_columns(
    table: Mapping[str, npt.NDArray[Any]], reasons: Sequence[str], names: NameBook
) -> dict[str, Any]:
    """Columns for a data frame, from the plain arrays of `DecisionLog.columns`."""
    verdicts = [verdict.name.lower() for verdict in Verdict]
    called = [names[i] for i in table["feature"].tolist()]
    return {
        "feature": table["feature"],
        "name": called,
        "verdict": [verdicts[code] for code in table["verdict"].tolist()],
        "reason": [reasons[code] for code in table["reason"].tolist()],
        "relevance": table["relevance"],
        "value": table["value"],
        "level": table["level"],
        "because": [names[b] if b >= 0 else None for b in table["because"].tolist()],
        "at": table["at"],
    }
