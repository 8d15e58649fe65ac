"""Claims in a metric: each rule that is kept is right for every vector, and what is dropped is refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from kernel_judge import exact, semidefinite

import noap
from generalised_judge import random_pencil, robust_ratio
from noap.kernel import container
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate
from noap.kernel.data import Data, Terms
from noap.kernel.envelope import VarianceLine
from noap.kernel.majorant import Majorant
from noap.kernel.metric import Metric
from noap.kernel.tree import Checked, check_leaf, check_levels, check_list
from noap.kernel.witness import LENGTHS, PLAIN, THRESHOLD, Attack, Dominance, Envelope, Level, Line
from second_checker import second_verdict

NONE = np.empty(0, np.intp)


def least_of(B):
    """A number a little below the smallest eigenvalue in the units of the metric."""
    units = Metric(B.diagonal(), 0.0).units
    return float(np.linalg.eigvalsh(np.ldexp(B, units[:, None] + units))[0]) * (1 - 1e-9)


def data_of(seed, d=4, share=0.4, diagonal=False):
    X, B = random_pencil(np.random.default_rng(seed), d)
    if diagonal:
        B = B.diagonal().copy()
    A = X.T @ X / len(X)
    rho = share * np.sqrt(A.diagonal()) * np.linspace(0.5, 1.0, d) * np.sqrt(len(X))
    metric = Metric(B, 0.0 if diagonal else least_of(B))
    return Data.from_samples(lambda: [X], d, Terms(2, len(X), rho if share else None, metric=metric))


def optimum(data, k):
    """By brute force, in the units of the certificate."""
    return robust_ratio(data.A, data.metric.B, data.r, k, starts=3)


def test_units_bring_the_diagonal_between_a_half_and_two():
    B = np.diag([1e-90, 3.0, 1e80]) + 0.0
    metric = Metric(B.diagonal().copy(), 0.0)
    assert (metric.B.diagonal() >= 0.5).all()
    assert (metric.B.diagonal() < 2.0).all()
    assert (exact(np.ldexp(B.diagonal(), 2 * metric.units)) == exact(metric.below)).all()


@pytest.mark.parametrize("seed", range(6))
def test_its_least_is_proved(seed):
    _, B = random_pencil(np.random.default_rng(seed), 5)
    least = least_of(B)
    metric = Metric(B, least)
    assert semidefinite(exact(metric.B) - exact(np.diag(metric.below)))
    for wrong in (least * (1 + 1e-6), 0.0, -1.0, 2.0, np.nan):
        with pytest.raises(Refused, match="positive definite"):
            Metric(B, wrong)


@pytest.mark.parametrize("given", [np.array([1.0, 0.0]), np.array([1.0, np.inf]), np.array([[1.0, 0.1], [0.2, 1.0]])])
def test_matrices_that_are_no_metric(given):
    with pytest.raises(Refused):
        Metric(given, 0.5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("diagonal", [False, True])
def test_without_an_attack_the_threshold_is_sharp(seed, diagonal):
    data = data_of(seed, share=0.0, diagonal=diagonal)
    for S in combinations(range(4), 2):
        I = np.array(S)  # noqa: E741
        both = np.ix_(I, I)
        L = np.linalg.cholesky(data.metric.B[both])
        top = float(np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, data.A[both]).T))[-1])
        check_leaf(Checked(data), top * (1 + 1e-11), Dominance(PLAIN), I, NONE, 0)
        below = top * (1 - 1e-11)
        assert not semidefinite(exact(below) * exact(data.metric.B[both]) - exact(data.A[both]))
        with pytest.raises(Refused):
            check_leaf(Checked(data), below, Dominance(PLAIN), I, NONE, 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("diagonal", [False, True])
def test_no_attack_closes_below_the_optimum(seed, diagonal):
    """Any vector, any multiplier, and over a diagonal any gain."""
    rng, data = np.random.default_rng(seed), data_of(seed, diagonal=diagonal)
    best = optimum(data, 2)
    closed = 0
    for _ in range(40):
        x = rng.standard_normal(4) * (rng.random(4) < 0.7)
        if not x.any():
            continue
        at = np.flatnonzero(x)
        gain = float(rng.choice([0.0, 0.3, 1.0])) if diagonal else 0.0
        attack = Attack(at, x[at], gain, multipliers=rng.choice([0.0, 0.5, 1.0, 2.0], 1) * np.sqrt(best))
        checked = Checked(data)
        low, high = best * 0.5, data.sum_of_most(NONE, np.arange(4), 2) + data.top / data.metric.below.min()
        for _ in range(30):
            T = 0.5 * (low + high)
            try:
                check_leaf(checked, T, Dominance(attack), NONE, np.arange(4), 2)
                high, closed = T, closed + 1
            except Refused:
                low = T
        assert high >= best * (1 - 1e-9)
    assert closed > 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("diagonal", [False, True])
def test_no_line_and_no_length_closes_below_the_optimum(seed, diagonal):
    rng, data = np.random.default_rng(seed), data_of(seed, diagonal=diagonal)
    best, F = optimum(data, 2), np.arange(4)
    assert data.sum_of_most(NONE, F, 2) >= best * (1 - 1e-9)
    for _ in range(20):
        plain, weighted = rng.choice([0.0, 0.1, 0.5]) * data.top, rng.choice([0.0, 0.1, 0.5]) * data.top
        counts, none = int(rng.integers(2)), np.zeros(4, np.float32)
        loads = (rng.random(4) * 0.2 * data.top * (rng.random() < 0.5)).astype(np.float32)
        lifts = np.where(loads > 0, loads * 2, none).astype(np.float32)
        made = Line(F, 1e3 * data.top, plain, weighted, counts, THRESHOLD, loads, lifts)
        near = VarianceLine(data, made)
        L = np.linalg.cholesky(data.metric.B)
        c = float(np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, near.B).T))[-1])
        line = replace(made, c=c + 1e-10 * data.top)
        with pytest.raises(Refused, match="below c"):
            VarianceLine(data, replace(made, c=c - 1e-10 * data.top))
        low, high, checked = best * 0.5, 1e4 * data.top, Checked(data)
        for _ in range(40):
            T = 0.5 * (low + high)
            try:
                check_leaf(checked, T, Envelope((line,)), NONE, F, 2)
                high = T
            except Refused:
                low = T
        assert high >= best * (1 - 1e-9)
        assert high < 1e4 * data.top


def test_a_matrix_below_the_metric_to_the_last_digit():
    """Where nearly all of cB - A cancels, the rounding of its entries is much of what is left."""
    rng = np.random.default_rng(3)
    accepted, zero = 0, np.zeros(2, np.float32)
    for _ in range(300):
        metric = Metric(np.array([[1.0, 0.3], [0.3, 1.0]]) * rng.uniform(0.8, 1.2), 0.1)
        v, c = rng.standard_normal(2), float(rng.uniform(1, 2))
        A = c * metric.B - 1e-9 * np.outer(v, v)
        data = Data(0.5 * (A + A.T), Terms(2, 1, metric=metric), 0, True, 0.0)
        c += float(rng.choice([5e-16, 2e-14]) * rng.random())
        line = Line(np.arange(2), c, 0.0, 0.0, 0, THRESHOLD, zero, zero)
        try:
            near = VarianceLine(data, line)
        except Refused:
            continue
        accepted += 1
        assert semidefinite(exact(line.c) * exact(metric.B) - exact(near.B))
    assert accepted > 10


def test_what_is_dropped_is_refused():
    data, over_a_diagonal = data_of(0), data_of(0, diagonal=True)
    at, x = np.arange(2), np.ones(2)
    with pytest.raises(Refused, match="gain"):
        Majorant(data, Attack(at, x, 0.1))
    Majorant(over_a_diagonal, Attack(at, x, 0.1))
    with pytest.raises(Refused, match="normal"):
        Majorant(data, Attack(at, x, multipliers=np.ones(2)))
    with pytest.raises(Refused, match="out of range"):
        Majorant(data, Attack(at, x, multipliers=np.array([np.nan])))
    bound = 10 * data.sum_of_most(NONE, np.arange(4), 2)
    two = [Level(1, bound, bound, np.arange(4), (LENGTHS,)), Level(2, bound, bound, np.arange(4), (LENGTHS,))]
    check_levels(over_a_diagonal, two)
    with pytest.raises(Refused, match="several levels"):
        check_levels(data, two)
    with pytest.raises(Refused, match="no metric"):
        check_list(data, two[1], ())
    with pytest.raises(Refused, match="left out"):
        check_levels(data, [Level(2, bound, bound, np.arange(3), (LENGTHS,))])
    for other in ({"costs": np.ones(4)}, {"directions": np.eye(4)[:1]}):
        with pytest.raises(Refused, match="other terms"):
            Data(np.eye(4), Terms(2, 1, metric=data.metric, **other), 0, True, 0.0)
    none = np.zeros(2, np.float32)
    dues = Line(at, 1e3, 0.0, 0.0, 0, THRESHOLD, none, none, dues=none + 1, pulls=np.zeros((2, 2), np.float32))
    with pytest.raises(Refused, match="dues"):
        VarianceLine(data, dues)


@pytest.fixture(scope="module", params=[False, True])
def certified(request):
    X, B = random_pencil(np.random.default_rng(1), 5)
    if request.param:
        B = B.diagonal().copy()
    problem = noap.Problem(X, 2, noap.FeatureWise(1.2), metric=B)
    result = noap.solve(problem)
    S = X.T @ X / len(X)
    form = np.diag(B) if request.param else B
    return problem, result.certificate, robust_ratio(S, form, np.full(5, 1.2 / np.sqrt(len(X))), 2, starts=3)


def test_the_file_holds_the_metric(certified):
    problem, certificate, best = certified
    read = Certificate.from_bytes(certificate.to_bytes())
    np.testing.assert_array_equal(read.claim.metric, problem.metric)
    report = noap.verify(problem, read)
    assert report.ok
    assert report.value <= best * (1 + 1e-9)
    assert best <= report.bound * (1 + 1e-9)
    other = problem.with_metric(problem.metric * 2.0)
    assert "another metric" in noap.verify(other, read).message
    assert "another metric" in noap.verify(problem.with_metric(None), read).message


def test_changed_arrays_prove_no_false_bound(certified):
    problem, certificate, best = certified
    header, arrays = container.unpack(certificate.to_bytes())
    kept = {name: one for name, one in header.items() if name != "arrays"}
    rng = np.random.default_rng(0)
    for name in arrays:
        if name in ("rho", "metric"):  # those of the problem, with which they are compared
            continue
        for factor in (0.0, 0.5, 0.9, 1.1, 2.0, -1.0, np.nan):
            changed = arrays[name].copy()
            if changed.dtype.kind != "f":
                if np.isnan(factor):
                    continue
                changed = (changed.astype(float) * abs(factor)).astype(changed.dtype)
            else:
                changed[rng.integers(len(changed))] *= factor
            raw = container.pack(kept, {**arrays, name: changed})
            if second_verdict(raw, problem.X) is None:
                assert header["bound"] >= best * (1 - 1e-9)
                assert header["value"] <= best * (1 + 1e-8)
            try:
                report = noap.verify(problem, Certificate.from_bytes(raw))
            except noap.errors.InvalidProblem:
                continue
            if report.ok:
                assert report.bound >= best * (1 - 1e-9)
                assert report.value <= best * (1 + 1e-9)


def test_a_lower_bound_is_not_proved(certified):
    problem, certificate, best = certified
    bound = best * (1 - 1e-6)
    levels = tuple(replace(one, bound=bound, target=bound) for one in certificate.proof.levels)
    claim = replace(certificate.claim, bound=bound, value=bound)
    forged = replace(certificate, claim=claim, proof=replace(certificate.proof, levels=levels))
    assert not noap.verify(problem, forged).ok
    assert second_verdict(forged.to_bytes(), problem.X) is not None


@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
@pytest.mark.parametrize("seed", range(16))
def test_both_checkers_take_what_is_honest(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    X, B = random_pencil(rng, d)
    if seed % 3 == 1:
        B = B.diagonal().copy()
    if seed % 4 == 2:
        units = 10.0 ** rng.uniform(-30, 30, d)
        X, B = X * units, B * units * units if B.ndim == 1 else B * np.outer(units, units)
    adversary = noap.FeatureWise(rng.choice([0.0, 0.1, 0.4]) * np.linalg.norm(X, axis=0))
    problem = noap.Problem(X, int(rng.integers(1, min(d, 3) + 1)), adversary, metric=B)
    certificate = noap.solve(problem).certificate
    assert noap.verify(problem, certificate).ok
    assert second_verdict(certificate.to_bytes(), X) is None
