r"""What the features of a good support owe each other, for the real numbers: "Step 2b. Levels" of docs/exact.md.

below[q] >= opt_q is proved for every q < k, so any q features of a pair worth more than T carry more than
T - below[k - q] together; a place of S without a feature counts as one that carries nothing.
"""

import math

import numpy as np

from noap.checker.feature_wise.kernels.worth import chord, floor_of, tallest, worth_up
from noap.checker.kernels.rounding import U
from noap.runtime.kernels import part

# To Numba a Python integer is a type of its own, for which it would compile the callee once more.
_ZERO = np.int64(0)


@part
def owe(terms, T, p, below, best, inc, lo, hi, n_inc, free, ceil, n_free):
    """Draw what follows for a node, in place. Returns (closed, n_free, carried, n_high).

    `best` has the p largest worths of the free features. At least n_high free features of S carry so much each.
    """
    k = len(below)
    z = np.empty(k)  # the largest worths that S may have, in rising order
    for c in range(k):
        value = worth_up(hi[c], terms.r_lo[inc[c]], terms.cost[inc[c]]) if c < n_inc else best[c - n_inc]
        place = c
        while place > 0 and z[place - 1] > value:
            z[place] = z[place - 1]
            place -= 1
        z[place] = value
    due = np.empty(k + 1)
    weakest = np.empty(k + 1)  # at least the q smallest of z, summed
    weakest[0] = 0.0
    for q in range(1, k + 1):
        due[q] = (T - below[k - q]) - 4.0 * U * (T + below[k - q])
        weakest[q] = (weakest[q - 1] + z[q - 1]) * (1.0 + 4.0 * U)
        if weakest[q] <= due[q]:
            return True, n_free, 0.0, 0
    for a in range(n_inc):
        r_lo, cost = terms.r_lo[inc[a]], terms.cost[inc[a]]
        owed = least(due, weakest, below, z, worth_up(hi[a], r_lo, cost))
        if owed > 0.0:
            lo[a] = max(lo[a], floor_of(owed, r_lo, cost))
            if lo[a] > hi[a]:
                return True, n_free, 0.0, 0
    if p == 0:
        return False, n_free, 0.0, 0
    owed = least(due, weakest, below, z, best[p - 1])
    kept = _ZERO
    for f in range(n_free):
        if worth_up(ceil[f], terms.r_lo[free[f]], terms.cost[free[f]]) > owed:
            free[kept], ceil[kept] = free[f], ceil[f]
            kept += 1
    carried, n_high = higher(terms, T, p, below, due, owed, inc, hi, n_inc, free, ceil, kept)
    return False, kept, carried, n_high


@part
def higher(terms, T, p, below, due, owed, inc, hi, n_inc, free, ceil, n_free):
    """Choose what all free features of S but e carry; `owed` is what each of them carries at least.

    Any q = r + e + 1 features carry more than due[q]; with r included ones, the others carry more than due[q] - sum_r
    f(hi), so at most e free features of S carry no more than that over e + 1. Any of these may be taken; 0 is none.
    """
    k, top = len(below), tallest(terms, free, ceil, n_free)
    if top < 0:
        return 0.0, p
    r_lo, cost, highest = terms.r_lo[free[top]], terms.cost[free[top]], ceil[top]
    weak = np.empty(n_inc)
    for c in range(n_inc):
        value = worth_up(hi[c], terms.r_lo[inc[c]], terms.cost[inc[c]])
        place = c
        while place > 0 and weak[place - 1] > value:
            weak[place] = weak[place - 1]
            place -= 1
        weak[place] = value
    likely = r_lo + math.sqrt(T / k + cost)
    best, best_carried, best_high = np.inf, 0.0, p
    for e in range(p):
        carried = owed if e == 0 else 0.0
        total = 0.0
        for r in range(n_inc + 1):
            others = min(total, below[r])
            share = (due[e + r + 1] - others) - 4.0 * U * (abs(due[e + r + 1]) + others)
            share = share / (e + 1) * (1.0 - 4.0 * U)
            if share > carried:
                carried = share
            if r < n_inc:
                total = (total + weak[r]) * (1.0 + 4.0 * U)
        if not carried > 0.0:
            continue
        floor = floor_of(carried, r_lo, cost)
        if not floor < highest:
            continue
        root, beta = chord(floor, highest, r_lo, cost)
        says = p * (root * likely) ** 2 + (p - e) * beta
        if says < best:
            best, best_carried, best_high = says, carried, p - e
    return best_carried, best_high


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
