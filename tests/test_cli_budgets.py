"""Noises and costs of single features on the command line: --noise-file, --cost-file, and what is wrong with them."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

import noap
from commands import run
from noap.errors import InvalidProblem


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data.iloc[:, :8]


@pytest.fixture(scope="module")
def noise():
    return np.array([0.3, 0.1, 0.0, 0.25, np.inf, 0.4, 0.2, 0.05])


@pytest.fixture
def files(tmp_path, wine, noise):
    wine.to_csv(tmp_path / "wine.csv", index=False)
    # Not in the order of the table, and one line more than names need.
    lines = [f"{name},{x}" for name, x in zip(wine.columns, noise, strict=True)]
    (tmp_path / "noise.csv").write_text("\n".join(["feature,noise", *reversed(lines), ""]))
    costs = [
        f"{name};{x}" for name, x in zip(wine.columns, ["0,1", "0", "0,05", "", "0", "0,2", "0", "0"], strict=True)
    ]
    (tmp_path / "costs.csv").write_text("\n".join(["name;cost", *costs]))
    both = [f"{name}\t{x}\t0.1" for name, x in zip(wine.columns, noise, strict=True)]
    (tmp_path / "both.tsv").write_text("\n".join(["feature\tnoise\tcost", *both]))
    return tmp_path


COSTS = np.array([0.1, 0.0, 0.05, 0.0, 0.0, 0.2, 0.0, 0.0])


def problem_of(wine, noise, k=3, costs=None, scales=1.0):
    Z = noap.standardise(wine)
    return noap.Problem(Z, k=k, adversary=noap.FeatureWise(noise / scales * np.sqrt(len(wine))), costs=costs)


@pytest.mark.parametrize("with_costs", [False, True])
def test_solve_with_a_noise_file_is_solve_with_these_budgets(files, wine, noise, with_costs):
    more = ["--cost-file", files / "costs.csv"] if with_costs else []
    found = json.loads(run("solve", files / "wine.csv", "-k", 3, "--noise-file", files / "noise.csv", "--json", *more))
    expected = noap.solve(problem_of(wine, noise, costs=COSTS if with_costs else None))
    assert found["features"] == [wine.columns[j] for j in expected.support]
    assert found["objective"] == pytest.approx(expected.value, rel=1e-9)
    assert found["robust_variance"] == pytest.approx(expected.robust_variance, rel=1e-9)
    assert [float(found["noise"][name]) for name in wine.columns] == pytest.approx(noise)
    assert found["noise"]["magnesium"] == "inf"
    assert found["rho"]["alcohol"] == pytest.approx(0.3 * np.sqrt(len(wine)))
    assert (found["costs"] is None) is not with_costs
    if with_costs:
        assert list(found["costs"].values()) == COSTS.tolist()


def test_loadings_have_noise_and_cost_beside_them(files):
    said = run("solve", files / "wine.csv", "-k", 3, "--noise-file", files / "both.tsv")
    assert all(word in said for word in ("noise", "cost", "less its costs"))
    several = run(
        "solve", files / "wine.csv", "-k", 2, "-c", 2, "--noise-file", files / "both.tsv", "--method", "ascent"
    )
    assert all(word in several for word in ("noise", "cost", "less its costs", "component 2"))
    plain = run("solve", files / "wine.csv", "-k", 3)
    assert "noise" not in plain
    assert "cost" not in plain


def test_noise_in_the_units_of_the_file_is_divided_by_the_standard_deviations(files, wine):
    half = 0.05 * wine.mean()
    (files / "cv.csv").write_text("feature,noise\n" + "\n".join(f"{name},{x!r}" for name, x in half.items()))
    words = ("solve", files / "wine.csv", "-k", 3, "--noise-file", files / "cv.csv", "--json")
    found = json.loads(run(*words, "--noise-units", "data"))
    assert list(found["noise"].values()) == pytest.approx((half / wine.std(ddof=0)).tolist())
    expected = noap.solve(problem_of(wine, half.to_numpy(), scales=wine.std(ddof=0).to_numpy()))
    assert found["robust_variance"] == pytest.approx(expected.value, rel=1e-6)
    assert json.loads(run(*words))["noise"]["alcohol"] == pytest.approx(half["alcohol"])


def test_a_certificate_holds_budgets_and_costs(files):
    data, proof = files / "wine.csv", files / "proof.noap"
    own = ("--noise-file", files / "noise.csv", "--cost-file", files / "costs.csv")
    run("solve", data, "-k", 3, *own, "--certificate", proof)
    verdict = json.loads(run("verify", proof, data, "--json"))
    assert verdict["ok"]
    assert verdict["own_budgets"]
    assert verdict["with_costs"]
    assert "noises of their own" in run("verify", proof, data)
    run("solve", data, "-k", 3, *own, "--certificate", proof, "--force")
    other = (files / "noise.csv").read_text().replace("ash,0.25", "ash,0.15").replace("alcohol,0.3", "alcohol,0.2")
    (files / "other.csv").write_text(other)
    said = run("verify", proof, data, "--noise-file", files / "other.csv", *own[2:])
    assert "Rejected: the certificate is about other budgets" in said


def test_attack_reads_the_budgets_of_a_result(files, wine, noise):
    out = files / "result.json"
    run("solve", files / "wine.csv", "-k", 3, "--noise-file", files / "noise.csv", "--out", out)
    E = files / "E.npy"
    words = ("attack", files / "wine.csv", out, "--perturbation", "--standardised", "--out", E, "--json")
    document = json.loads(run(*words))
    lengths = np.linalg.norm(np.load(E), axis=0)
    assert (lengths <= np.sqrt(len(wine)) * noise * (1 + 1e-9)).all()
    assert lengths.any()
    assert document["variance_after"] == pytest.approx(json.loads(out.read_text())["robust_variance"])
    assert "times the budget of every feature" in run("attack", files / "wine.csv", out)


def test_paths_count_in_factors(files, wine, noise):
    words = ("path", files / "wine.csv", "-k", 2, "--noise-file", files / "noise.csv", "--method", "ascent")
    document = json.loads(run(*words, "--factor", "0,1,2", "--json"))
    path = document["paths"][0]
    assert path["counts_in"] == "factor"
    assert [point["factor"] for point in path["points"]] == [0.0, 1.0, 2.0]
    assert path["budgets"]["noise"]["magnesium"] == "inf"
    one = noap.solve(problem_of(wine, noise, k=2), "ascent")
    assert path["points"][1]["robust_variance"] == pytest.approx(one.value)
    said = run(*words, "--factor", "0,1,2")
    assert "essential to" in said
    assert "A factor multiplies the noise of every feature" in said
    out = files / "path.csv"
    run(*words, "--factor", "0,1", "--out", out)
    assert out.read_text().startswith("k,factor,value")
    with pytest.raises(InvalidProblem, match="pass --factor in place of a list"):
        run(*words, "--noise", "0,1")
    with pytest.raises(InvalidProblem, match="--factor multiplies the noises of --noise-file"):
        run("path", files / "wine.csv", "--factor", "1")
    costly = json.loads(run(*words, "--factor", "0,1", "--cost-file", files / "costs.csv", "--json"))["paths"][0]
    assert costly["costs"]["alcohol"] == 0.1
    for point in costly["points"]:
        paid = sum(costly["costs"][name] for name in point["features"])
        assert point["objective"] == pytest.approx(point["robust_variance"] - paid)


def test_a_path_over_k_takes_both_files(files, wine, noise):
    document = json.loads(run("k-path", files / "wine.csv", "-k", 3, "--noise-file", files / "both.tsv", "--json"))
    for level in document["levels"]:
        expected = noap.solve(problem_of(wine, noise, k=level["k"], costs=np.full(8, 0.1)))
        assert level["objective"] == pytest.approx(expected.value, rel=1e-4)
    assert document["noise"]["ash"] == 0.0
    assert "less costs" in run("k-path", files / "wine.csv", "-k", 2, "--noise-file", files / "both.tsv")


def test_other_sets_take_both_files(files, wine, noise):
    both = ["--noise-file", files / "noise.csv", "--cost-file", files / "costs.csv", "--json"]
    found = json.loads(run("near-optimal", files / "wine.csv", "-k", 3, "--within", 0.1, *both))
    expected = noap.near_optimal(problem_of(wine, noise, costs=COSTS), 0.1)
    assert [entry["value"] for entry in found["supports"]] == pytest.approx(list(expected.values))
    names = [sorted(wine.columns[j] for j in support) for support in expected.supports]
    assert [sorted(entry["features"]) for entry in found["supports"]] == names
    assert found["noise"]["ash"] == 0
    assert found["costs"]["alcohol"] == 0.1


def test_resamples_take_both_files(files, wine, noise):
    both = ["--noise-file", files / "noise.csv", "--cost-file", files / "costs.csv", "--json"]
    found = json.loads(run("stability", files / "wine.csv", "-k", 3, "--n-boot", 5, *both))
    expected = noap.stability(problem_of(wine, noise, costs=COSTS), 5, random_state=0)
    assert found["features"] == expected.to_frame().to_dicts()
    assert found["noise"]["magnesium"] == "inf"


def test_streams_take_both_files(files, wine, noise):
    own = ("--noise-file", files / "both.tsv")
    found = json.loads(run("solve", files / "wine.csv", "--stream", "-k", 3, *own, "--json"))
    expected = noap.solve(problem_of(wine, noise, costs=np.full(8, 0.1)))
    assert found["objective"] == pytest.approx(expected.value, rel=1e-4)


def test_a_table_may_say_more_than_is_used(files):
    words = ("solve", files / "wine.csv", "-k", 2, "--method", "ascent", "--json", "--noise-file", files / "noise.csv")
    found = json.loads(run(*words, "--drop", "alcohol,ash"))
    assert "alcohol" not in found["noise"]
    assert found["noise"]["malic_acid"] == pytest.approx(0.1)


WRONG = {
    "feature,noise\nalcohol,0.1\n": "has no line for the feature 'malic_acid' of FILE; add one",
    "feature,noise\nALL\nweight,0.1\n": "line 10: FILE has no feature 'weight'; check the spelling, or remove the line",
    "feature,noise\nALL\nash,0.1\n": "has two lines for the feature 'ash'; keep one of them",
    "feature,noise\nash,-0.1\nREST\n": "line 2: the noise of 'ash' must be at least 0, got -0.1",
    "feature,noise\nash,low\nREST\n": r"line 2: the noise of 'ash' must be a number \(inf .*\), got 'low'",
    "feature,noise\nash,\nREST\n": "line 2: the noise of 'ash' must be a number",
    "feature,noise\nash,nan\nREST\n": "line 2: the noise of 'ash' must be at least 0, got nan",
    "feature,noise,cost\nash,0.1,inf\nREST\n": "line 2: the cost of 'ash' must be finite and at least 0, got inf",
    "feature,sd,unit\nALL\n": "has no column called noise; give one that name",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_noise_file_is_one_sentence(files, wine, text):
    def filled(names):
        return "\n".join(f"{name},0.1" for name in names)

    rest = [name for name in wine.columns if name != "ash"]
    (files / "wrong.csv").write_text(text.replace("ALL", filled(wine.columns)).replace("REST", filled(rest)))
    with pytest.raises(InvalidProblem, match=WRONG[text]) as caught:
        run("solve", files / "wine.csv", "--noise-file", files / "wrong.csv")
    assert str(caught.value).startswith(f"--noise-file {files / 'wrong.csv'}")


def test_options_that_do_not_go_together_are_refused(files):
    data, noises, costs = files / "wine.csv", files / "noise.csv", files / "costs.csv"
    for words, message in (
        (("--noise-file", noises, "--noise", 0.1), "--noise-file sets the noise of every feature; leave out"),
        (("--noise-file", noises, "--adversary", "sample"), "8 lines below its head and FILE has 178 samples"),
        (("--noise-file", noises, "--adversary", "none"), "--noise-file needs --adversary feature or sample"),
        (("--cost-file", costs, "--adversary", "spectral"), "--cost-file needs --adversary feature, sample or none"),
        (("--noise-file", files / "both.tsv", "--cost-file", costs), "both set the costs; keep one of them"),
        (("--noise-units", "data"), "--noise-units says what --noise-file counts in; add --noise-file"),
        (("--noise-file", noises, "--noise-units", "sd"), "--noise-units must be one of standardised, data, got 'sd'"),
        (("--noise-file", files / "none.csv"), "none.csv does not exist; check the path"),
        (("--noise-file", files / "wine.parquet"), "wine.parquet does not exist"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            run("solve", data, *words)
    # Nobody attacks, and features cost something all the same.
    found = json.loads(run("solve", data, "-k", 2, "--adversary", "none", "--cost-file", costs, "--json"))
    paid = sum(found["costs"][name] for name in found["features"])
    assert found["objective"] == pytest.approx(found["robust_variance"] - paid)
    assert list(found["costs"].values()) == COSTS.tolist()


def test_a_report_takes_both_files(files):
    words = ("report", files / "wine.csv", "-k", 2, "--method", "ascent", "--points", 3, "--components", 1)
    out = files / "report.html"
    document = json.loads(run(*words, "--noise-file", files / "both.tsv", "--out", out, "--json"))
    assert document["noise"]["magnesium"] == "inf"
    assert document["costs"]["ash"] == 0.1
    assert "noise" in out.read_text()
