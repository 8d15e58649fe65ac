"""A diagonal metric: the search without one, in other units."""

from dataclasses import replace

from noap.data.rescaling import Rescaled
from noap.exact.generalised.plain import Prove
from noap.exact.outcome import SearchOutcome
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.metric import MetricProof
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["diagonal_outcome"]


def diagonal_outcome(
    problem: Problem, controls: Controls, v: FloatArray, limits: Limits, prove: Prove
) -> SearchOutcome:
    """Prove the optimum of a problem whose metric is diagonal, starting from v with v'Bv = 1."""
    assert problem.metric is not None
    units = Rescaled.of(problem)
    # Changing the units back costs some ulps.
    own = replace(controls, gap=max(controls.gap - 1e-13, 0.0) if controls.gap > 1e-12 else controls.gap)
    outcome = prove(units.problem, own, units.inside(v), limits)
    controls.limit, controls.started = own.limit, own.started
    proof = None
    if outcome.proof is not None:
        proof = MetricProof(0.0, 0.0, float(outcome.bound), outcome.proof)  # type: ignore[arg-type]
    return replace(outcome, v=units.outside(outcome.v, problem.metric), bound=units.bound(outcome.bound), proof=proof)
