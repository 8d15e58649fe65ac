r"""A bound on all components together from one matrix near A, and which features no good packing uses.

docs/components.md proves it: summed over disjoint supports, the inequalities of the relaxation need the sum of the r
largest eigenvalues of B only, and every place once.
"""

import math
from dataclasses import dataclass

import numpy as np

from noap.exact.feature_wise.instance import GramInstance
from noap.exact.relaxation.eigenvalue import confirmed_sum
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Nearby
from noap.exact.relaxation.node import Node
from noap.exact.relaxation.record import proof_of_tree
from noap.exact.relaxation.relaxation import MOST_FEATURES
from noap.exact.relaxation.together import JointMultiplier
from noap.linalg.outward import scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.certificate import Certificate
from noap.proofs.claim import Claim
from noap.runtime.controls import Controls
from noap.runtime.threads import one_thread

__all__ = ["Together", "TogetherSearch"]

# Steps of ADMM between two looks, and looks between two questions whether it still pays: whether it took this part of
# what is above the target.
_STEPS, _LOOKS, _WORTH_IT = 5, 12, 0.04
# Looks at least, which is what features need to be told to be out, and at most: where there is no time limit the trees
# are to have their turn.
_LEAST_LOOKS, _MOST_LOOKS = 36, 200


@dataclass(frozen=True, eq=False)
class Together:
    """What an inequality proves of all packings, or several of them.

    Attributes
    ----------
    bound : float
        No packing is worth more.
    using : array of shape (d,)
        No packing that uses the feature is; infinite where nothing is said.
    inequalities : tuple
    """

    bound: float
    using: FloatArray
    inequalities: tuple[Inequality, ...]

    def removable(self, target: float) -> IntArray:
        """Return the features that no packing above the target uses."""
        return np.flatnonzero(self.using <= target)

    def beside(self, other: "Together") -> "Together":
        """Return what both prove."""
        bound, using = min(self.bound, other.bound), np.minimum(self.using, other.using)
        return Together(bound, using, (*self.inequalities, *other.inequalities))


class TogetherSearch:
    """Looks for the best such inequality.

    Attributes
    ----------
    best : Together or None
        What is proved so far.
    looks : int
    """

    def __init__(self, problem: Problem, ks: tuple[int, ...]) -> None:
        self.problem, self.ks = problem.with_sparsity(max(ks)), ks
        self.best: Together | None = None
        self.looks = 0
        self.usable = problem.adversary.gram_suffices and problem.adversary.is_idle
        if self.usable:
            self.instance = instance = GramInstance.of(self.problem)
            self.usable = 2 <= len(instance.norms) <= MOST_FEATURES and instance.clear_cut
        if self.usable:
            rank = min(len(ks), len(instance.norms))
            self._state = JointMultiplier.of_components(instance.A, instance.k, rank, instance.costs)

    def run(self, target: float, controls: Controls, seconds: float | None) -> None:
        """Lower the bound as long as that pays, and see which features no better packing uses."""
        if not self.usable:
            return
        until = None if seconds is None else controls.seconds + seconds
        goal = target / self.instance.unit
        with one_thread(len(self.instance.norms)):
            lowest, last = self._climb(goal, controls, until)
            self.best = best = self._proved(lowest)
            if best is None or best.bound <= target or last is lowest:
                return
            proved = self._proved(last)
            if proved is not None and len(proved.removable(target)) > len(best.removable(target)):
                self.best = best.beside(proved)

    def _climb(self, goal: float, controls: Controls, until: float | None) -> tuple[Nearby, Nearby]:
        """Return the matrix that says most, of those that ADMM passes by, and the last, which removes most."""
        found, lowest = self._advanced()
        best, before = found, math.inf
        for look in range(1, _MOST_LOOKS):
            if lowest <= goal or controls.expired() or (until is not None and controls.seconds > until):
                break
            if look % _LOOKS == 0:
                # From here on features that are not used pay less and less: what they do not pay tells them to be out.
                self._state.sparing = True
                if look >= _LEAST_LOOKS and before - lowest < _WORTH_IT * (before - goal):
                    break
                before = lowest
            found, height = self._advanced()
            if height < lowest:
                best, lowest = found, height
        return best, found

    def _advanced(self) -> tuple[Nearby, float]:
        """Take some steps; returns the matrix and about what it proves."""
        state, instance = self._state, self.instance
        m, r = len(state.A), len(self.ks)
        every = np.ones(m, dtype=np.bool_)
        prices, mu = state.costs + state.each - state.own, state.mu
        found = state.advance(0.0, every, min(instance.k, max(sum(self.ks) // r, 1)), _STEPS)
        self.looks += 1
        largest = np.maximum(np.linalg.eigvalsh(found.B)[-r:], 0.0).sum()
        places = np.sort(np.maximum(prices, 0.0))[::-1][: sum(self.ks)].sum()
        return found, float(largest + mu * sum(self.ks) + places)

    @property
    def prices(self) -> FloatArray:
        """The prices of features that the multipliers have come to: of all, in the units of the problem."""
        prices: FloatArray = np.zeros(self.problem.n_features)
        if self.usable:
            prices[self.instance.features] = self._state.prices * self.instance.unit
        return prices

    def packing(self) -> list[tuple[IntArray, FloatArray]]:
        """Return supports that W points to, the places and weights of each: of a sum of v v' a row of it is a v."""
        if self.best is None:
            return []
        W, found = self._state.W.copy(), []
        for k in sorted(self.ks, reverse=True):
            j = int(np.argmax(W.diagonal()))
            if not W[j, j] > 0:
                break
            places = np.argsort(-np.abs(W[j]), kind="stable")[:k]
            places = places[W[j, places] != 0]  # the others may belong to those before
            found.append((self.instance.features[places], W[j, places]))
            W[places], W[:, places] = 0.0, 0.0
        return found

    def _proved(self, found: Nearby) -> Together | None:
        """Prove what a matrix says of all packings; None if that fails."""
        instance = self.instance
        made = Inequality.of_matrix(instance.A, np.arange(len(instance.A)), found)
        largest = None if made is None else confirmed_sum(_matrix_of(made, instance.A), len(self.ks))
        if made is None or largest is None:
            return None
        total, k = sum(self.ks), max(self.ks)
        taken: FloatArray = made.prices * k + made.dues
        adds = taken - self._costs + 1e-15 * (taken + self._costs)
        falling = np.sort(np.maximum(adds, 0.0))[::-1]
        most = up(largest + up(max(made.mu, 0.0) * total) + up(float(falling[:total].sum()), len(adds) + 4), 8)
        last = float(falling[total - 1]) if total <= len(adds) else 0.0
        # Where a feature is used there is room for one less of the others.
        using = most + np.minimum(adds - last, 0.0) + 1e-14 * (most + np.abs(adds))
        exponent = math.frexp(instance.unit)[1] - 1
        known: FloatArray = np.full(self.problem.n_features, math.inf)
        known[instance.features] = [scaled_up(max(x, 0.0), exponent) for x in using.tolist()]
        return Together(scaled_up(most, exponent), known, (made,))

    @property
    def _costs(self) -> FloatArray:
        return np.zeros(len(self.instance.A)) if self.instance.costs is None else self.instance.costs

    def certificate(self) -> Certificate | None:
        """Return the certificate of the problem with one component that holds the inequalities; None without any."""
        if self.best is None:
            return None
        instance, every = self.instance, np.ones(len(self.instance.A), dtype=np.bool_)
        root = Node(~every, every, list(self.best.inequalities), None, 0.0, instance.k, costs=self._costs)
        bound = instance.outward(root.bound)
        root.inequalities = list(self.best.inequalities)  # also those that say nothing new of one component
        proof = proof_of_tree(root, instance.features, instance.unit, float(np.abs(instance.A).max()))
        return Certificate(Claim.about(self.problem, 0.0, bound), np.empty(0, dtype=np.uint32), np.empty(0), proof)


def _matrix_of(made: Inequality, A: FloatArray) -> FloatArray:
    """Return the matrix as the proof holds it."""
    assert made.entries is not None
    B: FloatArray = np.zeros_like(A)
    B[np.triu_indices(len(A))] = made.entries.astype(np.float64) * float(np.abs(A).max())
    return B + np.triu(B, 1).T
