"""Options that several commands share.

Options that belong together reach a command as one dictionary of those that were given: `reading`,
`execution`, `feeding`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tamis._registry import FORMATS, MISSING_TARGET, TASKS
from tamis.core.errors import ParameterError
from tamis.core.sentences import suggestion

F = TypeVar("F", bound=Callable[..., Any])


def _as_one(argument: str, *options: click.Option) -> Callable[[F], F]:
    """Return a decorator that adds options and passes those that were given as one dictionary."""

    def collect(context: click.Context, option: click.Parameter, value: Any) -> None:
        given = context.params.setdefault(argument, {})
        if value not in (None, ()):
            given[option.name] = value

    def decorate(command: F) -> F:
        known = command.__dict__.setdefault("__click_params__", [])  # as click.option keeps them
        known.extend(reversed(options))
        return command

    for option in options:
        option.expose_value, option.callback = False, collect
    return decorate


#: The sections of `--help`, with the names of their options; the first has all others.
SECTIONS = {
    "Options": "",
    "Method": "method measure alpha fdr gate threshold params n_features gamma eta lam n_bits "
    "stop order costs groups selector",
    "Training": "passes shuffle tune_rows normalize test",
    "Target, values and rows": "task classes encode bins missing missing_value keep given weights",
    "How far to trust it": "shadows row_groups stability judge",
    "Reading DATA": "format target key ignore categorical na delimiter decimal header dates tokens "
    "long y layer query missing_target missing_rows transpose zero_based skip_bad_lines",
    "Computing": "n_jobs width cluster shards checkpoint memory random_state",
    "Output": "out force scores as_json quiet live",
}
#: A command with fewer options is read at a glance, without sections.
_AT_A_GLANCE = 12


def in_sections(params: list[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Return the options of a command by the section of its help."""
    options = [param for param in params if isinstance(param, click.Option)]
    if len(options) < _AT_A_GLANCE:
        return {"Options": [*options]}
    home = {name: title for title, names in SECTIONS.items() for name in names.split()}
    found: dict[str, list[click.Parameter]] = {title: [] for title in SECTIONS}
    for option in options:
        last = "--help" in option.opts
        found["Output" if last else home.get(option.name or "", "Options")].append(option)
    return {title: inside for title, inside in found.items() if inside}


class Command(click.Command):
    """A command whose help has sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each in its section."""
        for title, options in in_sections(self.get_params(ctx)).items():
            with formatter.section(title):
                records = (option.get_help_record(ctx) for option in options)
                formatter.write_dl([record for record in records if record])


class Choice(click.Choice[str]):
    """One of a few words; a mistyped one is answered with the one that was probably meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for a word that is not among them."""
        return f"{value!r} is not known; {suggestion(value, self.choices)}"


def _silence(ctx: click.Context, param: click.Parameter, quiet: bool) -> bool:
    """Print no warnings of a command with --quiet."""
    if quiet:
        warnings.showwarning = lambda *_, **__: None
    return quiet


quiet_option = click.option(
    "--quiet", is_flag=True, is_eager=True, callback=_silence, help="Print errors only."
)
json_option = click.option(
    "--json", "as_json", is_flag=True,
    help="Print one JSON document and nothing else; errors and warnings stay on standard error.",
)  # fmt: skip


def output_options(command: F) -> F:
    """Add what most commands can print: one JSON document, or errors only."""
    return json_option(quiet_option(command))


live_option = click.option(
    "--live", is_flag=True, help="Open a page that follows the run; it can be closed at any time."
)


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def size(value: str) -> int:
    """Return the number of bytes of a size such as 2GB or 500M."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", str(value).strip(), re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise click.BadParameter(f"{value!r} is not a size such as 2GB or 500MB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


#: The end of the help text of an option that may be repeated.
REPEATED = "May be repeated."


#: What the target holds.
task_option = click.option(
    "--task", default="auto", show_default=True, type=Choice(TASKS),
    help="Whether the target holds classes or numbers. auto decides by its values, and says why.",
)  # fmt: skip


# --- reading ----------------------------------------------------------------------------------

#: Options for reading DATA by the keyword argument of the reader: metavar, help.
_READING = {
    "target": ("COLUMN", "The column to predict, if columns have names."),
    "key": ("COLUMN", "The column that identifies the rows; it is not a feature."),
    "ignore": (
        "COLUMN",
        f"A column to leave out, or several: 'q*' is all that begin with q. {REPEATED}",
    ),
    "categorical": ("COLUMN", f"A column whose numbers are category codes. {REPEATED}"),
    "na": ("TEXT", f"A string that means a missing value in a CSV file, e.g. '?'. {REPEATED}"),
    "delimiter": ("CHARACTER", "The separator of a CSV file. Default: found in its first lines."),
    "decimal": ("CHARACTER", "The decimal mark of a CSV file: . or , (found in its first lines)."),
    "dates": (
        "ignore|number",
        "Leave columns of dates out, or take them as days since 1970. Default: ignore, with a "
        "warning.",
    ),
    "tokens": ("COLUMN", "A column with a list of tokens per row; every token is a feature."),
    "long": (
        "ROW,FEATURE,VALUE",
        "The three columns of a table in long format: one line per nonzero value.",
    ),
    "y": (
        "FILE",
        "A file with the target: .npy, or a table that has the --target and is joined with DATA by "
        "--key.",
    ),
    "layer": ("NAME", "The layer of an AnnData file, or raw."),
    "query": ("SELECT", "An SQL query, for a database."),
}

#: Adds the options for reading DATA, as `reading`.
source_options = _as_one(
    "reading",
    click.Option(
        ["--format"], type=Choice(sorted(FORMATS)),
        help="Format of DATA, if it does not follow from the extension.",
    ),
    *(
        click.Option([f"--{name}"], metavar=metavar, help=help, multiple=REPEATED in help)
        for name, (metavar, help) in _READING.items()
    ),
    click.Option(
        ["--no-header", "header"], flag_value=False, default=None,
        help="The first line of a CSV file holds values; columns are called x0, x1, ...",
    ),
    click.Option(
        ["--missing-rows"], type=Choice(["error", "gaps"]),
        help="Rows (by --key) that a daily or fed table lacks: raise an error (the default), or "
        "take their values as missing.",
    ),
    click.Option(
        ["--transpose"], is_flag=True, default=None,
        help="Lines of the table are features and columns are samples, as in most tables of genes; "
        "the first column names the features.",
    ),
    click.Option(
        ["--zero-based/--one-based"], default=None,
        help="Whether svmlight indices begin at 0 or 1. Default: 0 if there is an index 0, else 1.",
    ),
)  # fmt: skip


#: Adds how to read rows without a target to `reading`; what only predicts has no use for it.
missing_target_option = _as_one(
    "reading",
    click.Option(
        ["--missing-target"], type=Choice(MISSING_TARGET),
        help="Rows without a target: raise an error (the default), or leave them out, with a "
        "warning that counts them.",
    ),
)  # fmt: skip


#: Groups of columns.
groups_option = click.option(
    "--groups", metavar="FILE",
    help="For group-saola: a CSV or TSV file with the header feature,group and one line per "
    "feature. The columns of a group must be adjacent in the data.",
)  # fmt: skip


# --- selections that exist ------------------------------------------------------------------------


class _OwnClass(click.ParamType):  # type: ignore[type-arg]
    """The rule of a selection that was made with the user's own class, which is imported."""

    name = "class"

    def convert(self, value: str, param: click.Parameter | None, ctx: Any) -> Any:
        """Import the rule, or refuse it."""
        from tamis.engine.known_selectors import class_of
        from tamis.methods import FeatureStreamSelector, Rule

        rule = class_of(value)
        if not issubclass(rule, Rule) or not issubclass(rule.machinery, FeatureStreamSelector):
            raise ParameterError(
                f"{value} is not a rule for feature streams and cannot resume a run"
            )
        return rule


own_class_option = click.option(
    "--method", "selector", type=_OwnClass(), metavar="PACKAGE.MODULE:CLASS",
    help="The class that RUN was selected with, if it is your own. It is never imported just "
    "because a folder names it.",
)  # fmt: skip

wait_option = click.option(
    "--no-wait", "wait", flag_value=False, default=True,
    help="Do not wait if another process is feeding RUN.",
)  # fmt: skip

#: Adds the options on how new columns affect earlier ones, as `feeding`.
feeding_options = _as_one(
    "feeding",
    click.Option(
        ["--replace"], is_flag=True, help="Let a column replace the earlier one of the same name."
    ),
    click.Option(
        ["--allow-target"], is_flag=True,
        help="Accept a column that equals the target in every row.",
    ),
)  # fmt: skip


# --- execution --------------------------------------------------------------------------------

#: Seconds between two commits of a run that can be resumed.
COMMIT_EVERY = 2.0

_EXECUTION = {
    "n_jobs": click.Option(
        ["--n-jobs"], type=click.IntRange(1), help="Threads to compute with. Default: all cores."
    ),
    "width": click.Option(
        ["--width"], type=click.IntRange(1), help="Columns per block. Does not change the result."
    ),
    "cluster": click.Option(
        ["--cluster"], metavar="ADDRESS",
        help="Score columns in other processes: tcp://host:8786 of a Dask cluster, or local:2 for "
        "two processes here. Does not change the result.",
    ),
}  # fmt: skip


def execution_options(*names: str) -> Callable[[F], F]:
    """Add options for computing, as `execution`."""
    return _as_one("execution", *(_EXECUTION[name] for name in names))
