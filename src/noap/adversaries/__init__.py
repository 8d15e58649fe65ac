"""Uncertainty sets: who may move what, and by how much."""

from noap.adversaries.base import Adversary
from noap.adversaries.feature_wise import FeatureWise
from noap.adversaries.none import NoAdversary
from noap.adversaries.sample_wise import SampleWise

__all__ = ["Adversary", "FeatureWise", "NoAdversary", "SampleWise"]
