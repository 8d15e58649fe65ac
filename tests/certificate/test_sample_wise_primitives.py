"""Every primitive of the sample-wise checker errs to the safe side, by exact rational arithmetic."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from noap.checker.allowance import Allowance
from noap.checker.sample_wise.kernels import attack as kernels
from noap.checker.sample_wise.kernels import cones as cone_kernels
from opened import opened

# Python calls kernels; the parts of them are opened for it.
cone_kernels = opened(cone_kernels)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
NEVER = Allowance().clock


def exact_ball_square(e, n_inc, p):
    squares = [Fraction(float(x)) ** 2 for x in e]
    return sum(squares[:n_inc]) + sum(sorted(squares[n_inc:], reverse=True)[:p])


def test_confined_rows_lie_in_the_ball_exactly():
    rng = np.random.default_rng(2)
    for trial in range(300):
        m = int(rng.integers(1, 9))
        n_inc = int(rng.integers(0, m + 1))
        p = int(rng.integers(0, m - n_inc + 1))
        columns = m if p else n_inc
        Y = rng.standard_normal((4, columns)) * 10.0 ** rng.integers(-3, 1)
        E = rng.standard_normal(Y.shape) * 10.0 ** rng.choice([-200, -3, 0, 3, 200])
        r = rng.choice([0.0, 1e-200, 1e-9, 0.3, 1.0], 4)
        if trial % 3 == 0 and columns:
            # On the sphere, to the last digit.
            E = rng.standard_normal(Y.shape)
            E *= (r / np.sqrt([float(exact_ball_square(e, n_inc, p)) or 1.0 for e in E]))[:, None]
        kernels.confine(Y, E, n_inc, p, r)
        for e, budget in zip(E, r, strict=True):
            assert exact_ball_square(e, n_inc, p) <= Fraction(float(budget)) ** 2


def test_lengths_are_rounded_up():
    rng = np.random.default_rng(3)
    for _ in range(200):
        m = int(rng.integers(1, 9))
        n_inc = int(rng.integers(0, m + 1))
        p = int(rng.integers(0, m - n_inc + 1))
        Y = rng.standard_normal((3, m)) * 10.0 ** rng.integers(-160, 1)
        for y, length in zip(Y, kernels.lengths_up(Y, n_inc, p), strict=True):
            square = exact_ball_square(y, n_inc, p)
            assert square <= Fraction(length) ** 2
            assert float(length) <= math.sqrt(square) * (1 + 1e-14) + 1e-140


def positive_definite(A):
    """Exact elimination of a matrix of Fractions."""
    A = [row[:] for row in A]
    for j in range(len(A)):
        if A[j][j] <= 0:
            return False
        for f in range(j + 1, len(A)):
            x = A[f][j] / A[j][j]
            for e in range(j, len(A)):
                A[f][e] -= x * A[j][e]
    return True


def exactly_below(M, inc, free, p, T):
    """Whether TI - M_SS is positive definite for every support of the node; largest supports suffice."""
    for Q in combinations(free, min(p, len(free))):
        S = [*inc, *Q]
        A = [[Fraction(T) * (a == b) - Fraction(float(M[a, b])) for b in S] for a in S]
        if not positive_definite(A):
            return False
    return True


def test_closed_nodes_are_closed_exactly():
    rng = np.random.default_rng(4)
    closed = opened = 0
    for trial in range(250):
        m = int(rng.integers(1, 8))
        kind = trial % 4
        B = rng.standard_normal((int(rng.integers(1, 9)), m))
        if kind == 1:
            B = np.sign(B)
        if kind == 2:
            B = B[:, rng.integers(0, m, m)]
        M = B.T @ B
        if kind == 3:  # a Hilbert matrix
            M = 1.0 / (1.0 + np.add.outer(np.arange(m), np.arange(m)))
        M = np.triu(M) + np.triu(M, 1).T
        n_inc = int(rng.integers(0, m + 1))
        order = rng.permutation(m)
        inc, free = order[:n_inc], order[n_inc:]
        p = int(rng.integers(0, len(free) + 1))
        if n_inc + p == 0:
            continue
        supports = [[*inc, *Q] for Q in combinations(free, p)]
        top = max(np.linalg.eigvalsh(M[np.ix_(S, S)])[-1] for S in supports)
        for nudge in (-1e-3, -1e-12, -1e-15, 0.0, 1e-15, 3e-15, 1e-14, 1e-12):
            T = float(top * (1 + nudge))
            says = kernels.closes(M, 0.0, inc, free, p, T, 10**7, NEVER) >= 0
            if says:
                assert exactly_below(M, inc, free, p, T)
                closed += 1
            else:
                opened += 1
        assert kernels.closes(M, 0.0, inc, free, p, float(top * (1 + 1e-11)), 10**7, NEVER) >= 0
        # An error of the entries must be paid for.
        assert kernels.closes(M, float(top), inc, free, p, float(top), 10**7, NEVER) < 0
    assert closed > 100
    assert opened > 100


def test_with_one_place_a_leaf_is_closed_only_if_every_support_is_below():
    closed, opened = 0, 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(2, 7))
        B = rng.standard_normal((int(rng.integers(1, 8)), m)) * np.exp(rng.standard_normal(m))
        M = B.T @ B
        M = np.triu(M) + np.triu(M, 1).T
        n_inc = int(rng.integers(0, m - 1))
        order = rng.permutation(m)
        inc, free = order[:n_inc], order[n_inc:]
        top = max(np.linalg.eigvalsh(M[np.ix_([*inc, f], [*inc, f])])[-1] for f in free)
        for nudge in (-1e-3, -1e-12, 0.0, 1e-15, 1e-14, 1e-11):
            T = float(top * (1 + nudge))
            if kernels.closes(M, 0.0, inc, free, 1, T, 10**7, NEVER) >= 0:
                assert exactly_below(M, inc, free, 1, T)
                closed += 1
            else:
                assert nudge < 1e-11
                opened += 1
    assert closed > 150
    assert opened > 250


@pytest.mark.parametrize(("n_inc", "p"), [(0, 60), (40, 20), (40, 2)])
def test_eliminations_are_charged(n_inc, p):
    M, every = 0.1 * np.eye(60), np.arange(60)
    left = kernels.closes(M, 0.0, every[:n_inc], every[n_inc:], p, 1.0, 10**6, NEVER)
    updates = 60**3 // 6 if n_inc + p == 60 else n_inc * 60**2 // 2
    assert 10**6 - 20**2 <= left + updates // 20 <= 10**6
    assert kernels.closes(M, 0.0, every[:n_inc], every[n_inc:], p, 1.0, updates // 20 - 1, NEVER) < 0


def test_the_enumeration_stops_when_its_work_is_used_up():
    rng = np.random.default_rng(0)
    # Noise that no scaling can make dominant: supports have to be looked at one by one.
    M = np.triu(rng.standard_normal((14, 14)), 1)
    M = M + M.T + 5.0 * np.eye(14)
    every = np.arange(14)
    none = every[:0]
    top = max(np.linalg.eigvalsh(M[np.ix_(S, S)])[-1] for S in combinations(range(14), 5))
    left = kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), 10**9, NEVER)
    assert left >= 0
    needed = 10**9 - left
    assert needed > 1000
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), needed, NEVER) == 0
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), needed - 1, NEVER) < 0
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 - 1e-9), 10**9, NEVER) < 0


def rational_direction(rng, k):
    """A unit vector with rational entries: the stereographic projection of a rational point."""
    t = [Fraction(int(x), 1 << 20) for x in (rng.standard_normal(k - 1) * (1 << 20))]
    square = sum(x * x for x in t)
    return [2 * x / (1 + square) for x in t] + [(square - 1) / (1 + square)]


def exact_worth(Y, r, v):
    total = Fraction(0)
    for y, budget in zip(Y, r, strict=True):
        s = abs(sum(Fraction(float(a)) * b for a, b in zip(y, v, strict=True))) - Fraction(float(budget))
        total += max(s, 0) ** 2
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_cones_hold_only_above_every_direction(k):
    rng = np.random.default_rng(k)
    for trial in range(6):
        Y = rng.standard_normal((int(rng.integers(1, 8)), k))
        if trial % 3 == 0:
            Y = np.sign(Y)
        r = np.full(len(Y), rng.uniform(0, 0.8) * np.linalg.norm(Y, axis=1).max())
        if trial % 2:  # some samples exact, some mostly cancelled
            r = rng.choice([0.0, 0.5, 0.8], len(Y)) * np.linalg.norm(Y, axis=1)
        directions = [rational_direction(rng, k) if k > 1 else [Fraction(1)] for _ in range(60)]
        # Local maxima, to within rounding, are the directions that count.
        starts = np.array([[float(x) for x in v] for v in directions])
        for _ in range(200):
            moved = np.sign(starts @ Y.T) * np.maximum(np.abs(starts @ Y.T) - r, 0.0) @ Y
            length = np.linalg.norm(moved, axis=1, keepdims=True)
            starts = np.where(length > 0, moved / np.where(length > 0, length, 1.0), starts)
        best = max((np.maximum(np.abs(starts @ Y.T) - r, 0.0) ** 2).sum(axis=1))
        worths = [float(exact_worth(Y, r, v)) for v in directions]
        assert max(worths) <= best * (1 + 1e-9) + 1e-15
        for share in (0.9, 1 - 1e-9):
            assert cone_kernels.cones_hold(Y, r, best * share, 200_000, 200, NEVER) < 0
        assert cone_kernels.cones_hold(Y, r, best * 1.01 + 1e-9, 200_000, 200, NEVER) > 0


def test_cuts_are_exact_or_refused():
    rng = np.random.default_rng(5)
    q = np.empty(4)
    exact = 0
    for _ in range(500):
        bits = int(rng.integers(10, 56))
        a, b = (np.ldexp(np.abs(rng.integers(0, 2 ** min(bits, 53), 4)).astype(float), -bits) for _ in range(2))
        a, b = (x / max(1.0, 2.0 ** math.ceil(math.log2(np.linalg.norm(x) + 1e-9))) for x in (a, b))
        if cone_kernels.cut(a, b, q):
            exact += 1
            whole = [Fraction(float(x)) + Fraction(float(y)) for x, y in zip(a, b, strict=True)]
            mine = [Fraction(float(x)) for x in q]
            assert mine in (whole, [x / 2 for x in whole])
            assert sum(x * x for x in mine) < 4
    assert 0 < exact < 500


def test_reaches_are_rounded_up():
    rng = np.random.default_rng(6)
    for k in (2, 3, 5):
        W, c, tau = np.empty((k, k + 1)), np.empty(k), np.empty(k)
        for _ in range(50):
            P = np.abs(rng.standard_normal((k, k)))
            P[1] = P[0] + 10.0 ** rng.integers(-15, 1) * P[1]  # nearly, or not at all, on one line
            if not cone_kernels.reaches(P, W, c, tau):
                continue
            square = sum(Fraction(float(x)) ** 2 for x in c)
            for p, t in zip(P, tau, strict=True):
                along = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(c, p, strict=True))
                assert along > 0
                assert square <= (Fraction(float(t)) * along) ** 2
