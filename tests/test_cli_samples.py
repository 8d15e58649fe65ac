"""Noises of single samples, and costs of features against moved samples, on the command line."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

import noap
from noap.errors import InvalidProblem
from noap.report import build_report
from test_cli_budgets import run


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data.iloc[::6, :6]


@pytest.fixture(scope="module")
def noise(wine):
    drawn = np.random.default_rng(0).uniform(0.0, 0.8, len(wine)).round(3)
    drawn[:3] = 0.0, np.inf, 0.5
    return drawn


@pytest.fixture
def files(tmp_path, wine, noise):
    wine.to_csv(tmp_path / "wine.csv", index=False)
    wine.assign(noise=noise).to_csv(tmp_path / "with.csv", index=False)
    (tmp_path / "noise.csv").write_text("\n".join(["noise", *map(str, noise), ""]))
    labelled = [f"s{i};{str(x).replace('.', ',')}" for i, x in enumerate(noise)]
    (tmp_path / "labelled.csv").write_text("\n".join(["sample;noise", *labelled]))
    (tmp_path / "costs.csv").write_text("\n".join(["feature,cost", *(f"{name},0.2" for name in wine.columns)]))
    return tmp_path


def problem_of(wine, noise, costs=None):
    return noap.Problem(noap.standardise(wine), k=2, adversary=noap.SampleWise(noise), costs=costs)


@pytest.mark.parametrize("name", ["noise.csv", "labelled.csv", "with.csv"])
def test_a_line_for_every_sample_is_its_noise(files, wine, noise, name):
    """A file of its own, of one column or several, or FILE itself with a column more."""
    words = ("solve", files / "wine.csv", "-k", 2, "--adversary", "sample", "--noise-file", files / name, "--json")
    found = json.loads(run(*words))
    assert found["objective"] == pytest.approx(noap.solve(problem_of(wine, noise)).value, rel=1e-12)
    assert found["noise"] == ["inf" if np.isinf(x) else x for x in noise]
    both = ("solve", files / "with.csv", "--drop", "noise", *words[2:])
    assert json.loads(run(*both))["objective"] == found["objective"]


def test_its_proof_is_checked_and_its_attack_is_found(files, wine, noise):
    solve = ("solve", files / "wine.csv", "-k", 2, "--adversary", "sample", "--noise-file", files / "noise.csv")
    run(*solve, "--certificate", files / "proof.noap", "--out", files / "found.json")
    shown = run("verify", files / "proof.noap", files / "wine.csv", "--noise-file", files / "noise.csv")
    assert "samples with noises of their own" in shown
    assert "samples with noises of their own" in run("verify", files / "proof.noap", files / "wine.csv")
    attacked = run("attack", files / "wine.csv", files / "found.json")
    assert "the budget of every sample" in attacked


def test_a_path_is_over_factors(files, wine, noise):
    words = ("path", files / "wine.csv", "-k", 2, "--adversary", "sample", "--noise-file", files / "noise.csv")
    found = json.loads(run(*words, "--factor", "0.5,1", "--json"))
    last = found["paths"][0]["points"][-1]
    assert last["robust_variance"] == pytest.approx(noap.solve(problem_of(wine, noise)).value, rel=1e-4)


def test_costs_are_paid_against_moved_samples(files, wine):
    words = ("solve", files / "wine.csv", "-k", 2, "--adversary", "sample", "--noise", 0.4)
    found = json.loads(run(*words, "--cost-file", files / "costs.csv", "--json"))
    expected = noap.solve(problem_of(wine, 0.4, np.full(6, 0.2)))
    assert found["objective"] == pytest.approx(expected.value, rel=1e-12)
    assert found["objective"] == pytest.approx(found["robust_variance"] - 0.2 * len(found["features"]))
    run(*words, "--cost-file", files / "costs.csv", "--certificate", files / "proof.noap", "--force")
    assert "with costs" in run("verify", files / "proof.noap", files / "wine.csv", "--cost-file", files / "costs.csv")


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_estimator_and_report_take_them(wine):
    costs = dict.fromkeys(wine.columns, 0.2)
    model = noap.RobustSparsePCA(k=2, adversary="sample", noise=0.4, costs=costs, scale=True).fit(wine)
    expected = noap.solve(problem_of(wine, 0.4, np.full(6, 0.2)))
    assert model.objective_[0] == pytest.approx(expected.value, rel=1e-9)
    made = build_report(wine, 2, adversary="sample", noise=0.4, costs=costs, points=3, n_components=1, progress=False)
    page = made.html()
    assert "after its costs" in page or "less costs" in page
    with pytest.raises(InvalidProblem, match="takes no costs where the adversary moves samples"):
        noap.solve(problem_of(wine, 0.4, np.full(6, 0.2)), method="mip")


WRONG = {
    "noise\n0.1\n0.2\n": "2 lines below its head and FILE has 30 samples; give it one line for every sample",
    "noise\nlow\n": r"line 2: the noise must be a number \(inf for a sample that is not to be trusted\), got 'low'",
    "noise\n0.1\n-1\n": "line 3: the noise must be at least 0, got -1",
    "a,b\n0.1,0.2\n": "has no column called noise; give one that name",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_file_of_samples_is_one_sentence(files, text):
    (files / "wrong.csv").write_text(text)
    with pytest.raises(InvalidProblem, match=WRONG[text]) as caught:
        run("solve", files / "wine.csv", "--adversary", "sample", "--noise-file", files / "wrong.csv")
    assert str(caught.value).startswith("--noise-file ")


def test_options_that_do_not_go_together_are_refused(files):
    words = ("--adversary", "sample", "--noise-file", files / "noise.csv")
    for more, message in (
        (("--noise", 0.1), "--noise-file sets the noise of every sample; leave out --noise and --rho"),
        (("--noise-units", "data"), "--noise-units data is about columns; leave it out"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            run("solve", files / "wine.csv", *words, *more)
    with pytest.raises(InvalidProblem, match="one noise for all samples"):
        run("report", files / "wine.csv", *words, "--out", files / "report.html")
