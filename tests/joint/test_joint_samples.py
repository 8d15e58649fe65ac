"""Several components at once where the adversary moves samples: the sum of separate robust variances."""

import json
import math
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from packings import joint_optimum

import noap
from commands import noap as command_line
from noap.errors import NoapWarning


def best_of_pair(X, rho, c):
    """The largest (1/n) sum_i (|x_i'v| - rho_i)_+^2 over unit v on one or two features, by angles."""
    columns = X[:, list(c)]
    if len(c) == 1:
        return float(np.mean(np.maximum(np.abs(columns[:, 0]) - rho, 0) ** 2))

    def value(angles):
        scores = np.abs(columns @ np.array([np.cos(angles), np.sin(angles)]))
        return (np.maximum(scores - rho[:, None], 0) ** 2).mean(axis=0)

    angles = np.linspace(0, math.pi, 2001)
    step = angles[1]
    best = 0.0
    for start in angles[np.argsort(-value(angles))[:6]]:
        near, width = start, step
        for _ in range(12):
            tried = near + width * np.linspace(-1, 1, 41)
            near = tried[int(np.argmax(value(tried)))]
            width /= 10
        best = max(best, float(value(np.array([near]))[0]))
    return best


def best_packing(problem, r):
    """The joint optimum with supports of at most two features, by enumeration."""
    X, d = np.asarray(problem.X), problem.n_features
    rho = np.broadcast_to(problem.adversary.rho, (len(X),)).astype(float)
    costs = np.zeros(d) if problem.costs is None else problem.costs
    with np.errstate(invalid="ignore"):
        worth = {
            sum(1 << j for j in c): best_of_pair(X, rho, c) - costs[list(c)].sum()
            for size in range(1, problem.k + 1)
            for c in combinations(range(d), size)
        }
    best = {0: 0.0}
    for _ in range(r):
        following = dict(best)
        for taken, so_far in best.items():
            for mask, value in worth.items():
                if mask & taken == 0 and so_far + value > following.get(taken | mask, -1.0):
                    following[taken | mask] = so_far + value
        best = following
    return max(best.values())


def small_problem(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 6)), int(rng.integers(3, 12))
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    if seed % 3 == 1:
        X = np.round(X)  # ties
    top = float(np.abs(X).max())
    rho = float(rng.uniform(0, 0.5)) * top
    if seed % 2:
        rho = rng.uniform(0, 0.6, n) * top
        rho[rng.random(n) < 0.2] = 0.0
        rho[rng.random(n) < 0.1] = np.inf
    costs = rng.uniform(0, 0.2, d) * top**2 / n if rng.random() < 0.4 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return noap.Problem(X, int(rng.integers(1, 3)), noap.SampleWise(rho), costs=costs), int(rng.integers(2, 4))


@pytest.mark.parametrize("seed", range(24))
def test_brute_force_agrees(seed):
    problem, r = small_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        joint = noap.solve_components(problem, r, gap=1e-5)
    best = best_packing(problem, r)
    room = 2e-5 * max(best, 1e-3 * problem.scale)
    assert joint.value == pytest.approx(best, abs=room)
    assert joint.bound >= best - 1e-7 * max(best, 1e-3 * problem.scale)
    assert joint.status is noap.Status.OPTIMAL
    supports = [set(one.support.tolist()) for one in joint.components]
    assert sum(map(len, supports)) == len(set().union(*supports))
    report = noap.verify(problem, joint.certificate)
    assert report.ok, report.message
    assert report.bound >= best - 1e-7 * max(best, 1e-3 * problem.scale)


def test_without_a_budget_it_is_the_plain_problem():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((9, 5))
    joint = noap.solve_components(noap.Problem(X, 2, noap.SampleWise(0.0)), 2)
    plain = noap.Problem(X, 2, noap.NoAdversary())
    assert joint.value == pytest.approx(joint_optimum(plain, (2, 2)), rel=2e-4)
    assert noap.verify(joint.problem, joint.certificate).ok


def test_one_attack_on_all_leaves_at_least_the_sum():
    rng = np.random.default_rng(3)
    for _ in range(20):
        X = rng.standard_normal((6, 5))
        problem = noap.Problem(X, 2, noap.SampleWise(float(rng.uniform(0.1, 1.5))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            joint = noap.solve_components(problem, 2, time_limit=0.2)
        attacks = [one.attack() for one in joint.components] or [np.zeros_like(X)]
        attacks += [np.mean(attacks, axis=0), 0.5 * attacks[0]]
        for E in attacks:
            assert problem.adversary.norm(E) <= problem.adversary.rho * (1 + 1e-9)
            left = sum(float(np.mean(((X + E) @ one.v) ** 2)) for one in joint.components)
            assert left >= joint.value * (1 - 1e-9)


def test_the_example_of_the_page():
    rho = 0.7
    problem = noap.Problem(np.array([[rho, rho]]), 1, noap.SampleWise(rho))
    separate = problem.value([1.0, 0.0]) + problem.value([0.0, 1.0])
    assert separate == pytest.approx(0.0, abs=1e-15)
    # The best attack on both moves the sample straight at 0.
    E = -rho * np.array([[1.0, 1.0]]) / math.sqrt(2)
    both = float(((problem.X + E) ** 2).sum())
    assert both == pytest.approx((math.sqrt(2) - 1) ** 2 * rho**2)


def test_a_certificate_about_less_noise_is_rejected():
    problem, _ = small_problem(0)
    joint = noap.solve_components(problem, 2)
    weaker = problem.with_adversary(noap.SampleWise(problem.adversary.rho * 0.5))
    assert not noap.verify(weaker, joint.certificate).ok
    lower = replace(joint.certificate, claim=replace(joint.certificate.claim, bound=joint.bound * 0.99))
    assert not noap.verify(problem, lower).ok


def test_the_estimator_and_the_command_line(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, 5)) @ rng.standard_normal((5, 5))
    settings = {"n_components": 2, "k": 2, "adversary": "sample", "noise": 0.3, "scale": True}
    model = noap.RobustSparsePCA(**settings, joint=True).fit(X)
    problem = noap.Problem(noap.standardize(X), 2, noap.SampleWise(0.3))
    assert model.robust_variance_.sum() == pytest.approx(best_packing(problem, 2), rel=2e-4)
    assert noap.verify(problem, model.joint_result_.certificate).ok
    assert model.robust_variance(X) == pytest.approx(model.robust_variance_)
    # Not unasked: one attack on all components is another problem.
    assert noap.RobustSparsePCA(**settings, deflation="disjoint").fit(X).joint_result_ is None
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    given = ["-k", 2, "-c", 2, "--joint", "--adversary", "sample", "--noise", 0.3, "--certificate", "p.noap", "--json"]
    done = command_line("solve", "data.csv", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["joint"]["value"] == pytest.approx(model.joint_result_.value, rel=1e-6)
    checked = command_line("verify", "p.noap", "data.csv", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert "each attacked by itself" in checked.stdout
