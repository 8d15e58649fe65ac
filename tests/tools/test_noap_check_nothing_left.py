"""Nothing left: the second checker decides it exactly, and as the kernel does."""

import itertools
import math
import warnings

import numpy as np
import pytest
from packing import Case

import noap
from noap.errors import NoapWarning
from noap.kernel.certificate import Certificate
from second_checker import proved, words


def problem_of(case):
    """Return the problem of a case."""
    adversary = noap.NoAdversary() if case.rho is None else noap.FeatureWise(np.broadcast_to(case.rho, case.d))
    more = {"costs": case.costs if case.costs.any() else None, "include": case.include, "exclude": case.exclude}
    if case.source == "samples":
        return noap.Problem(case.data, case.k, adversary, **more)
    return noap.Problem.from_covariance(case.data, n_samples=case.n, k=case.k, adversary=adversary, **more)


def agreed(case):
    """Return whether both checkers accept that the bound is what demanded features cost."""
    bound = -float(case.pi[case.include].sum())
    case.level(bound, [("LENGTHS", 0)], features=case.include)
    if case.rho is not None and (case.rho == case.rho[0]).all():
        case.rho = case.rho[:1]  # as noap writes it
    raw = case.file()
    theirs = case.verdict(raw) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = noap.verify(problem_of(case), Certificate.from_bytes(raw)).ok
    assert ours == theirs, (case.data, case.rho, case.costs)
    return ours


def budget_of(column):
    """Return the least double that is at least as long as a column."""
    rho = noap.Problem(column[:, None], 1, noap.FeatureWise(1.0)).rho_max
    return float(rho)


@pytest.mark.parametrize("step", [-1, 0, 1])
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e135])
def test_samples_one_ulp_apart(scale, step):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        X = rng.standard_normal((n, d)) * scale * 10.0 ** rng.choice([0, 0, -3, -9], d)
        rho = np.array([budget_of(column) for column in X.T])
        j = int(rng.integers(d))
        rho[j] = (math.nextafter(rho[j], 0.0), rho[j], math.nextafter(rho[j], math.inf))[step + 1]
        costs = rng.uniform(0, 1, d) * scale**2 if rng.random() < 0.4 and step >= 0 else None
        k = int(rng.integers(1, d + 1))
        include = rng.permutation(d)[: rng.integers(0, k)] if costs is None else []
        assert agreed(Case(X, k, rho, costs, include=sorted(map(int, include)))) == (step >= 0)


def test_covariances_one_ulp_apart():
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(120):
        n, d = int(rng.choice([1, 3, 7])), int(rng.integers(1, 4))
        root = rng.integers(0, 3, d) if rng.random() < 0.5 else np.zeros(d)
        rho = rng.integers(1, 9, d) * 1.0
        S = np.outer(rho + root, rho + root) / n
        for i, j in itertools.combinations(range(d), 2):
            S[i, j] = S[j, i] = S[i, j] * rng.choice([-1.0, 0.5, 1.0])
        i, j = rng.integers(0, d, 2)
        S[i, j] = S[j, i] = np.nextafter(S[i, j], rng.choice([0.0, S[i, j], 2 * S[i, j]]))
        if np.linalg.eigvalsh(S)[0] < -1e-13 * S.max():
            continue
        case = Case(S, int(rng.integers(1, d + 1)), rho, root**2 / n, source="covariance", n=n, shift=1e-13)
        seen.add((bool(root.any()), agreed(case)))
    assert len(seen) == 4


def test_costs_as_large_as_contributions():
    X = np.array([[3.0, 0.5], [-3.0, 0.5]])
    seen = set()
    for cost in (9.0, math.nextafter(9.0, 8.0), math.nextafter(9.0, 10.0)):
        case = Case(X, 2, np.array([0.0, 1.0]), [cost, 0.0])
        seen.add(agreed(case))
        assert not agreed(Case(X, 1, np.array([0.0, 1.0]), [cost, 0.0], include=[0]))
    assert seen == {True, False}


def test_a_vector_that_loses():
    """Its value is below that of no vector at all, and both are proved."""
    for value, true in ((-0.75, True), (-1e-9, True), (1e-9, False)):
        case = Case(np.array([[0.5], [0.5]]), 1, costs=[1.0])
        case.add(support=[0], weights=[1.0]).header["value"] = value
        case.header["bound"] = 1.0
        assert agreed(case) == true


def test_features_that_no_choice_has():
    X = np.array([[3.0, 1.0], [4.0, 0.0]])
    rho = np.array([5.0, 0.5])
    for k, demands, true in (
        (1, {}, False),
        (1, {"exclude": [1]}, True),
        (2, {"exclude": [1]}, True),
        (1, {"include": [0]}, True),
        (2, {"include": [0]}, False),
        (1, {"include": [1]}, False),
    ):
        assert agreed(Case(X, k, rho, **demands)) == true
    assert agreed(Case(np.diag([1.0, -2.0]), 1, exclude=[0], source="covariance", n=3, shift=None))
    assert agreed(Case(np.diag([1.0, -2.0]), 1, include=[1], source="covariance", n=3, shift=None))
    assert agreed(Case(np.zeros((2, 2)), 2))
    assert agreed(Case(X, 2, [math.inf, 1.0]))


def test_certificates_of_the_search():
    rng = np.random.default_rng(2)
    for round_ in range(40):
        n, d = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        X = rng.standard_normal((n, d)) if round_ % 2 else rng.integers(-3, 4, (n, d)) * 1.0
        k = int(rng.integers(1, d + 1))
        rho = math.nextafter(float(np.sqrt((X * X).sum(axis=0)).max()), math.inf)
        exclude = [int(rng.integers(d))] if d > 1 and round_ % 3 == 0 and k < d else []
        problem = noap.Problem(X, k, noap.FeatureWise(rho), exclude=exclude)
        if round_ % 4 == 3:
            S = X.T @ X
            problem = noap.Problem.from_covariance(0.5 * (S + S.T), n_samples=1, k=k, adversary=noap.FeatureWise(rho))
        with pytest.warns(NoapWarning, match="cancel every direction"):
            result = noap.solve(problem)
        raw = result.certificate.to_bytes()
        data = problem.X if problem.X is not None else problem.covariance
        assert proved(raw, data) == ("0", "0")
        assert "no more than T = 0," in words(raw, data)
