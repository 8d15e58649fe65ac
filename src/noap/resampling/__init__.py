"""What chance does to the answer: the bootstrap; beside it, data without structure (`permutation.py`)."""

from noap.resampling.bootstrap import stability
from noap.resampling.frequencies import Stability

__all__ = ["Stability", "stability"]
