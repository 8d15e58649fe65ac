"""Run the paper's mixed-integer programs on a problem: restrict, solve, report."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.heuristics.alone import strongest_alone
from noap.heuristics.ascent import ascent
from noap.heuristics.truncated_power import screen_submatrix
from noap.linalg.types import FloatArray, IntArray
from noap.mip.backends.base import Stop
from noap.mip.instance import instance_of, require_program
from noap.mip.search import Options, ProgramSearch
from noap.problem import Problem
from noap.result import Limit, Result, zero_result
from noap.runtime.controls import Controls, Stopped

__all__ = [
    "KEPT_START",
    "OPTIONS",
    "chosen_features",
    "incumbent",
    "mip_options",
    "mip_r_options",
    "run_mip",
    "run_mip_r",
    "run_program",
    "widened",
]

OPTIONS = ("backend", "pieces", "reduced_dim", "as_printed", "breakpoints", "threads", "cuts", "node_limit")
"""Options of `run_mip`; `run_mip_r` takes rank too."""

# Two directions whose cosine is within this of 1 are the same: solvers respect rows to 1e-6.
_SAME = 1e-6

KEPT_START = "The program's own solution is the start that ascent gave it."
"""The message of a printed program that has found nothing better in its own objective."""

_LIMITS = {
    Stop.TIME: Limit.TIME,
    Stop.NODES: Limit.NODES,
    Stop.MEMORY: Limit.MEMORY,
    Stop.INTERRUPTED: Limit.INTERRUPTED,
}


def run_mip(problem: Problem, controls: Controls, **options: Any) -> Result:
    r"""Bound the optimum by the paper's mixed-integer program (Theorems 1 and 2, and its vanilla baseline).

    .. math:: \mathrm{opt} \le \mathrm{ub} \le \mathrm{opt} + \sum_j \lambda_j \delta_j^2/4

    with :math:`\delta_j` the widest piece of direction j: 1/N as printed, less with the default's narrower ranges.

    Parameters
    ----------
    problem : Problem
    controls : Controls
    backend : "scip", "highs", "gurobi" or an object
        An object has the attributes of :class:`noap.mip.backends.base.Backend` (docs/adding-a-backend.md).
    pieces : int
        The paper's N: chords on each side of 0.
    reduced_dim : int, optional
        Run Algorithm 1 first and solve on that many features. The bound then covers those features only and goes to
        ``restricted_bound``.
    as_printed : bool
        The paper's program to the letter, without cutoff or valid rows. The solver starts from ascent's direction and
        is told to look harder for solutions; neither changes a row. ``cuts=Cuts.none()`` is the same without a start.
    breakpoints : "even" or "adaptive"
        Adaptive: solve, put breakpoints where the solution made its error, solve again, while time remains and the
        asked gap is not reached. Every round's bound holds; the smallest is reported.
    threads : int
    node_limit : int, optional
        Of the solver, over all its rounds.
    cuts : Cuts, optional
        Which valid rows to add; all by default. Not together with as_printed.

    Returns
    -------
    Result
        `bound_proof` is "solver"; `solver_gap` is what the solver left open on its own model, `formulation_error` what
        the model may add by its theorem. `program_v` is the program's own solution (the paper's v^MIP); `v` is that or
        ascent's direction, whichever is better, and a message says so when it is ascent's.
    """
    return run_program(problem, controls, "mip", mip_options(problem, **options))


def run_mip_r(problem: Problem, controls: Controls, **options: Any) -> Result:
    r"""Bound the optimum by the paper's reduced program: chords for the first r eigenvectors only.

    As printed, :math:`v = 0, \gamma = 1` is feasible and the printed guarantee fails; what holds is
    :math:`\mathrm{ub} \le \mathrm{opt} + \sum_{j \le r} \lambda_j/(4N^2) + \hat\gamma \lambda_{r+1}`. The default
    imposes the unit length (:math:`y \ge 1` feature-wise, a piecewise-linear norm otherwise), which restores
    :math:`\hat\gamma(\lambda_{r+1} - \lambda_d)` in the last term.

    Parameters
    ----------
    problem, controls, backend, pieces, reduced_dim, as_printed, breakpoints, threads, cuts, node_limit : as for run_mip
    rank : int
        The paper's r.

    Returns
    -------
    Result
    """
    return run_program(problem, controls, "mip-r", mip_r_options(problem, **options))


def mip_options(problem: Problem, **options: Any) -> Options:
    """Return the options of `run_mip`, checked."""
    problem.require_covariance("Method 'mip'")
    return Options.checked(problem, **options)


def mip_r_options(problem: Problem, rank: Any = 3, **options: Any) -> Options:
    """Return the options of `run_mip_r`, checked."""
    if rank is None:
        raise InvalidProblem("rank must be a positive integer, got None; use run_mip for the full program.")
    problem.require_covariance("Method 'mip-r'")
    return Options.checked(problem, rank=rank, **options)


def run_program(problem: Problem, controls: Controls, method: str, options: Options) -> Result:
    """Formulate, solve and report with options that were checked."""
    require_program(problem)
    if problem.optimum_is_zero:
        return zero_result(problem, method, controls.gap)
    chosen = chosen_features(problem, options.reduced_dim)
    part = problem if chosen is None else problem.restricted(chosen)
    v, interrupted = incumbent(part, controls)
    search, ascended = ProgramSearch(part, controls, options, v), v
    if part.optimum_is_zero:
        # Algorithm 1 looks at variance only and may keep just the features that the adversary cancels.
        search.bound, search.stop = 0.0, Stop.OPTIMAL
    elif interrupted:
        search.stop = Stop.INTERRUPTED
    else:
        instance = instance_of(part, screen=options.cuts.screening, incumbent=v)
        if not options.cuts.needs_incumbent:
            instance = replace(instance, incumbent=None, value=0.0)
        search.run(instance)
    return _report(problem, method, search, chosen, ascended)


def chosen_features(problem: Problem, reduced_dim: int | None) -> IntArray | None:
    """Return the features that Algorithm 1 keeps, None when it keeps all of them."""
    if reduced_dim is None or reduced_dim >= problem.n_features:
        return None
    return screen_submatrix(problem.covariance, problem.k, reduced_dim)


def incumbent(problem: Problem, controls: Controls) -> tuple[FloatArray, bool]:
    """Return ascent's direction and whether Ctrl-C stopped it."""
    v = strongest_alone(problem)
    if problem.optimum_is_zero:
        return v, False
    try:
        check = controls.within(1.0)
        for better in ascent(problem, controls.rng, check=check):
            v = better
            check()
    except Stopped:
        return v, False
    except KeyboardInterrupt:
        return v, True
    return v, False


def _report(
    problem: Problem, method: str, search: ProgramSearch, chosen: IntArray | None, ascended: FloatArray
) -> Result:
    messages = []
    if search.degenerate:
        messages.append(
            "The program's own solution is v = 0, which is no direction; v is the best one that ascent found, "
            "and the bound still holds; leave out as_printed for a smaller gap."
        )
    elif search.own is None and search.bound > 0:
        messages.append("The solver has no solution of its own; v is the direction that ascent found.")
    elif search.own is not None:
        messages += _whose(search, ascended)
    if search.stop is Stop.FAILED:
        messages.append("The solver stopped for a reason of its own; the bound is what it had proved by then.")
    proved = math.isfinite(search.bound)
    whole = chosen is None
    own = search.own
    return Result(
        problem,
        method,
        widened(search.v, chosen, problem.n_features),
        bound=search.bound if whole else math.inf,
        bound_proof="solver" if whole and proved else None,
        restricted_bound=search.bound if proved and not whole else None,
        restricted_to=chosen,
        limit=_LIMITS.get(search.stop),
        nodes=search.nodes,
        seconds=search.controls.seconds,
        asked_gap=search.controls.gap,
        solver_gap=search.solver_gap,
        formulation_error=search.formulation_error,
        program_v=None if own is None else widened(own, chosen, problem.n_features),
        messages=tuple(messages),
        trace=tuple(search.trace),
    )


def _whose(search: ProgramSearch, ascended: FloatArray) -> list[str]:
    """Return a sentence when v is not the program's own solution, or a printed program kept the start as it is."""
    assert search.own is not None
    if _same(search.own, ascended):
        return [KEPT_START] if search.options.as_printed else []
    if _same(search.own, search.v):
        return []
    return [
        f"v is the direction that ascent found (value {search.value:.6g}); the program's own solution, program_v, "
        f"has {search.problem.value(search.own):.6g}."
    ]


def _same(v: FloatArray, w: FloatArray) -> bool:
    return abs(float(v @ w)) >= 1.0 - _SAME


def widened(v: FloatArray, chosen: IntArray | None, d: int) -> FloatArray:
    """Return a direction of the chosen features as one of all d."""
    if chosen is None:
        return v
    whole = np.zeros(d)
    whole[chosen] = v
    return whole
