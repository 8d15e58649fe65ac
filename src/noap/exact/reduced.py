r"""Adversaries whose optimum is that of another problem, or is bounded by it.

**SpectralNorm.** For unit v the value :math:`(\|Xv\| - \rho)_+^2/n` rises with :math:`\|Xv\|`, so that a bound B on the
plain variance of every k-sparse direction is the bound :math:`(\sqrt{nB} - \rho)_+^2/n` here, and its proof the proof.

**EntryWise.** No search of its own. An adversary that may do less leaves more: for every set of perturbations inside
:math:`|E_{ij}| \le \delta` the optimum against that set is an upper bound. Such sets are single attacks E, against
which what is left is plain sparse PCA of X + E; rows of length at most delta (SampleWise); and columns of length at
most delta (FeatureWise, which is the better one where n < k).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from noap.adversaries import EntryWise, FeatureWise, NoAdversary, SampleWise
from noap.data.validation import Samples
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.heuristics.ascent import ascent
from noap.linalg.outward import up
from noap.linalg.types import FloatArray
from noap.linalg.vectors import soft
from noap.problem import Problem
from noap.result import Result
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limit, Limits

__all__ = ["entry_wise_result", "less_spectral_budget", "spectral_outcome"]

Prove = Callable[[Problem, Controls, FloatArray, Limits], SearchOutcome]
# Of the smaller adversary: a result will do, too.
Bound = Callable[[Problem, Controls, FloatArray, Limits], SearchOutcome | Result]

# Shares of the answer to the vector found in the attacks that are tried. On spiked data (n = 30 to 200, d = 10 to 100,
# k = 3 to 5) the best of them left gaps of up to 0.8, 6.3, 11 and 16.4 % at delta = 0.1, 0.4, 0.8 and 1.2; often none.
_SHARES = (1.0, 0.7, 0.4, 0.0)
# A bound by rows or columns is farther off, and hard to prove where it is: coarse, and not for long.
_COARSE, _NODES = 1e-2, 1000
# What an attack leaves of delta, so that rounding X + E takes no entry beyond it.
_INSIDE = 1.0 - 2.0**-40


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


def entry_wise_result(
    problem: Problem, controls: Controls, v: FloatArray, limits: Limits, asked_gap: float, prove: Bound
) -> Result:
    """Return the best vector that was met, with the smallest of the bounds that smaller adversaries give."""
    bound, nodes, limit, by = math.inf, 0, None, "nothing"
    value = problem.value(v)
    smaller = list(_smaller_adversaries(problem, v))
    for i, (name, easier) in enumerate(smaller):
        if easier.optimum_is_zero:
            bound, by = 0.0, name
            break
        share = controls.share(len(smaller) - i)
        until = None if share is None else controls.seconds + share
        # Half the gap, so that what another adversary leaves may be within the other half.
        attacked = type(easier.adversary) is NoAdversary
        own = replace(
            controls, gap=0.5 * controls.gap if attacked else max(controls.gap, _COARSE), time_limit=until, limit=None
        )
        most = limits.nodes if attacked else min(limits.nodes or _NODES, _NODES)
        outcome = prove(easier, own, _ascended(easier, own, v), replace(limits, nodes=most, keep_proof=False))
        nodes += outcome.nodes
        if problem.value(outcome.v) > value:
            v, value = outcome.v, problem.value(outcome.v)
        if outcome.bound < bound:
            bound, by, limit = outcome.bound, name, outcome.limit
        if outcome.limit is Limit.INTERRUPTED:
            limit = Limit.INTERRUPTED
            break
        if bound <= (1.0 + asked_gap) * value:
            break
    said = f"Method 'exact' has no search of its own for EntryWise: the bound is that of a smaller adversary, {by}."
    if bound > (1.0 + asked_gap) * value:
        said = f"{said[:-1]}, and the gap that is left is not for more time to close; ask for a larger gap."
    return Result(
        problem,
        "exact",
        v,
        bound=bound,
        bound_proof="rigorous",
        limit=limit,
        nodes=nodes,
        seconds=controls.seconds,
        asked_gap=asked_gap,
        messages=(said,),
    )


def _smaller_adversaries(problem: Problem, v: FloatArray) -> Iterator[tuple[str, Problem]]:
    """Yield problems whose optimum is at least that of the given one, each with the name of its adversary."""
    adversary = problem.adversary
    assert isinstance(adversary, EntryWise)
    delta, k = adversary.delta, problem.k
    X = problem.samples("EntryWise")
    X = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    # Entry by entry towards 0 on all features and, on those of v, in a mixture with the worst answer to v.
    shrunk = soft(X, delta * _INSIDE) - X
    support = np.flatnonzero(v)
    answer = adversary.attack(X, v)[:, support] * _INSIDE
    for share in _SHARES:
        E = shrunk.copy()
        E[:, support] = share * answer + (1.0 - share) * shrunk[:, support]
        yield "one attack", Problem(Samples(inside(X, X + E, delta), problem.feature_names), k, NoAdversary())
    if len(X) >= k:
        yield "SampleWise of the same budget", problem.with_adversary(SampleWise(delta))
    else:
        yield "FeatureWise of the same budget", problem.with_adversary(FeatureWise(delta))


def inside(X: FloatArray, Y: FloatArray, delta: float) -> FloatArray:
    """Return Y, with the entries of X where Y may be further than delta from it: exactly, whatever rounding did.

    >>> inside(np.array([1.0, 2.0]), np.array([1.5, 2.6]), 0.5)
    array([1., 2.])
    >>> inside(np.array([1.0, 2.0]), np.array([1.25, 2.25]), 0.5)
    array([1.25, 2.25])
    """
    # A difference is computed to half an ulp.
    return np.where(np.abs(Y - X) * (1.0 + 2.0**-50) <= delta, Y, X)


def _ascended(problem: Problem, controls: Controls, v: FloatArray) -> FloatArray:
    """Return the better one of v and what ascent finds."""
    best = v
    try:
        for found in ascent(problem, controls.rng, check=controls.within(1.0)):
            best = found
    except Stopped:
        pass
    return best if problem.value(best) >= problem.value(v) else v
