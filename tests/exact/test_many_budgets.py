"""The search for many features where features have budgets and costs of their own: judged by brute force."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import judge
import noap
import older
from judge import feature_wise_best
from many_only import force_many
from noap.checker.allowance import Allowance
from noap.checker.bounds import bound_above
from noap.checker.many.demands import Demands
from noap.checker.many.demands import OwnTerms as CheckedTerms
from noap.checker.margins import Margins
from noap.exact.many.compatible import Compatible, OwnTerms
from noap.linalg import frozen
from noap.proofs.many import ManyProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
KINDS = ("float64", "float32", "sparse", "implicit", "file", "file of float32")


def some_problem(seed):
    """Few features with budgets of all kinds: none, ties, wide, infinite; costs of nothing, of little, of too much."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(4, 30)), int(rng.integers(3, 9)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * rng.choice([1.0, 1.0, 3.0, 0.3], d)
    if seed % 3 == 0:
        X[:, : d // 2] += 1.5 * rng.standard_normal((n, 1))
    if seed % 4 == 1:
        X = np.round(2 * X)  # equal columns and equal products
        X[:, -1] = X[:, 0]
    if seed % 7 == 0:
        X[:, rng.integers(d)] = 0.0
    kinds = [0.0, 0.2, 0.2, 0.5, rng.uniform(0, 1), 3.0, np.inf]
    rho = rng.choice(kinds, d, p=[0.2, 0.2, 0.2, 0.1, 0.2, 0.05, 0.05]) * np.sqrt(n)
    if seed % 5 == 0:
        rho = np.full(d, 0.2 * np.sqrt(n))
    elif seed % 5 == 1:
        rho = np.exp(rng.uniform(np.log(1e-6), np.log(3.0), d)) * np.sqrt(n)
    worth = (np.linalg.norm(X, axis=0) ** 2 / n).max()
    costs = rng.choice([0.0, 0.05, 0.05, rng.uniform(0, 0.5), 1e-9, 1.5 * worth], d) if seed % 2 else None
    if seed % 6 == 1:
        costs = np.full(d, 0.04 * worth)
    if seed % 11 == 0:
        rho[0], X[:, 0] = np.inf, X[:, 0] * 1e12  # worth nothing, and in no margin
    return X, min(k, d), rho, costs


def stored(X, kind, folder, monkeypatch):
    """The numbers in another form, and what they are there."""
    if "float32" in kind:
        X = X.astype(np.float32)
    exact = X.astype(np.float64)
    if kind == "sparse":
        X = scipy.sparse.csr_array(X)
    if kind == "implicit":
        X = noap.centred(scipy.sparse.csr_array(X))
        exact = X.toarray()
    if "file" in kind:
        monkeypatch.setattr(frozen, "MOST_COPIED", 0)
        np.save(folder / "X.npy", np.asfortranarray(X))
        X = np.load(folder / "X.npy", mmap_mode="r")
    return X, exact


def judged(seed, kind, folder, monkeypatch):
    """Solve and check one problem; returns its proof, or None where the optimum is 0."""
    X, k, rho, costs = some_problem(seed)
    data, X = stored(X, kind, folder, monkeypatch)
    problem = noap.Problem(data, k=k, adversary=noap.FeatureWise(rho), costs=costs)
    result = older.solve(problem, gap=1e-6)
    # A column that is worth nothing would drown the others in the judge's rounding.
    counted = np.where(np.isinf(rho), 0.0, X)
    best, v = feature_wise_best(counted.T @ counted, len(X), k, np.where(np.isinf(rho), 1.0, rho), costs=costs)
    worth = judge.exact_worth(noap.Problem(counted, k=k, adversary=noap.FeatureWise(rho), costs=costs), v)
    assert Fraction(result.bound) >= worth, seed
    assert result.value <= best * (1 + 1e-9) + 1e-12, seed
    assert result.gap <= 1e-5, (seed, result.gap)
    report = noap.verify(problem, result.certificate)
    assert report.ok, (seed, report.message)
    assert Fraction(report.bound) >= worth, seed
    assert "covariance" not in problem.__dict__
    if problem.optimum_is_zero:
        return None
    assert isinstance(result.certificate.proof, ManyProof), seed
    return result.certificate.proof


def study(seeds, kind, folder, monkeypatch):
    proofs = [judged(seed, kind, folder, monkeypatch) for seed in seeds]
    assert sum(proof is not None and len(proof) > 0 for proof in proofs) >= len(seeds) // 20


@pytest.mark.parametrize("whole", [0, None])
def test_no_bound_is_below_the_truth_and_every_certificate_is_accepted(whole, monkeypatch, tmp_path):
    force_many(monkeypatch, whole)
    study(range(40) if whole is None else range(40, 80), "float64", tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_same_in_other_forms(kind, monkeypatch, tmp_path):
    force_many(monkeypatch)
    study(range(100, 110), kind, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", [0, None])
def test_hundreds_of_problems(kind, whole, monkeypatch, tmp_path):
    force_many(monkeypatch, whole)
    study(range(1000, 1400 if kind == "float64" else 1120), kind, tmp_path, monkeypatch)


def test_equal_budgets_are_one_number(monkeypatch):
    force_many(monkeypatch)
    X = np.random.default_rng(3).standard_normal((25, 9))
    X[:, :4] += np.random.default_rng(4).standard_normal((25, 1))
    for costs in (None, np.full(9, 0.05)):
        one, many = (
            older.solve(noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs), random_state=0)
            for rho in (1.0, np.full(9, 1.0))
        )
        assert one.bound == many.bound
        assert one.value == many.value
        assert noap.verify(many.problem, many.certificate).ok


def test_own_floors_and_chords_rule_out_no_pair_of_a_better_support():
    """Of random columns and a random direction, two carry what is due: their product is no smaller than the least."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, u = rng.standard_normal((2, 4)) * rng.choice([0.3, 1.0, 3.0], (2, 1)), rng.standard_normal(4)
        s = np.abs(a @ u) / np.linalg.norm(u)
        r, cost = rng.uniform(0, 1, 2) * s * rng.integers(0, 2, 2), np.zeros(2)
        if rng.random() < 0.5:
            cost = rng.uniform(0, 1, 2) * (s - r) ** 2
        worths = (s - r) ** 2 - cost
        owed, due = rng.choice([0.0, rng.uniform(), 1.0]) * worths.min(), rng.choice([0.5, 0.99, 1.0]) * worths.sum()
        squares, g = (a**2).sum(axis=1), abs(float(a[0] @ a[1]))
        least = float(r.min())
        floor = least + np.sqrt(owed)
        for test, terms in (
            (Compatible(least, floor, due, 2, owed), OwnTerms(r, cost, worths, worths.max())),
            (Demands(least, floor**2 * (1 - 1e-15), due, 2, owed), CheckedTerms(r, cost, worths, worths.max())),
        ):
            sides = [(squares[[j]], terms.of(slice(j, j + 1))) for j in (0, 1)]
            (first, own), (second, own_too) = sides
            exact = test.least_products(first, second, own, own_too)[0]
            assert g >= exact - 1e-9 * squares.max()
            # One that is no worse than either may stand for the second.
            longest = np.array([squares.max()])
            assert g >= test.least_products(first, longest, own, terms.loosest())[0] - 1e-9 * squares.max()


def problem_of_its_own():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 10))
    X[:, :5] += 1.2 * rng.standard_normal((30, 1))
    rho, costs = rng.uniform(0.1, 0.5, 10) * np.sqrt(30), np.full(10, 0.05)
    return X, rho, costs


def test_a_proof_with_other_budgets_is_none(monkeypatch):
    """Lower budgets or costs than those of the proof: the certificate names these, and its trees do not hold."""
    force_many(monkeypatch)
    X, rho, costs = problem_of_its_own()
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs)
    certificate = older.solve(problem).certificate
    assert noap.verify(problem, certificate).ok
    weaker = [
        noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5 * rho), costs=costs),
        noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=0.2 * costs),
    ]
    for other in weaker:
        assert not noap.verify(other, certificate).ok
        bound, reason = bound_above(other, certificate.proof, certificate.bound, Margins(1e-9, 1e-15), Allowance())
        assert reason is not None
        assert bound == np.inf


@pytest.mark.parametrize("uneven", [True, False])
def test_mutants_prove_nothing_false(uneven, monkeypatch):
    force_many(monkeypatch, 0)
    X, rho, costs = problem_of_its_own()
    rho = rho if uneven else np.full(10, 0.2 * np.sqrt(30))
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs)
    certificate = older.solve(problem, gap=1e-6).certificate
    best, _ = feature_wise_best(X.T @ X, 30, 3, rho, costs=costs)
    rng, proof, accepted = np.random.default_rng(1), certificate.proof, 0
    names = [field.name for field in dataclasses.fields(ManyProof) if len(getattr(proof, field.name))]
    for _ in range(150):
        arrays = {}
        for name in rng.choice(names, int(rng.integers(1, 4))):
            array = getattr(proof, str(name)).copy()
            at = int(rng.integers(len(array)))
            if array.dtype.kind == "f":
                array[at] = rng.choice([0.0, 1e300, array[at] * rng.uniform(0, 2), array[at] * (1 - 1e-5)])
            else:
                array[at] = rng.integers(max(int(array.max()) + 2, 3))
            arrays[str(name)] = array
        claim = dataclasses.replace(
            certificate.claim, bound=certificate.bound * rng.choice([1.0, 1.0, 1 - 1e-6, 1 - 1e-3]), value=0.0
        )
        mutant = dataclasses.replace(certificate, claim=claim, proof=dataclasses.replace(proof, **arrays))
        report = noap.verify(problem, mutant)
        accepted += report.ok
        assert report.bound >= best * (1 - 1e-12)
    assert 2 < accepted < 130


def thousands(seed=0):
    rng = np.random.default_rng(seed)
    factors = np.repeat(rng.standard_normal((60, 40)), 10, axis=1)
    X = np.hstack([factors + 0.5 * rng.standard_normal((60, 400)), rng.standard_normal((60, 1800))])
    return (X - X.mean(axis=0)) / X.std(axis=0), rng


def test_thousands_of_features_with_their_own_noise():
    X, rng = thousands()
    noise = rng.uniform(0.1, 0.4, X.shape[1])
    noise[3] = np.inf
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(noise * np.sqrt(60)), costs=np.full(X.shape[1], 0.01))
    result = older.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert "covariance" not in problem.__dict__
    assert 3 not in result.support
    assert noap.verify(problem, result.certificate).ok


def test_one_budget_and_costs_are_checked_in_the_same_units():
    X, rng = thousands(1)
    costs = rng.choice([0.0, 0.01, 0.2, 2.0], X.shape[1])
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(60)), costs=costs)
    result = older.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    report = noap.verify(problem, result.certificate)
    assert report.ok, report.message


def test_a_metric_of_many_features_has_a_bound():
    X, rng = thousands(2)
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.2 * np.sqrt(60)), metric=rng.uniform(0.5, 2.0, 2200))
    result = older.solve(problem)
    assert 0 < result.gap < 0.2
    assert noap.verify(problem, result.certificate).ok
