"""The search for many features, on small problems too: every bound against brute force, every certificate checked."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import noap
import older
from cases import SHAPES, budget, small_data
from judge import exact_worth, feature_wise_best, vanilla_best
from many_only import force_many
from noap.checker.allowance import Allowance
from noap.checker.many.data import ManyData
from noap.checker.many.demands import Demands
from noap.checker.many.graph import SupportGraph
from noap.checker.many.pairs import fitting_pairs
from noap.exact.many import compatible as compatible_module
from noap.exact.many import search as search_module
from noap.exact.many.compatible import Compatible
from noap.exact.many.graph import cliques
from noap.exact.many.pairs import Pairs, scan
from noap.linalg.blocked import ScaledColumns, single_error, single_product
from noap.proofs.certificate import Certificate
from noap.proofs.many import ManyProof
from noap.result import Limit, Status

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


@pytest.fixture
def forced(monkeypatch):
    force_many(monkeypatch)


def best_by_brute_force(problem):
    X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
    n, k, rho = problem.n_samples, problem.k, float(problem.adversary.rho)
    X = X.astype(np.float64)
    return vanilla_best(X.T @ X / n, k)[1] if rho == 0 else feature_wise_best(X.T @ X, n, k, rho)[1]


def checked(problem, **options):
    """Solve, and hold bound and certificate against what the judge's vector is worth: exactly, and no tolerance."""
    result = older.solve(problem, **options)
    v = best_by_brute_force(problem)
    truth = Fraction(0) if v is None else exact_worth(problem, v)
    assert Fraction(result.bound) >= truth
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    report = noap.verify(problem, certificate)
    assert report.ok, report.message
    assert Fraction(report.bound) >= truth
    return result


def adversary(rho):
    return noap.FeatureWise(rho) if rho else noap.NoAdversary()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("whole", [0, 4])
def test_against_brute_force(shape, whole, monkeypatch):
    force_many(monkeypatch, whole)
    rng = np.random.default_rng(SHAPES.index(shape))
    trees = 0
    for _ in range(12):
        X = small_data(rng, shape, int(rng.integers(2, 10)))
        k = int(rng.integers(1, min(4, X.shape[1]) + 1))
        rho = float(budget(rng, np.linalg.norm(X, axis=0).max())) if rng.random() < 0.6 else 0.0
        if not X.any():
            continue
        problem = noap.Problem(X, k=k, adversary=adversary(rho))
        result = checked(problem, gap=float(rng.choice([1e-2, 1e-4, 1e-6])))
        assert result.status is Status.OPTIMAL or rho > 0.9 * np.linalg.norm(X, axis=0).max()
        if not problem.optimum_is_zero:
            assert isinstance(result.certificate.proof, ManyProof)
            trees += len(result.certificate.proof.roots)
    assert trees > 0 or shape not in ("plain", "scaled", "zero columns", "tied")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1), k=st.integers(1, 5), modules=st.integers(1, 4))
def test_modules_of_correlated_features(seed, share, k, modules):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 15)), int(rng.integers(5, 13))
    X = rng.standard_normal((n, modules))[:, rng.integers(0, modules, d)] + rng.uniform(0, 1) * rng.standard_normal(
        (n, d)
    )
    rho = 0.7 * share * float(np.linalg.norm(X, axis=0).max())
    with pytest.MonkeyPatch.context() as patch:
        force_many(patch, whole=int(rng.integers(0, 2)))
        result = checked(noap.Problem(X, k=k, adversary=adversary(rho)))
    assert result.status is Status.OPTIMAL


def test_single_precision_and_sparse_samples(forced):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((9, 8)).astype(np.float32) * (rng.random((9, 8)) < 0.6)
    for data in (X, csr_array(X), csr_array(X.astype(np.float64)), noap.centred(csr_array(X))):
        for rho in (0.0, 0.4):
            assert checked(noap.Problem(data, k=3, adversary=adversary(rho))).status is Status.OPTIMAL


@pytest.mark.parametrize("room", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("whole", [0, 4, 50])
def test_the_checker_may_see_fewer_pairs_than_the_search(room, whole, monkeypatch):
    """The search errs on the side of more pairs; its components may fall apart for the checker."""
    force_many(monkeypatch, whole)
    monkeypatch.setattr(compatible_module, "_ROOM", room)
    for seed in range(2):
        X = module_data(12, 20, 4, seed)
        for noise in (0.0, 0.3):
            checked(noap.Problem(X, k=3, adversary=adversary(noise * 12**0.5)))


def test_an_idle_sample_wise_adversary_is_none(forced):
    X = np.random.default_rng(6).standard_normal((9, 8))
    result = older.solve(noap.Problem(X, k=3, adversary=noap.SampleWise(0.0)))
    assert isinstance(result.certificate.proof, ManyProof)
    assert noap.verify(result.problem, result.certificate).ok


def module_data(n, d, size, seed):
    """Standardised samples with d/(5 size) groups of features that go together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5, size):
        X[:, first : first + size] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, size))
    X = X[:, rng.permutation(d)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_no_square_matrix_is_formed(noise, monkeypatch):
    def refuse(self):
        raise AssertionError("a d x d matrix was formed")

    n, d = 40, 2500
    problem = noap.Problem(module_data(n, d, 10, 0), k=4, adversary=adversary(noise * n**0.5))
    monkeypatch.setattr(type(problem), "covariance", property(refuse))
    result = older.solve(problem)
    assert result.status is Status.OPTIMAL
    assert isinstance(result.certificate.proof, ManyProof)
    assert noap.verify(problem, result.certificate).ok


def test_as_the_search_on_inner_products(monkeypatch):
    for seed, noise in ((0, 0.0), (1, 0.3), (2, 0.6)):
        n = 30
        problem = noap.Problem(module_data(n, 120, 8, seed), k=5, adversary=adversary(noise * n**0.5))
        usual = older.solve(problem)
        with monkeypatch.context() as patch:
            force_many(patch)
            many = older.solve(problem)
        assert many.value == pytest.approx(usual.value, rel=1e-9)
        assert many.status is usual.status is Status.OPTIMAL
        assert np.array_equal(many.support, usual.support)


def test_the_optimum_is_zero():
    problem = noap.Problem(np.ones((2, 2001)), k=3, adversary=noap.FeatureWise(2.0))
    result = older.solve(problem)
    assert (result.value, result.bound) == (0.0, 0.0)
    assert isinstance(result.certificate.proof, ManyProof)
    assert noap.verify(problem, result.certificate).ok


# -- limits ------------------------------------------------------------------------------------------------------------


def noise_problem():
    X = np.random.default_rng(0).standard_normal((60, 150))
    return noap.Problem(X, k=9, adversary=noap.NoAdversary())


def test_a_time_limit_leaves_a_bound(forced):
    result = older.solve(noise_problem(), time_limit=1e-3)
    assert result.limit is Limit.TIME
    assert result.status is Status.FEASIBLE
    assert noap.verify(result.problem, result.certificate).ok


def test_a_node_limit_leaves_a_bound(forced):
    result = older.solve(noise_problem(), node_limit=50)
    assert result.limit is Limit.NODES
    assert noap.verify(result.problem, result.certificate).ok


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_leaves_what_is_proved(after, forced, monkeypatch):
    taken, take = [], search_module._ManySearch._take

    def interrupted(self, trees):
        taken.append(trees)
        if len(taken) > after:
            raise KeyboardInterrupt
        return take(self, trees)

    monkeypatch.setattr(search_module._ManySearch, "_take", interrupted)
    problem = noap.Problem(module_data(30, 100, 8, 3), k=5, adversary=noap.NoAdversary())
    result = older.solve(problem)
    assert result.limit is Limit.INTERRUPTED
    assert len(result.certificate.proof.ks) == after
    assert noap.verify(problem, result.certificate).ok
    assert result.bound >= result.value


def test_too_many_pairs_leave_a_bound(forced, monkeypatch):
    monkeypatch.setattr(search_module, "MOST_PAIRS", 3)
    monkeypatch.setattr(search_module, "density", lambda columns, tests, *_: [0.0] * len(tests))
    result = older.solve(noise_problem())
    assert result.limit is None
    assert result.status is Status.FEASIBLE
    assert "pairs of features" in result.messages[0]
    assert noap.verify(result.problem, result.certificate).ok


def test_a_memory_limit_leaves_a_bound(forced):
    result = older.solve(noise_problem(), memory_limit=0.001)
    assert result.limit is Limit.MEMORY
    assert result.status is Status.FEASIBLE
    assert noap.verify(result.problem, result.certificate).ok


def test_a_limit_within_the_pass_leaves_a_bound(forced, monkeypatch):
    def expired(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(search_module, "scan", expired)
    result = older.solve(noise_problem())
    assert result.limit is Limit.INTERRUPTED
    assert noap.verify(result.problem, result.certificate).ok


# -- pairs and graphs --------------------------------------------------------------------------------------------------


def worth(s, rho):
    return np.maximum(s - rho, 0.0) ** 2


@settings(max_examples=300, deadline=None)
@given(
    norms=st.tuples(st.floats(0.1, 3), st.floats(0.1, 3)),
    cosine=st.floats(0, 1),
    rho=st.sampled_from([0.0, 0.1, 0.5]),
    angle=st.floats(0, 1),
    slack=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_no_pair_that_is_owed_enough_is_lost(norms, cosine, rho, angle, slack):
    # Two columns in a plane, a direction u between them, and demands that the pair meets with nothing to spare or some.
    (a, b), theta = norms, np.arccos(cosine)
    s = np.array([a * np.cos(angle * theta), b * np.cos((1 - angle) * theta)])
    carried = worth(s, rho)
    if carried.min() <= 0:
        return
    product = a * b * cosine
    first, both = slack[0] * carried.min(), slack[1] * carried.sum()
    # Of k = 3 features with T = 1: due_1 = 1 - below_2 and due_2 = 1 - below_1.
    below = np.array([0.0, 1.0 - both, 1.0 - first])
    squares = np.array([[a**2], [b**2]]) * (1 + 1e-15)
    room = 1e-12 * a * b
    if max(first, both) < 1:
        least = Compatible.at(3, 1.0, below, rho).least_products(*squares)
        assert product + room >= least[0]
        least = Demands.at(3, 1.0, below, rho).least_products(*squares)
        assert product + room >= least[0]
    larger = Demands.at(3, 1.0, below, rho).least_products(squares[0], 2 * squares[1])
    assert larger[0] <= Demands.at(3, 1.0, below, rho).least_products(*squares)[0] + 1e-9


def test_the_checker_asks_for_no_more_than_the_search_lets_pass():
    rng = np.random.default_rng(1)
    for _ in range(200):
        k = int(rng.integers(2, 6))
        below = np.append(0.0, np.cumsum(np.sort(rng.uniform(0, 1, k - 1))[::-1]))
        T = float(below[-1] * rng.uniform(0.9, 1.3) + 1e-3)
        rho = float(rng.choice([0.0, 0.2]))
        squares = rng.uniform(0, 2, (2, 50))
        ours = Compatible.at(k, T, below, rho)
        wide = Demands.at(k, T * (1 + 1e-9), below * (1 + 1e-7), rho)
        # Up to products that no two columns have, and with the room that single precision leaves at the least.
        most = np.sqrt(squares[0] * squares[1])
        least = wide.least_products(*squares)
        passing = least <= most
        assert (ours.least_products(*squares)[passing] <= (least + 1e-7 * most)[passing]).all()
        assert ours.size <= wide.size or (below > T).any()
        assert (ours.long_enough(squares[0]) | ~wide.long_enough(squares[0])).all()


@pytest.mark.parametrize("n", [3, 100, 5000])
def test_products_in_single_precision_are_as_near_as_they_say(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 70)) * 10.0 ** rng.uniform(-6, 6, 70)
    norms = np.linalg.norm(X, axis=0)
    columns = ScaledColumns(X, norms)
    exact = (X.astype(np.longdouble).T @ X.astype(np.longdouble)) / (n * columns.unit)
    for i, j in ((0, 0), (0, 32), (32, 64), (64, 64)):
        here = np.s_[i : i + 32, j : j + 32]
        G = single_product(*(columns.single(np.arange(70)[part]) for part in here))
        room = single_error(n) * np.sqrt(np.outer(columns.squares[here[0]], columns.squares[here[1]]))
        assert (np.abs(G - exact[here]) <= room + 1e-37).all()


def test_every_pair_is_kept_that_should_be():
    X = module_data(25, 300, 10, 7)
    problem = noap.Problem(X, k=3, adversary=noap.NoAdversary())
    columns = ScaledColumns(X, problem.column_norms)
    test = Compatible.at(3, 2.7, np.array([0.0, 1.0, 1.9]), 0.0)
    pairs = scan(columns, [test], lambda: None, lambda done, total: None)
    G = np.abs(X.T @ X) / len(X)
    wanted = {(i, j) for i in range(300) for j in range(i) if G[i, j] >= max(2 * test.floor**2, test.due) - 1}
    kept = {tuple(sorted(pair, reverse=True)) for pair in pairs.features[np.c_[pairs.rows, pairs.columns]].tolist()}
    assert wanted <= kept
    assert 0 < len(kept) <= len(wanted) + 3
    assert scan(columns, [test], lambda: None, lambda done, total: None, most=len(wanted) // 2) is None


@pytest.mark.parametrize("seed", range(12))
def test_every_clique_is_in_a_place_and_the_checker_follows(seed, monkeypatch):
    # A random graph: products of 1 for an edge. Floors so low that the products alone decide.
    from itertools import combinations

    from noap.checker.many.pairs import FittingPairs
    from noap.exact.many import graph as graph_module

    monkeypatch.setattr(graph_module, "_WHOLE", seed % 2 * 2)
    rng = np.random.default_rng(seed)
    d, size = int(rng.integers(4, 13)), int(rng.integers(2, 5))
    edges = np.array([pair for pair in combinations(range(d), 2) if rng.random() < 0.5]).reshape(-1, 2)
    names = rng.permutation(100)[:d]
    rows, columns = edges.T.astype(np.int32)
    ones, products = np.ones(d), np.ones(len(edges))
    test, demands = Compatible(0.0, 0.0, 0.0, size), Demands(0.0, 0.0, 0.0, size)
    pairs = Pairs(names, ones, rows, columns, products.astype(np.float32), 0.0, (test,))
    left, places = cliques(pairs, test)
    graph = SupportGraph(FittingPairs(names, ones, rows, columns, products), demands)
    neighbours = {frozenset(pair) for pair in names[edges].tolist()}
    found = {
        frozenset(c)
        for c in combinations(names.tolist(), size)
        if all(frozenset(pair) in neighbours for pair in combinations(c, 2))
    }
    places = list(places)
    for place in places:
        # The checker's place is the search's, and is taken out with everything that hangs on it.
        assert set(graph.around(int(place.features[0]), place.whole).tolist()) <= set(place.features.tolist())
        around = graph.around(int(place.features[0]), place.whole)
        covered = {c for c in found if c <= set(around.tolist()) and (place.whole or int(around[0]) in c)}
        found -= covered
        graph.without(around if place.whole else around[:1])
    assert graph.empty
    assert not found
    assert left == 0 or places


def test_the_checkers_pass_finds_what_brute_force_finds():
    X = module_data(20, 90, 6, 2) * np.random.default_rng(0).uniform(0.5, 2, 90)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5))
    data = ManyData.of(problem, Allowance())
    top = float(data.squares.max())
    demands = Demands.at(3, 1.5 * top, np.array([0.0, 0.9 * top, 1.3 * top]), data.least_budget)
    pairs = fitting_pairs(data, [demands])
    G = np.abs(X.T @ X) / len(X) / 4.0**data.exponent
    squares = np.diag(G)
    least = demands.least_products(*np.broadcast_arrays(squares[:, None], squares[None, :]))
    wanted = {(i, j) for i in range(90) for j in range(i) if G[i, j] >= least[i, j]}
    kept = {tuple(sorted(pair, reverse=True)) for pair in pairs.features[np.c_[pairs.rows, pairs.columns]].tolist()}
    assert wanted
    assert wanted <= kept


def test_paths_and_the_estimator_form_no_square_matrix(monkeypatch):
    covariance = type(noise_problem()).__dict__["covariance"]

    def refuse(self):
        assert self.n_features <= 2000, "a d x d matrix was formed"
        return covariance.func(self)

    X = module_data(30, 2100, 6, 1)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(0.2 * 30**0.5))
    monkeypatch.setattr(type(problem), "covariance", property(refuse))
    levels = noap.k_path(problem)
    assert (levels.bounds <= levels.values * (1 + 1e-4)).all()
    budgets = noap.path(X, 2, rhos=[0.5, 1.0])
    assert (budgets.bounds <= budgets.values * (1 + 1e-4)).all()
    model = noap.RobustSparsePCA(n_components=2, k=3, noise=0.2).fit(X)
    assert model.robust_variance_[0] == pytest.approx(levels.values[-1], rel=1e-4)
    assert all(result.status is Status.OPTIMAL for result in model.results_)
