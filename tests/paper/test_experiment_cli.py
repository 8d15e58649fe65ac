"""`noap reproduce`, as a user meets it."""

import json
import subprocess
import sys

import pytest

from noap.experiments import paper_specs
from noap.experiments.report import effort

LINE = [sys.executable, "-c", "from noap.cli import main; main()", "reproduce"]


def reproduce(*arguments, cwd):
    return subprocess.run([*LINE, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("figure3",), "figure3"),
        (("figure1", "--jobs", 0), "jobs must be a positive integer or -1"),
        (("figure1", "--trials", 0), "trials must be a positive integer"),
        (("figure1", "--backend", "cplex"), "backend"),
        (("figure1", "--cluster", "somewhere"), "address of a Dask scheduler"),
        (("all", "--render"), "does not exist; run the experiment first"),
        (("all", "--store", "nowhere/trials.jsonl"), "does not exist; create it first"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_code_2(tmp_path, arguments, words):
    done = reproduce(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_somebody_elses_file_is_left_alone(tmp_path):
    (tmp_path / "trials.jsonl").write_text("mine")
    done = reproduce("figure1", "--store", "trials.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "left alone" in done.stderr
    assert (tmp_path / "trials.jsonl").read_text() == "mine"


def test_help_has_an_example(tmp_path):
    done = reproduce("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "noap reproduce all --quick" in done.stdout


def test_theorem_5_prints_its_stages(tmp_path):
    """Some seconds: certified optima of one draw on the coarse grid."""
    done = reproduce("theorem5", "--quick", "--trials", 1, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {claim["source"].split(",")[0] for claim in answer["claims"]} == {"Theorem 5"}
    exact, printed, *seen = answer["stages"]
    assert exact["single from"] == pytest.approx(1.947, abs=1e-3)
    assert printed["partial from"] > printed["single from"]
    assert [row["of"] for row in seen] == ["seen at n = 100, mean of 1", "seen at n = 500, mean of 1"]
    assert abs(seen[1]["none from"] - exact["none from"]) < 0.3
    folder = tmp_path / "noap-reproduction-quick"
    assert (folder / "theorem5.png").stat().st_size > 10_000
    assert "Stages of Theorem 5" in (folder / "README.md").read_text(encoding="utf-8")
    # How little was tried is said everywhere.
    words = "Tried with 1 draw per point"
    assert answer["tried_with"].startswith(words)
    assert answer["trials"]["done"] > 0
    assert {"claim", "source", "verdict", "evidence"} == set(answer["claims"][0])
    for page in ("README.md", "claims.md"):
        assert words in (folder / page).read_text(encoding="utf-8")
    shown = reproduce("theorem5", "--quick", "--trials", 1, "--render", cwd=tmp_path)
    assert words in " ".join(shown.stdout.split())


def test_a_full_run_says_nothing_of_the_kind():
    assert effort(paper_specs()) == ""
    assert effort(paper_specs(mip_seconds=5.0)).startswith("Tried with 10 draws per point and 5 seconds per program")


@pytest.mark.slow
def test_everything_quickly(tmp_path):
    """Minutes: the paper's experiments with two trials and a second per program, run twice."""
    first = reproduce("all", "--quick", "--jobs", 2, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stderr == "", "progress is for terminals"
    assert "Theorem 3" in first.stdout
    folder = tmp_path / "noap-reproduction-quick"
    claims = (folder / "claims.md").read_text(encoding="utf-8")
    assert "recovery below the threshold, as printed: **does not hold**" in claims
    assert "not enough data" not in claims
    again = reproduce("all", "--quick", cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout.startswith("0 trials done")
