"""Data that break solvers: ties, parallel columns, tails too small to show, entries of every size."""

import numpy as np


def _plain(rng, n, d):
    return rng.standard_normal((n, d))


def _signs(rng, n, d):
    return np.sign(rng.standard_normal((n, d)))


def _few_integers(rng, n, d):
    return rng.integers(-3, 4, (n, d)).astype(float)


def _many_integers(rng, n, d):
    return rng.integers(-(2**30), 2**30, (n, d)).astype(float)


def _ulps_apart(rng, n, d):
    """Copies of one column, entries moved by single ulps."""
    X = np.repeat(rng.standard_normal((n, 1)), d, axis=1)
    return _nudged(rng, X, 0.3)


def _near_one(rng, n, d):
    return _nudged(rng, _signs(rng, n, d), 0.5)


def _duplicated(rng, n, d):
    return _plain(rng, n, d)[:, rng.integers(0, max(1, d // 2), d)]


def _negated(rng, n, d):
    return _duplicated(rng, n, d) * rng.choice([-1.0, 1.0], d)


def _parallel(rng, n, d):
    return _few_integers(rng, n, 1) * rng.choice([1.0, -1.0, 2.0, 3.0, 1 / 3, 0.1, 2.0**-20], d)


def _nearly_parallel(rng, n, d):
    return rng.standard_normal((n, 1)) * rng.choice([-1.0, 1.0], d) + 10.0 ** rng.uniform(-17, -6) * _plain(rng, n, d)


def _rank_one(rng, n, d):
    return np.outer(rng.standard_normal(n), rng.standard_normal(d))


def _rank_two(rng, n, d):
    return rng.integers(-2, 3, (n, 2)) @ rng.integers(-2, 3, (2, d)) * 1.0


def _nothing(rng, n, d):
    return np.zeros((n, d))


def _holes(rng, n, d):
    X = _plain(rng, n, d)
    X[rng.random(n) < 0.4] = 0.0
    X[:, rng.random(d) < 0.4] = 0.0
    return X


def _one_entry(rng, n, d):
    X = np.zeros((n, d))
    X[rng.integers(n), rng.integers(d)] = rng.choice([-1.0, 1.0, 3.0, 0.1])
    return X


def _graded_columns(rng, n, d):
    return _plain(rng, n, d) * 10.0 ** rng.uniform(-rng.choice([3, 12, 40, 160]), 0, d)


def _graded_rows(rng, n, d):
    return _plain(rng, n, d) * 10.0 ** rng.uniform(-rng.choice([3, 12, 40, 160]), 0, (n, 1))


def _graded_entries(rng, n, d):
    return _plain(rng, n, d) * 10.0 ** rng.uniform(-rng.choice([12, 40, 170]), 0, (n, d))


def _subnormal_entries(rng, n, d):
    """Beside ordinary entries, so that the largest is in range."""
    X = _few_integers(rng, n, d)
    tiny = rng.random((n, d)) < 0.5
    X[tiny] = rng.integers(-3, 4, tiny.sum()) * 5e-324
    return X


def _hidden_tail(rng, n, d):
    """Columns (1, tail): a tail too small to show in the rounded norm, which it raises all the same."""
    X = np.zeros((n, d))
    X[0] = rng.choice([1.0, -1.0, 3.0, 0.75], d) if rng.random() < 0.5 else rng.choice([1.0, -1.0], d)
    X[1:] = rng.choice([0.0, 1.0, -1.0], (n - 1, d)) * 2.0 ** -rng.integers(20, 70, (n - 1, d))
    return X


def _hidden_row_tail(rng, n, d):
    return _hidden_tail(rng, d, n).T.copy()


def _pythagorean(rng, n, d):
    """Columns, or rows, whose norms are integers."""
    triples = np.array([[3, 4], [5, 12], [8, 15], [7, 24], [20, 21], [4, 3], [5, 0]])
    if rng.random() < 0.5 and n >= 2:
        X = np.zeros((n, d))
        X[:2] = triples[rng.integers(0, len(triples), d)].T * rng.choice([-1, 1], (2, d))
        return X
    X = np.zeros((n, d))
    X[:, : min(2, d)] = triples[rng.integers(0, len(triples), n)][:, : min(2, d)]
    return X


def _orthogonal(rng, n, d):
    Q, _ = np.linalg.qr(rng.standard_normal((max(n, d), max(n, d))))
    return Q[:n, :d].copy()


def _identity(rng, n, d):
    return np.eye(n, d) * rng.choice([1.0, 1.0, 0.1])


def _circulant(rng, n, d):
    row = _few_integers(rng, 1, d)[0] if rng.random() < 0.5 else rng.standard_normal(d)
    return np.array([np.roll(row, i) for i in range(n)])


def _hadamard(rng, n, d):
    H = np.array([[1.0]])
    while len(H) < max(n, d):
        H = np.block([[H, H], [H, -H]])
    return H[:n, :d].copy()


def _equal_norms(rng, n, d):
    """Columns of norm one, to an ulp or two: all of them at the edge of the budget together."""
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=0)


def _equal_rows(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _offset(rng, n, d):
    """A large mean: differences of samples live in the last digits."""
    return 10.0 ** rng.integers(4, 16) + rng.standard_normal((n, d))


def _cancelling(rng, n, d):
    """Rows that all but cancel under the obvious signs."""
    X = rng.standard_normal((n, d))
    X[:, -1] = -X[:, :-1].sum(axis=1) * (1 + 10.0 ** rng.uniform(-16, -3)) if d > 1 else X[:, -1]
    return X


def _opposite_samples(rng, n, d):
    X = rng.standard_normal((n, d))
    X[n // 2 :] = -X[: n - n // 2]
    return _nudged(rng, X, 0.2)


def _hilbert(rng, n, d):
    return 1.0 / (1.0 + np.add.outer(np.arange(n), np.arange(d)))


def _vandermonde(rng, n, d):
    return np.vander(rng.uniform(0.5, 1.5, n), d)


def _spiked(rng, n, d):
    """One huge feature, the rest small but alive."""
    X = rng.standard_normal((n, d))
    X[:, rng.integers(d)] *= 10.0 ** rng.integers(3, 12)
    return X


def _huge_sample(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] *= 10.0 ** rng.integers(3, 12)
    return X


def _decimals(rng, n, d):
    """Numbers with one decimal: sums that tie in decimals and not in binary."""
    return rng.integers(-30, 31, (n, d)) / 10.0


def _patchwork(rng, n, d):
    """Columns from two other shapes."""
    one, two = (SHAPES[name](rng, n, d) for name in rng.choice([s for s in SHAPES if s != "patchwork"], 2))
    return np.where(rng.random(d) < 0.5, one, two)


SHAPES = {
    "plain": _plain,
    "signs": _signs,
    "few integers": _few_integers,
    "many integers": _many_integers,
    "ulps apart": _ulps_apart,
    "near one": _near_one,
    "duplicated": _duplicated,
    "negated": _negated,
    "parallel": _parallel,
    "nearly parallel": _nearly_parallel,
    "rank one": _rank_one,
    "rank two": _rank_two,
    "nothing": _nothing,
    "holes": _holes,
    "one entry": _one_entry,
    "graded columns": _graded_columns,
    "graded rows": _graded_rows,
    "graded entries": _graded_entries,
    "subnormal entries": _subnormal_entries,
    "hidden tail": _hidden_tail,
    "hidden row tail": _hidden_row_tail,
    "pythagorean": _pythagorean,
    "orthogonal": _orthogonal,
    "identity": _identity,
    "circulant": _circulant,
    "hadamard": _hadamard,
    "equal norms": _equal_norms,
    "equal rows": _equal_rows,
    "offset": _offset,
    "cancelling": _cancelling,
    "opposite samples": _opposite_samples,
    "hilbert": _hilbert,
    "vandermonde": _vandermonde,
    "spiked": _spiked,
    "huge sample": _huge_sample,
    "decimals": _decimals,
    "patchwork": _patchwork,
}


def _nudged(rng, X, share):
    """X with a share of its entries moved by one ulp."""
    moved = np.nextafter(X, rng.choice([-np.inf, np.inf], X.shape))
    return np.where(rng.random(X.shape) < share, moved, X)
