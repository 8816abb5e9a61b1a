"""Look up selectors by name, and save them to and restore them from files.

A file may name only the methods of tamis. A user-defined class is imported only if the user names
it, never because a file does: a folder may come from an untrusted source.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tamis.core.errors import ParameterError
from tamis.core.params import parameters, split_method
from tamis.core.sentences import join, suggestion
from tamis.encode import resolve as resolve_encoder
from tamis.measures.auto import BY_DATA, BY_NAME, from_name, named
from tamis.measures.measure import Measure
from tamis.methods import BY_METHOD, ColumnSelector, FeatureStreamSelector, Rule


def as_selector(method: Any) -> ColumnSelector:
    """Return a new selector, given a method's name, rule or estimator, or a selector.

    Parameters may follow a name after colons, as on the command line: ``sieve:n_features=20``.
    """
    if isinstance(method, str):
        found = parse_method(method)
        if found.encode is not None:
            raise ParameterError(f"give encode={found.encode!r} apart from the method")
        method = found.rule()
    if isinstance(method, ColumnSelector):
        return method.fresh()
    if isinstance(method, Rule):
        return method.to_selector()
    if hasattr(method, "_to_selector") and not isinstance(method, type):
        selector: ColumnSelector = method._to_selector()  # of an estimator
        return selector
    if isinstance(method, type) and issubclass(rule_of(method), Rule):
        raise ParameterError(f"{method.__name__} is a class; give an object: {method.__name__}()")
    is_data = hasattr(method, "shape") or isinstance(method, list | tuple | dict)
    what = f"data ({type(method).__name__})" if is_data else repr(method)
    target = ", and the target as y=" if is_data else ""
    raise ParameterError(
        f"{what} is not a method; give its name, such as 'saola', or an object such as "
        f"tamis.SAOLA(){target}"
    )


def rule_of(kind: Any) -> Any:
    """Return the rule of an estimator class; any other class is returned unchanged."""
    rule = getattr(kind, "_rule", None)
    return rule if isinstance(rule, type) and issubclass(rule, Rule) else kind


def belongs_to(name: str, value: Any, method: Any) -> str:
    """Return a message about a parameter given to `tamis.select`; "" if no method has it."""
    rule = as_selector(method).rule
    given = f"{name}={value!r}" if isinstance(value, int | float | str) else f"{name}=..."
    if name in rule.parameter_names:
        made = f"tamis.{rule.public_name}({given})"
        return f"{name} is a parameter of the method; give the selector {made}"
    others = [kind.public_name for kind in BY_METHOD.values() if name in kind.parameter_names]
    if not others:
        return ""
    some = join([f"tamis.{other}({given})" for other in others[:3]], "or")
    return f"{name} is a parameter of other methods; give a selector such as {some}"


def _known(method: str) -> type[Rule]:
    found = BY_METHOD.get(method)
    if found is None:
        raise ParameterError(
            f"method {method!r} is not known; {suggestion(method, sorted(BY_METHOD))}"
        )
    return found


@dataclass(frozen=True)
class ParsedMethod:
    """A parsed method specification such as ``saola:alpha=0.05:encode=mdlp``.

    Attributes
    ----------
    name, kind : str, type
        The method, and its rule or a user-defined class.
    params : dict
        Its parameters, with a measure in place of a name and a level.
    level : dict
        A level (``alpha`` or ``threshold``) for the measure that "auto" picks from the data.
    encode : str or None
        The name of an encoder.
    """

    name: str
    kind: Any
    params: dict[str, Any]
    level: dict[str, float]
    encode: str | None

    def rule(self) -> Rule:
        """Return the rule with these parameters; raise an error for a class that is not a rule."""
        if not issubclass(self.kind, Rule):
            raise ParameterError(
                f"{self.name} is not a Rule of tamis.methods, so tamis select cannot run it; "
                "tamis compare takes any class with fit(X, y)"
            )
        params = dict(self.params)
        if self.level:
            refuse_two_levels({"alpha": params.get("alpha"), **self.level})
            if "alpha" in self.level:
                raise ParameterError(
                    "this method has no parameter alpha; give a measure that has one"
                )
            params["measure"] = BY_NAME["mutual_information"](**self.level)
        rule: Rule = self.kind(**params)
        rule.check_params()
        return rule


def parse_method(text: str, more: Mapping[str, Any] | None = None) -> ParsedMethod:
    """Parse ``method:name=value:name=value``; the parameters in `more` take precedence.

    Besides the parameters of the method, ``alpha`` or ``threshold`` (the level of its measure),
    those of a named measure, and ``encode`` are accepted; ``paper`` stands for the parameters of
    its paper. A measure in `more` may have its parameters after colons.

    >>> found = parse_method("saola:measure=fisher_z:bound=max:encode=mdlp")
    >>> found.params, found.encode
    ({'measure': 'fisher_z', 'bound': 'max'}, 'mdlp')
    >>> parse_method("saola", {"measure": "fisher-z:statistic=z"}).params["measure"].statistic
    'z'
    """
    name, params = split_method(text)
    kind = load_class(name) if ":" in name else _known(name)
    known = inspect.signature(kind).parameters
    params |= more or {}
    if params.pop("paper", False):
        params = {**of_paper(kind), **params}
    encode = None if "encode" in known else params.pop("encode", None)
    if encode is not None:
        resolve_encoder(encode)  # raises if it is not known
    level = _take_level(params, known) if params else {}
    if "fdr" not in known and ("fdr" in params or "gate" in params):
        raise ParameterError(no_fdr(name))
    for unknown in (n for n in params if n not in known and n != "measure"):
        found = suggestion(unknown, known, "it has")
        raise ParameterError(f"{name} has no parameter {unknown!r}; {found}")
    of_measure = [n for n in ("measure", *level) if n in (params | level)]
    if of_measure and "measure" not in known:
        raise ParameterError(f"{name} has no measure, so it takes no {of_measure[0]}")
    if params or level:
        level = _settle_measure(name, known, params, level)
    made = kind(**params)
    if isinstance(made, Rule):
        made.check_params()
    return ParsedMethod(name, kind, params, level, encode)


def _take_level(params: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Split a measure from its parameters; remove and return those the method itself lacks."""
    levels: tuple[str, ...] = ("alpha", "threshold")
    if isinstance(params.get("measure"), str):
        measure, *pairs = params["measure"].split(":")
        measure = measure if measure in BY_NAME else measure.replace("-", "_")
        params |= {"measure": measure, **parameters(pairs, f"{measure}:")}
        if measure in BY_NAME:
            levels = (*levels, *inspect.signature(BY_NAME[measure]).parameters)
    return {n: params.pop(n) for n in levels if n in params and n not in known}


def _settle_measure(
    name: str, known: Mapping[str, Any], params: dict[str, Any], level: dict[str, Any]
) -> dict[str, Any]:
    """Replace the name of a measure by the measure with its parameters; return unused ones."""
    own = known["measure"].default if "measure" in known else "auto"
    measure = params.get("measure", own if isinstance(own, str) else "auto")
    if measure not in BY_DATA and BY_NAME.get(measure) is None:
        found = suggestion(measure, (*BY_DATA, *BY_NAME))
        raise ParameterError(f"the measure {measure!r} is not known; {found}")
    if measure not in BY_DATA and level:
        refuse_two_levels({**params, **level})
        of_kind = BY_NAME[measure]
        if "alpha" in params and "alpha" not in level:  # the level belongs to the measure
            level["alpha"] = params.pop("alpha")
        for parameter in level:
            if parameter not in inspect.signature(of_kind).parameters:
                if "measure" in params:
                    raise ParameterError(f"the measure {measure} has no {parameter}")
                raise ParameterError(
                    f"the measure of {name}, {measure}, has no {parameter}; use a method whose "
                    f"measure has one (--method saola), or leave {parameter} out"
                )
        params["measure"], level = of_kind(**level), {}
    return level


def of_paper(kind: Any) -> Mapping[str, Any]:
    """Return the parameters of a method's paper, or raise an error if it has no paper."""
    found: Mapping[str, Any] | None = getattr(kind, "paper", None)
    if found is None:
        name = getattr(kind, "public_name", kind.__name__)
        raise ParameterError(f"{name} has no paper, so it has no setting 'paper'; leave it out")
    return found


def no_fdr(method: str) -> str:
    """Return why a method cannot control the false discovery rate."""
    return (
        f"{method} does not decide by one test for each column, so it cannot control the false "
        "discovery rate; use a method such as sieve, saola, fast-osfs or fcbf"
    )


def with_fdr(selector: ColumnSelector, fdr: float | None, gate: str | None) -> ColumnSelector:
    """Return a new selector with a false discovery rate, or refuse a method without tests."""
    rule: Any = selector.rule.clone()
    if "fdr" not in rule.parameter_names:
        raise ParameterError(no_fdr(selector.method))
    if fdr is not None:
        rule.fdr = fdr
    if gate is not None:
        rule.gate = gate
    found: ColumnSelector = rule.to_selector()
    return found


def refuse_two_levels(params: Mapping[str, Any]) -> None:
    """Raise a one-sentence error if a measure is given both an alpha and a threshold."""
    if params.get("alpha") is not None and params.get("threshold") is not None:
        raise ParameterError("alpha is the level of a test and threshold is not; give one of them")


def class_of(where: str) -> Any:
    """Return the rule of a method by its name, or the class at ``package.module:Class``."""
    return load_class(where) if ":" in where else _known(where)


def place_of(kind: type) -> str:
    """Return where a class can be imported from, as `load_class` takes it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def load_class(where: str) -> Any:
    """Return the class at ``package.module:Class``: a rule, or a class with fit(X, y)."""
    module, _, name = where.partition(":")
    try:
        found = rule_of(getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError, ValueError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        is_its_own = missing is not None and f"{module}.".startswith(f"{missing}.")
        hint = (
            "; install its package, or name the folder that holds it in the environment variable "
            "PYTHONPATH"
        )
        raise ParameterError(
            f"there is no selector {where} to import ({error}){hint if is_its_own else ''}"
        ) from error
    if not isinstance(found, type) or not (issubclass(found, Rule) or hasattr(found, "fit")):
        raise ParameterError(
            f"{where} is not a selector: it is neither a rule nor a class with fit(X, y)"
        )
    return found


def saved_form(rule: Rule) -> dict[str, Any]:
    """Return what identifies a rule in a file, as `rule_from` takes it.

    That is its method, its import path if it is not part of tamis, and its parameters
    as numbers, strings and measures by name.
    """
    kind = type(rule)
    return {
        "method": rule.name,
        "class": None if BY_METHOD.get(rule.name) is kind else place_of(kind),
        "selector_parameters": {
            key: {"measure": named(value)}
            if isinstance(value, Measure)
            else {"by_name": dict(value)}
            if isinstance(value, Mapping)
            else value
            for key, value in rule.get_params().items()
        },
    }


def rule_from(
    method: str, parameters: Mapping[str, Any], own: str | None = None, given: Any = None
) -> Rule:
    """Return the rule that `saved_form` describes.

    `own` is the import path, recorded in the file, of a rule that is not part of tamis. It is not
    imported: the user must have `given` its class.
    """
    if given is not None:
        given = rule_of(given)
    if own is not None and (given is None or place_of(given) != own):
        named = "" if given is None else f", and not with {place_of(given)}"
        raise ParameterError(
            f"this was selected with {own}{named}; it is not a class of tamis, and none is "
            f"imported because a folder names it: name it yourself with --method {own}, in Python "
            "with tamis.Selection.open(folder, selector=...)"
        )
    kind = BY_METHOD.get(method) if own is None else given
    if given is not None and kind is not given:
        raise ParameterError(f"this was selected with {method}, and not with {place_of(given)}")
    if kind is None:
        raise ParameterError(
            f"the method {method!r} is not known here; give the selector with "
            "tamis.Selection.open(folder, selector=...)"
        )
    settings: dict[str, Any] = {}
    for key, value in parameters.items():
        if not isinstance(value, dict):
            settings[key] = value
        elif "by_name" in value:
            settings[key] = dict(value["by_name"])
        elif "auto" in value:  # until 0.2 the level was a part of the measure
            settings |= {key: "auto", "alpha": value["auto"]["alpha"]}
        else:
            settings[key] = from_name(**value["measure"])
    rule: Rule = kind.from_saved(settings)
    return rule


def selector_from(
    method: str, parameters: Mapping[str, Any], own: str | None = None, given: Any = None
) -> FeatureStreamSelector:
    """Return the selector for a feature stream that `saved_form` describes; see `rule_from`."""
    selector = rule_from(method, parameters, own, given).to_selector()
    if not isinstance(selector, FeatureStreamSelector):
        raise ParameterError(f"{method} is not a method for feature streams")
    return selector
