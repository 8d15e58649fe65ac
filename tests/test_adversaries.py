"""One battery for every adversary: propositions 1, 2 and 4 of the paper and facts F1, F2, F4."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import noap
from noap.adversaries.base import GramAdversary
from noap.heuristics.batch import choose
from noap.linalg.products import column_norms, row_top_k_norms

# Budgets of each feature or sample: ties, exact ones, and some that are not to be trusted.
EACH = [0.7, 0.0, 0.3, 0.7, math.inf, 0.1]
# Each makes an adversary for n x d data.
MAKERS = {
    "NoAdversary": lambda n, d: noap.NoAdversary(),
    "FeatureWise": lambda n, d: noap.FeatureWise(0.7),
    "SampleWise": lambda n, d: noap.SampleWise(0.7),
    "FeatureWise of each": lambda n, d: noap.FeatureWise(np.resize(EACH, d)),
    "SampleWise of each": lambda n, d: noap.SampleWise(np.resize(EACH, n)),
    "SpectralNorm": lambda n, d: noap.SpectralNorm(0.7),
    "EntryWise": lambda n, d: noap.EntryWise(0.2),
    "EntryWise of features": lambda n, d: noap.EntryWise(0.5 * np.resize(EACH, d)),
    "EntryWise of entries": lambda n, d: noap.EntryWise(0.5 * np.resize([*EACH, 0.2], (n, d))),
}
everyone = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
ATTACKERS = [noap.FeatureWise, noap.SampleWise, noap.SpectralNorm, noap.EntryWise]
BUDGETS_OF_EACH = {"FeatureWise of each": 0, "SampleWise of each": 1}


def sparse_unit(rng, d, k):
    v = np.zeros(d)
    v[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    return v / np.linalg.norm(v)


def inner_minimum(X, v, limits, tolerance=1e-10):
    """The least |(X + E) v| over the E that keep some convex limits, by an independent solver."""
    import cvxpy as cp

    E = cp.Variable(X.shape)
    inner = cp.Problem(cp.Minimize(cp.norm((X + E) @ v, 2)), limits(cp, E))
    inner.solve(solver=cp.CLARABEL, tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
    return inner.value


LIMITS = {
    noap.FeatureWise: lambda rho: lambda cp, E: [cp.norm(E, 2, axis=0) <= rho],
    noap.SampleWise: lambda rho: lambda cp, E: [cp.norm(E, 2, axis=1) <= rho],
    noap.SpectralNorm: lambda rho: lambda cp, E: [cp.sigma_max(E) <= rho],
    noap.EntryWise: lambda rho: lambda cp, E: [cp.abs(E) <= rho],
}


@pytest.mark.parametrize("kind", ATTACKERS)
@pytest.mark.parametrize("rho", [0.1, 0.8, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_is_the_inner_minimum_of_an_independent_solver(kind, rho, seed):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    # A semidefinite constraint is solved to fewer digits.
    tolerance = 1e-8 if kind is noap.SpectralNorm else 1e-10
    expected = inner_minimum(X, v, LIMITS[kind](rho), tolerance) ** 2 / len(X)
    assert kind(rho).value(X, v) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_against_one_direction_frobenius_and_spectral_norm_are_the_same():
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    frobenius = inner_minimum(X, v, lambda cp, E: [cp.norm(E, "fro") <= 0.8]) ** 2 / len(X)
    assert noap.SpectralNorm(0.8).value(X, v) == pytest.approx(frobenius, rel=1e-6)
    E = noap.SpectralNorm(0.8).attack(X, v)
    assert np.linalg.norm(E) == pytest.approx(noap.SpectralNorm(0.8).norm(E)) == pytest.approx(0.8)


@pytest.mark.parametrize("name", BUDGETS_OF_EACH)
@pytest.mark.parametrize("seed", range(6))
def test_closed_form_with_budgets_of_each(name, seed):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    adversary, axis = MAKERS[name](6, 5), BUDGETS_OF_EACH[name]
    trusted = np.isfinite(adversary.rho)

    def limits(cp, E):
        return [cp.norm(E, 2, axis=axis)[trusted] <= adversary.rho[trusted]]

    expected = inner_minimum(X, v, limits, 1e-8) ** 2 / len(X)
    assert adversary.value(X, v) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    E = adversary.attack(X, v)
    assert adversary.norm(E) <= 1 + 1e-12
    assert (np.linalg.norm(E, axis=axis)[trusted] <= adversary.rho[trusted] * (1 + 1e-12)).all()
    assert np.linalg.norm((X + E) @ v) ** 2 / len(X) == pytest.approx(adversary.value(X, v), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", ATTACKERS)
@given(st.integers(0, 10**6), st.floats(0, 5), st.floats(1e-3, 1e3))
def test_attack_is_feasible_and_attains_the_minimum(kind, seed, rho, length):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((7, 5)), length * sparse_unit(rng, 5, 3)
    adversary = kind(rho)
    E = adversary.attack(X, v)
    assert E.shape == X.shape
    assert adversary.norm(E) <= rho * (1 + 1e-12) + 1e-321  # entries below 2e-308 are multiples of 5e-324
    attained = np.linalg.norm((X + E) @ v) ** 2 / len(X)
    assert attained == pytest.approx(adversary.value(X, v), rel=1e-9, abs=1e-12 * length**2)


@pytest.mark.parametrize("kind", [*ATTACKERS, noap.NoAdversary])
@given(st.integers(0, 10**6), st.floats(0, 5), st.floats(1e-3, 1e3))
def test_proposition_1_the_projection_is_the_papers(kind, seed, rho, length):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((7, 5)), length * sparse_unit(rng, 5, 3)
    adversary = kind() if kind is noap.NoAdversary else kind(rho)
    scores, found = X @ v, adversary.project(X, v)
    energy, l1, l2 = np.linalg.norm(scores), np.abs(v).sum(), np.linalg.norm(v)
    printed = {
        noap.FeatureWise: scores * min(1.0, rho * l1 / energy),
        noap.SampleWise: np.clip(scores, -rho * l2, rho * l2),
        noap.SpectralNorm: scores * min(1.0, rho * l2 / energy),
        noap.EntryWise: np.clip(scores, -rho * l1, rho * l1),
        noap.NoAdversary: np.zeros(7),
    }[kind]
    np.testing.assert_allclose(found, printed, rtol=1e-9, atol=1e-12 * length)
    assert np.linalg.norm(scores - found) ** 2 / 7 == pytest.approx(
        adversary.value(X, v), rel=1e-9, abs=1e-12 * length**2
    )


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_projection_takes_every_budget_and_kind_of_data(make):
    rng = np.random.default_rng(8)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    adversary = make(6, 5)
    dense = adversary.project(X, v)
    assert np.linalg.norm(X @ v - dense) ** 2 / 6 == pytest.approx(adversary.value(X, v), rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(adversary.project(sparse.csr_array(X), v), dense, rtol=1e-12, atol=1e-15)
    assert not adversary.project(X, np.zeros(5)).any()


@pytest.mark.parametrize("kind", ATTACKERS)
@given(st.integers(0, 10**6), st.floats(0, 3))
def test_no_feasible_perturbation_does_more_damage(kind, seed, rho):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((4, 3)), sparse_unit(rng, 3, 2)
    adversary = kind(rho)
    for _ in range(20):
        E = rng.standard_normal(X.shape)
        E *= rho / adversary.norm(E)
        assert np.linalg.norm((X + E) @ v) ** 2 / len(X) >= adversary.value(X, v) - 1e-12


@pytest.mark.parametrize("kind", ATTACKERS)
@given(st.integers(0, 10**6), st.floats(0, 3))
def test_reachable_set_is_the_ball_or_the_box(kind, seed, rho):
    # Propositions 2 and 4: {Ev} is {|u|_inf <= rho |v|_2}, or {|u|_2 <= rho |v|_1}; and so on.
    rng = np.random.default_rng(seed)
    E, v = rng.standard_normal((5, 4)), rng.standard_normal(4)
    E *= rho / kind(rho).norm(E)
    size = np.abs(E @ v).max() if kind in (noap.SampleWise, noap.EntryWise) else np.linalg.norm(E @ v)
    length = np.linalg.norm(v) if kind in (noap.SampleWise, noap.SpectralNorm) else np.abs(v).sum()
    assert size <= rho * length * (1 + 1e-12)
    # And the radius is attained: the support function is reached by an attack on a long vector in direction -u.
    u = rng.standard_normal(5)
    u /= np.linalg.norm(u)
    far = 1e6 * np.outer(u, v) / (v @ v)
    if kind in (noap.FeatureWise, noap.SpectralNorm):
        gained = -u @ kind(rho).attack(far, v) @ v
        assert gained == pytest.approx(kind(rho).support_function(u, v), rel=1e-9, abs=1e-12)


@everyone
@given(seed=st.integers(0, 10**6))
def test_f1_distance_is_the_maximum_of_the_bilinear_form(make, seed):
    rng, adversary = np.random.default_rng(seed), make(6, 5)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    scores = X @ v
    distance = adversary.distance(scores[None], v[None])[0]
    u = adversary.respond_to(scores[None], v[None])[0]
    if type(adversary) is not noap.EntryWise:
        np.testing.assert_array_equal(u, adversary.respond(scores[None])[0])
    form = u @ scores - adversary.support_function(u, v)
    assert max(form, 0.0) == pytest.approx(distance, abs=1e-12)
    for _ in range(20):
        other = rng.standard_normal(6)
        other /= np.linalg.norm(other)
        assert other @ scores - adversary.support_function(other, v) <= distance + 1e-12


@everyone
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_f2_half_step_in_v_is_exact(make, seed, k):
    rng, adversary = np.random.default_rng(seed), make(6, 5)
    X, u = rng.standard_normal((6, 5)), rng.standard_normal(6)
    u /= np.linalg.norm(u)
    v = choose(adversary, adversary.lessened(u[None] @ X, u[None]), k).dense(5)[0]

    def form(w):
        return u @ X @ w - adversary.support_function(u, w)

    for _ in range(30):
        assert form(sparse_unit(rng, 5, k)) <= max(form(v), 0.0) + 1e-12


@everyone
@given(seed=st.integers(0, 10**6))
def test_f2_both_half_steps_never_go_down(make, seed):
    rng, adversary = np.random.default_rng(seed), make(6, 5)
    X, v = 2 * rng.standard_normal((6, 5)), sparse_unit(rng, 5, 2)
    before = adversary.distance((X @ v)[None], v[None])[0]
    for _ in range(5):
        u = adversary.respond_to((X @ v)[None], v[None])
        moved = choose(adversary, adversary.lessened(u @ X, u), 2).dense(5)[0]
        if before == 0.0 or not moved.any():
            assert before <= 1e-12
            break
        v, last = moved, before
        before = adversary.distance((X @ v)[None], v[None])[0]
        assert before >= last - 1e-12


@everyone
def test_value_of_zero_is_zero_and_scales_quadratically(make):
    rng, adversary = np.random.default_rng(0), make(6, 4)
    X, v = rng.standard_normal((6, 4)), rng.standard_normal(4)
    assert adversary.value(X, np.zeros(4)) == 0.0
    assert not adversary.attack(X, np.zeros(4)).any()
    assert adversary.value(X, 3 * v) == pytest.approx(9 * adversary.value(X, v))
    assert adversary.value(X, -v) == pytest.approx(adversary.value(X, v))


@everyone
def test_value_grows_with_data_and_falls_with_budget(make):
    rng, adversary = np.random.default_rng(1), make(8, 4)
    X, v = rng.standard_normal((8, 4)), sparse_unit(rng, 4, 2)
    assert adversary.rescaled(2.0).value(2 * X, v) == pytest.approx(4 * adversary.value(X, v))
    assert adversary.rescaled(0.5).value(X, v) >= adversary.value(X, v)


def test_norms_are_the_ones_of_the_paper():
    E = np.array([[3.0, 0.0], [4.0, 1.0]])
    assert noap.FeatureWise(1).norm(E) == 5.0
    assert noap.SampleWise(1).norm(E) == pytest.approx(np.sqrt(17))
    assert noap.NoAdversary().norm(E) == noap.EntryWise(1).norm(E) == 4.0
    assert noap.SpectralNorm(1).norm(E) == pytest.approx(np.linalg.svd(E)[1][0])
    # Of several budgets, the smallest factor that E needs of them.
    assert noap.FeatureWise([2.0, 0.5]).norm(E) == 2.5
    assert noap.FeatureWise([math.inf, 0.5]).norm(E) == 2.0
    assert noap.FeatureWise([0.0, 0.5]).norm(E) == math.inf
    assert noap.FeatureWise([0.0, 0.5]).norm(np.zeros((2, 2))) == 0.0
    assert noap.SampleWise([6.0, np.sqrt(17)]).norm(E) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ATTACKERS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_f4_rho_max_is_where_the_optimum_vanishes(kind, seed, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 4))
    top = kind(0).rho_max(X, k)
    for _ in range(50):
        assert kind(top).value(X, sparse_unit(rng, 4, k)) <= 1e-25
    if kind is noap.SpectralNorm:  # that budget is an upper bound; the smallest is an optimum itself
        smallest = math.sqrt(6 * noap.solve(noap.Problem(X, k=k, adversary=noap.NoAdversary())).value)
        assert smallest <= top
        top = smallest
    below = noap.Problem(X, k=k, adversary=kind(0.99 * top))
    assert noap.solve(below, method="ascent").value > 0


@given(seed=st.integers(0, 10**6), share=st.floats(0.3, 0.99))
def test_f4_screened_features_and_samples_do_not_matter(seed, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((7, 5)) * rng.uniform(0.2, 2, 5)
    feature = noap.FeatureWise(share * column_norms(X).max())
    kept = feature.kept_features(column_norms(X))
    assert kept.any()
    for _ in range(20):
        v = sparse_unit(rng, 5, 3)
        left = v * kept
        length = np.linalg.norm(left)
        # Dropping what screening rules out and normalising never lowers the value.
        assert feature.value(X, v) <= (feature.value(X, left / length) if length > 0 else 0.0) + 1e-12
    sample = noap.SampleWise(share * row_top_k_norms(X, 2).max())
    rows = sample.kept_samples(row_top_k_norms(X, 2))
    v = sparse_unit(rng, 5, 2)
    assert sample.value(X, v) * 7 == pytest.approx(sample.value(X[rows], v) * rows.sum(), abs=1e-12)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), "big", None])
@pytest.mark.parametrize("kind", ATTACKERS)
def test_bad_budgets_are_named(kind, bad):
    with pytest.raises(noap.errors.InvalidProblem, match="delta" if kind is noap.EntryWise else "rho"):
        kind(bad)


@everyone
def test_float32_and_sparse_data_give_float64_values(make):
    from scipy.sparse import csr_array

    rng, adversary = np.random.default_rng(2), make(40, 9)
    X = rng.standard_normal((40, 9)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    for k in (2, 9):
        v = sparse_unit(rng, 9, k)
        expected = adversary.value(X.astype(np.float64), v)
        assert adversary.value(X, v) == pytest.approx(expected, rel=1e-14)
        assert adversary.value(csr_array(X), v) == pytest.approx(expected, rel=1e-14)
        assert adversary.rho_max(csr_array(X), k) == pytest.approx(adversary.rho_max(X, k))
        np.testing.assert_allclose(adversary.attack(csr_array(X), v), adversary.attack(X, v))


def test_no_temporary_the_size_of_x():
    import tracemalloc

    X = np.ones((20_000, 200), dtype=np.float32)  # 16 MB
    v = np.zeros(200)
    v[:3] = 1.0
    for make in MAKERS.values():
        adversary = make(*X.shape)
        tracemalloc.start()
        adversary.value(X, v)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < X.nbytes / 8


def test_gram_adversaries_need_only_the_energy():
    rng = np.random.default_rng(3)
    X, v = rng.standard_normal((6, 4)), sparse_unit(rng, 4, 2)
    for make in MAKERS.values():
        adversary = make(6, 4)
        if isinstance(adversary, GramAdversary):
            energy = np.array([np.linalg.norm(X @ v)])
            assert adversary.distance_from_energy(energy, v[None])[0] ** 2 / 6 == pytest.approx(adversary.value(X, v))
