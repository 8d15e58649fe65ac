"""One entry to every method."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from noap.data.centring import outside
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.kernel.claim import serves
from noap.methods import METHODS, unfinished
from noap.metrics import gap as relative_gap
from noap.problem import Problem
from noap.result import Limit, Result, Status, zero_result
from noap.runtime.controls import Controls
from noap.runtime.digits import percent_up
from noap.runtime.interrupts import interrupts_wait, raising_interrupts

__all__ = [
    "NOTHING_LEFT",
    "check_call",
    "checked_options",
    "gap_in_words",
    "misses_gap",
    "nothing_left",
    "solve",
    "warn_of_gaps",
    "why_not_closed",
]

# What warnings that nothing is left begin with, for those who expect it.
NOTHING_LEFT = "At noise .* (cancel every direction|no feature is worth its cost|is worth anything)"


@interrupts_wait
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

    This is equation (1) of the paper.

    Parameters
    ----------
    problem : Problem
    method : str
        "exact": branch and bound with rigorous bounds for the whole problem.
        "mip", "mip-r": the paper's mixed-integer programs, corrected and strengthened, on an open solver.
        "relaxation": a rigorous bound in polynomial time, from the convex relaxation in the l1 norm of v, and a vector
        that is worth at least bound/k. Without an adversary or against FeatureWise.
        "ascent": monotone alternating ascent from many starts, then swaps.
        "ppm": the paper's Algorithm 2, as printed: T = iterations makes T - 1 steps, and a message says when it ended
        in a cycle, where T decides the answer. "spca": vanilla sparse PCA by the projected power method, blind to the
        adversary. Both run where the adversary cancels every direction, too, with a warning.
        "diagonal-thresholding", "covariance-thresholding": its classical baselines, which pick the support by the
        largest variances, or by the leading eigenvector of the covariance without its small entries.
    gap : float
        Relative gap (bound - value)/value at which a result counts as optimal.
    time_limit : float, optional
        Seconds. When it runs out, or on Ctrl-C, the best answer so far comes back.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Show a line of progress on a terminal or under the cell of a notebook; elsewhere the logger "noap" gets one
        every minute (INFO).
    **options
        Those of the method; an unknown one is an error that lists the known ones.
        exact: node_limit, memory_limit (megabytes), certificate (whether to keep the proof; True unless you say so).
        exact and ascent: start, a vector that the answer is never worse than, once cut to its k largest entries.
        exact and ascent, with more than 2,000 features: n_jobs (threads that share the pass over all pairs of
        features, -1 for one per core; as many as the linear algebra library uses unless you say so) or client (a
        distributed.Client, whose workers do), with the same answer to the last bit. relaxation: certificate.
        mip and mip-r: backend (a name or an object), pieces, rank (mip-r), reduced_dim, as_printed, breakpoints,
        threads, cuts, node_limit. ascent: keep, polish, max_steps.
        ppm: start, iterations, tolerance, iterate. spca: start, iterations.
        covariance-thresholding: threshold (in sampling errors of an entry; 1.5).

    Returns
    -------
    Result
        Where its gap is larger than the one asked for, one GapWarning says why and what to do; "ascent", "ppm" and
        "spca" prove no gap, and none is asked of them.

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
    _require_known(method)
    controls = Controls.checked(gap, time_limit, random_state, progress)
    chosen = METHODS[method]()
    checked = checked_options(problem, method, options)
    problem.check_unchanged()
    less = "less noise" if problem.costs is None else "less noise or lower costs"
    if _is_for_the_tree(problem, method):  # it proves itself that nothing is left
        result = _run(problem, method, controls, checked)
        if result.bound <= -problem.cost_of_demands:
            optimum = f"{-problem.cost_of_demands or 0.0:g}"
            less = less if problem.orthogonal_to is None else f"a larger k, or {less}"
            warnings.warn(
                f"{nothing_left(problem)}, so the optimum is {optimum}; use {less}.", NoapWarning, stacklevel=outside()
            )
        warn_of_gaps([result])
        return result
    if problem.optimum_is_zero:
        # The paper's heuristics never look whether anything is left; with costs, or where X is 0, none is printed.
        as_printed = chosen.runs_cancelled and problem.costs is None and problem.scale > 0
        worthless = f", and what method {method!r} returns is worth nothing" if as_printed else ""
        warnings.warn(
            f"{nothing_left(problem)}, so the optimum is 0{worthless}; use {less}.", NoapWarning, stacklevel=outside()
        )
        nothing = zero_result(problem, method, controls.gap)
        if not as_printed:
            return nothing
        found = _run(problem, method, controls, checked)
        return replace(found, bound=nothing.bound, bound_proof=nothing.bound_proof, proof=nothing.proof)
    result = _run(problem, method, controls, checked)
    warn_of_gaps([result])
    return result


def _is_for_the_tree(problem: Problem, method: str) -> bool:
    return method in _ON_THE_TREE and serves(problem)


def _run(problem: Problem, method: str, controls: Controls, checked: Any) -> Result:
    """Run a method; those that do not stop by themselves where Ctrl-C waits are stopped, and keep what they have."""
    if _is_for_the_tree(problem, method):
        return METHODS[method]().run(problem, controls, checked)
    try:
        with raising_interrupts():
            return METHODS[method]().run(problem, controls, checked)
    except KeyboardInterrupt:
        return unfinished(problem, method, controls.gap)


# What ended a search, and what to do about it.
_ENDED = {
    Limit.TIME: ("the time limit ended the search", "raise time_limit"),
    Limit.NODES: ("the node limit ended the search", "raise node_limit"),
    Limit.MEMORY: ("the memory limit ended the search", "raise memory_limit"),
    Limit.INTERRUPTED: ("it was interrupted", "run it again"),
}


def warn_of_gaps(results: Sequence[Result], things: str = "", where: Sequence[str] = ()) -> None:
    """Give one GapWarning for those results of a call whose gap is larger than the one asked for, if there are any.

    Parameters
    ----------
    results : sequence of Result
    things : str
        What the results are, in the plural; nothing where there is one answer.
    where : sequence of str
        For every result what sets it apart, such as "k = 5".
    """
    missed = [place for place, result in enumerate(results) if misses_gap(result)]
    if not missed:
        return
    worst = max(missed, key=lambda place: _gap_asked_of(results[place]))
    result = results[worst]
    left, asked = gap_in_words(_gap_asked_of(result)), percent_up(result.asked_gap)
    if result.restricted_to is not None:
        left += f" on the {len(result.restricted_to)} features of reduced_dim"
    said = f"The answer has {left} where {asked} was asked for"
    if things:
        at = f" at {where[worst]}" if where else ""
        some = f"{len(missed)} of {len(results)} {things}"
        said = f"{some} miss the gap of {asked} that was asked for, the worst with {left}{at}"
    why = why_not_closed(result.limit, result.messages, result.method)
    warnings.warn(f"{said}: {why}.", GapWarning, stacklevel=outside())


def misses_gap(result: Result) -> bool:
    """Whether the method was asked for a gap, and the answer has a larger one.

    A program that was solved on some features alone is asked for the gap on these.
    """
    if result.status is Status.OPTIMAL or _falls_short(result.method) is None:
        return False
    return not _gap_asked_of(result) <= result.asked_gap


def _gap_asked_of(result: Result) -> float:
    """Return the gap over the features that the bound is about: all of them, or those of reduced_dim."""
    if result.restricted_bound is None:
        return result.gap
    return relative_gap(max(result.value, 0.0), max(result.restricted_bound, 0.0))


def _falls_short(method: str) -> str | None:
    return METHODS[method]().falls_short if method in METHODS else None


def gap_in_words(gap: float) -> str:
    """Return a gap as it stands in a sentence, rounded up.

    >>> gap_in_words(0.1751), gap_in_words(float("inf"))
    ('a gap of 18 %', 'no finite gap')
    """
    return f"a gap of {percent_up(gap)}" if np.isfinite(gap) else "no finite gap"


def why_not_closed(limit: Limit | None, messages: Sequence[str] = (), method: str = "exact") -> str:
    """Return why an answer has a larger gap than the one asked for, and what to do, as the end of a sentence.

    Parameters
    ----------
    limit, messages, method : as of a Result
    """
    if limit is not None:
        reason, remedy = _ENDED[limit]
        return f"{reason}; {remedy}, or ask for a larger gap or a smaller k"
    for message in messages:
        if "; ask for a larger gap" in message or message.endswith("for a smaller gap."):  # the search's own reason
            return f"{message[0].lower()}{message[1:].removesuffix('.')}"
    return str(_falls_short(method))


def nothing_left(problem: Problem) -> str:
    """Return the beginning of a warning that the optimum of the problem is 0."""
    strength = problem.adversary.strength_in_words(problem.n_samples)
    if problem.costs is not None:
        return f"At {strength} no feature is worth its cost"
    if problem.orthogonal_to is not None:
        return f"At {strength} and k = {problem.k} no direction orthogonal to the given ones is worth anything"
    left = " that include and exclude leave" if len(problem.include) or len(problem.exclude) else ""
    return f"At {strength} the adversary can cancel every direction{left}"


# Options of `solve` itself.
_SHARED = ("gap", "time_limit", "random_state", "progress")
# The methods that take a problem with a metric.
_WITH_METRIC = ("exact", "relaxation", "ascent")
# The methods that can use the tree of the kernel, and so take include and exclude.
_ON_THE_TREE = ("exact", "relaxation")


def checked_options(problem: Problem, method: str, options: Mapping[str, Any]) -> Any:
    """Return the options that are a method's own, checked; those of `solve` itself are passed over."""
    if method not in _WITH_METRIC:
        problem.require_no_metric(f"Method {method!r}")
    if method not in _ON_THE_TREE or problem.metric is not None:
        problem.require_no_demands(f"Method {method!r}")
        if method != "ascent":
            problem.require_no_directions(f"Method {method!r}")
    chosen = METHODS[method]()
    own = {name: given for name, given in options.items() if name not in _SHARED}
    for name in own:
        if name not in chosen.options:
            raise InvalidProblem(
                f"{name} is not an option of method {method!r}; it takes {', '.join(chosen.options) or 'none'}."
            )
    return chosen.check(problem, **own)


def check_call(problem: Problem, method: str, settings: Mapping[str, Any]) -> None:
    """Raise InvalidProblem if `solve` would refuse these settings; nothing is solved."""
    _require_known(method)
    Controls.checked(*(settings[name] for name in _SHARED))
    checked_options(problem, method, settings)


def _require_known(method: Any) -> None:
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidProblem(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
