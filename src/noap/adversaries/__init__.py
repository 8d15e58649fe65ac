"""Uncertainty sets: who may move what, and by how much."""

from noap.adversaries.base import Adversary
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

__all__ = [
    "ADVERSARIES",
    "BY_KEY",
    "BY_NAME",
    "ENERGY_LESS_L1",
    "Adversary",
    "FeatureWise",
    "NoAdversary",
    "SampleWise",
    "require_served",
    "serves",
]
