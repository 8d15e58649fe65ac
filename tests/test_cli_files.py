"""The commands path, attack and report, the file formats and completion, as a user meets them."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace
from unittest import mock
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
import scipy.sparse

import noap as library
from noap.cli import main
from noap.data.standardising import centre_and_scale

X = np.random.default_rng(0).standard_normal((30, 6)) + np.random.default_rng(1).standard_normal((30, 1))
# Brackets are markup to the library that prints tables; names must come through it.
NAMES = ["weight [kg]", "length, cm", "[red]", "größe", "a/b", "rho"]
UNIT = np.sqrt(30)


def noap(*arguments, cwd="."):
    """Run the command line in this process, which saves a second of imports each time; test_cli starts real ones."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["noap", *map(str, arguments)]
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),  # also puts back warnings.showwarning
        mock.patch.object(sys, "argv", argv),
    ):
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as end:
            code = end.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.fixture
def table(tmp_path):
    frame = pl.DataFrame(X, schema=NAMES)
    frame.write_csv(tmp_path / "data.csv")
    frame.write_parquet(tmp_path / "data.parquet")
    np.save(tmp_path / "data.npy", X)
    np.savez(tmp_path / "data.npz", X=X, feature_names=np.array(NAMES), y=np.zeros(30))
    np.savez(tmp_path / "single.npz", whatever=X)
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(X))
    return tmp_path


@pytest.fixture
def result(table):
    done = noap("solve", table / "data.csv", "-k", 3, "--noise", 0.3, "--out", table / "result.json")
    assert done.returncode == 0, done.stderr
    return table / "result.json"


@pytest.mark.parametrize(
    ("name", "named"),
    [("data.csv", True), ("data.parquet", True), ("data.npy", False), ("data.npz", True), ("single.npz", False),
     ("sparse.npz", False)],
)  # fmt: skip
def test_path_reads_every_format_and_keeps_names(table, name, named):
    done = noap("path", table / name, "-k", 2, "--noise", "0,0.4", "--json")
    assert done.returncode == 0, done.stderr
    (path,) = json.loads(done.stdout)["paths"]
    Z = library.standardise(X)
    expected = library.path(Z, k=2, rhos=[0.0, 0.4 * UNIT])
    labels = NAMES if named else [f"x{j}" for j in range(6)]
    assert [point["features"] for point in path["points"]] == [[labels[j] for j in s] for s in expected.supports]
    assert [point["robust_variance"] for point in path["points"]] == pytest.approx(expected.values.tolist())
    assert [point["noise"] for point in path["points"]] == pytest.approx([0, 0.4])
    assert all(point["status"] == "optimal" and point["bound"] >= point["robust_variance"] for point in path["points"])
    assert path["lifetimes"] == pytest.approx(
        {labels[j]: rho for j, rho in enumerate(expected.lifetimes) if not np.isnan(rho)}
    )


def test_path_writes_its_features(table):
    words = ("path", "data.csv", "-k", 1, "-k", 2, "--noise", "0,0.2,0.4", "--json")
    done = noap(*words, "--features-out", "f.csv", cwd=table)
    assert done.returncode == 0, done.stderr
    written, found = pl.read_csv(table / "f.csv"), json.loads(done.stdout)["paths"]
    for one in found:
        rows = written.filter(pl.col("k") == one["k"]).drop_nulls("essential_to_noise")
        for unit, key in (("rho", "essential_to"), ("noise", "essential_to_noise")):
            assert dict(zip(rows["feature"], rows[f"essential_to_{unit}"], strict=True)) == pytest.approx(one[key])
        assert one["lifetimes_noise"] == pytest.approx(
            {name: rho / len(X) ** 0.5 for name, rho in one["lifetimes"].items()}
        )
        assert {name: len(spans) for name, spans in one["intervals_noise"].items()} == {
            name: len(spans) for name, spans in one["intervals"].items()
        }
    spans = {"", "0", "0.2", "0.4", "0 to 0.2", "0.2 to 0.4", "0 to 0.4"}
    assert set(written["essential_noise"].fill_null("")) <= spans
    assert set(written["selected_noise"]) <= spans - {""}
    assert noap(*words, "--features-out", "f.csv", cwd=table).returncode == 2  # not overwritten
    assert noap(*words, "--features-out", "f.parquet", cwd=table).returncode == 0
    again = pl.read_parquet(table / "f.parquet")["essential_to_rho"]
    assert again.to_list() == written["essential_to_rho"].to_list()


def test_path_prints_lifetimes_and_writes_table_and_plot(table):
    done = noap("path", "data.csv", "-k", 2, "--points", 5, "--out", "p.csv", "--plot", "p.png", cwd=table)
    assert done.returncode == 0, done.stderr
    for words in ("essential to noise", "weight [kg]", "proved optimal", "Written to p.csv", "Written to p.png"):
        assert words in done.stdout
    frame = pl.read_csv(table / "p.csv")
    assert frame.columns[:3] == ["k", "rho", "noise"]
    assert frame.columns[-6:] == [f"loading {name}" for name in NAMES]
    assert (frame["bound"] >= frame["value"]).all()
    assert (table / "p.png").read_bytes()[:4] == b"\x89PNG"
    lists = noap("path", "data.csv", "-k", 2, "--noise", "0,0.2", "--out", "p.parquet", cwd=table)
    assert lists.returncode == 0, lists.stderr
    assert pl.read_parquet(table / "p.parquet")["features"].dtype == pl.List(pl.String)


def test_path_of_several_k(table):
    done = noap("path", table / "data.csv", "-k", 2, "-k", 1, "--rho", "1,0.5", "--method", "ascent", "--json")
    assert [path["k"] for path in json.loads(done.stdout)["paths"]] == [1, 2]
    assert [point["rho"] for point in json.loads(done.stdout)["paths"][0]["points"]] == [0.5, 1]
    assert json.loads(done.stdout)["paths"][0]["points"][0]["bound"] is None


def test_a_point_without_time_is_exit_code_3(table):
    done = noap("path", table / "data.csv", "-k", 2, "--rho", "1", "--method", "ascent", "--time-limit", 1e-9, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["paths"][0]["points"][0]["limit"] == "time"


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy", "a.npz"])
def test_attack_writes_data_of_exactly_the_robust_variance(table, result, name):
    document = json.loads(result.read_text())
    v = np.zeros(6)
    v[document["support"]] = document["loadings"]
    Z, mean, scales = centre_and_scale(X, center=True, scale=True)

    def written(*options):
        done = noap("attack", table / "data.csv", result, "--out", table / name, "--force", "--json", *options)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["variance_after"] == pytest.approx(document["robust_variance"], rel=1e-9)
        if name.endswith(".npy"):
            return np.load(table / name)
        if name.endswith(".npz"):
            found = np.load(table / name)
            assert found["feature_names"].tolist() == NAMES
            return found["X"]
        frame = pl.read_csv(table / name) if name.endswith(".csv") else pl.read_parquet(table / name)
        assert frame.columns == NAMES
        return frame.to_numpy()

    E = written("--perturbation", "--standardised")
    assert np.linalg.norm(E, axis=0).max() <= 0.3 * UNIT * (1 + 1e-12)
    assert np.mean((written("--standardised") @ v) ** 2) == pytest.approx(document["robust_variance"])
    assert written() == pytest.approx((Z + E) * scales + mean)
    assert written("--perturbation") == pytest.approx(E * scales)


def test_attacked_data_can_be_solved_again(table, result):
    noap("attack", table / "data.csv", result, "--standardised", "--out", table / "a.csv")
    again = noap("solve", table / "a.csv", "-k", 3, "--adversary", "none", "--no-center", "--no-scale", "--json")
    # No component of the attacked data is below the one that was attacked: the attack is an upper bound.
    assert json.loads(again.stdout)["robust_variance"] >= json.loads(result.read_text())["robust_variance"] * (1 - 1e-9)


def test_attack_of_other_data_warns(table, result):
    pl.DataFrame(X[::-1] ** 3, schema=NAMES).write_csv(table / "other.csv")
    done = noap("attack", table / "other.csv", result)
    assert done.returncode == 0
    assert "made from other data" in done.stderr
    assert "after the worst attack" in done.stdout


def test_attack_finds_features_by_name(table, result):
    pl.DataFrame(X, schema=NAMES).select(NAMES[::-1]).write_csv(table / "turned.csv")
    done = noap("attack", table / "turned.csv", result, "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout)["variance_after"] == pytest.approx(json.loads(result.read_text())["robust_variance"])


def test_sample_wise_and_no_adversary_can_be_attacked(table):
    for who, budget in (("sample", ("--noise", 0.5)), ("none", ())):
        out = table / f"{who}.json"
        solve = ("solve", table / "data.npy", "-k", 2, "--method", "ascent", "--adversary", who, *budget, "--out", out)
        assert noap(*solve).returncode == 0
        done = noap("attack", table / "data.npy", out, "--json")
        assert json.loads(done.stdout)["variance_after"] == pytest.approx(
            json.loads(out.read_text())["robust_variance"]
        )


def test_report_writes_one_page(table):
    done = noap("report", "data.csv", "-k", 2, "-o", "r.html", "--points", 5, "--components", 1, cwd=table)
    assert done.returncode == 0, done.stderr
    assert "r.html" in done.stdout
    page = (table / "r.html").read_text(encoding="utf-8")
    assert "weight [kg]" in page
    assert quote("loading größe") in page  # the table of the path, which holds every feature
    assert "data.csv" in page
    done = noap(
        "report", "data.csv", "-k", 2, "-o", "s.html", "--noise", 0.2, "--method", "ascent", "--json", cwd=table
    )
    document = json.loads(done.stdout)
    assert len(document["components"]) == 3
    assert document["noise"] == pytest.approx(0.2)


def test_nothing_is_overwritten_without_force(table, result):
    commands = [
        ("path", "data.csv", "-k", 1, "--noise", "0", "--method", "ascent", "--out", "f.csv"),
        ("path", "data.csv", "-k", 1, "--noise", "0", "--method", "ascent", "--plot", "f.png"),
        ("attack", "data.csv", "result.json", "--out", "f.npy"),
        ("report", "data.csv", "-k", 1, "--points", 2, "--method", "ascent", "-o", "f.html"),
        ("demo", "--out", "f-demo.png"),
    ]
    for command in commands:
        out = table / command[-1]
        out.write_text("precious")
        done = noap(*command, cwd=table)
        assert done.returncode == 2
        assert "--force" in done.stderr
        assert out.read_text() == "precious"
    assert noap(*commands[2], "--force", cwd=table).returncode == 0
    assert (table / "f.npy").read_bytes()[:6] == b"\x93NUMPY"
    assert not list(table.glob(".noap-*"))


def write(path, text):
    path.write_text(text)
    return path


def without(table, key):
    document = json.loads((table / "result.json").read_text())
    del document[key]
    return write(table / "less.json", json.dumps(document))


def changed(table, **entries):
    return write(table / "changed.json", json.dumps(json.loads((table / "result.json").read_text()) | entries))


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


BAD = {
    "list that is none": (lambda t: ["path", t / "data.csv", "--noise", "0,much"], "--noise must be numbers"),
    "negative rho": (lambda t: ["path", t / "data.csv", "--rho=-1,2"], "--rho"),
    "both lists": (lambda t: ["path", t / "data.csv", "--rho", "1", "--noise", "1"], "--noise and --rho"),
    "no budget to vary": (lambda t: ["path", t / "data.csv", "--adversary", "none"], "--adversary none"),
    "one point": (lambda t: ["path", t / "data.csv", "--points", "1"], "points"),
    "table of unknown kind": (lambda t: ["path", t / "data.csv", "--out", t / "p.xlsx"], "--out .* must end in"),
    "plot of unknown kind": (lambda t: ["path", t / "data.csv", "--plot", t / "p.bmp"], "--plot .* must end in"),
    "plot of two paths": (lambda t: ["path", t / "data.csv", "-k", "1", "-k", "2", "--plot", t / "p.png"], "--plot"),
    "no folder for the plot": (lambda t: ["path", t / "data.csv", "--plot", t / "no" / "p.png"], "does not exist"),
    "k > d": (lambda t: ["path", t / "data.csv", "-k", "7"], "k must be at most"),
    "no result": (lambda t: ["attack", t / "data.csv", t / "no.json"], "RESULT .* does not exist"),
    "result that is no JSON": (lambda t: ["attack", t / "data.csv", t / "data.csv"], "RESULT .* is not JSON"),
    "result that is a list": (lambda t: ["attack", t / "data.csv", write(t / "l.json", "[1]")], "is not a result"),
    "result without loadings": (lambda t: ["attack", t / "data.csv", without(t, "loadings")], "'loadings' is missing"),
    "result of nobody": (lambda t: ["attack", t / "data.csv", changed(t, adversary="Ghost")], "adversary 'Ghost'"),
    "vector not of length 1": (lambda t: ["attack", t / "data.csv", changed(t, loadings=[1, 1, 1])], "unit vector"),
    "features unknown": (lambda t: ["attack", t / "data.npy", t / "result.json"], "which FILE does not have"),
    "what without where": (lambda t: ["attack", t / "data.csv", t / "result.json", "--perturbation"], "add --out"),
    "several arrays": (lambda t: ["path", saved(t / "m.npz", a=X, b=X)], "it holds a, b"),
    "names missing": (lambda t: ["path", saved(t / "m.npz", X=X, feature_names=["a"])], "feature_names must hold 6"),
    "broken npz": (lambda t: ["path", write(t / "m.npz", "junk")], "cannot be read"),
    "too many components": (lambda t: ["report", t / "data.csv", "--components", "7"], "--components"),
    "deflation": (lambda t: ["report", t / "data.csv", "-k", "2", "--deflation", "magic"], "deflation must be one of"),
    "page of unknown kind": (lambda t: ["report", t / "data.csv", "-o", t / "r.pdf"], "--out .* must end in .html"),
    "page that is a folder": (lambda t: ["report", t / "data.csv", "-o", folder(t / "r.html")], "is a folder"),
    "nobody to report on": (lambda t: ["report", t / "data.csv", "--adversary", "none"], "--adversary none"),
    "text column": (lambda t: ["report", write(t / "t.csv", "a,[b]\n1,x\n2,y\n"), "-k", "1"], r"column '\[b\]'"),
}  # fmt: skip


def folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_clear_line_and_exit_code_2(table, result, arguments, words):
    before = {file.name for file in table.iterdir()}
    arguments = arguments(table)
    done = noap(*arguments, cwd=table)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert re.search(words, done.stderr), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    made = {file.name for file in table.iterdir()} - before
    assert made <= {"l.json", "less.json", "changed.json", "m.npz", "t.csv", "r.html"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_named(table):
    table.chmod(0o500)
    try:
        done = noap("path", table / "data.csv", "-k", 1, "--noise", "0", "--out", table / "p.csv")
    finally:
        table.chmod(0o700)
    assert done.returncode == 2
    assert "--out" in done.stderr


def test_row_numbers_are_noticed(table):
    lines = (table / "data.csv").read_text().splitlines()
    numbered = [f"{i - 1 if i else ''},{line}" for i, line in enumerate(lines)]
    (table / "numbered.csv").write_text("\n".join(numbered))
    done = noap("solve", table / "numbered.csv", "-k", 1, "--method", "ascent", "--json")
    assert "looks like row numbers" in done.stderr


def test_solve_prints_names_as_they_are(table):
    done = noap("solve", table / "data.csv", "-k", 6, "--method", "ascent", "--noise", 0)
    for name in NAMES:
        assert name in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("noap pa", "path"), ("noap re", "report"), ("noap path --adv", "--adversary"),
     ("noap path --adversary sa", "sample"), ("noap report --method mi", "mip-r")],
)  # fmt: skip
def test_the_shell_completes(typed, offered):
    words = typed.split(" ")
    asked = {"_NOAP_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-c", "import sys; sys.argv = ['noap']; from noap.cli import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | asked)
    assert offered in done.stdout.splitlines(), done


@pytest.mark.parametrize("verb", ["path", "attack", "report", "solve", "demo"])
def test_every_help_has_examples_and_json(verb):
    shown = noap(verb, "--help")
    assert shown.returncode == 0
    assert f"noap {verb}" in shown.stdout.replace("Usage: noap", "")
    assert "--json" in shown.stdout


def test_verify_accepts_a_proof_and_refuses_what_takes_too_long(table):
    assert noap("solve", "data.csv", "-k", 2, "--noise", 0.2, "--certificate", "proof.noap", cwd=table).returncode == 0
    assert "Accepted: " in noap("verify", "proof.noap", "data.csv", "--time-limit", 600, cwd=table).stdout
    refused = noap("verify", "proof.noap", "data.csv", "--time-limit", 1e-9, "--json", cwd=table)
    assert refused.returncode == 4
    document = json.loads(refused.stdout)
    assert document["message"] == "Rejected: it could not be proved within 1e-09 seconds."
    assert (document["ok"], document["bound"]) == (False, None)
    assert noap("verify", "proof.noap", "data.csv", "--memory-limit", 100, cwd=table).returncode == 0
    refused = noap("verify", "proof.noap", "data.csv", "--memory-limit", 0.0001, cwd=table)
    assert refused.returncode == 2
    assert "memory_limit" in refused.stderr
    wrong = noap("verify", "proof.noap", "data.csv", "--time-limit", 0, cwd=table)
    assert wrong.returncode == 2
    assert "time_limit must be a positive number of seconds" in wrong.stderr
