r"""The soft-thresholded Gram matrix of many features: sparse, and in blocks that do not touch.

B = soft(A, mu) has no entry where :math:`|A_{ij}| \le \mu`.
"""

import numpy as np
from scipy.sparse import csr_array

from noap.exact.relaxation.blocks import Blocks
from noap.linalg.types import FloatArray
from noap.linalg.vectors import soft

__all__ = ["Threshold"]

# What making the matrix costs, in units of its entries.
_MAKING = 6.0


class Threshold:
    r"""The matrix soft(A, mu) and its largest eigenvalue: at first a guess, and a proof where it is asked for.

    Attributes
    ----------
    size : int
        How many features there are.
    matrix : csr array of shape (size, size)
    far : float
        The largest distance of an entry from that of A, rounded up.
    guess : float
        The largest eigenvalue, or 0 if that is larger; not proved.
    spread : float
        How fast it falls as mu grows: :math:`\sum \mathrm{sign}(B_{ij}) x_i x_j`, x the eigenvector, or 1 if that is
        larger. It is the t at which the line :math:`c + \mu t` touches the curve below all such lines.
    cost : float
        What it took so far, in entries of matrices.

    Examples
    --------
    >>> threshold = Threshold(np.array([[4.0, 2.0, 0.5], [2.0, 4.0, 0.0], [0.5, 0.0, 4.0]]), 1.0)
    >>> round(threshold.guess, 9), round(threshold.spread, 9), round(threshold.far, 9)
    (4.0, 2.0, 1.0)
    >>> 4.0 <= threshold.proved() <= 4.0 + 1e-6
    True

    With weights an entry is cut by mu w_i w_j, and distances are counted in these.
    """

    def __init__(self, A: FloatArray, mu: float, weights: FloatArray | None = None) -> None:
        self.size = len(A)
        if weights is None:  # without the matrix of ones: there are many features here
            B: FloatArray = soft(A, mu)
            self.far = float(np.abs(B - A).max()) * (1 + 4e-16) + 1e-16 * float(np.abs(A).max())
        else:
            unit = np.outer(weights, weights)
            B = np.sign(A) * np.maximum(np.abs(A) - mu * unit, 0.0)
            # The products of weights and the quotients by them are off by an ulp each.
            self.far = float((np.abs(B - A) / unit).max()) * (1 + 1e-15) + 1e-15 * float((np.abs(A) / unit).max())
        self.matrix = csr_array(B)
        self._blocks = Blocks(self.matrix, np.ones(self.size) if weights is None else weights)
        self._making = _MAKING * B.size

    @property
    def guess(self) -> float:
        """The largest eigenvalue, not proved."""
        return self._blocks.guess

    @property
    def spread(self) -> float:
        """How fast it falls."""
        return self._blocks.spread

    @property
    def cost(self) -> float:
        """What it took so far."""
        return self._making + self._blocks.cost

    def proved(self) -> float | None:
        """Return at least the largest eigenvalue, and at least 0, proved; None where no factorisation succeeds."""
        return self._blocks.proved()
