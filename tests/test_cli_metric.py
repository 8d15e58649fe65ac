"""A metric on the command line: --metric and --metric-ridge of solve and verify, and what is wrong with them."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import noap
from commands import run
from noap.errors import InvalidProblem


@pytest.fixture(scope="module")
def views():
    wine = load_wine(as_frame=True)
    table = wine.data.iloc[:, :5]
    return table[wine.target == 0], table[wine.target == 1]


@pytest.fixture
def files(tmp_path, views):
    one, two = views
    one.to_csv(tmp_path / "one.csv", index=False)
    # In another order, with a column of labels.
    two.iloc[:, ::-1].assign(kind="two").to_csv(tmp_path / "two.csv", index=False)
    B = np.eye(5) + 0.25
    names = list(one.columns)[::-1]
    pd.DataFrame(B + np.diag(np.arange(5.0)), columns=names).to_csv(tmp_path / "matrix.csv", index=False)
    pd.DataFrame({"weight": np.arange(1.0, 6.0)}).to_csv(tmp_path / "diagonal.csv", index=False)
    return tmp_path


def problem_of(views, metric, noise=0.2):
    X = noap.standardise(views[0])
    return noap.Problem(X, 2, noap.FeatureWise(noise * len(X) ** 0.5), metric=metric)


def metric_of(name, views):
    one, two = views
    if name == "diagonal.csv":
        return np.arange(1.0, 6.0)
    if name == "matrix.csv":
        return np.eye(5) + 0.25 + np.diag(np.arange(5.0)[::-1])
    Y = (two - two.mean()).to_numpy() / one.std(ddof=0).to_numpy()
    return Y.T @ Y / len(Y) + 1e-3 * np.mean(Y**2) * np.eye(5)


@pytest.mark.parametrize("name", ["two.csv", "matrix.csv", "diagonal.csv"])
def test_solve_and_verify(name, files, views):
    words = ("--metric", files / name)
    said = json.loads(
        run("solve", files / "one.csv", "-k", 2, "--noise", 0.2, *words, "--certificate", files / "p.noap", "--json")
    )
    expected = noap.solve(problem_of(views, metric_of(name, views)))
    assert said["metric"] is True
    assert said["robust_variance"] == pytest.approx(expected.value, rel=1e-6)
    assert "with a metric" in run("verify", files / "p.noap", files / "one.csv", *words)
    document = json.loads(run("verify", files / "p.noap", files / "one.csv", *words, "--json"))
    assert document["ok"]
    assert document["with_metric"]


def test_the_proof_names_its_command(files):
    said = run(
        "solve", files / "one.csv", "-k", 2, "--metric", files / "two.csv", "--columns", "alcohol,ash,magnesium",
        "--metric-ridge", 0.1, "--certificate", files / "p.noap",
    )  # fmt: skip
    assert "--metric-ridge 0.1" in said
    words = ("verify", files / "p.noap", files / "one.csv", "--metric", files / "two.csv", "--columns")
    run(*words, "alcohol,ash,magnesium", "--metric-ridge", 0.1)
    # Another ridge is another metric.
    assert "another metric" in run(*words, "alcohol,ash,magnesium")
    # The certificate holds its own.
    said = run("verify", files / "p.noap", files / "one.csv", "--columns", "alcohol,ash,magnesium")
    assert "Accepted" in said
    assert "with a metric" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric-ridge", "0.1"], "add --metric"),
        (["--metric", "{}/none.csv"], "--metric .*none.csv does not exist"),
        (["--metric", "{}/short.csv"], "has 3 numbers in one column and FILE has 5 features"),
        (["--metric", "{}/narrow.csv"], "has 2 columns and FILE has 5 features"),
        (["--metric", "{}/matrix.csv", "--metric-ridge", "0.1"], "--metric is a matrix"),
        (["--metric", "{}/diagonal.csv", "--metric-ridge", "0.1"], "--metric is a diagonal"),
        (["--metric", "{}/matrix.csv", "-c", "2"], "leave out -c"),
        (["--metric", "{}/matrix.csv", "--stream"], "leave out --stream"),
        (["--metric", "{}/matrix.csv", "--adversary", "sample"], "metric"),
        (["--metric", "{}/matrix.csv", "--method", "mip"], "takes no metric"),
        (["--metric", "{}/two.csv", "--metric-ridge", "0"], "ridge must be"),
    ],
)
def test_one_sentence_says_what_is_wrong(words, said, files):
    (files / "short.csv").write_text("weight\n1\n2\n3\n")
    (files / "narrow.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(InvalidProblem, match=said):
        run("solve", files / "one.csv", "-k", 2, *[word.format(files) for word in words])


def test_no_metric_was_there(files):
    run("solve", files / "one.csv", "-k", 2, "--certificate", files / "p.noap")
    with pytest.raises(InvalidProblem, match="no metric; leave out --metric"):
        run("verify", files / "p.noap", files / "one.csv", "--metric", files / "matrix.csv")
