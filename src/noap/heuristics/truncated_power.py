"""The paper's projected power method for vanilla sparse PCA, and the submatrix it selects (Algorithm 1)."""

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import vector_of
from noap.data.arguments import as_sparsity
from noap.data.validation import as_covariance
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import keep_top_k, top_k_indices, unit

__all__ = ["leading_eigenvector", "screen_submatrix", "truncated_leading_eigenvector", "truncated_power"]


def truncated_power(S: FloatArray, k: int, start: FloatArray, iterations: int) -> FloatArray:
    r"""Return the best iterate of the projected power method, lines 1 to 11 of Algorithm 1.

    .. math:: I \leftarrow \text{top } k \text{ entries of } |S v|, \qquad
              v \leftarrow \text{leading eigenvector of } S_{II}

    The loop also ends when I repeats: the iteration is then at its fixed point.

    Parameters
    ----------
    S : array of shape (d, d)
    k : int
    start : array of shape (d,)
        k-sparse; normalised here.
    iterations : int
        The paper's T.
    """
    v = best = unit(start)
    value = float(v @ S @ v)
    support: IntArray | None = None
    for _ in range(iterations):
        chosen = top_k_indices((S @ v)[None, :], k)[0]
        if support is not None and np.array_equal(chosen, support):
            break
        support = chosen
        eigenvalues, eigenvectors = np.linalg.eigh(S[np.ix_(chosen, chosen)])
        v = np.zeros(len(S))
        v[chosen] = eigenvectors[:, -1]
        if eigenvalues[-1] > value:
            value, best = float(eigenvalues[-1]), v
    return best


def truncated_leading_eigenvector(S: FloatArray, k: int) -> FloatArray:
    """Return the leading eigenvector of S cut to its top k entries: our choice of the paper's open start."""
    return unit(keep_top_k(leading_eigenvector(S)[None, :], k)[0])


def leading_eigenvector(S: FloatArray) -> FloatArray:
    """Return the eigenvector of the largest eigenvalue of a symmetric matrix; of a large one by Lanczos's iteration."""
    if len(S) <= 256:
        return np.asarray(np.linalg.eigh(S)[1][:, -1])
    from scipy.sparse.linalg import eigsh

    # A fixed starting vector makes the Lanczos iteration repeatable.
    return np.asarray(eigsh(S, k=1, which="LA", v0=np.sqrt(np.maximum(np.diag(S), 0.0)) + 1e-3)[1][:, 0])


def screen_submatrix(
    S: ArrayLike, k: int, reduced_dim: int, *, start: ArrayLike | None = None, iterations: int = 100
) -> IntArray:
    r"""Choose the features on which the paper runs its mixed-integer programs (Algorithm 1).

    The support of the best iterate of the projected power method, and the features of largest diagonal to
    fill up to `reduced_dim`. This is a heuristic: a bound on the chosen submatrix says nothing about the rest.

    Parameters
    ----------
    S : array of shape (d, d)
        The sample covariance, :math:`X^\top X/n`.
    k : int
    reduced_dim : int
        How many features to keep, the paper's d-bar: k <= reduced_dim <= d.
    start : array of shape (d,), optional
        The paper's v(0). It leaves the choice open; ours is the truncated leading eigenvector.
    iterations : int
        The paper's T.

    Returns
    -------
    array of int, shape (reduced_dim,)
        Sorted positions; the paper's submatrix is ``S[np.ix_(chosen, chosen)]``.

    Examples
    --------
    >>> import numpy as np
    >>> screen_submatrix(np.diag([1.0, 5.0, 3.0, 4.0]), k=1, reduced_dim=2)
    array([1, 3])
    """
    matrix = as_covariance(S).matrix
    d = len(matrix)
    k = as_sparsity(k, d)
    if not k <= reduced_dim <= d:
        raise InvalidProblem(
            f"reduced_dim must lie between k = {k} and the number of features, {d}, got {reduced_dim}."
        )
    first = truncated_leading_eigenvector(matrix, k) if start is None else vector_of(start, d)
    target = truncated_power(matrix, k, first, iterations)
    # Every slot of the target counts as chosen, even if the eigenvector happens to vanish on it.
    chosen = np.zeros(d, dtype=bool)
    chosen[np.flatnonzero(target)] = True
    by_diagonal = np.argsort(-np.diag(matrix), kind="stable")
    spare = by_diagonal[~chosen[by_diagonal]][: reduced_dim - int(chosen.sum())]
    chosen[spare] = True
    return np.flatnonzero(chosen)
