r"""What the features of a good support owe each other, for the real numbers: "Step 2b. Levels" of docs/exact.md.

below[q] >= opt_q is proved for every q < k, so any q features of a pair worth more than T carry more than
T - below[k - q] together; a place of S without a feature counts as one that carries nothing.
"""

import math

import numpy as np

from noap.checker.feature_wise.kernels.worth import worth_up
from noap.checker.kernels.rounding import U
from noap.runtime.kernels import kernel, part


@kernel
def owe(r_lo, T, p, below, best, lo, hi, n_inc, free, ceil, n_free):
    """Draw what follows for a node, in place. Returns (closed, n_free, floor).

    `best` has the p largest worths of the free features. One of them that lies in S has s_j >= floor, and where that is
    more than r_lo, S has exactly k features.
    """
    k = len(below)
    z = np.empty(k)  # the largest worths that S may have, in rising order
    for c in range(k):
        value = worth_up(hi[c], r_lo) if c < n_inc else best[c - n_inc]
        place = c
        while place > 0 and z[place - 1] > value:
            z[place] = z[place - 1]
            place -= 1
        z[place] = value
    due = np.empty(k + 1)
    weakest = np.zeros(k + 1)  # at least the q smallest of z, summed
    for q in range(1, k + 1):
        due[q] = (T - below[k - q]) - 4.0 * U * (T + below[k - q])
        weakest[q] = (weakest[q - 1] + z[q - 1]) * (1.0 + 4.0 * U)
        if weakest[q] <= due[q]:
            return True, n_free, r_lo
    for a in range(n_inc):
        owed = least(due, weakest, below, z, worth_up(hi[a], r_lo))
        if owed > 0.0:
            lo[a] = max(lo[a], floor_of(owed, r_lo))
            if lo[a] > hi[a]:
                return True, n_free, r_lo
    if p == 0:
        return False, n_free, r_lo
    owed = least(due, weakest, below, z, best[p - 1])
    kept = 0
    for f in range(n_free):
        if worth_up(ceil[f], r_lo) > owed:
            free[kept], ceil[kept] = free[f], ceil[f]
            kept += 1
    return False, kept, floor_of(owed, r_lo) if owed > 0.0 else r_lo


@part
def least(due, weakest, below, z, own):
    """Return at most what a feature owes where the others can carry all of z but one entry, `own`."""
    owed, k = 0.0, len(below)
    for q in range(1, k + 1):
        others = weakest[q - 1]
        if q > 1 and z[q - 2] >= own:
            # Its own entry is among the q - 1 smallest: the next one takes its place.
            others = max(weakest[q] - own, 0.0) + 4.0 * U * weakest[q]
        others = min(others, below[q - 1])
        share = (due[q] - others) - 4.0 * U * (abs(due[q]) + others)
        if share > owed:  # so written that NaN says nothing
            owed = share
    return owed


@part
def floor_of(owed, r_lo):
    """Return at most rho + sqrt(owed)."""
    return (r_lo + math.sqrt(owed) * (1.0 - 4.0 * U)) * (1.0 - 4.0 * U)
