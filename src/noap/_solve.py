"""One door to every method."""

import inspect
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap._controls import Controls, Stopped
from noap.adversaries.base import vector_of
from noap.errors import InvalidProblem, NoapWarning
from noap.heuristics.ascent import Funnel, ascent, compile_ascent
from noap.heuristics.oracle import oracle_of
from noap.heuristics.ppm import ppm
from noap.heuristics.truncated_power import truncated_leading_eigenvector, truncated_power
from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, unit
from noap.problem import Problem
from noap.result import Limit, Result, zero_result

__all__ = ["solve"]

# The exact method gives its heuristic this share of the time at most: the rest is for the proof.
_ASCENT_SHARE = 0.3


def solve(
    problem: Problem,
    method: str = "exact",
    *,
    gap: float = 1e-4,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
    **options: Any,
) -> Result:
    r"""Find a k-sparse direction of large robust variance, and say what is proved about it.

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    Parameters
    ----------
    problem : Problem
    method : str
        "exact": branch and bound with rigorous bounds for the whole problem.
        "mip", "mip-r": the paper's mixed-integer programs, corrected and strengthened, on an open solver.
        "ascent": monotone alternating ascent from many starts, then swaps.
        "ppm": the paper's Algorithm 2, as printed. "spca": vanilla sparse PCA by the projected power method,
        blind to the adversary.
    gap : float
        Relative gap (bound - value)/value at which a result counts as optimal.
    time_limit : float, optional
        Seconds. When it runs out, or on Ctrl-C, the best answer so far comes back.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Show progress on a terminal.
    **options
        Those of the method; an unknown one is an error that lists the known ones.
        exact: node_limit, memory_limit (megabytes), certificate (whether to keep the proof; True unless you say so).
        mip and mip-r: backend, pieces, rank (mip-r), reduced_dim,
        as_printed, breakpoints, threads, cuts. ascent: keep, polish, max_steps.
        ppm: start, iterations, tolerance, iterate. spca: start, iterations.

    Returns
    -------
    Result

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5))
    >>> result = noap.solve(problem)
    >>> result.support
    array([0, 1])
    >>> round(result.value, 4), result.status
    (3.5481, <Status.OPTIMAL: 'optimal'>)
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    if not isinstance(method, str) or method not in _METHODS:
        raise InvalidProblem(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    runner = _METHODS[method]()
    known = _options_of(runner)
    for name in options:
        if name not in known:
            raise InvalidProblem(
                f"{name} is not an option of method {method!r}; it takes {', '.join(known) or 'none'}."
            )
    controls = Controls.checked(gap, time_limit, random_state, progress)
    problem.check_unchanged()
    if problem.optimum_is_zero:
        warnings.warn(
            f"rho = {problem.adversary.rho:g} lets the adversary cancel every direction, so the optimum is 0; "
            "use a smaller rho.",
            NoapWarning,
            stacklevel=2,
        )
        return zero_result(problem, method, controls.gap)
    return runner(problem, controls, **options)


@cache
def _options_of(runner: Callable[..., Result]) -> list[str]:
    return [name for name in inspect.signature(runner).parameters if name not in ("problem", "controls")]


def _heuristic(problem: Problem, method: str, v: FloatArray, controls: Controls) -> Result:
    return Result(problem, method, v, limit=controls.limit, seconds=controls.seconds, asked_gap=controls.gap)


def _run_ascent(problem: Problem, controls: Controls, keep: int = 96, polish: int = 24, max_steps: int = 60) -> Result:
    v = _ascended(problem, controls, Funnel(keep, polish, max_steps))
    return _heuristic(problem, "ascent", v, controls)


def _ascended(
    problem: Problem, controls: Controls, funnel: Funnel, check: Callable[[], None] | None = None
) -> FloatArray:
    """Return the answer of ascent, or the best so far if `check` stops it or the user interrupts."""
    v: FloatArray = np.zeros(problem.n_features)
    v[int(np.argmax(problem.column_norms))] = 1.0  # what ascent yields first
    check = check or controls.check
    controls.started += compile_ascent(problem)
    try:
        for better in ascent(problem, controls.rng, funnel, check):
            v = better
            check()
        controls.limit = None  # it finished, if late
    except Stopped:
        pass
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
    return v


def _run_exact(
    problem: Problem,
    controls: Controls,
    node_limit: int | None = None,
    memory_limit: float | None = None,
    certificate: bool = True,
) -> Result:
    from noap.exact.door import proved_result, require_provable  # loads Numba

    require_provable(problem)
    v = _ascended(problem, controls, Funnel(), controls.within(_ASCENT_SHARE))
    return proved_result(
        problem,
        controls,
        v,
        asked_gap=controls.gap,
        node_limit=node_limit,
        memory_limit=memory_limit,
        certificate=certificate,
    )


def _run_spca(problem: Problem, controls: Controls, start: ArrayLike | None = None, iterations: int = 100) -> Result:
    return _heuristic(problem, "spca", _vanilla(problem, start, iterations), controls)


def _run_ppm(
    problem: Problem,
    controls: Controls,
    start: ArrayLike | None = None,
    iterations: int = 1000,
    tolerance: float = 1e-6,
    iterate: str = "last",
) -> Result:
    # The paper's start is the vanilla answer (caption of its second figure).
    first = _vanilla(problem, None, 100) if start is None else _start(problem, start)
    v = ppm(
        oracle_of(problem),
        problem.k,
        first,
        iterations=iterations,
        tolerance=tolerance,
        iterate=iterate,
        controls=controls,
    )
    return _heuristic(problem, "ppm", v, controls)


def _vanilla(problem: Problem, start: ArrayLike | None, iterations: int) -> FloatArray:
    S, k = problem.gram, problem.k
    first = truncated_leading_eigenvector(S, k) if start is None else _start(problem, start)
    return truncated_power(S, k, first, iterations)


def _start(problem: Problem, start: ArrayLike) -> FloatArray:
    v = vector_of(start, problem.n_features)
    if not (np.isfinite(v).all() and v.any()):
        raise InvalidProblem("start must be a finite vector that is not zero.")
    return unit(keep_top_k(v[None, :], problem.k)[0])


def _mip() -> Callable[..., Result]:
    from noap.mip.run import run_mip

    return run_mip


def _mip_r() -> Callable[..., Result]:
    from noap.mip.run import run_mip_r

    return run_mip_r


# Each entry gives its method when called: what is not asked for is not imported.
_METHODS: dict[str, Callable[[], Callable[..., Result]]] = {
    "exact": lambda: _run_exact,
    "mip": _mip,
    "mip-r": _mip_r,
    "ascent": lambda: _run_ascent,
    "ppm": lambda: _run_ppm,
    "spca": lambda: _run_spca,
}
