"""Selectors. Adding one is a file in `features/`, and a line below."""

from tamis.selectors.base import FeatureStreamSelector, Selector
from tamis.selectors.features.saola import SAOLA

__all__ = ["SAOLA", "FeatureStreamSelector", "Selector"]
