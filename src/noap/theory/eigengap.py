r"""Compute the k-sparse eigengap of Assumption 1, :math:`\lambda = \lambda^k_1 - \lambda^k_2`.

The paper does not define the second largest k-sparse eigenvalue. Read as the largest variance among k-sparse vectors
*orthogonal to the first*, it makes the gap of a spiked covariance lambda, as Assumption 2 has it. (Read as the leading
eigenvalue of another support, it would not: supports that share k - 1 features with the best one come closer.)
"""

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.theory._checks import Floats, Indices, require_array, require_count
from noap.theory.model import Spike, SpikedWishart, as_spike

__all__ = ["sparse_eigengap", "sparse_eigenvalues"]

_SUPPORTS = 1_000_000  # all k-subsets are looked at: a few seconds
_CHUNK = 20_000


def sparse_eigenvalues(covariance: Spike | SpikedWishart | ArrayLike, k: int) -> tuple[float, float]:
    r"""Return the first and second largest k-sparse eigenvalue.

    .. math:: \lambda^k_1 = \max_{v \in V_k} v^\top\Sigma v = v_1^\top\Sigma v_1 , \qquad
        \lambda^k_2 = \max_{v \in V_k,\ v \perp v_1} v^\top\Sigma v .

    For a spike both are closed forms: 1 + lam times the squares of the k largest entries of the truth, and of the k
    next. For any other covariance all supports of size k are looked at.

    Parameters
    ----------
    covariance : Spike, SpikedWishart or array of shape (d, d)
        Positive semidefinite, with at most a million supports if it is a matrix; d > 1.
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> sparse_eigenvalues(Spike([0.8, 0.6, 0.0], lam=3.0), k=2)
    (4.0, 1.0)
    >>> sparse_eigenvalues(np.diag([5.0, 3.0, 4.0]), k=1)
    (5.0, 4.0)
    """
    if isinstance(covariance, (Spike, SpikedWishart)):
        spike = as_spike(covariance)
        k = _sparsity(k, spike.truth.size)
        squares = -np.sort(-(spike.truth**2))
        return 1.0 + spike.lam * float(squares[:k].sum()), 1.0 + spike.lam * float(squares[k : 2 * k].sum())
    S = require_array("covariance", covariance, ndim=2)
    k = _sparsity(k, len(S))
    if S.shape != (len(S), len(S)) or np.abs(S - S.T).max() > 1e-10 * np.abs(S).max():
        raise InvalidProblem("covariance must be a symmetric matrix.")
    if math.comb(len(S), k) > _SUPPORTS:
        raise InvalidProblem(
            f"covariance must have at most a million supports of size k, got {math.comb(len(S), k):.1e}; take fewer "
            "features, or a Spike."
        )
    if np.linalg.eigvalsh(S)[0] < -1e-10 * np.abs(S).max():
        raise InvalidProblem("covariance must be positive semidefinite.")
    return _by_enumeration(S, k)


def sparse_eigengap(covariance: Spike | SpikedWishart | ArrayLike, k: int) -> float:
    r"""Return :math:`\lambda^k_1 - \lambda^k_2`, see :func:`sparse_eigenvalues`; the paper's Assumption 1 asks for > 0.

    A positive gap does not make the optimum unique: two supports that overlap may tie, with optima that are not
    orthogonal to each other.

    Examples
    --------
    >>> sparse_eigengap(Spike([0.8, 0.6, 0.0], lam=3.0), k=2)
    3.0
    >>> round(sparse_eigengap([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]], k=2), 3)  # two optima
    0.5
    """
    first, second = sparse_eigenvalues(covariance, k)
    return first - second


def _sparsity(k: int, d: int) -> int:
    if d < 2:
        raise InvalidProblem("covariance must be of two features or more: one has no second eigenvalue.")
    return require_count("k", k, at_most=d)


def _by_enumeration(S: Floats, k: int) -> tuple[float, float]:
    supports: Indices = np.array(list(itertools.combinations(range(len(S)), k)), dtype=np.intp)
    first, best = -math.inf, supports[0]
    for part in _chunks(supports):
        tops = np.linalg.eigvalsh(_blocks(S, part))[:, -1]
        if tops.max() > first:
            first, best = float(tops.max()), part[int(np.argmax(tops))]
    v = np.zeros(len(S))
    v[best] = np.linalg.eigh(S[np.ix_(best, best)])[1][:, -1]
    second = 0.0
    for part in _chunks(supports):
        w = v[part]
        lengths = np.linalg.norm(w, axis=1, keepdims=True)
        w /= np.where(lengths > 0.0, lengths, 1.0)
        # PMP with P = I - ww': on what is orthogonal to the first, M; 0 along w, and M is semidefinite.
        project = np.eye(k) - w[:, :, None] * w[:, None, :]
        second = max(second, float(np.linalg.eigvalsh(project @ _blocks(S, part) @ project)[:, -1].max()))
    return first, second


def _chunks(supports: Indices) -> list[Indices]:
    return [supports[i : i + _CHUNK] for i in range(0, len(supports), _CHUNK)]


def _blocks(S: Floats, supports: Indices) -> Floats:
    blocks: Floats = S[supports[:, :, None], supports[:, None, :]]
    return blocks
