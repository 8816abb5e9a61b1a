"""How a run selected, so that the same can be done again on other rows.

A run in memory has the procedure itself, and a run that was read from a folder has a record of it.
A record names only methods, measures and encoders of tamis; a class of the user must be given
again. Weights, covariates and groups are recorded if they are columns or files, not if they were
given as values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from tamis.core.errors import ParameterError, SourceError, TamisError
from tamis.core.files import reason
from tamis.encode import Encoder, Missing
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.encoded import Encoding
from tamis.engine.groups import GroupTable, read_groups
from tamis.engine.known_selectors import rule_from, saved_form
from tamis.engine.stopping import Stop
from tamis.methods import ColumnSelector, Rule
from tamis.sources.aside import names_of


@dataclass(frozen=True)
class Procedure:
    """A rule, how the data is read for it, and what else `tamis.select` was given.

    `beside` are ``given``, ``sample_weight``, ``row_groups`` and ``groups``, as far as they were
    given; `target` is the name of the target, if it is a column of the data.
    """

    rule: Rule
    common: CommonParameters
    beside: dict[str, Any] = field(default_factory=dict)
    target: str | None = None

    @classmethod
    def of(
        cls, selector: ColumnSelector, common: CommonParameters, task: str,
        target: str | None = None, **beside: Any,
    ) -> Self:  # fmt: skip
        """Return the procedure of a selector that has not started, and of a target's task."""
        there = {name: value for name, value in beside.items() if value is not None}
        common = CommonParameters(**{**common.get_params(), "task": task})
        return cls(selector.rule.clone(), common, there, target)

    @property
    def arguments(self) -> dict[str, Any]:
        """What `tamis.select` takes besides the data, the rule and the target."""
        return {**self.common.get_params(), **self.beside}

    def record(self) -> dict[str, Any]:
        """Return it as plain values; nothing if they cannot say what was done."""
        common, stop, encoding = self.common, None, None
        if common.stop is not None:
            stop = Stop.of(common.stop)
        if common.encode is not None or common.missing != "auto":
            encoding = Encoding(common.encode, common.missing)
        keep = [common.keep] if isinstance(common.keep, str | int) else common.keep
        found = {
            **saved_form(self.rule),
            "target": self.target,
            "task": common.task,
            "encoding": None if encoding is None else encoding.settings(),
            "keep": None if keep is None else np.asarray(keep, object).tolist(),
            "stop": None if stop is None else stop.settings(),
            "beside": {name: _by_name(name, value) for name, value in self.beside.items()},
        }
        try:
            text = json.dumps(found, allow_nan=False)
        except (TypeError, ValueError):
            return {}
        is_known = encoding is None or encoding.known_by_name
        return dict(json.loads(text)) if is_known else {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], kind: Any, again: Mapping[str, Any]) -> Self:
        """Return what `record` wrote, with arguments that are given again in place of its own.

        `kind` is the class of a rule that is not part of tamis.
        """
        rule = rule_from(record["method"], record["selector_parameters"], record["class"], kind)
        beside = {**record["beside"], **{k: v for k, v in again.items() if v is not None}}
        for name, value in beside.items():
            if value is None:
                raise ParameterError(
                    f"the run was selected with {name}=, whose values it does not record; give "
                    f"them again as {name}="
                )
        if isinstance(groups := beside.get("groups"), dict) and "path" in groups:
            beside["groups"] = read_groups(groups["path"])
            if beside["groups"].fingerprint != groups["fingerprint"]:
                raise ParameterError(
                    f"{groups['path']} is not what it was when the run was selected; give groups="
                )
        encode: Encoder | None = None
        missing: Missing | str = "auto"
        if record["encoding"] is not None:
            encoding = Encoding.from_settings(record["encoding"])
            encode, missing = encoding.encoder if encoding.cuts else None, encoding.missing
        common = CommonParameters(
            task=record["task"], encode=encode, missing=missing, keep=record["keep"],
            stop=record["stop"],
        )  # fmt: skip
        return cls(rule, common, beside, record["target"])


def procedure_of(run: Any, kind: Any = None, **again: Any) -> Procedure:
    """Return how a run selected, with arguments that are given again in place of its own."""
    if run.repeatable is not None:
        found: Procedure = run.repeatable
        there = {name: value for name, value in again.items() if value is not None}
        return replace(found, beside={**found.beside, **there})
    if not run.procedure:
        raise ParameterError(
            "the run does not record how it selected (an earlier version wrote it, or it used an "
            "object that a file cannot name); use tamis.judge or tamis.stability with the "
            "selector in place of the run"
        )
    try:
        return Procedure.from_record(run.procedure, kind, again)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, TamisError):
            raise
        raise SourceError(
            f"the run does not say how it selected ({reason(error)}); use tamis.judge or "
            "tamis.stability with the selector in place of the run"
        ) from error


def _by_name(name: str, value: Any) -> Any:
    """Return what was given, if it is the name of a column or a file; None if it is values."""
    if isinstance(value, GroupTable):
        given = {"path": value.path, "fingerprint": value.fingerprint}
        return given if value.path is not None else None
    if name == "given":
        return names_of(value) or None
    return value if isinstance(value, str) else None
