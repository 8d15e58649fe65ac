"""Attacks and chords as columns for the Schur test, and the ascent that finds a node's own direction."""

import math

import numpy as np

from noap.exact.feature_wise.kernels.worth import chord, worth
from noap.heuristics.kernels.largest import ZERO, keep_name
from noap.runtime.kernels import part


@part
def climb(A, rho, k, inc, n_inc, free, n_free, g, steps, v):
    """Alternate from loadings g over the features of the node; returns the distance, fills v and g.

    g holds a_i'u on entry and on return; v is a vector over all features. It proves nothing: what is found may be
    responded to in Step 4, The Schur test, of docs/exact.md, and says where to cut in Step 6, Branching, of
    docs/exact.md.
    """
    n = A.shape[0]
    chosen, pulls = np.empty(k, dtype=np.int64), np.empty(k)
    best = -1.0
    for _ in range(steps):
        p = k - n_inc
        for a in range(n_inc):
            chosen[a] = inc[a]
        # The p free features that pull hardest.
        seen = ZERO
        for f in range(n_free):
            pull = abs(g[free[f]])
            if pull > rho:
                keep_name(pull, free[f], pulls, chosen, n_inc, seen, p)
                seen += 1
        count = n_inc + min(seen, p)
        norm = 0.0
        for i in range(n):
            v[i] = 0.0
        for c in range(count):
            i = chosen[c]
            pull = abs(g[i]) - rho
            if pull > 0.0:
                v[i] = pull if g[i] > 0.0 else -pull
                norm += pull * pull
        if norm <= 0.0:
            return best
        norm = math.sqrt(norm)
        length = 0.0
        for c in range(count):
            v[chosen[c]] /= norm
            length += abs(v[chosen[c]])
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
            return best
        for i in range(n):
            g[i] /= energy
        distance = energy - rho * length
        if distance <= best * (1.0 + 1e-13):
            best = max(best, distance)
            break
        best = distance
    return best


@part
def gain(rho, T, g, inc, lo, hi, n_inc, top, at_best):
    r"""Bound from below what the attack gains at right angles to w.

    Let R = {j: |a_j'w| >= rho}. A pair worth more than T has, for every nu >= 0,

        rho sum_{S, R} (s_j - rho)  >=  D - rho nu sum_{free, S \ R} f(s_j),
        D = rho [nu (T - sum_{I \ R} f(hi)) + sum_{I, R} min(a - nu a^2, b - nu b^2)],   a = lo - rho, b = hi - rho,

    counting a free feature as outside R if nu (ceil - rho) > 1. Returns (D, nu) for nu = 0, or for the nu that makes D
    largest; `top` is the largest ceiling of a free feature with |a_j'w| >= rho. This is Step 5, What the attack gains
    at right angles, of docs/exact.md.
    """
    outside, floor = 0.0, 0.0
    for a in range(n_inc):
        if abs(g[inc[a]]) >= rho:
            floor += lo[a] - rho
        else:
            outside += worth(hi[a], rho)
    if not at_best:
        return rho * floor * (1.0 - 1e-13), 0.0
    best, best_nu = rho * floor, 0.0
    for c in range(n_inc + 1):
        if c == n_inc:
            width = top - rho
        elif abs(g[inc[c]]) >= rho:
            width = lo[c] + hi[c] - 2.0 * rho
        else:
            continue
        if width <= 0.0:
            continue
        nu = 1.0 / width
        total = nu * (T - outside)
        for a in range(n_inc):
            if abs(g[inc[a]]) >= rho:
                x, y = lo[a] - rho, hi[a] - rho
                total += min(x - nu * x * x, y - nu * y * y)
        if rho * total > best:
            best, best_nu = rho * total, nu
    return best * (1.0 - 1e-13), best_nu


@part
def attack_columns(A, rho, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt):
    """Build the columns of the response attack to w: y_j = kap_j a_j + dlt_j w, and alt_j a_j for the free features.

    Inside R the attack takes rho off along w. Outside it takes a_j'w off entirely and spends the rest of the budget on
    shrinking what is at right angles to w. alt shrinks a_j as a whole, which is right as long as s_j <= ceil_j. Free
    columns outside R are longer by sqrt(1 + rho nu), to pay for the last sum of `gain`. These are the attacks of Step
    4, The Schur test, of docs/exact.md.
    """
    grow = math.sqrt(1.0 + rho * nu)
    for c in range(n_inc + n_free):
        i = inc[c] if c < n_inc else free[c - n_inc]
        s = g[i]
        if abs(s) >= rho:
            kap[c] = 1.0
            dlt[c] = -rho if s > 0.0 else rho
            factor = 1.0
            if c >= n_inc and nu * (ceil[c - n_inc] - rho) > 1.0:
                factor = grow
        else:
            off = math.sqrt(max(A[i, i] - s * s, 0.0))
            share = 1.0
            if off > 0.0:
                share = min(math.sqrt(rho * rho - s * s) / off, 1.0)
            kap[c] = 1.0 - share
            dlt[c] = share * s - s
            factor = grow if c >= n_inc else 1.0
        kap[c] *= factor
        dlt[c] *= factor
        if c >= n_inc:
            alt[c - n_inc] = grow * (1.0 - rho / ceil[c - n_inc])


@part
def respond(A, rho, T, g, inc, lo, hi, n_inc, free, ceil, n_free, at_best, kap, dlt, alt):
    """Build the columns of the response attack to w. Returns its orthogonal gain D, and nu.

    Step 4, The Schur test, of docs/exact.md, with Step 5, What the attack gains at right angles, of docs/exact.md.
    """
    top = 0.0
    for f in range(n_free):
        if abs(g[free[f]]) >= rho:
            top = max(top, ceil[f])
    D, nu = gain(rho, T, g, inc, lo, hi, n_inc, top, at_best)
    if D <= 0.0:
        D, nu = 0.0, 0.0
    attack_columns(A, rho, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt)
    return D, nu


@part
def chord_columns(rho, lo, hi, n_inc, ceil, n_free, n_high, floor, kap, dlt, alt):
    """Build the columns of the chords of the included features, and of the free ones shrunk towards their ceilings.

    With a floor above rho, at least n_high free features of S lie between the floor and their ceilings, and these have
    chords, too: of one offset beta, because any may be the ones. Their slopes are large enough for those below it.
    Returns the sum of the offsets. These are the chords of Step 4, The Schur test, of docs/exact.md.
    """
    betas = 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], rho)
        kap[a] = math.sqrt(alpha)
        dlt[a] = 0.0
        betas += beta
    common, at_floor = 0.0, worth(floor, rho)
    if floor > rho:
        highest = 0.0
        for f in range(n_free):
            highest = max(highest, ceil[f])
        if highest > floor:
            common = min(chord(floor, highest, rho)[1], 0.0)
            betas += n_high * common
    for f in range(n_free):
        if common < 0.0 and ceil[f] >= floor:
            steep = max((at_floor - common) / (floor * floor), (worth(ceil[f], rho) - common) / (ceil[f] * ceil[f]))
            kap[n_inc + f] = math.sqrt(steep) * (1.0 + 1e-15)
        else:
            kap[n_inc + f] = 1.0 - rho / ceil[f] if rho > 0.0 else 1.0
        dlt[n_inc + f] = 0.0
        alt[f] = -1.0
    return betas
