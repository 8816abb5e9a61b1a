"""The critical-difference diagram, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.core.errors import InputError, need

if TYPE_CHECKING:
    from tamis.evaluate.results import Results


def critical_differences(results: Results, classifier: str) -> Any:
    """Plot average ranks, best on the left; bars join those that do not differ significantly."""
    found = results.summary()["classifiers"][classifier]["ranks"]
    if found is None:
        raise InputError("there are no ranks to plot: give at least two data sets and two methods")
    module = need("matplotlib.figure", extra="plot", what_for="Results.plot_ranks")
    ranks, methods = found["average_ranks"], results.methods
    order = sorted(range(len(methods)), key=lambda i: ranks[i])
    half = (len(order) + 1) // 2
    below = 0.5 + 0.28 * len(found["not_different"])
    figure = module.Figure(figsize=(8.0, 1.4 + 0.32 * half + 0.15 * below), layout="constrained")
    axes = figure.add_subplot()
    axes.hlines(0, 1, len(methods), color="black")
    for rank in range(1, len(methods) + 1):
        axes.vlines(rank, -0.12, 0, color="black")
        axes.text(rank, -0.2, str(rank), ha="center", va="bottom")
    for place, i in enumerate(order):
        left = place < half
        y = below + 0.6 * (place if left else len(order) - 1 - place)
        edge = 0.8 if left else len(methods) + 0.2
        axes.plot([ranks[i], ranks[i], edge], [0, y, y], color="0.4", linewidth=1)
        axes.text(
            edge, y, f" {methods[i]} {ranks[i]:.2f} ", ha="right" if left else "left", va="center"
        )
    for level, group in enumerate(found["not_different"]):
        low, high = min(ranks[i] for i in group), max(ranks[i] for i in group)
        y = 0.25 + 0.28 * level
        axes.plot([low - 0.03, high + 0.03], [y, y], color="black", linewidth=4)
    width = found["critical_difference"]
    axes.plot([1, 1 + width], [-0.75, -0.75], color="#D55E00", linewidth=3)
    axes.text(1, -0.85, f"critical difference {width:.2f}", va="bottom")
    axes.margins(x=0.25)
    axes.set_ylim(below + 0.6 * half, -1.7)  # downwards, with space for the text on top
    axes.set_axis_off()
    axes.set_title(f"Average ranks of accuracy with {classifier}")
    return figure
