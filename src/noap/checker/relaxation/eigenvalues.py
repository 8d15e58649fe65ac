"""Largest eigenvalues that a factorisation confirms, for the checker."""

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from noap.checker.allowance import Allowance
from noap.linalg.outward import UNIT, gamma, is_definite, up
from noap.linalg.types import FloatArray

__all__ = ["largest_eigenvalue", "sum_of_largest"]

# How often a largest eigenvalue that a factorisation does not confirm is raised, and by what at first.
_TRIES, _RAISE = 20, 1e-12
# From so many features on the hint comes from Lanczos steps.
_LANCZOS = 600


def largest_eigenvalue(B: FloatArray, allowance: Allowance) -> float | None:
    """Return at least the largest eigenvalue of B and at least 0, proved; None if it is not.

    B is a sum of blocks that do not touch, often of one feature only: each has its own eigenvalues.
    """
    entries = csr_array(B)
    allowance.spent(2.0 * B.size)
    _, part = connected_components(entries, directed=False)
    rows, columns = entries.nonzero()
    if (part[rows] != part[columns]).any():
        part = np.zeros(len(B), dtype=np.int64)  # what touches is one block, whoever says otherwise
    order = np.argsort(part, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    c = max([0.0, *(float(B[one[0], one[0]]) for one in blocks if len(one) == 1)])
    for features in sorted((one for one in blocks if len(one) > 1), key=len, reverse=True):
        allowance.check()
        found = _largest_of_block(B[np.ix_(features, features)], c, allowance)
        if found is None:
            return None
        c = found
    return c


def _largest_of_block(B: FloatArray, least: float, allowance: Allowance) -> float | None:
    """Return at least the largest eigenvalue of B and at least `least`, proved by a factorisation; None if it fails."""
    m, size = len(B), float(np.abs(B).max())
    # Row sums are a bound as well, and enough for most small blocks.
    if up(float(np.abs(B).sum(axis=1).max()), m) <= least:
        return least
    c, more = max(_hint(B, allowance), least), _RAISE
    for _ in range(_TRIES):
        c, more = c * (1.0 + more) + 4.0 * m * UNIT * size * m, 4.0 * more
        allowance.spent(0.05 * m**3)
        if not math.isfinite(c):
            return None
        if is_definite(-B, c):
            return c
    return None


def _hint(B: FloatArray, allowance: Allowance) -> float:
    """Return about the largest eigenvalue, which a factorisation has to confirm."""
    if len(B) >= _LANCZOS:
        allowance.spent(200.0 * B.size)
        try:
            found = eigsh(B, k=1, which="LA", v0=np.linspace(1.0, 2.0, len(B)), tol=1e-10, return_eigenvectors=False)
            return max(float(found[0]), 0.0) * (1.0 + 1e-9)
        except ArpackNoConvergence:
            pass
    allowance.spent(0.3 * len(B) ** 3)
    return max(float(np.linalg.eigvalsh(B)[-1]), 0.0)


def sum_of_largest(B: FloatArray, r: int, allowance: Allowance) -> float | None:
    r"""Return at least the sum of the r largest eigenvalues of B, those below 0 left out; None if it is not proved.

    For every c >= 0 and every L with :math:`B \preceq cI + LL^\top` and at most r orthonormal vectors,
    :math:`\sum_t v_t^\top B v_t \le rc + |L|_F^2`. What L is made of is a hint.
    """
    m = len(B)
    allowance.spent(5.0 * m**3)
    values, vectors = np.linalg.eigh(B)
    c = max(float(values[-r - 1]), 0.0) if m > r else 0.0
    over = np.maximum(values[-r:] - c, 0.0)
    L = vectors[:, -r:] * np.sqrt(over)
    energy = up(float((L * L).sum()), L.size + 4)
    if not math.isfinite(energy):
        return None
    product = L @ L.T
    rest: FloatArray = B - 0.5 * (product + product.T)
    # The products are off by gamma(r) |L||L|', which has at most this Frobenius norm, and sum and difference by ulps.
    away = up(gamma(r + 4) * energy + 4.0 * UNIT * m * (float(np.abs(B).max()) + energy))
    found = _largest_of_block(rest, c, allowance)
    return None if found is None else up(r * up(found + away) + energy)
