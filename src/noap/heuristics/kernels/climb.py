"""The stages of ascent on S = X'X/n: starts, climbs to fixed points, exchanges of one feature.

Vectors are rows of `positions` and `weights`; `distances` says what the adversary leaves of each, 0 for one that is
dead. Each stage works through its rows one after another: a row stays in the cache of the processor, and a climb can
stop where an earlier one has been.
"""

import math

import numpy as np

from noap.heuristics.kernels.steps import (
    alternate,
    distance,
    gather,
    largest,
    pull,
    shrink_to_unit,
    sort_by_position,
)
from noap.runtime.kernels import kernel, part

# Weights that move less than this between two rounds are near enough to their fixed point to rank supports.
STILL = 1e-4
# No place stays empty. To Numba a Python integer is a type of its own, for which it would compile the callee once more.
ALL_OPEN = np.int64(-1)


@part
def none_of(count):
    """Return so many marks, none of them set: a loop, because Numba compiles np.zeros for each kind of array anew."""
    marks = np.empty(count, dtype=np.bool_)
    for i in range(count):
        marks[i] = False
    return marks


@part
def code_of(positions, weights):
    """Return a number that is the same for the same support and differs otherwise but for a rare accident.

    The sum of well-mixed 64-bit codes (the finaliser of splitmix64). A position of weight 0 is not in the support.
    """
    total = np.uint64(0)
    for i in range(positions.shape[0]):
        if weights[i] != 0.0:
            code = np.uint64(positions[i] + 1) * np.uint64(0x9E3779B97F4A7C15)
            code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += code ^ (code >> np.uint64(31))
    return total


@part
def is_new(seen, code):
    """Return whether a support has not been seen, and remember it.

    `seen` is a hash table with a power of two of places. Where it is crowded a support may be forgotten: it is then
    climbed from again, which costs time and nothing else.
    """
    mask = np.uint64(seen.shape[0] - 1)
    place = code & mask
    for _ in range(64):
        if seen[place] == code:
            return False
        if seen[place] == 0:
            seen[place] = code
            return True
        place = (place + np.uint64(1)) & mask
    return True


@part
def was_seen(seen, code):
    """Return whether a support is remembered."""
    mask = np.uint64(seen.shape[0] - 1)
    place = code & mask
    for _ in range(64):
        if seen[place] == code or seen[place] == 0:
            return seen[place] == code
        place = (place + np.uint64(1)) & mask
    return False


@part
def follow(loadings, rho, taken, positions, weights, magnitudes):
    """Take the half-step in v towards a pull; returns the distance reached, 0 if the adversary cancels it."""
    largest(loadings, rho, positions.shape[0], taken, positions, magnitudes)
    for i in range(positions.shape[0]):
        weights[i] = loadings[positions[i]]
    sort_by_position(positions, weights)
    return shrink_to_unit(weights, rho, positions)


@part
def improve(S, rho, rounds, still, positions, weights, block, product):
    """Alternate within the support of one vector, in place; returns its distance."""
    gather(S, positions, block)
    alternate(block, rho, positions, weights, ALL_OPEN, rounds, still, product)
    return distance(block, rho, positions, weights, product)


@kernel
def refine(S, rho, rounds, positions, weights, distances):
    """Alternate within the support of every row, in place, and measure it."""
    k = positions.shape[1]
    block, product = np.empty((k, k)), np.empty(k)
    for m in range(positions.shape[0]):
        distances[m] = improve(S, rho, rounds, 1e-15, positions[m], weights[m], block, product)


@kernel
def orthonormalise(rows):
    """Make the rows orthonormal in place (modified Gram-Schmidt); one that depends on those before it becomes 0."""
    nowhere = np.empty(rows.shape[1], dtype=np.int64)  # a number as a budget asks for no position
    for i in range(rows.shape[0]):
        for h in range(i):
            along = np.dot(rows[h], rows[i])
            for j in range(rows.shape[1]):
                rows[i, j] -= along * rows[h, j]
        shrink_to_unit(rows[i], 0.0, nowhere)


@kernel
def start(S, rho, features, directions, rounds, positions, weights, distances):
    """Start from each feature j, whose pull is row j of S over |a_j|, then from the k largest entries of directions.

    One function for both: Numba makes the code of all that a kernel calls anew in each of its callers.
    """
    k, d = positions.shape[1], S.shape[0]
    taken, magnitudes = none_of(d), np.empty(k)
    block, product, loadings = np.empty((k, k)), np.empty(k), np.empty(d)
    for m in range(positions.shape[0]):
        distances[m] = 0.0
        if m < features.shape[0]:
            row = S[features[m]]
            length = math.sqrt(row[features[m]])
            for j in range(d):
                loadings[j] = row[j] / length
        else:
            for j in range(d):
                loadings[j] = directions[m - features.shape[0], j]
            if not (
                follow(loadings, 0.0, taken, positions[m], weights[m], magnitudes) > 0.0
                and pull(S, positions[m], weights[m], loadings) > 0.0
            ):
                continue
        if follow(loadings, rho, taken, positions[m], weights[m], magnitudes) > 0.0:
            distances[m] = improve(S, rho, rounds, STILL, positions[m], weights[m], block, product)


@kernel
def climb(S, rho, positions, weights, distances, order, count, max_steps, rounds, seen):
    """Bring the first `count` rows with supports not seen before to fixed points, in place; returns which arrived.

    A row that comes to a support where a climb has been is given up: that climb has found, or will find, the same.
    """
    k, d = positions.shape[1], S.shape[0]
    taken, magnitudes = none_of(d), np.empty(k)
    block, product, loadings = np.empty((k, k)), np.empty(k), np.empty(d)
    next_positions, next_weights = np.empty(k, dtype=np.int64), np.empty(k)
    arrived = none_of(positions.shape[0])
    for m in order:
        code = code_of(positions[m], weights[m])
        if distances[m] <= 0.0 or not is_new(seen, code):
            continue
        arrived[m] = True
        for _ in range(max_steps):
            e = pull(S, positions[m], weights[m], loadings)
            if e == 0.0 or follow(loadings, rho, taken, next_positions, next_weights, magnitudes) == 0.0:
                break  # nothing to improve in: a fixed point of its own
            for i in range(k):
                positions[m, i], weights[m, i] = next_positions[i], next_weights[i]
            gather(S, positions[m], block)
            alternate(block, rho, positions[m], weights[m], ALL_OPEN, rounds, STILL, product)
            before, code = code, code_of(positions[m], weights[m])
            if code == before:
                break
            arrived[m] = is_new(seen, code)
            if not arrived[m]:
                break
        if arrived[m]:
            distances[m] = improve(S, rho, 2 * rounds, STILL, positions[m], weights[m], block, product)
            before, code = code, code_of(positions[m], weights[m])
            arrived[m] = code == before or is_new(seen, code)  # a weight may have become 0
        count -= 1
        if count == 0:
            break
    return arrived


@kernel
def exchange(S, rho, positions, weights, additions, rounds, best, seen):
    """Return the `best` most promising exchanges of one feature of every row that lead to supports not seen before.

    Each feature in turn (and the first empty place, if there is one) makes room; the others alternate without it; and
    each of the `additions` features that then pull hardest may take the place. What the half-step onto such a support
    reaches is a lower bound on its distance, and ranks it.
    """
    m, k = positions.shape
    d = S.shape[0]
    taken, magnitudes = none_of(d), np.empty(additions)
    block, product, loadings = np.empty((k, k)), np.empty(k), np.empty(d)
    held, added = np.empty(k), np.empty(additions, dtype=np.int64)
    tried_positions, tried = np.empty(k, dtype=np.int64), np.empty(k)
    new_positions, new_weights = np.empty((m * best, k), dtype=np.int64), np.empty((m * best, k))
    distances = np.empty(m * best)
    for c in range(m * best):
        distances[c] = 0.0
        for i in range(k):
            new_positions[c, i], new_weights[c, i] = 0, 0.0
    for row in range(m):
        gather(S, positions[row], block)
        for i in range(k):
            taken[positions[row, i]] = True
        first, has_empty = row * best, False
        for empty in range(k):
            if weights[row, empty] == 0.0:
                if has_empty:
                    continue
                has_empty = True
            for i in range(k):
                held[i] = weights[row, i]
            held[empty] = 0.0
            if shrink_to_unit(held, 0.0, positions[row]) == 0.0:
                continue
            alternate(block, rho, positions[row], held, empty, rounds, STILL, product)
            if pull(S, positions[row], held, loadings) == 0.0:
                continue
            largest(loadings, rho, additions, taken, added, magnitudes)
            for feature in added:
                for i in range(k):
                    tried_positions[i] = feature if i == empty else positions[row, i]
                    tried[i] = loadings[tried_positions[i]]
                reached = shrink_to_unit(tried, rho, tried_positions)
                worst = first
                for c in range(first + 1, first + best):
                    if distances[c] < distances[worst]:
                        worst = c
                if reached > distances[worst] and not was_seen(seen, code_of(tried_positions, tried)):
                    distances[worst] = reached
                    for i in range(k):
                        new_positions[worst, i], new_weights[worst, i] = tried_positions[i], tried[i]
        for i in range(k):
            taken[positions[row, i]] = False
    for c in range(m * best):
        if distances[c] > 0.0:
            sort_by_position(new_positions[c], new_weights[c])
            distances[c] = improve(S, rho, rounds, STILL, new_positions[c], new_weights[c], block, product)
    return new_positions, new_weights, distances
