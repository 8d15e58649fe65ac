"""Pairs (u, S) that are worth more than a target, and nodes that hold them: what no step of the search may cut off."""

import math
from fractions import Fraction

import numpy as np

from judge import exact_feature_wise, root_below
from noap.exact.feature_wise.instance import terms_of
from noap.exact.feature_wise.kernels.worth import lowest
from opened import opened

lowest = opened(lowest)

KINDS = ["noise", "spike", "signs", "duplicates", "rank two"]
TERMS = ["one budget", "budgets", "budgets and costs", "costs"]


def drawn_terms(rng, kind, rho, sizes):
    """Budgets and costs of features with columns of these lengths: one for all, or all kinds of them at once."""
    d = len(sizes)
    budgets, costs = np.full(d, rho), np.zeros(d)
    if "budgets" in kind:
        budgets = rng.choice([0.0, 1e-12, 0.5, 1.0, 1.0, 1.1], d) * rng.uniform(0.8, 1, d) * rho
    if "costs" in kind:
        left = np.maximum(sizes - budgets, 0.0) ** 2
        costs = rng.choice([0.0, 1e-12, 0.05, 0.3, 0.999], d) * rng.uniform(0.5, 1, d) * left
    return budgets, costs


def float_below(x):
    """The largest float below x."""
    y = float(x)
    return y if Fraction(y) < x else math.nextafter(y, -math.inf)


def float_above(x):
    """The smallest float at or above x."""
    y = float(x)
    return y if Fraction(y) >= x else math.nextafter(y, math.inf)


def dyadic_data(rng, kind, n, d):
    """Samples whose products are exact in double precision: multiples of 1/64."""
    X = rng.standard_normal((n, d))
    if kind == "spike":
        X += np.outer(rng.standard_normal(n), rng.exponential(size=d))
    elif kind == "signs":
        X = np.sign(X)
    elif kind == "duplicates":
        X = X[:, rng.integers(0, d // 2 + 1, d)] * rng.choice([-1.0, 1.0], d)
    elif kind == "rank two":
        X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    return np.round(64 * X) / 64


def climbed(X, rho, costs, k, v):
    """A vector near a local maximum of |Xv| - sum rho_j |v_j|, from v; None where the adversary cancels it."""
    for _ in range(200):
        g = X.T @ (X @ v)
        length = np.linalg.norm(X @ v)
        if length == 0:
            return None
        v = np.sign(g) * np.maximum(np.abs(g) / length - rho, 0.0)
        v[v**2 <= costs] = 0.0
        v[np.argsort(costs - v**2, kind="stable")[k:]] = 0.0
        if not v.any():
            return None
        v /= np.linalg.norm(v)
    return v


def true_bounds(rng, worths, k):
    """For every q < k at least the q largest of these worths, in falling order, summed: many true by an ulp only."""
    sums = [sum(worths[:q], Fraction(0)) for q in range(k)]
    loose = rng.choice([0.0, 0.0, 0.0, 1e-15, 1e-9, 1e-3, 0.5, np.inf], k)
    below = [float_above(x * (1 + Fraction(y))) if y < np.inf else np.inf for x, y in zip(sums, loose, strict=True)]
    return np.array([0.0, *below[1:]])


class Pair:
    """A matrix A of inner products, a pair and a target T below what the pair is worth; all of it exact.

    u = sum c_j a_j over the entries of v, scaled to lie in the unit ball (to 36 digits on the sphere). For u to exist
    and have these inner products a_j'u, only the block of v's features has to be a Gram matrix.

    Attributes
    ----------
    A, terms, k : what the kernels take
    c : the coefficients of u, rational
    along : a_j'u for the features of v, rational
    S : those that are worth something
    worth : what the pair is worth, rational
    T : the largest float below it
    """

    def __init__(self, A, rho, costs, k, v):
        self.A, self.terms, self.k = A, terms_of(rho, costs), k
        self.uneven = float(np.any(costs) or np.any(rho != rho[0]))
        self.A.flags.writeable = False
        V = np.flatnonzero(v).tolist()
        v = {j: Fraction(float(v[j])) for j in V}
        pulled = {i: sum((Fraction(float(A[i, j])) * v[j] for j in V), Fraction(0)) for i in V}
        inverse = root_below(1 / sum(v[j] * pulled[j] for j in V))
        self.c = {j: inverse * v[j] for j in V}
        self.along = {j: inverse * pulled[j] for j in V}
        self.S = [j for j in V if self.worth_of(j) > 0]
        self.worth = sum((self.worth_of(j) for j in self.S), Fraction(0))
        self.T = max(float_below(self.worth), 0.0)
        self.norms = np.sqrt(np.diag(A)) * (1 + 1e-15)
        self.scale = float(np.diag(A).max())

    def s(self, j):
        """|a_j'u|."""
        return abs(self.along[j])

    def worth_of(self, j):
        """What the feature is worth at u."""
        over = max(self.s(j) - Fraction(float(self.terms.rho[j])), Fraction(0))
        return max(over**2 - Fraction(float(self.terms.cost[j])), Fraction(0))

    @property
    def bent(self):
        """Whether there is a budget or a cost."""
        return bool(self.terms.entry.any())

    def below(self, rng):
        """Bounds on what 0, 1, ..., k - 1 features of S are worth at u, often true by an ulp only; or none at all."""
        if rng.random() < 0.2:
            return np.empty(0)
        worths = sorted((self.worth_of(j) for j in self.S), reverse=True)
        return true_bounds(rng, worths, self.k)

    def node(self, rng, n_inc=None, signed=0.7):
        """A node that the pair lies in: often so that an interval ends at the pair, to the last bit."""
        n_inc = int(rng.integers(0, len(self.S) + 1)) if n_inc is None else n_inc
        inc = rng.permutation(self.S)[:n_inc].astype(np.int64)
        lo, hi = np.empty(n_inc), np.empty(n_inc)
        for a, j in enumerate(inc):
            down, up = (Fraction(float(rng.choice([0.0, 0.0, 1e-15, 1e-8, 1e-3, 0.3]))) for _ in range(2))
            lo[a] = max(float_below(self.s(j) * (1 - down)), self.terms.entry[j])
            hi[a] = min(float_above(self.s(j) * (1 + up)), self.norms[j])
        known = rng.random(n_inc) < signed
        sign = np.array([np.sign(float(self.along[j])) for j in inc], dtype=np.int64) * known
        live = np.flatnonzero(self.norms > self.terms.entry)
        free = np.setdiff1d(live, inc).astype(np.int64)
        ceil = self.norms[free].copy()
        for f, j in enumerate(free):
            if j in self.along and rng.random() < 0.5:
                ceil[f] = min(float_above(self.s(j) * Fraction(float(rng.choice([1, 1, 1.0001, 1.2])))), ceil[f])
        return inc, sign, lo, hi, free, ceil

    def check_held(self, inc, sign, lo, hi, free, ceil, n_free):
        """Nothing that a step did to a node has cut the pair off, to the last bit."""
        for a, j in enumerate(inc):
            assert sign[a] in (0, 1 if self.along[j] > 0 else -1)
            assert Fraction(float(lo[a])) <= self.s(j) <= Fraction(float(hi[a]))
        left = dict(zip(free[:n_free].tolist(), ceil[:n_free], strict=True))
        for j in set(self.S) - set(inc.tolist()):
            assert self.s(j) <= Fraction(float(left[j]))

    def check_carried(self, inc, carried, n_high):
        """At least so many of the free features of S carry so much, which the search reads as a floor for each."""
        if carried > 0:
            assert n_high >= 1
            rho, cost = self.terms.rho, self.terms.cost
            floors = {j: lowest(carried, rho[j], cost[j]) for j in set(self.S) - set(inc.tolist())}
            assert sum(self.s(j) >= Fraction(float(floor)) for j, floor in floors.items()) >= n_high

    def lean(self, rng):
        """Loadings a_j'w of the direction w of a k-sparse vector that need not lie in the node, as the search has them.

        Like the search, only of a vector that the adversary does not cancel; and what rounding may grow to.
        """
        for _ in range(20):
            V = rng.choice(len(self.A), min(self.k, len(self.A)), replace=False)
            v = np.sign(rng.standard_normal(len(V))) * rng.uniform(0.2, 1, len(V))
            if rng.random() < 0.5:  # near the pair's own, where the response is strongest
                V = np.array(self.S)
                v = np.array([np.sign(float(self.along[j])) * (float(self.s(j)) - self.terms.rho[j]) for j in V])
            v /= np.linalg.norm(v)
            energy = math.sqrt(max(v @ self.A[np.ix_(V, V)] @ v, 0.0))
            if energy > self.terms.rho[V] @ np.abs(v):
                return self.A[:, V] @ v / energy, max(self.terms.largest * np.abs(v).sum() / energy, 1.0)
        return None, 1.0


def exact_pairs(seed, count, n=5, d=8):
    """Pairs of all kinds and budgets."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        X = dyadic_data(rng, KINDS[trial % len(KINDS)], n, d)
        k = int(rng.integers(1, 5))
        sizes = np.linalg.norm(X, axis=0)
        share = float(rng.choice([0.0, 1e-12, 0.2, 0.5, 0.8, 0.999, 1 - 1e-9]))
        rho = share * float(sizes.max())
        start = rng.standard_normal(d) * (np.arange(d) < k) if share < 0.9 else np.eye(d)[np.argmax(sizes)]
        budgets, costs = drawn_terms(rng, TERMS[trial // len(KINDS) % len(TERMS)], rho, sizes)
        v = climbed(X, budgets, costs, k, start)
        if v is not None:
            pair = Pair(X.T @ X, budgets, costs, k, v)
            if pair.T > 0:
                yield rng, pair


def misread_pairs(seed, count, blocks, n=6, d=40):
    """Pairs of data whose Gram matrix was misread by up to a per cent, far beyond rounding, and then shifted.

    The error of an entry is at most err |a_i||a_j|, at its worst in the direction of the pair; err blocks(k) scale is
    added to the diagonal. Yields what the pair is worth in truth as well.
    """
    rng = np.random.default_rng(seed)
    for trial in range(count):
        X = dyadic_data(rng, KINDS[trial % 4], n, d)  # a matrix of rank two has too few good pairs
        X /= np.linalg.norm(X, axis=0)  # equal norms: the bound on the error of a block is reached
        k, err = int(rng.integers(1, 4)), float(rng.choice([1e-4, 1e-2]))
        rho = float(rng.choice([0.0, 0.2, 0.5, 0.8]))
        G, sizes = X.T @ X, np.linalg.norm(X, axis=0)
        budgets, costs = drawn_terms(rng, TERMS[trial // 4 % len(TERMS)], rho, sizes)
        v = climbed(X, budgets, costs, k, rng.standard_normal(d) * (np.arange(d) < k))
        if v is None:
            continue
        toward = np.where(v != 0, np.sign(v), rng.choice([-1.0, 1.0], d))
        error = -np.outer(toward, toward)
        if trial % 2:
            error = np.triu(rng.choice([-1.0, 1.0], (d, d)), 1)
            error += error.T
            V = np.flatnonzero(v)
            error[np.ix_(V, V)] = -np.outer(toward[V], toward[V])
        A = G + err * (1 - 1e-9) * np.outer(sizes, sizes) * error
        A[np.diag_indices(d)] += err * blocks(k) * float(np.diag(G).max())
        spent = sum((Fraction(float(costs[j])) for j in np.flatnonzero(v)), Fraction(0))
        truth = len(X) * exact_feature_wise(X, v, budgets) - spent
        if truth > 0:
            yield rng, Pair(A, budgets, costs, k, v), truth


def two_supports(k):
    """How many features a step looks at in one go: those of the pair and those of the vector an attack responds to."""
    return 2 * k
