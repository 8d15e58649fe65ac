"""The tree of the relaxation: places are counted rightly, no bound is below the truth, and every proof is accepted."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import older
from judge import exact_worth, feature_wise_best
from noap import Status
from noap.exact.relaxation import relaxation as relaxation_module
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Multiplier, Nearby
from noap.exact.relaxation.ratios import ratios
from noap.exact.relaxation.relaxation import Relaxation
from noap.exact.relaxation.spectrum import largest_eigenvalue, on_spectahedron
from noap.proofs.relaxation import LEAF, RelaxationProof
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
# More of them where somebody asks: thousands take some minutes.
CASES = int(os.environ.get("NOAP_RELAXATION_CASES", "150"))


# -- the inequality ----------------------------------------------------------------------------------------------------


def some_vector(rng, included, free, places):
    """A unit vector on the included features and at most so many of the free ones."""
    v = np.where(included, rng.standard_normal(len(included)), 0.0)
    chosen = rng.permutation(np.flatnonzero(free))[: int(rng.integers(0, places + 1))]
    v[chosen] = rng.standard_normal(len(chosen))
    if not v.any():
        v[int(np.flatnonzero(included | free)[0])] = 1.0
    return v / np.linalg.norm(v)


def some_node(rng, d):
    allowed = rng.random(d) < 0.8
    allowed[int(rng.integers(d))] = True
    included = allowed & (rng.random(d) < 0.3)
    free = allowed & ~included
    return included, free, int(rng.integers(1, d + 1))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.floats(0.0, 2.0))
def test_any_matrix_and_any_multipliers_give_an_inequality(seed, d, size):
    """Not only those that ADMM finds: nothing rests on where they come from."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, d))
    A = X.T @ X / 5
    included, free, places = some_node(rng, d)
    features = np.flatnonzero(included | free)
    B = A[np.ix_(features, features)] + size * rng.standard_normal((len(features), len(features)))
    nearby = Nearby((B + B.T) / 2, size * rng.exponential(1.0, len(features)), rng.exponential(1.0, len(features)))
    made = Inequality.of_matrix(A, features, nearby)
    line = made.line(included, free, places)
    for _ in range(30):
        v = some_vector(rng, included, free, places)
        assert v @ A @ v <= line.c + line.mu * np.abs(v).sum() ** 2 + 1e-9


@pytest.mark.parametrize("broken", ["lifts of nothing", "loads", "lifts"])
def test_multipliers_that_pay_for_nothing_give_no_inequality(broken):
    A, loads, lifts = np.eye(3), np.full(3, 0.1), np.full(3, 0.2)
    assert Inequality.of_matrix(A, np.arange(3), Nearby(A, loads, lifts)) is not None
    if broken == "lifts of nothing":
        lifts[1] = 0.0
    else:
        (loads if broken == "loads" else lifts)[1] = np.nan
    assert Inequality.of_matrix(A, np.arange(3), Nearby(A, loads, lifts)) is None
    # Where nothing is asked nothing is paid.
    assert Inequality.of_matrix(A, np.arange(3), Nearby(A, np.zeros(3), np.zeros(3))) is not None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(1e-3, 1.5))
def test_every_matrix_of_the_iteration_is_within_its_prices(seed, d, slope):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(1, 9)), d))
    A = X.T @ X / len(X)
    free = rng.random(d) < 0.7
    places = int(rng.integers(1, d + 1))
    state = Multiplier.of(A)
    state.share = float(rng.choice([0.0, rng.uniform(0.0, 3.0)]))  # beyond 1 the l1 norm is paid back
    for _ in range(6):
        nearby = state.advance(slope, free, places, int(rng.integers(1, 6)))
        made = Inequality.of_matrix(A, np.arange(d), nearby)
        line = made.line(~free, free, places)
        # What the multipliers cost together is the slope that was asked for, but for single precision.
        assert line.mu <= slope * (1 + 1e-9) + 1e-6 * max(np.abs(A).max(), np.abs(nearby.B).max())
        for _ in range(10):
            v = some_vector(rng, ~free, free, places)
            assert v @ A @ v <= line.c + line.mu * np.abs(v).sum() ** 2 + 1e-9


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(1e-4, 2.0), st.floats(0.0, 1.0))
def test_ratios_are_those_of_the_nearest_row(seed, d, tau, mu):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((d, d))
    g = np.full(d, 3.0)
    for _ in range(10):  # each goes on from the one before
        g = ratios(X, np.arange(d), tau, mu, g, np.ones(d))
    for i in range(d):
        z = np.sign(X[i]) * np.maximum(np.abs(X[i]) - mu - 2 * tau * g[i], 0.0)
        z[i] = max(X[i, i] + tau * g[i] ** 2 - mu - 2 * tau * g[i], 0.0)
        cost = price(X[i], z, i, tau, mu)
        # No row nearby does better, up to what the few steps leave.
        for step in (1e-2, 0.1, 1.0):
            other = z + step * rng.standard_normal(d)
            other[i] = abs(other[i]) + 1e-9
            assert cost <= price(X[i], other, i, tau, mu) + 1e-3 * (1 + cost)


def root_of_row(x, i, tau, mu):
    """The ratio of the nearest row, by halving: the root of what is too much of it."""

    def excess(g):
        own = x[i] - mu + tau * (g * g - 2.0 * g)
        others = np.maximum(np.delete(np.abs(x), i) - mu - 2.0 * tau * g, 0.0).sum()
        return 1.0 if own < 0 else others - (g - 1.0) * own

    low, high = 1.0, 1e4
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low


def test_ratios_arrive_and_stay():
    """From anywhere one call comes close, and from there no call leads away."""
    rng = np.random.default_rng(0)
    for d in (5, 20, 60):
        factors = rng.standard_normal((d, 3))
        X = factors @ factors.T / np.sum(factors**2)
        for tau, mu in ((0.01, 0.005), (0.001, 0.0), (0.05, 0.02)):
            roots = np.array([root_of_row(X[i], i, tau, mu) for i in range(d)])
            g = np.full(d, 2.0)
            for _ in range(3):
                g = ratios(X, np.arange(d), tau, mu, g, np.ones(d))
                np.testing.assert_allclose(g, roots, rtol=5e-3)


def price(x, z, i, tau, mu):
    size = np.abs(z).sum()
    places = 0.0 if size == 0 else (np.inf if z[i] <= 0 else size**2 / z[i])
    return 0.5 * np.sum((x - z) ** 2) + mu * size + tau * places


def test_counting_places_is_what_closes_the_gap():
    """Features of very different weight: the l1 norm alone does not see that there are too many of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30)) + rng.standard_normal((300, 1)) * np.linspace(2.0, 0.5, 30)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    A, rho, k = X.T @ X / 300, 0.3, 8
    value = older.solve(noap.Problem.from_covariance(A, n_samples=1, k=k, adversary=noap.FeatureWise(rho))).value
    bounds = []
    for counted in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not counted:
                patch.setattr(Multiplier, "_move_share", lambda self, excess: None)
            relaxation = Relaxation(A, rho, k, branching=False)
            while not relaxation.done:
                relaxation.advance(value)
            bounds.append(relaxation.bound / value - 1)
    assert 0 <= bounds[0] < 0.25 * bounds[1]


# -- the tree ----------------------------------------------------------------------------------------------------------


def small(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 8)), int(rng.integers(1, 9))
    X = rng.standard_normal((n, d))
    match seed % 6:
        case 1:
            X = np.sign(X)
        case 2:
            X[:, -1] = X[:, 0] * (1 + 1e-9)
        case 3:
            X *= 10.0 ** rng.integers(-70, 70)
        case 4:
            X = X + 3 * rng.standard_normal((n, 1))
        case 5:
            X = np.round(X)
            X[0, 0] = 1.0
    k = int(rng.integers(1, d + 1))
    rho = float(rng.choice([0.0, 0.1, 0.3, 0.6, 0.9])) * float(np.linalg.norm(X, axis=0).max())
    return X, k, rho


@pytest.mark.parametrize("seed", range(CASES))
def test_no_bound_is_below_brute_force_and_every_proof_is_accepted(seed, monkeypatch):
    force_relaxation(monkeypatch)
    # Little is done at a node, so that trees grow.
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(relaxation_module, "_INEQUALITIES_AT_ROOT", int(rng.choice([1, 2, 8])))
    monkeypatch.setattr(relaxation_module, "_INEQUALITIES_BELOW", int(rng.choice([1, 2])))
    monkeypatch.setattr(relaxation_module, "_MOST_AT_ROOT", int(rng.choice([5, 20, 60])))
    X, k, rho = small(seed)
    n = len(X)
    adversary = noap.FeatureWise(rho) if rho else noap.NoAdversary()
    if seed % 2:
        problem = noap.Problem(X, k=k, adversary=adversary)
    else:
        problem = noap.Problem.from_covariance(X.T @ X / n, n_samples=n, k=k, adversary=adversary)
    result = older.solve(problem, gap=float(rng.choice([0.0, 1e-7, 1e-4])))
    scale = 2.0 ** np.round(np.log2(np.abs(X).max()))
    _, v = feature_wise_best((X / scale).T @ (X / scale), n, k, rho / scale)
    worth = exact_worth(problem, v)
    assert Fraction(result.bound) >= worth
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert Fraction(report.bound) >= worth


def test_trees_do_grow_there(monkeypatch):
    """So that the judge above could fail."""
    force_relaxation(monkeypatch)
    monkeypatch.setattr(relaxation_module, "_INEQUALITIES_AT_ROOT", 1)
    nodes = []
    for seed in range(40):
        X, k, rho = small(seed)
        proof = older.solve(noap.Problem(X, k=k, adversary=noap.FeatureWise(rho)), gap=1e-7).proof
        if isinstance(proof, RelaxationProof):
            nodes.append(len(proof))
    assert sum(count > 1 for count in nodes) > 10


def noise(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.T @ X / n


def test_more_work_never_raises_the_bound_and_a_tree_ends():
    A = noise(50, 10)
    relaxation = Relaxation(A, 0.05, 3)
    bounds = [relaxation.bound]
    while not relaxation.done:
        relaxation.advance(0.01)
        bounds.append(relaxation.bound)
    assert (np.diff(bounds) <= 1e-12).all()
    assert relaxation.nodes > 5
    best = feature_wise_best(50 * A, 50, 3, 0.05 * np.sqrt(50))[0]
    assert best <= bounds[-1] <= best * (1 + 1e-4)


def test_leaves_cover_every_support():
    """Each support of three features of ten is in a leaf whose features have the room for it."""
    relaxation = Relaxation(noise(50, 10), 0.05, 3)
    while not relaxation.done:
        relaxation.advance(0.01)
    proof = relaxation.proof(np.arange(10), 1.0)
    assert len(proof) > 5
    leaves, stack = [], [(set(), set(range(10)))]
    for branch in proof.branches.tolist():
        included, allowed = stack.pop()
        if branch == LEAF:
            leaves.append((included, allowed if len(included) < 3 else included))
        else:
            stack += [(included, allowed - {branch - 1}), (included | {branch - 1}, allowed)]
    assert not stack
    for support in itertools.combinations(range(10), 3):
        assert any(
            set(support) <= allowed and len(set(support) - included) <= 3 - len(included)
            for included, allowed in leaves
        )


def test_stopped_anywhere_it_proves_what_it_says():
    A = noise(60, 12, 1)
    problem = noap.Problem.from_covariance(A, n_samples=1, k=4, adversary=noap.FeatureWise(0.05))
    certificate = older.solve(problem).certificate
    relaxation, seen = Relaxation(A, 0.05, 4), set()
    while relaxation.nodes < 40 and not relaxation.done:
        relaxation.advance(0.95 * certificate.value)
        if relaxation.nodes not in seen:
            seen.add(relaxation.nodes)
            made = noap.proofs.certificate.Certificate(
                noap.proofs.claim.Claim.about(problem, certificate.value, relaxation.bound),
                certificate.places,
                certificate.weights,
                relaxation.proof(np.arange(12), 1.0),
            )
            assert noap.verify(problem, made).ok
    assert len(seen) >= 3


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(relaxation_module, "_MOST_HELD", 20_000)
    relaxation = Relaxation(noise(50, 12), 0.02, 4)
    for _ in range(10_000):
        relaxation.advance(0.01)
    assert relaxation.done
    assert relaxation.nodes < 50


@pytest.mark.parametrize(("k", "noise_level"), [(20, 0.3), (10, 0.1)])
def test_what_trees_leave_open_is_closed(k, noise_level):
    """Groups of correlated features of unequal weight; the trees of pairs leave per cents after a minute."""
    rng = np.random.default_rng(5)
    factors = rng.standard_normal((200, 4))
    X = factors @ (rng.standard_normal((4, 40)) * rng.uniform(0.3, 1.2, 40)) + rng.standard_normal((200, 40))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(noise_level * np.sqrt(200)))
    result = older.solve(problem, time_limit=60)
    assert result.status is Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("largest", [1.0, 1e9, 1e20])
def test_the_nearest_matrix_of_trace_one_is_found_however_large_the_numbers(largest):
    W, rank = on_spectahedron(np.diag([largest, 0.0, -largest]))
    np.testing.assert_allclose(W, np.diag([1.0, 0.0, 0.0]), atol=1e-6)
    assert rank == 1


@pytest.mark.parametrize("expected", [0, 1, 2, 4, 9, 30, 100])
@pytest.mark.parametrize("rank", [1, 3, 12])
def test_the_nearest_matrix_of_trace_one_does_not_depend_on_the_rank_that_was_expected(rank, expected):
    rng = np.random.default_rng(rank)
    Q = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    values = np.concatenate([np.linspace(2.0, 1.9, rank), np.linspace(0.5, -2.0, 100 - rank)])
    M = (Q * values) @ Q.T
    W, found = on_spectahedron((M + M.T) / 2, expected)
    # By hand: the mean of the leading values goes to 1/rank.
    leading = values[:rank] - values[:rank].mean() + 1.0 / rank
    assert found == rank
    np.testing.assert_allclose(W, (Q[:, :rank] * leading) @ Q[:, :rank].T, atol=1e-5)
    assert largest_eigenvalue(M) == pytest.approx(2.0, rel=1e-12)
