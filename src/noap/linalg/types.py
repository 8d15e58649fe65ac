"""Names for the arrays that travel through noap, and the one kind that must not."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noap.errors import InvalidProblem

__all__ = ["BoolArray", "Data", "FloatArray", "IntArray", "holds_truth", "refuse_mask"]

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.intp]

Data: TypeAlias = Any
"""An n x d sample matrix: a float32 or float64 ndarray, or a SciPy CSR array of them."""


def refuse_mask(given: Any, what: str = "X") -> None:
    """Raise InvalidProblem for a masked array, or rows that are: NumPy would read what lies under the mask."""
    rows = given if isinstance(given, list | tuple) else ()
    if not any(isinstance(one, np.ma.MaskedArray) for one in (given, *rows)):
        return
    impute = "pass X.filled(np.nan) to RobustSparsePCA(missing='impute'), or" if what == "X" else "pass"
    raise InvalidProblem(
        f"{what} is a masked array; {impute} {what} with the masked entries filled in as an array without a mask."
    )


def holds_truth(given: Any) -> bool:
    """Whether truth values stand among the numbers; NumPy would count True as 1.

    >>> holds_truth([0.5, True]), holds_truth([0.5, 1.0])
    (True, False)
    """
    entries = given if isinstance(given, list | tuple) else ()
    return np.asarray(given).dtype.kind == "b" or any(isinstance(one, bool | np.bool_) for one in entries)
