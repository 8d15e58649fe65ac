r"""An adversary whose optimum is that of another problem.

**SpectralNorm.** For unit v the value :math:`(\|Xv\| - \rho)_+^2/n` rises with :math:`\|Xv\|`, so that a bound B on the
plain variance of every k-sparse direction is the bound :math:`(\sqrt{nB} - \rho)_+^2/n` here, and its proof the proof.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from noap.adversaries import NoAdversary
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.linalg.outward import up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["less_spectral_budget", "spectral_outcome"]

Prove = Callable[[Problem, Controls, FloatArray, Limits], SearchOutcome]


def less_spectral_budget(bound: float, n: int, rho: float) -> float:
    """Return (sqrt(n bound) - rho)_+^2/n, rounded up.

    >>> less_spectral_budget(8.0, 2, 1.0) >= 4.5
    True
    """
    root = up(math.sqrt(up(n * bound)))
    if root <= rho:
        return 0.0
    left = math.nextafter(root - rho, math.inf)
    return up(left * left / n)


def spectral_outcome(
    problem: Problem, controls: Controls, v: FloatArray, limits: Limits, prove: Prove
) -> SearchOutcome:
    """Prove the optimum against SpectralNorm by that of plain sparse PCA, to the gap that is needed there."""
    n, rho = problem.n_samples, float(problem.adversary.rho)
    plain = problem.with_adversary(NoAdversary())
    root = math.sqrt(n * plain.value(v))
    gap = controls.gap
    if root > rho:
        # sqrt(n bound) may be so far above the root that the square of what is left grows by a share of `gap`.
        highest = root + (root - rho) * (math.sqrt(1.0 + gap) - 1.0)
        gap = min(gap, (highest / root) ** 2 - 1.0)
    outcome = prove(plain, replace(controls, gap=gap), v, limits)
    trace = tuple(
        TracePoint(
            point.seconds,
            less_spectral_budget(point.value, n, rho),
            less_spectral_budget(point.bound, n, rho),
            point.nodes,
        )
        for point in outcome.trace
    )
    return replace(outcome, bound=less_spectral_budget(outcome.bound, n, rho), trace=trace)
