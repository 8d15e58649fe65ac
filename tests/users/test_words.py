"""What noap says in words: ties, nothing left, names with commas, numbers of things."""

import numpy as np
import polars as pl
import pytest

import noap as library
from commands import document, left_on_screen, noap, on_terminal, run

RNG = np.random.default_rng(4)
X = RNG.standard_normal((60, 1)) + 0.5 * RNG.standard_normal((60, 5))
# Two copies of one column, and a name that holds a comma.
COPIES = np.column_stack([X, X[:, 2]])
NAMES = ["a", "b", "length, cm", "d", "e", "copy"]
TIE = "Feature a ties with b; length, cm; d; e; copy; the first of them was kept."


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame(COPIES, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_ties_are_reported_by_name(folder):
    assert TIE in run("solve", "data.csv", "-k", 1, cwd=folder)
    found = document("solve", "data.csv", "-k", 1, cwd=folder)
    assert (found["features"], TIE in found["messages"]) == (["a"], True)
    for stream in ((), ("--stream",)):
        words = ("solve", "data.csv", "-k", 1, "-c", 2, *stream)
        assert f"component 1: {TIE}" in run(*words, cwd=folder)
        assert document(*words, cwd=folder)["components"][0]["messages"][0] == TIE


def test_a_certificate_of_a_tie_still_proves(folder):
    run("solve", "data.csv", "-k", 2, "--noise", 0.2, "--certificate", "c.noap", cwd=folder)
    assert document("verify", "c.noap", "data.csv", cwd=folder)["ok"]


# Commands at a noise that leaves nothing, and what they say; exit code 0.
NOTHING = {
    "solve": ((), "Nothing survives: at noise 1.5"),
    "components": (("-c", 2), "2 components, 0 of 6 features"),
    "near-optimal": ((), "Nothing survives the adversary"),
    "stability": (("--n-boot", 3), "Nothing survives the adversary on the data themselves"),
    "k-path": ((), "Nothing survives the adversary: the optimum is 0 for every k up to 2."),
}


@pytest.mark.parametrize("command", NOTHING)
def test_nothing_left_is_an_answer_without_features(folder, command):
    words, said = NOTHING[command]
    name = "solve" if command == "components" else command
    done = noap(name, "data.csv", "-k", 2, "--noise", 1.5, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    if command not in ("components", "stability"):
        assert "noise 1.5 (rho = 11.619)" in done.stderr
        assert "less noise" in done.stderr
    assert not [feature for feature in NAMES if f" {feature} " in done.stdout and len(feature) > 1]
    if command == "solve":
        assert "loading" not in done.stdout
        found = document("solve", "data.csv", "-k", 2, "--noise", 1.5, cwd=folder)
        assert (found["features"], found["support"], found["loadings"]) == ([], [], [])
        assert (found["robust_variance"], found["bound"], found["status"]) == (0, 0, "optimal")
        assert found["noise"] == pytest.approx(1.5)


def test_verify_says_that_nothing_survives_where_that_is_proved(tmp_path):
    """Deviations of these columns are rounded, so at noise 1 something tiny may be left; at 1.1 nothing is."""
    (tmp_path / "data.csv").write_text("a,b,c\n3,1,0\n4,-1,0\n-7,0,0\n")
    for noise, survives in ((1, True), (1.1, False)):
        run("solve", "data.csv", "-k", 2, "--noise", noise, "--certificate", "p.noap", "--force", cwd=tmp_path)
        said = run("verify", "p.noap", "data.csv", cwd=tmp_path)
        assert ("Accepted: 0 <= optimum <= 0," in said) != survives
        assert ("Nothing survives the adversary: the optimum is 0" in said) != survives
        assert ("no value above 0;" in run("show", "p.noap", cwd=tmp_path)) != survives


def test_the_library_names_both_units():
    problem = library.Problem(library.standardize(COPIES), k=2, noise=1.5)
    for ask in (library.solve, library.k_path, library.near_optimal):
        with pytest.warns(library.errors.NoapWarning, match=r"^At noise 1\.5 \(rho = 11\.619\) .* use less noise\.$"):
            ask(problem)


def test_near_optimal_advises_what_can_be_done():
    problem = library.Problem(library.standardize(COPIES), k=2, adversary=library.SampleWise(0.1))
    with pytest.raises(library.errors.InvalidProblem, match=r"noap\.stability") as caught:
        library.near_optimal(problem)
    assert "method" not in str(caught.value)


def test_counts_of_one_are_singular(folder):
    problem = library.Problem(library.standardize(X), k=5, adversary=library.NoAdversary())
    assert repr(library.near_optimal(problem, 0)).count("; 1 support within") == 1
    stable = repr(library.stability(problem.with_sparsity(1), 1))
    assert "; 1 resample, the same 1 feature in" in stable
    shown = run("path", "data.csv", "-k", 1, "--points", 3, cwd=folder)
    stages = next(line for line in shown.splitlines() if line.startswith("Stages by noise"))
    assert "nothing left at 1." in stages
    assert "1 features" not in stages
    assert "1 set of features within 0 %" in run("near-optimal", "data.csv", "-k", 5, "--within", 0, cwd=folder)


def test_names_with_commas_are_told_apart(folder):
    assert "+length, cm" in run("k-path", "data.csv", "-k", 6, "--noise", 0.1, cwd=folder)


def test_a_terminal_counts_resamples(folder):
    code, _, seen = on_terminal("stability", "data.csv", "-k", 2, "--n-boot", 4, cwd=folder)
    assert code == 0, seen
    assert "resample 4 of 4" in seen
    assert left_on_screen(seen) == ""
