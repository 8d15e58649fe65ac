"""Several components at once on the command line: the table, the files, the proof and its check."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from packings import joint_optimum

import noap as library
from commands import noap

X = np.random.default_rng(0).standard_normal((40, 7)) @ np.random.default_rng(1).standard_normal((7, 7))
NAMES = ["a [kg]", "b", "c", "d", "e", "f", "g"]


@pytest.fixture
def table(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def found(*options, cwd):
    done = noap("solve", "data.csv", "-k", 2, "-c", 3, "--noise", 0.2, *options, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def problem():
    return library.Problem(library.standardize(X), k=2, adversary=library.FeatureWise(0.2 * np.sqrt(40)))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", ["--joint", "--deflation=disjoint"])
def test_the_sum_is_the_best_of_all_packings(table, stream, how):
    document = found(how, *(["--stream"] if stream else []), cwd=table)
    best = joint_optimum(problem(), (2, 2, 2))
    joint = document["joint"]
    assert document["deflation"] is None
    assert joint["value"] == pytest.approx(best, rel=1e-4)
    assert joint["bound"] >= best * (1 - 1e-9)
    assert joint["gap"] <= 1e-4
    assert joint["status"] == "optimal"
    assert sum(one["robust_variance"] for one in document["components"]) == pytest.approx(joint["value"])
    used = [name for one in document["components"] for name in one["features"]]
    assert len(set(used)) == len(used)
    apart = found("--deflation", "disjoint", "--no-joint", cwd=table)
    assert sum(one["robust_variance"] for one in apart["components"]) <= best * (1 + 1e-9)


def test_from_the_proof_to_the_verdict(table):
    done = noap(
        "solve", "data.csv", "-k", 2, "-c", 3, "--joint", "--certificate", "p.noap", "--out", "r.csv", cwd=table
    )
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    for said in ("3 components chosen together", "together", "proved bound", "while the others stay", "(rigorous)"):
        assert said in words
    assert "check it with: noap verify p.noap data.csv" in words
    rows = pl.read_csv(table / "r.csv")
    assert rows.columns == ["component", "feature", "loading", "robust_variance", "objective", "bound"]
    assert sorted(rows["feature"].unique()) == sorted(rows["feature"])
    assert (rows["bound"] >= rows["objective"]).all()
    checked = noap("verify", "p.noap", "data.csv", cwd=table)
    assert checked.returncode == 0, checked.stderr
    words = " ".join(checked.stdout.split())
    assert "Accepted: " in words
    assert "However 3 components are chosen, if no feature is in two of them they are worth at most" in words
    verdict = json.loads(noap("verify", "p.noap", "data.csv", "--json", cwd=table).stdout)
    assert verdict["ok"]
    assert verdict["k"] == [2, 2, 2]
    by_component = rows.sort("component", pl.col("loading").abs(), descending=[False, True])
    assert verdict["components"] == [
        by_component.filter(pl.col("component") == c)["feature"].to_list() for c in (1, 2, 3)
    ]
    for number, features in enumerate(verdict["components"], start=1):
        assert f"Component {number}, by the names in DATA: {', '.join(features)}." in words


def test_proofs_about_streams_noises_and_costs(table):
    pl.DataFrame({"feature": NAMES, "noise": np.linspace(0, 0.4, 7), "cost": np.linspace(0.2, 0, 7)}).write_csv(
        table / "known.csv"
    )
    given = ["--noise-file", "known.csv"]
    done = noap("solve", "data.csv", "-k", 2, "-c", 2, "--joint", *given, "--certificate", "p.noap", cwd=table)
    assert done.returncode == 0, done.stderr
    assert "less its costs" in done.stdout
    assert noap("verify", "p.noap", "data.csv", *given, cwd=table).returncode == 0
    done = noap("solve", "data.csv", "-k", 2, "-c", 2, "--joint", "--stream", "--certificate", "s.noap", cwd=table)
    assert done.returncode == 0, done.stderr
    checked = noap("verify", "s.noap", "data.csv", cwd=table)
    assert checked.returncode == 0, checked.stderr
    assert "data standardised" in checked.stdout


def test_the_proof_of_one_streamed_component_is_found_too(table):
    done = noap("solve", "data.csv", "-k", 2, "--stream", "--certificate", "s.noap", cwd=table)
    assert done.returncode == 0, done.stderr
    assert noap("verify", "s.noap", "data.csv", cwd=table).returncode == 0


def test_a_proof_that_was_tampered_with_is_rejected(table):
    noap("solve", "data.csv", "-k", 2, "-c", 3, "--joint", "--certificate", "p.noap", cwd=table)
    proof = library.Certificate.load(table / "p.noap")
    replace(proof, claim=replace(proof.claim, value=0.0, bound=proof.bound * 0.99)).save(table / "bad.noap")
    checked = noap("verify", "bad.noap", "data.csv", cwd=table)
    assert checked.returncode == 4
    assert "Rejected: " in checked.stdout
    assert "Component 1" not in checked.stdout
    verdict = json.loads(noap("verify", "bad.noap", "data.csv", "--json", cwd=table).stdout)
    assert verdict["bound"] is None
    pl.DataFrame(X[:-1], schema=NAMES).write_csv(table / "other.csv")
    assert noap("verify", "p.noap", "other.csv", cwd=table).returncode == 4


def test_components_of_which_nothing_is_left(table):
    done = noap("solve", "data.csv", "-k", 2, "-c", 2, "--joint", "--noise", 5, "--certificate", "p.noap", cwd=table)
    assert done.returncode == 0
    assert "cancels every direction" in done.stderr
    checked = noap("verify", "p.noap", "data.csv", cwd=table)
    assert checked.returncode == 0, checked.stdout
    assert "Nothing survives the adversary: no component is worth anything" in checked.stdout


def test_a_limit_ends_with_code_3(tmp_path):
    wide = np.random.default_rng(5).standard_normal((60, 40))
    pl.DataFrame(wide, schema=[f"x{j}" for j in range(40)]).write_csv(tmp_path / "data.csv")
    done = noap("solve", "data.csv", "-k", 10, "-c", 2, "--joint", "--time-limit", 0.3, cwd=tmp_path)
    assert done.returncode == 3
    assert "time limit of 0.3 s for the whole fit left 2 components chosen together" in done.stderr
    assert "together, feasible: no 2 disjoint components" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--joint",), "--joint chooses several components together; say how many with -c"),
     (("-c", 2, "--no-joint", "--certificate", "p.noap"), "--certificate holds one proof"),
     (("-c", 2, "--joint", "--adversary", "spectral"), "joint=True serves the adversaries FeatureWise, NoAdversary"),
     (("-c", 2, "--joint", "--method", "ascent"), "joint=True needs method='exact'"),
     (("-c", 2, "--joint", "--node-limit", 5), "joint=True does not know the option 'node_limit'"),
     (("-c", 9, "--joint"), "-c must be from 1 to the number of features, 7")],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_sentence(table, options, words):
    done = noap("solve", "data.csv", "-k", 2, *options, cwd=table)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (table / "p.noap").exists()
