"""Plots of a decision log, with matplotlib.

Called by `DecisionLog.plot_flow` and `DecisionLog.plot_growth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.core.errors import InputError, need
from tamis.core.overview import growth, passage

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

#: The palette of Okabe and Ito, which is safe for colour-blind readers.
COLOURS = {
    "kept": "#009E73", "evicted": "#CC79A7", "redundant": "#E69F00", "irrelevant": "#999999",
    "unexamined": "#CCCCCC", "entered": "#0072B2",
}  # fmt: skip


def plot_flow(log: DecisionLog) -> Any:
    """Plot the number of features per verdict and reason; each bar shows its number."""
    went = passage(log)
    bars = [(label, count, COLOURS[verdict]) for verdict, label, count in went.dropped]
    bars.append(("kept", went.kept, COLOURS["kept"]))
    figure, axes = _figure("DecisionLog.plot_flow", (7.0, 0.8 + 0.45 * len(bars)))
    names, counts, colours = zip(*bars, strict=True)
    # A list: older Matplotlib takes a tuple of two for a colour and how opaque it is.
    drawn = axes.barh(names, counts, color=list(colours))
    axes.bar_label(drawn, labels=[f"{count:,}" for count in counts], padding=4)
    axes.set_xlim(0, max(*counts, 1) * 1.15)  # with space for the longest number
    axes.invert_yaxis()
    axes.set_title(f"Where {went.seen:,} features went")
    axes.set_xlabel("features")
    return figure


def plot_growth(log: DecisionLog) -> Any:
    """Plot how many features were kept, entered and left, over the features seen."""
    curve = growth(log)
    if curve is None:
        raise InputError(
            "there is no growth to plot: this method looks at all features at once, not in order"
        )
    figure, axes = _figure("DecisionLog.plot_growth", (7.0, 3.6))
    for label, counts, colour, width in (
        ("kept now", curve.kept, COLOURS["kept"], 2.5),
        ("kept at some time", curve.entered, COLOURS["entered"], 1.2),
        ("redundant", curve.redundant, COLOURS["redundant"], 1.2),
        ("evicted", curve.evicted, COLOURS["evicted"], 1.2),
    ):
        axes.step(curve.seen, counts, where="post", label=label, color=colour, linewidth=width)
    axes.set_xlabel("features seen")
    axes.set_ylabel("features")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)  # where no curve is
    return figure


def _figure(what_for: str, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure without a window, so that scripts need no display."""
    module = need("matplotlib.figure", extra="plot", what_for=what_for)
    figure = module.Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
