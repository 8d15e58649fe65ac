"""The second checker, on certificates made by hand: true ones, false ones, ones false by a hair and damaged ones."""

import itertools
import json
import struct
import sys
import zlib

import numpy as np
import pytest
from packing import DTYPES, Case, pack

from second_checker import noap_check, proved


def random_case(seed, k=3, d=6, n=14, kind=None, **options):
    """Return a tiny problem with correlated columns; `kind` picks budgets and costs."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))) * np.exp(0.3 * rng.normal(size=d))
    kind = seed % 4 if kind is None else kind
    rho = None if kind == 0 else np.sqrt(n) * (0.3 if kind == 1 else rng.uniform(0, 0.9, d))
    costs = rng.uniform(0, 0.4, d) * (rng.random(d) < 0.7) if kind == 3 else None
    return Case(X * 2.0 ** rng.integers(-3, 4), k, rho=rho, costs=costs, **options), rng


def random_line(case, rng, form, signs=None, dues=None, negative=False):
    """Append a random line about A and return its number."""
    d = case.d
    noise = np.clip(rng.normal(size=(d, d)), -1, 1)
    pulls = rng.normal(size=(d, d)) * 0.3
    np.fill_diagonal(pulls, 0)
    use_dues = rng.random() < 0.5 if dues is None else dues
    number = case.count("line_size")
    loads = rng.uniform(0, 0.3, d) * (rng.random(d) < 0.7)
    case.line(
        list(range(d)), case.A, form, negative or rng.random() < 0.5, -0.3 if negative else rng.uniform(0, 0.2),
        0.2 if negative else rng.uniform(0, 0.2), np.full(d, 0.7) if negative else loads, rng.uniform(0.05, 0.4, d),
        (noise + noise.T) / 2, signs=signs, dues=(rng.uniform(0, 0.2, d), pulls) if use_dues else None,
    )  # fmt: skip
    return number


def leaf(case, rng, rule, support):
    """Append a random record for a leaf and return its number."""
    x = dict(zip(range(case.d), rng.normal(size=case.d), strict=True)) if rng.random() < 0.7 else None
    if x and rng.random() < 0.8:
        x = dict(zip(support, np.linalg.eigh(case.A[np.ix_(support, support)])[1][:, -1], strict=True))
    gain = float(rng.choice([0.0, 0.05, 0.3, 1.0])) if x else 0.0
    if rule == "LENGTHS":
        return 0
    if rule == "DOMINANCE":
        scaling = {j: float(rng.uniform(0.5, 2)) for j in range(case.d)} if rng.random() < 0.5 else None
        return case.dominance(case.majorant(gain, x), scaling)
    return case.envelope([random_line(case, rng, int(rng.integers(4))) for _ in range(int(rng.integers(1, 4)))])


def least_bound(build, low=0.0, high=60.0, steps=22):
    """Return the least bound that the checker accepts (to rounding), where `build(bound)` returns a case."""
    assert build(high).verdict() is None
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if build(middle).verdict() is None else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", ["LENGTHS", "DOMINANCE", "ENVELOPE"])
def test_what_is_accepted_is_true(rule, seed):
    """A tree that splits on one feature, with random witnesses: the least bound accepted is above every support."""
    best, support = random_case(seed)[0].best()
    assert support

    def build(bound):
        case, rng = random_case(seed)
        first, second = leaf(case, rng, rule, support), leaf(case, rng, rule, support)
        return case.level(bound, [("FEATURE", support[0]), (rule, first), (rule, second)])

    assert least_bound(build) >= best - 1e-9


@pytest.mark.parametrize("gain", [0.0, 0.05, 0.4, 4.0])
@pytest.mark.parametrize("seed", range(8))
def test_attack_in_response(seed, gain):
    """A support alone is closed by the attack in response to its best vector: at its value, and never below.

    Attacks in response to other vectors may be worse, but what they prove is true as well.
    """
    support = list(random_case(seed)[0].best()[1])
    case, rng = random_case(seed, include=support)
    A, r = case.A[np.ix_(support, support)], case.r[support]
    v = np.linalg.eigh(A)[1][:, -1]
    for _ in range(300):
        g = A @ v / np.sqrt(v @ A @ v)
        v = np.sign(g) * np.maximum(np.abs(g) - r, 0)
        v /= np.linalg.norm(v)
    best = case.best()[0]
    # Close to v, far from it, and almost orthogonal to it.
    others = [rng.normal(size=case.d) for _ in range(6)] + [np.eye(case.d)[j] for j in range(case.d)]
    vectors = [dict(zip(support, v, strict=True))] + [dict(enumerate(x)) for x in others]

    def build(bound, x):
        case, _ = random_case(seed, include=support)
        return case.level(bound, [("DOMINANCE", case.dominance(case.majorant(gain, x)))])

    least = [least_bound(lambda bound, x=x: build(bound, x), -1.0, 100.0, steps=30) for x in vectors]
    assert min(least) >= best - 1e-6
    if gain == 0:
        assert least[0] <= best + 0.06 * (best + case.pi[support].sum())


def schur(case, inside, free, bound):
    """Return C of the plain majorant in floating point."""
    order = inside + free
    most = np.maximum(np.sqrt(case.A.diagonal()) - case.r, 0)[free] ** 2
    shares = np.sqrt(np.maximum(most - case.pi[free], 0) / np.maximum(most, 1e-300))
    factors, i = np.r_[np.ones(len(inside)), shares], len(inside)
    P = (bound + case.pi[inside].sum()) * np.eye(len(order))
    P -= case.A[np.ix_(order, order)] * np.outer(factors, factors)
    return P[i:, i:] - P[i:, :i] @ np.linalg.solve(P[:i, :i], P[:i, i:]) if i else P


def bisect(holds, low, high):
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(6))
def test_dominance_by_a_hair(seed):
    """The least bound is the one at which the page's inequality becomes an equality."""

    def parts():
        case, rng = random_case(seed, kind=3 * (seed % 2), include=[1])
        return case, {j: float(np.float32(rng.uniform(0.5, 2))) for j in range(case.d)}

    case, scaling = parts()
    free = [j for j in range(case.d) if j != 1]

    def holds(bound):
        C = schur(case, [1], free, bound)
        if bound <= case.A[1, 1] or C.diagonal().min() <= 0:
            return False
        d = np.array([scaling[j] for j in free]) / np.sqrt(C.diagonal())
        rest = np.sort(np.abs(C - np.diag(C.diagonal())) * d, axis=1)[:, -1:].sum(axis=1)  # p - 1 = 1
        return (C.diagonal() * d >= rest).all()

    exact = bisect(holds, case.A[1, 1], 60)
    for bound, accepted in (exact * (1 + 1e-9), True), (exact * (1 - 1e-9), False):
        case, scaling = parts()
        case.level(bound, [("DOMINANCE", case.dominance(case.majorant(), scaling))])
        assert (case.verdict() is None) == accepted


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_matrix_by_a_hair(seed, form):
    """MATRIX closes a node where c + m sigma <= 0, and what it closes is true."""

    def build(bound, room=1e-10):
        case, rng = random_case(seed, kind=3 * (seed % 2), include=[1])
        free = [j for j in range(case.d) if j != 1]
        C = schur(case, [1], free, bound)
        if bound <= case.A[1, 1] or C.diagonal().min() <= 0:
            return case, 1.0, None
        scale = 1 / np.sqrt(C.diagonal())
        N = C * np.outer(scale, scale)
        loads, lifts = rng.uniform(0, 0.05, 5).astype("f4"), rng.uniform(0.3, 0.6, 5).astype("f4")
        noise = -np.sign(-N) * 0.7
        c = case.line(free, -N, form, False, 0.05, 0.0, loads, lifts, noise, room=room)
        sigma = 0.05 + np.sort(loads.astype(float) ** 2 / (4 * lifts.astype(float)))[-2:].sum()
        case.add(matrix_majorant=[case.majorant()], matrix_line=[0])
        case.level(bound, [("MATRIX", 0)])
        return case, c + 2 * sigma, case.verdict()

    exact = bisect(lambda bound: build(bound)[1] <= 0, 0, 60)
    case, _, verdict = build(exact * (1 + 1e-8))
    assert verdict is None
    assert exact >= case.best()[0] - 1e-9
    assert "is positive" in build(exact * (1 - 1e-8))[2]
    assert "semidefinite" in build(exact * 1.01, room=-1e-10)[2]


def envelope_excess(case, line, inside, free, p, bound, t, s):
    """Return how much a line exceeds h at one t and s, over all Q."""
    count = t if line["in_t"] else s
    g = line["tau"] * count + line["alpha"]
    worst = -np.inf
    for size in range(min(p, len(free)) + 1):
        for Q in map(list, itertools.combinations(free, size)):
            y = line["c"] + line["plain"] * s + line["weighted"] * t + g[inside].sum() + g[Q].sum()
            paid = case.pi[inside].sum() + case.pi[Q].sum()
            worst = max(worst, y - (np.sqrt(bound + paid) + case.top * np.sqrt(t)) ** 2)
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_envelope_by_a_hair(seed):
    """One line closes a node where it does so at the ends of t, for every Q (with costs chords ask for a bit more)."""

    def parts():
        case, rng = random_case(seed, kind=seed % 2 if seed > 7 else None, include=[2])
        random_line(case, rng, seed % 4, negative=seed > 7)
        a = case.arrays
        loads, lifts = np.array(a["line_loads"]), np.array(a["line_lifts"])
        line = {
            "c": a["line_c"][0], "plain": a["line_plain"][0], "weighted": a["line_weighted"][0],
            "in_t": a["line_counts"][0], "tau": loads**2 / (4 * lifts),
            "alpha": np.array(a.get("line_dues", np.zeros(case.d))),
        }  # fmt: skip
        return case, line

    case, line = parts()
    free, w2 = [j for j in range(case.d) if j != 2], case.w**2
    ends = w2.min(), w2[2] + np.sort(w2[free])[-2:].sum()
    corners = [(t, s) for t in ends for s in (1, 3)]
    exact = bisect(lambda T: max(envelope_excess(case, line, [2], free, 2, T, t, s) for t, s in corners) <= 0, 0, 60)
    for factor, accepted in (1 + 1e-8 if seed not in (3, 7) else 1.00002, True), (1 - 1e-8, False):
        case, _ = parts()
        case.level(exact * factor, [("ENVELOPE", case.envelope([0]))])
        assert (case.verdict() is None) == accepted
    assert exact >= case.best()[0]


@pytest.mark.parametrize("mu", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_lines_take_turns_along_t(seed, mu):
    """Two lines of which neither closes the node alone; a gap between their intervals is noticed."""

    def build(bound, numbers):
        case, _ = random_case(seed, kind=2)
        d, zero = case.d, np.zeros((6, 6))
        # v'Av <= the largest eigenvalue; and v'Av <= c + mu t, with some of A in a box of w.
        case.line(list(range(d)), case.A, 1, False, 0.0, 0.0, np.zeros(d), np.zeros(d), zero)
        case.line(list(range(d)), case.A, 0, True, 0.0, mu, np.zeros(d), np.zeros(d), zero)
        return case.level(bound, [("ENVELOPE", case.envelope(numbers))])

    one, two, both = (least_bound(lambda T, n=n: build(T, n), steps=40) for n in ([0], [1], [0, 1]))
    case = build(both, [0, 1])
    lines = [
        {"c": c, "plain": 0, "weighted": mu, "in_t": 0, "tau": np.zeros(6), "alpha": np.zeros(6)}
        for c, mu in zip(case.arrays["line_c"], (0.0, mu), strict=True)
    ]
    ts = np.linspace((case.w**2).min(), np.sort(case.w**2)[-3:].sum(), 500)
    excess = [[envelope_excess(case, line, [], list(range(6)), 0, both, t, 3) for line in lines] for t in ts]
    assert max(map(min, excess)) <= 1e-6
    assert both <= min(one, two) + 1e-9
    assert both >= case.best()[0]


def test_signs_of_a_line_are_signs_of_the_node():
    """A line for v with given signs closes only nodes with these signs, and the first sign has one branch."""
    signs = np.array([1, -1, 0, 0, 0, 0])

    def build(nodes, flip=1):
        case, rng = random_case(1)
        random_line(case, rng, 2, signs=signs * flip)
        other = np.array([1, 1, 0, 0, 0, 0])
        random_line(case, rng, 2, signs=other)
        case.add(envelope_size=[1, 1], envelope_lines=[0, 1])
        return case.level(30.0, nodes).verdict()

    tree = [("SIGN", 0), ("SIGN", 1), ("ENVELOPE", 1), ("ENVELOPE", 0)]
    assert build(tree) is None
    assert "signs" in build([*tree[:2], ("ENVELOPE", 0), ("ENVELOPE", 1)])
    assert "signs" in build(tree, flip=-1)
    assert "signs" in build([("ENVELOPE", 0)])
    assert "closed before" in build([*tree, ("ENVELOPE", 0)])
    assert "open nodes" in build(tree[:-1])
    assert "not open" in build([("SIGN", 0), ("SIGN", 0), ("ENVELOPE", 1), ("ENVELOPE", 0)])


def test_a_free_line_beyond_its_box_pays_for_it():
    """With a negative box, and steps on top of it, a line is only as good as what bounds the difference."""

    def build(bound):
        case = Case(np.linalg.cholesky(3 * (0.5 + 0.5 * np.eye(3))).T, 3)  # v'Av = (1 + s) / 2
        case.add(line_size=[3], line_c=[1.4 + 1e-6], line_plain=[-0.4], line_weighted=[0.0], line_counts=[0])
        case.add(line_form=[2], line_features=range(3), line_loads=np.zeros(3), line_lifts=np.zeros(3))
        case.add(line_free=[-0.5, -0.5, -0.5], line_signs=[0, 0, 0])  # B is diagonal
        return case.level(bound, [("ENVELOPE", case.envelope([0]))])

    assert least_bound(build) >= 2.0


def test_a_lift_below_the_last_place():
    """A multiplier above 0 stays so when it is rounded; a load needs one."""
    for lift, accepted in (1e-39, True), (0.0, False):
        case, _ = random_case(1)
        zero = np.zeros((6, 6))
        with np.errstate(all="ignore"):
            case.line(list(range(6)), case.A, 0, False, 0.1, 0.1, np.full(6, 1e-25), np.full(6, lift), zero)
        reason = case.level(40.0, [("ENVELOPE", case.envelope([0]))]).verdict()
        assert (reason is None) == accepted
        assert accepted or "a load without a lift" in reason


def test_a_target_above_its_bound():
    case, _ = random_case(0)
    number = case.dominance(case.majorant())
    assert "target" in case.level(25.0, [("DOMINANCE", number)], target=30.0).verdict()
    case, _ = random_case(0)
    assert case.level(1e-3, [("DOMINANCE", case.dominance(case.majorant()))], target=1e-4).verdict() is not None


def test_lengths_by_a_hair():
    case, _ = random_case(3)
    exact = np.sort(np.maximum(case.most, 0))[-3:].sum()
    for factor, accepted in (1 + 1e-12, True), (1 - 1e-12, False):
        case, _ = random_case(3)
        assert (case.level(exact * factor, [("LENGTHS", 0)]).verdict() is None) == accepted
        case, _ = random_case(3)
        assert (case.level(exact * factor).verdict() is None) == accepted  # a level without nodes says the same


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_levels_leave_out_what_contributes_too_little(seed):
    """A feature may be left out where it contributes at most T less what fewer features are worth."""

    def build(top, drop):
        case, _ = random_case(seed, d=7)
        case.data[:, 6] *= 0.02
        case = Case(case.data, 3, rho=case.rho, costs=case.costs if case.costs.any() else None)
        kept = [j for j in range(7) if j not in drop]
        singles = max(case.most.max(), 0) * (1 + 1e-12)
        pairs = np.sort(np.maximum(case.most, 0))[-2:].sum() * (1 + 1e-12)
        case.level(singles, size=1).level(pairs, [("LENGTHS", 0)], size=2)
        return case, case.level(top, [("LENGTHS", 0)], features=kept)

    case, _ = build(1.0, [])
    most = np.sort(np.maximum(case.most, 0))
    bound = most[-3:].sum() * 1.001
    assert build(bound, [6])[1].verdict() is None
    assert "leaves out" in build(bound, [int(case.most.argmax())])[1].verdict()
    swapped, _ = build(bound, [6])
    swapped.arrays["level_size"] = [2, 1, 3]
    assert "ascending" in swapped.verdict()
    short, _ = build(bound, [6])
    short.k = 4
    assert "last level" in short.verdict()


def test_demanded_and_forbidden_features():
    case, _ = random_case(3, include=[0, 4], exclude=[1])
    paid = float(case.costs[[0, 4]].sum())
    case.level(30.0, [("LENGTHS", 0)])
    assert case.verdict() is None
    assert case.verdict(case.file(value=-paid * (1 - 1e-6) + 1e-9)).startswith("the vector attains no more")
    for features in [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]:
        case, _ = random_case(3, include=[0, 4], exclude=[1])
        assert case.level(30.0, [("LENGTHS", 0)], features=features).verdict() is not None
    case, _ = random_case(3, include=[0, 4], exclude=[1])
    assert "one level only" in case.level(29.0, size=2).level(30.0).verdict()


def test_a_negative_bound_needs_a_demanded_feature():
    """No features at all are worth 0."""
    tree = [(r, i) for j in range(2) for r, i in (("FEATURE", j), ("LENGTHS", 0))] + [("LENGTHS", 0)]
    case = Case(np.ones((4, 2)) * 0.5, 1, costs=[5.0, 5.0])
    assert "below 0" in case.level(-1.0, tree).verdict()
    case = Case(np.ones((4, 2)) * 0.5, 1, costs=[5.0, 5.0], include=[0])
    assert case.level(-4.0, [("LENGTHS", 0)]).verdict() is None


@pytest.mark.parametrize("shift", [None, 0.0, 0.5])
def test_covariances(shift):
    """An indefinite covariance has plain majorants and lines; with a shift it must be definite, and then has more."""
    rng = np.random.default_rng(5)
    S = rng.normal(size=(5, 5))
    S = (S + S.T) / 2 + 1.5 * np.eye(5)
    bottom = float(np.linalg.eigvalsh(S)[0])

    def build(shift, rho=None, **options):
        case = Case(
            S + (0.1 - bottom if shift == 0 else 0) * np.eye(5), 2, source="covariance", n=50, shift=shift, rho=rho
        )
        return case, options

    case, _ = build(shift)
    if shift == 0.5:
        case.shift = (1e-9 - bottom) / case.unit
        case.A = case.matrix / case.unit + case.shift * np.eye(5)
    top = np.linalg.eigvalsh(case.A)[-1]
    case.level(top * (1 + 1e-9), [("DOMINANCE", case.dominance(case.majorant()))])
    accepted = case.verdict()
    assert accepted is None or "dominant" in accepted or "diagonal" in accepted
    lengths, _ = build(shift)
    lengths.shift = case.shift
    lengths.level(50.0, [("LENGTHS", 0)])
    assert (lengths.verdict() is None) == (shift is not None)
    if shift == 0.5:
        lengths.shift = (-1e-9 - bottom) / case.unit
        assert "semidefinite" in lengths.verdict()
    if shift is None:
        case.rho = np.ones(5)
        assert "need a shift" in case.verdict()
    lengths.data = lengths.data.copy()
    lengths.data[0, 1] += 1e-15
    assert "symmetric" in lengths.verdict()


def test_an_infinite_budget():
    """It leaves its feature no contribution, exactly."""
    case, _ = random_case(1)
    rho = np.array(case.rho)
    rho[2] = np.inf
    case = Case(case.data, 3, rho=rho)
    case.level(np.sort(np.maximum(case.most, 0))[-3:].sum() * (1 + 1e-12), [("LENGTHS", 0)], features=[0, 1, 3, 4, 5])
    assert case.verdict() is None


def attained(case):
    """Return a case with a level, its vector's features and weights, and the vector's value."""
    support = list(case.best()[1])
    v = np.linalg.eigh(case.A[np.ix_(support, support)])[1][:, -1]
    A, r = case.matrix[np.ix_(support, support)], (0 if case.rho is None else case.rho[support]) / np.sqrt(case.n)
    value = max(np.sqrt(v @ A @ v) - np.sum(r * np.abs(v)), 0) ** 2 - case.costs[support].sum()
    return case.level(40.0, [("LENGTHS", 0)]).add(support=support, weights=7 * v), float(value)


@pytest.mark.parametrize("seed", range(4))
def test_value_by_a_hair(seed):
    case, value = attained(random_case(seed)[0])
    room = 1e-9 * abs(value) + 1e-12 * np.diag(case.matrix).max()
    assert case.verdict(case.file(value=value + 0.99 * room)) is None
    assert "attains no more" in case.verdict(case.file(value=value + 1.01 * room))
    assert float(proved(case.file(value=value), case.data)[0]) == pytest.approx(value, rel=1e-12)
    case.arrays["support"].append(5)
    case.arrays["weights"].append(0.0)
    assert case.verdict(case.file(value=value)) is not None


def prepared_case(means=True):
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(9, 4)) + 5
    raw[:, 3] = 2.5
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    scale[3] = np.inf
    case = Case((raw - mean) / scale, 2)
    case.level(9.0, [("LENGTHS", 0)])
    if means:
        case.add(mean=mean, scale=scale)
    return case, raw


def test_preparation():
    case, raw = prepared_case()
    assert case.verdict(data=raw) is None
    assert "it speaks of" in case.verdict()
    assert "it speaks of" in case.verdict(data=raw + 1e-9)
    case.arrays["scale"][0] = -1.0
    assert "scale" in case.verdict(data=raw)
    case.arrays["scale"] = case.arrays["scale"][1:]
    assert "too long or too short" in case.verdict(data=raw)


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["noap_check.py", *map(str, arguments)])
    code = noap_check.main()
    return code, "".join(capsys.readouterr())


def test_command_line(tmp_path, capsys, monkeypatch):
    case, raw = prepared_case()
    path = tmp_path / "a.noap"
    path.write_bytes(case.file())
    np.savetxt(tmp_path / "plain.csv", raw, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "named.csv", raw, delimiter=",", fmt="%.17g", header="a,b,c,d", comments="")
    np.save(tmp_path / "c.npy", raw)
    np.save(tmp_path / "f.npy", np.asfortranarray(raw))
    for name in ("plain.csv", "named.csv", "c.npy", "f.npy"):
        code, text = run(capsys, monkeypatch, path, tmp_path / name)
        assert code == 0
        assert "ACCEPT: 0 <= optimum <= 9\n" in text
        assert "less their means, divided by standard deviations" in text
    code, text = run(capsys, monkeypatch, path, tmp_path / "c.npy", "--explain")
    assert code == 0
    assert "the lengths of its columns" in text
    np.save(tmp_path / "single.npy", raw.astype("f4"))
    assert run(capsys, monkeypatch, path, tmp_path / "single.npy")[0] == 1
    np.save(tmp_path / "big.npy", raw.astype(">f8"))
    assert run(capsys, monkeypatch, path, tmp_path / "big.npy")[0] == 2
    (tmp_path / "nan.csv").write_text("1,2,3,nan\n" * 9)
    assert run(capsys, monkeypatch, path, tmp_path / "nan.csv")[0] == 2
    (tmp_path / "short.csv").write_text("1,2,3,4\n" * 8)
    assert run(capsys, monkeypatch, path, tmp_path / "short.csv")[0] == 1
    (tmp_path / "ragged.csv").write_text("1,2,3,4\n" * 8 + "1,2,3\n")
    assert run(capsys, monkeypatch, path, tmp_path / "ragged.csv")[0] == 2
    assert run(capsys, monkeypatch, path, tmp_path / "missing.csv")[0] == 2
    assert run(capsys, monkeypatch, tmp_path / "c.npy", tmp_path / "c.npy")[0] == 1
    with pytest.raises(SystemExit) as stop:
        run(capsys, monkeypatch, path)
    assert stop.value.code == 2


def test_npy_of_integers(tmp_path, capsys, monkeypatch):
    X = np.arange(12).reshape(4, 3) % 5
    case = Case(X, 1).level(20.0, [("LENGTHS", 0)])
    (tmp_path / "a.noap").write_bytes(case.file())
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4"):
        np.save(tmp_path / "x.npy", X.astype(dtype))
        assert run(capsys, monkeypatch, tmp_path / "a.noap", tmp_path / "x.npy")[0] == 0


def full_case(last=lambda case: case):
    """Return a certificate with every array, which is accepted; `last` appends a level before small claims follow."""
    case, rng = random_case(3, exclude=[5])
    case.level(29.0, size=1).conflicts(29.5, 2, [4, 1], 1)
    for form in (0, 1, 2, 3):
        random_line(case, rng, form, dues=True)
    scaling = {0: 1.0, 3: 2.0}
    first = case.dominance(case.majorant(0.1, {0: 1.0, 2: -0.5}), scaling)
    number = case.count("line_size")
    free = [1, 2, 3, 4]
    bound = 30.0
    C = schur(case, [0], free, bound)
    scale = 1 / np.sqrt(C.diagonal())
    N = C * np.outer(scale, scale)
    case.line(free, -N, 1, False, 0.05, 0.0, np.full(4, 0.05), np.full(4, 0.1), np.zeros((4, 4)))
    case.add(matrix_majorant=[case.majorant()], matrix_line=[number])
    tree = [("FEATURE", 0), ("MATRIX", 0), ("FEATURE", 1), ("DOMINANCE", first)]
    tree += [("SIGN", 2), ("ENVELOPE", case.envelope([0, 1, 2, 3]))]
    last(case.level(bound, tree))
    chords = case.dominance(case.majorant(chord=-0.1))
    case.claim([4, 0, 1], [("FEATURE", 1), ("DOMINANCE", chords), ("DOMINANCE", chords)])
    return case.add(support=[0, 2], weights=[0.8, 0.6])


def list_case():
    """Return a case with two supports and a tree of both rules of lists, in its last level."""
    return full_case(as_list)


def as_list(case):
    """Append a list."""
    bound, value = case.arrays["level_bound"][-1] * case.unit, 0.9 * case.best_of([1, 2])
    case.header |= {"kind": "list", "bound": bound}
    case.listed([0, 1], [1.0, 0.5], 0.5 * case.best_of([0, 1]), 30.0)
    case.listed([1, 2], np.linalg.eigh(case.A[1:3, 1:3])[1][:, -1], 1e-3 * value, 29.5)
    node = [("FEATURE", 1), ("FEATURE", 2), ("BEYOND", 1), ("FEATURE", 0), ("LENGTHS", 0), ("LENGTHS", 0)]
    return case.level(29.0, [*node, ("FEATURE", 0), ("BEYOND", 0), ("LENGTHS", 0), ("LENGTHS", 0), ("LENGTHS", 0)])


def test_full_case_is_accepted():
    assert full_case().verdict() is None
    assert list_case().verdict() is None


HEADERS = [
    *(("kind", x) for x in ("joint", None, 1)),
    *(("adversary", x) for x in ("none", "sample-wise", None)),
    *(("k", x) for x in (0, 7, 2, 4, 3.0, True, "3", None)),
    *(("n_samples", x) for x in (0, 13, -1, 14.0)),
    *(("n_features", x) for x in (5, 7, 0, 2**40)),
    *(("source", x) for x in ("covariance", "stream", 1)),
    *(("fingerprint", x) for x in ("0" * 64, "", None, 5)),
    *(("value", x) for x in (1e9, float("nan"), float("-inf"), 10**400, "0", None, True)),
    *(("bound", x) for x in (29.99, float("inf"), None, [1])),
    *(("exponent", x) for x in (601, 0.5, None, 10**30)),
    *(("shift", x) for x in (-1e-300, None, float("nan"), 1.0, False)),
    *(("device", x) for x in (True, None, 0)),
    ("surprise", 1),
]


@pytest.mark.parametrize(("key", "wrong"), HEADERS)
def test_wrong_headers(key, wrong):
    case = full_case()
    if key == "bound" and wrong == 29.99:
        wrong = 29.99 * case.unit
    assert case.verdict(case.file(**{key: wrong})) is not None


def test_header_keys():
    case = full_case()
    raw = case.file()
    length = struct.unpack_from("<I", raw, 10)[0]
    header = json.loads(raw[14 : 14 + length])
    body = raw[14 + length : -32]

    def again(text):
        data = raw[:10] + struct.pack("<I", len(text)) + text + body
        return data + noap_check.hashlib.sha256(data).digest()

    assert case.verdict(again(json.dumps(header).encode())) is None
    text = json.dumps(header)
    assert case.verdict(again((text[:-1] + ', "k": 3}').encode())) is not None  # twice
    assert case.verdict(again(json.dumps(list(header.items())).encode())) is not None
    for bad in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000):
        assert case.verdict(again(bad)) is not None
    for key in header:
        assert case.verdict(again(json.dumps({k: v for k, v in header.items() if k != key}).encode())) is not None
    for i, (key, wrong) in itertools.product(
        (0, 5), [("count", 10**12), ("count", 0), ("count", 1.0), ("bytes", 0), ("bytes", 10**9), ("name", "nonsense"),
                 ("name", None), ("name", []), ("dtype", "f2"), ("dtype", None), ("dtype", "i4")]
    ):  # fmt: skip
        changed = json.loads(text)
        changed["arrays"][i][key] = wrong
        assert case.verdict(again(json.dumps(changed).encode())) is not None
    changed = json.loads(text)
    changed["arrays"].append(changed["arrays"][0])
    assert case.verdict(again(json.dumps(changed).encode())) is not None


ARRAYS = sorted(noap_check.ARRAYS)


# Directions are in tests/tools/test_noap_check_directions.py, attacks on samples in tests/kernel/test_samples.py,
# several choices in tests/joint/test_rule_w.py.
OTHERS = {"mean", "scale", "include", "directions", "majorant_deflation", "majorant_multipliers", "line_deflation"}
OTHERS |= {name for name in ARRAYS if name.startswith(("attack_", "metric")) or name == "envelope_scalings"}
OTHERS |= {name for name in ARRAYS if name.startswith(("slot", "claim_levels", "claim_costs", "owner", "fan_"))}


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in OTHERS])
def test_arrays_too_long_or_short_and_out_of_range(name):
    """Every array of the format is there, and longer, shorter or with nonsense in it the file is rejected."""
    case = list_case() if name.startswith("list_") else full_case()
    extra = {"rho": case.rho, "costs": case.costs, "exclude": case.exclude}
    numbers = list(case.arrays.get(name, extra.get(name, [])))
    assert numbers
    assert len(ARRAYS) == 84

    def with_array(values, **dtypes):
        header = json.loads(case.file()[14:].split(b'"device": false')[0].decode() + '"device": false}')
        header.pop("arrays")
        return case.verdict(pack(header, {**case.arrays, **extra, name: values}, {**DTYPES, **dtypes}))

    assert with_array(numbers) is None
    assert with_array([*numbers, numbers[-1]]) is not None
    assert (with_array(numbers[:-1]) is not None) == (name != "exclude")  # feature 5 may be allowed: it is left out
    kind = noap_check.ARRAYS[name]
    if kind[0] == "f":
        for wrong in (np.nan, -np.inf):
            assert with_array([*numbers[:-1], wrong]) is not None
            assert with_array([wrong, *numbers[1:]]) is not None
    elif kind == "u4":
        assert with_array([*numbers[:-1], 2**32 - 1]) is not None
        assert with_array([*numbers[:-1], numbers[-1] + 7]) is not None
    elif kind == "u1":
        for wrong in (3, 6, 7, 8, 255) if name != "rule" else (0, 1, 4, 6, 7, 8, 255):
            assert with_array([*numbers[:-1], wrong]) is not None
    elif name == "line_steps":
        assert with_array([*numbers[:-1], -32768]) is not None
    else:
        assert with_array([*numbers[:-1], 2]) is not None
    other = {"f8": "f4", "f4": "f8", "u4": "u1", "u1": "u4", "i1": "u1", "i2": "f4"}[kind]
    assert with_array(np.abs(np.asarray(numbers)), **{name: other}) is not None


@pytest.mark.parametrize("name", ["line_c", "line_plain", "line_lifts", "line_dues", "level_bound", "majorant_gain"])
def test_multipliers_that_were_changed(name):
    """A multiplier that helps the bound more than it may is noticed."""
    case = full_case()
    change = {"line_c": -1.0, "line_plain": -3.0, "line_lifts": 100.0, "line_dues": 50.0, "level_bound": -28.0}
    case.arrays[name][0] += change.get(name, 50.0)
    if name == "majorant_gain":
        case.arrays[name][1] += 1.0  # a plain majorant has none
    assert case.verdict() is not None


def test_trees_that_do_not_close():
    def build(nodes):
        case, _ = random_case(1)
        return case.level(30.0, nodes).verdict()

    close = ("LENGTHS", 0)
    assert build([("FEATURE", 2), close, close]) is None
    for nodes in (
        [("FEATURE", 2), close],
        [("FEATURE", 2), close, close, close],
        [("FEATURE", 6), close, close],
        [("FEATURE", 2), ("FEATURE", 2), close, close, close],
        [("FEATURE", 2), close, ("FEATURE", 2), close, close],
        [("FEATURE", 0), ("FEATURE", 1), ("FEATURE", 2), ("FEATURE", 3), *[close] * 5],
        [("LENGTHS", 1)],
        [("DOMINANCE", 0)],
        [("ENVELOPE", 0)],
        [("MATRIX", 0)],
    ):
        assert build(nodes) is not None


def test_damaged_files():
    case = full_case()
    raw = case.file()
    for length in (0, 7, 8, 13, 45, 46, 100, len(raw) - 33, len(raw) - 1):
        assert case.verdict(raw[:length]) is not None
    rng = np.random.default_rng(0)
    for i in rng.integers(0, len(raw), 60):
        assert case.verdict(raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :]) is not None
    assert case.verdict(raw + b"\0") is not None
    for changed in (pack({}, {}, version=4), pack({}, {}, version=6), pack({}, {}, magic=b"NOAP\0CRU")):
        assert case.verdict(changed) is not None


def test_a_stream_that_is_not_its_length():
    """Streams with a rest, without an end, or larger than they say are refused, and nothing large is allocated."""
    case = full_case()
    raw = case.file()
    length = struct.unpack_from("<I", raw, 10)[0]
    header = json.loads(raw[14 : 14 + length])
    start, record = 14 + length, header["arrays"][0]
    stream = raw[start : start + record["bytes"]]
    content = zlib.decompress(stream)
    for other in (
        stream[:-1],
        stream + b"\0",
        zlib.compress(content + b"\0" * 8),
        zlib.compress(bytes(10**8)),
        b"junk",
    ):
        changed = {**header, "arrays": [{**record, "bytes": len(other)}, *header["arrays"][1:]]}
        head = json.dumps(changed).encode()
        data = raw[:10] + struct.pack("<I", len(head)) + head + other + raw[start + record["bytes"] : -32]
        assert case.verdict(data + noap_check.hashlib.sha256(data).digest()) is not None


@pytest.mark.parametrize("n", [1, 2, 7])
def test_definite_by_a_hair(n):
    """The Cholesky proof accepts what is definite by a hair and refuses what is indefinite by one."""
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0].round(6)
    eigenvalues = np.r_[np.zeros(1), rng.uniform(0.1, 2, n - 1)]
    # exact integers: Q diag Q' with entries of 2^-60, singular in exact arithmetic
    whole = [[int(x * 2**20) for x in row] for row in Q]
    weights = [int(x * 2**20) for x in eigenvalues]
    lower = [
        [sum(a * b * c for a, b, c in zip(whole[i], whole[j], weights, strict=True)) << 68 for j in range(i + 1)]
        for i in range(n)
    ]

    def moved(by):
        return [[*row[:-1], row[-1] + by] for row in lower]

    def is_definite(lower, error):
        try:
            return noap_check.complement(lower, n, error) == []
        except noap_check.Reject:
            return False

    assert not is_definite(moved(0), 0)
    assert not is_definite(moved(-(1 << 20)), 0)
    assert is_definite(moved(1 << 20), 0)
    assert not is_definite(moved(1 << 20), 1 << 21)
