r"""Re-prove a bound by the relaxation: largest eigenvalues by factorisations, and the envelope of the lines.

Let v be a unit vector with at most k entries and t = |v|_1^2, so 1 <= t <= k. For any symmetric B with
:math:`|B_{ij} - a_i^\top a_j| \le \mu` and :math:`B \preceq cI`, c >= 0,

.. math:: |Xv|^2/n = v^\top B v + v^\top (A - B) v \le c + \mu t ,

so the distance is at most :math:`h(t) = \sqrt{c + \mu t} - \rho\sqrt t`. Its derivative has the sign of
:math:`t\mu(\mu - \rho^2) - \rho^2 c`, which changes at most once and then from - to +: on an interval h is largest at
an end. So [1, k] may be cut anywhere, and each piece may take any line.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.linalg.outward import UNIT, down, is_definite, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.relaxation import GIVEN, RelaxationProof

__all__ = ["check_relaxation"]

# How often a largest eigenvalue that a factorisation does not confirm is raised, and by what.
_TRIES, _RAISE = 20, 1e-12


def check_relaxation(data: GramData, k: int, proof: RelaxationProof, allowance: Allowance) -> tuple[float, str | None]:
    """Return a bound on the optimum in the units of `data`, rounded up, and None; or inf and the reason why not."""
    features = proof.features.astype(np.int64)
    left_out = np.ones(len(data.norms), dtype=np.bool_)
    left_out[features] = False
    if (data.norms[left_out] > data.r_lo).any():
        return math.inf, "it leaves out features that are long enough to matter"
    if len(features) == 0:
        return 0.0, None
    lines = [
        line for B, mu in _matrices(data, proof, features, allowance) if (line := _line(B, mu, allowance)) is not None
    ]
    if not lines:
        return math.inf, "no factorisation confirms any of its largest eigenvalues"
    return _above(lines, data.r_lo, min(k, len(features))), None


def _matrices(
    data: GramData, proof: RelaxationProof, features: IntArray, allowance: Allowance
) -> Iterator[tuple[FloatArray, float]]:
    """Yield every matrix B and how far an entry may be from the inner product that it stands for."""
    m = len(features)
    allowance.need(4.0 * m * m)
    A = data.A[np.ix_(features, features)]
    upper, size, at = np.triu_indices(m), m * (m + 1) // 2, 0
    for kind, slope in zip(proof.kinds, proof.slopes, strict=True):
        allowance.check()
        if kind == GIVEN:
            B: FloatArray = np.zeros((m, m))
            unit = min(scaled_up(float(proof.unit[0]), -2 * data.exponent), 1e300)
            B[upper] = proof.entries[at : at + size].astype(np.float64) * unit
            B = B + np.triu(B, 1).T
            at += size
        else:
            mu = min(scaled_up(float(slope), -2 * data.exponent), 1e300)
            B = A - np.clip(A, -mu, mu)
        if not np.isfinite(B).all():
            continue
        far = float(np.abs(B - A).max())
        # One subtraction, exact entries of B, and A within eps of what it stands for.
        yield B, up(far) + UNIT * float(np.abs(A).max()) + data.eps


def _line(B: FloatArray, mu: float, allowance: Allowance) -> tuple[float, float] | None:
    """Return (c, mu) with c at least the largest eigenvalue of B and at least 0, proved; None if it is not."""
    size = float(np.abs(B).max())
    if size == 0.0:
        return 0.0, mu
    m = len(B)
    allowance.spent(0.3 * m**3)
    # A hint, which the factorisation has to confirm.
    c = max(float(np.linalg.eigvalsh(B)[-1]), 0.0)
    for _ in range(_TRIES):
        c = c * (1.0 + _RAISE) + 4.0 * m * UNIT * size * m
        allowance.spent(0.05 * m**3)
        if is_definite(-B, c):
            return c, mu
    return None


def _above(lines: list[tuple[float, float]], r: float, k: int) -> float:
    """Return at least the largest (sqrt(c + mu t) - r sqrt(t))_+^2 on [1, k], each piece by its lowest line."""
    cuts = {1.0, float(k)}
    for i, (c, mu) in enumerate(lines):
        for other, slope in lines[:i]:
            if mu != slope:
                t = (other - c) / (mu - slope)
                if 1.0 < t < k:
                    cuts.add(t)
    ends = sorted(cuts)
    worst = 0.0
    for left, right in itertools.pairwise(ends) if len(ends) > 1 else [(1.0, 1.0)]:
        middle = 0.5 * (left + right)
        c, mu = min(lines, key=lambda line: line[0] + line[1] * middle)
        for t in (left, right):
            distance = up(math.sqrt(up(c + mu * t))) - down(r * down(math.sqrt(t)))
            if not distance <= worst:
                worst = distance
    return up(worst * worst) if math.isfinite(worst) else math.inf
