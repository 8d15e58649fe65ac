"""Compute population objectives of both adversaries, and the exact population path of the feature-wise one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.theory._checks import (
    Floats,
    Indices,
    require_array,
    require_budget,
    require_count,
    require_number,
)
from noap.theory._stationary import maximiser, segments
from noap.theory.model import Spike, SpikedWishart, as_spike

__all__ = [
    "Law",
    "PopulationPath",
    "gamma_factor",
    "population_path",
    "population_value",
    "truncated_variance",
]

Form = Literal["limit", "expectation", "clipped"]
Stage = Literal["full", "partial", "single", "none"]


def gamma_factor(n: int) -> float:
    r""":math:`c_n = \sqrt{2/n}\,\Gamma(\frac{n+1}{2})/\Gamma(\frac{n}{2}) = E\|z\|_2/\sqrt n` for z standard normal.

    Below 1 for every n, and :math:`1 - 1/(4n) + O(1/n^2)`. It is the "1 + O(1/n)" of Proposition 5.

    Examples
    --------
    >>> round(gamma_factor(1), 6), round(gamma_factor(500), 6)
    (0.797885, 0.9995)
    """
    return math.exp(_log_gamma_factor(require_count("n", n)))


def _log_gamma_factor(n: int) -> float:
    x = n / 2.0
    if n < 60:
        return math.lgamma(x + 0.5) - math.lgamma(x) - 0.5 * math.log(x)
    # lgamma(x) is about x log x, so the difference loses all digits of 1 - c_n near n = 1e8. The asymptotic
    # series (from the Bernoulli numbers) has a first omitted term 31/(18432 x^9), below 1e-16 for n >= 60.
    y = 1.0 / (x * x)
    return -(1.0 / 8 - y * (1.0 / 192 - y * (1.0 / 640 - y * (17.0 / 14336)))) / x


@runtime_checkable
class Law(Protocol):
    """A law as :func:`truncated_variance` takes it; frozen distributions of `scipy.stats` have it."""

    def cdf(self, x: float, /) -> float:
        """Return P(z <= x)."""

    def sf(self, x: float, /) -> float:
        """Return P(z > x)."""

    def mean(self) -> float:
        """Return the mean."""

    def std(self) -> float:
        """Return the standard deviation."""

    def support(self) -> tuple[float, float]:
        """Return the ends of the range."""


def truncated_variance(sigma: float, rho: float, *, law: Law | Callable[[float], float] | None = None) -> float:
    r""":math:`E(|x| - \rho)_+^2` for a score x of standard deviation sigma: :math:`2 h_\rho(\sigma)` of Theorem 3.

    For :math:`x \sim N(0, \sigma^2)`, with :math:`q = \rho/\sigma`, it is
    :math:`(\sigma^2 + \rho^2)\,\mathrm{erfc}(q/\sqrt 2) - \rho\sigma\sqrt{2/\pi}\,e^{-q^2/2}`, and its derivative
    in sigma is :math:`2\sigma\,\mathrm{erfc}(q/\sqrt 2) > 0`: Theorem 3. Underflows to 0 from q = 38 or so.

    Remark 1 replaces the normal law. If the law of a score depends on v only through its deviation, for every v and not
    just for unit vectors, it is that of :math:`\sigma z` for one z, and the value is

    .. math:: \sigma^2 \int_q^\infty 2 (t - q)\, P(|z| > t)\, dt ,

    which rises *strictly* with sigma wherever it is positive (its derivative is :math:`2 E(\sigma|z| - \rho)_+ |z|`),
    and is 0 for a bounded z with :math:`\sigma \sup|z| \le \rho`. So sample-wise robust and plain sparse PCA have the
    same optima exactly where the robust optimum is positive; where it is 0 every v is optimal. Of finitely many samples
    none of this need hold (Remark 2).

    Parameters
    ----------
    sigma, rho : float
        Both at least 0.
    law : object or callable, optional
        The law of z, normal if left out: a frozen distribution of `scipy.stats` (or anything with its `cdf`, `sf`,
        `mean`, `std` and `support`), or a density on the real line. Of mean 0; only its shape counts, its deviation
        is made sigma.

    Examples
    --------
    >>> truncated_variance(2.0, 0.0), round(truncated_variance(1.0, 1.0), 6)
    (4.0, 0.15068)
    >>> from scipy.stats import uniform
    >>> [round(truncated_variance(sigma, 2.0, law=uniform(-1, 2)), 6) for sigma in (1.0, 1.1, 1.2, 1.3)]
    [0.0, 0.0, 7.7e-05, 0.00236]
    """
    from scipy.special import erfcx  # here, so that importing noap does not import scipy

    sigma, rho = require_number("sigma", sigma, at_least=0.0), require_number("rho", rho, at_least=0.0)
    if law is not None:
        return _truncated_variance_of(law, sigma, rho)
    if rho >= 40.0 * sigma:  # exp(-800) is 0 in double precision; this also covers sigma = 0
        return 0.0
    q = rho / sigma
    # erfcx = exp(x^2) erfc(x): both terms carry the same exponential, so the tail keeps its digits.
    tail = (1.0 + q * q) * float(erfcx(q / math.sqrt(2.0))) - q * math.sqrt(2.0 / math.pi)
    return sigma * sigma * math.exp(-0.5 * q * q) * tail


def _truncated_variance_of(law: Law | Callable[[float], float], sigma: float, rho: float) -> float:
    if isinstance(law, Law):  # first: what scipy.stats has not frozen is callable too
        deviation, excess = _of_distribution(law)
    elif callable(law):
        deviation, excess = _of_density(law)
    else:
        raise InvalidProblem(f"law must be a distribution of scipy.stats or a density, got {type(law).__name__}.")
    if not (math.isfinite(deviation) and deviation > 0.0):
        raise InvalidProblem("law must have mean 0 and a finite, positive standard deviation.")
    if sigma == 0.0:
        return 0.0
    scale = sigma / deviation
    return scale * scale * excess(rho / scale)


def _of_distribution(law: Law) -> tuple[float, Callable[[float], float]]:
    """Return the deviation of z (nan if it is not centred) and the function ``E(|z| - q)_+^2``."""
    low, high = (float(end) for end in law.support())
    end = max(-low, high)

    def excess(q: float) -> float:
        # P(|z| > t) on either side; for an atom they differ from it at one t only.
        return _integral(lambda t: 2.0 * (t - q) * float(law.sf(t) + law.cdf(-t)), q, end)

    deviation = float(law.std())
    return deviation if abs(float(law.mean())) <= 1e-9 * deviation else math.nan, excess


def _of_density(density: Callable[[float], float]) -> tuple[float, Callable[[float], float]]:
    """Return the same for a density, which need not integrate to 1."""

    def both(t: float) -> float:
        return float(density(t)) + float(density(-t))

    mass = _integral(both, 0.0, math.inf)
    skew = _integral(lambda t: t * (float(density(t)) - float(density(-t))), 0.0, math.inf)
    variance = _integral(lambda t: t * t * both(t), 0.0, math.inf) / mass if mass > 0.0 else math.nan

    def excess(q: float) -> float:
        return _integral(lambda t: (t - q) ** 2 * both(t), q, math.inf) / mass

    centred = variance > 0.0 and abs(skew / mass) <= 1e-7 * math.sqrt(variance)
    return math.sqrt(variance) if centred else math.nan, excess


def _integral(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the integral of f from low to high, 0 if that is no interval; raise if it cannot be had to 1e-6."""
    from scipy.integrate import quad

    if not low < high:
        return 0.0
    found, error, *_ = quad(f, low, high, epsabs=0.0, epsrel=1e-10, limit=400, full_output=True)
    if not error <= 1e-6 * abs(found) + 1e-300:
        raise InvalidProblem("law must be one whose tails can be integrated: give a scipy.stats distribution.")
    return float(found)


def population_value(
    v: ArrayLike,
    covariance: Spike | SpikedWishart | ArrayLike,
    *,
    adversary: Literal["feature", "sample"],
    rho: float,
    n: int | None = None,
    form: Form | None = None,
) -> float:
    r"""Objective at v for rows :math:`N(0, \Sigma)`.

    Below, :math:`s = \sqrt{v^\top\Sigma v}` and :math:`r = \rho\|v\|_1/\sqrt n`.

    - "sample": :math:`E(|x^\top v| - \rho)_+^2`, see :func:`truncated_variance` (Theorem 3): equation (9) of the paper.
    - "feature", form "limit" (the default): :math:`(s - r)_+^2`, what Theorems 4 and 5 maximise: equation (10).
    - "feature", form "expectation": :math:`E\frac{1}{n}(\|Xv\|_2 - \rho\|v\|_1)^2 = (s - r)^2 + 2(1 - c_n) s r`, with
      nothing clipped (Proposition 5).
    - "feature", form "clipped": :math:`E\frac{1}{n}(\|Xv\|_2 - \rho\|v\|_1)_+^2`, by incomplete Gammas.

    As :math:`c_n < 1` (:func:`gamma_factor`), "limit" is *below* "expectation" for every :math:`\rho > 0`; the paper
    calls it an upper approximation.

    Parameters
    ----------
    v : array, shape (d,)
        Any vector; zero gives 0.
    covariance : Spike, SpikedWishart or array of shape (d, d)
        A spike needs no d x d matrix; a matrix must be symmetric.
    rho : float
        Budget, not normalised.
    n : int
        Samples; needed by the feature-wise forms, without effect sample-wise.

    Examples
    --------
    >>> from noap.theory import Spike
    >>> spike = Spike([0.6, 0.8, 0.0], lam=3.0)
    >>> round(population_value([0.6, 0.8, 0.0], spike, adversary="feature", rho=5.0, n=100), 6)
    1.69
    """
    budget = require_number("rho", rho, at_least=0.0)
    vector = require_array("v", v)
    sigma = _deviation(vector, covariance)
    samples = None if n is None else require_count("n", n)
    if adversary == "sample":
        if form is not None:
            raise InvalidProblem("form must be left out for adversary='sample', which has one closed form.")
        # An attack with |e|_2 <= rho moves x'v by up to rho |v|_2: the table's rho is that of a unit vector.
        return truncated_variance(sigma, budget * float(np.linalg.norm(vector)))
    if adversary != "feature":
        raise InvalidProblem(f"adversary must be 'feature' or 'sample', got {adversary!r}.")
    if samples is None:
        raise InvalidProblem("n must be given for adversary='feature'.")
    r = budget * float(np.abs(vector).sum()) / math.sqrt(samples)
    if form is None or form == "limit":
        return max(sigma - r, 0.0) ** 2
    if form == "expectation":
        return (sigma - r) ** 2 - 2.0 * math.expm1(_log_gamma_factor(samples)) * sigma * r
    if form == "clipped":
        return _clipped_expectation(sigma, r, samples)
    raise InvalidProblem(f"form must be 'limit', 'expectation' or 'clipped', got {form!r}.")


def _clipped_expectation(sigma: float, r: float, n: int) -> float:
    """Return ``E(sigma chi_n / sqrt n - r)_+^2``, chi_n the length of a standard normal vector in R^n."""
    from scipy.special import gammaincc

    if sigma == 0.0:
        return 0.0
    half = 0.5 * n * (r / sigma) ** 2
    upper = [float(gammaincc(0.5 * (n + power), half)) for power in (0, 1, 2)]
    return max(sigma**2 * upper[2] - 2.0 * gamma_factor(n) * sigma * r * upper[1] + r**2 * upper[0], 0.0)


def _deviation(v: Floats, covariance: Spike | SpikedWishart | ArrayLike) -> float:
    if isinstance(covariance, (Spike, SpikedWishart)):
        return as_spike(covariance).deviation(v)
    matrix = require_array("covariance", covariance, ndim=2)
    if matrix.shape != (v.size, v.size):
        raise InvalidProblem(f"covariance must have shape {(v.size, v.size)}, got {matrix.shape}.")
    scale = float(np.abs(matrix).max())
    variance = float(v @ matrix @ v)
    if np.abs(matrix - matrix.T).max() > 1e-10 * scale or variance < -1e-10 * scale * float(v @ v):
        raise InvalidProblem("covariance must be symmetric and positive semidefinite.")
    return math.sqrt(max(variance, 0.0))


@dataclass(frozen=True, eq=False)
class PopulationPath:
    r"""The exact optima of :func:`population_path`, one per budget.

    Attributes
    ----------
    rhos, values : ndarray, shape (m,)
        Budgets as given, and :math:`(s - \rho\|v\|_1/\sqrt n)_+^2` at the optimum.
    vectors : ndarray, shape (m, d)
        Unit optima with the signs of the truth.
    stages : tuple of str
        "full" (every feature that k allows), "partial" (two or more, not all), "single", "none" (value 0), as in
        :meth:`noap.Path.stages`.
    """

    rhos: Floats
    values: Floats
    vectors: Floats
    stages: tuple[Stage, ...]

    @property
    def supports(self) -> list[Indices]:
        """Sorted nonzero indices of each optimum."""
        return [np.flatnonzero(v) for v in self.vectors]


def population_path(
    covariance: Spike | SpikedWishart, rhos: ArrayLike, *, n: int, k: int | None = None
) -> PopulationPath:
    r"""Maximise :math:`\sqrt{1 + \lambda\langle v, v^*\rangle^2} - \rho\|v\|_1/\sqrt n` over k-sparse unit v.

    This is equation (10), the problem of Theorems 4 and 5 (the "limit" form of :func:`population_value`). The optimum
    is one feature or proportional to the soft threshold :math:`(|v^*| - \tau)_+`; each piece of that family has at most
    one maximum, found by a bracketed root and compared with the others, so the path is exact to rounding for any
    truth (a feature whose effect on the value is below rounding may be in or out). Under Assumption 3 it is: all
    k features, then all of the strong part, then one strong feature, then value 0; the second can be missing.

    Parameters
    ----------
    covariance : Spike or SpikedWishart
        Truth and strength; signs of the truth are free.
    rhos : array, shape (m,)
        Budgets, not normalised, in any order.
    n : int
        Samples.
    k : int, optional
        Largest number of nonzeros; the number of nonzeros of the truth when left out.

    Examples
    --------
    >>> from noap.theory import Spike, rho_from_normalised, strong_weak_truth
    >>> spike = Spike(strong_weak_truth(5, 2, 0.8), lam=3.0)
    >>> path = population_path(spike, rho_from_normalised(np.array([0.5, 1.5, 2.5, 3.5]), n=500, k=5), n=500)
    >>> path.stages
    ('full', 'partial', 'single', 'none')
    """
    spike = as_spike(covariance)
    budgets = require_array("rhos", rhos)
    require_budget("rhos", budgets)
    samples = require_count("n", n)
    d = spike.truth.size
    limit = int(np.count_nonzero(spike.truth)) if k is None else require_count("k", k, at_most=d)
    order = np.argsort(-np.abs(spike.truth), kind="stable")[:limit]
    order = order[spike.truth[order] != 0.0]
    entries = np.abs(spike.truth[order])
    family = segments(entries, spike.lam)
    vectors = np.zeros((budgets.size, d))
    values = np.zeros(budgets.size)
    stages: list[Stage] = []
    for i, rho in enumerate(budgets):
        v, root = maximiser(entries, family, spike.lam, rho / math.sqrt(samples))
        if root <= 0.0:
            v = np.eye(1, entries.size)[0]  # the last feature to fall; at value 0 every unit vector is optimal
        vectors[i, order] = v * np.sign(spike.truth[order])
        values[i] = max(root, 0.0) ** 2
        size = np.count_nonzero(v)
        stages.append("none" if root <= 0.0 else "full" if size == order.size else "single" if size == 1 else "partial")
    return PopulationPath(rhos=budgets, values=values, vectors=vectors, stages=tuple(stages))
