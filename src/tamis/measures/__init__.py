"""Measures: a block of columns in, numbers out (see docs/add-a-measure.md)."""

from tamis.measures.any_shape import AnyShape
from tamis.measures.fisher_z import FisherZ
from tamis.measures.g_squared import GSquared
from tamis.measures.measure import Measure, Panel, Strength
from tamis.measures.mutual_information import MutualInformation, SymmetricUncertainty
from tamis.measures.pair_measure import PairMeasure

__all__ = [
    "AnyShape",
    "FisherZ",
    "GSquared",
    "Measure",
    "MutualInformation",
    "PairMeasure",
    "Panel",
    "Strength",
    "SymmetricUncertainty",
]
