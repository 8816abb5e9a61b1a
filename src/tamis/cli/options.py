"""Options that several commands share."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tamis._registry import FORMATS

if TYPE_CHECKING:
    from tamis.sources import Source

F = TypeVar("F", bound=Callable[..., Any])

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


#: The options of every command with DATA, by the keyword argument of the reader.
_READING: dict[str, Callable[[Any], Any]] = {
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


#: Seconds between two commits of a run that can be resumed.
COMMIT_EVERY = 2.0

#: Groups of columns.
groups_option = click.option(
    "--groups", metavar="FILE",
    help="For group-saola: a CSV or TSV file with the header feature,group and one line per "
    "feature. The columns of a group must be adjacent in the data.",
)  # fmt: skip


def source_options(command: F) -> F:
    """Add the options for reading DATA; the command gets them as one dict, `reading`."""

    @functools.wraps(command)
    def with_reading(**given: Any) -> Any:
        reading = {name: given.pop(name) for name in _READING}
        return command(reading={k: v for k, v in reading.items() if v not in (None, ())}, **given)

    for option in reversed(_READING.values()):
        with_reading = option(with_reading)
    return with_reading  # type: ignore[return-value]


def open_data(data: str, reading: dict[str, Any], memory: int | None = None) -> Source:
    """Open DATA as the options say, to be read with about so much memory."""
    from tamis.sources import open_source

    return open_source(data, memory=memory, **reading)


def data_name(data: str, source: Source) -> str:
    """Return a name for DATA: that of the file, or of what an address leads to."""
    if "://" not in data:
        return os.path.basename(os.path.normpath(data))
    return re.sub(r"[^\w.-]+", "_", source.label)
