"""Budgets of each feature or sample, and costs of features: what they mean, and what one number must not notice."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import noap
from budget_cases import INF, ascended, data, drawn_budgets, drawn_costs
from noap.errors import InvalidProblem
from noap.linalg.exact_norms import longer_than, pairs_exceed


def best_by_enumeration(X, k, rho, costs):
    """The optimum over all supports and signs, by alternating from every sign pattern: shares no code with noap."""
    n, d = X.shape
    best = 0.0
    for q in range(1, k + 1):
        for S in map(list, itertools.combinations(range(d), q)):
            if np.isinf(rho[S]).any():
                continue
            A = X[:, S]
            for tail in itertools.product((1.0, -1.0), repeat=q - 1):
                w = np.array([1.0, *tail]) / math.sqrt(q)
                for _ in range(300):
                    pulled = A.T @ (A @ w / np.linalg.norm(A @ w))
                    shrunk = np.sign(pulled) * np.maximum(np.abs(pulled) - rho[S], 0.0)
                    if not shrunk.any():
                        break
                    w = shrunk / np.linalg.norm(shrunk)
                away = max(np.linalg.norm(A @ w) - rho[S] @ np.abs(w), 0.0)
                best = max(best, away**2 / n - costs[S] @ (w != 0))
    return best


@pytest.mark.parametrize("with_costs", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_ascent_finds_the_optimum(seed, with_costs):
    X, k = data(seed), 3
    n, d = X.shape
    rho, costs = drawn_budgets(seed, d), drawn_costs(seed, d) if with_costs else None
    expected = best_by_enumeration(X, k, rho, np.zeros(d) if costs is None else costs)
    adversary = noap.FeatureWise(rho)
    problems = [
        noap.Problem(X, k, adversary, costs=costs),
        noap.Problem.from_covariance(X.T @ X / n, n_samples=n, k=k, adversary=adversary, costs=costs),
    ]
    for problem in problems:
        assert ascended(problem).value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_ascent_against_budgets_of_samples(seed):
    X, k = data(seed, n=9, d=4), 2
    rho = drawn_budgets(seed, len(X), top=1.5)
    result = ascended(noap.Problem(X, k, noap.SampleWise(rho)))
    best = 0.0
    for i, j in itertools.combinations(range(4), 2):
        angles = np.linspace(0, math.pi, 20001)
        scores = np.abs(np.outer(np.cos(angles), X[:, i]) + np.outer(np.sin(angles), X[:, j]))
        best = max(best, (np.maximum(scores - rho, 0.0) ** 2).sum(axis=1).max() / len(X))
    assert result.value >= best * (1 - 1e-7)
    assert result.value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_no_climb_goes_down(seed):
    problem = noap.Problem(data(seed), 3, noap.FeatureWise(drawn_budgets(seed, 7)), costs=drawn_costs(seed, 7))
    from noap.heuristics.ascent import ascent

    values = [problem.value(v) for v in ascent(problem, np.random.default_rng(0))]
    assert all(after >= before - 1e-12 for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
def test_equal_budgets_are_the_number(kind):
    X = data(3, n=20, d=9)
    count = 9 if kind is noap.FeatureWise else 20
    number, array = kind(0.8), kind(np.full(count, 0.8))
    assert (number.is_uniform, array.is_uniform, array.has_one_budget) == (True, True, False)
    assert not kind(np.arange(1.0, count + 1)).is_uniform
    np.testing.assert_array_equal(number.budgets(count), array.budgets(count))
    first, second = (ascended(noap.Problem(X, 3, adversary)) for adversary in (number, array))
    np.testing.assert_array_equal(first.support, second.support)
    assert second.value == pytest.approx(first.value, rel=1e-12)
    assert array.value(X, first.v) == pytest.approx(number.value(X, first.v), rel=1e-14)
    # One is a budget, the other a factor of budgets.
    assert array.rho_max(X, 3) == pytest.approx(number.rho_max(X, 3) / 0.8, rel=1e-14)


@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
def test_adversaries_are_values(kind):
    rho = [0.0, 1.0, INF]
    first, second = kind(rho), kind(np.array(rho))
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second, kind(1.0), kind([1.0, 1.0, 1.0]), kind([0.0, 1.0, 2.0])}) == 4
    assert first != noap.NoAdversary()
    assert noap.FeatureWise(1.0) != noap.SampleWise(1.0)
    assert kind([-0.0, 1.0]) == kind([0.0, 1.0])
    assert pickle.loads(pickle.dumps(first)) == first
    assert repr(first) == f"{kind.__name__}(rho=<3 from 0 to inf>)"
    assert repr(kind(0.5)) == f"{kind.__name__}(rho=0.5)"
    given = np.array(rho)
    made = kind(given)
    given[0] = 5.0
    assert made.rho[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        made.rho[0] = 1.0
    np.testing.assert_array_equal(made.rescaled(0.5).rho, [0.0, 0.5, INF])
    np.testing.assert_array_equal(made.rescaled(0.0).rho, [0.0, 0.0, INF])


@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
@pytest.mark.parametrize("bad", [[-1.0, 0.0], [math.nan, 1.0], [[1.0, 2.0]], [], ["a", "b"], [1j, 2.0]])
def test_bad_budgets_are_named(kind, bad):
    with pytest.raises(InvalidProblem, match="rho must"):
        kind(bad)


def test_budgets_must_be_as_many_as_what_they_are_for():
    X = data(0)
    for adversary in (noap.FeatureWise(np.ones(6)), noap.SampleWise(np.ones(7))):
        with pytest.raises(InvalidProblem, match=r"rho has \d entries, but there are"):
            noap.Problem(X, 2, adversary)
        with pytest.raises(InvalidProblem, match=r"rho has \d entries, but there are"):
            noap.Problem(X, 2, noap.NoAdversary()).with_adversary(adversary)
        with pytest.raises(InvalidProblem, match="rho has"):
            adversary.rho_max(X, 2)


@example(seed=3, exponents=[0, 0, 0, 0, 0, 0, 1])  # two infinite budgets in the support
@given(seed=st.integers(0, 10**6), exponents=st.lists(st.integers(-8, 8), min_size=7, max_size=7))
def test_rescaling_features_with_their_budgets_rescales_the_direction(seed, exponents):
    # X -> X D and rho_j -> d_j rho_j carries the set of perturbations E to E D, and (X + E) v = (X D + E D)(D^-1 v):
    # corresponding directions have the same inner minimum, attacks correspond column by column, and so does screening.
    # Unit vectors do not correspond, so the optimum itself is not the same. Powers of two make it all exact.
    X, rho = data(seed), drawn_budgets(seed, 7)
    D = 2.0 ** np.array(exponents)
    rng = np.random.default_rng(seed)
    v = np.where(rng.random(7) < 0.5, rng.standard_normal(7), 0.0)
    before, after = noap.FeatureWise(rho), noap.FeatureWise(rho * D)
    np.testing.assert_allclose(after.value(X * D, v / D), before.value(X, v), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(after.attack(X * D, v / D), before.attack(X, v) * D, rtol=1e-9, atol=1e-12 * D.max())
    assert after.rho_max(X * D, 3) == before.rho_max(X, 3)
    kept = [noap.Problem(X * s, 3, adversary).kept_features for s, adversary in ((1.0, before), (D, after))]
    np.testing.assert_array_equal(*kept)
    # All columns by the same factor: the unit directions correspond too, and the value is multiplied by its square.
    assert after.rescaled(4.0).value(4.0 * X * D, v / D) == pytest.approx(16 * before.value(X, v), rel=1e-12, abs=1e-13)


def test_screening_by_budgets_is_exact():
    # A column an ulp above its budget stays, one at it is dropped: no rounding decides.
    tiny = 2.0**-27
    X = np.array([[1.0, 1.0, 2.0, 0.0, 1e9], [tiny, 0.0, 0.0, 0.0, 0.0]])
    problem = noap.Problem(noap.data.validation.Samples(X, None), 1, noap.FeatureWise([1.0, 1.0, 0.0, 0.0, INF]))
    np.testing.assert_array_equal(problem.kept_features, [True, False, True, False, False])
    S = X.T @ X / 2
    S[0, 0] = (1 + 2.0**-52) / 2
    from_S = noap.Problem.from_covariance(S, n_samples=2, k=1, adversary=problem.adversary)
    np.testing.assert_array_equal(from_S.kept_features, [True, False, True, False, False])
    samples = noap.Problem(noap.data.validation.Samples(X.T, None), 2, noap.SampleWise([1.0, 1.0, 0.0, 0.0, INF]))
    np.testing.assert_array_equal(samples.kept_samples, [True, False, True, False, False])
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [1e-200, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(longer_than(rows, np.array([5.0, 0.0, 0.0, 4.999])), [False, False, True, True])


@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_the_factor_of_budgets_is_the_smallest_float(seed, k):
    X = data(seed, n=5, d=4)
    for kind, count in ((noap.FeatureWise, 4), (noap.SampleWise, 5)):
        rho = np.random.default_rng(seed).uniform(0.1, 3, count)
        rho[0] = INF
        adversary = kind(rho)
        top = adversary.rho_max(X, k)
        for factor, zero in ((top, True), (math.nextafter(top, 0.0), False)):
            assert noap.Problem(X, k, adversary.rescaled(factor)).optimum_is_zero is zero
        assert kind(np.full(count, INF)).rho_max(X, k) == 0.0
        assert kind(np.zeros(count)).rho_max(X, k) == INF
    S = X.T @ X / 5
    from_S = noap.Problem.from_covariance(S, n_samples=5, k=k, adversary=noap.FeatureWise([0.5, 1.0, 2.0, INF]))
    top = from_S.rho_max
    assert from_S.with_adversary(from_S.adversary.rescaled(top)).optimum_is_zero
    assert not from_S.with_adversary(from_S.adversary.rescaled(0.999999 * top)).optimum_is_zero


@given(seed=st.integers(0, 10**6))
def test_pairs_are_compared_exactly(seed):
    rng = np.random.default_rng(seed)
    S = np.round(rng.standard_normal((3, 3)), 2)
    S = S + S.T
    rho = np.sqrt(np.abs(np.diag(S))) * rng.choice([1.0, 1.5], 3)
    n = int(rng.integers(1, 4))
    exceeded = any(
        n * abs(Fraction(float(S[i, j]))) > Fraction(float(rho[i])) * Fraction(float(rho[j]))
        for i in range(3)
        for j in range(3)
    )
    assert pairs_exceed(S, n, rho) is exceeded


def test_a_feature_that_is_not_trusted_is_worth_nothing():
    X = data(1)
    rho = np.zeros(7)
    rho[2] = INF
    adversary = noap.FeatureWise(rho)
    problem = noap.Problem(X, 3, adversary)
    e = np.eye(7)
    assert problem.value(e[2]) == 0.0
    v = (e[2] + e[3]) / math.sqrt(2)
    E = adversary.attack(X, v)
    assert problem.value(v) == 0.0
    assert np.linalg.norm((X + E) @ v) <= 1e-14 * np.linalg.norm(X)
    assert not E[:, 3].any()
    assert adversary.norm(E) == 0.0
    without = noap.Problem(X[:, [0, 1, 3, 4, 5, 6]], 3, noap.NoAdversary())
    assert ascended(problem).value == pytest.approx(noap.solve(without).value, rel=1e-6)
    sample = noap.SampleWise(np.where(np.arange(12) == 5, INF, 0.0))
    assert sample.value(X, e[0]) * 12 == pytest.approx(np.delete(X[:, 0], 5) @ np.delete(X[:, 0], 5))
    for method in ("ppm", "spca", "diagonal-thresholding", "covariance-thresholding"):
        assert np.isfinite(noap.solve(problem, method).v).all()


def test_a_path_is_over_one_number():
    X = data(0)
    with pytest.raises(InvalidProblem, match="adversary must give FeatureWise"):
        noap.path(X, 2, lambda factor: noap.FeatureWise(factor * np.ones(7)), [0.0, 0.5], method="ascent")


def test_attacked_covariance_with_budgets():
    X = data(6)
    for rho in (drawn_budgets(1, 7, top=1.0), np.full(7, 50.0), np.array([0, 0, 0, INF, INF, 0, 0])):
        problem = noap.Problem(X, 3, noap.FeatureWise(rho))
        v = np.array([0.0, 0.6, 0.0, 0.8, 0.0, 0.0, 0.0])
        result = noap.Result(problem, "mine", v)
        moved = X + result.attack()
        np.testing.assert_allclose(result.attacked_covariance(), moved.T @ moved / len(X), atol=1e-12)
