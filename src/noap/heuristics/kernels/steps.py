r"""The half-steps of ascent on S = X'X/n, for one k-sparse vector at a time.

A vector is k positions in increasing order and k weights. With e = sqrt(v'Sv), the best response to v pulls the
features by Sv/e, and the best v for that pull keeps its k largest entries, shrinks them by rho and scales to length 1.
With budgets and costs of each feature it keeps the k that are worth most of those that are worth something.
"""

import math

from noap.heuristics.kernels.largest import ZERO, keep_name
from noap.heuristics.kernels.terms import budget, left, magnitude, paid, pays
from noap.runtime.kernels import part

# Nothing here proves anything, so sums may be taken in any order.
ANY_ORDER = {"reassoc", "contract"}


@part
def largest(x, rho, count, taken, positions, magnitudes):
    """Fill `positions` with those of the `count` entries that are worth most and not taken, largest first."""
    seen = ZERO
    for j in range(x.shape[0]):
        if not taken[j]:
            keep_name(magnitude(rho, x, j), j, magnitudes, positions, ZERO, seen, count)
            seen += 1


@part
def sort_by_position(positions, weights):
    """Sort in place by position; insertion, because k is small and the positions are often in order already."""
    for i in range(1, positions.shape[0]):
        position, weight, j = positions[i], weights[i], i
        while j > 0 and positions[j - 1] > position:
            positions[j], weights[j] = positions[j - 1], weights[j - 1]
            j -= 1
        positions[j], weights[j] = position, weight


@part(fastmath=ANY_ORDER)
def shrink_to_unit(x, rho, positions):
    """Shrink the entries by rho and scale to length 1, in place; returns the length before scaling, 0 if none is left.

    That length is the distance of the best vector on these positions against the pull x. What is not worth its cost is
    left out, and the length is what is left after costs.
    """
    top = 0.0
    for i in range(x.shape[0]):
        size = abs(x[i]) - budget(rho, positions[i])
        if not pays(rho, positions[i], size):
            size = 0.0
        x[i] = 0.0 if size <= 0.0 else math.copysign(size, x[i])
        top = max(top, size)
    if top <= 0.0:
        return 0.0
    squares, scale = 0.0, 1.0 / top
    for i in range(x.shape[0]):
        x[i] *= scale  # first the largest entry, so that no square under- or overflows
        squares += x[i] * x[i]
    length = math.sqrt(squares)
    scale = 1.0 / length
    for i in range(x.shape[0]):
        x[i] *= scale
    return paid(rho, positions, x, length * top)


@part
def gather(S, positions, block):
    """Copy the k x k block of S."""
    for i in range(positions.shape[0]):
        row = S[positions[i]]
        for j in range(positions.shape[0]):
            block[i, j] = row[positions[j]]


@part(fastmath=ANY_ORDER)
def energy(block, weights, product):
    """Return v'Sv; `product` becomes Sv on the support."""
    k = weights.shape[0]
    for i in range(k):
        product[i] = 0.0
    for j in range(k):
        weight = weights[j]
        if weight != 0.0:
            for i in range(k):
                product[i] += weight * block[j, i]
    total = 0.0
    for i in range(k):
        total += product[i] * weights[i]
    return max(total, 0.0)


@part
def distance(block, rho, positions, weights, product):
    """Return sqrt(v'Sv) - rho |v|_1, at least 0."""
    return left(rho, positions, weights, math.sqrt(energy(block, weights, product)))


@part(fastmath=ANY_ORDER)
def alternate(block, rho, positions, weights, closed, rounds, still, product):
    """Alternate within the support, in place, until no weight moves by more than `still`.

    Position `closed` (-1 for none) stays empty.
    """
    for _ in range(rounds):
        e = math.sqrt(energy(block, weights, product))
        if e == 0.0:
            return
        scale = 1.0 / e
        for i in range(weights.shape[0]):
            product[i] *= scale
        if closed >= 0:
            product[closed] = 0.0
        if shrink_to_unit(product, rho, positions) == 0.0:
            return  # the adversary cancels what this vector is pulled to: it stays
        moved = 0.0
        for i in range(weights.shape[0]):
            moved = max(moved, abs(product[i] - weights[i]))
            weights[i] = product[i]
        if moved <= still:
            return


@part(fastmath=ANY_ORDER)
def pull(S, positions, weights, loadings):
    """Fill `loadings` with Sv/e; returns e."""
    for j in range(loadings.shape[0]):
        loadings[j] = 0.0
    for i in range(positions.shape[0]):
        weight = weights[i]
        if weight != 0.0:
            row = S[positions[i]]
            for j in range(loadings.shape[0]):
                loadings[j] += weight * row[j]
    total = 0.0
    for i in range(positions.shape[0]):
        total += weights[i] * loadings[positions[i]]
    if total <= 0.0:
        return 0.0
    e = math.sqrt(total)
    scale = 1.0 / e
    for j in range(loadings.shape[0]):
        loadings[j] *= scale
    return e
