"""Proofs of sample- and entry-wise problems, by hand: attacks, lines about samples, and what vectors are worth."""

from fractions import Fraction
from itertools import combinations

import numpy as np

import noap
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim, data_of
from noap.kernel.samples import response
from noap.kernel.tree import Checked, check_leaf
from noap.kernel.witness import BOX, IN_WEIGHTED_NORM, Dominance, Level, Line, SampleAttack, SampleEnvelope


def drawn(seed, n=14, d=5, k=3, each=False, costs=False, entries=False, **kwargs):
    """A random problem with some structure; budgets of its own for each sample or entry, 0 and infinity among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0 * np.outer(rng.standard_normal(n), rng.random(d) < 0.6)
    rho = float(rng.uniform(0.1, 1.5))
    if each:
        rho = rng.choice([0.0, 0.3, 1.0, 2.0, np.inf], n, p=[0.2, 0.3, 0.3, 0.15, 0.05])
    costs = rng.uniform(0, 0.3, d) if costs else None
    if entries:
        delta = rng.choice([0.0, 0.1, 0.4, 0.8, np.inf], (n, d), p=[0.2, 0.3, 0.3, 0.19, 0.01])
        return noap.Problem(X, k, noap.EntryWise(delta if each else 0.6 * rho), costs=costs, **kwargs)
    return noap.Problem(X, k, noap.SampleWise(rho), costs=costs, **kwargs)


def of_entries(problem):
    """Whether the adversary moves entries."""
    return isinstance(problem.adversary, noap.EntryWise)


def budgets(problem):
    """The budgets of all entries; of a sample, in every column."""
    rho = np.asarray(problem.adversary.rho)
    return np.broadcast_to(rho if rho.ndim == 0 or of_entries(problem) else rho[:, None], problem.X.shape)


def worth(problem, v):
    """At most the value of a vector with these entries, of any length, in rationals."""
    X = [[Fraction(x) for x in row] for row in np.asarray(problem.X).tolist()]
    w = [Fraction(x) for x in v.tolist()]
    length = sum(x * x for x in w)
    root = Fraction(np.sqrt(float(length))) * (1 + Fraction(1, 10**15)) or 1
    total = Fraction(0)
    for row, taken in zip(X, budgets(problem).tolist(), strict=True):
        used = [(r, abs(x)) for r, x in zip(taken, w, strict=True) if x != 0]
        if all(r != np.inf for r, _ in used):
            r = sum(Fraction(r) * x for r, x in used) / root if of_entries(problem) else Fraction(taken[0])
            total += max(abs(sum(a * b for a, b in zip(row, w, strict=True))) / root - r, 0) ** 2
    costs = Fraction(0)
    if problem.costs is not None:
        chosen = set(np.flatnonzero(v)) | set(problem.include.tolist())
        costs = sum((Fraction(float(problem.costs[j])) for j in chosen), Fraction(0))
    return total / len(X) - costs


def ascended(problem, support, rng, starts=12):
    """The best vector found on a support."""
    X, S = np.asarray(problem.X), list(support)
    exponent = np.frexp(np.abs(X).max())[1]
    X = np.ldexp(X, -exponent)
    rho, entries = np.minimum(np.ldexp(budgets(problem)[:, S], -exponent), 1e9), of_entries(problem)
    best, found = -np.inf, np.zeros(X.shape[1])
    for start in [*np.eye(len(S)), *rng.standard_normal((starts, len(S)))]:
        v = start / np.linalg.norm(start)
        for _ in range(200):
            s = X[:, S] @ v
            u = np.sign(s) * np.maximum(np.abs(s) - (rho @ np.abs(v) if entries else rho[:, 0]), 0.0)
            w = X[:, S].T @ u
            if entries:
                w = np.sign(w) * np.maximum(np.abs(w) - rho.T @ np.abs(u), 0.0)
            if not w.any():
                break
            v, before = w / np.linalg.norm(w), v
            if np.abs(v - before).max() < 1e-14:
                break
        taken = rho @ np.abs(v) if entries else rho[:, 0]
        value = float((np.maximum(np.abs(X[:, S] @ v) - taken, 0.0) ** 2).sum())
        if value > best:
            best, found = value, np.zeros(X.shape[1])
            found[S] = v
    return found


def best_of(problem, rng, node=None):
    """The best vector found in a node (I, F, p), over all its supports, and at most what it is worth."""
    inside, free, p = data_of(problem)[0].root() if node is None else node
    found = np.zeros(problem.n_features)
    best = -sum((Fraction(float(problem.costs[j])) for j in inside), Fraction(0)) if problem.costs is not None else 0
    for size in range(p + 1):
        for chosen in combinations(free, size):
            support = [*inside, *chosen]
            if support:
                v = ascended(problem, support, rng, 4)
                v[np.setdiff1d(inside, np.flatnonzero(v)).astype(int)] = 1e-30  # it uses all of I
                if worth(problem, v) > best:
                    best, found = worth(problem, v), v
    return found, best


def responding(problem, v, node=None, gain=0.0, spread=0.0):
    """An attack in response to a vector."""
    inside, free, p = data_of(problem)[0].root() if node is None else node
    at = np.flatnonzero(v)
    return SampleAttack(inside, free, p, at, v[at], gain, spread)


def moving(problem, v, node=None, spread=0.0):
    """The same moves, given one by one in single precision."""
    data = data_of(problem)[0]
    inside, free, p = data.root() if node is None else node
    columns = np.concatenate([inside, free])
    u = v[columns] / np.linalg.norm(v) * (1 - 1e-12)
    moves = response(data.X[:, columns], data.rho, u, len(inside), p, spread, False)[0]
    moves = (moves * (1 - 1e-6)).astype(np.float32)
    return SampleAttack(inside, free, p, rows=data.rows, moves=moves)


def line(problem, support, slope, rng, noise=1.0, room=1e-9):
    """A line about all samples for one support: |R_ij| <= slope w_i w_j, and c as small as it can be."""
    data = data_of(problem)[0]
    m = len(data.rows)
    w = data.rho / data.rho.max() if data.rho.any() else np.ones(m)
    K = data.X[:, support] @ data.X[:, support].T
    steps = np.rint(-np.clip(noise * K / (slope * np.outer(w, w) + 1e-12), -1, 1) * 32767)
    R = slope * np.outer(w, w) * steps / 32767
    np.fill_diagonal(R, -slope * w * w)
    c = float(np.linalg.eigvalsh(K + R)[-1]) + room
    zero = np.zeros(m, np.float32)
    entries = steps[np.triu_indices(m, 1)].astype(np.int16)
    return Line(data.rows, c, 0.0, slope, IN_WEIGHTED_NORM, BOX, zero, zero, entries)


def least(problem, leaf, node, high=None):
    """About the smallest threshold at which the kernel closes a node, in the user's units."""
    data = data_of(problem)[0]
    checked, unit = Checked(data), 4.0**data.exponent
    low, high = 0.0, 1e3 * data.top if high is None else high / unit

    def holds(T):
        try:
            check_leaf(checked, T, leaf, *node)
        except Refused:
            return False
        return True

    if not holds(high):
        return np.inf
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high * unit


def certificate_of(problem, v, nodes, bound):
    """A certificate of one level with these nodes."""
    data, shift = data_of(problem)
    inside, free, _ = data.root()
    features = np.union1d(inside, free[data.most[free] > 0]).astype(np.intp)
    T = bound / 4.0**data.exponent
    level = Level(problem.k, T, T, features, tuple(nodes))
    at = np.flatnonzero(v)
    claim = Claim.about(problem, min(problem.value(v), bound), bound)
    return Certificate(claim, at, v[at], Proof((level,), data.exponent, shift))


__all__ = [
    "Dominance",
    "SampleEnvelope",
    "ascended",
    "best_of",
    "certificate_of",
    "drawn",
    "least",
    "line",
    "moving",
    "responding",
    "worth",
]
