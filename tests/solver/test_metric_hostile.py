"""Metrics and data that try to make a certificate lie; fractions judge value and bound."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import noap
from generalised_judge import random_pencil


def exact(M):
    return [[Fraction(float(x)) for x in row] for row in M]


def semidefinite(M):
    M, m = [row[:] for row in M], len(M)
    for j in range(m):
        if M[j][j] < 0 or (M[j][j] == 0 and any(M[j][j:])):
            return False
        for i in range(j + 1, m) if M[j][j] else ():
            share = M[i][j] / M[j][j]
            M[i] = [x - share * y for x, y in zip(M[i], M[j], strict=True)]
    return True


def forms(problem):
    if problem.X is None:
        A = exact(problem.covariance)
    else:
        X = exact(problem.X)
        d = problem.n_features
        A = [[sum(row[a] * row[b] for row in X) / len(X) for b in range(d)] for a in range(d)]
    return A, exact(problem.metric if problem.metric.ndim == 2 else np.diag(problem.metric))


def ratio(problem, v):
    A, B = forms(problem)
    w = [Fraction(x) for x in v.tolist()]
    places = [i for i, x in enumerate(w) if x]
    above, below = (sum(M[i][j] * w[i] * w[j] for i in places for j in places) for M in (A, B))
    return above / below


def judged(problem, **options):
    """Solve, verify, and judge: the value is attained; without an adversary the bound holds on every support."""
    result = noap.solve(problem, **options)
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert report.value <= report.bound
    if problem.adversary.is_idle:
        assert Fraction(report.value) <= max(ratio(problem, result.v), 0)
        A, B = forms(problem)
        T = Fraction(report.bound)
        for S in combinations(range(problem.n_features), problem.k):
            assert semidefinite([[T * B[i][j] - A[i][j] for j in S] for i in S])
    return result


def near_singular(eps, d=6, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, d)))[0]
    B = U @ np.diag([eps, *np.linspace(0.5, 2.0, d - 1)]) @ U.T
    return (B + B.T) / 2


def cases():
    rng = np.random.default_rng(0)
    X, B = random_pencil(rng, 6, n=12)
    D = 10.0 ** rng.uniform(-12, 12, 6)
    units = D[:, None] * B * D
    units = (units + units.T) / 2
    swap = np.eye(6)[[1, 0, 3, 2, 5, 4]]
    holes = X.copy()
    holes[:, [2, 4]] = 0.0
    return {
        "near singular": (X, near_singular(1e-8)),
        "nearer": (X, near_singular(1e-11)),
        "as near as it gets": (X, near_singular(1e-13)),
        "samples": (X, noap.metric_from_samples(rng.standard_normal((3, 6)), 1e-12)),
        "units of the metric": (X, units),
        "units of both": (X * D, units),
        "units of the data": (X * D, B),
        "ties": (np.vstack([X, X @ swap]), (B + swap @ B @ swap) / 2),
        "zero columns": (holes, B),
        "integers": (np.round(3 * X).astype(int), B),
        "single precision": (X.astype(np.float32), B.astype(np.float32)),
        "tiny": (X * 1e-90, B),
        "huge": (X * 1e90, B),
        "one sample": (X[:1], B),
    }


CASES = cases()


@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_no_certificate_lies(name, k):
    X, B = CASES[name]
    judged(noap.Problem(X, k, noap.NoAdversary(), metric=B))


@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
@pytest.mark.parametrize("name", CASES)
def test_nor_against_an_adversary(name):
    X, B = CASES[name]
    longest = float(np.sqrt((np.asarray(X, dtype=float) ** 2).sum(axis=0)).max())
    result = judged(noap.Problem(X, 2, noap.FeatureWise(0.3 * longest), metric=B), gap=1e-2, time_limit=20)
    assert result.bound >= result.value


@pytest.mark.parametrize("eps", [1e-8, 1e-11])
def test_few_supports_are_proved_near_to_a_singular_metric(eps):
    X, _ = random_pencil(np.random.default_rng(0), 6, n=12)
    for k in (1, 3):
        result = judged(noap.Problem(X, k, noap.NoAdversary(), metric=near_singular(eps)))
        assert result.status is noap.Status.OPTIMAL


def test_any_symmetric_matrix():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((6, 6))
    _, B = random_pencil(rng, 6)
    for form in (M + M.T, np.diag([1.0, -1, -1, -1, -1, -1]) - 0.1, -(M @ M.T) + np.diag([1e3, 0, 0, 0, 0, 0])):
        problem = noap.Problem.from_covariance(form, n_samples=9, k=3, adversary=noap.NoAdversary(), metric=B)
        assert judged(problem).status is noap.Status.OPTIMAL
