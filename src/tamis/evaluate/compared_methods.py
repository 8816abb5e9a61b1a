"""Methods to compare, by name: ``saola``, ``saola:alpha=0.05``, ``my.module:Top:size=5``.

A method is sent to worker processes, and enters the identity of a cell, as plain JSON: the class
and its parameters. So the cache shows what was computed, and nothing is pickled.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator

from tamis._registry import load
from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.encode import resolve as resolve_encoder
from tamis.engine.known_selectors import load_class, parse_method, place_of, rule_of
from tamis.estimators import estimator_of
from tamis.measures.auto import at_level, choose
from tamis.methods import FeatureStreamSelector, Rule
from tamis.methods.measured import MeasuringRule
from tamis.sources.arrays.in_memory import MemorySource

#: Parameters that hold the seed of a random method; each fold gets its own unless it is given.
SEEDS = ("seed", "random_state")


@dataclass(frozen=True)
class ComparedMethod:
    """A selector to be created inside a cell.

    Attributes
    ----------
    label : str
        Its name in tables.
    where : str
        Its class: ``package.module:Class``.
    params : dict
        Its parameters as JSON; an estimator or a measure inside is its class and parameters.
    level : dict
        ``alpha`` or ``threshold`` for the measure that "auto" picks in the fold.
    order : int or None
        Seed of a random order of arrival; None is the order of the columns.
    family : str
        The label without the order, which groups runs over several orders.
    encode : str or None
        The encoder that is applied before the selector, fitted on the training rows.
    """

    label: str
    where: str
    params: Mapping[str, Any]
    level: Mapping[str, float]
    order: int | None = None
    family: str = ""
    encode: str | None = None

    def identity(self) -> dict[str, Any]:
        """Return everything that determines its result, as JSON; the label is only a name."""
        return {
            "class": self.where,
            "params": dict(self.params),
            "level": dict(self.level),
            "order": self.order,
            "encode": self.encode,
            "code": _code_of(self.where),
        }

    @property
    def streams(self) -> bool:
        """Return True if the method keeps features before the last one arrives."""
        kind = load_class(self.where)
        if issubclass(kind, Rule):
            return issubclass(kind.machinery, FeatureStreamSelector)
        return hasattr(kind, "feed")

    def shuffled(self, order: int) -> ComparedMethod:
        """Return the same method, with features arriving in a random order."""
        return replace(
            self, label=f"{self.label} @{order}", order=order, family=self.family or self.label
        )


def parse_methods(given: Any) -> list[ComparedMethod]:
    """Return methods from names, selectors, or a mapping of labels to either.

    >>> [m.label for m in parse_methods("saola,fcbf:threshold=0.01")]
    ['saola', 'fcbf:threshold=0.01']
    """
    if isinstance(given, BaseEstimator | Rule):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else ((None, one) for one in words(given))
    found = [_method(one, label) for label, one in pairs]
    if not found:
        raise ParameterError("give at least one method")
    for label, count in Counter(method.label for method in found).items():
        if count > 1:
            raise ParameterError(f"the method {label} is given twice; give each one once")
    return found


def words(given: Sequence[Any] | str) -> list[Any]:
    """Return the names in a text with commas; anything else is already a list."""
    if not isinstance(given, str):
        return list(given)
    return [word.strip() for word in given.split(",") if word.strip()]


def _method(given: Any, label: str | None) -> ComparedMethod:
    if isinstance(given, ComparedMethod):
        return given
    if isinstance(given, str):
        return named_method(given, label)
    if isinstance(given, Rule) or (hasattr(given, "fit") and hasattr(given, "get_params")):
        if getattr(given, "task", "auto") == "regression" and hasattr(given, "_rule"):
            raise ParameterError(
                f"{type(given).__name__}(task='regression') cannot be compared: classifiers judge "
                "what is kept, so the target must hold classes"
            )
        spec = _spec(given)
        label = label or " ".join(repr(given).split())
        return ComparedMethod(label, spec["class"], spec["params"], {})
    raise ParameterError(f"{given!r} is not a method; give a name such as 'saola', or a selector")


def named_method(text: str, label: str | None = None) -> ComparedMethod:
    """Return the method that ``saola:alpha=0.05`` names."""
    found = parse_method(text)
    spec = _spec(found.kind(**found.params))
    params = {name: spec["params"][name] for name in found.params}
    return ComparedMethod(label or text, spec["class"], params, found.level, encode=found.encode)


def make(method: ComparedMethod, seed: int) -> Any:
    """Return the unfitted selector of a method; a random one without a seed gets `seed`."""
    params = {name: _value(value) for name, value in method.params.items()}
    kind = load_class(method.where)
    for name in SEEDS:
        if name in inspect.signature(kind).parameters and name not in params:
            params[name] = seed % 2**31
    if not issubclass(kind, Rule):
        return kind(**params)
    if params.get("task", "auto") == "auto":  # decided for all rows, not in each fold
        params["task"] = "classification"
    return estimator_of(kind)(**params)


def encoded(method: ComparedMethod, X: Any, y: Any) -> Any:
    """Return the training columns, encoded for the method."""
    encoder = resolve_encoder(method.encode)
    if encoder is None:
        return X
    v = encoder.encode(ColumnBlock.of(X), Target.of(y, "classification")).values
    if isinstance(v, Compressed):
        return sp.csc_matrix((v.data, v.indices, v.indptr), shape=X.shape)
    return v


def settle_measure(selector: Any, method: ComparedMethod, X: Any, y: Any) -> None:
    """Replace "auto" by the measure that it picks for these columns."""
    rule = rule_of(type(selector))
    requested = getattr(selector, "measure", None)
    if requested not in ("auto", "paper") or not issubclass(rule, MeasuringRule):
        return
    if selector.encode is not None:
        raise ParameterError(
            f"{method.label}: an encoder of the selector picks the measure; give encode beside the "
            "level, as in saola:encode=mdlp:alpha=0.05"
        )
    alpha = getattr(selector, "alpha", None)
    level = dict(method.level) | ({} if alpha is None else {"alpha": alpha})
    source, target = MemorySource(X), Target.of(y, "classification")
    names = [name for name in rule.parameter_names if name in selector.get_params(deep=False)]
    between = rule(**{name: getattr(selector, name) for name in names}).auto_measures()
    at = at_level(between[0], level), at_level(between[1], level)
    measure, _ = choose(source.columns(), target, at)
    selector.set_params(measure=measure, **({} if alpha is None else {"alpha": None}))


# --- estimators as JSON --------------------------------------------------------------------------


def _spec(made: Any) -> dict[str, Any]:
    """Return an estimator or a measure as its class and parameters."""
    kind = rule_of(type(made))
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise ParameterError(
            f"{kind.__name__} is defined in a script or a function, where worker processes cannot "
            "find it; put it into a module"
        )
    params = {name: _plain(value, kind) for name, value in made.get_params(deep=False).items()}
    return {"class": place_of(kind), "params": params}


def _plain(value: Any, owner: type) -> Any:
    if hasattr(value, "get_params"):
        return _spec(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(one, owner) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ParameterError(
        f"{owner.__name__}: a parameter holds {type(value).__name__}, and methods that are "
        "compared take only numbers, strings, lists, estimators and measures"
    )


def _value(plain: Any) -> Any:
    """Return the object that `_plain` was made from."""
    if isinstance(plain, Mapping):
        return load(plain["class"])(**{k: _value(v) for k, v in plain["params"].items()})
    return plain


def _code_of(where: str) -> str:
    """Return a hash of the source of a class and of its bases outside scikit-learn.

    During development the source of a method changes while its version stays the same.
    """
    digest = hashlib.blake2b(digest_size=8)
    kind = load_class(where)
    machinery = kind.machinery.__mro__ if issubclass(kind, Rule) else ()
    for base in (*kind.__mro__, *machinery):
        if base.__module__.split(".")[0] in ("builtins", "sklearn", "abc", "typing"):
            continue
        try:
            digest.update(inspect.getsource(inspect.getmodule(base) or base).encode())
        except (OSError, TypeError) as error:
            raise InputError(f"the source of {where} cannot be read ({error})") from error
    return digest.hexdigest()
