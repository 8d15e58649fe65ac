"""The second checker, on certificates made by hand and judged by looking at every support."""

import numpy as np
import pytest
from packing import RULES, Case, noap_check, pack


def random_case(seed, k=3, d=6, n=14, kind=None, **options):
    """Return a tiny problem with correlated columns; `kind` picks budgets and costs."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))) * np.exp(0.3 * rng.normal(size=d))
    kind = seed % 4 if kind is None else kind
    rho = None if kind == 0 else np.sqrt(n) * (0.3 if kind == 1 else rng.uniform(0, 0.9, d))
    costs = rng.uniform(0, 0.4, d) * (rng.random(d) < 0.7) if kind == 3 else None
    return Case(X * 2.0 ** rng.integers(-3, 4), k, rho=rho, costs=costs, **options), rng


def leaf(case, rng, rule, node_features, bound, signs=None):
    """Append a record for a leaf with a random majorant or random lines and return its number."""
    d = case.d
    x = dict(zip(range(d), rng.normal(size=d), strict=True)) if rng.random() < 0.7 else None
    if x and rng.random() < 0.8:
        value, support = case.best()
        A = case.A[np.ix_(support, support)]
        x = dict(zip(support, np.linalg.eigh(A)[1][:, -1], strict=True))
    gain = float(rng.choice([0.0, 0.05, 0.3, 1.0])) if x else 0.0
    if rule == "LENGTHS":
        return 0
    if rule == "DOMINANCE":
        scaling = {j: float(rng.uniform(0.5, 2)) for j in range(d)} if rng.random() < 0.5 else None
        return case.dominance(case.majorant(gain, x), scaling)
    if rule == "ENVELOPE":
        numbers = []
        for _ in range(int(rng.integers(1, 4))):
            numbers.append(case.count("line_size"))
            b, form = d, int(rng.integers(3))
            noise = np.clip(rng.normal(size=(b, b)), -1, 1)
            pulls = rng.normal(size=(b, b)) * 0.3
            np.fill_diagonal(pulls, 0)
            dues = (rng.uniform(0, 0.2, b), pulls) if rng.random() < 0.5 else None
            case.line(
                list(range(d)), case.A, form, rng.random() < 0.5, rng.uniform(0, 0.2), rng.uniform(0, 0.2),
                rng.uniform(0, 0.3, b) * (rng.random(b) < 0.7), rng.uniform(0.05, 0.4, b), (noise + noise.T) / 2,
                signs=signs if form == 2 else None, dues=dues,
            )  # fmt: skip
        return case.envelope(numbers)
    raise AssertionError(rule)


def least_bound(build, low, high, steps=40):
    """Return the least bound that the checker accepts, where `build(bound)` returns a case."""
    assert build(high).verdict() is None, build(high).verdict()
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if build(middle).verdict() is None else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("rule", ["LENGTHS", "DOMINANCE", "ENVELOPE"])
def test_what_is_accepted_is_true(rule, seed):
    """A tree that splits on one feature, with random witnesses: the least bound accepted is above every support."""
    case, _ = random_case(seed)
    best, support = case.best()

    def build(bound):
        case, rng = random_case(seed)
        first = leaf(case, rng, rule, case.allowed, bound)
        second = leaf(case, rng, rule, case.allowed, bound)
        return case.level(bound, [("FEATURE", support[0] if support else 0), (rule, first), (rule, second)])

    least = least_bound(build, 0.0, 60.0)
    assert least >= best - 1e-9
    assert least <= 60.0


def one_support(seed, gain, kind=None):
    """Return a case whose only choice is one support, and the support's best vector."""
    case, _ = random_case(seed, kind=kind)
    support = list(case.best()[1])
    case, _ = random_case(seed, kind=kind, include=support)
    A, r = case.A[np.ix_(support, support)], case.r[support]
    v = np.linalg.eigh(A)[1][:, -1]
    for _ in range(200):
        g = A @ v / np.sqrt(v @ A @ v)
        v = np.sign(g) * np.maximum(np.abs(g) - r, 0)
        v /= np.linalg.norm(v)
    return case, support, v


@pytest.mark.parametrize("gain", [0.0, 0.02, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(20))
def test_attack_in_response(seed, gain):
    """A support alone is closed by the attack in response to its own vector, nearly at its value and never below."""
    def build(bound):
        case, support, v = one_support(seed, gain)
        number = case.dominance(case.majorant(gain, dict(zip(support, v, strict=True))))
        return case.level(bound, [("DOMINANCE", number)])

    best = one_support(seed, gain)[0].best()[0]
    least = least_bound(build, -5.0, 60.0, steps=50)
    print(seed, gain, best, least)
    assert least >= best - 1e-9
