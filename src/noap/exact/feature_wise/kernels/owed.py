r"""What the features of a good support owe each other: "Step 2b. Levels" of docs/exact.md.

Let below[q] >= opt_q be proved for every q < k. A pair (u, S) worth more than T leaves at most below[k - q] when q of
its features are taken out, so any q of them carry more than T - below[k - q] together. Where S has fewer than k
features, places without one count as features that carry nothing.
"""

import math

import numpy as np

from noap.exact.feature_wise.kernels.worth import chord, lowest, tallest, worth
from noap.heuristics.kernels.largest import ZERO
from noap.runtime.kernels import part


@part
def owe(terms, T, p, below, top, inc, lo, hi, n_inc, free, ceil, n_free):
    """Draw what follows for a node, in place: raise lo, drop free features, or close it.

    Let z be the largest worths that S may have, in rising order: f(hi) of the included features and the p largest
    f(ceil), which `top` holds. The q smallest must exceed what q features owe. And one feature of S owes what q owe
    less what the q - 1 weakest of the others can carry.

    Returns (closed, n_free, carried, n_high): at least n_high free features of S carry so much each.
    """
    k = len(below)
    z = np.empty(k)
    for c in range(k):
        value = worth(hi[c], terms.rho[inc[c]], terms.cost[inc[c]]) if c < n_inc else top[c - n_inc]
        place = c
        while place > 0 and z[place - 1] > value:
            z[place] = z[place - 1]
            place -= 1
        z[place] = value
    due = np.empty(k + 1)  # what q features of S carry at least
    weakest = np.empty(k + 1)  # the q smallest of z, summed
    weakest[0] = 0.0
    for q in range(1, k + 1):
        due[q] = (T - below[k - q]) - 4e-16 * T
        weakest[q] = weakest[q - 1] + z[q - 1]
        if weakest[q] * (1.0 + 1e-14 * (k + 2)) <= due[q]:
            return True, n_free, 0.0, 0
    for a in range(n_inc):
        rho, cost = terms.rho[inc[a]], terms.cost[inc[a]]
        owed = least(due, weakest, below, z, worth(hi[a], rho, cost))
        if owed > 0.0:
            lo[a] = max(lo[a], lowest(owed, rho, cost))
            if lo[a] > hi[a]:
                return True, n_free, 0.0, 0
    if p == 0:
        return False, n_free, 0.0, 0
    owed = least(due, weakest, below, z, top[p - 1])
    kept = ZERO
    for f in range(n_free):
        if worth(ceil[f], terms.rho[free[f]], terms.cost[free[f]]) > owed:
            free[kept], ceil[kept] = free[f], ceil[f]
            kept += 1
    carried, n_high = higher(terms, T, p, below, due, owed, inc, hi, n_inc, free, ceil, kept)
    return False, kept, carried, n_high


@part
def higher(terms, T, p, below, due, owed, inc, hi, n_inc, free, ceil, n_free):
    """Choose what all free features of S but a few carry; `owed` is what each of them carries at least.

    Of q features that carry more than due[q] together let r be the weakest included ones, and the others free: at most
    e = q - r - 1 free features of S carry no more than (due[q] - sum_r f(hi))/(e + 1). Of these the one is chosen whose
    chords would say least of p features that carry T/k each, if all were like the one that may be worth most. Returns
    (carried, n_high), carried = 0 where nothing is known.
    """
    k = len(below)
    top = tallest(terms, free, ceil, n_free)
    if top < 0:
        return 0.0, p
    rho, cost, highest = terms.rho[free[top]], terms.cost[free[top]], ceil[top]
    weak = np.empty(n_inc)
    for c in range(n_inc):
        value = worth(hi[c], terms.rho[inc[c]], terms.cost[inc[c]])
        place = c
        while place > 0 and weak[place - 1] > value:
            weak[place] = weak[place - 1]
            place -= 1
        weak[place] = value
    likely = rho + math.sqrt(T / k + cost)
    best, best_carried, best_high = np.inf, 0.0, p
    for e in range(p):
        carried = owed if e == 0 else 0.0
        total = 0.0
        for r in range(n_inc + 1):
            q = e + r + 1
            share = due[q] - min(total * (1.0 + 1e-14 * (k + 2)), below[r])
            carried = max(carried, share / (e + 1))
            if r < n_inc:
                total += weak[r]
        if not carried > 0.0:
            continue
        floor = lowest(carried, rho, cost)
        if not floor < highest:
            continue
        alpha, beta = chord(floor, highest, rho, cost)
        says = p * alpha * likely * likely + (p - e) * beta
        if says < best:
            best, best_carried, best_high = says, carried, p - e
    return best_carried, best_high


@part
def least(due, weakest, below, z, own):
    """Return what a feature owes where the others can carry all of z but one entry, `own`."""
    owed, k = 0.0, len(below)
    for q in range(1, k + 1):
        others = weakest[q - 1]
        if q > 1 and z[q - 2] >= own:
            # Its own entry is among the q - 1 smallest: the next one takes its place.
            others = max(weakest[q] - own, 0.0)
        others += 1e-14 * (k + 2) * weakest[q]
        owed = max(owed, due[q] - min(others, below[q - 1]))
    return owed
