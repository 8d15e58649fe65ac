"""What the Gram checker makes of the data, against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from awkward import MATRICES, hilbert, indefinite, low_rank, nasty
from rational import U, dot, exact, known, positive_semidefinite

import noap
from noap.checker.feature_wise.data import GramData, _raised
from noap.checker.witness import value_below
from noap.linalg.outward import gram_with_error, scaled_up

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def test_gram_matrices_are_as_near_as_they_say():
    rng = np.random.default_rng(0)
    for trial in range(60):
        n = int(rng.choice([1, 2, 5, 40]))
        Y = nasty(rng, n, 3, trial % 6)
        Y /= np.abs(Y).max()
        G, error = gram_with_error(Y)
        columns = exact(Y.T)
        for i in range(3):
            for j in range(3):
                assert abs(Fraction(float(G[i, j])) - dot(columns[i], columns[j])) <= Fraction(error)
    Y = rng.standard_normal((1500, 2)) / 8  # several blocks
    G, error = gram_with_error(Y)
    columns = exact(Y.T)
    assert abs(Fraction(float(G[0, 1])) - dot(columns[0], columns[1])) <= Fraction(error) < 1e-10
    assert error < 1e-13 * G.max() * 1500


def test_scaled_up():
    for x, e in ((0.0, 5), (1.5, 3), (1.5, -1074), (1.0, -1080), (3.0, -1075), (1e300, 100), (1e-310, -3)):
        y = scaled_up(x, e)
        assert y == math.inf or Fraction(y) >= Fraction(x) * Fraction(2) ** e
        assert y < math.inf or x * 2.0 ** (e / 2) > 1e300


def test_the_budget_lies_between_its_bounds():
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 7, 10**6 + 3, 2**53 - 1):
        for rho in (0.0, 5e-324, 1e-300, 1e-10, float(rng.uniform()), 1.0, 1e10):
            adversary = noap.FeatureWise(rho)
            for scale in (1.0, 1e-140, 1e140):
                problem = noap.Problem.from_covariance(np.eye(2) * scale, n_samples=n, k=1, adversary=adversary)
                data = GramData.of(problem)
                square = Fraction(rho) ** 2 / n / Fraction(4) ** data.exponent
                # A budget that changes no digit of the optimum may count as none.
                r_lo, r_hi = float(data.terms.r_lo[0]), float(data.terms.r_hi[0])
                assert Fraction(r_lo) ** 2 <= square
                assert square <= Fraction(r_hi) ** 2 or square < Fraction(1e-39) * Fraction(data.scale)
                assert r_hi <= r_lo * (1 + 1e-14) + 1e-299


def gram_of(data, columns):
    """The exact inner products in the units of the data."""
    return [[dot(a, b) for b in columns] for a in columns]


def test_entries_norms_and_responses_of_the_data():
    rng = np.random.default_rng(2)
    responses = 0
    for trial in range(120):
        n, d = int(rng.choice([1, 4, 9])), int(rng.integers(1, 5))
        X = nasty(rng, n, d, trial % 6) * 10.0 ** rng.integers(-100, 100)
        data, columns = known(noap.Problem(X, k=1, adversary=noap.NoAdversary()))
        G = gram_of(data, columns)
        for i in range(d):
            assert G[i][i] <= Fraction(float(data.norms[i])) ** 2
            for j in range(d):
                assert abs(Fraction(float(data.A[i, j])) - G[i][j]) <= Fraction(data.eps)
        assert np.abs(data.A).max() <= data.top
        places = rng.integers(0, d, int(rng.integers(1, d + 1))).astype(np.uint32)
        weights = rng.standard_normal(len(places)) * 10.0 ** rng.integers(-300, 300)
        if trial % 4 == 0 and len(places) > 1:  # a vector that cancels almost, or altogether
            places[1] = places[0]
            weights[1] = -weights[0] * (1 + 10.0 ** rng.uniform(-17, -7))
        made = data.response(places, weights)
        if made is None:
            continue
        responses += 1
        g, g_eps, w_eps = made
        summed = [
            sum(Fraction(float(w)) * columns[p][row] for p, w in zip(places, weights, strict=True)) for row in range(n)
        ]
        # w = lam times this, for some lam that all the claims allow.
        low, high = Fraction(0), Fraction(10) ** 700
        for j in range(d):
            along = dot(columns[j], summed)
            ends = Fraction(float(g[j])) - Fraction(g_eps), Fraction(float(g[j])) + Fraction(g_eps)
            if along == 0:
                assert ends[0] <= 0 <= ends[1]
            else:
                low, high = max(low, min(x / along for x in ends)), min(high, max(x / along for x in ends))
        assert low <= high
        square = dot(summed, summed)
        assert low**2 * square <= 1
        assert high**2 * square >= 1 - Fraction(w_eps)
    assert responses > 80


def test_the_response_to_a_vector_depends_on_its_direction_only():
    X = np.random.default_rng(3).standard_normal((9, 4))
    data = GramData.of(noap.Problem(X, k=1, adversary=noap.NoAdversary()))
    places, weights = np.array([0, 2, 3]), np.array([0.3, -0.7, 0.1])
    g, g_eps, _ = data.response(places, weights)
    for scale in (2.0**-1000, 2.0**-500, 2.0**500, 2.0**1000):
        other, other_eps, _ = data.response(places, weights * scale)
        assert (other == g).all()
        assert other_eps == g_eps
    for none in (np.zeros(3), np.zeros(0), np.full(3, 5e-324) * 0):
        assert data.response(places[: len(none)], none) is None


def test_covariances_are_raised_until_they_are_positive_semidefinite():
    cases = [S / np.abs(S).max() for S in MATRICES.values()]
    cases += [indefinite(5, depth) for depth in (1e-16, 1e-15, 1e-13, 1e-10)]
    cases += [hilbert(d) for d in (1, 2, 9, 12)] + [low_rank(8, rank) / 64 for rank in (1, 3, 7)]
    for S in cases:
        S = (S + S.T) / 2
        A, raised = _raised(S.copy())
        shift = Fraction(raised) / Fraction(1.001) + Fraction(1, 10**25)
        lifted = exact(S)
        for i in range(len(S)):
            lifted[i][i] += shift
            assert 0 <= Fraction(float(A[i, i])) - Fraction(float(S[i, i])) <= Fraction(raised) + U
        assert positive_semidefinite(lifted)
        assert raised <= 1e-9 * len(S)
    assert _raised(np.zeros((3, 3)))[1] == 0.0


def test_a_vector_is_worth_what_the_checker_says_or_more():
    rng = np.random.default_rng(5)
    positive = 0
    for trial in range(150):
        n, d = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        X = nasty(rng, n, d, trial % 6) * 10.0 ** rng.choice([-120, 0, 120])
        rho = float(np.linalg.norm(X, axis=0).max() * rng.choice([0.0, 1e-300, 0.2, 0.7]))
        adversary = noap.FeatureWise(rho)
        places = rng.permutation(d)[: int(rng.integers(1, d + 1))]
        weights = rng.standard_normal(len(places)) * 10.0 ** rng.integers(-300, 300)
        if trial % 5 == 0:
            weights *= 10.0 ** rng.uniform(-170, 0, len(places))
        problem = noap.Problem(X, k=d, adversary=adversary)
        energy = square_of(exact(X), places, weights)
        check_worth(problem, places, weights, energy)
        positive += value_below(problem, places, weights) > 0
        S = np.array(problem.covariance)
        if trial % 6 != 4 and np.abs(S).max() > 1e-250:
            given = noap.Problem.from_covariance(S, n_samples=n, k=d, adversary=adversary)
            F, w = exact(S), [Fraction(float(x)) for x in weights]
            energy = n * sum(
                F[i][j] * x * y for i, x in zip(places, w, strict=True) for j, y in zip(places, w, strict=True)
            )
            check_worth(given, places, weights, max(energy, 0))
    assert positive > 60


def square_of(rows, places, weights):
    w = [Fraction(float(x)) for x in weights]
    return sum(sum(row[j] * x for j, x in zip(places, w, strict=True)) ** 2 for row in rows)


def check_worth(problem, places, weights, energy):
    """value <= (sqrt(energy) - rho |v|_1)^2/(n |v|^2), without a root."""
    value = Fraction(value_below(problem, places, weights))
    if value == 0:
        return
    w = [abs(Fraction(float(x))) for x in weights]
    paid = Fraction(float(problem.adversary.rho)) * sum(w)
    wanted = value * problem.n_samples * sum(x * x for x in w)
    spare = energy - paid**2 - wanted
    # Scaling the weights may have rounded the smallest of them away: no more than 1e-300 of the whole.
    spare += Fraction(1, 10**300) * max(x for x in w) ** 2
    assert spare >= 0
    assert spare**2 >= 4 * paid**2 * wanted
