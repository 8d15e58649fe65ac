"""The steps of the relaxation's checker in rational arithmetic: never below what they stand for, at any exponent."""

import dataclasses
import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import exact, positive_semidefinite
from tampering import claiming

import noap
import older
from judge import root_below
from noap.checker.allowance import Allowance
from noap.checker.relaxation import check, eigenvalues
from noap.linalg.outward import is_definite
from noap.proofs.relaxation import GIVEN, LEAF, RelaxationProof

# What the checker adds at the least to every entry of a Gram matrix that is not 0.
EPS = 1e-290
# More of them where somebody asks: thousands take some minutes.
CASES = int(os.environ.get("NOAP_RELAXATION_CASES", "150"))
SHORT = settings(max_examples=CASES, deadline=None)

sizes = st.one_of(
    st.just(0.0),
    st.floats(0.0, 1e6),
    st.floats(0.0, 1.7e308),
    st.builds(math.ldexp, st.floats(0.5, 1.0), st.integers(-1073, 1023)),
    st.sampled_from([5e-324, 1.5e-323, 2.3e-308, 1e-290, 1.1e-290, 1e149, 1e150, 1e300, 4.6e307, 1.79e308]),
)
ordinary = st.one_of(st.just(0.0), st.floats(1e-280, 1e6), st.floats(1e-280, 1e280), st.floats(0.1, 10.0))


def root_above(x):
    return root_below(x) * (1 + Fraction(1, 10**30)) + Fraction(1, 10**400)


def matrix(values, m):
    M = np.zeros((m, m))
    M[np.triu_indices(m)] = values
    return M + np.triu(M, 1).T


@SHORT
@given(sizes, sizes)
def test_a_price_is_never_too_low(load, lift):
    with np.errstate(all="ignore"):
        (price,) = check._prices(np.array([load]), np.array([lift]))
    assert price >= 0
    if math.isfinite(price):
        assert Fraction(float(price)) * 4 * Fraction(lift) >= Fraction(load) ** 2


@SHORT
@given(st.integers(1, 3), st.data())
def test_mu_is_never_too_low(m, data):
    signed = st.builds(math.copysign, sizes, st.sampled_from([-1.0, 1.0]))
    many = m * (m + 1) // 2
    near = st.builds(lambda x, e: x * (1 + e), signed, st.floats(-1e-15, 1e-15))
    A, B = (
        matrix(data.draw(st.lists(kind, min_size=many, max_size=many)), m)
        for kind in (st.floats(-1.0, 1.0), st.one_of(st.floats(-1.0, 1.0), near))
    )
    loads, lifts = (np.array(data.draw(st.lists(sizes, min_size=m, max_size=m))) for _ in range(2))
    w = np.ones(m)
    if data.draw(st.booleans()):
        w = np.array(data.draw(st.lists(st.floats(1e-3, 1.0), min_size=m, max_size=m)))
    with np.errstate(all="ignore"):
        mu = check._excess(B, A, loads, lifts, w) + EPS
    if not (np.isfinite(B).all() and math.isfinite(mu)):
        return
    A, B = exact(A), exact(B)
    half, q, w = ([Fraction(float(x)) for x in numbers] for numbers in (loads / 2, lifts, w))
    for i, j in itertools.product(range(m), repeat=2):
        far = A[i][i] + q[i] - B[i][i] if i == j else abs(B[i][j] - A[i][j])
        assert Fraction(mu) * w[i] * w[j] >= far - half[i] * w[j] - half[j] * w[i]


@SHORT
@given(st.integers(1, 7), st.data())
def test_places_are_paid_in_full(m, data):
    prices = np.array(data.draw(st.lists(st.one_of(sizes, st.just(math.inf)), min_size=m, max_size=m)))
    roles = data.draw(st.lists(st.integers(0, 2), min_size=m, max_size=m))
    included, free = (np.array([role == own for role in roles]) for own in (1, 2))
    places = data.draw(st.integers(0, m))
    mu = data.draw(st.builds(math.copysign, sizes, st.sampled_from([-1.0, 1.0])))
    if data.draw(st.booleans()) and prices.max() < 1e300:
        mu = -math.fsum(prices[included | free]) * (1 + data.draw(st.floats(-1e-15, 1e-15)))
    if not math.isfinite(mu):
        return
    with np.errstate(all="ignore"):
        line = check._line(check.Proved(1.0, mu, prices), included, free & (places > 0), places)
    paid = sorted(prices[free])[::-1][:places] + list(prices[included])
    if line is None:
        return
    assert line[1] >= 0
    assert Fraction(line[1]) >= Fraction(mu) + sum(Fraction(float(price)) for price in paid)


@SHORT
@given(st.lists(st.tuples(ordinary, ordinary), min_size=1, max_size=6), ordinary, st.integers(1, 9), st.data())
def test_no_distance_is_above_the_envelope(lines, r, k, data):
    """At the ends, where lines cross, and anywhere else: the least of the lines decides."""
    least = data.draw(st.sampled_from([1.0, 0.3, 1e-4]))
    T = check._above(lines, r, least, float(k))
    assert T >= 0
    if not math.isfinite(T):
        return
    exactly = [(Fraction(c), Fraction(sigma)) for c, sigma in lines]
    places = {Fraction(least), Fraction(k), Fraction(data.draw(st.floats(least, float(k))))}
    for (c, sigma), (other, slope) in itertools.combinations(exactly, 2):
        if sigma != slope and least <= (t := (other - c) / (sigma - slope)) <= k:
            places.add(t)
    for t in places:
        lowest = min(c + sigma * t for c, sigma in exactly)
        assert root_below(lowest) <= root_above(Fraction(T)) + Fraction(r) * root_above(t)


@SHORT
@given(st.lists(st.tuples(ordinary, ordinary), min_size=1, max_size=8), st.integers(1, 9))
def test_more_lines_never_prove_less(lines, k):
    """Without a budget the bound is what the lowest line has at t = k, up to rounding."""
    lowest = min(c + sigma * k for c, sigma in lines)
    assert check._above(lines, 0.0, 1.0, float(k)) <= lowest * (1 + 1e-9)


@settings(max_examples=CASES // 2, deadline=None)
@given(st.integers(1, 4), st.integers(-1070, 1023), st.data())
def test_a_largest_eigenvalue_is_proved(m, exponent, data):
    entries = data.draw(st.lists(st.floats(-1.0, 1.0), min_size=m * (m + 1) // 2, max_size=m * (m + 1) // 2))
    if data.draw(st.booleans()):
        entries = np.outer(entries[:m], entries[:m])[np.triu_indices(m)]
    B = np.ldexp(matrix(entries, m), exponent)
    with np.errstate(all="ignore"):
        c = eigenvalues.largest_eigenvalue(B, Allowance())
    if c is not None:
        assert c >= 0
        rest = [[-x for x in row] for row in exact(B)]
        for i in range(m):
            rest[i][i] += Fraction(c)
        assert positive_semidefinite(rest)


def test_no_factorisation_takes_nan_or_infinity_for_positive():
    S = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert not is_definite(S, math.nan)
    assert not is_definite(S, math.inf)
    # Its largest eigenvalue is beyond all floats.
    with np.errstate(all="ignore"):
        assert eigenvalues.largest_eigenvalue(np.full((4, 4), 1.7e308), Allowance()) is None


def numbers(values):
    return np.array(values, dtype=np.uint32)


def tree_of(rng, m, k):
    """A tree at random, and (included, allowed, p) of its leaves."""
    branches, leaves = [], []

    def visit(included, allowed):
        p = k - len(included)
        free = sorted(allowed - included)
        if p and free and rng.random() < 0.7:
            j = int(rng.choice(free))
            branches.append(j + 1)
            visit(included | {j}, allowed)
            visit(included, allowed - {j})
        else:
            branches.append(LEAF)
            leaves.append((included, allowed if p else included, p))

    visit(frozenset(), frozenset(range(m)))
    return branches, leaves


@settings(max_examples=CASES // 2, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 6), st.integers(1, 6))
def test_every_support_is_in_a_leaf_that_pays_for_it(seed, m, k):
    """What the tree proves is at least what some leaf with the support has to pay for just its features."""
    rng = np.random.default_rng(seed)
    k = min(k, m)
    branches, leaves = tree_of(rng, m, k)
    L = len(leaves)
    r = float(rng.uniform(0, 0.5))
    ones = [check.Proved(float(rng.exponential()), float(rng.normal()), rng.exponential(size=m)) for _ in range(L)]
    empty: np.ndarray = np.empty(0)
    proof = RelaxationProof(
        numbers(range(m)),
        np.zeros(L, dtype=np.uint8),
        np.zeros(L),
        np.ones(1),
        numbers([0] * (L + 1)),
        numbers([]),
        empty,
        empty,
        empty.astype(np.float32),
        numbers(branches),
        numbers([branch == LEAF for branch in branches]),
        numbers(range(L)),
    )
    assert proof.malformed(3, m) is None
    T, reason = check._leaves(ones, r, (1.0, float(k)), k, m, proof, Allowance())
    assert reason is None
    for size in range(1, k + 1):
        for support in itertools.combinations(range(m), size):
            S = set(support)
            paid = []
            for one, (included, allowed, p) in zip(ones, leaves, strict=True):
                if allowed >= S and len(S - included) <= p:
                    sigma = Fraction(one.mu) + sum(Fraction(float(one.prices[j])) for j in S)
                    paid.append((Fraction(one.c), max(sigma, Fraction(0))))
            assert paid
            for t in (Fraction(1), Fraction(size)):
                lowest = min(c + sigma * t for c, sigma in paid)
                assert root_below(lowest) <= root_above(Fraction(T)) + Fraction(r) * root_above(t)


# -- files that ask for much -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    problem = noap.Problem(np.random.default_rng(0).standard_normal((6, 2)), k=2, adversary=noap.FeatureWise(0.1))
    return problem, older.solve(problem).certificate


def one_leaf(certificate, problem, heights, loads=0.0, lifts=0.0, unit=None, times=1):
    """A proof of one leaf that uses a matrix for every height, on the diagonal."""
    top = float(np.abs(problem.covariance).max())
    L = len(heights)
    entries = np.zeros((L, 3), dtype=np.float32)
    entries[:, 0] = entries[:, 2] = heights
    proof = RelaxationProof(
        numbers([0, 1]),
        np.full(L, GIVEN, dtype=np.uint8),
        np.zeros(L),
        np.array([top if unit is None else unit]),
        numbers(2 * np.arange(L + 1)),
        numbers(np.tile([0, 1], L)),
        np.full(2 * L, loads),
        np.full(2 * L, lifts),
        entries.ravel(),
        numbers([LEAF]),
        numbers([times * L]),
        numbers(np.tile(np.arange(L), times)),
    )
    return claiming(dataclasses.replace(certificate, proof=proof), bound=10 * top, value=0.0)


def test_a_leaf_of_many_lines_takes_the_time_of_sorting_them(small):
    problem, certificate = small
    s = np.linspace(0.0, 1.0, 1500)
    many = one_leaf(certificate, problem, (s - 0.5) ** 2 + s)
    assert noap.verify(problem, many).ok  # a cubic envelope would take hours


def test_a_leaf_of_many_lines_is_stopped_by_its_limits(small):
    problem, certificate = small
    many = one_leaf(certificate, problem, np.linspace(0.0, 1.0, 20_000))
    assert "megabytes" in noap.verify(problem, many, memory_limit=5).message
    assert "seconds" in noap.verify(problem, many, time_limit=0.2).message


def test_lines_that_are_used_many_times_count_as_many(small):
    problem, certificate = small
    often = one_leaf(certificate, problem, [1.0, 2.0], times=200_000)
    assert noap.verify(problem, one_leaf(certificate, problem, [1.0, 2.0], times=2)).ok
    assert "megabytes" in noap.verify(problem, often, memory_limit=20).message
    assert "seconds" in noap.verify(problem, often, time_limit=0.2).message


@pytest.mark.parametrize(
    ("loads", "lifts", "unit"),
    [(1e149, 1e-289, None), (0.0, 0.0, 1.2e308), (1e149, 1e308, None), (1e149, 1e149, 1e149)],
)
def test_numbers_that_leave_the_range_are_refused_in_silence(small, loads, lifts, unit):
    """Warnings are errors here."""
    problem, certificate = small
    report = noap.verify(problem, one_leaf(certificate, problem, [1.0, 1.4], loads, lifts, unit))
    assert report.message.startswith("Rejected: ")


def test_numbers_that_vanish_prove_what_a_matrix_of_zeros_proves(small):
    problem, certificate = small
    report = noap.verify(problem, one_leaf(certificate, problem, [1.0, 1.4], 5e-324, 5e-324, 5e-324))
    assert report.ok
    assert report.bound >= problem.k * np.diag(problem.X.T @ problem.X / problem.n_samples).max() * (1 - 1e-9)
