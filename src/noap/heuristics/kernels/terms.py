"""What is taken off a feature: one budget rho for all, or budgets and costs of each.

Kernels are given `rho` as a number, or as an array of two rows: the budgets rho_j and the costs pi_j. In the second
case a pull x of feature j is worth (|x_j| - rho_j)_+^2 - pi_j, and a feature whose worth is not positive is left out.
Numba makes code of its own for each of the two; that for a number does what it would do if there were no other.
"""

import math

from numba import types
from numba.extending import overload

__all__ = ["budget", "gathered", "left", "magnitude", "paid", "pays"]


def budget(rho, i):
    """Return the budget of entry i."""
    raise NotImplementedError


def pays(rho, i, size):
    """Return whether entry i, of which `size` is left, is worth more than it costs."""
    raise NotImplementedError


def magnitude(rho, x, j):
    """Return what the pull on feature j is worth; any number that orders features alike will do."""
    raise NotImplementedError


def gathered(rho, positions, place):
    """Return the terms of the features at some positions, written into `place` if they differ."""
    raise NotImplementedError


def paid(rho, x, length):
    """Return the root of what is left of a squared length when the entries of x that are not 0 have been paid for."""
    raise NotImplementedError


def left(rho, weights, energy):
    """Return what the adversary leaves of a vector, after costs: a root, at least 0."""
    raise NotImplementedError


@overload(budget)
def _budget(rho, i):
    if isinstance(rho, types.Number):
        return lambda rho, i: rho
    return lambda rho, i: rho[0, i]


@overload(pays)
def _pays(rho, i, size):
    if isinstance(rho, types.Number):
        return lambda rho, i, size: True
    return lambda rho, i, size: rho[1, i] == 0.0 or size * size > rho[1, i]


@overload(magnitude)
def _magnitude(rho, x, j):
    if isinstance(rho, types.Number):
        return lambda rho, x, j: abs(x[j])

    def each(rho, x, j):
        size = max(abs(x[j]) - rho[0, j], 0.0)
        return size * size - rho[1, j]

    return each


@overload(gathered)
def _gathered(rho, positions, place):
    if isinstance(rho, types.Number):
        return lambda rho, positions, place: rho

    def each(rho, positions, place):
        for i in range(positions.shape[0]):
            place[0, i], place[1, i] = rho[0, positions[i]], rho[1, positions[i]]
        return place

    return each


@overload(paid)
def _paid(rho, x, length):
    if isinstance(rho, types.Number):
        return lambda rho, x, length: length

    def each(rho, x, length):
        cost = 0.0
        for i in range(x.shape[0]):
            if x[i] != 0.0:
                cost += rho[1, i]
        return length if cost == 0.0 else math.sqrt(max(length * length - cost, 0.0))

    return each


@overload(left)
def _left(rho, weights, energy):
    if isinstance(rho, types.Number):

        def alike(rho, weights, energy):
            length = 0.0
            for i in range(weights.shape[0]):
                length += abs(weights[i])
            return max(energy - rho * length, 0.0)

        return alike

    def each(rho, weights, energy):
        spent, cost = 0.0, 0.0
        for i in range(weights.shape[0]):
            if weights[i] != 0.0:
                spent += rho[0, i] * abs(weights[i])
                cost += rho[1, i]
        away = max(energy - spent, 0.0)
        return away if cost == 0.0 else math.sqrt(max(away * away - cost, 0.0))

    return each
