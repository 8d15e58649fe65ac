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
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.linalg.outward import UNIT, down, is_definite, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.relaxation import GIVEN, RelaxationProof

__all__ = ["check_relaxation"]

# How often a largest eigenvalue that a factorisation does not confirm is raised, and by what at first.
_TRIES, _RAISE = 20, 1e-12
# From so many features on the hint comes from Lanczos steps.
_LANCZOS = 600


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
    """Return (c, mu) with c at least the largest eigenvalue of B and at least 0, proved; None if it is not.

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
        found = _largest_eigenvalue(B[np.ix_(features, features)], c, allowance)
        if found is None:
            return None
        c = found
    return c, mu


def _largest_eigenvalue(B: FloatArray, least: float, allowance: Allowance) -> float | None:
    """Return at least the largest eigenvalue of B and at least `least`, proved by a factorisation; None if it fails."""
    m, size = len(B), float(np.abs(B).max())
    # Row sums are a bound as well, and enough for most small blocks.
    if up(float(np.abs(B).sum(axis=1).max()), m) <= least:
        return least
    c, more = max(_hint(B, allowance), least), _RAISE
    for _ in range(_TRIES):
        c, more = c * (1.0 + more) + 4.0 * m * UNIT * size * m, 4.0 * more
        allowance.spent(0.05 * m**3)
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
