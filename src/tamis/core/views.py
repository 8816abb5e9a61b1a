"""Views of a decision log for people: data frames, pictures, a card in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

from tamis.core import drawing
from tamis.core.errors import need
from tamis.core.frames import named_columns
from tamis.core.overview import growth

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

#: Kept features listed in a notebook.
LISTED = 12


class LogViews:
    """What a decision log can be looked at as."""

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row a feature, names and words in place of numbers."""
        pandas = need("pandas", extra="pandas", what_for="DecisionLog.to_pandas")
        return pandas.DataFrame(_named(self))

    def to_polars(self) -> Any:
        """Return a polars DataFrame with one row a feature, names and words in place of numbers."""
        polars = need("polars", extra="polars", what_for="DecisionLog.to_polars")
        return polars.DataFrame(_named(self))

    @property
    def is_in_order(self) -> bool:
        """True if decisions were taken in order of arrival, as on a stream."""
        return growth(_log(self), points=1) is not None

    def plot_flow(self) -> Any:
        """Draw how many features were dropped or kept, and why; returns a matplotlib figure."""
        return drawing.flow(_log(self))

    def plot_growth(self) -> Any:
        """Draw how the kept set grew over the stream; returns a matplotlib figure."""
        return drawing.growth(_log(self))

    def _repr_html_(self) -> str:
        log = _log(self)
        kept = log.replay()
        names = ", ".join(escape(log.names[f]) for f in kept[:LISTED])
        more = f" and {len(kept) - LISTED:,} more" if len(kept) > LISTED else ""
        rows = "".join(
            f"<tr><td>{word}</td><td style='text-align:right'>{n:,}</td></tr>"
            for word, n in log.counts().items()
        )
        return (
            f"<div><b>Decisions about {len(log):,} features</b><table>{rows}</table>"
            + (f"<div>kept: {names}{more}</div>" if kept else "")
            + "<div>ask <code>.why(name)</code> about any of them</div></div>"
        )


def _log(views: LogViews) -> DecisionLog:
    """The log itself; every log has these views, and nothing else does."""
    return cast("DecisionLog", views)


def _named(views: LogViews) -> dict[str, Any]:
    log = _log(views)
    return named_columns(log.columns(), list(log.reasons), log.names)
