"""`noap.stability`: solve on resampled data, and count which features come back."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.data.arguments import as_count, as_jobs
from noap.data.validation import as_samples
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.linalg.products import column_norms
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import orient
from noap.problem import Problem
from noap.resampling.frequencies import Stability
from noap.resampling.tasks import finished, seeds
from noap.result import Result
from noap.runtime.interrupts import noticing_interrupts
from noap.solving import NOTHING_LEFT, check_call, solve, warn_of_gaps
from noap.ties import break_ties

__all__ = ["stability"]

# Means and variances of columns that agree to this with 0 and 1 were made so.
_MADE_SO = 1e-8


def stability(
    problem: Problem,
    n_boot: int = 100,
    *,
    method: str = "ascent",
    center: bool | None = None,
    scale: bool | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Stability:
    """Resample the samples, solve again, and count how often each feature returns.

    A resample has as many samples as the data, drawn with replacement. A certificate says that no direction does better
    on *these* data; the bootstrap says what other samples would have made of it.

    Parameters
    ----------
    problem : Problem
        Built from samples; a covariance does not say where they are.
    n_boot : int
        How many resamples.
    method : str
        As for :func:`noap.solve`. "ascent" finds the optimum of most problems in milliseconds and proves nothing;
        "exact" proves every resample, which takes as long as so many proofs do.
    center, scale : bool, optional
        Centre and scale the columns of each resample. By default as the data are: where their columns have mean 0
        (variance 1), so have those of a resample.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    n_jobs : int, optional
        Number of processes (-1 for all cores); the answer does not depend on it.
    progress : bool
        Count resamples on a terminal, and once a minute in a log.
    **options
        Those of :func:`noap.solve`: gap, time_limit (seconds for each resample), and the method's own.

    Returns
    -------
    Stability
        On Ctrl-C that of the resamples so far, with a warning.

    Examples
    --------
    >>> import noap
    >>> from sklearn.datasets import load_wine
    >>> data = load_wine(as_frame=True).data
    >>> Z = noap.standardise(data)
    >>> found = noap.stability(noap.Problem(Z, k=3, adversary=noap.FeatureWise(4.0)), n_boot=20)
    >>> found.stable(0.9)
    ('total_phenols', 'flavanoids', 'od280/od315_of_diluted_wines')
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    problem.require_no_metric("stability")
    problem.require_no_directions("stability")
    X = problem.samples("stability")
    count, jobs = as_count("n_boot", n_boot), as_jobs(n_jobs)
    settings = {"gap": 1e-4, "time_limit": None, "random_state": 0, "progress": False} | options
    check_call(problem, method, settings)
    center = _is_centred(X) if center is None else bool(center)
    scale = _is_scaled(X) if scale is None else bool(scale)
    if center and not isinstance(X, np.ndarray):
        raise InvalidProblem("center must be False for a sparse X, which centring fills; pass a dense X, or False.")
    tasks = [_Resample(problem, seed, method, center, scale, settings) for seed in seeds(random_state, count)]
    with noticing_interrupts() as interrupts:
        result = _solved(problem, method, settings)
        interrupts.check()
    answers, cut = finished(_resampled, tasks, n_jobs=jobs, what="resample", progress=progress)
    if cut:
        warnings.warn(
            f"Interrupted: frequencies are those of the {len(answers)} resamples that were finished, of {count}.",
            NoapWarning,
            stacklevel=2,
        )
    else:
        warn_of_gaps([result])
    return Stability(result, np.array([v for v, _ in answers]), np.array([value for _, value in answers]))


@dataclass(frozen=True)
class _Resample:
    problem: Problem
    seed: np.random.SeedSequence
    method: str
    center: bool
    scale: bool
    settings: dict[str, Any]


def _resampled(task: _Resample) -> tuple[FloatArray, float]:
    """Return the vector and the value on one resample; a vector of zeros where the adversary leaves nothing."""
    given = task.problem.samples("stability")
    n = int(given.shape[0])
    rows = np.random.default_rng(task.seed).integers(0, n, n)
    X = given[rows]
    if task.center:
        X = X - X.mean(axis=0, dtype=np.float64)
    if task.scale:
        spread = column_norms(X) / math.sqrt(n)
        # A column that a resample makes constant stays what it is.
        X = _divided(X, np.where(spread > _MADE_SO * spread.max(initial=0.0), spread, 1.0))
    # Whether to centre was decided above.
    names, costs = task.problem.feature_names, task.problem.costs
    adversary = task.problem.adversary.restricted_to_samples(rows)
    drawn = Problem(as_samples(X), task.problem.k, adversary, costs=costs, feature_names=names)
    result = _solved(drawn, task.method, task.settings)
    return orient(np.array(result.v)) if result.value > 0 else np.zeros_like(result.v), result.value


def _solved(problem: Problem, method: str, settings: dict[str, Any]) -> Result:
    with warnings.catch_warnings():
        # That nothing is left of a resample is an answer like any other.
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        warnings.simplefilter("ignore", GapWarning)  # said once, of the data themselves
        return break_ties(solve(problem, method, **settings))[0]


def _divided(X: Data, scales: FloatArray) -> Data:
    if isinstance(X, np.ndarray):
        return X / scales
    scaled = X.copy()
    scaled.data = scaled.data / scales[scaled.indices]
    return scaled


def _is_centred(X: Data) -> bool:
    n = int(X.shape[0])
    sums = np.abs(np.asarray(X.sum(axis=0, dtype=np.float64))).ravel()
    return bool((sums <= _MADE_SO * math.sqrt(n) * column_norms(X)).all()) and isinstance(X, np.ndarray)


def _is_scaled(X: Data) -> bool:
    variances = column_norms(X) ** 2 / int(X.shape[0])
    return bool(((np.abs(variances - 1.0) <= _MADE_SO) | (variances == 0)).all())
