"""The exact method and the relaxation against attacks on samples: brute force, limits, extremes."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate
from noap.search.attacks import smoothed
from noap.settings import SampleSettings
from sample_proofs import best_of
from second_checker import refusal


def drawn(seed):
    """A small problem: integers, ties, rank one, columns of other scales, extreme units; costs and demands; or None."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    k = int(rng.integers(1, min(d, 3) + 1))
    X = [
        rng.standard_normal((n, d)),
        rng.integers(-2, 3, (n, d)).astype(float),
        rng.standard_normal((n, d)) + 2.0 * np.outer(rng.standard_normal(n), rng.random(d) < 0.6),
        np.outer(rng.integers(-2, 3, n), rng.integers(-2, 3, d)).astype(float),
        rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, d),
    ][int(rng.integers(5))]
    X[0, 0] += not X.any()
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-130, 130)
    largest = np.abs(X).max()
    N = np.sqrt(np.sort((X / largest) ** 2, axis=1)[:, ::-1][:, :k].sum(axis=1)) * largest
    rho = float(N.max() * rng.choice([1e-9, 0.1, 0.3, 0.6, 0.9]))
    if rng.random() < 0.3:
        share = rng.choice([0.0, 0.1, 0.5, 0.9, np.inf], n)
        rho = np.where(np.isinf(share), np.inf, N * np.where(np.isinf(share), 0.0, share))
    costs = None
    if rng.random() < 0.3:
        costs = np.where(
            rng.random(d) < 0.4, 0, rng.uniform(0, 0.5, d) ** 2 * ((X / largest) ** 2).sum(axis=0).max() / n
        )
        costs = costs * largest**2
    demanded = rng.permutation(d)[: int(rng.integers(0, k + 1))].tolist() if rng.random() < 0.2 else []
    try:
        return noap.Problem(X, k, noap.SampleWise(rho), costs=costs, include=demanded)
    except InvalidProblem:
        return None


def check(seed):
    """Solve and verify one problem, by both checkers and by brute force; return whether there was one."""
    problem = drawn(seed)
    if problem is None or problem.adversary.is_idle:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        result = noap.solve(problem)
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    verification = noap.verify(problem, certificate)
    assert verification.ok, (seed, verification.message)
    assert refusal(problem, certificate) is None
    _, best = best_of(problem, np.random.default_rng(seed))
    assert best <= verification.bound, seed
    if result.status is noap.Status.OPTIMAL:
        assert float(best) <= result.value * (1 + 1.1e-4) + 2e-12 * problem.scale, seed
    return result.status is noap.Status.OPTIMAL


def test_small_problems_by_brute_force():
    assert sum(check(seed) for seed in range(60)) > 45


@pytest.mark.slow
def test_many_small_problems():
    assert sum(check(seed) for seed in range(60, 3000)) > 2400


def model(n, d, k, seed, lam=3.0):
    """Two strong features and some weak ones."""
    rng = np.random.default_rng(seed)
    beta = np.zeros(d)
    beta[:k] = [0.6, 0.6, *[0.53 / np.sqrt(max(k - 2, 1))] * (k - 2)][:k]
    return rng.standard_normal((n, d)) + np.sqrt(lam) * np.outer(rng.standard_normal(n), beta)


@pytest.mark.parametrize("rho", [0.1, 0.5, 1.0, 2.0])
def test_the_papers_model_is_closed(rho):
    problem = noap.Problem(model(120, 30, 4, 0), 4, noap.SampleWise(rho))
    result = noap.solve(problem)
    assert result.gap <= 1e-4
    assert noap.verify(problem, result.certificate).ok
    again = noap.solve(problem)
    assert (again.bound, again.nodes, again.v.tolist()) == (result.bound, result.nodes, result.v.tolist())


def test_samples_with_a_factor_and_an_exact_one():
    X = model(60, 12, 3, 1)
    rho = np.where(np.arange(60) % 5 == 0, 0.0, np.where(np.arange(60) % 7 == 0, np.inf, 0.8))
    problem = noap.Problem(X, 3, noap.SampleWise(rho))
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("options", [{"node_limit": 3}, {"memory_limit": 1e-3}, {"time_limit": 0.02}])
def test_a_limit_leaves_a_proved_bound(options):
    """Pure noise, where no attack helps: what was proved until then comes back, with a certificate."""
    X = np.random.default_rng(0).standard_normal((150, 40))
    problem = noap.Problem(X, 6, noap.SampleWise(1.5))
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, **options)
    assert result.limit is not None
    assert 0 < result.value < result.bound < np.inf
    verification = noap.verify(problem, result.certificate)
    assert verification.ok
    assert verification.bound == result.bound
    lengths = np.sqrt(np.sort(X * X, axis=1)[:, ::-1][:, :6].sum(axis=1))
    assert result.bound <= (np.maximum(lengths - 1.5, 0) ** 2).mean() * (1 + 1e-9)


def test_ctrl_c_returns_the_best_so_far():
    X = np.random.default_rng(1).standard_normal((150, 50))
    problem = noap.Problem(X, 7, noap.SampleWise(1.0))
    main = threading.main_thread().ident
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, gap=1e-9)
    timer.join()
    assert result.limit is noap.Limit.INTERRUPTED
    assert noap.verify(problem, result.certificate).ok


def test_a_gap_of_0():
    problem = noap.Problem([[-2, -4, 4, 2], [2, -2, -4, 4], [0, 2, 0, -2]], 3, noap.SampleWise(1e-9))
    result = noap.solve(problem, gap=0)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


def test_few_samples_of_many_features():
    """Nothing of the size of X'X is formed: 20 GB here."""
    X = np.random.default_rng(0).standard_normal((2, 50_000))
    problem = noap.Problem(X, 3, noap.SampleWise(0.5))
    started = time.process_time()
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, time_limit=1)
    assert time.process_time() - started < 3
    assert result.bound < np.inf
    assert noap.verify(problem, result.certificate).ok


def test_many_features_without_a_matrix_of_them():
    """2,200 features, closed in blocks of rows at the root, and with a pool, a fringe and the solver on few of them."""
    problem = noap.Problem(model(60, 2200, 3, 0, lam=8.0), 3, noap.SampleWise(0.3))
    result = noap.solve(problem)
    assert result.gap <= 1e-4
    assert noap.verify(problem, result.certificate).ok
    few = noap.Problem(model(80, 60, 3, 1), 3, noap.SampleWise(1.5))
    for options in ({"most_features": 20, "pool": 15, "nodes_in_blocks": 60}, {"most_in_blocks": 59}):
        settings = noap.Settings(samples=SampleSettings(**options), fringe_pool=8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            result = noap.solve(few, settings=settings)
        assert noap.verify(few, result.certificate).ok
        closed = result.gap <= 1e-4
        assert closed == ("pool" in options)
    lengths = np.sort((few.X**2).sum(axis=0))[-3:].sum()
    assert result.bound <= (np.sqrt(lengths) - 1.5) ** 2 / 80 * (1 + 1e-9)


def test_the_smoothed_attack_meets_the_best_vector_of_a_support():
    """min over attacks of the largest eigenvalue = max over v of the value, where there is no duality gap."""
    met = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, rho = model(80, 3, 3, seed), rng.uniform(0.2, 1.5, 80)
        V = rng.standard_normal((20_000, 3))
        V /= np.linalg.norm(V, axis=1)[:, None]
        best = (np.maximum(np.abs(X @ V.T) - rho[:, None], 0) ** 2).sum(axis=0).max()
        E = smoothed(X, rho, np.zeros_like(X), 1.001 * best, SampleSettings())
        assert (np.linalg.norm(E, axis=1) <= rho * (1 + 1e-12)).all()
        reached = np.linalg.eigvalsh((X + E).T @ (X + E))[-1]
        assert reached >= best * (1 - 1e-12)
        met += reached < 1.001 * best
    assert met >= 9


def test_supports_that_stay_open_have_the_bound_of_their_attack():
    """Without lines a duality gap stays, of the size of the gap and not of the lengths."""
    problem = noap.Problem(model(100, 5, 5, 2), 5, noap.SampleWise(2.0))
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, settings=noap.Settings(samples=SampleSettings(most_samples=0)))
    assert 1e-4 < result.gap < 0.3
    assert noap.verify(problem, result.certificate).bound == result.bound
    assert noap.solve(problem).gap <= 1e-4


def test_a_dropped_sample_of_another_size_changes_nothing():
    X = model(40, 8, 3, 5)
    rho = np.full(40, 0.7)
    rho[7] = np.inf
    plain = noap.solve(noap.Problem(X, 3, noap.SampleWise(rho)))
    for factor in (1e-140, 1e140):
        other = X.copy()
        other[7] *= factor
        problem = noap.Problem(other, 3, noap.SampleWise(rho))
        result = noap.solve(problem)
        assert result.value == pytest.approx(plain.value, rel=1e-9)
        assert result.status is noap.Status.OPTIMAL
        assert noap.verify(problem, result.certificate).ok


def test_a_certificate_is_about_its_budgets():
    X = model(30, 6, 3, 2)
    rho = np.linspace(0.2, 1.2, 30)
    rho[4] = np.inf
    problem = noap.Problem(X, 3, noap.SampleWise(rho))
    certificate = noap.solve(problem).certificate
    assert noap.verify(problem, certificate).ok
    for at, to in ((1, np.nextafter(rho[1], 0)), (4, 1e300), (5, np.inf), (0, 0.0)):
        changed = rho.copy()
        changed[at] = to
        assert "other budgets" in noap.verify(problem.with_adversary(noap.SampleWise(changed)), certificate).message
    assert not noap.verify(problem.with_adversary(noap.SampleWise(rho[::-1].copy())), certificate).ok


def test_nothing_left_is_proved_for_heuristics_too():
    X = model(20, 5, 2, 1)
    adversary = noap.SampleWise(0.0)
    problem = noap.Problem(X, 2, noap.SampleWise(adversary.rho_max(X, 2) * 1.01))
    with pytest.warns(NoapWarning, match="optimum is 0"):
        result = noap.solve(problem, method="ascent")
    assert result.bound == 0
    assert noap.verify(problem, result.certificate).bound == 0


def test_the_relaxation_is_a_bound():
    for seed, rho in ((0, 0.5), (1, 1.0), (2, 2.0)):
        problem = noap.Problem(model(100, 20, 4, seed), 4, noap.SampleWise(rho))
        exact = noap.solve(problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            relaxed = noap.solve(problem, method="relaxation")
        assert exact.value <= relaxed.bound < 3.0 * exact.value
        assert noap.verify(problem, relaxed.certificate).ok
    idle, plain = (noap.Problem(model(9, 3, 2, 0), 2, one) for one in (noap.SampleWise(0.0), noap.NoAdversary()))
    assert noap.solve(idle, method="relaxation").bound == noap.solve(plain, method="relaxation").bound
    with pytest.raises(InvalidProblem, match="NoAdversary"):
        noap.solve(noap.Problem(model(9, 500, 2, 0), 2, noap.SampleWise(0.0)), method="relaxation")


def test_a_demanded_feature_where_nothing_is_left():
    X = np.array([[0.3, -1.7], [0.1, 0.9]])
    problem = noap.Problem(X, k=1, adversary=noap.SampleWise(4.0), include=[0], costs=[0.37, 0.2])
    result = noap.solve(problem)
    assert result.value == -0.37
    assert -0.37 <= result.bound <= -0.37 * (1 - 1e-12)
    assert noap.verify(problem, result.certificate).ok
