"""`noap.stability`: how often each feature returns on resampled data (the bootstrap)."""

import functools
import importlib
import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noap.data.arguments import as_count, as_jobs, as_share
from noap.data.centring import outside
from noap.data.validation import as_samples
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.linalg.products import column_norms
from noap.linalg.types import Data, FloatArray, IntArray
from noap.linalg.vectors import orient
from noap.problem import Problem
from noap.result import Result
from noap.runtime.frames import Tabular, shaped
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.names import counted
from noap.runtime.tasks import finished, seeds
from noap.solving import NOTHING_LEFT, check_call, solve, warn_of_gaps
from noap.ties import break_ties

__all__ = ["Stability", "stability"]

# Columns whose mean and variance agree with 0 and 1 to this share were standardised.
_STANDARDISED = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Tabular):
    """The answers on resampled data, as returned by :func:`noap.stability`.

    Attributes
    ----------
    result : Result
        The answer on the data themselves.
    vectors : array of shape (n_boot, d)
        The answer on each resample: unit vectors, the entry of largest magnitude positive; zeros where the adversary
        leaves nothing.
    values : array of shape (n_boot,)
        Their robust variances, each on its own resample.
    """

    result: Result
    vectors: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        self.vectors.flags.writeable = False
        self.values.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"Stability({self.result.problem.terms}; {counted(len(self.values), 'resample')}, the same "
            f"{counted(len(self.result.support), 'feature')} in "
            f"{self.support_frequency:.0%} of them)"
        )

    @cached_property
    def frequencies(self) -> FloatArray:
        """The share of resamples that select each feature."""
        frequencies: FloatArray = (self.vectors != 0).mean(axis=0)
        frequencies.flags.writeable = False
        return frequencies

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features selected on each resample."""
        return tuple(np.flatnonzero(v) for v in self.vectors)

    @property
    def support_frequency(self) -> float:
        """The share of resamples that select exactly the features of `result`."""
        return float(np.mean([np.array_equal(support, self.result.support) for support in self.supports]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, or their positions as text."""
        return self.result.problem.names

    def stable(self, share: float = 0.8) -> tuple[str, ...]:
        """Return the names of the features that at least this share of the resamples selects, most frequent first."""
        wanted = as_share("share", share)
        order = np.argsort(-self.frequencies, kind="stable")
        return tuple(self.names[j] for j in order if self.frequencies[j] >= wanted)

    def to_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return a table with one row per feature, most frequent first.

        Parameters
        ----------
        flat : bool
            Nothing to do here: no column holds lists.
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns feature, frequency, selected (by `result`), loading (in `result`), and low and high, between which
            lie 90 % of the loadings of the resamples that select the feature (null where none does).
        """
        import polars

        order = np.argsort(-self.frequencies, kind="stable")
        ranges = [self._range(int(j)) for j in order]
        frame = polars.DataFrame(
            {
                "feature": [self.names[j] for j in order],
                "frequency": self.frequencies[order],
                "selected": [bool(self.result.v[j] != 0) for j in order],
                "loading": self.result.v[order],
                "low": [low for low, _ in ranges],
                "high": [high for _, high in ranges],
            },
            schema_overrides={"low": polars.Float64, "high": polars.Float64},
        )
        return shaped(frame, flat, library)

    def _range(self, j: int) -> tuple[float | None, float | None]:
        # A vector and its negative are one answer.
        signs = np.where(self.vectors @ self.result.v < 0, -1.0, 1.0)
        loadings = (self.vectors[:, j] * signs)[self.vectors[:, j] != 0]
        if not loadings.size:
            return None, None
        low, high = np.quantile(loadings, [0.05, 0.95])
        return float(low), float(high)

    def plot(self, ax: Any = None, top: int = 20) -> Any:
        """Draw the frequency of each feature, most frequent on top.

        The parameters and the Figure are those of `noap.figures.draw_stability`.
        """
        # Pictures lie in a layer above; the name is resolved on use.
        return importlib.import_module("noap.figures").draw_stability(self, ax=ax, top=top)


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
    on *these* data; the bootstrap shows the answers that other samples would have given.

    Parameters
    ----------
    problem : Problem
        Built from samples; a covariance cannot be resampled.
    n_boot : int
        Number of resamples.
    method : str
        As for :func:`noap.solve`. "ascent" finds the optimum of most problems in milliseconds and proves nothing;
        "exact" proves the answer on every resample.
    center, scale : bool, optional
        Centre and scale the columns of each resample. By default as the data are: if their columns have mean 0
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
    >>> Z = noap.standardize(data)
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
    work = functools.partial(_resampled, problem=problem, method=method, center=center, scale=scale, settings=settings)
    drawn = seeds(random_state, count)
    with noticing_interrupts() as interrupts:
        result = _solved(problem, method, settings)
        interrupts.check()
    answers, cut = finished(work, drawn, n_jobs=jobs, what="resample", progress=progress)
    if cut:
        warnings.warn(
            f"Interrupted: frequencies are those of the {len(answers)} resamples that were finished, of {count}.",
            NoapWarning,
            stacklevel=outside(),
        )
    else:
        warn_of_gaps([result])
    return Stability(result, np.array([v for v, _ in answers]), np.array([value for _, value in answers]))


def _resampled(
    seed: np.random.SeedSequence, problem: Problem, method: str, center: bool, scale: bool, settings: dict[str, Any]
) -> tuple[FloatArray, float]:
    """Return the vector and the value on one resample; a vector of zeros where the adversary leaves nothing."""
    given = problem.samples("stability")
    n = int(given.shape[0])
    rows = np.random.default_rng(seed).integers(0, n, n)
    X = given[rows]
    if center:
        X = X - X.mean(axis=0, dtype=np.float64)
    if scale:
        spread = column_norms(X) / math.sqrt(n)
        # A column that is constant on the resample is not scaled.
        X = _divided(X, np.where(spread > _STANDARDISED * spread.max(initial=0.0), spread, 1.0))
    # as_samples keeps Problem from warning of data that are not centred: `center` decided that.
    adversary = problem.adversary.restricted_to_samples(rows)
    drawn = Problem(as_samples(X), problem.k, adversary, costs=problem.costs, feature_names=problem.feature_names)
    result = _solved(drawn, method, settings)
    return orient(np.array(result.v)) if result.value > 0 else np.zeros_like(result.v), result.value


def _solved(problem: Problem, method: str, settings: dict[str, Any]) -> Result:
    with warnings.catch_warnings():
        # An optimum of 0 on a resample is an answer like any other.
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        warnings.simplefilter("ignore", GapWarning)  # given once, for the data themselves
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
    return bool((sums <= _STANDARDISED * math.sqrt(n) * column_norms(X)).all()) and isinstance(X, np.ndarray)


def _is_scaled(X: Data) -> bool:
    variances = column_norms(X) ** 2 / int(X.shape[0])
    return bool(((np.abs(variances - 1.0) <= _STANDARDISED) | (variances == 0)).all())
