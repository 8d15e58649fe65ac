"""Rule S by diagonal dominance: what is accepted is semidefinite on every p features, and ties are accepted."""

from itertools import permutations

import numpy as np
import pytest
from kernel_judge import U, exact, smallest, sparsely_semidefinite

from noap.kernel.arithmetic import Refused, gamma
from noap.kernel.definite import dominance


def accepted(C, p, z=None):
    try:
        dominance(C.copy(), p, z)
    except Refused:
        return False
    return True


def drawn(rng, m):
    own = rng.uniform(0.1, 3, m) * 10.0 ** rng.choice([0, 0, -5, 5], m)
    off = rng.standard_normal((m, m)) * 0.6
    C = (off + off.T) * np.sqrt(np.outer(own, own))
    np.fill_diagonal(C, own)
    return C


def test_nothing_is_accepted_that_is_not_semidefinite():
    rng = np.random.default_rng(0)
    counted = [0, 0]
    for _ in range(600):
        m = int(rng.integers(1, 5))
        C = drawn(rng, m)
        p = int(rng.integers(1, m + 2))
        C *= np.where(np.eye(m), 1.0, rng.choice([0.2, 0.5, 1.0]))
        z = rng.uniform(0.3, 3, m) if rng.random() < 0.5 else None
        good = accepted(C, p, z)
        counted[good] += 1
        assert not good or sparsely_semidefinite(exact(C), p)
    assert min(counted) > 100


def test_two_features_are_minors_to_the_last_digit():
    rng = np.random.default_rng(1)
    for _ in range(300):
        own = rng.uniform(0.1, 9, 2)

        def accepts(less, own=own):
            C = np.diag(own)
            C[0, 1] = C[1, 0] = -(4.0 - less) * np.sqrt(own[0] * own[1])
            return accepted(C, 2)

        less = smallest(accepts, 2.0, 4.0)
        C = np.diag(own)
        C[0, 1] = C[1, 0] = -(4.0 - less) * np.sqrt(own[0] * own[1])
        assert sparsely_semidefinite(exact(C), 2)
        C[0, 1] = C[1, 0] = C[0, 1] * (1 + 1e-14)
        assert not sparsely_semidefinite(exact(C), 2)


def test_minors_of_random_ties():
    """Off-diagonal entries a few last digits around the root of the product: never wrong, and not far from right."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        x, y = rng.uniform(0.1, 9, 2)
        off = np.sqrt(x * y)
        for _ in range(int(rng.integers(0, 4))):
            off = np.nextafter(off, rng.choice([0.0, 99.0]))
        C = np.array([[x, off], [off, y]])
        assert not accepted(C, 2) or exact(off) ** 2 <= exact(x) * exact(y)


@pytest.mark.parametrize("p", [3, 4, 5])
def test_equal_correlations_to_the_last_digit(p):
    """With m features of correlation -c: definite on p of them up to c = 1/(p - 1), where dominance is exact."""
    m = 5

    def matrix(less, scale):
        C = np.full((m, m), -(1.0 - less))
        np.fill_diagonal(C, 1.0)
        return C * np.outer(scale, scale)

    rng = np.random.default_rng(p)
    for _ in range(12):
        scale = 2.0 ** rng.integers(-9, 9, m)
        less = smallest(lambda less, scale=scale: accepted(matrix(less, scale), p), 0.0, 0.99)
        assert sparsely_semidefinite(exact(matrix(less, scale)), p)
        assert not sparsely_semidefinite(exact(matrix(less - 1e-14, scale)), p)
        assert not accepted(matrix(less - 1e-13, scale), p)


def test_rounding_of_sums_of_many():
    """Rows whose sum is a tie in exact arithmetic, a hair off it, in every order."""
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(150):
        m = 4
        low = rng.uniform(0.1, 0.4, 3)
        C = np.eye(m) * 2.0
        C[0, 1:] = C[1:, 0] = low
        top = float(np.sum(low))
        for order in permutations(low):
            top = min(top, float(sum(order)))
        for step in range(3):
            C[0, 0] = top
            # d is 1/root(C_ii): z makes it 1 but for rounding, so that row 0 says: top >= sum of the others.
            z = np.sqrt(C.diagonal())
            good = accepted(C, m, z)
            d = exact(1.0 / np.sqrt(C.diagonal()) * z)
            row = exact(low) @ d[1:]
            if row > exact(C[0, 0]) * d[0]:
                wrong += 1
                assert not good
            top = np.nextafter(top, 0.0 if step % 2 else 9.0)
        C[0, 0] = float(np.sum(low)) * (1 + 60 * float(U))
        assert accepted(C, m, np.sqrt(C.diagonal()))
    assert wrong > 30


def test_rounding_of_two_products_and_their_sum():
    """Entries and factors just above 1 or 1/2, where an ulp is most; the row of the first feature is a tie."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(3000):
        own, *z = 1 + 1e-3 * rng.random(4)
        first, d = 0.5 + 5e-4 * rng.random(), 1.0 / np.sqrt(own) * z[0]
        last = (own * d - first * z[1]) / z[2]
        for _ in range(int(rng.integers(4))):
            last = np.nextafter(last, rng.choice([0.0, 9.0]))
        C = np.array([[own, first, last], [first, 1.0, 0.0], [last, 0.0, 1.0]])
        if exact(first) * exact(z[1]) + exact(last) * exact(z[2]) > exact(own) * exact(d):
            wrong += 1
            assert not accepted(C, 3, np.array(z))
    assert wrong > 1000


def test_a_tie_is_accepted():
    # So much less than 1 that it is 1 with its rounding.
    off = next(x for x in 1 - float(U) * np.arange(9) if x * (1 + gamma(5)) == 1.0)
    for C, good in ((off, True), (np.nextafter(off, 0), True), (off + 2 * float(U), False)):
        assert accepted(np.array([[1.0, C], [C, 1.0]]), 2) is good


def test_only_the_largest_count():
    C = np.eye(4)
    C[0, 1:] = C[1:, 0] = 0.4
    assert accepted(C, 3)  # 0.8
    assert not accepted(C, 4)  # 1.2, and it is indefinite beside no scaling
    assert accepted(C, 4, np.array([1.9, 1.0, 1.0, 1.0]))
    assert sparsely_semidefinite(exact(C), 4)


def test_the_sign_of_entries_does_not_count():
    C = np.array([[1.0, -0.4, 0.7], [-0.4, 1.0, -0.4], [0.7, -0.4, 1.0]])
    assert not accepted(C, 3)
    assert accepted(np.abs(C) * np.where(np.eye(3), 1, 0.5), 3)
    assert not accepted(-np.abs(C) * np.where(np.eye(3), -1, 1.0), 3)


def test_one_feature_is_its_diagonal():
    C = np.array([[0.0, 5.0], [5.0, 1.0]])
    assert accepted(C, 1)
    assert accepted(np.zeros((1, 1)), 7)
    assert accepted(np.zeros((0, 0)), 3)
    assert not accepted(C, 2)
    C[0, 0] = -5e-324
    assert not accepted(C, 1)
    C[0, 0] = np.nan
    assert not accepted(C, 1)


def test_diagonals_near_underflow_are_refused():
    for own, good in ((1e-279, True), (1e-280, False), (0.0, False)):
        assert accepted(np.diag([own, 1.0]), 2) is good


@pytest.mark.parametrize(
    ("z", "good"),
    [
        ([1.0, 1.0], True),
        ([2e-30, 2e-30], True),
        ([9e29, 9e29], True),
        ([1e-30, 1.0], False),
        ([1e30, 1.0], False),
        ([0.0, 1.0], False),
        ([-1.0, -1.0], False),
        ([np.nan, 1.0], False),
        ([np.inf, 1.0], False),
        ([1.0], False),
        ([1.0, 1.0, 1.0], False),
    ],
)
def test_a_scaling_is_positive_and_has_a_factor_for_each(z, good):
    assert accepted(np.eye(2), 2, np.array(z)) is good


def test_entries_that_are_not_numbers_are_refused():
    C = np.eye(3)
    C[0, 1] = C[1, 0] = np.nan
    assert not accepted(C, 2)
    assert not accepted(C, 3)
    C[0, 1] = C[1, 0] = np.inf
    assert not accepted(C, 2)
