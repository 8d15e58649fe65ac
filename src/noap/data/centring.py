"""Whether samples are centred: what is called a variance here is a mean square, and on raw data mostly a mean."""

import sys
import warnings

import numpy as np

from noap.errors import UncentredWarning
from noap.linalg.types import Data

__all__ = ["outside", "share_of_means", "warn_if_uncentred"]

# Fewer samples say nothing: the mean of n centred draws has a share of 1/n of their squares.
_FEWEST = 20
# Every row up to so many, then so many at even distances: this is for a warning, and a Problem is made in microseconds.
_MOST = 64
# Beyond these a sum of squares, or of squared sums, may have left the range of float64.
_SMALL, _LARGE = 1e-200, 1e200
# Half of what the answer calls variance would be the means'.
_SHARE = 0.5


def share_of_means(X: Data) -> float:
    """Return which share of the squares of X the column means account for: 0 if they are 0, 1 for constant columns.

    Examples
    --------
    >>> share_of_means(np.array([[1.0, 2.0], [-1.0, -2.0]])), share_of_means(np.array([[3.0, 2.0], [3.0, 2.0]]))
    (0.0, 1.0)
    """
    rows = X[:: -(-X.shape[0] // _MOST)]
    dense = np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    flat = dense.ravel()
    squares = float(flat @ flat)
    if not _SMALL < squares < _LARGE:
        largest = float(np.abs(flat).max())
        return share_of_means(dense / largest) if largest > 0 else 0.0
    sums = dense.sum(axis=0)
    return float(sums @ sums) / (len(dense) * squares)


def warn_if_uncentred(X: Data) -> None:
    """Warn where more than half of the squares of X are its column means."""
    if X.shape[0] < _FEWEST or (share := share_of_means(X)) <= _SHARE:
        return
    warnings.warn(
        f"X is not centred: its column means make up {100 * share:.0f} % of its squares, so values are mean squares "
        "and not variances; pass noap.standardize(X), or X - X.mean(axis=0), unless you mean it.",
        UncentredWarning,
        stacklevel=outside(),
    )


def outside() -> int:
    """Return the stack level of the first caller that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "noap":
        level, frame = level + 1, frame.f_back
    return level
