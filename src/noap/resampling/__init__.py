"""What chance does to the answer: the bootstrap, and data without structure."""

from noap.resampling.bootstrap import stability
from noap.resampling.frequencies import Stability
from noap.resampling.permutation import PermutationNull, permutation_null

__all__ = ["PermutationNull", "Stability", "permutation_null", "stability"]
