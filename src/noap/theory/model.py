"""The spiked Wishart model: samples x_i ~ N(0, lam v v' + I) with a sparse unit vector v (Assumptions 1 to 3)."""

import math
import operator
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noap.errors import InvalidProblem

__all__ = [
    "Spike",
    "SpikedWishart",
    "normalised_from_rho",
    "rho_from_normalised",
    "spiked_wishart",
    "strong_weak_truth",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def require_number(
    name: str, value: float, *, above: float = -math.inf, at_least: float = -math.inf
) -> float:
    """Return `value` as a finite float with ``value > above`` and ``value >= at_least``, or name it in an error."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(number):
        raise InvalidProblem(f"{name} must be finite, got {number}.")
    if number < at_least:
        raise InvalidProblem(f"{name} must be at least {at_least:g}, got {number:g}.")
    if number <= above:
        raise InvalidProblem(f"{name} must be above {above:g}, got {number:g}.")
    return number


def require_fraction(name: str, value: float) -> float:
    """Return `value` as a float strictly between 0 and 1, or name it in an error."""
    number = require_number(name, value, above=0.0)
    if number >= 1.0:
        raise InvalidProblem(f"{name} must be strictly between 0 and 1, got {number:g}.")
    return number


def require_count(name: str, value: int, *, at_most: int | None = None) -> int:
    """Return `value` as an int with ``1 <= value <= at_most``, or name it in an error."""
    try:
        count = operator.index(value)
    except TypeError:
        raise InvalidProblem(f"{name} must be an integer, got {value!r}.") from None
    if count < 1:
        raise InvalidProblem(f"{name} must be at least 1, got {count}.")
    if at_most is not None and count > at_most:
        raise InvalidProblem(f"{name} must be at most {at_most}, got {count}.")
    return count


def require_array(name: str, value: ArrayLike, *, ndim: int = 1) -> Floats:
    """Return `value` as a finite real float array with `ndim` axes and at least one entry, or name it in an error."""
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be an array of real numbers.") from None
    if array.ndim != ndim or array.size == 0:
        raise InvalidProblem(f"{name} must be a non-empty {ndim}-d array, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidProblem(f"{name} must not contain NaN or infinity.")
    return array


def require_budget(name: str, value: ArrayLike) -> None:
    """Raise unless every entry of `value` is a finite number that is not negative."""
    if np.any(require_array(name, np.ravel(value)) < 0.0):
        raise InvalidProblem(f"{name} must not be negative.")


@dataclass(frozen=True, eq=False)
class Spike:
    """The covariance ``Sigma = lam truth truth' + I`` (Assumption 2), kept as its two parts: no d x d matrix.

    Attributes
    ----------
    truth : ndarray, shape (d,)
        Unit vector, ``v*`` in the paper; the number of its nonzeros is the paper's ``k``.
    lam : float
        Strength of the spike, ``lam >= 0``.
    """

    truth: Floats
    lam: float

    def __post_init__(self) -> None:
        truth = require_array("truth", self.truth)
        # A typo such as an unnormalised truth would silently change lam; 1e-9 is far above rounding of a unit vector.
        if abs(float(np.linalg.norm(truth)) - 1.0) > 1e-9:
            raise InvalidProblem("truth must have unit l2 norm: divide it by its norm.")
        truth.setflags(write=False)
        object.__setattr__(self, "truth", truth)
        object.__setattr__(self, "lam", require_number("lam", self.lam, at_least=0.0))

    def deviation(self, v: ArrayLike) -> float:
        """``sqrt(v' Sigma v) = sqrt(|v|_2^2 + lam <v, truth>^2)``, the standard deviation of one score x'v."""
        vector = require_array("v", v)
        if vector.shape != self.truth.shape:
            raise InvalidProblem(f"v must have length {self.truth.size}, got {vector.size}.")
        return math.hypot(float(np.linalg.norm(vector)), math.sqrt(self.lam) * float(vector @ self.truth))


@dataclass(frozen=True, eq=False)
class SpikedWishart:
    """One draw of the model, as returned by :func:`spiked_wishart`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        Samples in rows, independent ``N(0, lam v v' + I)``.
    v : ndarray, shape (d,)
        Unit truth with exactly k nonzeros.
    lam : float
        Strength of the spike.
    support, strong, weak : ndarray of int
        Sorted indices of the truth and of its two parts; `strong` and `weak` are empty for a general k-sparse truth.
    """

    X: Floats
    v: Floats
    lam: float
    support: Indices
    strong: Indices
    weak: Indices

    @property
    def spike(self) -> Spike:
        """The covariance of one sample."""
        return Spike(self.v, self.lam)


def strong_weak_truth(k: int, k1: int, c: float) -> Floats:
    """``k1`` entries ``sqrt(c/k1)``, then ``k - k1`` entries ``sqrt((1-c)/(k-k1))``: Assumption 3's truth on its support.

    The paper prints ``(1 - v)`` for ``(1 - c)``. It asks for c in (1/2, 1) and k1 far below k - k1; here c is any
    number in (0, 1) and k1 any count below k.

    Examples
    --------
    >>> strong_weak_truth(5, 2, 0.8).round(4)
    array([0.6325, 0.6325, 0.2582, 0.2582, 0.2582])
    """
    k = require_count("k", k)
    k1 = require_count("k1", k1)
    if k1 >= k:
        raise InvalidProblem(f"k1 must be below k = {k}, got {k1}.")
    c = require_fraction("c", c)
    k2 = k - k1
    return np.concatenate([np.full(k1, math.sqrt(c / k1)), np.full(k2, math.sqrt((1.0 - c) / k2))])


def spiked_wishart(
    n: int,
    d: int,
    k: int,
    lam: float,
    *,
    k1: int | None = None,
    c: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> SpikedWishart:
    """Draw ``X = sqrt(lam) g v' + W``, with g and W standard normal: rows are ``N(0, lam v v' + I)``.

    The support is a uniform k-subset of the d features. Without `k1` and `c` (Assumption 2) the truth on it is
    uniform on the unit sphere of R^k: normal entries, normalised. With both (Assumption 3) a uniform k1-subset of the
    support is strong, with entries ``sqrt(c/k1)``; the others are weak, with ``sqrt((1-c)/(k-k1))``.

    Parameters
    ----------
    n, d, k : int
        Samples, features, nonzeros of the truth; ``1 <= k <= d``.
    lam : float
        Strength of the spike, ``lam >= 0``.
    k1, c : int and float, optional
        Number of strong features, ``1 <= k1 < k``, and their share of the squared norm, ``0 < c < 1``.
    random_state : int, Generator or None
        The same seed gives the same draw; a Generator is advanced; None is fresh entropy.

    Examples
    --------
    >>> model = spiked_wishart(50, 20, 5, 3.0, k1=2, c=0.8, random_state=0)
    >>> model.X.shape, model.support.size, model.strong.size, model.weak.size
    ((50, 20), 5, 2, 3)
    """
    n, d = require_count("n", n), require_count("d", d)
    k = require_count("k", k, at_most=d)
    lam = require_number("lam", lam, at_least=0.0)
    if (k1 is None) != (c is None):
        raise InvalidProblem("k1 and c must be given together, or neither of them.")
    if not (random_state is None or isinstance(random_state, np.random.Generator)):
        try:
            random_state = operator.index(random_state)
        except TypeError:
            raise InvalidProblem("random_state must be an integer, a numpy Generator or None.") from None
        if random_state < 0:
            raise InvalidProblem(f"random_state must be at least 0, got {random_state}.")
    rng = np.random.default_rng(random_state)

    features = rng.choice(d, size=k, replace=False)  # in random order, so its head is a random strong part
    strong = weak = np.empty(0, dtype=np.intp)
    if k1 is None or c is None:
        entries = rng.standard_normal(k)
        entries /= np.linalg.norm(entries)
    else:
        entries = strong_weak_truth(k, k1, c)
        strong, weak = np.sort(features[:k1]), np.sort(features[k1:])
    v = np.zeros(d)
    v[features] = entries
    support = np.sort(features)
    scores = math.sqrt(lam) * rng.standard_normal(n)
    X = rng.standard_normal((n, d))
    X[:, support] += np.outer(scores, v[support])  # only the k spiked columns: no second n x d array
    for array in (
        v,
        support,
        strong,
        weak,
    ):  # X stays writable: centring in place is a normal thing to do to data
        array.setflags(write=False)
    return SpikedWishart(X=X, v=v, lam=lam, support=support, strong=strong, weak=weak)


@overload
def rho_from_normalised(rho_bar: float, n: int, k: int) -> float: ...
@overload
def rho_from_normalised(rho_bar: Floats, n: int, k: int) -> Floats: ...
def rho_from_normalised(rho_bar: float | Floats, n: int, k: int) -> float | Floats:
    """``rho = rho_bar sqrt(n/k)``, for a number or an array; the inverse of :func:`normalised_from_rho`."""
    require_budget("rho_bar", rho_bar)
    return rho_bar * math.sqrt(require_count("n", n) / require_count("k", k))


@overload
def normalised_from_rho(rho: float, n: int, k: int) -> float: ...
@overload
def normalised_from_rho(rho: Floats, n: int, k: int) -> Floats: ...
def normalised_from_rho(rho: float | Floats, n: int, k: int) -> float | Floats:
    """``rho_bar = rho sqrt(k/n)``, the budget on the paper's horizontal axes, for a number or an array."""
    require_budget("rho", rho)
    return rho * math.sqrt(require_count("k", k) / require_count("n", n))
