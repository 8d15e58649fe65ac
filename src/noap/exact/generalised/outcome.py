"""Which search proves a problem with a metric."""

from noap.data.pencil import Pencil, least_eigenvalue
from noap.exact.generalised.diagonal import diagonal_outcome
from noap.exact.generalised.plain import PlainSearch, Prove
from noap.exact.generalised.robust import NEAR_SINGULAR, RobustSearch
from noap.exact.generalised.violators import few_supports
from noap.exact.outcome import SearchOutcome
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["metric_outcome"]


def metric_outcome(problem: Problem, controls: Controls, v: FloatArray, limits: Limits, prove: Prove) -> SearchOutcome:
    """Prove the optimum of a problem with a metric, starting from v with v'Bv = 1."""
    assert problem.metric is not None
    if problem.metric.ndim == 1:
        return diagonal_outcome(problem, controls, v, limits, prove)
    pencil = Pencil.of(problem)
    # Where all supports are looked at the smallest eigenvalue of all of B does not count.
    singular = least_eigenvalue(pencil.B) < NEAR_SINGULAR and few_supports(pencil)
    if pencil.is_idle and not singular:
        return PlainSearch(pencil, controls, limits, pencil.inside(v), prove).run()
    return RobustSearch(pencil, controls, limits, pencil.inside(v), prove).run()
