"""Attacks on samples: rule M with its gain, and the envelope in the l1 norm of u, against every support."""

from dataclasses import replace

import numpy as np
import pytest
from kernel_judge import exact
from test_kernel_tampering import tampered

import noap
from noap.kernel import container, schema
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate
from noap.kernel.claim import data_of, terms_of
from noap.kernel.samples import NO_DIRECTIONS, SampleData, SampleMajorant, norms_above
from noap.kernel.tree import Checked, check_leaf
from noap.kernel.witness import LENGTHS, Feature, SampleAttack, Scaling
from sample_proofs import (
    Dominance,
    SampleEnvelope,
    ascended,
    best_of,
    certificate_of,
    drawn,
    least,
    line,
    moving,
    responding,
    worth,
)
from second_checker import noap_check, refusal

NONE = np.empty(0, np.intp)


def both(problem, certificate):
    """Whether the kernel accepts, after a way through the file; the second checker must agree."""
    again = Certificate.from_bytes(certificate.to_bytes())
    verification = noap.verify(problem, again)
    reason = refusal(problem, again)
    assert verification.ok == (reason is None), (verification.message, reason)
    return verification.ok


@pytest.mark.parametrize("seed", range(24))
def test_a_response_bounds_every_support_by_a_hair(seed):
    """Responses to the best vector, to others, with gains small and large: what is accepted is true, and tight."""
    problem = drawn(seed, each=seed % 3 == 0, costs=seed % 4 == 1)
    rng = np.random.default_rng(seed)
    v, best = best_of(problem, rng)
    for gain in (0.0, 0.1, 0.4, 2.0):
        for spread in (0.0, 0.7, 1.0):
            x = v if rng.random() < 0.7 or not v.any() else ascended(problem, [0, 1], rng, 0)
            leaf = Dominance(responding(problem, x, gain=gain, spread=spread))
            T = least(problem, leaf, data_of(problem)[0].root())
            assert best <= T, (gain, spread)
            if np.isfinite(T):
                assert both(problem, certificate_of(problem, v, [leaf], T * (1 + 1e-9)))
                assert not both(problem, certificate_of(problem, v, [leaf], T * (1 - 1e-9)))


def test_a_gain_helps_and_one_that_is_too_large_does_not_lie():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 10)) + 0.8 * np.outer(rng.standard_normal(100), np.arange(10) < 3)
        problem = noap.Problem(X, 3, noap.SampleWise(1.5))
        v = ascended(problem, [0, 1, 2], rng)
        root = data_of(problem)[0].root()
        by_gain = [least(problem, Dominance(responding(problem, v, gain=g)), root) for g in (0.0, 0.5, 5.0)]
        assert worth(problem, v) <= min(by_gain)
        assert by_gain[1] < 0.91 * by_gain[0]


@pytest.mark.parametrize("seed", range(8))
def test_moves_that_are_given(seed):
    problem = drawn(seed, each=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    v, best = best_of(problem, rng)
    attack = moving(problem, v, spread=0.5)
    leaf = Dominance(attack)
    T = least(problem, leaf, data_of(problem)[0].root())
    assert best <= T < np.inf
    assert both(problem, certificate_of(problem, v, [leaf], T * (1 + 1e-9)))
    longer = Dominance(replace(attack, moves=attack.moves * np.float32(1 + 1e-4)))
    if any(np.isfinite(data_of(problem)[0].rho)) and attack.moves.any():
        assert not both(problem, certificate_of(problem, v, [longer], T * 2))
    fewer = Dominance(replace(attack, rows=attack.rows[1:], moves=attack.moves[1:]))
    assert not both(problem, certificate_of(problem, v, [fewer], T * 2))
    other = Dominance(replace(attack, rows=np.append(attack.rows[:-1], problem.n_samples - 1 + 7)))
    with pytest.raises(noap.errors.InvalidProblem):
        both(problem, certificate_of(problem, v, [other], T * 2))


@pytest.mark.parametrize("seed", range(10))
def test_attacks_hold_on_nodes_that_are_part_of_theirs(seed):
    """Of a node they bound its supports; on a larger one they are refused."""
    problem = drawn(seed, d=6, costs=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    inside, free = np.array([2]), np.array([0, 3, 5])
    v, best = best_of(problem, rng, (inside, free, 2))
    attack = responding(problem, v, (inside, free, 2), gain=float(rng.choice([0.0, 0.2])), spread=0.7)
    leaf, checked = Dominance(attack), Checked(data_of(problem)[0])
    T = least(problem, leaf, (inside, free, 2))
    assert best <= T
    for node in ((np.array([2, 3]), np.array([0, 5]), 1), (inside, free[1:], 2), (np.array([2, 3, 5]), NONE, 0)):
        within = best_of(problem, rng, node)[1]
        assert within <= least(problem, leaf, node)
    for node in ((inside, np.array([0, 1]), 2), (NONE, free, 2), (inside, free, 3), (NONE, np.array([0, 2, 3, 5]), 3)):
        with pytest.raises(Refused, match="attack"):
            check_leaf(checked, 1e5, leaf, *node)


def test_what_is_not_an_attack():
    problem = drawn(0)
    root = data_of(problem)[0].root()
    v = ascended(problem, [0, 1, 2], np.random.default_rng(0))
    good = responding(problem, v, gain=0.1)
    data = data_of(problem)[0]
    SampleMajorant(data, good)
    everything = np.arange(5)
    for bad in (
        replace(good, gain=-0.1),
        replace(good, gain=np.nan),
        replace(good, spread=1.5),
        replace(good, places=-1),
        replace(good, places=4),
        replace(good, places=2),
        replace(good, free=np.array([0, 1, 2, 2])),
        replace(good, free=np.array([0, 1, 3])),
        replace(good, weights=np.zeros(3)),
        replace(good, weights=np.array([1.0, np.nan, 1.0])),
        replace(good, features=everything, weights=np.ones(5)),
        replace(good, features=NONE, weights=np.empty(0)),
        SampleAttack(*root, gain=0.1, rows=data.rows, moves=np.zeros((len(data.rows), 5), np.float32)),
        SampleAttack(*root, rows=data.rows, moves=np.full((len(data.rows), 5), np.nan, np.float32)),
        SampleAttack(*root, rows=data.rows[::-1], moves=np.zeros((len(data.rows), 5), np.float32)),
    ):
        with pytest.raises((Refused, IndexError)):
            SampleMajorant(data, bad)


@pytest.mark.parametrize("seed", range(16))
def test_envelope_at_decided_supports(seed):
    """Lines about samples: what they close is true, they are close to the truth, and by a hair."""
    problem = drawn(seed, n=10, each=seed % 3 == 0, costs=seed % 4 == 1)
    rng = np.random.default_rng(seed)
    data = data_of(problem)[0]
    support = np.array([0, 2, 3])
    node = (support, NONE, 0)
    v = ascended(problem, support, rng)
    paid = 0.0 if problem.costs is None else float(problem.costs[support].sum())
    energy = float(np.linalg.norm(data.X, 2)) ** 2
    lines = tuple(line(problem, support, s * energy / 10, rng, rng.choice([1.0, 0.5])) for s in (0.0, 0.05, 0.2, 1.0))
    leaf = SampleEnvelope(lines, (None,) * 4)
    T = least(problem, leaf, node)
    assert float(worth(problem, v)) - (0 if problem.costs is None else paid - problem.costs[v != 0].sum()) <= T + 1e-9
    lower = SampleEnvelope(tuple(replace(one, c=one.c * (1 - 1e-6)) for one in lines), (None,) * 4)
    assert least(problem, lower, node) == np.inf


@pytest.mark.parametrize("seed", range(16))
def test_envelope_where_features_are_undecided(seed):
    """A matrix R for one support may serve all: dominance shows it, with a scaling or without."""
    problem = drawn(seed, n=8, d=4, k=2)
    rng = np.random.default_rng(seed)
    data = data_of(problem)[0]
    v, best = best_of(problem, rng)
    energy = float(np.linalg.norm(data.X, 2)) ** 2
    lines = tuple(line(problem, np.arange(4), s * energy / 8, rng) for s in (0.0, 0.2, 1.0))
    lines = tuple(replace(one, c=one.c * 1.5) for one in lines)
    scaling = Scaling(np.array([0, 2]), np.array([1.1, 0.9], np.float32))
    leaf = SampleEnvelope(lines, (None, scaling, None))
    T = least(problem, leaf, data.root())
    assert best <= T < np.inf
    assert both(problem, certificate_of(problem, v, [leaf], T * (1 + 1e-9)))
    low = tuple(replace(one, c=0.8 * float(np.linalg.norm(data.X[:, :2], 2) ** 2)) for one in lines)
    assert not both(problem, certificate_of(problem, v, [SampleEnvelope(low, (None,) * 3)], T * 2))


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_with_all_of_it(seed):
    problem = drawn(seed, n=9, d=4, k=2, each=seed % 2 == 0, include=[1] if seed % 3 == 0 else ())
    rng = np.random.default_rng(seed)
    data = data_of(problem)[0]
    v, best = best_of(problem, rng)
    inside, free, p = data.root()
    j = int(free[0])
    rest, more = free[1:], np.append(inside, j).astype(np.intp)
    last = int(rest[0])
    energy = float(np.linalg.norm(data.X, 2)) ** 2
    slopes = (0.0, 0.1 * energy / 9, energy / 9)
    decided = np.append(more, rest[0]) if p > 1 else more
    envelope = SampleEnvelope(tuple(line(problem, decided, s, rng) for s in slopes), (None,) * 3)
    kids = [Feature(last), envelope, LENGTHS] if p > 1 else [envelope]
    without = Dominance(responding(problem, ascended(problem, [*inside, *rest[:p]], rng), (inside, rest, p), 0.1))
    bound = 4.0 * max(float(best), 0.1)
    for _ in range(20):
        certificate = certificate_of(problem, v, [Feature(j), *kids, without], bound)
        if both(problem, certificate):
            break
        bound *= 1.5
    else:
        raise AssertionError("it was never accepted")
    assert best <= bound
    for missing in range(len(certificate.proof.levels[0].nodes)):
        nodes = list(certificate.proof.levels[0].nodes)
        del nodes[missing]
        assert not both(problem, certificate_of(problem, v, nodes, bound))


def full():
    """A problem and a certificate of it that has every array of attacks on samples."""
    problem = drawn(4, n=7, d=4, k=2, each=True)
    rng = np.random.default_rng(0)
    inside, free, p = data_of(problem)[0].root()
    v, best = best_of(problem, rng)
    energy = float(np.linalg.norm(data_of(problem)[0].X, 2)) ** 2
    j, rest = int(free[0]), free[1:]
    scaling = Scaling(rest, np.array([1.1, 0.9, 1.0], np.float32))
    lines = tuple(replace(line(problem, free, s * energy, rng), c=2 * energy) for s in (0.0, 0.1))
    nodes = [
        Feature(j),
        SampleEnvelope(lines, (scaling, None)),
        Feature(int(rest[0])),
        Dominance(responding(problem, v[[0, 1, 2, 3]] * (np.arange(4) != j), (inside, rest, p), 0.2, 0.5), scaling),
        Dominance(moving(problem, ascended(problem, rest[:2], rng), (inside, rest, p))),
    ]
    bound = 8.0 * float(best)
    certificate = certificate_of(problem, v, nodes, bound)
    assert both(problem, certificate)
    return problem, certificate, best


def test_what_was_tampered_with_is_refused_or_true():
    """Every array and every key in every way: both checkers agree, but for a hair, and neither is wrong or crashes."""
    problem, certificate, best = full()
    _, arrays = container.unpack(certificate.to_bytes())
    assert {name for name in schema.ARRAYS if name.startswith("attack_") or name == "envelope_scalings"} <= set(arrays)
    refused = true = differ = 0
    for what, raw in tampered(certificate, np.random.default_rng(0), 3):
        try:
            verification = noap.verify(problem, Certificate.from_bytes(raw))
            ok = verification.ok
        except noap.errors.InvalidProblem:
            ok = False
        reason = refusal(problem, raw)
        differ += ok != (reason is None)
        if ok or reason is None:
            claimed = verification.bound if ok else noap_check.Certificate(raw).header["bound"]
            assert best <= claimed, what
        refused, true = refused + (not ok), true + ok
    assert refused > 600
    assert true > 50
    assert differ <= 20


def test_lengths_by_a_hair():
    found = set()
    for seed in range(12):
        problem = drawn(seed, d=5 + seed % 4, each=seed % 2 == 0, costs=seed % 3 == 0)
        v, best = best_of(problem, np.random.default_rng(seed))
        T = least(problem, LENGTHS, data_of(problem)[0].root())
        rho = np.broadcast_to(problem.adversary.rho, (problem.n_samples,))
        sizes = np.sort(np.abs(problem.X), axis=1)[:, ::-1][:, :3]
        lengths = np.sqrt((sizes * sizes).sum(axis=1))
        live = lengths > rho
        by_samples = (np.maximum(lengths - rho, 0) ** 2).sum() / len(sizes)
        a = (problem.X[live] ** 2).sum(axis=0) / len(sizes)
        theta = max(1 - rho[live].min() / np.sqrt(len(sizes) * np.sort(a)[-3:].sum()), 0) ** 2
        costs = 0 if problem.costs is None else problem.costs
        by_features = np.sort(np.maximum(theta * a - costs, 0))[-3:].sum()
        assert abs(T - min(by_samples, by_features)) <= 1e-9 * T
        assert best <= T
        found.add(by_samples < by_features)
        assert both(problem, certificate_of(problem, v, [LENGTHS], T * (1 + 1e-9)))
        assert not both(problem, certificate_of(problem, v, [LENGTHS], T * (1 - 1e-9)))
    assert found == {True, False}


def test_norms_are_at_least_the_largest_score():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((50, 7)) * 10.0 ** rng.uniform(-5, 5, (50, 1))
    for inside, p in ((0, 3), (2, 2), (7, 0), (3, 0), (0, 9)):
        above = norms_above(E, inside, p)
        exact = np.sqrt((E[:, :inside] ** 2).sum(axis=1) + np.sort(E[:, inside:] ** 2)[:, ::-1][:, :p].sum(axis=1))
        assert (above >= exact * (1 - 1e-15)).all()
        assert (above <= exact * (1 + 1e-13)).all()


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize(
    ("X", "rho"),
    [([[3e-209, 1e-210], [1e-150, 1e-151]], [3e-211, 1.1e-150]), ([[1e-160, 1e-161], [1e-95, 8e-96]], [5e-162, 1e-95])],
)
def test_values_that_underflow_beside_samples_that_are_nothing(X, rho):
    """The second sample is at its budget; what the first one leaves is less than the least double, or a few of them."""
    problem = noap.Problem(np.array(X), 1, noap.SampleWise(np.array(rho)))
    result = noap.solve(problem, gap=0.1)
    true = (exact(X[0][0]) - exact(rho[0])) ** 2 / 2
    assert exact(result.bound) >= true
    assert result.bound <= 1e-9 * X[1][0] ** 2
    assert noap.verify(problem, result.certificate).ok


def test_samples_at_their_budget_contribute_nothing():
    """At rho_max, and only there, every sample has a length of at most its budget: decided exactly."""
    rng = np.random.default_rng(1)
    for k in (1, 2, 3):
        X = rng.standard_normal((12, 4)) * 10.0 ** rng.uniform(-30, 30)
        largest = noap.SampleWise(1.0).rho_max(X, k)
        nothing = noap.Problem(X, k, noap.SampleWise(largest))
        assert len(data_of(nothing)[0].rows) == 0
        assert both(nothing, certificate_of(nothing, np.eye(4)[0], [LENGTHS], 0.0))
        some = noap.Problem(X, k, noap.SampleWise(np.nextafter(largest, 0.0)))
        assert len(data_of(some)[0].rows) == 1
        assert not both(some, certificate_of(some, np.eye(4)[0], [LENGTHS], 0.0))


def test_features_that_are_left_out():
    """Only those that no sample in question has, or that cost more than their variance."""
    X = np.array([[2.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-2.0, 1e-3, 0.5]])
    problem = noap.Problem(X, 2, noap.SampleWise(0.1))
    certificate = certificate_of(problem, np.array([1.0, 0.0, 0.0]), [LENGTHS], 5.0)
    level = certificate.proof.levels[0]
    assert both(problem, certificate)
    for features in ([0, 1], [0, 2], [1, 2], [0]):
        less = replace(
            certificate, proof=replace(certificate.proof, levels=(replace(level, features=np.array(features)),))
        )
        assert not both(problem, less)
    dear = noap.Problem(X, 2, noap.SampleWise(0.1), costs=[0.0, 1e-3, 0.0])
    assert certificate_of(dear, np.array([1.0, 0.0, 0.0]), [LENGTHS], 5.0).proof.levels[0].features.tolist() == [0, 2]
    assert both(dear, certificate_of(dear, np.array([1.0, 0.0, 0.0]), [LENGTHS], 5.0))


def test_a_vector_proves_what_it_is_worth():
    for seed in range(20):
        problem = drawn(seed, each=seed % 2 == 0, costs=seed % 3 == 0)
        data = data_of(problem)[0]
        v = ascended(problem, [0, 2, 4], np.random.default_rng(seed))
        at = np.flatnonzero(v)
        proved = data.value_at_least(at, v[at] * 3.7) * 4.0**data.exponent
        assert proved <= float(worth(problem, v)) <= proved + 1e-12 * data.top * 4.0**data.exponent
    for bad in ([0, 1, 2, 3], [0, 0]):
        with pytest.raises(Refused):
            data.value_at_least(np.array(bad), np.ones(len(bad)))


def test_units():
    """Scaled by any power of two a proof is the same."""
    for exponent in (-120, -1, 0, 9, 200):
        unit = 2.0**exponent
        scaled = noap.Problem(np.asarray(drawn(3).X) * unit, 3, noap.SampleWise(drawn(3).adversary.rho * unit))
        v, _ = best_of(drawn(3), np.random.default_rng(0))
        leaf = Dominance(responding(scaled, v, gain=0.1))
        T = least(scaled, leaf, data_of(scaled)[0].root())
        assert T / unit**2 == least(drawn(3), leaf, data_of(scaled)[0].root())
        assert both(scaled, certificate_of(scaled, v, [leaf], T * (1 + 1e-9)))


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_directions_beside_attacks_on_samples_are_refused_in_one_sentence(rho):
    """No rule is proved about both: neither checker reads such a file, nor does the kernel take such data."""
    problem = drawn(3)
    v, _ = best_of(problem, np.random.default_rng(3))
    problem = problem.with_adversary(noap.SampleWise(rho))
    certificate = noap.solve(problem).certificate
    if rho:
        certificate = certificate_of(problem, v, [Dominance(responding(problem, v))], 1e3)
    assert both(problem, certificate)
    V = np.eye(problem.n_features)[:1]
    raw = replace(certificate, claim=replace(certificate.claim, directions=V)).to_bytes()
    with pytest.raises(noap.errors.InvalidProblem, match=NO_DIRECTIONS):
        Certificate.from_bytes(raw)
    with pytest.raises(noap_check.Reject, match=f"^{NO_DIRECTIONS}$"):
        noap_check.Certificate(raw)
    terms = terms_of(drawn(3))
    terms.directions = V
    with pytest.raises(Refused, match=f"^{NO_DIRECTIONS}$"):
        SampleData(lambda: [np.asarray(problem.X)], problem.n_features, terms)
    with pytest.raises(noap.errors.InvalidProblem, match="orthogonal_to"):
        problem.with_orthogonality(V)
