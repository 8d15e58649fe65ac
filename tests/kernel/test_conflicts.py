"""What features of a good choice demand of each other, chords, and how small claims cover a graph."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from kernel_judge import Truth, exact, roots, smallest

from noap.kernel.arithmetic import Refused
from noap.kernel.conflicts import Cover, Demands, kept_features, pairs
from noap.kernel.data import Columns, Data, Terms
from noap.kernel.tree import check_levels
from noap.kernel.witness import LENGTHS, PLAIN, Chord, Dominance, Feature, Level, SmallClaim

NONE = np.empty(0, np.intp)


def data_with(A, k, rho=None, costs=None, exclude=()):
    terms = Terms(k, 1, rho, costs, exclude=np.array(exclude, np.intp))
    return Data(np.asarray(A, dtype=float), terms, 0, True, 0.0)


def accepted(check, *arguments):
    try:
        check(*arguments)
    except Refused:
        return False
    return True


def by_conflicts(q, T, order=(), claims=(), target=None):
    return Level(q, T, T if target is None else target, NONE, (), True, np.array(order, np.intp), tuple(claims))


def claim(features, nodes=(), rooted=True, kept=None):
    return SmallClaim(rooted, np.array(features, np.intp), len(features) if kept is None else kept, tuple(nodes))


def drawn(rng, d, n):
    """Columns in few dimensions, of which a random unit vector sees some; budgets and costs."""
    a = rng.standard_normal((d, n)) + rng.uniform(0, 2) * rng.standard_normal(n)
    r = rng.uniform(0, 1, d) if rng.random() < 0.7 else np.full(d, rng.uniform(0, 1))
    costs = rng.uniform(0, 0.5, d) if rng.random() < 0.5 else np.zeros(d)
    return a, r * (rng.random() < 0.8), costs


def test_no_choice_is_lost():
    """Of a choice seen by some u, with what fewer of its features contribute there: as tight as demands can be."""
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(4000):
        d, n = int(rng.integers(3, 7)), int(rng.integers(1, 4))
        a, r, costs = drawn(rng, d, n)
        u = rng.standard_normal(n)
        u /= np.linalg.norm(u)
        f = np.maximum(np.abs(a @ u) - r, 0.0) ** 2 - costs
        q = int(rng.integers(2, d + 1))
        S = np.flatnonzero(f > 0)[np.argsort(-f[f > 0])][:q]
        if len(S) < 2:
            continue
        sums = np.concatenate([[0.0], np.cumsum(f[S]), np.full(q - len(S), f[S].sum())])
        T = float(f[S].sum()) * (1 - 1e-12)
        A = a @ a.T
        A = 0.5 * (A + A.T) + 1e-14 * np.trace(A) * np.eye(d)
        demands = Demands(data_with(A, q, r, costs), T, sums * (1 + 1e-15), q)
        assert demands.size <= len(S)
        assert demands.fits[S].all()
        i, j = np.array(list(combinations(S, 2))).T
        assert demands.fit(np.abs(A[i, j]), 0.0, i, j).all()
        assert (demands.floors[S] <= np.abs(a[S] @ u)).all()
        seen += 1
    assert seen > 2000


def true_least(L, m, r, costs, two):
    """Bounds below which two features do not fit, in rationals: of half-spaces, and of the sum (None: no bound)."""
    L, m, r, costs = (exact(x) for x in (L, m, r, costs))
    reach = m[0] * m[1] - roots(L[0] ** 2 - m[0] ** 2)[0] * roots(L[1] ** 2 - m[1] ** 2)[0]
    slope = [1 - 2 * r[i] / (L[i] + m[i]) for i in (0, 1)]
    back = [costs[i] + 2 * r[i] * m[i] * L[i] / (L[i] + m[i]) - r[i] ** 2 for i in (0, 1)]
    x = [exact(two) + back[0] + back[1] - slope[i] * L[i] ** 2 for i in (0, 1)]
    if min(x) <= 0 or min(slope) <= 0:
        return reach, None
    return reach, roots(x[0] * x[1] / (slope[0] * slope[1]))[0]


def test_pairs_to_the_last_digits():
    rng = np.random.default_rng(1)
    sums = 0
    for _ in range(400):
        own = rng.uniform(0.5, 2, 3)
        rho = np.sqrt(own) * rng.uniform(0, 0.7) if rng.random() < 0.8 else np.zeros(3)
        costs = rng.uniform(0, 0.1, 3) if rng.random() < 0.5 else np.zeros(3)
        data = data_with(np.diag(own), 3, rho, costs)
        T = float(data.most.sum()) * rng.uniform(0.5, 0.999)
        one = T - float(data.most.min()) * rng.uniform(0, 0.9)
        below = np.array([0.0, rng.uniform(0.3, 1) * one, one, one])
        try:
            demands = Demands(data, T, below, 3)
        except Refused:
            continue
        if not demands.fits[:2].all():
            continue
        at = np.array([0]), np.array([1])
        both = np.arange(2)
        m, L = demands.floors[both], demands.lengths[both]
        # The arrays are those of the formulas, rounded so that no pair is lost.
        due = exact(max(math.nextafter(T - below[2], -1), 0.0))
        for j in both:
            floor = exact(data.r[j]) + roots(due + exact(costs[j]))[0]
            assert floor * (1 - Fraction(1, 10**15)) <= exact(m[j]) <= floor
            assert exact(L[j]) ** 2 >= exact(own[j])
        terms = L, m, data.r[both], data.costs[both]
        reach, least = true_least(*terms, math.nextafter(T - below[1], -1))
        true = max(reach, least) if least is not None else reach
        sums += least is not None and least > reach
        top = float(L.prod()) * 1.01
        if true <= 1e-9:
            assert demands.fit(np.zeros(1), 0.0, *at)[0] or true > 0
            continue
        if not demands.fit(np.array([top]), 0.0, *at)[0]:
            assert true > top * (1 - 1e-12)
            continue
        found = smallest(lambda g, x=(demands, at): bool(x[0].fit(np.array([g]), 0.0, *x[1])[0]), 0.0, top)
        assert exact(found) <= true
        size = exact(L.prod()) + (0 if least is None else least)
        assert exact(found) >= true - Fraction(1, 10**11) * size
        # An uncertain product fits if anything near it does.
        near = found - 1e-6 * float(L.prod())
        assert not demands.fit(np.array([near]), 0.0, *at)[0]
        assert demands.fit(np.array([near]), 1.0001e-6, *at)[0]
        assert demands.least(at[0], at[1], 0.0)[0] <= found
    assert sums > 30


def test_chords_lie_above_contributions():
    rng = np.random.default_rng(2)
    done = 0
    for _ in range(200):
        own = rng.uniform(0.5, 2, 2)
        rho = np.sqrt(own) * rng.uniform(0, 0.7, 2)
        data = data_with(np.diag(own), 2, rho, rng.uniform(0, 0.1, 2))
        T, least = float(data.most.sum()) * 0.9, float(data.most.min())
        if least <= 0:
            continue
        demands = Demands(data, T, np.array([0.0, T - least * rng.uniform(0.1, 0.9), 0.0]), 2)
        beta = -float(rng.uniform(1e-6, 1))
        c = demands.chord(beta)
        for j in np.flatnonzero(demands.fits):
            done += 1
            r, cost = exact(data.r[j]), exact(data.costs[j])
            slopes = []
            for end in (demands.floors[j], demands.lengths[j]):
                slopes.append(((exact(end) - r) ** 2 - cost - exact(beta)) / exact(end) ** 2)
            assert max(slopes) <= exact(c[j]) ** 2 <= max(slopes) * (1 + Fraction(1, 10**13))
            s = np.linspace(demands.floors[j], demands.lengths[j], 9)
            assert ((s - data.r[j]) ** 2 - data.costs[j] <= c[j] ** 2 * s * s + beta + 1e-14).all()
    assert done > 100
    for wrong in (0.0, 0.1, np.nan, -np.inf):
        with pytest.raises(Refused, match="intercept"):
            demands.chord(wrong)
    flat = Demands(data_with(np.eye(3), 3), 1.0, np.array([0.0, 0.9, 1.1, 1.2]), 3)
    with pytest.raises(Refused, match="without a floor"):
        flat.chord(-0.1)


def test_how_many_features_contribute():
    data = data_with(np.eye(4), 4)
    # Two and three features are known to be worth more than T: as few as one may be left out of four, or two.
    assert Demands(data, 3.0, np.array([0.0, 1.0, 2.0, 2.9, 4.0]), 4).size == 4
    assert Demands(data, 3.0, np.array([0.0, 1.0, 2.0, 3.1, 4.0]), 4).size == 3
    assert Demands(data, 3.0, np.array([0.0, 1.0, 3.1, 2.9, 4.0]), 4).size == 2
    with pytest.raises(Refused, match="a single feature"):
        Demands(data, 3.0, np.array([0.0, 3.1, 3.1, 3.1, 4.0]), 4)
    with pytest.raises(Refused, match="two features"):
        Demands(data, 3.0, np.array([0.0, 1.0]), 1)
    for T in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(Refused, match="threshold"):
            Demands(data, T, np.array([0.0, 1.0, 2.0, 2.9, 4.0]), 4)
    paired = data_with(np.diag([1.0, 0.8, 0.35, 0.2]), 4)
    # One feature must bring .1, two of them 1.3 together.
    demands = Demands(paired, 2.0, np.array([0.0, 0.5, 0.7, 1.9, 4.0]), 4)
    assert demands.fits.tolist() == [True, True, True, False]


def truth_of_cover(d, size, edges, level):
    """Whether each clique of so many features lies in the claim of its first feature: what Cover must imply."""
    place = {j: i for i, j in enumerate(level.order.tolist())}
    graph = {frozenset(edge) for edge in edges}
    owners = {}
    for one in level.claims:
        for j in one.features[:1] if one.rooted else one.features:
            owners[int(j)] = one
    for m in range(size, d + 1):
        for S in combinations(range(d), m):
            if all(frozenset(pair) in graph for pair in combinations(S, 2)):
                first = min(S, key=lambda j: place.get(j, j - d))
                if first not in owners or not set(S) <= set(owners[first].features.tolist()):
                    return False
    return True


class Fits:
    """Demands of which a cover needs the size only."""

    def __init__(self, d, size):
        self.size, self.fits = size, np.ones(d, dtype=bool)


def covers(d, size, edges, level):
    try:
        cover = Cover(level, Fits(d, size))
        if not cover.holds_all:
            i, j = np.array(edges, np.intp).reshape(-1, 2).T
            cover.take(i, j)
        cover.finish()
    except Refused:
        return False
    return True


def honest_cover(rng, d, size, edges):
    """A level that covers a graph: a random order; claims of later neighbours, or of whole components."""
    order = rng.permutation(d)
    place = np.argsort(order)
    near = {j: {a + b - j for a, b in edges if j in (a, b)} for j in range(d)}
    claims, done = [], set()
    for j in order.tolist():
        if j in done:
            continue
        whole, front = {j}, [j]
        while front:
            new = near[front.pop()] - whole
            whole |= new
            front += new
        if rng.random() < 0.3 and not whole & done and len(whole) >= size:
            claims.append(claim(sorted(whole), rooted=False))
            done |= whole
            continue
        later = [i for i in near[j] if place[i] > place[j]]
        if len(later) >= size - 1:
            claims.append(claim([j, *rng.permutation(later)]))
            done.add(j)
    return by_conflicts(3, 1.0, order, claims)


def test_covers():
    """Honest ones pass, and no damaged one passes that loses a clique."""
    rng = np.random.default_rng(3)
    honest = refused = kept = 0
    for _ in range(1500):
        d, size = int(rng.integers(2, 8)), int(rng.integers(2, 5))
        edges = [pair for pair in combinations(range(d), 2) if rng.random() < 0.6]
        level = honest_cover(rng, d, size, edges)
        assert covers(d, size, edges, level)
        honest += 1
        order, claims = level.order.copy(), list(level.claims)
        what = int(rng.integers(5))
        if what == 0 and claims:
            claims.pop(int(rng.integers(len(claims))))
        elif what == 1 and d > 1:
            i, j = rng.integers(d, size=2)
            order[[i, j]] = order[[j, i]]
        elif what == 2 and claims:
            at = int(rng.integers(len(claims)))
            claims[at] = claim(claims[at].features[:-1], rooted=claims[at].rooted)
        elif what == 3 and claims:
            at = int(rng.integers(len(claims)))
            claims[at] = claim(claims[at].features, rooted=not claims[at].rooted)
        elif d > 1:
            order = order[: int(rng.integers(d))]
        changed = by_conflicts(3, 1.0, order, claims)
        if covers(d, size, edges, changed):
            assert truth_of_cover(d, size, edges, changed)
            kept += 1
        else:
            refused += 1
    assert min(honest, refused, kept) > 200


def test_covers_that_make_no_sense():
    for wrong in (
        by_conflicts(3, 1.0, [0, 1, 0]),
        by_conflicts(3, 1.0, [0, 1], [claim([0, 1]), claim([0, 1])]),
        by_conflicts(3, 1.0, [0, 1], [claim([0, 0])]),
        by_conflicts(3, 1.0, [0, 1], [claim([])]),
    ):
        assert not covers(3, 2, [(0, 1)], wrong)


def test_features_that_a_claim_drops():
    rng = np.random.default_rng(4)
    passed = 0
    for _ in range(2000):
        m, size = int(rng.integers(1, 7)), int(rng.integers(2, 5))
        graph = np.triu(rng.random((m, m)) < 0.6, 1)
        graph |= graph.T
        kept = int(rng.integers(0, m + 1))
        cliques = [
            S
            for count in range(size, m + 1)
            for S in combinations(range(m), count)
            if all(graph[i, j] for i, j in combinations(S, 2))
        ]
        if accepted(kept_features, graph, kept, size):
            passed += 1
            assert all(max(S) < kept for S in cliques)
    assert passed > 300
    with pytest.raises(Refused, match="keeps more"):
        kept_features(np.zeros((2, 2), dtype=bool), 3, 2)


def closing_nodes(A, T, I, F, p, leaf):  # noqa: E741
    """A tree that branches on everything until its leaf may hold: more nodes than needed, never fewer."""
    own = A[np.ix_(I, I)]
    if p == 0 or len(F) == 0 or (len(I) and np.linalg.eigvalsh(own)[-1] > T):
        return [leaf]
    rest = F[1:]
    return [
        Feature(int(F[0])),
        *closing_nodes(A, T, [*I, F[0]], rest if p > 1 else [], p - 1, leaf),
        *closing_nodes(A, T, I, rest, min(p, len(rest)), leaf),
    ]


def proof_by_conflicts(data, levels, leaf, rng):
    """Levels with small claims for all features that fit, at given thresholds; whether they are true is not asked."""
    made, below, before = [], data.sums_of_most(data.k), 0
    for q, T in levels:
        for size in range(max(before, 2), q):
            below[size] = min(below[size], below[size - 1] * size / (size - 1) * (1 + 1e-15))
        before = q
        try:
            demands = Demands(data, T, below, q)
        except Refused:
            return None
        edges = [(int(a), int(b)) for _, i, j, _ in pairs(data, [demands]) for a, b in zip(i, j, strict=True)]
        shape = honest_cover(rng, data.d, demands.size, edges)
        claims = []
        for one in shape.claims:
            m = len(one.features)
            A = data.part(one.features).A
            I, F = ([0], list(range(1, m))) if one.rooted else ([], list(range(m)))  # noqa: E741
            claims.append(claim(one.features, closing_nodes(A, T, I, F, q - len(I), leaf), one.rooted))
        made.append(by_conflicts(q, T, shape.order, claims))
        below[q] = min(below[q], T)
    return made


@pytest.mark.parametrize("robust", [False, True])
def test_levels_by_conflicts_prove_nothing_false(robust):
    """Thresholds around the truth of each size; what is accepted is true, and most of what is true is accepted."""
    rng = np.random.default_rng(5 + robust)
    outcome = {(a, b): 0 for a in (False, True) for b in (False, True)}
    for _ in range(250):
        d = int(rng.integers(3, 6))
        B = rng.standard_normal((d, 3)) * rng.uniform(0.2, 1, (d, 1)) + rng.uniform(0, 1) * rng.standard_normal(3)
        A = B @ B.T
        A = 0.5 * (A + A.T) + 1e-12 * np.eye(d)
        rho = np.sqrt(A.diagonal()) * rng.uniform(0, 0.5, d) if robust else None
        costs = rng.uniform(0, 0.1, d) if robust and rng.random() < 0.5 else None
        k = int(rng.integers(2, d + 1))
        data = data_with(A, k, rho, costs)
        true = [float(Truth(q, S=A, n=1, rho=rho, costs=costs).best()[0]) for q in range(2, k + 1)]
        share = float(rng.choice([0.97, 0.999, 1.001, 1.02]))
        leaf = Dominance(Chord(-float(rng.uniform(0.01, 0.3)))) if robust and rng.random() < 0.5 else Dominance(PLAIN)
        levels = proof_by_conflicts(data, [(q, v * share) for q, v in enumerate(true, 2) if v > 0], leaf, rng)
        if not levels or levels[-1].size != k:
            continue
        proved = accepted(check_levels, data, levels)
        outcome[proved, share > 1] += 1
        if proved:
            assert all(level.bound >= best for level, best in zip(levels, true, strict=True) if level.bound)
    assert outcome[False, False] > 30
    assert outcome[True, True] > (10 if robust else 40)


def test_a_level_by_conflicts_shows_its_target():
    """Leaves with lines or lengths show the bound; the demands are those of the target."""
    data = data_with(np.eye(3), 2)
    one = [claim([0, 1, 2], [LENGTHS], rooted=False)]
    assert not accepted(check_levels, data, [by_conflicts(2, 1.5, [], one)])
    assert accepted(check_levels, data, [by_conflicts(2, 2.01, [], one, target=1.5)])
    assert not accepted(check_levels, data, [by_conflicts(2, 1.5, [], one, target=2.01)])
    # At 1.5 no two of them fit: no claim is needed.
    assert accepted(check_levels, data, [by_conflicts(2, 1.5)])
    assert not accepted(check_levels, data, [by_conflicts(2, 0.99)])
    near = data_with([[1.0, 0.6], [0.6, 1.0]], 2)
    assert not accepted(check_levels, near, [by_conflicts(2, 1.59)])
    assert accepted(check_levels, near, [by_conflicts(2, 1.61)])


def test_conflicts_need_columns_and_no_demands():
    indefinite = Data(np.array([[1.0, 2.0], [2.0, 1.0]]), Terms(2, 1), 0, False, 0.0)
    assert not accepted(check_levels, indefinite, [by_conflicts(2, 9.0)])
    demanded = Data(np.eye(2), Terms(2, 1, None, None, np.array([0])), 0, True, 0.0)
    assert not accepted(check_levels, demanded, [by_conflicts(2, 9.0)])
    forbidden = data_with([[1.0, 0.6], [0.6, 1.0]], 2, exclude=[1])
    assert accepted(check_levels, forbidden, [by_conflicts(2, 1.01)])


def test_branches_on_features_that_do_not_fit():
    """The child with such a feature is empty; one that is included or not there is refused."""
    A = np.array([[1.0, 0.9, 0.9, 0.0], [0.9, 1.0, 0.9, 0.0], [0.9, 0.9, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    data, leaf = data_with(A, 3), Dominance(PLAIN)
    two = by_conflicts(2, 1.91, [3, 0, 1, 2], [claim([0, 1, 2], [leaf]), claim([1, 2], [leaf])])

    def last(*nodes, features=(0, 1, 2)):
        return [two, by_conflicts(3, 2.81, [3, 0, 1, 2], [claim(features, nodes)])]

    assert accepted(check_levels, data, last(leaf))
    assert accepted(check_levels, data, last(Feature(1), leaf, leaf))
    assert accepted(check_levels, data, last(Feature(3), LENGTHS, leaf, features=(0, 1, 2, 3)))
    assert not accepted(check_levels, data, last(Feature(3), leaf, LENGTHS, features=(0, 1, 2, 3)))
    assert not accepted(check_levels, data, last(Feature(0), leaf, leaf))
    assert not accepted(check_levels, data, last(Feature(3), leaf, leaf))
    assert not accepted(check_levels, data, last(Feature(1), leaf))


@pytest.mark.parametrize("scale", [1.0, 1e-165, 1e150])
def test_columns_round_in_the_safe_direction(scale):
    rng = np.random.default_rng(7)
    for n in (1, 3, 50, 5000):
        X = rng.standard_normal((n, 6)) * 10.0 ** rng.uniform(-6, 0, 6) * scale
        X[:, 1] = X[:, 0]
        rho = rng.uniform(0, 0.5) * np.linalg.norm(X, axis=0)
        terms = Terms(3, n, rho)
        made = Columns(X, lambda X=X: (X,), terms)
        unit = Fraction(4) ** made.exponent
        Y = exact(X[:200]) if n > 200 else exact(X)
        few = len(Y) < n
        true = (Y.T @ Y) / n / unit if not few else exact((X / 2.0**made.exponent).T @ (X / 2.0**made.exponent) / n)
        near = Fraction(1, 10**12) if few else 0
        for j in range(6):
            assert exact(made.lengths[j]) ** 2 >= true[j, j] * (1 - near)
            assert made.lengths[j] ** 2 <= float(true[j, j]) * (1 + 1e-9)
        every = np.arange(6)
        part = made.part(every)
        slack = exact(part.A) - true
        assert np.linalg.eigvalsh(slack.astype(float)).min() >= -float(near)
        sizes = np.sqrt(true.astype(float).diagonal())
        apart = np.outer(sizes, sizes)
        off = ~np.eye(6, dtype=bool)
        assert (np.abs(slack.astype(float)) <= (part.error + float(near)) * apart)[off].all()
        single = np.abs(made.products(every, every).astype(float) - true.astype(float))
        assert (single <= made.error * apart + 2.0**-120).all()
        some = np.array([4, 0])
        assert np.array_equal(made.part(some).r, np.minimum(made.r[some], made.part(some).lengths))
        v = rng.standard_normal(2)
        whole = Data.from_samples(lambda X=X: (X,), 6, terms, made.exponent)
        assert made.value_at_least(some[::-1], v) == pytest.approx(whole.value_at_least(some[::-1], v), abs=1e-10)


def test_columns_of_which_nothing_is_left():
    X = np.array([[3.0, 0.0], [4.0, 1.0]])
    made = Columns(X, lambda: (X,), Terms(2, 2, np.array([5.0, 1.0])))
    assert made.top == 0
    assert not made.part(np.array([0, 1])).A.any()
    assert not made.products(np.array([0]), np.array([1])).any()
    assert check_levels(made, [Level(2, 0.0, 0.0, NONE, ())]) == 0.0


def test_pairs_in_blocks_are_those_of_the_matrix():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20, 300)) + rng.standard_normal((20, 1))
    terms = Terms(4, 20, np.full(300, 0.5))
    matrix = Data.from_samples(lambda: (X,), 300, terms)
    columns = Columns(X, lambda: (X,), terms, matrix.exponent)
    below = matrix.sums_of_most(4) * np.array([0.0, 0.95, 0.7, 0.62, 0.55])
    for q in (2, 3, 4):
        T = float(below[q])
        found = []
        for data in (matrix, columns):
            demands = Demands(data, T, below, q)
            got = {(min(a, b), max(a, b)) for _, i, j, _ in pairs(data, [demands]) for a, b in zip(i, j, strict=True)}
            found.append(got)
        at = np.arange(300)
        demands = Demands(matrix, T, below, q)
        graph = demands.fit(np.abs(matrix.A), 0.0, at[:, None], at[None, :]) & demands.fits & demands.fits[:, None]
        assert found[0] == set(zip(*(x.tolist() for x in np.nonzero(np.triu(graph, 1))), strict=True))
        assert found[0] <= found[1]
        assert len(found[1]) <= len(found[0]) * 1.01 + 2
        assert len(found[0]) > 50
    everything = list(pairs(columns, [Demands(columns, float(below[q]), below, q) for q in (2, 3)]))
    assert {number for number, *_ in everything} == {0, 1}
