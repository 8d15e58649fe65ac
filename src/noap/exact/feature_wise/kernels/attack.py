"""Attacks and chords as columns for the Schur test, and the ascent that finds a node's own direction."""

import math

import numpy as np

from noap.exact.feature_wise.kernels.worth import chord, lowest, shrunk, tallest, worth
from noap.heuristics.kernels.largest import ZERO, keep_name
from noap.runtime.kernels import part


@part
def climb(A, terms, k, inc, n_inc, free, n_free, g, steps, v):
    """Alternate from loadings g over the features of the node; returns (distance, spread), fills v and g.

    The distance is the root of what the vector is worth, negative where that is; spread is at least 1 and what rounding
    in g may grow to in an attack: the largest budget times |v|_1, over |Xv|.

    g holds a_i'u on entry and on return; v is a vector over all features. It proves nothing: what is found may be
    responded to in Step 4, The Schur test, of docs/exact.md, and says where to cut in Step 6, Branching, of
    docs/exact.md.
    """
    n = A.shape[0]
    chosen, pulls = np.empty(k, dtype=np.int64), np.empty(k)
    rho, best, spread = terms.rho, -1.0, 1.0
    for _ in range(steps):
        p = k - n_inc
        for a in range(n_inc):
            chosen[a] = inc[a]
        # The p free features that are worth most.
        seen = ZERO
        for f in range(n_free):
            pull = abs(g[free[f]])
            if pull > terms.entry[free[f]]:
                keep_name(worth(pull, rho[free[f]], terms.cost[free[f]]), free[f], pulls, chosen, n_inc, seen, p)
                seen += 1
        count = n_inc + min(seen, p)
        norm = 0.0
        for i in range(n):
            v[i] = 0.0
        for c in range(count):
            i = chosen[c]
            pull = abs(g[i]) - rho[i]
            if pull > 0.0:
                v[i] = pull if g[i] > 0.0 else -pull
                norm += pull * pull
        if norm <= 0.0:
            return best, spread
        norm = math.sqrt(norm)
        length, taken, cost = 0.0, 0.0, 0.0
        for c in range(count):
            i = chosen[c]
            if v[i] != 0.0:
                v[i] /= norm
                length += abs(v[i])
                taken += terms.share[i] * abs(v[i])
                cost += terms.cost[i]
        energy = 0.0
        for i in range(n):
            g[i] = 0.0
        for c in range(count):
            j = chosen[c]
            if v[j] != 0.0:
                for i in range(n):
                    g[i] += v[j] * A[j, i]
        for c in range(count):
            energy += v[chosen[c]] * g[chosen[c]]
        energy = math.sqrt(max(energy, 0.0))
        if energy <= 0.0:
            return best, spread
        for i in range(n):
            g[i] /= energy
        spread = max(terms.largest * length / energy, 1.0)
        distance = energy - terms.largest * taken
        if cost > 0.0:
            value = max(distance, 0.0) ** 2 - cost
            distance = math.sqrt(value) if value > 0.0 else -math.sqrt(-value)
        if distance <= best * (1.0 + 1e-13):
            best = max(best, distance)
            break
        best = distance
    return best, spread


@part
def gain(terms, T, g, inc, lo, hi, n_inc, widest, at_best):
    r"""Bound from below what the attack gains at right angles to w.

    Let R = {j: |a_j'w| >= rho_j} and r the largest budget, so that rho_j = r share_j. A pair worth more than T has, for
    every nu >= 0,

        sum_{S, R} rho_j (s_j - rho_j)  >=  D - r nu sum_{free, S \ R} f_j(s_j),
        D = r [nu (T - sum_{I \ R} f_j(hi)) + sum_{I, R} min over x = lo - rho_j, hi - rho_j of
               (share_j x - nu (x^2 - cost_j))],

    counting a free feature as outside R if nu (ceil - rho_j) > share_j. Returns (D, nu) for nu = 0, or for the nu that
    makes D largest; `widest` is the largest (ceil - rho_j)/share_j of a free feature in R. This is Step 5, What the
    attack gains at right angles, of docs/exact.md.
    """
    rho, share, largest = terms.rho, terms.share, terms.largest
    outside, floor = 0.0, 0.0
    for a in range(n_inc):
        j = inc[a]
        if abs(g[j]) >= rho[j]:
            floor += share[j] * (lo[a] - rho[j])
        else:
            outside += worth(hi[a], rho[j], terms.cost[j])
    if not at_best:
        return largest * floor * (1.0 - 1e-13), 0.0
    best, best_nu = largest * floor, 0.0
    for c in range(n_inc + 1):
        if c == n_inc:
            width = widest
        elif abs(g[inc[c]]) >= rho[inc[c]] and share[inc[c]] > 0.0:
            width = (lo[c] + hi[c] - 2.0 * rho[inc[c]]) / share[inc[c]]
        else:
            continue
        if width <= 0.0:
            continue
        nu = 1.0 / width
        total = nu * (T - outside)
        for a in range(n_inc):
            j = inc[a]
            if abs(g[j]) >= rho[j]:
                x, y = lo[a] - rho[j], hi[a] - rho[j]
                total += min(share[j] * x - nu * x * x, share[j] * y - nu * y * y) + nu * terms.cost[j]
        if largest * total > best:
            best, best_nu = largest * total, nu
    return best * (1.0 - 1e-13), best_nu


@part
def attack_columns(A, terms, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt):
    """Build the columns of the response attack to w: y_j = kap_j a_j + dlt_j w, and alt_j a_j for the free features.

    Inside R the attack takes rho off along w. Outside it takes a_j'w off entirely and spends the rest of the budget on
    shrinking what is at right angles to w. alt shrinks a_j as a whole, which is right as long as s_j <= ceil_j. Free
    columns outside R are longer by sqrt(1 + r nu), to pay for the last sum of `gain`; those with a cost are shorter by
    what it leaves at the ceiling. These are the attacks of Step 4, The Schur test, of docs/exact.md.
    """
    grow = math.sqrt(1.0 + terms.largest * nu)
    for c in range(n_inc + n_free):
        i = inc[c] if c < n_inc else free[c - n_inc]
        s, rho = g[i], terms.rho[i]
        if abs(s) >= rho:
            kap[c] = 1.0
            dlt[c] = -rho if s > 0.0 else rho
            factor = 1.0
            if c >= n_inc and nu * (ceil[c - n_inc] - rho) > terms.share[i]:
                factor = grow
        else:
            off = math.sqrt(max(A[i, i] - s * s, 0.0))
            share = 1.0
            if off > 0.0:
                share = min(math.sqrt(rho * rho - s * s) / off, 1.0)
            kap[c] = 1.0 - share
            dlt[c] = share * s - s
            factor = grow if c >= n_inc else 1.0
        if c >= n_inc:
            alt[c - n_inc] = grow * shrunk(ceil[c - n_inc], rho, terms.cost[i])
            if terms.cost[i] > 0.0:
                x = ceil[c - n_inc] - rho
                factor *= math.sqrt(worth(ceil[c - n_inc], rho, terms.cost[i])) / x * (1.0 + 1e-15)
        kap[c] *= factor
        dlt[c] *= factor


@part
def respond(A, terms, T, g, inc, lo, hi, n_inc, free, ceil, n_free, at_best, kap, dlt, alt):
    """Build the columns of the response attack to w. Returns its orthogonal gain D, and nu.

    Step 4, The Schur test, of docs/exact.md, with Step 5, What the attack gains at right angles, of docs/exact.md.
    """
    widest = 0.0
    for f in range(n_free):
        j = free[f]
        if abs(g[j]) >= terms.rho[j] and terms.share[j] > 0.0:
            widest = max(widest, (ceil[f] - terms.rho[j]) / terms.share[j])
    D, nu = gain(terms, T, g, inc, lo, hi, n_inc, widest, at_best)
    if D <= 0.0:
        D, nu = 0.0, 0.0
    attack_columns(A, terms, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt)
    return D, nu


@part
def chord_columns(terms, inc, lo, hi, n_inc, free, ceil, n_free, n_high, carried, kap, dlt, alt):
    """Build the columns of the chords of the included features, and of the free ones shrunk towards their ceilings.

    With carried > 0, at least n_high free features of S carry so much: they lie between a floor and their ceilings, and
    these have chords, too, of one offset beta, because any may be the ones. Their slopes are large enough for those
    below it.
    Returns the sum of the offsets. These are the chords of Step 4, The Schur test, of docs/exact.md.
    """
    betas = 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], terms.rho[inc[a]], terms.cost[inc[a]])
        kap[a] = math.sqrt(alpha)
        dlt[a] = 0.0
        betas += beta
    common = 0.0
    if carried > 0.0 and n_free > 0:
        top = tallest(terms, free, ceil, n_free)
        rho, cost = terms.rho[free[top]], terms.cost[free[top]]
        floor = lowest(carried, rho, cost)
        if ceil[top] > floor > rho:
            common = min(chord(floor, ceil[top], rho, cost)[1], 0.0)
            betas += n_high * common
    for f in range(n_free):
        rho, cost = terms.rho[free[f]], terms.cost[free[f]]
        floor = lowest(carried, rho, cost) if common < 0.0 else 0.0
        if common < 0.0 and ceil[f] >= floor:
            at_floor, at_ceil = worth(floor, rho, cost), worth(ceil[f], rho, cost)
            steep = max((at_floor - common) / (floor * floor), (at_ceil - common) / (ceil[f] * ceil[f]))
            kap[n_inc + f] = math.sqrt(steep) * (1.0 + 1e-15)
        else:
            kap[n_inc + f] = shrunk(ceil[f], rho, cost)
        dlt[n_inc + f] = 0.0
        alt[f] = -1.0
    return betas
