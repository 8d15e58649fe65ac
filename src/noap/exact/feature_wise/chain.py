"""What is proved of 0, 1, ..., k features, and what proves it: each level stands on those before it."""

from dataclasses import replace

import numpy as np

from noap.exact.feature_wise.attempt import Attempt, Prover, proof_of
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.relaxation.relaxation import Relaxation
from noap.heuristics.batch import truncate
from noap.heuristics.climber import Climber
from noap.heuristics.oracle import GramOracle
from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelsProof

__all__ = ["Chain"]

# A start has so many candidates, and each climbs for so many steps.
_CANDIDATES, _STEPS = 8, 12


class Chain:
    """Bounds on the optima of 0 to k features of one instance.

    Attributes
    ----------
    below : array of shape (k + 1,)
        The bounds, in the units of the instance.
    proofs : list of (k, bound, prover, instance)
        What proved them, in the order in which they may be checked.
    incumbents : dict
        The best vector of each number of features that was tried.
    """

    def __init__(self, instance: GramInstance) -> None:
        self.instance = instance
        self.below: FloatArray = instance.largest_worths_of_each()
        self.proofs: list[tuple[int, float, Prover, GramInstance]] = []
        self.incumbents: dict[int, Incumbent] = {}

    def at(self, k: int) -> GramInstance:
        """Return the instance with k features, and what is proved of fewer."""
        # Raised: where two levels are worth the same their last digits must not decide, for the checker has its own.
        return replace(self.instance, k=k, below=self.below[:k] * (1.0 + 1e-13) if k > 1 else np.empty(0))

    def incumbent(self, k: int) -> Incumbent:
        """Return the best vector of k features so far; at first one that ascent reaches from the neighbours'."""
        if k not in self.incumbents:
            self.incumbents[k] = self._started(k)
        return self.incumbents[k]

    def _started(self, k: int) -> Incumbent:
        norms, rho = self.instance.norms, self.instance.terms.rho
        known = [np.eye(1, len(norms), self.instance.strongest)[0]]
        known += [one.v for q, one in self.incumbents.items() if q >= k]
        if k - 1 in self.incumbents:
            # One feature more: each of those that pull hardest.
            before = self.incumbents[k - 1]
            pull = np.where(before.v == 0, np.abs(before.g), -1.0)
            for j in np.argsort(-pull, kind="stable")[:_CANDIDATES]:
                more = before.v.copy()
                more[j] = np.sign(before.g[j]) * max(abs(before.g[j]) - rho[j], 0.1 * np.abs(before.v).max())
                known.append(more)
        climber = Climber(GramOracle(self.instance.A, self.instance.adversary, self.instance.costs), k)
        starts = climber.measured(truncate(np.array(known), k).alive())
        reached = climber.climb(starts, len(starts), _STEPS)
        best = starts.joined(reached).best(1)
        return Incumbent(replace(self.instance, k=k), best.batch.first(len(norms)))

    def take(self, attempt: Attempt) -> bool:
        """Take what an attempt proved, and what follows for the levels around it; returns whether anything is new."""
        k = attempt.instance.k
        if not attempt.bound < self.below[k]:
            return False
        if isinstance(attempt.prover, Relaxation):
            attempt.prover.rest()
        if attempt.prover is not None:  # there is none where no proof is kept
            self.proofs.append((k, attempt.bound, attempt.prover, attempt.instance))
        self.below[k] = attempt.bound
        for q in range(k + 1, len(self.below)):
            # Leave out the weakest q - k features of a support: what stays is worth at least k/q of it.
            self.below[q] = min(self.below[q], attempt.bound * q / k * (1.0 + 1e-14))
        return True

    def proof(self, k: int) -> GramProof | LevelsProof:
        """Return what proves the bound on k features."""
        if not self.proofs:
            return GramProof.trivial(self.instance.outward(float(self.below[k])))
        # What was proved after it, or of more features, is of no use to it.
        last = [n for n, (q, bound, *_) in enumerate(self.proofs) if q == k and bound == self.below[k]]
        wanted = [one for one in (self.proofs[: last[0] + 1] if last else self.proofs) if one[0] <= k]
        bounds = np.array([self.instance.outward(bound) for _, bound, *_ in wanted])
        trees = tuple(proof_of(prover, instance) for *_, prover, instance in wanted)
        return LevelsProof(np.array([q for q, *_ in wanted], dtype=np.uint32), bounds, trees)
