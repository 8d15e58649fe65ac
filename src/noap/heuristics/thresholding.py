r"""Diagonal and covariance thresholding: the classical baselines of sparse PCA that the paper names, blind to attacks.

Both choose a support S from the covariance alone and return the leading eigenvector of :math:`\hat\Sigma_{SS}`.
"""

import math

import numpy as np

from noap.heuristics.truncated_power import leading_eigenvector
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import soft, top_k_indices
from noap.problem import Problem

__all__ = ["covariance_thresholding", "diagonal_thresholding"]


def diagonal_thresholding(problem: Problem) -> FloatArray:
    r"""Return the best direction on the k features of largest variance :math:`\hat\Sigma_{jj}` (Johnstone and Lu).

    No d x d matrix is formed.

    Examples
    --------
    >>> import noap
    >>> S = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.5]]
    >>> problem = noap.Problem.from_covariance(S, n_samples=9, k=2, adversary=noap.NoAdversary())
    >>> diagonal_thresholding(problem)
    array([1., 0., 0.])
    """
    by_variance = np.argsort(-problem.column_norms, kind="stable")
    return _on_support(problem, np.sort(by_variance[: problem.k]))


def covariance_thresholding(problem: Problem, threshold: float) -> FloatArray:
    r"""Return the best direction on the support of the thresholded covariance (Deshpande and Montanari).

    Entries off the diagonal are shrunk by `threshold` times :math:`\sqrt{\hat\Sigma_{ii}\hat\Sigma_{jj}/n}`, the size
    of their sampling error where features are unrelated; the diagonal is left out. The support is the k largest
    entries of the leading eigenvector of what remains, or the largest variances where nothing remains.

    Examples
    --------
    >>> import noap
    >>> S = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.5]]
    >>> problem = noap.Problem.from_covariance(S, n_samples=9, k=2, adversary=noap.NoAdversary())
    >>> covariance_thresholding(problem, 1.5).round(3)
    array([0.   , 0.605, 0.796])
    """
    S = problem.gram
    deviations = np.sqrt(np.maximum(np.diag(S), 0.0))
    shrunk = soft(S, np.outer(deviations, deviations * (threshold / math.sqrt(problem.n_samples))))
    np.fill_diagonal(shrunk, 0.0)
    if not shrunk.any():
        return diagonal_thresholding(problem)
    return _on_support(problem, top_k_indices(leading_eigenvector(shrunk)[None, :], problem.k)[0])


def _on_support(problem: Problem, support: IntArray) -> FloatArray:
    v: FloatArray = np.zeros(problem.n_features)
    v[support] = np.linalg.eigh(problem.gram_block(support))[1][:, -1]
    return v
