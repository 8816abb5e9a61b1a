"""How a method is named on the command line: a word of tamis, or a class of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tamis._registry import METHODS
from tamis.core.errors import ParameterError
from tamis.core.method_names import parameters, split_method

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
    from tamis.engine.known_selectors import parse_method, refuse_two_levels
    from tamis.measures import MutualInformation
    from tamis.methods import Rule

    more = parameters(params)
    more |= {"measure": measure} if measure != "auto" else {}
    more |= {} if alpha is None else {"alpha": alpha}
    more |= {} if threshold is None else {"threshold": more.get("threshold", threshold)}
    found = parse_method(method, more)
    if not issubclass(found.kind, Rule):
        raise ParameterError(
            f"{found.name} is not a Rule of tamis.methods, so tamis select cannot run it; "
            "tamis compare takes any class with fit(X, y)"
        )
    refuse_two_levels({**found.params, **found.level})
    if "alpha" in found.level:
        raise ParameterError("this method has no parameter alpha; give a measure that has one")
    if found.level:
        found.params["measure"] = MutualInformation(**found.level)
    return found.kind(**found.params).to_selector(), found.encode
