r"""The game between an attack and the directions it must hold down.

.. math:: \min_E \max_v \|(Y + E) v\|^2

over attacks whose rows lie in the node's ball and k-sparse unit v of the node. It is convex in E; a finite set of
directions v_1..v_m with weights w plays against it. Both sides take small steps: w moves by exponentiated gradient, E
by a projected gradient step on the weighted sum. Whatever comes out is feasible, and is judged elsewhere. This is
Section 3, The game, of docs/exact-sample-wise.md.
"""

import math

import numpy as np

from noap.exact.sample_wise.kernels.ball import project, project_rows, squared_norm
from noap.heuristics.kernels.largest import ZERO, keep_name
from noap.runtime.kernels import kernel, part

# Directions that join in one round at most, and the share of all weight that they start with.
MOST_NEW, SHARE = 8, 0.1
# Steps of a climb; as an argument, a constant and an integer from Python would be two types.
STEPS = 12
# How fast weights move at first.
STRIDE = 5.0


@kernel
def truncate(g, n_inc, p, place, value):
    """Keep g on the included columns and its p largest free entries, normalised; returns (size, their norm)."""
    total = 0.0
    for j in range(n_inc):
        place[j] = j
    for j in range(n_inc, len(g)):
        # `value` is free to hold magnitudes until the size is known.
        keep_name(abs(g[j]), j, value, place, n_inc, j - n_inc, p)
    size = n_inc + min(len(g) - n_inc, p)
    for c in range(size):
        total += g[place[c]] * g[place[c]]
    total = math.sqrt(total)
    for c in range(size):
        value[c] = g[place[c]] / total if total > 0.0 else 0.0
    return size, total


@kernel
def climb(M, n_inc, p, place, value, size, g):
    """Take truncated power steps on M; returns (size, v'Mv), the direction in place and value."""
    energy = -1.0
    for step in range(STEPS + 1):
        for j in range(len(g)):
            g[j] = 0.0
        for c in range(size):
            row = M[place[c]]
            x = value[c]
            if x != 0.0:
                for j in range(len(g)):
                    g[j] += x * row[j]
        new = 0.0
        for c in range(size):
            new += value[c] * g[place[c]]
        if step == STEPS or new <= energy * (1.0 + 1e-7):
            return size, max(new, energy)
        energy = new
        size, _ = truncate(g, n_inc, p, place, value)
    return size, energy


@part
def same(place, size, places, sizes, m):
    """Position of an attacker with the same support, or -1."""
    for a in range(m):
        if sizes[a] == size:
            equal = True
            for c in range(size):
                found = False
                for e in range(size):
                    if places[a, e] == place[c]:
                        found = True
                        break
                if not found:
                    equal = False
                    break
            if equal:
                return a
    return -1


@kernel
def recruit(M, n_inc, p, places, values, sizes, weights, energies, m, floor):
    """Add a few directions above `floor`, found by climbing from the attackers and the largest diagonals.

    Returns (m, largest v'Mv met).
    """
    room = places.shape[0]
    cols = M.shape[0]
    g = np.empty(cols)
    width = places.shape[1]
    starts = min(cols - n_inc, 12) if p > 0 else 1
    found_place = np.empty((m + starts, width), dtype=np.int64)
    found_value = np.empty((m + starts, width))
    found_size = np.empty(m + starts, dtype=np.int64)
    found = np.empty(m + starts)
    place = np.empty(width, dtype=np.int64)
    value = np.empty(width)
    anchors, ranked, top = np.empty(starts, dtype=np.int64), np.empty(m + starts, dtype=np.int64), np.empty(m + starts)
    if p > 0:
        for j in range(n_inc, cols):
            keep_name(M[j, j], j, top, anchors, ZERO, j - n_inc, starts)
    best = 0.0
    for s in range(m + starts):
        if s < m:
            size = sizes[s]
            for c in range(size):
                place[c] = places[s, c]
                value[c] = values[s, c]
        else:
            for j in range(cols):
                g[j] = 0.0
            if p > 0:
                for j in range(cols):
                    g[j] = M[anchors[s - m], j]
            else:
                for j in range(cols):
                    for i in range(cols):
                        g[j] += M[i, j]
            size, _ = truncate(g, n_inc, p, place, value)
        size, energy = climb(M, n_inc, p, place, value, size, g)
        found[s] = energy
        found_size[s] = size
        for c in range(size):
            found_place[s, c] = place[c]
            found_value[s, c] = value[c]
        best = max(best, energy)
    added = 0
    for s in range(m + starts):
        keep_name(found[s], s, top, ranked, ZERO, s, m + starts)
    for s in ranked:
        if found[s] < floor or added == MOST_NEW:
            break
        twin = same(found_place[s], found_size[s], places, sizes, m)
        if twin >= 0:
            overlap = 0.0
            for c in range(found_size[s]):
                for e in range(sizes[twin]):
                    if places[twin, e] == found_place[s, c]:
                        overlap += values[twin, e] * found_value[s, c]
            if abs(overlap) > 0.999:
                # Nearly the same direction: move it, keep its weight.
                for c in range(found_size[s]):
                    places[twin, c] = found_place[s, c]
                    values[twin, c] = found_value[s, c]
                energies[twin] = found[s]
                continue
        at = m
        if m == room:
            at = -1
            for a in range(m):
                if energies[a] < found[s] and (at < 0 or weights[a] < weights[at]):
                    at = a
            if at < 0:
                break
        else:
            m += 1
        sizes[at] = found_size[s]
        for c in range(found_size[s]):
            places[at, c] = found_place[s, c]
            values[at, c] = found_value[s, c]
        weights[at] = 0.0
        energies[at] = found[s]
        added += 1
    if added > 0:
        total = 0.0
        for a in range(m):
            total += weights[a]
        for a in range(m):
            if weights[a] == 0.0:
                weights[a] = (total if total > 0.0 else 1.0) * SHARE / max(added, 1)
        total = 0.0
        for a in range(m):
            total += weights[a]
        for a in range(m):
            weights[a] /= total
    return m, best


@part
def curvature(places, values, sizes, weights, m, cols):
    """Largest eigenvalue of sum w v v' by power iteration, raised a little: the step length only."""
    x = np.empty(cols)
    for j in range(cols):
        x[j] = 0.0
    for a in range(m):
        for c in range(sizes[a]):
            x[places[a, c]] += weights[a] * abs(values[a, c])
    y = np.empty(cols)
    size = 1.0
    for _ in range(12):
        total = 0.0
        for j in range(cols):
            total += x[j] * x[j]
        total = math.sqrt(total)
        if total == 0.0:
            return 1.0
        for j in range(cols):
            x[j] /= total
            y[j] = 0.0
        for a in range(m):
            inner = 0.0
            for c in range(sizes[a]):
                inner += values[a, c] * x[places[a, c]]
            inner *= weights[a]
            for c in range(sizes[a]):
                y[places[a, c]] += inner * values[a, c]
        size = 0.0
        for j in range(cols):
            size += x[j] * y[j]
            x[j] = y[j]
    return max(1.05 * size, 1e-3)


@part
def face(Y, E, places, values, sizes, m, R, energies):
    """Fill R with the scores (y_i + e_i)'v_a and add their squares to the energies."""
    for i in range(Y.shape[0]):
        for a in range(m):
            x = 0.0
            for c in range(sizes[a]):
                j = places[a, c]
                x += (Y[i, j] + E[i, j]) * values[a, c]
            R[i, a] = x
            energies[a] += x * x


@part
def reweigh(weights, energies, m, eta):
    """Move the weights towards the strongest; returns the largest energy, and whether there is anything to play on."""
    most = 0.0
    for a in range(m):
        most = max(most, energies[a])
    if most <= 0.0:
        return most, False
    total = 0.0
    for a in range(m):
        weights[a] *= math.exp(eta * (energies[a] - most) / most)
        total += weights[a]
    if total <= 0.0:
        return most, False
    for a in range(m):
        weights[a] /= total
    return most, True


@part
def advance(E, n_inc, p, rho, places, values, sizes, weights, m, R, length):
    """Take a gradient step of this length against the mixture, from the scores R; row i is projected with rho[i]."""
    n, cols = E.shape
    top = np.empty(max(p, 1))
    order = np.empty(max(cols - n_inc, 1))
    step = np.empty(cols)
    for i in range(n):
        for j in range(cols):
            step[j] = 0.0
        for a in range(m):
            x = weights[a] * R[i, a] * length
            if x != 0.0:
                for c in range(sizes[a]):
                    step[places[a, c]] += x * values[a, c]
        for j in range(cols):
            E[i, j] -= step[j]
        project(E[i], n_inc, p, rho[i], top, order)


@part
def pace(clock):
    """Return the exponent's rate at this turn: both players slow down."""
    return STRIDE / math.sqrt(1.0 + 0.2 * clock)


@kernel
def respond(Y, v, n_inc, p, rho, E, halvings):
    """Start: e_i = -clip(y_i'v, +-rho_i) v on supp(v), off it -clip(y_ij, +-t_i), t_i as large as the ball allows.

    t_i is found by so many halvings of an interval; with fewer of them the attack is a little weaker.
    """
    n, cols = Y.shape
    top = np.empty(max(p, 1))
    for i in range(n):
        score = 0.0
        for j in range(cols):
            score += Y[i, j] * v[j]
        budget = rho[i]
        clip = min(max(score, -budget), budget)
        for j in range(cols):
            E[i, j] = -clip * v[j]
        if p == 0:
            # The leftover of the budget along what is orthogonal to v.
            off = 0.0
            for j in range(cols):
                off += (Y[i, j] - score * v[j]) ** 2
            spare = math.sqrt(max(budget * budget - clip * clip, 0.0))
            off = math.sqrt(off)
            share = 1.0 if off <= spare else spare / off
            for j in range(cols):
                E[i, j] -= share * (Y[i, j] - score * v[j])
        else:
            low, high = 0.0, budget
            for _ in range(halvings):
                t = 0.5 * (low + high)
                for j in range(n_inc, cols):
                    if v[j] == 0.0:
                        E[i, j] = -min(max(Y[i, j], -t), t)
                total = squared_norm(E[i], n_inc, p, top)
                if total <= budget * budget * (1.0 - 1e-12):
                    low = t
                else:
                    high = t
            for j in range(n_inc, cols):
                if v[j] == 0.0:
                    E[i, j] = -min(max(Y[i, j], -low), low)
    project_rows(E, n_inc, p, rho)


@kernel
def contest(Y, E, best_E, n_inc, p, rho, places, values, sizes, weights, energies, m, rounds, clock, target, patience):
    """Recruit and play in turn until no known direction exceeds `target`, progress stalls, or the rounds are used.

    E is the attack to start from; best_E receives the one whose strongest known opponent was weakest. Returns
    (that opponent's energy, m, clock, rounds used).
    """
    best = np.inf
    mark, mark_at = np.inf, 0
    B = np.empty(Y.shape)
    for r in range(rounds):
        for i in range(Y.shape[0]):
            for j in range(Y.shape[1]):
                B[i, j] = Y[i, j] + E[i, j]
        M = np.dot(B.T, B)
        mean = 0.0
        for a in range(m):
            mean += weights[a] * energies[a]
        m, most = recruit(M, n_inc, p, places, values, sizes, weights, energies, m, mean)
        if most < best:
            best = most
            for i in range(Y.shape[0]):
                for j in range(Y.shape[1]):
                    best_E[i, j] = E[i, j]
        if best <= target:
            return best, m, clock, r + 1
        if best - target < 0.9 * (mark - target):
            mark, mark_at = best, r
        elif r - mark_at >= patience:
            return best, m, clock, r + 1
        # A step of both players.
        R = np.empty((Y.shape[0], m))
        for a in range(m):
            energies[a] = 0.0
        face(Y, E, places, values, sizes, m, R, energies)
        _, on = reweigh(weights, energies, m, pace(clock))
        if on:
            length = 1.0 / curvature(places, values, sizes, weights, m, Y.shape[1])
            advance(E, n_inc, p, rho, places, values, sizes, weights, m, R, length)
        clock += 1
    return best, m, clock, rounds
