"""Pictures of a decision log, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.core.errors import InputError, need
from tamis.core.overview import growth as growth_of
from tamis.core.overview import passage

if TYPE_CHECKING:
    from tamis.core.decisions import DecisionLog

#: After Okabe and Ito, whose colours people who see few of them can tell apart.
COLOURS = {
    "kept": "#009E73", "evicted": "#CC79A7", "redundant": "#E69F00", "irrelevant": "#999999",
    "entered": "#0072B2",
}  # fmt: skip


def flow(log: DecisionLog) -> Any:
    """Bars of how many features went which way, by reason; the axis is logarithmic."""
    went = passage(log)
    bars: list[tuple[str, int, str]] = []
    for verdict, reasons in (
        ("irrelevant", went.irrelevant),
        ("redundant", went.redundant),
        ("evicted", went.evicted),
    ):
        for key, count in sorted(reasons.items(), key=lambda item: -item[1]):
            words = key.replace("_", " ")
            alone = len(reasons) == 1 or words == verdict
            bars.append((verdict if alone else f"{verdict}: {words}", count, COLOURS[verdict]))
    bars.append(("kept", went.kept, COLOURS["kept"]))
    figure, axes = _figure("DecisionLog.plot_flow", (7.0, 0.8 + 0.45 * len(bars)))
    names, counts, colours = zip(*bars, strict=True)
    drawn = axes.barh(names, counts, color=colours)
    axes.bar_label(drawn, labels=[f"{count:,}" for count in counts], padding=4)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, max(went.seen, 1) * 6)
    axes.invert_yaxis()
    axes.set_title(f"Where {went.seen:,} features went")
    axes.set_xlabel("features (logarithmic)")
    return figure


def growth(log: DecisionLog) -> Any:
    """The kept set, and who has come and gone, over the features seen."""
    curve = growth_of(log)
    if curve is None:
        raise InputError(
            "there is no growth to draw: this method looks at all features at once, not in order"
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
    axes.legend(frameon=False)
    return figure


def _figure(what_for: str, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure that no window manager knows of, so that scripts need no display."""
    module = need("matplotlib.figure", extra="plot", what_for=what_for)
    figure = module.Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
