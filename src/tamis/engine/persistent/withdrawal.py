"""Taking features away from a selection that no longer exist where they came from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.log_arrays import Mark, arrays_since
from tamis.engine.persistent.selection_state import SelectionState

WITHDRAWN, REPLACED = "withdrawn", "replaced"

#: Behind the reasons of the selector, from the first withdrawal on. One that was kept leaves the
#: kept features; of one that was not kept nothing is left to decide.
REASONS = {
    WITHDRAWN: Reason(
        Verdict.EVICTED, "{name} was kept until it was withdrawn: it no longer exists upstream"
    ),
    f"{WITHDRAWN}, not kept": Reason(
        Verdict.IRRELEVANT, "{name} was withdrawn: it no longer exists upstream; it was not kept"
    ),
    REPLACED: Reason(
        Verdict.EVICTED,
        "{name} was kept until it was replaced: other values came under the same name",
    ),
    f"{REPLACED}, not kept": Reason(
        Verdict.IRRELEVANT,
        "{name} was replaced: other values came under the same name; it was not kept",
    ),
}


def withdraw(state: SelectionState, features: Sequence[int], why: str) -> list[int]:
    """Take features away; give those that they had displaced, which may be fed again.

    Nothing is decided anew: what a feature drove out is told, and not brought back.
    """
    log, selector = state.log, state.selector
    back = [f for f in displaced(log, features) if f not in features]
    kept = selector.kept_.tolist()
    log.declare(REASONS)
    for feature in features:
        reason = why if feature in kept else f"{why}, not kept"
        log.append_withdrawal(Decision(feature, reason, log.relevance_of(feature)))
    stays = [f for f in kept if f not in features]
    if len(stays) < len(kept):
        state.selector = selector.without(features, state.kept_block(stays))
        state.columns = {f: state.columns[f] for f in stays}
    state.forget([*features, *back])
    return back


def displaced(log: DecisionLog, features: Sequence[int]) -> list[int]:
    """Features that are not kept because of one of these, by the last word of the log on them."""
    state = arrays_since(log, Mark(len(log)))  # the events, nothing else
    ends, because = state["event_because_end"], state["because"]
    event_of = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    named = np.unique(event_of[np.isin(because, list(features))])
    # A later event of the same feature overwrites an earlier one: assignment keeps the last.
    last = np.full(len(log), -1, np.int64)
    last[state["event_feature"]] = np.arange(len(ends))
    candidates = np.unique(state["event_feature"][named])
    verdicts = log.verdicts[candidates]
    decided = np.isin(last[candidates], named) & (verdicts != Verdict.KEPT)
    return [int(f) for f in candidates[decided]]
