"""The first example: what README and docs say of it, its picture, and that it runs with what noap itself needs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import noap
from commands import noap as command_line

ROOT = Path(__file__).parent.parent
CELLS = load_breast_cancer()
NAMES = [str(name) for name in CELLS.feature_names[:10]]
NOISE = np.sqrt((CELLS.data[:, 10:20] ** 2).mean(axis=0)) / CELLS.data[:, :10].std(axis=0)


@pytest.fixture(scope="module")
def both():
    """The robust components of 1 to 10 features, the plain ones, and what the errors leave of these."""
    Z = noap.standardize(CELLS.data[:, :10])
    problem = noap.Problem(Z, 10, noise=NOISE, feature_names=NAMES)
    robust, plain = noap.k_path(problem), noap.k_path(problem.with_adversary(noap.NoAdversary()))
    return robust, plain, np.array([problem.value(v) for v in plain.vectors])


def test_the_errors_are_those_of_the_same_measurements():
    for name, error in zip(NAMES, CELLS.feature_names[10:20], strict=True):
        assert (name.removeprefix("mean "), "error") == tuple(str(error).rsplit(" ", 1))
    assert {name: f"{noise:.2f}" for name, noise in zip(NAMES, NOISE, strict=True)} == {
        "mean radius": "0.14", "mean texture": "0.31", "mean perimeter": "0.14", "mean area": "0.17",
        "mean smoothness": "0.54", "mean compactness": "0.59", "mean concavity": "0.55", "mean concave points": "0.34",
        "mean symmetry": "0.81", "mean fractal dimension": "0.66",
    }  # fmt: skip


def test_with_eight_features_the_decision_changes(both):
    robust, plain, left = both
    ours, theirs = robust.at(8), plain.at(8)
    assert set(theirs.features) - set(ours.features) == {"mean smoothness", "mean symmetry"}
    assert set(ours.features) - set(theirs.features) == {"mean texture"}
    assert 0 < ours.v[NAMES.index("mean texture")] < 0.03  # "a little texture"
    assert (len(ours.support), len(theirs.support)) == (7, 8)
    assert (round(ours.value, 2), round(left[7], 2)) == (2.46, 1.59)
    assert robust.at(7).support.tolist() == robust.at(10).support.tolist() == ours.support.tolist()
    assert ours.status is noap.Status.OPTIMAL
    assert noap.verify(ours.problem, ours.certificate).ok


def test_how_much_more_the_robust_component_keeps(both):
    robust, plain, left = both
    more = {
        int(k): round(100 * (value / kept - 1)) for k, value, kept in zip(robust.ks, robust.values, left, strict=True)
    }
    assert [more[k] for k in (6, 7, 8, 10)] == [16, 28, 55, 71]
    assert more[2] == more[3] == 0
    for k in range(1, 7):
        assert robust.at(k).features == plain.at(k).features
    assert len(plain.at(7).support) == 7
    assert set(plain.at(7).features) != set(robust.at(7).features)


def test_three_of_the_seven_are_near_copies(both):
    robust, _, _ = both
    assert robust.at(8).note.startswith("3 of the 7 features have pairwise correlations above 0.95")
    assert noap.duplicates(CELLS.data[:, :10]) == ((0, 2, 3),)


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_pages_say_these_figures(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text[text.index("## A decision that changes") :]
    for figure in ("2.46", "1.59", "55 %", "28 %", "71 %", "16 %", "0.81", "six features both choose the same ones"):
        assert figure in " ".join(section.split()), figure


ONLY = """
import sys

class Missing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in {gone}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
exec(sys.stdin.read())
"""


@pytest.mark.parametrize(
    "snippet", re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
)
def test_the_readme_runs_with_what_noap_needs(snippet, tmp_path):
    """Nothing of the extras: `make demo` installs none."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[><=\[ ]", one)[0] for one in project["dependencies"]}
    extra = {re.split(r"[><=\[ ]", one)[0] for names in project["optional-dependencies"].values() for one in names}
    gone = sorted(name.replace("-", "_") for name in extra - needed)
    assert "pandas" in gone
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONLY.format(gone=gone)],
        input=snippet, capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_demo_draws_two_curves_that_part(both, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **b: (drawn.append(self), save(self, *a, **b))[1])
    done = command_line("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    robust, _, left = both
    ours, theirs = (line.get_ydata() for line in drawn[0].axes[1].lines[:2])
    np.testing.assert_allclose(ours, robust.values)
    np.testing.assert_allclose(theirs, left, rtol=1e-6)
    assert ours[7] - theirs[7] > 0.3 * ours[7]
    assert "-mean smoothness" in done.stdout
    assert "55 %" in done.stdout
    assert "features have pairwise correlations above 0.95" in done.stdout
    for name in ("noap-demo.png", "noap-demo-path.png"):
        assert (tmp_path / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    # A barcode worth looking at: features survive to different noises, and the last one standing is no survivor.
    cells = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│") and line.count("│") == 5]
    assert len({row[2].strip() for row in cells}) >= 5


def test_the_demo_in_json(tmp_path):
    document = json.loads(command_line("demo", "-k", 3, "--json", cwd=tmp_path).stdout)
    assert document["cells"]["features"] == ["mean radius", "mean perimeter", "mean area"]
    assert command_line("demo", "-k", 11, cwd=tmp_path).returncode == 2
