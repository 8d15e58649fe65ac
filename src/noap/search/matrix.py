r"""The matrix rule: a box around the scaled Schur complement that shows it to be definite on all sparse supports.

ADMM on :math:`\min_W \langle N, W\rangle` over the spectahedron with :math:`\sum |W_{ij}| \le p`: its multiplier R makes
:math:`N + R - \ldots \succeq 0`, or its W shows that nothing does and which feature to branch on.
"""

import numpy as np
from scipy.linalg import eigh

from noap.kernel.arithmetic import Refused
from noap.kernel.definite import matrix, scaled_to_unit
from noap.kernel.witness import BOX, IN_PLAIN_NORM, Line
from noap.linalg.types import FloatArray, IntArray
from noap.settings import Settings

__all__ = ["matrix_witness"]

_STEPS = 32767  # of a 16-bit entry
# Above this size some leading eigenpairs are quicker than all.
_SMALL = 120


def matrix_witness(C: FloatArray, features: IntArray, p: int, settings: Settings) -> tuple[Line | None, int]:
    """Return a line that the kernel accepts, or None; and the position of the feature to branch on.

    Parameters
    ----------
    C : array of shape (m, m)
        With a positive diagonal.
    features : array of shape (m,)
        Their numbers, ascending.
    p : int
        At most so many features are used.
    """
    N, m = scaled_to_unit(C), len(C)
    R, Z, t = np.zeros((m, m)), np.eye(m) / m, 0.0
    weights = np.full(m, 1.0 / m)
    for _ in range(settings.matrix_steps):
        W, cut = _on_spectahedron(Z - N - R, min(m, settings.matrix_eigenvectors))
        weights = W.diagonal().copy()
        length, inner = float(np.abs(W).sum()), float((W * N).sum())
        kept = 1.0 if length <= p else (p - 1.0) / (length - 1.0)
        if not kept * inner + 1.0 - kept > 0.0:  # a relaxed vector within the norm on which C is not positive
            break
        Y = W + R
        t = _threshold(Y, p, t)
        R = np.clip(Y, -t, t)
        Z = Y - R
        if cut + p * t < settings.matrix_near:
            line = _line(R, t, features, min(p, m))
            try:
                matrix(C, features, p, line)
            except Refused:
                continue
            return line, int(np.argmax(weights))
    return None, int(np.argmax(weights))


def _on_spectahedron(Y: FloatArray, count: int) -> tuple[FloatArray, float]:
    """Return the nearest positive semidefinite matrix of trace 1, and by what the eigenvalues were lowered."""
    m = len(Y)
    if m > _SMALL and count < m:
        values, vectors = eigh(Y, subset_by_index=(m - count, m - 1), driver="evr", check_finite=False)
    else:
        values, vectors = np.linalg.eigh(Y)
    falling = values[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(falling) + 1)
    rank = max(int(np.sum(falling > excess)), 1)
    cut = float(excess[rank - 1])
    V = vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(falling[:rank] - cut, 0.0))
    W: FloatArray = V @ V.T
    return W, cut


def _threshold(Y: FloatArray, p: int, t: float) -> float:
    """Return the soft threshold that leaves an l1 norm of p, by Newton's method from the last one."""
    sizes = np.abs(Y).ravel()
    for _ in range(30):
        over = sizes[sizes > t] - t
        if len(over) == 0:
            t *= 0.5
            continue
        move = (float(over.sum()) - p) / len(over)
        t = max(t + move, 0.0)
        if abs(move) <= 1e-12 or (t == 0.0 and move <= 0.0):
            break
    return t


def _line(R: FloatArray, t: float, features: IntArray, p: int) -> Line:
    """Return B = -(N + R) as a witness, with c just below -p t."""
    m = len(R)
    upper = np.triu_indices(m, 1)
    entries = np.rint(-R[upper] / t * _STEPS) if t > 0 else np.zeros(len(upper[0]))
    none = np.zeros(m, np.float32)
    room = 1e-13 * m * (1.0 + p * t)
    return Line(features, -p * t - p * room, t, 0.0, IN_PLAIN_NORM, BOX, none, none, entries.astype(np.int16))
