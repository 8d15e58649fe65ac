"""Hostile cases in which every feature has its own budget and its own cost, beside what matters to it."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hostile_cases import Case, case, root_nearest

import noap
from rational_judge import Judge, integers

_SEED = 20_261_116


@dataclass(frozen=True)
class TermsCase(Case):
    """A case with budgets and costs of the features."""

    rhos: np.ndarray | None = None
    costs: np.ndarray | None = None

    def __str__(self):
        costs = None if self.costs is None else self.costs.tolist()
        return f"{super().__str__()}, rhos={self.rhos.tolist()}, costs={costs}"

    def problem(self):
        adversary = noap.FeatureWise(self.rhos)
        if self.X is None:
            return noap.Problem.from_covariance(
                self.S, n_samples=self.n, k=self.k, adversary=adversary, costs=self.costs
            )
        return noap.Problem(self.given(), k=self.k, adversary=adversary, costs=self.costs)

    def judge(self, rho=None):
        return Judge("feature", self.rhos, self.n, X=self.X, S=self.S, costs=self.costs)


def terms_case(number):
    """The case of that number, always the same."""
    given = case(number)
    rng = np.random.default_rng([_SEED, number])
    X, S = given.X, given.S
    if S is not None:
        squares = [max(given.n * Fraction(float(x)), Fraction(0)) for x in np.diag(S)]
    else:
        (flat,), e = integers(X)
        d = X.shape[1]
        squares = [sum(x * x for x in flat[j::d]) * Fraction(4) ** e for j in range(d)]
    edges = [root_nearest(x) if x > 0 else 0.0 for x in squares]
    rhos = np.array([_budget(rng, edge, max(edges)) for edge in edges])
    if rng.random() < 0.2:
        rhos = np.zeros(len(edges))
    costs = None
    if rng.random() < 0.6:
        costs = np.array([_cost(rng, given.n, *one) for one in zip(edges, rhos, strict=True)])
        if rng.random() < 0.2:
            costs = np.full(len(edges), float(costs.max()))
    fields = {name: getattr(given, name) for name in given.__dataclass_fields__}
    return replace(TermsCase(**fields), adversary="feature", budget="of features", rhos=rhos, costs=costs)


def _budget(rng, edge, longest):
    """A budget of a feature with a column of this length."""
    kind = rng.integers(9)
    if kind == 0:
        return 0.0
    if kind == 1:
        return float(rng.choice([5e-324, 1e-310, 1e-300, 1e-17 * longest, 1e-21 * longest]))
    if kind == 2:
        return math.inf
    if kind == 3:
        return _near(rng, edge)
    if kind == 4:
        return edge * 10.0 ** rng.uniform(-16, 0)
    if kind == 5:
        return longest * rng.uniform(0, 1.5)
    return edge * rng.uniform(0, 1.05)


def _cost(rng, n, edge, rho):
    """A cost of a feature with a column of this length and this budget."""
    alone = max(edge - rho, 0.0) ** 2 / n if rho < math.inf else 1.0
    kind = rng.integers(7)
    if kind == 0:
        return 0.0
    if kind == 1:
        return float(rng.choice([5e-324, 1e-300, 1e-18 * alone, 1e-12 * alone]))
    if kind == 2:
        return _near(rng, alone)
    if kind == 3:
        return min(alone * 10.0 ** rng.uniform(0, 6), 1e300)
    return alone * rng.uniform(0, 0.6)


def _near(rng, x):
    """x, or one of its neighbours among the floats, or a little less."""
    if rng.random() < 0.3:
        return x * (1 - 10.0 ** rng.uniform(-16, -4))
    for _ in range(int(rng.integers(0, 3))):
        x = math.nextafter(x, float(rng.choice([0.0, math.inf])))
    return x if x < math.inf else 0.0
