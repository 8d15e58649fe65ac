"""Rule L: no support but those of a list, or what it owes to them."""

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import listed, truth_of, untrue

from noap.kernel.arithmetic import Refused
from noap.kernel.claim import data_of
from noap.kernel.data import Data, Terms
from noap.kernel.tree import check_levels, check_list
from noap.kernel.witness import LENGTHS, PLAIN, Beyond, Dominance, Feature, Level, Listed, Sign, Support

NONE = np.empty(0, np.intp)
THREE = np.diag([1.0, 0.5, 0.25])
D = Dominance(PLAIN)


def data_with(A, k, costs=None, include=NONE, exclude=NONE):
    A = np.asarray(A, dtype=float)
    return Data(A, Terms(k, 1, None, costs, include, exclude), 0, True, 0.0)


def support(*features, value=0.1, beyond=0.1, weights=None):
    weights = np.ones(len(features)) if weights is None else np.array(weights)
    return Support(np.array(features), weights, value, beyond)


def proves(data, T, nodes, *supports):
    level = Level(data.k, T, T, np.flatnonzero(data.allowed), tuple(nodes))
    try:
        return check_list(data, level, supports) == T
    except Refused:
        return False


def test_a_node_within_a_support_is_closed():
    data = data_with(THREE, 2)
    nodes = [Feature(2), D, Listed(0)]
    assert not proves(data, 0.999, nodes, support(0, 1))  # without 1, the largest of those with 2 is 1
    assert proves(data, 1.001, nodes, support(0, 1))
    assert not proves(data, 1.001, nodes, support(0, 2))
    assert not proves(data, 1.001, nodes, support(0))
    assert not proves(data, 1.001, nodes)
    assert not proves(data, 1.001, [Feature(2), D, Listed(1)], support(0, 1))
    assert proves(data, 1.001, [Feature(2), D, Listed(1)], support(0), support(0, 1))


def test_with_costs_a_node_must_be_the_support():
    """A part may be worth more than the support there."""
    decided = [Feature(0), Feature(1), Listed(0), D, D]
    for costs in ([0.0, 0.1, 0.0], [0.0, 0.0, 1e-300]):
        data = data_with(THREE, 2, np.array(costs))
        assert proves(data, 1.1, decided, support(0, 1))
        assert not proves(data, 1.1, [Feature(2), D, Listed(0)], support(0, 1))
        assert not proves(data, 1.1, [Feature(0), Listed(0), D], support(0, 1))
        # All features of the node are those of the support, but one of them is free.
        assert not proves(data, 1.1, [Feature(2), D, Feature(0), Listed(0), D], support(0, 1))
        # One that is smaller than a support is none.
        more = data_with(THREE, 3, np.array(costs))
        outside = [Feature(2), LENGTHS, Feature(0), Feature(1), Listed(0), Listed(0), LENGTHS]
        assert not proves(more, 1.75, outside, support(0, 1))


@pytest.mark.parametrize("leaf", [LENGTHS, D])
def test_the_threshold_is_raised_where_all_contain_a_support(leaf):
    data = data_with(np.diag([1.0, 0.5, 0.25]), 2)
    needed = 1.5 if leaf is LENGTHS else 1.0
    tree = [Feature(0), Beyond(0), leaf, LENGTHS]

    def proved(beyond, nodes=tree, T=0.76):
        return proves(data, T, nodes, support(0, value=0.9, beyond=beyond))

    assert proved(needed + 1e-6)
    assert not proved(needed - 1e-6)
    assert not proved(needed + 1e-6, [Beyond(0), Feature(0), leaf, leaf])
    assert not proved(9.0, [Feature(1), Beyond(0), leaf, leaf])
    assert not proved(9.0, tree[:-1])
    # A threshold is never lowered below that of the list, and elsewhere it is that of the list.
    assert proved(0.1, T=needed + 1e-6)
    assert not proved(9.0, T=0.74)
    # The innermost decides.
    two = support(0, value=0.9, beyond=9.0), support(0, value=0.9, beyond=0.9)
    assert proves(data, 0.76, [Feature(0), Beyond(1), Beyond(0), leaf, LENGTHS], *two)
    assert not proves(data, 0.76, [Feature(0), Beyond(0), Beyond(1), leaf, LENGTHS], *two)
    # It holds on both sides of a branch below.
    below = [Feature(0), Beyond(0), Feature(1), leaf, leaf, LENGTHS]
    assert proved(needed + 1e-6, below)
    assert proved(needed + 1e-6, [Feature(0), Beyond(0), Sign(1), leaf, LENGTHS])


def test_what_a_support_must_be():
    data = data_with([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], 2, exclude=np.array([2]))
    at = np.array([0, 1])
    most = data.value_at_least(at, np.ones(2))
    assert 1.5 - 1e-12 < most <= 1.5
    closed = [LENGTHS]

    def proved(one):
        return proves(data, 9.0, closed, one)

    assert proved(support(0, 1, value=most))
    assert not proved(support(0, 1, value=np.nextafter(most, 2.0)))
    assert not proved(support(0, 1, value=1.0, weights=[1.0, 0.0]))
    assert not proved(support(0, 1, value=0.0))
    assert not proved(support(0, 1, value=-1.0))
    assert not proved(support(0, 1, value=np.nan))
    assert not proved(support(0, 2))
    assert not proved(support(0, 0))
    assert not proves(data_with(np.eye(3), 2), 9.0, closed, support(0, 1, 2))
    assert not proves(data_with(np.eye(3), 2, include=np.array([0])), 9.0, closed, support(0, 1))


def test_single_claims_have_no_list():
    data = data_with(THREE, 2)
    level = Level(2, 1.001, 1.001, np.arange(3), (Feature(2), D, Listed(0)))
    with pytest.raises(Refused, match="no support of this number"):
        check_levels(data, [level])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_what_is_accepted_is_true(seed):
    """Lists of the search, and what is left of them when supports, nodes, thresholds and features change."""
    rng = np.random.default_rng(seed)
    problem, certificate = listed(rng)
    data, _ = data_of(problem, certificate.proof.exponent, certificate.proof.shift)
    level, supports, unit = certificate.proof.levels[-1], certificate.proof.supports, 4.0**data.exponent
    assert check_list(data, level, supports) == level.bound
    truth, accepted = truth_of(problem), 0
    worth = truth.by_support()
    assert untrue(truth, worth, level.bound * unit, supports, unit) is None
    for _ in range(150):
        changed, others = level, list(supports)
        for _ in range(int(rng.integers(1, 3))):
            changed, others = mutated(rng, changed, others, problem.n_features)
        try:
            T = check_list(data, changed, others)
        except Refused:
            continue
        accepted += 1
        assert untrue(truth, worth, T * unit, others, unit) is None
    assert accepted > 0


def mutated(rng, level, supports, d):
    kind, nodes = rng.integers(7), list(level.nodes)
    at = int(rng.integers(len(nodes))) if nodes else 0
    if kind == 0 and nodes:
        number = int(rng.integers(max(len(supports), 1)))
        nodes[at] = [Listed(number), Beyond(number), LENGTHS, D, Feature(int(rng.integers(d)))][rng.integers(5)]
    elif kind == 1:
        T = level.bound * float(rng.choice([0.9, 0.999, 1.001, 1.1, 2.0]))
        return replace(level, bound=T, target=T), supports
    elif kind == 2 and supports:
        i = int(rng.integers(len(supports)))
        supports[i] = replace(supports[i], beyond=supports[i].beyond * float(rng.choice([0.5, 0.999, 1.01, 2.0])))
    elif kind == 3 and supports:
        i, own = int(rng.integers(len(supports))), supports[int(rng.integers(len(supports)))]
        supports[i] = replace(own, value=own.value * float(rng.choice([0.9, 1.0, 1.0001])))
    elif kind == 4 and nodes:
        nodes.insert(at, Beyond(int(rng.integers(max(len(supports), 1)))))
    elif kind == 5 and nodes:
        del nodes[at]
    else:
        return replace(
            level, features=rng.permutation(level.features)[: rng.integers(len(level.features) + 1)]
        ), supports
    return replace(level, nodes=tuple(nodes)), supports
