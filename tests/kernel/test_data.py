"""Data in the units of a certificate: every rounding against rationals, in the direction in which no value falls."""

import math
from fractions import Fraction

import numpy as np
import pytest
from kernel_judge import U, exact, gram, roots, semidefinite, unit

import noap
from noap.kernel.arithmetic import TINY, Refused, gamma
from noap.kernel.data import Columns, Data, Terms
from noap.kernel.samples import SampleData
from second_checker import second_verdict


def none(*features):
    return np.array(features, np.intp)


def samples(X, terms=None, exponent=None, blocks=1):
    X = np.asarray(X, dtype=float)
    terms = Terms(1, len(X)) if terms is None else terms
    return Data.from_samples(lambda: np.array_split(X, blocks), X.shape[1], terms, exponent)


def covariance(S, k=1, n=1, shift=None, **kwargs):
    return Data.from_covariance(np.asarray(S, dtype=float), Terms(k, n, **kwargs), shift, kwargs.pop("exponent", None))


def test_products_of_samples_are_raised_by_what_rounding_may_take():
    rng = np.random.default_rng(0)
    for round_ in range(120):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 5))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, d)
        if round_ % 3 == 0:  # singular, so that rounding alone may make it indefinite
            X = np.outer(rng.standard_normal(n), rng.standard_normal(d))
        X *= 10.0 ** rng.choice([0, 0, -150, 140, -105, 105])
        data = samples(X, blocks=int(rng.integers(1, 4)))
        assert data.definite
        assert (data.A == data.A.T).all()
        assert 0.25 <= data.top < 1.0 + 1e-9
        A, own = exact(data.A), gram(X) / Fraction(4) ** data.exponent
        assert semidefinite(A)
        assert semidefinite(A - own)
        assert semidefinite(exact(data.added) * unit(d) - (A - own))
        assert exact(data.added) <= 6 * exact(gamma(n + 4)) * own.trace() + exact(3 * TINY)


def test_blocks_of_different_sizes():
    for rows in ([1e-170, 1e160], [1e160, 1e-170], [1e-200, 1e-170]):
        X = np.outer(rows, [1.0, 0.5])
        data = samples(X, blocks=2)
        assert semidefinite(exact(data.A) - gram(X) / Fraction(4) ** data.exponent)


def test_products_that_overflow_beside_others():
    for X in ([[1e160, 1.0]], [[-1e160, 1.0]], [[1e160, 1.0, 0.0], [0.0, 2.0, 1e155]]):
        data = samples(X)
        assert semidefinite(exact(data.A) - gram(X) / Fraction(4) ** data.exponent)


def test_columns_that_vanish_beside_others():
    data = samples([[1.0, 1e-200], [1.0, 1e-200]])
    own = gram([[1.0, 1e-200], [1.0, 1e-200]]) / Fraction(4) ** data.exponent
    assert semidefinite(exact(data.A) - own)
    tiny = samples([[1e-170, 3e-171]])
    assert tiny.A[0, 1] / tiny.A[0, 0] == pytest.approx(0.3)
    own = gram([[1e-170, 3e-171]]) / Fraction(4) ** tiny.exponent
    assert semidefinite(exact(tiny.A) - own)
    zero = samples([[0.0, 0.0]])
    assert zero.definite
    assert zero.top == zero.added == 0.0
    assert zero.exponent == 0


@pytest.mark.parametrize("scale", [1e-150, 1e-101, 1e-99, 1.0, 1e99, 1e101, 1e140])
def test_the_units_make_the_largest_entry_about_one(scale):
    X = np.random.default_rng(1).standard_normal((4, 3)) * scale
    data = samples(X)
    again = samples(X, exponent=data.exponent)
    assert (again.A == data.A).all()
    assert again.added == data.added
    assert 0.25 <= data.top < 1.0 + 1e-9
    other = samples(X, exponent=data.exponent + 3)
    assert pytest.approx(data.A / 4**3, rel=1e-12) == other.A


def test_an_exponent_that_does_not_fit_is_refused():
    X = [[1.0, 2.0]]
    for exponent in (-21, 23, 300, -300, 460, 600, -600):
        with pytest.raises(Refused, match="exponent"), np.errstate(over="ignore"):
            samples(X, exponent=exponent)
        with pytest.raises(Refused, match="exponent"), np.errstate(over="ignore"):
            Data.from_covariance(np.eye(1), Terms(1, 1), None, exponent)
    for bad in (601, -601):
        with pytest.raises(Refused, match="out of range"):
            Data(np.eye(1), Terms(1, 1), bad, True, 0.0)
    for good in (600, -600):
        assert Data(np.eye(1), Terms(1, 1), good, True, 0.0).exponent == good
        with pytest.raises(Refused, match="exponent"), np.errstate(over="ignore"):
            Columns(np.ones((1, 1)), lambda: (np.ones((1, 1)),), Terms(1, 1), good)
    with pytest.raises(Refused, match="out of range"):
        Data(np.eye(1), Terms(1, 1), 0.5, True, 0.0)
    for at, fits in ((2.0**40, False), (2.0**39, True), (2.0**-40, False), (2.0**-39, True)):
        for A in (np.eye(1) * at, np.diag([-at, 2.0**-50])):
            if fits:
                assert Data(A, Terms(1, 1), 0, False, 0.0).top == at
            else:
                with pytest.raises(Refused, match="does not fit"):
                    Data(A, Terms(1, 1), 0, False, 0.0)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_samples_that_are_not_finite_are_refused(bad):
    with pytest.raises(Refused):
        samples([[1.0, bad]])


@pytest.mark.parametrize("bad", [[[1.0, 0.5], [0.4, 1.0]], [[np.nan]], [[1.0, 0.0], [0.0, np.nan]]])
def test_a_covariance_must_be_symmetric(bad):
    with pytest.raises(Refused, match="symmetric"):
        covariance(bad)


@pytest.mark.parametrize("bad", [[[np.inf]], [[1.0, -np.inf], [-np.inf, 1.0]]])
def test_a_covariance_must_be_finite(bad):
    with pytest.raises(Refused, match="exponent"):
        covariance(bad)


def test_a_covariance_is_taken_as_it_is():
    S = np.array([[3.0, -1.7], [-1.7, -2.0]]) * 2.0**100
    data = covariance(S)
    assert not data.definite
    assert data.added == 0.0
    assert covariance(np.diag([1.0, -(2.0**100)])).top == 0.25
    assert (exact(data.A) * Fraction(4) ** data.exponent == exact(S)).all()


def test_a_shift_is_proved_and_added():
    rng = np.random.default_rng(2)
    for _ in range(60):
        d = int(rng.integers(2, 5))
        B = rng.integers(-(2**20), 2**20, (d - 1, d)).astype(float)
        S = B.T @ B * 2.0**-44
        shift = 1.6e-15 * (d + 8) * 4 * d
        data = Data.from_covariance(S, Terms(1, 1), shift)
        units = exact(S) / Fraction(4) ** data.exponent
        assert data.definite
        raised = exact(data.A) - units
        assert semidefinite(raised - exact(shift) * unit(d))
        assert semidefinite(exact(data.added) * unit(d) - raised)
        assert data.added <= 1.2 * shift + 1e-14
        with pytest.raises(Refused, match="not positive"):
            Data.from_covariance(S, Terms(1, 1), 0.0)
        with pytest.raises(Refused, match="not positive"):
            Data.from_covariance(S - 2 * shift * 4.0**data.exponent * np.eye(d), Terms(1, 1), shift)


@pytest.mark.parametrize("shift", [-1e-300, -1.0, 1e6, np.nan, np.inf])
def test_a_shift_is_a_number_of_at_least_0(shift):
    with pytest.raises(Refused, match="shift"):
        Data.from_covariance(np.eye(2), Terms(1, 1), shift)


def test_a_tiny_shift_of_a_large_diagonal_counts_with_its_rounding():
    # 1 + 1e-20 is rounded: what is added is more than the shift.
    data = Data.from_covariance(np.diag([1.5, 1.0]), Terms(1, 1), 1e-20)
    raised = exact(data.A).diagonal() - exact(np.diag([1.5, 1.0])).diagonal() / Fraction(4) ** data.exponent
    assert (raised >= exact(1e-20)).all()
    assert (raised <= exact(data.added)).all()


def test_a_large_shift_of_a_negative_diagonal_counts_with_its_rounding():
    # What is left of the diagonal is small, and so is its last digit; that of what is added is that of the shift.
    shift = 0.5 + 2.0**-30
    data = Data.from_covariance(np.diag([-0.5, -0.5, 1e-9]), Terms(1, 1), shift)
    raised = exact(data.A).diagonal()[:2] + Fraction(1, 2)
    assert (raised >= exact(shift)).all()
    assert (raised <= exact(data.added)).all()


def test_lengths_budgets_weights_and_contributions():
    rng = np.random.default_rng(3)
    for _ in range(400):
        d, n = int(rng.integers(1, 4)), int(rng.integers(1, 40))
        own = rng.uniform(0.3, 3.9, d) * 10.0 ** -rng.uniform(0, 12, d) * (rng.random(d) < 0.9)
        own[0] = rng.uniform(1, 3.9)
        size = np.sqrt(own * n)
        rho = np.where(rng.random(d) < 0.5, size * rng.uniform(0, 1.2, d), size * rng.uniform(0, 1e-9, d))
        rho[rng.random(d) < 0.1] = np.inf
        rho[rng.random(d) < 0.1] = 0.0
        costs = own * rng.uniform(0, 1, d) * 10.0 ** -rng.uniform(0, 17, d)
        exponent = int(rng.integers(-3, 4))
        terms = Terms(d, n, rho * 2.0**exponent, costs * 4.0**exponent)
        A = np.diag(own)
        data = Data(A, terms, exponent, True, 0.0)
        assert (exact(data.costs) <= exact(costs)).all()
        for j in range(d):
            low, high = roots(exact(own[j]))
            assert high <= exact(data.lengths[j]) <= low * (1 + 6 * U) or own[j] == 0
            if np.isinf(rho[j]) or exact(rho[j]) ** 2 > n * exact(own[j]):
                assert data.r[j] <= data.lengths[j]
                assert exact(data.r[j]) >= low * (1 - 6 * U)
                assert data.most[j] + data.costs[j] <= 64 * float(U) * own[j]
            else:
                budget = roots(exact(rho[j]) ** 2 / n)[0]
                assert budget * (1 - 10 * U) <= exact(data.r[j]) <= budget
            assert exact(data.w[j]) * exact(data.r_max) <= exact(data.r[j]) or data.r_max == 0
            if data.r_max > 0:
                assert exact(data.w[j]) * exact(data.r_max) >= exact(data.r[j]) * (1 - 8 * U)
            left = high - min(exact(data.r[j]), high)
            spent = exact(data.costs[j])
            # At least what it contributes, and hardly more.
            assert left**2 - spent <= exact(data.most[j])
            rounded = left + 6 * U * high
            assert exact(data.most[j]) <= rounded**2 * (1 + 12 * U) - spent + 8 * U * spent + exact(2 * TINY)
        assert data.r_max == data.r.max()


def test_weights_without_a_budget_are_one():
    for rho in (None, np.zeros(2)):
        data = Data(np.eye(2), Terms(1, 3, rho), 0, True, 0.0)
        assert data.r_max == 0.0
        assert (data.w == 1.0).all()


def test_budgets_and_costs_that_underflow_are_rounded_down():
    terms = Terms(1, 1, np.array([1e-101, 1e-99, 5e-320]), np.array([1e-251, 1e-250, 5e-320]))
    data = Data(np.eye(3), terms, 0, True, 0.0)
    assert data.r.tolist() == [0.0, pytest.approx(1e-99), 0.0]
    least = next(x for x in 1e-100 * (1 + 2.0**-52 * np.arange(9)) if x * (1 - 4 * float(U)) == 1e-100)
    assert Data(np.eye(1), Terms(1, 1, np.array([least])), 0, True, 0.0).r_max == 1e-100
    assert data.costs.tolist() == [0.0, 1e-250, 0.0]


@pytest.mark.parametrize("rho", [-1.0, np.nan, -1e-320])
def test_budgets_must_be_at_least_0(rho):
    with pytest.raises(Refused, match="budgets"):
        Data(np.eye(2), Terms(1, 1, np.array([1.0, rho])), 0, True, 0.0)


@pytest.mark.parametrize("costs", [-1.0, np.nan, np.inf, -1e-249])
def test_costs_must_be_finite_and_at_least_0(costs):
    with pytest.raises(Refused, match="costs"):
        Data(np.eye(2), Terms(1, 1, None, np.array([1.0, costs])), 0, True, 0.0)


def test_a_budget_needs_a_definite_matrix():
    assert Data(np.eye(2), Terms(1, 1, np.zeros(2)), 0, False, 0.0).r_max == 0.0
    with pytest.raises(Refused, match="definite"):
        Data(np.eye(2), Terms(1, 1, np.array([0.0, 1.0])), 0, False, 0.0)


@pytest.mark.parametrize("cost", [1e-200, 1e200])
def test_costs_far_from_the_units(cost):
    X, costs = np.diag([1e-120, 1e-120]), np.array([0.0, cost])
    by_features = samples(X, Terms(1, 2, None, costs))
    by_samples = SampleData(lambda: (X,), 2, Terms(1, 2, np.zeros(2), costs))
    for data in (by_features, by_samples):
        assert data.has_costs
        assert 0 < data.costs[1] <= 1e290


def test_what_demanded_features_cost_is_rounded_up():
    rng = np.random.default_rng(11)
    for _ in range(50):
        costs = rng.uniform(0, 1, 7)
        terms = Terms(7, 1, None, costs, np.arange(7))
        data = Data.from_covariance(np.eye(7), terms, 0.0, 0)
        assert (
            -sum(exact(costs)) * (1 + 40 * U) <= exact(data.value_at_least(none(), np.empty(0))) <= -sum(exact(costs))
        )


def test_forbidden_features_are_not_allowed():
    data = Data(np.eye(3), Terms(2, 1, exclude=none(1)), 0, True, 0.0)
    assert data.allowed.tolist() == [True, False, True]
    assert data.k == 2


def test_sums_of_the_largest_contributions():
    rng = np.random.default_rng(4)
    for _ in range(60):
        d = int(rng.integers(1, 30))
        data = Data(
            np.diag(rng.uniform(0.1, 3, d)),
            Terms(1, 1, None, rng.uniform(0, 2, d), exclude=none(*range(0, d - 1, 3))),
            0,
            True,
            0.0,
        )
        count = int(rng.integers(1, d + 3))
        sums = data.sums_of_most(count)
        assert len(sums) == count + 1
        best = sorted((max(exact(x), Fraction(0)) for x in data.most[data.allowed]), reverse=True)
        for q in range(count + 1):
            true = sum(best[:q], Fraction(0))
            assert true <= exact(sums[q]) <= true * (1 + (2 * count + 20) * U)


def worth(data, terms, S, features, weights):
    """At least what a choice is worth in the units of the certificate, exactly, for the matrix S of the claim."""
    x, chosen = exact(weights), np.union1d(features, terms.include).astype(int)
    squares = x @ x
    spent = sum((exact(terms.costs[j]) for j in chosen), Fraction(0)) if terms.costs is not None else Fraction(0)
    if squares == 0:
        return -spent / Fraction(4) ** data.exponent
    form = x @ S[np.ix_(features, features)] @ x
    taken = Fraction(0)
    if terms.rho is not None:
        taken = roots((exact(terms.rho[features]) @ abs(x)) ** 2 / terms.n_samples)[0]
    left = max(roots(form)[1] - taken, Fraction(0))
    return (left**2 / squares - spent) / Fraction(4) ** data.exponent


def test_a_value_is_at_most_the_true_one():
    rng = np.random.default_rng(5)
    near = 0
    for round_ in range(400):
        n, d = int(rng.choice([1, 3, 12, 60])), int(rng.integers(1, 6))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.choice([0, 0, -2, -6], d)
        size = np.sqrt((X * X).sum(axis=0))
        rho = size * rng.uniform(0, 0.6, d) if rng.random() < 0.7 else None
        costs = rng.uniform(0, 0.01, d) * float(size.max()) ** 2 / n if rng.random() < 0.4 else None
        include = none(*([int(rng.integers(d))] if rng.random() < 0.3 else []))
        terms = Terms(d, n, rho, costs, include)
        features = np.sort(rng.choice(d, int(rng.integers(1, d + 1)), replace=False))
        weights = rng.standard_normal(len(features)) * 10.0 ** rng.choice([0, 100, -100])
        if round_ % 2:
            data = samples(X, terms)
            S = gram(X)
        else:
            own = X.T @ X / n
            own = 0.5 * (own + own.T) + 1e-13 * np.trace(own) * np.eye(d)
            data = Data.from_covariance(own, terms, 1e-13 if round_ % 4 else 0.0)
            S = exact(own)
        value, true = exact(data.value_at_least(features, weights)), worth(data, terms, S, features, weights)
        assert value <= true
        if size[features].min() > 0.1 * size.max() and round_ % 2:
            near += 1
            assert value >= true - Fraction(1, 10**12)
    assert near > 50


def test_the_value_of_one_feature_beside_long_ones():
    # A is raised by more than the feature is long: that must not count.
    rng = np.random.default_rng(6)
    for _ in range(100):
        X = rng.standard_normal((60, 5)) * np.array([1e-4, 1, 1, 1, 1])
        data = samples(X, Terms(1, 60))
        true = gram(X)[0, 0] / Fraction(4) ** data.exponent
        assert true * (1 - Fraction(1, 10**4)) <= exact(data.value_at_least(none(0), np.ones(1))) <= true


def test_values_to_the_last_digits():
    # One feature, one budget, exactly representable: what is left is little, and every rounding shows.
    rng = np.random.default_rng(7)
    for _ in range(500):
        own, cost = rng.uniform(1, 4), rng.choice([0.0, rng.uniform(0, 0.3)])
        n = int(rng.integers(1, 50))
        rho = math.sqrt(own * n) * rng.choice([0.0, rng.uniform(0, 1), 1 - 2.0 ** -rng.integers(3, 50)])
        terms = Terms(1, n, np.array([rho]), np.array([cost]) if cost else None)
        data = Data.from_covariance(np.array([[own]]), terms, 0.0)
        weight = float(rng.uniform(0.5, 1))
        value = exact(data.value_at_least(none(0), np.array([weight])))
        true = worth(data, terms, exact(np.array([[own]])), none(0), np.array([weight]))
        assert value <= true
        assert value >= true - 200 * U or data.top == 0  # the cost is more than it can contribute: A = 0 serves


def test_values_of_spread_weights_to_the_last_digits():
    rng = np.random.default_rng(8)
    for _ in range(300):
        b = int(rng.integers(2, 7))
        S = np.full((b, b), rng.uniform(0.5, 1))
        np.fill_diagonal(S, 1.0)
        rho = rng.uniform(0, 0.3, b)
        terms = Terms(b, 1, rho)
        data = Data.from_covariance(S, terms, 0.0)
        x = rng.uniform(0.1, 1, b) * rng.choice([1.0, -1.0], b)
        assert exact(data.value_at_least(np.arange(b), x)) <= worth(data, terms, exact(S), np.arange(b), x)


def test_values_of_forms_that_cancel():
    # The variance is little beside the products that it is made of, and so beside their rounding.
    rng = np.random.default_rng(9)
    for _ in range(300):
        S = np.array([[1.0, -1.0], [-1.0, 1.0 + 2.0**-20]]) * rng.uniform(0.5, 1)
        S[1, 1] *= 1 + 2.0**-20
        x = 1 + 1e-5 * rng.standard_normal(2)
        terms = Terms(2, 1)
        data = Data.from_covariance(S, terms, None)  # nothing is added
        assert 0 < exact(data.value_at_least(np.arange(2), x)) <= worth(data, terms, exact(S), np.arange(2), x)


def test_weights_of_any_size():
    data = Data(np.eye(2), Terms(2, 1), 0, True, 0.0)
    for x in ([-1e300, 1e-300], [1e-300, -1e-310], [5e-324, 0.0]):
        assert data.value_at_least(none(0, 1), np.array(x)) == pytest.approx(1.0)


def test_no_vector_is_worth_the_demanded_costs():
    terms = Terms(2, 1, None, np.array([0.5, 0.25, 0.0]), none(0, 1))
    data = Data.from_covariance(np.eye(3), terms, 0.0)
    for features, weights in ((none(), np.empty(0)), (none(0), np.zeros(1))):
        value = exact(data.value_at_least(features, weights)) * Fraction(4) ** data.exponent
        assert Fraction(-3, 4) - 100 * U <= value <= Fraction(-3, 4)
    free = Data.from_covariance(np.eye(3), Terms(2, 1), 0.0)
    assert free.value_at_least(none(), np.empty(0)) == 0.0
    assert free.value_at_least(none(1), np.zeros(1)) == 0.0


def test_a_vector_pays_for_demanded_features_that_it_does_not_use():
    terms = Terms(2, 1, None, np.array([0.5, 0.25, 0.0]), none(0))
    data = Data.from_covariance(np.eye(3), terms, 0.0)
    for j, worth_of_it in ((1, Fraction(1, 4)), (2, Fraction(1, 2))):
        value = exact(data.value_at_least(none(j), np.ones(1))) * Fraction(4) ** data.exponent
        assert worth_of_it - 100 * U <= value <= worth_of_it


def test_costs_too_small_for_the_kernel_are_still_paid():
    terms = Terms(1, 1, None, np.array([1e-251, 1.0]), none(0))
    data = Data.from_covariance(np.diag([0.0, 1.0]), terms, None)
    assert exact(data.value_at_least(none(0), np.ones(1))) <= -exact(1e-252)
    terms = Terms(1, 1, None, np.array([5e-324, 1.0]), none(0))
    data = Data.from_covariance(np.diag([0.0, 8.0]), terms, None)
    assert data.exponent == 2
    assert data.value_at_least(none(0), np.ones(1)) < 0


def test_a_value_that_underflows_is_not_above_the_truth():
    for own, weight in ((0.0, 0.75), (5e-324, 0.75), (1e-310, 0.9), (3e-322, 0.7)):
        S = np.diag([own, 1.0])
        data = Data.from_covariance(S, Terms(1, 1), None)
        true = worth(data, Terms(1, 1), exact(S), none(0), np.array([weight]))
        assert exact(data.value_at_least(none(0), np.array([weight]))) <= true


def test_vectors_that_are_no_choice_are_refused():
    data = Data(np.eye(4), Terms(2, 1, include=none(0), exclude=none(3)), 0, True, 0.0)
    for features, weights, why in (
        (none(1, 2), np.ones(2), "more than k"),
        (none(0, 1, 2), np.ones(3), "more than k"),
        (none(3), np.ones(1), "forbidden"),
        (none(1), np.array([np.nan]), "forbidden"),
        (none(1), np.array([np.inf]), "forbidden"),
        (none(1, 1), np.ones(2), "twice"),
        (none(-3), np.ones(1), "twice"),
        (none(-2, 1), np.ones(2), "more than k"),
    ):
        with pytest.raises(Refused, match=why):
            data.value_at_least(features, weights)
    # Zero weights are no part of it.
    assert data.value_at_least(none(1, 2, 3), np.array([1.0, 0.0, 0.0])) == pytest.approx(1.0)


def test_an_infinite_budget_leaves_its_feature_nothing():
    data = Data(np.eye(2), Terms(2, 1, np.array([np.inf, 0.0])), 0, True, 0.0)
    assert data.value_at_least(none(0), np.ones(1)) == 0.0
    assert data.value_at_least(none(0, 1), np.ones(2)) == 0.0
    assert data.value_at_least(none(0, 1), np.array([0.0, 1.0])) == pytest.approx(1.0)
    assert data.most[0] <= 1e-15


@pytest.mark.parametrize("source", ["samples", "covariance"])
@pytest.mark.parametrize("factor", [1.0, 1e8, 1e60])
def test_a_column_of_infinite_budget_is_nothing_to_the_others(factor, source):
    X = np.random.default_rng(0).standard_normal((30, 6))
    rho = np.full(6, 0.5)
    others = np.array([0, 1, 3, 4, 5])
    best = noap.solve(noap.Problem(X[:, others], k=3, adversary=noap.FeatureWise(0.5))).value
    X[:, 2] *= factor
    rho[2] = np.inf
    if source == "samples":
        problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho))
    else:
        problem = noap.Problem.from_covariance(X.T @ X / 30, n_samples=30, k=3, adversary=noap.FeatureWise(rho))
    result = noap.solve(problem)
    assert result.value == pytest.approx(best, rel=1e-9)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok
    data = problem.X if source == "samples" else problem.covariance
    assert second_verdict(result.certificate.to_bytes(), data) is None
