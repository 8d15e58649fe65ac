"""`noap near-optimal` and `noap stability`: how sure the answer is, from the command line."""

import json

import numpy as np
import polars as pl
import pytest

import noap as library
from commands import left_on_screen, on_terminal
from test_cli_files import noap

RNG = np.random.default_rng(7)
X = RNG.standard_normal((80, 1)) + 0.6 * RNG.standard_normal((80, 7))
NAMES = ["length, cm", "b [kg]", *"cdefg"]
Z = library.standardise(X)


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def problem(k, noise, kind=library.FeatureWise):
    return library.Problem(Z, k=k, adversary=kind.with_noise(noise, len(Z)))


def test_near_optimal_lists_what_the_library_lists(folder):
    near = library.near_optimal(problem(3, 0.2), within=0.05)
    assert len(near) > 2
    done = noap("near-optimal", "data.csv", "-k", 3, "--noise", 0.2, "--within", 0.05, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["complete"] is True
    assert [one["robust_variance"] for one in document["supports"]] == pytest.approx(near.values.tolist())
    assert [one["features"] for one in document["supports"]] == [[NAMES[j] for j in s] for s in near.supports]
    assert document["core"] == [NAMES[j] for j in near.core]
    assert document["counts"] == {NAMES[j]: int(near.counts[j]) for j in np.flatnonzero(near.counts)}
    assert (document["noise"], document["within"]) == (pytest.approx(0.2), 0.05)


def test_near_optimal_prints_a_table_and_whether_it_is_complete(folder):
    options = ("near-optimal", "data.csv", "-k", 3, "--noise", 0.2)
    shown = noap(*options, "--within", 0.05, "--out", "near.csv", cwd=folder)
    near = library.near_optimal(problem(3, 0.2), within=0.05)
    assert f"{len(near)} sets of features within 5 % of the best" in shown.stdout
    assert "Complete: the search proves" in shown.stdout
    assert "instead of" in shown.stdout
    assert "In all of them: " in shown.stdout
    assert f"no other set is worth more than {near.threshold:.6g}" in shown.stdout
    table = pl.read_csv(folder / "near.csv")
    assert table["value"].to_list() == pytest.approx(near.values.tolist())
    assert table["features"][0].split("; ") == [NAMES[j] for j in near.supports[0]]
    one = noap(*options, "--within", 0, cwd=folder).stdout
    assert "1 set of features within 0 % of the best" in one
    again = noap(*options, "--out", "near.csv", cwd=folder)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_a_list_that_was_cut_is_not_complete_and_code_3(folder):
    for limit in (("--limit", 1), ("--time-limit", 1e-9)):
        shown = noap("near-optimal", "data.csv", "-k", 3, "--noise", 0.2, "--within", 0.3, *limit, cwd=folder)
        assert shown.returncode == 3, shown.stderr
        assert "Not complete: there may be other sets" in shown.stdout


def test_near_optimal_says_what_it_cannot_do(folder):
    done = noap("near-optimal", "data.csv", "-k", 3, "--adversary", "sample", cwd=folder)
    assert done.returncode == 2
    assert "noap.stability" in done.stderr
    assert noap("near-optimal", "data.csv", "--within", 1, cwd=folder).returncode == 2
    nothing = noap("near-optimal", "data.csv", "-k", 3, "--noise", 2, cwd=folder)
    assert nothing.returncode == 0
    assert "Nothing survives the adversary" in nothing.stdout


@pytest.mark.parametrize("kind", [library.FeatureWise, library.SampleWise])
def test_stability_counts_what_the_library_counts(folder, kind):
    found = library.stability(problem(3, 0.2, kind), n_boot=6, random_state=3, center=True, scale=True)
    options = ("stability", "data.csv", "-k", 3, "--noise", 0.2, "--adversary", kind.key, "--n-boot", 6, "--seed", 3)
    done = noap(*options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {one["feature"]: one["frequency"] for one in document["features"]} == {
        name: float(frequency) for name, frequency in zip(NAMES, found.frequencies, strict=True)
    }
    assert (document["resamples"], document["support_frequency"]) == (6, found.support_frequency)
    shown = noap(*options, "--out", "s.csv", "--plot", "s.png", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "6 resamples: " in shown.stdout
    assert "In at least 80 % of the resamples: " in shown.stdout
    assert pl.read_csv(folder / "s.csv")["feature"][0] in NAMES
    assert (folder / "s.png").read_bytes()[:4] == b"\x89PNG"


def test_stability_refuses_what_makes_no_sense(folder):
    for options, words in (
        (("--n-boot", 0), "n_boot"),
        (("--share", 2), "--share"),
        (("--out", "s.txt"), "must end in"),
        (("--method", "magic"), "method"),
    ):
        done = noap("stability", "data.csv", "-k", 2, *options, cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_where_nothing_is_left_no_feature_is_shown(folder):
    shown = noap("stability", "data.csv", "-k", 2, "--noise", 2, "--n-boot", 3, cwd=folder)
    assert shown.returncode == 0
    assert "Nothing survives the adversary on the data themselves" in shown.stdout
    assert not [name for name in NAMES if f" {name} " in shown.stdout]


def test_a_terminal_counts_resamples(folder):
    code, _, seen = on_terminal("stability", "data.csv", "-k", 2, "--n-boot", 4, cwd=folder)
    assert code == 0, seen
    assert "resample 4 of 4" in seen
    assert left_on_screen(seen) == ""


def test_a_terminal_counts_the_supports_that_are_found(monkeypatch, capsys):
    said = []
    monkeypatch.setattr(library.runtime.line.Line, "show", lambda self, text: said.append(text))
    monkeypatch.setattr(library.runtime.line.Line, "due", lambda self: True)
    library.near_optimal(problem(3, 0.2), within=0.05, progress=True)
    assert said[-1].endswith("supports found")
    before = len(said)
    library.near_optimal(problem(3, 0.2), within=0.05)
    assert len(said) == before


def test_a_search_says_which_component_it_is_about(monkeypatch):
    said = []
    monkeypatch.setattr(library.runtime.line.Line, "show", lambda self, text: said.append(text))
    monkeypatch.setattr(library.runtime.line.Line, "due", lambda self: True)
    library.RobustSparsePCA(3, k=3, noise=0.1, scale=True, options={"progress": True}).fit(X)
    assert {text.split(":")[0] for text in said} == {f"component {c} of 3" for c in (1, 2, 3)}
    said.clear()
    library.RobustSparsePCA(0.5, k=3, noise=0.1, scale=True, options={"progress": True}).fit(X)
    assert said
    assert said[0].startswith("component 1: ")


def test_the_proof_of_a_list_is_written_and_verified(folder):
    near = library.near_optimal(problem(3, 0.2), within=0.05)
    options = ("near-optimal", "data.csv", "-k", 3, "--noise", 0.2, "--certificate", "list.noap")
    shown = noap(*options, "--within", 0.05, "--plot", "list.png", cwd=folder)
    assert "The proof is in list.noap" in shown.stdout
    assert (folder / "list.png").read_bytes()[:4] == b"\x89PNG"
    done = noap("verify", "list.noap", "data.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"a complete list of {len(near)} supports" in done.stdout
    document = json.loads(noap("verify", "list.noap", "data.csv", "--json", cwd=folder).stdout)
    assert document["supports"] == len(near)
    assert document["threshold"] == pytest.approx(near.threshold)
    assert set(document["features"]) == {NAMES[j] for j in near.supports[0]}
    pl.DataFrame(X[:-1], schema=NAMES).write_csv(folder / "other.csv")
    assert noap("verify", "list.noap", "other.csv", cwd=folder).returncode == 4
    assert "--force" in noap(*options, cwd=folder).stderr
    cut = noap(*options, "--force", "--within", 0.3, "--limit", 1, cwd=folder)
    assert cut.returncode == 3
    assert "none is written" in cut.stdout
