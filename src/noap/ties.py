"""Ties: features that can stand in for one another without changing the value."""

import dataclasses
import math

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.result import Result
from noap.runtime.names import listed

__all__ = ["break_ties", "lowest_tie"]

# Distances that agree to this share of themselves, or of the largest column, are one number as far as rounding lets
# anyone tell.
_SAME, _ROUNDING = 5e-13, 4e-15
# Pairs whose energies differ by more than this share are not worth an exact comparison.
_CLOSE = 1e-9


def break_ties(result: Result, barred: IntArray | None = None) -> tuple[Result, tuple[tuple[int, int], ...]]:
    """Return the result with ties given to the lowest index and a message about them, and the pairs (kept, tied).

    Features that are `barred` stand in for none.
    """
    v, pairs = lowest_tie(result.problem, result.v, barred)
    names = result.problem.feature_names
    name = str if names is None else names.__getitem__
    notes = []
    for kept in dict.fromkeys(first for first, _ in pairs):
        others = [name(other) for first, other in pairs if first == kept]
        notes.append(f"Feature {name(kept)} ties with {listed(others, 5)}; the first of them was kept.")
    if not notes:
        return result, ()
    return dataclasses.replace(result, v=v, messages=(*result.messages, *notes)), pairs


def lowest_tie(
    problem: Problem, v: FloatArray, barred: IntArray | None = None
) -> tuple[FloatArray, tuple[tuple[int, int], ...]]:
    """Return v with every feature handed to the tied feature of lowest index, and the pairs (kept, tied).

    Two features tie when one takes the other's weight (up to sign) and the value stays. Only single exchanges are
    tried, so two supports that differ in more than one feature can tie unnoticed.

    Parameters
    ----------
    problem : Problem
    v : array of shape (d,)
        A k-sparse unit vector.
    barred : array of int, optional
        Features that may not stand in for others.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[0.0, 1.0, 1.0], [0.1, 2.0, 2.0]], k=1, adversary=noap.NoAdversary())
    >>> lowest_tie(problem, np.array([0.0, 0.0, 1.0]))
    (array([0., 1., 0.]), ((1, 2),))
    """
    if problem.orthogonal_to is not None:  # a feature that takes another's place need not be orthogonal
        return v, ()
    pairs: list[tuple[int, int]] = []
    distance = _root(problem, v)
    if distance == 0:
        return v, ()
    slack = _SAME * distance + _ROUNDING * math.sqrt(problem.scale)
    for j in np.flatnonzero(v).tolist():
        swaps = _exchanges(problem, v, j, barred)
        rivals = {rival: w for rival, w in swaps if abs(_root(problem, w) - distance) <= slack}
        if not rivals:
            continue
        kept = min(j, *rivals)
        pairs += [(kept, other) for other in sorted({j, *rivals} - {kept})]
        v = rivals.get(kept, v)
    return v, tuple(sorted(pairs))


def _root(problem: Problem, v: FloatArray) -> float:
    """Return the root of the value of v; 0 where costs make it negative."""
    return math.sqrt(max(problem.value(v), 0.0))


def _exchanges(problem: Problem, v: FloatArray, j: int, barred: IntArray | None) -> list[tuple[int, FloatArray]]:
    """Return the vectors in which another feature has the weight of j and |Xv| is (nearly) the same, by feature."""
    support = np.flatnonzero(v)
    cross = problem.covariance_columns(support)
    pulled = cross @ v[support]
    rest = pulled - v[j] * cross[:, np.searchsorted(support, j)]  # S times the vector without j
    diagonal = np.diag(problem.covariance) if problem.X is None else problem.column_norms**2 / problem.n_samples
    signs = np.where(rest * v[j] < 0, -1.0, 1.0)
    energy = float(v @ pulled)
    swapped = energy - v[j] * (pulled[j] + rest[j]) + 2 * signs * v[j] * rest + v[j] ** 2 * diagonal
    close = np.abs(swapped - energy) <= _CLOSE * energy
    close[support] = False
    if barred is not None:
        close[barred] = False
    vectors = []
    for rival in np.flatnonzero(close):
        w = v.copy()
        w[rival], w[j] = signs[rival] * v[j], 0.0
        vectors.append((int(rival), w))
    return vectors
