"""Small problems at the edges of floating point, one per number.

Each case is data of an awkward shape at an awkward scale, an adversary, a way to hand it in, and a budget beside
something that matters: 0, the norm of a column or of the k largest entries of a sample, and their neighbours among the
floats.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hostile_shapes import SHAPES
from scipy import sparse

import noap
from rational_judge import Judge, integers

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

    def out_of_range(self):
        """Whether squares leave the range of float64, which noap says it does not take."""
        top = float(np.abs(self.X if self.X is not None else self.S).max())
        least, most = (1e-150, 1e150) if self.X is not None else (1e-300, 1e300)
        return top > most or 0.0 < top < least

    def attacker(self):
        if self.adversary == "none":
            return noap.NoAdversary()
        return noap.FeatureWise(self.rho) if self.adversary == "feature" else noap.SampleWise(self.rho)

    def given(self):
        """X as the user would hand it in."""
        if self.source == "float32":
            return self.X.astype(np.float32)
        if self.source == "sparse":
            return sparse.csr_array(self.X)
        if self.source == "sparse in pieces":
            return _in_pieces(self.X)
        if self.source == "backwards":
            return self.X[::-1, ::-1].copy()[::-1, ::-1]
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


def _in_pieces(X):
    """A sparse matrix that stores zeros, and most entries twice by halves, columns out of order."""
    n, d = X.shape
    half = X / 2
    whole = half + half == X  # halving the smallest subnormal is not exact
    first, second = np.where(whole, half, X), np.where(whole, half, 0.0)
    data = np.hstack([second[:, ::-1], first]).ravel()
    columns = np.tile(np.r_[np.arange(d)[::-1], np.arange(d)], n)
    return sparse.csr_array((data, columns, np.arange(n + 1) * 2 * d), shape=(n, d))


# -- scales ------------------------------------------------------------------------------------------------------------


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
    return float(rng.choice([edges[0] * (1 + 1e-15), edges[0] * (1 + 1e-9), edges[0] * 2.0, edges[0] * 1e10, 1e300]))


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

_SOURCES = ["samples"] * 5 + ["float32", "float32", "sparse", "sparse in pieces", "fortran", "strided", "backwards"]
_SOURCES += ["covariance"] * 3


def case(number):
    """The case of that number, always the same."""
    rng = np.random.default_rng([_SEED, number])
    if number % 32 == 5:
        return _next_to_no_budget(rng, number)
    adversary = str(rng.choice(["none", "feature", "feature", "sample", "sample"]))
    source = str(rng.choice(_SOURCES))
    shape = str(rng.choice(list(SHAPES)))
    n, d = (int(x) for x in rng.integers(1, 7, 2))
    if adversary != "sample" and rng.random() < 0.2:
        n, d = n + 2, d + 2
    elif rng.random() < 0.1:
        n, d = n + 9, min(d, 3)
    X, S = SHAPES[shape](rng, n, d), None
    if source == "covariance" and adversary == "sample":
        source = "samples"
    if source == "covariance":
        shape, S = _covariance(rng, shape, X)
        S, X, d = _scaled(rng, S), None, len(S)
        if rng.random() < 0.3:
            n = int(rng.choice([1, 100, 10**9, 2**53 - 1]))
    elif source == "float32":
        X = _single(rng, X)
    elif shape in ("signs", "few integers", "many integers") and rng.random() < 0.2:
        source = "integers"
    else:
        X = _scaled(rng, X)
    k = d if rng.random() < 0.25 else int(rng.integers(1, d + 1))
    budget, rho = "none", 0.0
    if adversary != "none":
        budget = str(rng.choice(list(BUDGETS)))
        rho = float(BUDGETS[budget](rng, thresholds(X, S, n, k, adversary) or [1.0]))
    gap = float(rng.choice([1e-2, 1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-9, 1e-9, 1e-12, 0.0]))
    return Case(number, shape, source, adversary, budget, rho, k, n, gap, X, S)


def _next_to_no_budget(rng, number):
    """Small integers, most of the features in the support, and a budget whose square is 0."""
    n, d = int(rng.integers(3, 9)), int(rng.integers(6, 9))
    k, most = int(rng.integers(5, d + 1)), int(rng.integers(1, 4))
    X = rng.integers(-most, most + 1, (n, d)).astype(float)
    rho, gap = 10.0 ** rng.uniform(-323, -300), float(rng.choice([1e-4, 1e-9]))
    return Case(number, "few integers", "samples", "feature", "subnormal", rho, k, n, gap, X, None)


def _single(rng, X):
    """X in single precision, also at the ends of its range."""
    top = float(np.abs(X).max())
    if top > 0 and rng.random() < 0.4:
        X = X / top * float(rng.choice([3e38, 1e30, 1e-30, 1.2e-38, 1e-44]))
    with np.errstate(under="ignore"):
        return X.astype(np.float32).astype(np.float64)


def _covariance(rng, shape, X):
    """X'X/n, symmetric to the last digit; now and then indefinite, within what is taken for rounding."""
    S = X.T @ X / len(X)
    S = np.triu(S) + np.triu(S, 1).T
    kind = rng.random()
    if kind < 0.1:
        S = S - 3e-11 * np.trace(S) / len(S) * np.diag(rng.random(len(S)) < 0.5)
    elif kind < 0.2:
        return "no variance", _no_variance(rng, int(rng.integers(2, 7)))
    return shape, S


def _no_variance(rng, d):
    """One feature with a variance; the others have none, or hardly any, and yet covariances: indefinite by `low`."""
    low = 10.0 ** rng.uniform(-16, -10.3)
    S = np.full((d, d), low)
    S[0] = S[:, 0] = math.sqrt(low)
    S *= rng.uniform(0.5, 0.999)
    S[np.diag_indices(d)] = rng.choice([0.0, low, -low / 4, low**2], d)
    S[0, 0] = 1.0
    return S
