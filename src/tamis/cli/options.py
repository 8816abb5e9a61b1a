"""Options that several commands share.

Options that belong together reach a command as one argument: `reading`, `encoding`, `method`,
`execution`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from tamis._registry import ENCODERS, FORMATS, MEASURES, METHODS
from tamis.core.errors import ParameterError
from tamis.core.method_names import parameters, split_method
from tamis.core.sentences import counted

if TYPE_CHECKING:
    from tamis.methods import ColumnSelector, Rule
    from tamis.sources import Source

F = TypeVar("F", bound=Callable[..., Any])

#: Options by the name of their argument.
Options = Mapping[str, Callable[[Any], Any]]


def _as_one(argument: str, options: Options, make: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that adds options; the command gets what `make` makes of their values."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def gathered(**given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            return command(**{argument: make(**values)}, **given)

        for option in reversed(list(options.values())):
            gathered = option(gathered)
        return gathered  # type: ignore[return-value]

    return decorate


quiet_option = click.option("--quiet", is_flag=True, help="Print errors only.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes such as 2GB or 500M."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", str(value).strip(), re.IGNORECASE)
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is not a size such as 2GB or 500MB", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].upper()])


# --- reading ----------------------------------------------------------------------------------

#: The options of every command with DATA, by the keyword argument of the reader.
_READING: Options = {
    "format": click.option(
        "--format", type=click.Choice(sorted(FORMATS)),
        help="Format of DATA, if its extension does not tell.",
    ),
    "target": click.option(
        "--target", metavar="COLUMN", help="The column to predict, if columns have names.",
    ),
    "key": click.option(
        "--key", metavar="COLUMN", help="The column that identifies the rows; it is not a feature.",
    ),
    "ignore": click.option(
        "--ignore", metavar="COLUMN", multiple=True,
        help="A column to leave out. May be repeated.",
    ),
    "categorical": click.option(
        "--categorical", metavar="COLUMN", multiple=True,
        help="A column whose numbers are category codes. May be repeated.",
    ),
    "na": click.option(
        "--na", metavar="TEXT", multiple=True,
        help="A string that means a missing value in a CSV file, e.g. '?'. May be repeated.",
    ),
    "delimiter": click.option(
        "--delimiter", metavar="CHARACTER",
        help="The separator of a CSV file. Default: a comma; a tab in NAME.tsv.",
    ),
    "tokens": click.option(
        "--tokens", metavar="COLUMN",
        help="A column with a list of tokens per row; every token is a feature.",
    ),
    "long": click.option(
        "--long", metavar="ROW,FEATURE,VALUE",
        help="The three columns of a table in long format: one line per nonzero value.",
    ),
    "y": click.option("--y", metavar="FILE", help="An .npy file with the target."),
    "layer": click.option("--layer", metavar="NAME", help="The layer of an AnnData file; or raw."),
    "query": click.option("--query", metavar="SELECT", help="An SQL query, for a database."),
    "zero_based": click.option(
        "--zero-based/--one-based", default=None,
        help="Whether svmlight indices begin at 0 or 1. Default: 0 if there is an index 0, else 1.",
    ),
}  # fmt: skip


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, ())}


#: Adds the options for reading DATA, as `reading`.
source_options = _as_one("reading", _READING, _given)


def open_data(data: str, reading: dict[str, Any], memory: int | None = None) -> Source:
    """Open DATA as the options say, to be read with about so much memory."""
    from tamis.sources import open_source

    return open_source(data, memory=memory, **reading)


def data_name(data: str, source: Source) -> str:
    """Return a name for DATA: that of the file, or of what an address leads to."""
    if "://" not in data:
        return os.path.basename(os.path.normpath(data))
    return re.sub(r"[^\w.-]+", "_", source.label)


#: Groups of columns.
groups_option = click.option(
    "--groups", metavar="FILE",
    help="For group-saola: a CSV or TSV file with the header feature,group and one line per "
    "feature. The columns of a group must be adjacent in the data.",
)  # fmt: skip


# --- encoding ---------------------------------------------------------------------------------

_ENCODING: Options = {
    "encode": click.option(
        "--encode", type=click.Choice(ENCODERS),
        help="Bin each numeric column separately. mdlp cuts where the class changes; text, and "
        "columns with few distinct whole numbers, are left unchanged.",
    ),
    "bins": click.option(
        "--bins", type=int, help="Number of bins, for --encode other than mdlp. Default: 5."
    ),
    "missing": click.option(
        "--missing", default="error", show_default=True,
        type=click.Choice(["error", "category", "delete"]),
        help="Missing values: raise an error, make them a category, or leave them out of each "
        "comparison (information measures).",
    ),
    "missing_value": click.option(
        "--missing-value", type=float, metavar="NUMBER",
        help="A number that also means missing, e.g. -9, or 0 if zeros are not measurements.",
    ),
}  # fmt: skip


def _encoding(
    encode: str | None, bins: int | None, missing: str, missing_value: float | None
) -> dict[str, Any]:
    """Return the encoder and the policy for missing values."""
    if bins is not None and encode in (None, "mdlp"):
        raise ParameterError("--bins is for --encode equal-width, equal-frequency or kmeans")
    if encode is None and missing_value is None:
        return {"encode": None, "missing": missing}
    from tamis.encode import BY_NAME, Encoder, Missing

    encoder: Encoder | None = None
    if encode is not None:
        encoder = BY_NAME[encode](**({} if bins is None else {"bins": bins}))
        encoder.check_params()
    if missing_value is None:
        return {"encode": encoder, "missing": missing}
    return {"encode": encoder, "missing": Missing(missing, missing_value)}


#: Adds the options for binning and for missing values, as `encoding`.
encode_options = _as_one("encoding", _ENCODING, _encoding)


def encoding_lines(source: dict[str, Any]) -> list[str]:
    """Return lines about the encoding and the missing values of a run."""
    lines = [f"encode: {source['encode']}"] if source.get("encode") else []
    missing = source.get("missing", {"policy": "error"})
    if missing["policy"] != "error":
        owner = "its" if missing["gaps"] == 1 else "their"
        became = {"category": f"a category of {owner} own", "delete": "left out of each comparison"}
        lines.append(
            f"missing: {counted(missing['gaps'], 'value')} in "
            f"{counted(missing['columns'], 'column')}, "
            f"{became[missing['policy']]}"
        )
    return lines


# --- methods ----------------------------------------------------------------------------------


class MethodName(click.ParamType):  # type: ignore[type-arg]
    """A method: ``saola``, ``saola:bound=max`` or ``package.module:Class``."""

    name = "method"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a name that is not known; a class is imported later, when it is needed."""
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
        """Return the names that begin with what was typed."""
        return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


class MethodOptions(NamedTuple):
    """A method with its parameters and its measure."""

    method: str
    measure: str
    alpha: float | None
    threshold: float | None
    params: tuple[str, ...]

    def selector(self) -> tuple[ColumnSelector, str | None]:
        """Return the selector, and the name of an encoder that was given after a colon."""
        from tamis.engine.known_selectors import parse_method, refuse_two_levels
        from tamis.measures import MutualInformation
        from tamis.methods import Rule

        measure = None if self.measure == "auto" else self.measure
        more = _given(threshold=self.threshold)
        more |= parameters(self.params) | _given(measure=measure, alpha=self.alpha)
        found = parse_method(self.method, more)
        if not issubclass(found.kind, Rule):
            raise ParameterError(
                f"{found.name} is not a Rule of tamis.methods, so tamis select cannot run it; "
                "tamis compare takes any class with fit(X, y)"
            )
        refuse_two_levels({"alpha": found.params.get("alpha"), **found.level})
        if "alpha" in found.level:
            raise ParameterError("this method has no parameter alpha; give a measure that has one")
        if found.level:
            found.params["measure"] = MutualInformation(**found.level)
        return found.kind(**found.params).to_selector(), found.encode


_METHOD: Options = {
    "method": click.option(
        "--method", default="saola", show_default=True, type=MethodName(), metavar="METHOD",
        help=f"One of {', '.join(sorted(METHODS))}, or package.module:Class of your own. "
        "Parameters may follow after colons, as in saola:bound=max.",
    ),
    "measure": click.option(
        "--measure", default="auto", show_default=True, type=click.Choice(["auto", *MEASURES]),
        help="The measure that scores features. auto picks one from the data and reports it.",
    ),
    "alpha": click.option("--alpha", type=float, help="Significance level of the measure's test."),
    "threshold": click.option(
        "--threshold", type=float,
        help="Instead of a test: scores above this are relevant (the papers use 0).",
    ),
    "params": click.option(
        "--param", "params", multiple=True, metavar="NAME=VALUE",
        help="A parameter of the method, e.g. --param bound=max. May be repeated.",
    ),
}  # fmt: skip

#: Adds the options that choose a method, as `method`.
method_options = _as_one("method", _METHOD, MethodOptions)


def _own_class(own_class: str | None) -> type[Rule] | None:
    if own_class is None:
        return None
    from tamis.engine.known_selectors import class_of
    from tamis.methods import FeatureStreamSelector, Rule

    kind: type[Rule] = class_of(own_class)
    if not issubclass(kind, Rule) or not issubclass(kind.machinery, FeatureStreamSelector):
        raise ParameterError(
            f"{own_class} is not a rule for feature streams, so nothing resumes by it"
        )
    return kind


_OWN_CLASS: Options = {
    "own_class": click.option(
        "--method", "own_class", metavar="PACKAGE.MODULE:CLASS",
        help="The class that RUN was selected with, if it is your own. It is never imported "
        "because a folder names it.",
    ),
}  # fmt: skip

#: Adds the class of a selection that was made with a class of one's own, as `own_class`.
own_class_option = _as_one("own_class", _OWN_CLASS, _own_class)


# --- execution --------------------------------------------------------------------------------

#: Seconds between two commits of a run that can be resumed.
COMMIT_EVERY = 2.0

_EXECUTION: Options = {
    "n_jobs": click.option(
        "--n-jobs", type=click.IntRange(1), help="Threads to compute with. Default: all cores."
    ),
    "width": click.option(
        "--width", type=click.IntRange(1), help="Columns per block. Does not change the result."
    ),
    "cluster": click.option(
        "--cluster", metavar="ADDRESS",
        help="Score columns elsewhere: tcp://host:8786 of a Dask cluster, or local:2 for two "
        "processes here. Does not change the result.",
    ),
}  # fmt: skip


def execution_options(*names: str) -> Callable[[F], F]:
    """Add options for computing, as `execution`."""
    return _as_one("execution", {name: _EXECUTION[name] for name in names}, dict)
