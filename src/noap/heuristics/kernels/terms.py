"""What is taken off a feature: one budget rho for all, or budgets and costs of each.

Kernels are given `rho` as a number, or as an array of two rows: the budgets rho_j and the costs pi_j. In the second
case a pull x of feature j is worth (|x_j| - rho_j)_+^2 - pi_j, and a feature whose worth is not positive is left out.
Each function is written for both: Python looks at rho when it is called, Numba at its type, and makes code of its own
for each of the two; that for a number does what it would do if there were no other.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload

__all__ = ["budget", "left", "magnitude", "paid", "pays"]


def budget(rho, j):
    """Return the budget of feature j."""
    return _same_budget(rho, j) if np.isscalar(rho) else _own_budget(rho, j)


def _same_budget(rho, j):
    return rho


def _own_budget(rho, j):
    return rho[0, j]


@overload(budget)
def _compiled_budget(rho, j):
    return _same_budget if isinstance(rho, types.Number) else _own_budget


def pays(rho, j, size):
    """Return whether feature j, of which `size` is left, is worth more than it costs."""
    return _always_pays(rho, j, size) if np.isscalar(rho) else _pays_its_cost(rho, j, size)


def _always_pays(rho, j, size):
    return True


def _pays_its_cost(rho, j, size):
    return rho[1, j] == 0.0 or size * size > rho[1, j]


@overload(pays)
def _compiled_pays(rho, j, size):
    return _always_pays if isinstance(rho, types.Number) else _pays_its_cost


def magnitude(rho, x, j):
    """Return what the pull on feature j is worth; any number that orders features alike will do."""
    return _size_of_pull(rho, x, j) if np.isscalar(rho) else _worth_of_pull(rho, x, j)


def _size_of_pull(rho, x, j):
    return abs(x[j])


def _worth_of_pull(rho, x, j):
    size = max(abs(x[j]) - rho[0, j], 0.0)
    return size * size - rho[1, j]


@overload(magnitude)
def _compiled_magnitude(rho, x, j):
    return _size_of_pull if isinstance(rho, types.Number) else _worth_of_pull


def paid(rho, positions, x, length):
    """Return the root of what is left of a squared length when the entries of x that are not 0 have been paid for."""
    return _nothing_to_pay(rho, positions, x, length) if np.isscalar(rho) else _after_costs(rho, positions, x, length)


def _nothing_to_pay(rho, positions, x, length):
    return length


def _after_costs(rho, positions, x, length):
    cost = 0.0
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            cost += rho[1, positions[i]]
    return length if cost == 0.0 else math.sqrt(max(length * length - cost, 0.0))


@overload(paid)
def _compiled_paid(rho, positions, x, length):
    return _nothing_to_pay if isinstance(rho, types.Number) else _after_costs


def left(rho, positions, weights, energy):
    """Return what the adversary leaves of a vector, after costs: a root, at least 0."""
    leaves = _left_by_one_budget if np.isscalar(rho) else _left_after_costs
    return leaves(rho, positions, weights, energy)


def _left_by_one_budget(rho, positions, weights, energy):
    length = 0.0
    for i in range(weights.shape[0]):
        length += abs(weights[i])
    return max(energy - rho * length, 0.0)


def _left_after_costs(rho, positions, weights, energy):
    spent, cost = 0.0, 0.0
    for i in range(weights.shape[0]):
        if weights[i] != 0.0:
            spent += rho[0, positions[i]] * abs(weights[i])
            cost += rho[1, positions[i]]
    away = max(energy - spent, 0.0)
    return away if cost == 0.0 else math.sqrt(max(away * away - cost, 0.0))


@overload(left)
def _compiled_left(rho, positions, weights, energy):
    return _left_by_one_budget if isinstance(rho, types.Number) else _left_after_costs
