"""Rule M: the attack and its gain against exact arithmetic, and against what every set of features is worth."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from kernel_judge import U, attacked, climbed, exact, robust, roots, semidefinite, unit

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.majorant import Majorant
from noap.kernel.witness import PLAIN, Attack

EVERYWHERE = np.arange


def definite_data(rng, d, rho=None, n=9, spread=0.0):
    X = rng.standard_normal((n, d)) * 10.0 ** -rng.uniform(0, spread, d)
    A = X.T @ X / n
    A = 0.5 * (A + A.T) + 1e-13 * np.eye(d)
    return Data(A, Terms(d, 1, rho), 0, True, 0.0)


def budgets(rng, data, most):
    return data.lengths * rng.uniform(0, most, len(data.A)) * (rng.random(len(data.A)) < 0.8)


def attack_of(x, gain=0.0):
    at = np.flatnonzero(x)
    return Attack(at, x[at], gain)


def drawn(rng, d, most=0.8, spread=0.0):
    plain = definite_data(rng, d, spread=spread)
    return Data(plain.A, Terms(d, 1, budgets(rng, plain, most)), 0, True, 0.0)


def largest_at_least(M, room, value):
    """Whether the largest eigenvalue of M, plus room, is at least a value."""
    less = value - exact(room) - abs(value) / 10**25 - Fraction(1, 10**60)
    return not semidefinite(less * unit(len(M)) - exact(M))


def test_without_an_attack_it_is_the_matrix():
    data = drawn(np.random.default_rng(0), 4)
    majorant = Majorant(data, PLAIN)
    assert majorant.plain
    assert majorant.error == majorant.gain == 0.0
    assert (majorant.block(np.array([2, 0])) == data.A[np.ix_([2, 0], [2, 0])]).all()


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_every_entry_is_that_of_the_formula(spread):
    rng = np.random.default_rng(1)
    for _ in range(60):
        d = int(rng.integers(1, 5))
        data = drawn(rng, d, spread=spread)
        x = rng.standard_normal(d) * (rng.random(d) < 0.8)
        if not x.any():
            continue
        gain = float(rng.choice([0.0, 0.1, 0.5, 2.0]))
        g = exact(data.A) @ exact(x) / roots(exact(x) @ exact(data.A) @ exact(x))[0]
        if any(
            abs(abs(a) - exact(b)) < Fraction(1, 10**6) * exact(data.lengths[0]) for a, b in zip(g, data.r, strict=True)
        ):
            continue  # a tie of both kinds of column
        majorant = Majorant(data, attack_of(x, gain))
        M = majorant.block(EVERYWHERE(d))
        true = attacked(data.A, data.r, x, gain)
        assert (M == M.T).all()
        assert abs(exact(M) - true).max() <= 20 * exact(majorant.error) + Fraction(1, 10**12) * int(1 + gain) ** 2
        assert majorant.error <= 1e-10 * 100**spread


def test_every_set_is_worth_at_most_its_largest_eigenvalue():
    """Attacks in response to the best vector of a set are tight on it; those to other vectors are still right."""
    rng = np.random.default_rng(2)
    tight = 0
    for round_ in range(120):
        d = int(rng.integers(2, 5))
        data = drawn(rng, d, 0.6)
        S = list(range(int(rng.integers(1, d + 1))))
        v = climbed(data.A[np.ix_(S, S)], data.r[S], rng.standard_normal(len(S)))
        value = robust(data.A[np.ix_(S, S)], data.r[S], v)
        x = np.zeros(d)
        x[S] = v
        if round_ % 4 == 0:
            x = rng.standard_normal(d)
        spare = data.lengths - data.r
        gains = data.r > 0
        gain = 0.0
        if round_ % 2 and gains.any():
            # Above and below what each feature allows.
            gain = float((data.r[gains] / spare[gains]).min() * rng.choice([0.5, 1 - 1e-15, 1.0, 1 + 1e-15, 3.0]))
        majorant = Majorant(data, attack_of(x, gain))
        M = majorant.block(np.array(S))
        assert largest_at_least(M, len(S) * majorant.error, exact(1 + gain) * value)
        for other in combinations(range(d), 2):
            block = np.ix_(other, other)
            w = climbed(data.A[block], data.r[list(other)], np.array([1.0, rng.choice([-1.0, 1.0])]), 40)
            worth = robust(data.A[block], data.r[list(other)], w)
            assert largest_at_least(majorant.block(np.array(other)), 2 * majorant.error, exact(1 + gain) * worth)
        if round_ % 4 and gain == 0.0 and value > 0:
            tight += not largest_at_least(M, -(10 * majorant.error + 1e-9), value)
    assert tight > 20


def test_one_feature_to_the_last_digit():
    """In response to itself a feature keeps (|a| - r)^2, exactly."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        own, share = rng.uniform(0.5, 3.9), rng.choice([0.0, rng.uniform(0, 1), 1 - 1e-9])
        data = Data(np.diag([own, rng.uniform(0.1, 1)]), Terms(1, 1, np.sqrt([own, 0.01]) * share), 0, True, 0.0)
        gain = float(rng.choice([0.0, 0.3, 5.0]))
        majorant = Majorant(data, Attack(np.array([0]), np.array([rng.uniform(-9, 9)]), gain))
        M = exact(majorant.block(np.array([0]))[0, 0])
        left = roots(exact(own))[0] - exact(data.r[0])
        worth = exact(1 + gain) * max(left, Fraction(0)) ** 2
        assert M + exact(majorant.error) >= worth
        lifted = exact(1 + gain) if exact(gain) * left > exact(data.r[0]) else 1
        assert worth * lifted + 40 * exact(majorant.error) + 100 * U * int(1 + gain) ** 2 >= M


def test_the_largest_gain_that_a_feature_allows():
    """A tie in doubles gains; an ulp less of the budget does not, and the column is stretched instead."""

    def with_budget(own, rho):
        data = Data(np.array([[own]]), Terms(1, 1, np.array([rho])), 0, True, 0.0)
        return data, Majorant(data, Attack(np.array([0]), np.ones(1), 1.0)).block(np.array([0]))[0, 0]

    ties = 0
    for own in np.random.default_rng(8).uniform(1, 3, 40):
        for step in range(-12, 13):
            data, M = with_budget(own, 0.5 * np.sqrt(own) * (1 + step * 2.0**-52))
            spare, r = data.lengths[0] - data.r[0], data.r[0]
            ties += spare * (1 + 4 * float(U)) == r
            gains = spare * (1 + 4 * float(U)) <= r
            assert pytest.approx((2 if gains else 4) * spare**2, rel=1e-9) == M
    assert ties > 10


def test_features_at_right_angles_to_the_response_keep_what_the_budget_leaves():
    rng = np.random.default_rng(4)
    for _ in range(200):
        own = rng.uniform(0.5, 3.9, 2)
        r = np.sqrt(own) * rng.uniform(0, 1, 2)
        data = Data(np.diag(own), Terms(1, 1, r), 0, True, 0.0)
        gain = float(rng.choice([0.0, 0.7]))
        majorant = Majorant(data, Attack(np.array([0]), np.ones(1), gain))
        M = exact(majorant.block(np.array([0, 1])))
        worth = exact(1 + gain) * (roots(exact(own[1]))[0] - exact(data.r[1])) ** 2
        assert worth <= M[1, 1] + exact(majorant.error)
        assert M[1, 1] <= worth + Fraction(1, 10**12)
        assert M[0, 1] == 0 or abs(M[0, 1]) <= exact(majorant.error)


def test_a_response_near_the_null_space_is_uncertain():
    """There g is far from a_j'u, by more than the budgets are long; what is left must still be right, or refused."""
    rng = np.random.default_rng(5)
    accepted = refused = 0
    for _ in range(150):
        near = 10.0 ** -rng.uniform(3, 16)
        c = rng.uniform(0.5, 2)
        A = np.array([[c, c * (1 - near), 0.3], [c * (1 - near), c, 0.3], [0.3, 0.3, 1.0]])
        if not semidefinite(exact(A)):
            continue
        r = np.array([0.2, 0.1, 0.2]) * rng.uniform(0, 1, 3)
        data = Data(A, Terms(3, 1, r), 0, True, 0.0)
        gain = float(rng.choice([0.0, 0.2, 100.0]))
        try:
            majorant = Majorant(data, Attack(np.array([0, 1]), np.array([1.0, -1.0 + rng.choice([0.0, 1e-9])]), gain))
        except Refused:
            refused += 1
            continue
        accepted += 1
        for S in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
            block = np.ix_(S, S)
            v = climbed(A[block], data.r[S], np.ones(len(S)), 30)
            worth = exact(1 + gain) * robust(A[block], data.r[S], v)
            assert largest_at_least(majorant.block(np.array(S)), len(S) * majorant.error, worth)
    assert accepted > 20
    assert refused > 20


def test_the_uncertainty_of_a_response_is_stated():
    """The error of entries grows as the response shortens, and covers what doubles lose there."""
    for near in (1e-2, 1e-4, 1e-6, 1e-8):
        A = np.array([[1.0, 1 - near, 0.4], [1 - near, 1.0, 0.4 - 0.3 * near], [0.4, 0.4 - 0.3 * near, 1.0]])
        data = Data(A, Terms(3, 1, np.zeros(3)), 0, True, 0.0)
        x = np.array([1.0, -1.0, 0.0])
        majorant = Majorant(data, attack_of(x))
        off = abs(exact(majorant.block(EVERYWHERE(3))) - attacked(A, data.r, x, 0.0)).max()
        assert off <= exact(majorant.error)
        assert majorant.error <= 1e-13 / near


def test_all_of_it_or_a_part_are_the_same():
    rng = np.random.default_rng(6)
    data = drawn(rng, 6)
    attack = attack_of(rng.standard_normal(6), 0.1)
    whole = Majorant(data, attack).block(EVERYWHERE(6))
    majorant = Majorant(data, attack)
    for _ in range(12):
        S = rng.permutation(6)[:4]
        assert (majorant.block(S) == whole[np.ix_(S, S)]).all()


@pytest.mark.parametrize(
    ("attack", "why"),
    [
        (Attack(gain=0.5), "gain without"),
        (Attack(multipliers=np.ones(1)), "multipliers without"),
        (Attack(np.array([2]), np.ones(1)), "not there"),
        (Attack(np.array([0]), np.array([1.0]), -1e-9), "out of range"),
        (Attack(np.array([0]), np.array([1.0]), 1e6), "out of range"),
        (Attack(np.array([0]), np.array([1.0]), np.nan), "out of range"),
        (Attack(np.array([0]), np.array([np.nan])), "not finite"),
        (Attack(np.array([0]), np.array([np.inf])), "not finite"),
        (Attack(np.array([0]), np.array([0.0])), "too short"),
        (Attack(np.array([0]), np.array([1e-110])), "too short"),
        (Attack(np.array([0]), np.array([1e100])), "not finite"),
        (Attack(np.array([0]), np.array([1e-100])), "too short"),
        (Attack(np.array([1]), np.array([1.0])), "too short|uncertain"),
    ],
)
def test_witnesses_that_are_none(attack, why):
    data = Data(np.diag([1.0, 0.0]), Terms(1, 1, np.array([0.5, 0.5])), 0, True, 0.0)
    with pytest.raises(Refused, match=why):
        Majorant(data, attack)


def test_an_attack_needs_a_definite_matrix():
    data = Data(np.eye(2), Terms(1, 1), 0, False, 0.0)
    assert Majorant(data, PLAIN).plain
    with pytest.raises(Refused, match="definite"):
        Majorant(data, Attack(np.array([0]), np.array([1.0])))


@pytest.mark.parametrize("gain", [10.0, 1e3, 9e5])
def test_large_gains_are_right_to_their_rounding(gain):
    rng = np.random.default_rng(7)
    for _ in range(30):
        own = rng.uniform(0.5, 3, 2)
        A = np.diag(own)
        A[0, 1] = A[1, 0] = 0.5 * np.sqrt(own[0] * own[1])
        data = Data(A, Terms(2, 1, np.sqrt(own) * rng.choice([0.3, 1 - 1e-8], 2)), 0, True, 0.0)
        majorant = Majorant(data, Attack(np.array([0]), np.ones(1), gain))
        M = majorant.block(EVERYWHERE(2))
        # What an elimination takes off for the rounding of entries of this size.
        rounding = 80 * float(U) * np.abs(M).max()
        for S in ([0], [1], [0, 1]):
            block = np.ix_(S, S)
            v = climbed(A[block], data.r[S], np.ones(len(S)), 50)
            worth = exact(1 + gain) * robust(A[block], data.r[S], v)
            assert largest_at_least(M[block], len(S) * (majorant.error + rounding), worth)


@pytest.mark.parametrize("gain", [0.0, 0.4])
@pytest.mark.parametrize("attacked", [False, True])
def test_contributions_less_costs_are_below_the_largest_eigenvalue(attacked, gain):
    """For any u at which included features contribute more than they cost, whatever the free ones do."""
    rng, chords, seen = np.random.default_rng(20), 0, 0
    while seen < 250:
        d, k = 5, int(rng.integers(1, 5))
        X = rng.standard_normal((6, d)) @ (np.eye(d) + rng.uniform(0, 1))
        A = X.T @ X + 1e-12 * np.eye(d)
        lengths = np.sqrt(A.diagonal())
        r = lengths * rng.uniform(0, 0.6, d) if attacked else np.zeros(d)
        costs = rng.uniform(0, 0.5, d) * lengths**2 * (rng.random(d) < 0.7)
        if not costs.any() or (gain and not attacked):
            gain, costs[0] = (gain if attacked else 0.0), 0.1 * lengths[0] ** 2
        data = Data(A, Terms(d, 1, r if attacked else None, costs), 0, True, 0.0)
        u = X @ rng.standard_normal(d)
        u /= np.linalg.norm(u)
        left = np.maximum(np.abs(X.T @ u) - r, 0.0) ** 2 - costs
        S = rng.permutation(d)[:k]
        I, Q = S[left[S] > 0], S[left[S] <= 0]  # noqa: E741
        cut = int(rng.integers(0, len(I) + 1))
        I, Q = I[:cut], np.concatenate([I[cut:], Q])  # noqa: E741
        majorant = Majorant(data, attack_of(rng.standard_normal(d), gain) if attacked else PLAIN)
        turned = majorant.paid[I] > costs[I]
        T = float(left[S].sum())
        if T + majorant.paid[I].sum() <= 1e-9:
            continue
        M = majorant.block(np.concatenate([I, Q]), included=len(I))
        aim = (1.0 + gain) * (T + float(majorant.paid[I].sum())) * (1 - 1e-12)
        assert largest_at_least(M, len(S) * majorant.error + 1e-12 * float(np.abs(M).max()), exact(aim))
        chords, seen = chords + int(turned.any()), seen + 1
    assert (chords > 30) == attacked


def test_costs_within_a_majorant_are_tight():
    """A free feature alone has all that it contributes, and a chord meets its contribution at both ends."""
    r, costs = np.array([0.3, 0.2]), np.array([0.1, 0.25])
    data = Data(np.diag([1.0, 2.0]), Terms(2, 1, r, costs), 0, True, 0.0)
    majorant = Majorant(data, attack_of(np.array([1.0, 0.0])))
    assert majorant.block(np.array([1]))[0, 0] == pytest.approx(data.most[1], rel=1e-12)
    assert Majorant(data, PLAIN).block(np.array([1]))[0, 0] == pytest.approx(2 * (1 - 0.25 / (np.sqrt(2) - 0.2) ** 2))
    slope = majorant.block(np.array([1, 0]), included=1)[0, 0] / 2
    for s in (np.sqrt(2), 0.2 + np.sqrt(0.25)):
        assert slope * s * s - majorant.paid[1] == pytest.approx((s - 0.2) ** 2 - 0.25, abs=1e-12)
