"""Measures: a block of columns in, numbers out. Adding one is a file here and a line below."""

from tamis.measures.base import Measure, Panel, Strength
from tamis.measures.fisher_z import FisherZ
from tamis.measures.g_squared import GSquared
from tamis.measures.information import MutualInformation, SymmetricUncertainty

__all__ = [
    "FisherZ",
    "GSquared",
    "Measure",
    "MutualInformation",
    "Panel",
    "Strength",
    "SymmetricUncertainty",
]
