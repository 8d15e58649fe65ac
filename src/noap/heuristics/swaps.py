"""Vectors one exchange of features away from a given one."""

import numpy as np

from noap.heuristics.batch import Batch
from noap.heuristics.oracle import Oracle
from noap.linalg.types import IntArray
from noap.linalg.vectors import unit

__all__ = ["exchanges"]

# Features tried in each freed slot: the ones that pull hardest.
_ADDITIONS = 4


def exchanges(oracle: Oracle, single: Batch, rounds: int) -> Batch:
    """Return the vectors that drop one feature (or use an empty slot) and add one that pulls hard.

    Parameters
    ----------
    oracle : Oracle
    single : Batch of one vector
    rounds : int
        Rounds within the reduced support before the pull of the others is measured.
    """
    indices, weights = single.indices[0], single.weights[0]
    # Each row frees one slot: that of a dropped feature, or one that is empty already.
    slots = np.concatenate([np.flatnonzero(weights == 0)[:1], np.flatnonzero(weights)])
    reduced = np.repeat(weights[None, :], len(slots), axis=0)
    reduced[np.arange(len(slots)), slots] = 0.0
    useful = np.flatnonzero(reduced.any(axis=1))
    slots, reduced = slots[useful], unit(reduced[useful])
    additions = min(_ADDITIONS, len(oracle.column_norms) - len(indices))
    if len(slots) == 0 or additions == 0:
        return single[:0]
    held = oracle.refine(Batch(np.repeat(indices[None, :], len(slots), axis=0), reduced), rounds)
    return _filled(oracle, held, slots, additions)


def _filled(oracle: Oracle, held: Batch, slots: IntArray, additions: int) -> Batch:
    """Fill the free slot of every row with each of the features that pull hardest."""
    loadings = oracle.loadings(held)
    outside = np.abs(loadings)
    np.put_along_axis(outside, held.indices, 0.0, axis=1)
    added = np.argpartition(-outside, additions - 1, axis=1)[:, :additions]
    rows = np.repeat(np.arange(len(slots)), additions)
    indices = held.indices[rows]
    indices[np.arange(len(rows)), slots[rows]] = added.ravel()
    indices.sort(axis=1)
    # The half-step in v restricted to the new support: an exact step of the form.
    weights = oracle.adversary.shrink(np.take_along_axis(loadings[rows], indices, axis=1))
    return Batch(indices, unit(weights)).alive()
