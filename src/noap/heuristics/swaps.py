"""Vectors one exchange of features away from a given one."""

import numpy as np

from noap.heuristics.batch import Batch, stepped, worths
from noap.heuristics.oracle import GramOracle
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.types import IntArray
from noap.linalg.vectors import unit

__all__ = ["exchanges"]

# Features tried in each freed slot: the ones that pull hardest.
_ADDITIONS = 4


def exchanges(oracle: GramOracle | SampleOracle, batch: Batch, rounds: int) -> Batch:
    """Return the vectors that drop one feature (or use an empty slot) and add one that pulls hard.

    Parameters
    ----------
    oracle : GramOracle or SampleOracle
    batch : Batch
        Any number of vectors; the exchanges of all of them come back together.
    rounds : int
        Rounds within the reduced support before the pull of the others is measured.
    """
    additions = min(_ADDITIONS, len(oracle.column_norms) - batch.indices.shape[1])
    # Each candidate frees one slot: that of a feature that is dropped, or the first that is empty already.
    empty = batch.weights == 0
    first_empty = empty & (np.cumsum(empty, axis=1) == 1)
    owners, slots = np.nonzero(~empty | first_empty)
    reduced = batch.weights[owners]
    reduced[np.arange(len(slots)), slots] = 0.0
    useful = np.flatnonzero(reduced.any(axis=1))
    if len(useful) == 0 or additions == 0:
        return batch[:0]
    slots, owners = slots[useful], owners[useful]
    held = oracle.refine(Batch(batch.indices[owners], unit(reduced[useful])), rounds)
    return _filled(oracle, held, slots, additions)


def _filled(oracle: GramOracle | SampleOracle, held: Batch, slots: IntArray, additions: int) -> Batch:
    """Fill the free slot of every row with each of the features that pull hardest."""
    loadings = oracle.loadings(held)
    outside = worths(oracle.adversary, loadings, oracle.costs)
    outside[np.arange(len(held))[:, None], held.indices] = 0.0 if oracle.costs is None else -np.inf
    added = np.argpartition(-outside, additions - 1, axis=1)[:, :additions]
    rows = np.repeat(np.arange(len(slots)), additions)
    indices = held.indices[rows]
    indices[np.arange(len(rows)), slots[rows]] = added.ravel()
    indices.sort(axis=1)
    # The half-step in v restricted to the new support: an exact step of the form.
    weights = stepped(oracle.adversary, loadings[rows[:, None], indices], indices, oracle.costs)
    return Batch(indices, weights).alive()
