"""Check a chain of levels: bounds on the optima of fewer features, each with what those before it prove."""

import math

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.check import check_gram
from noap.checker.feature_wise.data import GramData
from noap.checker.relaxation.check import check_relaxation
from noap.linalg.outward import gamma, scaled_up, up
from noap.linalg.types import FloatArray
from noap.proofs.levels import LevelProof, LevelsProof
from noap.proofs.relaxation import RelaxationProof

__all__ = ["NO_LEVELS", "check_level", "check_levels"]

NO_LEVELS: FloatArray = np.empty(0)
"""Nothing is known of fewer features."""


def check_level(
    data: GramData,
    k: int,
    below: FloatArray,
    proof: LevelProof,
    claimed: float,
    raised: FloatArray,
    lift: float,
    allowance: Allowance,
) -> tuple[float, str | None]:
    """Return a bound just above the claimed one on the optimum of k features, and None; or inf and the reason why not.

    Parameters
    ----------
    below : array of shape (k,)
        Proved bounds on the optima of 0, 1, ..., k - 1 features, or NO_LEVELS.
    claimed : float
        In the units of the problem; the bound that is returned is in those of `data`.
    raised, lift : array of shape (W,) and float
        Margins for the checker's own rounding: relative ones, of rising width, and what is added to all of them.
    """
    claims = math.ldexp(claimed, -2 * data.exponent) * raised + lift
    if not isinstance(proof, RelaxationProof):
        return check_gram(data, k, below, proof, raised, lift, claims, allowance)
    T, reason = check_relaxation(data, k, proof, allowance)
    if reason is None and not claims[0] >= T:
        reason = "its lines do not fall below the claim"
    return (math.inf, reason) if reason else (float(claims[0]), None)


def check_levels(
    data: GramData,
    k: int,
    proof: LevelsProof,
    claimed: float,
    raised: FloatArray,
    lift: float,
    allowance: Allowance,
) -> tuple[float, str | None]:
    """Return a bound just above the claimed one on the optimum of k features, and None; or inf and the reason why not.

    Every level is proved with what those before it prove, in the order of the proof. No level is taken on trust.
    """
    worths = _largest_worths(data, k)
    proved = np.append(0.0, np.cumsum(worths) * (1.0 + gamma(k + 4)))
    for number, tree in enumerate(proof.trees):
        size, bound = int(proof.ks[number]), float(proof.bounds[number])
        if size > k:
            return math.inf, f"level {number} is about {size} features, more than k = {k}"
        if scaled_up(bound, -2 * data.exponent) >= proved[size]:
            continue  # nothing new, whatever its tree is worth
        with allowance.passing():
            T, reason = check_level(data, size, proved[:size], tree, bound, raised, lift, allowance)
        if reason is not None:
            return math.inf, f"level {number}, of {size} features: {reason}"
        _learn(proved, worths, size, T)
    claims = math.ldexp(claimed, -2 * data.exponent) * raised + lift
    fulfilled = claims[claims >= proved[k]]
    if len(fulfilled) == 0:
        return math.inf, "its levels do not prove the claim"
    return float(fulfilled[0]), None


def _largest_worths(data: GramData, k: int) -> FloatArray:
    """Return the k largest worths of single features, in falling order, rounded up; 0 where there is none."""
    norms, terms = data.norms, data.terms
    # The margin covers the rounding of the difference, too: that is at most an ulp of the square.
    over = np.maximum(norms - terms.r_lo, 0.0)
    each = np.maximum(over**2 * (1.0 + gamma(8)) + 1e-300 - terms.cost, 0.0)
    most = np.sort(each[norms > terms.entry])[::-1][:k]
    worths: FloatArray = np.zeros(k)
    worths[: len(most)] = most
    return worths


def _learn(proved: FloatArray, worths: FloatArray, size: int, T: float) -> None:
    """Take a proved bound on the optimum of so many features, and what follows for more and for fewer."""
    proved[size] = min(proved[size], T)
    for q in range(1, len(proved)):
        if q < size:
            proved[q] = min(proved[q], T)  # more features are never worth less
        elif q > size:
            # The weakest features of a support, left out, are worth no more than their share. And those with the
            # shortest columns no more than the columns of their rank among all: nothing where there are so many.
            shortest = float(worths[size:q].sum())
            share = up(up(T * q) / size)
            proved[q] = min(proved[q], share, up(T + up(shortest, q)) if shortest > 0 else T)
