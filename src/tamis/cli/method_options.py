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
    from tamis.methods import ColumnSelector, FeatureStreamSelector


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


def own_class(where: str | None) -> type[FeatureStreamSelector] | None:
    """The class that --method names, to go on with; None if none is named."""
    if where is None:
        return None
    from tamis.engine.known_selectors import class_of
    from tamis.methods import FeatureStreamSelector

    kind = class_of(where)
    if not issubclass(kind, FeatureStreamSelector):
        raise ParameterError(f"{where} is no FeatureStreamSelector, so no selection goes on by it")
    return kind  # type: ignore[no-any-return]


def selector_of(
    method: str,
    params: tuple[str, ...],
    measure: str,
    alpha: float | None,
    threshold: float | None,
) -> tuple[ColumnSelector, str | None]:
    """The selector that the options ask for, and the word of an encoder named after a colon."""
    from tamis.engine.known_selectors import class_of
    from tamis.methods import ColumnSelector

    where, settings = split_method(method)
    kind = class_of(where)
    if not issubclass(kind, ColumnSelector):
        raise ParameterError(
            f"{where} is no ColumnSelector of tamis.methods, so tamis select cannot run it; "
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
        settings["measure"] = _measure(measure, alpha, threshold)
    elif (measure, alpha, threshold) != ("auto", None, None):
        raise ParameterError(
            f"{where} has no measure, so it takes no --measure, --alpha or --threshold"
        )
    chosen = kind(**settings)
    chosen._check_parameters()  # now, not when the data have been read
    return chosen, told.get("encode")


def _measure(name: str, alpha: float | None, threshold: float | None) -> Any:
    """The measure the options ask for; a word where nothing but its name is given."""
    from tamis.measures.auto import BY_NAME, Auto

    given = {k: v for k, v in (("alpha", alpha), ("threshold", threshold)) if v is not None}
    if not given:
        return name
    if len(given) == 2:
        raise ParameterError("--alpha is a test and --threshold is none; give one of the two")
    if name == "auto":
        if alpha is not None:
            return Auto(alpha)
        name = "mutual_information"
    if name not in BY_NAME:
        raise ParameterError(
            f"the measure {name!r} is not known; give one of {', '.join(MEASURES)}"
        )
    kind = BY_NAME[name]
    wrong = [k for k in given if k not in inspect.signature(kind).parameters]
    if wrong:
        raise ParameterError(f"the measure {name} has no {wrong[0]}")
    return kind(**given)
