"""Adversaries speak for themselves: name, unit of noise, and what they move, said once and used everywhere."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import noap
from commands import run
from noap.adversaries import ADVERSARIES, BY_KEY, BY_NAME

every_kind = pytest.mark.parametrize("kind", ADVERSARIES, ids=lambda kind: kind.__name__)
N = 37


def test_every_list_of_names_is_the_same():
    assert list(BY_KEY) == ["feature", "sample", "spectral", "entry", "none"]
    assert {getattr(noap, name) for name in BY_NAME} == set(ADVERSARIES)


@every_kind
def test_the_command_line_knows_every_adversary(kind, tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).standard_normal((N, 4)))
    words = ("solve", tmp_path / "X.npy", "-k", 2, "--method", "ascent", "--adversary", kind.key, "--json")
    for option, rho in (("--noise", 0.3 * kind.noise_unit(N)), ("--rho", 0.3)):
        if kind is not noap.NoAdversary:
            document = json.loads(run(*words, option, 0.3))
            assert (document["adversary"], document["rho"]) == (kind.__name__, pytest.approx(rho))
    if kind is noap.NoAdversary:
        assert json.loads(run(*words))["rho"] == 0


@every_kind
def test_noise_is_turned_into_rho_alike_everywhere(kind):
    roots = {"feature": math.sqrt(N), "spectral": math.sqrt(N)}
    unit = roots.get(kind.key, 1.0)
    budget = 0.0 if kind is noap.NoAdversary else 0.3 * unit
    assert kind.noise_unit(N) == unit
    assert type(kind.with_noise(0.3, N)) is type(kind.with_budget(0.3)) is kind
    assert kind.with_noise(0.3, N).rho == budget
    if budget > 0:
        assert kind.with_noise(0.3, N) == kind(budget)
        assert kind.with_budget(0.7) == kind(0.7)
    X = np.random.default_rng(0).standard_normal((N, 4))
    model = noap.RobustSparsePCA(k=2, adversary=kind.key, noise=0.3, method="ascent").fit(X)
    assert (model.noise_, model.rho_) == (0.3, budget)
    if budget > 0:
        given = noap.RobustSparsePCA(k=2, adversary=kind.key, rho=budget, method="ascent").fit(X)
        assert (given.noise_, given.rho_) == (budget / unit, budget)


def test_an_unknown_name_is_refused_also_after_the_fit():
    X = np.random.default_rng(0).standard_normal((N, 4))
    model = noap.RobustSparsePCA(k=2, method="ascent").fit(X).set_params(adversary="nobody")
    with pytest.raises(noap.errors.InvalidProblem, match=r"adversary must be one of \('feature', 'sample', 'sp"):
        model.robust_variance(X)


@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise, noap.SpectralNorm, noap.EntryWise])
def test_words_name_what_is_moved(kind):
    moved = {"spectral": "score"}.get(kind.key, kind.key)
    assert kind.moves.startswith(moved)
    for scaled in (True, False):
        assert f"the {moved}s" in kind.noise_in_words(scaled) or f"every {moved}" in kind.noise_in_words(scaled)
    assert kind.noise_in_words(True) != kind.noise_in_words(False)


def test_doors_ask_the_adversary_for_its_unit():
    folder = Path(noap.__file__).parent
    doors = ("cli/problem.py", "cli/verify.py", "cli/attack.py", "cli/demo.py", "report/content.py")
    estimators = [path.relative_to(folder).as_posix() for path in (folder / "estimators").glob("*.py")]
    for name in (*doors, *estimators):
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r'math\.sqrt\(n\)|adversary == "', text), name


def test_a_subclass_stays_what_it_is_when_rescaled():
    class Mine(noap.FeatureWise):
        pass

    class Yours(noap.SampleWise):
        pass

    for made in (Mine(2.0), Yours(2.0)):
        half = made.rescaled(0.5)
        assert (type(half), half.rho) == (type(made), 1.0)
