"""Gates as their papers write them, one test after the other, for comparison."""

from __future__ import annotations

import math


def g(t: int) -> float:
    return 0.07720838 * math.log(max(t, 2)) / (t * math.exp(math.sqrt(math.log(t))))


def lord(p: list[float], alpha: float) -> tuple[list[bool], list[float]]:
    found, levels, times = [], [], []
    for t, value in enumerate(p, 1):
        level = alpha / 2 * g(t)
        if times:
            level += (alpha - alpha / 2) * g(t - times[0])
        level += alpha * sum(g(t - j) for j in times[1:])
        levels.append(level)
        found.append(value <= level)
        if found[-1]:
            times.append(t)
    return found, levels


def lond(p: list[float], alpha: float, beta) -> tuple[list[bool], list[float]]:
    found, levels = [], []
    for t, value in enumerate(p, 1):
        levels.append(alpha * g(t) * beta(sum(found) + 1))
        found.append(value <= levels[-1])
    return found, levels


def shape(r: int) -> float:
    """Mean of s over the sizes s = 1, 2, 4, ..., 1024, where larger sizes than r count as 0."""
    sizes = [2**k for k in range(11)]
    return sum(s for s in sizes if s <= r) / len(sizes)


def candidates(
    p: list[float], alpha: float, low: float, high: float
) -> tuple[list[bool], list[float]]:
    """SAFFRON (high = 1) and ADDIS: only p-values between `low` and `high` use up shares."""
    found, levels, times, clock = [], [], [], 0
    for value in p:
        total = alpha / 2 * (clock + 1) ** -1.6
        total += sum(
            (alpha if j else alpha - alpha / 2) * (clock + 1 - time) ** -1.6
            for j, time in enumerate(times)
        )
        levels.append(min(low, (min(high, 1.0) - low) * 0.4374901658 * total))
        found.append(value <= levels[-1])
        clock += low < value <= high
        if found[-1]:
            times.append(clock)
    return found, levels


def step_up(p: list[float], alpha: float) -> int:
    return max(
        [k for k, value in enumerate(sorted(p), 1) if value <= alpha * k / len(p)], default=0
    )


def skipping(levels, p: list[float], least_p: list[float]) -> list[bool]:
    """Return finds if a column is a test only when its least p-value is at most the coming level.

    `levels` returns the levels of a list of tests.
    """
    tests, found = [], []
    for value, least in zip(p, least_p, strict=True):
        coming = levels([*tests, 1.0])[-1]
        found.append(least <= coming and value <= coming)
        if least <= coming:
            tests.append(value)
    return found
