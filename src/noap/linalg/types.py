"""Names for the arrays that travel through noap."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "Data", "FloatArray", "IntArray"]

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.intp]

Data: TypeAlias = Any
"""An n x d sample matrix: a float32 or float64 ndarray, or a SciPy CSR array of them."""
