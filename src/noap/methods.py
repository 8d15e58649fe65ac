"""The methods: what options each takes, how they are checked, and how it runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries import ENERGY_LESS_L1, Adversary, EntryWise, NoAdversary, SampleWise, SpectralNorm, require_served
from noap.adversaries.base import vector_of
from noap.data.arguments import as_count, as_jobs
from noap.data.metric import length
from noap.errors import InvalidProblem
from noap.heuristics.alone import strongest_alone
from noap.heuristics.ascent import Funnel, ascent
from noap.heuristics.oracle import oracle_of, works_on_gram
from noap.heuristics.ppm import ppm
from noap.heuristics.starts import strengths
from noap.heuristics.thresholding import covariance_thresholding, diagonal_thresholding
from noap.heuristics.truncated_power import truncated_leading_eigenvector, truncated_power
from noap.kernel.claim import SERVES, needs_matrix
from noap.kernel.data import Features
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, unit
from noap.problem import Problem
from noap.result import Limit, Result, zero_result
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limits
from noap.runtime.progress import PassLine
from noap.runtime.threads import threads_for
from noap.settings import Settings

__all__ = ["METHODS", "Method", "run_exact"]


@dataclass(frozen=True)
class Method:
    """A way to solve a problem.

    Attributes
    ----------
    options : names of the options that are its own
    check : callable
        Given the problem and these options, returns them checked, or raises InvalidProblem.
    run : callable
        Given the problem, the controls and what `check` returned, solves.
    runs_cancelled : bool
        Whether it runs as the paper prints it where the adversary cancels every direction, too.
    falls_short : str or None
        Why the gap that was asked for may not be reached although no limit ended it, and what to do; None for a
        heuristic, which proves no gap.
    """

    options: tuple[str, ...]
    check: Callable[..., Any]
    run: Callable[[Problem, Controls, Any], Result]
    runs_cancelled: bool = False
    falls_short: str | None = None


def _heuristic(problem: Problem, method: str, v: FloatArray, controls: Controls, *messages: str) -> Result:
    return Result(
        problem,
        method,
        v,
        limit=controls.limit,
        seconds=controls.seconds,
        asked_gap=controls.gap,
        messages=messages,
    )


def _check_ascent(
    problem: Problem,
    keep: Any = 96,
    polish: Any = 24,
    max_steps: Any = 60,
    n_jobs: Any = None,
    start: ArrayLike | None = None,
) -> tuple[Funnel, int | None, FloatArray | None]:
    funnel = Funnel(as_count("keep", keep), as_count("polish", polish), as_count("max_steps", max_steps))
    return funnel, as_jobs(n_jobs), _start(problem, start)


def _run_ascent(problem: Problem, controls: Controls, asked: tuple[Funnel, int | None, FloatArray | None]) -> Result:
    funnel, n_jobs, start = asked
    v = _ascended(problem, controls, funnel, n_jobs)
    if start is not None and problem.value(start) > problem.value(v):
        v = start
    return _heuristic(problem, "ascent", v, controls)


def _ascended(problem: Problem, controls: Controls, funnel: Funnel, n_jobs: int | None = None) -> FloatArray:
    """Return the answer of ascent, or the best so far if a limit stops it or the user interrupts."""
    if problem.orthogonal_to is not None or problem.metric is not None:
        from noap.kernel.claim import matrix_of
        from noap.kernel.data import Data
        from noap.search.ascent import ascend
        from noap.search.solve import outside

        data, _ = matrix_of(problem)
        assert isinstance(data, Data)  # samples are attacked neither with directions nor in a metric
        found = ascend(data, Settings())
        if problem.metric is not None and not found.any():
            found = np.eye(problem.n_features)[int(np.argmax(np.where(data.allowed, data.most, -np.inf)))]
        return outside(problem, data, found)
    if problem.adversary.simplest is not problem.adversary:
        problem = problem.with_adversary(problem.adversary.simplest)  # the same steps as with the number
    if type(problem.adversary) is SpectralNorm:  # whose value rises with the plain variance: the same directions win
        problem = problem.with_adversary(NoAdversary())
    v: FloatArray = np.zeros(problem.n_features)
    costs = None if problem.costs is None else problem.n_samples * problem.costs
    v[int(np.argmax(strengths(problem.adversary, problem.column_norms, costs)))] = 1.0  # what ascent yields first
    many = problem.X is not None and problem.n_features > MANY_FEATURES and works_on_gram(problem.adversary)
    try:
        pooled = _pooled(problem, controls, n_jobs) if many else None
        for better in pooled or ascent(problem, controls.rng, funnel, controls.check):
            v = better
            controls.check()
        controls.limit = None  # it finished, if late
    except Stopped:
        pass
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
    # Where features cost something, using none is worth 0.
    return v if problem.costs is None or problem.value(v) > 0 else np.zeros(problem.n_features)


def _pooled(problem: Problem, controls: Controls, n_jobs: int | None) -> Iterator[FloatArray]:
    """Yield the answer of ascent on a pool of features, out of more than a matrix is made of."""
    from noap.kernel.claim import data_of
    from noap.search.pool import Pool

    data, _ = data_of(problem)
    assert isinstance(data, Features)
    data.threads = threads_for(n_jobs)
    with PassLine(controls.progress, controls.label, "looking for good vectors") as line:
        pool = Pool(data, Settings(), controls.check, line.scanned)
        pool.climb()
    features, weights = pool.vector(problem.k)
    if len(features):
        v: FloatArray = np.zeros(problem.n_features)
        v[features] = weights
        yield v


def _check_exact(
    problem: Problem,
    node_limit: Any = None,
    memory_limit: Any = None,
    certificate: Any = True,
    n_jobs: Any = None,
    settings: Any = None,
    start: ArrayLike | None = None,
) -> Limits:
    limits = Limits.checked(node_limit, memory_limit, certificate, n_jobs, settings, start)
    _start(problem, start)
    require_served(problem.adversary, SERVES, "Method 'exact'", "use method='ascent'")
    if problem.adversary.gram_suffices and needs_matrix(problem):
        problem.require_covariance("Method 'exact'")
    return limits


def unfinished(problem: Problem, method: str, gap: float, v: FloatArray | None = None) -> Result:
    """Return what is known of a problem whose solution was interrupted before it gave an answer."""
    if problem.optimum_is_zero:
        return zero_result(problem, method, gap)
    v = strongest_alone(problem) if v is None else v
    if problem.metric is not None:
        v = v / length(problem.metric, v)
    return Result(problem, method, v, limit=Limit.INTERRUPTED, asked_gap=gap)


def run_exact(problem: Problem, controls: Controls, limits: Limits, start: FloatArray | None = None) -> Result:
    """Prove the optimum, from a k-sparse unit vector beside other starts if one is given."""
    from noap.search.solve import solve_by_tree

    return solve_by_tree(problem, controls, limits, _start(problem, limits.start) if start is None else start)


def _check_relaxation(problem: Problem, certificate: Any = True, settings: Any = None) -> Limits:
    served: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SampleWise, EntryWise)
    require_served(problem.adversary, served, "Method 'relaxation'", "use method='exact'")
    limits = Limits.checked(None, None, certificate, settings=settings)
    if type(problem.adversary) not in (SampleWise, EntryWise):
        problem.require_covariance("Method 'relaxation'")
    return limits


def _run_relaxation(problem: Problem, controls: Controls, limits: Limits) -> Result:
    from noap.search.solve import solve_by_tree

    return solve_by_tree(problem, controls, limits, branching=False)


@dataclass(frozen=True)
class _Power:
    """Options of the power methods."""

    start: FloatArray | None
    iterations: int
    tolerance: float = 1e-6
    iterate: str = "last"


def _check_spca(problem: Problem, start: ArrayLike | None = None, iterations: Any = 100) -> _Power:
    return _Power(_start(problem, start), as_count("iterations", iterations))


def _run_spca(problem: Problem, controls: Controls, power: _Power) -> Result:
    return _heuristic(problem, "spca", _vanilla(problem, power.start, power.iterations), controls)


def _check_ppm(
    problem: Problem,
    start: ArrayLike | None = None,
    iterations: Any = 1000,
    tolerance: Any = 1e-6,
    iterate: Any = "last",
) -> _Power:
    if iterate not in ("last", "best"):
        raise InvalidProblem(f"iterate must be 'last' or 'best', got {iterate!r}.")
    return _Power(_start(problem, start), as_count("iterations", iterations), _size("tolerance", tolerance), iterate)


def _size(name: str, given: Any) -> float:
    """Return an option that must be a finite number of at least 0."""
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 <= given < np.inf:
        raise InvalidProblem(f"{name} must be a number of at least 0, got {given!r}.")
    return float(given)


def _run_ppm(problem: Problem, controls: Controls, power: _Power) -> Result:
    # The paper's start is the vanilla answer (caption of its second figure).
    first = _vanilla(problem, None, 100) if power.start is None else power.start
    ended = ppm(
        oracle_of(problem),
        problem.k,
        first,
        iterations=power.iterations,
        tolerance=power.tolerance,
        iterate=power.iterate,
        controls=controls,
    )
    message = ended.message(power.iterations)
    return _heuristic(problem, "ppm", ended.v, controls, *([] if message is None else [message]))


def _check_diagonal(problem: Problem) -> None:
    return None


def _run_diagonal(problem: Problem, controls: Controls, nothing: None) -> Result:
    return _heuristic(problem, "diagonal-thresholding", diagonal_thresholding(problem), controls)


def _check_covariance(problem: Problem, threshold: Any = 1.5) -> float:
    return _size("threshold", threshold)


def _run_covariance(problem: Problem, controls: Controls, threshold: float) -> Result:
    return _heuristic(problem, "covariance-thresholding", covariance_thresholding(problem, threshold), controls)


def _vanilla(problem: Problem, start: FloatArray | None, iterations: int) -> FloatArray:
    S, k = problem.gram, problem.k
    return truncated_power(S, k, truncated_leading_eigenvector(S, k) if start is None else start, iterations)


def _start(problem: Problem, start: ArrayLike | None) -> FloatArray | None:
    if start is None:
        return None
    v = vector_of(start, problem.n_features)
    if not (np.isfinite(v).all() and v.any()):
        raise InvalidProblem("start must be a finite vector that is not zero.")
    v = unit(keep_top_k(v[None, :], problem.k)[0])
    v = v if problem.metric is None else v / length(problem.metric, v)
    problem.value(v)  # says what v must be
    return v


_PROGRAM = (
    "the program approximates the problem, and its solver has tolerances; raise pieces, or use method='exact' for a "
    "smaller gap"
)


def _mip() -> Method:
    from noap.mip.run import OPTIONS, mip_options, run_program

    def run(problem: Problem, controls: Controls, options: Any) -> Result:
        return run_program(problem, controls, "mip", options)

    return Method(OPTIONS, mip_options, run, falls_short=_PROGRAM)


def _mip_r() -> Method:
    from noap.mip.run import OPTIONS, mip_r_options, run_program

    def run(problem: Problem, controls: Controls, options: Any) -> Result:
        return run_program(problem, controls, "mip-r", options)

    return Method((*OPTIONS, "rank"), mip_r_options, run, falls_short=_PROGRAM)


_POWER = ("start", "iterations")
# Each entry gives its method when called: what is not asked for is not imported.
METHODS: dict[str, Callable[[], Method]] = {
    "exact": lambda: Method(
        ("node_limit", "memory_limit", "certificate", "settings", "start", "n_jobs"),
        _check_exact,
        run_exact,
        falls_short="double precision, or the rules of the kernel, prove no more here; ask for a larger gap",
    ),
    "mip": _mip,
    "mip-r": _mip_r,
    "ascent": lambda: Method(("keep", "polish", "max_steps", "start", "n_jobs"), _check_ascent, _run_ascent),
    "ppm": lambda: Method((*_POWER, "tolerance", "iterate"), _check_ppm, _run_ppm, runs_cancelled=True),
    "relaxation": lambda: Method(
        ("certificate", "settings"),
        _check_relaxation,
        _run_relaxation,
        falls_short="the relaxation does not branch; use method='exact' for a smaller gap, or ask for a larger one",
    ),
    "spca": lambda: Method(_POWER, _check_spca, _run_spca, runs_cancelled=True),
    "diagonal-thresholding": lambda: Method((), _check_diagonal, _run_diagonal, runs_cancelled=True),
    "covariance-thresholding": lambda: Method(("threshold",), _check_covariance, _run_covariance, runs_cancelled=True),
}
