"""What the command line says in words: ties, nothing left, names with commas, numbers of things."""

import json

import numpy as np
import polars as pl
import pytest

import noap as library
from test_cli_files import noap

RNG = np.random.default_rng(4)
FACTOR = RNG.standard_normal((60, 1))
X = FACTOR + 0.5 * RNG.standard_normal((60, 5))
# Two copies of one column, and a name that holds a comma.
COPIES = np.column_stack([X, X[:, 2]])
NAMES = ["a", "b", "length, cm", "d", "e", "copy"]


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame(COPIES, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_solve_reports_ties_by_name(folder):
    shown = noap("solve", "data.csv", "-k", 1, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "Feature a ties with b; length, cm; d; e; copy; the first of them was kept." in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 1, "--json", cwd=folder).stdout)
    assert document["features"] == ["a"]
    assert any("ties with" in message for message in document["messages"])


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_several_components_report_ties_by_name(folder, stream):
    shown = noap("solve", "data.csv", "-k", 1, "-c", 2, *stream, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "component 1: Feature a ties with b; length, cm; d; e; copy; the first of them was kept." in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 1, "-c", 2, "--json", *stream, cwd=folder).stdout)
    assert "Feature a ties with b" in document["components"][0]["messages"][0]


def test_a_certificate_of_a_tie_still_proves(folder):
    noap("solve", "data.csv", "-k", 2, "--noise", 0.2, "--certificate", "c.noap", cwd=folder)
    assert noap("verify", "c.noap", "data.csv", cwd=folder).returncode == 0


def test_nothing_left_is_said_in_the_units_that_were_typed(folder):
    shown = noap("solve", "data.csv", "-k", 2, "--noise", 1.5, cwd=folder)
    assert shown.returncode == 0
    assert "noise 1.5 (rho = 11.619)" in shown.stderr
    assert "less noise" in shown.stderr
    assert "Nothing survives: at noise 1.5" in shown.stdout
    assert not [name for name in NAMES if f" {name} " in shown.stdout and len(name) > 1]
    assert "loading" not in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 2, "--noise", 1.5, "--json", cwd=folder).stdout)
    assert (document["features"], document["support"], document["loadings"]) == ([], [], [])
    assert (document["robust_variance"], document["bound"], document["noise"]) == (0, 0, pytest.approx(1.5))


def test_a_component_that_is_worth_nothing_has_no_loadings(folder):
    shown = noap("solve", "data.csv", "-k", 2, "-c", 2, "--noise", 1.5, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "2 components, 0 of 6 features" in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 2, "-c", 2, "--noise", 1.5, "--json", cwd=folder).stdout)
    assert [one["features"] for one in document["components"]] == [[], []]


def test_what_holds_no_component_cannot_be_attacked(folder):
    noap("solve", "data.csv", "-k", 2, "--noise", 1.5, "--out", "r.json", cwd=folder)
    done = noap("attack", "data.csv", "r.json", cwd=folder)
    assert done.returncode == 2
    assert "nothing survived the adversary" in done.stderr


def test_the_library_names_both_units():
    problem = library.Problem(library.standardise(COPIES), k=2, adversary=library.FeatureWise.with_noise(1.5, 60))
    for ask in (library.solve, library.k_path, library.near_optimal):
        with pytest.warns(library.errors.NoapWarning, match=r"^At noise 1\.5 \(rho = 11\.619\) .* use less noise\.$"):
            ask(problem)


def test_near_optimal_advises_what_can_be_done():
    problem = library.Problem(library.standardise(COPIES), k=2, adversary=library.SampleWise(0.1))
    with pytest.raises(library.errors.InvalidProblem, match=r"noap\.stability") as caught:
        library.near_optimal(problem)
    assert "method" not in str(caught.value)
