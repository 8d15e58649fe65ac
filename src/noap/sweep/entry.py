"""`noap.path`: validate, sweep, hand back a Path."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries import FeatureWise
from noap.adversaries.base import Adversary
from noap.data.arguments import as_jobs, as_strength
from noap.data.centring import outside
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import FloatArray, holds_truth
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.limits import Limit
from noap.runtime.names import counted
from noap.solving import check_call, warn_of_gaps
from noap.sweep.family import Family
from noap.sweep.path import Path
from noap.sweep.sweep import Sweep

__all__ = ["path"]


@overload
def path(
    X: Any,
    k: int,
    adversary: Callable[[float], Adversary] | Adversary = ...,
    rhos: ArrayLike | None = ...,
    method: str = ...,
    n_jobs: int | None = ...,
    *,
    points: int = ...,
    tolerance: float = ...,
    end: float | None = ...,
    **options: Any,
) -> Path: ...
@overload
def path(
    X: Any,
    k: Sequence[int],
    adversary: Callable[[float], Adversary] | Adversary = ...,
    rhos: ArrayLike | None = ...,
    method: str = ...,
    n_jobs: int | None = ...,
    *,
    points: int = ...,
    tolerance: float = ...,
    end: float | None = ...,
    **options: Any,
) -> tuple[Path, ...]: ...
@interrupts_wait
def path(
    X: Any,
    k: int | Sequence[int],
    adversary: Callable[[float], Adversary] | Adversary = FeatureWise,
    rhos: ArrayLike | None = None,
    method: str = "exact",
    n_jobs: int | None = None,
    *,
    points: int = 33,
    tolerance: float = 1e-3,
    end: float | None = None,
    **options: Any,
) -> Path | tuple[Path, ...]:
    r"""Solve over a range of budgets rho: which features survive as the noise grows, with proof.

    .. math:: \mathrm{opt}(\rho) = \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    What survives is measured redundantly enough to outlast errors of that size. That makes it neither true nor causal:
    near-copies of one random vector survive, too, and :func:`noap.duplicates` lists them.

    Neighbouring budgets help each other. The vectors found at the neighbours are where a point starts; and since
    :math:`\sqrt{n\,\mathrm{opt}(\rho)}` is convex in rho, the chord between two proved bounds is a bound in between,
    which often proves a point without any search. In the end every vector and every bound is offered to every point.

    Parameters
    ----------
    X : array-like, DataFrame or SciPy sparse matrix of shape (n, d), or Problem
        As for :class:`noap.Problem`: used as given. Of a Problem the data are used (its covariance, if it was built
        from one) and its costs; its k and adversary are not.
    k : int or sequence of int
        How many features a vector may use. With a sequence the answer is a tuple of paths, one per k; the vectors of
        a smaller k are starts for the next larger one.
    adversary : class, or object with several budgets
        :class:`noap.FeatureWise` or :class:`noap.SampleWise`: what takes a budget and gives an adversary. An object
        with a budget for every feature (or sample), such as ``noap.FeatureWise([1.0, 0.5, 2.0])``, is scaled as a
        whole: every rho is then a factor on all of them, and 1 stands for the budgets as given.
    rhos : array-like, optional
        The budgets; sorted, without repetitions. By default `points` of them from 0 to `rho_max`, and then more around
        every change of support between neighbours, by bisection, until the change is located to `tolerance` times
        `rho_max`. A feature that comes and goes between two points of equal support is not seen: raise `points`.
    method : str
        As for :func:`noap.solve`; only "exact" proves every point.
    n_jobs : int, optional
        Number of processes (-1 for all cores); the answer does not depend on it.
    points : int
        Size of the first grid when `rhos` is not given.
    end : float, optional
        Where that grid ends; `rho_max` by default, or where everything is gone that has a budget of its own. Factors
        are placed evenly along the ranges of the features, for these may differ by far, and 1 is among them.
    tolerance : float
        How well changes of support are located, as a share of `rho_max`, when `rhos` is not given.
    **options
        Those of :func:`noap.solve`: gap, time_limit (seconds for each point), random_state, progress, and the method's
        own.

    Returns
    -------
    Path, or tuple of Path
        Its `survives` says up to which rho every direction within the gap needs a feature, `plot` draws it. At
        rho >= rho_max the value is 0, without a warning. One GapWarning for the whole path says how many points miss
        the gap asked for. On Ctrl-C the points finished so far come back, with a warning.

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> path = noap.path(X, k=2, rhos=[0.0, 0.5, 3.165, 4.0], method="ascent")
    >>> path.supports[0], path.supports[2], path.supports[3]
    (array([0, 1]), array([1]), array([], dtype=int64))
    >>> path.lifetimes
    array([0.5  , 3.165,   nan])
    >>> [stage.kind for stage in path.stages()]
    ['full', 'single', 'none']
    """
    jobs = as_jobs(n_jobs)
    budgets = None if rhos is None else _budgets(rhos)
    last = None if end is None else as_strength("end", end)
    settings = _settings(options)
    if isinstance(k, (Sequence, np.ndarray)) and not isinstance(k, str):
        if len(k) == 0:
            raise InvalidProblem("k must hold at least one sparsity, it is empty.")
        families = [Family.of(X, one, adversary) for one in sorted(set(k))]
    else:
        families = [Family.of(X, k, adversary)]
    for family in families:
        check_call(family.base, method, settings)

    found: list[Path] = []
    # Ctrl-C waits for the point at hand, which ends with what it has.
    with holding_interrupts() as interrupts:
        for family in families:
            sweep = Sweep(family, method, settings, jobs, interrupts)
            if found:
                sweep.hints = _distinct(found[-1])
            wanted = budgets
            if budgets is None:
                wanted = family.even(_count(points), last)
            assert wanted is not None
            sweep.grid(wanted)
            if budgets is None and family.whole is None:
                sweep.refine(_share(tolerance) * family.end)
            elif budgets is None:
                sweep.refine(_share(tolerance), family.place)
            factors = None if family.whole is None else tuple(sorted(sweep.found))
            found.append(Path(sweep.finish(), family, None if sweep.interrupted else settings, factors))
            if interrupted := sweep.interrupted:
                break
    if interrupted:
        finished = sum(result.limit is not Limit.INTERRUPTED for result in found[-1].results)
        warnings.warn(
            f"Interrupted: the path for k = {found[-1].k} holds what was finished, {counted(finished, 'point')}"
            f"{'' if finished else '; the one it holds is as far as it came'}.",
            NoapWarning,
            stacklevel=outside(),
        )
    if not interrupted:
        places = [f"{one.swept} = {rho:.6g}" for one in found for rho in one.rhos]
        warn_of_gaps([result for one in found for result in one.results], "points", places)
    return found[0] if len(families) == 1 and not isinstance(k, (Sequence, np.ndarray)) else tuple(found)


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of solve, with the shared ones filled in and a seed that every process can use."""
    settings = {"gap": 1e-4, "time_limit": None, "random_state": None, "progress": False} | options
    if isinstance(settings["random_state"], np.random.Generator):
        settings["random_state"] = int(settings["random_state"].integers(2**32))
    return settings


def _budgets(rhos: ArrayLike) -> FloatArray:
    try:
        given = np.asarray(rhos)
        if given.ndim > 1 or given.dtype.kind == "c" or holds_truth(rhos):
            raise TypeError
        budgets = np.unique(given.astype(np.float64))
    except (TypeError, ValueError):
        raise InvalidProblem(f"rhos must be a list of numbers, got {rhos!r}; pass one budget per point.") from None
    if budgets.size == 0:
        raise InvalidProblem("rhos is empty; pass at least one budget, or None to have them chosen.")
    if not np.isfinite(budgets).all() or budgets[0] < 0:
        raise InvalidProblem("rhos must be finite numbers of at least 0.")
    return budgets


def _distinct(known: Path) -> FloatArray:
    """Return one vector per support of the path, the first in order of rho."""
    first = {tuple(support): v for support, v in zip(reversed(known.supports), known.vectors[::-1], strict=True)}
    return np.array(list(first.values()))


def _count(points: Any) -> int:
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 2:
        raise InvalidProblem(f"points must be an integer of at least 2, got {points!r}.")
    return int(points)


def _share(tolerance: Any) -> float:
    if not (isinstance(tolerance, (int, float, np.floating)) and tolerance > 0):
        raise InvalidProblem(f"tolerance must be a positive number, got {tolerance!r}.")
    return float(tolerance)
