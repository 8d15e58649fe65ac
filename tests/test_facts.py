"""Facts about the optimum as a function of the budget (F8) and of the attack (F3), judged by brute force."""

import numpy as np
import pytest

import noap
from judge import feature_wise_optimum, sample_wise_optimum, vanilla_optimum


@pytest.mark.parametrize("seed", range(4))
def test_f8_root_of_the_optimum_is_convex_and_falls(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 5))
    rhos = np.linspace(0, 0.95 * np.linalg.norm(X, axis=0).max(), 9)
    roots = np.sqrt([feature_wise_optimum(X.T @ X, 8, 3, rho) for rho in rhos])
    assert (np.diff(roots) <= 1e-12).all()
    assert (np.diff(roots, 2) >= -1e-7).all()
    # The lines of any v lie below: |Xv| - rho |v|_1.
    v = noap.solve(noap.Problem(X, k=3, adversary=noap.FeatureWise(rhos[3])), method="ascent").v
    lines = (np.linalg.norm(X @ v) - rhos * np.abs(v).sum()) / np.sqrt(8)
    assert (lines <= roots + 1e-9).all()

    rhos = np.linspace(0, 0.9 * noap.SampleWise(0).rho_max(X, 2), 7)
    roots = np.sqrt([sample_wise_optimum(X, 2, rho) for rho in rhos])
    assert (np.diff(roots) <= 1e-9).all()
    assert (np.diff(roots, 2) >= -1e-7).all()


@pytest.mark.parametrize("seed", range(4))
def test_f3_every_feasible_attack_bounds_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((7, 5))
    for adversary, optimum in (
        (noap.FeatureWise(0.8), feature_wise_optimum(X.T @ X, 7, 2, 0.8)),
        (noap.SampleWise(0.8), sample_wise_optimum(X, 2, 0.8)),
    ):
        best = noap.solve(noap.Problem(X, k=2, adversary=adversary), method="ascent")
        for E in (best.attack(), rng.standard_normal(X.shape), np.zeros_like(X)):
            scaled = E * min(1.0, 0.8 / max(adversary.norm(E), 1e-300))
            attacked = (X + scaled).T @ (X + scaled) / 7
            assert vanilla_optimum(attacked, 2) >= optimum - 1e-9


def test_the_two_sample_example_of_the_paper():
    # Remark 2: robust and vanilla optima differ. Samples (1, 0) and (1/2, sqrt(3)/2), rho just above sqrt(3)/2.
    X = np.array([[1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    rho = np.sqrt(3) / 2 + 1e-3
    vanilla = noap.solve(noap.Problem(X, k=2, adversary=noap.NoAdversary()), method="ascent")
    np.testing.assert_allclose(vanilla.v, [np.sqrt(3) / 2, 0.5], atol=1e-9)
    robust = noap.solve(noap.Problem(X, k=2, adversary=noap.SampleWise(rho)), method="ascent")
    assert min(np.abs(robust.v - row).max() for row in X) < 1e-9
    assert robust.value == pytest.approx((1 - rho) ** 2 / 2)
    assert noap.SampleWise(rho).value(X, vanilla.v) == 0.0
