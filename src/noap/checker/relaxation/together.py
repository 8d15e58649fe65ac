r"""What one matrix near A proves of several components together, rounding outwards (docs/components.md).

For orthonormal :math:`v_t` with disjoint supports :math:`S_t` of at most :math:`k_t` features, r of them at most, an
inequality of check.py holds for each of them with :math:`v_t^\top B v_t` in the place of c. Summed up,

.. math:: \sum_t v_t^\top A v_t - \sum_{\cup S_t} c_i \le F_r(B) + \mu \sum_t k_t +
   \sum_{i \in \cup S_t} (\tau_i \max_t k_t + a_i - c_i) ,

with :math:`F_r(B)` the sum of the r largest eigenvalues, those below 0 left out. A feature is in one support at most,
so that the last sum takes the largest terms, as many as all supports have features. A packing that uses feature j has
that term for certain.
"""

import math

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.relaxation.check import Proved, left_out, proved
from noap.checker.relaxation.eigenvalues import sum_of_largest
from noap.linalg.outward import UNIT, gamma, scaled_up, up
from noap.linalg.types import FloatArray
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.relaxation import RelaxationProof

__all__ = ["bounds_together"]

# Matrices of numbers of eight bytes that are there at once.
_MATRICES = 24.0


# Numbers out of range become infinite, which proves nothing; nobody is to be told on the way.
@np.errstate(all="ignore")
def bounds_together(
    data: GramData, ks: list[int], proof: RelaxationProof, allowance: Allowance
) -> tuple[float, FloatArray, str | None]:
    """Return what no packing is worth more than, and none that uses a feature, for each; or the reason why not.

    Each inequality of the proof says so; the lowest counts. Features that are certainly worth nothing are in no packing
    that needs them: the second bound is infinite for them.
    """
    most, using = math.inf, np.full(len(data.norms), math.inf)
    features = proof.features.astype(np.int64)
    if not isinstance(proof, CostedRelaxationProof):
        return most, using, "it has no inequality about all components"
    if data.terms.r_lo.any():
        return most, using, "no inequality speaks of all components where there is a budget"
    if left_out(data, features):
        return most, using, "it leaves out features that are long enough to matter"
    m = len(features)
    if m == 0:
        return 0.0, using, None
    allowance.need(_MATRICES * m * m)
    A, w, at, pulled = data.A[np.ix_(features, features)], np.ones(m), 0, 0

    def largest(B: FloatArray, given: Allowance) -> float | None:
        return sum_of_largest(B, len(ks), given)

    for number in range(len(proof.kinds)):
        allowance.check()
        one = proved(data, A, w, proof, number, at, allowance, pulled, largest)
        chosen = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
        size = chosen.stop - chosen.start
        at, pulled = at + size * (size + 1) // 2, pulled + int(proof.pull_counts[chosen].sum(dtype=np.int64))
        # It has to speak of all features, and to have been proved.
        if one is None or not np.isfinite(one.prices).all():
            continue
        bound, bounds = _said(one, ks, data.terms.cost[features])
        if math.isfinite(bound):
            most = min(most, scaled_up(bound, 2 * data.exponent))
            scaled = [scaled_up(max(x, 0.0), 2 * data.exponent) for x in bounds.tolist()]
            using[features] = np.minimum(using[features], scaled)
    return most, using, None


def _said(one: Proved, ks: list[int], costs: FloatArray) -> tuple[float, FloatArray]:
    """Return what an inequality says of all packings, and of those that use a feature."""
    m, total = len(costs), sum(ks)
    # What a feature adds, each rounded up: two products and a sum, less a cost.
    taken: FloatArray = one.prices * max(ks) + (0.0 if one.dues is None else one.dues)
    adds = taken - costs + (taken + costs) * 8.0 * UNIT
    falling = np.sort(np.maximum(adds, 0.0))[::-1]
    most = up(one.c + up(max(one.mu, 0.0) * total) + up(float(falling[:total].sum()), m + 4))
    # With feature j there is room for one less of the others, which add no more than the largest of all.
    last = float(falling[total - 1]) if total <= m else 0.0
    using: FloatArray = most + np.minimum(adds - last, 0.0)
    return most, using + gamma(16) * (most + np.abs(adds) + last)
