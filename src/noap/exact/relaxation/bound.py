"""The relaxation as a method of its own: a bound in polynomial time, and the vector that it points to."""

import numpy as np

from noap.exact.feature_wise.attempt import relaxation_of
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.outcome import SearchOutcome
from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, soft, unit
from noap.problem import Problem
from noap.runtime.controls import Controls
from noap.runtime.limits import Limit
from noap.runtime.threads import one_thread

__all__ = ["relax"]

# Half-steps from the vector that the relaxation points to.
_ROUNDS = 30


def relax(problem: Problem, controls: Controls, v: FloatArray, keep_proof: bool) -> SearchOutcome:
    """Bound the optimum by the relaxation, until it meets the gap, more work does not help, or the time is up.

    Parameters
    ----------
    problem : Problem
        With an adversary that leaves (|Xv| - rho |v|_1)_+, and a positive optimum.
    controls : Controls
    v : array of shape (d,)
        A good k-sparse unit vector, no worse than the best single feature.
    keep_proof : bool
    """
    instance = GramInstance.of(problem)
    incumbent = Incumbent(instance, instance.inside(v))
    relaxation = relaxation_of(instance, branching=False)
    target = incumbent.target(controls.gap)
    try:
        with one_thread(len(instance.norms)):
            while not (relaxation.done or relaxation.bound <= target or controls.expired()):
                relaxation.advance(target)
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
    _follow(instance, incumbent, relaxation.W)
    found = np.zeros(problem.n_features)
    found[instance.features] = incumbent.v
    proof = relaxation.proof(instance.features, instance.unit) if keep_proof and instance.clear_cut else None
    return SearchOutcome(unit(found), instance.outward(relaxation.bound), relaxation.nodes, controls.limit, (), proof)


def _follow(instance: GramInstance, incumbent: Incumbent, W: FloatArray | None) -> None:
    """Offer the vectors that the half-steps reach from the leading direction of W."""
    if W is None:
        return
    v = unit(keep_top_k(np.linalg.eigh(W)[1][:, -1][None, :], instance.k))[0]
    for _ in range(_ROUNDS):
        pulled = instance.A @ v
        energy = float(np.sqrt(max(v @ pulled, 0.0)))
        moved = keep_top_k(soft(pulled / energy, instance.terms.rho)[None, :], instance.k)[0] if energy > 0 else v * 0.0
        if not moved.any():
            return
        v = unit(moved)
        incumbent.offer(v)
