r"""One node of the search: tighten, test, and say how to branch.

A node is a set of pairs (u, S): a unit direction u and a support S of at most k features. Its included features lie
in S, each with a sign (of a_j'u; 0 if unknown) and an interval lo <= s_j <= hi for s_j = |a_j'u|; a free feature may
lie in S, and if it does, s_j <= ceil_j. The node is closed once no pair in it is worth more than T, where a pair is
worth the sum over S of f_j(s_j): (s_j - rho_j)_+^2 less the feature's cost, or 0 where that is negative.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noap.exact.feature_wise.kernels.attack import chord_columns, climb, respond
from noap.exact.feature_wise.kernels.dominance import CLOSED, FREE_FAILS, STORED, dominance
from noap.exact.feature_wise.kernels.schur import UNDECIDED, pairs_hold, scaled, schur
from noap.exact.feature_wise.kernels.semidefinite import MOST
from noap.exact.feature_wise.kernels.tighten import eigen_slab, tighten
from noap.exact.feature_wise.kernels.worth import chord, worth
from noap.runtime.kernels import kernel, part

# What to do with a node. DONE comes with AGAIN when a vector better than the target was found in it.
DONE, BRANCH_FEATURE, BRANCH_SIGN, BRANCH_INTERVAL, BRANCH_EACH = 0, 1, 2, 3, 4
AGAIN = -2
# The node is left for the semidefinite test, which is called for apart: few problems ever need it compiled.
SEMIDEFINITE = 5
# Nothing is known of the node yet.
OPEN = -1
# How many features to name for a branch in several ways, and the ratio of the dominance test below which an attack is
# near to closing a node.
WAYS, NEAR = 8, 1.3
# Tests are numbered 0 (chords) to 4; this stands for none.
NO_TEST = -1
# Not a Python integer: to Numba that is a type of its own, for which it would compile the callees once more.
NOWHERE = np.int64(-1)


class Data(NamedTuple):
    """The instance: the Gram matrix A of its columns a_j, what they are worth, the size of a support.

    `scale` is that of rounding. `below` has proved bounds on the optima of 0, 1, ..., k - 1 features; it is empty where
    there are none. `bent` tells whether there is a budget or a cost, so that worths are not just squares; `uneven` is 1
    where features have different budgets, or costs, and 0 where they have not.
    """

    A: Any
    terms: Any
    k: Any
    scale: Any
    below: Any
    bent: Any
    uneven: Any


class Pairs(NamedTuple):
    """The arrays of a node: features, signs and intervals of the included, features and ceilings of the free."""

    inc: Any
    sign: Any
    lo: Any
    hi: Any
    free: Any
    ceil: Any


class Work(NamedTuple):
    """What is written to: the node's own vector, the best one met, loadings, and the arrays of the Schur test."""

    v: Any
    best_v: Any
    g: Any
    S: Any
    W: Any
    fails: Any
    scalings: Any


class Leaves(NamedTuple):
    """What is told of the leaves that closed: feature, test, nu, and weights on the features of inc and their own."""

    features: Any
    tests: Any
    nus: Any
    weights: Any


@kernel
def examine(data, T, g_best, spread_best, pairs, work, leaves, strong):
    """Tighten and test one node, its arrays narrowed in place, and, where one feature is missing, look at its leaves.

    With p = 1 a node that stays open has one leaf per feature that failed. Most of them close at once, so they are
    looked at here; only the ones that stay open are left in `free`. For the proof, `leaves` tells of those that closed;
    a leaf's weights are the roots of the slopes of the chords, or the leaf's own vector.

    Returns (action, argument, n_free, distance, nodes, test, nu, closed): what to do, on which feature (position in inc
    or free), how many free features are left, the distance of best_v, the best vector met (v is the node's own), how
    many nodes were looked at, the test that closed the node or dropped features from it, with its nu, and how many
    leaves closed. For BRANCH_EACH, the first n_free entries of free are the ones to try; for BRANCH_FEATURE with p >= 3
    the argument is 0 and the first WAYS of them are the ones to branch on, best first. There is a row of
    scalings for each test, for the dominance tests to start from and to leave behind. With `strong`, at rho = 0, the
    action is SEMIDEFINITE where dominance fails, and S is left scaled for that test.

    First Step 1, Caps, of docs/exact.md to Step 3, The eigenvector slab, of docs/exact.md in `tighten` and
    `eigen_slab`; then Step 4, The Schur test, of docs/exact.md in `schur`, `pairs_hold` and `dominance`, on the columns
    of `chord_columns` and `respond`; and what is returned is Step 6, Branching, of docs/exact.md.

    One loop over the node and its leaves, with every call in one place: Numba makes the code of all that a kernel calls
    anew in each of its callers, and types a function that calls itself several times over.
    """
    A, terms, k, scale, below, bent, uneven = data
    v, best_v, g, S, W, fails, scalings = work
    n = A.shape[0]
    w = np.empty(n)
    one, own = pairs, v
    node = (DONE, NOWHERE, 0, -1.0, NO_TEST, 0.0)
    farthest, kept, n_closed = -1.0, 0, 0
    for turn in range(1 + pairs.free.shape[0]):
        inc, sign, lo, hi, free, ceil = one
        n_inc, n_free = inc.shape[0], free.shape[0]
        p = k - n_inc
        action, argument, distance, by, gained = OPEN, NOWHERE, -1.0, NO_TEST, 0.0
        tau, carried, n_high, spread = 0.0, 0.0, 0, 1.0
        for _ in range(3):
            closed, n_free, U, carried, n_high = tighten(
                A, terms, T, p, below, inc, sign, lo, hi, n_inc, free, ceil, n_free, w, tau
            )
            if closed:
                action = DONE
                break
            signed = n_inc >= 2
            rest = U
            for a in range(n_inc):
                signed = signed and sign[a] != 0
                rest -= worth(hi[a], terms.rho[inc[a]], terms.cost[inc[a]])
            tau = eigen_slab(A, terms, T, inc, sign, lo, hi, n_inc, max(rest, 0.0), n, w) if signed else 0.0
            if tau == 0.0:
                break

        if action == OPEN:
            if n_inc == 0:
                for i in range(n):
                    g[i] = g_best[i]
            elif tau > 0.0:
                for i in range(n):
                    g[i] = w[i]
            else:
                length = math.sqrt(A[inc[0], inc[0]])
                for i in range(n):
                    g[i] = A[inc[0], i] / length
            distance, spread = climb(A, terms, k, inc, n_inc, free, n_free, g, 8, own)
            if distance > 0.0 and distance * distance > T:
                action, argument = DONE, AGAIN

        if action == OPEN:
            # A Cholesky factorisation that succeeds is exact for a matrix within k (k + 3) ulps of the given one,
            # relative to its largest entries; the Gram entries themselves carry a few ulps of `scale`. Four times that,
            # per unit.
            ulps = 4.0 * k * (k + 3) * 1.2e-16
            idx = np.empty(n_inc + n_free, dtype=np.int64)
            for a in range(n_inc):
                idx[a] = inc[a]
            for f in range(n_free):
                idx[n_inc + f] = free[f]
            kap, dlt = np.empty(n_inc + n_free), np.empty(n_inc + n_free)
            alt, alpha, leans, root = np.empty(n_free), np.empty(n_free), np.empty(n_free), np.empty(n_free)
            best_measure, best_worst, best_test, best_nu, nu = np.inf, NOWHERE, NO_TEST, 0.0, 0.0
            best_fails = np.empty(n_free, dtype=np.bool_)
            # The chords first: cheap, and all there is at rho = 0. Then attacks: in response to the incumbent (1, 2)
            # and to this node's own vector (3, 4), each with the gain at its best and at nu = 0.
            unsigned = -1
            for a in range(n_inc):
                if sign[a] == 0 and (unsigned < 0 or A[inc[a], inc[a]] < A[inc[unsigned], inc[unsigned]]):
                    unsigned = a
            tests = 1 if terms.largest == 0.0 else 5
            spent = 0.0
            for a in range(n_inc):
                spent += terms.cost[inc[a]]
            for attempt in range(tests + 1):
                # Tests that look hopeless are only glanced at. If all that is left to branch by is one of them, it is
                # run after all.
                glance = attempt < tests
                test = attempt if glance else best_test
                near = best_test > 0 and best_measure <= NEAR
                if not glance and (best_test == NO_TEST or best_worst >= 0 or (unsigned >= 0 and bent and not near)):
                    break
                if test >= 3 and (distance < 0.0 or n_inc == 0):
                    continue  # the adversary cancels this node's own vector, or it is the incumbent again
                lean = g_best if test < 3 else g
                if test == 0:
                    offsets = chord_columns(
                        terms, inc, lo, hi, n_inc, free, ceil, n_free, n_high, carried, kap, dlt, alt
                    )
                    threshold, tilt = T - offsets, 0.0
                    room = ulps * (threshold + scale)
                else:
                    D, nu = respond(
                        A, terms, T, lean, inc, lo, hi, n_inc, free, ceil, n_free, test % 2 == 1, kap, dlt, alt
                    )
                    # What an included feature costs is taken off whatever u is.
                    threshold, tilt = T + spent + D, D / (T + spent)
                    # Columns outside R are longer by 1 + r nu, squared, and so are their rounding errors. With a budget
                    # for all, those of w are no larger.
                    grown = (spread_best if test < 3 else spread) * (1.0 + uneven * tilt)
                    room = ulps * (threshold + (1.0 + terms.largest * nu) * scale * grown)
                verdict, worst, measure = schur(
                    A, lean, kap, dlt, alt, idx, n_inc, n_free, threshold, tilt, p, room,
                    S, W, fails, alpha, leans, root,
                )  # fmt: skip
                if verdict == UNDECIDED and p == 2:
                    verdict, worst, measure = pairs_hold(
                        A, idx, kap, dlt, alpha, leans, tilt, W, n_inc, n_free, S, fails
                    )
                elif verdict == UNDECIDED:
                    verdict, worst, measure = dominance(
                        A, idx, kap, dlt, alpha, leans, root, tilt, W, n_inc, n_free, p, S, scalings[test], glance,
                        STORED,
                    )  # fmt: skip
                    left_open = strong and verdict != CLOSED and test == 0 and n_free <= MOST
                    if left_open and scaled(A, idx, kap, dlt, alpha, leans, root, tilt, W, n_inc, n_free, S):
                        action, by, gained = SEMIDEFINITE, test, nu
                        break
                if verdict == CLOSED:
                    action, by, gained = DONE, test, nu
                    break
                if verdict == FREE_FAILS and (measure < best_measure or not glance):
                    best_measure, best_worst, best_test, best_nu = measure, worst, test, nu
                    for f in range(n_free):
                        best_fails[f] = fails[f]

            # Signs come first: without them an included feature narrows nothing. But at rho = 0 the tests do not see
            # them, and an attack that nearly closes the node needs no narrowing: every sign to split would double the
            # tree.
            near = best_test > 0 and best_measure <= NEAR
            if action != OPEN:
                pass
            elif unsigned >= 0 and (best_worst < 0 or (bent and not near)):
                action, argument = BRANCH_SIGN, unsigned
            elif best_worst >= 0:
                action, argument, by, gained = BRANCH_FEATURE, best_worst, best_test, best_nu
                if p > 2:
                    rank(free, ceil, n_free, best_worst, scalings[best_test])
                    argument, by = 0, NO_TEST  # it dropped nothing
                else:
                    left = 0
                    for f in range(n_free):
                        if best_fails[f]:
                            if f == best_worst:
                                argument = left
                            free[left], ceil[left] = free[f], ceil[f]
                            left += 1
                    n_free = left
                    if p == 1:
                        action = BRANCH_EACH
            else:
                action, argument = BRANCH_INTERVAL, interval_to_split(terms, g, inc, lo, hi, n_inc)

        if turn == 0 or distance > farthest:
            farthest = distance
            for i in range(n):
                best_v[i] = own[i]
        if turn == 0:
            if action != BRANCH_EACH:
                return action, argument, n_free, distance, 1, by, gained, 0
            node = (action, argument, n_free, distance, by, gained)
            one = Pairs(
                np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64), np.empty(k), np.empty(k),
                np.empty(0, dtype=np.int64), np.empty(0),
            )  # fmt: skip
            own = np.empty(n)
        elif action != DONE or argument == AGAIN:
            pairs.free[kept], pairs.ceil[kept] = pairs.free[turn - 1], pairs.ceil[turn - 1]
            kept += 1
        else:
            leaves.features[n_closed], leaves.tests[n_closed], leaves.nus[n_closed] = inc[k - 1], by, gained
            for a in range(k):
                if by == 0:
                    slope, _ = chord(lo[a], hi[a], terms.rho[inc[a]], terms.cost[inc[a]])
                    leaves.weights[n_closed, a] = math.sqrt(slope)
                else:
                    leaves.weights[n_closed, a] = own[inc[a]]
            n_closed += 1
        if turn == node[2]:
            break
        for a in range(k - 1):
            one.inc[a], one.sign[a], one.lo[a], one.hi[a] = pairs.inc[a], pairs.sign[a], pairs.lo[a], pairs.hi[a]
        one.inc[k - 1], one.hi[k - 1] = pairs.free[turn], pairs.ceil[turn]
        one.lo[k - 1] = terms.entry[pairs.free[turn]]
        one.sign[k - 1] = 1 if k == 1 else 0
    action = BRANCH_EACH if kept else DONE
    return action, node[1], kept, farthest, 1 + node[2], node[4], node[5], n_closed


@part
def interval_to_split(terms, g, inc, lo, hi, n_inc):
    """Return the included feature whose chord loses most, -1 if there is none: which one is chosen proves nothing.

    Step 6, Branching, of docs/exact.md.
    """
    split, widest = -1, 0.0
    for a in range(n_inc):
        if hi[a] - lo[a] <= 1e-8 * hi[a]:
            continue
        rho, cost = terms.rho[inc[a]], terms.cost[inc[a]]
        alpha, beta = chord(lo[a], hi[a], rho, cost)
        s = min(max(abs(g[inc[a]]), lo[a]), hi[a])
        middle = 0.5 * (lo[a] + hi[a])
        # Mostly what the chord loses at this node's own vector; a little of what it loses at most breaks the ties.
        lost = alpha * middle * middle + beta - worth(middle, rho, cost)
        excess = alpha * s * s + beta - worth(s, rho, cost) + 0.1 * lost
        if excess > widest:
            split, widest = a, excess
    if split < 0:
        for a in range(n_inc):
            if hi[a] - lo[a] > widest:
                split, widest = a, hi[a] - lo[a]
    return split


@kernel
def rank(free, ceil, n_free, first, weight):
    """Put free feature number `first` in front, and behind it those with the largest weights.

    Step 6, Branching, of docs/exact.md.
    """
    for place in range(min(WAYS, n_free)):
        top = place
        if place == 0:
            top = first
        else:
            for f in range(place + 1, n_free):
                if weight[free[f]] > weight[free[top]]:
                    top = f
        free[place], free[top] = free[top], free[place]
        ceil[place], ceil[top] = ceil[top], ceil[place]
