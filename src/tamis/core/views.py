"""Views of a decision log for people: data frames, pictures, a card in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

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

    def to_pandas(self: DecisionLog) -> Any:
        """Return a pandas DataFrame with one row a feature, names and words in place of numbers."""
        pandas = need("pandas", extra="pandas", what_for="DecisionLog.to_pandas")
        return pandas.DataFrame(named_columns(self.columns(), list(self.reasons), self.names))

    def to_polars(self: DecisionLog) -> Any:
        """Return a polars DataFrame with one row a feature, names and words in place of numbers."""
        polars = need("polars", extra="polars", what_for="DecisionLog.to_polars")
        return polars.DataFrame(named_columns(self.columns(), list(self.reasons), self.names))

    @property
    def is_in_order(self: DecisionLog) -> bool:
        """True if decisions were taken in order of arrival, as on a stream."""
        return growth(self, points=1) is not None

    def plot_flow(self: DecisionLog) -> Any:
        """Draw how many features were dropped or kept, and why; returns a matplotlib figure."""
        return drawing.flow(self)

    def plot_growth(self: DecisionLog) -> Any:
        """Draw how the kept set grew over the stream; returns a matplotlib figure."""
        return drawing.growth(self)

    def _repr_html_(self: DecisionLog) -> str:
        kept = self.replay()
        names = ", ".join(escape(self.names[f]) for f in kept[:LISTED])
        more = f" and {len(kept) - LISTED:,} more" if len(kept) > LISTED else ""
        rows = "".join(
            f"<tr><td>{word}</td><td style='text-align:right'>{n:,}</td></tr>"
            for word, n in self.counts().items()
        )
        return (
            f"<div><b>Decisions about {len(self):,} features</b><table>{rows}</table>"
            + (f"<div>kept: {names}{more}</div>" if kept else "")
            + "<div>ask <code>.why(name)</code> about any of them</div></div>"
        )
