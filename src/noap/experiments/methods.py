"""Run one method on one problem, as the experiment means it: its own vector, its own bound, and their scope."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.experiments.spec import Method
from noap.heuristics.oracle import oracle_of
from noap.heuristics.ppm import ppm
from noap.heuristics.truncated_power import screen_submatrix, truncated_leading_eigenvector, truncated_power
from noap.linalg.types import FloatArray, IntArray
from noap.mip.backends.base import Stop
from noap.mip.instance import instance_of
from noap.mip.options import Options
from noap.mip.search import ProgramSearch
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.controls import Controls

__all__ = ["Finding", "find"]


@dataclass(frozen=True, eq=False)
class Finding:
    """What a method says about a problem.

    Attributes
    ----------
    v : array of shape (d,)
        Unit vector; zero where the method has no direction to offer: the optimum is 0, or the program's own solution
        is v = 0 or missing.
    bound : float
        Upper bound on the optimum over `scope`, inf if there is none.
    proof : "rigorous", "solver" or None
    scope : array of int or None
        The features that the bound speaks about; None for all of them.
    limit : str or None
    """

    v: FloatArray
    bound: float = math.inf
    proof: str | None = None
    scope: IntArray | None = None
    limit: str | None = None
    nodes: int = 0
    solver_gap: float | None = None
    formulation_error: float | None = None


def find(problem: Problem, method: Method, seed: int) -> Finding:
    """Run the method on the problem.

    Where the budget reaches rho_max the optimum is 0 and every direction is worth the same: the methods that look for
    an optimum then have none to offer. PPM and vanilla never look, and are measured as they are.
    """
    with warnings.catch_warnings():
        # Optima of 0 and programs whose solution is v = 0 are part of the experiment, and recorded.
        warnings.simplefilter("ignore", NoapWarning)
        return _FINDERS[method.solver](problem, method, seed)


def _ppm(problem: Problem, method: Method, seed: int) -> Finding:
    settings: dict[str, Any] = {"iterations": 1000, "tolerance": 1e-6, "iterate": "last"} | method.settings
    return Finding(ppm(oracle_of(problem), problem.k, _vanilla_direction(problem), **settings))


def _vanilla(problem: Problem, method: Method, seed: int) -> Finding:
    """Return the direction of the projected power method, and the proved optimum without an adversary as the bound."""
    v = _vanilla_direction(problem)
    plain = Problem.from_covariance(
        problem.covariance, n_samples=problem.n_samples, k=problem.k, adversary=noap.NoAdversary()
    )
    proved = noap.solve(plain, gap=method.gap, time_limit=method.time_limit, random_state=seed)
    return Finding(v, bound=proved.bound, proof=proved.bound_proof, limit=_limit(proved.limit), nodes=proved.nodes)


def _vanilla_direction(problem: Problem) -> FloatArray:
    start = truncated_leading_eigenvector(problem.covariance, problem.k)
    return truncated_power(problem.covariance, problem.k, start, 100)


def _solved(problem: Problem, method: Method, seed: int) -> Finding:
    """Use `noap.solve`; restrict to Algorithm 1's features where asked."""
    settings = method.settings
    chosen = _chosen(problem, settings.pop("reduced_dim", None))
    part = problem if chosen is None else problem.restricted(chosen)
    result = noap.solve(
        part, method=method.solver, gap=method.gap, time_limit=method.time_limit, random_state=seed, **settings
    )
    return _of_result(problem, result, chosen)


def _program(problem: Problem, method: Method, seed: int) -> Finding:
    settings = method.settings
    if not settings.get("as_printed", False):
        return _solved(problem, method, seed)
    return _printed(problem, method, seed)


def _printed(problem: Problem, method: Method, seed: int) -> Finding:
    """Solve the paper's program to the letter, and take its own solution instead of the best vector known."""
    settings = method.settings
    chosen = _chosen(problem, settings.pop("reduced_dim", None))
    part = problem if chosen is None else problem.restricted(chosen)
    if part.optimum_is_zero:
        return Finding(np.zeros(problem.n_features), bound=0.0, proof="rigorous", scope=chosen)
    rank = settings.pop("rank", 3) if method.solver == "mip-r" else None
    given = {"backend": "scip", "pieces": 3, "threads": 1} | settings | {"reduced_dim": None, "rank": rank}
    options = Options.checked(part, **given, breakpoints="even", cuts=None)
    controls = Controls.checked(method.gap, method.time_limit, seed, False)
    # A direction of small value as the first: what comes back is then the program's own work.
    first: FloatArray = np.eye(1, part.n_features, int(np.argmin(part.column_norms)))[0]
    search = ProgramSearch(part, controls, options, first)
    search.run(replace(instance_of(part, screen=False, incumbent=None), incumbent=None, value=0.0))
    if search.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    own = np.zeros(part.n_features) if search.own is None else search.own
    return Finding(
        _widened(own, chosen, problem.n_features),
        bound=search.bound,
        proof="solver" if math.isfinite(search.bound) else None,
        scope=chosen,
        limit=None if search.stop is Stop.OPTIMAL else search.stop.value,
        nodes=search.nodes,
        solver_gap=search.solver_gap,
        formulation_error=search.formulation_error,
    )


def _of_result(problem: Problem, result: Result, chosen: IntArray | None) -> Finding:
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    worthless = result.problem.optimum_is_zero
    v = np.zeros(result.problem.n_features) if worthless else np.asarray(result.v)
    return Finding(
        _widened(v, chosen, problem.n_features),
        bound=result.bound,
        proof=result.bound_proof,
        scope=chosen,
        limit=_limit(result.limit),
        nodes=result.nodes,
        solver_gap=result.solver_gap,
        formulation_error=result.formulation_error,
    )


def _chosen(problem: Problem, reduced_dim: object) -> IntArray | None:
    if reduced_dim is None:
        return None
    if isinstance(reduced_dim, bool) or not isinstance(reduced_dim, int):
        raise InvalidProblem(f"reduced_dim must be a positive integer or None, got {reduced_dim!r}.")
    if reduced_dim >= problem.n_features:
        return None
    return screen_submatrix(problem.covariance, problem.k, reduced_dim)


def _widened(v: FloatArray, chosen: IntArray | None, d: int) -> FloatArray:
    if chosen is None:
        return v
    whole = np.zeros(d)
    whole[chosen] = v
    return whole


def _limit(limit: Limit | None) -> str | None:
    return None if limit is None else limit.value


_FINDERS: dict[str, Callable[[Problem, Method, int], Finding]] = {
    "exact": _solved,
    "ascent": _solved,
    "mip": _program,
    "mip-r": _program,
    "ppm": _ppm,
    "vanilla": _vanilla,
}
