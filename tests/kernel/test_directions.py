"""Claims about vectors orthogonal to directions: each rule that is kept, and why the others are not."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from kernel_judge import exact, roots

import noap
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate
from noap.kernel.data import Data, Terms
from noap.kernel.directions import TOLERANCE, Penalty, is_orthogonal
from noap.kernel.envelope import VarianceLine
from noap.kernel.majorant import Majorant, eliminate
from noap.kernel.tree import Checked, check_leaf, check_levels, check_list
from noap.kernel.witness import FREE, LENGTHS, PLAIN, THRESHOLD, Attack, Dominance, Envelope, Level, Line, Sign

DELTA = Fraction(1, 10**8)
NONE = np.empty(0, np.intp)


def rows(rng, m, d):
    V = rng.standard_normal((m, d)) * (rng.random((m, d)) < 0.8)
    V[:, 0] += 1.0
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def data_of(rng, d, m, share=0.6):
    X = rng.standard_normal((9, d))
    A = X.T @ X / 9
    A = 0.5 * (A + A.T) + 1e-13 * np.eye(d)
    rho = np.sqrt(A.diagonal()) * rng.uniform(0, share, d) * (rng.random(d) < 0.8)
    return Data(A, Terms(d, 1, rho, directions=rows(rng, m, d)), 0, True, 0.0)


def nearly_orthogonal(rng, V):
    """A unit vector with |Vv| a hair below the tolerance, along a random direction of the span."""
    v = rng.standard_normal(V.shape[1])
    basis = np.linalg.qr(V.T)[0]
    v -= basis @ (basis.T @ v)
    v /= np.linalg.norm(v)
    off = np.linalg.pinv(V) @ rng.standard_normal(len(V))
    v += off * (0.999 * TOLERANCE / np.linalg.norm(V @ off))
    return v / np.linalg.norm(v)


def test_the_penalty_is_what_it_says():
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, d = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        V, sigma = rows(rng, m, d), 10.0 ** rng.uniform(-3, 12, m)
        penalty = Penalty(V, sigma, 1.0)
        true = exact(V).T @ (exact(sigma)[:, None] * exact(V))
        off = np.abs(exact(penalty.block(np.arange(d))) - true)
        assert (off <= Fraction(penalty.error)).all()
        assert DELTA**2 * Fraction(sigma.max()) <= Fraction(penalty.loss) <= DELTA**2 * Fraction(sigma.max() * 1.0001)
        assert (penalty.block(np.arange(d)) == penalty.block(np.arange(d)).T).all()


def test_what_a_direction_keeps_is_rounded_up():
    V = np.eye(1)
    for sigma in np.random.default_rng(1).uniform(1, 2, 200):
        assert Fraction(Penalty(V, np.array([sigma]), 1.0).loss) >= DELTA**2 * Fraction(sigma)
    assert not Penalty(np.eye(2), np.zeros(2), 1.0)  # no multipliers are multipliers too


def test_what_is_called_orthogonal_is_so_to_the_last_digit():
    """The product of a direction and a vector is some 1e-16, and that is 1e-8 of the tolerance."""
    rng, counts = np.random.default_rng(2), [0, 0]
    for _ in range(1500):
        m, d = int(rng.integers(1, 3)), int(rng.integers(2, 7))
        V = rows(rng, m, d)
        basis, x = np.linalg.qr(V.T)[0], rng.standard_normal(d)
        x -= basis @ (basis.T @ x)
        off = np.linalg.pinv(V) @ rng.standard_normal(m)
        if m >= d or np.linalg.norm(x) < 1e-3:
            continue
        x += off * (TOLERANCE * np.linalg.norm(x) / np.linalg.norm(V @ off)) * (1 + rng.uniform(-4e-8, 4e-8))
        along = exact(V) @ exact(x)
        true = (along * along).sum() <= DELTA**2 * (exact(x) ** 2).sum()
        said = is_orthogonal(V, x)
        counts[said] += 1
        assert true or not said
    assert min(counts) > 50


@pytest.mark.parametrize("sigma", [[-1e-9, 1.0], [1.0], [np.nan, 0.0], [np.inf, 0.0], [1e100, 0.0], [1.0, 1.0, 1.0]])
def test_multipliers_that_are_none(sigma):
    with pytest.raises(Refused, match="V: "):
        Penalty(rows(np.random.default_rng(0), 2, 3), np.array(sigma), 1.0)


@pytest.mark.parametrize("size", [1e100, -1e100, np.nan])
def test_directions_and_normals_out_of_range(size):
    with pytest.raises(Refused, match="directions are out of range"):
        Data(np.eye(2), Terms(1, 1, directions=np.array([[1.0, size]])), 0, True, 0.0)
    data = Data(np.eye(2), Terms(1, 1, directions=np.array([[0.0, 1.0]])), 0, True, 0.0)
    with pytest.raises(Refused, match="multipliers out of range"):
        Majorant(data, Attack(np.array([0]), np.ones(1), multipliers=np.array([size])))


def test_orthogonal_by_a_hair():
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(400):
        m, d = int(rng.integers(1, 4)), int(rng.integers(4, 8))
        V, v = rows(rng, m, d), rng.standard_normal(d) * 10.0 ** rng.uniform(-2, 2)
        basis = np.linalg.qr(V.T)[0]
        v -= basis @ (basis.T @ v)
        off = np.linalg.pinv(V) @ rng.standard_normal(m)
        v += off * (
            rng.choice([0.99, 1 - 1e-5, 1 + 1e-5, 1.01]) * TOLERANCE * np.linalg.norm(v) / np.linalg.norm(V @ off)
        )
        along = exact(V) @ exact(v)
        true = (along * along).sum() <= DELTA**2 * (exact(v) * exact(v)).sum()
        said = is_orthogonal(V, v)
        assert true or not said
        seen.add((bool(true), said))
    assert seen == {(True, True), (False, False)}


@pytest.mark.parametrize("plain", [True, False])
def test_a_majorant_holds_for_each_vector_that_is_orthogonal(plain):
    """v'Mv + loss is at least the value of v, whatever the multipliers."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        m, d = int(rng.integers(1, 3)), int(rng.integers(3, 6))
        data = data_of(rng, d, m)
        sigma = 10.0 ** rng.uniform(-2, 3, m)
        x = rng.standard_normal(d)
        attack = Attack(np.arange(d), x, 0.0, sigma, rng.normal(0, 0.7, m))
        attack = Attack(deflation=sigma) if plain else attack
        majorant = Majorant(data, attack)
        M = majorant.block(np.arange(d))
        for _ in range(20):
            v = nearly_orthogonal(rng, data.directions)
            value = max(np.sqrt(v @ data.A @ v) - data.r @ np.abs(v), 0.0) ** 2
            assert v @ M @ v + majorant.loss >= value - 1e-9


def test_every_entry_is_that_of_the_formula():
    """With multipliers and deflation, to the error that the majorant names."""
    rng = np.random.default_rng(6)
    kinds = set()
    for _ in range(60):
        d, m = int(rng.integers(2, 5)), int(rng.integers(1, 3))
        data = data_of(rng, d, m, 1.5)
        x, sigma, multipliers = rng.standard_normal(d), rng.uniform(0, 9, m), rng.normal(0, 0.5, m)
        majorant = Majorant(data, Attack(np.arange(d), x, 0.0, sigma, multipliers))
        A, V = exact(data.A), exact(data.directions)
        g = A @ exact(x) / roots(exact(x) @ A @ exact(x))[0]
        c = exact(multipliers) @ V
        f, h = [], []
        for j in range(d):
            e, r = g[j] - c[j], exact(data.r[j])
            kinds.add(bool(abs(e) >= r))
            if abs(e) >= r:
                f.append(Fraction(1))
                h.append(g[j] - (r if e > 0 else -r))
            else:
                f.append(1 - min(roots((r * r - e * e) / (A[j, j] - g[j] ** 2))[0], Fraction(1)))
                h.append(c[j])
        f, h = np.array(f, dtype=object), np.array(h, dtype=object)
        true = np.outer(f, f) * (A - np.outer(g, g)) + np.outer(h, h) - V.T @ (exact(sigma)[:, None] * V)
        assert abs(exact(majorant.block(np.arange(d))) - true).max() <= 20 * exact(majorant.error) + Fraction(1, 10**12)
        assert majorant.error < 1e-9
    assert kinds == {True, False}


def test_the_tolerance_is_taken_off_the_threshold():
    """Lowered by the loss before anything else: P_jj is at most T less the loss, less M_jj."""
    data = Data(np.eye(2), Terms(2, 1, directions=np.array([[0.6, 0.8]])), 0, True, 0.0)
    sigma = np.array([1e10])
    majorant = Majorant(data, Attack(deflation=sigma))
    C = eliminate(majorant, 3.0, NONE, np.arange(2), 2)
    true = 3 - DELTA**2 * 10**10 - 1 + Fraction(1e10) * exact(np.array([0.6, 0.8])) ** 2
    assert (exact(C.diagonal()) <= true).all()


def test_a_line_holds_for_each_vector_that_is_orthogonal():
    rng = np.random.default_rng(3)
    for _ in range(40):
        d, m = 4, int(rng.integers(1, 3))
        data = data_of(rng, d, m)
        sigma = 10.0 ** rng.uniform(-1, 4, m)
        G = data.A - (data.directions.T * sigma) @ data.directions
        mu = float(rng.uniform(0, 0.3))
        B = G - np.clip(G, -mu, mu)
        np.fill_diagonal(B, G.diagonal() - mu)
        c = float(np.linalg.eigvalsh(B)[-1])
        zero = np.zeros(d, np.float32)
        line = Line(np.arange(d), c + 1e-9 * (1 + sigma.max()), mu, 0.0, 0, THRESHOLD, zero, zero, deflation=sigma)
        known = VarianceLine(data, line)
        assert known.c > line.c
        for _ in range(20):
            v = nearly_orthogonal(rng, data.directions)
            s = np.abs(v).sum() ** 2
            assert v @ data.A @ v <= known.c + known.plain * s + 1e-12
        with pytest.raises(Refused):
            VarianceLine(data, replace(line, c=c - 1e-6 * (1 + sigma.max())))


def test_the_gain_is_refused_and_would_be_false():
    """Two features: with the gain the majorant is below (1 + kappa) times the value of the only vector there is."""
    A, r, V = np.array([[0.655, -0.285], [-0.285, 2.9225]]), np.array([0.29, 1.09]), np.array([[0.8, -0.6]])
    v, kappa = np.array([0.6, 0.8]), 1.757632897414397
    attack = Attack(np.arange(2), np.array([0.6, 0.5]), kappa)
    value = (np.sqrt(v @ A @ v) - r @ v) ** 2
    M = Majorant(Data(A, Terms(2, 1, r), 0, True, 0.0), attack).block(np.arange(2))
    assert v @ M @ v < 0.87 * (1 + kappa) * value
    data = Data(A, Terms(2, 1, r, directions=V), 0, True, 0.0)
    with pytest.raises(Refused, match="no gain"):
        Majorant(data, replace(attack, deflation=np.array([1.0])))
    # Without the gain it holds.
    honest = Majorant(data, replace(attack, gain=0.0, deflation=np.array([1.0])))
    assert v @ honest.block(np.arange(2)) @ v >= value - 1e-12


def small():
    """A = diag(4, 1/4), rho = .6: the second feature is shorter than its budget, and the only vector uses both."""
    S, v = np.diag([4.0, 0.25]), np.array([1.0, 1.0]) / np.sqrt(2)
    adversary = noap.FeatureWise(0.6)
    return noap.Problem.from_covariance(S, n_samples=1, k=2, adversary=adversary, orthogonal_to=v)


def test_no_feature_is_dropped_by_its_length():
    problem = small()
    result = noap.solve(problem)
    best = (np.sqrt(2.125) - 0.6 * np.sqrt(2)) ** 2
    assert result.value == pytest.approx(best, rel=1e-9)
    # A budget cut to the length of its feature would leave (root 2.125 - 1.1/root 2)^2, a quarter more.
    assert best <= result.bound <= best * (1 + 1.01e-4)
    assert (result.v != 0).all()
    certificate = result.certificate
    assert noap.verify(problem, certificate).ok
    level = certificate.proof.levels[0]
    for features, nodes in ((np.array([0]), (LENGTHS,)), (NONE, (LENGTHS,)), (NONE, ())):
        less = replace(level, features=features, nodes=nodes)
        forged = replace(certificate, proof=replace(certificate.proof, levels=(less,)))
        assert "a feature that counts is left out" in noap.verify(problem, forged).message


def test_infinite_budgets_may_be_left_out():
    X = np.random.default_rng(4).standard_normal((20, 4))
    rho = np.array([0.5, np.inf, 0.5, 0.5])
    problem = noap.Problem(X, 3, noap.FeatureWise(rho), orthogonal_to=np.array([0.5, 0.5, 0.5, 0.5]))
    result = noap.solve(problem)
    assert result.v[1] == 0
    assert result.certificate.proof.levels[0].features.tolist() == [0, 2, 3]
    assert noap.verify(problem, result.certificate).ok
    narrower = noap.Problem(X[:, [0, 2, 3]], 3, noap.FeatureWise(0.5))
    third = np.ones(3) / np.sqrt(3)
    assert result.value == pytest.approx(noap.solve(narrower.with_orthogonality(third)).value, rel=1e-6)


def test_one_level_no_list_and_signs_as_ever():
    rng = np.random.default_rng(5)
    data = data_of(rng, 3, 1)
    high = 100.0
    levels = [Level(q, high, high, np.arange(3), (LENGTHS,)) for q in (2, 3)]
    with pytest.raises(Refused, match="several levels"):
        check_levels(data, levels)
    assert check_levels(data, levels[1:]) == high
    with pytest.raises(Refused, match="no directions"):
        check_list(data, levels[1], [])
    # v and -v are both orthogonal: the first sign may be taken for +, and lines with that sign are used.
    zero, free = np.zeros(3, np.float32), np.zeros(3, np.float32)
    top = float(np.linalg.eigvalsh(data.A)[-1]) + 1.0
    line = Line(np.arange(3), top, 0.0, 0.0, 0, FREE, zero, zero, free, np.array([1, 0, 0], np.int8))
    assert check_levels(data, [Level(3, high, high, np.arange(3), (Sign(0), Envelope((line,))))]) == high


def test_leaves_of_an_empty_set_of_vectors_close():
    """One feature that V uses: no unit vector on it is orthogonal, and large multipliers show it."""
    data = Data(np.eye(2), Terms(1, 1, directions=np.array([[1.0, 0.0]])), 0, True, 0.0)
    leaf = Dominance(Attack(deflation=np.array([50.0])))
    check_leaf(Checked(data), 1e-3, leaf, np.array([0]), NONE, 0)
    with pytest.raises(Refused):
        check_leaf(Checked(data), 1e-3, Dominance(PLAIN), np.array([0]), NONE, 0)


def certified(seed, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 5)) + rng.standard_normal((30, 5))
    adversary = noap.FeatureWise(noise * np.sqrt(30)) if noise else noap.NoAdversary()
    problem = noap.Problem(X - X.mean(0), 3, adversary)
    problem = problem.with_orthogonality(noap.solve(problem).v)
    return problem, noap.solve(problem).certificate


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_file_holds_the_directions(noise):
    problem, certificate = certified(0, noise)
    again = Certificate.from_bytes(certificate.to_bytes())
    assert again.to_bytes() == certificate.to_bytes()
    verification = noap.verify(problem, again)
    assert verification.ok
    assert "all vectors orthogonal, to 1e-08, to 1 given direction" in verification.message
    turned = problem.with_orthogonality(np.roll(problem.orthogonal_to, 1, axis=1))
    assert "orthogonal to other directions" in noap.verify(turned, again).message
    assert "orthogonal to other directions" in noap.verify(problem.with_orthogonality(None), again).message


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_vector_that_is_not_orthogonal_proves_nothing(noise):
    problem, certificate = certified(1, noise)
    moved = certificate.weights + 1e-5 * problem.orthogonal_to[0][certificate.support]
    assert "not orthogonal" in noap.verify(problem, replace(certificate, weights=moved)).message
    near = certificate.weights + 1e-10 * problem.orthogonal_to[0][certificate.support]
    assert noap.verify(problem, replace(certificate, weights=near)).ok


@pytest.mark.parametrize("seed", range(4))
def test_tampered_multipliers_and_directions(seed):
    """Whatever is still accepted is true: nothing else has been accepted below the value that a vector attains."""
    problem, certificate = certified(seed, 0.2 if seed % 2 else 0.0)
    from noap.kernel import container

    header, arrays = container.unpack(certificate.to_bytes())
    header.pop("arrays")
    verdicts = {True: 0, False: 0}
    for name in ("directions", "majorant_deflation", "majorant_multipliers", "line_deflation"):
        for at in range(min(len(arrays.get(name, [])), 12)):
            for value in (0.0, 1e3, -1.0, np.nan, np.inf, 1e200, 1.1 * arrays[name][at] + 1e-3):
                made = arrays[name].copy()
                if made[at] == value:
                    continue
                made[at] = value
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        changed = Certificate.from_bytes(container.pack(header, {**arrays, name: made}))
                    except noap.errors.InvalidProblem:
                        continue
                verification = noap.verify(problem, changed)
                verdicts[verification.ok] += 1
                if verification.ok:
                    assert name != "directions"
                    assert verification.bound >= certificate.value
    assert verdicts[False] > 10
