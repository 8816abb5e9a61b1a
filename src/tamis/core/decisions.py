"""The decision log: what happened to every feature, and why, in a few bytes each.

A selector declares its reasons once, as template sentences. The log stores numbers only: one byte
and one float32 for a feature that the rule never saw, one record for each feature that it did. The
log of thirty million columns therefore fits in memory. It can be replayed to get the kept set, and
it explains every feature without the selector that wrote it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError, SourceError, need
from tamis.core.growable import Growable, PiecewiseFloats
from tamis.core.names import NameBook, Names
from tamis.core.near_names import no_such_feature
from tamis.core.notebook import card, html_table, shares
from tamis.core.p_levels import bound_of, p_of, shown_p, test_of, which_test
from tamis.core.sentences import counted, fill, join, show
from tamis.core.stand_ins import StandIn, stand_ins
from tamis.core.verdicts import EVENT, EVIDENCE, Decision, Reason, Verdict

__all__ = ["Decision", "DecisionLog", "Mark", "Reason", "Verdict"]

Arrays = Mapping[str, npt.NDArray[Any]]

#: Number of kept features listed in a notebook.
LISTED = 10

#: Features that are looked at in one go where a log may be long.
PIECE = 1 << 20


@dataclass(frozen=True)
class Mark:
    """A position in a log: features, events, features that decided, and evidence by name."""

    features: int = 0
    events: int = 0
    because: int = 0
    evidence: Mapping[str, int] = field(default_factory=dict)


class DecisionLog:
    """The decision about every feature, stored by column.

    Parameters
    ----------
    reasons : mapping of str to Reason
        Every reason the selector can give.
    names : NameBook, optional
        Names of the features.
    template_fields : mapping of str to str, optional
        Fixed texts for the templates, for example ``{"target": "class"}``.

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
    True
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
        self.names = NameBook() if names is None else names
        self.template_fields = dict(template_fields or {})
        #: Final number of features, if known; their memory is then allocated at once.
        self.expected = 0
        self._codes = {key: code for code, key in enumerate(self.reasons)}
        #: The verdict of each reason, and which reasons have no level to show.
        self.reason_verdicts = np.array([r.verdict for r in self.reasons.values()], dtype=np.uint8)
        self._silent = np.array(["{level" not in r.sentence for r in self.reasons.values()], bool)
        self._reason = Growable(np.uint8)
        self._relevance = Growable(np.float32)
        self._levels = PiecewiseFloats()
        self._values = PiecewiseFloats()
        self._events = Growable(EVENT)
        self._because = Growable(np.int64)
        self._evidence: dict[str, Growable] = {}
        #: The reasons that decisions replaced since `checkpoint`, by feature; None before it.
        self._replaced: dict[int, int] | None = None

    # --- writing ---------------------------------------------------------------------------

    def declare(self, reasons: Mapping[str, Reason]) -> None:
        """Add reasons after those already declared."""
        for key, reason in reasons.items():
            if key not in self.reasons:
                self._codes[key] = len(self.reasons)
                self.reason_verdicts = np.append(self.reason_verdicts, np.uint8(reason.verdict))
                self._silent = np.append(self._silent, "{level" not in reason.sentence)
                self.reasons[key] = reason

    def append_bulk(
        self,
        relevance: npt.NDArray[Any],
        level: float | npt.NDArray[Any],
        reason: str | npt.NDArray[np.uint8],
        names: Names | None = None,
    ) -> None:
        """Append the next features; those that reach the rule get events later.

        `reason` is one key for all of them, or an array of codes: positions among the declared
        reasons. Called by every selector, once per block.
        """
        # One number for the whole block if all levels are equal, which is the usual case.
        self._levels.append(len(self), len(relevance), level)
        self._relevance.extend(relevance, expected=self.expected)
        if isinstance(reason, str):
            reason = np.full(len(relevance), self._codes[reason], dtype=np.uint8)
        self._reason.extend(reason, expected=self.expected)
        self.names.append(len(relevance), names)

    def append_values(self, first: int, value: npt.NDArray[Any]) -> None:
        """Store the deciding number of each feature from `first` on; NaN where there is none.

        This costs four bytes per feature and is for rules that score every feature. Ranges must
        be appended in increasing order.
        """
        if not np.isnan(value).all():
            self._values.append(first, len(value), value)

    def replace_levels(self, first: int, level: float) -> None:
        """Store one level for all features from `first` to the last."""
        self._levels.truncate(first)
        self._levels.append(first, len(self) - first, level)

    def append_many(
        self,
        reason: str,
        features: npt.NDArray[np.int64],
        relevance: npt.NDArray[np.float64],
        value: npt.NDArray[np.float64],
        level: npt.NDArray[np.float64],
        because: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Record many decisions with the same reason at once.

        `because` holds the deciding feature of each of them; None if only the numbers decided.
        """
        events = np.zeros(len(features), dtype=EVENT)
        events["at"] = events["feature"] = features
        events["reason"] = self._codes[reason]
        events["relevance"], events["value"], events["level"] = relevance, value, level
        events["because_end"] = len(self._because.view)
        if because is not None:
            events["because_end"] += 1 + np.arange(len(features))
            self._because.extend(because)
        self._events.extend(events)
        for feature in features.tolist() if self._replaced is not None else ():
            self._note_replaced(feature)
        self._reason.view[features] = self._codes[reason]

    def append_events(
        self,
        reasons: Sequence[str],
        settled_by: npt.NDArray[np.int64],
        features: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.float64],
        causes: npt.NDArray[np.int64],
    ) -> None:
        """Record many decisions in order, evictions before what caused them.

        `codes` are positions in `reasons`, `numbers` the relevance, value and level of each, and
        `causes` the deciding feature, -1 if only the numbers decided.
        """
        events = np.empty(len(features), dtype=EVENT)
        events["at"], events["feature"] = settled_by, features
        events["reason"] = np.array([self._codes[key] for key in reasons], np.uint8)[codes]
        events["relevance"], events["value"], events["level"] = numbers.T
        caused = causes >= 0
        events["because_end"] = len(self._because.view) + np.cumsum(caused)
        self._because.extend(causes[caused])
        self._events.extend(events)
        for feature in features.tolist() if self._replaced is not None else ():
            self._note_replaced(feature)
        self._reason.view[features] = events["reason"]  # the last decision about a feature stays

    def append(self, decision: Decision, *, at: int | None = None) -> bool:
        """Record a decision, its evictions first; return True if it keeps its feature.

        `at` is the arrival that settled it, if it is not the feature itself.
        """
        for d in (*decision.evicts, decision):
            code = self._codes[d.reason]
            if d.because:
                self._because.extend(d.because)
            for key, number in d.evidence.items():
                numbers = self._evidence.setdefault(key, Growable(EVIDENCE))
                numbers.append((len(self._events.view), number))
            settled = decision.feature if at is None else at
            end = len(self._because.view)
            event = (settled, d.feature, code, d.relevance, d.value, d.level, end)
            self._events.append(event)
            if self._replaced is not None:
                self._note_replaced(d.feature)
            self._reason.view[d.feature] = code
        return self.reasons[decision.reason].verdict == Verdict.KEPT

    def checkpoint(self) -> Mark:
        """Return the current end of the log, to which `roll_back` can return; there is one."""
        self._replaced = {}
        return self.mark

    def roll_back(self, mark: Mark) -> None:
        """Forget everything since `checkpoint` returned this mark."""
        for feature, code in (self._replaced or {}).items():
            if feature < mark.features:
                self._reason.view[feature] = code
        for one in (self._reason, self._relevance):
            one.truncate(mark.features)
        for piecewise in (self._levels, self._values):
            piecewise.truncate(mark.features)
        self._events.truncate(mark.events)
        self._because.truncate(mark.because)
        for key, numbers in self._evidence.items():
            numbers.truncate(mark.evidence.get(key, 0))
        self.names.truncate(mark.features)
        self._replaced = None

    def _note_replaced(self, feature: int) -> None:
        """Note the reason that a decision is about to replace, for `roll_back`."""
        assert self._replaced is not None
        self._replaced.setdefault(feature, int(self._reason.view[feature]))

    def renumbered(self, positions: npt.NDArray[np.int64]) -> DecisionLog:
        """Return the log with feature j as number positions[j], and its name with it."""
        old, every = np.argsort(positions), len(self)
        names = NameBook(self.names.prefix, self.names.base)
        log = DecisionLog(self.reasons, names, self.template_fields)
        called = Names.of([self.names[j] for j in old.tolist()])
        levels, values = self._levels.between(0, every), self._values.between(0, every)
        log.append_bulk(self._relevance.view[old], levels[old], self._reason.view[old], called)
        log.append_values(0, values[old])
        events = self._events.view.copy()
        events["feature"], events["at"] = positions[events["feature"]], positions[events["at"]]
        log._events.extend(events)
        log._because.extend(positions[self._because.view])
        log._evidence = self._evidence
        return log

    # --- reading ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._reason.view)

    @property
    def n_events(self) -> int:
        """Number of recorded decisions, evictions included; bulk entries are not events."""
        return len(self._events.view)

    @property
    def event_features(self) -> npt.NDArray[np.int64]:
        """The feature of each recorded decision, in order."""
        features: npt.NDArray[np.int64] = self._events.view["feature"]
        return features

    @property
    def verdicts(self) -> npt.NDArray[np.uint8]:
        """The final verdict on each feature, as `Verdict` numbers."""
        verdicts: npt.NDArray[np.uint8] = self.reason_verdicts[self._reason.view]
        return verdicts

    def counts(self) -> dict[str, int]:
        """Return the number of features per verdict; "unexamined" only if there are any."""
        found = dict.fromkeys(Verdict, 0)
        for reason, count in zip(self.reasons.values(), self.reason_counts(), strict=True):
            found[reason.verdict] += count
        return {v.name.lower(): n for v, n in found.items() if v != Verdict.UNEXAMINED or n}

    def reason_counts(self) -> list[int]:
        """Return the number of features per reason, in the order in which they were declared."""
        found = np.zeros(len(self.reasons), np.int64)
        for lo in range(0, len(self), PIECE):  # counting makes eight bytes of each
            found += np.bincount(self._reason.view[lo : lo + PIECE], minlength=len(found))
        counts: list[int] = found.tolist()
        return counts

    @property
    def stopped(self) -> str:
        """Where and why a stopping rule ended the selection, as part of a sentence, or ""."""
        words = self.template_fields
        if "stopped_at" not in words:
            return ""
        return f"stopped at {words['stopped_at']}, because {words['stopped_because']}"

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """Relevance of each feature to the target; NaN where it was not measured."""
        return self.relevances_of(np.arange(len(self)))

    @property
    def support(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is kept."""
        kept: npt.NDArray[np.bool_] = self.verdicts == Verdict.KEPT
        return kept

    def ranking(self, *, as_kept: bool = False) -> npt.NDArray[np.int64]:
        """Return the kept features, best first: by relevance, or in the order they were kept in."""
        kept = np.array(self.replay(), dtype=np.int64)
        if not as_kept:
            return kept[np.argsort(-self.relevances_of(kept), kind="stable")]
        entered = self._events.view["feature"]
        place = {feature: i for i, feature in enumerate(entered.tolist())}
        return kept[np.argsort([place[feature] for feature in kept.tolist()], kind="stable")]

    def replay(self) -> list[int]:
        """Replay the events and return the features kept at the end, in order of arrival."""
        kept: dict[int, None] = {}
        events = self._events.view
        verdicts = self.reason_verdicts[events["reason"]]
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
        """Yield recorded decisions lo to hi - 1 in order; an eviction precedes its cause."""
        for i in range(lo, self.n_events if hi is None else hi):
            yield self.decision(i)

    def number(self, feature: int | str) -> int:
        """Return the arrival number of a feature, given by number or by name."""
        found = self.names.find(feature) if isinstance(feature, str) else int(feature)
        if found is None or not 0 <= found < len(self):
            raise InputError(no_such_feature(self.names, [feature]))
        return found

    def unknown(self, features: Iterable[str]) -> list[str]:
        """Return the given names that no feature has, without duplicates."""
        return [name for name in dict.fromkeys(features) if self.names.find(name) is None]

    def reason_of(self, feature: int) -> str:
        """Return the key of the reason for the final verdict on a feature."""
        return list(self.reasons)[int(self._reason.view[feature])]

    def why(self, feature: int | str) -> str:
        """Explain in one sentence, with the numbers, what happened to a feature."""
        return self.explain(self.final_decision(feature))

    def instead(self, feature: int | str) -> list[StandIn]:
        """Return the features that could take the place of a feature, the most relevant first."""
        return stand_ins(self, feature)

    def final_decision(self, feature: int | str) -> Decision:
        """Return the last decision about a feature."""
        number = self.number(feature)
        events = np.flatnonzero(self._events.view["feature"] == number)
        return self.decision(int(events[-1])) if len(events) else self.bulk_decision(number)

    def relevance_of(self, feature: int) -> float:
        """Return the relevance of a feature to the target, with the precision of the log."""
        return float(self.relevances_of(np.array([feature]))[0])

    def relevances_of(self, features: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return `relevance_of` for many features, given in increasing order."""
        values = self._relevance.view[features].astype(np.float64)
        events = self._events.view
        mine = np.flatnonzero(np.isin(events["feature"], features))
        # A later event of the same feature overwrites an earlier one: assignment keeps the last.
        where = np.searchsorted(features, events["feature"][mine])
        values[where] = events["relevance"][mine]
        return values

    def as_relevant_as(self, relevance: float) -> npt.NDArray[np.int64]:
        """Return the features whose relevance is at least this, in order."""
        events, least = self._events.view, np.float64(relevance)
        some = np.flatnonzero(self._relevance.view >= least)
        some = np.union1d(some, events["feature"][events["relevance"] >= least])
        found: npt.NDArray[np.int64] = some[self.relevances_of(some) >= least]
        return found

    def p_of(self, feature: int) -> float:
        """Return the p-value of a feature in a log of tests (see `packed_p`); NaN if it has none.

        It is never below the p-value of the test, and above it by at most 2e-6 of it.
        """
        if "p_tests" not in self.template_fields:
            return float("nan")
        return float(self._values.between(feature, feature + 1)[0])

    def tested_levels(
        self, features: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the relevances of features when tested, and the levels they were compared with."""
        wanted = np.array(features, np.int64)
        relevance = self._relevance.view[wanted].astype(np.float64)
        levels = np.array([self._levels.between(f, f + 1)[0] for f in features], np.float64)
        # A decision that names its test holds the exact level; the column of levels may hold one
        # that many columns share.
        named = np.array(["{level_" in reason.sentence for reason in self.reasons.values()])
        events = self._events.view
        mine = np.flatnonzero(np.isin(events["feature"], wanted) & named[events["reason"]])
        order = np.argsort(wanted)
        where = order[np.searchsorted(wanted, events["feature"][mine], sorter=order)]
        relevance[where], levels[where] = events["relevance"][mine], events["level"][mine]
        return relevance, levels

    def decision(self, i: int) -> Decision:
        """Return recorded decision number i."""
        record = self._events.view[i]
        start = int(self._events.view["because_end"][i - 1]) if i else 0
        evidence = {}
        for key, numbers in self._evidence.items():
            at = int(np.searchsorted(numbers.view["event"], i))
            if at < len(numbers.view) and numbers.view["event"][at] == i:
                evidence[key] = float(numbers.view["number"][at])
        return Decision(
            int(record["feature"]),
            list(self.reasons)[record["reason"]],
            float(record["relevance"]),
            float(record["value"]),
            float(record["level"]),
            tuple(self._because.view[start : int(record["because_end"])].tolist()),
            evidence=evidence,
        )

    def bulk_decision(self, feature: int) -> Decision:
        """Return the decision about a feature that the rule never saw."""
        numbers = (
            self._relevance.view[feature : feature + 1],
            self._values.between(feature, feature + 1),
            self._levels.between(feature, feature + 1),
        )
        relevance, value, level = (float(array[0]) for array in numbers)
        if self._silent[self._reason.view[feature]]:
            level = np.nan
        return Decision(feature, self.reason_of(feature), relevance, value, level)

    def explain(self, d: Decision, because_relevance: float | None = None) -> str:
        """Explain a recorded decision in one sentence, with the numbers.

        `because_relevance` is that of the first feature that decided, if the caller knows it:
        finding it reads the whole log.
        """
        numbers = {"relevance": d.relevance, "value": d.value, "level": d.level, **d.evidence}
        if d.because:
            if because_relevance is None:
                because_relevance = self.relevance_of(d.because[0])
            numbers["because_relevance"] = because_relevance
        sentence = self.reasons[d.reason].sentence
        for key in ("relevance", "level"):
            if f"{{{key}_p}}" in sentence:
                numbers[f"{key}_p"] = 10.0 ** -numbers.pop(key)
        texts = self.template_fields
        tests = texts["tests"].split("|") if "{level_" in sentence and "tests" in texts else []
        if tests:
            level = numbers.pop("level")
            numbers["p"] = p_of(d.relevance, level, float(texts["alpha"]))
        fields = dict(zip(numbers, show(*numbers.values()), strict=True))
        if tests:
            fields["test_used"] = tests[which_test(d.relevance, level, len(tests))]
            if bound := bound_of(d.relevance, level, float(texts["alpha"]), len(tests)):
                sentence, fields["p"] = sentence.replace("p={p}", "p{p}"), bound
                texts = {key: text.replace("p={p}", "p{p}") for key, text in texts.items()}
        if "p_tests" in texts and (packed := self.p_of(d.feature)) == packed:
            fields["p_shown"] = shown_p(packed, float(texts["fdr"]))
            fields["test_used"] = texts["p_tests"].split("|")[test_of(packed)]
        fields["name"] = self.names[d.feature]
        fields["because"] = join([self.names[b] for b in d.because])
        filled = fill(sentence, fields, texts)
        says_so = any(f"{{{key}}}" in sentence for key in ("level_passed", "gate", "p_shown"))
        if "p_shown" not in fields or says_so or d.reason == "required" or not self._has_event(d):
            return filled
        level = float(self._levels.between(d.feature, d.feature + 1)[0])
        shown, used = fields["p_shown"], fields["test_used"]
        return f"{filled}; it passed {texts['gate_title']}: {shown} ({used}) is within {level:.3g}"

    def _has_event(self, d: Decision) -> bool:
        """Return whether a decision is about a feature that passed the tests."""
        return self.reasons[d.reason].verdict in (Verdict.KEPT, Verdict.REDUNDANT, Verdict.EVICTED)

    # --- tables ----------------------------------------------------------------------------

    def columns(self, lo: int = 0, hi: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return one row per feature, lo to hi - 1, as plain arrays.

        ``because`` is the deciding feature (-1: none), ``at`` the arrival that settled the verdict
        (for an evicted feature, the newcomer), ``value`` and ``level`` the numbers compared.
        """
        hi = len(self) if hi is None else min(hi, len(self))
        reason = self._reason.view[lo:hi]
        # Levels are float32, like the relevance: a sentence must not say that 0.80000001 is not
        # above 0.8. A constant column has no level, even if the rest of its block shares one.
        level = self._levels.between(lo, hi)
        level[self._silent[reason]] = np.nan
        table: dict[str, npt.NDArray[Any]] = {
            "feature": np.arange(lo, hi),
            "verdict": self.reason_verdicts[reason],
            "reason": reason.copy(),
            "relevance": self._relevance.view[lo:hi].astype(np.float64),
            "value": self._values.between(lo, hi).astype(np.float64),
            "level": level.astype(np.float64),
            "because": np.full(hi - lo, -1, dtype=np.int64),
            "at": np.arange(lo, hi),
        }
        events = self._events.view
        mine = np.flatnonzero((events["feature"] >= lo) & (events["feature"] < hi))
        # A later event of the same feature overwrites an earlier one: assignment keeps the last.
        where = events["feature"][mine] - lo
        for key in ("relevance", "value", "level", "at"):
            table[key][where] = events[key][mine]
        ends = events["because_end"][mine]
        starts = np.concatenate([[0], events["because_end"]])[mine]
        decided, has = np.full(len(mine), -1, dtype=np.int64), ends > starts
        decided[has] = self._because.view[starts[has]]
        table["because"][where] = decided
        return table

    def _named_columns(self) -> dict[str, Any]:
        """Return `columns()` with names and verdicts as text, for a data frame."""
        table, names, reasons = self.columns(), self.names, list(self.reasons)
        verdicts = [verdict.name.lower() for verdict in Verdict]
        return {
            "feature": table["feature"],
            "name": [names[i] for i in table["feature"].tolist()],
            **table,
            "verdict": [verdicts[code] for code in table["verdict"].tolist()],
            "reason": [reasons[code] for code in table["reason"].tolist()],
            "because": [names[b] if b >= 0 else None for b in table["because"].tolist()],
        }

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row per feature."""
        pandas = need("pandas", extra="pandas", what_for="DecisionLog.to_pandas")
        return pandas.DataFrame(self._named_columns())

    def to_polars(self) -> Any:
        """Return a polars DataFrame with one row per feature."""
        polars = need("polars", extra="polars", what_for="DecisionLog.to_polars")
        return polars.DataFrame(self._named_columns())

    # --- for people ------------------------------------------------------------------------

    @property
    def is_in_order(self) -> bool:
        """True if decisions were taken in order of arrival, as on a stream."""
        at = self._events.view["at"]
        return bool(np.all(at[1:] >= at[:-1]))

    def plot_flow(self) -> Any:
        """Plot how many features were dropped or kept, and why; return a matplotlib figure."""
        return _plots().plot_flow(self)

    def plot_growth(self) -> Any:
        """Plot how the kept set grew over the stream; return a matplotlib figure."""
        return _plots().plot_growth(self)

    def _repr_html_(self) -> str:
        """Return a card for a notebook: counts by verdict, and the strongest kept features."""
        title = f"Decisions about {counted(len(self), 'feature')}"
        return card(title, *self.card_parts(), "Ask <code>.why(name)</code> about any of them.")

    def card_parts(self) -> tuple[str, str]:
        """Return the counts and the strongest kept features, for a card in a notebook."""
        kept = np.array(self.replay(), dtype=np.int64)
        relevance = self.relevances_of(kept)
        order = np.argsort(-relevance, kind="stable")[:LISTED].tolist()
        cells = [[self.names[int(kept[i])], float(relevance[i])] for i in order]
        more = f"and {len(kept) - LISTED:,} more kept" if len(kept) > LISTED else ""
        return shares(self.counts()), html_table(["strongest kept", "relevance"], cells) + more

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {word}" for word, n in self.counts().items() if n)
        return f"<DecisionLog of {len(self)} features: {counts or 'none yet'}>"

    # --- plain arrays, for files -----------------------------------------------------------

    @property
    def mark(self) -> Mark:
        """The current end of the log."""
        evidence = {key: len(numbers.view) for key, numbers in self._evidence.items()}
        return Mark(len(self), len(self._events.view), len(self._because.view), evidence)

    def since(self, begin: Mark, end: Mark | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return what was added between two marks as plain arrays, except names.

        Verdicts on older features follow from the events.
        """
        end = self.mark if end is None else end
        lo, hi = begin.features, end.features
        arrays = {
            "reason": self._reason.view[lo:hi],
            "relevance": self._relevance.view[lo:hi],
            "level": self._levels.between(lo, hi),
            "because": self._because.view[begin.because : end.because],
        }
        if self._values.any_between(lo, hi):
            arrays["value"] = self._values.between(lo, hi)
        events = self._events.view[begin.events : end.events]
        arrays |= {f"event_{key}": events[key] for key in EVENT.names or ()}
        for key, numbers in self._evidence.items():
            some = numbers.view[begin.evidence.get(key, 0) : end.evidence.get(key, 0)]
            if len(some):
                arrays[f"evidence:{key}:at"] = some["event"]
                arrays[f"evidence:{key}"] = some["number"]
        return arrays

    def bulk_numbers(self, features: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float32], ...]:
        """Return relevance, level and value of features as logged before the rule saw them."""
        return self._relevance.view[features], self._levels.at(features), self._values.at(features)

    def extend(self, arrays: Arrays) -> None:
        """Append the result of `since`; names are appended separately.

        The arrays may come from an untrusted file: indices out of range raise an error.
        """
        first, width = len(self), len(arrays["reason"])
        ends = np.concatenate([[len(self._because.view)], arrays["event_because_end"]])
        limits = {
            "reason": len(self.reasons),
            "event_reason": len(self.reasons),
            "event_feature": first + width,
            "because": first + width,
        }
        if (
            np.any(np.diff(ends) < 0)
            or ends[-1] != ends[0] + len(arrays["because"])
            or any(np.any((arrays[key] < 0) | (arrays[key] >= top)) for key, top in limits.items())
            or any(len(arrays[key]) != width for key in ("relevance", "level"))
        ):
            raise SourceError("the log holds indices that are out of range")
        self._levels.append(first, width, np.asarray(arrays["level"]))
        if "value" in arrays:
            self.append_values(first, np.asarray(arrays["value"]))
        self._relevance.extend(arrays["relevance"], expected=self.expected)
        self._reason.extend(arrays["reason"], expected=self.expected)
        self._because.extend(arrays["because"])
        events = np.zeros(len(ends) - 1, dtype=EVENT)
        for key in EVENT.names or ():
            events[key] = arrays[f"event_{key}"]
        self._events.extend(events)
        # A later event of the same feature overwrites an earlier one: assignment keeps the last.
        self._reason.view[events["feature"]] = events["reason"]
        for key in arrays:
            if key.startswith("evidence:") and not key.endswith(":at"):
                numbers = np.zeros(len(arrays[key]), dtype=EVIDENCE)
                numbers["event"], numbers["number"] = arrays[f"{key}:at"], arrays[key]
                name = key.removeprefix("evidence:")
                self._evidence.setdefault(name, Growable(EVIDENCE)).extend(numbers)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything except names, reasons and template fields, as plain arrays."""
        arrays = self.since(Mark())
        arrays["level"][self._silent[arrays["reason"]]] = np.nan
        return arrays

    @classmethod
    def from_state(
        cls,
        state: Arrays,
        reasons: Mapping[str, Reason],
        names: NameBook,
        template_fields: Mapping[str, str],
    ) -> DecisionLog:
        """Rebuild a log from `state()`."""
        log = cls(reasons, names, template_fields)
        log.extend(state)
        return log


def _plots() -> Any:
    """Import the plotting module when it is needed: it belongs to a layer above this one."""
    return importlib.import_module("tamis.report.log_plots")
