"""An answer that misses the gap asked for says so: one warning per call, with the gap, the reason and what to do."""

import re
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

import noap
from commands import noap as command_line
from noap import RobustSparsePCA
from noap.errors import GapWarning, NoapWarning
from noap.report import build_report

# Nothing can be proved about ten of forty features without structure in a few nodes.
NOISE = noap.standardize(np.random.default_rng(5).standard_normal((60, 40)), scale=False)
PROBLEM = noap.Problem(NOISE, 10, noap.FeatureWise(0.5))
SMALL = noap.Problem(NOISE[:, :8], 3, noap.FeatureWise(0.5))
NODES = {"node_limit": 3}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: noap.solve(PROBLEM, **NODES), r"The answer has a gap of [\d.]+ % where 0.01 % .*: the node limit"),
        (
            lambda: noap.solve(PROBLEM, time_limit=0.001, gap=0.01),
            r"where 1 % was .*: the time limit.*raise time_limit",
        ),
        (
            lambda: noap.solve(PROBLEM, memory_limit=0.03),
            r"the memory limit .*; raise memory_limit, or ask for a larger",
        ),
        (lambda: noap.solve(PROBLEM, "relaxation"), r"gap of 0\.\d+ % .* does not branch; use method='exact'"),
        (lambda: noap.solve(SMALL, "mip", pieces=1), r"The answer has .*: the program approximates .*; raise pieces"),
        (lambda: noap.solve(PROBLEM, "mip", reduced_dim=12, time_limit=1e-3), r"no finite gap .* the time limit"),
        (
            lambda: noap.solve(SMALL, "mip", reduced_dim=5, as_printed=True),
            r"gap of [\d.]+ % on the 5 features of reduced_dim where 0.01 % .*: the program approximates",
        ),
        (
            lambda: noap.path(NOISE, 10, rhos=[0.0, 1.0, 60.0], **NODES),
            r"2 of 3 points miss .* at noise \d.*node limit",
        ),
        (lambda: noap.path(NOISE, [1, 10], rhos=[0.0, 1.0], **NODES), r"2 of 4 points miss .* at noise \d.*node limit"),
        (lambda: noap.k_path(PROBLEM, [1, 10], **NODES), r"1 of 2 levels miss .* at k = 10: the node limit"),
        (lambda: noap.solve_components(PROBLEM, 2, time_limit=0.005), r"^The components have a gap .* time_limit"),
        (lambda: noap.stability(PROBLEM, n_boot=3, method="exact", **NODES), r"The answer has a gap .* node limit"),
        (lambda: RobustSparsePCA(k=10, n_components=2, options=NODES).fit(NOISE), r"left 2 of 2 components unproved"),
        (
            lambda: RobustSparsePCA(k=10, n_components=2, method="relaxation").fit(NOISE),
            r"are left unproved, component \d with a gap of 0\.\d+ % where 0.01 % .*: the relaxation does not",
        ),
        (
            lambda: RobustSparsePCA(k=10, n_components=2, deflation="disjoint", time_limit=0.005).fit(NOISE),
            r"2 components chosen together with a joint gap of",
        ),
        (
            lambda: RobustSparsePCA(k=10, n_components=2, k_share=0.9, time_limit=0.005).fit(NOISE),
            r"The time limit of 0\.005 s for the whole fit",
        ),
        (
            lambda: noap.RobustSparsePCACV(
                RobustSparsePCA(time_limit=0.002), ks=[9, 10], noises=[0.1], by="k-path"
            ).fit(NOISE),
            r"left 1 of 1 components unproved",
        ),
        (
            lambda: build_report(NOISE, k=10, n_components=1, points=3, time_limit=0.002),
            r"\d+ of \d+ problems behind the page miss the gap",
        ),
    ],
)
def test_one_warning_with_the_gap_the_reason_and_what_to_do(call, sentence):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    gaps = [warning for warning in caught if issubclass(warning.category, GapWarning)]
    assert len(gaps) == 1, [str(warning.message) for warning in caught]
    said = str(gaps[0].message)
    assert re.search(sentence, said), said
    assert gaps[0].filename == __file__
    assert re.fullmatch(r"[^.]*(\.\d[^.]*)*\.", said), "one sentence"


def test_every_point_of_a_gap_that_is_reached_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert noap.solve(SMALL).gap <= 1e-4
        assert noap.solve(PROBLEM, "relaxation", gap=0.01).gap <= 0.01
        for method in ("ascent", "ppm", "spca"):  # which prove no gap, and of which none is asked
            noap.solve(PROBLEM, method, gap=0.0)
        noap.path(NOISE, 10, rhos=[0.0, 1.0], method="ascent")
        noap.solve(SMALL, "mip", gap=0.2, reduced_dim=5)  # the gap of a program on some features is theirs
        RobustSparsePCA(k=2, n_components=2).fit(NOISE[:, :8])


def test_the_gap_that_is_named_is_that_of_the_answer_rounded_up():
    with pytest.warns(GapWarning) as caught:
        result = noap.solve(PROBLEM, **NODES)
    named = float(re.search(r"a gap of ([\d.]+) % where", str(caught[0].message))[1])
    assert 100 * result.gap <= named <= 110 * result.gap
    assert result.status is noap.Status.FEASIBLE


def test_what_doubles_cannot_prove_has_its_own_reason():
    tie = 2.0**-27  # 1 + tie^2 rounds to 1
    with pytest.warns(GapWarning, match=r"was asked for: rounding in double .* rules .*; ask for a larger gap"):
        noap.solve(noap.Problem(((1.0,), (tie,)), 1, noap.FeatureWise(1.0)))


def test_the_warning_of_an_estimator_is_both_kinds():
    with pytest.warns(ConvergenceWarning) as caught:
        model = RobustSparsePCA(k=10, options=NODES).fit(NOISE)
    (warning,) = caught
    assert issubclass(warning.category, NoapWarning)
    assert model.gap_[0] > 1e-4


@pytest.mark.parametrize("way", ["solve", "components", "path", "k-path", "report"])
def test_the_command_line_says_it_in_one_line(tmp_path, way):
    pl.DataFrame(NOISE, schema=[f"x{j}" for j in range(40)]).write_csv(tmp_path / "data.csv")
    words = {
        "solve": ("solve", "data.csv", "-k", 10, "--node-limit", 3),
        "components": ("solve", "data.csv", "-k", 10, "-c", 2, "--node-limit", 3),
        "path": ("path", "data.csv", "-k", 10, "--noise", "0,0.1", "--method", "relaxation"),
        "k-path": ("k-path", "data.csv", "--ks", "1,10", "--time-limit", 0.05, "--share", 0.01),
        "report": ("report", "data.csv", "-k", 10, "--points", 3, "--components", 1, "--method", "relaxation"),
    }[way]
    done = command_line(*words, cwd=tmp_path)
    (said,) = done.stderr.splitlines()
    assert said.startswith("noap: ")
    assert "gap of" in said
