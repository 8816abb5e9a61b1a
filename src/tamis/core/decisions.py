"""Decisions and their log: what happened to every feature, and why, in a few bytes each.

A selector declares its reasons once, as sentences with gaps. The log stores numbers only: one byte
and one float32 for a feature that never met the rule, a record for each one that did. So the log of
thirty million columns fits in memory, replays to the kept set, and can still explain each of them
without the selector that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError
from tamis.core.growable import Growable
from tamis.core.log_arrays import arrays_of, extend
from tamis.core.names import NameBook, Names
from tamis.core.near_names import no_such_feature
from tamis.core.sentences import fill, join, show
from tamis.core.stretches import Stretches
from tamis.core.verdicts import EVENT, Decision, Reason, Verdict
from tamis.core.views import LogViews

__all__ = ["Decision", "DecisionLog", "Reason", "Verdict"]


class DecisionLog(LogViews):
    """The decision of every feature, columnar.

    Parameters
    ----------
    reasons : mapping of str to Reason
        Every reason the selector can give.
    names : NameBook, optional
        Names of the features.
    template_fields : mapping of str to str, optional
        Fixed words for the sentences, e.g. ``{"target": "class"}``.

    Examples
    --------
    >>> from tamis.core.names import Names
    >>> reasons = {
    ...     "weak": Reason(Verdict.IRRELEVANT, "{name} is weak: {relevance} is not above {level}"),
    ...     "kept": Reason(Verdict.KEPT, "{name} is kept with {relevance}"),
    ... }
    >>> log = DecisionLog(reasons)
    >>> log.append_bulk(np.array([0.1, 0.9, 0.2]), level=0.5, reason="weak", names=Names.of("abc"))
    >>> log.append(Decision(1, "kept", relevance=0.9))
    >>> log.replay()
    [1]
    >>> log.why("c")
    'c is weak: 0.2 is not above 0.5'
    """

    def __init__(
        self,
        reasons: Mapping[str, Reason],
        names: NameBook | None = None,
        template_fields: Mapping[str, str] | None = None,
    ) -> None:
        self.reasons = dict(reasons)
        self.names = names if names is not None else NameBook()
        self.template_fields = dict(template_fields or {})
        self._index_reasons()
        self._reason = Growable(np.uint8)
        self._relevance = Growable(np.float32)
        self._levels = Stretches()
        self._values = Stretches()
        self._events = Growable(EVENT)
        self._because = Growable(np.int64)
        self._evidence: dict[str, tuple[Growable, Growable]] = {}

    def _index_reasons(self) -> None:
        self._keys = list(self.reasons)
        self._codes = {key: code for code, key in enumerate(self._keys)}
        self._verdicts = np.array([r.verdict for r in self.reasons.values()], dtype=np.uint8)

    # --- writing ---------------------------------------------------------------------------

    def declare(self, reasons: Mapping[str, Reason]) -> None:
        """Take further reasons, behind those that are there."""
        self.reasons = self.reasons | {k: r for k, r in reasons.items() if k not in self.reasons}
        self._index_reasons()

    def append_bulk(
        self,
        relevance: npt.NDArray[Any],
        level: float | npt.NDArray[Any],
        reason: str | npt.NDArray[np.uint8],
        names: Names | None = None,
    ) -> None:
        """Take the next features; those that go on get events later.

        `reason` is one for all, or a code each: its place among the declared reasons.
        """
        # One number for the whole block where all levels are the same, as they mostly are.
        self._levels.append(len(self), len(relevance), level)
        self._relevance.extend(relevance)
        if isinstance(reason, str):
            self._reason.extend_with(self._codes[reason], len(relevance))
        else:
            self._reason.extend(reason)
        self.names.append(len(relevance), names)

    def append_values(self, first: int, value: npt.NDArray[Any]) -> None:
        """Give features from `first` on the number that decided, where no event tells it (or NaN).

        Four bytes each, for rules that look at every feature; ranges must rise.
        """
        if not np.isnan(value).all():
            self._values.append(first, len(value), value)

    def reserve(self, n_features: int) -> None:
        """Make room, when it is known how many features will come."""
        self._relevance.reserve(n_features - len(self))
        self._reason.reserve(n_features - len(self))

    def append_many(
        self,
        reason: str,
        features: npt.NDArray[np.int64],
        relevance: npt.NDArray[np.float64],
        value: npt.NDArray[np.float64],
        level: npt.NDArray[np.float64],
        because: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Record many decisions at once, of one reason, each with one feature that decided if any.

        `because` is that feature; without it nothing but the numbers decided.
        """
        events = np.zeros(len(features), dtype=EVENT)
        events["at"] = events["feature"] = features
        events["reason"] = self._codes[reason]
        events["relevance"], events["value"], events["level"] = relevance, value, level
        events["because_end"] = len(self._because)
        if because is not None:
            events["because_end"] += 1 + np.arange(len(features))
            self._because.extend(because)
        self._events.extend(events)
        self._reason.view[features] = self._codes[reason]

    def append_withdrawal(self, decision: Decision) -> None:
        """Record that a feature was taken away; that happened after the last arrival."""
        self._event(len(self) - 1, decision)

    def append(self, decision: Decision) -> None:
        """Record a decision and the evictions that go with it, evictions first."""
        for eviction in decision.evicts:
            self._event(decision.feature, eviction)
        self._event(decision.feature, decision)

    def _event(self, at: int, d: Decision) -> None:
        code = self._codes[d.reason]
        for other in d.because:
            self._because.append(other)
        for key, number in d.evidence.items():
            if key not in self._evidence:
                self._evidence[key] = (Growable(np.int64), Growable(np.float64))
            indices, numbers = self._evidence[key]
            indices.append(len(self._events))
            numbers.append(number)
        self._events.append(
            (at, d.feature, code, d.relevance, d.value, d.level, len(self._because))
        )
        self._reason.view[d.feature] = code

    def keeps(self, decision: Decision) -> bool:
        """Tell whether a decision keeps its feature."""
        return self.reasons[decision.reason].verdict == Verdict.KEPT

    # --- reading ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._reason)

    @property
    def n_events(self) -> int:
        """Recorded decisions, evictions included; bulk entries are not events."""
        return len(self._events)

    @property
    def event_features(self) -> npt.NDArray[np.int64]:
        """The feature of every recorded decision, in the order taken."""
        features: npt.NDArray[np.int64] = self._events.view["feature"]
        return features

    @property
    def verdicts(self) -> npt.NDArray[np.uint8]:
        """The final verdict of every feature, as `Verdict` numbers."""
        verdicts: npt.NDArray[np.uint8] = self._verdicts[self._reason.view]
        return verdicts

    def counts(self) -> dict[str, int]:
        """How many features got each verdict."""
        found = np.bincount(self.verdicts, minlength=len(Verdict))
        return {v.name.lower(): int(found[v]) for v in Verdict}

    def replay(self) -> list[int]:
        """Walk the events and return the features kept at the end, in order of arrival."""
        kept: dict[int, None] = {}
        events = self._events.view
        verdicts = self._verdicts[events["reason"]]
        walk = np.flatnonzero((verdicts == Verdict.KEPT) | (verdicts == Verdict.EVICTED))
        for feature, verdict in zip(
            events["feature"][walk].tolist(), verdicts[walk].tolist(), strict=True
        ):
            if verdict == Verdict.KEPT:
                kept[feature] = None
            else:
                del kept[feature]
        return sorted(kept)

    def events(self, lo: int = 0, hi: int | None = None) -> Iterator[Decision]:
        """Recorded decisions lo to hi - 1 as they were taken; evictions stand before the cause."""
        for i in range(lo, len(self._events) if hi is None else hi):
            yield self.decision(i)

    def number(self, feature: int | str) -> int:
        """Return the arrival number of a feature given by number or name."""
        found = self.names.find(feature) if isinstance(feature, str) else int(feature)
        if found is None or not 0 <= found < len(self):
            raise InputError(no_such_feature(self.names, [feature]))
        return found

    def unknown(self, features: Iterable[str]) -> list[str]:
        """Those of some names that no feature has, each once."""
        return [name for name in dict.fromkeys(features) if self.names.find(name) is None]

    def reason_of(self, feature: int) -> str:
        """Key of the reason for the final verdict of a feature."""
        return self._keys[int(self._reason.view[feature])]

    def why(self, feature: int | str) -> str:
        """Say in one sentence, with the numbers, what became of a feature."""
        number = self.number(feature)
        events = np.flatnonzero(self._events.view["feature"] == number)
        if len(events) == 0:
            return self.explain(
                Decision(
                    number,
                    self._keys[self._reason.view[number]],
                    float(self._relevance.view[number]),
                    float(self._values.between(number, number + 1)[0]),
                    float(self._bulk_levels(number, number + 1)[0]),
                )
            )
        return self.explain(self.decision(int(events[-1])))

    def relevance_of(self, feature: int) -> float:
        """Strength of a feature towards the target, as exactly as the log holds it."""
        events = self._events.view
        at = np.flatnonzero(events["feature"] == feature)
        return float(events["relevance"][at[-1]] if len(at) else self._relevance.view[feature])

    def relevances_of(self, features: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """`relevance_of` for many features, given in rising order."""
        values = self._relevance.view[features].astype(np.float64)
        events = self._events.view
        mine = np.flatnonzero(np.isin(events["feature"], features))
        # A later event of the same feature overwrites an earlier one: assignment keeps the last.
        where = np.searchsorted(features, events["feature"][mine])
        values[where] = events["relevance"][mine]
        return values

    def _bulk_levels(self, lo: int, hi: int) -> npt.NDArray[np.float32]:
        """The levels of features lo to hi - 1.

        As float32, like the relevance: a sentence must not say that 0.80000001 is not above 0.8.
        """
        levels = self._levels.between(lo, hi)
        # A constant column, say, has no level, whatever the rest of its block shares.
        silent = [
            code for code, r in enumerate(self.reasons.values()) if "{level" not in r.sentence
        ]
        levels[np.isin(self._reason.view[lo:hi], silent)] = np.nan
        return levels

    def decision(self, i: int) -> Decision:
        """The recorded decision number i, in the order taken."""
        record = self._events.view[i]
        start = int(self._events.view["because_end"][i - 1]) if i else 0
        evidence = {}
        for key, (indices, numbers) in self._evidence.items():
            at = int(np.searchsorted(indices.view, i))
            if at < len(indices) and indices.view[at] == i:
                evidence[key] = float(numbers.view[at])
        return Decision(
            int(record["feature"]),
            self._keys[record["reason"]],
            float(record["relevance"]),
            float(record["value"]),
            float(record["level"]),
            tuple(self._because.view[start : int(record["because_end"])].tolist()),
            evidence=evidence,
        )

    def explain(self, d: Decision) -> str:
        """Say a recorded decision in one sentence, with the numbers."""
        numbers = {
            "relevance": d.relevance,
            "value": d.value,
            "level": d.level,
            **d.evidence,
        }
        if d.because:
            numbers["because_relevance"] = self.relevance_of(d.because[0])
        sentence = self.reasons[d.reason].sentence
        for key in ("relevance", "level"):
            if f"{{{key}_p}}" in sentence:
                numbers[f"{key}_p"] = 10.0 ** -numbers.pop(key)
        fields = dict(zip(numbers, show(*numbers.values()), strict=True))
        fields["name"] = self.names[d.feature]
        fields["because"] = join([self.names[b] for b in d.because])
        return fill(sentence, fields, self.template_fields)

    # --- tables ----------------------------------------------------------------------------

    def columns(self, lo: int = 0, hi: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """One row a feature, lo to hi - 1, as plain arrays: the table behind every other form.

        ``because`` is the feature that decided (-1: none), ``at`` the arrival that settled the
        verdict (for an evicted feature, the newcomer), ``value`` and ``level`` what was compared.
        """
        hi = len(self) if hi is None else min(hi, len(self))
        n = hi - lo
        reason = self._reason.view[lo:hi]
        table: dict[str, npt.NDArray[Any]] = {
            "feature": np.arange(lo, hi),
            "verdict": self._verdicts[reason],
            "reason": reason.copy(),
            "relevance": self._relevance.view[lo:hi].astype(np.float64),
            "value": self._values.between(lo, hi).astype(np.float64),
            "level": self._bulk_levels(lo, hi).astype(np.float64),
            "because": np.full(n, -1, dtype=np.int64),
            "at": np.arange(lo, hi),
        }
        events = self._events.view
        mine = np.flatnonzero((events["feature"] >= lo) & (events["feature"] < hi))
        # A later event of the same feature overwrites an earlier one: assignment keeps the last.
        where = events["feature"][mine] - lo
        for key in ("relevance", "value", "level", "at"):
            table[key][where] = events[key][mine]
        ends = events["because_end"]
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        first = np.full(len(events), -1, dtype=np.int64)
        has = ends > starts[: len(ends)]
        first[has] = self._because.view[starts[: len(ends)][has]]
        table["because"][where] = first[mine]
        return table

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {word}" for word, n in self.counts().items() if n)
        return f"<DecisionLog of {len(self)} features: {counts or 'none yet'}>"

    # --- plain arrays, for files -----------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything but names, reasons and words as plain arrays, for a writer of files."""
        return arrays_of(self)

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, npt.NDArray[Any]],
        reasons: Mapping[str, Reason],
        names: NameBook,
        template_fields: Mapping[str, str],
    ) -> DecisionLog:
        """Rebuild a log from `state()`."""
        log = cls(reasons, names, template_fields)
        extend(log, state)
        return log
