"""What is of no worth counts for nothing: columns, samples and features that budgets and costs leave nothing of."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

import judge
import noap
import older
from noap.checker.feature_wise.data import GramData
from noap.checker.samples import Counted, largest_variance

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
FACTORS = [1e4, 1e8, 1e15, 1e60, 1e140]


def table():
    X = np.random.default_rng(0).standard_normal((30, 6))
    return X - X.mean(axis=0)


def with_column(kind, factor):
    """A problem of which column 2, so many times as long, is of no worth."""
    X = table()
    X[:, 2] *= factor
    rho, costs = np.full(6, 0.5), np.zeros(6)
    if kind == "infinite budget":
        rho[2] = np.inf
    elif kind == "its own length":
        rho[2] = np.linalg.norm(X[:, 2]) * (1 + 1e-12)
    elif kind == "cost":
        costs[2] = 2 * float(np.sum((X[:, 2] / factor) ** 2)) * factor**2 / 30
    elif kind == "both":
        rho[2], costs[2] = 0.6 * np.linalg.norm(X[:, 2]), (0.41 * np.linalg.norm(X[:, 2])) ** 2 / 30
    elif kind == "covariance":
        rho[2] = np.inf
        return noap.Problem.from_covariance(X.T @ X / 30, n_samples=30, k=3, adversary=noap.FeatureWise(rho))
    return noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs)


def with_sample(factor):
    X, rho = table(), np.full(30, 0.2)
    X[2] *= factor
    rho[2] = np.inf
    return noap.Problem(X, k=3, adversary=noap.SampleWise(rho))


def claiming(certificate, **fields):
    return dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, **fields))


def judged(problem, factor):
    """What is accepted is as near to the claim as without the column, and a false claim is refused."""
    result = older.solve(problem)
    certificate = result.certificate
    report = noap.verify(problem, certificate)
    assert report.ok, report.message
    assert result.status is noap.Status.OPTIMAL
    assert result.bound <= result.value * (1 + 1.1e-4)
    assert result.bound <= report.bound <= result.bound * (1 + 2e-9) + 1e-11, factor
    assert report.value >= result.value * (1 - 1e-9)
    assert not noap.verify(problem, claiming(certificate, bound=0.99 * result.value, value=0.0)).ok
    assert not noap.verify(problem, claiming(certificate, value=1.01 * result.value)).ok


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("kind", ["infinite budget", "its own length", "cost", "both", "covariance"])
def test_a_column_of_no_worth_widens_no_margin(kind, factor):
    judged(with_column(kind, factor), factor)


@pytest.mark.parametrize("factor", FACTORS)
def test_a_sample_of_no_worth_widens_no_margin(factor):
    judged(with_sample(factor), factor)


def test_components_beside_a_column_of_no_worth():
    problem = with_column("infinite budget", 1e8).with_sparsity(2)
    joint = noap.solve_components(problem, 2)
    report = noap.verify(problem, joint.certificate)
    assert report.ok, report.message
    assert report.bound <= joint.bound * (1 + 1e-8)
    assert not noap.verify(problem, claiming(joint.certificate, bound=0.99 * joint.value, value=0.0)).ok
    assert not noap.verify(problem, claiming(joint.certificate, value=1.01 * joint.value)).ok


def test_only_what_is_certainly_of_no_worth_is_left_out():
    rng = np.random.default_rng(1)
    dropped = kept = 0
    for _ in range(400):
        n, d = int(rng.integers(1, 6)), 3
        X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-140, 140)
        lengths = np.linalg.norm(X / np.abs(X).max(), axis=0) * np.abs(X).max()
        near = lengths * (1 + rng.integers(-60, 61, d) * 2.0**-53)
        rho = near * rng.choice([0.0, 0.5, 1.0], d)
        costs = np.where(rng.random(d) < 0.8, (near - rho) ** 2 / n, 0.0)
        problem = noap.Problem(X, k=1, adversary=noap.FeatureWise(rho), costs=costs)
        worthy = Counted.of(problem).features
        worthy = np.ones(d, dtype=bool) if worthy is None else worthy
        for j in range(d):
            # (|x_j| - rho_j)^2 > n cost_j, without a root of the cost.
            square = sum((Fraction(float(x)) ** 2 for x in X[:, j]), Fraction(0))
            over = judge.root_below(square) - Fraction(float(rho[j]))
            above = Fraction(0) < over and over**2 > n * Fraction(float(costs[j]))
            assert worthy[j] or not above
            dropped, kept = dropped + (not worthy[j]), kept + bool(worthy[j])
    assert dropped > 100
    assert kept > 100


def test_units_when_only_small_numbers_count():
    X = table()
    X[:, 1:] *= 1e-200
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(np.array([np.inf, *np.zeros(5)])))
    data = GramData.of(problem)
    # The data are what they are in the units that are stated, and the power and its square are floats.
    largest = float(np.abs(X[:, 1:]).max())
    assert math.ldexp(math.sqrt(data.top * 30), data.exponent) >= largest * (1 - 1e-9)
    assert math.ldexp(1.0, -2 * data.exponent) < math.inf
    assert largest_variance(problem) < 1e-300


@pytest.mark.parametrize("seed", range(40))
def test_features_without_an_entry_take_no_places(seed):
    """The search leaves them out; the checker has as many places to fill."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 7))
    S = rng.standard_normal((d, d)) if seed % 2 else np.cov(rng.standard_normal((d, 4)))
    S = S + S.T
    S[:2] = S[:, :2] = 0.0
    if not S.diagonal().max() > 0:
        S[2, 2] = 1.0
    costs = rng.choice([0.0, 0.1, 0.3], d) * (seed % 3 > 0)
    problem = noap.Problem.from_covariance(
        S, n_samples=4, k=int(rng.integers(1, d + 1)), adversary=noap.NoAdversary(), costs=costs
    )
    report = noap.verify(problem, older.solve(problem, gap=1e-7).certificate)
    assert report.ok, report.message
    best = judge.feature_wise_best(S + 20 * np.eye(d), 1, problem.k, 0.0, costs=costs)[0] - 20
    assert report.bound >= max(best, 0.0) - 1e-9
