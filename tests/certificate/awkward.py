"""Covariances and data at the edge of floating point."""

import numpy as np


def hilbert(d):
    return 1.0 / (1.0 + np.add.outer(np.arange(d), np.arange(d)))


def nearly_tied(d, gap):
    """Orthogonal directions whose eigenvalues differ by next to nothing."""
    Q, _ = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))
    return (Q * (1.0 + gap * np.arange(d))) @ Q.T


def low_rank(d, rank):
    B = np.random.default_rng(d + rank).standard_normal((rank, d))
    return B.T @ B


def indefinite(d, depth):
    """A covariance with one eigenvalue just below zero."""
    Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((d, d)))
    S = (Q * np.append(np.linspace(0.5, 1.0, d - 1), -depth)) @ Q.T
    return (S + S.T) / 2


MATRICES = {
    "hilbert": hilbert(6),
    "tied to 1e-9": nearly_tied(6, 1e-9),
    "tied to the last digit": nearly_tied(6, 2e-16),
    "the identity": np.eye(6),
    "all ones": np.ones((6, 6)),
    "rank one": low_rank(6, 1),
    "rank two": low_rank(6, 2),
    "indefinite by 1e-11": indefinite(6, 9e-11),
    "indefinite by 1e-14": indefinite(6, 1e-14),
    "duplicated": low_rank(3, 4)[np.ix_([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2])],
    "nearly duplicated": low_rank(3, 4)[np.ix_([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2])] + 1e-13 * np.eye(6),
    "graded": np.diag(10.0 ** -np.arange(0, 18, 3)) + 1e-20,
    "one alive": np.diag([1.0, 0, 0, 0, 0, 0]),
}


def nasty(rng, n, d, kind):
    X = rng.standard_normal((n, d))
    if kind == 1:
        X = np.round(4 * X) / 4
    elif kind == 2:
        X *= 10.0 ** rng.uniform(-12, 0, d)
    elif kind == 3:
        X = X[:, rng.integers(0, max(d // 2, 1), d)] + 10.0 ** rng.uniform(-17, -6) * X
    elif kind == 4:
        X = X * 10.0 ** rng.uniform(-170, 0, (n, d))
        X[0, 0] = 1.0
    elif kind == 5:
        X = X[:, :1] * rng.choice([-1.0, 1.0], d) + 1e-9 * X
    return X
