"""Attacks on entries: rule M and lengths in boxes, against every support."""

from dataclasses import replace

import numpy as np
import pytest

import noap
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate
from noap.kernel.claim import data_of
from noap.kernel.tree import Checked, check_leaf
from noap.kernel.witness import LENGTHS, SampleAttack
from sample_proofs import (
    Dominance,
    SampleEnvelope,
    ascended,
    best_of,
    budgets,
    certificate_of,
    drawn,
    least,
    line,
    responding,
    worth,
)
from second_checker import second_verdict

NONE = np.empty(0, np.intp)


def accepted(problem, certificate):
    """Whether the kernel accepts, after a way through the file; the second checker must agree."""
    again = Certificate.from_bytes(certificate.to_bytes())
    verification = noap.verify(problem, again)
    reason = second_verdict(again.to_bytes(), problem.X)
    assert verification.ok == (reason is None), (verification.message, reason)
    return verification.ok


@pytest.mark.parametrize("seed", range(24))
def test_a_response_bounds_every_support_by_a_hair(seed):
    problem = drawn(seed, entries=True, each=seed % 3 == 0, costs=seed % 4 == 1)
    rng = np.random.default_rng(seed)
    v, best = best_of(problem, rng)
    for spread in (0.0, 0.3, 1.0):
        x = v if rng.random() < 0.7 or not v.any() else ascended(problem, [0, 1], rng, 0)
        leaf = Dominance(responding(problem, x, spread=spread))
        T = least(problem, leaf, data_of(problem)[0].root())
        assert best <= T < np.inf, spread
        assert accepted(problem, certificate_of(problem, v, [leaf], T * (1 + 1e-9)))
        assert not accepted(problem, certificate_of(problem, v, [leaf], T * (1 - 1e-9)))


@pytest.mark.parametrize("seed", range(12))
def test_moves_are_cut_to_their_boxes(seed):
    """Any moves hold, on any node within their columns, and those beyond the budgets are as good as those at them."""
    problem = drawn(seed, entries=True, each=seed % 2 == 0)
    rng, data = np.random.default_rng(seed), data_of(problem)[0]
    inside, free, p = np.array([2]), np.array([0, 1, 3]), 2
    columns = np.array([2, 0, 1, 3])
    least_of = []
    for factor in (1.0, 3.0):
        rho = np.where(data.rho > 1e6, 0.0, data.rho)[:, columns]
        E = factor * rho * np.sign(np.random.default_rng(seed).standard_normal(4))
        leaf = Dominance(SampleAttack(inside, free, p, rows=data.rows, moves=E.astype(np.float32)))
        least_of.append(least(problem, leaf, (inside, free, p)))
        for node in ((inside, free, p), (NONE, columns, 3), (np.array([0, 1]), NONE, 0)):
            assert best_of(problem, rng, node)[1] <= least(problem, leaf, node)
    assert least_of[0] == pytest.approx(least_of[1], rel=1e-6)
    with pytest.raises(Refused, match="does not know"):
        check_leaf(Checked(data), 1e5, leaf, inside, np.array([0, 4]), 1)


def test_what_no_rule_is_about():
    """No gain, no lines: the attack in response to (1, 1) takes all there is to take of any v between the axes."""
    problem = noap.Problem([[3.0, 3.0]], 2, noap.EntryWise(1.0))
    v = np.array([0.8, 0.6])
    T = least(problem, Dominance(responding(problem, np.ones(2))), data_of(problem)[0].root())
    assert pytest.approx(8.0) == T
    assert float(worth(problem, v)) == pytest.approx(4 * 1.4**2)
    with pytest.raises(Refused, match="no gain"):
        check_leaf(
            Checked(data_of(problem)[0]),
            1e5,
            Dominance(responding(problem, np.ones(2), gain=0.1)),
            *data_of(problem)[0].root(),
        )
    problem = drawn(0, entries=True)
    about = line(drawn(0), np.arange(2), 1.0, np.random.default_rng(0))
    with pytest.raises(Refused, match="entries"):
        check_leaf(Checked(data_of(problem)[0]), 1e5, SampleEnvelope((about,), (None,)), np.arange(2), NONE, 0)


def test_lengths_by_a_hair_and_features_that_are_left_out():
    for seed in range(16):
        problem = drawn(seed, n=4 + seed, d=8 - seed % 4, entries=True, each=seed % 2 == 0, costs=seed % 3 == 0)
        v, best = best_of(problem, np.random.default_rng(seed))
        T = least(problem, LENGTHS, data_of(problem)[0].root())
        z = np.maximum(np.abs(problem.X) - budgets(problem), 0.0)
        costs = 0 if problem.costs is None else problem.costs
        most = np.sort(np.maximum((z * z).sum(axis=0) / len(z) - costs, 0))[-3:].sum()
        assert most * (1 - 1e-12) <= T <= most * (1 + 1e-9)
        assert best <= T
        assert not accepted(problem, certificate_of(problem, v, [LENGTHS], T * (1 - 1e-9)))
    X = np.array([[2.0, 0.3, 1.0], [1.0, -0.5, -1.0]])
    problem = noap.Problem(X, 2, noap.EntryWise([[0.1, 0.3, 0.1], [0.1, 0.5, 0.1]]))
    certificate = certificate_of(problem, np.array([1.0, 0.0, 0.0]), [LENGTHS], 5.0)
    level = certificate.proof.levels[0]
    assert level.features.tolist() == [0, 2]
    assert accepted(problem, certificate)
    less = replace(level, features=np.array([0]))
    assert not accepted(problem, replace(certificate, proof=replace(certificate.proof, levels=(less,))))


def test_a_vector_proves_what_it_is_worth():
    for seed in range(20):
        problem = drawn(seed, entries=True, each=seed % 2 == 0, costs=seed % 3 == 0)
        data = data_of(problem)[0]
        v = ascended(problem, [0, 2, 4], np.random.default_rng(seed))
        at = np.flatnonzero(v)
        proved = data.value_at_least(at, v[at] * 3.7) * 4.0**data.exponent
        assert proved <= float(worth(problem, v)) <= proved + 1e-12 * data.top * 4.0**data.exponent


def test_units_and_budgets_that_leave_nothing():
    for exponent in (-120, -1, 9, 200):
        unit, own = 2.0**exponent, drawn(3, entries=True)
        scaled = noap.Problem(np.asarray(own.X) * unit, 3, own.adversary.rescaled(unit))
        v, _ = best_of(own, np.random.default_rng(0))
        leaf = Dominance(responding(scaled, v))
        T = least(scaled, leaf, data_of(scaled)[0].root())
        assert T / unit**2 == least(own, leaf, data_of(own)[0].root())
        assert accepted(scaled, certificate_of(scaled, v, [leaf], T * (1 + 1e-9)))
        largest = noap.EntryWise(0.0).rho_max(scaled.X, 3)
        nothing, some = (scaled.with_adversary(noap.EntryWise(x)) for x in (largest, np.nextafter(largest, 0.0)))
        assert len(data_of(nothing)[0].rows) == 0 < len(data_of(some)[0].rows)
        assert accepted(nothing, certificate_of(nothing, np.eye(5)[0], [LENGTHS], 0.0))
        assert not accepted(some, certificate_of(some, np.eye(5)[0], [LENGTHS], 0.0))
        hardly = scaled.with_adversary(noap.EntryWise(largest * (1 - 1e-14)))
        assert noap.verify(hardly, noap.solve(hardly).certificate).ok


def test_a_certificate_is_about_its_budgets():
    for delta in (0.3, [0.1, 0.2, 0.3, 0.4, 0.5], np.full((14, 5), 0.3), np.linspace(0, 1, 70).reshape(14, 5)):
        problem = drawn(1, entries=True).with_adversary(noap.EntryWise(delta))
        certificate = Certificate.from_bytes(noap.solve(problem).certificate.to_bytes())
        assert accepted(problem, certificate)
        assert problem.adversary.with_budget(certificate.claim.budget).value(problem.X, np.eye(5)[0]) == problem.value(
            np.eye(5)[0]
        )
        other = problem.with_adversary(problem.adversary.rescaled(0.99))
        assert "budgets" in noap.verify(other, certificate).message
        for wrong in (noap.SampleWise(0.3), noap.FeatureWise(0.3)):
            assert not noap.verify(problem.with_adversary(wrong), certificate).ok
