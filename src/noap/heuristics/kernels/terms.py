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
    def same_budget(rho, i):
        return rho

    def own_budget(rho, i):
        return rho[0, i]

    return same_budget if isinstance(rho, types.Number) else own_budget


@overload(pays)
def _pays(rho, i, size):
    def always_pays(rho, i, size):
        return True

    def pays_its_cost(rho, i, size):
        return rho[1, i] == 0.0 or size * size > rho[1, i]

    return always_pays if isinstance(rho, types.Number) else pays_its_cost


@overload(magnitude)
def _magnitude(rho, x, j):
    def size_of_pull(rho, x, j):
        return abs(x[j])

    def worth_of_pull(rho, x, j):
        size = max(abs(x[j]) - rho[0, j], 0.0)
        return size * size - rho[1, j]

    return size_of_pull if isinstance(rho, types.Number) else worth_of_pull


@overload(gathered)
def _gathered(rho, positions, place):
    def same_terms(rho, positions, place):
        return rho

    def own_terms(rho, positions, place):
        for i in range(positions.shape[0]):
            place[0, i], place[1, i] = rho[0, positions[i]], rho[1, positions[i]]
        return place

    return same_terms if isinstance(rho, types.Number) else own_terms


@overload(paid)
def _paid(rho, x, length):
    def nothing_to_pay(rho, x, length):
        return length

    def after_costs(rho, x, length):
        cost = 0.0
        for i in range(x.shape[0]):
            if x[i] != 0.0:
                cost += rho[1, i]
        return length if cost == 0.0 else math.sqrt(max(length * length - cost, 0.0))

    return nothing_to_pay if isinstance(rho, types.Number) else after_costs


@overload(left)
def _left(rho, weights, energy):
    def left_by_one_budget(rho, weights, energy):
        length = 0.0
        for i in range(weights.shape[0]):
            length += abs(weights[i])
        return max(energy - rho * length, 0.0)

    def left_after_costs(rho, weights, energy):
        spent, cost = 0.0, 0.0
        for i in range(weights.shape[0]):
            if weights[i] != 0.0:
                spent += rho[0, i] * abs(weights[i])
                cost += rho[1, i]
        away = max(energy - spent, 0.0)
        return away if cost == 0.0 else math.sqrt(max(away * away - cost, 0.0))

    return left_by_one_budget if isinstance(rho, types.Number) else left_after_costs
