"""The tree: every choice of the root is in a leaf, signs included, and no node is missing or left over."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from kernel_judge import Truth

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.tree import Checked, check_leaf, check_levels, check_tree
from noap.kernel.witness import (
    FREE,
    LENGTHS,
    PLAIN,
    THRESHOLD,
    Attack,
    Dominance,
    Envelope,
    Feature,
    Level,
    Line,
    Matrix,
    Scaling,
    Sign,
)

NONE = np.empty(0, np.intp)


def data_with(A, k=None, rho=None, costs=None, include=NONE, exclude=NONE):
    A = np.asarray(A, dtype=float)
    return Data(A, Terms(len(A) if k is None else k, 1, rho, costs, include, exclude), 0, True, 0.0)


def level(data, bound, nodes, q=None, target=None):
    everything = np.flatnonzero(data.allowed)
    return Level(data.k if q is None else q, bound, bound if target is None else target, everything, tuple(nodes))


def proves(data, bound, nodes, target=None):
    try:
        check_levels(data, [level(data, bound, nodes, target=target)])
    except Refused:
        return False
    return True


def why(data, bound, nodes):
    with pytest.raises(Refused) as refusal:
        check_levels(data, [level(data, bound, nodes)])
    return refusal.value


D = Dominance(PLAIN)
THREE = np.diag([1.0, 0.5, 0.25])


def test_a_branch_has_the_feature_then_not():
    data = data_with(THREE, k=1)
    # With 0 lengths say 1, without it .5.
    assert proves(data, 1.01, [Feature(0), LENGTHS, LENGTHS])
    assert proves(data, 1.01, [Feature(0), D, LENGTHS])
    assert proves(data, 1.01, [Feature(1), D, D])
    assert not proves(data, 0.99, [Feature(0), LENGTHS, LENGTHS])
    assert "node 1" in str(why(data, 0.6, [Feature(0), LENGTHS, LENGTHS]))
    assert "node 2" in str(why(data, 0.9, [Feature(1), LENGTHS, LENGTHS]))
    assert why(data, 0.9, [Feature(1), LENGTHS, LENGTHS]).node == 2


def test_nodes_that_are_missing_or_left_over():
    data = data_with(THREE, k=2)
    good = [Feature(0), Feature(1), LENGTHS, LENGTHS, LENGTHS]
    assert proves(data, 1.6, good)
    for at in range(len(good)):
        assert not proves(data, 1.6, good[:at] + good[at + 1 :])
        assert not proves(data, 1.6, [*good[: at + 1], *good[at:]])
    assert "missing" in str(why(data, 1.6, good[:-1]))
    assert "no node is open" in str(why(data, 1.6, [*good, LENGTHS]))
    assert "no node is open" in str(why(data, 1.6, [*good, Feature(2)]))


def test_a_feature_is_decided_once():
    data = data_with(THREE, k=3, exclude=NONE)
    assert "decided" in str(why(data, 9.0, [Feature(0), Feature(0), LENGTHS, LENGTHS, LENGTHS]))
    assert "decided" in str(why(data, 9.0, [Feature(0), LENGTHS, Feature(0), LENGTHS, LENGTHS]))
    assert "decided" in str(why(data, 9.0, [Feature(7), LENGTHS, LENGTHS]))
    # Where no feature is left to take, none is undecided.
    data = data_with(THREE, k=1)
    assert "decided" in str(why(data, 9.0, [Feature(0), Feature(1), LENGTHS, LENGTHS, LENGTHS]))
    demanded = data_with(THREE, k=2, include=np.array([1]))
    assert "decided" in str(why(demanded, 9.0, [Feature(1), LENGTHS, LENGTHS]))


def test_an_included_feature_uses_a_place():
    # Everything has length 1: q features prove q.
    data = data_with(np.eye(4), k=3)
    assert proves(data, 3.01, [Feature(0), Feature(1), LENGTHS, LENGTHS, LENGTHS])
    assert not proves(data, 2.99, [Feature(0), Feature(1), LENGTHS, LENGTHS, LENGTHS])
    # Without 0, 1: two features are left.
    tail = [Feature(0), LENGTHS, Feature(1), LENGTHS, LENGTHS]
    assert proves(data, 3.01, tail)
    assert why(data, 2.01, [Feature(0), D, Feature(1), LENGTHS, LENGTHS]).node == 3
    assert why(data, 1.5, [Feature(0), D, Feature(1), D, LENGTHS]).node == 4
    assert proves(data, 2.01, [Feature(0), D, Feature(1), D, LENGTHS])


def test_nothing_is_to_be_shown_of_no_features():
    data = data_with(THREE, k=1, exclude=np.array([0, 1, 2]))
    for leaf in (LENGTHS, D, Envelope(())):
        check_tree(Checked(data), level(data, -5.0, [leaf]), NONE, NONE, 1)
    assert not proves(data_with(THREE), 9.0, [Envelope(())])
    with pytest.raises(Refused, match="unknown rule"):
        check_leaf(Checked(data_with(THREE)), 9.0, Feature(0), NONE, np.array([0]), 1)


def signs_line(signs, entries, c=1.01, b=2):
    zero = np.zeros(b, np.float32)
    return Line(
        np.arange(b), c, 0.0, 0.0, 0, FREE, zero, zero, np.asarray(entries, np.float32), np.array(signs, np.int8)
    )


def test_signs():
    """A = [[1, -.5], [-.5, 1]]: with equal signs v'Av <= 1, with opposite ones 1.5."""
    data = data_with([[1.0, -0.5], [-0.5, 1.0]])
    equal = Envelope((signs_line([1, 1], [0.5]),))
    opposite = Envelope((signs_line([1, -1], [0.0], 1.51),))
    tree = [Sign(0), Sign(1), equal, opposite]
    assert proves(data, 1.52, tree)
    assert not proves(data, 1.49, tree)
    assert not proves(data, 1.52, [Sign(0), Sign(1), opposite, equal])
    assert not proves(data, 1.52, [Sign(0), Sign(1), equal])
    assert not proves(data, 1.52, [Sign(0), Sign(1), equal, equal])
    assert not proves(data, 1.52, [Sign(0), equal])
    assert not proves(data, 1.52, [equal])
    # v and -v: a line for (-1, -1) is not one of the node (1, 1).
    assert not proves(data, 1.52, [Sign(0), Sign(1), Envelope((signs_line([-1, -1], [0.5]),)), opposite])
    # A line that knows less than its node.
    assert proves(data, 1.52, [Sign(0), Sign(1), Envelope((signs_line([0, 0], [0.0], 1.51),)), opposite])


def test_both_signs_of_the_second_feature_and_one_of_the_first():
    data = data_with(THREE, k=3)
    leaf = LENGTHS
    assert proves(data, 1.76, [Sign(2), leaf])
    assert not proves(data, 1.76, [Sign(2), leaf, leaf])
    assert proves(data, 1.76, [Sign(2), Sign(0), leaf, leaf])
    assert not proves(data, 1.76, [Sign(2), Sign(0), leaf])
    assert not proves(data, 1.76, [Sign(2), Sign(0), leaf, leaf, leaf])
    assert proves(data, 1.76, [Sign(2), Sign(0), Sign(1), leaf, leaf, leaf])
    assert "known" in str(why(data, 1.76, [Sign(0), Sign(0), leaf, leaf]))
    assert "known" in str(why(data, 9.0, [Sign(7 - 5), Sign(1), Sign(1), leaf, leaf, leaf]))


def test_signs_of_features_that_are_in_or_undecided():
    data = data_with(THREE, k=2)
    assert proves(data, 1.6, [Feature(0), Sign(0), LENGTHS, LENGTHS])
    assert proves(data, 1.6, [Feature(0), Sign(1), LENGTHS, LENGTHS])
    assert "known" in str(why(data, 1.6, [Feature(0), LENGTHS, Sign(0), LENGTHS]))
    # In the one branch a sign, in the other none: each goes on with its own.
    assert proves(data, 1.6, [Feature(0), Sign(1), LENGTHS, Sign(1), LENGTHS])
    assert proves(data, 1.6, [Sign(1), Feature(0), Sign(0), LENGTHS, LENGTHS, Sign(2), LENGTHS, LENGTHS])


def test_signs_go_down_both_branches():
    A = np.full((3, 3), -0.4)
    np.fill_diagonal(A, 1.0)
    data = data_with(A, k=3)
    line = Envelope((signs_line([1, 1, 0], [0.4, 0.0, 0.0], 1.6, 3),))
    without = Envelope((signs_line([1, -1, 0], [0.0, 0.0, 0.0], 1.5, 3),))
    tree = [Sign(0), Feature(2), Sign(1), line, without, Sign(1), line, without]
    assert proves(data, 1.61, tree)
    assert not proves(data, 1.39, tree)


def test_majorants_show_the_target_and_envelopes_the_bound():
    data = data_with([[1.0, 0.3], [0.3, 1.0]])
    line = Envelope((Line(np.arange(2), 1.31, 0.0, 0.0, 0, THRESHOLD, *np.zeros((2, 2), np.float32)),))
    assert proves(data, 1.4, [line], target=0.2)
    assert not proves(data, 1.3, [line], target=1.2)
    assert proves(data, 1.4, [D], target=1.301)
    assert not proves(data, 1.4, [D], target=1.2)
    unit = Line(np.arange(2), -0.19, 0.0, 0.0, 0, THRESHOLD, *np.zeros((2, 2), np.float32))
    matrix = Matrix(PLAIN, replace(unit, c=-1e-3))
    assert proves(data, 1.4, [matrix], target=1.302)
    assert not proves(data, 1.4, [matrix], target=1.299)


def test_a_matrix_is_about_features_in_their_order():
    """Branching may bring the free features into another order; the line names them ascending."""
    A = np.diag([1.0, 1.0, 1.0, 0.2]) + 0.0
    A[0, 1] = A[1, 0] = 0.4
    A[1, 2] = A[2, 1] = -0.2
    data = data_with(A, k=3)
    N = (1.7 * np.eye(3) - A[:3, :3]) / 0.7
    entries = np.array([-N[0, 1], 0.0, -N[1, 2]]) * -1.0
    with pytest.raises(Refused):
        check_leaf(Checked(data), 1.7, Matrix(PLAIN, signs_line([0, 0, 0], entries, -0.1, 3)), NONE, np.arange(3), 3)
    line = Line(np.arange(3), -0.2, 0.0, 0.0, 0, THRESHOLD, *np.zeros((2, 3), np.float32))
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        check_leaf(Checked(data), 1.7, Matrix(PLAIN, line), np.array([3]), np.array(order), 3)
    with pytest.raises(Refused, match="other features"):
        check_leaf(Checked(data), 1.7, Matrix(PLAIN, line), NONE, np.arange(1, 4), 3)


def test_scalings_are_of_features_by_their_number():
    A = np.eye(3)
    A[0, 1:] = A[1:, 0] = 0.6
    data = data_with(np.eye(3) * 2.0 - A, k=3)
    scaling = Scaling(np.array([0]), np.array([1.5], np.float32))
    with pytest.raises(Refused):
        check_leaf(Checked(data), 2.0, D, NONE, np.arange(3), 3)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        check_leaf(Checked(data), 2.0, Dominance(PLAIN, scaling), NONE, np.array(order), 3)
    wrong = replace(scaling, features=np.array([1]))
    with pytest.raises(Refused):
        check_leaf(Checked(data), 2.0, Dominance(PLAIN, wrong), NONE, np.array([2, 0, 1]), 3)


def test_witnesses_are_made_once():
    data = data_with(np.eye(2), rho=np.full(2, 0.1))
    checked = Checked(data)
    attack = Attack(np.array([0]), np.ones(1))
    assert checked.majorant(attack) is checked.majorant(attack)
    assert checked.majorant(attack) is not checked.majorant(Attack(np.array([0]), np.ones(1)))
    line = Line(np.arange(2), 1.5, 0.0, 0.0, 0, THRESHOLD, *np.zeros((2, 2), np.float32))
    assert checked.line(line) is checked.line(line)


def random_leaf(rng, d, data):
    rule = rng.integers(4)
    if rule == 0:
        return LENGTHS
    x = rng.standard_normal(d)
    gain = float(rng.choice([0.0, 0.0, 0.2, 1.0]))
    attack = PLAIN if rng.random() < 0.4 else Attack(np.arange(d), x, gain)
    if rule == 1:
        z = rng.uniform(0.5, 2, d).astype(np.float32)
        return Dominance(attack, Scaling(np.arange(d), z) if rng.random() < 0.5 else None)
    loads = rng.uniform(0, 0.3, d).astype(np.float32) * (rng.random() < 0.5)
    lifts = (loads * rng.uniform(0.5, 2)).astype(np.float32)
    if rule == 2:
        return Matrix(attack, Line(np.arange(d), -0.5, float(rng.uniform(0, 0.3)), 0.0, 0, THRESHOLD, loads, lifts))
    top = float(np.linalg.eigvalsh(data.A)[-1])
    lines = []
    for _ in range(int(rng.integers(1, 3))):
        mu, weighted = rng.uniform(0, 0.5, 2) * (rng.random(2) < 0.6)
        signs = rng.choice([0, 0, 1, -1], d).astype(np.int8)
        free = rng.random() < 0.4
        lines.append(
            Line(
                np.arange(d),
                top * float(rng.uniform(0.7, 1.1)),
                float(mu),
                float(weighted),
                int(rng.integers(2)),
                FREE if free else THRESHOLD,
                loads,
                lifts,
                rng.uniform(-0.5, 0.5, d * (d - 1) // 2).astype(np.float32) if free else None,
                signs if free else None,
            )
        )
    return Envelope(tuple(lines))


def random_tree(rng, d, data, depth):
    if depth and rng.random() < 0.6:
        if rng.random() < 0.7:
            first, second = (random_tree(rng, d, data, depth - 1) for _ in range(2))
            return [Feature(int(rng.integers(d))), *first, *second]
        branches = [random_tree(rng, d, data, depth - 1) for _ in range(int(rng.integers(1, 3)))]
        return [Sign(int(rng.integers(d))), *(node for branch in branches for node in branch)]
    return [random_leaf(rng, d, data)]


def test_random_trees_prove_nothing_false():
    rng = np.random.default_rng(0)
    accepted = tight = 0
    for _ in range(500):
        d = int(rng.integers(1, 5))
        B = rng.standard_normal((d + 1, d))
        A = B.T @ B / d
        A = 0.5 * (A + A.T) + 1e-12 * np.eye(d)
        rho = rng.uniform(0, 0.6, d) * (rng.random(d) < 0.7) if rng.random() < 0.6 else None
        costs = rng.uniform(0, 0.4, d) if rng.random() < 0.4 else None
        k = int(rng.integers(1, d + 1))
        include = rng.permutation(d)[: int(rng.random() < 0.3)]
        data = data_with(A, k, rho, costs, include=np.sort(include))
        truth = Truth(k, S=A, n=1, rho=rho, costs=costs, include=include)
        best = truth.best()[0]
        for _ in range(4):
            bound = float(best) + float(rng.choice([-0.02, 0.0, 1e-9, 0.05, 0.3, 1.0])) * max(abs(float(best)), 0.05)
            if not len(include):
                bound = max(bound, 0.0)  # no feature at all is worth 0
            if proves(data, bound, random_tree(rng, d, data, 3)):
                accepted += 1
                tight += bound < float(best) * 1.1
                assert bound >= best
    assert accepted > 100
    assert tight > 10


def test_every_pattern_of_signs_is_in_a_leaf():
    """Leaves that each close one pattern: the tree is accepted only with all of them, up to v and -v."""
    rng = np.random.default_rng(1)
    for d in (2, 3):
        B = rng.standard_normal((d, d))
        A = B @ B.T
        A = 0.5 * (A + A.T)
        data = data_with(A)
        pairs = np.triu_indices(d, 1)
        leaves = {}
        for tail in product((1, -1), repeat=d - 1):
            signs = np.array((1, *tail), np.int8)
            # B_ij = A_ij but 0 where signs make A_ij v_i v_j negative
            gone = A[pairs] * np.outer(signs, signs)[pairs] < 0
            kept = np.where(gone, 0.0, A[pairs])
            whole = np.diag(A.diagonal())
            whole[pairs] = kept
            whole = np.triu(whole) + np.triu(whole, 1).T
            c = float(np.linalg.eigvalsh(whole)[-1]) + 1e-5
            leaves[tail] = Envelope((signs_line(signs, kept - A[pairs], c, d),))
        nodes = [Sign(0)]
        if d == 2:
            nodes += [Sign(1), leaves[1,], leaves[-1,]]
        else:
            nodes += [Sign(1), Sign(2), leaves[1, 1], leaves[1, -1], Sign(2), leaves[-1, 1], leaves[-1, -1]]
        top = max(leaf.lines[0].c for leaf in leaves.values())
        assert proves(data, top + 1e-4, nodes)
        for i, node in enumerate(nodes):
            if isinstance(node, Envelope):
                for other in leaves.values():
                    if other is not node:
                        assert not proves(data, top + 1e-4, [*nodes[:i], other, *nodes[i + 1 :]])
