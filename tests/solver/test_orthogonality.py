"""Vectors orthogonal to, or uncorrelated with, those given: against brute force over all supports and a fine grid."""

import warnings

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem, NoapWarning
from orthogonal_judge import best_orthogonal


def sequence(seed, deflation, length=3):
    """Yield (problem, result) of the components after the first, in a sequence of components."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    X = rng.standard_normal((24, 2)) @ rng.standard_normal((2, d)) + rng.uniform(0.2, 1.0) * rng.standard_normal(
        (24, d)
    )
    X -= X.mean(0)
    noise = [0.0, 0.0, 0.15, 0.3][seed % 4] * X.std()
    rho = noise * np.sqrt(24) * rng.uniform(0.5, 1.5, d)
    costs = rng.uniform(0, 0.05, d) * X.var() if seed % 5 == 4 else None
    problem = noap.Problem(X, k, noap.FeatureWise(rho) if noise else noap.NoAdversary(), costs=costs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        found = [noap.solve(problem)]
        for _ in range(length - 1):
            V = np.array([one.v for one in found if one.v.any()])
            if not len(V):
                return
            if deflation == "uncorrelated":
                V = V @ problem.covariance
            part = problem.with_orthogonality(V / np.linalg.norm(V, axis=1, keepdims=True))
            result = noap.solve(part, time_limit=30)
            yield part, result
            if not result.v.any():
                return
            found.append(result)


def judged(seed, deflation):
    """Check a sequence; return how many components, how many proved to 1e-4, and how many short of the judge."""
    cases = proved = short = 0
    for problem, result in sequence(seed, deflation):
        r = np.zeros(problem.n_features)
        if isinstance(problem.adversary, noap.FeatureWise):
            r = problem.adversary.budgets(problem.n_features) / np.sqrt(problem.n_samples)
        best, vector = best_orthogonal(problem.covariance, r, problem.orthogonal_to, problem.k, problem.costs)
        scale = problem.scale
        assert best <= result.bound + 1e-9 * scale
        if vector.any():
            assert problem.value(vector) == pytest.approx(best, abs=1e-9 * scale)
        assert np.linalg.norm(problem.orthogonal_to @ result.v) <= 1e-12
        assert noap.verify(problem, result.certificate).ok
        cases += 1
        proved += result.gap <= 1.01e-4
        short += result.value < best * (1 - 1.1e-4) - 1e-9 * scale
    return cases, proved, short


@pytest.mark.parametrize("deflation", ["orthogonal", "uncorrelated"])
@pytest.mark.parametrize("seed", range(16))
def test_against_brute_force(seed, deflation):
    cases, proved, short = judged(seed, deflation)
    assert cases
    assert short <= cases - proved  # whatever is proved is as good as the judge's


@pytest.mark.slow
@pytest.mark.parametrize("deflation", ["orthogonal", "uncorrelated"])
def test_three_hundred_cases_against_brute_force(deflation):
    counts, seed = np.zeros(3, int), 0
    while counts[0] < 300:
        counts += judged(seed, deflation)
        seed += 1
    cases, proved, short = counts.tolist()
    assert proved >= 0.9 * cases, (cases, proved, short)
    assert short <= cases - proved


def test_a_spectral_budget_and_demanded_features():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 6)) @ rng.standard_normal((6, 6))
    v = np.full(6, 1 / np.sqrt(6))
    plain = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), orthogonal_to=v))
    spectral = noap.solve(noap.Problem(X, 3, noap.SpectralNorm(2.0), orthogonal_to=v))
    assert spectral.v == pytest.approx(plain.v, abs=1e-5)
    assert spectral.value == pytest.approx((np.sqrt(plain.value) - 2.0 / np.sqrt(20)) ** 2, rel=1e-6)
    assert noap.verify(spectral.problem, spectral.certificate).ok
    j = int(np.flatnonzero(plain.v == 0)[0])
    demanded = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), orthogonal_to=v, include=[j]))
    assert demanded.value < plain.value
    assert noap.verify(demanded.problem, demanded.certificate).ok
    forbidden = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), orthogonal_to=v, exclude=plain.support[:1].tolist()))
    assert plain.support[0] not in forbidden.support
    assert forbidden.value < plain.value


def test_ascent_and_the_relaxation_respect_it():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 12)) @ rng.standard_normal((12, 12))
    problem = noap.Problem(X, 4, noap.FeatureWise(2.0))
    problem = problem.with_orthogonality(noap.solve(problem, method="ascent").v)
    exact = noap.solve(problem)
    found = noap.solve(problem, method="ascent")
    assert np.linalg.norm(problem.orthogonal_to @ found.v) <= 1e-12
    assert 0.9 * exact.value <= found.value <= exact.bound
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        relaxed = noap.solve(problem, method="relaxation")
    assert relaxed.bound >= exact.value
    assert noap.verify(problem, relaxed.certificate).ok


def test_where_no_vector_is_orthogonal_zero_is_proved():
    X = np.random.default_rng(3).standard_normal((20, 5))
    problem = noap.Problem(X, 2, noap.FeatureWise(0.5), orthogonal_to=np.linalg.qr(np.ones((5, 2)) + X[:5, :2])[0].T)
    with pytest.warns(NoapWarning, match="no direction orthogonal to the given ones is worth anything"):
        result = noap.solve(problem)
    assert result.bound == result.value == 0
    assert not result.v.any()
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


def test_what_is_refused():
    X = np.random.default_rng(4).standard_normal((20, 4))
    v = np.array([0.6, 0.8, 0.0, 0.0])
    problem = noap.Problem(X, 2, noap.NoAdversary(), orthogonal_to=v)
    assert "orthogonal to 1" in repr(problem)
    with pytest.raises(InvalidProblem, match="orthogonal to the vectors of orthogonal_to"):
        problem.value([1.0, 0.0, 0.0, 0.0])
    assert problem.value([0.8, -0.6, 0.0, 0.0]) > 0
    for method in ("mip", "ppm", "spca", "diagonal-thresholding"):
        with pytest.raises(InvalidProblem, match="takes no orthogonal_to"):
            noap.solve(problem, method=method)
    for call in (noap.k_path, noap.near_optimal, noap.stability):
        with pytest.raises(InvalidProblem, match="takes no orthogonal_to"):
            call(problem)
    for wrong, why in (([1.0, 1.0, 0.0, 0.0], "unit length"), ([1.0], "vectors of 4 numbers"), ("x", "numbers")):
        with pytest.raises(InvalidProblem, match=why):
            noap.Problem(X, 2, noap.NoAdversary(), orthogonal_to=wrong)
    with pytest.raises(InvalidProblem, match="SampleWise"):
        noap.Problem(X, 2, noap.SampleWise(0.1), orthogonal_to=v)
    with pytest.raises(InvalidProblem, match="either orthogonal_to or a metric"):
        noap.Problem(X, 2, noap.NoAdversary(), orthogonal_to=v, metric=np.arange(1.0, 5.0))
    with pytest.raises(InvalidProblem, match="SampleWise"):
        problem.with_adversary(noap.SampleWise(0.1))
