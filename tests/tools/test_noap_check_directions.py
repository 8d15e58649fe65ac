"""The second checker on claims about vectors orthogonal to directions: it agrees with the kernel, and on mutants."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import noap
from noap.kernel import container
from noap.kernel.certificate import Certificate
from noap.kernel.witness import LENGTHS, Attack, Dominance
from second_checker import refusal, words


def certified(seed, noise=0.0, others=1, costs=False, infinite=False):
    """A problem with directions, and the certificate of its solution."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    X = rng.standard_normal((25, 3)) @ rng.standard_normal((3, d)) + rng.standard_normal((25, d))
    X -= X.mean(0)
    rho = noise * np.sqrt(25) * rng.uniform(0.5, 1.5, d)
    if infinite:
        rho[0] = np.inf
    problem = noap.Problem(
        X, k, noap.FeatureWise(rho) if noise else noap.NoAdversary(), costs=rng.uniform(0, 0.1, d) if costs else None
    )
    V = rng.standard_normal((others, d))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    problem = problem.with_orthogonality(V)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", noap.errors.NoapWarning)  # two directions may leave two features nothing
        return problem, noap.solve(problem, gap=0.1).certificate


@pytest.mark.parametrize("noise", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(8))
def test_both_accept_what_the_search_proves(seed, noise):
    problem, certificate = certified(seed, noise, 1 + seed % 2, seed % 3 == 1, seed % 3 == 2)
    assert noap.verify(problem, certificate).ok
    assert refusal(problem, certificate) is None
    assert "|V v| <= 1e-8" in words(certificate.to_bytes(), problem.X)


NAMES = ("directions", "majorant_deflation", "majorant_multipliers", "line_deflation")


@pytest.mark.parametrize("seed", range(6))
def test_both_agree_on_mutants(seed):
    """Whatever either accepts is no bound below the value of the vector; and they agree but where rounding decides."""
    problem, certificate = certified(seed, 0.25 if seed % 2 else 0.0)
    header, arrays = container.unpack(certificate.to_bytes())
    header.pop("arrays")
    agreed = 0
    for name in NAMES:
        found = arrays.get(name, np.empty(0))
        mutants = [np.append(found, 1.0), found[:-1]] if len(found) else [np.ones(1)]
        for at in range(min(len(found), 10)):
            for value in (-1.0, np.nan, np.inf, 1e3, 1.5 * found[at] + 1e-2):
                mutants.append(found.copy())
                mutants[-1][at] = value
        for made in mutants:
            raw = container.pack(header, {**arrays, name: made})
            try:
                report = noap.verify(problem, Certificate.from_bytes(raw))
                ok = report.ok
            except noap.errors.InvalidProblem:
                ok = False
            theirs = refusal(problem, raw)
            # The certificate's own directions are those that the second checker judges by.
            if name != "directions":
                assert ok == (theirs is None), (name, theirs)
                agreed += 1
            elif len(made) != len(found) or not np.isfinite(made).all():
                assert not ok
                assert theirs is not None
    assert agreed > 5


def test_a_gain_a_feature_left_out_and_a_vector_that_is_not_orthogonal():
    problem, certificate = certified(3, 0.25)
    level = certificate.proof.levels[0]

    def changed(nodes=level.nodes, features=level.features):
        made = replace(level, nodes=nodes, features=features)
        return replace(certificate, proof=replace(certificate.proof, levels=(made,))).to_bytes()

    assert refusal(problem, changed()) is None
    x = np.ones(len(certificate.support))
    gain = Dominance(Attack(certificate.support, x, 0.1, np.ones(1), np.zeros(1)))
    assert "gain" in refusal(problem, changed((gain,)))
    assert "leaves out features" in refusal(problem, changed((LENGTHS,), level.features[1:]))
    assert "what is known before is not enough" in refusal(problem, changed(()))
    tilted = certificate.weights + 1e-6 * problem.orthogonal_to[0][certificate.support]
    assert "not orthogonal" in refusal(problem, replace(certificate, weights=tilted).to_bytes())


def test_no_orthogonal_vector_is_worth_anything():
    """A threshold of 0 but for rounding: below its last place it is 0, and lines close what is worth 0."""
    X = np.array([[1.0, 0.8], [1.0, 1.1], [-0.5, -0.6]])
    problem = noap.Problem(X, 2, noap.FeatureWise(1.2)).with_orthogonality(np.array([[0.6, 0.8]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = noap.solve(problem).certificate
    assert certificate.proof.levels[-1].bound < 1e-100
    assert noap.verify(problem, certificate).ok
    assert refusal(problem, certificate) is None
