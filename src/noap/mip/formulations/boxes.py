r"""Bound the entries of an optimum: caps on v, ranges of :math:`g = Q^\top v`, bounds on its l1 norm.

Everything follows from one optimum :math:`v` of the robust problem, unit and at least as good as the incumbent.
"""

import math
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, norms
from noap.mip.cuts import Cuts
from noap.mip.instance import Instance

__all__ = ["CUTOFF_SLACK", "Boxes", "boxes_of"]

CUTOFF_SLACK = 1e-6
"""The incumbent satisfies its own cutoff with this relative margin, so that tolerances cannot cut it off."""

# The incumbent's value and the eigenvectors carry rounding errors of this size at most; boxes are widened by it.
_ROUNDING = 1e-9
# Directions below this share of the leading eigenvalue carry no energy to speak of.
_NO_ENERGY = 1e-9


@dataclass(frozen=True, eq=False)
class Boxes:
    r"""Boxes that contain an optimum.

    Attributes
    ----------
    cap : array of shape (d,)
        :math:`|v_i| \le` cap.
    low, high : arrays of shape (d,)
        :math:`\text{low}_j \le \langle q_j, v\rangle \le \text{high}_j`.
    l1_low, l1_high : float
        Bounds on :math:`\|v\|_1`.
    clipped : float
        Sample-wise: the loss :math:`\frac1n\sum_i -\phi_\rho(x_i^\top v)` is at least this share of :math:`v^\top S v`.
    """

    cap: FloatArray
    low: FloatArray
    high: FloatArray
    l1_low: float
    l1_high: float
    clipped: float


def boxes_of(instance: Instance, cuts: Cuts) -> Boxes:
    """Return the boxes that the switched-on cuts allow."""
    root = math.sqrt(max(instance.value, 0.0)) * (1.0 - _ROUNDING)
    cap: FloatArray = _caps(instance, root) if cuts.caps and root > 0 else np.ones(instance.d)
    l1_low, l1_high = 0.0, math.sqrt(instance.d)
    if cuts.l1:
        l1_low, l1_high = _least_l1(cap, instance.k), math.sqrt(instance.k)
    reach: FloatArray = np.ones(instance.d)
    if cuts.ranges:
        reach = norms(keep_top_k(instance.eigenvectors.T, instance.k))
        if cuts.caps:
            # |<q, v>| <= sum over the support of |q_i| U_i, at most the sum of the k largest products.
            products = np.sort(np.abs(instance.eigenvectors) * cap[:, None], axis=0)[-instance.k :]
            reach = np.minimum(reach, products.sum(axis=0))
    least: FloatArray = np.zeros(instance.d)
    clipped = _clipped_share(instance, cap) if cuts.clipping and instance.kind == "sample" else 0.0
    if cuts.tight_ranges and root > 0:
        energy = _least_energy(instance, root, max(l1_low, 1.0), clipped)
        least, reach = _tightened(instance.eigenvalues, reach, energy)
    low, high = -reach, reach.copy()
    if cuts.symmetry:
        low[0] = least[0]
    if cuts.l1 and cuts.cutoff and instance.kind == "feature" and root > 0 and instance.least_rho > 0:
        # t + rho |v|_1 = |Xv| <= sqrt(sum of eigenvalues times masses), and t is at least the incumbent's.
        farthest = math.sqrt(_most_energy(instance.eigenvalues, reach**2))
        l1_high = max(min(l1_high, (farthest - root) / instance.least_rho), l1_low)
    widen = 1.0 + _ROUNDING
    low = np.where(low > 0, low / widen, low * widen)
    return Boxes(cap, low, high * widen, l1_low / widen, l1_high * widen, clipped)


def _caps(instance: Instance, root: float) -> FloatArray:
    r"""Return U with |v_j| <= U_j.

    At an optimum (u, v) of the bilinear form both half-steps are stationary. Feature-wise
    :math:`t v_j = \mathrm{soft}(a_j^\top u, \rho)`; sample-wise :math:`v_j = a_j^\top u/(t + \rho\|u\|_1)` with
    :math:`\|u\|_1 \ge \max(1, t/M)`, M the largest loss of one sample. With costs v is stationary on its support, and t
    is the root of its robust variance, which is at least its value.
    """
    if instance.kind == "sample":
        spread = instance.least_rho * max(1.0 / math.sqrt(instance.n), root / _largest_loss(instance))
        caps: FloatArray = instance.deviations / (root + spread)
    else:
        caps = np.maximum(instance.deviations - instance.rho, 0.0) / root
    widened: FloatArray = np.minimum(caps * (1.0 + _ROUNDING), 1.0)
    return widened


def _largest_loss(instance: Instance) -> float:
    assert instance.samples is not None
    tops = norms(keep_top_k(instance.samples, instance.k))
    return float((tops - instance.rho).max())


def _least_l1(cap: FloatArray, k: int) -> float:
    """Return the least l1 norm of a unit k-sparse v within the caps: the largest caps are filled first.

    The l1 norm is Schur-concave in the squares, and filling greedily majorises every other choice.
    """
    squares = np.sort(cap**2)[::-1][:k]
    before = np.concatenate([[0.0], np.cumsum(squares)[:-1]])
    used = np.clip(1.0 - before, 0.0, squares)
    return max(float(np.sqrt(used).sum()), 1.0)


def _clipped_share(instance: Instance, cap: FloatArray) -> float:
    r"""Return c with :math:`\frac1n\sum_i -\phi_\rho(x_i^\top v) \ge c\,v^\top S v` for every v within the caps.

    Huber's function over its argument squared falls as the argument grows, so on :math:`|x_i^\top v| \le T_i` it is at
    least :math:`\beta_i = 1 - (1 - \rho/T_i)_+^2`. The share is the least generalised eigenvalue of
    :math:`S_\beta = \frac1n\sum_i \beta_i x_i x_i^\top` and S.
    """
    X, k = instance.samples, instance.k
    assert X is not None
    by_caps = np.sort(np.abs(X) * cap, axis=1)[:, -k:].sum(axis=1)
    largest = np.maximum(np.minimum(norms(keep_top_k(X, k)), by_caps), instance.rho)
    # A sample of length 0 has no score to clip.
    beta = 1.0 - (1.0 - instance.rho / np.where(largest > 0, largest, 1.0)) ** 2
    seen = instance.eigenvalues > _NO_ENERGY
    whitened = X @ (instance.eigenvectors[:, seen] / np.sqrt(instance.eigenvalues[seen]))
    share = float(np.linalg.eigvalsh((whitened.T * beta) @ whitened / instance.n)[0])
    return min(max(share - 1e-7, float(beta.min()), 0.0), 1.0) * (1.0 - _ROUNDING)


def _least_energy(instance: Instance, root: float, l1_low: float, clipped: float) -> float:
    """Return a lower bound on v'Sv for every v at least as good as the incumbent."""
    if instance.kind == "none":
        return root**2
    if instance.kind == "feature":
        return (root + instance.least_rho * l1_low) ** 2
    # Scores are losses plus rho where a sample is active; with losses at most M the sum of losses is at least
    # n value/M and the number of active samples at least n value/M^2.
    by_largest = root * (1.0 + instance.least_rho / _largest_loss(instance))
    by_share = root / math.sqrt(1.0 - clipped) if clipped < 1.0 else 0.0
    return max(by_largest, by_share, root + instance.least_rho / math.sqrt(instance.n)) ** 2


def _most_energy(eigenvalues: FloatArray, masses: FloatArray, fixed: int = -1, mass: float = 0.0) -> float:
    """Return max sum_j lambda_j m_j over 0 <= m_j <= masses_j with sum 1, optionally with one m_j fixed."""
    room = masses.copy()
    left = 1.0
    total = 0.0
    if fixed >= 0:
        room[fixed] = 0.0
        left -= mass
        total = eigenvalues[fixed] * mass
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return float(total + eigenvalues @ np.clip(left - before, 0.0, room))


def _tightened(eigenvalues: FloatArray, reach: FloatArray, energy: float) -> tuple[FloatArray, FloatArray]:
    """Return least and largest |g_j| of unit v with v'Sv >= energy; the masses g_j^2 sum to 1."""
    least = np.zeros(len(reach))
    most = reach.copy()
    for _ in range(2):  # the second sweep uses what the first one learnt; a third brings nothing
        for j in range(len(reach)):
            masses = most**2
            low, high = 0.0, min(float(masses[j]), 1.0)
            # max energy given m_j is concave in m_j: its superlevel set is an interval around the peak.
            peak = min(max(1.0 - float(np.delete(masses, j)[:j].sum()), 0.0), high)
            if _most_energy(eigenvalues, masses, j, peak) < energy:
                continue  # rounding at the incumbent itself: leave the range as it is
            most[j] = math.sqrt(_bisect(eigenvalues, masses, j, peak, high, energy))
            least[j] = math.sqrt(_bisect(eigenvalues, masses, j, peak, low, energy))
    return least, most


def _bisect(eigenvalues: FloatArray, masses: FloatArray, j: int, inside: float, outside: float, energy: float) -> float:
    """Return a mass between `inside` and `outside`, on the outer side of where the energy is reached."""
    if _most_energy(eigenvalues, masses, j, outside) >= energy:
        return outside
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        if _most_energy(eigenvalues, masses, j, middle) >= energy:
            inside = middle
        else:
            outside = middle
    return outside
