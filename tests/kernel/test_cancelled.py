"""Nothing left: decided exactly, one ulp apart, in every range; the bound then is 0, and only then."""

import math
from fractions import Fraction

import numpy as np
import pytest
from kernel_judge import exact

from noap.kernel.arithmetic import Refused, sum_up
from noap.kernel.cancelled import sum_of_squares
from noap.kernel.data import Data, Terms
from noap.kernel.tree import check_levels
from noap.kernel.witness import LENGTHS, Level

SCALES = [1e-175, 1e-150, 1.0, 1e140]


def none(*features):
    return np.array(features, np.intp)


def samples(X, terms, exponent=None, blocks=1):
    X = np.asarray(X, dtype=float)
    return Data.from_samples(lambda: np.array_split(X, blocks), X.shape[1], terms, exponent)


def covariance(S, terms, shift=1e-13):
    return Data.from_covariance(np.asarray(S, dtype=float), terms, shift)


def proves_zero(data, bound=0.0, features=None):
    """Whether the kernel accepts that nothing is above a bound, by lengths alone, with and without nodes."""
    features = data.include if features is None else features
    answers = []
    for nodes in ((LENGTHS,), ()):
        try:
            check_levels(data, [Level(data.k, bound, bound, features, nodes)])
            answers.append(True)
        except Refused:
            answers.append(False)
    assert len(data.include) or answers[0] == answers[1]
    return answers[0]


def least(square):
    """The least double whose square is at least a rational."""
    low = math.isqrt(int(square * Fraction(4) ** 1200)) / Fraction(2) ** 1200
    rho = float(low)
    while Fraction(rho) ** 2 >= square:
        rho = math.nextafter(rho, 0.0)
    while Fraction(rho) ** 2 < square:
        rho = math.nextafter(rho, math.inf)
    return rho


def squares(X):
    return (exact(X) ** 2).sum(axis=0)


def test_sums_of_squares():
    rng = np.random.default_rng(0)
    for round_ in range(200):
        n = int(rng.integers(1, 60))
        x = rng.standard_normal(n) * 2.0 ** rng.integers(-3, 4, n)
        if round_ % 3 == 0:
            x = np.ldexp(x, rng.integers(-1074, 1020, n))
        if round_ % 5 == 0:
            x[rng.random(n) < 0.5] = 0.0
        assert sum_of_squares(x) == (exact(x) ** 2).sum()
    assert sum_of_squares(np.zeros(3)) == sum_of_squares(np.empty(0)) == 0
    # The largest limbs, as many at a time as blocks of samples may have here.
    full = math.nextafter(1.0, 0.0)
    assert sum_of_squares(np.full(2**16, full)) == 2**16 * Fraction(full) ** 2
    assert sum_of_squares(np.array([1.7e308, -5e-324])) == Fraction(1.7e308) ** 2 + Fraction(5e-324) ** 2


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_sums_of_squares_of_what_is_not_finite(bad):
    with pytest.raises(Refused, match="not finite"):
        sum_of_squares(np.array([1.0, bad]))


def test_sums_of_squares_that_may_overflow():
    whole = np.lib.stride_tricks.as_strided(np.ones(1), (2**25,), (0,))
    with pytest.raises(Refused, match="too many"):
        sum_of_squares(whole)


def test_a_sum_is_rounded_once():
    rng = np.random.default_rng(1)
    for _ in range(300):
        parts = rng.standard_normal(int(rng.integers(0, 8))) * 10.0 ** rng.integers(-20, 3)
        true, found = sum(exact(parts), Fraction(0)), sum_up(parts)
        assert exact(found) >= true
        assert found == true or exact(math.nextafter(found, -math.inf)) < true


@pytest.mark.parametrize("scale", SCALES)
def test_columns_as_long_as_their_budget(scale):
    """At the least budget that is long enough, one ulp above it and one below, in all ranges, block by block."""
    rng = np.random.default_rng(2)
    for round_ in range(25):
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        X = rng.standard_normal((n, d))
        if round_ % 3 == 0:
            X = np.outer([3.0, 4.0], rng.integers(1, 9, d))  # 5 times an integer, exactly
        X = X * scale
        n = len(X)
        top = np.array([least(square) for square in squares(X)])
        for step, rho in ((0, top), (1, np.nextafter(top, np.inf)), (-1, np.nextafter(top, 0.0))):
            data = samples(X, Terms(d, n, rho), blocks=int(rng.integers(1, 4)))
            true = all(Fraction(r) ** 2 >= square for r, square in zip(rho.tolist(), squares(X), strict=True))
            assert true == (step >= 0 or not X.any())
            assert proves_zero(data) == true
            assert (data.top == 0) == true
            if not true:
                assert proves_zero(data, 1e-9, np.flatnonzero(data.most > 0))
    # Equal as rationals, not only to rounding.
    scale = 2.0 ** math.frexp(scale)[1]
    assert proves_zero(samples([[3.0 * scale], [4.0 * scale]], Terms(1, 2, np.array([5.0 * scale]))))


def test_one_column_that_is_too_long_is_enough():
    X = np.array([[3.0, 6.0], [4.0, 8.0]])
    below = math.nextafter(5.0, 0.0)
    assert proves_zero(samples(X, Terms(2, 2, np.array([5.0, 10.0]))))
    assert not proves_zero(samples(X, Terms(2, 2, np.array([below, 10.0]))))
    assert not proves_zero(samples(X, Terms(2, 2, np.array([5.0, math.nextafter(10.0, 0.0)]))))
    assert not proves_zero(samples(X, Terms(2, 2)))
    assert proves_zero(samples(X, Terms(2, 2, np.array([np.inf, 10.0]))))
    assert not proves_zero(samples(X, Terms(2, 2, np.array([np.inf, 9.0]))))
    # Far too short, and shorter by so little that nothing but exact arithmetic sees it: the second entry is 2^-60.
    thin = np.array([[1.0, 9.0], [2.0**-60, 0.0]])
    assert not proves_zero(samples(thin, Terms(1, 2, np.array([1.0, 10.0]))))
    assert proves_zero(samples(thin, Terms(1, 2, np.array([math.nextafter(1.0, 2.0), 10.0]))))


def test_columns_far_apart():
    """A column that underflows beside another, or whose length is less than the rounding of A."""
    for tiny in (1e-6, 1e-9, 1e-30, 1e-49, 1e-60, 1e-100, 1e-160, 1e-300, 5e-324):
        X = np.array([[1.0, 3 * tiny], [0.0, 4 * tiny]])
        for rho, true in ((least(squares(X)[1]), True), (math.nextafter(least(squares(X)[1]), 0.0), False)):
            assert proves_zero(samples(X, Terms(2, 2, np.array([1.0, rho])))) == true
            assert proves_zero(samples(X, Terms(1, 2, np.array([0.0, rho]), exclude=none(0)))) == true
        assert not proves_zero(samples(X, Terms(1, 2, np.array([1.0, 0.0]))))


def test_samples_are_read_again_only_where_floats_do_not_settle_it():
    """Products of n samples are known to a share of about n times 2^-53."""

    def passes(n, rho):
        seen = []

        def blocks():
            seen.append(1)
            return (np.array([[1.0]]),)

        Data.from_samples(blocks, 1, Terms(1, n, np.array([rho])))
        return len(seen)

    for n, apart in ((1, 1e-8), (2**40, 1e-3)):
        for rho in (1 - apart, 1 + apart):
            assert passes(n, rho) == 1
    for n, apart in ((1, 1e-10), (2**40, 1e-5)):
        for rho in (1 - apart, 1 + apart):
            assert passes(n, rho) == 2


def test_costs_count_where_no_feature_is_demanded():
    """(|a| - r)^2 = pi exactly: a budget of 1 and a cost of 4 cancel a variance of 9; then by an ulp each."""
    X = np.array([[3.0, 0.5], [-3.0, 0.5]])

    def left(rho, cost, **demands):
        terms = Terms(2, 2, math.sqrt(2) * np.array([rho, 1.0]), np.array([cost, 0.0]), **demands)
        return samples(X, terms)

    root = math.sqrt(2)
    for rho, cost in ((1.0, 4.0), (1.0, math.nextafter(4.0, 5.0)), (1.0, math.nextafter(4.0, 3.0)), (0.0, 9.0)):
        beyond = 18 - Fraction(root * rho) ** 2 - 2 * Fraction(cost)
        true = beyond <= 0 or beyond**2 <= 8 * Fraction(root * rho) ** 2 * Fraction(cost)
        assert proves_zero(left(rho, cost)) == true, (rho, cost)
    assert proves_zero(left(0.0, 9.0))
    assert not proves_zero(left(0.0, math.nextafter(9.0, 8.0)))
    assert not proves_zero(left(1e-170, math.nextafter(9.0, 8.0)))
    # A demanded feature pays in any case: what it contributes counts.
    assert left(0.0, 9.0, include=none(0)).top > 0
    assert left(0.0, 90.0, include=none(1)).top > 0
    paid = left(3.1, 0.7, include=none(0))
    assert paid.top == 0
    unit = 4.0**paid.exponent
    assert proves_zero(paid, -0.7 / unit)
    assert not proves_zero(paid, math.nextafter(-0.7, -1.0) / unit)


@pytest.mark.parametrize("power", [-400, 0, 440])
def test_units_of_costs(power):
    """Products of samples as small or large as these are made again of scaled ones."""
    X, size = np.ldexp([[3.0], [4.0]], power), 2.0**power
    data = samples(X, Terms(1, 2, np.array([5.0 * size]), np.array([0.75 * size * size]), include=none(0)))
    assert proves_zero(data, -0.75 * 4.0 ** (power - data.exponent))
    assert not proves_zero(data, -0.75 * (1 + 1e-15) * 4.0 ** (power - data.exponent))


def test_random_costs_against_rationals():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(400):
        X = rng.integers(-4, 5, (3, 2)) * 1.0
        rho, costs = rng.choice([0.0, 1.0, 1.5, 2.0, 3.0, 4.0], 2), rng.choice([0.0, 0.75, 1.0, 3.0, 16 / 3], 2)
        true = True
        for square, r, c in zip(squares(X), exact(rho), 3 * exact(costs), strict=True):
            beyond = square - r * r - c
            true = true and (beyond <= 0 or beyond * beyond <= 4 * r * r * c)
        data = samples(X, Terms(2, 3, rho, costs))
        assert (data.top == 0) == true
        seen.add(true)
    assert seen == {True, False}


def test_only_features_that_a_choice_can_have():
    X = np.array([[3.0, 1.0], [4.0, 0.0]])
    rho = np.array([5.0, 0.5])
    assert not proves_zero(samples(X, Terms(1, 2, rho)))
    assert proves_zero(samples(X, Terms(1, 2, rho, exclude=none(1))))
    assert not proves_zero(samples(X, Terms(1, 2, rho, exclude=none(0))))
    assert proves_zero(samples(X, Terms(1, 2, rho, include=none(0))))  # and there is no place for another
    assert not proves_zero(samples(X, Terms(2, 2, rho, include=none(0))))
    assert not proves_zero(samples(X, Terms(1, 2, rho, include=none(1))))
    S = np.array([[1.0, 0.0], [0.0, -2.0]])
    assert proves_zero(covariance(S, Terms(1, 4, exclude=none(0)), None))
    assert proves_zero(covariance(S, Terms(1, 4, include=none(1)), None))
    assert covariance(S, Terms(1, 4), None).top > 0


def test_covariances_one_ulp_apart():
    """Singular ones: on the diagonal and off it, with a shift and without."""
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(300):
        n, d = int(rng.choice([1, 3, 2**40 + 1])), int(rng.integers(1, 4))
        rho = rng.integers(1, 9, d) * float(rng.choice([1.0, 1e-150, 1e120]))
        S = np.outer(rho, rho) * rng.choice([-1.0, 1.0], (d, d)) / n
        S = np.triu(S) + np.triu(S, 1).T
        np.fill_diagonal(S, rho**2 / n)
        i, j = np.sort(rng.integers(0, d, 2))
        S[i, j] = S[j, i] = np.nextafter(S[i, j], rng.choice([0.0, S[i, j], 2 * S[i, j]]))
        true = all(
            n * (abs(Fraction(S[i, j])) if i != j else Fraction(S[i, j])) <= Fraction(rho[i]) * Fraction(rho[j])
            for i in range(d)
            for j in range(d)
        )
        seen.add((n, true))
        for shift in (None, 1e-13):
            try:
                data = covariance(S, Terms(d, n, rho), shift)
            except Refused:  # indefinite, so that budgets are not served
                assert not true
                continue
            assert (data.top == 0) == true == proves_zero(data)
            assert data.definite
    assert len(seen) == 6


def test_pairs_count_for_two_features_only():
    S = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])  # indefinite: (1, 1)/root 2 has a value
    rho = np.ones(2)
    assert proves_zero(covariance(S, Terms(1, 1, rho)))
    assert not proves_zero(covariance(S, Terms(2, 1, rho)))
    assert not proves_zero(covariance(S, Terms(2, 1, rho), 1e-3))
    assert proves_zero(covariance(S, Terms(2, 1, rho, exclude=none(1))))
    assert proves_zero(covariance(S, Terms(2, 1, np.array([1.0, np.inf]))))
    assert proves_zero(covariance(np.ones((2, 2)), Terms(2, 1, rho)))
    assert proves_zero(covariance(-np.ones((2, 2)), Terms(2, 1, rho)))
    # Pairs that underflow beside others.
    tiny = np.diag([1.0, 1e-320, 1e-320])
    tiny[1, 2] = tiny[2, 1] = 1e-320
    assert not proves_zero(covariance(tiny, Terms(3, 1, np.array([1.0, 1e-161, 1e-161]))))
    assert proves_zero(covariance(tiny, Terms(3, 1, np.array([1.0, 1e-159, 1e-159]))))


def test_without_an_adversary_only_what_is_not_there_is_nothing():
    assert proves_zero(covariance([[-1.0, 0.0], [0.0, -3.0]], Terms(2, 1), None))
    assert not covariance([[-1.0, 1e-300], [1e-300, -3.0]], Terms(2, 1), None).definite
    assert not covariance([[-1.0, 0.0], [0.0, 1e-300]], Terms(2, 1), None).definite
    assert proves_zero(samples([[1.0, 0.0]], Terms(1, 1, exclude=none(0))))
    assert not proves_zero(samples([[1.0, 1e-300]], Terms(1, 1, exclude=none(0))))


def test_costs_of_a_covariance():
    """In rationals, on the diagonal and off it: roots of costs are exact where they are rational."""
    assert proves_zero(covariance(np.eye(2), Terms(1, 1, None, np.ones(2)), 0.0))
    assert proves_zero(covariance(np.eye(2), Terms(2, 3, None, np.ones(2)), 0.0))
    assert not proves_zero(covariance(np.eye(2), Terms(1, 1, None, np.array([1.0, math.nextafter(1.0, 0.0)])), 0.0))
    assert covariance(np.eye(2), Terms(1, 1, None, np.ones(2), include=none(0)), 0.0).top > 0
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(300):
        n, root = int(rng.choice([1, 4])), rng.integers(0, 4, 2)
        rho, costs = rng.integers(0, 4, 2) * 1.0, root**2 / n
        phi = exact(rho + root)
        S = np.outer(rho + root, rho + root) / n * rng.choice([-1.0, 1.0])
        S[0, 0], S[1, 1] = abs(S[0, 0]), abs(S[1, 1])
        i, j = rng.choice([0, 1], 2)
        S[i, j] = S[j, i] = np.nextafter(S[i, j], rng.choice([0.0, S[i, j], 2 * S[i, j]]))
        true = all(n * abs(exact(S[i, j])) <= phi[i] * phi[j] for i, j in ((0, 0), (0, 1), (1, 1)))
        try:
            data = covariance(S, Terms(2, n, rho, costs))
        except Refused:
            assert not true
            continue
        assert (data.top == 0) == true
        seen.add((i == j, true))
    assert len(seen) == 4


def test_exponents_change_no_answer():
    X = np.array([[3.0, 1.5], [4.0, 2.0]])
    for exponent in (-600, -300, -18, 0, 2, 18, 300, 600):
        with np.errstate(over="ignore"):
            for rho, true in ((np.array([5.0, 2.5]), True), (np.array([5.0, math.nextafter(2.5, 2.0)]), False)):
                try:
                    data = samples(X, Terms(2, 2, rho), exponent)
                except Refused:
                    continue
                assert (data.top == 0) == true


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_budgets_and_costs_are_checked_before(bad):
    with pytest.raises(Refused), np.errstate(invalid="ignore"):
        samples(np.zeros((2, 1)), Terms(1, 2, np.array([bad])))
    with pytest.raises(Refused), np.errstate(invalid="ignore"):
        samples(np.zeros((2, 1)), Terms(1, 2, None, np.array([bad])))
    with pytest.raises(Refused), np.errstate(invalid="ignore"):
        covariance(np.zeros((1, 1)), Terms(1, 2, np.array([bad])))
