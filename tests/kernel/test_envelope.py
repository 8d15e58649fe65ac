"""Rule E1: lines above the variance, to the last digits where they touch it, and what an envelope of them closes."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from kernel_judge import U, exact, roots, smallest

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.envelope import VarianceLine, closes
from noap.kernel.witness import BOX, CORE, FREE, IN_PLAIN_NORM, IN_WEIGHTED_NORM, THRESHOLD, Line

NOBODY = np.empty(0, np.intp)


def single(x):
    return np.asarray(x, np.float32)


def data_with(A, weights=None, r_max=0.0, costs=None, k=None):
    """Data with this matrix; the budgets are r_max times the weights."""
    d = len(A)
    rho = None if weights is None else np.asarray(weights) * r_max
    return Data(np.asarray(A, dtype=float), Terms(d if k is None else k, 1, rho, costs), 0, True, 0.0)


def above(line, features, w, v):
    """What a line says of v, exactly: c|v|^2 + mu_1 s + mu_w t + what each feature adds."""
    v = exact(v)
    s, t = sum(abs(v)) ** 2, (exact(w) @ abs(v)) ** 2
    total = exact(line.c) * (v @ v) + exact(line.plain) * s + exact(line.weighted) * t
    for j, x in zip(features, v, strict=True):
        if x:
            total += exact(line.prices[j]) * (s if line.counts == IN_PLAIN_NORM else t)
            total += exact(line.dues[j]) * (v @ v)
    return total


def touching(rng, b, counts, dues, form):
    """Data, a line and a vector where the line touches v'Av up to rounding: the box is used up, the tangents touch."""
    weights = np.concatenate([[1.0], rng.uniform(0.1, 1, b - 1)])
    r_max = float(rng.choice([0.0, 0.4]))
    v = rng.uniform(0.3, 1, b)
    w = data_with(np.eye(b), weights, r_max).w
    plain, weighted = rng.uniform(0.05, 0.4, 2) * rng.choice([0.0, 1.0], 2, p=[0.2, 0.8])
    loads = single(rng.uniform(0.01, 0.3, b) * (rng.random() < 0.8))
    n = w if counts == IN_WEIGHTED_NORM else np.ones(b)
    norm = float(n @ v)
    lifts = single(loads.astype(float) * norm / (2 * v))
    box = plain + weighted * np.outer(w, w) + 0.5 * (np.outer(loads, n) + np.outer(n, loads))
    off = box.copy()
    own = plain + weighted * w * w + loads * n - lifts
    diagonal = 1.0 + own
    given = {}
    if dues:
        pulls = single(v[None, :] / v[:, None])
        np.fill_diagonal(pulls, 0.0)
        alpha = single(rng.uniform(0, 0.3, b) / (1 + (pulls**2).sum(axis=1)))  # no feature shorter than its budget
        taken = alpha.astype(float)[:, None] * pulls
        off = off + taken + taken.T
        diagonal = diagonal + alpha * (1 - (pulls.astype(float) ** 2).sum(axis=1))
        given = {"dues": alpha, "pulls": pulls}
    signs = rng.choice([-1.0, 1.0], b)
    A = off * np.outer(signs, signs)
    np.fill_diagonal(A, diagonal)
    if dues:
        given["pulls"] = given["pulls"] * single(np.outer(signs, signs))
    pairs = np.triu_indices(b, 1)
    if form == BOX:
        given["entries"] = (-32767 * np.outer(signs, signs)[pairs]).astype(np.int16)
    if form == CORE:
        given["core"] = rng.random(b) < 0.6
        within = np.ix_(given["core"], given["core"])
        given["entries"] = (-32767 * np.outer(signs, signs)[within])[np.triu_indices(given["core"].sum(), 1)]
        given["entries"] = given["entries"].astype(np.int16)
    if form == FREE:
        given["entries"] = single(-(box * np.outer(signs, signs))[pairs])
        given["signs"] = np.zeros(b, np.int8)
    line = Line(np.arange(b), 2.0, plain, weighted, counts, form, loads, lifts, **given)
    return data_with(A, weights, r_max), line, v * signs


def made(data, line):
    try:
        return VarianceLine(data, line)
    except Refused:
        return None


def test_a_box_below_zero_is_paid_for():
    """Entries beside a box of -.1 are .1 off: the slope of s must be as large, whatever the line says."""
    line = Line(np.arange(2), 2.0, -0.1, 0.0, 0, BOX, *np.zeros((2, 2), np.float32), np.array([32767], np.int16))
    near = VarianceLine(data_with(np.eye(2)), line)
    assert 0.1 <= near.plain <= 0.1 + 1e-14
    with pytest.raises(Refused, match="not there"):
        VarianceLine(data_with(np.eye(2)), replace(line, features=np.array([0, 2])))


@pytest.mark.parametrize("form", [THRESHOLD, BOX, FREE, CORE])
@pytest.mark.parametrize("counts", [IN_PLAIN_NORM, IN_WEIGHTED_NORM])
@pytest.mark.parametrize("dues", [False, True])
def test_the_lowest_line_touches_and_does_not_cross(form, counts, dues):
    rng = np.random.default_rng(form + 10 * counts + 20 * dues)
    for _ in range(25):
        b = int(rng.integers(1, 5))
        data, line, v = touching(rng, b, counts, dues, form)
        c = smallest(lambda c, data=data, line=line: made(data, replace(line, c=c)) is not None, 0.0, 4.0)
        low = VarianceLine(data, replace(line, c=c))
        variance = exact(v) @ exact(data.A) @ exact(v)
        height = above(low, np.arange(b), data.w, v)
        assert variance <= height
        # entries in single precision move B within its box
        assert height <= variance + Fraction(1, 10**12) + (form == FREE) * Fraction(1, 10**5)


@pytest.mark.parametrize("form", [THRESHOLD, BOX, FREE, CORE])
def test_lines_lie_above_all_vectors(form):
    rng = np.random.default_rng(form + 50)
    for _ in range(60):
        b = int(rng.integers(1, 6))
        weights = np.concatenate([[1.0], rng.uniform(0, 1, b - 1) * (rng.random(b - 1) < 0.7)])
        X = rng.standard_normal((b + 1, b))
        data = data_with(X.T @ X / b + 0.01 * np.eye(b), weights, 0.3)
        plain, weighted = rng.uniform(-0.1, 0.5, 2)
        loads = single(rng.uniform(0, 0.5, b) * (rng.random(b) < 0.7))
        given = {}
        if form == BOX:
            given = {"entries": rng.integers(-32767, 32768, b * (b - 1) // 2).astype(np.int16)}
        if form == CORE:
            core = rng.random(b) < 0.6
            m = int(core.sum())
            given = {"core": core, "entries": rng.integers(-32767, 32768, m * (m - 1) // 2).astype(np.int16)}
        if form == FREE:
            given = {
                "entries": single(rng.uniform(-1, 1, b * (b - 1) // 2)),
                "signs": rng.integers(-1, 2, b).astype(np.int8),
            }
        if rng.random() < 0.5:
            pulls = single(rng.uniform(-1, 1, (b, b)))
            np.fill_diagonal(pulls, 0.0)
            given |= {"dues": single(rng.uniform(0, 0.5, b)), "pulls": pulls}
        lifts = single(rng.uniform(0.01, 1, b))
        line = Line(np.arange(b), 0.0, plain, weighted, int(rng.integers(2)), form, loads, lifts, **given)
        c = smallest(lambda c, data=data, line=line: made(data, replace(line, c=c)) is not None, -50.0, 50.0)
        low = VarianceLine(data, replace(line, c=c))
        for _ in range(12):
            v = rng.standard_normal(b) * (rng.random(b) < 0.8)
            if form == FREE:
                known = given["signs"] != 0
                v[known] = np.abs(v[known]) * given["signs"][known]
            if v.any():
                variance = exact(v) @ exact(data.A) @ exact(v)
                assert variance <= above(low, np.arange(b), data.w, v)


def test_known_signs_leave_an_entry_free_on_one_side():
    # v_1 v_2 >= 0 and G_12 < 0: B_12 = 0 is above. With other signs it is not, and mu must pay.
    data = data_with([[1.0, -0.5], [-0.5, 1.0]])
    line = Line(
        np.arange(2), 1.01, 0.0, 0.0, 0, FREE, *(np.zeros((2, 2), np.float32)), single([0.5]), np.array([1, 1], np.int8)
    )
    assert VarianceLine(data, line).plain < 1e-12
    both = replace(line, signs=np.array([-1, -1], np.int8))
    assert VarianceLine(data, both).plain < 1e-12
    for signs in ([1, -1], [0, 1], [1, 0], [0, 0]):
        assert VarianceLine(data, replace(line, signs=np.array(signs, np.int8))).plain >= 0.5
    assert VarianceLine(data, replace(line, signs=None)).plain >= 0.5
    # The other way round.
    opposite = replace(line, entries=single([-0.5]), c=2.01)
    for signs in (None, np.zeros(2, np.int8), np.ones(2, np.int8)):
        assert VarianceLine(data, replace(opposite, signs=signs)).plain >= 0.5
    assert VarianceLine(data, replace(opposite, signs=np.array([1, -1], np.int8))).plain < 1e-12
    kept = VarianceLine(data, replace(opposite, signs=np.array([1, -1], np.int8)))
    assert kept.signs.tolist() == [1, -1]


def test_what_a_line_costs_is_spread_over_all_features():
    data = data_with(np.eye(4), [1.0, 0.5, 0.5, 0.2], 0.3)
    line = Line(np.array([1, 3]), 1.5, 0.1, 0.2, 1, THRESHOLD, single([0.4, 0.0]), single([0.5, 0.0]))
    found = VarianceLine(data, line)
    assert found.prices[[0, 2]].tolist() == [np.inf, np.inf]
    assert found.prices[1] == pytest.approx(0.08)
    assert found.prices[3] == 0.0
    assert (found.dues == 0).all()
    assert (found.signs == 0).all()
    at = found.at(3.0, 2.0, np.array([1, 3]))
    assert (exact(at) >= exact(found.prices[[1, 3]]) * 2).all()
    assert at[0] == pytest.approx(0.16)
    plain = VarianceLine(data, replace(line, counts=0)).at(3.0, 2.0, np.array([1, 3]))
    assert plain[0] == pytest.approx(0.24)


def test_a_matrix_within_its_box_costs_nothing_more():
    data = data_with([[1.0, 0.5], [0.5, 1.0]])
    zero = np.zeros(2, np.float32)
    for form, entries in ((THRESHOLD, None), (BOX, np.zeros(1, np.int16)), (FREE, single([0.0]))):
        for plain in (0.0, 0.25):
            line = Line(np.arange(2), 1.6, plain, 0.0, 0, form, zero, zero, entries)
            assert plain < VarianceLine(data, line).plain < plain + 1e-13


def test_numbers_of_a_line_that_cancel():
    """mu_1, lambda and q are large and B is not: what the diagonal loses is much, beside all entries."""
    rng = np.random.default_rng(83)
    for _ in range(200):
        own = float(rng.uniform(0.5, 3))
        lift = single(rng.uniform(1e5, 1e6, 1))
        data = data_with([[own]])
        line = Line(
            np.arange(1), 0.0, float(rng.uniform(-1, 1)) - float(lift[0]), 0.0, 0, THRESHOLD, 2 * lift, lift
        )  # the tangent touches at |v| = 1
        c = smallest(lambda c, data=data, line=line: made(data, replace(line, c=c)) is not None, -9.0, 9.0)
        low = VarianceLine(data, replace(line, c=c))
        height = above(low, np.arange(1), data.w, np.ones(1))
        assert exact(own) <= height <= exact(own) + Fraction(1, 10**7)


def good_line(**kwargs):
    zero = np.zeros(2, np.float32)
    return replace(Line(np.arange(2), 1.5, 0.0, 0.0, 0, THRESHOLD, zero, zero), **kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"c": 0.99},
        {"c": -1e101},
        {"c": np.nan},
        {"c": np.inf},
        {"c": 1e100},
        {"plain": 1e100},
        {"plain": np.nan},
        {"weighted": -np.inf},
        {"weighted": np.nan},
        {"weighted": 1e100},
        {"counts": 2},
        {"counts": -1},
        {"form": 3},
        {"form": BOX},
        {"form": CORE},
        {"form": CORE, "entries": np.zeros(1, np.int16)},
        {"form": CORE, "entries": np.zeros(1, np.int16), "core": np.array([True, False])},
        {"form": CORE, "entries": np.zeros(1, np.int16), "core": np.ones(3, bool)},
        {"form": BOX, "entries": np.zeros(1, np.int16), "core": np.ones(2, bool)},
        {"form": FREE},
        {"entries": np.zeros(1, np.int16)},
        {"form": BOX, "entries": np.zeros(2, np.int16)},
        {"form": FREE, "entries": single([np.nan])},
        {"form": FREE, "entries": single([np.inf])},
        {"form": FREE, "entries": single([0.0]), "signs": np.array([2, 0], np.int8)},
        {"signs": np.array([1, 1], np.int8)},
        {"loads": single([-1e-30, 0.0])},
        {"lifts": single([-1e-30, 0.0])},
        {"loads": single([np.nan, 0.0])},
        {"lifts": single([np.nan, 0.0])},
        {"loads": single([np.inf, 0.0])},
        {"loads": single([1e-30, 0.0])},
        {"loads": single([0.0])},
        {"lifts": single([0.0])},
        {"features": NOBODY},
        {"features": NOBODY, "loads": single([]), "lifts": single([])},
        {"dues": single([-0.1, 0.0]), "pulls": np.zeros((2, 2), np.float32)},
        {"dues": single([np.nan, 0.0]), "pulls": np.zeros((2, 2), np.float32)},
        {"dues": single([np.inf, 0.0]), "pulls": np.zeros((2, 2), np.float32)},
        {"dues": single([0.1]), "pulls": np.zeros((2, 2), np.float32)},
        {"dues": single([0.1, 0.1]), "pulls": np.zeros((1, 2), np.float32)},
        {"dues": single([0.1, 0.1]), "pulls": np.eye(2, dtype=np.float32)},
        {"dues": single([0.1, 0.1]), "pulls": single([[0, 0], [0, 0.1]])},
        {"dues": single([0.1, 0.1]), "pulls": single([[0, np.inf], [0, 0]])},
    ],
)
def test_lines_that_are_none(kwargs):
    data = data_with(np.eye(2))
    assert made(data, good_line()) is not None
    assert made(data, good_line(**kwargs)) is None


def test_pulls_without_dues_count_for_nothing():
    data = data_with(np.eye(2))
    line = made(data, good_line(dues=np.zeros(2, np.float32), pulls=single([[0, 3], [-2, 0]])))
    assert line.plain < 1e-12


def test_a_line_needs_its_lift():
    data = data_with(np.eye(2))
    ones = np.ones(2, np.float32)
    assert made(data, good_line(c=9.0, loads=ones, lifts=ones)) is not None
    assert made(data, good_line(c=9.0, loads=ones, lifts=single([1.0, 0.0]))) is None
    assert made(data, good_line(c=9.0, loads=single([1.0, 0.0]), lifts=single([1.0, 0.0]))) is not None


# What an envelope closes.


def closed(data, lines, T, I, F, p):  # noqa: E741
    try:
        closes(data, lines, T, np.asarray(I, np.intp), np.asarray(F, np.intp), p)
    except Refused:
        return False
    return True


def worst(data, lines, T, I, F, p, at_ends=True):  # noqa: E741
    """The largest excess of the lowest line over the square, over all Q and norms: at most 0 if closed."""
    count = min(p, len(F))
    m = len(I) + count
    w = exact(data.w)
    low = min(w[j] ** 2 for j in [*I, *F])
    largest = sorted((w[j] ** 2 for j in F), reverse=True)[:count]
    high = sum((w[j] ** 2 for j in I), Fraction(0)) + sum(largest, Fraction(0))
    norms = [low, high] if at_ends else [low + (high - low) * i / 24 for i in range(25)]
    excess = None
    for t in norms:
        over = min(excess_of(data, line, T, I, F, count, m, t) for line in lines)
        excess = over if excess is None else max(excess, over)
    return excess


def excess_of(data, line, T, I, F, count, m, t):  # noqa: E741
    found = None
    r = exact(data.r_max)
    for size in range(count + 1):
        for Q in combinations(F, size):
            S = [*I, *Q]
            paid = exact(T) + sum((exact(data.costs[j]) for j in S), Fraction(0))
            right = (roots(paid)[0] + r * roots(t)[0]) ** 2
            for s in (1, m):
                norm = s if line.counts == IN_PLAIN_NORM else t
                left = exact(line.c) + exact(line.plain) * s + exact(line.weighted) * t
                left += sum((exact(line.prices[j]) * norm + exact(line.dues[j]) for j in S), Fraction(0))
                found = left - right if found is None else max(found, left - right)
    return found


def random_line(rng, data, dues=False):
    d = len(data.A)
    loads = single(rng.uniform(0, 0.4, d) * (rng.random(d) < 0.8))
    given = {}
    if dues:
        pulls = single(rng.uniform(-0.5, 0.5, (d, d)))
        np.fill_diagonal(pulls, 0.0)
        given = {"dues": single(rng.uniform(0, 0.2, d)), "pulls": pulls}
    return VarianceLine(
        data,
        Line(
            np.arange(d),
            float(rng.uniform(9, 12)),
            float(rng.uniform(-0.3, 0.5)),
            float(rng.uniform(-0.3, 0.9)),
            int(rng.integers(2)),
            THRESHOLD,
            loads,
            single(rng.uniform(0.1, 0.6, d)),
            **given,
        ),
    )


def random_node(rng, d):
    order = rng.permutation(d)
    n = int(rng.integers(0, d))
    return order[:n].tolist(), order[n:].tolist(), int(rng.integers(1, d - n + 1))


def random_data(rng, priced):
    d = int(rng.integers(1, 5))
    weights = np.concatenate([[1.0], rng.uniform(0, 1, d - 1) * (rng.random(d - 1) < 0.7)])
    A = np.eye(d) + 0.1
    r_max = float(rng.choice([0.0, 0.0, 0.2, 0.8])) if priced else float(rng.choice([0.0, 0.2, 0.8]))
    return data_with(A, weights, r_max, rng.uniform(0, 0.5, d) * (rng.random(d) < 0.8) if priced else None)


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("dues", [False, True])
def test_one_line_closes_what_it_proves_and_hardly_less(priced, dues):
    rng = np.random.default_rng(60 + priced + 2 * dues)
    tight = 0
    for _ in range(40):
        data = random_data(rng, priced)
        line = random_line(rng, data, dues)
        I, F, p = random_node(rng, len(data.A))  # noqa: E741
        T = smallest(lambda T, x=(data, [line]), y=(I, F, p): closed(*x, T, *y), -2.0, 60.0)
        assert worst(data, [line], T, I, F, p) <= 0
        if not priced or data.r_max == 0:
            # the chord of the costs is the curve itself
            tight += 1
            assert worst(data, [line], T - 1e-12, I, F, p) > 0
        else:
            assert worst(data, [line], T - 0.2, I, F, p) > 0
    assert tight > 10


def test_two_lines_close_more_than_each():
    rng = np.random.default_rng(70)
    better = 0
    for _ in range(30):
        weights = rng.uniform(0.1, 1, 3)
        data = data_with(np.eye(3) + 0.1, weights / weights.max(), 0.3)
        low, high = (random_line(rng, data) for _ in range(2))
        # the one low where the other is high
        low.weighted, high.weighted = 1.2 * high.weighted + 0.6, 0.1 * high.weighted
        low.c, high.c = 9.0, 10.0
        I, F, p = random_node(rng, len(data.A))  # noqa: E741
        both, first, second = (
            smallest(lambda T, x=(data, some), y=(I, F, p): closed(*x, T, *y), -2.0, 60.0)
            for some in ([low, high], [low], [high])
        )
        assert both <= min(first, second)
        better += both < min(first, second) - 1e-6
        assert worst(data, [low, high], both, I, F, p, at_ends=False) <= 0
    assert better >= 2


def test_lines_that_cross_within_the_range_of_norms():
    """One line is low for small t, the other for large: between them the crossing is what counts."""
    data = data_with(np.eye(3), [1.0, 1.0, 1.0], 0.5)
    zero = np.zeros(3, np.float32)
    flat = VarianceLine(data, Line(np.arange(3), 4.0, 0.0, 0.0, 0, THRESHOLD, zero, zero))
    steep = VarianceLine(data, Line(np.arange(3), 2.0, 0.0, 1.0, 0, THRESHOLD, zero, zero))
    T = smallest(lambda T: closed(data, [flat, steep], T, [], [0, 1, 2], 3), 0.0, 60.0)
    # at t = 2 both are 4: (2 - root 2/2)^2
    assert pytest.approx((2 - 0.5 * 2**0.5) ** 2, rel=1e-12) == T
    assert exact(T) >= (2 - exact(data.r_max) * roots(2)[1]) ** 2
    far = VarianceLine(data, Line(np.arange(3), 50.0, 0.0, 0.0, 0, THRESHOLD, zero, zero))
    assert smallest(lambda T: closed(data, [far, steep, flat], T, [], [0, 1, 2], 3), 0.0, 60.0) == T


@pytest.mark.parametrize(("pieces", "cut_often_enough"), [(40, True), (150, False)])
def test_many_lines_are_cut_at_their_crossings_a_hundred_times_at_most(pieces, cut_often_enough):
    """Chords of the concave threshold, each below it between its own ends alone."""
    data = data_with(np.eye(3), [1.0, 1.0, 1.0], 0.5)
    zero, T = np.zeros(3, np.float32), 4.0
    t = np.linspace(0.0, 3.5, pieces + 1)
    heights = (T**0.5 + 0.5 * np.sqrt(t)) ** 2 - 1e-9
    slopes = np.diff(heights) / np.diff(t)
    chords = [
        VarianceLine(data, Line(np.arange(3), height - slope * start, 0.0, slope, 0, THRESHOLD, zero, zero))
        for height, slope, start in zip(heights[:-1], slopes, t[:-1], strict=True)
    ]
    assert closed(data, chords, T, [], [0, 1, 2], 3) is cut_often_enough
    assert not closed(data, chords[: pieces // 2], T, [], [0, 1, 2], 3)  # nothing speaks of the others


def test_the_smallest_norm_is_that_of_the_smallest_weight():
    # r root t is taken off: an exact feature leaves t at 0.
    A = np.eye(2)
    zero = np.zeros(2, np.float32)
    for weights, t in (([1.0, 0.5], 0.25), ([1.0, 0.0], 0.0), ([1.0, 1.0], 1.0)):
        data = data_with(A, weights, 0.5)
        line = VarianceLine(data, Line(np.arange(2), 1.0 + 1e-12, 0.0, 0.0, 0, THRESHOLD, zero, zero))
        for I, F, p in (([0], [1], 1), ([1], [0], 1), ([], [0, 1], 2), ([0, 1], [], 0)):  # noqa: E741
            T = smallest(lambda T, x=(data, [line]), y=(I, F, p): closed(*x, T, *y), 0.0, 9.0)
            assert pytest.approx((1.0 - 0.5 * t**0.5) ** 2, rel=1e-9) == T
        T = smallest(lambda T, x=(data, [line]): closed(*x, T, [0], [], 0), 0.0, 9.0)
        assert pytest.approx(0.25, rel=1e-9) == T


def test_the_largest_norm_counts_the_p_largest_weights():
    data = data_with(np.eye(4), [1.0, 0.8, 0.6, 0.5], 1e-3)
    zero = np.zeros(4, np.float32)
    line = VarianceLine(data, Line(np.arange(4), 1.0, 0.0, 1.0, 0, THRESHOLD, zero, zero))
    for I, F, p, t in (  # noqa: E741
        ([], [0, 1, 2, 3], 2, 1.64),
        ([2], [0, 3], 1, 1.36),
        ([3, 2], [], 0, 0.61),
        ([], [1, 3, 2], 9, 1.25),
    ):
        T = smallest(lambda T, y=(I, F, p): closed(data, [line], T, *y), 0.0, 9.0)
        assert pytest.approx(((1 + t) ** 0.5 - 1e-3 * t**0.5) ** 2, rel=1e-9) == T


def test_cardinality_is_paid_for_included_and_the_dearest_free_features():
    data = data_with(np.eye(4))
    loads, lifts = single([0.4, 0.3, 0.2, 0.1]), single([0.4, 0.3, 0.2, 0.1])
    line = VarianceLine(data, Line(np.arange(4), 1.5, 0.0, 0.0, 0, THRESHOLD, loads, lifts))
    for I, F, p, paid, m in (  # noqa: E741
        ([], [0, 1, 2, 3], 2, 0.175, 2),
        ([3], [0, 1, 2], 1, 0.125, 2),
        ([0, 1, 2, 3], [], 0, 0.25, 4),
        ([], [3, 2], 2, 0.075, 2),
    ):
        T = smallest(lambda T, y=(I, F, p): closed(data, [line], T, *y), 0.0, 9.0)
        assert pytest.approx(1.5 + paid * m, rel=1e-6) == T


def test_a_falling_line_counts_at_both_ends_of_the_plain_norm():
    # mu_1 < 0: the line is highest at s = 1, though cardinality is paid for at s = m.
    data = data_with(np.eye(3))
    line = VarianceLine(
        data, Line(np.arange(3), 3.0, -0.5, 0.0, 0, BOX, *np.full((2, 3), 0.6, np.float32), np.zeros(3, np.int16))
    )
    assert -0.51 < line.plain < -0.49
    T = smallest(lambda T: closed(data, [line], T, [], [0], 1), 0.0, 9.0)
    assert pytest.approx(2.65, rel=1e-6) == T
    T = smallest(lambda T: closed(data, [line], T, [], [0, 1, 2], 3), 0.0, 9.0)
    assert pytest.approx(max(3 - 0.5 + 0.45, 3 - 1.5 + 1.35), rel=1e-6) == T


def test_lines_must_speak_of_every_feature():
    data = data_with(np.eye(3), [1.0, 1.0, 1.0], 0.1)
    zero = np.zeros(2, np.float32)
    line = VarianceLine(data, Line(np.array([0, 2]), 1.1, 0.0, 0.0, 0, THRESHOLD, zero, zero))
    assert closed(data, [line], 5.0, [0], [2], 1)
    assert closed(data, [line], 5.0, [], [2], 1)
    assert not closed(data, [line], 5.0, [0], [1], 1)
    assert not closed(data, [line], 5.0, [1], [2], 1)
    assert not closed(data, [line], 5.0, [1], [], 0)
    assert not closed(data, [line], 5.0, [], [0, 1, 2], 1)
    for counts in (0, 1):
        both = [
            line,
            VarianceLine(
                data, replace(Line(np.arange(3), 2.0, 0.0, 0.0, counts, THRESHOLD, *np.ones((2, 3), np.float32)))
            ),
        ]
        assert not closed(data, both, 5.0, [0], [1], 1)


def test_something_must_be_left_of_the_threshold():
    data = data_with(np.ones((1, 1)) * 1e-9 * 2**10, costs=np.array([0.5]))
    zero = np.zeros(1, np.float32)
    line = VarianceLine(data, Line(np.arange(1), 2e-6, 0.0, 0.0, 0, THRESHOLD, zero, zero))
    assert closed(data, [line], -0.4, [0], [], 0)
    assert not closed(data, [line], -0.5, [0], [], 0)
    assert not closed(data, [line], -0.6, [0], [], 0)
    assert not closed(data, [line], 0.0, [], [0], 1)
    assert not closed(data, [line], np.nan, [], [0], 1)
    below = data_with([[-1.0]])
    line = VarianceLine(below, Line(np.arange(1), -0.5, 0.0, 0.0, 0, THRESHOLD, zero, zero))
    assert closed(below, [line], 2e-200, [], [0], 1)
    assert not closed(below, [line], 1e-200, [], [0], 1)


def test_the_range_of_costs_is_cut_where_the_square_is_curved():
    # What the first feature adds, 3, and costs, 2, is in the middle of the range, far from the chord of all of it.
    data = data_with(np.eye(2), np.ones(2), 0.5, costs=np.array([2.0, 2.0]))
    zero = np.zeros(2, np.float32)
    given = {"dues": single([3.0, 0.0]), "pulls": np.zeros((2, 2), np.float32)}
    line = VarianceLine(data, Line(np.arange(2), 1.01, 0.0, 0.0, 0, THRESHOLD, zero, zero, **given))
    T = smallest(lambda T: closed(data, [line], T, [], [0, 1], 2), 0.0, 9.0)
    assert pytest.approx((4.01**0.5 - 0.5) ** 2 - 2, abs=1e-9) == T
    assert worst(data, [line], T, [], [0, 1], 2) <= 0


@pytest.mark.parametrize("r_max", [0.0, 1e-6])
def test_costs_that_nearly_cancel_the_threshold(r_max):
    """What is left is 1e-9 of the costs: the rounding of their sums is much of it."""
    rng = np.random.default_rng(84)
    for _ in range(25):
        data = data_with(np.eye(5) * 1e-9, np.ones(5), r_max, costs=rng.uniform(0.5, 1, 5))
        zero = np.zeros(5, np.float32)
        line = VarianceLine(data, Line(np.arange(5), 2e-9, 0.0, 0.0, 0, THRESHOLD, zero, zero))
        for I, F, p in ((range(5), [], 0), (range(3), [3, 4], 2)):  # noqa: E741
            T = smallest(lambda T, x=(data, [line]), y=(I, F, p): closed(*x, T, *y), -9.0, 9.0)
            assert worst(data, [line], T, I, F, p) <= 0
            assert worst(data, [line], T - 1e-9, I, F, p) > 0


def test_thresholds_to_the_last_digit_without_budgets():
    """One feature, a flat line: T is c, plus what mu must pay for the decoding."""
    rng = np.random.default_rng(80)
    for _ in range(100):
        own = float(rng.uniform(0.5, 3))
        cost = float(rng.choice([0.0, rng.uniform(0, 0.4)]))
        data = data_with([[own]], costs=np.array([cost]))
        zero = np.zeros(1, np.float32)
        line = VarianceLine(data, Line(np.arange(1), own + 1e-13, 0.0, 0.0, 0, THRESHOLD, zero, zero))
        for I, F in (([0], []), ([], [0])):  # noqa: E741
            node = I, F, len(F)
            T = smallest(lambda T, x=(data, [line]), y=node: closed(*x, T, *y), -2.0, 9.0)
            assert worst(data, [line], T, I, F, len(F)) <= 0
            # that an undecided feature is left out is among its choices
            assert own - cost * len(I) + 1e-12 >= T


def test_thresholds_to_the_last_digit_with_budgets():
    rng = np.random.default_rng(81)
    for _ in range(100):
        own = float(rng.uniform(0.5, 3))
        data = data_with([[own]], [1.0], float(rng.uniform(0.1, 0.6)))
        line = VarianceLine(
            data, Line(np.arange(1), own + 1e-13, 0.0, 0.0, 0, THRESHOLD, *np.zeros((2, 1), np.float32))
        )
        T = smallest(lambda T, x=(data, [line]): closed(*x, T, [0], [], 0), 0.0, 9.0)
        assert worst(data, [line], T, [0], [], 0) <= 0
        assert exact(T) <= (roots(exact(own))[1] - exact(data.r_max)) ** 2 + Fraction(1, 10**11)


def test_the_price_is_at_least_its_quotient():
    rng = np.random.default_rng(82)
    data = data_with(np.eye(1))
    for _ in range(100):
        load, lift = single(rng.uniform(0.01, 1, 1)), single(rng.uniform(0.01, 1, 1))
        line = VarianceLine(data, Line(np.arange(1), 5.0, 0.0, 0.0, 0, THRESHOLD, load, lift))
        true = exact(load[0]) ** 2 / (4 * exact(lift[0]))
        assert true <= exact(line.prices[0]) <= true * (1 + 20 * U)
