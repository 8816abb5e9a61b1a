"""Parameters of methods: their names, their ranges, and copies; a wrong value is one sentence.

`Parameters` is the base of everything that is set up by constructor arguments and does not need
scikit-learn: rules, learners. Estimators use the same names, ranges and defaults.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, Self

from tamis.core.errors import ParameterError


class Range(Protocol):
    """A set of allowed values that can describe itself."""

    def allows(self, value: Any) -> bool:
        """Return True if `value` is inside."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number:
    """A real number between two bounds, each inside the range unless `open_low`/`open_high`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def allows(self, value: Any) -> bool:
        """Return True if `value` is a number inside the bounds."""
        wanted = Integral if self.integer else Real
        if isinstance(value, bool) or not isinstance(value, wanted) or math.isnan(value):
            return False
        number = float(value)
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below

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

    def allows(self, value: Any) -> bool:
        """Return True if `value` is one of the choices."""
        return isinstance(value, str) and value in self.choices

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(choice) for choice in self.choices)


@dataclass(frozen=True)
class Nothing:
    """None is allowed."""

    def allows(self, value: Any) -> bool:
        """Return True if `value` is None."""
        return value is None

    def __str__(self) -> str:
        return "None"


def check(owner: str, name: str, value: Any, allowed: Range | Iterable[Range]) -> None:
    """Raise one sentence if `value` is outside every range in `allowed`.

    >>> check("FisherZ", "alpha", 2.0, Number(0, 1, open_low=True, open_high=True))
    Traceback (most recent call last):
      ...
    tamis.core.errors.ParameterError: FisherZ: alpha=2.0 is not a number above 0 and below 1
    """
    ranges = (allowed,) if not isinstance(allowed, Iterable) else tuple(allowed)
    if any(r.allows(value) for r in ranges):
        return
    raise ParameterError(f"{owner}: {name}={value!r} is not {' or '.join(str(r) for r in ranges)}")


def full_signature(cls: type[Any]) -> inspect.Signature:
    """Return the signature of a constructor, its ``**options`` spelled out.

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


def inherit_docs(doc: str, bases: Iterable[type], order: Sequence[str]) -> str:
    """Complete a NumPy-style docstring with the parameters and attributes that bases document.

    Of the bases' parameters those in `order` are taken; their attributes come first.
    """
    doc = inspect.cleandoc(doc)
    inherited = [inspect.cleandoc(base.__doc__ or "") for base in reversed(list(bases))]
    for section in ("Parameters", "Attributes"):
        head = f"{section}\n{'-' * len(section)}\n"
        own = _entries(doc, head)
        found = {name: text for base in inherited for name, text in _entries(base, head).items()}
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
    """Return the entries of a section by name; an entry of several names occurs under each."""
    body = f"{doc}\n".partition(head)[2].partition("\n\n")[0] + "\n"
    found: dict[str, str] = {}
    for entry in re.findall(r"^\S.*\n(?:[ ]+.*\n)*", body, re.MULTILINE):
        names = entry.partition("\n")[0].partition(" : ")[0]
        found |= dict.fromkeys(names.split(", "), entry)
    return found


def param(default: Any, *allowed: Range) -> Any:
    """Return a field of a dataclass that says which values the parameter may take."""
    return field(default=default, metadata={"allowed": allowed})


class Parameters:
    """Base of plain classes whose constructor stores its arguments under their own names.

    A constructor may end in ``**options``, which it passes on to that of its base class:
    `inspect.signature`, `help` and scikit-learn then see the parameters of both. What the docstring
    does not say about them is taken from the base class.

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

    #: Allowed values of each parameter; those of the base classes are added. Fields of a dataclass
    #: say it themselves (`param`).
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {}

    #: Names of the parameters, in the order of the constructor.
    parameter_names: ClassVar[tuple[str, ...]] = ()

    #: The name in messages, where it is not that of the class.
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
            cls.__doc__ = inherit_docs(cls.__doc__, cls.__mro__[1:], cls.parameter_names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self.parameter_names}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; raise one sentence for a name that does not exist."""
        for name, value in params.items():
            if name not in self.parameter_names:
                raise ParameterError(
                    f"{self.public_name} has no parameter {name!r}; it has "
                    f"{', '.join(self.parameter_names)}"
                )
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return a new object with the same parameters that has seen no data."""
        return type(self)(**self.get_params())

    def check_params(self) -> None:
        """Raise one sentence for the first parameter outside its range."""
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
