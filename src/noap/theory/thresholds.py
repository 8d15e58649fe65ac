"""Compute the budgets that recovery survives: Propositions 5 and 7, Theorems 4 and 5, as printed and as they hold."""

import math
from dataclasses import dataclass

import numpy as np

from noap.errors import InvalidProblem
from noap.theory._checks import require_count, require_fraction, require_number
from noap.theory._stationary import Segment
from noap.theory.model import Spike, SpikedWishart, as_spike, normalised_from_rho, strong_weak_truth
from noap.theory.population import Stage, gamma_factor

__all__ = [
    "PrintedStages",
    "StageThresholds",
    "feasible_rho",
    "feasible_rho_printed",
    "oblivious_condition",
    "recovery_condition",
    "recovery_condition_printed",
    "recovery_epsilon",
    "stage_thresholds",
    "stage_thresholds_printed",
]


def feasible_rho(covariance: Spike | SpikedWishart, *, n: int) -> float:
    r""":math:`c_n \sqrt n \max_j \sqrt{1 + \lambda (v^*_j)^2}`: the largest budget with a feasible set (Proposition 5).

    The set holds the v with :math:`c_n \sqrt{v^\top\Sigma v} \ge \rho\|v\|_1/\sqrt n`. The left side is a norm, so its
    largest value on the l1 ball is at a vertex: one feature. Exact for every :math:`k \ge 1`.

    Examples
    --------
    >>> round(feasible_rho(Spike(strong_weak_truth(5, 2, 0.8), 3.0), n=500), 4)
    33.1497
    """
    spike = as_spike(covariance)
    largest = float(np.abs(spike.truth).max())
    return gamma_factor(n) * math.sqrt(n * (1.0 + spike.lam * largest**2))


def feasible_rho_printed(lam: float, k: int, *, n: int) -> float:
    r""":math:`(\lambda + 1)\,c_n \sqrt{n/k}`: up to here Proposition 5's proof claims a non-empty set, which is false.

    For the uniform truth it exceeds :func:`feasible_rho` whenever :math:`\lambda^2 + \lambda + 1 > k`.
    """
    lam = require_number("lam", lam, at_least=0.0)
    return (lam + 1.0) * gamma_factor(n) * math.sqrt(n / require_count("k", k))


def recovery_condition(lam: float, k: int, delta: float, *, n: int) -> float:
    r"""Return the budget of Theorem 4, corrected.

    .. math:: \rho = \frac{\lambda (2\delta - \delta^2)}{\sqrt{1+\lambda} + \sqrt{1+\lambda(1-\delta)^2}}
        \cdot \frac{\sqrt n}{\sqrt k - 1} .

    Below this rho every population optimum has :math:`|\langle v, v^*\rangle| \ge 1 - \delta`. It keeps the factor
    that the printed proof drops, and uses :math:`\|v^*\|_1 - \|v\|_1 \le \sqrt k - 1` for unit vectors. Infinite
    for k = 1.

    Examples
    --------
    >>> round(recovery_condition(3.0, 5, 0.1, n=500), 3)
    2.677
    """
    lam = require_number("lam", lam, at_least=0.0)
    k, n = require_count("k", k), require_count("n", n)
    delta = require_fraction("delta", delta)
    if k == 1:
        return math.inf
    sigmas = math.sqrt(1.0 + lam) + math.sqrt(1.0 + lam * (1.0 - delta) ** 2)
    return lam * (2.0 * delta - delta**2) / sigmas * math.sqrt(n) / (math.sqrt(k) - 1.0)


def recovery_condition_printed(lam: float, k: int, delta: float, *, n: int, constant: float) -> float:
    r""":math:`\rho \le \mathrm{constant}\cdot\delta\lambda\sqrt{n/k}`: Theorem 4 as printed.

    No constant serves every lam. The uniform truth gives way to one feature at about :math:`\sqrt{\lambda n/k}` for
    large lam, so any constant fails once lam is above about :math:`1/(\mathrm{constant}\cdot\delta)^2`. The proof's
    constant is :func:`recovery_epsilon` over delta.
    """
    lam = require_number("lam", lam, at_least=0.0)
    k, n = require_count("k", k), require_count("n", n)
    return require_number("constant", constant, above=0.0) * require_fraction("delta", delta) * lam * math.sqrt(n / k)


def oblivious_condition(lam: float, k: int, delta: float, *, n: int) -> float:
    r"""Return the budget of Proposition 7 (Novikov, 2023, Theorem 4.1), whose adversary the paper calls oblivious.

    .. math:: \rho = \epsilon\, m \sqrt{n/k} , \qquad \epsilon \sqrt{\ln(1/\epsilon)} =
        \delta^6 \min(1, m \sqrt{n/k}) , \qquad m = \min(\sqrt\lambda, \lambda) .

    Up to this rho some algorithm returns a v with :math:`|\langle v, v^*\rangle| \ge 1 - \delta` from the perturbed
    samples X + E, if n, k and lam are large as well (up to constants that are not stated, so not checked here).
    The left side rises up to :math:`\epsilon = e^{-1/2}` and falls to 0 at 1; the rising branch is meant: near
    :math:`\epsilon = 1`, with :math:`\lambda \ge 1`, the budget suffices to take a uniform spike out of the samples.

    Theorem 4 compares this with :func:`recovery_condition`. Both grow like m; what differs is the dependence on delta.

    Parameters
    ----------
    lam, k, n : as in :func:`recovery_condition`
    delta : float
        In (0, 0.1), as in the proposition.

    Examples
    --------
    >>> f"{oblivious_condition(3.0, 5, 0.09, n=500):.3g}, {recovery_condition(3.0, 5, 0.09, n=500):.3g}"
    '2.31e-06, 2.41'
    """
    lam = require_number("lam", lam, at_least=0.0)
    k, n = require_count("k", k), require_count("n", n)
    delta = require_fraction("delta", delta)
    if delta >= 0.1:
        raise InvalidProblem(f"delta must be below 0.1, as in Proposition 7, got {delta:g}.")
    if lam == 0.0:
        return 0.0
    signal = min(math.sqrt(lam), lam) * math.sqrt(n / k)
    # With w = ln(1/eps^2) the equation is w - ln w = -ln(2 x^2), x its right side: logarithms, since x^2 may underflow.
    target = -math.log(2.0) - 2.0 * (6.0 * math.log(delta) + min(0.0, math.log(signal)))
    w = target
    for _ in range(60):  # a contraction by 1/w < 1/20 at each step: x <= 1e-6
        w = target + math.log(w)
    return math.exp(-0.5 * w) * signal


def recovery_epsilon(delta: float, cosine: float) -> float:
    r""":math:`\epsilon' = (2\delta - \delta^2)/(\sqrt 6 \max(1, \sqrt{2 - 2\,\mathrm{cosine}}))`, in Theorem 4's proof.

    `cosine` is :math:`\langle v, v^*\rangle` in [0, 1] of the optimum. The :math:`\sqrt 6` stands in for
    :math:`\sqrt{1+\lambda} + \sqrt{1+\lambda(1-\delta)^2}`, which it bounds for every delta only if
    :math:`\lambda \le 1/2`.
    """
    delta = require_fraction("delta", delta)
    cosine = require_number("cosine", cosine, at_least=0.0)
    if cosine > 1.0:
        raise InvalidProblem(f"cosine must be at most 1, got {cosine:g}.")
    return (2.0 * delta - delta**2) / (math.sqrt(6.0) * max(1.0, math.sqrt(2.0 - 2.0 * cosine)))


@dataclass(frozen=True)
class PrintedStages:
    """Theorem 5's robust stage, ``partial_from < rho <= partial_to``, with the constants of its proof."""

    partial_from: float
    partial_to: float

    @property
    def is_empty(self) -> bool:
        """True if no budget lies in the printed partial stage."""
        return self.partial_from >= self.partial_to


def stage_thresholds_printed(lam: float, k: int, k1: int, c: float, *, n: int) -> PrintedStages:
    r"""Return the robust stage of Theorem 5 (here "partial") with the constants of its proof: first and last budget.

    .. math:: \frac{\lambda \sqrt{1+2c-3c^2}}{1+\sqrt{1+\lambda(1-c)}} \sqrt{\frac{n}{k_2}} , \qquad
        \frac{\lambda c}{1+\sqrt{1+\lambda c}} \sqrt{\frac{n}{k_1}} .

    The theorem prints only orders; these are the constants of its proof. Under Assumption 3 the interval, where
    it is not empty, lies in the exact partial stage of :func:`stage_thresholds` (for k1 = 1 in the single one).

    Examples
    --------
    >>> printed = stage_thresholds_printed(3.0, 5, 2, 0.8, n=5)  # n = k: normalised budgets
    >>> round(printed.partial_from, 3), round(printed.partial_to, 3), printed.is_empty
    (1.41, 1.334, True)
    """
    lam, c, n = _check_stages(lam, k, k1, c, n)
    start = lam * math.sqrt(1.0 + 2.0 * c - 3.0 * c * c) / (1.0 + math.sqrt(1.0 + lam * (1.0 - c)))
    end = lam * c / (1.0 + math.sqrt(1.0 + lam * c))
    return PrintedStages(start * math.sqrt(n / (k - k1)), end * math.sqrt(n / k1))


@dataclass(frozen=True)
class StageThresholds:
    """The exact stages of the population optimum under Assumption 3.

    Attributes
    ----------
    weak_ends : float
        All k features below this rho, no weak feature above it.
    single_from : float
        One strong feature from this rho on; equal to `weak_ends` when there is no partial stage.
    none_from : float
        Value 0 from this rho on.
    n, k : int
        What the budgets refer to.
    """

    weak_ends: float
    single_from: float
    none_from: float
    n: int
    k: int

    @property
    def normalised(self) -> tuple[float, float, float]:
        r"""The three thresholds times :math:`\sqrt{k/n}`."""
        ends = (self.weak_ends, self.single_from, self.none_from)
        weak, single, zero = (normalised_from_rho(rho, self.n, self.k) for rho in ends)
        return weak, single, zero

    def stage(self, rho: float) -> Stage:
        """Return the stage of a budget, named as in :class:`noap.theory.PopulationPath`."""
        rho = require_number("rho", rho, at_least=0.0)
        if rho >= self.none_from:
            return "none"
        if rho < self.weak_ends:
            return "full"
        return "partial" if rho < self.single_from else "single"


def stage_thresholds(lam: float, k: int, k1: int, c: float, *, n: int) -> StageThresholds:
    r"""Theorem 5 made exact: where the weak part ends, where one strong feature is left, where the value is 0.

    With rho in units of :math:`\sqrt n`, and in the usual order of events,

    - the weak part ends at :math:`\lambda\sqrt{c(1-c)/k_2}/\sqrt{1+\lambda c}`, where its entries reach 0 continuously,
      provided :math:`1 - c \le (c - \sqrt{c(1-c)k_1/k_2})(1 + \lambda c)`; else it is dropped in one jump at a
      later rho, found as a root;
    - one strong feature is left from :math:`(\sqrt{1+\lambda c} - \sqrt{1+\lambda c/k_1})/(\sqrt{k_1} - 1)`;
    - the value is 0 from :math:`\sqrt{1+\lambda c/k_1}`.

    If the weak part outlasts the second threshold, there is no partial stage: all k features give way to one.

    Examples
    --------
    >>> [round(rho, 3) for rho in stage_thresholds(3.0, 5, 2, 0.8, n=500).normalised]
    [0.84, 1.947, 3.317]
    """
    lam, c, n = _check_stages(lam, k, k1, c, n)
    truth = strong_weak_truth(k, k1, c)
    mixed = Segment(truth, 0.0, float(truth[-1]), lam)
    # Leaving continuously is a limit, not a crossing: there the lead vanishes to second order, a useless root.
    continuous = mixed.rising_end() == mixed.high
    weak_ends = mixed.budget(mixed.high) if continuous else mixed.meets(math.sqrt(c), math.sqrt(k1))
    single_from = weak_ends
    if k1 > 1:
        sigmas = math.sqrt(1.0 + lam * c) + math.sqrt(1.0 + lam * c / k1)
        single_from = lam * c * (1.0 - 1.0 / k1) / sigmas / (math.sqrt(k1) - 1.0)
        if single_from <= weak_ends:
            weak_ends = single_from = mixed.meets(math.sqrt(c / k1), 1.0)
    root = math.sqrt(n)
    return StageThresholds(weak_ends * root, single_from * root, math.sqrt(1.0 + lam * c / k1) * root, n, k)


def _check_stages(lam: float, k: int, k1: int, c: float, n: int) -> tuple[float, float, int]:
    truth = strong_weak_truth(k, k1, c)
    if truth[0] <= truth[-1]:
        raise InvalidProblem("c must make a strong feature larger than a weak one: c/k1 > (1 - c)/(k - k1).")
    return require_number("lam", lam, above=0.0), float(c), require_count("n", n)
