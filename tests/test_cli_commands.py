"""What all commands have in common, and several components of one file."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import noap as library
from noap.data.deflation import Samples
from test_cli_files import noap

COMMANDS = [
    "demo",
    "solve",
    "verify",
    "show",
    "path",
    "k-path",
    "near-optimal",
    "stability",
    "attack",
    "report",
    "reproduce",
]
X = np.random.default_rng(0).standard_normal((40, 6)) + np.random.default_rng(1).standard_normal((40, 1))
NAMES = ["a [kg]", "b", "c", "d", "e", "f"]


@pytest.fixture
def table(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_python_runs_the_package(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "noap", "solve", "--help"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: noap solve" in done.stdout


def test_the_command_line_starts_without_what_only_some_commands_need():
    slow = ("sklearn", "matplotlib", "numba", "polars")
    code = f"import sys, noap.cli.app; print([name for name in {slow} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_a_flag_takes_no_value_and_the_help_shows_none(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = noap(*filter(None, [command]), "--help").stdout
    assert "--help" in shown
    assert "bool" not in shown.lower()
    if command:
        assert "--json" in shown
        assert f"noap {command}" in shown


def test_without_a_command_there_is_the_help():
    done = noap()
    assert "Commands" in done.stdout
    assert done.stderr == ""


def test_the_commands_are_these():
    from noap.cli.app import app

    assert [command.name for command in app.registered_commands] == COMMANDS


def several(*options, cwd):
    done = noap("solve", "data.csv", "-k", 2, "--noise", 0.2, *options, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("deflation", ["projection", "disjoint"])
@pytest.mark.parametrize("stream", [False, True])
def test_several_components_are_those_of_deflated_data(table, deflation, stream):
    found = several("-c", 3, "--deflation", deflation, "--no-joint", *(["--stream"] if stream else []), cwd=table)
    assert found["joint"] is None
    assert found["deflation"] == deflation
    assert len(found["components"]) == len(found["explained_variance_ratio"]) == 3
    assert sum(found["explained_variance_ratio"]) <= 1
    # Each is the optimum of what those before leave.
    Z = library.standardise(X)
    before = []
    for one in found["components"]:
        part = Samples(Z).left(np.array(before), deflation) if before else Samples(Z)
        best = library.solve(part.problem(2, library.FeatureWise(0.2 * np.sqrt(40))))
        assert one["robust_variance"] == pytest.approx(best.value, rel=2e-4)
        assert one["status"] == "optimal"
        v = np.zeros(6)
        v[one["support"]] = one["loadings"]
        assert one["features"] == [NAMES[j] for j in one["support"]]
        before.append(v)
    if deflation == "disjoint":
        used = [name for one in found["components"] for name in one["features"]]
        assert len(set(used)) == len(used)


def test_one_component_is_written_as_before(table):
    one, same = several(cwd=table), several("-c", 1, cwd=table)
    one.pop("seconds"), same.pop("seconds")
    assert one == same
    assert "components" not in one


def test_several_components_on_a_screen(table):
    done = noap("solve", "data.csv", "-k", 2, "-c", 2, "--out", "r.json", cwd=table)
    assert done.returncode == 0, done.stderr
    for words in ("component 1", "component 2", "deflation (projection)", "proved bound", "(rigorous)", "explained"):
        assert words in " ".join(done.stdout.split())
    written = json.loads((table / "r.json").read_text())["components"]
    assert len(written) == 2
    (row,) = (line for line in done.stdout.splitlines() if "plain variance" in line)
    numbers = [float(cell) for cell in row.replace("|", "│").split("│")[2:4]]
    assert numbers == pytest.approx([one["plain_variance"] for one in written], rel=1e-5)
    assert all(one["robust_variance"] <= one["plain_variance"] for one in written)
    refused = noap("attack", "data.csv", "r.json", cwd=table)
    assert refused.returncode == 2
    assert "holds several components" in refused.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [(("-c", 0), "-c must be from 1 to the number of features, 6"), (("-c", 7), "-c must be from 1"),
     (("-c", 2, "--certificate", "p.noap"), "--certificate holds one proof: that of one component (-c 1), or of"),
     (("-c", 2, "--deflation", "magic"), "deflation must be one of"),
     (("-c", 4, "--deflation", "disjoint", "--no-joint"), "leaves no feature after 3 components")],
)  # fmt: skip
def test_components_that_cannot_be(table, options, words):
    done = noap("solve", "data.csv", "-k", 2, *options, cwd=table)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def tiny(monkeypatch):
    """The paper's experiments, small enough for a test."""
    from noap import experiments
    from noap.experiments import report

    whole = experiments.paper_specs

    def small(**given):
        figures = whole(**given)["figures"]
        methods = tuple(method for method in figures.methods if method.label in ("PPM", "MIP"))
        model = experiments.SpikedModel(d=8, k=2, lam=3.0, k1=1, c=0.8)
        # At this budget the optimum is 0, and the programs are not run.
        return {"figures": replace(figures, model=model, samples=(30,), budgets=(5.0,), methods=methods)}

    monkeypatch.setattr(report, "write_figures", lambda specs, tables, folder: [])
    monkeypatch.setattr(experiments, "paper_specs", small)


def test_reproduce_says_how_little_was_tried(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    words = "Tried with 2 draws per point and 1 second per program only"
    done = noap("reproduce", "figure2", "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in " ".join(done.stdout.split())
    for page in ("README.md", "claims.md"):
        assert words in (tmp_path / "noap-reproduction-quick" / page).read_text(encoding="utf-8")
    found = json.loads(noap("reproduce", "figure2", "--quick", "--json", cwd=tmp_path).stdout)
    assert found["tried_with"].startswith(words)
    assert found["trials"]["done"] == 0
    assert {"claim", "source", "verdict", "evidence"} == set(found["claims"][0])
    shown = noap("reproduce", "figure2", "--quick", "--render", "--json", cwd=tmp_path).stdout
    assert json.loads(shown)["trials"] is None


def test_a_full_run_says_nothing_of_the_kind():
    from noap.experiments import paper_specs
    from noap.experiments.report import effort

    assert effort(paper_specs()) == ""
    assert effort(paper_specs(mip_seconds=5.0)).startswith("Tried with 10 draws per point and 5 seconds per program")


def test_json_comes_alone_on_stdout(table):
    noap("solve", "data.csv", "-k", 2, "--out", "r.json", "--certificate", "p.noap", cwd=table)
    commands = [
        ("solve", "data.csv", "-k", 2),
        ("verify", "p.noap", "data.csv"),
        ("path", "data.csv", "-k", 2, "--noise", "0,0.1"),
        ("k-path", "data.csv", "-k", 2),
        ("near-optimal", "data.csv", "-k", 2),
        ("stability", "data.csv", "-k", 2, "--n-boot", 3),
        ("attack", "data.csv", "r.json"),
        ("report", "data.csv", "-k", 2, "--points", 3, "--components", 1, "--force"),
    ]
    for command in commands:
        done = noap(*command, "--json", cwd=table)
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)


def test_show_prints_a_certificate_without_the_data(table):
    noap("solve", "data.csv", "-k", 2, "--rho", 0.3, "--certificate", "proof.noap", cwd=table)
    lines = noap("show", "proof.noap", cwd=table).stdout.splitlines()
    assert lines[0].startswith("Claim: ")
    document = json.loads(noap("show", "proof.noap", "--json", cwd=table).stdout)
    assert document["explanation"] == lines
    assert document["k"] == 2
    assert document["claimed"]["value"] <= document["claimed"]["bound"]


def test_verify_says_that_nothing_survives_where_that_is_proved(tmp_path):
    """Deviations of these columns are rounded, so at noise 1 something tiny may be left; at 1.1 nothing is."""
    (tmp_path / "data.csv").write_text("a,b,c\n3,1,0\n4,-1,0\n-7,0,0\n")
    for noise, survives in ((1, True), (1.1, False)):
        options = "-k", 2, "--noise", noise, "--certificate", "p.noap", "--force"
        noap("solve", "data.csv", *options, cwd=tmp_path)
        said = noap("verify", "p.noap", "data.csv", cwd=tmp_path).stdout
        assert ("Accepted: 0 <= optimum <= 0," in said) != survives
        assert ("Nothing survives the adversary: the optimum is 0" in said) != survives
        assert ("no value above 0;" in noap("show", "p.noap", cwd=tmp_path).stdout) != survives
