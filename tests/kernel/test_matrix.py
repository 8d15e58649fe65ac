"""Rule S by a matrix: a line above the scaled complement that falls below 0 where cardinality ends."""

from dataclasses import replace

import numpy as np
import pytest
from kernel_judge import U, exact, smallest, sparsely_semidefinite

from noap.kernel.arithmetic import Refused
from noap.kernel.definite import matrix, scaled_to_unit
from noap.kernel.envelope import NearMatrix
from noap.kernel.witness import BOX, FREE, IN_PLAIN_NORM, IN_WEIGHTED_NORM, THRESHOLD, Line


def line(m, c, plain, loads=0.0, lifts=0.0, **kwargs):
    def spread(x):
        return np.broadcast_to(np.asarray(x, np.float32), m).copy()

    given = {"weighted": 0.0, "counts": IN_PLAIN_NORM, "form": THRESHOLD} | kwargs
    return Line(np.arange(m), c, plain, loads=spread(loads), lifts=spread(lifts), **given)


def accepted(C, p, one, features=None):
    try:
        matrix(C, np.arange(len(C)) if features is None else features, p, one)
    except Refused:
        return False
    return True


def equal(m, off, scale=None):
    C = np.full((m, m), off)
    np.fill_diagonal(C, 1.0)
    scale = np.ones(m) if scale is None else scale
    return C * np.outer(scale, scale)


def test_scaling_to_the_unit_diagonal_is_right_to_four_last_digits():
    rng = np.random.default_rng(0)
    for _ in range(100):
        m = int(rng.integers(1, 5))
        B = rng.standard_normal((m, m))
        C = (B @ B.T + B.T) * np.outer(*[10.0 ** rng.uniform(-4, 4, m)] * 2)
        C = 0.5 * (C + C.T)
        np.fill_diagonal(C, np.abs(C.diagonal()) + 1e-20)
        N = scaled_to_unit(C)
        s = exact(1.0 / np.sqrt(C.diagonal()))
        off = abs(exact(N) - exact(C) * np.outer(s, s)).max()
        assert off <= 4 * U * exact(np.abs(N).max())
    for own, good in ((1e-279, True), (1e-280, False), (0.0, False), (-1.0, False), (np.nan, False)):
        if good:
            scaled_to_unit(np.diag([own, 1.0]))
        else:
            with pytest.raises(Refused, match="diagonal"):
                scaled_to_unit(np.diag([own, 1.0]))


@pytest.mark.parametrize("p", [2, 3, 4, 7])
def test_equal_correlations_to_the_last_digit(p):
    """mu for the entries, c = -(1 + mu): exact on p of m features of correlation -mu."""
    m, rng = 4, np.random.default_rng(p)
    size = min(p, m)
    for _ in range(8):
        scale = 2.0 ** rng.integers(-9, 9, m)

        def accepts(less, scale=scale):
            mu = 1.0 - less
            # c as low as B allows, but for the room of its factorisation.
            return accepted(equal(m, -mu, scale), p, line(m, -(1 + mu) + 1e-13, mu))

        less = smallest(accepts, 0.0, 0.9)
        assert sparsely_semidefinite(exact(equal(m, less - 1.0, scale)), p)
        assert not sparsely_semidefinite(exact(equal(m, less - 1.0 - 1e-11, scale)), size)


def test_cardinality_is_paid_by_loads_and_lifts():
    """With a load on every feature and no mu: box = load, |v_i| = 1/root p is where the load is dearest."""
    m, p = 4, 3
    for mu in (0.3, 0.45, 0.499, 0.5001, 0.52, 0.7):
        lift = p * mu / 2  # so that the tangent touches at |v_i| = |v|_1/p
        one = line(m, -(1 + mu - lift) + 2e-7, 0.0, mu, lift)
        # -N = -1 on the diagonal, mu off it; c + p sum tau = -1 + 2 mu up to the room
        assert accepted(equal(m, -mu + 1e-7), p, one) is (mu < 0.5)


def test_only_the_dearest_p_features_are_paid_for():
    m = 4
    loads, lifts = np.array([0.4, 0.4, 0.0, 0.0]), np.array([0.4, 0.4, 0.0, 0.0])
    C = np.eye(m)
    C[0, 1] = C[1, 0] = -0.3
    # tau = .1 each, c is that of B: -1 - load + lift at best -1
    assert accepted(C, 2, line(m, -0.999, 0.0, loads, lifts))
    assert accepted(C, 3, line(m, -0.999, 0.0, loads, lifts))  # 2 taus of 0.1 at s = 3
    assert not accepted(C, 3, line(m, -0.59, 0.0, loads, lifts))
    assert accepted(C, 2, line(m, -0.41, 0.0, loads, lifts))
    assert not accepted(C, 2, line(m, -0.39, 0.0, loads, lifts))
    assert not accepted(C, 1, line(m, -0.09, 0.0, loads, lifts))
    assert accepted(C, 1, line(m, -0.11, 0.0, loads, lifts))


def test_nothing_indefinite_is_accepted():
    rng = np.random.default_rng(1)
    counted = [0, 0, 0]
    for _ in range(500):
        m = int(rng.integers(1, 5))
        p = int(rng.integers(1, m + 1))
        off = rng.uniform(0, 0.9)
        C = equal(m, 0.0) + np.where(np.eye(m), 0.0, rng.uniform(-off, off, (m, m)))
        C = (0.5 * (C + C.T)) * np.outer(*[10.0 ** rng.uniform(-3, 3, m)] * 2)
        mu, load = rng.uniform(0, 0.5, 2) * (rng.random(2) < 0.6)
        lift = load * rng.uniform(0.5, 2)
        entries = None
        form = int(rng.choice([THRESHOLD, BOX]))
        if form == BOX:
            N = scaled_to_unit(C)[np.triu_indices(m, 1)]
            entries = np.clip(np.rint(N / max(mu + load, 1e-9) * 32767), -32767, 32767).astype(np.int16)
        B0 = float(np.linalg.eigvalsh(-scaled_to_unit(C))[-1])
        c = B0 + rng.uniform(-1, 0.2) * (mu + load + 0.01)
        good = accepted(C, p, line(m, c, mu, load, lift, form=form, entries=entries))
        true = sparsely_semidefinite(exact(C), p)
        counted[good + (not true)] += good or not true
        assert true or not good
    assert counted[1] > 30


def test_a_negative_slope_does_not_help():
    # mu below 0 lowers the diagonal and is given back at s = 1 at least.
    C = np.eye(2)
    assert accepted(C, 2, line(2, -0.5, 0.0))
    assert not accepted(C, 2, line(2, 1e-3, -0.9))


def test_a_tie_is_accepted():
    C, one = np.eye(2), line(2, -0.5, 0.25)
    c = -2.0 * NearMatrix(-C, np.ones(2), one).plain
    assert accepted(C, 2, replace(one, c=c))
    assert not accepted(C, 2, replace(one, c=np.nextafter(c, 0.0)))


def test_the_line_must_be_of_this_kind():
    C, good = np.eye(2), line(2, -0.5, 0.0)
    assert accepted(C, 2, good)
    assert accepted(np.zeros((0, 0)), 0, good)
    zeros = np.zeros(2, np.float32)
    pulls = np.zeros((2, 2), np.float32)
    for other in (
        replace(good, counts=IN_WEIGHTED_NORM),
        replace(good, weighted=1e-300),
        replace(good, dues=zeros, pulls=pulls),
        replace(good, features=np.array([1, 0])),
        replace(good, features=np.array([0])),
        replace(good, loads=zeros[:1]),
        replace(good, form=BOX),
        replace(good, form=7),
    ):
        assert not accepted(C, 2, other)
    assert not accepted(C, 2, good, np.array([0, 2]))


def test_signs_do_not_count():
    """A line of form FREE is one-sided where signs are known; of a complement none are."""
    bad = equal(2, -2.0)
    entries = np.array([-2.0], np.float32)  # B = 2 - 2 = 0
    for signs in (None, np.zeros(2, np.int8), np.array([-1, 1], np.int8), np.array([1, 1], np.int8)):
        one = line(2, -0.9, 0.0, form=FREE, entries=entries, signs=signs)
        assert not accepted(bad, 2, one)


def test_dividing_by_nothing():
    assert not accepted(np.diag([0.0, 1.0]), 1, line(2, -1.0, 0.0))
    assert not accepted(np.diag([-1.0, 1.0]), 1, line(2, -1.0, 0.0))
