"""Costs of features where the adversary moves samples: the search against brute force, and certificates."""

import dataclasses
import itertools

import numpy as np
import pytest

import judge
import noap
import older
from cases import SHAPES, budgets, small_data
from noap.exact.sample_wise.search import solve_samples
from noap.proofs.certificate import Certificate
from noap.proofs.sample_wise import CLOSED
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def best_of(X, k, rho, costs, points=600):
    """By brute force, every support at its own price; using no feature is worth 0."""
    best = 0.0
    for size in range(1, k + 1):
        for support in itertools.combinations(range(X.shape[1]), size):
            S = list(support)
            best = max(best, judge.sample_wise_optimum(X[:, S], size, rho, points=points) - costs[S].sum())
    return best


def top_norms(X, k):
    return np.sqrt(np.sort(X**2, axis=1)[:, -k:].sum(axis=1))


def drawn(rng, shape):
    X = small_data(rng, shape, int(rng.integers(1, 7)))
    k = int(rng.integers(1, min(3, X.shape[1]) + 1))
    size = float((X * X).mean())
    costs = rng.choice([0.0, 0.05, 0.05, 0.3, 1.0, 10.0], X.shape[1]) * size * float(rng.uniform(0.2, 2.0))
    rho = budgets(rng, top_norms(X, k)) if rng.random() < 0.5 else float(rng.uniform(0, 0.6)) * top_norms(X, k).mean()
    return X, k, rho, costs


@pytest.mark.parametrize("shape", SHAPES)
def test_against_brute_force(shape):
    for seed in range(40):
        rng = np.random.default_rng([seed, SHAPES.index(shape), 7])
        X, k, rho, costs = drawn(rng, shape)
        if not X.any():
            continue
        problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho), costs=costs)
        result = older.solve(problem, gap=float(rng.choice([1e-2, 1e-4])))
        optimum = best_of(X, k, np.broadcast_to(rho, len(X)), costs)
        assert result.bound >= optimum * (1 - 1e-12) - 1e-14 * problem.scale
        assert result.value <= optimum * (1 + 1e-9) + 1e-9 * problem.scale
        assert result.bound <= result.value * 1.0101 + 1e-9 * problem.scale, (seed, result.value, result.bound)
        report = noap.verify(problem, Certificate.from_bytes(result.certificate.to_bytes()))
        assert report.ok, report.message
        assert optimum <= report.bound * (1 + 1e-12) + 1e-14 * problem.scale


@pytest.mark.parametrize("seed", range(12))
def test_a_poor_start_and_any_number_of_nodes_leave_a_valid_bound(seed):
    rng = np.random.default_rng(seed)
    X, costs = rng.standard_normal((25, 7)), rng.uniform(0, 0.2, 7) * (rng.random(7) < 0.8)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(0.6), costs=costs)
    optimum = best_of(X, 3, np.full(25, 0.6), costs, points=1500)
    for nodes in (1, 3, None):
        outcome = solve_samples(problem, Controls.checked(1e-4, None, 0, False), np.eye(7)[seed % 7], Limits(nodes))
        assert outcome.bound >= optimum * (1 - 1e-12)
    assert outcome.bound <= optimum * (1 + 1.01e-4) + 1e-12 * problem.scale


def test_more_features_than_brute_force_can_count():
    """Larger costs never raise the optimum, and what two costs prove of each other holds."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20)) + rng.standard_normal((60, 1)) * rng.uniform(0, 1, 20)
    costs, before = rng.uniform(0, 0.3, 20), np.inf
    for factor in (0.0, 0.5, 1.0, 2.0):
        problem = noap.Problem(X, k=4, adversary=noap.SampleWise(0.5), costs=factor * costs)
        result = older.solve(problem, gap=1e-3, time_limit=120)
        assert result.status is noap.Status.OPTIMAL
        assert noap.verify(problem, result.certificate).ok
        assert result.value <= before * (1 + 1e-9)
        before = result.bound


def test_costs_of_nothing_change_nothing():
    X = np.random.default_rng(2).standard_normal((40, 12))
    plain = older.solve(noap.Problem(X, k=3, adversary=noap.SampleWise(0.5)))
    free = older.solve(noap.Problem(X, k=3, adversary=noap.SampleWise(0.5), costs=np.zeros(12)))
    assert (free.bound, free.nodes) == (plain.bound, plain.nodes)
    np.testing.assert_array_equal(free.certificate.proof.values, plain.certificate.proof.values)


@pytest.fixture(scope="module")
def proved():
    rng = np.random.default_rng(5)
    X, costs = rng.standard_normal((20, 6)), np.array([0.1, 0.0, 0.2, 0.1, 0.3, 0.05])
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(0.5), costs=costs)
    return problem, older.solve(problem).certificate, best_of(X, 3, np.full(20, 0.5), costs, points=3000)


def test_a_proof_holds_for_its_own_costs_only(proved):
    problem, certificate, optimum = proved
    cheaper = problem.with_costs(problem.costs / 2)
    assert "costs" in noap.verify(cheaper, certificate).message
    claim = older.solve(cheaper).certificate.claim
    lie = dataclasses.replace(certificate, claim=dataclasses.replace(claim, bound=certificate.bound, value=0.0))
    assert not noap.verify(cheaper, lie).ok
    dearer = problem.with_costs(problem.costs * 1.1)
    claim = dataclasses.replace(older.solve(dearer).certificate.claim, bound=certificate.bound, value=0.0)
    assert noap.verify(dearer, dataclasses.replace(certificate, claim=claim)).ok  # what costs more is worth less
    for share in (1 - 1e-3, 0.9, 0.5, 0.0):
        claim = dataclasses.replace(certificate.claim, bound=share * optimum, value=0.0)
        assert not noap.verify(problem, dataclasses.replace(certificate, claim=claim)).ok


def test_no_mutant_proves_a_bound_below_the_optimum(proved):
    problem, certificate, optimum = proved
    rng, accepted = np.random.default_rng(0), 0
    for _ in range(150):
        changes = {}
        for name in rng.choice(["kind", "attack", "feature", "values"], size=int(rng.integers(1, 3))):
            array = getattr(certificate.proof, name).copy()
            at = int(rng.integers(len(array)))
            if array.dtype.kind == "f":
                array[at] *= rng.choice([0.0, 0.5, 1 + 1e-6, 2.0, -1.0])
            else:
                array[at] = rng.integers(int(array.max()) + 1)
            changes[str(name)] = array
        proof = dataclasses.replace(certificate.proof, **changes)
        share = rng.choice([1.0, 1.2, 1 - 1e-5, 0.9])
        claim = dataclasses.replace(certificate.claim, bound=share * certificate.bound, value=0.0)
        report = noap.verify(problem, dataclasses.replace(certificate, claim=claim, proof=proof))
        assert not report.ok or report.bound >= optimum * (1 - 1e-9)
        accepted += report.ok
    assert 5 < accepted < 145
    assert (certificate.proof.kind == CLOSED).any()


def test_where_nothing_is_worth_its_cost():
    X = np.random.default_rng(3).standard_normal((10, 4))
    problem = noap.Problem(X, k=2, adversary=noap.SampleWise(0.3), costs=np.full(4, 50.0))
    result = older.solve(problem)
    assert (result.value, result.bound) == (0.0, 0.0)
    assert not result.v.any()
    assert noap.verify(problem, result.certificate).ok
