"""The exact method against attacks on entries: brute force over supports and signs, limits."""

import warnings
from itertools import combinations, pairwise, product

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate
from second_checker import second_verdict


def drawn(seed):
    """A small problem with a delta for all, for each feature or each entry; in extreme units; costs; or None."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 12)), int(rng.integers(2, 6))
    X = [
        rng.standard_normal((n, d)),
        rng.integers(-2, 3, (n, d)).astype(float),
        rng.standard_normal((n, d)) + 2.0 * np.outer(rng.standard_normal(n), rng.random(d) < 0.6),
        np.outer(rng.integers(-2, 3, n), rng.integers(-2, 3, d)).astype(float),
    ][int(rng.integers(4))]
    X[0, 0] += not X.any()
    share = rng.choice([1e-9, 0.05, 0.2, 0.4, 0.7])
    delta = float(share * np.abs(X).max())
    if rng.random() < 0.4:
        delta *= rng.choice([0.0, 0.5, 1.0, 2.0], d)
    if rng.random() < 0.4:
        delta = np.where(rng.random((n, d)) < 0.05, np.inf, delta * rng.choice([0.0, 0.3, 1.0, 3.0], (n, d)))
    unit = 10.0 ** rng.uniform(-130, 130) if rng.random() < 0.3 else 1.0
    costs = rng.uniform(0, 0.2, d) * unit**2 if rng.random() < 0.2 else None
    try:
        return noap.Problem(X * unit, 2, noap.EntryWise(delta * unit), costs=costs)
    except InvalidProblem:
        return None


def optimum(problem):
    """The optimum of at most two features: on each pair and each orthant, by the samples that count between angles."""
    X, n = np.asarray(problem.X), problem.n_samples
    unit = np.abs(X).max()
    D = np.broadcast_to(problem.adversary.delta, X.shape) / unit
    X, costs = X / unit, np.zeros(X.shape[1]) if problem.costs is None else problem.costs / unit**2
    best = max(
        0.0 if problem.costs is not None else -np.inf,
        *((np.maximum(np.abs(X[:, j]) - D[:, j], 0) ** 2).sum() / n - costs[j] for j in range(X.shape[1])),
    )
    for i, j in combinations(range(X.shape[1]), 2):
        rows = np.isfinite(D[:, [i, j]]).all(axis=1)
        for turn in (1.0, -1.0):
            # Of v = (cos, turn sin) between 0 and a right angle a sample leaves (z'v)_+^2 for both of its sides z.
            x, delta = X[rows][:, [i, j]] * [1.0, turn], D[rows][:, [i, j]]
            Z = np.concatenate([x - delta, -x - delta])
            ends = np.arctan2(-Z[:, 0], Z[:, 1])
            ends = np.unique(np.clip(np.concatenate([ends, ends + np.pi, [0.0, np.pi / 2]]), 0.0, np.pi / 2))
            for low, high in pairwise(ends):
                middle = 0.5 * (low + high)
                count = Z[Z @ [np.cos(middle), np.sin(middle)] > 0]
                Q = count.T @ count
                top = np.linalg.eigh(Q)[1][:, 1]
                angles = [low, high]
                angle = np.arctan2(top[1], top[0]) % np.pi
                if low < angle < high:
                    angles.append(angle)
                V = np.array([np.cos(angles), np.sin(angles)])
                best = max(best, float(np.einsum("ij,ik,kj->j", V, Q, V).max()) / n - costs[[i, j]].sum())
    return best * unit**2


def check(seed):
    """Solve and verify one problem; return its gap, judged by brute force, or None where there was no problem."""
    problem = drawn(seed)
    if problem is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        result = noap.solve(problem)
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    verification = noap.verify(problem, certificate)
    assert verification.ok, (seed, verification.message)
    assert second_verdict(certificate.to_bytes(), problem.X) is None, seed
    best, room = optimum(problem), 1e-11 * problem.scale
    assert result.value <= best + room, seed
    assert best <= verification.bound + room, seed
    return 0.0 if verification.bound <= best + room else verification.bound / max(best, 1e-300) - 1.0


def test_small_problems_by_brute_force():
    gaps = [check(seed) for seed in range(80)]
    assert sum(gap is not None and gap <= 1.1e-4 for gap in gaps) > 66


@pytest.mark.slow
def test_five_hundred_small_problems():
    gaps = [check(seed) for seed in range(500)]
    assert sum(gap is not None and gap <= 1.1e-4 for gap in gaps) > 420


def test_the_judge():
    """Beyond the closed form, on a grid of angles."""
    for seed in range(20):
        problem = drawn(seed)
        if problem is None or problem.costs is not None:
            continue
        best, found = optimum(problem), 0.0
        for (i, j), turn in product(combinations(range(problem.n_features), 2), (1.0, -1.0)):
            for angle in np.linspace(0, np.pi / 2, 300):
                v = np.zeros(problem.n_features)
                v[[i, j]] = np.cos(angle), turn * np.sin(angle)
                found = max(found, problem.adversary.value(problem.X, v))
        assert found <= best * (1 + 1e-9) <= found * 1.01 + 1e-300


@pytest.mark.parametrize("delta", [0.1, 0.4])
def test_the_papers_model_is_closed(delta):
    problem = noap.Problem(noap.theory.spiked_wishart(120, 30, 4, 3.0, random_state=0).X, 4, noap.EntryWise(delta))
    result = noap.solve(problem)
    assert result.gap <= 1e-4
    assert noap.verify(problem, result.certificate).ok
    again = noap.solve(problem)
    assert (again.bound, again.nodes, again.v.tolist()) == (result.bound, result.nodes, result.v.tolist())
    relaxed = noap.solve(problem, "relaxation", gap=1.0)
    assert result.value <= relaxed.bound <= 2 * result.value
    moved = problem.X + result.attack()
    np.testing.assert_allclose(result.attacked_covariance(), moved.T @ moved / 120, atol=1e-12)


@pytest.mark.parametrize("options", [{"node_limit": 1}, {"time_limit": 0.02}])
def test_a_limit_leaves_a_proved_bound(options):
    problem = noap.Problem(np.random.default_rng(0).standard_normal((100, 30)), 5, noap.EntryWise(0.5))
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, **options)
    assert 0 < result.value < result.bound < np.inf
    assert noap.verify(problem, result.certificate).ok


def test_few_samples_of_many_features():
    """Nothing of the size of X'X is formed."""
    X = np.random.default_rng(0).standard_normal((2, 50_000))
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(noap.Problem(X, 3, noap.EntryWise(0.5)), time_limit=1)
    assert result.value < result.bound < 3 * result.value
