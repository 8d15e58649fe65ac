"""Components one after the other, each proved given those before."""

import warnings
from dataclasses import replace

import numpy as np

from noap.data.deflation import CONSTRAINED, Covariance, Samples, constrained, scope_of
from noap.errors import GapWarning, NoapWarning
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.controls import Controls
from noap.solving import NOTHING_LEFT, solve
from noap.ties import break_ties

__all__ = ["one_after_the_other"]

_LEAST_SECONDS = 1e-3


def one_after_the_other(
    problem: Problem, ks: tuple[int, ...], deflation: str, controls: Controls, time_limit: float | None
) -> tuple[Result, ...]:
    """Return the components, in the order found; fewer where a further one is worth nothing.

    Parameters
    ----------
    problem : Problem
    ks : tuple of int
        How many features each may use.
    deflation : "disjoint", "projection", "orthogonal" or "uncorrelated"
    controls : Controls
    time_limit : float or None
        Seconds for all of them: each has an even share of what is left.
    """
    found: list[Result] = []
    for number, k in enumerate(ks):
        part = _left(problem.with_sparsity(k), found, deflation)
        if part is None:
            break
        seconds = None
        if time_limit is not None:
            seconds = max((time_limit - sum(one.seconds for one in found)) / (len(ks) - number), _LEAST_SECONDS)
        with warnings.catch_warnings():
            # One warning for all components comes at the end.
            warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
            warnings.simplefilter("ignore", GapWarning)
            seed = int(controls.rng.integers(2**32))
            result = solve(part, gap=controls.gap, time_limit=seconds, random_state=seed, progress=controls.progress)
        if result.value <= 0:
            break
        if found:
            result = replace(result, messages=(*result.messages, scope_of(deflation)))
        found.append(break_ties(result)[0])
        if result.limit is Limit.INTERRUPTED:
            break
    return tuple(found)


def _left(problem: Problem, found: list[Result], deflation: str) -> Problem | None:
    """Return the problem of the next component; None where no feature is left."""
    if not found:
        return problem
    vectors = np.array([one.v for one in found])
    if deflation in CONSTRAINED:
        return constrained(problem, vectors, deflation)
    names = problem.feature_names
    data: Samples | Covariance = Covariance(problem.covariance, problem.n_samples, names)
    if problem.X is not None:
        data = Samples(problem.X, names)
    left = data.left(vectors, deflation).problem(problem.k, problem.adversary, problem.costs)
    return left if left.column_norms.any() else None
