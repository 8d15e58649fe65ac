"""What ascent asks for: starts, climbs to fixed points, and exchanges of a feature.

All vectors advance as the rows of one matrix, so that the time goes into a few large products. On the samples, or on
X'X where that is enough: the oracle decides.
"""

from collections.abc import Iterator

import numpy as np

from noap.heuristics.batch import Batch, choose
from noap.heuristics.measured import MeasuredVectors
from noap.heuristics.oracle import GramOracle
from noap.heuristics.sample_oracle import SampleOracle
from noap.heuristics.starts import start_batches, strengths
from noap.heuristics.swaps import exchanges
from noap.linalg.types import FloatArray

__all__ = ["Climber", "ascend", "best_distinct"]

# Rounds within a support per step: enough to rank supports, few enough to stay a small part of the cost.
_ROUNDS = 4
# Exchanges per vector that climb on, the best ones: on 200 random problems twice k of them found nothing better.
_CLIMBERS = 8
# A support counts as improved when its distance grows by more than rounding.
_IMPROVED = 1 + 1e-10
# Beyond so many samples supports are sought on so few of them: a start costs time in proportion to the samples.
_MANY, _FEW = 16384, 4096


class Climber:
    """Moves vectors of at most k features uphill, and remembers where it has been.

    No move goes down: what comes back is at least as far from being cancelled as what went in.
    """

    def __init__(self, oracle: GramOracle | SampleOracle, k: int) -> None:
        self.oracle, self.k = oracle, k
        self.strengths: FloatArray = strengths(oracle.adversary, oracle.column_norms, oracle.costs)
        self._seen: set[int] = set()

    def measured(self, batch: Batch) -> MeasuredVectors:
        """Return the vectors with their distances."""
        return MeasuredVectors(batch, self.oracle.distances(batch))

    def starts(self, rng: np.random.Generator) -> Iterator[MeasuredVectors]:
        """Yield starts from features, samples, and leading and random directions."""
        for batch in start_batches(self.oracle, self.k, rng):
            yield self.measured(self.oracle.refine(batch, _ROUNDS))

    def climb(self, candidates: MeasuredVectors, count: int, max_steps: int) -> MeasuredVectors:
        """Return the fixed points above the best candidates whose supports are new."""
        new = self._unseen(candidates)[:count]
        if len(new) == 0:
            return new
        reached = self._unseen(self.measured(ascend(self.oracle, new.batch, self.k, max_steps)))
        self._seen.update(new.batch.keys().tolist(), reached.batch.keys().tolist())
        return reached

    def _unseen(self, vectors: MeasuredVectors) -> MeasuredVectors:
        """Return those on supports not seen before, one per support, best first."""
        vectors = best_distinct(vectors)
        new = [key not in self._seen for key in vectors.batch.keys().tolist()]
        return vectors[np.flatnonzero(new)]

    def exchanges(self, vectors: MeasuredVectors) -> MeasuredVectors:
        """Return the best exchanges of one feature of the vectors."""
        candidates = exchanges(self.oracle, vectors.batch, _ROUNDS)
        if len(candidates) == 0:
            return vectors[:0]
        return best_distinct(self.measured(self.oracle.refine(candidates, _ROUNDS)))[: _CLIMBERS * len(vectors)]

    def thinned(self, rng: np.random.Generator) -> "Climber | None":
        """Return a climber over some of the samples if there are many; drawn at random, so that they stand for all."""
        # Where |Xv| is all that counts, a sample is not a term of its own.
        if isinstance(self.oracle, GramOracle) or self.oracle.adversary.gram_suffices:
            return None
        n = self.oracle.X.shape[0]
        if n <= _MANY:
            return None
        rows = np.sort(rng.choice(n, _FEW, replace=False, shuffle=False))
        return Climber(self.oracle.thinned(rows), self.k)

    def to_fixed_point(self, vector: MeasuredVectors) -> MeasuredVectors:
        """Run one vector to the fixed point of both half-steps, to rounding."""
        for _ in range(8):
            if vector.distances[0] <= 0:
                break
            vector = self.measured(self.oracle.settled(vector.batch))
            moved = self.measured(ascend(self.oracle, vector.batch, self.k, 1))
            if len(moved) == 0 or moved.distances[0] <= _IMPROVED * vector.distances[0]:
                break
            vector = moved
        return vector


def ascend(oracle: GramOracle | SampleOracle, batch: Batch, k: int, max_steps: int) -> Batch:
    """Alternate until no support changes; rows that meet on one support are merged."""
    finished = []
    for _ in range(max_steps):
        moved = oracle.refine(choose(oracle.adversary, oracle.loadings(batch), k, oracle.costs), _ROUNDS)
        alive = moved.weights.any(axis=1)
        # A vector that the adversary cancels has no direction to improve in: it is its own fixed point.
        at_rest = ~alive | (moved.indices == batch.indices).all(axis=1)
        finished += [batch[np.flatnonzero(~alive)], moved[np.flatnonzero(at_rest & alive)]]
        batch = moved[np.flatnonzero(~at_rest)]
        if len(batch) == 0:
            break
        batch = best_distinct(MeasuredVectors(batch, oracle.distances(batch))).batch
    return oracle.refine(Batch.join([*finished, batch]).alive(), 2 * _ROUNDS)


def best_distinct(vectors: MeasuredVectors) -> MeasuredVectors:
    """Return the best vector on every support, best first."""
    ranked = vectors.best(len(vectors))
    _, first = np.unique(ranked.batch.keys(), return_index=True)
    return ranked[np.sort(first)]
