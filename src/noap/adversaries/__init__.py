"""Uncertainty sets: who may move what, and by how much."""

from noap.adversaries.base import Adversary
from noap.adversaries.entry_wise import EntryWise
from noap.adversaries.feature_wise import FeatureWise
from noap.adversaries.none import NoAdversary
from noap.adversaries.registry import (
    ADVERSARIES,
    BY_KEY,
    BY_NAME,
    ENERGY_LESS_L1,
    require_served,
    serves,
)
from noap.adversaries.sample_wise import SampleWise
from noap.adversaries.spectral import SpectralNorm

__all__ = [
    "ADVERSARIES",
    "BY_KEY",
    "BY_NAME",
    "ENERGY_LESS_L1",
    "Adversary",
    "EntryWise",
    "FeatureWise",
    "NoAdversary",
    "SampleWise",
    "SpectralNorm",
    "require_served",
    "serves",
]
