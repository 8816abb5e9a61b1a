"""How a method is named on the command line: a word of tamis, or a class of one's own."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tamis._registry import MEASURES, METHODS
from tamis.cli.options import parameters
from tamis.core.errors import ParameterError
from tamis.core.method_words import split_method

if TYPE_CHECKING:
    from tamis.methods import ColumnSelector, Rule


class MethodWords(click.ParamType):  # type: ignore[type-arg]
    """A method: ``saola``, ``saola:bound=max`` or ``package.module:Class``."""

    name = "method"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a word that is not known; a class is imported later, when it is needed."""
        try:
            where, _ = split_method(str(value))
        except ParameterError as error:
            self.fail(str(error), param, ctx)
        if ":" not in where and where not in METHODS:
            self.fail(
                f"{where!r} is not known; give one of {', '.join(sorted(METHODS))}, or "
                "package.module:Class",
                param, ctx,
            )  # fmt: skip
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words that begin so."""
        return [CompletionItem(word) for word in METHODS if word.startswith(incomplete)]


#: The class of a selection that was made with a class of one's own, for those that go on with one.
own_class_option = click.option(
    "--method", "own_class", metavar="PACKAGE.MODULE:CLASS",
    help="The class that RUN was selected with, if it is one of your own: no code is imported "
    "because a folder names it.",
)  # fmt: skip


def own_class(where: str | None) -> type[Rule] | None:
    """Return the rule that --method names, to resume with; None if none is named."""
    if where is None:
        return None
    from tamis.engine.known_selectors import class_of
    from tamis.methods import FeatureStreamSelector, Rule

    kind: type[Rule] = class_of(where)
    if not issubclass(kind, Rule) or not issubclass(kind.machinery, FeatureStreamSelector):
        raise ParameterError(f"{where} is not a rule for feature streams, so nothing resumes by it")
    return kind


def selector_of(
    method: str,
    params: tuple[str, ...],
    measure: str,
    alpha: float | None,
    threshold: float | None,
) -> tuple[ColumnSelector, str | None]:
    """Return the selector that the options describe, and the encoder named after a colon."""
    from tamis.engine.known_selectors import class_of
    from tamis.methods import Rule

    where, settings = split_method(method)
    kind = class_of(where)
    if not issubclass(kind, Rule):
        raise ParameterError(
            f"{where} is not a Rule of tamis.methods, so tamis select cannot run it; "
            "tamis compare takes any class with fit(X, y)"
        )
    known = list(inspect.signature(kind).parameters)
    # What stands after a colon and is no parameter of the method is the option of that name.
    told = {n: settings.pop(n) for n in ("alpha", "threshold", "encode", "measure")
            if n in settings and (n == "measure" or n not in known)}  # fmt: skip
    measure = told.get("measure", measure) if measure == "auto" else measure
    alpha = told.get("alpha") if alpha is None else alpha
    threshold = told.get("threshold") if threshold is None else threshold
    settings |= parameters(params)
    for name in settings:
        if name not in known or name == "measure":
            there = ", ".join(p for p in known if p != "measure")
            raise ParameterError(f"{where} has no parameter {name!r}; it has {there}")
    if threshold is not None and "threshold" in known:
        settings, threshold = {"threshold": threshold, **settings}, None  # the method's own
    if "measure" in known:
        alpha = settings.pop("alpha", None) if alpha is None else alpha
        settings |= _measure(measure, alpha, threshold, has_alpha="alpha" in known)
    elif (measure, alpha, threshold) != ("auto", None, None):
        raise ParameterError(
            f"{where} has no measure, so it takes no --measure, --alpha or --threshold"
        )
    # Parameters are checked now, not when the data have been read.
    return kind(**settings).to_selector(), told.get("encode")


def _measure(
    name: str, alpha: float | None, threshold: float | None, *, has_alpha: bool
) -> dict[str, Any]:
    """Return the parameters that the options --measure, --alpha and --threshold stand for."""
    from tamis.measures.auto import BY_NAME

    if alpha is not None and threshold is not None:
        raise ParameterError("--alpha is a test and --threshold is none; give one of the two")
    if name != "auto" and name not in BY_NAME:
        raise ParameterError(
            f"the measure {name!r} is not known; give one of {', '.join(MEASURES)}"
        )
    if threshold is not None:
        name = "mutual_information" if name == "auto" else name
        if "threshold" not in inspect.signature(BY_NAME[name]).parameters:
            raise ParameterError(f"the measure {name} has no threshold")
        return {"measure": BY_NAME[name](threshold=threshold)}  # type: ignore[call-arg]
    if alpha is None:
        return {"measure": name}
    if not has_alpha:
        raise ParameterError("this method has no parameter alpha; give a measure that has one")
    return {"measure": name, "alpha": alpha}
