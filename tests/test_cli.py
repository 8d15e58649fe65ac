"""The command line, as a user meets it: a real process, its output and its exit code."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

X = np.random.default_rng(0).standard_normal((30, 6)) + np.random.default_rng(1).standard_normal((30, 1))
NAMES = [f"gene_{j}" for j in range(6)]


def noap(*arguments, cwd=None):
    command = [sys.executable, "-c", "from noap.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture
def table(tmp_path):
    frame = pl.DataFrame(X, schema=NAMES)
    frame.write_csv(tmp_path / "data.csv")
    frame.write_parquet(tmp_path / "data.parquet")
    np.save(tmp_path / "data.npy", X)
    return tmp_path


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.npy"])
def test_solve_reads_every_format(table, name):
    done = noap("solve", table / name, "-k", 3, "--noise", 0.2, "--method", "ascent", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    import noap as library

    problem = library.Problem(library.standardise(X), k=3, adversary=library.FeatureWise(0.2 * np.sqrt(30)))
    expected = library.solve(problem, method="ascent")
    assert document["robust_variance"] == pytest.approx(expected.value, rel=1e-9)
    assert document["support"] == expected.support.tolist()
    labels = NAMES if name != "data.npy" else [f"x{j}" for j in range(6)]
    assert document["features"] == [labels[j] for j in expected.support]


def test_solve_prints_a_table_and_its_claim(table):
    done = noap("solve", table / "data.csv", "-k", 2, "--method", "ascent")
    assert done.returncode == 0
    for words in ("gene_", "loading", "robust variance", "plain variance", "nothing is proved"):
        assert words in done.stdout


def test_out_is_written_and_never_overwritten(table):
    out = table / "result.json"
    first = noap("solve", table / "data.csv", "-k", 2, "--out", out)
    assert first.returncode == 0, first.stderr
    before = out.read_bytes()
    assert json.loads(before)["k"] == 2
    refused = noap("solve", table / "data.csv", "-k", 3, "--out", out)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert out.read_bytes() == before
    assert noap("solve", table / "data.csv", "-k", 3, "--out", out, "--force").returncode == 0
    assert json.loads(out.read_bytes())["k"] == 3


def test_adversaries_and_budgets(table):
    def value(*options):
        done = noap("solve", table / "data.csv", "-k", 2, "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert value("--adversary", "none")["rho"] == 0
    assert value("--adversary", "sample", "--noise", 0.5)["rho"] == 0.5
    assert value("--noise", 0.5)["rho"] == pytest.approx(0.5 * np.sqrt(30))
    assert value("--rho", 1.5)["rho"] == 1.5
    assert value("--no-center", "--no-scale", "--method", "spca")["method"] == "spca"


def write(path, text):
    path.write_text(text)
    return path


BAD = {
    "NaN": (lambda t: ["solve", write(t / "a.csv", "a,b\n1,2\nNaN,3\n")], "line 3: 'NaN' in column 'a'"),
    "infinity": (lambda t: ["solve", write(t / "a.csv", "a,b\n1,inf\n2,3\n")], "line 2: infinity in column 'b'"),
    "missing entry": (
        lambda t: ["solve", write(t / "a.csv", "a,b\n1,\n2,3\n")],
        "line 2: an empty entry in column 'b'",
    ),
    "text column": (lambda t: ["solve", write(t / "a.csv", "a,b\n1,x\n2,y\n")], "column 'b' .* 'x' on line 2"),
    "empty file": (lambda t: ["solve", write(t / "a.csv", "")], "is empty"),
    "header only": (lambda t: ["solve", write(t / "a.csv", "a,b\n")], "X is empty|column"),
    "missing file": (lambda t: ["solve", t / "nowhere.csv"], "does not exist"),
    "wrong suffix": (lambda t: ["solve", write(t / "a.xyz", "a")], "must end in"),
    "broken parquet": (lambda t: ["solve", write(t / "a.parquet", "junk")], "cannot be read"),
    "broken npy": (lambda t: ["solve", write(t / "a.npy", "junk")], "cannot be read"),
    "one row": (lambda t: ["solve", write(t / "a.csv", "a,b\n1,2\n")], "centring"),
    "k = 0": (lambda t: ["solve", t / "data.csv", "-k", "0"], "k must be at least 1"),
    "k > d": (lambda t: ["solve", t / "data.csv", "-k", "7"], "k must be at most"),
    "k a fraction": (lambda t: ["solve", t / "data.csv", "-k", "2.5"], "-k"),
    "negative noise": (lambda t: ["solve", t / "data.csv", "--noise", "-1"], "--noise"),
    "NaN rho": (lambda t: ["solve", t / "data.csv", "--rho", "nan"], "--rho"),
    "both budgets": (lambda t: ["solve", t / "data.csv", "--rho", "1", "--noise", "1"], "--noise and --rho"),
    "unknown adversary": (lambda t: ["solve", t / "data.csv", "--adversary", "ghost"], "--adversary"),
    "unknown method": (lambda t: ["solve", t / "data.csv", "--method", "magic"], "method must be one of"),
    "unknown verb": (lambda t: ["sovle"], "sovle"),
    "no folder for out": (lambda t: ["solve", t / "data.csv", "--out", t / "no" / "r.json"], "does not exist"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_clear_line_and_exit_code_2(table, arguments, words):
    import re

    arguments = arguments(table)
    if "-k" not in arguments and arguments[0] == "solve":
        arguments += ["-k", "1"]
    done = noap(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.search(words, done.stderr), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_complex_data_is_refused(table):
    np.save(table / "c.npy", X + 1j)
    done = noap("solve", table / "c.npy", "-k", 1)
    assert done.returncode == 2
    assert "complex" in done.stderr


def test_a_constant_column_warns_once_and_keeps_scale_1(table):
    frame = pl.DataFrame(X, schema=NAMES).with_columns(pl.lit(3.3).alias("flat"))
    frame.write_csv(table / "flat.csv")
    done = noap("solve", table / "flat.csv", "-k", 2, "--json")
    assert done.returncode == 0
    assert done.stderr.strip() == "noap: Constant columns keep scale 1: flat."
    assert "flat" not in json.loads(done.stdout)["features"]


def test_too_much_noise_is_an_answer(table):
    done = noap("solve", table / "data.csv", "-k", 2, "--noise", 2, "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert (document["robust_variance"], document["bound"], document["status"]) == (0, 0, "optimal")
    assert "cancel every direction" in done.stderr


def test_a_limit_that_stopped_it_is_exit_code_3(table):
    done = noap("solve", table / "data.csv", "-k", 2, "--method", "ascent", "--time-limit", 1e-9, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["limit"] == "time"


def test_demo_prints_an_answer_and_draws(tmp_path):
    done = noap("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "robust variance" in done.stdout
    assert "optimal" in done.stdout
    assert "(rigorous)" in done.stdout
    for name in ("noap-demo.png", "noap-demo-path.png"):
        assert (tmp_path / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    # A barcode worth looking at: features survive to different noises, and the last one standing is no survivor.
    lines = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│") and line.count("│") == 5]
    ends = [cells[2].strip() for cells in lines]
    assert len(set(ends)) >= 5


def test_mip_on_the_command_line(table):
    done = noap("solve", table / "data.csv", "-k", 2, "--method", "mip", "--pieces", 4, "--time-limit", 60, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["bound_proof"] == "solver"
    assert document["bound"] >= document["robust_variance"]
    cut = noap("solve", table / "data.csv", "-k", 2, "--method", "mip-r", "--backend", "highs", "--reduced-dim", 4)
    assert cut.returncode == 0, cut.stderr
    assert "over 4 chosen features" in cut.stdout
    wrong = noap("solve", table / "data.csv", "-k", 2, "--pieces", 4)
    assert wrong.returncode == 2
    assert "pieces is not an option of method 'exact'" in wrong.stderr
    missing = noap("solve", table / "data.csv", "-k", 2, "--method", "mip", "--backend", "abacus")
    assert missing.returncode == 2


def test_help_and_version():
    assert "solve" in noap("--help").stdout
    for verb in ("solve", "demo"):
        shown = noap(verb, "--help")
        assert shown.returncode == 0
        assert f"noap {verb}" in shown.stdout
    assert noap("--version").stdout.startswith("noap ")


def test_the_samples_of_a_file_are_looked_through_once(tmp_path, monkeypatch):
    import noap.data.validation as validation
    from noap.cli.app import app

    file = tmp_path / "x.csv"
    file.write_text("a,b,c\n1,2,3\n4,5,7\n7,8,8\n", encoding="utf-8")
    looked = []
    look = validation._check_entries

    def counted(data, *given, **more):
        looked.append(data.shape)
        look(data, *given, **more)

    monkeypatch.setattr(validation, "_check_entries", counted)
    for command in (["solve", str(file), "-k", "1"], ["path", str(file), "-k", "1"]):
        looked.clear()
        app([*command, "--json"], standalone_mode=False)
        assert looked.count((3, 3)) == 1
