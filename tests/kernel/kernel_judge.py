"""The judge of the kernel's tests: rational arithmetic and brute force on tiny problems. It shares no code with noap.

Matrices of rationals are NumPy arrays of Fractions.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from rational_judge import Judge

U = Fraction(1, 2**53)
_BITS = 160


def exact(numbers):
    """The array, or the number, as rationals."""
    found = np.asarray(numbers)
    if found.ndim == 0:
        return Fraction(found.item())
    made = np.empty(found.shape, dtype=object)
    made.ravel()[:] = [Fraction(x.item()) for x in found.ravel()]
    return made


def roots(x):
    """A rational just below and one just above the root of a rational, or twice 0."""
    x = Fraction(x)
    if x <= 0:
        return Fraction(0), Fraction(0)
    bits = _BITS + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    root = math.isqrt((x.numerator << (2 * bits)) // x.denominator)
    return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)


def semidefinite(M):
    """Whether a symmetric matrix of rationals is positive semidefinite: by elimination."""
    M = np.array(M, dtype=object)
    while len(M):
        own = M.diagonal()
        if any(x < 0 for x in own):
            return False
        at = next((i for i, x in enumerate(own) if x > 0), None)
        if at is None:
            return not M.any()
        left = [i for i in range(len(M)) if i != at]
        M = (M - np.outer(M[:, at], M[at]) / M[at, at])[np.ix_(left, left)]
    return True


def sparsely_semidefinite(M, p):
    """Whether every block of p features is."""
    return all(semidefinite(M[np.ix_(S, S)]) for S in combinations(range(len(M)), min(p, len(M))))


def unit(size):
    """The unit matrix."""
    return exact(np.eye(size))


def gram(X):
    """X'X/n."""
    X = exact(X)
    return X.T @ X / len(X)


class Truth:
    """A tiny problem: what vectors are worth, and at least what the best choice is worth.

    Parameters
    ----------
    X, S : array, one of them
    n : int, beside S
    rho : array of shape (d,), infinite ones included, or None
    costs : array of shape (d,), or None
    include, exclude : sequences of int
    """

    def __init__(self, k, *, X=None, S=None, n=None, rho=None, costs=None, include=(), exclude=()):
        self.k, self.include, self.exclude = k, tuple(include), tuple(exclude)
        data = np.asarray(X if X is not None else S, dtype=np.float64)
        self.d, self.n = data.shape[1], n if X is None else len(data)
        self.rho = np.zeros(self.d) if rho is None else np.asarray(rho, dtype=np.float64)
        self.costs = np.zeros(self.d) if costs is None else np.asarray(costs, dtype=np.float64)
        self.judge = Judge("feature", self.rho, self.n, X=X, S=S, costs=self.costs)
        self.A = data.T @ data / self.n if X is not None else data
        self.demanded = sum((exact(self.costs[j]) for j in self.include), Fraction(0))

    def worth(self, v):
        """Rationals just below and just above what a vector is worth, with the demanded features."""
        lower, upper = self.judge.of_vector(v)
        beside = self.demanded - sum((exact(self.costs[j]) for j in self.include if v[j]), Fraction(0))
        return lower - beside, upper - beside

    def choices(self):
        """All sets of features where a vector may differ from zero."""
        free = [j for j in range(self.d) if j not in self.exclude]
        for size in range(1, self.k + 1):
            for S in combinations(free, size):
                if len({*S, *self.include}) <= self.k:
                    yield S

    def best(self, steps=60, kept=3):
        """At least the optimum's value, nearly always to 1e-12, and a vector that attains it; None if nothing does."""
        floor, found = -self.demanded, None
        top = float(np.abs(self.A).max())
        if top == 0:
            return floor, found
        with np.errstate(over="ignore"):
            A, r = self.A / top, self.rho / math.sqrt(self.n) / math.sqrt(top)
        usable = r < 1e100  # others are of no use to anybody
        r = np.where(usable, r, 0.0)
        starts, spent = [], []
        for S in self.choices():
            if not usable[list(S)].all():
                continue
            block = A[np.ix_(S, S)]
            patterns = [np.array((1.0, *tail)) for tail in product((1.0, -1.0), repeat=len(S) - 1)] if r.any() else []
            vectors = np.array([*patterns, *np.linalg.eigh(block)[1].T])
            V = np.zeros((len(vectors), self.d))
            V[:, S] = vectors
            starts.append(V)
            spent.append(np.full(len(V), self.costs[list({*S, *self.include})].sum() / top))
        if not starts:
            return floor, found
        V, spent = np.concatenate(starts), np.concatenate(spent)
        used = V != 0
        for step in range(steps if r.any() else 1):
            V, values = _climbed(A, r, V, used)
            if step in (4, 12) and len(V) > 60:
                keep = np.argsort(spent - values)[: max(60, len(V) // 6)]
                V, used, spent, values = V[keep], used[keep], spent[keep], values[keep]
        for i in np.argsort(spent - values)[:kept]:
            lower = self.worth(V[i])[0]
            if lower > floor:
                floor, found = lower, V[i]
        return floor, found

    def by_support(self, steps=200):
        """At least what the best vector on each set of features is worth less their costs, nearly always to 1e-12."""
        top = float(np.abs(self.A).max()) or 1.0
        finite = np.isfinite(self.rho)
        r = np.where(finite, self.rho, 0.0) / math.sqrt(self.n) / math.sqrt(top)
        found = {}
        for S in self.choices():
            usable, value = [j for j in S if finite[j]], 0.0
            if usable:
                block = self.A[np.ix_(usable, usable)] / top
                signs = [np.array((1.0, *tail)) for tail in product((1.0, -1.0), repeat=len(usable) - 1)]
                V = np.array([*signs, *np.eye(len(usable)), *np.linalg.eigh(block)[1].T])
                for _ in range(steps):
                    V, values = _climbed(block, r[usable], V, np.ones(len(usable), dtype=bool))
                value = float(values.max()) * top
            found[S] = value - float(self.costs[list(S)].sum())
        return found


def _climbed(A, r, V, used):
    """One step of alternating ascent on the same features, and the values before it."""
    size = np.linalg.norm(V, axis=1, keepdims=True)
    V = np.divide(V, size, out=np.zeros_like(V), where=size > 0)
    G = V @ A
    form = np.maximum((G * V).sum(axis=1, keepdims=True), 0.0)
    values = np.maximum(np.sqrt(form[:, 0]) - np.abs(V) @ r, 0.0) ** 2
    if not r.any():
        return V, form[:, 0]
    G = np.divide(G, np.sqrt(form), out=np.zeros_like(G), where=form > 1e-30)
    W = np.sign(G) * np.maximum(np.abs(G) - r, 0.0) * used
    stuck = ~W.any(axis=1)
    W[stuck] = V[stuck]
    return W, values


def smallest(accepts, low, high):
    """The smallest double that is accepted, between one that is not and one that is: by bisection."""
    assert not accepts(low)
    assert accepts(high)
    while low < (middle := low + 0.5 * (high - low)) < high:
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high


def attacked(A, r, x, kappa):
    """The majorant of docs/certificate-format.md in response to x, to 40 digits; r are the budgets."""
    A, r, x, kappa = exact(A), exact(r), exact(x), exact(kappa)
    root = sum(roots(x @ A @ x)) / 2
    g = A @ x / root
    d = len(A)
    stretch = sum(roots(1 + kappa)) / 2
    h, f = exact(np.zeros(d)), exact(np.ones(d))
    for j in range(d):
        if abs(g[j]) >= r[j]:
            h[j] = (abs(g[j]) - r[j]) * (1 if g[j] > 0 else -1)
            gains = kappa * (sum(roots(A[j, j])) / 2 - r[j]) <= r[j]
        else:
            across = A[j, j] - g[j] ** 2
            share = (r[j] ** 2 - g[j] ** 2) / across if across > 0 else Fraction(1)
            f[j] = 1 - min(Fraction(1), sum(roots(share)) / 2)
            gains = False
        if not gains:
            h[j], f[j] = h[j] * stretch, f[j] * stretch
    return np.outer(f, f) * (A - np.outer(g, g)) + (1 + kappa) * np.outer(h, h)


def robust(A, r, v):
    """A rational just below (sqrt(v'Av) - sum r|v|)_+^2 for the unit vector along v."""
    A, r, v = exact(A), exact(r), exact(v)
    left = roots(v @ A @ v)[0] - r @ abs(v)
    return max(left, Fraction(0)) ** 2 / (v @ v)


def climbed(A, r, v, steps=400):
    """A good vector of doubles on all features of A, from v."""
    for _ in range(steps):
        g = A @ v / np.sqrt(v @ A @ v)
        w = np.sign(g) * np.maximum(np.abs(g) - r, 0.0)
        if not w.any():
            return v
        v = w / np.linalg.norm(w)
    return v
