r"""The matrix rule: a line that shows a Schur complement C to be positive semidefinite on every p of its features.

With N the matrix C scaled to a unit diagonal, a symmetric R with |R_ij| <= mu and N + R - (mu + ...) definite does it,
since :math:`\|v\|_1^2 \le p`. The dual is the least :math:`\langle N, W\rangle` over positive semidefinite W of trace 1
with :math:`\sum |W_{ij}| \le p`: if it is at most 0 nothing closes the node by this rule.

This is `Multipliers` without indices and budgets, yet worth an ADMM of its own: only the sign of the answer counts.
So the constraint is met exactly at every step (a projection on the l1 ball finds mu) and W says when to give up, which
takes 6 steps where the other one, whose slope follows W, takes 30 to 60.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf

from noap.kernel.witness import IN_PLAIN_NORM, Line
from noap.linalg.types import FloatArray, IntArray
from noap.search.lines import line_of
from noap.search.multipliers import Proposal
from noap.search.spectrum import on_spectahedron
from noap.settings import RelaxationSettings

__all__ = ["definite_line"]

# The kernel rounds otherwise by less than this; N has entries of size 1.
_MARGIN = 1e-11


def definite_line(
    C: FloatArray, p: int, features: IntArray, settings: RelaxationSettings | None = None
) -> tuple[Line | None, FloatArray]:
    """Return a line above -N that closes a node, None if none was found, and how much of W each feature carries.

    Parameters
    ----------
    C : array of shape (m, m)
        With a positive diagonal.
    p : int
    features : array of shape (m,)
        Their numbers, ascending.

    Examples
    --------
    >>> C = np.eye(4) - 0.45 * (1 - np.eye(4))
    >>> definite_line(C, 3, np.arange(4))[0].plain > 0, definite_line(C, 4, np.arange(4))[0]
    (True, None)
    """
    settings = settings or RelaxationSettings()
    m, p, s = len(C), min(p, len(C)), 1.0 / np.sqrt(C.diagonal())
    N: FloatArray = C * s[:, None] * s
    R: FloatArray = np.zeros_like(N)
    Z: FloatArray = np.eye(m) / m
    mu, rank, none, W = 0.0, 0, np.zeros(m), Z
    for _ in range(settings.matrix_steps):
        W, rank, shift = on_spectahedron(Z - N - R, rank, settings)
        # W with its entries off the diagonal made smaller until they fit is feasible.
        length, product = float(np.abs(W).sum()), float((W * N).sum())
        keep = 1.0 if length <= p else (p - 1.0) / (length - 1.0)
        if keep * product + 1.0 - keep <= 0.0:
            break
        reached = settings.further * W + (1.0 - settings.further) * Z + R
        mu = _height(np.abs(reached).ravel(), float(p), mu)
        R = np.clip(reached, -mu, mu)
        Z = reached - R
        if shift + p * mu < settings.matrix_near:
            P = N + R
            np.fill_diagonal(P, 1.0 - (p - 1) * mu - _MARGIN)
            if dpotrf(P, lower=1)[1] == 0:
                made = Proposal(-N - R, mu, 0.0, none, none, None, None)
                line = line_of(-N, features, np.ones(m), IN_PLAIN_NORM, made, settings=settings)
                if line.c + p * line.plain <= -_MARGIN:
                    return line, W.diagonal()
    return None, W.diagonal()


def _height(sizes: FloatArray, total: float, start: float) -> float:
    """Return the number at which sizes are cut so that what is left of them sums to the total, 0 if that is less."""
    height = start
    for _ in range(30):
        over = sizes[sizes > height]
        if not len(over):
            height *= 0.5
            continue
        moved = max(height + (float(over.sum()) - len(over) * height - total) / len(over), 0.0)
        near, height = abs(moved - height) <= 1e-12, moved
        if near:
            break
    return height
