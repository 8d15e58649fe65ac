"""Rounding: error terms against exact sums, and factorisations against exact elimination."""

import numpy as np
import pytest
from kernel_judge import U, exact, semidefinite, unit

from noap.kernel.arithmetic import TINY, Refused, cholesky, gamma, need, proves_semidefinite


def singular(rng, n, bits=20):
    """A matrix of doubles that is exactly positive semidefinite and exactly singular."""
    B = rng.integers(-(2**bits), 2**bits, (n - 1, n)).astype(float)
    return B.T @ B


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6])
def test_gamma_is_the_error_of_a_sum_of_n_products(n):
    assert abs(exact(gamma(n)) / (n * U / (1 - n * U)) - 1) <= 4 * U


def test_gamma_holds_for_sums_in_doubles():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 30))
        x, y = rng.standard_normal((2, n)) * 10.0 ** rng.uniform(-3, 3, n)
        error = abs(exact(float(x @ y)) - exact(x) @ exact(y))
        assert error <= exact(gamma(n)) * (abs(exact(x)) @ abs(exact(y)))


def test_need_refuses_what_is_false_or_not_a_number():
    need(np.True_, "")
    for condition in (False, np.False_, float("nan") <= 1.0):
        with pytest.raises(Refused, match="because"):
            need(condition, "because")


def test_a_refusal_names_its_node():
    assert str(Refused("why")) == "why"
    assert Refused("why").node is None
    assert str(Refused("why", 0)) == "node 0: why"
    assert Refused("why", 3).node == 3


def test_a_factorisation_is_that_of_nearly_the_same_matrix():
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(1, 6))
        B = rng.standard_normal((n + 1, n)) * 10.0 ** rng.uniform(-3, 3, n)
        P = B.T @ B
        P = 0.5 * (P + P.T)
        L = cholesky(P)
        assert L is not None
        assert (np.triu(L, 1) == 0).all()
        size = abs(exact(L))
        assert (abs(exact(P) - exact(L) @ exact(L).T) <= exact(gamma(n + 1)) * (size @ size.T)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, 0.0])
def test_no_factor_of_what_is_not_definite(bad):
    P = np.eye(3)
    P[1, 1] = bad
    assert cholesky(P) is None
    assert np.isinf(bad) or not proves_semidefinite(P)
    P[1, 1], P[0, 2] = 1.0, bad if bad != 0 else 1.0
    P[2, 0] = P[0, 2]
    assert cholesky(P) is None
    assert not proves_semidefinite(P)


def test_a_factor_of_nothing():
    assert cholesky(np.zeros((0, 0))) is not None
    assert proves_semidefinite(np.zeros((0, 0)))


def test_nothing_indefinite_is_proved_and_nothing_clearly_definite_refused():
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(300):
        n = int(rng.integers(2, 6))
        P = singular(rng, n) * 2.0 ** float(rng.integers(-40, 40))
        own = exact(P)
        # A hair off the edge of the cone, in the entry or in the shift.
        at = int(rng.integers(n))
        below = P.copy()
        below[at, at] = np.nextafter(P[at, at], -np.inf)
        if not semidefinite(exact(below)):
            refused += 1
            assert not proves_semidefinite(below)
        room = 2.5 * gamma(n + 6) * float(P.trace())
        assert not proves_semidefinite(P, -np.spacing(P.diagonal().min()))
        assert semidefinite(own + exact(room) * unit(n))
        assert proves_semidefinite(P, room)
    assert refused > 200


@pytest.mark.parametrize("large", [2.0**52, -(2.0**52)])
def test_the_shift_is_rounded_too(large):
    """Diagonal and shift are large and nearly cancel: what is left is indefinite by a hair of its own small size."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(1500):
        P = singular(rng, 3, 22)
        # The feature of which the null vector has least is shortened by 1, the least there is.
        null = np.abs(np.linalg.eigh(P)[1][:, 0])
        order = np.argsort(null)
        P = P[np.ix_(order, order)]
        P[0, 0] -= 1.0
        if null.min() < 0.05 and not semidefinite(exact(P)):
            tried += 1
            P[np.diag_indices(3)] += large
            assert not proves_semidefinite(P, -large)
    assert tried > 50


def test_the_size_of_the_shift_counts():
    # Correlations near 1: the diagonal of P is exactly 0, the shift is the size.
    for n in (2, 3, 4):
        near = np.nextafter(1.0, 2.0) * np.ones((n, n))
        np.fill_diagonal(near, 0.0)
        assert not proves_semidefinite(near, 1.0)
        assert not proves_semidefinite(3.0 * near, 3.0)
        assert proves_semidefinite(near, 1.0 + 4 * (n + 6) * n * float(U))


def test_rounding_of_the_sum_of_diagonal_and_shift():
    # P_ii + shift is not a double; rounded up it would be enough.
    for n in (2, 3, 4):
        for step in range(1, 40):
            shift = step * 2.0**-56
            P = np.full((n, n), 1.0 + 2.0**-52)
            np.fill_diagonal(P, 1.0)
            if not semidefinite(exact(P) + exact(shift) * unit(n)):
                assert not proves_semidefinite(P, shift)


def test_what_underflows_proves_nothing():
    rng = np.random.default_rng(4)
    for scale in (1e-300, 1e-310, 1e-318):
        for _ in range(200):
            x, y = rng.uniform(0.5, 1, 2) * scale
            off = np.nextafter(np.sqrt(x / scale * (y / scale)) * scale, 1.0)  # the products of all are below range
            P = np.array([[x, off], [off, y]])
            if not semidefinite(exact(P)):
                assert not proves_semidefinite(P)
    # Three products of half the smallest number, each lost.
    P = np.diag([1e-310, 1e-310, 1e-310, 5e-324])
    P[3, :3] = P[:3, 3] = 1.5e-317
    assert not semidefinite(exact(P))
    assert not proves_semidefinite(P)
    assert not proves_semidefinite(np.array([[0.0, 5e-324], [5e-324, 0.0]]), 0.0)
    assert proves_semidefinite(np.zeros((2, 2)), 2 * TINY)


def test_the_matrix_stays_as_it_was():
    P = np.eye(2)
    assert proves_semidefinite(P, 1.0)
    assert (np.eye(2) == P).all()
