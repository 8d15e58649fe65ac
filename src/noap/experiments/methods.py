"""Run one method on one problem, as the experiment means it: its own vector, its own bound, and their scope."""

import math
import re
import warnings
from dataclasses import dataclass, replace

import numpy as np

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.experiments.spec import Method
from noap.heuristics.truncated_power import screen_submatrix
from noap.linalg.types import FloatArray, IntArray
from noap.mip.run import KEPT_START
from noap.problem import Problem
from noap.result import Limit, Result

__all__ = ["Finding", "find"]


@dataclass(frozen=True, eq=False)
class Finding:
    """What a method says about a problem.

    Attributes
    ----------
    v : array of shape (d,) or None
        Unit vector; 0 where the method has no direction to offer: the optimum is 0, or the program's own solution is
        v = 0. None where a program has found no solution.
    bound : float
        Upper bound on the optimum over `scope`, inf if there is none.
    proof : "rigorous", "solver" or None
    scope : array of int or None
        The features that the bound speaks about; None for all of them.
    limit : str or None
    solution : "own", "start", "zero", "none" or None
        Of a printed program that was run: whether its best solution is its own, the start that it was given, v = 0, or
        missing.
    cycle : int or None
        Of PPM: the length of the cycle in which it ended.
    """

    v: FloatArray | None
    bound: float = math.inf
    proof: str | None = None
    scope: IntArray | None = None
    limit: str | None = None
    nodes: int = 0
    solver_gap: float | None = None
    formulation_error: float | None = None
    solution: str | None = None
    cycle: int | None = None


def find(problem: Problem, method: Method, seed: int) -> Finding:
    """Run the method on the problem through `noap.solve`.

    Where the budget reaches rho_max the optimum is 0 and every direction is worth the same: the methods that look for
    an optimum then have none to offer. PPM and vanilla never look, and are measured as they are. The vector of a
    program as printed is its own solution, not the best vector known.
    """
    settings = method.settings
    chosen = _chosen(problem, settings.pop("reduced_dim", None))
    part = problem if chosen is None else problem.restricted(chosen)
    with warnings.catch_warnings():
        # Optima of 0 and programs whose solution is v = 0 are part of the experiment, and recorded.
        warnings.simplefilter("ignore", NoapWarning)
        if method.solver == "vanilla":
            return _vanilla(part, method, seed)
        result = noap.solve(
            part, method=method.solver, gap=method.gap, time_limit=method.time_limit, random_state=seed, **settings
        )
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    found = _finding(result, as_printed=bool(settings.get("as_printed", False)))
    return replace(found, v=None if found.v is None else _widened(found.v, chosen, problem.n_features), scope=chosen)


def _vanilla(problem: Problem, method: Method, seed: int) -> Finding:
    """Return the direction of the projected power method, and the proved optimum without an adversary as the bound."""
    v = noap.solve(problem, method="spca").v
    plain = Problem.from_covariance(
        problem.covariance, n_samples=problem.n_samples, k=problem.k, adversary=noap.NoAdversary()
    )
    proved = noap.solve(plain, gap=method.gap, time_limit=method.time_limit, random_state=seed)
    return replace(_finding(proved, as_printed=False), v=np.asarray(v))


def _finding(result: Result, *, as_printed: bool) -> Finding:
    v: FloatArray | None = np.asarray(result.v)
    solution = None
    if result.problem.optimum_is_zero:
        v = v if result.method == "ppm" else np.zeros(result.problem.n_features)
    elif as_printed:
        v, solution = result.program_v, _whose(result)
    cycles = [found for message in result.messages if (found := re.search(r"cycle of length (\d+)", message))]
    proves = result.method != "ppm"  # it never looks, even where the optimum is known to be 0
    return Finding(
        v,
        bound=result.bound if proves else math.inf,
        proof=result.bound_proof if proves else None,
        limit=None if result.limit is None else result.limit.value,
        nodes=result.nodes,
        solver_gap=result.solver_gap,
        formulation_error=result.formulation_error,
        solution=solution,
        cycle=int(cycles[0].group(1)) if cycles else None,
    )


def _whose(result: Result) -> str:
    if result.program_v is None:
        return "none"
    if not result.program_v.any():
        return "zero"
    return "start" if KEPT_START in result.messages else "own"


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
