"""Covariances from the real world: indefinite, rounded, in single precision, large."""

import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import block_diag

import judge
import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.claim import fingerprint_of as fingerprint
from noap.linalg.outward import definite_shift, least_shift

FREE = [noap.NoAdversary(), noap.FeatureWise(0.0)]


def problem_of(S, k, adversary, n=20):
    return noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary)


def below_zero(M, t):
    """Whether tI - M is positive definite, in rational arithmetic: every pivot of its elimination is positive."""
    rows = [[(t if i == j else 0) - Fraction(float(M[i, j])) for j in range(len(M))] for i in range(len(M))]
    while rows:
        pivot, *rest = rows[0]
        if pivot <= 0:
            return False
        rows = [[a - row[0] * b / pivot for a, b in zip(row[1:], rest, strict=True)] for row in rows[1:]]
    return True


def bounded_by(S, k, bound):
    """Whether no k-sparse unit v has v'Sv > bound, exactly, over every support."""
    t = Fraction(float(bound))
    return all(below_zero(S[np.ix_(c, c)], t) for c in combinations(range(len(S)), k))


def indefinite(rng, kind):
    d = int(rng.integers(2, 8))
    A = rng.standard_normal((d, d))
    S = (A + A.T) / 2
    if kind == 1:
        S = np.round(2 * S)
    elif kind == 2:  # hardly any direction is worth anything
        S -= (float(S.diagonal().max()) - 1e-3) * np.eye(d)
    elif kind == 3:  # a difference of covariances
        B = rng.standard_normal((d + 3, d))
        S = A.T @ A - B.T @ B
    elif kind == 4:
        S *= 10.0 ** float(rng.integers(-140, 140))
    elif kind == 5:  # no variance, but company
        S[0, 0] = 0.0
        S[1, 1] = 2.0
    return S


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("adversary", FREE, ids=str)
def test_without_a_budget_every_symmetric_matrix_is_a_question(kind, adversary):
    rng = np.random.default_rng(kind)
    solved = 0
    for _ in range(25):
        S = indefinite(rng, kind)
        d, k = len(S), int(rng.integers(1, len(S) + 1))
        if S.diagonal().max() <= 0:
            continue
        solved += 1
        problem = problem_of(S, k, adversary)
        np.testing.assert_array_equal(problem.covariance, (S + S.T) / 2)
        optimum = judge.vanilla_optimum(S, k)
        size = np.abs(S).max() * d
        result = noap.solve(problem, gap=1e-6)
        assert result.status is noap.Status.OPTIMAL
        assert result.value == pytest.approx(optimum, rel=2e-6, abs=2e-12 * size)
        assert result.value == pytest.approx(float(result.v @ S @ result.v), rel=1e-12, abs=1e-14 * size)
        assert bounded_by(S, k, result.bound)
        report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
        assert report.ok, report.message
        assert bounded_by(S, k, report.bound)
        assert report.bound <= result.bound * (1 + 1e-9) + 4e-12 * problem.scale
        assert not bounded_by(S, k, max(report.value * (1 - 1e-13), 0.0)) or report.value == 0
        np.testing.assert_array_equal(result.attacked_covariance(), problem.covariance)
        for method in ("ascent", "ppm", "spca", "diagonal-thresholding", "covariance-thresholding"):
            found = noap.solve(problem, method=method)
            assert found.value <= optimum + 1e-14 * size
        assert noap.solve(problem, method="ascent").value >= 0.98 * optimum - 1e-12 * size
    assert solved >= 15


def test_a_lie_about_an_indefinite_matrix_is_rejected():
    from dataclasses import replace

    rng = np.random.default_rng(9)
    for _ in range(20):
        S = indefinite(rng, 0) + np.eye(1)
        problem = problem_of(S, min(3, len(S)), noap.NoAdversary())
        certificate = noap.solve(problem, gap=1e-9).certificate
        for share in (1e-6, 1e-3, 0.5):
            claim = replace(certificate.claim, bound=certificate.bound * (1 - share))
            assert not noap.verify(problem, replace(certificate, claim=claim)).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_limits_leave_a_true_bound_and_the_trace_is_in_the_units_of_the_problem():
    A = np.random.default_rng(2).standard_normal((30, 30))
    S = (A + A.T) / 2 + np.eye(30)
    problem = problem_of(S, 5, noap.NoAdversary())
    optimum = noap.solve(problem, gap=1e-9)
    short = noap.solve(problem, gap=1e-9, node_limit=1)
    assert short.limit is noap.Limit.NODES
    assert short.value <= optimum.bound
    assert optimum.value <= short.bound
    assert noap.verify(problem, short.certificate).ok
    for point in (*short.trace, *optimum.trace):
        assert point.value <= optimum.bound * (1 + 1e-12)
        assert point.bound >= optimum.value * (1 - 1e-12)
    assert optimum.trace[-1].value == pytest.approx(optimum.value, rel=1e-9)


def test_features_without_variance_count_where_the_matrix_is_indefinite():
    S = np.array([[1.0, 5.0], [5.0, -1.0]])
    result = noap.solve(problem_of(S, 2, noap.NoAdversary()), gap=1e-9)
    assert result.value == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-9)
    # Slightly indefinite, several at once: each of the silent features adds to the best direction.
    S = np.diag([1.0, 0.0, 0.0, 0.0])
    S[0, 1:] = S[1:, 0] = 0.5e-5
    result = noap.solve(problem_of(S, 4, noap.NoAdversary()), gap=1e-9)
    assert bounded_by(S, 4, result.bound)


def test_a_matrix_without_a_positive_diagonal_is_refused_in_words():
    for S in (-np.eye(3), [[0.0, 1.0], [1.0, 0.0]]):
        with pytest.raises(InvalidProblem, match="positive entry on its diagonal") as caught:
            problem_of(S, 2, noap.NoAdversary())
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidProblem, match="method='exact'"):
        noap.solve(problem_of([[1.0, 2.0], [2.0, 1.0]], 1, noap.NoAdversary()), method="mip")


def correlations(n, d, seed=0):
    return np.corrcoef(np.random.default_rng(seed).standard_normal((n, d)).T)


ROUNDED = {
    "float32": lambda S: S.astype(np.float32),
    "3 decimals": lambda S: np.round(S, 3),
    "4 decimals in float32": lambda S: np.round(S, 4).astype(np.float32),
    "not quite symmetric": lambda S: S.astype(np.float32) * (1 + 6e-8 * np.triu(np.ones(S.shape), 1)),
}


@pytest.mark.parametrize("rounded", ROUNDED.values(), ids=ROUNDED)
def test_a_rounded_correlation_matrix_is_raised_with_a_warning(rounded):
    S = rounded(correlations(8, 20))
    given = (S + S.T).astype(np.float64) / 2
    smallest = np.linalg.eigvalsh(given)[0]
    assert smallest < -1e-9
    adversary = noap.FeatureWise(0.9)
    with pytest.warns(NoapWarning, match="was added to its diagonal") as heard:
        problem = problem_of(S, 3, adversary)
    (raised,) = {float(x) for x in (problem.covariance - given).diagonal().round(12)}
    assert -smallest <= raised <= -3 * smallest
    assert f"{raised:.3g}" in str(heard[0].message)
    off = ~np.eye(20, dtype=bool)
    np.testing.assert_array_equal(problem.covariance[off], given[off])
    # The same S gives the same problem, in either precision; its own covariance gives it without a word.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        again = problem_of(np.asarray(S, dtype=np.float64), 3, adversary)
    assert fingerprint(again) == fingerprint(problem)
    assert fingerprint(problem_of(problem.covariance, 3, adversary)) == fingerprint(problem)
    result = noap.solve(problem, gap=1e-7)
    report = noap.verify(again, result.certificate)
    assert report.ok, report.message
    optimum = judge.feature_wise_optimum(20 * problem.covariance, 20, 3, 0.9)
    assert report.value <= optimum * (1 + 1e-9)
    assert optimum <= report.bound * (1 + 1e-9)
    # Without a budget nothing is raised and nothing said.
    plain = problem_of(S, 3, noap.NoAdversary())
    np.testing.assert_array_equal(plain.covariance, given)
    assert noap.verify(plain, noap.solve(plain).certificate).ok


def test_what_precision_does_not_explain_is_refused():
    for S in (
        [[1.0, 2.0], [2.0, 1.0]],  # whole numbers are exact
        [[1.0, 0.9], [0.9, 0.5]],
        np.round(correlations(8, 20), 3) - 0.1 * np.eye(20),
        correlations(8, 20) - 1e-4 * np.eye(20),
    ):
        with pytest.raises(InvalidProblem, match="positive semidefinite"):
            problem_of(S, 2, noap.FeatureWise(0.1))
        assert problem_of(S, 2, noap.NoAdversary()).lift > 0


def test_a_path_over_budgets_asks_for_a_covariance():
    S = correlations(8, 12).astype(np.float32)
    with pytest.warns(NoapWarning, match="was added to its diagonal"):
        path = noap.path(problem_of(S, 2, noap.NoAdversary()), k=2, rhos=[0.0, 0.5])
    assert (path.values <= path.bounds).all()
    with pytest.raises(InvalidProblem, match="positive semidefinite"):
        noap.path(problem_of([[1.0, 2.0], [2.0, 1.0]], 1, noap.NoAdversary()), k=1, rhos=[0.1])


def test_the_estimator_takes_a_rounded_correlation_matrix():
    S = correlations(8, 12).astype(np.float32)
    with pytest.warns(NoapWarning, match="was added to its diagonal"):
        model = noap.RobustSparsePCA(n_components=2, k=3, noise=0.1).fit_covariance(S, 8)
    assert (model.robust_variance_ <= model.bound_).all()


def test_part_of_a_covariance_needs_no_second_opinion():
    # The whole is positive semidefinite to 1e-10 of its largest eigenvalue; the part is not to that of its own.
    S = np.diag([1.0, 1e-6, 1e-6])
    S[1, 2] = S[2, 1] = 1.00001e-6
    problem = problem_of(S, 1, noap.FeatureWise(1e-4))
    part = problem.restricted(np.array([1, 2]), 1)
    assert part.diagonal_shift == problem.diagonal_shift
    assert part.k == 1
    np.testing.assert_array_equal(part.covariance, S[1:, 1:])


@pytest.mark.parametrize("large", [True, False])
def test_the_shift_is_proved_and_not_wasteful(large):
    rng = np.random.default_rng(4)
    for trial in range(12 if large else 60):
        S = indefinite(rng, trial % 6) if trial % 3 else correlations(3, int(rng.integers(2, 9)), trial)
        # Beyond 512 features another way leads to LAPACK; a block of its own decides as before.
        whole = block_diag(S, np.abs(S).max() * np.eye(512)) if large else S
        shift = Fraction(definite_shift(whole))
        # S + (shift + tiny) I is positive definite, exactly.
        tiny = Fraction(float(np.abs(S).max())) / 10**40
        assert below_zero(-S, shift + tiny)
        smallest = float(np.linalg.eigvalsh(S)[0])
        assert float(shift) <= max(2.01 * -smallest, 2.01 * least_shift(whole))
    assert definite_shift(np.zeros((3, 3))) == 0.0
    assert least_shift(np.eye(4)) < 1e-14
