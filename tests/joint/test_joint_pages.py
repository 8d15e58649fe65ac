"""The report and the pictures of components that were chosen together."""

import csv
import io
import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_wine

import noap
from commands import noap as command_line
from noap.errors import InvalidProblem
from noap.report import build_report
from noap.report.components import as_csv


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def made(wine):
    return build_report(wine, k=3, noise=0.3, n_components=3, points=3, joint=True, title="wine")


def test_the_table_has_a_row_for_all_of_them(made):
    joint, page = made.joint, made.html()
    (row,) = re.findall(r'<tr class="together">.*?</tr>', page)
    cells = re.findall(r'<td data-label="(\w+)"><div>(.*?)</div></td>', row)
    shown = dict(cells)
    assert float(shown["value"]) <= joint.value <= float(shown["value"]) * (1 + 1e-3)
    assert joint.bound <= float(shown["bound"]) <= joint.bound * (1 + 1e-3)
    assert float(shown["gap"].split("\N{NO-BREAK SPACE}")[0]) >= 100 * joint.gap
    assert shown["proved"] == "optimal together (rigorous)"
    assert "verified" in shown["certificate"]
    assert page.count("✓ verified") == 4
    assert "no 3 such components are worth more than the bound of the last row" in page
    assert "from the features that the others leave keeps more" in page
    assert "the 3 components chosen together keep" in page


def test_rows_are_those_of_the_estimator(wine, made):
    model = noap.RobustSparsePCA(n_components=3, k=3, noise=0.3, scale=True, joint=True).fit(wine)
    assert [one.result.value for one in made.components] == pytest.approx(model.robust_variance_)
    rows = list(csv.DictReader(io.StringIO(as_csv(made.components))))
    names = [row["feature"] for row in rows]
    assert len(set(names)) == len(names)
    assert {row["certificate"] for row in rows} == {"verified"}
    assert all(float(row["bound"]) >= float(row["value"]) for row in rows)


def test_one_by_one_nothing_has_changed(wine):
    page = build_report(wine, k=2, n_components=2, points=3, method="ascent").html()
    assert 'class="together"' not in page
    assert "Each later one is the best of what those before leave" in page
    assert build_report(wine, k=2, n_components=2, points=3, deflation="disjoint").joint is not None


def test_the_command_writes_it(wine, tmp_path):
    wine.to_csv(tmp_path / "wine.csv", index=False)
    done = command_line("report", "wine.csv", "-k", 2, "-c", 2, "--points", 3, "--joint", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["joint"]["status"] == "optimal"
    assert document["joint"]["value"] == pytest.approx(sum(one["objective"] for one in document["components"]))
    assert 'class="together"' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_pictures_of_several_components(wine):
    model = noap.RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True, joint=True).fit(wine)
    joint = model.joint_result_
    axes = joint.plot().axes[0]
    assert len(axes.patches) == sum(len(one.support) for one in joint.components)
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        wine.columns[j]
        for one in model.components_
        for j in np.argsort(-np.abs(one), kind="stable")[: (one != 0).sum()]
    ]
    assert axes.get_title(loc="left").startswith("3 components chosen together: ")
    few = noap.figures.draw_components(model, top=2).axes[0]
    assert len(few.patches) == 6
    assert any("2 smaller not shown" in text.get_text() for text in few.texts)
    assert "proved at most" in noap.figures.draw_scree(model).axes[0].get_title(loc="left")
    loadings = noap.figures.draw_loadings(joint, 1).axes[0]
    assert len(loadings.patches) == len(joint.components[1].support)
    with pytest.raises(InvalidProblem, match="component must be from 0 to 2"):
        noap.figures.draw_loadings(joint, 3)
    apart = noap.RobustSparsePCA(n_components=2, k=2, method="ascent").fit(wine)
    assert "one after the other" in noap.figures.draw_components(apart).axes[0].get_title(loc="left")


def test_nothing_to_draw():
    problem = noap.Problem(np.diag([1.0, -1.0]), k=1, adversary=noap.FeatureWise(2.0))
    with pytest.warns(noap.errors.NoapWarning):
        joint = noap.solve_components(problem, 2)
    with pytest.raises(InvalidProblem, match="no component to draw"):
        joint.plot()
    with pytest.raises(InvalidProblem, match="fitted RobustSparsePCA"):
        noap.figures.draw_components("nothing")


def test_the_claim_rounds_outwards():
    rng = np.random.default_rng(0)
    for seed in range(20):
        problem = noap.Problem(rng.standard_normal((8, 4)), k=2, adversary=noap.FeatureWise(0.2))
        joint = noap.solve_components(problem, 2, random_state=seed)
        bound, value = re.findall(r"than ([0-9.e+-]+) together, and these are worth ([0-9.e+-]+) ", joint.claim)[0]
        assert float(bound) >= joint.bound
        assert float(value) <= joint.value
