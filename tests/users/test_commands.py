"""The command line as a table: what each command answers, what it refuses, and what its options mean."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from command_folder import COSTS, MATRIX, NAMES, NOISE, OWN, UNIT, X, Z, fill, metric_of_samples

import noap as library
from commands import document, noap, refusal, run

COMMANDS = ["demo", "solve", "verify", "show", "path", "k-path", "near-optimal", "stability", "attack", "report",
            "reproduce"]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All files, a result and proofs; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("made")
    fill(folder)
    run("solve", "data.csv", "-k", 3, "--noise", 0.3, "--out", "r.json", "--certificate", "p.noap", cwd=folder)
    run("near-optimal", "data.csv", "-k", 2, "--within", 0.2, "--certificate", "list.noap", cwd=folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy of it to write into."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


# -- the program -------------------------------------------------------------------------------------------------------


def test_a_process_of_its_own(made):
    """Imports only what every command needs: no solver, no search, no plots."""
    for words in ([sys.executable, "-m", "noap"], [sys.executable, "-c", "from noap.cli import main; main()"]):
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False, cwd=made)
        assert (done.returncode, done.stdout.split()[0]) == (0, "noap")
    slow = ("sklearn", "matplotlib", "polars", "scipy", "pyscipopt", "highspy", "noap.search", "noap.mip",
            "noap.heuristics")  # fmt: skip
    code = (
        "import sys; sys.argv = ['noap', '--help']\n"
        "from noap.cli import main\n"
        f"try: main()\nfinally: print([name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = run(*filter(None, [command]), "--help")
    assert "bool" not in shown.lower()  # a flag takes no value, and the help shows none
    if command:
        for words in ("Usage: noap", "Output", "--json", "--help", f"\n noap {command}"):
            assert words in shown
    else:
        listed = re.findall(r"^│ ([a-z-]+) ", shown.split("Commands")[1], re.M)
        assert listed == COMMANDS
    if command == "solve":
        assert len(shown.splitlines()) <= 76
        panels = re.findall(r"^╭─ (.*?) ─", shown, re.M)
        assert panels == ["Arguments", "Data", "Problem", "Method", "Mixed-integer programs", "Output"]


def test_without_a_command_there_is_the_help():
    done = noap()
    assert "Commands" in done.stdout
    assert done.stderr == ""


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


# -- answers -----------------------------------------------------------------------------------------------------------

DATA = ("data.csv", "-k", 2)
# A command, and words that its text holds.
ANSWERS = {
    "solve": (("solve", *DATA), "a/b|loading|robust variance|plain variance|proved bound|(rigorous)"),
    "ascent": (("solve", *DATA, "--method", "ascent"), "robust variance|nothing is proved"),
    "components": (
        ("solve", *DATA, "-c", 2),
        "component 1|component 2|deflation (projection)|proved bound|(rigorous)|explained by the span",
    ),
    "costs": (("solve", *DATA, "--noise-file", "both.tsv"), "noise|cost|less its costs"),
    "components with costs": (
        ("solve", *DATA, "-c", 2, "--noise-file", "both.tsv", "--method", "ascent"),
        "noise|cost|less its costs|component 2",
    ),
    "verify": (("verify", "p.noap", "data.csv"), "Accepted: |data standardised|Features of its vector"),
    "verify a list": (("verify", "list.noap", "data.csv"), "Accepted: |a complete list of "),
    "show": (("show", "p.noap"), "Claim: |Vector: "),
    "path": (
        ("path", *DATA, "--noise", "0,0.3"),
        "essential to noise|a/b|Stages by noise|2 of 2 points proved optimal",
    ),
    "path by factors": (
        ("path", *DATA, "--noise-file", "noise.csv", "--factor", "0,1", "--method", "ascent"),
        "essential to|A factor multiplies the noise of every feature",
    ),
    "k-path": (("k-path", *DATA), "k = 1 to 2 of 6 features|2 of 2 levels proved optimal|features that come and go"),
    "k-path with costs": (("k-path", *DATA, "--noise-file", "both.tsv"), "less costs"),
    "near-optimal": (
        ("near-optimal", *DATA, "--within", 0.2),
        "sets of features within 20 % of the best|instead of|In all of them: |Complete: the search proves",
    ),
    "stability": (("stability", *DATA, "--n-boot", 4), "4 resamples: |In at least 80 % of the resamples: "),
    "attack": (("attack", "data.csv", "r.json"), "after the worst attack|norm of E"),
    "report": (("report", *DATA, "--points", 3, "-c", 1, "--method", "ascent"), "Report written to report.html"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_as_text_and_as_json(folder, name):
    words, said = ANSWERS[name]
    shown = " ".join(run(*words, cwd=folder).split())
    for part in said.split("|"):
        assert part in shown
    done = noap(*words, "--json", *(["--force"] if name == "report" else []), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["noap"] == library.__version__
    if name == "solve":
        plain = " ".join(run(*words, "--adversary", "none", cwd=folder).split())
        assert "cost" not in plain


@pytest.mark.parametrize("words", [("solve", "--noise", 0), ("path", "--noise", "0"), ("stability", "--n-boot", 2)])
def test_names_are_printed_as_they_are(made, words):
    shown = run(words[0], "data.csv", "-k", 6, "--method", "ascent", *words[1:], cwd=made)
    assert [name for name in NAMES if name not in shown] == []


# -- what is asked -----------------------------------------------------------------------------------------------------


def feature(noise):
    return library.FeatureWise(noise * UNIT)


# Options of solve, and the problem that they stand for.
PROBLEMS = {
    "noise": (("--noise", 0.5), {"adversary": feature(0.5)}),
    "default": ((), {"adversary": feature(0.1)}),
    "rho": (("--rho", 1.5), {"adversary": library.FeatureWise(1.5)}),
    "none": (("--adversary", "none"), {}),
    "sample": (("--adversary", "sample", "--noise", 0.5), {"adversary": library.SampleWise(0.5)}),
    "spectral": (("--adversary", "spectral", "--noise", 0.1), {"adversary": library.SpectralNorm(0.1 * UNIT)}),
    "as given": (("--no-center", "--no-scale"), {"X": X, "adversary": feature(0.1)}),
    "noise file": (("--noise-file", "noise.csv"), {"adversary": feature(NOISE)}),
    "two files": (
        ("--noise-file", "noise.csv", "--cost-file", "costs.csv"),
        {"adversary": feature(NOISE), "costs": COSTS},
    ),
    "one file": (("--noise-file", "both.tsv"), {"adversary": feature(NOISE), "costs": COSTS}),
    "units of FILE": (("--noise-file", "units.csv", "--noise-units", "data"), {"adversary": feature(np.full(6, 0.2))}),
    "costs of nobody": (("--adversary", "none", "--cost-file", "costs.csv"), {"costs": COSTS}),
    "streamed": (("--stream", "--noise-file", "both.tsv"), {"adversary": feature(NOISE), "costs": COSTS}),
    **{
        f"samples, {name}": (
            ("--adversary", "sample", "--noise-file", name),
            {"adversary": library.SampleWise(OWN)},
        )
        for name in ("own.csv", "labelled.csv", "with.csv")
    },
    "samples with costs": (
        ("--adversary", "sample", "--noise", 0.4, "--cost-file", "costs.csv"),
        {"adversary": library.SampleWise(0.4), "costs": COSTS},
    ),
    "diagonal": (("--metric", "diagonal.csv"), {"adversary": feature(0.1), "metric": np.arange(1.0, 7.0)}),
    "matrix": (("--metric", "matrix.csv"), {"adversary": feature(0.1), "metric": MATRIX}),
    "samples of a metric": (("--metric", "other.csv"), {"adversary": feature(0.1), "metric": metric_of_samples()}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_options_state_a_problem_whose_proof_is_accepted(folder, name):
    words, stated = PROBLEMS[name]
    given = {"X": Z, "k": 2, "adversary": library.NoAdversary()} | stated
    expected = library.solve(library.Problem(**given))
    found = document("solve", *DATA, *words, "--certificate", "c.noap", cwd=folder)
    assert found["objective"] == pytest.approx(expected.value, rel=1e-6)
    assert found["features"] == [NAMES[j] for j in expected.support]
    assert found["robust_variance"] == pytest.approx(expected.robust_variance, rel=1e-6)
    assert (found["costs"] is None) is ("costs" not in stated)
    unit = given["adversary"].noise_unit(len(X))
    noise = list(found["noise"].values()) if isinstance(found["noise"], dict) else found["noise"]
    assert np.array(noise, dtype=float) == pytest.approx(np.asarray(given["adversary"].rho) / unit)
    again = [word for word in words if word not in ("--stream",)]
    files = [w for i, w in enumerate(again) if str(again[max(i - 1, 0)]).endswith(("-file", "-units", "--metric"))]
    said = [w for w in again if w in files or str(w).endswith(("-file", "-units", "--metric"))]
    verdict = document("verify", "c.noap", "data.csv", *said, cwd=folder)
    assert verdict["ok"]
    assert verdict["with_costs"] is ("costs" in stated)
    assert set(verdict["features"]) == set(found["features"])


def test_a_table_may_take_a_column_as_noises_of_its_samples(made):
    words = ("-k", 2, "--adversary", "sample", "--noise-file", "with.csv")
    one = document("solve", "with.csv", "--drop", "noise", *words, cwd=made)
    assert one["objective"] == document("solve", "data.csv", *words, cwd=made)["objective"]
    assert one["noise"] == ["inf" if np.isinf(x) else x for x in OWN]


# Both files of noises and costs on the other commands: the numbers that JSON holds, and those of the library.
def stated(k=2):
    return library.Problem(Z, k, feature(NOISE), costs=COSTS)


OTHERS = {
    "path": (("--factor", "1,2"), lambda found: [point["objective"] for point in found["paths"][0]["points"]],
             lambda: [library.solve(library.Problem(Z, 2, feature(f * NOISE), costs=COSTS)).value for f in (1, 2)]),
    "k-path": ((), lambda found: [level["objective"] for level in found["levels"]],
               lambda: [library.solve(stated(k)).value for k in (1, 2)]),
    "near-optimal": (("--within", 0.2), lambda found: [one["value"] for one in found["supports"]],
                     lambda: library.near_optimal(stated(), 0.2).values.tolist()),
    "stability": (("--n-boot", 4, "--seed", 3), lambda found: [row["frequency"] for row in found["features"]],
                  lambda: library.stability(stated(), 4, random_state=3).to_frame()["frequency"].to_list()),
    "report": (("--points", 3, "-c", 1), lambda found: [found["components"][0]["objective"]],
               lambda: [library.solve(stated()).value]),
}  # fmt: skip


@pytest.mark.parametrize("command", OTHERS)
def test_every_command_takes_noises_and_costs(folder, command):
    words, numbers, expected = OTHERS[command]
    found = document(command, *DATA, "--noise-file", "both.tsv", *words, cwd=folder)
    assert numbers(found) == pytest.approx(expected(), rel=1e-4)
    of = found if command != "path" else found["paths"][0] | found["paths"][0]["budgets"]
    assert (of["noise"]["a/b"], of["costs"]["rho"]) == ("inf", 0.2)


def test_near_optimal_says_what_is_in_all_sets_and_in_some(made):
    near = library.near_optimal(library.Problem(Z, 2, feature(0.2)), within=0.2)
    words = ("near-optimal", *DATA, "--noise", 0.2, "--within", 0.2)
    found = document(*words, cwd=made)
    assert found["complete"] is True
    assert [one["features"] for one in found["supports"]] == [[NAMES[j] for j in s] for s in near.supports]
    assert found["core"] == [NAMES[j] for j in near.core]
    assert found["counts"] == {NAMES[j]: int(near.counts[j]) for j in np.flatnonzero(near.counts)}
    said = f"no other set is worth more than {near.threshold:.6g}"
    assert said in " ".join(run(*words, cwd=made).split())


@pytest.mark.parametrize("deflation", ["projection", "disjoint", "orthogonal"])
@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_several_components_are_those_of_the_estimator(made, deflation, stream):
    words = ("-c", 3, "--noise", 0.2, "--deflation", deflation, "--no-joint", *stream)
    found = document("solve", *DATA, *words, cwd=made)
    model = library.RobustSparsePCA(3, k=2, noise=0.2, scale=True, deflation=deflation, joint=False).fit(X)
    assert (found["joint"], found["deflation"]) == (None, deflation)
    assert [one["objective"] for one in found["components"]] == pytest.approx(model.robust_variance_.tolist())
    assert found["span_variance_ratio"] == pytest.approx(model.span_variance_ratio_.tolist())
    for one, v in zip(found["components"], model.components_, strict=True):
        assert one["features"] == [NAMES[j] for j in np.flatnonzero(v)]
        assert one["status"] == "optimal"


def test_one_component_is_not_a_list(made):
    one, same = (document("solve", *DATA, *more, cwd=made) for more in ((), ("-c", 1)))
    assert one | {"seconds": 0} == same | {"seconds": 0}
    assert "components" not in one


def test_programs(made):
    words = ("solve", *DATA, "--method")
    found = document(*words, "mip", "--pieces", 4, "--time-limit", 60, cwd=made)
    assert found["bound_proof"] == "solver"
    assert found["bound"] >= found["robust_variance"]
    assert "over 4 chosen features" in run(*words, "mip-r", "--backend", "highs", "--reduced-dim", 4, cwd=made)


# -- files that are written --------------------------------------------------------------------------------------------

WRITTEN = {
    "solve": ((), "r.csv", ("component", "feature", "loading")),
    "path": (("--points", 3), "t.csv", ("k", "rho", "noise")),
    "k-path": ((), "t.csv", ("k",)),
    "near-optimal": (("--within", 0.2), "t.csv", ("value",)),
    "stability": (("--n-boot", 4), "t.csv", ("feature",)),
}


@pytest.mark.parametrize("command", WRITTEN)
def test_tables_and_figures_are_written(folder, command):
    words, name, columns = WRITTEN[command]
    plots = () if command == "solve" else ("--plot", "t.png")
    shown = run(command, *DATA, *words, "--out", name, *plots, cwd=folder)
    assert f"Written to {name}." in shown
    assert tuple(pl.read_csv(folder / name).columns[: len(columns)]) == columns
    if plots:
        assert "Written to t.png." in shown
        assert (folder / "t.png").read_bytes()[:4] == b"\x89PNG"
        run(command, *DATA, *words, "--out", "t.parquet", cwd=folder)
        assert pl.read_parquet(folder / "t.parquet").height == pl.read_csv(folder / name).height
    written = document(command, *DATA, *words, "--out", "t.json", cwd=folder)
    assert json.loads((folder / "t.json").read_text()) == written


def test_path_writes_where_features_are_essential(folder):
    words = ("path", "data.csv", "-k", 1, "-k", 2, "--noise", "0,0.2,0.4", "--features-out")
    found = document(*words, "f.csv", cwd=folder)["paths"]
    written = pl.read_csv(folder / "f.csv")
    for one in found:
        rows = written.filter(pl.col("k") == one["k"]).drop_nulls("essential_to_noise")
        assert dict(zip(rows["feature"], rows["essential_to_rho"], strict=True)) == pytest.approx(one["essential_to"])
        for name in ("essential_to", "lifetimes"):
            assert one[f"{name}_noise"] == pytest.approx({key: rho / UNIT for key, rho in one[name].items()})
        assert {name: len(of) for name, of in one["intervals_noise"].items()} == {
            name: len(of) for name, of in one["intervals"].items()
        }
    spans = {"", "0", "0.2", "0.4", "0 to 0.2", "0.2 to 0.4", "0 to 0.4"}
    assert set(written["essential_noise"].fill_null("")) <= spans
    assert set(written["selected_noise"]) <= spans - {""}
    run(*words, "f.parquet", cwd=folder)
    assert pl.read_parquet(folder / "f.parquet")["essential_to_rho"].to_list() == written["essential_to_rho"].to_list()


PRECIOUS = [
    ("solve", *DATA, "--out", "f.json"),
    ("solve", *DATA, "--certificate", "f.noap"),
    ("path", *DATA, "--noise", "0", "--out", "f.csv"),
    ("path", *DATA, "--noise", "0", "--plot", "f.png"),
    ("path", *DATA, "--noise", "0", "--features-out", "f.csv"),
    ("near-optimal", *DATA, "--certificate", "f.noap"),
    ("stability", *DATA, "--n-boot", 2, "--out", "f.csv"),
    ("attack", "data.csv", "r.json", "--out", "f.npy"),
    ("report", *DATA, "--points", 2, "--method", "ascent", "-o", "f.html"),
    ("demo", "--out", "f.png"),
]


@pytest.mark.parametrize("words", PRECIOUS, ids=lambda words: f"{words[0]} {words[-2]}")
def test_nothing_is_overwritten_without_force(folder, words):
    out = folder / words[-1]
    out.write_text("precious")
    assert "--force" in refusal(*words, cwd=folder)
    assert out.read_text() == "precious"
    if words[0] != "demo":
        run(*words, "--force", cwd=folder)
        assert out.read_bytes() != b"precious"
    assert not list(folder.glob(".noap-*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_named(folder):
    folder.chmod(0o500)
    try:
        said = refusal("path", *DATA, "--noise", "0", "--out", "p.csv", cwd=folder)
    finally:
        folder.chmod(0o700)
    assert "--out" in said


# -- what ends early, and what is refused ------------------------------------------------------------------------------

CUT = {
    "solve": (("--method", "ascent", "--time-limit", 1e-9), lambda found: found["limit"] == "time"),
    "path": (
        ("--rho", 1, "--method", "ascent", "--time-limit", 1e-9),
        lambda found: found["paths"][0]["points"][0]["limit"] == "time",
    ),
    "near-optimal": (("--within", 0.5, "--limit", 1), lambda found: not found["complete"]),
    "near-optimal in no time": (("--within", 0.5, "--time-limit", 1e-9), lambda found: not found["complete"]),
}


@pytest.mark.parametrize("name", CUT)
def test_a_limit_is_exit_code_3_and_the_answer_so_far(made, name):
    words, is_cut = CUT[name]
    done = noap(name.split(" ")[0], *DATA, *words, "--json", cwd=made)
    assert done.returncode == 3, done.stderr
    assert is_cut(json.loads(done.stdout))


def test_a_list_that_was_cut_has_no_proof(folder):
    done = noap("near-optimal", *DATA, "--within", 0.5, "--limit", 1, "--certificate", "cut.noap", cwd=folder)
    assert done.returncode == 3
    assert "Not complete: there may be other sets" in done.stdout
    assert "none is written" in done.stdout
    assert not (folder / "cut.noap").exists()


REFUSED = {
    "solve": {
        ("-k", 0): "k must be at least 1",
        ("-k", 7): "k must be at most",
        ("-k", 2.5): "-k must be an integer",
        ("-k", "2,2", "-c", 3): "-k has 2 entries, and -c says 3 components",
        ("--noise", -1): "--noise must be",
        ("--noise", "much"): "--noise must be",
        ("--rho", "nan"): "--rho must be",
        ("--rho", 1, "--noise", 1): "--noise and --rho both set the budget",
        ("--adversary", "none", "--noise", 1): "--noise and --rho need an adversary",
        ("--adversary", "ghost"): "--adversary",
        ("--method", "magic"): "method must be one of",
        ("--pieces", 4): "pieces is not an option of method 'exact'",
        ("--method", "mip", "--backend", "abacus"): "abacus",
        ("--method", "ascent", "--certificate", "c.noap"): "--certificate needs --method exact or relaxation",
        ("-c", 0): "-c must be from 1 to the number of features, 6",
        ("-c", 7): "-c must be from 1",
        ("-c", 2, "--certificate", "c.noap"): r"--certificate holds one proof: that of one component \(-c 1\), or of",
        ("-c", 2, "--deflation", "magic"): "deflation must be one of",
        ("-c", 4, "--deflation", "disjoint", "--no-joint"): "leaves no feature after 3 components",
        ("--joint",): "--joint chooses several components together",
        ("--stream", "--adversary", "sample"): "--adversary sample moves samples one by one",
        ("--out", "no/r.json"): "does not exist",
        ("--noise-file", "noise.csv", "--noise", 0.1): "--noise-file sets the noise of every feature; leave out",
        ("--noise-file", "noise.csv", "--adversary", "sample"): "6 lines below its head and FILE has 40 samples",
        ("--noise-file", "noise.csv", "--adversary", "none"): "--noise-file needs --adversary feature or sample",
        ("--noise-file", "own.csv", "--adversary", "sample", "--noise", 1): "sets the noise of every sample; leave out",
        ("--noise-file", "own.csv", "--adversary", "sample", "--noise-units", "data"): "is about columns; leave it out",
        ("--cost-file", "costs.csv", "--adversary", "spectral"): "--cost-file needs --adversary feature, sample or",
        ("--noise-file", "both.tsv", "--cost-file", "costs.csv"): "both set the costs; keep one of them",
        ("--noise-units", "data"): "--noise-units says what --noise-file counts in; add --noise-file",
        ("--noise-file", "noise.csv", "--noise-units", "sd"): "--noise-units must be one of standardised, data, got",
        ("--noise-file", "none.csv"): "none.csv does not exist; check the path",
        ("--noise-file", "data.parquet"): "must be a .csv, .tsv or .txt table",
        ("--metric-ridge", 0.1): "add --metric",
        ("--metric", "none.csv"): "--metric .*none.csv does not exist",
        ("--metric", "forty.csv"): "has 40 numbers in one column and FILE has 6 features",
        ("--metric", "narrow.csv"): "has 2 columns and FILE has 6 features",
        ("--metric", "matrix.csv", "--metric-ridge", 0.1): "--metric is a matrix",
        ("--metric", "diagonal.csv", "--metric-ridge", 0.1): "--metric is a diagonal",
        ("--metric", "matrix.csv", "-c", 2): "leave out -c",
        ("--metric", "matrix.csv", "--stream"): "leave out --stream",
        ("--metric", "matrix.csv", "--adversary", "sample"): "metric",
        ("--metric", "matrix.csv", "--method", "mip"): "takes no metric",
        ("--metric", "other.csv", "--metric-ridge", 0): "ridge must be",
    },
    "path": {
        ("--noise", "0,much"): "--noise must be numbers",
        ("--rho=-1,2",): "--rho must hold",
        ("--rho", 1, "--noise", 1): "--noise and --rho both set the budgets",
        ("--adversary", "none"): "--adversary none has no budget to vary",
        ("--points", 1): "points",
        ("--out", "p.xlsx"): "--out .* must end in .csv, .parquet or .json",
        ("--plot", "p.bmp"): "--plot .* must end in",
        ("-k", 1, "--plot", "p.png"): "--plot draws one path",
        ("--plot", "no/p.png"): "does not exist",
        ("--noise-file", "noise.csv", "--noise", "0,1"): "pass --factor in place of a list",
        ("--factor", 1): "--factor multiplies the noises of --noise-file",
    },
    "near-optimal": {
        ("--adversary", "sample"): r"noap\.stability",
        ("--within", 1): "within",
    },
    "stability": {
        ("--n-boot", 0): "n_boot",
        ("--share", 2): "--share",
        ("--out", "s.txt"): "must end in",
        ("--method", "magic"): "method",
    },
    "report": {
        ("--components", 7): "--components must be from 1",
        ("--deflation", "magic"): "deflation must be one of",
        ("-o", "r.pdf"): "--out .* must end in .html",
        ("-o", "page.html"): "is a folder",
        ("--adversary", "none"): "--adversary none",
        ("--adversary", "sample", "--noise-file", "own.csv"): "one noise for all samples",
    },
}


ALL_REFUSED = {
    f"{command} {' '.join(map(str, words))}": (command, words) for command in REFUSED for words in REFUSED[command]
}


@pytest.mark.parametrize("name", ALL_REFUSED)
def test_bad_usage_is_one_line_and_exit_code_2(folder, name):
    command, words = ALL_REFUSED[name]
    (folder / "page.html").mkdir()
    before = {file.name for file in folder.iterdir()}
    k = () if command == "solve" and "-k" in words else ("-k", 2)
    assert re.search(REFUSED[command][words], refusal(command, "data.csv", *k, *words, cwd=folder))
    assert {file.name for file in folder.iterdir()} == before


MISSING = {
    "matplotlib": ("path", *DATA, "--plot", "p.png"),
    "fastexcel": ("solve", "data.xlsx"),
    "distributed": ("reproduce", "theorem3", "--quick", "--cluster", "tcp://a:1"),
    "highspy": ("solve", *DATA, "--method", "mip", "--backend", "highs"),
}


@pytest.mark.parametrize("package", MISSING)
def test_what_is_missing_is_said_with_the_line_that_installs_it(folder, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    (folder / "data.xlsx").write_text("junk")
    assert re.search(r"pip install 'noap(\[\w+\])?'", refusal(*MISSING[package], cwd=folder))


def test_the_demo_leaves_out_what_it_cannot_draw(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = run("demo", cwd=tmp_path)
    assert "robust variance" in shown
    assert "The plots are left out: they need matplotlib; install it with: pip install 'noap[plot]'." in shown
    assert [file.name for file in tmp_path.iterdir()] == ["noap-demo-report.html"]
    assert "noap reproduce needs matplotlib" in refusal("reproduce", "theorem3", "--quick", cwd=tmp_path)


def test_a_command_that_is_none():
    assert "sovle" in refusal("sovle")


# What is wrong with a table of noises, ALL and REST being lines for all features, and for all but the one called rho.
WRONG = {
    "feature,noise\nrho,0.1\n": "has no line for the feature 'weight \\[kg\\]' of FILE; add one",
    "feature,noise\nALL\nash,0.1\n": "line 8: FILE has no feature 'ash'; check the spelling, or remove the line",
    "feature,noise\nALL\nrho,0.1\n": "has two lines for the feature 'rho'; keep one of them",
    "feature,noise\nrho,-0.1\nREST\n": "line 2: the noise of 'rho' must be at least 0, got -0.1",
    "feature,noise\nrho,low\nREST\n": r"line 2: the noise of 'rho' must be a number \(inf .*\), got 'low'",
    "feature,noise\nrho,\nREST\n": "line 2: the noise of 'rho' must be a number",
    "feature,noise\nrho,nan\nREST\n": "line 2: the noise of 'rho' must be at least 0, got nan",
    "feature,noise,cost\nrho,0.1,inf\nREST\n": "line 2: the cost of 'rho' must be finite and at least 0, got inf",
    "feature,sd,unit\nALL\n": "has no column called noise; give one that name",
    "noise\n0.1\n0.2\n": "2 lines below its head and FILE has 40 samples; give it one line for every sample",
    "noise\nlow\n": r"line 2: the noise must be a number \(inf for a sample that is not to be trusted\), got 'low'",
    "noise\n0.1\n-1\n": "line 3: the noise must be at least 0, got -1",
    "a,b\n0.1,0.2\n": "has no column called noise; give one that name",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_table_of_noises_is_one_sentence(folder, text):
    lines = [f'"{name}",0.1' for name in NAMES]
    filled = text.replace("ALL", "\n".join(lines)).replace("REST", "\n".join(lines[:-1]))
    (folder / "wrong.csv").write_text(filled)
    who = "feature" if text.startswith("feature") else "sample"
    said = refusal("solve", *DATA, "--adversary", who, "--noise-file", "wrong.csv", cwd=folder)
    assert said.startswith("noap: --noise-file ")
    assert re.search(WRONG[text], said)


def test_lines_for_columns_that_are_left_out_are_no_mistake(made):
    words = ("--noise-file", "noise.csv", "--drop", "rho,größe")
    found = document("solve", *DATA, "--method", "ascent", *words, cwd=made)
    assert "rho" not in found["noise"]
    assert found["noise"]["length, cm"] == pytest.approx(0.1)


# -- proofs ------------------------------------------------------------------------------------------------------------


def test_show_prints_a_certificate_without_the_data(made):
    lines = run("show", "p.noap", cwd=made).splitlines()
    shown = document("show", "p.noap", cwd=made)
    assert shown["explanation"] == lines
    assert shown["k"] == 3
    assert shown["claimed"]["value"] <= shown["claimed"]["bound"]


def test_verify_rejects_other_data_with_code_4(folder):
    pl.DataFrame(X[:-1], schema=NAMES).write_csv(folder / "fewer.csv")
    for proof in ("p.noap", "list.noap"):
        assert noap("verify", proof, "fewer.csv", cwd=folder).returncode == 4
    (folder / "other-noise.csv").write_text((folder / "noise.csv").read_text().replace("0.25", "0.15"))
    run("solve", *DATA, "--noise-file", "noise.csv", "--certificate", "own.noap", cwd=folder)
    assert "noises of their own" in run("verify", "own.noap", "data.csv", cwd=folder)
    done = noap("verify", "own.noap", "data.csv", "--noise-file", "other-noise.csv", cwd=folder)
    assert done.returncode == 4
    assert "Rejected: the certificate is about other budgets" in done.stdout


def test_verify_takes_limits(made):
    words = ("verify", "p.noap", "data.csv")
    assert "Accepted: " in run(*words, "--time-limit", 600, "--memory-limit", 100, cwd=made)
    done = noap(*words, "--time-limit", 1e-9, "--json", cwd=made)
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["bound"]) == (4, False, None)
    assert found["message"] == "Rejected: it could not be proved within 1e-09 seconds."
    assert "memory_limit" in refusal(*words, "--memory-limit", 0.0001, cwd=made)
    assert "time_limit must be a positive number of seconds" in refusal(*words, "--time-limit", 0, cwd=made)


def test_a_proof_names_the_command_that_checks_it(folder):
    words = ("--metric", "other.csv", "--metric-ridge", 0.1, "--columns", "größe,a/b,rho")
    said = run("solve", *DATA, *words, "--certificate", "m.noap", cwd=folder)
    same = "verify m.noap data.csv --metric other.csv --metric-ridge 0.1 --columns größe,a/b,rho"
    assert f"check it with: noap {same}".replace("größe,a/b,rho", "'größe,a/b,rho'") in said
    assert "with a metric" in run(*same.split(), cwd=folder)
    # Another ridge is another metric.
    done = noap(*same.replace("--metric-ridge 0.1 ", "").split(), cwd=folder)
    assert done.returncode == 4
    assert "another metric" in done.stdout
    # The certificate holds its own.
    said = run("verify", "m.noap", "data.csv", "--columns", "größe,a/b,rho", cwd=folder)
    assert "Accepted" in said
    assert "with a metric" in said
    assert "no metric; leave out --metric" in refusal(
        "verify", "p.noap", "data.csv", "--metric", "matrix.csv", cwd=folder
    )
