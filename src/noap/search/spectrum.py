"""The few leading eigenvectors that a step of the relaxation needs, and the nearest matrix of trace 1 made of them."""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, eye_array

from noap.linalg.types import FloatArray
from noap.settings import RelaxationSettings

__all__ = ["largest_eigenvalue", "leading", "on_spectahedron"]

_DEFAULTS = RelaxationSettings()


def largest_eigenvalue(
    B: FloatArray, settings: RelaxationSettings = _DEFAULTS, metric: FloatArray | None = None
) -> float:
    """Return the largest eigenvalue as LAPACK computes it, in a metric if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> round(largest_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]])), 12)
    3.0
    """
    m = len(B)
    if metric is not None:
        return float(eigh(B, metric, eigvals_only=True, subset_by_index=[m - 1, m - 1], check_finite=False)[0])
    if m > settings.dense_features:
        accuracy, size = 1e-8, float(np.abs(B).sum(axis=1).max(initial=1e-300))
        # Shifted away from 0, near which Lanczos steps seem to have converged too soon.
        shifted = csr_array(B) + size * eye_array(m, format="csr")
        return float(leading(shifted, 1, accuracy)[0][-1]) - size * (1.0 - 2.0 * accuracy)
    if m < settings.small:
        return float(np.linalg.eigvalsh(B)[-1])
    return float(eigh(B, eigvals_only=True, subset_by_index=[m - 1, m - 1], driver="evr", check_finite=False)[0])


def leading(B: csr_array, count: int, accuracy: float = 1e-4) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a sparse matrix, rising, and their vectors, by Lanczos steps."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # `import noap` stays quick

    m = B.shape[0]
    try:
        values, vectors = eigsh(B, k=count, which="LA", v0=np.random.default_rng(0).random(m), tol=accuracy)
    except ArpackNoConvergence:
        values, vectors = eigh(B.toarray(), subset_by_index=[m - count, m - 1], check_finite=False)
    order = np.argsort(values)
    return values[order].astype(np.float64), vectors[:, order].astype(np.float64)


def on_spectahedron(
    M: FloatArray, expected: int = 0, settings: RelaxationSettings = _DEFAULTS
) -> tuple[FloatArray, int, float]:
    """Return the nearest positive semidefinite matrix of trace 1, to single precision, its rank, and the shift.

    The eigenvalues go to the simplex: shifted down by one number, and cut off at 0.

    Parameters
    ----------
    M : array of shape (m, m), symmetric
    expected : int
        A likely rank, 0 if unknown: it only decides how many eigenvectors are computed first.

    Examples
    --------
    >>> import numpy as np
    >>> W, rank, shift = on_spectahedron(np.diag([0.9, 0.5, -3.0]))
    >>> W.diagonal().round(6).tolist(), rank, round(shift, 6)
    ([0.7, 0.3, 0.0], 2, 0.2)
    """
    m, first = len(M), expected + settings.spare_eigenvectors
    if expected > 0 and first * settings.few_eigenvectors <= m:
        found = _projected(M, first)
        if found[1] < first:  # a further eigenvector would have no weight
            return found
    return _projected(M, m)


def _projected(M: FloatArray, count: int) -> tuple[FloatArray, int, float]:
    """Return the projection with so many of the leading eigenvectors."""
    m = len(M)
    if count < m:
        values, vectors = eigh(
            M.astype(np.float32), subset_by_index=[m - count, m - 1], driver="evr", overwrite_a=True, check_finite=False
        )
        if len(values) < count:  # LAPACK may lose some of a cluster
            return _projected(M, m)
    else:
        values, vectors = eigh(M.astype(np.float32), driver="evd", overwrite_a=True, check_finite=False)
    falling = values[::-1].astype(np.float64)
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(falling) + 1)
    # The first is always used, and alone it has all the weight: a number far above 1 is no more than itself less 1.
    inside = np.flatnonzero(falling > excess)
    used = 1 + int(inside[-1]) if len(inside) else 1
    weights = (falling[:used] - excess[used - 1] if used > 1 else np.ones(1)).astype(np.float32)
    leading = vectors[:, : -used - 1 : -1]
    nearest: FloatArray = ((leading * weights) @ leading.T).astype(np.float64)
    return nearest, used, float(excess[used - 1])
