"""A number that is none closes nothing: neither in the sample-wise search nor in its checker."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import noap
from noap.checker.allowance import Allowance
from noap.checker.sample_wise.check import check_samples
from noap.checker.sample_wise.data import SampleData
from noap.checker.sample_wise.kernels import attack as checker
from noap.checker.sample_wise.kernels import cones as checker_cones
from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.cones import Cones
from noap.exact.sample_wise.instance import SampleInstance
from noap.exact.sample_wise.kernels.cones import bound_of
from noap.exact.sample_wise.kernels.supports import COMPLETE, list_supports
from noap.exact.sample_wise.tree import Tree
from noap.proofs.sample_wise import SampleProof
from noap.runtime.controls import Controls
from opened import opened

# Python calls kernels; the parts of them are opened for it.
checker_cones, bound_of = opened(checker_cones), opened(bound_of)

NAN = math.nan


def closes_all(M, n_inc, p, t, room=1e-13):
    supports, rest = np.zeros((9, 4), dtype=np.int64), np.zeros((9, 9), dtype=np.int64)
    sizes, rest_sizes = np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64)
    verdict, count, _ = list_supports(M, n_inc, p, t, room, 10**8, supports, sizes, rest, rest_sizes)
    return verdict == COMPLETE and count == 0


@pytest.mark.parametrize("n_inc", [0, 1, 2])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_search_lists_what_it_cannot_compare(n_inc, p):
    M = 0.1 * np.eye(6)
    assert closes_all(M, n_inc, p, 1.0)
    assert not closes_all(M, n_inc, p, NAN)
    assert not closes_all(M, n_inc, p, 1.0, NAN)
    for i in range(6):
        for j in range(i + 1):
            bad = M.copy()
            bad[i, j] = bad[j, i] = NAN
            assert not closes_all(bad, n_inc, p, 1.0)


def test_cones_stay_open():
    Y = np.array([[0.1, 0.2], [0.2, -0.1], [0.1, 0.1]])
    assert Cones.over(Y, np.ones(3), 1e-6).size == 0
    assert Cones.over(Y, np.ones(3), NAN).size == 2
    for i in range(3):
        bad = Y.copy()
        bad[i, 0] = NAN
        assert Cones.over(bad, np.ones(3), 1e-6).size == 2
        assert bound_of(bad, np.ones(3), np.ones(3), np.eye(2, 3), np.empty(2)) == math.inf


def test_a_sample_that_is_no_number_stays():
    Y = np.array([[NAN, 0.1, 0.1], [0.1, 0.1, 0.1], [2.0, 1.0, 0.0]])
    attack = Attack.at_root(np.nan_to_num(Y), 2, np.ones(3), np.array([1.0, 0.0, 0.0]))
    attack.Y = Y
    assert attack.narrowed(np.array([0]), np.array([1, 2]), 1).rows.tolist() == [0, 2]


def test_a_bound_that_is_no_number_is_none():
    problem = noap.Problem(np.eye(4) * 2, k=2, adversary=noap.SampleWise(1.0))
    instance = SampleInstance.of(problem)
    tree = Tree(instance, Controls.checked(1e-4, None, 0, False), instance.inside(np.eye(4)[0]), False)
    root = tree.open[0]
    tree.push(NAN, root.inc, root.free, root.p, root.attack, 0)
    assert tree.bound == math.inf
    assert tree.certify(root.attack, np.full((4, 4), NAN), NAN, SimpleNamespace(bound=7.0)) == 7.0
    assert tree.certify(root.attack, np.full((4, 4), NAN), 0.0, SimpleNamespace(bound=7.0)) == 7.0


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_the_checker_closes_nothing(p):
    M, inc, free = 0.1 * np.eye(5), np.arange(1), np.arange(1, 5)
    assert checker.closes(M, 0.0, inc, free, p, 1.0, 10**6, Allowance().clock) >= 0
    assert checker.closes(M, 0.0, inc, free, p, NAN, 10**6, Allowance().clock) < 0
    assert checker.closes(M, NAN, inc, free, p, 1.0, 10**6, Allowance().clock) < 0
    for i in range(5):
        for j in range(i + 1):
            if i == j or p > 1 or j == 0:
                bad = M.copy()
                bad[i, j] = bad[j, i] = NAN
                assert checker.closes(bad, 0.0, inc, free, p, 1.0, 10**6, Allowance().clock) < 0


def test_the_checkers_lengths_and_cones_hold_nothing():
    Y = np.array([[0.1, 0.2], [0.2, -0.1], [0.1, 0.1]])
    assert checker_cones.cones_hold(Y, np.ones(3), 1e-6, 100, 8, Allowance().clock) > 0
    for i in range(3):
        for j in range(2):
            bad = Y.copy()
            bad[i, j] = NAN
            assert np.isnan(checker.lengths_up(bad, 0, 1)[i])
            assert np.isnan(checker.lengths_up(bad, 1, 1)[i])
            assert checker_cones.cones_hold(bad, np.ones(3), 1e-6, 100, 8, Allowance().clock) < 0
    assert checker_cones.cones_hold(2 * np.eye(2), np.ones(2), NAN, 100, 8, Allowance().clock) < 0


def test_the_lengths_of_samples_prove_nothing_about_no_number():
    problem = noap.Problem(np.eye(3) * 2, k=2, adversary=noap.SampleWise(1.0))
    data = SampleData.of(problem)
    assert check_samples(data, 2, SampleProof.trivial(), 1e9, Allowance()) is None
    assert check_samples(data, 2, SampleProof.trivial(), NAN, Allowance()) is not None
    data.Y[0, 0] = NAN
    assert check_samples(data, 2, SampleProof.trivial(), 1e9, Allowance()) is not None
