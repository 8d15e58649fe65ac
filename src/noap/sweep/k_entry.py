"""`noap.k_path`: validate, solve the levels, hand back a KPath."""

import dataclasses
import operator
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from noap.data.centring import outside
from noap.errors import InvalidProblem, NoapWarning
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.controls import Controls
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.names import counted
from noap.solving import checked_options, nothing_left, warn_of_gaps
from noap.sweep.k_path import KPath
from noap.sweep.levels import solved_levels
from noap.ties import break_ties

__all__ = ["k_path"]

# Open levels are tried again with the time that is left when it is more than this many times what they have had.
_AGAIN = 2.0


@interrupts_wait
def k_path(
    problem: Problem,
    ks: Iterable[int] | None = None,
    *,
    gap: float = 1e-4,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
    **options: Any,
) -> KPath:
    r"""Solve for k = 1, 2, ... features: what each feature more adds, with proof.

    .. math:: \mathrm{opt}_k = \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    Every level is solved by the exact method, started from the vector of the level below as well as by ascent, and has
    a bound and a certificate of its own. The values never fall.

    Parameters
    ----------
    problem : Problem
        Its k is the largest, unless `ks` says otherwise.
    ks : iterable of int, optional
        1 to the k of the problem by default; sorted, without repetitions, at most the number of features.
    gap : float
        Relative gap to prove at every level.
    time_limit : float, optional
        Seconds for the whole path. What is left is shared evenly among the levels to come; if time remains in the end,
        levels that stayed open are tried again. A level without time has the bound that needs none.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Show a line of progress on a terminal or under the cell of a notebook; elsewhere the logger "noap" gets one
        every minute (INFO).
    **options
        Those of the exact method, for every level: node_limit, memory_limit, certificate.

    Returns
    -------
    KPath
        One GapWarning says how many levels miss the gap asked for. On Ctrl-C the levels so far come back, with a
        warning; the last one with the bound it had.

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> path = noap.k_path(noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5)))
    >>> path.ks, path.values.round(4)
    (array([1, 2, 3]), array([1.7804, 3.5481, 3.5481]))
    >>> path.supports[1]
    array([0, 1])
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    problem.require_no_metric("k_path")
    problem.require_no_demands("k_path")
    problem.require_no_directions("k_path")
    sparsities = _sparsities(problem, ks)
    # One seed for all levels, each of which then begins as `solve` does.
    seed = 0 if random_state is None else random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    controls = Controls.checked(gap, time_limit, seed, progress)
    limits = checked_options(problem, "exact", options)
    problem.check_unchanged()
    if problem.with_sparsity(sparsities[-1]).optimum_is_zero:
        warnings.warn(
            f"{nothing_left(problem)}, so the optimum is 0 for every k; use less noise.",
            NoapWarning,
            stacklevel=outside(),
        )
    problem = problem.with_sparsity(sparsities[-1])
    found: dict[int, Result] = {}
    waiting, interrupted = sparsities, False
    # Ctrl-C waits for the level at hand, which ends with what it has.
    with holding_interrupts() as interrupts:
        while waiting and not interrupted:
            for k, result in solved_levels(problem, waiting, controls, limits, seed, found):
                interrupted = interrupts.seen or result.limit is Limit.INTERRUPTED
                if result.bound < np.inf or not found:
                    found[k] = _better(found.get(k), result)
                if interrupted:
                    break
            waiting = [k for k, result in found.items() if result.limit is Limit.TIME]
            spent = sum(found[k].seconds for k in waiting)
            if (controls.share(1) or 0.0) <= _AGAIN * spent:
                break
    if interrupted:
        warnings.warn(
            f"Interrupted: the path holds the {counted(len(found), 'level')} up to k = {max(found)}, the last of them "
            "as far as it was proved.",
            NoapWarning,
            stacklevel=outside(),
        )
    path = KPath(_rising(list(found.values())))
    if not interrupted:
        warn_of_gaps(path.results, "levels", [f"k = {k}" for k in path.ks])
    return path


def _sparsities(problem: Problem, ks: Any) -> list[int]:
    d = problem.n_features
    if ks is None:
        return list(range(1, problem.k + 1))
    try:
        wanted = sorted({_whole(k) for k in ks})
    except TypeError:
        raise InvalidProblem(f"ks must be a list of integers of at least 1, got {ks!r}.") from None
    if not wanted or wanted[0] < 1:
        raise InvalidProblem(f"ks must be a list of integers of at least 1, got {ks!r}; pass None for 1 to k.")
    if wanted[-1] > d:
        raise InvalidProblem(
            f"ks must be at most the number of features, {d}, got {wanted[-1]}; leave out what is more."
        )
    return wanted


def _whole(k: Any) -> int:
    if isinstance(k, (bool, np.bool_)):
        raise TypeError
    return operator.index(k)


def _better(before: Result | None, result: Result) -> Result:
    """Return the lower bound of two tries of a level, with its proof, and the better vector."""
    if before is None:
        return result
    kept, better = min(result, before, key=lambda one: one.bound), max(result, before, key=lambda one: one.value)
    return dataclasses.replace(
        kept, v=better.v, nodes=before.nodes + result.nodes, seconds=before.seconds + result.seconds
    )


def _rising(results: list[Result]) -> tuple[Result, ...]:
    """Return the results with ties given to the lowest index, none of them worth less than the one before."""
    rising: list[Result] = []
    for result in results:
        if result.value > 0:
            result = break_ties(result)[0]
        if rising and result.value < rising[-1].value:
            # A vector of fewer features is one of more; rounding, or another try of the level below, found it.
            result = dataclasses.replace(result, v=rising[-1].v)
        rising.append(result)
    return tuple(rising)
