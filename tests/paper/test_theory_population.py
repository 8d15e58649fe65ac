"""Population objectives against integrals, Monte Carlo and exact arithmetic; the path against independent search."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import erfc

from noap.errors import InvalidProblem
from noap.theory import (
    Spike,
    gamma_factor,
    population_path,
    population_value,
    spiked_wishart,
    strong_weak_truth,
    truncated_variance,
)

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=60, derandomize=True)


def unit(v):
    return v / np.linalg.norm(v)


# ---- the Gamma factor of Proposition 5


def exact_gamma_factor_squared(n):
    """c_n^2 from Gamma(m + 1/2)/Gamma(m) = sqrt(pi) (2m)!/(4^m m! (m-1)!): a rational number times pi or 1/pi."""
    m = n // 2
    ratio = Fraction(math.factorial(2 * m), 4**m * math.factorial(m) * math.factorial(max(m - 1, 0)))
    if n % 2 == 0:
        return float(ratio * ratio / m) * math.pi
    # Odd n = 2m + 1: Gamma(m + 1)/Gamma(m + 1/2), the even ratio upside down times m.
    return float(Fraction(m, 1) ** 2 / ratio**2 * Fraction(2, n)) / math.pi if m else 2 / math.pi


@pytest.mark.parametrize("n", [1, 2, 3, 10, 59, 60, 61, 101, 500])
def test_gamma_factor_is_exact(n):
    assert gamma_factor(n) ** 2 == pytest.approx(exact_gamma_factor_squared(n), rel=2e-13)


@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**9])
def test_gamma_factor_is_below_one_and_stable(n):
    # 1/(4n) - 1/(32 n^2) - ... <= 1 - c_n <= 1/(4n): the two ends differ by far less than the loss of lgamma.
    defect = 1.0 - gamma_factor(n)
    assert defect == pytest.approx(1 / (4 * n) - 1 / (32 * n**2), rel=1e-4, abs=2e-16)
    assert gamma_factor(n) < 1.0


# ---- sample-wise: Theorem 3


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("rho", [0.0, 0.4, 1.0, 3.0, 6.0])
def test_closed_form_is_the_integral(sigma, rho):
    def integrand(x):
        return 2 * (x - rho) ** 2 * math.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

    value, _ = quad(integrand, rho, rho + 12 * sigma, epsabs=0.0, epsrel=1e-11, limit=200)
    assert truncated_variance(sigma, rho) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(("sigma", "rho"), [(1.0, 0.5), (0.7, 1.3), (2.0, 1.0)])
def test_the_two_integrals_in_the_proof_of_theorem_3(sigma, rho):
    tail, bell = erfc(rho / (math.sqrt(2) * sigma)), math.exp(-(rho**2) / (2 * sigma**2))
    printed = (
        math.sqrt(math.pi / 2) * sigma * (rho**2 + sigma**2) * tail - rho * sigma**2 * bell,
        math.sqrt(math.pi / 2) * sigma**3 * (rho**2 + 3 * sigma**2) * tail - rho * sigma**4 * bell,
    )
    for power, value in zip((0, 2), printed, strict=True):
        integral, _ = quad(lambda x, p=power: x**p * (x - rho) ** 2 * math.exp(-(x**2) / (2 * sigma**2)), rho, 40)
        assert value == pytest.approx(integral, rel=1e-9)


@given(sigma=st.floats(0.1, 5), rho=st.floats(0, 5))
@quick
def test_slope_in_sigma_is_positive_and_known(sigma, rho):
    step = 1e-5 * sigma
    slope = (truncated_variance(sigma + step, rho) - truncated_variance(sigma - step, rho)) / (2 * step)
    assert truncated_variance(sigma * 1.01, rho) > truncated_variance(sigma, rho) or rho > 37 * sigma
    assert slope == pytest.approx(2 * sigma * erfc(rho / (math.sqrt(2) * sigma)), rel=1e-5, abs=1e-11)


def test_truncated_variance_limits():
    assert truncated_variance(0.0, 0.0) == 0.0
    assert truncated_variance(0.0, 1.0) == 0.0
    assert truncated_variance(1e-200, 1e200) == 0.0
    assert 0.0 < truncated_variance(1.0, 36.0) < 1e-280


@given(seed=seeds, rho=st.floats(0, 6))
@quick
def test_theorem_3_budget_does_not_reorder_vectors(seed, rho):
    rng = np.random.default_rng(seed)
    d, k = 6, 3
    root = rng.standard_normal((d, d))
    sigma = root @ root.T
    # The vanilla optimum, by enumeration of supports, also wins under the budget; and orders agree.
    best, top = None, -1.0
    for support in combinations(range(d), k):
        w, V = np.linalg.eigh(sigma[np.ix_(support, support)])
        if w[-1] > top:
            best, top = np.zeros(d), w[-1]
            best[list(support)] = V[:, -1]
    vectors = np.zeros((20, d))
    for row in vectors:
        row[rng.choice(d, k, replace=False)] = unit(rng.standard_normal(k))
    values = [population_value(v, sigma, adversary="sample", rho=rho) for v in vectors]
    variances = np.einsum("ij,jk,ik->i", vectors, sigma, vectors)
    for i, j in combinations(range(20), 2):
        if variances[i] > variances[j] * (1 + 1e-6):
            assert values[i] > values[j] or rho > 37 * math.sqrt(variances[i])
    assert population_value(best, sigma, adversary="sample", rho=rho) >= max(values) * (1 - 1e-12)


def test_theorem_3_the_value_does_depend_on_the_budget():
    spike = Spike([0.6, 0.8], 3.0)
    values = [population_value([0.6, 0.8], spike, adversary="sample", rho=rho) for rho in (0.0, 0.5, 1.0, 2.0)]
    assert values[0] == pytest.approx(4.0)
    assert np.all(np.diff(values) < 0)


# ---- Remark 1: other laws


def by_gauss(f, start):
    """Integrate f from `start` to infinity: t = start + s/(1 - s) and Gauss's rule in s."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    s = (nodes + 1) / 2
    return float(sum(w / 2 * f(start + x / (1 - x)) / (1 - x) ** 2 for x, w in zip(s, weights, strict=True)))


def student(t):
    """Return the density of Student's t with 5 degrees of freedom, scaled to deviation 1."""
    return math.sqrt(5 / 3) * stats.t(5).pdf(t * math.sqrt(5 / 3))


LAWS = {  # scaled to deviation 1: E(|z| - q)_+^2, by hand or by another rule
    "uniform": (stats.uniform(-4, 8), lambda q: max(math.sqrt(3) - q, 0) ** 3 / math.sqrt(27)),
    "laplace": (stats.laplace(scale=9.0), lambda q: math.exp(-math.sqrt(2) * q)),
    "two points": (stats.rv_discrete(values=([-1, 1], [0.5, 0.5]))(), lambda q: max(1 - q, 0) ** 2),
    "normal": (stats.norm(0, 0.1), lambda q: truncated_variance(1.0, q)),
    "student": (stats.t(5), lambda q: 2 * by_gauss(lambda t: (t - q) ** 2 * student(t), q)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("q", [0.0, 0.3, 1.0, 1.7, 1.8, 6.0])
def test_truncated_variance_of_other_laws(name, q):
    law, expected = LAWS[name]
    for sigma in (1.0, 0.02, 7.0):
        value = truncated_variance(sigma, q * sigma, law=law)
        assert value == pytest.approx(sigma**2 * expected(q), rel=1e-6, abs=1e-15 * sigma**2)
    if name != "two points":
        assert truncated_variance(1.0, q, law=lambda t: 3.0 * float(law.pdf(t))) == pytest.approx(
            expected(q), rel=1e-6, abs=1e-15
        )


@given(sigma=st.floats(0.1, 5), rho=st.floats(0.0, 5), name=st.sampled_from(["uniform", "laplace", "two points"]))
@settings(deadline=None, max_examples=100, derandomize=True)
def test_remark_1_the_value_rises_strictly_exactly_where_it_is_positive(sigma, rho, name):
    law, _ = LAWS[name]
    before, after = (truncated_variance(s, rho, law=law) for s in (sigma, 1.01 * sigma))
    reach = {"uniform": math.sqrt(3), "laplace": math.inf, "two points": 1.0}[name]
    assert (after > 0) == (1.01 * sigma * reach > rho)
    assert after > before or after == before == 0.0


def test_remark_1_as_printed_fails_for_a_bounded_law():
    # On the sphere in R^3 every coordinate is uniform (Archimedes), so scores of x = sqrt(3) Sigma^(1/2) u are uniform
    # with deviation sqrt(v'Sigma v): all of the remark's conditions hold, h is non-decreasing, and yet ...
    rng = np.random.default_rng(5)
    root = np.diag([2.0, 1.0, 0.5])
    u = rng.standard_normal((200_000, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    X = math.sqrt(3) * u @ root
    for v in (np.eye(3)[0], unit(np.array([1.0, 2.0, -1.0]))):
        sigma = np.linalg.norm(root @ v)
        assert stats.kstest(X @ v / (math.sqrt(3) * sigma), stats.uniform(-1, 2).cdf).pvalue > 0.01
        for rho in (0.5, 1.5):
            assert np.mean(np.maximum(np.abs(X @ v) - rho, 0) ** 2) == pytest.approx(
                truncated_variance(sigma, rho, law=stats.uniform(-1, 2)), rel=0.02
            )
    # ... with rho above the largest score, 2 sqrt(3), every v is optimal, while plain sparse PCA has one optimum.
    rho = 2 * math.sqrt(3) + 1e-9
    assert np.abs(X).max() <= 2 * math.sqrt(3)
    assert {truncated_variance(s, rho, law=stats.uniform(-1, 2)) for s in (0.5, 1.0, 2.0)} == {0.0}
    # Below it the optima agree: the value rises strictly up to the largest deviation.
    values = [truncated_variance(s, 2 * math.sqrt(3) - 0.1, law=stats.uniform(-1, 2)) for s in (1.0, 1.9, 1.99, 2.0)]
    assert values[0] == values[1] == 0.0
    assert 0.0 < values[2] < values[3]


def test_remark_2_finite_samples_can_disagree_with_vanilla():
    X = np.array([[1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    angles = np.linspace(0, math.pi, 3601)  # steps of 1/20 degree: holds 0, 30 and 60 degrees
    V = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    scores = np.abs(V @ X.T)
    vanilla = V[np.argmax((scores**2).sum(axis=1))]
    robust = (np.maximum(scores - (math.sqrt(3) / 2 + 0.01), 0.0) ** 2).sum(axis=1)
    assert vanilla == pytest.approx([math.sqrt(3) / 2, 0.5])
    winners = np.degrees(angles[np.isclose(robust, robust.max(), rtol=1e-9)])
    assert winners == pytest.approx([0.0, 60.0, 180.0])


def test_sample_wise_value_against_monte_carlo():
    model = spiked_wishart(200_000, 5, 3, 2.0, random_state=11)
    v = np.array([0.5, -0.5, 0.5, 0.5, 0.0]) * 1.5  # not unit: the attack moves the score by rho |v|_2
    draws = np.maximum(np.abs(model.X @ v) - 0.8 * 1.5, 0.0) ** 2
    error = draws.std() / math.sqrt(draws.size)
    assert population_value(v, model, adversary="sample", rho=0.8) == pytest.approx(draws.mean(), abs=5 * error)


# ---- feature-wise: Proposition 5


def test_feature_wise_values_against_monte_carlo():
    n, repeats, rho = 6, 60_000, 2.0
    spike = Spike(strong_weak_truth(4, 1, 0.7), 2.0)
    v = unit(np.array([0.8, 0.4, -0.3, 0.1]))
    model_rows = np.random.default_rng(12).multivariate_normal(
        np.zeros(4), 2.0 * np.outer(spike.truth, spike.truth) + np.eye(4), size=(repeats, n)
    )
    margins = np.linalg.norm(model_rows @ v, axis=1) - rho * np.abs(v).sum()
    assert 0.05 < np.mean(margins < 0) < 0.95  # both sides of the clip are drawn
    for form, draws in (("expectation", margins**2 / n), ("clipped", np.maximum(margins, 0) ** 2 / n)):
        error = draws.std() / math.sqrt(repeats)
        value = population_value(v, spike, adversary="feature", rho=rho, n=n, form=form)
        assert value == pytest.approx(draws.mean(), abs=5 * error)


@given(seed=seeds, rho_bar=st.floats(0.01, 3), n=st.integers(1, 10**9), lam=st.floats(0, 20))
@quick
def test_limit_form_lies_below_the_expectation(seed, rho_bar, n, lam):
    truth, v = (unit(x) for x in np.random.default_rng(seed).standard_normal((2, 5)))
    spike, rho = Spike(truth, lam), rho_bar * math.sqrt(n)
    limit, expectation, clipped = (
        population_value(v, spike, adversary="feature", rho=rho, n=n, form=form)
        for form in ("limit", "expectation", "clipped")
    )
    scale = spike.deviation(v) ** 2
    r = rho_bar * np.abs(v).sum()
    assert limit < expectation
    excess = (2 * spike.deviation(v) * r) * (1 - gamma_factor(n)) + max(r - spike.deviation(v), 0.0) ** 2
    assert expectation - limit == pytest.approx(excess, rel=1e-6, abs=1e-13 * max(scale, r * r))
    assert -1e-12 * scale <= clipped <= expectation * (1 + 1e-12) + 1e-12 * scale


def test_clipped_form_against_the_chi_density():
    n, sigma = 9, 1.7
    for r in (0.0, 0.5, 1.7, 3.0):
        log_constant = (1 - n / 2) * math.log(2) - math.lgamma(n / 2)

        def integrand(x, r=r, log_constant=log_constant):
            density = math.exp(log_constant + (n - 1) * math.log(x) - x * x / 2) if x > 0 else 0.0
            return max(sigma * x / math.sqrt(n) - r, 0.0) ** 2 * density

        value, _ = quad(integrand, r / sigma * math.sqrt(n), 30, epsabs=1e-13)
        mine = population_value(
            [sigma], [[1.0]], adversary="feature", rho=r / sigma * math.sqrt(n), n=n, form="clipped"
        )
        assert mine == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("options", [{"adversary": "sample"}, {"adversary": "feature", "n": 40}])
def test_values_scale_with_the_square_and_agree_with_a_matrix(options):
    spike = Spike(strong_weak_truth(5, 2, 0.8), 3.0)
    v = np.array([0.5, 0.1, -0.2, 0.3, 0.0])
    value = population_value(v, spike, rho=0.9, **options)
    dense = 3.0 * np.outer(spike.truth, spike.truth) + np.eye(5)
    assert value > 0
    assert population_value(v, dense, rho=0.9, **options) == pytest.approx(value, rel=1e-12)
    assert population_value(-3 * v, spike, rho=0.9, **options) == pytest.approx(9 * value, rel=1e-12)
    assert population_value(0 * v, spike, rho=0.9, **options) == 0.0


# ---- the exact path


def objective(v, spike, r):
    return math.sqrt(v @ v + spike.lam * (v @ spike.truth) ** 2) - r * np.abs(v).sum()


def search(spike, r, rng, starts=15):
    """Smooth search over v = w^2/|w^2| from random starts, and every single feature: shares nothing with the path."""
    t = np.abs(spike.truth)

    def loss(w):
        v = unit(w * w)
        return r * v.sum() - math.sqrt(1 + spike.lam * (v @ t) ** 2)

    found = [
        -minimize(loss, rng.standard_normal(t.size), method="BFGS", options={"gtol": 1e-9}).fun for _ in range(starts)
    ]
    return max(*found, *(math.sqrt(1 + spike.lam * x * x) - r for x in t))


def ascend(spike, r, k, starts, steps=300):
    """Alternating ascent over all d features from the rows of `starts`: values that no exact optimum may miss."""
    V = starts.copy()
    for _ in range(steps):
        sigma = np.sqrt((V * V).sum(axis=1) + spike.lam * (V @ spike.truth) ** 2)
        U = (V + spike.lam * np.outer(V @ spike.truth, spike.truth)) / sigma[:, None]
        U = np.sign(U) * np.maximum(np.abs(U) - r, 0.0)
        cut = np.sort(np.abs(U), axis=1)[:, -k][:, None]
        U[np.abs(U) < cut] = 0.0
        norms = np.linalg.norm(U, axis=1)
        V = np.where((norms > 0)[:, None], U / np.maximum(norms, 1e-300)[:, None], V)
    return max(objective(v, spike, r) for v in V)


TRUTHS = [
    strong_weak_truth(5, 2, 0.8),
    strong_weak_truth(4, 3, 0.3),  # here a weak feature is larger than a strong one
    strong_weak_truth(3, 1, 0.51),
    unit(np.array([1.0, 1.0, 1.0])),
    unit(np.array([3.0, 2.0, 2.0, 1.0])),
    unit(np.array([1.0, 0.9, 0.1])),
]


@pytest.mark.parametrize("truth", TRUTHS, ids=range(len(TRUTHS)))
@pytest.mark.parametrize("lam", [0.3, 3.0, 60.0])
def test_path_is_what_an_independent_search_finds(truth, lam):
    spike = Spike(truth, lam)
    end = math.sqrt(1 + lam * truth.max() ** 2)
    rs = np.array([0.0, 0.05, 0.2, 0.4, 0.7]) * min(end, lam * truth.max() / math.sqrt(1 + lam))
    path = population_path(spike, rs, n=1)
    rng = np.random.default_rng(13)
    for r, v in zip(rs, path.vectors, strict=True):
        # Both ways: the search must not win, and it is a fair judge only if it gets there itself.
        assert objective(v, spike, r) == pytest.approx(search(spike, r, rng), abs=2e-9)


@given(seed=seeds, lam=st.floats(0.01, 200), share=st.floats(0, 1.1), k=st.integers(1, 6))
@quick
def test_path_beats_ascent_over_all_features_and_stays_in_the_truth(seed, lam, share, k):
    rng = np.random.default_rng(seed)
    d = 8
    truth = np.zeros(d)
    where = rng.choice(d, 5, replace=False)
    truth[where] = unit(rng.standard_normal(5))
    spike = Spike(truth, lam)
    r = share * math.sqrt(1 + lam * np.abs(truth).max() ** 2)
    path = population_path(spike, [r * 4.0], n=16, k=k)
    v = path.vectors[0]
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert np.count_nonzero(v) <= k
    assert set(path.supports[0]) <= set(where)  # Lemma: the support lies in the truth's
    assert v @ truth > 0
    starts = np.vstack([rng.standard_normal((30, d)), np.eye(d), truth])
    starts /= np.linalg.norm(starts, axis=1)[:, None]
    kept = np.sort(np.abs(starts), axis=1)[:, -k][:, None]
    starts[np.abs(starts) < kept] = 0.0
    starts /= np.linalg.norm(starts, axis=1)[:, None]
    found = ascend(spike, r, k, starts)
    if found > 0:
        assert objective(v, spike, r) >= found - 1e-12 * math.sqrt(1 + lam)
    assert path.values[0] == pytest.approx(
        population_value(v, spike, adversary="feature", rho=r * 4.0, n=16), abs=1e-12 * (1 + lam)
    )


def test_path_under_assumption_3_is_all_then_strong_then_one():
    model = spiked_wishart(500, 40, 7, 3.0, k1=3, c=0.75, random_state=6)
    rhos = np.linspace(0.0, 1.1 * math.sqrt(500 * (1 + 3 * 0.25)), 200)
    path = population_path(model, rhos, n=500)
    sizes = [s.size for s in path.supports]
    assert np.all(np.diff(sizes) <= 0)
    assert set(sizes) == {7, 3, 1}
    for support, stage, value in zip(path.supports, path.stages, path.values, strict=True):
        if stage == "full":
            assert np.array_equal(support, model.support)
        elif stage == "partial":
            assert np.array_equal(support, model.strong)
        else:
            assert support.size == 1
            assert support[0] in model.strong
        assert (value == 0.0) == (stage == "none")
    assert path.vectors[0] == pytest.approx(model.v)
    # The square root of the optimum is convex and nonincreasing in the budget: a maximum of falling lines.
    roots = np.sqrt(path.values)
    assert np.all(np.diff(roots) <= 1e-12)
    assert np.all(np.diff(roots, 2) >= -1e-12)


def test_path_with_fewer_features_than_the_truth_uses_the_largest():
    spike = Spike(unit(np.array([0.0, -1.0, 4.0, 0.5, 3.0])), 5.0)
    path = population_path(spike, [0.0, 0.3], n=1, k=2)
    assert path.supports[0].tolist() == [2, 4]
    assert path.vectors[0][[2, 4]] == pytest.approx([0.8, 0.6])
    assert path.stages[0] == "full"


def test_path_without_a_spike_and_with_one_feature():
    flat = population_path(Spike(strong_weak_truth(5, 2, 0.8), 0.0), [0.5, 1.5], n=1)
    assert flat.stages == ("single", "none")
    assert flat.values == pytest.approx([0.25, 0.0])
    one = population_path(Spike([0.0, -1.0], 3.0), [0.5, 2.0], n=1)
    assert one.stages == ("full", "none")
    assert one.vectors[0].tolist() == [0.0, -1.0]
    assert one.values == pytest.approx([2.25, 0.0])


SPIKE = Spike([0.6, 0.8], 1.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gamma_factor(0), "n"),
        (lambda: truncated_variance(-1.0, 1.0), "sigma"),
        (lambda: truncated_variance(1.0, math.nan), "rho"),
        (lambda: truncated_variance(1.0, 1.0, law=stats.cauchy()), "law"),
        (lambda: truncated_variance(1.0, 1.0, law=stats.norm(1.0, 2.0)), "law"),
        (lambda: truncated_variance(1.0, 1.0, law=lambda t: math.exp(-((t - 1) ** 2))), "law"),
        (lambda: truncated_variance(1.0, 1.0, law=lambda t: 1 / (1 + t * t)), "law"),
        (lambda: truncated_variance(1.0, 1.0, law=lambda t: 0.0), "law"),
        (lambda: truncated_variance(1.0, 1.0, law="normal"), "law"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="feature", rho=-1.0, n=5), "rho"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="feature", rho=1.0), "n"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="feature", rho=1.0, n=0), "n"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="both", rho=1.0, n=5), "adversary"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="feature", rho=1.0, n=5, form="exact"), "form"),
        (lambda: population_value([1.0, 0.0], SPIKE, adversary="sample", rho=1.0, form="limit"), "form"),
        (lambda: population_value([1.0, math.inf], SPIKE, adversary="sample", rho=1.0), "v"),
        (lambda: population_value([1.0], SPIKE, adversary="sample", rho=1.0), "v"),
        (lambda: population_value([1.0], [[1.0, 0.0]], adversary="sample", rho=1.0), "covariance"),
        (lambda: population_value([1.0, 0.0], [[1.0, 1.0], [0.0, 1.0]], adversary="sample", rho=1.0), "covariance"),
        (lambda: population_value([1.0], [[-1.0]], adversary="sample", rho=1.0), "covariance"),
        (lambda: population_path(np.eye(2), [1.0], n=5), "covariance"),
        (lambda: population_path(SPIKE, [-1.0], n=5), "rhos"),
        (lambda: population_path(SPIKE, [math.nan], n=5), "rhos"),
        (lambda: population_path(SPIKE, [], n=5), "rhos"),
        (lambda: population_path(SPIKE, [1.0], n=0), "n"),
        (lambda: population_path(SPIKE, [1.0], n=5, k=3), "k"),
        (lambda: population_path(SPIKE, [1.0], n=5, k=0), "k"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidProblem, match=f"^{name} must"):
        call()
