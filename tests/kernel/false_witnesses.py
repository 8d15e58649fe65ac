# ruff: noqa: E741 (I is the mathematics' name)
"""False witnesses: proofs of thresholds that some vector exceeds in exact arithmetic. The kernel must refuse them all.

Every threshold is set from a vector of the node whose worth is known as a rational number: mostly the double just below
it, so that only rounding decides, sometimes less. Whatever the witness is then, a kernel that accepts it lies; nothing
here has to judge a proof. The witnesses are good ones (those that close the node a hair above, on problems where the
rules are tight: equal correlations, one sample, equal entries), good ones with something changed, and random ones; the
data are integers, doubles, columns of 1e-8 to 1e8, duplicates, zero columns, values of 1e-150 and 1e140.

    python tests/kernel/false_witnesses.py --count 100000 --seed 1
    python tests/kernel/false_witnesses.py --without-rounding     (the kernel without its error terms has to lie)
"""

import argparse
import itertools
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel import arithmetic, data, definite, envelope, majorant, tree
from noap.kernel.arithmetic import Refused, proves_semidefinite
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim
from noap.kernel.data import Data, Terms
from noap.kernel.majorant import Majorant, eliminate
from noap.kernel.tree import Checked, check_leaf, check_levels, check_tree
from noap.kernel.verify import verify_certificate
from noap.kernel.witness import (
    BOX,
    FREE,
    IN_PLAIN_NORM,
    IN_WEIGHTED_NORM,
    LENGTHS,
    PLAIN,
    THRESHOLD,
    Attack,
    Dominance,
    Envelope,
    Feature,
    Level,
    Line,
    Matrix,
    Scaling,
    Sign,
)

_BITS = 200
# What c has beyond the largest eigenvalue, relative to the trace: room for a factorisation, as a search leaves it, or
# none, or less than none.
_ROOMS = (0.0, 0.0, 0.0, 2e-16, 2e-16, 1e-15, 5e-15, 1e-14, 1e-13, 1e-12, 1e-11, -2e-16, -1e-13, -1e-6)
_NONE = np.empty(0, np.intp)


# Exact worths ---------------------------------------------------------------------------------------------------------


def root_below(x):
    """A rational of at most the root of a rational, to 200 bits."""
    if x <= 0:
        return Fraction(0)
    shift = max(0, _BITS - x.numerator.bit_length() + x.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def just_below(x):
    """The largest double below a rational."""
    near = float(x)
    return near if Fraction(near) < x else math.nextafter(near, -math.inf)


@dataclass(eq=False)
class Case:
    """Data and terms in the user's units, what the kernel makes of them, and exact worths in the kernel's units."""

    X: np.ndarray | None
    S: np.ndarray | None
    terms: Terms
    shift: float | None
    data: Data = field(init=False)
    known: dict = field(default_factory=dict)  # nodes by their features

    def __post_init__(self):
        if self.X is not None:
            self.data = Data.from_samples(lambda: (self.X,), self.X.shape[1], self.terms)
        else:
            self.data = Data.from_covariance(self.S, self.terms, self.shift)
        self.d = len(self.data.A)
        unit = Fraction(4) ** -self.data.exponent
        if self.X is not None:
            columns = [[Fraction(float(x)) for x in column] for column in self.X.T]
            self.exact = [[sum(map(_times, a, b)) * unit / len(self.X) for b in columns] for a in columns]
        else:
            self.exact = [[Fraction(float(x)) * unit for x in row] for row in self.S]
        if not self.data.A.any():  # nothing is left: trees are about A = 0, whole proofs about what is demanded
            self.exact = [[Fraction(0)] * self.d for _ in range(self.d)]
        rho, costs, n = self.terms.rho, self.terms.costs, Fraction(self.terms.n_samples)
        over = Fraction(2) ** -self.data.exponent / root_below(n)
        self.budgets = [
            Fraction(0) if rho is None else None if math.isinf(rho[j]) else Fraction(float(rho[j])) * over
            for j in range(self.d)
        ]
        self.prices = [Fraction(0) if costs is None else Fraction(float(costs[j])) * unit for j in range(self.d)]

    def worth(self, v, included=()):
        """At most what the choice of the features of v and some more is worth, as a rational, to some 190 bits."""
        at = [int(j) for j in np.flatnonzero(v)]
        x = [Fraction(float(v[j])) for j in at]
        spent = sum((self.prices[j] for j in {*at, *map(int, included)}), Fraction(0))
        pairs = list(zip(at, x, strict=True))
        form = sum((a * b * self.exact[i][j] for i, a in pairs for j, b in pairs), Fraction(0))
        if not at or any(self.budgets[j] is None for j in at):
            return -spent
        left = root_below(form) - sum((self.budgets[j] * abs(a) for j, a in pairs), Fraction(0))
        return (left * left / sum(a * a for a in x) if left > 0 else Fraction(0)) - spent


def _times(a, b):
    return a * b


# Problems -------------------------------------------------------------------------------------------------------------


def some_case(rng, *, kinds=("even", "one", "noise", "indefinite"), demands=True):
    """A problem; None if the kernel does not take it."""
    kind = rng.choice(kinds)
    d = int(rng.integers(1, 7)) if rng.random() < 0.9 else int(rng.integers(7, 13))
    k, n, X, S, shift = int(rng.integers(1, d + 1)), 1, None, None, None
    robust = kind != "indefinite" and rng.random() < 0.65
    ratio = rng.choice([0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1.0, 1.5])
    if kind == "even":  # c I + b ww': the worth depends on t alone, and the rules are tight
        w = [np.ones(d), rng.integers(1, 4, d).astype(float), rng.uniform(0.3, 1.0, d)][rng.integers(3)]
        c, b = (float(x) for x in (rng.integers(1, 8, 2) if rng.random() < 0.5 else rng.uniform(0.1, 3.0, 2)))
        flips = rng.choice([-1.0, 1.0], d)
        S = b * np.outer(w * flips, w * flips) + c * np.eye(d)
        S, n = np.tril(S) + np.tril(S, -1).T, int(rng.choice([1, 2, 3, 4, 100]))
        rho = w * ratio * math.sqrt(n * (c + b * float(w @ w)) / float(w @ w))
        shift = float(rng.choice([0.0, 0.0, 1e-16])) if rng.random() < 0.9 else None
        robust = robust and shift is not None
    elif kind == "one":  # all columns alike: lengths are tight
        X = (rng.integers(0, 5, (1, d)) if rng.random() < 0.5 else rng.normal(size=(1, d))).astype(float)
        if rng.random() < 0.3:
            X = np.repeat(X, 3, axis=0)
        n = len(X)
        rho = np.abs(X[0]) * math.sqrt(n) * (ratio if rng.random() < 0.5 else rng.uniform(0, 1.1, d))
        if not robust and rng.random() < 0.5:
            S, X = X.T @ X / n, None
    elif kind == "noise":
        n = int(rng.integers(1, 9))
        X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, d)).astype(float)
        if d > 1 and rng.random() < 0.2:
            X[:, 0] = X[:, -1]
        if rng.random() < 0.2:
            X = X * 10.0 ** rng.uniform(-8, 8, d)
        lengths = np.sqrt((X * X).sum(axis=0))
        common = rng.random() < 0.4
        rho = np.full(d, ratio * float(np.median(lengths))) if common else lengths * ratio * rng.uniform(0.2, 1.2, d)
        if rng.random() < 0.4:
            S, X, shift = X.T @ X / n, None, float(rng.choice([1e-15, 1e-14, 1e-10]))
            S = np.tril(S) + np.tril(S, -1).T
    else:
        S = rng.normal(size=(d, d)) if rng.random() < 0.5 else rng.integers(-3, 4, (d, d)).astype(float)
        S, rho = np.tril(S) + np.tril(S, -1).T, np.zeros(d)
    if robust and rng.random() < 0.25:
        rho[rng.integers(d)] = rng.choice([0.0, math.inf, 1e-300, 5e-324, 1e6])
    size = 2.0 ** int(rng.choice([0, 0, 0, 1, -3, 40, -90, 465, -490]))  # of X
    X, S = (None if M is None else M * f for M, f in ((X, size), (S, min(max(size, 2.0**-480), 2.0**460) ** 2)))
    rho = rho * size if X is not None else rho * min(max(size, 2.0**-480), 2.0**460)
    top = float(np.abs(S).max()) if S is not None else float((X * X).sum(axis=0).max() / n)
    costs = None
    if rng.random() < 0.3:
        costs = top * rng.choice([0.0, 0.25, 0.5, 1e-3, 3.0, 1e3, 1e-17, 1e-260], d) * rng.choice([1.0, rng.random()])
        costs = None if not costs.any() else costs
    include = rng.choice(d, int(rng.integers(1, k + 1)), replace=False) if demands and rng.random() < 0.2 else _NONE
    exclude = rng.choice(d, 1) if demands and d > 1 and rng.random() < 0.15 else _NONE
    exclude = np.setdiff1d(exclude, include).astype(np.intp)
    terms = Terms(k, n, rho if robust else None, costs, np.sort(include).astype(np.intp), exclude)
    try:
        return Case(X, S, terms, shift)
    except Refused:
        return None


@dataclass(eq=False)
class Node:
    """Some node of a tree: included and free features, places, signs; a vector that it has, and its exact worth."""

    I: np.ndarray
    F: np.ndarray
    p: int
    v: np.ndarray
    truth: Fraction
    signs: np.ndarray

    def thresholds(self, rng, count):
        """Doubles below the truth, most of them just so."""
        edge = just_below(self.truth)
        yield edge
        for _ in range(count - 1):
            how = rng.random()
            if how < 0.5:
                yield edge
            elif how < 0.75:
                yield edge - abs(edge) * 2.0**-53 * 2.0 ** rng.integers(0, 8)
            else:
                yield edge - abs(edge) * (10.0 ** rng.uniform(-14, -1) if rng.random() < 0.5 else rng.uniform(0.0, 0.7))

    def above(self, case):
        """A threshold that nearly every good witness proves."""
        paid = float(case.data.costs[self.I].sum())
        return float(self.truth) + 1e-9 * (abs(float(self.truth)) + paid) + 1e-13 * case.data.top


def root_of(case):
    """The root of the tree."""
    I = case.data.include
    F = np.setdiff1d(np.flatnonzero(case.data.allowed), I).astype(np.intp)
    p = case.data.k - len(I)
    return I, F if p > 0 else F[:0], p


def some_node(rng, case, *, at_root=False):
    """A node with a good vector, or None where it has none."""
    I, F, p = root_of(case)
    for _ in range(0 if at_root else int(rng.choice([0, 1, 2, 3, case.d]))):
        if len(F) == 0:
            break
        j = rng.choice(F)
        F = F[j != F]
        if rng.random() < 0.6:
            I, p = np.append(I, j), p - 1
            F = F if p > 0 else F[:0]
    if len(I) + len(F) == 0:
        return None
    return judged(rng, case, I, F, p)


def judged(rng, case, I, F, p):
    """The node with the best vector that can be found."""
    key = tuple(sorted(I)), tuple(sorted(F)), p
    if key not in case.known:
        v = best_vector(rng, case.data, I, F, p)
        case.known[key] = v, case.worth(v, I)
    return Node(I, F, p, *case.known[key], np.zeros(case.d, np.int8))


def best_vector(rng, problem, I, F, p):
    """Climb on all supports of a node at once."""
    A, r, d = problem.A, problem.r, len(problem.A)
    supports = [[*I, *Q] for Q in itertools.islice(itertools.combinations(F, min(p, len(F))), 24)]
    rows = []
    for S in supports:
        lead = np.zeros(d)
        lead[S] = np.linalg.eigh(A[np.ix_(S, S)])[1][:, -1]
        rows.append(lead)
        if r.any():
            rows += [np.bincount(S, rng.choice([-1.0, 1.0], len(S)), d), *np.eye(d)[S]]
    V = np.array(rows)
    mask = np.repeat([np.isin(np.arange(d), S) for S in supports], [len(V) // len(supports)] * len(supports), axis=0)
    for _ in range(60 if r.any() else 0):
        G = V @ A
        length = np.sqrt(np.maximum((V * G).sum(axis=1), 1e-300))[:, None]
        W = np.sign(G) * np.maximum(np.abs(G / length) - r, 0.0) * mask
        norm = np.linalg.norm(W, axis=1)[:, None]
        V = np.where(norm > 1e-150, W / np.maximum(norm, 1e-150), V)
    V /= np.linalg.norm(V, axis=1)[:, None]
    left = np.maximum(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", V, A, V), 0.0)) - np.abs(V) @ r, 0.0)
    found = V[int(np.argmax(left**2 - (V != 0) @ problem.costs))]
    return np.where(np.abs(found) < 1e-9, 0.0, found) if rng.random() < 0.5 else found


# Witnesses ------------------------------------------------------------------------------------------------------------


def some_attack(rng, problem, v, gain):
    """The response to a good vector or to another one, with a gain that may be too large."""
    d = len(problem.A)
    x = v.copy()
    how = rng.random()
    if how < (0.4 if gain else 0.15):  # a gain is tight a little way off
        x = x + rng.normal(size=d) * 10.0 ** rng.uniform(-4 if gain else -12, 0)
    elif how < 0.45:
        x = rng.normal(size=d)
    elif how < 0.5:
        x = np.eye(d)[rng.integers(d)]
    elif how < 0.6:  # nearly nothing is left of the combination
        low = np.linalg.eigh(problem.A)[1][:, 0]
        x = low + 10.0 ** rng.uniform(-14, -1) * x
    x *= 2.0 ** int(rng.choice([0, 0, 0, 5, -200]))
    if rng.random() < 0.3:
        x = x.astype(np.float32).astype(float)
    at = np.flatnonzero(x)
    kappa = 0.0
    if gain:
        g = problem.A @ x / math.sqrt(max(float(x @ problem.A @ x), 1e-300))
        spare = problem.lengths - problem.r
        R = (np.abs(g) >= problem.r) & (problem.r > 0) & (spare > 0)
        R &= rng.random(d) < rng.choice([1.0, 0.6])
        kappa = float((problem.r[R] / spare[R]).min()) if R.any() else float(10.0 ** rng.uniform(-3, 5))
        too_large = 1 + 10.0 ** rng.uniform(-8, -1)
        kappa *= rng.choice([1.0, 1.0, 1 - 1e-14, 1 + 1e-15, too_large, too_large, 2.0, 10.0, rng.random()])
    return Attack(at, x[at], min(kappa, 0.99e6))


def some_scaling(rng, C, F, d):
    """None, nearly the best, or a random one."""
    how = rng.random()
    if how < 0.4 or len(C) < 2:
        return None
    z = 10.0 ** rng.uniform(-2, 2, len(C))
    if how < 0.8:
        own = np.sqrt(np.maximum(C.diagonal(), 1e-300))
        N = np.abs(C) / np.outer(own, own)
        np.fill_diagonal(N, 0.0)
        z = np.maximum(np.abs(np.linalg.eigh(N)[1][:, -1]), 1e-6) if N.max() < 1e6 else z
    return Scaling(F.copy(), z.astype(np.float32))


def some_line(rng, A, w, features, v, *, styles, m, room, robust=True, signs=None):
    """A line that is nearly right: c is the largest eigenvalue of its matrix, or close to it."""
    b, style = len(A), rng.choice(styles)
    weighted_norm = bool(robust and rng.random() < 0.8)
    n = w if weighted_norm else np.ones(b)
    loads, lifts, plain, weighted = np.zeros(b, np.float32), np.zeros(b, np.float32), 0.0, 0.0
    dues = pulls = entries = line_signs = None
    away = np.abs(A[~np.eye(b, dtype=bool)] if b > 1 else A.ravel())
    outer = np.outer(n, n)[~np.eye(b, dtype=bool)] if b > 1 else np.outer(n, n).ravel()
    height = float(rng.choice(away / np.maximum(outer, 1e-9))) * rng.choice([1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 1 + 1e-15])
    size = max(float(np.sort(n * n)[::-1][:m].sum()), 1e-9)
    form = int(rng.choice([THRESHOLD, THRESHOLD, BOX, FREE] if robust or signs is not None else [THRESHOLD, BOX]))
    if style == "threshold":
        plain, weighted = (0.0, height) if weighted_norm else (height, 0.0)
    elif style == "both":
        share = rng.random()
        plain, weighted = height * share, height * (1 - share)
    elif style == "places":
        plain = -float(rng.uniform(0.0, 3.0)) * height if rng.random() < 0.4 else 0.0
        of_each = rng.uniform(0.5, 2.0, b) if rng.random() < 0.3 else np.ones(b)
        loads = ((height - plain) * n * of_each).astype(np.float32)
        lifts = ((height - plain) * size / 2 * of_each * rng.choice([1.0, 1.0, 2.0, 4.0])).astype(np.float32)
    elif style == "dues":
        lead = np.where(np.abs(v) > 1e-3, v, 1.0)
        pulls = (v[None, :] / lead[:, None]).astype(np.float32)
        np.fill_diagonal(pulls, 0.0)
        dues = (rng.random(b) * 0.05 * height * (np.abs(v) > 1e-3)).astype(np.float32)
    box = plain + weighted * np.outer(w, w)
    box = box + 0.5 * (np.outer(loads, n) + np.outer(n, loads)).astype(float)
    G = A.copy()
    if dues is not None:
        taken = dues[:, None].astype(float) * pulls
        G = A - taken - taken.T
        G.flat[:: b + 1] = A.diagonal() - dues * (1.0 - (pulls.astype(float) ** 2).sum(axis=1))
    change = -np.clip(G, -np.maximum(box, 0), np.maximum(box, 0))
    upper = np.triu_indices(b, 1)
    if form == BOX:
        steps = np.divide(change, box, out=np.zeros_like(change), where=box > 0)
        entries = np.clip(np.rint(steps * 32767), -32767, 32767).astype(np.int16)[upper]
        change = box * (np.rint(steps * 32767) / 32767)
    elif form == FREE:
        if signs is not None:
            line_signs = signs.astype(np.int8)
            # Entries that are free on one side: as small as that allows, or anything there.
            same = np.outer(line_signs, line_signs)
            if rng.random() < 0.6:
                change = np.where(same * G < 0, -G, change)
            else:
                change = change + same * np.abs(rng.normal(size=(b, b))) * rng.choice([0.0, 1.0]) * height
            change = np.tril(change, -1) + np.tril(change, -1).T
        entries = change.astype(np.float32)[upper]
        change = change.astype(np.float32).astype(float)
    B = G + change
    B.flat[:: b + 1] = G.diagonal() + lifts - plain - weighted * w * w - loads * n
    c = float(np.linalg.eigvalsh(B)[-1])
    c += room * (float(np.abs(B.diagonal()).sum()) + b * abs(c))
    line = Line(
        features, c, plain, weighted, IN_WEIGHTED_NORM if weighted_norm else IN_PLAIN_NORM, form, loads, lifts, entries,
        line_signs, dues, pulls,
    )  # fmt: skip
    return _changed(rng, line) if rng.random() < 0.2 else line


def _changed(rng, line):
    """The line with one thing better than it may be."""
    by = 10.0 ** rng.uniform(-15, -1)
    how = rng.integers(7)
    if how == 0:
        return replace(line, c=line.c - abs(line.c) * by)
    if how == 1:
        return replace(line, plain=line.plain - abs(line.plain) * by)
    if how == 2:
        return replace(line, weighted=line.weighted - abs(line.weighted) * by - (by if rng.random() < 0.2 else 0.0))
    if how == 3:
        return replace(line, loads=(line.loads * np.float32(1 - by)).astype(np.float32))
    if how == 4:
        return replace(line, lifts=(line.lifts * np.float32(1 + by)).astype(np.float32))
    if how == 5 and line.dues is not None:
        return replace(line, dues=(line.dues * np.float32(rng.choice([-1.0, 1 - by]))).astype(np.float32))
    if how == 6 and len(line.features) > 1 and line.form == THRESHOLD and line.dues is None:
        keep = slice(1, None)  # a line that does not speak of all features
        return replace(line, features=line.features[keep], loads=line.loads[keep], lifts=line.lifts[keep])
    return replace(line, counts=1 - line.counts)


# Rules ----------------------------------------------------------------------------------------------------------------
# Each yields, for every false witness, whether the kernel accepted it; whether it accepts the same witness above the
# truth (a near miss: it was the threshold that was refused), or None where that was not asked; and a description.


def closes(case, T, leaf, node):
    """Whether the kernel accepts a leaf."""
    try:
        check_leaf(Checked(case.data), T, leaf, node.I, node.F, node.p, node.signs)
    except Refused:
        return False
    return True


def leaves(rng, case, node, leaf, count=2):
    """Ask the kernel about one leaf at several thresholds."""
    near = closes(case, node.above(case), leaf, node)
    for T in node.thresholds(rng, count):
        yield closes(case, T, leaf, node), near, (T, leaf, node)


def pays(case, node):
    """Whether what a node includes is demanded or contributes more than it costs: what majorants speak of."""
    data, I = case.data, np.setdiff1d(node.I, case.data.include)
    if not (data.has_costs and data.additive):
        return True
    along = np.abs(data.A @ node.v) / np.sqrt(max(node.v @ data.A @ node.v, 1e-300))
    return bool((np.maximum(along - data.r, 0.0)[I] ** 2 > data.costs[I] * (1 + 1e-9)).all())


def lengths(rng) -> Iterator:
    """Lengths of the features."""
    case = some_case(rng, kinds=("one", "one", "even", "noise"))
    for _ in range(4):
        node = case and some_node(rng, case)
        if node:
            yield from leaves(rng, case, node, LENGTHS, 4)


def _by_majorant(rng, gain):
    case = some_case(rng, kinds=("even", "even", "one", "noise", "indefinite"))
    if case and gain and not (case.data.definite and case.data.r_max > 0):
        return
    for _ in range(2):
        node = case and some_node(rng, case)
        if not node or not pays(case, node):
            return
        for _ in range(8):
            attack = PLAIN if not gain and rng.random() < 0.4 else some_attack(rng, case.data, node.v, gain)
            scaling = None
            if len(node.F) > 1 and rng.random() < 0.7:
                try:
                    C = eliminate(Majorant(case.data, attack), node.above(case), node.I, node.F, node.p)
                    scaling = some_scaling(rng, C, node.F, case.d) if len(C) == len(node.F) else None
                except Refused:
                    pass
            yield from leaves(rng, case, node, Dominance(attack, scaling))


def dominance(rng) -> Iterator:
    """Attacks without gain, closed by dominance."""
    yield from _by_majorant(rng, False)


def gain(rng) -> Iterator:
    """Attacks with a gain, which may be too large."""
    yield from _by_majorant(rng, True)


def matrix(rng) -> Iterator:
    """Lines above the scaled Schur complement."""
    case = some_case(rng, kinds=("even", "even", "noise", "indefinite"))
    for _ in range(2):
        node = case and some_node(rng, case)
        if not node or len(node.F) == 0 or not pays(case, node):
            return
        F = np.sort(node.F)
        for _ in range(8):
            attack = PLAIN if rng.random() < 0.4 else some_attack(rng, case.data, node.v, rng.random() < 0.5)
            T = node.above(case) if rng.random() < 0.7 else float(node.truth) * rng.choice([1.0, 0.9, 0.7])
            try:
                C = eliminate(Majorant(case.data, attack), T, node.I, F, node.p)
                N = definite.scaled_to_unit(C)
            except Refused:
                continue
            if not 0 < len(N) == len(F) or not np.isfinite(N).all() or np.abs(N).max() > 1e6:
                continue
            signs = rng.choice([-1, 1], len(F)) if rng.random() < 0.3 else None
            line = some_line(
                rng, -0.5 * (N + N.T), np.ones(len(F)), F, node.v[F], styles=("threshold", "threshold", "places"),
                m=min(node.p, len(F)), room=rng.choice(_ROOMS), robust=False, signs=signs,
            )  # fmt: skip
            if rng.random() < 0.7:  # what there is too much goes to both sides, or all to one
                prices = np.sort(line.loads.astype(float) ** 2 / np.maximum(4.0 * line.lifts.astype(float), 1e-300))
                prices = prices[::-1] if rng.random() < 0.8 else prices
                count = min(node.p, len(F))
                allowed = -count * max(line.plain + float(prices[:count].sum()), 0.0)
                line = replace(line, c=line.c + (allowed - line.c) * rng.choice([0.5, 0.5, 0.5, 1.0]))
            yield from leaves(rng, case, node, Matrix(attack, line), 3)


def by_envelope(rng) -> Iterator:
    """Lines above the variance."""
    case = some_case(rng, kinds=("even", "even", "even", "one", "noise", "indefinite"))
    for _ in range(2):
        node = case and some_node(rng, case)
        if not node:
            return
        at = np.sort(np.concatenate([node.I, node.F]))
        if rng.random() < 0.3:  # a branch by signs, in which the vector is
            known = rng.random(case.d) < 0.7
            node.signs = (np.sign(node.v) * known * np.isin(np.arange(case.d), at)).astype(np.int8)
        A, w = case.data.A[np.ix_(at, at)], case.data.w[at]
        m = len(node.I) + min(node.p, len(node.F))
        for _ in range(8):
            signs, room = None, rng.choice(_ROOMS)
            if rng.random() < 0.5:
                signs = node.signs[at] if rng.random() < 0.7 else rng.choice([-1, 0, 1], len(at))
            lines = tuple(
                some_line(
                    rng, A, w, at, node.v[at], styles=("threshold", "threshold", "both", "places", "dues", "none"), m=m,
                    room=room, signs=signs,
                )
                for _ in range(int(rng.choice([1, 1, 2, 3])))
            )  # fmt: skip
            yield from leaves(rng, case, node, Envelope(lines))


def _good_leaf(rng, case, T, I, F, p, signs):
    """Something that closes a node at T if it is easy, and whether it does."""
    node = judged(rng, case, I, F, p) if len(I) + len(F) else None
    if node is None:
        return LENGTHS, True
    node.signs, at, known = signs, np.flatnonzero(node.v), []
    if signs.any():
        both = np.sort(np.concatenate([I, F]))
        A, w = case.data.A[np.ix_(both, both)], case.data.w[both]
        known = [
            Envelope((some_line(rng, A, w, both, node.v[both], styles=(style,), m=1, room=1e-13, signs=signs[both]),))
            for style in ("none", "none", "threshold")
        ]
    for leaf in (LENGTHS, Dominance(PLAIN), Dominance(Attack(at, node.v[at])), *known):
        if closes(case, T, leaf, node):
            return leaf, True
    return leaf, False


def _grown(rng, case, T, I, F, p, signs, depth):
    """A tree in preorder, closed wherever that is easy."""
    leaf, closed = _good_leaf(rng, case, T, I, F, p, signs)
    if closed or depth == 0 or len(I) + len(F) == 0:
        return [leaf]
    undecided = [j for j in (*I, *F) if signs[j] == 0]
    if undecided and (len(F) == 0 or rng.random() < (0.7 if signs.any() else 0.2)):
        j = int(rng.choice(undecided))
        nodes: list = [Sign(j)]
        for sign in (1, -1) if signs.any() else (1,):
            known = signs.copy()
            known[j] = sign
            nodes += _grown(rng, case, T, I, F, p, known, depth - 1)
        return nodes
    if len(F) == 0:
        return [leaf]
    j = int(rng.choice(F))
    rest = F[j != F]
    return [
        Feature(j),
        *_grown(rng, case, T, np.append(I, j), rest if p > 1 else rest[:0], p - 1, signs, depth - 1),
        *_grown(rng, case, T, I, rest, p, signs, depth - 1),
    ]


def _mutant(rng, nodes, d):
    """The tree with a node dropped, doubled, moved or replaced; or as it is."""
    nodes, i = list(nodes), int(rng.integers(len(nodes)))
    how = rng.integers(8)
    if how == 0:
        del nodes[i]
    elif how == 1:
        nodes.insert(i, nodes[i])
    elif how == 2:
        j = int(rng.integers(len(nodes)))
        nodes[i], nodes[j] = nodes[j], nodes[i]
    elif how == 3:
        nodes[i] = Feature(int(rng.integers(-1, d + 1)))
    elif how == 4:
        nodes[i] = Sign(int(rng.integers(0, d)))
    elif how == 5:
        nodes[i] = nodes[int(rng.integers(len(nodes)))]
    elif how == 6:
        del nodes[i : i + int(rng.integers(1, 4))]
    return tuple(nodes)


def by_tree(rng) -> Iterator:
    """Trees with a node that no rule closes, and what can be done to them."""
    case = some_case(rng)
    node = case and some_node(rng, case, at_root=True)
    if not node:
        return
    T = next(node.thresholds(rng, 1)) if rng.random() < 0.5 else list(node.thresholds(rng, 4))[-1]
    nodes = _grown(rng, case, T, node.I, node.F, node.p, np.zeros(case.d, np.int8), int(rng.integers(1, 6)))
    for _ in range(20):
        level = Level(case.data.k, T, T, _NONE, _mutant(rng, nodes, case.d))
        try:
            check_tree(Checked(case.data), level, node.I, node.F, node.p)
            accepted = True
        except Refused:
            accepted = False
        yield accepted, None, (level, node)


def by_levels(rng) -> Iterator:
    """Levels with bounds that are too small, features left out, sizes left out."""
    case = some_case(rng, kinds=("one", "one", "even", "noise"), demands=rng.random() < 0.2)
    node = case and some_node(rng, case, at_root=True)
    if not node:
        return
    problem, k = case.data, case.data.k
    everything = np.flatnonzero(problem.allowed)
    below = {}
    for q in range(1, k):
        if len(problem.include) == 0 and len(everything):
            below[q] = judged(rng, case, _NONE, everything, min(q, len(everything))).truth
    trees = {}
    for _ in range(20):
        # No vector at all is worth what the demanded features cost: bounds below zero are false too.
        levels, T = [], list(node.thresholds(rng, 3))[-1] if rng.random() < 0.95 else -float(rng.random())
        if not Fraction(T) < max(node.truth, -sum((case.prices[j] for j in problem.include), Fraction(0))):
            continue
        for q in sorted({q for q in below if rng.random() < 0.7} | {k if rng.random() < 0.97 else max(k - 1, 1)}):
            if q < k:
                truth = float(below.get(q, 0))
                bound = truth + rng.choice([1e-9, 1e-15, 0.0, -1e-16, -1e-9, -0.1, 0.1]) * abs(truth)
            else:
                bound = T
            features = everything
            if rng.random() < 0.5 and len(everything):
                due = max(bound - float(below.get(q - 1, 0)), 0.0)
                margin = rng.choice([1.0, 1 + 1e-15, 1 + 1e-9, 2.0])
                features = everything[~(problem.most[everything] <= due * margin)]
                if rng.random() < 0.2:
                    features = features[rng.random(len(features)) < 0.8]
            key = (q, bound, tuple(features))
            if key not in trees:
                I, p = problem.include, q - len(problem.include)
                F = features[~np.isin(features, I)] if p > 0 else _NONE
                signs, depth = np.zeros(case.d, np.int8), int(rng.integers(0, 3))
                trees[key] = tuple(_grown(rng, case, bound, I, F, p, signs, depth)) if p >= 0 else (LENGTHS,)
            nodes = () if rng.random() < 0.2 else trees[key]
            levels.append(Level(q, float(bound), float(bound), features, nodes))
        try:
            accepted = check_levels(problem, levels) <= T
        except Refused:
            accepted = False
        yield accepted, None, (levels, node)


def semidefinite(rng) -> Iterator:
    """Matrices with a vector on which they are negative, and shifts that are too small."""
    d = int(rng.integers(1, 7))
    L = rng.integers(-4, 5, (d, max(d - 1, 1))).astype(float)
    whole = rng.random() < 0.5
    P = L @ L.T if whole else None
    if P is None:
        Q = rng.normal(size=(d, d))
        P = Q @ Q.T
        P = P - float(np.linalg.eigvalsh(P)[0]) * np.eye(d)
        P = np.tril(P) + np.tril(P, -1).T
    P = np.ldexp(P, int(rng.choice([0, 0, -20, 60])))
    z = np.linalg.eigh(P)[1][:, 0]
    exact = [Fraction(float(x)) for x in z]
    form = sum(a * b * Fraction(float(P[i, j])) for i, a in enumerate(exact) for j, b in enumerate(exact))
    least = -form / sum(a * a for a in exact)  # less of a shift than this is too little
    size = float(np.abs(P).max())
    for _ in range(20):
        shift = just_below(least) - (0.0 if rng.random() < 0.6 else size * 10.0 ** rng.uniform(-18, -1))
        above = float(least) + 1e-12 * max(size, 1e-250)
        yield proves_semidefinite(P, shift), proves_semidefinite(P, above), (P, shift)


def value(rng) -> Iterator:
    """Vectors that are worth less than is said."""
    case = some_case(rng)
    if case is None or not case.data.allowed.any():
        return
    problem = case.data
    for _ in range(12):
        v = rng.normal(size=case.d) * (rng.random(case.d) < 0.7) * problem.allowed
        if rng.random() < 0.5:
            node = some_node(rng, case, at_root=True)
            v = node.v if node else v
        if rng.random() < 0.1:
            v = v * 10.0 ** rng.uniform(-300, 10, case.d)
        at = np.flatnonzero(v)
        try:
            said = problem.value_at_least(at, v[at])
        except Refused:
            continue
        truth = case.worth(v, problem.include)
        near = Fraction(said) > truth - abs(truth) * Fraction(1e-9) - Fraction(1e-12 * problem.top)
        yield Fraction(said) > truth + abs(truth) / 2**150, near, (v, said, truth)


def whole(rng) -> Iterator:
    """Whole certificates, through their bytes."""
    case = some_case(rng, demands=False)
    if case is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        adversary = noap.NoAdversary() if case.terms.rho is None else noap.FeatureWise(case.terms.rho)
        try:
            if case.X is not None:
                problem = noap.Problem(case.X, k=case.terms.k, adversary=adversary, costs=case.terms.costs)
            else:
                problem = noap.Problem.from_covariance(
                    case.S, n_samples=case.terms.n_samples, k=case.terms.k, adversary=adversary, costs=case.terms.costs
                )
                if not np.array_equal(problem.covariance, case.S):
                    return
        except InvalidProblem:
            return
    node = some_node(rng, case, at_root=True)
    if node is None:
        return
    unit = Fraction(4) ** case.data.exponent
    bound = just_below(max(node.truth, Fraction(0)) * unit)
    at = np.flatnonzero(node.v)
    everything = np.arange(case.d)
    for _ in range(12):
        exponent = case.data.exponent + int(rng.choice([0, 0, 0, 1, -1, 15, -40]))
        shift = (0.0 if case.X is not None else case.shift) if rng.random() < 0.8 else rng.choice([None, 0.0, 1e-12])
        T = float(Fraction(bound) / Fraction(4) ** exponent) * rng.choice(
            [1.0, 1 - 1e-9, 1 + 1e-9, 1 + 1e-15, 1 + 1e-13, 1 + 5e-13]
        )
        best = LENGTHS if shift is not None and rng.random() < 0.5 else Dominance(PLAIN)
        if len(at) and shift is not None and rng.random() < 0.5:
            best = Dominance(Attack(at, node.v[at]))
        size = case.terms.k if rng.random() < 0.9 else max(case.terms.k - 1, 1)
        features = everything if rng.random() < 0.8 else everything[rng.random(case.d) < 0.5]
        levels = (Level(size, T, T, features, (best,)),)
        claim = Claim.about(problem, -math.inf, bound)
        claim = replace(claim, value=min(bound, -float(sum(case.prices) * unit)))
        if rng.random() < 0.1:
            claim = replace(claim, k=max(1, claim.k - 1))
        if rng.random() < 0.05:
            claim = replace(claim, n_samples=claim.n_samples + 1)
        certificate = Certificate(
            claim, at, node.v[at], Proof(levels, exponent, None if shift is None else float(shift))
        )
        try:
            certificate = Certificate.from_bytes(certificate.to_bytes())
        except InvalidProblem:
            yield False, None, certificate
            continue
        found = verify_certificate(problem, certificate)
        high = levels[0].bound * (1 + 1e-9) + 1e-12 * case.data.top
        near = None
        if exponent == case.data.exponent:
            raised = replace(
                certificate, claim=replace(claim, bound=math.nextafter(float(Fraction(high) * unit), math.inf))
            )
            raised = replace(raised, proof=Proof((replace(levels[0], bound=high, target=high),), exponent, shift))
            near = verify_certificate(problem, raised).ok
        yield found.ok, near, (certificate, node)


RULES = {
    "lengths": lengths,
    "dominance": dominance,
    "gain": gain,
    "matrix": matrix,
    "envelope": by_envelope,
    "tree": by_tree,
    "levels": by_levels,
    "semidefinite": semidefinite,
    "value": value,
    "verify": whole,
}


# Running --------------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came of the false witnesses of one rule."""

    tried: int = 0
    accepted: int = 0
    near: int = 0
    asked: int = 0
    lies: list = field(default_factory=list)


def run(rule, count, seed):
    """Try so many false witnesses of a rule; those accepted are kept with the number of their case."""
    tally, number = Tally(), 0
    with np.errstate(all="ignore"):
        while tally.tried < count:
            number += 1
            for accepted, near, what in RULES[rule](np.random.default_rng([seed, list(RULES).index(rule), number])):
                tally.tried += 1
                tally.asked += near is not None
                tally.near += bool(near)
                if accepted:
                    tally.accepted += 1
                    tally.lies.append((number, what))
                if tally.tried >= count:
                    break
    return tally


def _plus(A, by):
    np.fill_diagonal(A, A.diagonal() + by)


# What the kernel's error terms are made of, and what takes their place.
TERMS = {"U": 0.0, "TINY": 0.0, "gamma": lambda n: 0.0, "_raise_diagonal": _plus}


@contextmanager
def without_rounding(names=tuple(TERMS)):
    """The kernel without its error terms, or some of them."""
    modules = (arithmetic, data, definite, envelope, majorant, tree)
    terms = {name: TERMS[name] for name in names}
    kept = [(module, name, getattr(module, name)) for module in modules for name in terms if hasattr(module, name)]
    for module, name, _ in kept:
        setattr(module, name, terms[name])
    try:
        yield
    finally:
        for module, name, before in kept:
            setattr(module, name, before)


def table(tallies):
    """One line for each rule."""
    lines = [f"{'rule':14}{'tried':>10}{'accepted':>10}{'near misses':>14}"]
    for rule, tally in tallies.items():
        near = f"{tally.near / tally.asked:.1%}" if tally.asked else "-"
        lines.append(f"{rule:14}{tally.tried:10}{tally.accepted:10}{near:>14}")
    total = sum(tally.tried for tally in tallies.values()), sum(tally.accepted for tally in tallies.values())
    return "\n".join([*lines, f"{'all':14}{total[0]:10}{total[1]:10}"])


def main():
    """Print the table; the exit status says whether anything was accepted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000, help="false witnesses of all rules together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rule", choices=RULES, action="append", help="these rules only")
    parser.add_argument("--without-rounding", action="store_true", help="attack the kernel without its error terms")
    parser.add_argument("--without", choices=TERMS, action="append", default=[], help="without these alone")
    given = parser.parse_args()
    rules = given.rule or list(RULES)
    tallies = {}
    for rule in rules:
        with without_rounding(tuple(TERMS) if given.without_rounding else given.without):
            tallies[rule] = run(rule, given.count // len(rules), given.seed)
        for number, what in [] if given.without_rounding or given.without else tallies[rule].lies[:3]:
            print(f"{rule}, case {number}: {what}")
    print(table(tallies))
    return int(any(tally.accepted for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
