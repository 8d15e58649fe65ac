"""Population objectives of both adversaries, and the exact population path of the feature-wise one."""

import math
from dataclasses import dataclass
from typing import Literal

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
    "PopulationPath",
    "gamma_factor",
    "population_path",
    "population_value",
    "truncated_variance",
]

Form = Literal["limit", "expectation", "clipped"]
Stage = Literal["recovery", "robust", "single", "zero"]


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


def truncated_variance(sigma: float, rho: float) -> float:
    r""":math:`E(|z| - \rho)_+^2 = (\sigma^2 + \rho^2)\,\mathrm{erfc}(q/\sqrt 2) - \rho\sigma\sqrt{2/\pi}\,e^{-q^2/2}`.

    z is :math:`N(0, \sigma^2)` and :math:`q = \rho/\sigma`. This is :math:`2 h_\rho(\sigma)` in the proof of
    Theorem 3. Its derivative in sigma is :math:`2\sigma\,\mathrm{erfc}(q/\sqrt 2) > 0`: the theorem. Underflows to 0
    from q = 38 or so.

    Examples
    --------
    >>> truncated_variance(2.0, 0.0), round(truncated_variance(1.0, 1.0), 6)
    (4.0, 0.15068)
    """
    from scipy.special import erfcx  # here, so that importing noap does not import scipy

    sigma, rho = require_number("sigma", sigma, at_least=0.0), require_number("rho", rho, at_least=0.0)
    if rho >= 40.0 * sigma:  # exp(-800) is 0 in double precision; this also covers sigma = 0
        return 0.0
    q = rho / sigma
    # erfcx = exp(x^2) erfc(x): both terms carry the same exponential, so the tail keeps its digits.
    tail = (1.0 + q * q) * float(erfcx(q / math.sqrt(2.0))) - q * math.sqrt(2.0 / math.pi)
    return sigma * sigma * math.exp(-0.5 * q * q) * tail


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

    - "sample": :math:`E(|x^\top v| - \rho)_+^2`, see :func:`truncated_variance` (Theorem 3).
    - "feature", form "limit" (the default): :math:`(s - r)_+^2`, what Theorems 4 and 5 maximise.
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
        "recovery" (every feature that k allows), "robust" (two or more, not all), "single", "zero" (value 0).
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

    This is the problem of Theorems 4 and 5 (the "limit" form of :func:`population_value`). The optimum is one
    feature or proportional to the soft threshold :math:`(|v^*| - \tau)_+`; each piece of that family has at most one
    maximum, found by a bracketed root and compared with the others, so the path is exact to rounding for any
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
    ('recovery', 'robust', 'single', 'zero')
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
        stages.append(
            "zero" if root <= 0.0 else "recovery" if size == order.size else "single" if size == 1 else "robust"
        )
    return PopulationPath(rhos=budgets, values=values, vectors=vectors, stages=tuple(stages))
