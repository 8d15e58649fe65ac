r"""What the levels of a k-path prove about each other (docs/k-path.md has the proofs).

A direction of k features is one of k + 1, so a bound holds for every smaller k. And a direction may do without its
weakest features: :math:`\mathrm{opt}_k \le \frac kq\,\mathrm{opt}_q` for q < k, sample by sample
:math:`\sqrt{\mathrm{opt}_k} + \rho \le \sqrt{k/q}\,(\sqrt{\mathrm{opt}_q} + \rho)`.
"""

import math

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, Adversary, SampleWise, serves
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["RATIO_SERVES", "implied_bounds"]

# The adversaries for which one of the two inequalities is proved.
RATIO_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SampleWise)

# A handful of operations on numbers of one sign, each off by an ulp at most, and one difference.
_OUTWARD = 4e-15


def implied_bounds(problem: Problem, ks: IntArray, bounds: FloatArray) -> FloatArray:
    """Return the best bound on the optimum of every level that the bounds of all levels prove together.

    Parameters
    ----------
    problem : Problem
        Its k does not matter.
    ks : array of shape (m,)
        Rising.
    bounds : array of shape (m,)
        Proved upper bounds.

    Returns
    -------
    array of shape (m,)
        Nowhere above `bounds`, and rising.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
    >>> implied_bounds(problem, np.array([1, 2, 3]), np.array([2.0, 9.0, 5.0])).round(9)
    array([2., 4., 5.])
    """
    best: FloatArray = bounds.copy()
    if serves(RATIO_SERVES, problem.adversary) and problem.is_plain:
        for i in range(1, len(ks)):
            best[i] = min(best[i], *(_from_below(problem, int(ks[i]), int(ks[j]), float(best[j])) for j in range(i)))
    rising: FloatArray = np.minimum.accumulate(best[::-1])[::-1]
    return rising


def _from_below(problem: Problem, k: int, q: int, bound: float) -> float:
    """Return what a bound for q features says about k of them."""
    rho, ratio = float(problem.adversary.rho), k / q
    if rho > 0 and not problem.adversary.gram_suffices:
        grown = math.sqrt(ratio) * (math.sqrt(bound) + rho) * (1 + _OUTWARD) - rho
        return grown**2 * (1 + _OUTWARD)
    # A given S may have negative eigenvalues, by nature or by rounding; S + cI is a Gram matrix. That raises the
    # optimum by c without a budget, and with one by what sqrt(c) adds to the distance at most.
    shift = problem.diagonal_shift
    if rho > 0:
        return ratio * (math.sqrt(bound) + math.sqrt(shift)) ** 2 * (1 + _OUTWARD)
    return ratio * (bound + shift) * (1 + _OUTWARD) - shift
