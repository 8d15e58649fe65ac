r"""Claims about vectors orthogonal to given directions: all unit v with :math:`\|Vv\|_2 \le 10^{-8}`, V by rows.

For such v and any :math:`\sigma \ge 0`

.. math:: v^\top G v \le v^\top (G - V^\top \mathrm{diag}(\sigma)\, V) v + 10^{-16} \max \sigma ,

so what bounds the right side for every v bounds the left one: docs/kernel.md, section 7.
"""

import numpy as np

from noap.kernel.arithmetic import U, gamma, need
from noap.linalg.types import FloatArray, IntArray

__all__ = ["TOLERANCE", "Penalty", "is_orthogonal"]

TOLERANCE = 1e-8


class Penalty:
    r"""The matrix :math:`V^\top \mathrm{diag}(\sigma)\, V`, and what the tolerance lets a vector keep of it.

    Attributes
    ----------
    loss : float
        At least :math:`10^{-16} \max \sigma`.
    error : float
        By how much an entry of a matrix with entries of at most `top` is off once the penalty is taken from it.
    """

    def __init__(self, V: FloatArray, sigma: FloatArray, top: float) -> None:
        m = len(V)
        need(sigma.shape in ((0,), (m,)), "V: a multiplier for each direction")
        need((sigma >= 0).all() and (sigma < 1e100).all(), "V: multipliers out of range")
        self._sigma, self._V = sigma if len(sigma) else np.zeros(m), V
        self.loss = float(sigma.max(initial=0.0)) * (TOLERANCE * TOLERANCE) * (1 + 8 * U)
        self.error = 0.0
        if sigma.any():
            # m products of three factors, a sum of absolute ones of at most the largest diagonal entry; the difference.
            self.error = gamma(m + 8) * (float((sigma @ (V * V)).max()) + top)

    def block(self, features: IntArray) -> FloatArray:
        """Return the matrix on some features, symmetric."""
        own = self._V[:, features]
        N: FloatArray = (own * self._sigma[:, None]).T @ own
        return 0.5 * (N + N.T)

    def __bool__(self) -> bool:
        return bool(self._sigma.any())


def is_orthogonal(V: FloatArray, x: FloatArray) -> bool:
    r"""Return whether a vector is proved to have :math:`\|Vx\| \le 10^{-8} \|x\|`.

    Parameters
    ----------
    V : array of shape (m, b)
        Of the features of x.
    x : array of shape (b,)
    """
    m, b = V.shape
    most = float(np.linalg.norm(V @ x) + gamma(b + m + 8) * np.linalg.norm(np.abs(V) @ np.abs(x)))
    return most <= TOLERANCE * (1 - gamma(2 * b + m + 16)) * float(np.linalg.norm(x))
