"""Draw the spiked Wishart model: samples x_i ~ N(0, lam v v' + I), v unit and sparse (Assumptions 1 to 3)."""

import math
import operator
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.theory._checks import (
    Floats,
    Indices,
    require_array,
    require_budget,
    require_count,
    require_fraction,
    require_number,
)

__all__ = [
    "Spike",
    "SpikedWishart",
    "normalised_from_rho",
    "rho_from_normalised",
    "spiked_wishart",
    "strong_weak_truth",
]


@dataclass(frozen=True, eq=False)
class Spike:
    r"""The covariance :math:`\Sigma = \lambda v^* v^{*\top} + I` (Assumption 2), kept as its two parts.

    Attributes
    ----------
    truth : ndarray, shape (d,)
        Unit vector, :math:`v^*` in the paper; the number of its nonzeros is the paper's ``k``.
    lam : float
        Strength of the spike, :math:`\lambda \ge 0`.
    """

    truth: Floats
    lam: float

    def __post_init__(self) -> None:
        truth = require_array("truth", self.truth)
        # An unnormalised truth would silently change lam; 1e-9 is far above the rounding of a unit vector.
        if abs(float(np.linalg.norm(truth)) - 1.0) > 1e-9:
            raise InvalidProblem("truth must have unit l2 norm: divide it by its norm.")
        truth.setflags(write=False)
        object.__setattr__(self, "truth", truth)
        object.__setattr__(self, "lam", require_number("lam", self.lam, at_least=0.0))

    def deviation(self, v: ArrayLike) -> float:
        r"""Return :math:`\sqrt{v^\top\Sigma v} = \sqrt{\|v\|_2^2 + \lambda\langle v, v^*\rangle^2}`.

        This is the deviation of one score :math:`x^\top v`.
        """
        vector = require_array("v", v)
        if vector.shape != self.truth.shape:
            raise InvalidProblem(f"v must have length {self.truth.size}, got {vector.size}.")
        return math.hypot(float(np.linalg.norm(vector)), math.sqrt(self.lam) * float(vector @ self.truth))


@dataclass(frozen=True, eq=False)
class SpikedWishart:
    r"""One draw of the model, as returned by :func:`spiked_wishart`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        Samples in rows, independent :math:`N(0, \lambda v v^\top + I)`.
    v : ndarray, shape (d,)
        Unit truth with exactly k nonzeros.
    lam : float
        Strength of the spike.
    support, strong, weak : ndarray of int
        Sorted indices of the truth and of its two parts; for a general k-sparse truth `strong` and `weak` are
        empty.
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


def as_spike(covariance: Spike | SpikedWishart) -> Spike:
    """Return the spike of either; anything else cannot be used."""
    spike = covariance.spike if isinstance(covariance, SpikedWishart) else covariance
    if not isinstance(spike, Spike):
        raise InvalidProblem("covariance must be a Spike or a SpikedWishart.")
    return spike


def strong_weak_truth(k: int, k1: int, c: float) -> Floats:
    r"""``k1`` entries :math:`\sqrt{c/k_1}`, then ``k - k1`` entries :math:`\sqrt{(1-c)/(k-k_1)}`: Assumption 3's truth.

    Its nonzeros only, shape (k,). The paper prints ``(1 - v)`` for ``(1 - c)``, and asks for c in (1/2, 1) and k1
    far below k - k1; here c is any number in (0, 1) and k1 any count below k.

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
    r"""Draw :math:`X = \sqrt\lambda\,g v^\top + W`, with g and W standard normal.

    Rows are :math:`N(0, \lambda v v^\top + I)`.
    The support is a uniform k-subset of the d features. Without `k1` and `c` (Assumption 2) the truth on it is
    uniform on the unit sphere: normal entries, normalised. With both (Assumption 3) a uniform k1-subset of
    the support is strong, with entries :math:`\sqrt{c/k_1}`; the others are weak, with :math:`\sqrt{(1-c)/(k-k_1)}`.

    Parameters
    ----------
    n, d, k : int
        Samples, features, nonzeros of the truth; :math:`1 \le k \le d`.
    lam : float
        Strength of the spike, :math:`\lambda \ge 0`.
    k1, c : int and float, optional
        Number of strong features, :math:`1 \le k_1 < k`, and their share of the squared norm, :math:`0 < c < 1`.
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
    rng = _generator(random_state)

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
    # X stays writable, since data is often centred in place; what describes the truth does not.
    for array in (v, support, strong, weak):
        array.setflags(write=False)
    return SpikedWishart(X=X, v=v, lam=lam, support=support, strong=strong, weak=weak)


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise InvalidProblem("random_state must be an integer, a numpy Generator or None.") from None
    if seed < 0:
        raise InvalidProblem(f"random_state must be at least 0, got {seed}.")
    return np.random.default_rng(seed)


@overload
def rho_from_normalised(rho_bar: float, n: int, k: int) -> float: ...
@overload
def rho_from_normalised(rho_bar: Floats, n: int, k: int) -> Floats: ...
def rho_from_normalised(rho_bar: float | Floats, n: int, k: int) -> float | Floats:
    r""":math:`\rho = \bar\rho\sqrt{n/k}`, for a number or an array: the inverse of :func:`normalised_from_rho`."""
    require_budget("rho_bar", rho_bar)
    return rho_bar * math.sqrt(require_count("n", n) / require_count("k", k))


@overload
def normalised_from_rho(rho: float, n: int, k: int) -> float: ...
@overload
def normalised_from_rho(rho: Floats, n: int, k: int) -> Floats: ...
def normalised_from_rho(rho: float | Floats, n: int, k: int) -> float | Floats:
    r""":math:`\bar\rho = \rho\sqrt{k/n}`, the budget on the paper's horizontal axes, for a number or an array."""
    require_budget("rho", rho)
    return rho * math.sqrt(require_count("k", k) / require_count("n", n))
