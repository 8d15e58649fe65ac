"""SpectralNorm by plain sparse PCA, with its certificate; what EntryWise does not do."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
import older
from judge import root_below, vanilla_optimum
from noap.checker.witness import value_below
from noap.errors import InvalidProblem, NoapWarning
from noap.exact.reduced import less_spectral_budget


def data(seed, n=15, d=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    return X - X.mean(axis=0)


def spectral_problems(X, k, rho):
    adversary = noap.SpectralNorm(rho)
    yield noap.Problem(X, k, adversary)
    yield noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=k, adversary=adversary)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("seed", range(4))
def test_spectral_optimum_is_that_of_plain_sparse_pca_less_the_budget(seed, share):
    X, k = data(seed), 3
    n = len(X)
    root = math.sqrt(n * vanilla_optimum(X.T @ X / n, k))
    expected = (root - share * root) ** 2 / n
    for problem in spectral_problems(X, k, share * root):
        result = older.solve(problem)
        assert result.status is noap.Status.OPTIMAL
        assert result.value == pytest.approx(expected, rel=1e-8)
        assert expected * (1 - 1e-9) <= result.bound <= expected * (1 + 1.01e-4)
        report = noap.verify(problem, result.certificate)
        assert report.ok, report.message
        assert report.value <= expected * (1 + 1e-9)
        assert expected * (1 - 1e-9) <= report.bound <= result.bound * (1 + 1e-5)
        moved = X + noap.SpectralNorm(share * root).attack(X, result.v)
        np.testing.assert_allclose(result.attacked_covariance(), moved.T @ moved / n, atol=1e-12)
        np.testing.assert_allclose(noap.solve(problem, "ascent").value, expected, rtol=1e-8)
        assert noap.solve(problem, "ppm").value <= expected * (1 + 1e-9)


def test_a_spectral_certificate_is_about_its_budget_and_its_bound(tmp_path):
    X = data(9)
    problem = noap.Problem(X, 3, noap.SpectralNorm(2.0))
    certificate = older.solve(problem).certificate
    certificate.save(tmp_path / "proof.noap")
    loaded = noap.Certificate.load(tmp_path / "proof.noap")
    assert loaded.claim.adversary == "SpectralNorm"
    assert noap.verify(problem, loaded).ok
    for other in (noap.SpectralNorm(2.1), noap.FeatureWise(2.0), noap.NoAdversary()):
        assert not noap.verify(problem.with_adversary(other), loaded).ok
    for factor in (0.99, 0.9):
        claim = dataclasses.replace(loaded.claim, bound=factor * loaded.value)
        assert not noap.verify(problem, dataclasses.replace(loaded, claim=claim)).ok
    claim = dataclasses.replace(loaded.claim, value=1.01 * loaded.bound)
    assert not noap.verify(problem, dataclasses.replace(loaded, claim=claim)).ok
    # The proof of another adversary proves nothing here.
    foreign = older.solve(problem.with_adversary(noap.FeatureWise(0.5))).certificate
    lie = dataclasses.replace(loaded, proof=foreign.proof)
    assert not noap.verify(problem, lie).ok or foreign.bound >= loaded.bound


@given(
    bound=st.floats(0, 1e6),
    n=st.integers(1, 1000),
    rho=st.floats(0, 1e4),
)
def test_the_map_of_bounds_rounds_up(bound, n, rho):
    got = Fraction(less_spectral_budget(bound, n, rho))
    below = root_below(n * Fraction(bound)) - Fraction(rho)
    assert got >= (max(below, Fraction(0)) ** 2) / n
    if below > Fraction(1, 10**6):
        assert got <= below**2 / n * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("seed", range(5))
def test_the_witness_of_a_spectral_claim_is_from_below(seed):
    X = data(seed)
    rng = np.random.default_rng(seed)
    weights, places = rng.standard_normal(3), np.array([0, 2, 5])
    for problem in spectral_problems(X, 3, 1.5):
        rows = [[Fraction(float(x)) for x in row] for row in X[:, places]]
        exact = [Fraction(float(w)) for w in weights]
        energy = sum(sum(x * w for x, w in zip(row, exact, strict=True)) ** 2 for row in rows)
        length = root_below(sum(w * w for w in exact))
        worth = (root_below(energy) / length - Fraction(1.5)) ** 2 / len(X)
        found = value_below(problem, places, weights)
        slack = 1e-9 if problem.X is None else 0  # the covariance was rounded when it was formed
        assert found <= float(worth * (1 + Fraction(1, 10**15))) * (1 + slack)
        assert found >= float(worth) * (1 - 1e-9)


def test_a_spectral_budget_that_cancels_everything():
    X = data(1)
    for problem in spectral_problems(X, 3, 0.0):
        top = problem.rho_max
        dead = problem.with_adversary(noap.SpectralNorm(top))
        assert dead.optimum_is_zero
        with pytest.warns(NoapWarning, match="cancel every direction"):
            assert (older.solve(dead).value, older.solve(dead).bound) == (0.0, 0.0)
        # Beyond the largest sparse singular value, below what is known at once: found out by the search.
        smallest = math.sqrt(len(X) * vanilla_optimum(X.T @ X / len(X), 3))
        assert smallest < top
        result = older.solve(problem.with_adversary(noap.SpectralNorm(0.5 * (smallest + top))))
        assert result.value == 0.0
        assert result.bound <= 1e-3 * problem.scale


def test_entry_wise_optimum_is_zero_exactly_at_the_largest_entry():
    X = data(3)
    top = float(np.abs(X).max())
    assert noap.EntryWise(0.0).rho_max(X, 3) == top
    for delta, zero in ((top, True), (math.nextafter(top, 0.0), False)):
        assert noap.Problem(X, 3, noap.EntryWise(delta)).optimum_is_zero is zero
    problem = noap.Problem(X, 3, noap.EntryWise(0.9 * top))
    np.testing.assert_array_equal(problem.kept_features, np.abs(X).max(axis=0) > 0.9 * top)
    with pytest.warns(NoapWarning, match="cancel every direction"):
        assert noap.solve(noap.Problem(X, 3, noap.EntryWise(top))).bound == 0.0


def test_entry_wise_says_what_it_cannot_do():
    X = data(0)
    with pytest.raises(InvalidProblem, match="moves entries one by one"):
        noap.Problem.from_covariance(X.T @ X / 15, n_samples=15, k=2, adversary=noap.EntryWise(0.1))
    with pytest.raises(InvalidProblem, match="Problem with costs serves"):
        noap.Problem(X, 2, noap.SpectralNorm(0.1), costs=np.ones(7))
    for adversary in (noap.EntryWise(0.1), noap.SpectralNorm(0.1)):
        with pytest.raises(InvalidProblem, match="serves the adversaries"):
            noap.solve(noap.Problem(X, 2, adversary), "mip")
        with pytest.raises(InvalidProblem, match="path serves the adversaries"):
            noap.path(X, 2, type(adversary), [0.0, 0.1])


@pytest.mark.parametrize("key", ["spectral", "entry"])
def test_the_estimator_takes_them_by_name(key):
    X = data(2, n=40)
    model = noap.RobustSparsePCA(n_components=2, k=3, adversary=key, noise=0.1, method="exact").fit(X)
    assert model.components_.shape == (2, 7)
    assert (model.robust_variance_ > 0).all()
    assert (model.bound_ >= model.robust_variance_).all()
