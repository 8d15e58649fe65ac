r"""The best direction on each of many supports at once, in the metric of a pencil.

Without an adversary it is the leading generalised eigenvector. Against one, :math:`h(v) = \sqrt{v^\top A v} - \sum_j
\rho_j |v_j|` is climbed on :math:`v^\top B v = 1`: with :math:`g = Av/\sqrt{v^\top A v}` Cauchy and Schwarz give
:math:`\sqrt{w^\top A w} \ge g^\top w` for every w, with equality at v. So the w that maximises
:math:`(g^\top w - \sum_j \rho_j |w_j|)/\sqrt{w^\top B w}` is worth at least as much as v; it is the direction of the
minimiser of :math:`\tfrac12 w^\top B w - g^\top w + \sum_j \rho_j |w_j|`, which coordinate descent finds. A step that
rounding or an unfinished descent makes worse is not taken: the value never goes down.
"""

import numpy as np

from noap.data.pencil import Pencil
from noap.linalg.types import FloatArray, IntArray

__all__ = ["best_on"]

# Steps of the climb, and sweeps of coordinate descent in each.
_STEPS, _SWEEPS = 12, 12
# Supports that are handled at once: some megabytes of blocks.
_AT_ONCE = 4096


def best_on(
    pencil: Pencil, supports: IntArray, starts: FloatArray | None = None, steps: int = _STEPS
) -> tuple[FloatArray, FloatArray]:
    """Return directions on the supports, one per row, of length 1 in the metric, and what they are worth.

    Parameters
    ----------
    pencil : Pencil
    supports : array of int, shape (m, q)
    starts : array of shape (m, q), optional
        Directions to climb from, beside the leading generalised eigenvectors; used only against an adversary.
    steps : int
        How far to climb.
    """
    parts = [slice(first, first + _AT_ONCE) for first in range(0, len(supports), _AT_ONCE)]
    found = [_some(pencil, supports[part], None if starts is None else starts[part], steps) for part in parts]
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def _some(pencil: Pencil, supports: IntArray, starts: FloatArray | None, steps: int) -> tuple[FloatArray, FloatArray]:
    A, B = (M[supports[:, :, None], supports[:, None, :]] for M in (pencil.A, pencil.B))
    L = np.linalg.cholesky(B)
    C = np.linalg.solve(L, np.linalg.solve(L, A).transpose(0, 2, 1))
    values, vectors = np.linalg.eigh((C + C.transpose(0, 2, 1)) / 2)
    back = L.transpose(0, 2, 1)
    leading: FloatArray = np.linalg.solve(back, vectors[:, :, -1:])[:, :, 0]
    if pencil.is_idle:
        return leading, values[:, -1]
    rho = pencil.rho[supports]
    if starts is None and supports.shape[1] > 1:
        starts = np.linalg.solve(back, vectors[:, :, -2:-1])[:, :, 0]
    v, worth = _climbed(A, B, rho, leading, steps)
    if starts is not None:
        w, other = _climbed(A, B, rho, starts, steps)
        better = other > worth
        v[better], worth[better] = w[better], other[better]
    return v, worth


def _climbed(A: FloatArray, B: FloatArray, rho: FloatArray, v: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    v, worth = _measured(A, B, rho, v)
    for _ in range(steps):
        pulled = np.einsum("mij,mj->mi", A, v)
        energy = np.sqrt(np.maximum(np.einsum("mi,mi->m", pulled, v), 1e-300))
        w = _shrunk(B, pulled / energy[:, None], rho, v)
        w, other = _measured(A, B, rho, w)
        better = other > worth * (1.0 + 1e-13)
        if not better.any():
            break
        v[better], worth[better] = w[better], other[better]
    return v, np.sign(worth) * worth**2


def _measured(A: FloatArray, B: FloatArray, rho: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the directions with v'Bv = 1, and the distances sqrt(v'Av) - sum rho |v|, also where they are negative."""
    square = np.einsum("mi,mij,mj->m", v, B, v)
    alive = square > 0
    v = np.where(alive[:, None], v / np.sqrt(np.where(alive, square, 1.0))[:, None], 0.0)
    energy = np.sqrt(np.maximum(np.einsum("mi,mij,mj->m", v, A, v), 0.0))
    spent = np.where(v != 0, rho, 0.0)
    return v, np.where(alive, energy - (spent * np.abs(v)).sum(axis=1), -np.inf)


def _shrunk(B: FloatArray, g: FloatArray, rho: FloatArray, v: FloatArray) -> FloatArray:
    """Return about the minimisers of w'Bw/2 - g'w + sum rho |w|, by coordinate descent from multiples of v."""
    w: FloatArray = (
        v * np.maximum(np.einsum("mi,mi->m", g, v) - (np.where(v != 0, rho, 0.0) * np.abs(v)).sum(axis=1), 0.0)[:, None]
    )
    rest = g - np.einsum("mij,mj->mi", B, w)
    for _ in range(_SWEEPS):
        for j in range(w.shape[1]):
            own = B[:, j, j]
            aim = rest[:, j] + own * w[:, j]
            new = np.sign(aim) * np.maximum(np.abs(aim) - rho[:, j], 0.0) / own
            rest -= B[:, :, j] * (new - w[:, j])[:, None]
            w[:, j] = new
    return w
