"""Tests for every p x p block of a Schur complement, against exact rational arithmetic."""

from itertools import combinations

import numpy as np
from rational import exact

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.kernels import semidefinite as semidefinite_kernels
from noap.checker.feature_wise.kernels import test as test_kernels
from opened import opened

# Python calls kernels; the parts of them are opened for it.
semidefinite_kernels, test_kernels = opened(semidefinite_kernels), opened(test_kernels)

NEVER = Allowance().clock


def exactly_definite(S, p):
    """Whether every principal block of at most p rows is positive definite."""
    for size in range(1, min(p, len(S)) + 1):
        for rows in combinations(range(len(S)), size):
            A = [[S[i][j] for j in rows] for i in rows]
            for c in range(size):
                if A[c][c] <= 0:
                    return False
                for f in range(c + 1, size):
                    x = A[f][c] / A[c][c]
                    A[f] = [y - x * z for y, z in zip(A[f], A[c], strict=True)]
    return True


def test_minors_and_dominance_are_right_to_the_last_digit():
    rng = np.random.default_rng(13)
    yes = np.zeros(2, dtype=int)
    for trial in range(600):
        m = int(rng.integers(1, 6))
        S = rng.uniform(-1, 1, (m, m))
        S = np.triu(S, 1)
        S = S + S.T
        p = int(rng.integers(2, 5))
        if trial % 2:
            p, S = 2, np.sign(S)
        # Almost exactly on the edge.
        rows = np.sort(np.abs(S), axis=1)[:, ::-1][:, : p - 1].sum(axis=1)
        edge = 1.0 if p == 2 else float(rows.max()) or 1.0
        S += np.diag(np.full(m, edge * (1 + rng.choice([-1e-15, 0.0, 2e-16, 1e-15, 4e-15, 1e-12, 0.2]))))
        d = 2.0 ** rng.integers(-400, 400) * 2.0 ** rng.integers(-9, 9, m).astype(float)
        S = S * np.outer(d, d) / 2.0 ** rng.choice([0, 60])
        fails = np.zeros(m, dtype=np.bool_)
        start = np.exp(rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(m))
        good = test_kernels.minors(S, m, fails) if p == 2 else test_kernels.dominates(S, m, p, start, NEVER)
        if good:
            yes[p > 2] += 1
            assert exactly_definite(exact(S), p)
            assert not fails.any()
    assert (yes > 30).all()
    S = np.eye(3)
    S[0, 1] = S[1, 0] = np.nan
    assert not test_kernels.dominates(S, 3, 3, np.ones(3), NEVER)
    assert not test_kernels.minors(S, 3, np.zeros(3, dtype=np.bool_))


def test_the_semidefinite_test_is_right_to_the_last_digit():
    rng = np.random.default_rng(14)
    yes = np.zeros(2, dtype=int)
    for _ in range(300):
        m, p = int(rng.integers(3, 7)), int(rng.integers(3, 5))
        S = rng.standard_normal((m, m))
        S = np.triu(S, 1)
        S = S + S.T
        blocks = [list(block) for block in combinations(range(m), min(p, m))]
        edge = -min(float(np.linalg.eigvalsh(S[np.ix_(block, block)])[0]) for block in blocks)
        off = float(rng.choice([-1e-9, -1e-15, 0.0, 1e-15, 1e-12, 1e-9, 0.2, 0.5]))
        S += np.diag(np.full(m, edge * (1 + off)))
        d = 2.0 ** rng.integers(-400, 400) * 2.0 ** rng.integers(-9, 9, m).astype(float)
        S = S * np.outer(d, d) / 2.0 ** rng.choice([0, 60])
        if semidefinite_kernels.definite(S, m, p, NEVER):
            yes[int(off < 1e-6)] += 1
            assert exactly_definite(exact(S), p)
    assert yes[0] > 30
    S = np.eye(3)
    S[0, 1] = S[1, 0] = np.nan
    assert not semidefinite_kernels.definite(S, 3, 3, NEVER)
    many = semidefinite_kernels.MOST_FEATURES + 1
    assert not semidefinite_kernels.definite(np.eye(many), many, 3, NEVER)


def test_the_semidefinite_factor_counts_what_it_leaves_out():
    # P = N + t off the diagonal: on the edge for p = 3 when N is -1/2 off it, since (-1/2 + t) 2 = (p - 1) t - 1.
    N = np.full((3, 3), -0.5) + 1.5 * np.eye(3)
    for t in (0.0, 0.125, 0.25):
        multiplier = np.full((3, 3), t)
        assert not semidefinite_kernels._factors(N, multiplier, 3, 3, t)
        N[0, 1] = N[1, 0] = -0.49
        assert semidefinite_kernels._factors(N, multiplier, 3, 3, t)
        N[0, 1] = N[1, 0] = -0.5
