r"""Re-prove a bound by the relaxation: largest eigenvalues by factorisations, and for every leaf what places cost.

Let v be a unit vector and t = |v|_1^2. For any symmetric B, and lambda, q >= 0 for every feature, with
:math:`|B_{ij} - A_{ij}| \le \mu + (\lambda_i + \lambda_j)/2` off the diagonal,
:math:`A_{ii} + q_i - B_{ii} \le \mu + \lambda_i` on it, and :math:`B \preceq cI`, c >= 0,

.. math:: |Xv|^2/n \le c + \mu t + \sum_{v_i \ne 0} \big(\lambda_i |v_i| \sqrt t - q_i v_i^2\big)
   \le c + \Big(\mu + \sum_{v_i \ne 0} \tau_i\Big) t , \qquad \tau_i = \lambda_i^2 / (4 q_i) .

Where features have budgets of their own, t is :math:`(\sum_i w_i |v_i|)^2` with :math:`w_i = \rho_i/r`, r the largest
of them, the distances of entries are counted in :math:`w_i w_j`, :math:`\lambda_i` counts :math:`w_j` times, and t lies
between the least :math:`w_i^2` and the k largest, summed.

A leaf speaks of vectors on some features, of which all but p have their place: the sum is at most that of the latter
and the p largest tau of the others. The distance is then at most :math:`\sqrt{c + \sigma t} - \rho\sqrt t`. Its
derivative has the sign of :math:`t\sigma(\sigma - \rho^2) - \rho^2 c`, which changes at most once and then from - to
+: on an interval it is largest at an end. So [1, k] may be cut anywhere, and each piece may take any line.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.relaxation.costs import CostedLine, less_pulls, most_above
from noap.checker.relaxation.eigenvalues import largest_eigenvalue
from noap.linalg.outward import UNIT, down, gamma, scaled_up, up
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.parts import parts
from noap.proofs.relaxation import CORE, LEAF, SOFT, RelaxationProof

__all__ = ["Proved", "check_relaxation", "left_out", "proved"]

# Numbers of eight bytes that an inequality takes beside its prices, and a line in a leaf; and elementary operations for
# that line beside those for every feature.
_KEPT, _LINE_KEPT, _LINE = 40.0, 40.0, 4000.0
# Matrices of numbers of eight bytes that are there at once.
_MATRICES = 11.0
# And more of them where there are pulls; and numbers that one line of a leaf with costs takes for every feature.
_OF_PULLS, _COSTED_LINE = 6.0, 200.0


class Proved(NamedTuple):
    """What one matrix proves of the vectors on its features; prices are tau, infinite for all other features.

    c is at least the largest eigenvalue of the matrix, or what else was asked for in its place.
    """

    c: float
    mu: float
    prices: FloatArray
    dues: FloatArray | None = None


# Numbers out of range become infinite, which proves nothing; nobody is to be told on the way.
@np.errstate(all="ignore")
def check_relaxation(data: GramData, k: int, proof: RelaxationProof, allowance: Allowance) -> tuple[float, str | None]:
    """Return a bound on the optimum in the units of `data`, rounded up, and None; or inf and the reason why not."""
    reason = proof.broken_tree()
    if reason is not None:
        return math.inf, reason
    costed, features = isinstance(proof, CostedRelaxationProof), proof.features.astype(np.int64)
    if data.terms.cost[features].any() and not costed:
        return math.inf, "its kind of proof is not about costs"
    if left_out(data, features):
        return math.inf, "it leaves out features that are long enough to matter"
    if len(features) == 0:
        return 0.0, None
    m, budgets = len(features), data.terms.r_lo[features]
    if budgets.any() and not budgets.all():
        return math.inf, "its kind of proof is about a budget for every feature, or none at all"
    largest = float(budgets.max())
    w = budgets / largest if largest > 0 else np.ones(m)
    allowance.keep((_KEPT + (2 * m if costed else m)) * len(proof.kinds))
    allowance.need((_MATRICES + (_OF_PULLS if costed else 0.0)) * m * m)
    A = data.A[np.ix_(features, features)]
    known: list[Proved | None] = []
    at = pulled = 0
    for number in range(len(proof.kinds)):
        allowance.check()
        size = int(proof.starts[number + 1]) - int(proof.starts[number])
        known.append(proved(data, A, w, proof, number, at, allowance, pulled))
        at += size * (size + 1) // 2
        if isinstance(proof, CostedRelaxationProof):
            pulled += int(proof.pull_counts[proof.starts[number] : proof.starts[number + 1]].sum(dtype=np.int64))
    # Each rho_i is at least this times its weight, which was rounded once.
    budget = down(largest) if not (w == 1.0).all() else largest
    squares = np.sort(w)[::-1] ** 2
    span = down(float(squares[-1])), up(float(squares[: min(k, m)].sum()), m + 4)
    if (w == 1.0).all():
        span = 1.0, float(min(k, m))
    costs = (data.terms.cost[features], w) if costed else None
    return _leaves(known, budget, span, min(k, m), m, proof, allowance, costs)


def left_out(data: GramData, features: IntArray) -> bool:
    """Return whether a feature that could be worth something is not among these."""
    others = np.ones(len(data.norms), dtype=np.bool_)
    others[features] = False
    return bool((data.norms > data.terms.entry)[others].any())


def _leaves(
    known: list[Proved | None],
    r: float,
    span: tuple[float, float],
    k: int,
    m: int,
    proof: RelaxationProof,
    allowance: Allowance,
    costs: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[float, str | None]:
    """Return the largest bound of a leaf, every node of the tree with the features that its ancestors leave it."""
    worst, at = 0.0, 0
    every = np.ones(m, dtype=np.bool_)
    stack: list[tuple[BoolArray, BoolArray]] = [(~every, every)]
    for branch, count in _nodes(proof):
        allowance.spent(_LINE + 40.0 * m)
        included, allowed = stack.pop()
        places = k - int(included.sum())
        free: BoolArray = allowed & ~included if places else np.zeros(m, dtype=np.bool_)
        if branch != LEAF:
            if not free[branch - 1]:
                return math.inf, "it branches on a feature that is decided already"
            taken, rest = included.copy(), allowed.copy()
            taken[branch - 1], rest[branch - 1] = True, False
            allowance.need(2.0 * m * len(stack) / 8)
            stack += [(included, rest), (taken, allowed)]
            continue
        if costs is not None:
            allowance.need(_COSTED_LINE * m + (_LINE_KEPT + 2 * m) * count)
            for _ in range(count):
                allowance.spent(_COSTED_LINE * (_LINE + 40.0 * m))
            used = [known[number] for number in proof.used[at : at + count]]
            at += count
            worth = _worth(used, included, free, places, r, *costs)
            if worth is None:
                return math.inf, "no factorisation confirms any of the lines of a leaf"
            worst = max(worst, worth)
            continue
        allowance.need(_LINE_KEPT * count)
        lines = []
        for number in proof.used[at : at + count]:
            allowance.spent(_LINE + 40.0 * m)
            line = _line(known[number], included, free, places)
            if line is not None:
                lines.append(line)
        at += count
        if not lines:
            return math.inf, "no factorisation confirms any of the lines of a leaf"
        worst = max(worst, _above(lines, r, *span))
    return worst, None


def _worth(
    used: list[Proved | None],
    included: BoolArray,
    free: BoolArray,
    places: int,
    r: float,
    costs: FloatArray,
    w: FloatArray,
) -> float | None:
    """Return what the lines of a leaf say of the vectors that use all included features; None if that is nothing."""
    some: BoolArray = included | free
    if not some.any():  # nobody is there
        return 0.0
    lines = []
    for one in used:
        # Features that the inequality does not speak of cost infinitely much; all that may be used must be spoken of.
        if one is None or not np.isfinite(one.prices[some]).all():
            continue
        dues = np.zeros(len(costs)) if one.dues is None else one.dues
        lines.append(
            CostedLine(one.c, max(one.mu, 0.0), one.prices[some], dues[some], costs[some], included[some], places)
        )
    return most_above(lines, r, w[some]) if lines else None


def _nodes(proof: RelaxationProof) -> Iterator[tuple[int, int]]:
    """Yield what each node branches on and how many inequalities it uses."""
    for part in parts(len(proof)):
        yield from zip(proof.branches[part].tolist(), proof.counts[part].tolist(), strict=True)


def _line(one: Proved | None, included: BoolArray, free: BoolArray, places: int) -> tuple[float, float] | None:
    """Return (c, sigma) of a leaf: what the included features and so many of the free ones cost, rounded up."""
    if one is None:
        return None
    dearest = np.sort(one.prices[free])[::-1]
    # Features that the inequality does not speak of cost infinitely much; all that are free must be spoken of.
    if len(dearest) and not math.isfinite(dearest[0]):
        return None
    total = float(one.prices[included].sum()) + float(dearest[:places].sum())
    sigma = max(up(one.mu + total * (1.0 + gamma(len(free) + 4))), 0.0)
    return (one.c, sigma) if math.isfinite(sigma) else None


def proved(
    data: GramData,
    A: FloatArray,
    w: FloatArray,
    proof: RelaxationProof,
    number: int,
    at: int,
    allowance: Allowance,
    pulled: int = 0,
    largest: Callable[[FloatArray, Allowance], float | None] = largest_eigenvalue,
) -> Proved | None:
    """Return what a matrix of the proof proves, None if that is nothing; w are the weights of the features.

    `largest` says what c is of the matrix.
    """
    m, least = len(A), float(w.min()) ** 2
    if proof.kinds[number] == SOFT:
        mu = min(scaled_up(float(proof.slopes[number]), -2 * data.exponent), 1e300)
        # One number where all weights are 1: there are many features here.
        weights = np.outer(w, w) if least < 1.0 else np.ones(1)
        B: FloatArray = A - np.clip(A, -mu * weights, mu * weights)
        # One subtraction and two divisions, exact entries of B, and A within eps of what it stands for.
        away = up(float((np.abs(B - A) / weights).max()))
        far = away + up((UNIT * float(np.abs(A).max()) + data.eps) / least)
        c = largest(B, allowance)
        return None if c is None else Proved(c, far, np.zeros(m))
    chosen = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
    places: IntArray = proof.places[chosen].astype(np.int64)
    unit = min(scaled_up(float(proof.unit[0]), -2 * data.exponent), 1e300)
    size = len(places)
    B = np.zeros((size, size))
    # Any numbers will do for these three, rounded or not, as long as the same ones are used from here on.
    loads, lifts = (np.ldexp(numbers[chosen], -2 * data.exponent) for numbers in (proof.loads, proof.lifts))
    B[np.triu_indices(size)] = proof.entries[at : at + size * (size + 1) // 2].astype(np.float64) * unit
    B = B + np.triu(B, 1).T
    costed = isinstance(proof, CostedRelaxationProof)
    if proof.kinds[number] == CORE:
        if costed:
            return None  # nothing is proved of a core whose features cost something
        B, loads, lifts = _completed(data, A, w, proof, number, places, B, loads, lifts)
        places = np.arange(m)
    block, off, dues = A if len(places) == m else A[np.ix_(places, places)], 0.0, None
    if isinstance(proof, CostedRelaxationProof):
        dues = np.zeros(m)
        dues[places] = np.ldexp(proof.dues[chosen], -2 * data.exponent)
        block, off = less_pulls(block, dues[places], _pulls(proof, chosen, pulled))
    mu = _excess(B, block, loads, lifts, w[places]) + up((data.eps + off) / least)
    if not (np.isfinite(B).all() and math.isfinite(mu)):
        return None
    c = largest(B, allowance)
    if c is None:
        return None
    prices: FloatArray = np.full(m, math.inf)
    prices[places] = _prices(loads, lifts)
    return Proved(c, mu, prices, dues)


def _pulls(proof: CostedRelaxationProof, chosen: slice, pulled: int) -> FloatArray:
    """Return the pulls of an inequality, row by row, with 0 for themselves."""
    counts: IntArray = proof.pull_counts[chosen].astype(np.int64)
    some = slice(pulled, pulled + int(counts.sum()))
    pulls = np.zeros((len(counts), len(counts)))
    pulls[np.repeat(np.arange(len(counts)), counts), proof.pull_places[some].astype(np.int64)] = proof.pulls[some]
    return pulls


def _completed(
    data: GramData,
    A: FloatArray,
    w: FloatArray,
    proof: RelaxationProof,
    number: int,
    core: IntArray,
    inner: FloatArray,
    own_loads: FloatArray,
    own_lifts: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the matrix of all features with its loads and lifts: as given on the core, thresholds of A outside it.

    Any numbers would do: what they come to is measured afterwards.
    """
    cut, load, lift = (
        min(scaled_up(one, -2 * data.exponent), 1e300) for one in (float(proof.slopes[number]), *proof.outside(number))
    )
    loads, lifts = load * w, lift * w * w
    loads[core], lifts[core] = own_loads, own_lifts
    # Sums of two products that trade places: symmetric to the last bit.
    height = np.outer(loads, w)
    height = 0.5 * (height + height.T)
    height += (cut - load) * np.outer(w, w)
    np.maximum(height, 0.0, out=height)
    B: FloatArray = A - np.clip(A, -height, height)
    B.flat[:: len(A) + 1] = A.diagonal() + lifts - loads * w - (cut - load) * w * w
    B[np.ix_(core, core)] = inner
    return B, loads, lifts


def _excess(B: FloatArray, A: FloatArray, loads: FloatArray, lifts: FloatArray, w: FloatArray) -> float:
    """Return the least mu that the entries of B allow, rounded up; inf where there is none. No weight exceeds 1."""
    over = np.abs(B - A) - 0.5 * (loads[:, None] * w[None, :] + w[:, None] * loads[None, :])
    over.flat[:: len(A) + 1] = (A.diagonal() + lifts) - B.diagonal() - loads * w
    over /= np.outer(w, w)
    # Each of at most seven operations is off by an ulp of what these may come to together.
    sizes = float(np.abs(B).max()) + float(np.abs(A).max()) + float(loads.max()) + float(lifts.max())
    mu = float(over.max()) + up(16.0 * UNIT * sizes / float(w.min()) ** 2)
    return mu if math.isfinite(mu) else math.inf


def _prices(loads: FloatArray, lifts: FloatArray) -> FloatArray:
    """Return at least lambda^2/(4 q): what lambda x - q x^2 is at most; infinite where q is 0 and lambda is not."""
    prices: FloatArray = np.where(loads > 0, math.inf, 0.0)
    # Squares and quotients that leave the range of floats are taken for infinite, those that vanish are not 0.
    usable = (loads > 0) & (lifts > 1e-290) & (lifts < 1e300) & (loads < 1e150)
    prices[usable] = loads[usable] * (loads[usable] / (4.0 * lifts[usable])) * (1.0 + 8.0 * UNIT) + 1e-300
    return prices


def _above(lines: list[tuple[float, float]], r: float, least: float, most: float) -> float:
    """Return at least the largest (sqrt(c + sigma t) - r sqrt(t))_+^2 for t between these, piece by piece."""
    # From the steepest to the flattest: each is the lowest from some t on. Any pieces would be right.
    pieces: list[tuple[float, float, float]] = []
    for c, sigma in sorted(lines, key=lambda line: (-line[1], line[0])):
        start = -math.inf
        while pieces:
            before, other, slope = pieces[-1]
            if sigma < slope:
                start = (c - other) / (slope - sigma)
                if start > before:
                    break
            elif c >= other:
                start = math.inf
                break
            pieces.pop()
            start = -math.inf
        if start < most:
            pieces.append((start, c, sigma))
    first = max(number for number, (start, _, _) in enumerate(pieces) if start <= least)
    ends = [*(start for start, _, _ in pieces[first + 1 :]), most]
    worst, left = 0.0, least
    for right, (_, c, sigma) in zip(ends, pieces[first:], strict=True):
        for t in (left, right):
            distance = up(math.sqrt(up(c + sigma * t))) - down(r * down(math.sqrt(t)))
            if not distance <= worst:
                worst = distance
        left = right
    return up(worst * worst) if math.isfinite(worst) else math.inf
