"""Small problems at the edges of floating point, one per number.

Each case is data of an awkward shape at an awkward scale, an adversary, a budget beside something that matters (0, the
norm of a column or of the k largest entries of a sample, and their neighbours among the floats) and a way to hand it in.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from rational_judge import Judge, integers
from scipy import sparse

import noap

_SEED = 20_240_601


@dataclass(frozen=True)
class Case:
    """Data and question. `S` in place of `X` where the problem is built from a covariance."""

    number: int
    shape: str
    source: str
    adversary: str
    budget: str
    rho: float
    k: int
    n: int
    gap: float
    X: np.ndarray | None
    S: np.ndarray | None

    def __str__(self):
        where = f"X={self.X.tolist()}" if self.X is not None else f"S={self.S.tolist()}, n={self.n}"
        return (
            f"case {self.number} ({self.shape}, {self.source}, {self.adversary}, {self.budget}): "
            f"rho={self.rho!r}, k={self.k}, gap={self.gap}, {where}"
        )

    def attacker(self, rho=None):
        rho = self.rho if rho is None else rho
        if self.adversary == "none":
            return noap.NoAdversary()
        return noap.FeatureWise(rho) if self.adversary == "feature" else noap.SampleWise(rho)

    def given(self):
        """X as the user would hand it in."""
        if self.source == "float32":
            return self.X.astype(np.float32)
        if self.source == "sparse":
            return sparse.csr_array(self.X)
        if self.source == "integers":
            return self.X.astype(np.int64)
        if self.source == "fortran":
            return np.asfortranarray(self.X)
        if self.source == "strided":
            return np.repeat(np.repeat(self.X, 2, axis=0), 3, axis=1)[::2, ::3]
        return self.X

    def problem(self):
        if self.X is None:
            return noap.Problem.from_covariance(self.S, n_samples=self.n, k=self.k, adversary=self.attacker())
        return noap.Problem(self.given(), k=self.k, adversary=self.attacker())

    def judge(self, rho=None):
        return Judge(self.adversary, self.rho if rho is None else rho, self.n, X=self.X, S=self.S)


# -- shapes -----------------------------------------------------------------------------------------------------------


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


def _scaled(rng, X):
    """X at some scale from 1e-150 to 1e150, its ends included."""
    top = float(np.abs(X).max())
    if top == 0.0 or rng.random() < 0.5:
        return X
    kind = rng.integers(4)
    if kind == 0:
        return X * 2.0 ** int(rng.integers(-400, 400))
    aim = [10.0 ** rng.uniform(-150, 150), 1e150, 1e-150][kind - 1]
    # The top entry is set, for rounding must not push it out of range.
    with np.errstate(under="ignore"):
        Y = X / top * aim
    return np.where(np.abs(X) == top, np.sign(X) * aim, Y)


# -- budgets ----------------------------------------------------------------------------------------------------------


def root_nearest(x):
    """The float nearest to the root of a rational."""
    bits = 400 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return float(Fraction(math.isqrt((x.numerator << 2 * bits) // x.denominator), 1 << bits))


def thresholds(X, S, n, k, adversary):
    """Budgets at which a feature, or a sample, is worth nothing, largest first: correctly rounded."""
    if S is not None:
        squares = [n * Fraction(float(x)) for x in np.diag(S)]
    else:
        (flat,), e = integers(X)
        rows = [flat[i * X.shape[1] : (i + 1) * X.shape[1]] for i in range(len(X))]
        unit = Fraction(2) ** (2 * e)
        if adversary == "sample":
            squares = [sum(sorted((x * x for x in row), reverse=True)[:k]) * unit for row in rows]
        else:
            squares = [sum(row[j] ** 2 for row in rows) * unit for j in range(X.shape[1])]
    return sorted((root_nearest(x) for x in squares if x > 0), reverse=True)


def _zero(rng, edges):
    return 0.0


def _subnormal(rng, edges):
    return float(rng.choice([5e-324, 1e-320, 1e-310, 2.2250738585072014e-308, 1e-307]))


def _tiny(rng, edges):
    return float(10.0 ** rng.uniform(-300, -100))


def _relatively_tiny(rng, edges):
    return edges[0] * 10.0 ** -rng.choice([8.0, 15.0, 16.0, 17.0, 20.0, 150.0])


def _middle(rng, edges):
    return edges[0] * rng.uniform(0, 1)


def _share(rng, edges):
    return edges[0] * float(rng.choice([0.125, 0.25, 0.5, 0.75, 0.1, 0.9]))


def _at_the_top(rng, edges):
    return edges[0]


def _beside_the_top(rng, edges):
    return _stepped(edges[0], int(rng.choice([-3, -2, -1, -1, -1, 1, 1, 2])))


def _under_the_top(rng, edges):
    return edges[0] * (1 - 10.0 ** rng.uniform(-16, -6))


def _over_the_top(rng, edges):
    return edges[0] * float(rng.choice([1 + 1e-15, 1 + 1e-9, 2.0, 1e10]))


def _at_another(rng, edges):
    return _stepped(float(rng.choice(edges)), int(rng.integers(-2, 3)))


def _whole(rng, edges):
    return float(rng.integers(1, 6))


BUDGETS = {
    "zero": _zero,
    "subnormal": _subnormal,
    "tiny": _tiny,
    "relatively tiny": _relatively_tiny,
    "middle": _middle,
    "share": _share,
    "at the top": _at_the_top,
    "beside the top": _beside_the_top,
    "under the top": _under_the_top,
    "over the top": _over_the_top,
    "at another": _at_another,
    "whole": _whole,
}


def _stepped(x, ulps):
    for _ in range(abs(ulps)):
        x = math.nextafter(x, math.inf if ulps > 0 else 0.0)
    return x


# -- the draw ---------------------------------------------------------------------------------------------------------

_SOURCES = ["samples"] * 5 + ["float32", "sparse", "covariance", "covariance", "fortran", "strided"]


def case(number):
    """The case of that number, always the same."""
    rng = np.random.default_rng([_SEED, number])
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    k = d if rng.random() < 0.25 else int(rng.integers(1, d + 1))
    shape = str(rng.choice(list(SHAPES)))
    adversary = str(rng.choice(["none", "feature", "feature", "sample", "sample"]))
    source = str(rng.choice(_SOURCES))
    X = SHAPES[shape](rng, n, d)
    S = None
    if source == "float32":
        with np.errstate(under="ignore"):
            X = X.astype(np.float32).astype(np.float64)
    elif source == "covariance" and adversary != "sample":
        n_claimed = n if rng.random() < 0.7 else int(rng.choice([1, 100, 10**9, 2**53 - 1]))
        S = _covariance(rng, X, n)
        S, n, X = _scaled(rng, S), n_claimed, None
    elif shape in ("signs", "few integers", "many integers") and rng.random() < 0.2:
        source = "integers"
    else:
        source = "samples" if source == "covariance" else source
        X = _scaled(rng, X)
    if X is not None and (source == "float32") and 0 < np.abs(X).max() < 1e-30:
        X = np.zeros_like(X)
    edges = thresholds(X, S, n, k, adversary) or [1.0]
    budget = "none" if adversary == "none" else str(rng.choice(list(BUDGETS)))
    rho = 0.0 if adversary == "none" else float(BUDGETS[budget](rng, edges))
    gap = float(rng.choice([1e-2, 1e-4, 1e-4, 1e-6, 1e-9]))
    return Case(number, shape, source, adversary, budget, rho, k, n, gap, X, S)


def _covariance(rng, X, n):
    """X'X/n, symmetric to the last digit; now and then indefinite by what rounding alone would do."""
    S = X.T @ X / n
    S = np.triu(S) + np.triu(S, 1).T
    if rng.random() < 0.1 and len(S) > 1:
        S = S - 3e-11 * np.trace(S) / len(S) * np.eye(len(S)) * (rng.random(len(S)) < 0.5)
    return S
