"""Parameters of methods: names, ranges and copies; a wrong value raises a one-sentence error.

`Parameters` is the base class of everything that is configured by constructor arguments and does
not need scikit-learn: rules and learners. Estimators use the same names, ranges and defaults.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from tamis._registry import METHODS
from tamis.core.errors import ParameterError
from tamis.core.sentences import suggestion


@dataclass(frozen=True)
class Number:
    """A real number between two bounds, inclusive unless `open_low`/`open_high`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def __str__(self) -> str:
        noun = "a whole number" if self.integer else "a number"
        parts = []
        if self.low > -math.inf:
            parts.append(f"{'above' if self.open_low else 'at least'} {self.low:g}")
        if self.high < math.inf:
            parts.append(f"{'below' if self.open_high else 'at most'} {self.high:g}")
        return f"{noun} {' and '.join(parts)}" if parts else noun


@dataclass(frozen=True)
class OneOf:
    """One of a few texts."""

    choices: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(choice) for choice in self.choices)


#: An allowed value or range of a parameter; None means None itself.
Range = Number | OneOf | None


def check(owner: str, name: str, value: Any, allowed: Range | Iterable[Range]) -> None:
    """Raise a one-sentence error if `value` is outside every range in `allowed`.

    >>> check("FisherZ", "alpha", 2.0, Number(0, 1, open_low=True, open_high=True))
    Traceback (most recent call last):
      ...
    tamis.core.errors.ParameterError: FisherZ: alpha=2.0 is not a number above 0 and below 1
    """
    ranges = allowed if isinstance(allowed, Iterable) else (allowed,)
    for r in ranges:
        if isinstance(r, OneOf):
            inside = isinstance(value, str) and value in r.choices
        elif isinstance(r, Number):
            is_number = isinstance(value, Integral if r.integer else Real)
            number = float(value) if is_number and not isinstance(value, bool) else math.nan
            above = number > r.low if r.open_low else number >= r.low  # never for NaN
            inside = above and (number < r.high if r.open_high else number <= r.high)
        else:
            inside = value is None
        if inside:
            return
    expected = " or ".join(str(r) for r in ranges)
    choices = [choice for r in ranges if isinstance(r, OneOf) for choice in r.choices]
    meant = suggestion(value, choices, "")
    hint = f"; {meant}" if meant.endswith("?") else ""
    raise ParameterError(f"{owner}: {name}={value!r} is not {expected}{hint}")


def full_signature(cls: type[Any]) -> inspect.Signature:
    """Return the signature of a constructor with its ``**options`` spelled out.

    ``**options`` stands for the keyword arguments of the constructor of the base class.
    """
    own = inspect.signature(cls.__init__)
    parameters = list(own.parameters.values())
    if parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        base = next(base for base in cls.__mro__[1:] if "__init__" in vars(base))
        _, *shared = full_signature(base).parameters.values()
        known = {p.name for p in parameters}
        parameters[-1:] = [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shared if p.name not in known
        ]
    return own.replace(parameters=parameters)


def inherit_docs(
    doc: str, bases: Iterable[type], order: Sequence[str], without: Sequence[str] = ()
) -> str:
    """Complete a NumPy-style docstring with the parameters and attributes that bases document.

    Only parameters of the bases that are listed in `order` are added; their attributes come first,
    but for those `without`.
    """
    doc = inspect.cleandoc(doc)
    inherited = [inspect.cleandoc(base.__doc__ or "") for base in reversed(list(bases))]
    for section in ("Parameters", "Attributes"):
        head = f"{section}\n{'-' * len(section)}\n"
        own = _entries(doc, head)
        found = {name: text for base in inherited for name, text in _entries(base, head).items()}
        found = {name: text for name, text in found.items() if name not in without}
        if section == "Parameters":
            found = {name: (found | own)[name] for name in order if name in found | own}
        text = head + "".join(dict.fromkeys((found | own).values()))
        following = re.search(r"\n\n(Attributes|References|Examples)\n-", doc)
        at = following.start() if following else len(doc)
        if own:
            doc = doc.replace(head + "".join(dict.fromkeys(own.values())), text)
        elif found:
            doc = f"{doc[:at]}\n\n{text.rstrip()}{doc[at:]}"
    return doc


def _entries(doc: str, head: str) -> dict[str, str]:
    """Return the entries of a section by name; an entry with several names is listed under each."""
    body = f"{doc}\n".partition(head)[2].partition("\n\n")[0] + "\n"
    found: dict[str, str] = {}
    for entry in re.findall(r"^\S.*\n(?:[ ]+.*\n)*", body, re.MULTILINE):
        names = entry.partition("\n")[0].partition(" : ")[0]
        found |= dict.fromkeys(names.split(", "), entry)
    return found


def param(default: Any, *allowed: Range) -> Any:
    """Return a dataclass field that declares which values the parameter may take."""
    return field(default=default, metadata={"allowed": allowed})


class Parameters:
    """Base class of plain classes whose constructor stores its arguments under their own names.

    A constructor may end in ``**options``, which it passes on to that of its base class:
    `inspect.signature`, `help` and scikit-learn then see the parameters of both. Parameters that
    the docstring does not describe are documented from the base class.

    >>> class Rule(Parameters):
    ...     ranges = {"alpha": Number(0, 1)}
    ...     def __init__(self, *, alpha=0.05):
    ...         self.alpha = alpha
    >>> class Other(Rule):
    ...     def __init__(self, k=5, **options):
    ...         super().__init__(**options)
    ...         self.k = k
    >>> Other(alpha=0.1).clone().get_params()
    {'k': 5, 'alpha': 0.1}
    >>> inspect.signature(Other)
    <Signature (k=5, *, alpha=0.05)>
    """

    #: Allowed values of each parameter; those of the base classes are added. Dataclass fields
    #: declare them with `param`.
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {}

    #: Names of the parameters, in the order of the constructor.
    parameter_names: ClassVar[tuple[str, ...]] = ()

    #: Attributes of the base classes that it does not have.
    without: ClassVar[Sequence[str]] = ()

    #: The name in messages, if it differs from the class name.
    public_name: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "public_name" not in vars(cls):
            cls.public_name = cls.__name__
        if "__init__" in vars(cls):
            signature = full_signature(cls)
            cls.__init__.__signature__ = signature  # type: ignore[attr-defined]
            cls.parameter_names = tuple(signature.parameters)[1:]
        ranges: dict[str, Range | Sequence[Range]] = {}
        for base in reversed(cls.__mro__):
            ranges |= vars(base).get("ranges", {})
        own = getattr(cls, "__dataclass_fields__", {}).values()
        ranges |= {f.name: f.metadata["allowed"] for f in own if f.metadata}
        cls.ranges = ranges
        if cls.__doc__:
            bases, names = cls.__mro__[1:], cls.parameter_names
            cls.__doc__ = inherit_docs(cls.__doc__, bases, names, cls.without)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self.parameter_names}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; raise a one-sentence error for an unknown name."""
        for name, value in params.items():
            if name not in self.parameter_names:
                raise ParameterError(
                    f"{self.public_name} has no parameter {name!r}; "
                    f"{suggestion(name, self.parameter_names, 'it has')}"
                )
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return a new object with the same parameters that has seen no data."""
        return type(self)(**self.get_params())

    def check_params(self) -> None:
        """Raise a one-sentence error for the first parameter outside its range."""
        for name in self.parameter_names:
            if name in self.ranges:
                check(self.public_name, name, getattr(self, name), self.ranges[name])

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{self.public_name}({', '.join(changed)})"


@dataclass_transform()
class DeclaredParameters(Parameters):
    """Parameters that are annotated attributes with defaults: every subclass becomes a dataclass.

    `param(default, range)` declares which values a parameter may take; both are inherited. An
    attribute that a subclass redeclares as a `ClassVar` is not a parameter of that subclass.
    """

    #: Suffix of the class name that is removed in messages.
    suffix: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        if "public_name" not in vars(cls):
            cls.public_name = cls.__name__.removesuffix(cls.suffix)
        if "__init__" not in vars(cls):
            dataclass(eq=False, repr=False, match_args=False)(cls)
        super().__init_subclass__(**options)


# --- methods as text: saola, saola:alpha=0.05, my_lab.top_k:TopK:size=5 ------------------------


def split_method(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``method:name=value:name=value``; the method is a name or ``package.module:Class``.

    ``paper`` alone stands for ``paper=True``: the parameters of the method's paper.

    >>> split_method("saola:paper:bound=max"), split_method("my_lab.top_k:TopK:size=5")
    (('saola', {'paper': True, 'bound': 'max'}), ('my_lab.top_k:TopK', {'size': 5}))
    """
    first, *rest = text.split(":")
    if rest and "=" not in rest[0] and first not in METHODS:
        first, rest = f"{first}:{rest[0]}", rest[1:]
    rest = ["paper=True" if word == "paper" else word for word in rest]
    return first, parameters(rest, f"{text!r}:")


def parameters(pairs: Sequence[str], where: str = "--param") -> dict[str, Any]:
    """Return ``["bound=max", "gamma=0.1"]`` as keyword arguments: Python literals, or texts.

    >>> parameters(["bound=max", "gamma=0.1"])
    {'bound': 'max', 'gamma': 0.1}
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(
                f"{where} {pair!r} is not of the form name=value, as in alpha=0.05"
            )
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found[name] = value
    return found


_Function = TypeVar("_Function", bound=Callable[..., Any])


def refusing(
    refuse: Callable[[str, tuple[Any, ...], dict[str, Any]], None],
) -> Callable[[_Function], _Function]:
    """Let a function say in one sentence what to do about an argument that it does not take.

    `refuse` is called with the name of such an argument, and with all arguments; if it raises
    nothing, Python's own error follows.
    """

    def decorate(function: _Function) -> _Function:
        taken = inspect.signature(function).parameters

        @wraps(function)
        def checked(*args: Any, **named: Any) -> Any:
            for name in [name for name in named if name not in taken]:
                refuse(name, args, named)
            return function(*args, **named)

        return checked  # type: ignore[return-value]

    return decorate
