"""What is taken off a feature: one budget rho for all, or budgets and costs of each.

Kernels are given `rho` as a number, or as an array of two rows: the budgets rho_j and the costs pi_j. In the second
case a pull x of feature j is worth (|x_j| - rho_j)_+^2 - pi_j, and a feature whose worth is not positive is left out.
Numba makes code of its own for each of the two; that for a number does what it would do if there were no other.
"""

import math

from numba import types
from numba.extending import overload

__all__ = ["budget", "left", "magnitude", "paid", "pays"]


def budget(rho, j):
    """Return the budget of feature j."""
    raise NotImplementedError


def pays(rho, j, size):
    """Return whether feature j, of which `size` is left, is worth more than it costs."""
    raise NotImplementedError


def magnitude(rho, x, j):
    """Return what the pull on feature j is worth; any number that orders features alike will do."""
    raise NotImplementedError


def paid(rho, positions, x, length):
    """Return the root of what is left of a squared length when the entries of x that are not 0 have been paid for."""
    raise NotImplementedError


def left(rho, positions, weights, energy):
    """Return what the adversary leaves of a vector, after costs: a root, at least 0."""
    raise NotImplementedError


@overload(budget)
def _budget(rho, j):
    def same_budget(rho, j):
        return rho

    def own_budget(rho, j):
        return rho[0, j]

    return same_budget if isinstance(rho, types.Number) else own_budget


@overload(pays)
def _pays(rho, j, size):
    def always_pays(rho, j, size):
        return True

    def pays_its_cost(rho, j, size):
        return rho[1, j] == 0.0 or size * size > rho[1, j]

    return always_pays if isinstance(rho, types.Number) else pays_its_cost


@overload(magnitude)
def _magnitude(rho, x, j):
    def size_of_pull(rho, x, j):
        return abs(x[j])

    def worth_of_pull(rho, x, j):
        size = max(abs(x[j]) - rho[0, j], 0.0)
        return size * size - rho[1, j]

    return size_of_pull if isinstance(rho, types.Number) else worth_of_pull


@overload(paid)
def _paid(rho, positions, x, length):
    def nothing_to_pay(rho, positions, x, length):
        return length

    def after_costs(rho, positions, x, length):
        cost = 0.0
        for i in range(x.shape[0]):
            if x[i] != 0.0:
                cost += rho[1, positions[i]]
        return length if cost == 0.0 else math.sqrt(max(length * length - cost, 0.0))

    return nothing_to_pay if isinstance(rho, types.Number) else after_costs


@overload(left)
def _left(rho, positions, weights, energy):
    def left_by_one_budget(rho, positions, weights, energy):
        length = 0.0
        for i in range(weights.shape[0]):
            length += abs(weights[i])
        return max(energy - rho * length, 0.0)

    def left_after_costs(rho, positions, weights, energy):
        spent, cost = 0.0, 0.0
        for i in range(weights.shape[0]):
            if weights[i] != 0.0:
                spent += rho[0, positions[i]] * abs(weights[i])
                cost += rho[1, positions[i]]
        away = max(energy - spent, 0.0)
        return away if cost == 0.0 else math.sqrt(max(away * away - cost, 0.0))

    return left_by_one_budget if isinstance(rho, types.Number) else left_after_costs
