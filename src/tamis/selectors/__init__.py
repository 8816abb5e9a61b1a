"""Selectors. Adding one is a file in `features/`, and a line below."""

from tamis.selectors.base import FeatureStreamSelector, Selector
from tamis.selectors.features.saola import SAOLA

#: Every feature-stream selector by its word on the command line.
BY_METHOD: dict[str, type[FeatureStreamSelector]] = {s.method: s for s in (SAOLA,)}

__all__ = ["BY_METHOD", "SAOLA", "FeatureStreamSelector", "Selector"]
