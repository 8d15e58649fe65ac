"""Nothing is proved about an adversary by its looks: every theorem names the exact types it is about."""

import warnings

import numpy as np
import pytest

import noap
from judge import feature_wise_optimum, sample_wise_optimum
from noap.errors import InvalidProblem
from noap.kernel.claim import Claim
from noap.result import zero_result
from strangers import STRANGERS, HalfBox, Spectral, relative_of, spectral_optimum
from strangers import FeatureWise as Impostor

everyone = pytest.mark.parametrize("stranger", STRANGERS, ids=lambda a: f"{type(a).__name__} of {type(a).__module__}")
SHIPPED = r"FeatureWise, (SampleWise|NoAdversary)[A-Za-z, ]*"


def data(seed=0, n=12, d=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)


@everyone
@pytest.mark.parametrize("method", ["exact", "mip", "mip-r"])
def test_methods_that_prove_refuse_strangers(stranger, method):
    # Whatever the budget: where a known adversary has no say, and where it would cancel everything.
    for factor in (0.0, 1.0, 1e6):
        problem = noap.Problem(data(), k=3, adversary=stranger.rescaled(factor))
        with pytest.raises(InvalidProblem, match=f"serves the adversaries {SHIPPED}, not {type(stranger).__name__} of"):
            noap.solve(problem, method)


@everyone
@pytest.mark.parametrize("method", ["ascent", "ppm", "spca", "diagonal-thresholding", "covariance-thresholding"])
def test_methods_that_prove_nothing_take_any(stranger, method):
    X = data()
    problem = noap.Problem(X, k=3, adversary=stranger)
    result = noap.solve(problem, method)
    assert result.status is noap.Status.HEURISTIC
    assert (result.bound, result.bound_proof, result.certificate) == (np.inf, None, None)
    assert result.value == stranger.value(X, result.v)


@everyone
def test_zero_is_not_claimed_for_strangers(stranger):
    problem = noap.Problem(data(), k=3, adversary=stranger.rescaled(1e6))
    assert not problem.optimum_is_zero
    with pytest.raises(InvalidProblem, match="not known to be 0"):
        zero_result(problem, "ascent", 1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = noap.solve(problem, "ascent")
    assert result.status is noap.Status.HEURISTIC
    assert result.value == problem.value(result.v)
    nothing = noap.Problem(np.zeros((4, 3)), k=2, adversary=stranger)
    assert noap.solve(nothing, "ascent").value == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_ascent_finds_the_optimum_of_a_stranger(seed):
    X, k = data(seed), 3
    spectral = noap.solve(noap.Problem(X, k=k, adversary=Spectral(1.5)), "ascent")
    assert spectral.value == pytest.approx(spectral_optimum(X, k, 1.5), rel=1e-9)
    half = noap.solve(noap.Problem(X, k=2, adversary=HalfBox(1.0)), "ascent")
    assert half.value == pytest.approx(sample_wise_optimum(X, 2, 0.5), rel=1e-6)
    impostor = noap.solve(noap.Problem(X, k=k, adversary=Impostor(2.0)), "ascent")
    assert impostor.value == pytest.approx(feature_wise_optimum(X.T @ X, len(X), k, 1.0), rel=1e-6)


class Forgetful(noap.FeatureWise):
    def rescaled(self, factor):
        return noap.FeatureWise(factor * self.rho)


@pytest.mark.parametrize("method", ["ascent", "ppm"])
def test_an_adversary_that_turns_into_another_is_refused(method):
    with pytest.raises(InvalidProblem, match="Forgetful turns into FeatureWise"):
        noap.solve(noap.Problem(data(), k=3, adversary=Forgetful(1.0)), method)


@everyone
def test_the_kernel_refuses_strangers(stranger):
    X = data()
    known = noap.Problem(X, k=3, adversary=relative_of(stranger))
    certificate = noap.solve(known).certificate
    assert noap.verify(known, certificate).ok
    problem = noap.Problem(X, k=3, adversary=stranger)
    with pytest.raises(
        InvalidProblem, match=f"A certificate serves the adversaries .* not {type(stranger).__name__} of"
    ):
        noap.verify(problem, certificate)
    with pytest.raises(InvalidProblem, match="No theorem of the kernel is about"):
        Claim.about(problem, 0.0, 1.0)


@everyone
def test_covariances_are_for_the_exact_types(stranger):
    X = data()
    with pytest.raises(InvalidProblem, match="serves the adversaries FeatureWise, NoAdversary and SpectralNorm, not "):
        noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=3, adversary=stranger)
    result = noap.solve(noap.Problem(X, k=3, adversary=stranger), "ascent")
    with pytest.raises(InvalidProblem, match=f"attacked_covariance serves the adversaries {SHIPPED}"):
        result.attacked_covariance()
    assert result.attack().shape == X.shape


@pytest.mark.parametrize("make", [Spectral, HalfBox, Impostor], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("method", ["exact", "ascent"])
def test_path_refuses_strangers(make, method):
    with pytest.raises(InvalidProblem, match="path serves the adversaries FeatureWise and SampleWise, not "):
        noap.path(data(), 3, make, [0.0, 1.0], method)


@pytest.mark.parametrize(
    "make",
    [
        lambda rho: noap.FeatureWise(rho**2),  # the optimum is no convex curve in that rho
        lambda rho: noap.FeatureWise(rho) if rho < 0.5 else noap.SampleWise(rho),
        lambda rho: noap.FeatureWise(rho) if rho == 0 else Impostor(rho),
    ],
)
@pytest.mark.parametrize("method", ["exact", "ascent"])
def test_path_is_about_one_adversary_and_its_budget(make, method):
    with pytest.raises(InvalidProblem, match="adversary must give FeatureWise"):
        noap.path(data(), 3, make, [0.0, 0.4, 1.5], method)


@everyone
def test_estimator_takes_names_only(stranger):
    model = noap.RobustSparsePCA(adversary=stranger, k=2)
    for fit in (lambda: model.fit(data()), lambda: model.partial_fit(data())):
        with pytest.raises(InvalidProblem, match="adversary must be one of"):
            fit()
