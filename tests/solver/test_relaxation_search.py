"""The relaxation of the search: its lines by the letter of docs/certificate-format.md, its bounds by brute force."""

import itertools

import numpy as np
import pytest

import noap
from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.majorant import Majorant, eliminate
from noap.kernel.tree import Checked, check_leaf
from noap.kernel.witness import BOX, FREE, IN_PLAIN_NORM, IN_WEIGHTED_NORM, PLAIN, THRESHOLD, Matrix
from noap.search.matrix import definite_line
from noap.search.relaxed import Relaxation
from noap.search.spectrum import on_spectahedron
from noap.settings import RelaxationSettings


def correlations(seed, d, n=None):
    """Correlations of samples that share some directions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n or 2 * d, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)))
    C = np.corrcoef(X, rowvar=False)
    return (C + C.T) / 2


BUDGETS = {
    "none": lambda rng, d: np.zeros(d),
    "equal": lambda rng, d: np.full(d, 0.3),
    "weights": lambda rng, d: rng.uniform(0.1, 0.5, d),
    "some exact": lambda rng, d: 0.3 * (rng.random(d) < 0.7),
    "far apart": lambda rng, d: 0.5 * rng.uniform(0, 1, d) ** 5,
}
CASES = [(seed, kind, priced) for seed in range(4) for kind in BUDGETS for priced in (False, True)]


def instance(seed, kind, priced, d=6):
    rng = np.random.default_rng(100 + seed)
    return correlations(seed, d), BUDGETS[kind](rng, d), rng.uniform(0, 0.3, d) if priced else np.zeros(d)


def best_value(A, r, costs, features, rng, signs=None):
    """The value of a choice: ascent from many starts, with known signs among those vectors only."""
    S = list(features)
    A, r, known = A[np.ix_(S, S)], r[S], np.zeros(len(S)) if signs is None else signs[S]
    starts = [rng.standard_normal((30, len(S))), np.eye(len(S)), -np.eye(len(S)), np.linalg.eigh(A)[1].T]
    V = np.concatenate(starts)
    best = 0.0
    for _ in range(200):
        V = np.where(V * known < 0, 0.0, V)
        length = np.linalg.norm(V, axis=1)
        V = V[length > 1e-12] / length[length > 1e-12, None]
        if not len(V):
            break
        G, left = V @ A, np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", V, A, V), 0.0))
        best = max(best, float((left - np.abs(V) @ r).max()))
        G /= np.maximum(left, 1e-12)[:, None]
        V = np.sign(G) * np.maximum(np.abs(G) - r, 0.0)
    return best**2 - costs[S].sum()


def optimum(A, r, costs, included, free, places, rng, signs=None):
    values = [
        best_value(A, r, costs, [*included, *Q], rng, signs)
        for q in range(min(places, len(free)) + 1)
        for Q in itertools.combinations(free, q)
        if len(included) + q
    ]
    return max(values)


def matrix_of(line, A, w):
    """B, entry by entry as the format says; refuses what a reader would refuse."""
    f, b, entries = list(line.features), len(line.features), iter([] if line.entries is None else line.entries)
    assert f == sorted(set(f))
    assert line.loads.dtype == line.lifts.dtype == np.float32
    n = np.ones(len(w)) if line.counts == IN_PLAIN_NORM else w
    load, lift = line.loads.astype(float), line.lifts.astype(float)
    assert (load >= 0).all()
    assert (lift >= 0).all()
    assert (lift[load > 0] > 0).all()
    due, pull = np.zeros(b), np.zeros((b, b))
    if line.dues is not None:
        due, pull = line.dues.astype(float), line.pulls.astype(float)
        assert (due >= 0).all()
        assert (pull.diagonal() == 0).all()
    B = np.empty((b, b))
    for i, j in itertools.combinations_with_replacement(range(b), 2):
        x, y = f[i], f[j]
        if i == j:
            own = A[x, x] - due[i] * (1 - (pull[i] ** 2).sum())
            B[i, i] = own + lift[i] - line.plain - line.weighted * w[x] ** 2 - load[i] * n[x]
            continue
        near = A[x, y] - due[i] * pull[i, j] - due[j] * pull[j, i]
        box = line.plain + line.weighted * w[x] * w[y] + 0.5 * (load[i] * n[y] + load[j] * n[x])
        assert box >= -1e-12
        if line.form == THRESHOLD:
            away = -min(max(near, -box), box)
        elif line.form == BOX:
            step = next(entries)
            assert step >= -32767
            away = box * float(step) / 32767
        else:
            away, sign = float(next(entries)), float(line.signs[i]) * float(line.signs[j])
            assert abs(away) <= box if sign == 0 else -sign * away <= box
        B[i, j] = B[j, i] = near + away
    assert next(entries, None) is None
    return B


def require_line(line, A, w):
    """The line's matrix is below c, with half of the promised room to spare."""
    B = matrix_of(line, A, w)
    b = len(B)
    room = (b + 8) * 2.0**-53 * (np.abs(B.diagonal()).sum() + b * abs(line.c))
    np.linalg.cholesky((line.c - 2 * room) * np.eye(b) - B)


def gains(line, features, s, t):
    at = [list(line.features).index(j) for j in features]
    load, lift = line.loads[at].astype(float), line.lifts[at].astype(float)
    tau = np.where(load > 0, load**2 / np.where(load > 0, 4 * lift, 1), 0)
    due = np.zeros(len(at)) if line.dues is None else line.dues[at].astype(float)
    return tau * (s if line.counts == IN_PLAIN_NORM else t) + due


def least_threshold(line, node, r, w, costs, t):
    """The least T for which a line closes a node at t, with every Q tried."""
    choices, found = node.choices, -np.inf
    I, F = list(choices.included), list(choices.free)  # noqa: E741
    for s in (1.0, float(choices.size)):
        Y = line.c + line.plain * s + line.weighted * t + gains(line, I, s, t).sum()
        for q in range(choices.places + 1):
            for Q in itertools.combinations(F, q):
                y = Y + gains(line, Q, s, t).sum()
                left = max(np.sqrt(max(y, 0.0)) - r.max() * np.sqrt(t), 0.0)
                found = max(found, left**2 - costs[[*I, *Q]].sum())
    return found


@pytest.mark.parametrize(("seed", "kind", "priced"), CASES)
def test_a_bound_is_above_every_choice_of_its_node(seed, kind, priced):
    A, r, costs = instance(seed, kind, priced)
    rng, relaxation = np.random.default_rng(seed), Relaxation(A, r, costs)
    w = relaxation.weights
    I, F, p = np.arange(0), np.arange(6), 3  # noqa: E741
    node = relaxation.node(I, F, p)
    for depth in range(3):
        best = optimum(A, r, costs, I, F, p, rng)
        # Sometimes it aims at what cannot be proved.
        relaxation.improve(node, best * (1.0 if seed % 2 else 0.8), thorough=depth == 0)
        assert node.bound >= best - 1e-9
        # Steps go into lines of any kind; each holds for every vector, and together they say what the node claims.
        for one in node.lines:
            require_line(one.witness, A, w)
            for _ in range(20):
                Q = rng.permutation(F)[: rng.integers(0, p + 1)]
                S = np.concatenate([I, Q]).astype(int)
                if len(S):
                    v = np.zeros(6)
                    v[S] = rng.standard_normal(len(S))
                    v /= np.linalg.norm(v)
                    s, t, line = np.abs(v).sum() ** 2, (w @ np.abs(v)) ** 2, one.witness
                    said = line.c + line.plain * s + line.weighted * t + gains(line, S, s, t).sum()
                    assert v @ A @ v <= said + 1e-12
        least, most = node.choices.span
        for t in np.linspace(least, most, 15):
            lowest = min(least_threshold(one.witness, node, r, w, costs, t) for one in node.lines)
            assert lowest <= node.bound + 1e-9 * max(node.bound, 1.0)
        j = relaxation.undecided(node)
        assert j in F
        F = F[j != F]
        if depth == 0:
            I, p = np.append(I, j), p - 1  # noqa: E741
        node = relaxation.child(node, I, F, p)


@pytest.mark.parametrize("kind", BUDGETS)
def test_the_root_is_tight(kind):
    A, rng = correlations(7, 9), np.random.default_rng(7)
    r = BUDGETS[kind](rng, 9)
    best = optimum(A, r, np.zeros(9), [], np.arange(9), 3, rng)
    relaxation = Relaxation(A, r)
    node = relaxation.node(np.arange(0), np.arange(9), 3)
    assert node.bound > 1.15 * best
    relaxation.improve(node, best, thorough=True, alone=True)
    assert best * (1 - 1e-9) <= node.bound <= best * 1.001
    assert {one.witness.form for one in node.lines} <= {THRESHOLD, BOX}
    norms = {one.witness.counts for one in node.lines}
    assert norms == ({IN_WEIGHTED_NORM} if relaxation.alike else {IN_WEIGHTED_NORM, IN_PLAIN_NORM})


@pytest.mark.parametrize("seed", [0, 2])
def test_steeper_lines_close_what_is_best_without_any_budget(seed):
    """Where the optimum uses next to no feature with a budget, ADMM alone does not become steep enough near t = 0."""
    A, r, rng = correlations(seed, 8), np.where(np.arange(8) < 5, 0.0, 0.5), np.random.default_rng(seed)
    best, left = best_value(A, r, np.zeros(8), range(8), rng), []
    for lines in (0, RelaxationSettings().steep_lines):
        relaxation = Relaxation(A, r, settings=RelaxationSettings(steep_lines=lines))
        node = relaxation.node(np.arange(8), np.arange(0), 0)
        relaxation.improve(node, best * (1 + 1e-4), thorough=True)
        left.append(node.bound / best - 1)
        for line in node.lines:
            require_line(line.witness, A, relaxation.weights)
    assert left[0] > 1e-3
    assert left[1] < 1e-4


def test_costs_are_no_twin():
    """With costs of next to nothing the bound is that without any."""
    A, r = correlations(3, 10), np.full(10, 0.2)
    bounds = []
    for costs in (None, np.full(10, 1e-13)):
        relaxation = Relaxation(A, r, costs)
        node = relaxation.node(np.arange(0), np.arange(10), 4)
        relaxation.improve(node, 0.0, thorough=True, alone=True)
        bounds.append(node.bound)
        assert any(one.witness.dues is not None for one in node.lines) == (costs is not None)
    assert bounds[1] == pytest.approx(bounds[0], rel=2e-3)


def test_signs_lower_the_bound_of_a_decided_support():
    # Signs mix on this support: the l1 norms of W and of v differ, and only signs tell.
    rng = np.random.default_rng(5)
    A, r, costs = correlations(20, 4, n=5), np.full(4, 0.25), np.linspace(0.01, 0.05, 4)
    relaxation = Relaxation(A, r, costs)
    node = relaxation.node(np.arange(4), np.arange(0), 0)
    best = optimum(A, r, costs, range(4), [], 0, rng)
    relaxation.improve(node, 0.0, thorough=True, alone=True)
    assert node.bound >= best - 1e-9
    lowered = 0
    for pattern in itertools.product((1, -1), repeat=3):
        signs = np.array([1, *pattern])
        child = relaxation.child(node, np.arange(4), np.arange(0), 0, signs)
        value = optimum(A, r, costs, range(4), [], 0, rng, signs)
        relaxation.improve(child, 0.0, thorough=True, alone=True)
        assert child.bound >= value - 1e-9
        for one in child.lines:
            require_line(one.witness, A, relaxation.weights)
        known = [one.witness for one in child.lines if one.witness.form == FREE]
        assert all((line.signs == signs).all() for line in known)
        lowered += bool(known) and child.bound < node.bound - 1e-4
        assert child.bound <= 1.01 * value
    assert lowered >= 4


@pytest.mark.parametrize("seed", range(6))
def test_a_matrix_rule_shows_every_small_block_to_be_definite(seed):
    A, p = correlations(seed, 9), 4
    smallest = [np.linalg.eigvalsh(A[np.ix_(Q, Q)])[-1] for Q in map(list, itertools.combinations(range(9), p))]
    top = max(smallest)
    C = 1.1 * top * np.eye(9) - A
    features = np.arange(10, 19)
    line, carried = definite_line(C, p, features)
    assert line is not None
    assert np.array_equal(line.features, features)
    assert carried.sum() == pytest.approx(1, abs=1e-4)
    assert (line.form, line.counts, line.weighted, line.dues) == (BOX, IN_PLAIN_NORM, 0.0, None)
    s = 1 / np.sqrt(C.diagonal())
    G = np.zeros((19, 19))
    G[10:, 10:] = -C * s * s[:, None]
    require_line(line, G, np.ones(19))
    assert line.c + p * max(line.plain, 0.0) <= 0
    # What is not definite on one of the blocks cannot be shown to be.
    assert definite_line(0.999 * top * np.eye(9) - A, p, features)[0] is None


def test_a_line_survives_its_rounding():
    """Entries of 16 bits lose little: 40 features, both ends of the range of budgets."""
    A = correlations(1, 40)
    for noise in (0.05, 0.6):
        relaxation = Relaxation(A, np.full(40, noise))
        node = relaxation.node(np.arange(0), np.arange(40), 8)
        relaxation.improve(node, 0.0, thorough=True)
        for one in node.lines:
            require_line(one.witness, A, relaxation.weights)
        made = [one.witness for one in node.lines if one.witness.form == BOX]
        assert made
        assert all(one.entries.dtype == np.int16 and len(one.entries) == 780 for one in made)


def test_the_same_problem_has_the_same_lines():
    A, r = correlations(2, 15), np.linspace(0.0, 0.4, 15)
    found = []
    for _ in range(2):
        relaxation = Relaxation(A, r)
        node = relaxation.node(np.arange(0), np.arange(15), 5)
        relaxation.improve(node, 0.5, thorough=True)
        found.append(node)
    assert found[0].bound == found[1].bound
    for one, other in zip(found[0].lines, found[1].lines, strict=True):
        assert one.witness.c == other.witness.c
        assert np.array_equal(one.witness.loads, other.witness.loads)


@pytest.mark.parametrize("kind", BUDGETS)
def test_the_kernel_takes_what_the_search_claims(kind):
    """With a billionth of room, at every node on the way down, and the matrix rule on the whole matrix."""
    rng = np.random.default_rng(11)
    A, r = correlations(11, 25), BUDGETS[kind](rng, 25)
    data = Data.from_covariance(A, Terms(8, 1, r if r.any() else None), 1e-12, 0)
    features, checked = np.flatnonzero(data.most > 0), Checked(data)
    at = np.ix_(features, features)
    relaxation = Relaxation(data.A[at], data.r[features], None, features, largest=data.r_max)
    node = relaxation.node(np.arange(0), np.arange(len(features)), 8)
    for depth in range(5):
        closed = relaxation.improve(node, 0.9 * node.bound, thorough=depth == 0)
        choices = node.choices
        included, free = features[choices.included], features[choices.free]
        T = node.bound * (1 + 1e-9)
        check_leaf(checked, T, node.witness, included, free, choices.places)
        if not closed:  # else lines that are not needed for the target are forgotten, and with them a lower bound
            with pytest.raises(Refused):
                check_leaf(checked, node.bound * (1 - 1e-6), node.witness, included, free, choices.places)
        j = relaxation.undecided(node)
        rest = choices.free[choices.free != j]
        into = depth % 2
        node = relaxation.child(
            node, np.append(choices.included, j)[: len(included) + into], rest, 8 - into - len(included)
        )
    T = 0.95 * np.linalg.eigvalsh(data.A)[-1]
    everything = np.arange(25)
    C = eliminate(Majorant(data, PLAIN), T, everything[:0], everything, 8)
    line, _ = definite_line(C, 8, everything)
    check_leaf(checked, T, Matrix(PLAIN, line), everything[:0], everything, 8)


def test_odd_problems():
    none = np.arange(0)
    nothing = Relaxation(np.zeros((3, 3)), np.zeros(3))
    node = nothing.node(none, np.arange(3), 2)
    assert node.bound == pytest.approx(0, abs=1e-12)
    assert not nothing.improve(node, -1.0)
    one = Relaxation(np.array([[2.0]]), np.array([0.5]))
    node = one.node(none, np.arange(1), 1)
    assert one.improve(node, (2**0.5 - 0.5) ** 2 * (1 + 1e-9), thorough=True)
    # The largest budget of the problem is not among these: only exact features are left.
    A = correlations(4, 4)
    exact = Relaxation(A, np.zeros(4), largest=0.5)
    node = exact.node(none, np.arange(4), 4)
    exact.improve(node, np.linalg.eigvalsh(A)[-1] * (1 + 1e-9), thorough=True)
    assert node.bound == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-8)
    # All features, one place; no feature at all.
    node = Relaxation(A, np.full(4, 0.2)).node(none, np.arange(4), 1)
    assert node.choices.size == 1
    nobody = exact.child(node, none, none, 0)
    assert nobody.bound == 0.0


def test_it_stops_when_it_is_told_to():
    A, asked = correlations(9, 30), []

    def expired():
        asked.append(1)
        return len(asked) > 3

    relaxation = Relaxation(A, np.full(30, 0.2))
    node = relaxation.node(np.arange(0), np.arange(30), 6)
    assert not relaxation.improve(node, 0.0, thorough=True, expired=expired)
    assert len(asked) <= 6


def test_settings_steer():
    A = correlations(9, 30)
    bounds = []
    for settings in (RelaxationSettings(), RelaxationSettings(lines_at_root=1, most_steps_at_root=5)):
        relaxation = Relaxation(A, np.full(30, 0.2), settings=settings)
        node = relaxation.node(np.arange(0), np.arange(30), 6)
        relaxation.improve(node, 0.0, thorough=True)
        bounds.append(node.bound)
    assert bounds[0] < 0.95 * bounds[1]


def test_the_projection_is_the_nearest_matrix():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((70, 70))
    M = (M + M.T) / 2
    W, rank, shift = on_spectahedron(M)
    few, *_ = on_spectahedron(M, rank)
    assert np.allclose(W, few, atol=1e-5)
    assert W.trace() == pytest.approx(1, abs=1e-5)
    values, vectors = np.linalg.eigh(M)
    nearest = (vectors * np.maximum(values - shift, 0)) @ vectors.T
    assert np.allclose(W, nearest, atol=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize("seed", [0, 2])
def test_a_core_of_the_features_and_thresholds_beside_it(noise, seed):
    """Lines have entries on a core alone; features that they exclude are left out, and the rest is searched."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 60))
    X[:, :8] += 1.5 * rng.standard_normal((40, 1))
    X[:, 20:26] += 1.5 * rng.standard_normal((40, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = noap.Problem(X, 6, noap.FeatureWise(noise * np.sqrt(40) * rng.uniform(0.8, 1, 60)))
    core = RelaxationSettings(dense_features=40, core_first=8, core_more=6, core_most=30)
    alone = {"cheap_nodes": 0, "cheap_nodes_vanilla": 0, "cheap_nodes_fringe": 0, "least_nodes": 0}
    found = noap.solve(problem, settings=noap.Settings(relaxation=core, levels_from=100, **alone))
    known = noap.solve(problem)
    assert known.value * (1 - 1e-9) <= found.bound
    assert found.status.value == known.status.value == "optimal"
    assert found.value == pytest.approx(known.value, rel=1e-9)
    lines = [line for node in found.certificate.proof.levels[-1].nodes for line in getattr(node, "lines", ())]
    assert any(line.core is not None for line in lines)
    assert noap.verify(problem, type(found.certificate).from_bytes(found.certificate.to_bytes())).ok
