"""Small problems that know their answer, for every formulation and every backend."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

import noap
from judge import feature_wise_optimum, sample_wise_optimum, vanilla_optimum
from noap.mip import list_backends
from noap.runtime.controls import Controls

BACKENDS = [info.name for info in list_backends() if info.installed]


@dataclass(frozen=True)
class Case:
    """Random data by seed; `share` is the budget as a share of the largest useful one."""

    kind: str
    seed: int
    n: int
    d: int
    k: int
    share: float
    pieces: int
    rank: int

    @property
    def name(self):
        return f"{self.kind}-{self.seed}-d{self.d}k{self.k}-{self.share:g}-N{self.pieces}r{self.rank}"


FEATURE = [
    Case("feature", 1, 12, 5, 2, 0.10, 3, 2),
    Case("feature", 2, 9, 6, 3, 0.35, 2, 3),
    Case("feature", 3, 8, 4, 4, 0.60, 3, 1),
    Case("feature", 4, 20, 5, 2, 0.85, 1, 3),
    Case("feature", 5, 4, 6, 2, 0.30, 2, 2),  # fewer samples than features: some eigenvalues are 0
]
SAMPLE = [
    Case("sample", 6, 10, 4, 2, 0.10, 3, 2),
    Case("sample", 7, 8, 4, 2, 0.35, 2, 3),
    Case("sample", 8, 7, 4, 3, 0.55, 2, 1),
    Case("sample", 9, 3, 4, 2, 0.40, 2, 2),
]
VANILLA = [Case("none", 10, 12, 5, 2, 0.0, 2, 2), Case("none", 11, 8, 6, 3, 0.0, 3, 3)]
LARGER = [Case("feature", 12, 40, 8, 4, 0.3, 3, 3), Case("sample", 13, 20, 8, 3, 0.2, 3, 3)]
ALL = FEATURE + SAMPLE + VANILLA


@cache
def problem_of(case):
    rng = np.random.default_rng(case.seed)
    X = rng.standard_normal((case.n, case.d)) * rng.uniform(0.5, 1.5, case.d)
    X += 0.8 * np.outer(rng.standard_normal(case.n), rng.standard_normal(case.d))
    if case.kind == "none":
        return noap.Problem(X, case.k, noap.NoAdversary())
    kind = noap.FeatureWise if case.kind == "feature" else noap.SampleWise
    return noap.Problem(X, case.k, kind(case.share * kind(0.0).rho_max(X, case.k)))


@cache
def optimum_of(case):
    problem = problem_of(case)
    X, n, rho = problem.X, problem.n_samples, problem.adversary.rho
    if case.kind == "feature":
        return feature_wise_optimum(X.T @ X, n, case.k, rho)
    return vanilla_optimum(X.T @ X / n, case.k) if case.kind == "none" else sample_wise_optimum(X, case.k, rho)


@cache
def optimal_direction(case):
    """An optimal v: ascent's, which the judge confirms."""
    found = noap.solve(problem_of(case), "ascent")
    assert abs(found.value - optimum_of(case)) <= 1e-9 * optimum_of(case)
    return found.v


def eigenvalues_of(case):
    X = problem_of(case).X
    return np.linalg.eigvalsh(X.T @ X / len(X))[::-1]


def tolerance_of(case):
    """Solvers work to 1e-6 of the leading eigenvalue; noap raises the bound by twice that."""
    return 1e-5 * eigenvalues_of(case)[0]


def controls(time_limit=60.0, gap=1e-4):
    return Controls.checked(gap, time_limit, 0, False)


def quietly(run, *args, **options):
    """Run without the warning that the printed MIP-r gives when its solution is v = 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", noap.errors.NoapWarning)
        return run(*args, **options)


def broken(model, x):
    """Every requirement of a model with how far x breaks it (0 if it holds), the worst first."""
    outside = np.maximum(np.maximum(model.lower - x, x - model.upper), 0.0)
    fractional = np.where(model.integer, np.abs(x - np.round(x)), 0.0)
    found = [(f"column {name}", far) for name, far in zip(model.names, np.maximum(outside, fractional), strict=True)]
    for row in model.rows:
        activity = row.coefficients @ x[row.columns]
        found.append((row.name, max(row.lower - activity, activity - row.upper, 0.0)))
    for row in model.squares:
        activity = row.weights @ x[row.squared] ** 2 + row.coefficients @ x[row.columns]
        found.append((row.name, max(activity - row.upper, 0.0)))
    for cone in model.cones:
        found.append((cone.name, max(x[cone.squared] ** 2 - x[cone.over] * x[cone.switch], 0.0)))
    for group in model.sets:  # the largest entry outside the best pair of neighbours
        weight = np.abs(x[group.columns])
        pair = int(np.argmax(weight[:-1] + weight[1:]))
        found.append((group.name, np.delete(weight, [pair, pair + 1]).max(initial=0.0)))
    return sorted(found, key=lambda one: -one[1])


def excess(model, x):
    """How far x breaks the requirement that it breaks most."""
    return broken(model, x)[0][1]
