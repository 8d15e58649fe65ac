r"""The problem as the search sees it: a Gram matrix, what each feature is worth, and an incumbent.

For an adversary that sees X only through |Xv|, with columns :math:`a_j` of :math:`X/\sqrt n`, budgets
:math:`\rho_j/\sqrt n` and costs :math:`\pi_j`,

.. math:: opt = \max_{\|u\| = 1} \max_{|S| \le k} \sum_{j \in S} f_j(|a_j^\top u|), \qquad
    f_j(s) = \bigl((s - \rho_j)_+^2 - \pi_j\bigr)_+ ,

and every inner product the search needs is an entry of :math:`A = X^\top X / n`.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from noap.adversaries import FeatureWise
from noap.data.screening import feature_floor
from noap.exact.feature_wise.kernels.worth import Terms
from noap.linalg.outward import scaled_up
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.problem import Problem
from noap.result import rounding_allowance

__all__ = ["GramInstance", "Incumbent", "terms_of"]

# Below this share of the largest budget a feature weighs too little in the l1 norm for the relaxation to say much.
_LEAST_SHARE = 0.02
# A budget below this share of the longest column changes no digit of the optimum.
_NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class GramInstance:
    """The features that screening leaves.

    Attributes
    ----------
    A : array of shape (m, m), the Gram matrix of the kept features
    terms : budgets over sqrt(n) and costs of the kept features, and what follows from them
    k : int, at most m
    features : positions of the kept features among all d
    norms : the norms of their columns
    scale : the largest squared norm, the unit of absolute tolerances
    slack : what was added to the diagonal of A, which is by how much the optimum may be raised
    offset : what certainly was added to the optimum and is taken off again; 0 where that is not known
    unit : power of two by which values of the problem were divided
    clear_cut : whether no feature that was left out is so near to rho that rounding upwards would bring it back
    one_budget : whether all features of the problem have the same budget
    below : proved bounds on the optima of 0, 1, ..., k - 1 features; empty where there are none
    """

    A: FloatArray
    terms: Terms
    k: int
    features: IntArray
    norms: FloatArray
    scale: float
    slack: float
    offset: float
    unit: float
    clear_cut: bool = True
    one_budget: bool = True
    below: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, problem: Problem) -> "GramInstance":
        """Cut the kept features out of the problem."""
        features = np.flatnonzero(_kept_features(problem))
        top = float(problem.column_norms.max()) ** 2 / problem.n_samples
        # Products of four entries must stay within range. A power of four changes no digit, and neither does its root.
        unit = 4.0 ** round(math.log(top, 4.0)) if not 1e-60 < top < 1e60 else 1.0
        A = problem.covariance[np.ix_(features, features)] / unit
        scale = float(np.diag(A).max()) + problem.lift / unit
        slack = _diagonal_slack(problem, A, unit) + 1e-15 * abs(scale)
        # Without a budget v'(S + cI)v is v'Sv + c, so what a covariance was raised by is known to an ulp of the sum.
        exactly = problem.X is None and problem.adversary.is_idle
        offset = slack - 4e-16 * (abs(scale) + slack) if exactly else 0.0
        A[np.diag_indices_from(A)] += slack
        if not scale > 0:  # all that budgets and costs leave of an indefinite covariance
            scale = float(np.diag(A).max())
        A.flags.writeable = False  # always, so that the kernels are compiled for one type of array
        norms = np.sqrt(np.diag(A)) * (1 + 1e-15)
        adversary, k, clear_cut = problem.adversary, min(problem.k, len(features)), _is_clear_cut(problem, features)
        one = adversary.is_uniform or not adversary.gram_suffices
        # One number is quicker to handle than as many as there are features.
        budgets = _budgets(problem, 1) if one else _budgets(problem)[features]
        rho = budgets / math.sqrt(problem.n_samples) / math.sqrt(unit) * (1 - 4e-16)
        rho[rho < _NEGLIGIBLE * math.sqrt(scale)] = 0.0  # only raises the optimum, by less than the last digit
        # A little less than they are, which covers the rounding of the squares that they are taken off.
        costs = None if problem.costs is None else problem.costs[features] / unit * (1 - 2e-15)
        terms = terms_of(np.full(len(features), rho[0]) if one else rho, costs, one)
        return cls(A, terms, k, features, norms, scale, slack, offset, unit, clear_cut, one)

    @property
    def largest_budget(self) -> float:
        """The largest budget, over sqrt(n)."""
        return float(self.terms.largest)

    @property
    def has_costs(self) -> bool:
        """Whether a feature costs something."""
        return self.terms.entry is not self.terms.rho

    @property
    def costs(self) -> FloatArray | None:
        """The costs, None if there are none."""
        costs: FloatArray | None = self.terms.cost if self.has_costs else None
        return costs

    @property
    def is_even(self) -> bool:
        """Whether all features have the same budget, and none a cost."""
        return self.one_budget and not self.has_costs

    @property
    def is_relaxable(self) -> bool:
        """Whether the relaxation is about such budgets: all above 0 by some share of the largest, or none."""
        return float(self.terms.share.min()) >= _LEAST_SHARE

    @property
    def budget_shares(self) -> FloatArray | None:
        """What share of the largest budget each is; None where all are the same."""
        shares: FloatArray | None = None if self.is_even else self.terms.share
        return shares

    @property
    def is_bent(self) -> bool:
        """Whether there is a budget or a cost, so that worths are not just squares."""
        return self.largest_budget > 0 or self.has_costs

    @property
    def adversary(self) -> FeatureWise:
        """The budgets, as ascent on A takes them."""
        rho = self.terms.rho
        return FeatureWise(self.largest_budget if self.one_budget else rho)

    @property
    def worths(self) -> FloatArray:
        """What each feature is worth at most."""
        worths: FloatArray = np.maximum(self.norms - self.terms.rho, 0.0) ** 2
        return np.maximum(worths - self.terms.cost, 0.0) if self.has_costs else worths

    @property
    def strongest(self) -> int:
        """The feature that is worth most alone."""
        return int(np.argmax(self.norms if self.is_even else self.worths))

    def largest_worths(self) -> float:
        """Return what needs no search: the k largest f(|a_j|) bound the optimum."""
        return float(self.largest_worths_of_each()[-1])

    def largest_worths_of_each(self) -> FloatArray:
        """Return the same for 0, 1, ..., k features."""
        worths = np.sort(self.worths)[::-1][: self.k]
        return np.append(0.0, np.cumsum(worths)) * (1 + 1e-13)

    def outward(self, value: float) -> float:
        """Return a bound in the units of the problem, with room for the rounding of the last few operations."""
        raised = max(value * (1 + 1e-14) - self.offset, 0.0)
        if raised < 1e-290 and self.offset == 0:
            # Beside a long column that budget or cost leave out, the others may be so short that their squares vanish.
            raised = 1e-290
        return scaled_up(raised, math.frexp(self.unit)[1] - 1)

    def above(self, value: float, cost: float, gap: float) -> float:
        """Return the threshold that proves that a vector of this value, less this cost, is within the gap."""
        worth = value - self.offset
        # Values here are too large by up to the slack. A little less than asked, so that the reported bound, raised for
        # rounding, still meets the gap. Never so near the value that rounding alone keeps nodes open.
        asked = max(0.9999 * gap * worth, 0.8 * rounding_allowance(worth, self.scale))
        asked -= 2.0 * (self.slack - self.offset)
        # The Schur tests lose a few ulps of scale. Where the budget leaves far less than that, nodes are closed by caps
        # and propagation alone, which lose ulps of s_j and not of s_j^2. Where it leaves nothing that doubles can tell
        # from 0, no gap can be met, and the target only has to be positive.
        gross = value + cost
        lost = gross + math.sqrt(gross * self.scale) if value > 0 else self.scale
        rounding = 16.0 * self.k * (self.k + 3) * 1.2e-16 * lost
        return value + max(asked, rounding)

    def outside(self, v: FloatArray, d: int) -> FloatArray:
        """Return what a vector over the kept features is over all d."""
        whole: FloatArray = np.zeros(d)
        whole[self.features] = v
        return whole

    def inside(self, v: FloatArray) -> FloatArray:
        """Return what a direction of the problem is on the kept features; the strongest of them if it is nothing."""
        cut = v[self.features].astype(np.float64)
        if not cut.any():
            cut[self.strongest] = 1.0
        return cut


def terms_of(rho: FloatArray, costs: FloatArray | None, one_budget: bool = False) -> Terms:
    """Return budgets and costs of features in the form that the kernels take.

    Where nothing costs anything the entries are the budgets, the same array.
    """
    costs = None if costs is None or not costs.any() else costs
    largest = float(rho[0]) if one_budget else float(rho.max(initial=0.0))
    share = np.ones(len(rho)) if one_budget or not largest > 0 else rho / largest
    entry = rho if costs is None else rho + np.sqrt(costs) * (1 - 1e-15)
    return Terms(rho, np.zeros(len(rho)) if costs is None else costs, entry, share, largest)


def _kept_features(problem: Problem) -> BoolArray:
    """Mask of the features that can be non-zero in an optimum of the matrix that the search works on.

    A covariance is raised before the search, and so are the norms of its columns. A feature without a single entry does
    nothing for any direction.
    """
    if problem.X is not None:
        return problem.kept_features
    squares = np.maximum(np.diag(problem.covariance) + problem.diagonal_shift, 0.0)
    norms = np.sqrt(problem.n_samples * squares) * (1 + 1e-15)
    features: BoolArray = (norms > feature_floor(problem)) & problem.covariance.any(axis=0)
    return features


def _budgets(problem: Problem, first: int | None = None) -> FloatArray:
    """Return the budgets of all features, or of the first; 0 where the adversary moves samples, which it then does not.

    A number is repeated no further than that.
    """
    count = problem.n_features if first is None or not problem.adversary.has_one_budget else first
    if not problem.adversary.gram_suffices:
        return np.zeros(count)
    return problem.adversary.budgets(count)[:first]


def _is_clear_cut(problem: Problem, features: IntArray) -> bool:
    """Whether no feature but these is so near to rho that rounding upwards would bring it back.

    The checker knows squares of norms to some ulps of the largest one.
    """
    if len(features) == problem.n_features:
        return True
    others = np.ones(problem.n_features, dtype=np.bool_)
    others[features] = False
    longest = float(problem.column_norms.max())
    # Relative to the longest column, so that no square leaves the range of floats.
    squares = (problem.column_norms[others] / longest) ** 2
    floors = feature_floor(problem) if problem.costs is not None else _budgets(problem)
    floors = np.minimum(np.broadcast_to(floors, others.shape)[others] / longest, 1e100)
    return not (squares * (1 + 1e-9) + 1e-12 > floors**2).any()


def _diagonal_slack(problem: Problem, A: FloatArray, unit: float) -> float:
    """Return what makes every block of A that the search looks at dominate the true one, hence positive semidefinite.

    One step looks at no more than 2k features: those of a pair's support, and those of the vector that an attack
    responds to (docs/exact.md, "Blocks of two supports"). With samples, rounding in fl(a_i'a_j) is at most
    (n + 2) eps |a_i||a_j|, so such a block is off by at most 2k (n + 2) eps scale in norm. A covariance is the data
    itself, but may be indefinite by rounding, by what its validation allows, or altogether.
    """
    if problem.X is not None:
        block = min(2 * problem.k, len(A))
        return 1.2e-16 * block * (problem.n_samples + 2) * float(np.diag(A).max())
    return problem.diagonal_shift / unit


@dataclass
class Incumbent:
    """The best vector so far, what it is worth and its loadings a_j'u, over the kept features.

    `value` is the distance squared less the costs, `worth` what is left of it without the instance's offset; `cost` the
    costs, and `spread` what rounding in g may grow to in an attack, as in `climb` of the kernels.
    """

    instance: GramInstance
    v: FloatArray
    g: FloatArray = field(init=False)
    value: float = field(init=False)
    cost: float = field(init=False, default=0.0)
    spread: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        self.value = -math.inf
        self.offer(self.v)
        if self.value <= 0 and not self.instance.is_even:
            # With costs a vector may be worth less than nothing, but the strongest feature alone never is.
            self.offer(np.eye(1, len(self.v), self.instance.strongest)[0])

    def offer(self, v: FloatArray) -> bool:
        """Take the vector if it is better; return whether it was. The value never goes down."""
        A, support = self.instance.A, np.flatnonzero(v)
        v = v / np.linalg.norm(v)
        pulled = A[:, support] @ v[support]
        energy = math.sqrt(max(float(pulled[support] @ v[support]), 0.0))
        instance, terms, sizes = self.instance, self.instance.terms, np.abs(v[support])
        taken = sizes if instance.one_budget else terms.share[support] * sizes
        distance = max(energy - terms.largest * float(taken.sum()), 0.0)
        cost = float(terms.cost[support].sum()) if instance.has_costs else 0.0
        if distance**2 - cost <= self.value:
            return False
        self.v, self.g, self.value = v, pulled / energy if energy > 0 else pulled, distance**2 - cost
        if not instance.is_even:
            self.cost = cost
            self.spread = max(terms.largest * float(sizes.sum()) / energy, 1.0) if energy > 0 else 1.0
        return True

    @property
    def worth(self) -> float:
        """The value without the offset."""
        return self.value - self.instance.offset

    def target(self, gap: float) -> float:
        """Return the threshold that proves the gap: no pair may be worth more."""
        return self.instance.above(self.value, self.cost, gap)
