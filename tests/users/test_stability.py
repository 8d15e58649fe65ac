"""noap.stability: resampling by hand gives the same, and nothing depends on who does it."""

import io
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import noap
from noap.errors import InvalidProblem, NoapWarning


@pytest.fixture(scope="module")
def frame():
    """Three features that go together strongly, two weakly, five not at all; standardised."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 10))
    X[:, [2, 5, 9]] += 2.0 * rng.standard_normal((120, 1))
    X[:, [0, 1]] += 0.3 * X[:, [2]]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return pd.DataFrame(Z, columns=[f"gene {j}" for j in range(10)])


@pytest.fixture(scope="module")
def problem(frame):
    return noap.Problem(frame, k=4, adversary=noap.FeatureWise(1.0))


def test_frequencies_are_counts_of_supports(problem):
    found = noap.stability(problem, n_boot=40)
    assert found.vectors.shape == (40, 10)
    for j in range(10):
        assert found.frequencies[j] == np.mean([j in support for support in found.supports])
    assert found.frequencies[[2, 5, 9]].tolist() == [1.0, 1.0, 1.0]
    assert found.frequencies.sum() <= 4 + 1e-12
    same = np.mean([np.array_equal(support, found.result.support) for support in found.supports])
    assert found.support_frequency == same
    assert set(found.stable(0.99)) == {"gene 2", "gene 5", "gene 9"}
    assert found.result.value == pytest.approx(noap.solve(problem, "ascent").value)


def test_resamples_are_standardised_as_the_data_are(problem, frame):
    found = noap.stability(problem, n_boot=3, random_state=5)
    raw = noap.stability(problem, n_boot=3, random_state=5, center=False, scale=False)
    for number, seed in enumerate(np.random.SeedSequence(5).spawn(3)):
        drawn = frame.to_numpy()[np.random.default_rng(seed).integers(0, 120, 120)]
        Z = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)
        by_hand = noap.solve(noap.Problem(Z, k=4, adversary=problem.adversary), "ascent")
        assert found.values[number] == pytest.approx(by_hand.value, rel=1e-9)
        assert found.supports[number].tolist() == by_hand.support.tolist()
        as_drawn = noap.solve(noap.Problem(drawn, k=4, adversary=problem.adversary), "ascent")
        assert raw.values[number] == pytest.approx(as_drawn.value, rel=1e-9)


def test_data_that_are_not_standardised_are_left_alone(frame):
    X = frame.to_numpy() * 3.0 + 1.0
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(1.0))
    given = noap.stability(problem, n_boot=5)
    assert (given.values == noap.stability(problem, n_boot=5, center=False, scale=False).values).all()
    thin = noap.stability(noap.Problem(sparse.csr_array(X), k=2, adversary=noap.FeatureWise(1.0)), n_boot=5)
    assert thin.values == pytest.approx(given.values)
    with pytest.raises(InvalidProblem, match="center must be False for a sparse X"):
        noap.stability(noap.Problem(sparse.csr_array(X), k=2, adversary=noap.FeatureWise(1.0)), center=True)


def test_neither_processes_nor_repetition_change_the_answer(problem):
    one, two = noap.stability(problem, n_boot=6), noap.stability(problem, n_boot=6, n_jobs=2)
    assert (one.vectors == two.vectors).all()
    assert (noap.stability(problem, n_boot=6, random_state=0).vectors == one.vectors).all()
    assert not (noap.stability(problem, n_boot=6, random_state=1).vectors == one.vectors).all()


@pytest.mark.parametrize("adversary", [noap.FeatureWise(1.0), noap.SampleWise(0.5), noap.NoAdversary()])
def test_every_adversary_and_the_exact_method(frame, adversary):
    problem = noap.Problem(frame, k=2, adversary=adversary)
    exact = noap.stability(problem, n_boot=4, method="exact", gap=1e-3, time_limit=20)
    assert exact.values == pytest.approx(noap.stability(problem, n_boot=4).values, rel=2e-3)
    assert exact.result.status is noap.Status.OPTIMAL


def test_where_nothing_is_left_nothing_returns(frame):
    problem = noap.Problem(frame, k=3, adversary=noap.FeatureWise(100.0))
    found = noap.stability(problem, n_boot=4)
    assert not found.frequencies.any()
    assert found.values.tolist() == [0.0] * 4


def test_the_table_and_the_picture(problem):
    found = noap.stability(problem, n_boot=30)
    table = found.to_frame()
    assert table.columns == ["feature", "frequency", "selected", "loading", "low", "high"]
    assert table["frequency"].to_list() == sorted(found.frequencies, reverse=True)
    strong = table.filter(table["feature"] == "gene 5")
    assert strong["selected"].item()
    assert strong["low"].item() <= strong["loading"].item() <= strong["high"].item()
    never = table.filter(table["frequency"] == 0)
    assert never["low"].null_count() == never.height
    axes = found.plot(top=4).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == table["feature"].to_list()[:4]
    assert "rarer ones not shown" in axes.get_title(loc="left")
    own = Figure().subplots()
    assert found.plot(ax=own) is own.figure
    assert "30 resamples, the same 4 features in" in repr(found)


class Pressed(noap.Problem):
    """A problem that has Ctrl-C pressed when its samples are taken for the fifth time, or before it is solved."""

    taken = 0

    def samples(self, *what):
        Pressed.taken += 1
        if Pressed.taken == 5:
            signal.raise_signal(signal.SIGINT)
        return super().samples(*what)


class PressedAtOnce(noap.Problem):
    def check_unchanged(self):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_leaves_the_resamples_so_far(frame):
    with pytest.warns(NoapWarning, match=r"Interrupted: frequencies are those of the \d resamples .* of 50"):
        found = noap.stability(Pressed(frame, k=4, adversary=noap.FeatureWise(1.0)), n_boot=50)
    assert 1 <= len(found.values) <= 4


def test_ctrl_c_on_the_data_themselves_is_passed_on(frame):
    with pytest.raises(KeyboardInterrupt):
        noap.stability(PressedAtOnce(frame, k=4, adversary=noap.FeatureWise(1.0)), n_boot=50)


def test_progress_counts_resamples_if_wanted(problem, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    noap.stability(problem, n_boot=3)
    assert sys.stderr.getvalue() == ""
    noap.stability(problem, n_boot=2, progress=True)
    assert "noap: resample 1 of 2" in sys.stderr.getvalue()
    assert "noap: resample 2 of 2" in sys.stderr.getvalue()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_boot": 0}, "n_boot must be a positive integer"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"method": "magic"}, "method must be one of"),
        ({"depth": 3}, "depth is not an option"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
    ],
)
def test_what_cannot_be_used_is_named(problem, changes, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        noap.stability(problem, **changes)


def test_a_covariance_cannot_be_resampled(problem):
    S = noap.Problem.from_covariance(problem.covariance, n_samples=120, k=2, adversary=noap.FeatureWise(1.0))
    with pytest.raises(InvalidProblem, match="stability needs the samples X"):
        noap.stability(S)
    with pytest.raises(InvalidProblem, match=r"problem must be a noap\.Problem"):
        noap.stability(np.eye(3))


def test_nothing_is_drawn_over_the_bars():
    X = np.random.default_rng(2).standard_normal((40, 12))
    (axes,) = noap.stability(noap.Problem(X, k=3, adversary=noap.NoAdversary()), n_boot=10).plot().axes
    assert len(axes.patches) > 3
    assert axes.get_legend() is None
    assert axes.get_xlabel() == "share of resamples (filled: features that the data themselves select)"
    copies = np.repeat(X[:, :1], 2, axis=1)
    (axes,) = noap.stability(noap.Problem(copies, k=2, adversary=noap.NoAdversary()), n_boot=3).plot().axes
    assert axes.get_xlabel() == "share of resamples"
