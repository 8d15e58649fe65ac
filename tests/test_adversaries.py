"""One battery for every adversary: propositions 1, 2 and 4 of the paper and facts F1, F2, F4."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
from noap.adversaries.base import GramAdversary
from noap.heuristics.batch import choose
from noap.linalg.products import column_norms, row_top_k_norms

ADVERSARIES = [noap.NoAdversary(), noap.FeatureWise(0.7), noap.SampleWise(0.7)]
everyone = pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda a: type(a).__name__)
ATTACKERS = [noap.FeatureWise, noap.SampleWise]


def sparse_unit(rng, d, k):
    v = np.zeros(d)
    v[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("kind", ATTACKERS)
@pytest.mark.parametrize("rho", [0.1, 0.8, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_is_the_inner_minimum_of_an_independent_solver(kind, rho, seed):
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    E = cp.Variable(X.shape)
    axis = 0 if kind is noap.FeatureWise else 1
    inner = cp.Problem(cp.Minimize(cp.norm((X + E) @ v, 2)), [cp.norm(E, 2, axis=axis) <= rho])
    inner.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert kind(rho).value(X, v) == pytest.approx(inner.value**2 / len(X), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ATTACKERS)
@given(st.integers(0, 10**6), st.floats(0, 5), st.floats(1e-3, 1e3))
def test_attack_is_feasible_and_attains_the_minimum(kind, seed, rho, length):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((7, 5)), length * sparse_unit(rng, 5, 3)
    adversary = kind(rho)
    E = adversary.attack(X, v)
    assert E.shape == X.shape
    assert adversary.norm(E) <= rho * (1 + 1e-12)
    attained = np.linalg.norm((X + E) @ v) ** 2 / len(X)
    assert attained == pytest.approx(adversary.value(X, v), rel=1e-9, abs=1e-12 * length**2)


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
    # Propositions 2 and 4: {Ev} is {|u|_inf <= rho |v|_2}, or {|u|_2 <= rho |v|_1}.
    rng = np.random.default_rng(seed)
    E, v = rng.standard_normal((5, 4)), rng.standard_normal(4)
    E *= rho / kind(rho).norm(E)
    if kind is noap.SampleWise:
        assert np.abs(E @ v).max() <= rho * np.linalg.norm(v) * (1 + 1e-12)
    else:
        assert np.linalg.norm(E @ v) <= rho * np.abs(v).sum() * (1 + 1e-12)
    # And the radius is attained: the support function is reached by an attack on a long vector in direction -u.
    u = rng.standard_normal(5)
    u /= np.linalg.norm(u)
    far = 1e6 * np.outer(u, v) / (v @ v)
    if kind is noap.FeatureWise:
        gained = -u @ kind(rho).attack(far, v) @ v
        assert gained == pytest.approx(kind(rho).support_function(u, v), rel=1e-9, abs=1e-12)


@everyone
@given(seed=st.integers(0, 10**6))
def test_f1_distance_is_the_maximum_of_the_bilinear_form(adversary, seed):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((6, 5)), sparse_unit(rng, 5, 3)
    scores = X @ v
    distance = adversary.distance(scores[None], v[None])[0]
    u = adversary.respond(scores[None])[0]
    form = u @ scores - adversary.support_function(u, v)
    assert max(form, 0.0) == pytest.approx(distance, abs=1e-12)
    for _ in range(20):
        other = rng.standard_normal(6)
        other /= np.linalg.norm(other)
        assert other @ scores - adversary.support_function(other, v) <= distance + 1e-12


@everyone
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_f2_half_step_in_v_is_exact(adversary, seed, k):
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((6, 5)), rng.standard_normal(6)
    u /= np.linalg.norm(u)
    v = choose(adversary, (X.T @ u)[None], k).dense(5)[0]

    def form(w):
        return u @ X @ w - adversary.support_function(u, w)

    for _ in range(30):
        assert form(sparse_unit(rng, 5, k)) <= max(form(v), 0.0) + 1e-12


@everyone
def test_value_of_zero_is_zero_and_scales_quadratically(adversary):
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((6, 4)), rng.standard_normal(4)
    assert adversary.value(X, np.zeros(4)) == 0.0
    assert not adversary.attack(X, np.zeros(4)).any()
    assert adversary.value(X, 3 * v) == pytest.approx(9 * adversary.value(X, v))
    assert adversary.value(X, -v) == pytest.approx(adversary.value(X, v))


@everyone
def test_value_grows_with_data_and_falls_with_budget(adversary):
    rng = np.random.default_rng(1)
    X, v = rng.standard_normal((8, 4)), sparse_unit(rng, 4, 2)
    assert adversary.rescaled(2.0).value(2 * X, v) == pytest.approx(4 * adversary.value(X, v))
    assert adversary.rescaled(0.5).value(X, v) >= adversary.value(X, v)


def test_norms_are_the_ones_of_the_paper():
    E = np.array([[3.0, 0.0], [4.0, 1.0]])
    assert noap.FeatureWise(1).norm(E) == 5.0
    assert noap.SampleWise(1).norm(E) == pytest.approx(np.sqrt(17))
    assert noap.NoAdversary().norm(E) == 4.0


@pytest.mark.parametrize("kind", ATTACKERS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_f4_rho_max_is_where_the_optimum_vanishes(kind, seed, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 4))
    top = kind(0).rho_max(X, k)
    for _ in range(50):
        assert kind(top).value(X, sparse_unit(rng, 4, k)) <= 1e-25
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
    with pytest.raises(noap.errors.InvalidProblem, match="rho"):
        kind(bad)


@everyone
def test_float32_and_sparse_data_give_float64_values(adversary):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(2)
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
    for adversary in ADVERSARIES:
        tracemalloc.start()
        adversary.value(X, v)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < X.nbytes / 8


def test_gram_adversaries_need_only_the_energy():
    rng = np.random.default_rng(3)
    X, v = rng.standard_normal((6, 4)), sparse_unit(rng, 4, 2)
    for adversary in ADVERSARIES:
        if isinstance(adversary, GramAdversary):
            energy = np.array([np.linalg.norm(X @ v)])
            assert adversary.distance_from_energy(energy, v[None])[0] ** 2 / 6 == pytest.approx(adversary.value(X, v))
