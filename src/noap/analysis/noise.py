r"""`noap.noise`: the noise of each feature, from knowledge of the measurements.

Every function returns noise: for each feature the root mean square, over the samples, of the errors that its entries
may have, in the units of X. `Problem(X, k, noise=noise)` has the adversary with these errors, FeatureWise of budgets
:math:`\rho_j = \sqrt n\,\mathrm{noise}_j`. Divide the noise by the scales of the columns if X is divided by them;
centring changes nothing, for it makes no error longer.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries import FeatureWise
from noap.data.arguments import as_count, as_share
from noap.data.validation import as_samples, names_of
from noap.errors import InvalidProblem
from noap.linalg.products import column_norms
from noap.linalg.types import FloatArray, refuse_mask
from noap.problem import Problem
from noap.runtime.tasks import seeds
from noap.solving import solve

__all__ = [
    "Chance",
    "from_entries",
    "from_missing",
    "from_replicates",
    "from_rounding",
    "from_shuffling",
    "from_variation",
    "with_confidence",
]

# Steps to the noise at which a component comes down to one feature; a few are usually enough.
_STEPS = 50
# The least gain of a step beyond rounding.
_SAME = 1e-9


def from_replicates(Y: Any, groups: Sequence[Any] | np.ndarray, *, averaged: int = 1) -> Any:
    r"""Return the noise of each feature from repeated measurements of the same things.

    The pooled standard deviation within groups,

    .. math:: \mathrm{noise}_j = \sqrt{\frac{1}{m - g} \sum_{i=1}^{m} (y_{ij} - \bar y_{g(i)\,j})^2}

    over m measurements of g things, divided by :math:`\sqrt r` where a row of X is the mean of r measurements.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (m, d)
        Repeated measurements, in rows.
    groups : sequence of length m
        What each row is a measurement of. A thing that was measured once says nothing.
    averaged : int
        How many measurements a row of X is the mean of.

    Returns
    -------
    array of shape (d,)
        By name where Y has names: a pandas Series, or a polars DataFrame of one row, which `noise` takes everywhere.

    Examples
    --------
    >>> from_replicates([[1.0, 5.0], [3.0, 5.0], [10.0, 0.0], [10.0, 2.0]], ["a", "a", "b", "b"])
    array([1., 1.])
    """
    measured = _table("Y", Y)
    labels = np.asarray(groups)
    if labels.shape != (len(measured),):
        raise InvalidProblem(f"groups must name what each of the {len(measured)} rows of Y is a measurement of.")
    names, which = np.unique(labels, return_inverse=True)
    if len(names) == len(measured):
        raise InvalidProblem("groups has no name twice: pass at least one thing that was measured again.")
    sizes = np.bincount(which)[:, None]
    sums = np.zeros((len(names), measured.shape[1]))
    np.add.at(sums, which, measured)
    within = measured - (sums / sizes)[which]
    freedom = (len(measured) - len(names)) * as_count("averaged", averaged)
    pooled: FloatArray = np.sqrt((within**2).sum(axis=0) / freedom)
    if names_of(Y) is None:
        return pooled
    if hasattr(Y, "iloc"):
        import pandas  # type: ignore[import-untyped]

        return pandas.Series(pooled, index=Y.columns)
    return type(Y)([pooled.tolist()], schema=list(Y.columns), orient="row")


def with_confidence(sigma: ArrayLike, n_samples: int, n_features: int, level: float = 0.95) -> Any:
    r"""Return a noise so large that, most probably, no direction looks stronger than it is without errors.

    .. math:: \mathrm{noise}_j = \sigma_j \sqrt{q/n}, \qquad
        q \text{ with } \Pr(\chi^2_n > q) = (1 - \mathrm{level})/m,

    m the number of features with an error. If the entries of X are off by independent normal errors of standard
    deviations sigma_j, from row to row, then with probability at least `level`, for *all* v at once, the robust
    variance of v on X is at most its variance on the data without errors, and so is that of the component found. Errors
    of different features may depend on each other. For centred data the same noise will do; where columns are divided
    by scales divide it as well (docs/choosing.md has the proof).

    Parameters
    ----------
    sigma : float or array of shape (d,)
        Standard deviation of the errors of the entries; 0 for a feature without errors.
    n_samples, n_features : int
    level : float
        Above 0 and below 1.

    Returns
    -------
    float, or array of shape (d,)

    Examples
    --------
    >>> round(with_confidence(0.3, n_samples=500, n_features=30), 4)
    0.3281
    """
    n, d = as_count("n_samples", n_samples), as_count("n_features", n_features)
    if not (isinstance(level, (float, np.floating)) and 0 < level < 1):
        raise InvalidProblem(f"level must be a number above 0 and below 1, got {level!r}.")
    errors = _per_feature("sigma", sigma, d)
    from scipy.special import chdtri

    moved = max(int(np.count_nonzero(errors)), 1)
    factor = float(np.sqrt(chdtri(n, (1.0 - level) / moved) / n))
    return factor * errors if np.ndim(sigma) else factor * float(errors[0])


def from_entries(sigmas: ArrayLike) -> FloatArray:
    r"""Return the noise of each feature from the standard error of every entry: its root mean square in the column.

    .. math:: \mathrm{noise}_j = \sqrt{\tfrac1n \sum_i \sigma_{ij}^2}

    Where errors have hard limits, pass these to :class:`noap.EntryWise` as they are: every entry then keeps its own.

    Parameters
    ----------
    sigmas : array-like of shape (n, d)
        At least 0; infinity for an entry that is not to be trusted, which makes the noise of its feature infinite.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> from_entries([[0.3, 1.0], [0.4, 1.0], [0.0, 1.0], [0.0, float("inf")]])
    array([0.25,  inf])
    """
    try:
        errors = np.asarray(sigmas, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem("sigmas must be a table of real numbers.") from None
    if errors.ndim != 2 or errors.size == 0 or not (errors >= 0).all():
        raise InvalidProblem("sigmas must be a table like X, with a standard error of at least 0 for every entry.")
    return np.where(np.isinf(errors).any(axis=0), np.inf, _root_mean_squares(np.where(np.isinf(errors), 0.0, errors)))


def from_variation(X: ArrayLike, variation: ArrayLike) -> FloatArray:
    r"""Return the noise of each feature from coefficients of variation: errors in proportion to the values.

    .. math:: \mathrm{noise}_j = c_j \sqrt{\tfrac1n \sum_i x_{ij}^2}

    Parameters
    ----------
    X : array-like of shape (n, d)
        As measured: neither centred nor scaled.
    variation : float or array of shape (d,)
        c, the standard deviation of an entry as a share of it: 0.05 for 5 %.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> from_variation([[3.0, 10.0], [4.0, 10.0]], [0.0, 0.1])
    array([0., 1.])
    """
    data = _table("X", X)
    return _per_feature("variation", variation, data.shape[1]) * _root_mean_squares(data)


def from_rounding(digits: ArrayLike, n_features: int | None = None) -> FloatArray:
    r"""Return the noise of each feature from the number of decimals that it was rounded to.

    Every entry is off by at most half a unit of the last digit, so that a column is off by at most
    :math:`\rho_j = \sqrt n\,\tfrac12 10^{-\mathrm{digits}_j}`. (The root mean square of evenly spread rounding errors
    is smaller, by :math:`\sqrt 3`.)

    Parameters
    ----------
    digits : int or array of int of shape (d,)
        Decimals that were kept; -1 for tens.
    n_features : int, optional
        How many features there are, if digits is a number.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> from_rounding([0, 2, -1])
    array([0.5  , 0.005, 5.   ])
    """
    given = np.asarray(digits)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise InvalidProblem(f"digits must be an integer, or one per feature, got {digits!r}.")
    if given.ndim == 0:
        if n_features is None:
            raise InvalidProblem("n_features must be given where digits is one number for all features.")
        given = np.full(as_count("n_features", n_features), int(given))
    # By a power of ten, not by its inverse: 0.5/100 is the float next to 0.005.
    powers = 10.0 ** np.abs(given.astype(np.float64))
    half_a_unit: FloatArray = np.where(given >= 0, 0.5 / powers, 0.5 * powers)
    return half_a_unit


def from_missing(X: ArrayLike, filled: ArrayLike | None = None) -> FloatArray:
    r"""Return the noise of each feature from its missing values: each may have been anything within the observed range.

    .. math:: \mathrm{noise}_j = \sqrt{\tfrac1n \sum_{i\ \mathrm{missing}}
       \max(f_{ij} - \min_j,\ \max{}_j - f_{ij})^2}

    with f the values filled in, and the smallest and the largest observed value. With m of n values missing and means
    in the middle of the range that is :math:`\sqrt{m/n}` times half the range.

    Parameters
    ----------
    X : array-like of shape (n, d)
        With NaN for missing values.
    filled : array-like of shape (n, d), optional
        X with the missing values filled in; by the means of the columns if it is not given.

    Returns
    -------
    array of shape (d,)
        0 for a feature without missing values, infinity for one without any other.

    Examples
    --------
    >>> nan = float("nan")
    >>> from_missing([[0.0, 1.0], [2.0, 1.0], [4.0, 2.0], [nan, 3.0]])
    array([1., 0.])
    """
    data = _table("X", X, missing=True)
    absent = np.isnan(data)
    seen = ~absent.all(axis=0)
    low = np.min(data, axis=0, where=~absent, initial=np.inf)
    high = np.max(data, axis=0, where=~absent, initial=-np.inf)
    if filled is None:
        counts = np.maximum((~absent).sum(axis=0), 1)
        whole = np.where(absent, np.sum(data, axis=0, where=~absent) / counts, data)
    else:
        whole = _table("filled", filled)
        if whole.shape != data.shape:
            raise InvalidProblem(f"filled has shape {whole.shape}, but X has shape {data.shape}; pass X, filled in.")
    low, high = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
    furthest = np.maximum(np.abs(whole - low), np.abs(high - whole))
    noise = _root_mean_squares(np.where(absent, furthest, 0.0))
    return np.where(seen, noise, np.inf)


class Chance(NamedTuple):
    """Comparison of the data with shuffled copies.

    Attributes
    ----------
    noise : float
        The noise from which on the best component of shuffled data is a single feature, in the asked share of copies.
    lasts : float
        The noise up to which the best component of the data has two features or more.
    p_value : float
        The share of copies, the data counted among them, whose component lasts as long as that of the data.
    """

    noise: float
    lasts: float
    p_value: float


def from_shuffling(
    X: ArrayLike,
    k: int,
    *,
    share: float = 0.95,
    n_permutations: int = 99,
    random_state: int | np.random.Generator | None = None,
) -> Chance:
    r"""Return the noise above which no component of several features arises by chance in data of this shape.

    In copies of X every column is shuffled by itself, which keeps the features and breaks their correlations. With
    rising noise the best component of a copy comes down to a single feature, for good, at

    .. math:: \mathrm{noise} = \max_v \frac{\|Xv\|_2 - \max_j \|a_j\|_2}{\sqrt n\,(\|v\|_1 - 1)}

    over k-sparse unit v of two features or more. A component that outlasts those of most copies is more than chance.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Centred, and scaled if the noise is to mean the same for all features.
    k : int
    share : float
        The share of copies that must have come down to one feature.
    n_permutations : int
    random_state : int, Generator or None

    Returns
    -------
    Chance
        Found by ascent: each number may be a little too small, for the data as for the copies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> X[:, 1] += 2 * X[:, 0]
    >>> Z = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> chance = from_shuffling(Z, 2, n_permutations=19)
    >>> chance.noise < 0.3, chance.lasts > 0.8, chance.p_value
    (True, True, 0.05)
    """
    data = _table("X", X)
    wanted, count = as_share("share", share), as_count("n_permutations", n_permutations)
    problem = Problem(as_samples(data), k, FeatureWise(0.0))
    lasts = _falls_apart(problem)
    copies = []
    for seed in seeds(random_state, count):
        shuffled = np.random.default_rng(seed).permuted(data, axis=0)
        copies.append(_falls_apart(Problem(as_samples(shuffled), k, problem.adversary)))
    nulls = np.array(copies)
    reached = int((nulls >= lasts * (1 - _SAME)).sum())
    noise = float(np.quantile(nulls, wanted, method="higher"))
    return Chance(noise, lasts, (1 + reached) / (1 + count))


def _falls_apart(problem: Problem) -> float:
    """Return the noise from which on a single feature is the best component, by Dinkelbach's steps from below.

    At the optimum for one budget the ratio of the docstring above is the next budget: it does not fall, and stays where
    it is the largest.
    """
    top, unit = float(problem.column_norms.max()), FeatureWise.noise_unit(problem.n_samples)
    if problem.k == 1 or top == 0.0:
        return 0.0
    rho = 0.0
    for _ in range(_STEPS):
        result = solve(problem.with_adversary(FeatureWise(rho)), "ascent")
        length = float(np.abs(result.v).sum())
        if len(result.support) < 2:
            break
        # |Xv| from the value: (|Xv| - rho |v|_1)^2/n.
        reached = unit * float(np.sqrt(result.value)) + rho * length
        following = min((reached - top) / (length - 1.0), np.nextafter(top, 0.0))
        if not following > rho * (1 + _SAME):
            break
        rho = following
    return rho / unit


def _table(name: str, given: ArrayLike, *, missing: bool = False) -> FloatArray:
    """Return a table of real numbers as float64."""
    refuse_mask(given, name)
    try:
        array = np.asarray(given)
        table: FloatArray = array.astype(np.float64)
        if array.dtype.kind == "c":
            raise TypeError
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a table of real numbers.") from None
    if table.ndim != 2 or table.size == 0:
        raise InvalidProblem(f"{name} must have rows and columns, it has shape {table.shape}.")
    if not missing and np.isnan(table).any():
        raise InvalidProblem(f"{name} has missing values; see noap.noise.from_missing.")
    if np.isinf(table).any():
        raise InvalidProblem(f"{name} has infinite entries; take them out, or mark them as missing.")
    return table


def _per_feature(name: str, given: ArrayLike, d: int) -> FloatArray:
    """Return a number, or one per feature, as an array of d."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, or one per feature.") from None
    if array.shape not in ((), (d,)):
        raise InvalidProblem(f"{name} has shape {array.shape}, but there are {d} features; pass one per feature.")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InvalidProblem(f"{name} must be finite and at least 0.")
    return np.broadcast_to(array, (d,)).copy()


def _root_mean_squares(table: FloatArray) -> FloatArray:
    roots: FloatArray = column_norms(table) / np.sqrt(len(table))
    return roots
